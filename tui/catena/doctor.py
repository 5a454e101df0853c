"""``catena doctor``: what Catena finds here, fit to be pasted where somebody asks for it."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from catena import __version__
from catena.agent_list import AgentLine, agent_lines
from catena.config import Settings, SettingsInvalid, load_settings, settings_path
from catena.exit_status import ExitStatus
from catena.log_file import LOG_NAME
from catena.safe_text import safe_line
from catena_acp.continuity.wording import counted
from catena_store.database.database import Database, data_directory, default_path
from catena_store.database.health import health
from catena_store.errors import StoreError

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
    """Print what was found; the exit status is 1 where something is wrong."""
    store, store_sound = asyncio.run(_store())
    try:
        settings, settings_words = load_settings(), "none, defaults hold"
        if settings_path().exists():
            settings_words = "valid"
    except SettingsInvalid as error:
        settings, settings_words = None, str(error)
    agents = asyncio.run(agent_lines(settings or Settings()))
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
        return f"{path.name} is not there yet; the first conversation makes it", True
    mended: list[str] = []
    try:
        async with Database.open(path) as db:
            db.when_mended(mended.append)
            async with db.read() as reader:
                found = await health(reader)
            if db.read_only:
                mended.append("It may not be written here: read-only")
    except StoreError as error:
        return str(error), False
    size = path.stat().st_size / 1_000_000
    holds = f"{counted(found.conversations, 'conversation')}, {counted(found.messages, 'message')}"
    words = f"{path.name}, {size:.1f} MB, {holds}"
    if found.complaints:
        return f"{words}: damaged: {'; '.join(found.complaints)}", False
    return f"{words}: sound{'. '.join(['', *mended])}", True


def _log() -> str:
    path = data_directory() / LOG_NAME
    return f"{path.name}, {path.stat().st_size:,} bytes" if path.exists() else "nothing written yet"


def _agent(line: AgentLine) -> str:
    if not line.found:
        return f"{line.name}: not installed"
    return f"{line.name} {line.version or '(version not known)'}: {' '.join(line.command)}"


def _terminal() -> Iterator[str]:
    size = shutil.get_terminal_size()
    yield f"{size.columns}×{size.lines}" if sys.stdout.isatty() else "none: the output goes elsewhere"
    for name in _TERMINAL_VARIABLES:
        if name in os.environ:
            yield f"{name}={os.environ[name]}"


def _print(what: str, words: str) -> None:
    at_home = words.replace(f"{Path.home()}/", "~/")
    print(f"{what:<9} {safe_line(at_home)}")
