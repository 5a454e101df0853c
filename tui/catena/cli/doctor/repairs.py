"""``catena doctor reset``, ``salvage`` and ``backup``: a terminal left behind, a damaged store, and a copy of one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from catena.errors import CommandRefused, ExitStatus, refusing_path
from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted

if TYPE_CHECKING:  # a terminal is reset without the store
    from catena_store.database.salvage.salvage import Salvaged

_SEQUENCES = (
    # Off the alternate screen, and longer key codes: kitty keeps those of each screen apart.
    "\x1b[<u\x1b[?1049l\x1b[<u\x1b[>4;0m",
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l",  # mouse reports
    "\x1b[?1004l",  # focus reports
    "\x1b[?2004l\x1b[?5522l",  # bracketed paste, and pastes by types
    "\x1b[?2026l",  # synchronized output
    "\x1b[?2048l",  # resize reports
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
        os.write(terminal, "".join(_SEQUENCES).encode("ascii") + b"\r\x1b[J")  # and erase below
    except FileNotFoundError as error:
        raise CommandRefused("cannot reset the terminal: `stty` is not installed") from error
    finally:
        os.close(terminal)
    return ExitStatus.ANSWERED


def salvage_store() -> int:
    """Salvage a damaged store into a new one. Raises CommandRefused, StoreError."""
    import asyncio

    from catena_store.database.database import default_path
    from catena_store.database.salvage.salvage import salvage
    from catena_store.errors import StoreBusy

    path = default_path()
    if not path.exists():
        raise CommandRefused(f"{path} does not exist, so there is nothing to recover")
    try:
        if asyncio.run(_is_sound(path)):
            _say(f"{path} is not damaged. Nothing was changed.")
            return ExitStatus.ANSWERED
        _say(f"{path} is damaged. Recovering what can be read into a new file; the original is kept.")
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
    from catena_store.database.database import Database, check
    from catena_store.errors import StoreDamaged, StoreUnusable

    try:
        async with Database.open(path) as db, db.read() as reader:
            return not (await check(reader, compare_indexes=True)).complaints
    except StoreDamaged:
        return False
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
    import asyncio

    from catena_store.database.database import Database, default_path

    path = default_path()
    with refusing_path(target):
        copy = Path(target).expanduser().absolute()
        if not copy.parent.is_dir():
            raise CommandRefused(f"{copy.parent}: No such file or directory")
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
