"""Answers of a headless run to permission requests: by policy, or by asking on the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import assert_never

from catena.settings.tables.permissions import Permissions
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.diff import line_diff
from catena_acp.permissions.options import option_of
from catena_acp.port.session_events import PermissionOption, ToolDiff

_READING = frozenset({"read", "search"})
_DIFF_LINES = 200


def policy_answer(policy: Permissions, asked: PermissionOpened) -> PermissionOption | None:
    """The option that a policy chooses; None, where none fits, is `cancelled`. `ask` is treated as `deny`."""
    match policy:
        case Permissions.ALLOW:
            allow = True
        case Permissions.ALLOW_READS:
            allow = asked.tool_call.kind in _READING
        case Permissions.DENY | Permissions.ASK:
            allow = False
        case _:
            assert_never(policy)
    return option_of(asked.options, allow=allow, lasting=True)


class Terminal:
    """Questions to the person at a terminal: written to standard error, answered on the terminal's input."""

    def __init__(self, keys: int, screen: int) -> None:
        self._keys = keys
        self._screen = screen
        self._lock = asyncio.Lock()

    @classmethod
    def find(cls) -> Terminal | None:
        """The terminal on which the person sees standard error and can answer; None if there is none."""
        if sys.stderr is None or not sys.stderr.isatty():
            return None
        if sys.stdin is not None and sys.stdin.isatty():
            keys = sys.stdin.fileno()
        else:
            try:
                keys = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
        return cls(keys, sys.stderr.fileno())

    async def ask(self, asked: PermissionOpened, *, whose: str = "") -> PermissionOption | None:
        """Ask the person; a rejection if the input ends or the terminal cannot be read.

        There is no default: Enter alone asks again. ``whose`` is the agent, where several are asked.
        """
        chosen = await self.choose(_question(asked, whose), len(asked.options))
        return policy_answer(Permissions.DENY, asked) if chosen is None else asked.options[chosen]

    async def choose(self, question: Iterable[str], options: int) -> int | None:
        """Let the person choose an option, counted from 0; None if the input ends or the terminal cannot be read."""
        async with self._lock:
            self._write("".join(f"{line}\n" for line in question))
            while options and self._in_foreground():
                self._write(f"1-{options}? ")
                answer = await self._line()
                if answer is None:
                    self._write("\n")
                    break
                if answer.isdecimal() and 1 <= int(answer) <= options:
                    return int(answer) - 1
            return None

    async def ask_line(self, question: Iterable[str], prompt: str) -> str | None:
        """Ask for a line; None if the input ends or the terminal cannot be read."""
        async with self._lock:
            self._write("".join(f"{line}\n" for line in question))
            if not self._in_foreground():
                return None
            self._write(prompt)
            answer = await self._line()
            if answer is None:
                self._write("\n")
            return answer

    def drop_input(self) -> None:
        """Drop what was typed and not read yet."""
        with contextlib.suppress(OSError, termios.error):
            termios.tcflush(self._keys, termios.TCIFLUSH)

    def _in_foreground(self) -> bool:
        """False for a background job, which a read from the terminal would stop."""
        try:
            return os.tcgetpgrp(self._keys) == os.getpgrp()
        except OSError:
            return False

    async def _line(self) -> str | None:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            loop.remove_reader(self._keys)
            try:
                data = os.read(self._keys, 4096)
            except OSError:
                data = b""
            if not readable.done():
                readable.set_result(data)

        loop.add_reader(self._keys, read)
        try:
            data = await readable
        finally:
            loop.remove_reader(self._keys)
        return data.decode("utf-8", "replace").strip() if data else None

    def _write(self, text: str) -> None:
        try:
            os.write(self._screen, text.encode())
        except OSError:
            return  # the terminal is gone, which the next read reports


def _question(asked: PermissionOpened, whose: str) -> Iterator[str]:
    call = asked.tool_call
    yield f"? {f'{whose}: ' if whose else ''}{safe_line(call.title or call.kind or 'Permission request')}"
    for location in call.locations or ():
        yield f"  {safe_line(location.path)}"
    for content in call.content or ():
        if isinstance(content, ToolDiff):
            yield from islice((f"  {line}" for line in _diff(content)), _DIFF_LINES)
    for number, option in enumerate(asked.options, start=1):
        yield f"  {number} {safe_line(option.name)}"


def _diff(change: ToolDiff) -> Iterable[str]:
    return line_diff(safe(change.old or ""), safe(change.new)).unified(safe_line(change.path))
