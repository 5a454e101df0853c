"""The commands of a chat area that are possible before the store is open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from catena.screens.chat.panels.start import AgentRow, FoldRow, StartPanel
from catena.settings.file.location import config_directory
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingTexts, UnplacedDraft

if TYPE_CHECKING:
    from catena.screens.chat.commands.area_commands import AreaCommands, ChatEvent
    from catena.settings.templates import Template
    from catena.text.shell_text import ShellText
    from catena.workspace.tab import Tab


class StartupCommands:
    """The commands of a chat area before its tabs are there: quit, keep what is submitted, choose what to start with.

    ``draft`` is where everything is written until then. Any other command is done when the tabs are there.
    """

    tab: Tab | None = None
    shown: Tab | None = None
    text_waits = False

    def __init__(
        self,
        outgoing: OutgoingTexts,
        start: StartPanel,
        leave: Callable[[], None],
        lead: Callable[[Awaitable[None]], None],
    ) -> None:
        """``leave`` ends the program; ``lead`` runs an action for which the keys behind it wait."""
        self._outgoing = outgoing
        self._start = start
        self._leave = leave
        self._lead = lead
        self._over = asyncio.Event()
        self._next: AreaCommands = self
        self._asked = False  # for a command that is done when the tabs are there
        self.draft = UnplacedDraft()
        self.cleared_texts: list[str] = []

    @property
    def may_submit(self) -> bool:
        """False while a command waits: what is typed behind it may belong to where that leads."""
        return not self._asked

    def do(self, name: str) -> None:
        """Quit; nothing runs that could be stopped; any other command waits until the tabs are there."""
        match name:
            case "quit":
                self._leave()
            case "stop":
                pass
            case _:
                self._asked = True
                self._lead(self._do_later(name))

    async def _do_later(self, name: str) -> None:
        await self._over.wait()
        self._next.do(name)

    def end(self, commands: AreaCommands) -> None:
        """Leave everything to the commands that are possible with tabs, and what waits first."""
        self._next = commands
        self._over.set()

    def refusal(self, text: str) -> str:
        """Return "": it is not known yet which commands there are."""
        return ""

    def submit(self, text: str) -> None:
        """Keep a text until the tabs are there."""
        self._outgoing.add(text, self.draft)
        self._take()

    def run_shell(self, shell: ShellText, typed: str) -> bool:
        """Return False: there is no draft yet that its output could go into."""
        return False

    def stop_shell(self) -> bool:
        """Return False: none runs."""
        return False

    def handle(self, event: ChatEvent) -> None:
        """Choose what to start with; no other widget shows anything yet."""
        if not self._start.display:
            return
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

    def led(self, act: Awaitable[None]) -> Awaitable[None]:
        """Return the action as it is: there is nowhere yet that it could lead to."""
        return act

    async def templates(self, directory: str) -> Sequence[Template]:
        """The templates, without the person's answers: the store is not open."""
        from catena.settings.templates import find_templates

        return await asyncio.to_thread(find_templates, config_directory(), directory)

    async def mentioned_paths(self) -> Sequence[str]:
        """Return none: no conversation is there yet."""
        return ()

    def attach(self, paths: Sequence[str]) -> None:
        """Do nothing: there is no draft to attach to."""

    def attach_image(self, content: bytes) -> None:
        """Do nothing: there is no draft to attach to."""

    def detach_paths(self, paths: Sequence[str]) -> None:
        """Do nothing: nothing is attached."""

    def escaped(self, *, idle: bool) -> None:
        """Do nothing: there is no prompt to be chosen."""

    def typed(self) -> None:
        """Do nothing."""

    def cleared(self, text: str) -> None:
        """Keep a cleared text until there is a history of inputs."""
        self.cleared_texts.append(text)

    def begin_typing(self) -> None:
        """Do nothing."""

    def write(self) -> None:
        """Do nothing: the text has no tab yet."""

    def save(self) -> None:
        """Do nothing: there is nowhere to save to."""

    def drawn(self) -> None:
        """Do nothing."""

    def stay(self) -> bool:
        """Return False: no agent works yet."""
        return False

    def close_innermost(self) -> bool:
        """Return False: nothing is open."""
        return False

    def leave_choosing(self) -> None:
        """Do nothing."""

    def step_tab(self, step: int) -> None:
        """Do nothing: there are no tabs yet."""

    def go_to_tab(self, index: int) -> None:
        """Do nothing: there are no tabs yet."""

    def detach(self, written: str) -> None:
        """Let what was written end as what was sent: nothing has a tab yet."""
        self._outgoing.add(written, self.draft)
