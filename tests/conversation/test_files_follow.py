"""Files that follow a window from branch to branch, by choice, and back with undo."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catena_acp.changes.reading import ChangeScope
from catena_acp.continuity.conversation_events import Remarked, Troubled, TurnEnded
from catena_acp.conversation.branches import files as branch_files
from catena_acp.conversation.branches.files import CutRestore, moved_words
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.errors import FilesHalfMoved, FilesNotKept
from catena_acp.snapshots import keeping as keeping_module
from catena_acp.snapshots import restoring as bringing
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.restoring import FileChoice, RestorePlan, plan_restore
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.database.database import Database
from catena_store.errors import SnapshotFailed
from catena_store.ids import utc_now
from catena_store.records import Kind, StopReason
from catena_store.snapshots import restoring, turns, unfinished
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.restoring import RestoreStep
from catena_store.windows import queue
from catena_store.windows.journal import Act
from support.conversations.rehearsed import Desk, World
from support.storage.turns import files_of
from support.storage.work_trees import GIT

TOO = FileChoice()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(keeping_module, "PATIENCE", 60)  # no start is late on a slow machine
    world = World(tmp_path)
    (world.project / ".git").mkdir()
    return world


def keeping(world: World, db: Database) -> FileSnapshots:
    place = world.store.parent / "snapshots"
    return FileSnapshots(db, place, GIT, SnapshotScope.REPOSITORIES, clock=utc_now)


def files(world: World) -> dict[str, str]:
    return {path.name: path.read_text() for path in world.project.iterdir() if path.is_file()}


async def prompts(desk: Desk) -> list[str]:
    return [row.id for row in await desk.branch() if row.kind is Kind.USER]


async def end_of_first(desk: Desk) -> str:
    """The last row of the first turn."""
    rows = await desk.branch()
    second = [row for row in rows if row.kind is Kind.USER][1]
    assert second.parent_id is not None
    return second.parent_id


async def settled(desk: Desk) -> None:
    found = desk.conversations._services.snapshots
    assert found is not None
    await found.settled()


async def two_written(desk: Desk) -> None:
    """A turn that writes a.txt, and one that writes b.txt."""
    for prompt in ("write a.txt one", "write b.txt two"):
        await desk.say(prompt, "allow")
        await settled(desk)


async def four_turns(desk: Desk) -> list[str]:
    """Turns that write files by a tool and by a shell; their prompts."""
    for prompt in (
        "write a.txt one",
        "write b.txt two",
        "terminal rm a.txt; write c.txt three",
        "write b.txt four",
    ):
        await desk.say(prompt, "allow")
        await settled(desk)
    return await prompts(desk)


def changed(plan: RestorePlan | None) -> list[str]:
    assert plan is not None
    return [step.path for step in plan.steps]


def undo_of(desk: Desk) -> tuple[ConversationUndo, Scope]:
    return ConversationUndo(desk.db, desk.conversations), Scope(desk.window_id, None)


async def test_g04_an_edit_brings_files_back_before_its_prompt_and_undo_brings_both_back(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        _, second, *_ = await four_turns(desk)
        after = files(world)
        assert after == {"b.txt": "four\n", "c.txt": "three\n"}
        plan = await desk.conversation.files.plan(desk.window_id, await end_of_first(desk))
        assert plan is not None and {each.path for each in plan.steps} == {"a.txt", "b.txt", "c.txt"}

        before_leaf = (await desk.stored_window()).leaf_id
        await desk.over(desk.window.edit(second, "say nothing is written", choice=TOO))
        await settled(desk)
        assert files(world) == {"a.txt": "one\n"}
        last = (await desk.turns())[-1]
        async with desk.db.read() as reader:
            kept = (await files_of(reader, desk.conversation.id))[last.id]
        assert kept.before == kept.after  # the turn saw them gone back

        undoing, scope = undo_of(desk)
        step = await undoing.undo(scope)
        assert step is not None and step.files is not None and len(step.files.done) == 3
        assert files(world) == after and (await desk.stored_window()).leaf_id == before_leaf
        again = await undoing.redo(scope)
        assert again is not None and files(world) == {"a.txt": "one\n"}
        assert await undoing.undo(scope) is not None and files(world) == after


class EndingAsOneLooks(FileSnapshots):
    """Snapshots where something else ends in the moment after everything was kept."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def settled(self, seconds: float | None = None) -> None:
        await super().settled(seconds)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()


async def test_g04_a_turn_that_ends_while_files_are_compared_is_gone_back_across(world: World) -> None:
    kept: list[EndingAsOneLooks] = []

    def made(db: Database) -> FileSnapshots:
        place = world.store.parent / "snapshots"
        kept.append(EndingAsOneLooks(db, place, GIT, SnapshotScope.REPOSITORIES, clock=utc_now))
        return kept[0]

    async with world.client(snapshots=made) as desk:
        await desk.say("write a.txt one", "allow")
        first = (await desk.branch())[-1].id
        await desk.window.say("say busy; cue done")
        await world.heard("session/prompt", 2)
        await settled(desk)
        (world.project / "b.txt").write_text("by a shell\n")

        async def ends() -> None:
            world.cue("done")
            await desk.window.wait_idle()

        kept[0].meanwhile = ends
        assert changed(await desk.conversation.files.plan(desk.window_id, first)) == ["b.txt"]
        assert kept[0].meanwhile is None


async def test_g04_a_message_in_the_middle_of_a_turn_brings_files_back_only_where_the_turn_changed_none(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await desk.say("terminal true; say one; terminal true; say two", "allow")
        await desk.say("write a.txt one; say half; write b.txt two", "allow")
        both = files(world)
        rows = await desk.branch()
        _, second = await prompts(desk)
        calls = [row.id for row in rows if row.kind is Kind.TOOL]
        plan = desk.conversation.files.plan
        assert changed(await plan(desk.window_id, calls[0])) == ["a.txt", "b.txt"]
        with pytest.raises(FilesNotKept, match="in the middle of one that changed some"):
            await plan(desk.window_id, calls[2])
        with pytest.raises(FilesNotKept):  # nothing is gone back to by half
            await desk.window.rewind(calls[2], choice=TOO)
        assert files(world) == both
        assert changed(await plan(desk.window_id, second)) == ["a.txt", "b.txt"]


async def test_g04_a_prompt_that_was_refused_does_not_keep_files_where_they_are(world: World) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await desk.say("write a.txt one", "allow")
        await settled(desk)
        world.fail({"prompt": {"error": [-32603, "no"], "times": 99}})
        refused = await desk.say("say two")
        assert refused.problem is not None
        assert [turn.stop_reason for turn in await desk.turns()][-1] is StopReason.NOT_SENT
        assert changed(await desk.conversation.files.plan(desk.window_id, None)) == ["a.txt"]


async def test_g04_without_the_choice_files_stay_and_can_follow_afterwards_as_one_act(world: World) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        first, *_ = await four_turns(desk)
        after = files(world)
        await desk.over(desk.window.edit(first, "write new.txt new"), "allow")
        await settled(desk)
        assert files(world) == {**after, "new.txt": "new\n"}
        (edited, *_) = await prompts(desk)
        behind = await desk.conversation.files.plan(desk.window_id, (await desk.stored_window()).leaf_id)
        assert behind is not None and [step.path for step in behind.free] == ["b.txt", "c.txt"]

        assert await desk.window.to_sibling(edited, -1)
        assert files(world) == {**after, "new.txt": "new\n"}
        leaf = (await desk.stored_window()).leaf_id
        plan = await desk.conversation.files.plan(desk.window_id, leaf)
        assert plan is not None and [step.path for step in plan.free] == ["new.txt"]
        moved = await desk.window.bring_files(TOO)
        assert moved is not None and files(world) == after
        assert await desk.conversation.files.plan(desk.window_id, leaf) is None

        undoing, scope = undo_of(desk)
        step = await undoing.undo(scope)
        assert step is not None and files(world) == {**after, "new.txt": "new\n"}
        assert (await prompts(desk))[0] == edited
        assert await undoing.redo(scope) is not None and files(world) == after


async def test_g10_turns_that_were_left_without_their_files_go_back_with_the_next_act_that_takes_files_along(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await two_written(desk)
        first, second = await prompts(desk)
        plan, undoing = desk.conversation.files.plan, undo_of(desk)
        await desk.over(desk.window.edit(first, "write a.txt three"), "allow")
        await settled(desk)
        both = {"a.txt": "three\n", "b.txt": "two\n"}
        assert files(world) == both
        assert await undoing[0].undo(undoing[1]) is not None
        assert changed(await plan(desk.window_id, (await desk.stored_window()).leaf_id)) == ["a.txt"]

        offered = await plan(desk.window_id, None)
        assert changed(offered) == ["a.txt", "b.txt"] and offered is not None and not offered.conflicts
        await desk.over(desk.window.edit(first, "say nothing is written", choice=TOO))
        await settled(desk)
        assert files(world) == {}
        assert await undoing[0].undo(undoing[1]) is not None and files(world) == both
        assert changed(await plan(desk.window_id, second)) == ["a.txt", "b.txt"]
        assert await undoing[0].redo(undoing[1]) is not None and files(world) == {}
        assert await plan(desk.window_id, (await desk.stored_window()).leaf_id) is None


async def test_g10_files_stand_where_they_were_for_a_fork_in_the_same_directory_and_back(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await two_written(desk)
        first_end = await end_of_first(desk)
        forked = await desk.conversations.fork(
            desk.conversation, window_id=desk.window_id, at=first_end, side_by_side=False
        )
        fork = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
        fork.conversation.subscribe(fork.hear)
        assert changed(await fork.conversation.files.plan(fork.window_id, first_end)) == ["b.txt"]
        await fork.say("write c.txt three", "allow")
        await settled(fork)
        undoing, scope = undo_of(desk)
        assert await undoing.undo(scope) is not None
        back = await desk.stored_window()
        assert back.conversation_id == desk.conversation.id
        assert changed(await desk.conversation.files.plan(desk.window_id, back.leaf_id)) == ["c.txt"]


async def test_g04_what_somebody_else_changed_is_left_and_named_and_goes_back_when_chosen(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await four_turns(desk)
        first = await end_of_first(desk)
        (world.project / "b.txt").write_text("mine\n")
        moved = await desk.window.rewind(first, choice=TOO)
        assert files(world) == {"a.txt": "one\n", "b.txt": "mine\n"}
        assert (
            moved_words(moved)
            == "2 files were restored (1 deleted). Changed since by someone else, so left: b.txt."
        )
        undoing, scope = undo_of(desk)
        assert await undoing.undo(scope) is not None
        assert files(world) == {"b.txt": "mine\n", "c.txt": "three\n"}
        await desk.window.rewind(first, choice=FileChoice(frozenset({"b.txt"})))
        assert files(world) == {"a.txt": "one\n"}
        (world.project / "a.txt").write_text("mine, too\n")
        step = await undoing.undo(scope)
        assert step is not None and step.files is not None
        assert [each.path for each in step.files.left] == ["a.txt"]
        assert files(world) == {"a.txt": "mine, too\n", "b.txt": "mine\n", "c.txt": "three\n"}


async def test_g04_what_another_catena_s_agent_wrote_during_the_turn_is_left_unless_chosen(
    world: World,
) -> None:
    mine, theirs = world.project / "begun.txt", world.project / "theirs.txt"
    async with (
        world.client(snapshots=lambda db: keeping(world, db)) as desk,
        world.client(snapshots=lambda db: keeping(world, db)) as other,
    ):
        turn = asyncio.ensure_future(
            desk.say("write begun.txt mine; cue go; write ended.txt mine; write again.txt mine", "allow")
        )
        while not mine.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await other.say("write theirs.txt theirs", "allow")
        await settled(other)
        world.cue("go")
        await turn
        await settled(desk)
        plan = await desk.conversation.files.plan(desk.window_id, None)
        assert plan is not None
        assert {step.path: step.conflict for step in plan.steps} == {
            "again.txt": None,
            "begun.txt": None,
            "ended.txt": None,
            "theirs.txt": restoring.Why.AT_WORK_TOO,
        }
        (prompt,) = await prompts(desk)
        left = (await desk.stored_window()).leaf_id
        await desk.over(desk.window.edit(prompt, "say something else", choice=TOO))
        await settled(desk)
        assert files(world) == {"theirs.txt": "theirs\n"}
        told = await desk.until_told(Remarked)
        assert told.text == "Maybe changed by another agent, so left: theirs.txt."
        theirs.unlink()
        across = await desk.conversation.files.plan(desk.window_id, left)
        assert across is not None
        assert {step.path: step.conflict for step in across.steps} == {
            "again.txt": None,
            "begun.txt": None,
            "ended.txt": None,
            "theirs.txt": restoring.Why.AT_WORK_TOO,
        }
        theirs.write_text("theirs\n")
    assert theirs.read_text() == "theirs\n"


async def test_g04_what_another_catena_s_agent_wrote_of_which_no_files_are_kept_stays_there(
    world: World,
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk, world.client() as other:
        turn = asyncio.ensure_future(desk.say("write begun.txt mine; cue go; write ended.txt mine", "allow"))
        while not (world.project / "begun.txt").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await other.say("write theirs.txt theirs", "allow")
        world.cue("go")
        await turn
        await settled(desk)
        (prompt,) = await prompts(desk)
        await desk.over(desk.window.edit(prompt, "say something else", choice=TOO))
        await settled(desk)
        assert files(world)["theirs.txt"] == "theirs\n"
        told = await desk.until_told(Remarked)
        assert told.text.startswith("Maybe changed by another agent, so left: ")


async def test_g04_what_the_person_took_away_while_a_turn_was_at_work_stays_away_when_that_turn_goes_back(
    world: World,
) -> None:
    async with (
        world.client(snapshots=lambda db: keeping(world, db)) as desk,
        world.client(snapshots=lambda db: keeping(world, db)) as other,
    ):
        await desk.say("write a.txt one", "allow")
        await settled(desk)
        turn = asyncio.ensure_future(other.say("write begun.txt x; cue go; write ended.txt x", "allow"))
        while not (world.project / "begun.txt").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await desk.window.rewind(None, choice=TOO)
        assert files(world) == {"begun.txt": "x\n"}
        world.cue("go")
        await turn
        await settled(other)
        moved = await other.window.rewind(None, choice=TOO)
        assert files(world) == {}
        assert moved_words(moved) == (
            "2 files were deleted. Restored while the turn was at work, so left: a.txt."
        )


async def test_g04_where_files_cannot_go_back_nothing_is_sent_and_nothing_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = restoring._Root.write
    refuse: list[bool] = []

    def full(root: restoring._Root, path: str, *rest: object) -> None:
        if refuse and path == "b.txt":
            raise OSError(28, os.strerror(28))
        write(root, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(restoring._Root, "write", full)
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        *_, third, _ = await four_turns(desk)
        after, leaf, sent = files(world), (await desk.stored_window()).leaf_id, len(world.prompts())
        refuse.append(True)
        with pytest.raises(SnapshotFailed, match=r"b.txt: No space left"):
            await desk.window.edit(third, "say again", choice=TOO)
        assert files(world) == after and len(world.prompts()) == sent
        assert (await desk.stored_window()).leaf_id == leaf
        assert await desk.conversation.files.cut() is None


@pytest.mark.parametrize("there", ["as it was restored", "as it was before that"])
async def test_g04_undo_takes_back_the_restore_of_one_file_and_no_act_before_it_whatever_its_name(
    world: World, there: str
) -> None:
    file = world.project / os.fsdecode(b"caf\xe9.txt")
    file.write_text("mine\n")
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        turn = asyncio.ensure_future(desk.say("write begun.txt x; cue go", "allow"))
        while not (world.project / "begun.txt").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        file.write_text("by a shell\n")
        world.cue("go")
        await turn
        await settled(desk)
        leaf = (await desk.stored_window()).leaf_id
        for place in (None, leaf):  # acts that were before
            await desk.window.go_to(place)
        changes = await desk.conversation.changes.read(leaf, ChangeScope())
        (path,) = (each.path for each in changes.files if each.path == str(file))
        await desk.window.restore_files(await asyncio.to_thread(changes.plan_without, path))
        assert file.read_text() == "mine\n"
        if there == "as it was before that":
            file.write_text("by a shell\n")
        found = file.read_text()
        undoing, scope = undo_of(desk)
        step = await undoing.undo(scope)
        assert step is not None and step.entry.act is Act.FILES
        assert file.read_text() == "by a shell\n"
        assert (await desk.stored_window()).leaf_id == leaf
        step = await undoing.redo(scope)
        assert step is not None and step.entry.act is Act.FILES
        assert file.read_text() == found


@pytest.mark.parametrize("finished", [True, False])
async def test_g06_a_move_that_was_killed_half_way_is_finished_with_its_files_or_undone(
    world: World, finished: bool
) -> None:
    class Killed(Exception):
        pass

    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await four_turns(desk)
        first = await end_of_first(desk)
        after, leaf = files(world), (await desk.stored_window()).leaf_id
        plan = await desk.conversation.files.plan(desk.window_id, first)
        assert plan is not None
        services = desk.conversations._services
        move = unfinished.WindowMove(desk.window_id, desk.conversation.id, first, "rewind")
        gone = replace(services.owner, id="gone", started="long ago")
        async with desk.db.write() as tx:
            trees = (plan.now, plan.wanted)
            await unfinished.begin(
                tx,
                "note",
                plan.repository.root,
                desk.conversation.id,
                plan.steps,
                owner=gone,
                trees=trees,
                move=move,
            )
        restoring.restore(plan.repository, plan.steps[:1])
        cut = await desk.conversation.files.cut()
        assert cut is not None and (cut.done, len(cut.begun.steps)) == (1, 3)

        assert await desk.window.end_cut(cut, finished=finished) == []
        assert files(world) == ({"a.txt": "one\n"} if finished else after)
        assert (await desk.stored_window()).leaf_id == (first if finished else leaf)
        assert await desk.window.end_cut(cut, finished=finished) is None
        if finished:
            undoing, scope = undo_of(desk)
            assert await undoing.undo(scope) is not None
            assert files(world) == after and (await desk.stored_window()).leaf_id == leaf


async def cut_off(desk: Desk, world: World) -> CutRestore:
    """A change of files that a client was killed at."""
    gone = replace(desk.conversations._services.owner, id="gone", started="long ago")
    steps = [RestoreStep("b.txt", None, None)]
    async with desk.db.write() as tx:
        await unfinished.begin(tx, "note", world.project, desk.conversation.id, steps, owner=gone)
    cut = await desk.conversation.files.cut()
    assert cut is not None
    return cut


@pytest.mark.parametrize("sends", ["the turn before", "the person", "the person, one"])
async def test_g06_a_prompt_that_waited_is_not_sent_while_files_are_half_moved(
    world: World, sends: str
) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await desk.window.say("say one; cue go-on")
        await desk.window.say("say two")
        if sends != "the turn before":
            await desk.window.queue.hold()
        cut = await cut_off(desk, world)
        world.cue("go-on")
        await desk.until_told(TurnEnded)
        async with desk.db.read() as reader:
            (item,) = await queue.items(reader, desk.window_id)
        match sends:
            case "the person":
                await desk.window.send_queued()
            case "the person, one":
                await desk.window.send_now(item.id)
        await desk.window.wait_idle()
        told = [news.problem.text for news in desk.told if isinstance(news, Troubled)]
        assert told == [str(FilesHalfMoved(desk.conversation.id, 1, cut.done))]
        assert world.prompts() == [["say one; cue go-on"]]
        async with desk.db.read() as reader:
            assert await queue.items(reader, desk.window_id) == [replace(item, held=True)]

        await desk.window.end_cut(cut, finished=False)
        await desk.window.send_queued()
        await desk.window.wait_idle()
        assert [blocks[-1] for blocks in world.prompts()] == ["say one; cue go-on", "say two"]


async def test_g06_files_that_are_half_moved_are_told_of_only_where_something_waits(world: World) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await desk.window.say("say one; cue go-on")
        await cut_off(desk, world)
        world.cue("go-on")
        await desk.until_told(TurnEnded)
        await desk.window.wait_idle()
        assert not any(isinstance(news, Troubled) for news in desk.told)


async def test_r12_an_edit_whose_files_are_still_going_back_is_there_for_the_next_client(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []

    def restore(*given: Any, **more: Any) -> list[RestoreStep]:
        # As somebody sees it who comes when we are killed here.
        with contextlib.closing(sqlite3.connect(world.store)) as database:
            kept.extend(text for (text,) in database.execute("SELECT text FROM queue_item"))
        return restoring.restore(*given, **more)

    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        _, second, *_ = await four_turns(desk)
        monkeypatch.setattr(bringing, "restore", restore)
        await desk.over(desk.window.edit(second, "say otherwise", choice=TOO))
        assert kept == ["say otherwise"]
        async with desk.db.read() as reader:
            assert await queue.items(reader, desk.window_id) == []
        assert files(world) == {"a.txt": "one\n"}


async def test_g06_what_a_live_process_is_at_is_nobody_elses(world: World) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await four_turns(desk)
        live = replace(desk.conversations._services.owner, id="another window")
        steps = [RestoreStep("b.txt", None, None)]
        async with desk.db.write() as tx:
            await unfinished.begin(tx, "note", world.project, desk.conversation.id, steps, owner=live)
        assert await desk.conversation.files.cut() is None


async def test_g04_files_of_acts_that_can_be_undone_are_spared(world: World) -> None:
    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await four_turns(desk)
        first = await end_of_first(desk)
        (world.project / "b.txt").write_text("mine alone\n")
        await desk.window.rewind(first, choice=FileChoice(frozenset({"b.txt"})))
        async with desk.db.read() as reader:
            kept = await turns.trees(reader)
        repository = SnapshotRepository(GIT, world.store.parent / "snapshots", world.project)
        repository.forget(kept, before=10**9)
        undoing, scope = undo_of(desk)
        assert await undoing.undo(scope) is not None
        assert files(world)["b.txt"] == "mine alone\n"


async def test_g10_a_plan_that_is_given_up_is_told_to_nobody_however_far_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sheet that closes gives up its plan; what went on behind it found parts of the sheet gone."""
    begun, finish = asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any, **named: Any) -> RestorePlan:
        begun.set()
        await finish.wait()
        return await plan_restore(*arguments, **named)

    async with world.client(snapshots=lambda db: keeping(world, db)) as desk:
        await two_written(desk)
        monkeypatch.setattr(branch_files, "plan_restore", slow)
        plan = asyncio.create_task(desk.conversation.files.plan(desk.window_id, await end_of_first(desk)))
        await begun.wait()
        plan.cancel()
        finish.set()
        with pytest.raises(asyncio.CancelledError):
            await plan
