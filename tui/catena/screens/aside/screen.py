"""An aside, above the chat: a question, its answer, what is to become of that; then it is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, assert_never

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.text.safe_text import safe_line
from catena.transcript import Transcript
from catena.transcript.widget.view import FRAME
from catena.widgets.composer import Composer
from catena.widgets.row_list import key_hints
from catena_acp.continuity.events import MessageAdded, MessageChanged, MessageGrew
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideEvent, AsideOpened
from catena_acp.errors import AgentError
from catena_store.records import Kind

if TYPE_CHECKING:
    from catena.workspace.tab import Tab


_MOST = 1_000  # names that are tried


def write_new(directory: str, stem: str, text: str) -> Path:
    """Write `STEM.md` into the directory, or `STEM-2.md`, `STEM-3.md` …: the first that is free.

    Nothing is ever written over, and no link is followed. Blocks; raises OSError.
    """
    for number in range(1, _MOST + 1):
        path = Path(directory) / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text if text.endswith("\n") else f"{text}\n")
        except FileExistsError:
            continue
        return path
    raise FileExistsError(17, f"{stem}-{_MOST}.md and all before it are there already")


_SLOW_FRAME = 0.1  # seconds between two drawings over a slow line
_READING_SECONDS = 4.0  # that what is said stands while an answer is on its way
_NO_ANSWER = "There is no answer yet."


class Where(Enum):
    """What is to become of the answer, besides a copy and a file."""

    NOWHERE = "nowhere"
    COMPOSER = "composer"
    NEW_CONVERSATION = "new conversation"


@dataclass(frozen=True, slots=True)
class LeftAside:
    """How an aside was left."""

    where: Where
    answer: str
    unasked: str  # what was written and not asked


class Questions(Transcript):
    """A transcript whose prompts have no other versions. Its keys are those of the aside while nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,a", "screen.ask", "ask more", id="aside.ask"),
        Binding("y", "screen.copy", "copy the answer", id="aside.copy"),
        Binding("i", "screen.insert", "into the composer", id="aside.insert"),
        Binding("s", "screen.save", "into a new file", id="aside.save"),
        Binding("n", "screen.begin", "begin a conversation with it", id="aside.begin"),
        Binding("j,down", "screen.scroll(1)", show=False),
        Binding("k,up", "screen.scroll(-1)", show=False),
    ]

    def _point_at(self, message_id: str | None) -> None:
        """No buttons: nothing here can be edited, said again or forked."""


class AsideScreen(ModalScreen[LeftAside]):
    """Asks, shows what comes, and says how it was left; the aside is still to be closed."""

    CSS_PATH = "aside.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("ctrl+c", "stop", "stop, else close", priority=True, id="aside.stop"),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def __init__(
        self,
        aside: Aside,
        *,
        question: str,
        typed: str,
        directory: str,
        stem: str,
        open_link: Callable[[Transcript.LinkOpened], None],
        still: bool = False,
    ) -> None:
        """Without a ``question`` the person is asked for one. ``stem`` names the file of an answer that is kept."""
        super().__init__()
        self._aside = aside
        self._question = question
        self._typed = typed
        self._directory = directory
        self._stem = stem
        self._open_link = open_link
        self._asking = typed if question else ""  # until it is kept among what was typed
        self._since: float | None = None  # when the question that is being answered was asked
        self._read_by = 0.0  # when what was said last has been read
        self._transcript = Questions(directory=directory, id="answer", frame=_SLOW_FRAME if still else FRAME)
        self._more = Composer(id="more")
        self._title = Static("", id="title", markup=False)
        self._said = Static("", id="said", markup=False)
        self._hints = Static("", id="hint")

    def compose(self) -> ComposeResult:
        """What it knows, what was said, what goes on, a line to write in, keys."""
        with Vertical(id="sheet"):
            yield self._title
            yield self._transcript
            yield self._said
            with Horizontal(id="asking"):
                yield Static("> ", id="sign", markup=False)
                yield self._more
            yield self._hints

    def on_mount(self) -> None:
        """Ask what is to be asked, and name its price."""
        self._more.placeholder = "Ask something beside the conversation"
        self._know(f"{self._aside.title} · {self._aside.price.words}")
        self.set_interval(1.0, self._tick)
        self._transcript.focus()
        if self._question:
            self._begin(self._question, self._typed)
        else:
            self.action_ask()
        self._hint()

    # What comes.

    def _begin(self, question: str, typed: str) -> None:
        self._since, self._read_by, self._asking = time.monotonic(), 0.0, typed
        self._transcript.follow()
        self._tick()
        self._hint()
        self.run_worker(self._asked(question, typed), group="asking")

    async def _asked(self, question: str, typed: str) -> None:
        said = ""
        try:
            async for news in self._aside.ask(question, typed=typed):
                if not (isinstance(news, MessageAdded) and news.message.kind is Kind.USER):
                    self._asking = ""
                if isinstance(news, AsideEnded):
                    said = news.problem or ""
                else:
                    self._draw(news)
        except AgentError as error:
            said, self._asking = str(error), ""
            self._more.give_back(question)
        self._since = None
        self._say(said)
        self._hint()

    def _draw(self, news: AsideEvent) -> None:
        match news:
            case MessageAdded(message=message):
                self._transcript.add(message)
            case MessageChanged(message=message):
                self._transcript.change(message)
            case MessageGrew(message_id=message_id, text=text):
                self._transcript.grow(message_id, text)
            case AsideOpened(words=words):
                self._know(words)
            case AsideEnded():
                pass
            case _:
                assert_never(news)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._since is not None and now >= self._read_by:
            self._show(f"{self._aside.title} is answering · {now - self._since:.0f} s · ctrl+c stops")

    def _say(self, text: str) -> None:
        """Tell the person something; how long the answer takes is shown again when it has been read."""
        self._read_by = time.monotonic() + _READING_SECONDS
        self._show(text)

    def _show(self, text: str) -> None:
        self._said.update(Content(safe_line(text)))

    def _know(self, words: str) -> None:
        """What the aside knows, and how it came to it."""
        self._title.update(Content(safe_line(f"aside · {words}")))

    def _hint(self) -> None:
        if self.has_class("-asking"):
            hints = [("enter ask", "send"), ("esc back", "leave")]
        else:
            hints = [
                ("enter ask more", "ask"),
                ("y copy", "copy"),
                ("i to the composer", "insert"),
                ("s to a file", "save"),
                ("n to a new conversation", "begin"),
                ("esc close", "leave"),
            ]
        self._hints.update(key_hints(*hints))

    # What keys and clicks do.

    def action_leave(self) -> None:
        """Back from writing; else close."""
        if self.has_class("-asking") and self._aside.rows:
            self._stop_writing()
        else:
            self._left(Where.NOWHERE)

    def action_stop(self) -> None:
        """Stop the answer; where none is on its way, close."""
        if selected := self.get_selected_text() or self._more.selected_text:
            self.app.copy_to_clipboard(selected)
        elif self._since is None:
            self.action_leave()
        else:
            self.run_worker(self._aside.stop())

    def action_ask(self) -> None:
        """Write a question."""
        self.add_class("-asking")
        self._more.focus()
        self._hint()

    def action_send(self) -> None:
        """A click on what Enter does."""
        self._more.action_send()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Ask it, once the answer before is whole."""
        event.stop()
        self._more.handed.remove(event)
        if self._since is not None:
            self._more.give_back(event.text)
            self._say("One question after the other: this answer is not whole yet.")
        else:
            self._stop_writing()
            self._begin(event.text, f"/btw {event.text}")

    def _stop_writing(self) -> None:
        self.remove_class("-asking")
        self._transcript.focus()
        self._hint()

    def action_copy(self) -> None:
        """Copy the answer."""
        if answer := self._answer():
            self.app.copy_to_clipboard(answer)
            self._say("Sent the answer to the terminal for its clipboard.")

    def action_insert(self) -> None:
        """Into the composer, and close."""
        if self._answer():
            self._left(Where.COMPOSER)

    def action_begin(self) -> None:
        """Begin a conversation with it, and close."""
        if self._answer():
            self._left(Where.NEW_CONVERSATION)

    def action_save(self) -> None:
        """Into a file of its own, in the conversation's directory."""
        if answer := self._answer():
            self.run_worker(self._save(answer))

    async def _save(self, answer: str) -> None:
        try:
            path = await asyncio.to_thread(write_new, self._directory, self._stem, answer)
        except OSError as error:
            self._say(f"It could not be written: {error.strerror or error}.")
        else:
            self._say(f"It is in {path.name} now, in {self._directory}.")

    def action_scroll(self, step: int) -> None:
        """By a line."""
        self._transcript.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """By a screenful."""
        scroll = self._transcript.scroll_page_up if step < 0 else self._transcript.scroll_page_down
        scroll(animate=False)

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        """Open a link as the chat does."""
        event.stop()
        self._open_link(event)

    def _answer(self) -> str:
        answer = self._aside.text
        if not answer:
            self._say(_NO_ANSWER)
        return answer

    def take_back(self, tab: Tab) -> None:
        """Our own end cut it short: what was typed here, and is kept nowhere, is typed in the chat."""
        unasked = [*(each.text for each in self._more.handed), self._more.text]
        typed = [self._asking, *(f"/btw {text}" for text in unasked if text.strip())]
        if text := "\n".join(each for each in typed if each.strip()):
            tab.take_back(text)

    def _left(self, where: Where) -> None:
        unasked = "" if self._more.blank else self._more.text
        self.dismiss(LeftAside(where, self._aside.text, unasked))


SUMMARY = (
    "Summarise this conversation for somebody who goes on with the work and has read none of it: what was wanted, what "
    "was decided and why, what was done (name the files and the commands), what is still open, and what to do next. "
    "Leave out what led nowhere, unless it must not be tried again. Answer in Markdown with the summary alone, in the "
    "language of the conversation."
)
PULL_REQUEST = (
    "Draft the text of a pull request for the work of this conversation: on the first line a title of at most 70 "
    "characters; after an empty line what was changed and why, how it was tested and what came of that, and what a "
    "reviewer should look at first. Claim nothing that was not done here. Answer in Markdown with that text alone."
)


def with_wish(prompt: str, wish: str) -> str:
    """The prompt, with what the person adds on a line of its own."""
    return f"{prompt}\n\n{wish}" if wish else prompt
