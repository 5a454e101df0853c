"""A tool call read from its message's data, which may hold anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath

from catena.text.safe_text import call_line, safe, safe_line
from catena_acp.permissions.parts import PartRole, arguments_of
from catena_acp.port.images import ImageNote
from catena_acp.port.session_events import ToolDiff
from catena_acp.spoken.blocks import Block, Diff, OutputBlock, Picture, Reference, TerminalBlock
from catena_acp.spoken.call import Call, images_in
from catena_acp.terminals.screen_text import without_colours
from catena_store.records import Message, MessageState

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
_LONGEST, _MOST_TOLD = (
    200,
    6,
)  # characters of an argument in the line of a call, and how many of them are told


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call's values for drawing."""

    kind: str
    glyph: str
    failed: bool
    running: bool
    verb: str
    object: str
    seconds: float | None
    locations: tuple[str, ...]
    diffs: tuple[ToolDiff, ...]
    texts: tuple[str, ...]  # outputs and descriptions, in order
    outputs: tuple[str, ...]  # the same, those of terminals with their colours
    hidden_lines: int  # of terminals, above their outputs, not kept
    has_terminal: bool
    exit_code: int | None  # of a command
    signal: str  # that ended it
    raw_input: str
    raw_output: str
    started_at: datetime | None = None
    background: bool = False  # its work went on after it had returned
    rule: str = ""  # of the person's: what answered its permission request
    rejected: bool = False  # its permission request was
    notes: tuple[str, ...] = ()  # where what was done is not what was asked for
    images: tuple[ImageNote, ...] = ()

    @property
    def body(self) -> str:
        """What it said, without blank lines at its ends."""
        return "\n".join(self.texts).strip("\n")

    @property
    def ending(self) -> str:
        """How its command ended, where not well: `exit 1`, `SIGKILL`."""
        return f"exit {self.exit_code}" if self.exit_code else self.signal

    @property
    def coloured_body(self) -> str:
        """The same, with the colours of terminals."""
        return "\n".join(self.outputs).strip("\n")

    @property
    def has_details(self) -> bool:
        """True if there is more than its line, other than what it was called with."""
        return bool(
            self.diffs
            or self.texts
            or self.images
            or self.rule
            or self.notes
            or self.raw_output
            or len(self.locations) > 1
        )

    @classmethod
    def of(cls, message: Message, directory: str = "") -> ToolCall:
        """Read ``message``; paths below ``directory`` become relative."""
        record = Call.of(message)
        kind, status = record.kind or "other", record.status
        blocks, terminals, exit_code = record.blocks, record.terminals, record.exit_code
        diffs, outputs = _content(blocks)
        locations = tuple(_locations(record, directory))
        over = message.state is not MessageState.OPEN
        # Agents call a command completed that ended, whatever its exit code; a signal may be what they wanted.
        failed = status == "failed" or (status == "completed" and bool(exit_code))
        if over and status not in ("completed", "failed"):
            glyph = "✓" if not status and message.state is MessageState.FINAL else _UNKNOWN
        else:
            glyph = _GLYPHS.get("failed" if failed else status or "pending", _UNKNOWN)
        if record.unlike and glyph == "✓":
            glyph = UNLIKE
        return cls(
            kind=kind,
            glyph=glyph,
            failed=failed,
            running=not over and status == "in_progress",
            verb=SUBAGENT_VERB if record.starts_subagent else _VERBS.get(kind, NO_VERB),
            object=_object(kind, record, message.text, locations, diffs, directory),
            seconds=None if status == "rejected" else record.seconds,
            locations=locations,
            diffs=tuple(diffs),
            texts=tuple(map(without_colours, outputs)),
            outputs=tuple(outputs),
            hidden_lines=sum(each.hidden_lines for each in terminals),
            has_terminal=bool(terminals),
            exit_code=exit_code,
            signal=next((each.signal for each in terminals if each.signal), ""),
            raw_input=_raw(record.raw_input),
            raw_output=_raw(record.raw_output),
            started_at=record.started_at,
            background=bool(record.background),
            rule=safe_line(record.rule.text) if record.rule and record.became is None else "",
            rejected=status == "rejected",
            notes=tuple(map(call_line, record.notes)),
            images=images_in(blocks),
        )


def relative(path: str, directory: str) -> str:
    """Return ``path`` relative to ``directory`` where it lies below it."""
    path = safe_line(path)
    if directory and PurePosixPath(path).is_relative_to(directory):
        return str(PurePosixPath(path).relative_to(directory))
    return path


def _object(
    kind: str,
    record: Call,
    text: str,
    locations: tuple[str, ...],
    diffs: list[ToolDiff],
    directory: str,
) -> str:
    title = without_verb(call_line(record.title or text), kind)
    if kind in FILE_KINDS:
        if locations:
            more = len(set(locations)) - 1
            return f"{locations[0]} and {more} more" if more else locations[0]
        if diffs:
            return relative(diffs[0].path, directory)
    if kind == "execute":
        return _told(record.raw_input, PartRole.COMMAND) or title
    if kind == "fetch":
        return _told(record.raw_input, PartRole.ADDRESS) or title
    if kind not in _VERBS and not record.starts_subagent and (told := _told(record.raw_input)):
        return f"{title or record.name}: {told}"
    return title or (locations[0] if locations else record.name)


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


def _locations(record: Call, directory: str) -> Iterator[str]:
    for place in record.places:
        if place.path:
            yield relative(place.path, directory) + (f":{place.line}" if (place.line or 0) > 0 else "")


def _content(blocks: Sequence[Block]) -> tuple[list[ToolDiff], list[str]]:
    diffs: list[ToolDiff] = []
    texts: list[str] = []
    for block in blocks:
        match block:
            case Diff(path, old, new):
                diffs.append(ToolDiff(path, old, new or ""))
            case TerminalBlock(coloured=coloured):
                texts.append("output of the agent's own terminal" if coloured is None else coloured)
            case OutputBlock(text):
                text = _strip_fence(text)
                texts.append(safe(text) if "\x1b" in text else text)  # only terminals tell their colours
            case Picture():
                pass  # a line of its own
            case Reference(kind, description):
                texts.append(description or kind)
            case _:
                pass
    return diffs, [text for text in texts if text.strip()]


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


def _raw(value: object) -> str:
    if value is None or value == "" or value == {} or value == []:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
