"""The store's file deleted, moved or replaced while it is open: nothing is written where nobody would find it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from catena_store.conversations import conversations
from catena_store.errors import StoreGone
from support.clients.command_line import Catena, until
from support.screen.terminal import Place
from support.storage.files import names_in
from support.storage.rows import new_conversation, store


async def test_a_file_that_is_gone_is_written_no_more_and_can_still_be_read(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
        aside = db.path.rename(db.path.with_name("aside"))
        with pytest.raises(StoreGone, match="was deleted or replaced"):
            async with db.write() as tx:
                await new_conversation(tx, "c2")
        with pytest.raises(StoreGone):
            async with db.read_concurrently():
                pass
        async with db.read() as reader:
            assert await conversations.get(reader, "c1") is not None
        aside.rename(db.path)
        async with db.write() as tx:  # it is back
            await new_conversation(tx, "c2")


async def test_a_file_in_the_place_of_another_is_left_alone(tmp_path: Path) -> None:
    async with store(tmp_path) as replaced:
        for name in names_in(tmp_path):
            (tmp_path / name).unlink()
        async with store(tmp_path) as db:
            async with db.write() as tx:
                await new_conversation(tx, "new")
            with pytest.raises(StoreGone):
                async with replaced.write() as tx:
                    await new_conversation(tx, "old")
            with pytest.raises(StoreGone):
                async with replaced.read_concurrently():
                    pass
    async with store(tmp_path) as db, db.read() as reader:
        assert [found.id for found in await conversations.page(reader)] == []
        assert await conversations.get(reader, "new") is not None
        assert await conversations.get(reader, "old") is None


def test_a_data_directory_that_is_deleted_is_told_at_once_prompts_are_held_and_nothing_is_promised(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say hello there")
        terminal.wait_for(r"  hello there[\s\S]*ctrl\+o history")
        shutil.rmtree(place.data)
        terminal.wait_for_words("was deleted or replaced")
        terminal.say("say what nobody keeps")
        terminal.wait_for_words("nothing can be saved until you restart Catena")
        terminal.wait_for("│ say what nobody keeps")
        assert "  what nobody keeps" not in terminal.text
        terminal.signal(15)
        terminal.ended()
        said = " ".join(terminal.output.rpartition(b"\x1b[?1049l")[2].decode("utf-8", "replace").split())
    assert "A draft could not be saved:" in said and "The text: say what nobody keeps" in said
    assert "--resume" not in said and "Traceback" not in said
    assert not (place.data / "catena.db").exists()


def test_a_run_whose_store_is_deleted_says_so_and_does_not_claim_to_have_answered(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    with catena.start("run", "--agent", "rehearsal", "say before; cue go-on; say after") as process:
        until(process, "before")
        shutil.rmtree(catena.data)
        cues = catena.home / ".local" / "state" / "catena" / "rehearsal" / "cues"
        cues.mkdir(parents=True)
        (cues / "go-on").touch()
        _, err = process.communicate(timeout=60)
    assert process.returncode in (1, 2)
    assert "was deleted or replaced" in err and "Traceback" not in err
