"""The preview beside the list, and a conversation to read without opening it: nothing is started, nothing changes."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.worker import WorkType

from catena.cells import cell_len
from catena.history.entries import EntryState, HistoryEntry
from catena.history.finding import HitPlace, MessageHit
from catena.history.preview import Preview, PreviewTurn
from catena.history.query import Span, spans
from catena.keys.bindings import priority_bindings
from catena.screens.common.page import SCROLL_KEYS, ReadingScreen
from catena.text.formats import from_home, size_text, truncate
from catena.text.safe_text import safe, safe_cells, safe_line
from catena.transcript import Transcript
from catena.widgets.column import Centred
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject
from catena_store.records import Message

_REST = 0.06  # seconds on a row after which its preview is read
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_INLINE = re.compile(r"`([^`\n]+)`")
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_FOUND = "bold underline $foreground"
_PROMPT_LINES, _ANSWER_LINES, _LAST_LINES, _FOUND_LINES = 2, 3, 6, 4
_ONE_LINE = {ord("\n"): " ", ord("\t"): " "}


@dataclass(frozen=True, slots=True)
class Previewed:
    """The preview pane's view of a conversation; ``preview`` is None until it is read."""

    entry: HistoryEntry
    preview: Preview | None = None
    hit: MessageHit | None = None
    place: HitPlace | None = None
    words: tuple[str, ...] = ()
    size: int = 0  # bytes, 0 where that is not known


class PreviewPane(Widget):
    """The preview of the conversation under the cursor."""

    DEFAULT_CSS = """
    PreviewPane { height: 1fr; background: $code-ground; padding: 0 2; color: $muted; }
    """

    def __init__(
        self,
        agent: Callable[[str, str], str],
        clock: Callable[[], datetime],
        read: Callable[[Previewed], Awaitable[Previewed]],
        *,
        id: str | None = None,
    ) -> None:
        """``agent`` names an agent and profile as a person says it; ``clock`` tells the person's own time.

        ``read`` reads what is shown of a conversation.
        """
        super().__init__(id=id)
        self._read = read
        self._agent = agent
        self._clock = clock
        self._shown: Previewed | None = None

    def select(self, shown: Previewed | None) -> None:
        """Show a conversation once the cursor rests on it."""
        if shown is None:
            self._show(None)
            return
        # Not a coroutine: where the cursor moves on at once, it is never begun.
        work: WorkType[None] = partial(self._show_at_rest, shown)
        self.run_worker(work, group="preview", exclusive=True)

    async def show(self, shown: Previewed) -> None:
        """Read what there is to show of a conversation, and show it."""
        self._show(await self._read(shown))

    async def _show_at_rest(self, shown: Previewed) -> None:
        await asyncio.sleep(_REST)
        await self.show(shown)

    def _show(self, shown: Previewed | None) -> None:
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def render(self) -> Content:
        """The preview, with its foot on the last row."""
        if self._shown is None:
            return Content("")
        width, height = self.size
        draw = _Drawing(self._shown, self._agent, self._clock(), width)
        foot = draw.foot()
        body = draw.body(max(0, height - len(foot) - 1))
        lines = [*body, *[Content("")] * max(0, height - len(foot) - len(body)), *foot]
        return Content("\n").join(lines[:height])


class _Drawing:
    """The lines of a preview at one width."""

    def __init__(self, shown: Previewed, agent: Callable[[str, str], str], now: datetime, width: int) -> None:
        self._shown = shown
        self._agent = agent
        self._now = now
        self._width = max(8, width)

    def body(self, room: int) -> list[Content]:
        """The lines above the foot, so many at most: where there is little room, what was looked for comes first."""
        preview, head = self._shown.preview, self._head()
        if preview is None:
            return head[:room]
        sections = [self._began(preview), self._found(preview), self._ended(preview), self._open(preview)]
        began, found, ended, _ = sections
        if len(head) + sum(1 + len(section) for section in sections if section) > room:
            wanted = found or ended or began
            if len(head) + 1 + len(wanted) > room:
                return [head[0], *wanted][:room]
            left = room - len(head)
            for at in (1, 2, 3, 0):
                sections[at] = fits = sections[at][: left - 1] if left > 2 else []  # no heading alone
                left -= len(fits) + 1 if fits else 0
        return [*head, *(line for section in sections if section for line in (Content(""), *section))]

    def _head(self) -> list[Content]:
        """What it is called, where it is, and with whom."""
        entry, preview = self._shown.entry, self._shown.preview
        lines = [Content.styled(self._cut(entry.name), "bold $foreground")]
        where = " · ".join(filter(None, (safe_line(from_home(entry.cwd)), safe_line(entry.git_branch or ""))))
        lines.append(Content(self._cut(where)))
        if preview is None:
            lines.append(Content(self._cut(self._agent(entry.agent, entry.profile))))
            return lines
        lines.append(Content(self._cut(", then ".join(self._agent(*each) for each in preview.agents))))
        if preview.directory_gone:
            lines.append(Content.styled("This directory no longer exists.", "$asking"))
        return lines

    def foot(self) -> list[Content]:
        """What there is of the conversation, and what going on with it takes."""
        entry, preview = self._shown.entry, self._shown.preview
        if preview is None:
            return []
        facts = " · ".join(
            _counted(number, word)
            for number, word in ((entry.branches, "branch"), (preview.sessions, "session"))
            if number > 1
        )
        if self._shown.size:
            facts = " · ".join(filter(None, (facts, size_text(self._shown.size))))
        price = preview.price
        if not price:
            return [Content(self._cut(facts))] if facts else []
        if facts and cell_len(facts) + cell_len(price) + 2 <= self._width:
            return [Content(facts + " " * (self._width - cell_len(facts) - cell_len(price)) + price)]
        priced = [Content(price[start:end]) for start, end in _line_ends(price, self._width, 2)]
        return [*([Content(self._cut(facts))] if facts else []), *priced]

    def _began(self, preview: Preview) -> list[Content]:
        at = preview.began.at or self._shown.entry.created_at
        return [
            self._heading("Began", self._day(at)),
            *self._exchange(preview.began, _PROMPT_LINES, _ANSWER_LINES),
        ]

    def _found(self, preview: Preview) -> list[Content]:
        found, place = preview.found, self._shown.place
        hit = self._shown.hit
        if found is None or hit is None:
            return []
        words = "" if place is None else place_words(place)
        lines = [self._heading("Found", words)]
        if found.prompt:
            lines += self._prompt(found.prompt, _FOUND_LINES if not found.answer else _PROMPT_LINES)
        if found.answer:
            lines += self._text(hit.snippet, _FOUND_LINES, found=hit.spans)
        return lines

    def _ended(self, preview: Preview) -> list[Content]:
        if preview.ended_at is None or (preview.ended == preview.began and not _state(self._shown.entry)):
            return []
        state = _state(self._shown.entry)
        words = ", ".join(filter(None, (self._day(preview.ended_at), state)))
        return [
            self._heading("Ended", words),
            *self._exchange(preview.ended, _PROMPT_LINES + 1, _LAST_LINES, from_end=True),
        ]

    def _open(self, preview: Preview) -> list[Content]:
        lines: list[Content] = []
        for todo in preview.todos:
            lines.append(Content.assemble(("○ ", "$faint"), self._cut(safe_line(todo), 2)))
        if preview.more_todos:
            lines.append(Content.styled(f"  and {preview.more_todos} more", "$faint"))
        return lines

    def _exchange(
        self, exchange: PreviewTurn, prompt_lines: int, answer_lines: int, *, from_end: bool = False
    ) -> list[Content]:
        lines = self._prompt(exchange.prompt, prompt_lines) if exchange.prompt else []
        answer = safe(exchange.answer).strip()
        if from_end:
            answer = answer.split("\n\n")[-1]
        return [*lines, *self._text(answer, answer_lines)] if answer else lines

    def _prompt(self, text: str, most: int) -> list[Content]:
        text = text.strip()
        lines = self._wrapped(text, most, "$foreground", spans(text, self._shown.words))
        return [Content.assemble(("▌ ", "$accent"), line) for line in lines]

    def _text(self, text: str, most: int, found: Sequence[Span] | None = None) -> list[Content]:
        if found is None:
            found = spans(text, self._shown.words)
        return [Content.assemble("  ", line) for line in self._wrapped(text, most, "", found)]

    def _wrapped(self, text: str, most: int, style: str, found: Sequence[Span]) -> list[Content]:
        """The first lines of a text, as far as they fit, with what was found in it, code and bold words set off."""
        quoted = safe_cells(text).translate(_ONE_LINE)
        code = [match.span(1) for match in _INLINE.finditer(quoted)]
        strong = [match.span(1) for match in _STRONG.finditer(quoted)]
        strong = [
            (start, end) for start, end in strong if not any(a <= start < b or a <= end < b for a, b in code)
        ]
        marks = sorted(
            [place for start, end in code for place in (start - 1, end)]
            + [place for start, end in strong for place in (start - 2, start - 1, end, end + 1)]
        )
        gone = frozenset(marks)
        line = "".join(character for at, character in enumerate(quoted) if at not in gone)
        drawn = Content(line)
        if style:
            drawn = drawn.stylize(style)
        for styled, looks in ((strong, "bold"), (code, "$inline"), (found, _FOUND)):
            for start, end in styled:
                drawn = drawn.stylize(looks, start - bisect_left(marks, start), end - bisect_left(marks, end))
        ends = _line_ends(line, self._width - 2, most)
        lines = [drawn[start:end] for start, end in ends]
        if ends and ends[-1][1] < len(line.rstrip()):
            lines[-1] = lines[-1].truncate(self._width - 4) + Content(" …")
        return lines

    def _heading(self, word: str, words: str) -> Content:
        return Content.assemble((word, "bold"), f"  {truncate(words, self._width - 8)}" if words else "")

    def _day(self, then: datetime) -> str:
        then = then.astimezone(self._now.tzinfo)
        if then.date() == self._now.date():
            return f"{then:%H:%M}"
        year = "" if then.year == self._now.year else f" {then.year}"
        return f"{_DAYS[then.weekday()]} {then.day} {_MONTHS[then.month - 1]}{year}, {then:%H:%M}"

    def _cut(self, text: str, taken: int = 0) -> str:
        return truncate(safe_line(text), self._width - taken)


def place_words(place: HitPlace) -> str:
    """Where in its conversation a hit stands, in words."""
    version = f"in version {place.version} of {place.versions}" if place.versions > 1 else ""
    turns = f"{place.turns:,} {'turn' if place.turns == 1 else 'turns'} in" if place.turns else ""
    return ", ".join(filter(None, (version, turns)))


def _state(entry: HistoryEntry) -> str:
    match entry.state:
        case EntryState.ASKS:
            return "it waits for your answer"
        case EntryState.FAILED:
            return "it failed"
        case EntryState.WORKING:
            return "it is working"
        case EntryState.UNREAD:
            return "answered, not read yet"
        case EntryState.NONE:
            return ""


def _counted(number: int, word: str) -> str:
    plural = f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def _line_ends(line: str, width: int, most: int) -> list[Span]:
    """Where the first lines of a text begin and end, broken between words."""
    found: list[Span] = []
    at = 0
    while at < len(line) and len(found) < most:
        end, used, blank = at, 0, -1
        while end < len(line):
            used += cell_len(line[end])
            if used > width:
                break
            if line[end] == " ":
                blank = end
            end += 1
        if end < len(line) and line[end] != " " and blank > at:
            end = blank
        found.append((at, end))
        at = end
        while at < len(line) and line[at] == " ":
            at += 1
    return found


class ReadTranscript(Transcript):
    """A transcript in which nothing can be done but read."""

    PROMPT_ACTS = ()


class ReadScreen(ReadingScreen[None]):
    """The messages of a branch."""

    KEYS: ClassVar[tuple[SheetKey, ...]] = (
        SheetKey("{row_up row_down}", "scroll"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave", close_page="leave", next_page="page(1)"),
        *SCROLL_KEYS,
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Message],
        *,
        directory: str,
        about: str,
        found: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        """``found``: the message to begin at, and the words that are marked; else it begins at the end."""
        super().__init__(SheetWords(title, "read-only", Subject(about)))
        self._rows = rows
        self._found = found
        self._transcript = ReadTranscript(directory=directory, id="read")

    def compose(self) -> ComposeResult:
        """Head, transcript, keys."""
        with Centred():
            yield from self.compose_head()
        yield self._transcript
        with Centred():
            yield from self.compose_foot(*self.KEYS)

    def on_mount(self) -> None:
        """Show the messages."""
        self.set_focus(self._transcript)
        self._transcript.show(self._rows, more_above=False)
        if self._found is not None:
            self._transcript.call_after_refresh(self._transcript.show_found, *self._found)

    @property
    def reader(self) -> Transcript:
        """The transcript."""
        return self._transcript


def read_screen(
    entry: HistoryEntry, rows: Sequence[Message], hit: MessageHit | None, *, agent: str
) -> ReadScreen:
    """The messages of a conversation; a hit and its words are marked if there is one."""
    words = tuple(dict.fromkeys(hit.snippet[start:end] for start, end in hit.spans)) if hit else ()
    found = (hit.message_id, words) if hit else None
    return ReadScreen(entry.name, rows, directory=entry.cwd, about=agent, found=found)
