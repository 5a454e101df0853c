"""The files around a turn are kept beside it, and hold it up for a moment at most."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path

import pytest

from catena_acp.changes.reading import ChangeScope
from catena_acp.continuity.conversation_events import Remarked
from catena_acp.errors import FilesNotKept
from catena_acp.snapshots import keeping as keeping_module
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.chains import turns
from catena_store.database.database import Database
from catena_store.ids import utc_now
from catena_store.snapshots import repository as room_module
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.trees import LARGEST, DirectorySnapshot, LeftOutReason
from catena_store.snapshots.turns import TurnFiles
from support.conversations.rehearsed import Desk, World
from support.storage.turns import files_of
from support.storage.work_trees import GIT


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    (world.project / ".git").mkdir()
    return world


def keeping(
    world: World, *, program: str | None = GIT, scope: SnapshotScope = SnapshotScope.REPOSITORIES
) -> Callable[[Database], FileSnapshots]:
    """Snapshots that are never too slow."""
    directory = world.store.parent / "snapshots"
    return lambda db: FileSnapshots(db, directory, program, scope, clock=utc_now, monotonic=lambda: 0.0)


def snapshots(desk: Desk) -> FileSnapshots:
    found = desk.conversations._services.snapshots
    assert found is not None
    return found


async def files_of_turns(desk: Desk) -> list[TurnFiles | None]:
    """What was kept of each turn of the conversation, oldest first."""
    await snapshots(desk).settled()
    async with desk.db.read() as reader:
        every = await turns.of_conversation(reader, desk.conversation.id)
        found = await files_of(reader, desk.conversation.id)
    return [found.get(turn.id) for turn in every]


async def test_g01_what_a_turn_did_to_the_files_is_between_its_two_snapshots(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping_module, "PATIENCE", 60)  # else the turn may have written before the first one
    async with world.client(snapshots=keeping(world)) as desk:
        (world.project / "mine").write_text("before\n")
        await desk.say("write notes.txt hello", "allow")
        await snapshots(desk).settled()
        (world.project / "mine").write_text("between\n")
        await desk.say("say nothing")
        first, second = await files_of_turns(desk)
        assert first and second and first.after and second.after
        repository = snapshots(desk).repository(str(world.project))
        assert repository is not None
        assert [change.path for change in repository.changes(first.before, first.after)] == ["notes.txt"]
        assert [change.path for change in repository.changes(first.after, second.before)] == ["mine"]
        assert second.before == second.after


@pytest.mark.parametrize("why", ["no git", "off", "no repository"])
async def test_g01_without_git_or_a_repository_or_when_off_nothing_is_kept_and_want_of_git_is_said_once(
    world: World, why: str
) -> None:
    if why == "no repository":
        (world.project / ".git").rmdir()
    made = keeping(
        world,
        program=None if why == "no git" else GIT,
        scope=SnapshotScope.OFF if why == "off" else SnapshotScope.REPOSITORIES,
    )
    async with world.client(snapshots=made) as desk:
        await desk.say("say one")
        await desk.say("say two")
        assert await files_of_turns(desk) == [None, None]
        said = [each.text for each in desk.told if isinstance(each, Remarked)]
        assert said == (["No file snapshots: git is not installed."] if why == "no git" else [])
    assert not (world.store.parent / "snapshots").exists()


async def test_g01_a_directory_without_a_repository_is_kept_where_the_settings_say_so(world: World) -> None:
    (world.project / ".git").rmdir()
    async with world.client(snapshots=keeping(world, scope=SnapshotScope.EVERYWHERE)) as desk:
        await desk.say("say one")
        (files,) = await files_of_turns(desk)
        assert files is not None and files.root == str(world.project)


async def test_g02_what_the_start_or_the_end_of_a_turn_lacks_is_noted_once(world: World) -> None:
    for name in ("stays", "shrinks"):
        (world.project / name).write_bytes(b"x" * (LARGEST + 1))
    async with world.client(snapshots=keeping(world)) as desk:
        await desk.window.say("say busy; cue done")
        await world.heard("session/prompt")
        await snapshots(desk).settled()
        (world.project / "shrinks").write_bytes(b"x")
        (world.project / "grows").write_bytes(b"x" * (LARGEST + 1))
        world.cue("done")
        await desk.window.wait_idle()
        (files,) = await files_of_turns(desk)
        assert files is not None
        assert sorted((each.path, each.reason) for each in files.left_out) == [
            (name, LeftOutReason.TOO_LARGE) for name in ("grows", "shrinks", "stays")
        ]


@pytest.mark.parametrize("above", [0, 1, 2])
async def test_g09_a_directory_that_holds_the_home_is_not_kept_and_it_is_said_once(
    world: World, above: int
) -> None:
    home = world.project.joinpath(*"ab"[:above])

    def made(db: Database) -> FileSnapshots:
        directory = world.store.parent / "snapshots"
        return FileSnapshots(db, directory, GIT, SnapshotScope.EVERYWHERE, clock=utc_now, home=home)

    async with world.client(snapshots=made) as desk:
        for word in ("one", "two"):
            await desk.say(f"say {word}")
        assert await files_of_turns(desk) == [None, None]
        said = [each.text for each in desk.told if isinstance(each, Remarked)]
        assert said == [f"No file snapshots: {world.project} contains your home directory."]


async def test_g02_what_is_kept_is_not_packed_while_a_turn_of_the_root_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping_module, "_TURNS_OF_PACK", 1)
    packed: list[Path] = []
    monkeypatch.setattr(SnapshotRepository, "pack", lambda repository: packed.append(repository.root))
    async with world.client(snapshots=keeping(world)) as busy:
        await busy.window.say("say busy; cue done")
        await world.heard("session/prompt")
        await snapshots(busy).settled()
        async with world.client(snapshots=keeping(world)) as other:
            await other.say("say other")
            await snapshots(other).settled()
            assert packed == []
        world.cue("done")
        await busy.window.wait_idle()
        await snapshots(busy).settled()
        assert packed == [world.project]


async def test_g02_a_prompt_does_not_wait_for_a_snapshot_that_takes_its_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture, go_on = SnapshotRepository.capture, threading.Event()

    def slow(repository: SnapshotRepository, *, day: int) -> DirectorySnapshot:
        assert go_on.wait(60)
        return capture(repository, day=day)

    monkeypatch.setattr(SnapshotRepository, "capture", slow)
    async with world.client(snapshots=keeping(world)) as desk:
        await desk.say("say one")
        go_on.set()
        (files,) = await files_of_turns(desk)
        assert files is not None and files.after


def timed(
    world: World, took: Iterable[float], *, is_busy: Callable[[], bool] = lambda: False
) -> Callable[[Database], FileSnapshots]:
    """Snapshots of which each ``took`` so many seconds."""
    looks = (at for seconds in took for at in (0.0, seconds))  # one before each, one behind it

    def made(db: Database) -> FileSnapshots:
        return FileSnapshots(
            db,
            world.store.parent / "snapshots",
            GIT,
            SnapshotScope.REPOSITORIES,
            clock=utc_now,
            monotonic=lambda: next(looks),
            is_busy=is_busy,
        )

    return made


async def test_g02_a_directory_that_takes_over_a_second_twice_is_kept_no_more_and_it_is_said_once(
    world: World,
) -> None:
    async with world.client(snapshots=timed(world, repeat(2.0))) as desk:
        for word in ("one", "two", "three"):
            await desk.say(f"say {word}")
            await snapshots(desk).settled()
        first, second, third = await files_of_turns(desk)
        assert first and first.after and second and third is None
        said = [each.text for each in desk.told if isinstance(each, Remarked)]
        assert said == [f"Snapshots of {world.project} take over a second: off until you restart Catena."]


async def test_g02_what_is_slow_now_and_then_or_on_a_busy_machine_is_kept_all_day(world: World) -> None:
    took = [0.1, 2.0, 0.1, 2.0, 0.1, 2.0]  # the start and the end of three turns
    busy: list[bool] = []
    async with world.client(
        snapshots=timed(world, [*took, *repeat(3.0, 8)], is_busy=lambda: bool(busy))
    ) as desk:
        for word in ("one", "two", "three", "four", "five"):
            if word == "four":
                busy.append(True)
            await desk.say(f"say {word}")
            await snapshots(desk).settled()
        assert all(files and files.after for files in await files_of_turns(desk))
        assert not [each for each in desk.told if isinstance(each, Remarked)]
        busy.clear()  # the second in a row at rest: those between them say nothing
        await desk.say("say six")
        await snapshots(desk).settled()
        assert [each for each in desk.told if isinstance(each, Remarked)]


async def test_g01_what_is_kept_is_packed_after_some_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping_module, "_TURNS_OF_PACK", 2)
    async with world.client(snapshots=keeping(world)) as desk:
        for number in (1, 2):
            (world.project / "notes.txt").write_text(str(number))
            await desk.say("say done")
            await snapshots(desk).settled()
        repository = snapshots(desk).repository(str(world.project))
        assert repository is not None
        assert len(list(repository.path.glob("objects/pack/*.pack"))) == 1
        assert not list(repository.path.glob("objects/[0-9a-f][0-9a-f]/*"))
        assert all(files and files.after for files in await files_of_turns(desk))


async def test_g01_a_snapshot_that_fails_is_said_once_and_the_turn_goes_on(world: World) -> None:
    world.store.parent.mkdir()
    (world.store.parent / "snapshots").write_text("a file is in the way")
    async with world.client(snapshots=keeping(world)) as desk:
        for word in ("one", "two"):
            ended = await desk.say(f"say {word}")
            assert ended.turn and ended.turn.clean
        assert await files_of_turns(desk) == [None, None]
        (said,) = (each.text for each in desk.told if isinstance(each, Remarked))
        assert said.startswith("File snapshots are off until you restart Catena: files of ")


async def test_g02_a_disk_that_is_nearly_full_ends_snapshots_with_a_word_and_loses_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_module, "_LEAST_FREE", 1 << 60)
    async with world.client(snapshots=keeping(world)) as desk:
        for word in ("one", "two"):
            ended = await desk.say(f"say {word}")
            assert ended.turn and ended.turn.clean
        assert await files_of_turns(desk) == [None, None]
        (said,) = (each.text for each in desk.told if isinstance(each, Remarked))
        assert said.startswith("File snapshots are off until you restart Catena: ")
        assert said.endswith(" must stay free")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Snapshots are not taken before this is set, and no prompt waits for one."""
    go_on, capture = threading.Event(), SnapshotRepository.capture

    def waiting(repository: SnapshotRepository, *, day: int) -> DirectorySnapshot:
        assert go_on.wait(60)
        return capture(repository, day=day)

    monkeypatch.setattr(SnapshotRepository, "capture", waiting)
    monkeypatch.setattr(keeping_module, "PATIENCE", 0)
    return go_on


@pytest.mark.parametrize(
    "what", ["nothing", "a change in time", "a change that waited in vain", "a tool call"]
)
async def test_g01_a_start_that_is_kept_when_the_turn_has_acted_is_late_and_a_change_through_us_waits_for_it(
    world: World, held: threading.Event, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with world.client(snapshots=keeping(world)) as desk:
        made = snapshots(desk)
        with monkeypatch.context() as without:
            without.setattr(made, "begin", nothing_begun)
            without.setattr(made, "end", lambda *_: None)
            await desk.say("say done")  # a turn to keep the start of
        async with desk.db.read() as reader:
            (turn,) = await turns.of_conversation(reader, desk.conversation.id)
        await FileSnapshots.begin(made, turn.id, str(world.project), lambda words: None)
        match what:
            case "a change in time":
                waiting = asyncio.ensure_future(made.before_change(turn.id))
                await asyncio.sleep(0)
                assert not waiting.done()
                held.set()
                await waiting
            case "a change that waited in vain":
                monkeypatch.setattr(keeping_module, "CHANGE_PATIENCE", 0)
                await made.before_change(turn.id)
            case "a tool call":
                made.acts(turn.id)
        held.set()
        await made.settled()
        async with desk.db.read() as reader:
            files = (await files_of(reader, desk.conversation.id))[turn.id]
        assert files.late == (what in ("a change that waited in vain", "a tool call"))


async def nothing_begun(turn_id: str, directory: str, tell: Callable[[str], None]) -> None:
    """No start is kept."""


async def test_g01_a_turn_whose_start_was_late_shows_what_was_reported_and_is_left_out_of_restoring(
    world: World, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_change = FileSnapshots.before_change
    asked = []

    async def released(made: FileSnapshots, turn_id: str) -> None:
        asked.append(turn_id)
        held.set()
        await before_change(made, turn_id)

    monkeypatch.setattr(FileSnapshots, "before_change", released)
    async with world.client(snapshots=keeping(world)) as desk:
        await desk.say("edit! notes.txt; write made.txt hello", "allow")
        (files,) = await files_of_turns(desk)
        assert asked and files and files.late and files.after
        repository = snapshots(desk).repository(str(world.project))
        assert repository is not None  # the write waited until the files were kept
        assert [each.path for each in repository.changes(files.before, files.after)] == ["made.txt"]
        leaf = (await desk.stored_window()).leaf_id
        changes = await desk.conversation.changes.read(leaf, ChangeScope())
        assert "Its beginning was missed." in changes.caveat
        assert "notes.txt" in [Path(each.path).name for each in changes.files]
        with pytest.raises(FilesNotKept):
            await desk.conversation.files.plan(desk.window.id, None)
