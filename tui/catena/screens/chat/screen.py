"""The chat screen: what keys and clicks on it do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.bars.status import Status, StatusLine
from catena.screens.chat.bars.tabs import TabBar
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.screens.chat.panels.edit import EditPanel
from catena.screens.chat.panels.fork import BranchPanel
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.plan import PlanPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.trouble import TroublePanel
from catena.terminal.key_gate import KeyGate
from catena.widgets.change_preview import change_in_words, styled_diff
from catena.widgets.completion import CompletionList
from catena.widgets.composer import Composer
from catena.widgets.hint_line import HintLine
from catena.widgets.row_list import RowList

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.chat.commands import Commands
    from catena.settings.settings import Start
    from catena.transcript import Transcript
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs
    from catena_acp.port import AgentSpec


_HINTS = {
    "composer": (
        "enter send",
        "ctrl+j newline",
        "/ commands",
        "esc esc edit",
        "ctrl+o history",
        "shift+tab browse",
        "f1 help",
    ),
    "busy": ("enter queue", "esc stop", "ctrl+j newline", "/ commands", "shift+tab browse", "f1 help"),
    "completing": ("↑ ↓ choose", "tab complete", "enter do it", "esc close"),
    "browsing": (
        "j k message",
        "J K prompt",
        "e edit",
        "r again",
        "f F fork",
        "h l version",
        "enter fold",
        "y copy",
        "esc back",
        "f1 help",
    ),
    "choosing": ("↑ ↓ choose a prompt", "enter edit it", "r again", "f F fork", "esc back"),
    "branch": ("enter do it", "esc leave it"),
    "editing": ("enter send", "esc your draft back", "ctrl+j newline", "f1 help"),
    "editing_busy": ("enter stops the turn and sends", "esc your draft back", "ctrl+j newline", "f1 help"),
    "question": ("1–9 y n answer", "d the change", "r reject with a reason", "esc leave it open"),
    "trouble": ("the letters choose", "esc back to the composer, again: put it away"),
    "queue": ("↑ ↓ choose", "J K move", "enter change", "d delete", "s send now", "esc back"),
    "reason": ("enter reject and send this", "esc back"),
    "finding": ("enter ↓ next", "↑ previous", "esc close"),
}


class ChatLayout(Screen[None], inherit_bindings=False):
    """The parts of the chat screen, without what they do."""

    AUTO_FOCUS = "Composer"

    def __init__(self, directory: str, *, still: bool) -> None:
        """``still``: nothing on it turns."""
        super().__init__()
        self.still = still
        self.tab_bar = TabBar(directory, id="tabs")
        self.lineage = LineageLine(id="lineage")
        self.conversation = ConversationArea(id="conversation")
        self.find_bar = FindBar(id="find")
        self.plan = PlanPanel(id="plan")
        self.queue = QueueList(id="queue")
        self.permission = PermissionPanel(id="permission")
        self.trouble = TroublePanel(id="trouble")
        self.branch = BranchPanel(id="branch")
        self.edit = EditPanel(id="edit")
        self.attached = AttachmentBar(id="attached")
        self.completion = CompletionList(id="completions")
        self.composer = Composer(id="composer")
        self.hints = HintLine(id="hints")
        self.status = StatusLine(still=still, id="status")

    def compose(self) -> ComposeResult:
        """Everything but the transcript, which the first frame does not need."""
        yield self.tab_bar
        yield self.lineage
        yield self.conversation
        yield self.find_bar
        yield self.plan
        yield self.queue
        yield self.permission
        yield self.trouble
        yield self.branch
        yield self.edit
        yield self.attached
        yield self.completion
        with Horizontal(id="writing"):
            yield Static("> ", id="sign", markup=False)
            yield self.composer
        yield self.hints
        yield self.status

    def on_mount(self) -> None:
        """Hints are there from the first frame on."""
        self.hints.hint(*_HINTS["composer"])
        self.status.show(Status("catena"))

    @property
    def place(self) -> str:
        """What has the keys: composer, browsing, choosing, branch, question, reason, trouble, queue, finding."""
        focused = self.focused
        if focused is None or focused is self.composer:
            return "composer"
        if focused is self.permission:
            return "question"
        if focused is self.trouble:
            return "trouble"
        if focused is self.queue:
            return "queue"
        if focused is self.branch:
            return "branch"
        if self.permission in focused.ancestors:
            return "reason"
        if self.find_bar in focused.ancestors:
            return "finding"
        return "choosing" if self.conversation.choosing else "browsing"

    def hint(self, *, busy: bool) -> None:
        """Say what the keys do in the place that has them; ``busy`` while the agent works."""
        place = self.place
        if place == "composer" and self.completion.is_open:
            place = "completing"
        elif place == "composer" and self.edit.open:
            place = "editing_busy" if self.edit.stops_a_turn else "editing"
        elif place == "composer" and busy:
            place = "busy"
        hints = _HINTS[place]
        if place == "question":
            absent = {
                "d the change": not self.permission.has_change,
                "r reject with a reason": not self.permission.can_be_rejected,
            }
            hints = tuple(hint for hint in hints if not absent.get(hint))
        self.hints.hint(*hints)


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
        self.acts: Commands | None = None  # once the store is open
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
            self.set_focus(self.permission)
        elif self.trouble.can_act:
            self.set_focus(self.trouble)

    def written_in_vain(self) -> list[str]:
        """What was typed before there was a store to keep it, in lines for the terminal that is left."""
        from catena.workspace.pending import typed_in_vain

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
        from catena.widgets.completion import pasted_files

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


class ChatPanels(ChatWriting, inherit_bindings=False):
    """Hands over what the person decides in a panel."""

    def on_permission_panel_answered(self, event: PermissionPanel.Answered) -> None:
        """The person answered."""
        if self.acts is not None:
            if event.reason:
                self.permission.take_reason()
            self.acts.run(self.acts.talk.answer(event.ask, event.option, event.reason))

    def on_permission_panel_reason_left(self, event: PermissionPanel.ReasonLeft) -> None:
        """A reason for which the question is gone is a text like any other."""
        if self.acts is not None and (tab := self.acts.talk.asks(event.ask)):
            self.acts.desk.give_back(tab, event.text)

    def on_permission_panel_diff_wanted(self, event: PermissionPanel.DiffWanted) -> None:
        """Show the whole change."""
        from catena.screens.common.page import PageScreen

        change = styled_diff(change_in_words(event.ask.tool_call))
        self.app.push_screen(PageScreen("the change that is asked for", change))

    def on_permission_panel_mistyped(self, event: PermissionPanel.Mistyped) -> None:
        """A key without a meaning."""
        self.hints.say(event.text)

    def on_trouble_panel_taken(self, event: TroublePanel.Taken) -> None:
        """The person does something about the trouble; what they type next is a text again."""
        self.set_focus(self.composer)
        if self.acts is not None:
            self.acts.run(self.acts.trouble.take(event.offer))

    def on_trouble_panel_mistyped(self, event: TroublePanel.Mistyped) -> None:
        """A key without a meaning."""
        self.hints.say(event.text)

    def on_trouble_panel_left(self) -> None:
        """The trouble is over: the keys go back to the composer."""
        self.set_focus(self.composer)

    def on_queue_list_removed(self, event: QueueList.Removed) -> None:
        """A click takes a waiting prompt back."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.talk.take_back(tab, event.item))

    def on_queue_list_deleted(self, event: QueueList.Deleted) -> None:
        """A waiting prompt is not wanted any more."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.delete(tab, event.item))

    def on_queue_list_sent_now(self, event: QueueList.SentNow) -> None:
        """A waiting prompt goes before all others."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.send_now(tab, event.item))

    def on_queue_list_moved(self, event: QueueList.Moved) -> None:
        """A waiting prompt gets another place."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.move(tab, event.item, event.position))

    def on_queue_list_left(self) -> None:
        """Nothing waits any more."""
        self.set_focus(self.composer)

    def on_conversation_area_chosen(self) -> None:
        """The prompt to be edited was chosen."""
        self.action_act("edit")

    def on_edit_panel_left(self) -> None:
        """A click gives the draft back."""
        if self.acts is not None:
            self.acts.edits.leave_edit()

    def on_lineage_line_wanted(self) -> None:
        """A click goes to the source, or to a fork."""
        self.action_act("lineage")

    def on_attachment_bar_removed(self, event: AttachmentBar.Removed) -> None:
        """A click takes a file off."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.attaching.remove(tab, event.index))


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
        gate: KeyGate,
        notify_terminal: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        """``notify_terminal`` gets the person's attention where they do not look at us; ``leave`` ends the program."""
        super().__init__(start, environment=environment, leave=leave)
        self.gate = gate
        self.permission.pace = gate.pace
        self._notify_terminal = notify_terminal
        self._asked: str | None = None

    async def ready_to_show(self) -> None:
        """A tab is about to be shown: there has to be a transcript."""
        if await self.conversation.mount_transcript() and self.conversation.transcript is not None:
            self.watch(self.conversation.transcript, "scroll_y", self._place_changed, init=False)

    async def begin(self, tabs: OpenTabs) -> None:
        """The store is open: bring the tabs back, and send what was sent meanwhile."""
        from catena.screens.chat.commands import Commands
        from catena.screens.chat.presenter import Parts, TabPresenter

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
        view = TabPresenter(
            parts,
            tabs,
            attention=self._attention,
            looked_at=lambda: self.app.app_focus,
            changed=self._drawn,
        )
        self.acts = Commands(self, parts, tabs, view)
        self.run_worker(view.follow(), group="news")
        self.acts.run(self._begin_tabs(self.acts))
        tabs.on_repair(self.hints.say)

    async def _begin_tabs(self, acts: Commands) -> None:
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
            self.set_focus(self.permission)

    def _attention(self, tab: Tab, text: str) -> None:
        if not self.app.app_focus:
            self._notify_terminal(text)
        elif tab is not self._tab and tab.asks:
            self.hints.say(text)

    def on_tab_bar_wanted(self, event: TabBar.Wanted) -> None:
        """A click goes to a tab."""
        self.action_go_to_tab(event.index + 1)

    # The transcript.

    def on_transcript_older_requested(self) -> None:
        """The top is near: read the page above."""
        if self.acts is not None:
            self.acts.run(self.acts.desk.view.show_older())

    def on_transcript_seam_opened(self, event: Transcript.SeamOpened) -> None:
        """Show what the session was told there."""
        if self.acts is not None:
            self.acts.run(self.acts.desk.view.tell_seam(event.message_id))

    def on_transcript_sibling_requested(self, event: Transcript.SiblingRequested) -> None:
        """A click on the arrows of a prompt."""
        if self.acts is not None:
            self.acts.branches.sibling_clicked(event.message_id, event.step)

    def on_transcript_branch_requested(self, event: Transcript.BranchRequested) -> None:
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
