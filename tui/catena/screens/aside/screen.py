"""An aside above the chat: questions, their answers, and what becomes of the last one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, assert_never

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from catena.acts.surface import AnswerTo, SideQuestion
from catena.desktop.clipboard import copied_words
from catena.export.files import write_new
from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.common.dialog import STYLES
from catena.screens.common.page import ReadingScreen
from catena.text.formats import joined
from catena.transcript import Transcript
from catena.transcript.widget.view import FRAME
from catena.widgets.column import Centred
from catena.widgets.composer import Composer
from catena.widgets.sheet_edges import SheetKey
from catena.widgets.typing_box import TypingBox
from catena_acp.continuity.conversation_events import MessageAdded, MessageChanged, MessageGrew
from catena_acp.continuity.wording.context_summary import price_words
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideEvent, AsideOpened, AsideRewound
from catena_acp.errors import AgentError
from catena_store.errors import NotAttachable
from catena_store.records import Attachment, Kind, Message

if TYPE_CHECKING:
    from catena.workspace.tab import Tab


_PLACEHOLDER = Content.styled("Ask a side question (not saved)", "$faint")


_SLOW_FRAME = 0.1  # seconds between two drawings over a slow line
_READING_SECONDS = 4.0  # for a message, before the time of the answer replaces it
_NO_ANSWER = "No answer yet."
_NOT_WHOLE = "Wait for this answer first."


class AsideTranscript(Transcript):
    """A transcript without branches; its keys are those of the aside while no question is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            aside_ask="screen.ask",
            aside_copy="screen.copy",
            aside_insert="screen.insert",
            aside_save="screen.save",
            aside_begin="screen.begin",
            aside_edit="screen.edit",
            aside_down="screen.scroll(1)",
            aside_up="screen.scroll(-1)",
        )
    ]
    PROMPT_ACTS = ("edit",)


@dataclass(frozen=True, slots=True)
class _Edit:
    """A question that is being asked otherwise, and the composer's text before that and at its beginning."""

    question_id: str
    before: str
    text: str


class AsideScreen(ReadingScreen[tuple[AnswerTo, str]]):
    """Questions to an aside and its answers; returns what becomes of the last, and what was typed and not asked.

    The caller closes the aside.
    """

    CSS_PATH = [STYLES, "aside.tcss"]  # noqa: RUF012 - as Textual declares them
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(leave="leave", page_down="page(1)", page_up="page(-1)"),
        *priority_bindings(cancel="stop"),
    ]

    def __init__(
        self,
        aside: Aside,
        question: SideQuestion,
        *,
        directory: str,
        open_link: Callable[[Transcript.LinkOpened], None],
        mentioned: Callable[[str], Awaitable[tuple[Attachment, ...]]],
        still: bool = False,
        vim: bool = False,
    ) -> None:
        """``mentioned`` reads the files that a question mentions; it raises NotAttachable."""
        super().__init__()
        self._aside = aside
        self._question = question
        self._directory = directory
        self._open_link = open_link
        self._mentioned = mentioned
        self._asking = question.typed if question.text else ""  # until it is stored among the inputs
        self._since: float | None = None  # when the question was asked, while its answer comes
        self._read_by = 0.0  # when the message may be replaced
        self._outlives = False  # whether the message is as true behind the answer
        self._edit: _Edit | None = None
        self._transcript = AsideTranscript(
            directory=directory, id="answer", frame=_SLOW_FRAME if still else FRAME
        )
        self._more = Composer(id="more", vim=vim)
        self._more.enter = self._enter

    def compose(self) -> ComposeResult:
        """Head, transcript, message, composer, keys."""
        with Centred():
            yield from self.compose_head()
        yield self._transcript
        with Centred():
            yield TypingBox(self._more, id="asking")
            yield from self.compose_foot()

    def on_mount(self) -> None:
        """Show the price, and ask the question."""
        self._more.empty_row = lambda width: _PLACEHOLDER.truncate(width, ellipsis=True)
        self._show_context(f"{self._aside.title} · {self._aside.price.short_words}")
        self.set_interval(1.0, self._tick)
        self.set_focus(self._transcript)
        if self._question.text:
            self._begin(self._question.text, self._question.typed)
        else:
            self.action_ask()
        self._show_keys()

    def _begin(self, question: str, typed: str, edit: _Edit | None = None) -> None:
        self._since, self._read_by, self._asking = time.monotonic(), 0.0, typed
        self._transcript.follow()
        self._tick()
        self._show_keys()
        self.run_worker(self._asked(question, typed, edit), group="asking")

    async def _asked(self, question: str, typed: str, edit: _Edit | None) -> None:
        said = ""
        instead_of = edit.question_id if edit else None
        try:
            files = await self._mentioned(question)
            async for event in self._aside.ask(question, files, typed=typed, instead_of=instead_of):
                is_question = isinstance(event, MessageAdded) and event.message.kind is Kind.USER
                if not (is_question or isinstance(event, AsideRewound)):
                    self._asking = ""
                if isinstance(event, AsideEnded):
                    said = event.problem or ""
                else:
                    self._draw(event)
        except (AgentError, NotAttachable) as error:
            said, self._asking, self._edit = str(error), "", edit
            self._more.restore(question)
            self.action_ask()
        self._since = None
        if said or not self._outlives:
            self.say(said)
        self._show_keys()

    def _draw(self, event: AsideEvent) -> None:
        match event:
            case MessageAdded(message=message):
                self._transcript.add(message)
            case MessageChanged(message=message):
                self._transcript.change(message)
            case MessageGrew(message_id=message_id, text=text):
                self._transcript.grow(message_id, text)
            case AsideOpened(words=words):
                self._show_context(words)
            case AsideRewound(rows=rows):
                self._transcript.show(rows, more_above=False)
            case AsideEnded():
                pass
            case _:
                assert_never(event)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._since is not None and now >= self._read_by:
            stops = keys_of(self).said("{cancel} stops")
            super().say(f"{self._aside.title} is answering · {now - self._since:.0f} s · {stops}")
            self._outlives = False

    def say(self, text: str) -> None:
        """Show a message; the time of the answer replaces it when there was time to read it."""
        self._read_by = time.monotonic() + _READING_SECONDS
        self._outlives = text not in (_NOT_WHOLE, _NO_ANSWER)
        super().say(text)

    def _show_context(self, words: str) -> None:
        self.show_head("Side question (not saved)", count=words)

    def _show_keys(self) -> None:
        if self.has_class("-asking"):
            keys = [
                SheetKey("{send}", "ask instead" if self._edit else "ask", "send"),
                SheetKey("{leave}", "back", "leave"),
            ]
        elif self._transcript.choosing:
            keys = [
                SheetKey("{aside_ask}", "ask again", "ask"),
                SheetKey("{aside_up}", "before", "scroll(-1)"),
                SheetKey("{aside_down}", "after", "scroll(1)"),
                SheetKey("{leave}", "back", "leave"),
            ]
        else:
            keys = [
                SheetKey("{aside_ask}", "ask more", "ask"),
                SheetKey("{aside_copy}", "copy", "copy"),
                SheetKey("{aside_insert}", "to the composer", "insert"),
                SheetKey("{aside_save}", "save", "save"),
                SheetKey("{aside_begin}", "new conversation", "begin"),
                SheetKey("{aside_edit}", "edit", "edit"),
                SheetKey("{leave}", "close", "leave"),
            ]
        self.show_keys(*keys)

    def action_leave(self) -> None:
        """End the choice of a question, else close the composer; without, or before any question, close the screen."""
        if self._transcript.choosing:
            self._end_choice()
        elif self.has_class("-asking") and self._aside.rows:
            self._leave_edit()
            self._close_composer()
        else:
            self._close(AnswerTo.NOTHING)

    def action_stop(self) -> None:
        """Copy the selected text; else stop the answer; else close the screen."""
        if selected := self.get_selected_text() or self._more.selected_text:
            self.app.copy_to_clipboard(selected)
        elif self._since is None:
            self.action_leave()
        else:
            self.run_worker(self._aside.stop())

    def action_ask(self) -> None:
        """Open the composer; with the question that is chosen, to be asked otherwise."""
        if self._transcript.choosing:
            question = self._transcript.record(self._transcript.current)
            self._end_choice()
            if question:
                self._begin_edit(question)
        self.add_class("-asking")
        self.set_focus(self._more)
        self._show_keys()

    def action_edit(self) -> None:
        """Begin the choice of a question to be asked otherwise; again: choose the one before."""
        if self._since is not None:
            self.say(_NOT_WHOLE)
        elif self._transcript.choosing:
            self._transcript.move(-1, prompts=True)
        elif self._transcript.choose_prompt():
            self._show_keys()

    def action_scroll(self, step: int) -> None:
        """Scroll by a number of lines; while a question is chosen, go to the one before or after."""
        if self._transcript.choosing:
            self._transcript.move(step, prompts=True)
        else:
            super().action_scroll(step)

    def _end_choice(self) -> None:
        self._transcript.browse(False)
        self._show_keys()

    def _begin_edit(self, question: Message) -> None:
        """Put a question into the composer, and say what asking it otherwise takes."""
        self._leave_edit()
        before = self._more.text
        self._more.restore(question.text)
        self._edit = _Edit(question.id, before, self._more.text)
        price = self._aside.price_of(question.id)
        told = "nothing is replayed" if price.native else price_words(price)
        self.say(f"Later answers are dropped; {told}.")

    def _leave_edit(self) -> None:
        """Ask no question otherwise; a text that was changed stays in the composer."""
        if self._unasked != self._more.text:
            self._more.put(self._unasked)
        if self._edit is not None:
            self.say("")  # nothing is dropped
        self._edit = None

    @property
    def _unasked(self) -> str:
        """The text of the composer, but for a question that was put there and is as it was."""
        text, edit = self._more.text, self._edit
        return edit.before if edit and text == edit.text else text

    def action_send(self) -> None:
        """Send the question, as Enter in the composer does."""
        self._more.action_send()

    def _enter(self, text: str) -> None:
        """Ask the question, unless an answer comes."""
        if self._since is not None:
            self.say(_NOT_WHOLE)
        else:
            self._more.load_text("")
            edit, self._edit = self._edit, None
            self._close_composer()
            self._begin(text, f"/btw {text}", edit)

    def _close_composer(self) -> None:
        self.remove_class("-asking")
        self.set_focus(self._transcript)
        self._show_keys()

    def action_copy(self) -> None:
        """Copy the answer."""
        if answer := self._answer():
            self.app.copy_to_clipboard(answer)
            self.say(copied_words(self._what, os.environ))

    def action_insert(self) -> None:
        """Close the screen; the answer goes into the composer."""
        if self._answer():
            self._close(AnswerTo.DRAFT)

    def action_begin(self) -> None:
        """Close the screen; the answer begins a conversation."""
        if self._answer():
            self._close(AnswerTo.NEW_CONVERSATION)

    def action_save(self) -> None:
        """Save the answer as a new file in the directory of the conversation."""
        if answer := self._answer():
            self.run_worker(self._save(answer, self._what))

    async def _save(self, answer: str, what: str) -> None:
        try:
            path = await asyncio.to_thread(write_new, self._directory, self._question.stem, answer)
        except OSError as error:
            self.say(f"Could not save: {error.strerror or error}.")
        else:
            self.say(f"Saved {what} as {path.name} in {self._directory}.")

    @property
    def _what(self) -> str:
        return "the answer" if self._since is None else "the answer so far"

    @property
    def reader(self) -> Transcript:
        """The transcript."""
        return self._transcript

    def action_page(self, step: int) -> None:
        """Scroll by a screenful."""
        scroll = self._transcript.scroll_page_up if step < 0 else self._transcript.scroll_page_down
        scroll(animate=False)

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        """Open a link as the chat does."""
        event.stop()
        self._open_link(event)

    def on_transcript_branch_requested(self, event: Transcript.BranchRequested) -> None:
        """Ask the question whose button was clicked otherwise."""
        event.stop()
        if self._since is not None:
            self.say(_NOT_WHOLE)
        elif self._transcript.focus_message(event.message_id):
            self._transcript.choosing = True
            self.action_ask()

    def _answer(self) -> str:
        answer = self._aside.text
        if not answer:
            self.say(_NO_ANSWER)
        return answer

    def restore(self, tab: Tab) -> None:
        """Restore to the draft of a tab what was typed here and is not stored: the program ends."""
        unasked = self._unasked
        if text := joined(self._asking, f"/btw {unasked}" if unasked.strip() else ""):
            tab.restore(text)

    def _close(self, to: AnswerTo) -> None:
        unasked = self._unasked
        self.dismiss((to, unasked if unasked.strip() else ""))
