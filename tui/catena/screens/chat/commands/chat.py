"""One chat, from the first frame on: what its widgets call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from catena.screens.chat.panels.start import AgentRow, FoldRow, StartPanel
from catena.settings.file.document import config_directory
from catena.terminal.key_gate import KeyGate
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingTexts, UnplacedDraft
from catena_store.errors import StoreError

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.chat.actions.chat_actions import ChatActions
    from catena.screens.chat.commands.dispatch import ChatEvent
    from catena.screens.chat.context import ChatContext
    from catena.settings.templates import Template
    from catena.text.prompt_text import ShellText
    from catena.workspace.tab import Tab


class Chat:
    """The chat of one area. Its actions are there once the store is open.

    Until then the person can quit, choose what to start with, and submit: ``draft`` is where everything is written. A
    command waits, and the keys behind it wait with it.
    """

    def __init__(
        self,
        outgoing: OutgoingTexts,
        start: StartPanel,
        gate: KeyGate,
        *,
        run: Callable[[Awaitable[None]], None],
        leave: Callable[[], None],
    ) -> None:
        """``run`` runs work in the background; ``leave`` ends the program."""
        self._outgoing = outgoing
        self._start = start
        self._gate = gate
        self._run = run
        self._leave = leave
        self._connected = asyncio.Event()
        self._asked = False  # for a command that is done when the tabs are there
        self._cleared: list[str] = []
        self.draft = UnplacedDraft()
        self.opened: ChatActions | None = None

    @property
    def actions(self) -> ChatActions:
        """The actions of the chat, whose store is open."""
        assert self.opened is not None, "the store is open"
        return self.opened

    @property
    def context(self) -> ChatContext:
        """The context that the actions work with."""
        return self.actions.context

    @property
    def tab(self) -> Tab | None:
        """The active tab."""
        return None if self.opened is None else self.opened.context.tab

    @property
    def shown(self) -> Tab | None:
        """The tab whose transcript is on the screen; behind ``tab`` while a page is being read."""
        return None if self.opened is None else self.opened.context.presenter.shown

    # --- its pane

    def connect(self, actions: ChatActions) -> None:
        """Let commands be done from now on, and those that wait first."""
        self.opened = actions
        self._connected.set()

    async def begin(self) -> None:
        """Bring the tabs back; what was sent before they were there goes out then."""
        actions = self.actions
        for text in self._cleared:
            self.cleared(text)
        with actions.context.drafts.under_way(self.draft):
            await actions.tabs.begin(self.draft, history=actions.choose_from_history)

    def settle(self) -> None:
        """End the time before the tabs were there, in a pane that is opened later."""
        with self.context.drafts.under_way(self.draft):
            pass
        self.actions.tabs.beginning = False

    def panes_changed(self) -> None:
        """Draw what depends on which panes are open, which are in sight and which has the keys."""
        context = self.context
        context.parts.transcript.frames.among = sum(pane.in_sight for pane in context.tabs.panes.open)
        context.presenter.look()
        if context.presenter.shown is not None:
            context.presenter.refresh()
        context.drafts.release()

    def detach(self, written: str) -> None:
        """Write everything on the screen back to its tab, before the area is removed.

        ``written`` is what the composer shows; without a tab it ends as what was sent.
        """
        if self.opened is None:
            self._outgoing.add(written, self.draft)
        else:
            self.opened.prompts.detach()
            self.opened.context.drafts.detach()

    # --- what is written

    def begin_typing(self) -> None:
        """Empty the composer of a text that is left behind."""
        if self.opened is not None:
            self.opened.context.drafts.begin_typing()

    def typed(self) -> None:
        """Note that a key was pressed that is not Esc."""
        if self.opened is not None:
            self.opened.edits.typed()
            self.opened.quitting.ask()

    def write(self) -> None:
        """Write the composer's text to its tab."""
        if self.opened is not None:
            from catena.screens.chat.commands.dispatch import begins_to_quit

            self.opened.context.drafts.write()
            if not begins_to_quit(self.opened.context.parts.composer.text):
                self.stay()

    def cleared(self, text: str) -> None:
        """Remember a text that the person has cleared: ↑ brings it back."""
        if self.opened is None:
            self._cleared.append(text)
        else:
            self.opened.context.run(self.opened.prompts.cleared(text))

    async def templates(self, directory: str) -> Sequence[Template]:
        """The prompt templates of a directory and the person's own, with the answers about the project's."""
        from catena.settings.templates import KnownTemplates, find_templates

        if self.opened is None:
            return await asyncio.to_thread(find_templates, config_directory(), directory)
        return await KnownTemplates(config_directory(), directory, self.opened.context.tabs.store).read()

    async def names(self, of: str) -> Sequence[str]:
        """The names that may stand behind a command: of the agents that can be started, or of checkpoints."""
        if self.opened is None:
            return ()
        if of == "checkpoint":
            try:
                made = await self.tab.conversation.checkpoints.all() if self.tab is not None else ()
            except StoreError:
                return ()  # what needs them says what is wrong
            return [each.label for each in made if each.label]
        from catena.settings.agent_choices import agent_choices

        choices = await asyncio.to_thread(agent_choices, self.context.settings, None)
        return [each.name for each in choices if each.found]

    # --- what is submitted

    @property
    def may_submit(self) -> bool:
        """False if Enter does nothing: the person has not seen yet what it would send."""
        if self.opened is None:
            return not self._asked  # what is typed behind a command may belong to where that leads
        drafts = self.opened.context.drafts
        return not (drafts.left_behind or (drafts.untouched and self.opened.tabs.on_the_way))

    @property
    def text_waits(self) -> bool:
        """True while a text on which Enter was pressed waits to go out."""
        return self.opened is not None and bool(self._outgoing.waiting())

    def refusal(self, text: str, templates: Sequence[str]) -> str:
        """Why a text on which Enter was pressed is not taken; "" if it is, or if the commands are not known yet.

        ``templates`` are names that may have been meant.
        """
        if self.opened is None:
            return ""
        from catena.screens.chat.commands.dispatch import refusal_of

        tab = self.opened.context.drafts.tab
        announced = tab.session.commands if tab is not None and tab.session is not None else None
        return refusal_of(text, None if announced is None else [each.name for each in announced], templates)

    def submit(self, text: str) -> None:
        """Submit a text that has left the composer."""
        if self.opened is None:
            self._outgoing.add(text, self.draft)
            self._take()
            return
        from catena.screens.chat.commands.dispatch import quits, submit

        if not quits(text):
            self.stay()
        submit(text, self.opened)

    def run_shell(self, shell: ShellText, typed: str) -> bool:
        """Run a shell command; False while there is no draft that its output could go into."""
        if self.opened is None:
            return False
        self.stay()
        self.opened.shell.start(shell, typed)
        return True

    # --- keys and clicks

    def do(self, name: str) -> None:
        """Run the command of this name."""
        if self.opened is not None:
            if name != "quit":
                self.stay()
            self.opened.context.run(self.opened.do(name))
        elif name == "quit":
            self._leave()
        elif name != "stop":  # nothing runs yet that could be stopped
            self._asked = True
            self._run(self._gate.led(self._do_later(name), ends=True))

    async def _do_later(self, name: str) -> None:
        await self._connected.wait()
        self.do(name)

    def stay(self) -> bool:
        """Withdraw the question whether to quit; False if it was not asked."""
        return self.opened is not None and self.opened.quitting.stay()

    def close_innermost(self) -> bool:
        """Leave an edit, stop waiting, dismiss trouble, in this order; False if there is none of them."""
        actions = self.opened
        return actions is not None and (
            actions.edits.leave_edit() or actions.trouble.stop_waiting() or actions.trouble.dismiss()
        )

    def handle(self, event: ChatEvent) -> None:
        """Do what the person wants by a key or a click in a widget."""
        if self.opened is not None:
            from catena.screens.chat.commands.dispatch import handle

            handle(event, self.opened)
        elif self._start.display:  # no other widget shows anything yet
            match event:
                case Composer.Walked():
                    self._start.move(-1 if event.older else 1)
                case Composer.SentEmpty() | StartPanel.Taken():
                    self._take()
                case _:
                    pass

    def _take(self) -> None:
        """Note which agent is to be started, once the store is open."""
        match self._start.selected:
            case AgentRow() as row if self._start.display and row.starts:
                self._start.taken = row
            case FoldRow() if self._start.display:
                self._start.toggle()
            case _:
                pass
