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
_WONDERED_AT = 0.5  # seconds after Enter without an effect


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
        self._offered: tuple[list[str], str, str] | None = (
            None  # pasted files, the text without and with them
        )

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
        """To an open question, else to what can be done about trouble."""
        if self.permission.ask is not None:
            self.permission.focus()
        elif self.trouble.can_act:
            self.trouble.focus()

    def written_in_vain(self) -> list[str]:
        """What was typed before there was a store to keep it, in lines for the terminal that is left."""
        from catena.store_trouble import typed_in_vain

        typed = [*(self._early or ()), *(each.text for each in self.composer.handed), self.composer.text]
        return typed_in_vain(typed) if self.acts is None else []

    def _hint(self) -> None:
        self.hint(busy=self._tab is not None and self._tab.busy)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Do what was written."""
        self.composer.handed.remove(event)
        if self._early is not None:
            self._early.append(event.text)
        elif self.acts is not None:
            self.acts.submit(event.text, event.tab)

    def on_composer_held(self) -> None:
        """Say that it waits, where that takes long enough to be wondered at."""
        self.set_timer(_WONDERED_AT, self._say_what_waits)

    def _say_what_waits(self) -> None:
        if self.acts is not None and self.acts.desk.handover.has_sent:
            self.hints.say("What you sent goes out as soon as what you asked for before it is done.")

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
            if not self._take_offer():
                self.action_to_question()
        elif event.command == "quit":
            self.leave()
        else:
            self.action_act(event.command)

    def on_text_area_changed(self, event: Composer.Changed) -> None:
        """The draft is kept, and a beginning slash completed."""
        tab = self._tab
        session = tab.session if tab else None
        where = tab.conversation.record.cwd if tab else self.start.directory
        self.completion.offer(self.composer.text, session.commands if session else (), where)
        self._completions_changed()
        if self.acts is not None:
            self.acts.desk.handover.write()

    def on_composer_pasted(self, event: Composer.Pasted) -> None:
        """A file that is dropped on a terminal is pasted as its path: it can be attached instead."""
        from catena.pasted_paths import pasted_files

        files = pasted_files(event.pasted)
        self._offered = (files, event.before, event.after) if files else None
        if files:
            what = "the file" if len(files) == 1 else f"{len(files)} files"
            self.hints.say(f"Tab attaches {what} instead of the path.")

    def _take_offer(self) -> bool:
        """Attach what was just pasted, where nothing was written since."""
        offered, self._offered = self._offered, None
        if offered is None or self.acts is None or self.composer.text != offered[2]:
            return False
        self.composer.put(offered[1])
        self.acts.run(self.acts.attaching.attach_pasted(offered[0]))
        return True

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
        self.quote(event.text)

    def quote(self, text: str) -> None:
        """Put a quote behind what is written."""
        before = self.composer.text.rstrip()
        self.composer.put(f"{before}\n\n{text}\n\n" if before else f"{text}\n\n")
        self.set_focus(self.composer)

    def _place_changed(self) -> None:
        tab, transcript = self._shown, self.conversation.transcript
        if tab is not None and tab is self._tab and transcript is not None:
            place = transcript.position()
            if place != tab.scroll:
                tab.scroll = place
                self.keep_soon()

    def keep_soon(self) -> None:
        """Save what is written, and the place, when the person pauses."""
        if self._keeping is None:
            self._keeping = self.set_timer(_KEEP_AFTER, self._keep)

    def _keep(self) -> None:
        self._keeping = None
        if self.acts is not None and (tab := self.acts.desk.handover.tab):
            self.acts.run(self.acts.desk.tabs.keep(tab))

    def on_unmount(self) -> None:
        """The screen is left: what stands on it is its tab's."""
        if self.acts is not None:
            self.acts.desk.handover.take_in()
            self.acts.desk.view.let_go()
            self.acts.talk.hold_all(self._early or (), self.composer, self.permission)
            self._early = None
