"""Words of a tool call that all fronts share: its sign, its verb, what it was done to, and what it said.

A call may hold anything; what is a line is safe, and whoever draws the rest makes it so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath

from catena.text.formats import size_in_words
from catena.text.safe_text import call_line, safe, safe_line
from catena_acp.diff import LineDiff, line_diff
from catena_acp.permissions.parts import PartRole, arguments_of
from catena_acp.port.images import ImageNote
from catena_acp.port.session_events import ToolDiff
from catena_acp.spoken.blocks import Block, Diff, OutputBlock, Picture, Reference, TerminalBlock
from catena_acp.spoken.call import Call
from catena_acp.terminals.screen_text import without_colours
from catena_store.records import MessageState


def image_words(image: ImageNote, key: str = "Enter") -> str:
    """The line of an image; ``key`` opens it while its message is browsed."""
    return f"image · {image_facts(image)} · {key} opens, s saves"


def image_facts(image: ImageNote) -> str:
    """The facts of an image in one phrase: `PNG 640×480, 29 B`."""
    kind = image.mime.removeprefix("image/").upper()
    pixels = f" {image.width}×{image.height}" if image.width and image.height else ""
    return f"{kind}{pixels}, {size_in_words(image.size)}"


def link_words(description: str) -> str:
    """The line of a link to a page on the web."""
    return f"{description} · Enter opens"


AnyDiff = Diff | ToolDiff  # of a call, or of a request for one
_VERBS = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Search",
    "execute": "Run",
    "think": "Think",
    "fetch": "Fetch",
    "switch_mode": "Mode",
}
SUBAGENT_VERB = "Task"
NO_VERB = "Tool"  # of a call of another kind
FILE_KINDS = frozenset({"read", "edit", "delete", "move"})
_GLYPHS = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗"}
_UNKNOWN = "◌"  # cancelled, or of unknown outcome
UNLIKE = "!"  # done, and not what was asked for
# Characters of an argument in the line of a call, and how many of them are told.
_LONGEST, _MOST_TOLD = (
    200,
    6,
)


def glyph_of(call: Call) -> str:
    """The sign of how far a call is, or of how it ended."""
    status, glyph = call.status, _UNKNOWN
    if call.state is MessageState.OPEN or status in ("completed", "failed"):
        glyph = _GLYPHS.get("failed" if call.failed else status or "pending", _UNKNOWN)
    elif not status and call.state is MessageState.FINAL:
        glyph = "✓"
    return UNLIKE if call.unlike and glyph == "✓" else glyph


def verb_of(call: Call) -> str:
    """What a call does, in a word."""
    return SUBAGENT_VERB if call.starts_subagent else _VERBS.get(call.kind, NO_VERB)


def notes_of(call: Call) -> tuple[str, ...]:
    """The lines that say in what a call was not what the person was asked for."""
    return tuple(map(call_line, call.notes))


def ending_of(call: Call) -> str:
    """How a call ended, if not as it was meant to: `exit 1`, `rejected`."""
    return " ".join(filter(None, (call.ending, "rejected" if call.rejected else "")))


def rule_of(call: Call) -> str:
    """The person's rule that answered its permission request, unless its notes name it."""
    return safe_line(call.rule.text) if call.rule and call.became is None else ""


def locations_of(call: Call, directory: str) -> tuple[str, ...]:
    """The places that a call touches; those below ``directory`` are relative to it."""
    return tuple(
        relative(place.path, directory) + (f":{place.line}" if (place.line or 0) > 0 else "")
        for place in call.places
        if place.path
    )


def outputs_of(call: Call) -> list[str]:
    """What a call said, in order, with the colours of terminals; each may hold any control sequence."""
    return [text for text in map(_output, call.blocks) if text.strip()]


def texts_of(call: Call) -> list[str]:
    """What a call said, in order, without colours."""
    return list(map(without_colours, outputs_of(call)))


def raw_of(call: Call) -> list[tuple[str, str]]:
    """What a call was given and what it brought, as sent: each with its label, if there is any."""
    given = (("input", raw_text(call.raw_input)), ("output", raw_text(call.raw_output)))
    return [(label, text) for label, text in given if text]


def relative(path: str, directory: str) -> str:
    """Return ``path`` relative to ``directory`` where it lies below it."""
    path = safe_line(path)
    if directory and PurePosixPath(path).is_relative_to(directory):
        return str(PurePosixPath(path).relative_to(directory))
    return path


def object_of(call: Call, directory: str = "") -> str:
    """What a call does it to, in a line: files, a command, an address, else the agent's title."""
    kind, title = call.kind, without_verb(call_line(call.title or call.text), call.kind)
    name, locations = call_line(call.name), locations_of(call, directory)
    if kind in FILE_KINDS:
        if locations:
            more = len(set(locations)) - 1
            return f"{locations[0]} and {more} more" if more else locations[0]
        if diffs := call.diffs:
            return relative(diffs[0].path, directory)
    if kind == "execute":
        return _told(call.raw_input, PartRole.COMMAND) or title
    if kind == "fetch":
        return _told(call.raw_input, PartRole.ADDRESS) or title
    if kind not in _VERBS and not call.starts_subagent and (told := _told(call.raw_input)):
        return f"{title or name}: {told}"
    return title or (locations[0] if locations else name)


def without_verb(title: str, kind: str) -> str:
    """Return a title without the verb of its kind at its beginning, and without backticks around it."""
    verb = _VERBS.get(kind)
    if verb and title.lower().startswith(verb.lower() + " "):
        title = title[len(verb) + 1 :]
    if len(title) > 2 and title[0] == title[-1] == "`" and "`" not in title[1:-1]:
        title = title[1:-1]
    return title


def _told(raw_input: object, role: PartRole | None = None) -> str:
    """The arguments of a call that are of one role, or what those of a tool of unknown kind say, in one line."""
    if not isinstance(raw_input, Mapping):
        return ""
    parts = list(arguments_of(raw_input))
    if role is not None:
        return ", ".join(call_line(part.text) for part in parts if part.role is role)
    said = (part for part in parts if part.text and part.role is not PartRole.WORDS)
    return ", ".join(
        f"{safe_line(part.label[:_LONGEST])} {_brief(part.text)}" for part in islice(said, _MOST_TOLD)
    )


def _brief(text: str) -> str:
    line = call_line(text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"


def _output(block: Block) -> str:
    match block:
        case TerminalBlock(coloured=coloured):
            return "output of the agent's own terminal" if coloured is None else coloured
        case OutputBlock(text):
            text = _strip_fence(text)
            return safe(text) if "\x1b" in text else text  # only terminals tell their colours
        case Reference(kind, description) if not isinstance(block, Picture):
            return description or kind
        case _:  # drawn otherwise
            return ""


_FENCE = re.compile(r"\s*(`{3,})[^\n`]*\n")


def _strip_fence(text: str) -> str:
    """Return output that is a single fenced block without its fence."""
    fence = _FENCE.match(text)
    if fence is None:
        return text
    end = len(text.rstrip()) - len(fence[1])
    if end < fence.end() or not text.startswith(fence[1], end):
        return text
    inside = text[fence.end() : end]
    return text if fence[1] in inside else inside.removesuffix("\n")


@lru_cache(maxsize=16)
def change_of(old: str | None, new: str | None) -> LineDiff:
    """Compare two versions of a file as they are drawn; ``old`` is None for a new file.

    ``new`` is None if the file is no text any more: it has no lines, so none is removed.
    """
    return line_diff("", "") if new is None else line_diff(safe(old or ""), safe(new))


def lineless_words(diff: AnyDiff) -> str:
    """Words for a change that has no line to show."""
    if diff.new is None:
        return "not a text file"
    return "new, empty file" if diff.old is None else "no difference"


def not_made_words(diff: Diff, call: Call, directory: str) -> str:
    """The heading of a change that its call did not make; "" for others."""
    return "" if diff in call.counted else f"Not made: {relative(diff.path, directory)}"


def diff_label(diff: Diff, call: Call, directory: str) -> str:
    """What stands above a change whose file the line of its call names: the file, if there are several; "" for none."""
    named = relative(diff.path, directory) if len(call.diffs) > 1 else ""
    return not_made_words(diff, call, directory) or named


def size_of(diffs: Iterable[AnyDiff]) -> tuple[int, int]:
    """How many lines changes add and remove."""
    changes = [change_of(diff.old, diff.new) for diff in diffs]
    return sum(change.added for change in changes), sum(change.removed for change in changes)


def raw_text(value: object) -> str:
    """An argument or a result as it was sent; JSON if it is no text."""
    if value is None or value == "" or value == {} or value == []:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
