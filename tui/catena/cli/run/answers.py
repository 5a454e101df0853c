"""Answers of a headless run to permission requests, forms and web pages: by policy, or asked on the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import assert_never

from catena.errors import CommandRefused
from catena.settings.tables import Permissions
from catena.text.call_text import change_of
from catena.text.safe_text import safe, safe_line
from catena.workspace.questions.forms import DECLINED, about_field, given_input, page_lines, ways_of
from catena.workspace.questions.permission_words import (
    NO_ANSWER,
    first_rows,
    more_words,
    note_words,
    question_words,
    subject_lines,
)
from catena_acp.continuity.conversation_events import ElicitationOpened, PermissionOpened
from catena_acp.permissions.options import option_of
from catena_acp.permissions.subject import only_reads
from catena_acp.port.elicitation.checks import check
from catena_acp.port.elicitation.requests import (
    CANCEL,
    DECLINE,
    ElicitationAnswer,
    Form,
    UnknownField,
    Value,
    WebPage,
)
from catena_acp.port.session_events import PermissionOption

_ROWS = 60  # of what is asked, before the answers
_STANDS_SECONDS = 0.3  # a question stands so long before it can be answered


def policy_answer(policy: Permissions, asked: PermissionOpened) -> PermissionOption | None:
    """The option that a policy chooses; None, where none fits, is `cancelled`.

    `ask` is treated as `deny`.
    """
    match policy:
        case Permissions.ALLOW:
            allow = True
        case Permissions.ALLOW_READS:
            allow = only_reads(asked.subject)
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

    async def ask(
        self, asked: PermissionOpened, directory: str, *, whose: str = ""
    ) -> PermissionOption | None:
        """Ask the person; a rejection if the input ends or the terminal cannot be read.

        There is no default: Enter alone asks again. Input typed before the question was shown is dropped. ``whose``
        names the agent if several are asked; paths below ``directory`` are shown relative to it.
        """
        whole = list(_subject(asked, directory))
        shown, left = first_rows(whole, _ROWS)
        lines = [
            f"? {f'{whose}: ' if whose else ''}{question_words(asked.subject)}",
            *shown,
            *([f"  {more_words(left)}"] if left else []),
            *(f"  {note}" for note in note_words(asked)),
            *_options(asked),
        ]
        allowing = {at for at, option in enumerate(asked.options) if not option.kind.startswith("reject")}
        chosen = await self.choose(
            lines, len(asked.options), whole=whole if left else (), doubtful=allowing, stands=_STANDS_SECONDS
        )
        rejection = option_of(asked.options, allow=False, lasting=True)
        return rejection if chosen is None else asked.options[chosen]

    async def choose(
        self,
        question: Iterable[str],
        options: int,
        *,
        whole: Sequence[str] = (),
        doubtful: Collection[int] = (),
        stands: float = 0,
    ) -> int | None:
        """Let the person choose an option, counted from 0; None if the input ends or the terminal cannot be read.

        ``whole`` is shown by `d` where the question is not all of it; one of the ``doubtful`` options is then taken at
        the second time, or behind `d`. Input before the question ``stands`` for so many seconds is dropped.
        """
        async with self._lock:
            self._write("".join(f"{line}\n" for line in question))
            if options and stands and self._in_foreground():
                await asyncio.sleep(stands)
                self.drop_input()
            unread = bool(whole)
            while options and self._in_foreground():
                self._write(f"1-{options}, d? " if whole else f"1-{options}? ")
                try:
                    answer = await self._line()
                except asyncio.CancelledError:  # it is over, or asked anew below
                    self._write("\n")
                    raise
                if answer is None:
                    self._write("\n")
                    break
                if whole and answer.lower() == "d":
                    self._write("".join(f"{line}\n" for line in whole))
                    unread = False
                elif answer.isdecimal() and 1 <= int(answer) <= options:
                    if not unread or int(answer) - 1 not in doubtful:
                        return int(answer) - 1
                    self._write("Not all of it was shown: d shows it, or choose again.\n")
                    unread = False
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


def _subject(asked: PermissionOpened, directory: str) -> Iterator[str]:
    """All that the request is about, whole."""
    yield from (f"  {line}" for line in subject_lines(asked.subject, directory))
    for diff in asked.subject.diffs:
        changed = change_of(diff.old, diff.new).unified(safe_line(diff.path))
        yield from (f"  {line}" for line in changed)


def _options(asked: PermissionOpened) -> Iterator[str]:
    for number, option in enumerate(asked.options, start=1):
        yield f"  {number} {safe_line(option.name) or safe_line(option.kind)}"
    if not asked.options:
        yield f"  {NO_ANSWER}: the request is cancelled."


async def agreed(question: str, command: str) -> bool:
    """True if the person agrees on the terminal. Raises CommandRefused if there is none."""
    terminal = Terminal.find()
    if terminal is None:
        raise CommandRefused(f"no terminal to ask on; {command} --yes does not ask")
    terminal.drop_input()  # what was typed before it was asked is no answer
    answer = await terminal.ask_line((), f"{question} [y/N] ")
    return (answer or "").strip().lower() in ("y", "yes")


class InvalidAnswer(Exception):
    """The input ended behind an answer that a field does not take; ``str()`` of it names the field, and why."""


async def ask_elicitation(terminal: Terminal, asked: ElicitationOpened) -> ElicitationAnswer:
    """Ask the person; `cancel` if the input ends or the terminal cannot be read.

    Raises InvalidAnswer if it ends where an answer was invalid, and is asked for again.
    """
    request = asked.request
    options = ways_of(request)
    numbered = [f"  {number} {words}" for number, words in enumerate(options, start=1)]
    chosen = await terminal.choose([*question_of(asked), *numbered], len(options))
    if chosen is None:
        return CANCEL
    if options[chosen] == DECLINED:
        return DECLINE
    return ElicitationAnswer("accept") if isinstance(request, WebPage) else await _fill(terminal, request)


def question_of(asked: ElicitationOpened) -> Iterator[str]:
    """The lines of the question."""
    first, *more = safe(asked.request.message).splitlines() or [""]
    yield f"? {safe_line(asked.agent_title)} asks: {first}"
    yield from (f"  {line}" for line in more)
    if isinstance(asked.request, WebPage):
        yield from (f"  {line}" for line in page_lines(asked.request))


async def _fill(terminal: Terminal, form: Form) -> ElicitationAnswer:
    content: dict[str, Value] = {}
    for field in form.fields:
        if isinstance(field, UnknownField):
            continue
        lines, title, error = [f"  {line}" for line in about_field(field)], safe_line(field.label.title), ""
        while True:
            line = await terminal.ask_line(lines, f"{title}: ")
            if line is None and error:
                raise InvalidAnswer(f"the form was not sent: {title}: {error}")
            if line is None:
                return CANCEL
            checked = check(field, given_input(field, line))
            if not checked.error:
                break
            error = safe_line(checked.error)
            lines = [f"  {error}"]
        if checked.value is not None:
            content[field.label.name] = checked.value
    return ElicitationAnswer("accept", content)
