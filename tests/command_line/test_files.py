"""`catena files`: what turns did to files, and the way back, without a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store import places
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.snapshots import turns, unfinished
from catena_store.snapshots.files_place import FilesPlace
from catena_store.snapshots.repository import SnapshotRepository, existing, snapshots_beside
from catena_store.snapshots.restoring import RestoreStep
from catena_store.snapshots.trees import TreeEntry, blob_id
from catena_store.snapshots.unfinished import WindowMove
from catena_store.windows.journal import Act
from support.clients.command_line import (
    Catena,
    Finished,
    newest,
    run_between_snapshots,
    turns_kept,
    wait_until,
)
from support.storage.work_trees import GIT

PROJECT_FILES = {"notes.txt": "mine\n", "kept.txt": "kept\n"}


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    """A conversation of two turns, each of which writes files; the second one's shell deletes one, too."""
    made = Catena(tmp_path)
    (made.project / ".git").mkdir()
    for name, content in PROJECT_FILES.items():
        (made.project / name).write_text(content)
    run_between_snapshots(made, "cue one; write notes.txt first", "--agent", "rehearsal")
    run_between_snapshots(made, "cue two; terminal rm kept.txt; write new.txt second", "--continue")
    return made


def run(catena: Catena, prompt: str, *arguments: str) -> Finished:
    agent = () if arguments else ("--agent", "rehearsal")
    done = catena("run", *agent, *arguments, "--permissions", "allow", "--json", prompt)
    assert done.status == 0, done.err
    return done


def files(catena: Catena) -> dict[str, str]:
    return {path.name: path.read_text() for path in catena.project.iterdir() if path.is_file()}


def conversation(catena: Catena) -> tuple[str, list[str]]:
    """Its id, and the ids of its prompts."""
    (listed,) = catena("list", "--json").json
    shown = catena("show", listed["id"], "--json").json
    return listed["id"], [row["id"] for row in shown["messages"] if row["kind"] == "user"]


def test_g07_turns_are_listed_and_files_go_back_to_a_message_and_only_with_yes(catena: Catena) -> None:
    id, (first, second) = conversation(catena)
    after = {"notes.txt": "first\n", "new.txt": "second\n"}
    assert files(catena) == after

    told = catena("files", id)
    assert told.status == 0 and told.out.splitlines() == [
        "   1  1 file +1 -1              cue one; write notes.txt first",
        "   2  2 files +1 -1             cue two; terminal rm kept.txt; write new.txt second",
    ]

    planned = catena("files", id, "--at", second)
    assert planned.out.splitlines() == [
        "  kept.txt  restored +1 -0",
        "  new.txt  deleted +0 -1",
        "2 files would change; `catena files restore` with --yes does it.",
    ]
    assert files(catena) == after
    patch = catena("files", id, "--at", first, "--diff").out
    assert "deleted file mode 100644" in patch and "+mine" in patch

    done = catena("files", "restore", id, "--at", first, "--yes", "--json")
    assert done.status == 0 and {each["path"]: each["becomes"] for each in done.json["files"]} == {
        "kept.txt": "new",
        "new.txt": "deleted",
        "notes.txt": "changed",
    }
    assert files(catena) == PROJECT_FILES
    assert catena("files", id, "--at", first).out == "Every file is as it was then.\n"


def test_g04_a_rename_goes_back_as_a_file_that_comes_and_one_that_goes(catena: Catena) -> None:
    run_between_snapshots(catena, "cue three; terminal mv new.txt moved.txt", "--continue")
    id, prompts = conversation(catena)
    assert catena("files", id, "--at", prompts[-1]).out.splitlines()[:2] == [
        "  moved.txt  deleted +0 -1",
        "  new.txt  restored +1 -0",
    ]


def test_g04_what_was_changed_since_is_left_unless_it_is_named(catena: Catena) -> None:
    id, (first, _) = conversation(catena)
    (catena.project / "notes.txt").write_text("mine again\n")
    wrong = catena("files", "restore", id, "--at", first, "note.txt", "--yes")
    assert (wrong.status, wrong.err) == (
        2,
        "catena: note.txt: not among the files that would change; near: notes.txt, new.txt, kept.txt\n",
    )
    listed = catena("files", "restore", id, "--at", first, f"{catena.project}/new.txt").out
    assert "kept.txt  restored +1 -0  left: not named" in listed and "1 file would change" in listed
    done = catena("files", "restore", id, "--at", first, "--yes")
    assert "notes.txt  restored +1 -1  left: changed since by someone else" in done.out
    assert files(catena) == {**PROJECT_FILES, "notes.txt": "mine again\n"}
    assert catena("files", "restore", id, "--at", first, "./notes.txt", "--yes").status == 0
    assert files(catena) == PROJECT_FILES


def test_g10_files_of_a_branch_that_was_left_without_them_are_named_and_go_back(catena: Catena) -> None:
    id, (first, second) = conversation(catena)
    run_between_snapshots(
        catena, "cue three; write third.txt x", "--resume", id, "--at", last_of(catena, first)
    )
    _, (_, _, third) = conversation(catena)
    told = catena("files", id, "--at", third).out.splitlines()
    assert told[:3] == [
        "  kept.txt  restored +1 -0",
        "  new.txt  deleted +0 -1",
        "  third.txt  deleted +0 -1",
    ]
    # Of another branch: its own turn is left, too.
    other = catena("files", id, "--at", second).out.splitlines()
    assert other == told
    run(catena, "say here", "--resume", id, "--edit", third, "--files")
    assert files(catena) == {"notes.txt": "first\n", "kept.txt": "kept\n"}
    assert catena("files", id, "--at", third).out == "Every file is as it was then.\n"


def test_g10_where_files_stand_is_kept_by_a_restore_also_by_one_that_is_finished_later(
    catena: Catena,
) -> None:
    id, (first, second) = conversation(catena)
    assert catena("files", "restore", id, "--at", first, "--yes").status == 0
    end = last_of(catena, second)
    assert (
        catena("files", id, "--at", end).out.splitlines()[-1]
        == "3 files would change; `catena files restore` with --yes does it."
    )
    repository = existing(catena.data / "catena.db", str(catena.project))
    assert repository is not None

    async def killed_before_the_first_step(tx: Writer) -> None:
        stands = FilesPlace(id, None, (end,))
        await unfinished.begin(tx, "r1", repository.root, id, [], trees=("", ""), stands=stands)

    catena.write(killed_before_the_first_step)
    assert catena("files", "finish", id).status == 0
    assert catena("files", id, "--at", end).out == "Every file is as it was then.\n"


def test_g10_a_turn_that_was_killed_before_its_first_row_goes_back_with_its_files(catena: Catena) -> None:
    id, _ = conversation(catena)
    before, kept = files(catena), turns_kept(catena.store)
    with catena.start("run", "--resume", id, "cue never; say nothing") as begun:
        wait_until(lambda: turns_kept(catena.store) > kept)
        (catena.project / "cut.txt").write_text("cut\n")
        begun.kill()
    _, (*_, cut) = conversation(catena)
    named = "  cut.txt  deleted +0 -1  left: kept later, and maybe changed by you"
    assert named in catena("files", id, "--at", cut).out.splitlines()
    run(catena, "say on", "--resume", id)
    assert named in catena("files", id, "--at", cut).out.splitlines()
    assert catena("files", "restore", id, "--at", cut, "cut.txt", "--yes").status == 0
    assert files(catena) == before


@pytest.mark.parametrize("way", ["at once", "finished later"])
def test_g04_files_that_were_restored_while_another_turn_was_at_work_are_not_taken_for_its_own(
    catena: Catena, way: str
) -> None:
    id, (first, second) = conversation(catena)
    kept = turns_kept(catena.store)
    with catena.start("run", "--agent", "rehearsal", "--json", "cue go; say done") as at_work:
        wait_until(lambda: turns_kept(catena.store) > kept)
        if way == "at once":
            assert catena("files", "restore", id, "--at", first, "--yes").status == 0
        else:
            killed_before_the_first_step(catena, id, second)
            assert catena("files", "finish", id).status == 0
        catena.cue("go")
        assert at_work.wait() == 0
    theirs = newest(catena)
    (prompt, _) = (row["id"] for row in catena("show", theirs, "--json").json["messages"])
    named = "  left: restored while the turn was at work"
    assert catena("files", theirs, "--at", prompt).out.splitlines() == [
        f"  kept.txt  deleted +0 -1{named}",
        f"  new.txt  restored +1 -0{named}",
        *([f"  notes.txt  restored +1 -1{named}"] if way == "at once" else []),
        "Nothing would change; `catena files restore` restores a file that it is given by name.",
    ]


def killed_before_the_first_step(catena: Catena, id: str, prompt: str) -> None:
    """A restore of what a prompt's turn did is begun."""
    repository = existing(catena.data / "catena.db", str(catena.project))
    assert repository is not None

    async def killed(tx: Writer) -> None:
        leaf = await places.of(tx, id)
        kept = await turns.of_span(tx, leaf, await messages.depth(tx, prompt) - 1, None)
        assert kept and kept[0].after
        before, after = kept[0].before, kept[0].after
        steps = [RestoreStep(each.path, each.new, each.old) for each in repository.changes(before, after)]
        await unfinished.begin(tx, "r1", repository.root, id, steps, trees=(after, before))

    catena.write(killed)


@pytest.mark.parametrize("way", ["finish", "undo"])
def test_g06_a_restore_that_was_killed_is_finished_or_undone(catena: Catena, way: str) -> None:
    id, (_, second) = conversation(catena)
    before = files(catena)
    repository = existing(catena.data / "catena.db", str(catena.project))
    assert repository is not None

    async def killed_half_way(tx: Writer) -> None:
        leaf = await places.of(tx, id)
        kept = await turns.of_span(tx, leaf, await messages.depth(tx, second) - 1, None)
        assert kept and kept[0].after
        steps = [
            RestoreStep(each.path, each.new, each.old)
            for each in repository.changes(kept[0].before, kept[0].after)
        ]
        await unfinished.begin(tx, "r1", repository.root, id, steps)

    catena.write(killed_half_way)
    (catena.project / "kept.txt").write_text("kept\n")  # the first step was done
    words = f"was interrupted after 1: finish or undo it first (catena files finish {id}, or catena files undo {id})"
    for command in (("run", "--continue", "say more"), ("files", "restore", id, "--at", second, "--yes")):
        refused = catena(*command)
        assert (refused.status, refused.out) == (2, "") and words in refused.err
    assert words in catena("files", id).err
    lines = catena("--linear", "--resume", id, stdin="say more\n/quit\n")
    assert words in lines.out + lines.err
    assert not any("say more" in each["text"] for each in catena("show", id, "--json").json["messages"])
    assert catena("files", way, id).status == 0
    assert files(catena) == (before if way == "undo" else {"notes.txt": "first\n", "kept.txt": "kept\n"})
    again = catena("files", way, id)
    assert (again.status, again.err) == (2, "catena: no restore of its files was interrupted\n")


@pytest.mark.parametrize("way", ["finish", "undo"])
def test_g06_a_restore_that_was_killed_is_ended_where_it_was_begun_wherever_its_conversation_works_now(
    catena: Catena, way: str
) -> None:
    id, _ = conversation(catena)
    elsewhere = catena.home / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    SnapshotRepository(GIT, snapshots_beside(catena.store), elsewhere).capture(day=1)
    new = TreeEntry(0o100644, blob_id(b"second\n"))

    async def killed_and_moved(tx: Writer) -> None:
        await unfinished.begin(tx, "r1", catena.project, id, [RestoreStep("new.txt", new, None)])
        await conversations.set_directory(tx, id, str(elsewhere))

    catena.write(killed_and_moved)
    if way == "undo":
        (catena.project / "new.txt").unlink()  # the step was done
    done = catena("files", way, id)
    assert (done.status, done.err) == (0, "")
    assert files(catena) == {"notes.txt": "first\n", **({"new.txt": "second\n"} if way == "undo" else {})}
    assert [each.name for each in elsewhere.iterdir()] == [".git"]


def test_g07_a_conversation_without_snapshots_says_so(tmp_path: Path) -> None:
    plain = Catena(tmp_path)
    run(plain, "write notes.txt first")
    id, (first,) = conversation(plain)
    assert "not kept" in plain("files", id).out
    refused = plain("files", "restore", id, "--at", first, "--yes")
    assert (refused.status, refused.err) == (
        2,
        "catena: no snapshots of this conversation's directory\n",
    )
    assert files(plain) == {"notes.txt": "first\n"}
    wrong = plain("files", "restore", id)
    assert wrong.status == 2 and "required: --at" in wrong.err


def test_g02_prune_gives_back_what_only_removed_conversations_needed(catena: Catena) -> None:
    repository = existing(catena.data / "catena.db", str(catena.project))
    assert repository is not None
    for name in repository._git.run("for-each-ref", "--format=%(refname)").decode().split():
        tree = name.rsplit("/", 1)[1]
        repository._git.run("update-ref", f"refs/trees/1/{tree}", tree)
        repository._git.run("update-ref", "-d", name)
    assert "snapshots of files" not in catena("prune", "--older-than", "1d").err  # they are another's
    planned = catena("prune", "--older-than", "0d", "--json").json
    assert planned["snapshot_bytes"] > 0 and repository.path.exists()

    async def broken_off_long_ago(tx: Writer) -> None:
        await unfinished.begin(tx, "r1", repository.root, None, [])
        await tx.run("UPDATE file_restore SET begun_at = 0")

    (catena.project / "now").write_text("what a restore goes back to when it is undone")
    needed = repository.capture(day=1).tree
    catena.write(broken_off_long_ago)
    assert catena("prune", "--older-than", "9w", "--yes").status == 0
    assert needed in repository._git.run("for-each-ref").decode()

    async def ended(tx: Writer) -> None:
        await unfinished.end(tx, "r1")

    catena.write(ended)
    done = catena("prune", "--older-than", "0d", "--yes")
    assert done.status == 0 and "of it snapshots of files" in done.err
    assert catena("list", "--json").json == []
    assert not repository.path.exists()


def test_g03_an_edit_takes_files_along_only_where_it_is_told_to(catena: Catena) -> None:
    id, (_, second) = conversation(catena)
    after = {"notes.txt": "first\n", "new.txt": "second\n"}
    between = {"notes.txt": "first\n", "kept.txt": "kept\n"}

    stayed = run(catena, "say files stay", "--resume", id, "--edit", second)
    assert (files(catena), stayed.event("branch")["files"]) == (after, None)
    run(catena, "say on the branch whose files these are", "--resume", id, "--at", last_of(catena, second))
    gone_back = run(catena, "say files go back", "--resume", id, "--at", above(catena, second), "--files")
    assert files(catena) == between
    assert sorted(gone_back.event("branch")["files"]["restored"]) == ["kept.txt", "new.txt"]


def test_g03_files_follow_in_the_settings_takes_files_along_and_an_option_leaves_them(catena: Catena) -> None:
    id, (_, second) = conversation(catena)
    before = files(catena)
    catena.settings('files_follow = "on"\n')

    run(catena, "say files stay", "--resume", id, "--edit", second, "--no-files")
    assert files(catena) == before
    told = catena(
        "run", "--resume", id, "--at", last_of(catena, second), "say at the end of the other branch"
    )
    assert (told.status, files(catena)) == (0, before)
    told = catena("run", "--resume", id, "--edit", second, "say files go back")
    assert (told.status, files(catena)) == (0, {"notes.txt": "first\n", "kept.txt": "kept\n"})
    assert "Files too: restores 2 files" in told.err


def test_g04_what_somebody_else_changed_is_named_and_left_by_an_edit(catena: Catena) -> None:
    id, (_, second) = conversation(catena)
    (catena.project / "new.txt").write_text("mine now\n")

    told = catena("run", "--resume", id, "--edit", second, "--files", "say files go back")

    assert told.status == 0
    assert files(catena) == {"notes.txt": "first\n", "kept.txt": "kept\n", "new.txt": "mine now\n"}
    assert "Changed since by someone else, so left: new.txt" in told.err


def test_g04_a_prompt_whose_files_cannot_go_back_is_not_sent(tmp_path: Path) -> None:
    plain = Catena(tmp_path)
    run(plain, "say one")
    id, (first,) = conversation(plain)

    told = plain("run", "--resume", id, "--edit", first, "--files", "say two")
    wrong = plain("run", "--resume", id, "--files", "say two")

    assert (told.status, told.out) == (1, "")
    assert told.err == "catena: no snapshots of this conversation's directory\n"
    assert wrong.status == 2
    assert conversation(plain) == (id, [first])


def test_g06_a_window_goes_where_the_files_were_on_their_way_to(catena: Catena) -> None:
    id, (_, second) = conversation(catena)
    point = above(catena, second)
    (window,) = {row["id"] for row in catena("show", id, "--json").json["windows"][-1:]}
    repository = existing(catena.data / "catena.db", str(catena.project))
    assert repository is not None

    async def killed_before_the_first_step(tx: Writer) -> None:
        leaf = await places.of(tx, id)
        kept = await turns.of_span(tx, leaf, await messages.depth(tx, second) - 1, None)
        assert kept and kept[0].after
        before, after = kept[0].before, kept[0].after
        steps = [RestoreStep(each.path, each.new, each.old) for each in repository.changes(before, after)]
        move = WindowMove(window, id, point, Act.GO_TO)
        await unfinished.begin(tx, "r1", repository.root, id, steps, trees=(after, before), move=move)

    catena.write(killed_before_the_first_step)
    assert catena("files", "finish", id).status == 0

    assert files(catena) == {"notes.txt": "first\n", "kept.txt": "kept\n"}
    assert [
        row["leaf_id"] for row in catena("show", id, "--json").json["windows"] if row["id"] == window
    ] == [point]


def above(catena: Catena, prompt: str) -> str:
    """The row that a prompt hangs from."""
    rows = catena("show", conversation(catena)[0], "--json").json["messages"]
    parent: str = next(row["parent_id"] for row in rows if row["id"] == prompt)
    return parent


def last_of(catena: Catena, prompt: str) -> str:
    """The last row of a prompt's turn."""
    rows = catena("show", conversation(catena)[0], "--json").json["messages"]
    turn = next(row["turn_id"] for row in rows if row["parent_id"] == prompt)
    last: str = next(row["id"] for row in reversed(rows) if row["turn_id"] == turn)
    return last
