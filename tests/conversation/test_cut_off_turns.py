"""A turn whose Catena was killed gets a snapshot of its end later, and what may be the person's in it stays theirs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.snapshots import keeping as keeping_module
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.restoring import RestoreNote, carry_out, plan_restore
from catena_acp.snapshots.scope import SnapshotScope
from catena_store import places
from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.ids import new_id, to_milliseconds, utc_now
from catena_store.records import ConversationRecord, Kind
from catena_store.snapshots import turns as kept
from catena_store.snapshots.restoring import Why
from catena_store.windows import windows
from support.clients.command_line import Catena
from support.conversations.rehearsed import Desk, World
from support.storage.turns import files_of
from support.storage.work_trees import GIT


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(keeping_module, "PATIENCE", 60)  # no start is late on a slow machine
    world = World(tmp_path)
    (world.project / ".git").mkdir()
    for name in ("edited", "gone", "mine", "untouched"):
        (world.project / name).write_text("start\n")
    return world


async def killed_in_a_turn(world: World) -> tuple[ConversationRecord, str]:
    """A `catena run` that is killed after the agent changed files; the conversation and its prompt."""
    script = "cue begin; write edited agent; write made agent; terminal rm gone; say changed; cue never"
    process = Catena(world.place).start(
        *("run", "--agent", "rehearsal", "--permissions", "allow", script),
        CATENA_REHEARSAL_HOME=str(world.place / "rehearsal"),
    )
    try:
        async with asyncio.timeout(60), Database.open(world.store) as db:
            while not await begun(db):
                assert process.poll() is None
                await asyncio.sleep(0.02)
            world.cue("begin")
            while (said := await prompt_of(db)) is None:  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    return said


async def begun(db: Database) -> bool:
    """Whether the files before the turn were kept."""
    async with db.read() as reader:
        return bool(await kept.cut_off(reader))


async def prompt_of(db: Database) -> tuple[ConversationRecord, str] | None:
    """The conversation and its prompt, once the agent has said what it did."""
    async with db.read() as reader:
        record = await conversations.latest(reader)
        rows = await messages.of_conversation(reader, record.id) if record else []
    if record and any(row.kind is Kind.AGENT and "changed" in row.text for row in rows):
        return record, next(row.id for row in rows if row.kind is Kind.USER)
    return None


def write_later(path: Path, content: str) -> None:
    """Write a file so that its time is after this moment, however coarse the file system's clock is."""
    now = to_milliseconds(utc_now())
    path.write_text(content)
    while path.stat().st_ctime_ns // 1_000_000 <= now:
        path.write_text(content)


class Keeper:
    """Keeps the files around the turns of one client."""

    def __init__(self, world: World) -> None:
        self._place = world.store.parent / "snapshots"

    def __call__(self, db: Database) -> FileSnapshots:
        self.snapshots = FileSnapshots(db, self._place, GIT, SnapshotScope.REPOSITORIES, clock=utc_now)
        return self.snapshots


async def window_of(world: World, record: ConversationRecord) -> str:
    async with Database.open(world.store) as db, db.read() as reader:
        leaf = await places.of(reader, record.id)
    async with Database.open(world.store) as db, db.write() as tx:
        id = new_id()
        await windows.open(tx, id=id, conversation_id=record.id, leaf_id=leaf)
    return id


def files(world: World) -> dict[str, str]:
    return {path.name: path.read_text() for path in world.project.iterdir() if path.is_file()}


async def only_turn(desk: Desk) -> kept.TurnFiles:
    async with desk.db.read() as reader:
        (turn,) = await turns.of_conversation(reader, desk.conversation.id)
        return (await files_of(reader, desk.conversation.id))[turn.id]


async def test_g06_a_turn_that_was_killed_ends_at_the_next_opening_and_files_go_back_across_it(
    world: World,
) -> None:
    record, prompt = await killed_in_a_turn(world)
    write_later(world.project / "mine", "mine, after the kill\n")
    keeper = Keeper(world)
    home = world.place / "rehearsal"
    async with world.reopened(record.id, await window_of(world, record), home, keeper) as desk:
        await keeper.snapshots.settled()
        files_kept = await only_turn(desk)
        assert files_kept.after and files_kept.certain and files_kept.after != files_kept.certain
        leaf = (await desk.stored_window()).leaf_id
        assert leaf is not None
        changes = await desk.conversation.changes.read(leaf, ChangeScope(Since.TURN))
        assert changes.caveat == "A turn's end was saved late: it may include your changes."
        assert {Path(each.path).name for each in changes.files} == {"edited", "made", "gone", "mine"}
        repository = keeper.snapshots.repository(str(world.project))
        assert repository is not None
        plan = await plan_restore(desk.db, repository, (leaf,), prompt, day=1, now=utc_now())
        assert plan.kept_later
        assert {step.path: step.conflict for step in plan.steps} == {
            "edited": None,
            "gone": None,
            "made": None,
            "mine": Why.KEPT_LATER,
        }
        assert await carry_out(desk.db, plan, plan.free, RestoreNote(new_id(), record.id)) == []
    assert files(world) == {
        "edited": "start\n",
        "gone": "start\n",
        "mine": "mine, after the kill\n",
        "untouched": "start\n",
    }


async def test_g06_the_next_snapshot_of_the_root_ends_it_before_it_is_opened(world: World) -> None:
    record, _ = await killed_in_a_turn(world)
    keeper = Keeper(world)
    async with world.client(snapshots=keeper) as other:
        await other.say("say another conversation")
        await keeper.snapshots.settled()
        async with other.db.read() as reader:
            (turn,) = await turns.of_conversation(reader, record.id)
            found = (await files_of(reader, record.id))[turn.id]
        assert turn.stop_reason is None and found.after and found.certain == found.after


async def test_g07_files_go_back_across_a_killed_turn_that_was_not_opened_since(world: World) -> None:
    record, prompt = await killed_in_a_turn(world)
    write_later(world.project / "mine", "mine, after the kill\n")
    command = ("files", "restore", record.id, "--at", prompt, "--yes")
    done = await asyncio.to_thread(Catena(world.place), *command)
    assert done.status == 0, done.err
    assert done.out.splitlines() == [
        "A turn was cut off, and its end kept later: what changed meanwhile may be yours, and is left.",
        "  edited  restored +1 -1",
        "  gone  restored +1 -0",
        "  made  deleted +0 -1",
        "  mine  restored +1 -1  left: kept later, and maybe changed by you",
        "3 files restored.",
    ]
    assert files(world)["mine"] == "mine, after the kill\n" and "made" not in files(world)


async def test_g06_a_turn_that_is_at_work_in_another_catena_is_not_ended(world: World) -> None:
    keeper, other_keeper = Keeper(world), Keeper(world)
    async with world.client(snapshots=keeper) as desk:
        await desk.window.say("say busy; cue done")
        await world.heard("session/prompt")
        await keeper.snapshots.settled()
        async with world.client(snapshots=other_keeper) as other:
            await other.say("say another conversation")
            await other_keeper.snapshots.settled()
            assert (await only_turn(desk)).after is None
        world.cue("done")
        await desk.window.wait_idle()
        await keeper.snapshots.settled()
        ended = await only_turn(desk)
        assert ended.after and ended.certain is None
