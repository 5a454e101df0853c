"""Messages and a screen for the tests of the transcript."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.message import Message as Posted
from textual.pilot import Pilot

from catena.transcript import Transcript
from catena.transcript.drawing.highlight import HighlightCache
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import NARROW, ColumnLayout, Palette, RenderOptions
from catena.transcript.model.column import Column
from catena.transcript.widget.viewport import Viewport
from catena_store.records import Kind, Message, MessageState
from support.screen.messages import taken_in
from support.screen.themed import ThemedApp

START = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    """A time as a message's data has it."""
    return (START + timedelta(seconds=seconds)).isoformat()


class Writer:
    """Makes the rows of one branch, one below the other."""

    def __init__(self) -> None:
        self._count = 0

    def row(
        self,
        kind: Kind,
        text: str = "",
        *,
        state: MessageState = MessageState.FINAL,
        link: str | None = "A",
        barrier: bool = False,
        data: Mapping[str, Any] | None = None,
    ) -> Message:
        self._count += 1
        return Message(
            id=f"m{self._count}",
            conversation_id="c",
            parent_id=f"m{self._count - 1}" if self._count > 1 else None,
            turn_id="t",
            kind=kind,
            state=state,
            text=text,
            data=dict(data or {}),
            link_id=link,
            agent_message_id=None,
            barrier=barrier,
            depth=self._count - 1,
            created_at=START,
        )

    def prompt(self, text: str, **more: Any) -> Message:
        return self.row(Kind.USER, text, **more)

    def answer(self, text: str, **more: Any) -> Message:
        return self.row(Kind.AGENT, text, **more)

    def growing(self, text: str = "") -> Message:
        return self.row(Kind.AGENT, text, state=MessageState.OPEN)

    def tool(
        self, kind: str, title: str, *, state: MessageState = MessageState.FINAL, **data: Any
    ) -> Message:
        return self.row(
            Kind.TOOL, state=state, data={"kind": kind, "title": title, "status": "completed"} | data
        )


def page(count: int) -> list[Message]:
    """A branch of so many prompts and answers, some with code in them."""
    writer = Writer()
    rows: list[Message] = []
    for number in range(count):
        if number % 2 == 0:
            rows.append(writer.prompt(f"question {number}"))
        else:
            code = f"\n\n```python\nanswer = {number}\n```\n" if number % 4 == 1 else ""
            rows.append(writer.answer(f"answer {number}: " + "some words about it " * (number % 13) + code))
    return rows


_PIECES = [
    "# Head\n",
    "para one two three four five six\n",
    "para **bold",
    "** end\n",
    "\n",
    "\n\n",
    "- item\n",
    "- ",
    "* star\n",
    "  - nested\n",
    "   text\n",
    "1. one\n",
    "10) ten\n",
    "> quote\n",
    ">\n",
    "```\n",
    "```py\n",
    "code()\n",
    "    indented\n",
    "~~~\n",
    "````\n",
    "---\n",
    "===\n",
    "-",
    "=",
    "[ref]: http://x.y\n",
    "[ref]",
    "[text][ref] more\n",
    "<div>\n",
    "\t- tab\n",
    " ```\n",
    "  ```js\n",
    "![i](u)\n",
    "`code",
    "`",
    "\\",
    "日本語のテキスト",
    "é",
    "*",
    "_em_ ",
    "\r\n",
    "***\n",
    "1.",
    "2. two\n",
    "- [ ] t\n",
    "word ",
    "  \n",
    "&amp;",
    "<b>",
    "👩\u200d👩\u200d👧 ",
    "❤️",
    "é",
]
_TABLE = ("| a | b |\n", "|---|--:|\n", "| 1 | 2 two |\n", "| `x` | y \\| z |\n")


def long_list(chance: random.Random) -> str:
    """A list of many items, with something in it now and then that may end it."""
    ordered, start = chance.random() < 0.5, chance.randint(1, 3)
    rows: list[str] = []
    for number in range(start, start + chance.randint(1, 60)):
        mark = (
            f"{number if chance.random() < 0.97 else 1}."
            if ordered
            else "-"
            if chance.random() < 0.99
            else "*"
        )
        between = chance.choice(("", "", "", "", "\n", "   in\n", "  - nested\n", "- - -\n", "lazy\n", "-\n"))
        rows.append(f"{mark} {'word ' * chance.randint(0, 60)}\n{between}")
    return "".join(rows)


def markdown(chance: random.Random, pieces: int) -> str:
    """A text of so many pieces at most, each of which may change what the others mean."""
    if chance.random() < 0.2:
        return long_list(chance)
    return "".join(chance.choice((*_PIECES, *_TABLE)) for _ in range(chance.randint(1, pieces)))


def render_options(width: int) -> RenderOptions:
    """The look of a column in a widget of this width, without styles."""
    layout = ColumnLayout.of(width)
    return RenderOptions(
        layout.body, Palette.plain(), narrow=width < NARROW, highlights=HighlightCache(eager=True)
    )


def texts(lines: Iterable[Line]) -> list[str]:
    """Drawn rows as text; each is as wide as it says."""
    rows = list(lines)
    for line in rows:
        assert line.cells == cell_len(line.shown), line
    return [line.shown.rstrip() for line in rows]


def column(messages: Sequence[Message], width: int = 100, *, unfolded: Sequence[str] = ()) -> list[str]:
    """All rows of these messages as they are drawn in a widget of some width, gutter and margins included."""
    view = viewport(messages, width, 10_000, unfolded=unfolded)
    strips = view.strips(None, None)[: view.column.total]
    assert all(strip.cell_length == width for strip in strips)
    return [strip.text.rstrip() for strip in strips]


def viewport(
    messages: Sequence[Message], width: int, height: int, *, unfolded: Sequence[str] = ()
) -> Viewport:
    """A screen on these messages, at their end."""
    view = Viewport(Column(RenderOptions(80, Palette.plain(), highlights=HighlightCache(eager=True))))
    view.column.folds.update(dict.fromkeys(unfolded, False))
    view.resize(width, height, Palette.plain())
    view.column.replace(messages)
    view.place()
    return view


class Scene(ThemedApp):
    """A transcript and nothing else."""

    def __init__(self, theme: str = "catena-dark") -> None:
        super().__init__(theme)
        self.transcript = Transcript(directory="/home/u/shop")
        self.posted: list[Posted] = []

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        self.posted.append(event)

    def on_transcript_sibling_requested(self, event: Transcript.SiblingRequested) -> None:
        self.posted.append(event)

    def on_transcript_fold_toggled(self, event: Transcript.FoldToggled) -> None:
        self.posted.append(event)

    def on_transcript_seam_opened(self, event: Transcript.SeamOpened) -> None:
        self.posted.append(event)

    def on_transcript_older_requested(self, event: Transcript.OlderRequested) -> None:
        self.posted.append(event)


@asynccontextmanager
async def scene(
    messages: Sequence[Message] = (), *, size: tuple[int, int] = (80, 24), theme: str = "catena-dark"
) -> AsyncIterator[tuple[Transcript, Pilot[None]]]:
    """A running app that shows these messages, at their end."""
    app = Scene(theme)
    async with app.run_test(size=size) as pilot:
        app.transcript.show(messages, more_above=False)
        await settled(app.transcript, pilot)
        yield app.transcript, pilot


def posted(transcript: Transcript, kind: type[Posted]) -> list[Any]:
    """What the transcript posted of one kind."""
    app = transcript.app
    assert isinstance(app, Scene)
    return [message for message in app.posted if isinstance(message, kind)]


async def settled(transcript: Transcript, pilot: Pilot[None]) -> None:
    """Wait until nothing more is going to be drawn."""
    await until(lambda: not transcript.busy)
    await taken_in(pilot)


async def until(true: Callable[[], bool], *, within: float = 60) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "it never came to hold"
        await asyncio.sleep(0.002)


def shown(transcript: Transcript) -> list[str]:
    """The rows of the screen as text."""
    return [strip.text.rstrip() for strip in transcript.render_lines(transcript.size.region)]
