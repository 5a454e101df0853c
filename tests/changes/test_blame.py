"""Each line of a file has the turn that provably wrote it, or nobody."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catena_acp.blame import reading
from catena_acp.blame.authorship import Doubt, Proof
from catena_acp.errors import NotBlamed
from catena_store.chains import turns as chain_turns
from catena_store.ids import to_milliseconds
from catena_store.records import StopReason
from catena_store.snapshots import turns
from catena_store.windows import journal
from support.storage.written_files import WrittenFiles, written_files


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[WrittenFiles]:
    async with written_files(tmp_path) as made:
        yield made


async def test_g08_a_line_belongs_to_the_turn_that_wrote_it_last(files: WrittenFiles) -> None:
    (files / "a").write_text("old\nkept\n")
    first = await files.turn("shop", ("a", "one\nkept\ntwo\n"))
    second = await files.turn("shop", ("a", "one, again\nkept\ntwo\n"))
    assert await files.turns("a") == {"one, again": second, "kept": "unknown", "two": first}
    assert dict(await files.authors("a"))["kept"].doubt is Doubt.OLDER


async def test_g08_what_was_written_between_turns_and_since_is_no_turns(files: WrittenFiles) -> None:
    first = await files.turn("shop", ("a", "one\n"))
    (files / "a").write_text("one\nmine\n")
    second = await files.turn("shop", ("a", "one\nmine\ntwo\n"))
    (files / "a").write_text("one\nmine\ntwo\nmine, too\n")
    file = await files.blame("a")
    authors = [block.author for block in file.blocks]
    assert [each.turn_id for each in authors] == [first, None, second, None]
    assert [(each.proof, each.after, each.before) for each in authors[1::2]] == [
        (Proof.BETWEEN, first, second),
        (Proof.BETWEEN, second, None),
    ]
    assert file.blamed_turns[second].number == 2 and file.blamed_turns[second].on_branch


async def test_g08_lines_are_followed_through_renames_and_moves_into_directories(files: WrittenFiles) -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    first = await files.turn("shop", ("a", text))
    second = await files.begin("shop")
    (files / "deep").mkdir()
    (files / "a").rename(files / "deep/b")
    (files / "deep/b").write_text(text + "second\n")
    await files.end(second)
    (files / "deep/b").rename(files / 'c "\n')  # by the person
    third = await files.turn("shop", ('c "\n', text + "second\nthird\n"))
    found = await files.turns('c "\n')
    assert {found.pop(f"line {number}") for number in range(20)} == {first}
    assert found == {"second": second, "third": third}


async def test_g08_a_file_that_was_deleted_and_restored_is_of_who_restored_it(files: WrittenFiles) -> None:
    await files.turn("shop", ("a", "one\n"))
    second = await files.begin("shop")
    (files / "a").unlink()
    await files.end(second)
    third = await files.turn("shop", ("a", "one\n"))
    assert await files.turns("a") == {"one": third}


async def test_g08_turns_of_two_conversations_at_once_are_told_apart_where_that_is_proved(
    files: WrittenFiles,
) -> None:
    await files.conversation("garden")
    shop = await files.begin("shop")
    (files / "a").write_text("only the shop\n")
    garden = await files.begin("garden")
    (files / "a").write_text("only the shop\nboth at work\n")
    await files.end(shop)
    (files / "a").write_text("only the shop\nboth at work\nonly the garden\n")
    await files.end(garden)
    lines = dict(await files.authors("a"))
    assert (lines["only the shop"].turn_id, lines["only the garden"].turn_id) == (shop, garden)
    both = lines["both at work"]
    assert (both.proof, both.doubt, set(both.perhaps)) == (Proof.UNKNOWN, Doubt.SEVERAL, {shop, garden})
    await files.report(garden, "a", "only the shop\n", "only the shop\nboth at work\n")
    reported = dict(await files.authors("a"))["both at work"]
    assert (reported.proof, reported.turn_id) == (Proof.REPORT, garden)


async def test_g08_what_a_killed_turn_or_somebody_after_it_wrote_is_unknown(files: WrittenFiles) -> None:
    await files.conversation("garden")
    (files / "a").write_text("old\n")
    killed = await files.begin("shop")
    await files.heartbeat("shop")
    (files / "a").write_text("old\nkilled\n")
    await files.end(killed, killed=True)
    at_work = dict(await files.authors("a"))["killed"]
    assert (at_work.doubt, at_work.perhaps) == (Doubt.AT_WORK, (killed,))
    files.clock.forward(600)
    later = await files.turn("garden", ("a", "old\nkilled\nlater\n"))
    lines = dict(await files.authors("a"))
    assert lines["later"].turn_id == later, "the client of the killed turn gave no sign of life for long"
    assert (lines["killed"].doubt, lines["killed"].perhaps) == (Doubt.NOT_KEPT, (killed,))


async def test_g08_what_a_turn_certainly_did_before_it_was_cut_off_is_its_own(files: WrittenFiles) -> None:
    (files / "a").write_text("old\n")
    killed = await files.begin("shop")
    (files / "a").write_text("old\nkilled\n")
    await files.end(killed, killed=True)
    alive_at, certain = files.clock(), files.repository.capture(day=1).tree
    files.clock.forward(3_600)
    (files / "a").write_text("old\nkilled\nlater\n")
    async with files.db.write() as tx:
        await turns.note_alive(tx, killed, alive_at)
        await chain_turns.end(tx, killed, stop_reason=StopReason.INTERRUPTED)
        taken = files.repository.capture(day=1)
        await turns.end_later(tx, killed, taken.tree, certain, taken.left_out)
    last = await files.turn("shop", ("a", "old\nkilled\nlater\nlast\n"))
    lines = dict(await files.authors("a"))
    assert (lines["killed"].turn_id, lines["last"].turn_id) == (killed, last)
    assert (lines["later"].doubt, lines["later"].perhaps) == (Doubt.NOT_KEPT, (killed,))


async def test_g08_a_turn_without_snapshots_is_named_only_as_it_reported(files: WrittenFiles) -> None:
    await files.turn("shop", ("a", "kept\n"))
    blind = await files.turn("shop", ("a", "kept\n{\nreported\n}\nby a shell\n"), kept=False)
    await files.report(blind, "a", "kept\n", "kept\n{\nreported\n}\n")
    await files.report(blind, "a", "kept\n", "by a shell\n", status="failed")
    last = await files.turn("shop", ("a", "kept\n{\nreported\n}\nby a shell\nlast\n"))
    lines = dict(await files.authors("a"))
    assert [lines[text].proof for text in ("{", "reported", "}")] == [Proof.REPORT] * 3
    assert lines["reported"].turn_id == blind and lines["last"].turn_id == last
    assert (lines["by a shell"].doubt, lines["by a shell"].perhaps) == (Doubt.NOT_KEPT, (blind,))


async def test_g08_without_any_snapshot_only_reports_name_a_turn(files: WrittenFiles) -> None:
    turn = await files.turn("shop", ("ä b", "one\ntwo\n"), kept=False)
    await files.report(turn, "ä b", None, "one\n")
    assert await files.turns("ä b") == {"one": turn, "two": "unknown"}
    elsewhere = files.root.parent / "elsewhere"
    elsewhere.write_text("nobody\n")
    (block,) = (await files.blame("../elsewhere")).blocks
    assert (block.author.proof, block.author.perhaps) == (Proof.UNKNOWN, ())


async def test_g08_a_branch_that_was_left_is_marked_and_lines_that_are_gone_name_nobody(
    files: WrittenFiles,
) -> None:
    first = await files.turn("shop", ("a", "one\n"))
    left = await files.turn("shop", ("a", "one\nleft\ngone\n"))
    files.go_to("shop", "prompt1")
    third = await files.turn("shop", ("a", "one\nleft\nthird\n"))
    file = await files.blame("a")
    assert [block.author.turn_id for block in file.blocks] == [first, left, third]
    assert [file.blamed_turns[each].on_branch for each in (first, left, third)] == [True, False, True]
    assert [file.blamed_turns[each].number for each in (first, left, third)] == [1, 2, 2]
    (files / "a").write_text("one\nthird\n")
    assert await files.turns("a") == {"one": first, "third": third}


async def test_g08_files_that_no_snapshot_had_before_are_unknown(files: WrittenFiles) -> None:
    (files / ".gitignore").write_text("ignored\n")
    (files / "ignored").write_text("mine, ignored\n")
    (files / "large").write_text("mine, large\n" + "x" * 5_000_001)
    await files.turn("shop", ("other", "x\n"))
    (files / "large").write_text("mine, large\n")
    await files.turn("shop", (".gitignore", ""))
    for name in ("ignored", "large"):
        ((_, author),) = await files.authors(name)
        assert (author.proof, author.doubt) == (Proof.UNKNOWN, Doubt.UNSEEN), name
    (files / "new").write_text("since\n")
    assert await files.turns("new") == {"since": "unknown"}


async def test_g08_hostile_files_are_refused_or_read_as_they_are(files: WrittenFiles) -> None:
    raw = b"caf\xe9 \x1b[2J\r\n\xff\n"
    turn = await files.begin("shop")
    (files / "raw").write_bytes(raw)
    (files / ".mailmap").symlink_to("/dev/zero")
    (files / ".gitattributes").write_text(
        "* filter=evil diff=evil textconv=evil working-tree-encoding=UTF-16\n"
    )
    await files.end(turn)
    assert set((await files.turns("raw")).values()) == {turn}
    for name, content in (("binary", b"\0\1"), ("large", b"x" * 5_000_001), ("long", b"\n" * 100_001)):
        (files / name).write_bytes(content)
        with pytest.raises(NotBlamed):
            await files.blame(name)
    os.mkfifo(files / "pipe")
    for name in ("pipe", "missing", ".git"):
        with pytest.raises(NotBlamed):
            await files.blame(name)
    (files / "empty").touch()
    assert (await files.blame("empty")).blocks == ()
    (files / ".git/inside").write_text("x\n")
    assert await files.turns(".git/inside") == {"x": "unknown"}


async def test_g08_a_search_that_takes_too_long_leaves_the_rest_unknown_and_ends_with_its_task(
    files: WrittenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await files.turn("shop", ("a", "one\n"))
    monkeypatch.setattr(reading, "_SECONDS", 0.0)
    assert [author.doubt for _, author in await files.authors("a")] == [Doubt.TOO_LONG]
    monkeypatch.undo()
    task = asyncio.create_task(files.blame("a"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_g08_trees_that_the_repository_lost_prove_nothing(files: WrittenFiles) -> None:
    first = await files.turn("shop", ("a", "one\n"))
    await files.turn("shop", ("a", "one\ntwo\n"))
    third = await files.turn("shop", ("a", "one\ntwo\nthree\n"))
    async with files.db.write() as tx:
        await tx.run("UPDATE turn_files SET after = ? WHERE turn_id = 'turn2'", ("0" * 39 + "1",))
        await tx.run("UPDATE turn_files SET before = ? WHERE turn_id = 'turn3'", ("0" * 39 + "2",))
    lines = dict(await files.authors("a"))
    assert lines["one"].turn_id == first and lines["two"].perhaps == lines["three"].perhaps == (
        "turn2",
        third,
    )


async def test_g08_lines_that_came_back_with_a_branch_or_by_git_are_of_who_wrote_them(
    files: WrittenFiles,
) -> None:
    first = await files.turn("shop", ("a", "one\ntwo\n"))
    await files.turn("shop", ("a", "one\nthree\n"))
    (files / "a").write_text("one\ntwo\n")
    assert await files.turns("a") == {"one": first, "two": first}
    # What the person wrote behind Catena's own change is theirs, since that change is known.
    (files / "a").write_text("one\nthree\n")
    before = files.repository.capture(day=1).tree
    (files / "a").write_text("one\ntwo\n")
    after = files.repository.capture(day=1).tree
    files.clock.forward()
    at = to_milliseconds(files.clock())
    values = [
        json.dumps({"files": {"root": str(files.root), "tree": tree, "moved_at": at}})
        for tree in (before, after)
    ]
    async with files.db.write() as tx:
        await tx.run(
            "INSERT INTO journal (conversation_id, act, before, after, at) VALUES ('shop', 'rewind', ?, ?, ?)",
            (*values, at),
        )
    (files / "a").write_text("one\ntwo\nmine\n")
    found = dict(await files.authors("a"))
    assert (found["one"].turn_id, found["two"].turn_id) == (first, first)
    assert found["mine"].proof is Proof.BETWEEN


@pytest.mark.parametrize("meanwhile", ["at work", "ended, and its end is being kept"])
async def test_g08_lines_that_a_restore_brought_back_before_the_end_of_a_turn_was_kept_are_of_who_wrote_them(
    files: WrittenFiles, meanwhile: str
) -> None:
    first = await files.turn("shop", ("a", "one\ntwo\n"))
    (files / "a").unlink()
    other = await files.turn("shop", ("b", "other\n"))
    turn = await files.begin("shop")
    if meanwhile != "at work":
        (files / "b").write_text("other\nmine\n")
        await files.end(turn, kept=False)
    files.clock.forward()
    before, began = files.repository.capture(day=1).tree, files.clock()
    (files / "a").write_text("one\ntwo\n")
    after = files.repository.capture(day=1).tree
    files.clock.forward()
    async with files.db.write() as tx:
        await journal.note_files(tx, "shop", str(files.root), before, after, began)
    if meanwhile == "at work":
        (files / "b").write_text("other\nmine\n")
        await files.end(turn)
    else:
        await files.keep_end(turn)
    assert await files.turns("a") == {"one": first, "two": first}
    assert await files.turns("b") == {"other": other, "mine": turn}
