"""``catena doctor --salvage`` and ``--backup``: what a person can do for the file that everything is kept in."""

from __future__ import annotations

import asyncio
from pathlib import Path

from catena.exit_status import ExitStatus, Refused
from catena.safe_text import safe_line
from catena_acp.continuity.wording import counted
from catena_store.database.database import Database, default_path
from catena_store.database.health import health
from catena_store.errors import StoreBusy, StoreDamaged, StoreUnusable
from catena_store.salvage.salvage import Salvaged, salvage


def salvage_store() -> int:
    """Save what can be read of the store into a new one, unless it is sound. Raises Refused, StoreError."""
    path = default_path()
    if not path.exists():
        raise Refused(f"{path} is not there, so there is nothing to save")
    if asyncio.run(_sound(path)):
        _say(f"{path} is sound: nothing was done.")
        return ExitStatus.ANSWERED
    _say(f"{path} is damaged. What can be read goes into a new file; the damaged one is kept.")
    try:
        saved = salvage(path)
    except StoreBusy as error:
        raise Refused(
            f"{path} is open in another program; end every Catena, then try again", ExitStatus.HELD_ELSEWHERE
        ) from error
    for line in _told(saved):
        _say(line)
    return ExitStatus.ANSWERED


async def _sound(path: Path) -> bool:
    try:
        async with Database.open(path) as db, db.read() as reader:
            return not (await health(reader, compare_indexes=True)).complaints
    except StoreDamaged:
        return False
    except StoreBusy:
        return False  # who holds it is found out by the salvage itself
    except StoreUnusable as error:
        if error.may_be_damaged:
            return False
        raise


def _told(saved: Salvaged) -> list[str]:
    lines = [
        f"Saved {counted(saved.conversations, 'conversation')} with {counted(saved.messages, 'message')}."
    ]
    if saved.lost:
        places = "a notice stands in each place that something hangs from"
        lines.append(f"Lost at least {counted(saved.lost, 'message')}; {places}.")
    if saved.cut:
        lines.append(f"Of {counted(saved.cut, 'message')} only the beginning could be read.")
    if saved.other_rows_lost:
        lines.append(
            f"Lost besides: {counted(saved.other_rows_lost, 'row')} of tabs, drafts, sessions and the like."
        )
    lines.append(
        "The agents' sessions are not resumed: the next prompt of each conversation tells what was said."
    )
    lines.append(f"The damaged file is kept as {saved.kept}; remove it when you miss nothing.")
    return lines


def back_up_store(target: str) -> int:
    """Write a copy of the store. Raises Refused, StoreError."""
    path, copy = default_path(), Path(target).expanduser().absolute()
    if not path.exists():
        raise Refused(f"{path} is not there, so there is nothing to copy")
    if copy.exists():
        raise Refused(f"{copy} is there already; name a new file")

    async def written() -> None:
        async with Database.open(path) as db:
            await db.copy_to(copy)

    asyncio.run(written())
    _say(f"{copy} is a whole copy of {path}, {copy.stat().st_size / 1_000_000:.1f} MB.")
    return ExitStatus.ANSWERED


def _say(words: str) -> None:
    print(safe_line(words.replace(f"{Path.home()}/", "~/")))
