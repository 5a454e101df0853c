"""What `catena doctor` finds, also of the terminal: a line each for a report, with the same as values for JSON.

Nothing of a conversation is in it, and no value of a setting or of a variable that could be a secret.
"""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import re
import select
import shlex
import shutil
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catena import __version__
from catena.cli.agents.listing import registry_age
from catena.errors import ExitStatus, InvalidSettings
from catena.log import LOG_NAME
from catena.settings.agent_choices import AgentStatus, agent_statuses
from catena.settings.file.document import read_text, settings_path
from catena.settings.settings import Settings, load_settings
from catena.text.formats import size_text
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena.text.secrets import SecretMask
from catena_acp.agents.registry.data import load_registry
from catena_acp.continuity.wording.counts import counted
from catena_store.database import database
from catena_store.database.database import Database, data_directory, default_path
from catena_store.database.location import on_network, write_refusal
from catena_store.errors import StoreError
from catena_store.ids import utc_now

_PROGRAM_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject in words, and as values; ``ok`` is False for what keeps Catena from working."""

    about: str
    text: str
    ok: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)


def first_line_of(argv: Sequence[str]) -> str | None:
    """The first line that a quick program prints; None if it is missing, fails or prints nothing."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PROGRAM_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines and not done.returncode else None


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
_ANSWER_SECONDS = 1.0  # for all answers: a terminal far away may need some tenths
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
    remote = " · over SSH, your own machine's" if "SSH_TTY" in environment else ""
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
        f"background: {answers.background or 'not reported'}",
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
    said, end = b"", time.monotonic() + _ANSWER_SECONDS
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


_SCARCE = 200 << 20  # bytes of free space, below which it is told
TRIED_PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # all tests passed on them; the classifiers name the same


def print_findings(*, json: bool) -> int:
    """Print what was found; the exit status is 1 where something keeps Catena from working."""
    findings = [_without_secrets(finding) for finding in _findings()]
    ok = all(finding.ok for finding in findings)
    if json:
        shapes = [{"about": each.about, "ok": each.ok, "text": each.text, **each.values} for each in findings]
        print(dumps({"ok": ok, "findings": shapes}, indent=2))
    else:
        for finding in findings:
            print(f"{finding.about:<9} {safe_line(finding.text)}")
    return ExitStatus.ANSWERED if ok else ExitStatus.FAILED


def _findings() -> Iterator[Finding]:
    settings = _settings()
    yield versions_finding()
    yield _data()
    yield from _home()
    yield asyncio.run(_store())
    yield _log()
    yield settings
    yield from _agents(_usable_settings() if settings.ok else Settings())
    yield _registry()
    yield from terminal_findings(os.environ)
    yield clipboard_finding(os.environ)
    yield _git()


def versions_finding() -> Finding:
    """The versions of Catena, Python and the system, and whether Catena was tried with this Python."""
    system = platform.platform(terse=True)
    python = platform.python_version()
    tried = ".".join(python.split(".")[:2]) in TRIED_PYTHONS
    note = "" if tried else f" (tried with {TRIED_PYTHONS[0]} to {TRIED_PYTHONS[-1]})"
    values = {"version": __version__, "python": python, "python_tried": tried, "platform": system}
    return Finding("catena", f"{__version__} · Python {python}{note} · {system}", values=values)


def _data() -> Finding:
    directory = data_directory()
    nearest = next(each for each in (directory, *directory.parents) if os.path.isdir(each))  # noqa: PTH112
    free, remote, refusal = shutil.disk_usage(nearest).free, on_network(nearest), write_refusal(directory)
    notes = [f"only {size_text(free)} free"] if free < _SCARCE else []
    notes += ["on a network file system, which a database cannot be shared on"] if remote else []
    if refusal is not None:
        elsewhere = "set CATENA_DATA_DIR to a directory that can be written"
        notes.append(f"nothing can be kept there ({refusal}): {elsewhere}")
    text = " · ".join([str(directory), *notes])
    values = {"path": str(directory), "free": free, "network": remote, "writable": refusal is None}
    return Finding("data", text, ok=refusal is None, values=values)


def _home() -> Iterator[Finding]:
    """Said only if nothing can be written there."""
    refusal = write_refusal(Path.home())
    if refusal is not None:
        text = f"{Path.home()} cannot be written ({refusal}): agents keep logins and sessions there, and may fail"
        yield Finding("home", text, values={"path": str(Path.home()), "writable": False})


async def _store() -> Finding:
    path = default_path()
    if not path.exists():
        created = "created with the first conversation"
        words = created if write_refusal(path.parent) is None else "none, and it cannot be created"
        return Finding("store", f"{path.name}: {words}", values={"exists": False})
    notes: list[str] = []
    try:
        async with Database.open(path) as db:
            db.tell_by(notes.append)
            async with db.read() as reader:
                found = await database.check(reader)
            if db.read_only:
                notes.append("It is read-only")
    except StoreError as error:
        return Finding("store", str(error), ok=False, values={"exists": True})
    size = path.stat().st_size
    values = {
        "exists": True,
        "size": size,
        "conversations": found.conversations,
        "messages": found.messages,
        "complaints": list(found.complaints),
    }
    holds = f"{counted(found.conversations, 'conversation')}, {counted(found.messages, 'message')}"
    words = f"{path.name}, {size / 1_000_000:.1f} MB, {holds}"
    if found.complaints:
        return Finding("store", f"{words}: damaged: {'; '.join(found.complaints)}", ok=False, values=values)
    return Finding("store", f"{words}: sound{'. '.join(['', *notes])}", values=values)


def _log() -> Finding:
    path = data_directory() / LOG_NAME
    size = path.stat().st_size if path.exists() else 0
    return Finding("log", f"{path.name}, {size:,} bytes" if size else "empty", values={"size": size})


def _settings() -> Finding:
    """The settings file, and which settings are in it: their names alone."""
    path = settings_path()
    try:
        load_settings()
        text = read_text(path)
    except InvalidSettings as error:
        return Finding("settings", str(error), ok=False, values={"path": str(path), "valid": False})
    if text is None:
        unwritable = "" if write_refusal(path.parent) is None else "; none can be saved there"
        words = f"{path}: none (using defaults){unwritable}"
        return Finding("settings", words, values={"path": str(path), "valid": True, "set": []})
    import tomllib

    names = list(tomllib.loads(text))
    words = f"{path}: valid{': ' if names else ''}{', '.join(names)}"
    return Finding("settings", words, values={"path": str(path), "valid": True, "set": names})


def _usable_settings() -> Settings:
    try:
        return load_settings()
    except InvalidSettings:
        return Settings()  # it was changed this moment


def _agents(settings: Settings) -> Iterator[Finding]:
    statuses = asyncio.run(agent_statuses(settings))
    for status in statuses:
        if status.found:
            yield _agent(status)
    missing = [status.name for status in statuses if not status.found]
    if missing:
        yield Finding("missing", f"agents not installed: {', '.join(missing)}", values={"agents": missing})


def _agent(status: AgentStatus) -> Finding:
    version, command = status.version or "(version unknown)", shlex.join(status.command)
    login = f" · log in: {status.login}" if status.lacks_account else ""
    values = {
        "name": status.name,
        "version": status.version,
        "command": command,
        "origin": status.origin,
        "path": shutil.which(status.command[0]),
        "lacks_account": status.lacks_account,
    }
    text = f"{status.name} {version}: {command} ({status.origin}){login}"
    return Finding("agent", text, values=values)


def _registry() -> Finding:
    registry = load_registry()
    text = registry_age(registry, utc_now().date())
    values = {"date": registry.date.isoformat(), "source": registry.source, "agents": len(registry.entries)}
    return Finding("registry", f"{text} · {registry.trouble}" if registry.trouble else text, values=values)


def _git() -> Finding:
    said = first_line_of(("git", "--version"))
    version = said.removeprefix("git version ") if said else None
    return Finding(
        "git", version or "not found: branches and repositories are not shown", values={"version": version}
    )


def _without_secrets(finding: Finding) -> Finding:
    """The finding with what looks like a secret masked, and the home directory as `~`."""
    mask = SecretMask()
    text = mask.rewrite(_at_home(finding.text))
    return Finding(finding.about, text, finding.ok, mask.rewrite_all(_at_home(dict(finding.values))))


def _at_home(value: Any) -> Any:
    """A value with the home directory as `~` in every text."""
    match value:
        case str():
            return value.replace(f"{Path.home()}/", "~/")
        case dict():
            return {name: _at_home(each) for name, each in value.items()}
        case list():
            return [_at_home(each) for each in value]
        case _:
            return value
