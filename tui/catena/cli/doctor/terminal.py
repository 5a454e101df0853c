"""The terminal as `catena doctor` finds it: what the environment says of it, and what it answers when it is asked."""

from __future__ import annotations

import locale
import os
import re
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from catena.cli.doctor.values import Finding, first_line_of

_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "NO_COLOR",
    "TMUX",
    "STY",
    "SSH_TTY",
    "LANG",
    "LC_ALL",
)
_ONLY_SET = frozenset({"TMUX", "STY", "SSH_TTY"})  # their values tell of the person, not of the terminal
_SECONDS = 1.0  # for all answers: a terminal far away may need some tenths
# The last one is answered by every terminal, so that nobody waits for those that are not.
_QUESTIONS = b"\x1b[?u\x1b[?2026$p\x1b]11;?\x1b\\\x1b[>0q\x1b[c"
_LAST_ANSWER = re.compile(rb"\x1b\[\?[\d;]*c")
_KITTY = re.compile(rb"\x1b\[\?(\d+)u")
_SYNCHRONIZED = re.compile(rb"\x1b\[\?2026;(\d)\$y")
_BACKGROUND = re.compile(rb"\x1b\]11;rgb:([0-9a-fA-F/]+)")
_NAME = re.compile(rb"\x1bP>\|([ -~]*)\x1b\\")
_CLIPBOARD_TOOLS = {"wl-copy": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "xsel": "DISPLAY", "pbcopy": None}


@dataclass(frozen=True, slots=True)
class TerminalAnswers:
    """What a terminal answered; None where it did not."""

    name: str | None
    kitty_keys: bool
    synchronized: bool
    background: str | None


def terminal_findings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Size, colours, variables and encoding; what it answers; and tmux, if that stands between."""
    size = shutil.get_terminal_size()
    shown = f"{size.columns}×{size.lines}" if sys.stdout.isatty() else "none (output is redirected)"
    named = {name: environment[name] for name in _VARIABLES if name in environment}
    told = [name if name in _ONLY_SET else f"{name}={value}" for name, value in named.items()]
    colours, encoding = _colours(environment), locale.getpreferredencoding(do_setlocale=False)
    values = {
        "columns": size.columns if sys.stdout.isatty() else None,
        "rows": size.lines if sys.stdout.isatty() else None,
        "colours": colours,
        "encoding": encoding,
        "variables": {name: True if name in _ONLY_SET else value for name, value in named.items()},
    }
    yield Finding("terminal", " · ".join([shown, colours, encoding, *told]), values=values)
    if (answers := _ask()) is not None:
        yield _answered(answers)
    if "TMUX" in environment:
        yield _tmux()


def clipboard_finding(environment: Mapping[str, str]) -> Finding:
    """How a copy gets to the clipboard: by the terminal, and by which programs of this machine it could."""
    tools = [
        tool
        for tool, display in _CLIPBOARD_TOOLS.items()
        if shutil.which(tool) and (display is None or display in environment)
    ]
    remote = " · over SSH it is that of the person's own machine" if "SSH_TTY" in environment else ""
    words = f"by the terminal (OSC 52){remote} · programs: {', '.join(tools) or 'none'}"
    return Finding("clipboard", words, values={"osc52": "not acknowledged", "programs": tools})


def _colours(environment: Mapping[str, str]) -> str:
    if environment.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "24-bit colours"
    return "256 colours" if "256color" in environment.get("TERM", "") else "16 colours"


def _answered(answers: TerminalAnswers) -> Finding:
    words = [
        answers.name or "no name",
        f"kitty keyboard protocol: {'yes' if answers.kitty_keys else 'no'}",
        f"synchronized output: {'yes' if answers.synchronized else 'no'}",
        f"background: {answers.background or 'not told'}",
    ]
    values = {
        "name": answers.name,
        "kitty_keys": answers.kitty_keys,
        "synchronized": answers.synchronized,
        "background": answers.background,
    }
    return Finding("answers", " · ".join(words), values=values)


def _tmux() -> Finding:
    version = first_line_of(("tmux", "display-message", "-p", "#{version} in #{client_termname}"))
    options = {
        option: first_line_of(("tmux", "show-options", "-gqv", option))
        for option in ("set-clipboard", "allow-passthrough", "escape-time")
    }
    words = [version or "version unknown", *(f"{name} {value or 'off'}" for name, value in options.items())]
    if options["set-clipboard"] == "off":
        words.append("copies do not reach the clipboard: set -g set-clipboard on")
    return Finding("tmux", " · ".join(words), values={"version": version, **options})


def _ask() -> TerminalAnswers | None:
    """Ask the terminal; None where there is none, or another program has it."""
    if not sys.stdout.isatty():
        return None
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            return None
        before = termios.tcgetattr(terminal)
        try:
            tty.setraw(terminal, termios.TCSAFLUSH)
            os.write(terminal, _QUESTIONS)
            said = _read_answers(terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
    except (OSError, termios.error):
        return None
    finally:
        os.close(terminal)
    return read_answers(said)


def _read_answers(terminal: int) -> bytes:
    said, end = b"", time.monotonic() + _SECONDS
    while not _LAST_ANSWER.search(said):
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            break
        piece = os.read(terminal, 1024)
        if not piece:
            break
        said += piece
    return said


def read_answers(said: bytes) -> TerminalAnswers:
    """What a terminal answered to the questions, in whatever order."""
    synchronized = _SYNCHRONIZED.search(said)
    background, name = _BACKGROUND.search(said), _NAME.search(said)
    return TerminalAnswers(
        name=name[1].decode("ascii").strip() or None if name else None,
        kitty_keys=_KITTY.search(said) is not None,
        synchronized=synchronized is not None and synchronized[1] in (b"1", b"2", b"3"),
        background=_hex_colour(background[1].decode("ascii")) if background else None,
    )


def _hex_colour(parts: str) -> str | None:
    """`1e1e/1e1e/2e2e` as `#1e1e2e`."""
    steps = parts.split("/")
    if len(steps) != 3 or not all(steps):
        return None
    return "#" + "".join((step * 2)[:2].lower() for step in steps)
