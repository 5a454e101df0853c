"""Everything of one chat as one widget: conversation, panels and composer. A screen may hold several."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from catena.screens.chat.area.beginning import Beginning
from catena.screens.chat.area.hints import AreaHints
from catena.screens.chat.area.panel_stack import PanelStack
from catena.screens.chat.bars.composer_edges import Away
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.bars.status_row import StatusRow
from catena.screens.chat.bars.tabs import PaneHead
from catena.screens.chat.commands.chat import Chat
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.chat.panels.start import StartPanel
from catena.screens.chat.prompt.prompt_area import PromptArea
from catena.terminal.key_gate import KeyGate
from catena.terminal.times import Sight, call_after
from catena.widgets.column import Centred
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.panes import Pane

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.desktop.clipboard import ImageClipboard
    from catena.screens.chat.area.panel_columns import QuestionColumn
    from catena.screens.chat.context import ScreenPanes
    from catena.screens.chat.panels.elicitation import ElicitationPanel
    from catena.settings.settings import Start
    from catena.terminal.control.sequences import CallPerson, Notification
    from catena.terminal.images import TerminalImages
    from catena.transcript import Transcript
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs


_KEEP_AFTER = 0.4  # seconds from a change to its place in the store
_QUESTION_PAUSE = 0.4  # seconds in which what is typed still belongs to the composer


class ChatArea(Vertical):
    """The area of one pane: the transcript, panels and composer of its tab, and the commands behind them."""

    DEFAULT_CSS = """
    ChatArea { height: 1fr; }
    """

    class Clicked(Message):
        """A mouse button was pressed in this area while it had not the keys."""

        def __init__(self, area: ChatArea) -> None:
            super().__init__()
            self.area = area

    def __init__(
        self,
        start: Start,
        *,
        environment: Mapping[str, str],
        gate: KeyGate,
        outgoing: OutgoingTexts,
        call_person: CallPerson,
        clipboard: ImageClipboard,
        leave: Callable[[], None],
        images: TerminalImages | None = None,
        half_rows: Callable[[], bool],
        id: str | None = None,
    ) -> None:
        """``call_person`` notifies who does not look at the terminal; ``leave`` ends the program.

        ``clipboard`` has the images that are pasted, ``images`` those that the terminal draws; ``half_rows`` tells
        whether grounds reach half a row further.
        """
        super().__init__(id=id)
        self.start = start
        self.environment = environment
        self.gate = gate
        self.clipboard = clipboard
        self.images: TerminalImages | None = images
        self.leave = leave
        self.pane = Pane()  # until the store is open: one of its own
        self._panes: ScreenPanes | None = None
        self._left: Widget | None = None  # that gets the keys when this pane does
        self._waking = False  # the mouse button that was pressed last gave the keys to this pane
        self.still = "SSH_TTY" in environment
        self._call_person = call_person
        self._half_rows = half_rows
        self._keeping: Timer | None = None
        self._asked: str | None = None  # the question that was drawn last
        self.head = PaneHead()
        self.lineage = LineageLine(id="lineage")
        settings = start.settings
        self.conversation = ConversationArea(
            do=self.do,
            directory=start.directory,
            column=settings.width,
            half_rows=half_rows(),
            clock=start.clock,
            images=images,
            id="conversation",
        )
        self.chat = Chat(outgoing, self.conversation.start, gate, run=self.run, leave=leave)
        self.prompt = PromptArea(
            self.chat,
            directories=(start.directory, *start.further_directories),
            shell=settings.shell,
            keys=settings.keys,
            vim=settings.vim,
            id="prompt",
        )
        self.status = StatusRow(settings.status_line, environment=environment)
        self._beginning = Beginning(self.conversation, self.prompt, gate.pace)
        self.prompt.composer.shortcut = self._beginning.copies_installation
        self.prompt.composer.pastes = outgoing.pastes
        self.prompt.composer.pastes_own_copy = lambda: clipboard.copied_here
        self.find_bar = self.prompt.find
        self._sight = Sight(self)
        self.panels = PanelStack(
            handle=self.chat.handle,
            conversation=self.conversation,
            composer=self.prompt.composer,
            pace=gate.pace,
            sight=self._sight,
            heeds_clicks=lambda: not self._waking,
            id="panels",
        )
        self._hints = AreaHints(self.conversation, self.panels, self.prompt)
        self._working = self._answered = False  # the shown tab, and since the person left its end
        if start.agent is not None:
            self.prompt.hints.address(f"Ask {start.agent.title}")

    def compose(self) -> ComposeResult:
        """Yield everything but the transcript, which the first frame does not need."""
        with Centred():
            yield self.head
            yield self.lineage
        yield self.panels
        yield self.prompt
        with Centred():
            yield self.status

    def on_mount(self) -> None:
        """Show hints from the first frame on."""
        self._sight.watch()
        if self.start.chooses_agent:
            self._beginning.show(self.start)
        self._hint()

    def use(self, start: Start) -> None:
        """Use what holds at once of changed settings."""
        self.start, settings = start, start.settings
        self.prompt.use(shell=settings.shell, keys=settings.keys, vim=settings.vim)
        self.conversation.widen(settings.width, half_rows=self._half_rows())

    # The keys.

    @property
    def focused(self) -> Widget | None:
        """The focused widget of this area."""
        focused = self.screen.focused
        return focused if focused is not None and self in focused.ancestors else None

    def set_focus(self, widget: Widget) -> None:
        """Focus a widget, from the next key on."""
        self.screen.set_focus(widget)

    def write_here(self) -> None:
        """Focus the composer."""
        self.set_focus(self.prompt.composer)

    @property
    def place(self) -> str:
        """The part that has the keys.

        It is composer, browsing, choosing, branch, question, reason, form, page, trouble, queue or finding; elsewhere
        while they are beside this area.
        """
        focused = self.focused
        if focused is None:
            return "composer" if self.screen.focused is None else "elsewhere"
        if focused is self.prompt.composer:
            return "composer"
        if place := self.panels.place_of(focused):
            return place
        if self.find_bar in focused.ancestors:
            return "finding"
        return "choosing" if self.conversation.choosing else "browsing"

    def on_prompt_area_hints_stale(self, event: PromptArea.HintsStale) -> None:
        """Update the hints."""
        event.stop()
        self._hint()

    def _hint(self) -> None:
        """Show the hints of the focused part."""
        several = self._panes is not None and self._panes.several
        self._hints.show(self.place, self.start.settings.keys, self.chat.tab, several_panes=several)

    @property
    def _busy(self) -> bool:
        tab = self.chat.tab
        return tab is not None and tab.busy

    def on_key(self, event: events.Key) -> None:
        """Replace the shown message by the hints: it was read by the next key."""
        if event.key not in self.start.settings.keys.names("stop"):
            self.prompt.hints.hush()
            self.chat.typed()

    def on_descendant_focus(self) -> None:
        """Show the hints of the focused part."""
        self._hint()

    def on_prompt_area_decision_wanted(self, event: PromptArea.DecisionWanted) -> None:
        """Focus the panel that waits for a decision."""
        event.stop()
        self.panels.enter()

    def do(self, name: str) -> None:
        """Run the command of this name."""
        self.chat.do(name)

    def escape(self) -> None:
        """Close what is open, the innermost first, else stop the turn; pressed twice with neither, edit a prompt."""
        busy = self._busy
        closed = self._close_or_stop()
        if self.chat.opened is not None:
            self.chat.opened.edits.escaped(idle=not (closed or busy))

    def _close_or_stop(self) -> bool:
        """Close the innermost part, else stop the turn; False if there was nothing to close."""
        self.prompt.hints.hush()
        place = self.place
        if self.chat.stay():
            pass
        elif self.prompt.completion.is_open:
            self.prompt.close_completions()
        elif place == "composer" and self.chat.opened is not None and self.chat.opened.shell.stop():
            pass
        elif self.find_bar.is_open:
            self.find_bar.close()
            self.write_here()
        elif place == "reason":
            self.panels.permission.drop_reason()
        elif place in ("question", "form", "page"):
            self.write_here()
            asked = self.panels.question
            self.prompt.hints.say(
                self._said("The request stays open: {Complete} returns to it, {Stop} again stops the turn."),
                holds=lambda: self.panels.question is asked,
            )
        elif place == "trouble":
            self.write_here()
            self.prompt.hints.say(
                self._said("{Complete} goes back to it; {Stop} again dismisses it."),
                holds=lambda: self.panels.troubled,
            )
        elif place == "branch":
            self.panels.fork.leave()
        elif place == "choosing":
            self.chat.actions.edits.leave_choosing()
        elif place in ("browsing", "queue"):
            self.write_here()
        elif self.screen.selections:
            self.screen.clear_selection()
        elif not self._busy and self.conversation.unmark_found():
            pass
        elif not self.chat.close_innermost():
            if self._busy:
                self.do("stop")
            return False
        return True

    def copy_clear_or_stop(self) -> None:
        """Copy what is selected; else clear the draft; else as Esc, but a question does not stay open."""
        composer = self.prompt.composer
        if selected := composer.selected_text or self.screen.get_selected_text():
            self.app.copy_to_clipboard(selected)
        elif self.place == "question":
            self.do("stop")
        elif self.focused is composer and composer.text:
            self.prompt.clear()
        else:
            open_beside = self.prompt.completion.is_open or self.find_bar.is_open
            idle = self.place == "composer" and not (self._busy or open_beside)
            if not self._close_or_stop() and idle:
                self.say(self._said("Press {Quit} or type /quit to quit.", "Type /quit to quit."))

    def _said(self, template: str, otherwise: str = "") -> str:
        return self.start.settings.keys.said(template, otherwise)

    def page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        self.conversation.page(step)

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Show a text in the hint line; ``wrong`` if something failed."""
        self.prompt.hints.say(text, wrong=wrong)

    # From pane to pane.

    def leave_keys(self) -> None:
        """Remember where the keys were: they are about to go to another pane."""
        self._left = self.focused if self.place in ("browsing", "finding") else None

    def take_keys(self) -> None:
        """Focus what had the keys of this pane, or the composer; an open question gets them soon."""
        left, self._left = self._left, None
        there = left is not None and left.display and left.is_attached
        self.set_focus(left if left is not None and there else self.prompt.composer)
        if (ask := self.panels.question) is not None:
            self._let_answer_soon(ask.ask_id)

    def stand_beside(self, beside: bool) -> None:
        """Show at the head which tab this is, while another area stands ``beside``."""
        self.head.set_class(beside, "-beside")
        self.show_head()
        self._hint()

    def show_head(self) -> None:
        """Show the name of the tab and what it is doing."""
        tab = self.chat.tab
        if tab is not None and self._panes is not None:
            self.head.show(tab.name(), tab.mark, has_keys=self._panes.has_keys(self.pane))

    def on_mouse_down(self) -> None:
        """Ask for the keys, where another pane has them."""
        self._waking = self.screen.focused is not None and self.focused is None
        if self._waking:
            self.post_message(self.Clicked(self))

    # The life of the area.

    def connect(self, tabs: OpenTabs, pane: Pane, panes: ScreenPanes) -> Chat:
        """Connect this area, whose panels are open, to the tabs; it shows those that come into the pane."""
        from catena.screens.chat.area.parts import drawn_parts
        from catena.screens.chat.commands.dispatch import open_chat
        from catena.screens.chat.presenter import TabPresenter

        transcript = self.conversation.make_transcript(self.start.directory, still=self.still)
        parts = drawn_parts(self.conversation, transcript, self.panels, self.prompt, self.lineage)
        presenter = TabPresenter(
            parts,
            tabs,
            pane,
            attention=self._attention,
            looked_at=lambda: self.app.app_focus,
            changed=self._drawn,
            show_tabs=panes.show_tabs,
            keys=lambda: self.start.settings.keys,
        )
        self.pane, self._panes = pane, panes
        self.chat.connect(open_chat(self, parts, tabs, pane, panes, presenter, self.chat.draft))
        self.run_worker(presenter.follow(), group="events")
        self.watch(self.app, "app_focus", presenter.look, init=False)
        self.status.begin(tabs, pane, self.say)
        return self.chat

    def run(self, work: Awaitable[None]) -> None:
        """Run work in the background for as long as the area is on the screen."""
        self.run_worker(cast("Coroutine[Any, Any, None]", work), group="acts")

    async def ready_to_show(self) -> None:
        """Get ready to show a tab: there has to be a transcript."""
        if await self.conversation.mount_transcript() and self.conversation.transcript is not None:
            transcript = self.conversation.transcript
            self.watch(transcript, "scroll_y", self._place_changed, init=False)
            self.watch(transcript, "rows_below", self._away_changed, init=False)
            self.watch(transcript, "current", self._hint, init=False)

    def on_unmount(self) -> None:
        """Write what is on the screen back to its tab."""
        self.chat.detach(self.prompt.composer.text)

    # Saving.

    def _place_changed(self) -> None:
        tab, transcript = self.chat.shown, self.conversation.transcript
        if tab is not None and tab is self.chat.tab and transcript is not None:
            place = transcript.position()
            if place != tab.scroll:
                tab.scroll = place
                self.keep_soon()

    def keep_soon(self) -> None:
        """Save the draft and the scroll position when the person pauses."""
        if self._keeping is None:
            self._keeping = call_after(self, _KEEP_AFTER, self._keep)

    def _keep(self) -> None:
        self._keeping = None
        context = self.chat.context
        if tab := context.drafts.tab:
            context.run(context.tabs.keep(tab))

    # The state of the tab.

    def tab_shown(self) -> None:
        """Focus the composer of the shown tab, unless the person went to browse meanwhile."""
        self.panels.fork.leave()
        self.find_bar.hide()
        transcript = self.conversation.transcript
        if transcript is None or not transcript.display or self.focused is not transcript:
            self.write_here()
        self._asked = None
        self._working = self._answered = False
        self._drawn()

    def _drawn(self) -> None:
        """Update the hints after a drawing, and move the focus if a question came or went."""
        if not self.prompt.is_attached:  # the app ends, and parts go before the whole
            return
        self.panels.fit()
        tab = self.chat.shown
        working = tab is not None and tab.at_work
        self._answered = not working and (self._answered or self._working)
        self._working = working
        self._away_changed()
        self.prompt.hints.drop_untrue()
        session = tab.session if tab is not None else None
        self.prompt.commands_announced(session.commands if session is not None else None)
        self._hint()
        self.chat.actions.edits.price_anew()
        self.chat.actions.trouble.price()
        self.chat.actions.next_price.renew()
        self.chat.actions.finding.renew()
        self.status.follow(tab)
        ask = self.panels.question
        if self.panels.permission.ask is None and self.place in ("question", "reason"):
            self.write_here()
        if ask is not None and ask.ask_id != self._asked:
            self._let_answer_soon(ask.ask_id)
        if self._asked is not None and (ask is None or ask.ask_id != self._asked):
            self.keep_soon()  # without what was typed into its form
        self._asked = ask.ask_id if ask else None

    def _let_answer_soon(self, ask_id: str) -> None:
        call_after(self, _QUESTION_PAUSE, lambda: self._let_answer(ask_id))

    def _let_answer(self, ask_id: str) -> None:
        """Focus the agent's question, unless the person writes or reads elsewhere."""
        question = self.panels.question
        if self.chat.shown is not self.chat.tab:  # the request is about to belong to another tab
            return
        asked = question is not None and question.ask_id == ask_id
        if not asked or self.place != "composer" or not self.prompt.composer.blank:
            return
        if not self._sight.holds:  # what is typed right behind the sheet is not meant for it
            self.panels.stand_anew()
            self._sight.wait(lambda: self._let_answer_soon(ask_id))
        elif self.panels.has_stood(time.monotonic()):
            self.panels.focus_question()
        else:  # it was drawn late: no key would answer it yet
            self._let_answer_soon(ask_id)

    def _attention(self, tab: Tab, event: Notification, lasted: float) -> None:
        self._call_person(event, lasted)
        if (panes := self._panes) is None or not self.app.app_focus:
            return

        def asks_elsewhere() -> bool:
            return bool(tab.asks) and not panes.sees(tab)

        if asks_elsewhere():
            panes.say(f"{event.title}: {event.body}", holds=asks_elsewhere)

    def on_elicitation_panel_typed(self, event: ElicitationPanel.Typed) -> None:
        """Save what is typed into a form when the person pauses; what was said was read."""
        event.stop()
        self.prompt.hints.hush()
        self.keep_soon()

    def on_elicitation_panel_page_wanted(self, event: ElicitationPanel.PageWanted) -> None:
        """Open a web page on the person's machine: over SSH only the clipboard reaches it."""
        event.stop()
        self.open_address(event.address)
        if "SSH_TTY" in self.environment:
            self.say("The address was sent to your clipboard: this terminal is on another machine.")

    def on_question_column_hint_posted(self, event: QuestionColumn.HintPosted) -> None:
        """Show the text of a panel in the hint line."""
        event.stop()
        self.say(event.text)

    def on_lineage_line_wanted(self, event: LineageLine.Wanted) -> None:
        """Go to the source, or to a fork."""
        event.stop()
        self.do("lineage")

    # The start.

    def on_start_panel_moved(self, event: StartPanel.Moved) -> None:
        """Say whom the composer writes to."""
        event.stop()
        self._beginning.show_addressed(self.start.directory)

    def on_start_panel_taken(self, event: StartPanel.Taken) -> None:
        """Take the row that was clicked."""
        event.stop()
        self.chat.handle(event)

    # The transcript.

    def quote(self, text: str) -> None:
        """Append a quote to the text."""
        self.prompt.quote(text)

    def on_conversation_area_quoted(self, event: ConversationArea.Quoted) -> None:
        """Quote into the composer."""
        event.stop()
        self.quote(event.text)

    def on_conversation_area_chosen(self, event: ConversationArea.Chosen) -> None:
        """Edit the prompt that was chosen."""
        event.stop()
        self.do("edit")

    def on_conversation_area_copied(self, event: ConversationArea.Copied) -> None:
        """Copy to the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def on_conversation_area_nothing_there(self, event: ConversationArea.NothingThere) -> None:
        """Say what is not there."""
        event.stop()
        self.say(event.text)

    def on_transcript_older_requested(
        self,
        event: Transcript.OlderRequested
        | Transcript.NewerRequested
        | Transcript.PlaceRequested
        | Transcript.SeamOpened
        | Transcript.ImagesWanted
        | Transcript.SiblingRequested
        | Transcript.BranchRequested,
    ) -> None:
        """Carry out what was asked for in the transcript."""
        event.stop()
        self.chat.handle(event)

    on_transcript_newer_requested = on_transcript_older_requested
    on_transcript_place_requested = on_transcript_older_requested
    on_transcript_seam_opened = on_transcript_older_requested
    on_transcript_images_wanted = on_transcript_older_requested
    on_transcript_sibling_requested = on_transcript_older_requested
    on_transcript_branch_requested = on_transcript_older_requested

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        """Open a link."""
        event.stop()
        self.open_link(event)

    def open_link(self, event: Transcript.LinkOpened) -> None:
        """Open a link on the person's machine, as ``open_address`` does."""
        self.open_address(event.href)

    def open_address(self, address: str) -> None:
        """Open a web page on the person's machine; over SSH only the clipboard reaches it.

        An address that hides where it leads is neither opened nor copied.
        """
        from catena_acp.port.elicitation.requests import address_of

        page = address_of(address)
        if page.refusal:
            self.say(f"Not opened: {page.refusal[:1].lower()}{page.refusal[1:]}", wrong=True)
        elif "SSH_TTY" in self.environment:
            self.app.copy_to_clipboard(page.opens)
        else:
            self.app.open_url(page.opens)

    # The end of the transcript.

    def _away_changed(self) -> None:
        """Show how far the end is, unless the transcript stands there."""
        transcript = self.conversation.transcript
        rows = transcript.rows_below if transcript is not None and transcript.display else 0
        if not rows:
            self._answered = False
        was_away = self.prompt.edges.away is not None
        self.prompt.hints.separate(bool(rows) or self.panels.standing)
        self.prompt.show_away(Away(rows, self._answered) if rows else None, turning=not self.still)
        if was_away is not bool(rows):
            self._hint()

    def on_prompt_area_end_wanted(self, event: PromptArea.EndWanted) -> None:
        """Go to the end of the transcript."""
        event.stop()
        if self.conversation.transcript is not None:
            self.conversation.transcript.follow()

    # Finding.

    def on_find_bar_toggled(self, event: FindBar.Toggled) -> None:
        """Renew what the bar says when it is opened again."""
        event.stop()
        self._renew_hits()

    def on_transcript_hits_stale(self, event: Transcript.HitsStale) -> None:
        """Count what came while the find bar is open."""
        event.stop()
        self._renew_hits()

    def _renew_hits(self) -> None:
        if self.chat.shown is not None:
            self.chat.actions.finding.renew()

    def on_find_bar_looked(self, event: FindBar.Looked) -> None:
        """Look for another text."""
        event.stop()
        self.chat.handle(event)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        """Go to another hit."""
        event.stop()
        self.chat.handle(event)
