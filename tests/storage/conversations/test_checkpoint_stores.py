"""One suite for every store of checkpoints: the conversations' file, memory, one file each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from catena_store.conversations.checkpoints import (
    MOST_CHARACTERS,
    Checkpoint,
    CheckpointStore,
    MemoryCheckpoints,
    SqliteCheckpoints,
)
from catena_store.errors import CheckpointImmutable, LabelTaken, NotAPointer, NotFound
from support.storage.file_checkpoints import FileCheckpoints
from support.storage.rows import START, new_conversation, say_much, store

KINDS = ("sqlite", "memory", "files")


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[CheckpointStore]:
    """A store of checkpoints of this kind in a data folder, with the messages that they can point to."""
    match kind:
        case "memory":
            yield MemoryCheckpoints()
        case "files":
            yield FileCheckpoints(folder / "checkpoints")
        case _:
            async with store(folder) as db:
                async with db.write() as tx:
                    for id in ("c1", "c2"):
                        if not await tx.one("SELECT 1 FROM conversation WHERE id = ?", (id,)):
                            await new_conversation(tx, id)
                            await say_much(tx, 30, conversation=id, prefix=f"{id}m")
                yield SqliteCheckpoints(db.read, db.write)


def a_checkpoint(
    number: int, *, conversation: str = "c1", label: str | None = None, automatic: bool = True
) -> Checkpoint:
    return Checkpoint(
        id=f"{conversation}k{number}",
        conversation_id=conversation,
        message_id=f"{conversation}m{number}",
        link_id=None,
        label=label,
        automatic=automatic,
        data={"turn": f"t{number}", "agent": "rehearsal", "messages": number, "note": None},
        created_at=START + timedelta(seconds=number),
    )


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", KINDS)
async def test_k12_what_is_saved_comes_back_by_id_by_label_and_in_a_list_newest_first(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as kept:
        first = await kept.save(a_checkpoint(1))
        good = await kept.save(a_checkpoint(2, label="good", automatic=False))
        root = await kept.save(replace(a_checkpoint(3), message_id=None))
        elsewhere = await kept.save(a_checkpoint(1, conversation="c2", label="good"))

        assert await kept.get(first.id) == first == a_checkpoint(1)
        assert await kept.get("nothing") is None
        assert await kept.get_by_label("c1", "good") == good
        assert await kept.get_by_label("c2", "good") == elsewhere
        assert await kept.get_by_label("c1", "bad") is None
        assert list(await kept.list("c1")) == [root, good, first]
        assert (await kept.count("c1"), await kept.count("c2"), await kept.count("c3")) == (3, 1, 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_k12_those_of_one_moment_are_listed_in_the_order_in_which_they_were_made(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as kept:
        for number in (3, 1, 2):
            await kept.save(replace(a_checkpoint(number), created_at=START))

        assert [each.id for each in await kept.list("c1")] == ["c1k2", "c1k1", "c1k3"]


@pytest.mark.parametrize("kind", KINDS)
async def test_k07_a_checkpoint_can_be_relabelled_or_removed_and_not_altered(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as kept:
        made = await kept.save(a_checkpoint(1))

        for altered in (
            replace(made, message_id="c1m2"),
            replace(made, automatic=False),
            replace(made, data={"note": "another"}),
            replace(made, conversation_id="c2", message_id="c2m1"),
            replace(made, created_at=START),
        ):
            with pytest.raises(CheckpointImmutable):
                await kept.save(altered)
        assert await kept.get(made.id) == made

        assert await kept.save(replace(made, label="good")) == replace(made, label="good")
        assert await kept.get(made.id) == replace(made, label="good")
        await kept.save(made)
        assert await kept.get_by_label("c1", "good") is None

        assert await kept.remove(made.id)
        assert not await kept.remove(made.id)
        assert await kept.get(made.id) is None


@pytest.mark.parametrize("kind", KINDS)
async def test_k02_a_label_names_one_checkpoint_of_a_conversation(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as kept:
        await kept.save(a_checkpoint(1, label="good"))
        other = await kept.save(a_checkpoint(2))

        with pytest.raises(LabelTaken, match="good"):
            await kept.save(replace(other, label="good"))
        with pytest.raises(LabelTaken):
            await kept.save(a_checkpoint(3, label="good"))
        assert [each.label for each in await kept.list("c1")] == [None, "good"]


@pytest.mark.parametrize("kind", KINDS)
async def test_k06_the_oldest_automatic_ones_go_and_those_with_a_label_or_made_by_hand_stay(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as kept:
        await kept.save(a_checkpoint(1, label="good"))
        await kept.save(a_checkpoint(2, automatic=False))
        for number in range(3, 9):
            await kept.save(a_checkpoint(number))
        await kept.save(a_checkpoint(1, conversation="c2"))

        gone = await kept.remove_oldest("c1", 4)

        assert [each.id for each in gone] == ["c1k4", "c1k3"]
        assert [each.id for each in await kept.list("c1")] == ["c1k8", "c1k7", "c1k6", "c1k5", "c1k2", "c1k1"]
        assert not await kept.remove_oldest("c1", 4)
        assert await kept.count("c2") == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_k12_clearing_takes_every_one_of_a_conversation_and_none_of_another(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as kept:
        await kept.save(a_checkpoint(1, label="good"))
        await kept.save(a_checkpoint(2))
        other = await kept.save(a_checkpoint(1, conversation="c2"))

        assert [each.id for each in await kept.clear("c1")] == ["c1k2", "c1k1"]

        assert (list(await kept.list("c1")), list(await kept.list("c2"))) == ([], [other])


@pytest.mark.parametrize("kind", KINDS)
async def test_k12_a_checkpoint_holds_pointers_and_no_content(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as kept:
        for content in (
            {"text": "x" * (MOST_CHARACTERS + 1)},
            {"rows": ["a"]},
            {"row": {"text": "a"}},
            {"raw": b"a"},
        ):
            with pytest.raises(NotAPointer):
                await kept.save(replace(a_checkpoint(1), data=content))  # type: ignore[arg-type]

        assert await kept.count("c1") == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_k12_two_data_folders_never_see_each_others_checkpoints(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path / "one") as here, opened(kind, tmp_path / "two") as there:
        await here.save(a_checkpoint(1, label="good"))

        assert await there.count("c1") == 0
        assert await there.get("c1k1") is None
        assert await there.get_by_label("c1", "good") is None
        assert not await there.remove("c1k1")
        await there.save(a_checkpoint(1, label="good"))
        assert await there.clear("c1")
        assert await here.count("c1") == 1


@pytest.mark.parametrize("kind", ["sqlite", "files"])
async def test_k12_checkpoints_outlive_the_process(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as kept:
        made = await kept.save(a_checkpoint(1, label="good"))

    async with opened(kind, tmp_path) as kept:
        assert await kept.get_by_label("c1", "good") == made


async def test_k12_the_file_refuses_a_checkpoint_of_a_message_that_is_not_there(tmp_path: Path) -> None:
    async with opened("sqlite", tmp_path) as kept:
        with pytest.raises(NotFound):
            await kept.save(replace(a_checkpoint(1), message_id="gone"))

        assert await kept.count("c1") == 0


async def test_k12_a_file_is_written_whole_for_us_alone_and_a_damaged_one_is_passed_over(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "checkpoints"
    kept = FileCheckpoints(folder)
    made = await kept.save(a_checkpoint(1))
    torn = await kept.save(a_checkpoint(2))
    (folder / "c1" / f"{torn.id}.json").write_text('{"id": "c1k2", "conv')
    (folder / "c1" / "notes.json").write_text(json.dumps(["somebody's"]))
    (folder / "c1" / ".left.part").write_text("{")

    assert list(await kept.list("c1")) == [made]
    assert (folder / "c1" / f"{made.id}.json").stat().st_mode & 0o777 == 0o600

    strange = replace(a_checkpoint(3), id="../../out", conversation_id="..")
    await kept.save(strange)
    assert await kept.get("../../out") == strange
    assert names_in(tmp_path) == ["checkpoints"]
    assert await kept.clear("..") == [strange]
