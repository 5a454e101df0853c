"""Exports as Markdown, which reads well on GitHub and in a pager.

Prompts are headings, answers stand as they are below them, and what tools did is folded. What an agent wrote is never
HTML and never ends what it stands in: a block of it that would, stands in a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from catena.rendering.contents import ExportPart, Head
from catena.text.call_text import (
    change_of,
    ending_of,
    glyph_of,
    lineless_words,
    not_made_words,
    notes_of,
    object_of,
    raw_of,
    relative,
    size_of,
    texts_of,
    verb_of,
)
from catena.text.changes_text import size_words
from catena.text.formats import duration_text, turn_text
from catena.text.safe_text import safe, safe_line
from catena.transcript.markdown.splitter import split
from catena_acp.continuity.tool_calls import NestedRow, nested
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import Answer, Divider, Notice, Plan, Prompt, Seam, Thought, Unknown, spoken_of
from catena_store.records import Message

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LONGEST_HEADING = 100  # characters of a prompt
_SHIFT = 2  # an answer's headings stand below those of prompts
_LARGEST = 48_000  # characters of a block that is read as Markdown
_MOST_BRACKETS = 2_000
_SPECIAL = re.compile(r"[\\`*\[\]<>~|$]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LINE_START = re.compile(r"(?m)^([ \t]*)(?:([#+=-])|(\d{1,9})([.)]))")
_BACKTICKS = re.compile(r"`+|~+")
# Each line begins with a letter: one paragraph.
_PROSE = re.compile(r"[^\W\d_][^\n]*+(?:\n[^\W\d_][^\n]*+)*+")
_HTML = frozenset({"html_block", "html_inline"})
_MAY_OPEN = ("<", "```", "~~~")  # a block without any of these has no HTML, and nothing in it is left open


class MarkdownRenderer:
    """Draws an export as Markdown."""

    def __init__(self) -> None:
        self._head: Head | None = None
        self._number = 0  # of prompts
        self._branching = False

    def begin(self, head: Head) -> str:
        """Title, and where and when."""
        self._head = head
        self._branching = head.branches > 1
        agent = f"**{escaped(head.agent)}**" if head.agent else ""
        return f"# {escaped(head.title)}\n\n{head.facts(agent, code_span(head.directory))}\n"

    def part(self, part: ExportPart) -> str:
        """One passage."""
        lines: list[str] = []
        if self._branching:
            lines.append(f'<a id="b{part.passage.place}"></a>')
        if part.fork is not None:
            lines.append(f"*Fork: {escaped(part.fork)}*")
        if len(part.passage.versions) > 1:
            lines.append(self._versions(part))
        for row in nested(part.messages):
            lines += filter(None, self._row(row))
        return "".join(f"\n{block}\n" for block in lines)

    def end(self) -> str:
        """Where it came from."""
        assert self._head is not None
        return f"\n---\n\n*{self._head.origin}*\n"

    def _versions(self, part: ExportPart) -> str:
        """Links to the versions beside a passage, from the first one to all of them, and to what they hang from."""
        versions, number = part.passage.versions, part.version
        above = part.passage.above
        back = f" · [above](#b{above})" if above is not None else ""
        if number == 1:
            others = " ".join(f"[{at}](#b{place})" for at, place in enumerate(versions[1:], start=2))
            return f"*Version **1** {others}*{back}"
        beside = [f"[previous](#b{versions[number - 2]})"]
        if number < len(versions):
            beside.append(f"[next](#b{versions[number]})")
        beside.append(f"[all](#b{versions[0]})")
        return f"*Version **{number}** of {len(versions)} · {' '.join(beside)}*{back}"

    def _row(self, row: NestedRow) -> Iterator[str]:
        """A message; of a call that started a subagent with what that said and did."""
        if not row.inner:
            yield from self._message(row.message)
            if took := turn_text(row.message.took):
                yield f"*{took}*"
            return
        line, blocks = self._call(Call.of(row.message))
        inner = [block for each in row.inner for block in self._row(each) if block]
        yield folded(f"{line} · {counted(row.calls, 'call')}", [*blocks, *inner])

    def _message(self, message: Message) -> Iterator[str]:
        match spoken_of(message):
            case Prompt() as prompt:
                yield from self._prompt(message, prompt)
            case Answer(text, interrupted=interrupted):
                yield from answer_blocks(text)
                if interrupted:
                    yield "*interrupted*"
            case Thought(text, words=True):
                yield from answer_blocks(text)
            case Thought(text):
                if text.strip():
                    yield folded("Thought", [fenced(text.strip("\n"))])
            case Call() as call:
                line, blocks = self._call(call)
                yield folded(line, blocks) if blocks else f"- {escaped(line)}"
            case Plan() as plan:
                yield "\n".join(_plan(plan))
            case Divider(compacted="", head=head) | Seam(drawn=True, head=head):
                yield f"---\n\n*{escaped(head)}*"
            case Seam():
                pass
            case Notice(text, details=details):
                yield f"> {escaped(text or 'notice')}"
                if details:
                    yield folded("Details", [fenced(details)])
            case Unknown() as unknown:
                yield folded(unknown.head, [fenced(unknown.details)])

    @property
    def _directory(self) -> str:
        return self._head.directory if self._head else ""

    def _prompt(self, message: Message, prompt: Prompt) -> Iterator[str]:
        text = safe(message.text).strip("\n")
        first = next((line.strip() for line in text.split("\n") if line.strip()), "(files only)")
        whole = first == text.strip() and len(first) <= _LONGEST_HEADING
        self._number += 1
        heading = first if len(first) <= _LONGEST_HEADING else f"{first[: _LONGEST_HEADING - 1].rstrip()}…"
        yield f"## {self._number}\\. {escaped(safe_line(heading))}"
        notes = [f"{message.created_at.astimezone():%H:%M}"]
        notes += [f"+ {escaped(file.name)}" for file in prompt.files]
        notes += prompt.notes
        yield f"*{' · '.join(notes)}*"
        if not whole and text:
            yield quoted(text)

    def _call(self, call: Call) -> tuple[str, list[str]]:
        """The line of a tool call, and what it did."""
        words = [
            f"{glyph_of(call)} {verb_of(call)}",
            object_of(call, self._directory),
            size_words(*size_of(call.counted)),
            ending_of(call),
            duration_text(call.seconds) if call.seconds is not None else "",
        ]
        line = " · ".join(word for word in words if word)
        blocks: list[str] = [escaped(note) for note in notes_of(call)]
        for diff in call.diffs:
            unified = "\n".join(change_of(diff.old, diff.new).unified(relative(diff.path, self._directory)))
            if undone := not_made_words(diff, call, self._directory):
                blocks.append(escaped(undone))
            blocks.append(fenced(unified or lineless_words(diff), "diff"))
        texts = texts_of(call)
        blocks += [fenced(text.strip("\n")) for text in texts]
        if not (call.diffs or texts):
            blocks += [
                fenced(raw.strip("\n"), "json" if raw.lstrip()[:1] in "{[" else "")
                for _, raw in raw_of(call)
                if raw.strip()
            ]
        return line, blocks


def escaped(text: str) -> str:
    """A text of one line in which nothing is Markdown or HTML."""
    line = _SPECIAL.sub(r"\\\g<0>", safe_line(text))
    return _LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", line)


def code_span(text: str) -> str:
    """A text of one line as code."""
    line = safe_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def quoted(text: str) -> str:
    """A text as a block quote, line for line; one that is indented or long stands in a fence."""
    lines = safe(text).split("\n")
    if len(text) > _LARGEST or any(line.startswith(("  ", "\t", "```", "~~~")) for line in lines):
        return fenced(text)
    return "\n".join(f"> {escaped(line)}  ".rstrip(" ") + ("  " if line.strip() else "") for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A text in a fence that is longer than any within."""
    text = safe(text)
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(line: str, blocks: Sequence[str]) -> str:
    """Blocks that open below a line."""
    shown = safe_line(line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    inside = "\n\n".join(blocks)
    return f"<details><summary>{shown}</summary>\n\n{inside}\n\n</details>"


def _plan(plan: Plan) -> Iterator[str]:
    for step in plan.steps:
        yield f"- [{'x' if step.done else ' '}] {escaped(step.text)}"


def answer_blocks(text: str) -> Iterator[str]:
    """Yield the blocks of an answer, as they were written wherever that is safe."""
    text = safe(text)
    for piece in split(text):
        source = text[piece.start : piece.end].strip("\n")
        if not source.strip():
            continue
        if piece.plain or len(source) > _LARGEST or source.count("[") > _MOST_BRACKETS:
            yield fenced(source)
        elif _PROSE.fullmatch(source):
            yield _checked(source)
        else:
            yield from _blocks(source)


def _blocks(source: str) -> Iterator[str]:
    """Yield the top-level blocks of a piece of Markdown."""
    lines = source.split("\n")
    tokens = _block_parser().parse(source)
    at = 0
    for index, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        start, end = token.map
        if definitions := "\n".join(lines[at:start]).strip("\n"):
            yield _checked(definitions)
        at = max(at, end)
        block = "\n".join(lines[start:end]).rstrip("\n")
        match token.type:
            case "fence":
                yield fenced(token.content.removesuffix("\n"), _language(token.info))
            case "code_block":
                yield fenced(token.content.removesuffix("\n"))
            case "heading_open":
                level = min(6, int(token.tag[1:]) + _SHIFT)
                yield _checked(f"{'#' * level} {tokens[index + 1].content}".replace("\n", " "))
            case "hr":
                yield "* * *"
            case _:
                yield _checked(block)
    if definitions := "\n".join(lines[at:]).strip("\n"):
        yield _checked(definitions)


def _checked(block: str) -> str:
    """A block without HTML, closed in itself; in a fence where that cannot be had."""
    if not any(mark in block for mark in _MAY_OPEN):
        return block
    candidate = _without_html(block)
    tokens = (_parser() if "<" in candidate else _block_parser()).parse(candidate)
    top = [token for token in tokens if not token.level and token.nesting >= 0]
    inside = [token for token in tokens for token in (token, *(token.children or ()))]
    open_fence = any(token.type == "fence" and not _is_closed(candidate, token) for token in inside)
    if open_fence or any(token.type in _HTML for token in inside) or len(top) > 1:
        return fenced(block)
    return candidate


def _is_closed(source: str, token: object) -> bool:
    """True where a fence ends with a line of its own."""
    place = getattr(token, "map", None)
    markup = str(getattr(token, "markup", ""))
    if place is None or place[1] - place[0] < 2:
        return False
    last = source.split("\n")[place[1] - 1].strip(" \t>")
    return len(last) >= len(markup) and not last.strip(markup[0])


def _without_html(block: str) -> str:
    """A block in which no `<` outside of code begins HTML."""
    if "<" not in block:
        return block
    pieces: list[str] = []
    at = 0
    for start, end in _code_spans(block):
        pieces += [block[at:start].replace("<", "&lt;"), block[start:end]]
        at = end
    return "".join((*pieces, block[at:].replace("<", "&lt;")))


def _code_spans(block: str) -> Iterator[tuple[int, int]]:
    """Yield where runs of backticks of one length enclose code."""
    runs = list(_BACKTICKS.finditer(block))
    positions: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        positions.setdefault(run[0], []).append(place)
    place = 0
    while place < len(runs):
        run = runs[place]
        later = positions[run[0]]
        while later and later[0] <= place:
            later.pop(0)
        if later and (run[0][0] == "`" or len(run[0]) > 2):
            yield run.start(), runs[later[0]].end()
            place = later[0] + 1
        else:
            place += 1


def _language(info: str) -> str:
    match = re.match(r"[\w.+#-]+", info.strip().lstrip("{."))
    return match[0].lower() if match else ""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """The parser, which sees HTML where GitHub would."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    """The same parser, which finds blocks, and leaves the text in them unread: that is half of the work."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table"]).disable(["inline", "text_join"])
