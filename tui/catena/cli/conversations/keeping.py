"""``catena rename``, ``pin``, ``archive``, ``delete``, and ``prune``, which removes for good."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from catena.acts.surface import NOTHING_CHANGED, Cancelled, Done, Here, Question
from catena.acts.text_surface import TextSurface
from catena.app.services import serve_conversations
from catena.cli.conversations.list import line_width
from catena.cli.outcome import outcome
from catena.cli.run.answers import agreed
from catena.errors import ExitStatus
from catena.settings.agents import titles_in_settings
from catena.settings.settings import load_settings
from catena.text.formats import age, size_text, truncate
from catena.text.json_shapes import FORMAT, dumps, time_shape
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.wording.counts import counted
from catena_acp.process_group import is_running
from catena_store.clients import leases
from catena_store.conversations import conversations
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id, utc_now
from catena_store.keeping import removal
from catena_store.keeping.removal import Removed
from catena_store.keeping.selection import Prunable, PruneRule, PruneSelection, select
from catena_store.records import Lease
from catena_store.snapshots import unfinished
from catena_store.snapshots.tidying import measure, tidy
from catena_store.snapshots.turns import trees
from catena_store.windows import inputs, windows


class _ShellSurface(TextSurface):
    """Lines on standard output; what cannot be undone is asked on the terminal."""

    def __init__(self, command: str | None) -> None:
        """``command`` is named to who cannot be asked; None: nothing is asked."""
        super().__init__(lambda line: print(safe_line(line)))
        self._command = command

    async def ask(self, question: Question) -> str:
        """Ask, unless it can be undone. Raises Cancelled, CommandRefused if there is no terminal."""
        if question.free or question.seen or self._command is None:
            return "yes"
        if await agreed(question.title, self._command):
            return "yes"
        raise Cancelled


def keep_house(act: Callable[[Here], Awaitable[Done]], named: str, *, command: str | None = None) -> int:
    """Do an act on a conversation by its id, the start of one, or its title; returns the exit status.

    ``command`` as it is written, if it may ask. Raises NotFound, Ambiguous, Refused, ReadOnly, StoreError.
    """
    return asyncio.run(_keep_house(act, named, command))


async def _keep_house(act: Callable[[Here], Awaitable[Done]], named: str, command: str | None) -> int:
    settings, surface = load_settings(), _ShellSurface(command)
    async with (
        Database.open(default_path()) as db,
        serve_conversations(db, settings, probe=False, read=False) as live,
    ):
        async with db.write() as tx:
            found = await conversations.find(tx, named)
            workspace = await windows.ensure_workspace(tx, found.cwd, new_id=new_id)
        tabs = OpenTabs(
            db,
            live,
            outgoing=OutgoingTexts(),
            directory=found.cwd,
            new_id=new_id,
            workspace_id=workspace.id,
        )
        try:
            done = await act(Here(tabs, None, surface, settings, named=found))
        except Cancelled:
            surface.say(NOTHING_CHANGED)
            return ExitStatus.STOPPED
        surface.say(done.words)
    return ExitStatus.ANSWERED


_SECONDS_OF_DAY = 86_400
_BESIDE_OTHERS = 2.0  # seconds that another Catena may have to wait until it can write


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was found, and what was done about it."""

    found: PruneSelection
    removed: Removed | None
    given_back: int  # bytes, to the disk
    snapshots: int  # bytes of files' snapshots: to be freed, or among those
    free: int  # bytes of the file that hold nothing, and will be used for what comes


def prune(rule: PruneRule, *, yes: bool, json: bool) -> int:
    """List what a rule would remove; remove it with ``yes``. Returns the exit status."""
    done = outcome(_prune(rule, yes=yes))
    if json:
        print(dumps(_shape(done), indent=2))
        return ExitStatus.ANSWERED
    for line in _lines(done.found, now=utc_now(), width=line_width()):
        print(line)
    print(_sum(done), file=sys.stderr)
    return ExitStatus.ANSWERED


def prune_prompts(part: str, *, yes: bool, json: bool) -> int:
    """Count the prompts of the prompt history with a text in them; remove them with ``yes``. Gives the exit status."""

    async def work() -> int:
        async with Database.open(default_path()) as db:
            if yes:
                async with db.write() as tx:
                    return await inputs.remove(tx, part)
            async with db.read() as reader:
                return await inputs.count(reader, part)

    count = asyncio.run(work())
    if json:
        print(dumps({"format": FORMAT, "prompts": count, "removed": yes}, indent=2))
    else:
        found = f"{counted(count, 'prompt')} in the prompt history"
        print(f"{found}: removed." if yes else f"{found}; --yes removes them.", file=sys.stderr)
    return ExitStatus.ANSWERED


async def _prune(rule: PruneRule, *, yes: bool) -> _Outcome:
    async with Database.open(default_path()) as db:
        async with db.read() as reader:
            found = await select(reader, rule, _is_dead)
        day = int(utc_now().timestamp()) // _SECONDS_OF_DAY
        if not yes:
            async with db.read() as reader:
                kept = await trees(reader, without=[each.id for each in found.prunable])
            snapshots = await asyncio.to_thread(measure, db.path, kept, day=day)
            return _Outcome(found, None, 0, snapshots, 0)
        alone = not await _others_run(db)
        removed = await removal.prune(db, [each.id for each in found.prunable], _is_dead, alone=alone)
        given_back = await removal.give_back(db, seconds=None if alone else _BESIDE_OTHERS)
        async with db.read() as reader:
            kept = await trees(reader)
            begun = await unfinished.every(reader)
        # What a restore that was broken off needs was kept on its day.
        oldest = min([day, *(int(each.begun_at.timestamp()) // _SECONDS_OF_DAY for each in begun)])
        snapshots = await asyncio.to_thread(tidy, db.path, kept, day=oldest)
        return _Outcome(found, removed, given_back + snapshots, snapshots, await removal.free_bytes(db))


def _is_dead(lease: Lease) -> bool:
    return not is_running(lease.owner, lease.heartbeat_at, utc_now())


async def _others_run(db: Database) -> bool:
    async with db.read() as reader:
        spaces, held = await windows.workspaces(reader), await leases.every(reader)
    return any(not _is_dead(lease) for lease in held) or any(
        space.owner and is_running(space.owner, space.heartbeat_at, utc_now()) for space in spaces
    )


def _lines(found: PruneSelection, *, now: datetime, width: int | None) -> Iterator[str]:
    title_in_settings = titles_in_settings()
    rows = [
        (
            each.id,
            age(each.used_at, now),
            size_text(each.size),
            safe_line(title_in_settings(each.agent, "") or each.agent),
            _name(each),
        )
        for each in found.prunable
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for identity, old, size, agent, name in rows:
        line = (
            f"{identity:<{widths[0]}}  {old:>{widths[1]}}  {size:>{widths[2]}}  {agent:<{widths[3]}}  {name}"
        )
        yield line if width is None else truncate(line, width)


def _name(each: Prunable) -> str:
    name = safe_line(conversation_name(each.title, each.preview))
    notes = [
        note
        for note, holds in (("deleted", each.deleted), (f"{each.kept} messages stay in forks", each.kept))
        if holds
    ]
    return f"{name} ({', '.join(notes)})" if notes else name


def _sum(outcome: _Outcome) -> str:
    found, removed = outcome.found, outcome.removed
    kept = ", ".join(f"{count} {reason}" for reason, count in found.spared.items())
    staying = f" Kept: {kept}." if kept else ""
    if removed is None:
        if not found.prunable and not outcome.snapshots:
            return f"catena: nothing to prune.{staying}"
        ask = " Nothing was removed: add --yes to remove them for good."
        files = f", and {size_text(outcome.snapshots)} of snapshots of files" if outcome.snapshots else ""
        return f"catena: {_count(len(found.prunable))}, {size_text(found.size)}{files}.{ask}{staying}"
    done = f"catena: removed {_count(removed.conversations)}"
    if removed.reduced:
        done += f", and from {removed.reduced} what no fork needs"
    if outcome.given_back:
        done += f"; {size_text(outcome.given_back)} given back to the disk"
        if outcome.snapshots:
            done += f", {size_text(outcome.snapshots)} of it snapshots of files"
    elif outcome.free:
        done += f"; {size_text(outcome.free)} of the file are free for new messages"
        done += ", and go back to the disk when this command runs with no other Catena open"
    return f"{done}.{staying}"


def _count(number: int) -> str:
    return f"{number} conversation{'' if number == 1 else 's'}"


def _shape(outcome: _Outcome) -> dict[str, object]:
    found, removed = outcome.found, outcome.removed
    return {
        "format": FORMAT,
        "removed": removed is not None,
        "conversations": [
            {
                "id": each.id,
                "title": each.title,
                "preview": each.preview,
                "agent": each.agent,
                "cwd": each.cwd,
                "deleted": each.deleted,
                "used_at": time_shape(each.used_at),
                "messages": each.messages,
                "kept": each.kept,
                "bytes": each.size,
            }
            for each in found.prunable
        ],
        "bytes": found.size,
        "spared": {str(reason): count for reason, count in found.spared.items()},
        "snapshot_bytes": outcome.snapshots,
        "given_back": outcome.given_back,
    }
