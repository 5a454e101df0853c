"""Commands of the person's own that Catena runs: the `[hooks]` table and `status_line`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from catena.errors import InvalidSettings

Wrong = Callable[[tuple[str, ...], str], InvalidSettings]  # the error of a key, with its file and line


@dataclass(frozen=True, slots=True)
class Program:
    """A command: a text for the person's shell, or a program with its arguments."""

    words: tuple[str, ...]
    shell: bool = False  # ``words`` is one text

    def arguments(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """What is started."""
        return (environment.get("SHELL") or "/bin/sh", "-c", self.words[0]) if self.shell else self.words

    def __str__(self) -> str:
        import shlex

        return self.words[0] if self.shell else shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The `[hooks]` table: for each event the commands that are told of it."""

    turn_end: tuple[Program, ...] = ()
    permission: tuple[Program, ...] = ()
    seam: tuple[Program, ...] = ()

    @property
    def any(self) -> bool:
        """True if there is a command at all."""
        return bool(self.turn_end or self.permission or self.seam)


HOOKS = tuple(each.name for each in fields(HookSettings))


def read_hooks(document: Mapping[str, Any], wrong: Wrong) -> HookSettings:
    """The hooks of a settings file. Raises what ``wrong`` makes."""
    table = document.get("hooks", {})
    if not isinstance(table, dict):
        raise wrong(("hooks",), f"must be a table with {', '.join(HOOKS)}")
    for key in table:
        if key not in HOOKS:
            raise wrong(("hooks", key), f"is not a setting; known: {', '.join(HOOKS)}")
    return HookSettings(**{key: _programs(value, ("hooks", key), wrong) for key, value in table.items()})


def read_status_line(document: Mapping[str, Any], wrong: Wrong) -> Program | None:
    """The command of the status line; None without one. Raises what ``wrong`` makes."""
    value: Any = document.get("status_line")
    at: tuple[str, ...] = ("status_line",)
    if isinstance(value, dict):
        for key in value:
            if key != "command":
                raise wrong(("status_line", key), "is not a setting; known: command")
        value, at = value.get("command"), ("status_line", "command")
    return None if value is None else _program(value, at, wrong)


def hook_values(hooks: HookSettings) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The commands of each event, by its key."""
    for name in HOOKS:
        yield ("hooks", name), tuple(str(each) for each in getattr(hooks, name))


def _programs(value: Any, at: tuple[str, ...], wrong: Wrong) -> tuple[Program, ...]:
    """One command, or several where a list has a list in it."""
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return tuple(_program(each, at, wrong) for each in value)
    return (_program(value, at, wrong),)


def _program(value: Any, at: tuple[str, ...], wrong: Wrong) -> Program:
    match value:
        case str() if value.strip() and "\0" not in value:
            return Program((value,), shell=True)
        case [str(first), *rest] if first and all(isinstance(each, str) for each in rest):
            if not any("\0" in each for each in value):
                return Program(tuple(value))
    raise wrong(at, 'must be a command: "notify-send done", or ["notify-send", "done"]')
