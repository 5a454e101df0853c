"""Everything of one chat as one widget: conversation, panels and composer. A screen may hold several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer
from textual.widget import Widget

from catena.screens.chat.bars.composer_edges import Away, Status
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.bars.hints import HINTS, LEFT_HINTS, WRITING
from catena.screens.chat.commands.area_commands import AreaCommands
from catena.screens.chat.commands.startup_commands import StartupCommands
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panel_stack import PanelStack
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.chat.panels.start import StartPanel
from catena.screens.chat.prompt_area import PromptArea
from catena.terminal.key_gate import KeyGate
from catena.terminal.key_pace import APART
from catena.text.formats import agent_name
from catena.themes.depth import ColourDepth, colour_depth
from catena.widgets.column import Centred
from catena.workspace.directories import git_branch
from catena.workspace.outgoing import OutgoingTexts

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.chat.bars.tabs import TabLabel
    from catena.settings.settings import Start
    from catena.transcript import Transcript
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs


_KEEP_AFTER = 0.4  # seconds from a change to its place in the store
_QUESTION_PAUSE = 0.4  # seconds in which what is typed still belongs to the composer


class ChatArea(Vertical):
    """The area of one tab at a time: its transcript, panels and composer, and the commands behind them."""

    DEFAULT_CSS = """
    ChatArea { height: 1fr; }
    """

    def __init__(
        self,
        start: Start,
        *,
        environment: Mapping[str, str],
        gate: KeyGate,
        outgoing: OutgoingTexts,
        notify_terminal: Callable[[str], None],
        leave: Callable[[], None],
        id: str | None = None,
    ) -> None:
        """``notify_terminal`` notifies the person while the terminal has no focus; ``leave`` ends the program."""
        super().__init__(id=id)
        self.start = start
        self.environment = environment
        self.gate = gate
        self.leave = leave
        self.still = "SSH_TTY" in environment
        self._notify_terminal = notify_terminal
        self._keeping: Timer | None = None
        self._copied_at = float("-inf")  # when `y` copied how to install an agent
        self._asked: str | None = None  # the permission request that was drawn last
        self.lineage = LineageLine(id="lineage")
        settings = start.settings
        half_rows = settings.half_rows and colour_depth(environment) is ColourDepth.FULL
        self.conversation = ConversationArea(
            do=self.do,
            directory=start.directory,
            column=settings.column,
            half_rows=half_rows,
            id="conversation",
        )
        self._startup = StartupCommands(outgoing, self.conversation.start, leave)
        self._commands: AreaCommands = self._startup
        self.prompt = PromptArea(self._startup, directory=start.directory, id="prompt")
        self.prompt.composer.shortcut = self._copies_installation
        self.find_bar = self.prompt.find
        self.panels = PanelStack(
            self._startup, conversation=self.conversation, composer=self.prompt.composer, id="panels"
        )
        self.panels.permission.pace = gate.pace
        self._working = self._answered = False  # the shown tab, and since the person left its end
        if start.agent is not None:
            self.prompt.hints.address(f"Ask {start.agent.title}")

    def compose(self) -> ComposeResult:
        """Yield everything but the transcript, which the first frame does not need."""
        with Centred():
            yield self.lineage
        yield self.panels
        yield self.prompt

    def on_mount(self) -> None:
        """Show hints from the first frame on."""
        if self.start.chooses_agent:
            self._begin_choosing()
        self._hint()

    @property
    def commands(self) -> AreaCommands:
        """The commands that are possible now."""
        return self._commands

    @commands.setter
    def commands(self, commands: AreaCommands) -> None:
        self._commands = self.prompt.commands = self.panels.commands = commands

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

        It is composer, browsing, choosing, branch, question, reason, trouble, queue or finding; elsewhere while they
        are beside this area.
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
        place = self.place
        if place in ("composer", "elsewhere"):
            place = self.prompt.place
            if place == "composer":
                place = self._waits_for
        self.prompt.hint(HINTS[place], LEFT_HINTS.get(place, ()), of_composer=place in WRITING)
        self.prompt.edges.show_browsed(self.conversation.mode_words)

    @property
    def _waits_for(self) -> str:
        """What stands beside the composer while it has the keys, for its hints."""
        if self.conversation.start.display:
            return "starting"
        if self.panels.permission.ask is not None:
            return "asked"
        if self.panels.trouble.can_act:
            return "troubled"
        if not self._busy:
            return "composer"
        return "away" if self.prompt.edges.away else "busy"

    @property
    def _busy(self) -> bool:
        tab = self.commands.tab
        return tab is not None and tab.busy

    def on_key(self, event: events.Key) -> None:
        """Replace the shown message by the hints: it was read by the next key."""
        if event.key != "escape":
            self.prompt.hints.hush()
            self.commands.typed()

    def on_descendant_focus(self) -> None:
        """Show the hints of the focused part."""
        self._hint()

    def on_prompt_area_decision_wanted(self, event: PromptArea.DecisionWanted) -> None:
        """Focus the panel that waits for a decision."""
        event.stop()
        self.panels.enter()

    def do(self, name: str) -> None:
        """Run the command of this name."""
        self.commands.do(name)

    def escape(self) -> None:
        """Close what is open, the innermost first, else stop the turn; pressed twice with neither, edit a prompt."""
        busy = self._busy
        closed = self._close_or_stop()
        self.commands.escaped(idle=not (closed or busy))

    def _close_or_stop(self) -> bool:
        """Close the innermost part, else stop the turn; False if there was nothing to close."""
        self.prompt.hints.hush()
        place = self.place
        if self.commands.stay():
            pass
        elif self.prompt.completion.is_open:
            self.prompt.close_completions()
        elif self.find_bar.is_open:
            self.find_bar.close()
            self.write_here()
        elif place == "reason":
            self.panels.permission.drop_reason()
        elif place == "question":
            self.write_here()
            self.say("The request stays open: Tab returns to it, Esc again stops the turn.")
        elif place == "trouble":
            self.write_here()
            self.say("Tab goes back to it; Esc again dismisses it.")
        elif place == "branch":
            self.panels.fork.leave()
        elif place == "choosing":
            self.commands.leave_choosing()
        elif place in ("browsing", "queue"):
            self.write_here()
        elif self.screen.selections:
            self.screen.clear_selection()
        elif not self.commands.close_innermost():
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
            idle = not self._close_or_stop() and idle
            if idle:
                self.say("Press Ctrl+D or type /quit to quit.")

    def page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        self.conversation.page(step)

    def say(self, text: str) -> None:
        """Show a text in the hint line."""
        self.prompt.hints.say(text)

    # The life of the area.

    async def begin(self, tabs: OpenTabs, *, show_tabs: Callable[[Sequence[TabLabel]], None]) -> None:
        """Restore the tabs when the store is open, and send what was submitted meanwhile."""
        from catena.screens.chat.commands.commands import Commands
        from catena.screens.chat.presenter import Parts, TabPresenter

        parts = Parts(
            lineage=self.lineage,
            conversation=self.conversation,
            transcript=self.conversation.make_transcript(self.start.directory, still=self.still),
            find=self.find_bar,
            plan=self.panels.plan,
            queue=self.panels.queue,
            attached=self.prompt.attached,
            permission=self.panels.permission,
            trouble=self.panels.trouble,
            fork=self.panels.fork,
            edges=self.prompt.edges,
            composer=self.prompt.composer,
            hints=self.prompt.hints,
        )
        presenter = TabPresenter(
            parts,
            tabs,
            attention=self._attention,
            looked_at=lambda: self.app.app_focus,
            changed=self._drawn,
            show_tabs=show_tabs,
        )
        commands = Commands(self, parts, tabs, presenter, self._startup)
        self.commands = commands
        self.run_worker(presenter.follow(), group="events")
        commands.run(commands.begin())
        tabs.on_repair(self.say)
        trouble = tabs.watch_store(lambda text: self.prompt.hints.say(text, wrong=True))
        self.run_worker(trouble, group="store")

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
        self.commands.detach(self.prompt.composer.text)

    # Saving.

    def _place_changed(self) -> None:
        tab, transcript = self.commands.shown, self.conversation.transcript
        if tab is not None and tab is self.commands.tab and transcript is not None:
            place = transcript.position()
            if place != tab.scroll:
                tab.scroll = place
                self.keep_soon()

    def keep_soon(self) -> None:
        """Save the draft and the scroll position when the person pauses."""
        if self._keeping is None:
            self._keeping = self.set_timer(_KEEP_AFTER, self._keep)

    def _keep(self) -> None:
        self._keeping = None
        self.commands.save()

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
        """Update the hints after a drawing, and move the focus if a permission request came or went."""
        self.panels.fit()
        tab = self.commands.shown
        working = tab is not None and tab.at_work
        self._answered = not working and (self._answered or self._working)
        self._working = working
        self._away_changed()
        self._hint()
        self.commands.drawn()
        ask = self.panels.permission.ask
        if ask is None and self._asked is not None and self.place in ("question", "reason"):
            self.write_here()
        if ask is not None and ask.ask_id != self._asked:
            self.set_timer(_QUESTION_PAUSE, lambda: self._let_answer(ask.ask_id))
        self._asked = ask.ask_id if ask else None

    def _let_answer(self, ask_id: str) -> None:
        """Focus the permission request, unless the person writes or reads elsewhere."""
        permission = self.panels.permission
        if self.commands.shown is not self.commands.tab:  # the request is about to belong to another tab
            return
        asked = permission.ask is not None and permission.ask.ask_id == ask_id
        if asked and self.place == "composer" and self.prompt.composer.blank:
            self.set_focus(permission)

    def _attention(self, tab: Tab, text: str) -> None:
        if not self.app.app_focus:
            self._notify_terminal(text)
        elif tab is not self.commands.tab and tab.asks:
            self.say(text)

    def on_panel_stack_hint_posted(self, event: PanelStack.HintPosted) -> None:
        """Show the text of a panel in the hint line."""
        event.stop()
        self.say(event.text)

    def on_lineage_line_wanted(self, event: LineageLine.Wanted) -> None:
        """Go to the source, or to a fork."""
        event.stop()
        self.do("lineage")

    # The start.

    def _begin_choosing(self) -> None:
        """Show the start before the store is open, with the agents that are found."""
        from catena.settings.agent_choices import agent_choices

        conversation, note = self.conversation, self.start.note
        conversation.show_start()
        conversation.start.show_agents(agent_choices(self.start.settings, note.last_used))

    def on_start_panel_moved(self, event: StartPanel.Moved) -> None:
        """Say whom the composer writes to."""
        event.stop()
        self.show_addressed()

    def on_start_panel_taken(self, event: StartPanel.Taken) -> None:
        """Take the row that was clicked."""
        event.stop()
        self.commands.handle(event)

    def show_addressed(self) -> None:
        """Show whom a text would go to from the start, if that is shown."""
        start = self.conversation.start
        if start.display:
            title = start.addressed
            self.prompt.hints.address(f"Ask {agent_name(title)}" if title else "Message")
            self.prompt.edges.show_status(
                Status(title or "catena", directory=git_branch(self.start.directory))
            )

    def _copies_installation(self, key: events.Key) -> bool:
        """Copy how to install the selected agent on `y`, where that begins no word."""
        start, composer = self.conversation.start, self.prompt.composer
        if key.time - self._copied_at < APART and not composer.text:
            composer.put("y")  # it began a word after all
        copies = key.character == "y" and not composer.text and self.gate.pace.alone
        if not (copies and start.display and start.installation):
            return False
        self.app.copy_to_clipboard(start.installation)
        self._copied_at = key.time
        return True

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

    def on_transcript_older_requested(self, event: Transcript.OlderRequested) -> None:
        """Read the page above: the top is near."""
        event.stop()
        self.commands.handle(event)

    def on_transcript_seam_opened(self, event: Transcript.SeamOpened) -> None:
        """Show the prior context of the seam."""
        event.stop()
        self.commands.handle(event)

    def on_transcript_sibling_requested(self, event: Transcript.SiblingRequested) -> None:
        """Go to another version of a prompt."""
        event.stop()
        self.commands.handle(event)

    def on_transcript_branch_requested(self, event: Transcript.BranchRequested) -> None:
        """Carry out the button of a prompt."""
        event.stop()
        self.commands.handle(event)

    def on_transcript_link_opened(self, event: Transcript.LinkOpened) -> None:
        """Open a link."""
        event.stop()
        self.open_link(event)

    def open_link(self, event: Transcript.LinkOpened) -> None:
        """Open a link on the person's machine: over SSH only the clipboard reaches it."""
        if "SSH_TTY" in self.environment:
            self.app.copy_to_clipboard(event.href)
        elif event.href.startswith(("http://", "https://")):
            self.app.open_url(event.href)

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

    def on_find_bar_looked(self, event: FindBar.Looked) -> None:
        """Look for another text."""
        event.stop()
        if (transcript := self.conversation.transcript) is not None:
            transcript.find(event.text)
            self._say_found(transcript)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        """Go to another hit."""
        event.stop()
        if (transcript := self.conversation.transcript) is not None:
            transcript.find_step(event.step)
            self._say_found(transcript)

    def _say_found(self, transcript: Transcript) -> None:
        at, total = transcript.hit_position
        self.find_bar.found(f"{at} of {total}" if total else "")
