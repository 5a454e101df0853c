"""The chat screen: what keys and clicks on it do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType

from catena.screens.chat_panels import ChatPanels
from catena.widgets.conversation_area import ConversationArea
from catena.widgets.find_bar import FindBar
from catena.widgets.tab_bar import TabBar

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.open_tabs import OpenTabs
    from catena.screens.acts import Acts
    from catena.start import Start
    from catena.tab import Tab
    from catena.widgets.transcript import Transcript
    from catena_acp.port import AgentSpec

_QUESTION_PAUSE = 0.4  # seconds in which what is typed still belongs to the composer


class ChatScreen(ChatPanels, inherit_bindings=False):
    """One tab at a time: its transcript, what it asks, and the composer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "stop, close", id="stop"),
        Binding("ctrl+c,super+c", "copy_or_stop", "copy, stop", id="copy_or_stop"),
        Binding("shift+tab", "act('browse')", "browse", id="browse"),
        Binding("ctrl+o", "act('history')", "history", id="history"),
        Binding("ctrl+t", "act('new')", "new tab", id="tab.new"),
        Binding("ctrl+pageup", "step_tab(-1)", "tab before", id="tab.previous"),
        Binding("ctrl+pagedown", "step_tab(1)", "next tab", id="tab.next"),
        Binding("ctrl+n", "act('queue')", "waiting prompts", id="queue"),
        Binding("ctrl+f", "act('find')", "find", id="find"),
        Binding("ctrl+p", "act('palette')", "every command", id="palette"),
        Binding("f1", "act('help')", "help", id="help"),
        Binding("ctrl+z", "undo_or_suspend", "undo; to the shell", id="suspend"),
        Binding("pageup", "page(-1)", "scroll up", id="scroll.up"),
        Binding("pagedown", "page(1)", "scroll down", id="scroll.down"),
    ]

    def __init__(
        self,
        start: Start,
        *,
        environment: Mapping[str, str],
        notify_terminal: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        """``notify_terminal`` gets the person's attention where they do not look at us; ``leave`` ends the program."""
        super().__init__(start, environment=environment, leave=leave)
        self._notify_terminal = notify_terminal
        self._asked: str | None = None

    async def ready_to_show(self) -> None:
        """A tab is about to be shown: there has to be a transcript."""
        if await self.conversation.mount_transcript() and self.conversation.transcript is not None:
            self.watch(self.conversation.transcript, "scroll_y", self._place_changed, init=False)

    async def begin(self, tabs: OpenTabs) -> None:
        """The store is open: bring the tabs back, and send what was sent meanwhile."""
        from catena.screens.acts import Acts
        from catena.screens.tab_view import Parts, TabView

        transcript = self.conversation.make_transcript(self.start.directory, still=self.still)
        parts = Parts(
            tabs=self.tab_bar,
            lineage=self.lineage,
            welcome=self.conversation.welcome,
            transcript=transcript,
            plan=self.plan,
            queue=self.queue,
            attached=self.attached,
            permission=self.permission,
            trouble=self.trouble,
            edit=self.edit,
            composer=self.composer,
            hints=self.hints,
            status=self.status,
        )
        view = TabView(
            parts,
            tabs,
            attention=self._attention,
            looked_at=lambda: self.app.app_focus,
            changed=self._drawn,
        )
        self.acts = Acts(self, parts, tabs, view)
        self.run_worker(view.follow(), group="news")
        self.acts.run(self._begin_tabs(self.acts))
        tabs.when_mended(self.hints.say)

    async def _begin_tabs(self, acts: Acts) -> None:
        try:
            await acts.tabs.begin()
        finally:
            early, self._early = self._early or [], None
            for text in early:
                acts.submit(text)

    async def open_with(self, spec: AgentSpec) -> None:
        """A first tab, with this agent."""
        if self.acts is not None:
            await self.acts.tabs.show(await self.acts.desk.tabs.open_new(spec))

    # Keys.

    def action_escape(self) -> None:
        """Close what is open, the innermost first; else stop the turn. Twice with neither: edit an earlier prompt."""
        busy = self._tab is not None and self._tab.busy
        closed = self._close_or_stop()
        if self.acts is not None:
            self.acts.edits.escaped(idle=not (closed or busy))

    def _close_or_stop(self) -> bool:
        """Close the innermost, else stop; False where there was nothing to close."""
        self.hints.hush()
        place = self.place
        if self.completion.is_open:
            self._close_completions()
        elif self.find_bar.is_open:
            self.find_bar.close()
            self.set_focus(self.composer)
        elif place == "reason":
            self.permission.drop_reason()
        elif place == "question":
            self.set_focus(self.composer)
            self.hints.say("The question stays open; tab goes back to it. Esc once more stops the turn.")
        elif place == "trouble":
            self.set_focus(self.composer)
            self.hints.say("Tab goes back to it; esc once more puts it away.")
        elif place == "branch":
            self.branch.leave()
        elif place == "choosing" and self.acts:
            self.acts.edits.leave_choosing()
        elif place in ("browsing", "queue"):
            self.set_focus(self.composer)
        elif self.selections:
            self.clear_selection()
        elif not (self.acts and self.acts.close_innermost()):
            self.action_act("stop")
            return False
        return True

    def action_copy_or_stop(self) -> None:
        """Copy what is selected; else as Esc, but a question does not stay open."""
        if selected := self.composer.selected_text or self.get_selected_text():
            self.app.copy_to_clipboard(selected)
        elif self.place == "question":
            self.action_act("stop")
        else:
            busy = self._tab is not None and self._tab.busy
            idle = self.place == "composer" and not (busy or self.completion.is_open or self.find_bar.is_open)
            idle = not self._close_or_stop() and idle
            if idle:
                self.hints.say("Ctrl+D in an empty composer leaves, and so does /quit.")

    def action_undo_or_suspend(self) -> None:
        """Undo what was written last; with nothing to undo, what Ctrl+Z does in a shell."""
        if self.focused is not self.composer or not self.composer.undo_last():
            self.action_act("suspend")

    def action_step_tab(self, step: int) -> None:
        """Go through the tabs."""
        if self.acts is not None:
            self.acts.tabs.step(step)

    def action_go_to_tab(self, number: int) -> None:
        """Go to a tab by its number."""
        if self.acts is not None:
            self.acts.tabs.go_to(number - 1)

    def action_page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        self.conversation.page(step)

    def on_key(self, event: events.Key) -> None:
        """What was said gives way to the hints with the next key."""
        if event.key != "escape":
            self.on_composer_typed()

    def on_composer_typed(self) -> None:
        """The same, for the keys that stay in the composer."""
        self.hints.hush()
        if self.acts is not None:
            self.acts.edits.typed()

    def on_descendant_focus(self) -> None:
        """The hints are those of the place that has the keys."""
        self._hint()

    # What the tab tells.

    def tab_shown(self) -> None:
        """Another tab is on the screen; the composer has the keys, unless the person went to browse meanwhile."""
        self.branch.leave()
        self.find_bar.remove_class("-open")
        transcript = self.conversation.transcript
        if transcript is None or not transcript.display or self.focused is not transcript:
            self.set_focus(self.composer)
        self._asked = None
        self._drawn()

    def _drawn(self) -> None:
        """After every drawing: hints, and who gets the keys where a question came or went."""
        self._hint()
        if self.acts is not None:
            self.acts.edits.price_anew()
        ask = self.permission.ask
        if ask is None and self._asked is not None and self.place in ("question", "reason"):
            self.set_focus(self.composer)
        if ask is not None and ask.ask_id != self._asked:
            self.set_timer(_QUESTION_PAUSE, lambda: self._let_answer(ask.ask_id))
        self._asked = ask.ask_id if ask else None

    def _let_answer(self, ask_id: str) -> None:
        """Give the keys to the question, unless the person writes or reads elsewhere."""
        ask = self.permission.ask
        if self._shown is not self._tab:  # it is another tab's before long
            return
        if ask is not None and ask.ask_id == ask_id and self.place == "composer" and self.composer.blank:
            self.permission.focus()

    def _attention(self, tab: Tab, text: str) -> None:
        if not self.app.app_focus:
            self._notify_terminal(text)
        elif tab is not self._tab and tab.asks:
            self.hints.say(text)

    def on_tab_bar_wanted(self, event: TabBar.Wanted) -> None:
        """A click goes to a tab."""
        self.action_go_to_tab(event.index + 1)

    # The transcript.

    def on_transcript_older_wanted(self) -> None:
        """The top is near: read the page above."""
        if self.acts is not None:
            self.acts.run(self.acts.desk.view.show_older())

    def on_transcript_seam_opened(self, event: Transcript.SeamOpened) -> None:
        """Show what the session was told there."""
        if self.acts is not None:
            self.acts.run(self.acts.desk.view.tell_seam(event.message_id))

    def on_transcript_sibling_wanted(self, event: Transcript.SiblingWanted) -> None:
        """A click on the arrows of a prompt."""
        if self.acts is not None:
            self.acts.branches.sibling_clicked(event.message_id, event.step)

    def on_browsing_branch_wanted(self, event: Transcript.BranchWanted) -> None:
        """A click on a button of a prompt."""
        if self.acts is not None:
            self.acts.branches.clicked(event.message_id, event.act)

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        """Open a link where the person sits; over a line there is no browser here."""
        if "SSH_TTY" in self.environment:
            self.app.copy_to_clipboard(event.href)
        elif event.href.startswith(("http://", "https://")):
            self.app.open_url(event.href)

    def on_conversation_area_copied(self, event: ConversationArea.Copied) -> None:
        """Copy."""
        self.app.copy_to_clipboard(event.text)

    def on_conversation_area_nothing_there(self, event: ConversationArea.NothingThere) -> None:
        """Say so."""
        self.hints.say(event.text)

    def on_find_bar_looked(self, event: FindBar.Looked) -> None:
        """Look for another text."""
        if (transcript := self.conversation.transcript) is not None:
            transcript.find(event.text)
            self._say_found(transcript)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        """To another place."""
        if (transcript := self.conversation.transcript) is not None:
            transcript.find_step(event.step)
            self._say_found(transcript)

    def _say_found(self, transcript: Transcript) -> None:
        at, total = transcript.hit_position
        self.find_bar.found(f"{at} of {total}" if total else "")
