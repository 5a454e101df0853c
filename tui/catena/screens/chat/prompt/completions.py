"""Completions of the composer's text; their list is made when there is first something to complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from catena.keys.keymap import KeyMap

if TYPE_CHECKING:  # the first frame completes nothing
    from catena.settings.templates import Template
    from catena.widgets.completion import CompletionList
    from catena_acp.port.session_events import AgentCommand


class Completions:
    """The completions of one composer, closed until they are offered."""

    def __init__(self, keys: KeyMap, *, mount: Callable[[CompletionList], object]) -> None:
        """``mount`` puts the list in its place."""
        self._keys = keys
        self._mount = mount
        self._made: CompletionList | None = None

    @property
    def list(self) -> CompletionList:
        """The list that shows them."""
        if self._made is None:
            from catena.screens.chat.commands.table import listed_commands
            from catena.widgets.completion import CompletionList

            self._made = CompletionList(listed_commands(self._keys), id="completions")
            self._mount(self._made)
        return self._made

    def use(self, keys: KeyMap) -> None:
        """Complete with the keys as they are now."""
        self._keys = keys
        if self._made is not None:
            from catena.screens.chat.commands.table import listed_commands

            self._made.use(listed_commands(keys))

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self._made is not None and self._made.is_open

    @property
    def is_meant(self) -> bool:
        """True if Enter may run what is chosen, as `CompletionList.is_meant` has it."""
        return self._made is not None and self._made.is_meant

    @property
    def chosen_file(self) -> str | None:
        """The path of the chosen row, where that is a file to be mentioned."""
        return self._made.chosen_file if self._made is not None else None

    def offer(
        self,
        text: str,
        agent_commands: Sequence[AgentCommand],
        directory: str,
        templates: Sequence[Template],
        names: Callable[[str], Sequence[str]],
    ) -> None:
        """Show which commands ``text`` can become, as `CompletionList.offer` has it; ``names`` are those of a kind."""
        if text.startswith("/") or self._made is not None:
            known = names(self.list.names_of(text))
            self.list.offer(text, agent_commands, directory, templates, known)

    def offer_files(self, paths: Sequence[str], typed: str) -> None:
        """Show files that fit what is typed."""
        if paths or self._made is not None:
            self.list.offer_files(paths, typed)

    def move(self, step: int) -> None:
        """Choose another one."""
        if self._made is not None:
            self._made.move(step)

    def move_on(self) -> None:
        """Choose what is longer than what is typed, as `CompletionList.move_on` has it."""
        if self._made is not None:
            self._made.move_on()

    def close(self) -> None:
        """Hide them, until something else is typed."""
        if self._made is not None:
            self._made.close()

    def completed(self) -> tuple[str, bool] | None:
        """The text that the chosen row stands for, and whether it can be sent as it is."""
        return self._made.completed() if self._made is not None else None
