"""Writing on the chat screen: what the composer wants, completions, and drafts that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.timer import Timer

from catena.screens.chat_layout import ChatLayout
from catena.widgets.composer import Composer
from catena.widgets.conversation_area import ConversationArea
from catena.widgets.row_list import RowList

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.acts import Acts
    from catena.start import Start
    from catena.tab import Tab

_KEEP_AFTER = 0.4  # seconds from a change to its place in the store


class ChatWriting(ChatLayout, inherit_bindings=False):
    """Hands over what is written, and keeps what is not sent yet."""

    def __init__(self, start: Start, *, environment: Mapping[str, str], leave: Callable[[], None]) -> None:
        """``leave`` ends the program."""
        super().__init__(start.directory, still="SSH_TTY" in environment)
        self.start = start
        self.environment = environment
        self.leave = leave
        self.acts: Acts | None = None  # once the store is open
        self._early: list[str] | None = []  # sent before the tabs were there; None once they are
        self._keeping: Timer | None = None

    @property
    def _tab(self) -> Tab | None:
        return self.acts.desk.tab if self.acts else None

    @property
    def _shown(self) -> Tab | None:
        return self.acts.desk.view.shown if self.acts else None

    def action_act(self, name: str) -> None:
        """Do what the command of this name does."""
        if self.acts is not None:
            self.acts.do(name)

    def action_to_question(self) -> None:
        """To an open question."""
        if self.permission.ask is not None:
            self.permission.focus()

    def _hint(self) -> None:
        self.hint(busy=self._tab is not None and self._tab.busy)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Do what was written."""
        if self._early is not None:
            self._early.append(event.text)
        elif self.acts is not None:
            self.acts.submit(event.text)

    def on_composer_sent_empty(self) -> None:
        """Enter on nothing lets held prompts go."""
        if self.acts is not None:
            self.acts.run(self.acts.talk.go_on())

    def on_composer_walked(self, event: Composer.Walked) -> None:
        """Through what was typed before."""
        if self.acts is not None:
            self.acts.run(self.acts.talk.walk(older=event.older))

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        """A key of the composer that opens something."""
        if event.command == "tab":
            self.action_to_question()
        elif event.command == "quit":
            self.leave()
        else:
            self.action_act(event.command)

    def on_text_area_changed(self, event: Composer.Changed) -> None:
        """The draft is kept, and a beginning slash completed."""
        text, tab = self.composer.text, self._tab
        session = tab.session if tab else None
        self.completion.offer(text, session.commands if session else ())
        self._completions_changed()
        if tab is not None and tab is self._shown and tab.draft != text:
            tab.draft = text
            self._keep_soon()

    def _completions_changed(self) -> None:
        self.composer.completing = self.completion.is_open
        self._hint()

    def _close_completions(self) -> None:
        self.completion.close()
        self._completions_changed()

    def on_composer_completion_moved(self, event: Composer.CompletionMoved) -> None:
        """Another completion."""
        self.completion.move(event.step)

    def on_composer_completion_taken(self, event: Composer.CompletionTaken) -> None:
        """Take a completion: with Enter it is done at once, where nothing is missing."""
        completed = self.completion.completed()
        self._close_completions()
        if completed is not None:
            text, whole = completed
            self.composer.put(text)
            if event.run and whole:
                self.composer.submit()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click on a completion."""
        self.on_composer_completion_taken(Composer.CompletionTaken(run=False))

    def on_conversation_area_quoted(self, event: ConversationArea.Quoted) -> None:
        """Quote into the composer."""
        before = self.composer.text.rstrip()
        self.composer.put(f"{before}\n\n{event.text}\n\n" if before else f"{event.text}\n\n")
        self.composer.focus()

    def _place_changed(self) -> None:
        tab, transcript = self._shown, self.conversation.transcript
        if tab is not None and tab is self._tab and transcript is not None:
            place = transcript.position()
            if place != tab.scroll:
                tab.scroll = place
                self._keep_soon()

    def _keep_soon(self) -> None:
        if self._keeping is None:
            self._keeping = self.set_timer(_KEEP_AFTER, self._keep)

    def _keep(self) -> None:
        self._keeping = None
        if self.acts is not None and (tab := self._shown):
            self.acts.run(self.acts.desk.tabs.keep(tab))
