"""``catena doctor``: findings to paste into a report, and reset of a terminal, salvage and backup of the store."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from catena import __version__
from catena.errors import CommandRefused, ExitStatus, InvalidSettings
from catena.log import LOG_NAME
from catena.settings.installed_agents import AgentStatus, agent_statuses
from catena.settings.settings import Settings, load_settings, settings_path
from catena.text.safe_text import safe_line
from catena_acp.continuity.counts import counted
from catena_store.database import health
from catena_store.database.database import Database, data_directory, default_path
from catena_store.errors import StoreBusy, StoreDamaged, StoreError, StoreUnusable
from catena_store.salvage.salvage import Salvaged, salvage

_TERMINAL_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "NO_COLOR",
    "TMUX",
    "STY",
    "SSH_TTY",
    "LANG",
    "LC_ALL",
)


def print_findings() -> int:
    """Print versions, store, log, settings, agents and terminal; the exit status is 1 where something is wrong."""
    store, store_sound = asyncio.run(_store())
    try:
        settings, settings_words = load_settings(), "none (using defaults)"
        if settings_path().exists():
            settings_words = "valid"
    except InvalidSettings as error:
        settings, settings_words = None, str(error)
    agents = asyncio.run(agent_statuses(settings or Settings()))
    _print("catena", f"{__version__} · Python {platform.python_version()} · {platform.platform(terse=True)}")
    _print("data", str(data_directory()))
    _print("store", store)
    _print("log", _log())
    _print("settings", f"{settings_path()}: {settings_words}" if settings else settings_words)
    for agent in agents:
        _print("agent", _agent(agent))
    _print("terminal", " · ".join(_terminal()))
    return ExitStatus.ANSWERED if store_sound and settings else ExitStatus.FAILED


async def _store() -> tuple[str, bool]:
    path = default_path()
    if not path.exists():
        return f"{path.name}: created with the first conversation", True
    notes: list[str] = []
    try:
        async with Database.open(path) as db:
            db.on_repair(notes.append)
            async with db.read() as reader:
                found = await health.check(reader)
            if db.read_only:
                notes.append("It is read-only")
    except StoreError as error:
        return str(error), False
    size = path.stat().st_size / 1_000_000
    holds = f"{counted(found.conversations, 'conversation')}, {counted(found.messages, 'message')}"
    words = f"{path.name}, {size:.1f} MB, {holds}"
    if found.complaints:
        return f"{words}: damaged: {'; '.join(found.complaints)}", False
    return f"{words}: sound{'. '.join(['', *notes])}", True


def _log() -> str:
    path = data_directory() / LOG_NAME
    return f"{path.name}, {path.stat().st_size:,} bytes" if path.exists() else "empty"


def _agent(line: AgentStatus) -> str:
    if not line.found:
        return f"{line.name}: not installed"
    return f"{line.name} {line.version or '(version unknown)'}: {' '.join(line.command)}"


def _terminal() -> Iterator[str]:
    size = shutil.get_terminal_size()
    yield f"{size.columns}×{size.lines}" if sys.stdout.isatty() else "none (output is redirected)"
    for name in _TERMINAL_VARIABLES:
        if name in os.environ:
            yield f"{name}={os.environ[name]}"


def _print(what: str, words: str) -> None:
    at_home = words.replace(f"{Path.home()}/", "~/")
    print(f"{what:<9} {safe_line(at_home)}")


def salvage_store() -> int:
    """Salvage a damaged store into a new one. Raises CommandRefused, StoreError."""
    path = default_path()
    if not path.exists():
        raise CommandRefused(f"{path} does not exist, so there is nothing to recover")
    if asyncio.run(_is_sound(path)):
        _say(f"{path} is not damaged. Nothing was changed.")
        return ExitStatus.ANSWERED
    _say(f"{path} is damaged. Recovering what can be read into a new file; the original is kept.")
    try:
        saved = salvage(path)
    except StoreBusy as error:
        raise CommandRefused(
            f"{path} is open in another program. Quit all running Catenas and try again",
            ExitStatus.HELD_ELSEWHERE,
        ) from error
    for line in _salvage_lines(saved):
        _say(line)
    return ExitStatus.ANSWERED


async def _is_sound(path: Path) -> bool:
    try:
        async with Database.open(path) as db, db.read() as reader:
            return not (await health.check(reader, compare_indexes=True)).complaints
    except StoreDamaged:
        return False
    except StoreBusy:
        return False  # the salvage itself finds out who holds it
    except StoreUnusable as error:
        if error.may_be_damaged:
            return False
        raise


def _salvage_lines(saved: Salvaged) -> list[str]:
    lines = [
        f"Recovered {counted(saved.conversations, 'conversation')} with {counted(saved.messages, 'message')}."
    ]
    if saved.lost:
        places = "a notice marks each gap"
        lines.append(f"Lost at least {counted(saved.lost, 'message')}; {places}.")
    if saved.cut:
        lines.append(f"Only the beginning of {counted(saved.cut, 'message')} could be read.")
    if saved.other_rows_lost:
        lines.append(f"Also lost: {counted(saved.other_rows_lost, 'row')} (tabs, drafts, sessions).")
    lines.append("Agent sessions are not resumed: the next prompt in each conversation replays its messages.")
    lines.append(f"The original is kept as {saved.kept}. Delete it once you have checked the result.")
    return lines


def back_up_store(target: str) -> int:
    """Write a backup of the store to a new file. Raises CommandRefused, StoreError."""
    path, copy = default_path(), Path(target).expanduser().absolute()
    if not path.exists():
        raise CommandRefused(f"{path} does not exist, so there is nothing to copy")
    if copy.exists():
        raise CommandRefused(f"{copy} already exists; choose a new name")

    async def written() -> None:
        async with Database.open(path) as db:
            await db.copy_to(copy)

    asyncio.run(written())
    _say(f"Copied {path} to {copy} ({copy.stat().st_size / 1_000_000:.1f} MB).")
    return ExitStatus.ANSWERED


def _say(words: str) -> None:
    print(safe_line(words.replace(f"{Path.home()}/", "~/")))


_SEQUENCES = (
    "\x1b[?1049l",  # off the alternate screen
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l",  # mouse reports
    "\x1b[?1004l",  # focus reports
    "\x1b[?2004l",  # bracketed paste
    "\x1b[?2026l",  # synchronized output
    "\x1b[?2048l",  # resize reports
    "\x1b[<u\x1b[>4;0m",  # kitty's and xterm's longer key codes
    "\x1b[?1l\x1b>",  # cursor keys and keypad as usual
    "\x1b[?7h",  # wrap at the right edge
    "\x1b[r",  # scroll the whole screen
    "\x1b(B\x0f",  # ASCII, not line drawing
    "\x1b[0m\x1b]104\x07\x1b]110\x07\x1b]111\x07",  # colours
    "\x1b[0 q\x1b[?12l\x1b[?25h",  # the cursor's shape, and the cursor
)


def reset_terminal() -> int:
    """Reset this process's terminal to its usual modes. Raises CommandRefused if there is none."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise CommandRefused("no terminal to reset") from error
    try:
        # The line discipline first: in raw mode, line ends do not return to the first column.
        subprocess.run(["stty", "sane"], stdin=terminal, check=False)
        os.write(terminal, "".join(_SEQUENCES).encode("ascii") + b"\r")
    except FileNotFoundError as error:
        raise CommandRefused("cannot reset the terminal: `stty` is not installed") from error
    finally:
        os.close(terminal)
    return ExitStatus.ANSWERED
