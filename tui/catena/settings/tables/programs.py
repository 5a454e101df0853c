"""Commands of the person's own that Catena runs: the `[hooks]` table and `status_line`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena.settings.definitions import Group, Takes, setting, written


@dataclass(frozen=True, slots=True)
class Program:
    """A command: a text for the person's shell, or a program with its arguments."""

    words: tuple[str, ...]
    shell: bool = False  # ``words`` is one text

    def arguments(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """The command line to start; a shell command runs in ``$SHELL``, or in ``/bin/sh`` if that is not set."""
        return (environment.get("SHELL") or "/bin/sh", "-c", self.words[0]) if self.shell else self.words

    def __str__(self) -> str:
        import shlex

        return self.words[0] if self.shell else shlex.join(self.words)


def program_of(value: Any) -> Program:
    """The command in a value of the file. Raises ValueError."""
    match value:
        case str() if value.strip() and "\0" not in value:
            return Program((value,), shell=True)
        case [str(first), *rest] if first and all(isinstance(each, str) for each in rest):
            if not any("\0" in each for each in value):
                return Program(tuple(value))
    raise ValueError('must be a command: "notify-send done", or ["notify-send", "done"]')


def _programs(value: object) -> tuple[Program, ...]:
    """One command, or several if a list has a list in it."""
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return tuple(map(program_of, value))
    return (program_of(value),)


def _hook() -> Takes[tuple[Program, ...]]:
    return written((), _programs, lambda programs: tuple(map(str, programs)))


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The `[hooks]` table: for each event the commands that are told of it."""

    turn_end: tuple[Program, ...] = setting(
        _hook(), Group.ADVANCED, "commands that are run when a turn has ended"
    )
    permission: tuple[Program, ...] = setting(
        _hook(), Group.ADVANCED, "commands that are run when an agent asks for a permission"
    )
    seam: tuple[Program, ...] = setting(_hook(), Group.ADVANCED, "commands that are run at each seam")

    @property
    def any(self) -> bool:
        """True if there is a command at all."""
        return bool(self.turn_end or self.permission or self.seam)
