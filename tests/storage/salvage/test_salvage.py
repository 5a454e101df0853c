"""A torn file is salvaged to a new one, message by message, and the old one kept."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import TurnEnded
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Database, Reader
from catena_store.database.salvage.salvage import LOST_NOTICE, Salvaged, salvage
from catena_store.errors import StoreBusy, StoreUnusable
from catena_store.finding import search
from catena_store.records import Kind, LinkState, MessageState
from catena_store.windows import inputs, queue, windows
from support.clients.command_line import Catena, run
from support.conversations.rehearsed import World
from support.screen.terminal import Place
from support.storage import damage
from support.storage.damage import (
    PAGE,
    copy_page,
    cut_off,
    leaves,
    overflows,
    overwrite,
    overwrite_pages,
    roots,
)
from support.storage.files import names_in
from support.storage.rows import Clock, a_turn, an_owner, link_events, new_conversation, new_link, say, store

ROWS = 120
LONG = "a long answer " * 2_000


async def filled(directory: Path) -> Path:
    """Two conversations of so many rows, a turn for each pair, a tab with a draft, and something in the queue."""
    async with store(directory) as db, db.write() as tx:
        space = await windows.ensure_workspace(tx, "/home/ada/shop", new_id=lambda: "space")
        for name in ("a", "b"):
            await new_conversation(tx, name)
            await new_link(tx, f"link-{name}", name)
            leaf = None
            for number in range(0, ROWS, 2):
                prompt, answer = f"{name}{number}", f"{name}{number + 1}"
                text = f"question {name} {number} " * 4
                await say(tx, prompt, leaf, text, conversation=name)
                turn = a_turn(f"t{prompt}", prompt, f"link-{name}", conversation_id=name)
                await turns.insert(tx, turn)
                await messages.set_turn(tx, prompt, turn.id, turn.link_id)
                long = LONG if (name, number) == ("b", 40) else f"answer {name} {number} " * 4
                await say(
                    tx,
                    answer,
                    prompt,
                    long,
                    kind=Kind.AGENT,
                    conversation=name,
                    turn_id=turn.id,
                    link_id=turn.link_id,
                )
                await turns.set_last(tx, turn.id, answer)
                leaf = answer
            await windows.open(tx, id=f"w-{name}", conversation_id=name, leaf_id=leaf, workspace_id=space.id)
            await windows.set_draft(tx, f"w-{name}", f"draft of {name}")
            await queue.add(tx, id=f"q-{name}", window_id=f"w-{name}", text=f"waiting in {name}")
        await windows.take_workspace(tx, space.id, an_owner(), is_dead=lambda _: True)
        await inputs.add(tx, "typed long ago", "/")
    return directory / "catena.db"


def salvaged(path: Path) -> Salvaged:
    saved = salvage(path, clock=Clock())
    assert saved.kept.name == "catena.db.damaged-20260301T120000Z"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return saved


def salvaged_elsewhere(path: Path) -> str:
    """What another process says that tries to salvage the file."""
    program = "import pathlib, sys, catena_store.database.salvage.salvage as s; s.salvage(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


async def texts(r: Reader, leaf: str) -> list[str]:
    return [row.text for row in await messages.page(r, leaf, 10_000)]


async def is_sound(r: Reader) -> bool:
    return (await r.all("PRAGMA integrity_check"), await r.all("PRAGMA foreign_key_check")) == ([("ok",)], [])


async def test_r18_a_torn_file_is_salvaged_message_by_message_and_the_old_one_kept(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    torn = leaves(path, "message")[2]
    overwrite_pages(path, [torn])
    before = path.stat().st_ino

    saved = salvaged(path)

    assert saved.kept.stat().st_ino == before
    assert saved.conversations == 2
    assert 0 < saved.lost < ROWS / 2
    assert saved.messages + saved.lost == 2 * ROWS
    async with store(tmp_path) as db, db.read() as r:
        assert await is_sound(r)
        branch = await messages.page(r, f"a{ROWS - 1}", 10_000)
        lost = [row for row in branch if row.text == LOST_NOTICE]
        assert len(lost) == 1 and lost[0].kind is Kind.NOTICE
        assert len(branch) == ROWS - saved.lost + 1, "the rest of the branch hangs together over the gap"
        assert [row.depth for row in branch] == list(range(len(branch)))
        assert await texts(r, f"b{ROWS - 1}") == [
            *(
                LONG if (number, odd) == (40, 1) else f"{('question', 'answer')[odd]} b {number} " * 4
                for number in range(0, ROWS, 2)
                for odd in (0, 1)
            )
        ]
        window = await windows.get(r, "w-a")
        assert window is not None and window.draft == "draft of a"
        assert [item.text for item in await queue.items(r, "w-b")] == ["waiting in b"]
        assert [text for _, text in await inputs.recent(r)] == ["typed long ago"]
        assert await search.find(r, "question b 66"), "the index was built anew"


async def test_r18_after_a_salvage_no_session_is_trusted(tmp_path: Path) -> None:
    path = await filled(tmp_path)

    salvaged(path)

    async with store(tmp_path) as db, db.write() as tx:
        for name in ("a", "b"):
            (link,) = await links.of_conversation(tx, name)
            assert link.state is LinkState.LOST and link.ended is not None and "recovered" in link.ended
            assert (await link_events(tx, name))[-1].event == "lost"
        again = await new_link(tx, "new", "a", session_id="session-link-a")
        assert again.state is LinkState.OPEN, "the session can be had anew"
        workspace = await windows.find_workspace(tx, "/home/ada/shop")
        assert workspace is not None and workspace.owner is None


@pytest.mark.parametrize("filling", [b"\0", b"\xff", b"\xa5"])
async def test_r18_a_file_without_its_beginning_is_salvaged_whole(tmp_path: Path, filling: bytes) -> None:
    path = await filled(tmp_path)
    overwrite_pages(path, [1], filling)

    saved = salvaged(path)

    assert (saved.conversations, saved.messages, saved.cut, saved.lost) == (2, 2 * ROWS, 0, 0)
    async with store(tmp_path) as db, db.read() as r:
        assert await is_sound(r)
        assert len(await messages.page(r, f"a{ROWS - 1}", 10_000)) == ROWS
        assert [window.draft for window in await windows.of_workspace(r, "space")] == [
            "draft of a",
            "draft of b",
        ]


async def test_r18_a_file_that_was_cut_off_gives_back_what_is_left(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    pages = leaves(path, "message")
    cut_off(path, pages[len(pages) // 2] * PAGE + 100)

    saved = salvaged(path)

    assert saved.conversations == 2 and saved.messages > 20 and saved.lost > 0
    async with store(tmp_path) as db, db.read() as r:
        assert await is_sound(r)
        roots_left = await r.one("SELECT count(*) FROM message WHERE parent_id IS NULL")
        assert roots_left is not None and roots_left >= (2,)


async def test_r18_the_beginning_of_a_long_message_is_saved_where_its_end_is_lost(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    overwrite_pages(path, overflows(path, "message")[3:4])

    saved = salvaged(path)

    assert (saved.messages, saved.cut, saved.lost) == (2 * ROWS, 1, 0)
    async with store(tmp_path) as db, db.read() as r:
        row = await messages.get(r, "b41")
    assert row is not None and row.state is MessageState.INTERRUPTED
    beginning, _, mark = row.text.rpartition("\n")
    assert mark == "[the rest was lost]"
    assert len(beginning) > PAGE and LONG.startswith(beginning)


async def test_p03_a_branch_whose_parent_is_lost_never_hangs_from_a_guess(tmp_path: Path) -> None:
    """Without the index that tells parents, nothing says which of two siblings a later row was below."""
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        await say(tx, "root", None, "root")
        await say(tx, "canary", "root", "canary of the other branch")
        await say(tx, "lost", "root", "this one goes " * 10)
        await say(tx, "left", "lost", "what is left")
    path = tmp_path / "catena.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA foreign_keys = OFF")
        file.execute("DELETE FROM message WHERE uid = 'lost'")
        file.commit()

    saved = salvaged(path)

    assert saved.lost == 1
    async with store(tmp_path) as db, db.read() as r:
        assert await texts(r, "left") == [LOST_NOTICE, "what is left"]


async def test_r18_what_only_the_log_holds_is_salvaged(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    log = tmp_path / "catena.db-wal"
    program = f"""
import os, sqlite3
c = sqlite3.connect({str(path)!r})
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("UPDATE message SET text = 'only in the log' WHERE uid = 'a7'")
c.commit()
c.execute("UPDATE message SET text = 'never committed' WHERE uid = 'a9'")
os._exit(0)
"""
    damage.run(program)
    assert log.stat().st_size > 0
    overwrite_pages(path, [1])

    saved = salvaged(path)

    assert saved.messages == 2 * ROWS
    assert not log.exists() and saved.kept.with_name(saved.kept.name + "-wal").exists()
    async with store(tmp_path) as db, db.read() as r:
        row = await messages.get(r, "a7")
        assert row is not None and row.text == "only in the log"


@pytest.mark.parametrize("at", ["fsync", "link", "replace"])
async def test_r18_a_salvage_that_was_killed_is_cleaned_up_by_the_next_and_loses_nothing(
    tmp_path: Path, at: str
) -> None:
    path = await filled(tmp_path)
    damage.run(f"""
import os, sqlite3
c = sqlite3.connect({str(path)!r})
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("UPDATE message SET text = 'only in the log' WHERE uid = 'a7'")
c.commit()
os._exit(0)
""")
    overwrite_pages(path, [1])
    before = path.stat().st_ino
    killed = f"""
import os, signal
from pathlib import Path
from catena_store.database.salvage.salvage import salvage
done = os.{at}
def once(*arguments, **options):
    done(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
os.{at} = once
salvage(Path({str(path)!r}))
"""
    with pytest.raises(subprocess.CalledProcessError, match="SIGKILL"):
        damage.run(killed)
    assert path.stat().st_ino == before, "it was killed before the new file was in its place"

    saved = salvaged(path)

    assert saved.messages == 2 * ROWS
    kept = saved.kept.name
    assert names_in(tmp_path) <= {"catena.db", kept, f"{kept}-wal", f"{kept}-shm"}
    async with store(tmp_path) as db, db.read() as r:
        row = await messages.get(r, "a7")
        assert row is not None and row.text == "only in the log"


async def test_r18_a_file_that_is_open_anywhere_is_not_salvaged(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    async with Database.open(path) as db:
        assert StoreBusy.__name__ in salvaged_elsewhere(path)
        async with db.write() as tx:
            await say(tx, "after", "a1", "still here", conversation="a")
    async with store(tmp_path) as db, db.read() as r:
        assert await messages.get(r, "after") is not None
    assert names_in(tmp_path) == {"catena.db"}


async def test_r18_a_page_written_to_the_wrong_place_takes_no_messages_along(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    # The list of what was typed now begins where the messages do, and so leads to all of theirs.
    copy_page(path, roots(path)["message"], roots(path)["input"])

    saved = salvaged(path)

    assert (saved.messages, saved.lost) == (2 * ROWS, 0)
    async with store(tmp_path) as db, db.read() as r:
        assert await is_sound(r)
        assert await inputs.recent(r) == []


@pytest.mark.parametrize("content", [b"", b"Dear diary, " * 1_000])
async def test_a_file_with_nothing_of_ours_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "catena.db"
    path.write_bytes(content)

    with pytest.raises(StoreUnusable, match="left unchanged"):
        salvage(path)

    assert path.read_bytes() == content
    assert names_in(tmp_path) == {"catena.db"}


async def test_r18_bytes_that_went_wrong_anywhere_leave_a_file_that_can_be_read(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    size = path.stat().st_size
    # One byte in every 700, at places that no structure of the file knows of.
    overwrite(path, *((place, 1) for place in range(350, size, 700)))

    saved = salvaged(path)

    assert saved.messages > ROWS
    async with store(tmp_path) as db, db.read() as r:
        assert await is_sound(r)
        for (conversation,) in await r.all("SELECT id FROM conversation"):
            await messages.of_conversation(r, conversation)
            await turns.of_conversation(r, conversation)
            await links.of_conversation(r, conversation)


def test_r18_the_program_says_what_is_wrong_and_the_command_that_saves_what_can_be_read(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    said = run(catena, "echo")
    assert said.status == 0
    run(catena, "--continue", "say again")
    overwrite_pages(catena.store, [roots(catena.store)["message"]])

    for command in (("run", "--agent", "rehearsal", "--continue", "hello"), ("list",)):
        refused = catena(*command)
        assert refused.status == 2
        (line,) = refused.err.splitlines()
        assert "is damaged" in line and "recover it with `catena doctor salvage`" in line

    with closing(sqlite3.connect(catena.store)) as other:
        other.execute("SELECT count(*) FROM conversation").fetchone()
        held = catena("doctor", "--salvage")
        assert held.status == 5 and "Quit all running Catenas" in held.err

    # The one page that all messages were on is gone: what is known of them is how they hung together.
    done = catena("doctor", "--salvage")
    assert (done.status, done.err) == (0, "")
    assert "the original is kept" in done.out and "Recovered 1 conversation" in done.out
    assert "Lost at least" in done.out
    assert catena("list").status == 0
    assert catena("doctor", "--salvage").out.endswith("is not damaged. Nothing was changed.\n")
    assert run(catena, "--continue", "say go on").out == "go on\n"


def test_r18_the_screen_says_what_is_wrong_and_the_command_that_saves_what_can_be_read(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Rehearsal")
        terminal.say("say kept")
        terminal.wait_for(r"  kept[\s\S]*ctrl\+o history")  # else it asks before it quits
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
    overwrite_pages(place.data / "catena.db", [roots(place.data / "catena.db")["message"]])

    with place.catena() as terminal:
        terminal.write("typed meanwhile")
        screen = " ".join(terminal.wait_for(r"catena doctor salvage").split())
        assert "│ typed meanwhile" in screen
        assert "is damaged (database disk image is malformed): recover it with `catena doctor" in screen


def test_r18_a_file_that_is_no_store_any_more_is_salvaged_by_the_command(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say kept").status == 0
    overwrite_pages(catena.store, [1], b"\0")

    refused = catena("list")
    assert refused.status == 2 and "catena doctor salvage" in refused.err
    done = catena("doctor", "--salvage")

    assert done.status == 0 and "Lost" not in done.out
    shown = catena("show", catena("list", "--json").json[0]["id"])
    assert "kept" in shown.out


def test_r18_a_backup_is_a_whole_store_of_its_own(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert run(catena, "say kept").status == 0
    copy = tmp_path / "copy" / "catena.db"
    copy.parent.mkdir()

    done = catena("doctor", "--backup", str(copy))

    assert done.status == 0 and str(copy) in done.out
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert catena("list", CATENA_DATA_DIR=str(copy.parent)).out == catena("list").out
    assert catena("doctor", "--backup", str(copy)).status == 2


async def test_r18_a_salvaged_conversation_goes_on_and_the_new_session_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say("say the canary is yellow")
    overwrite_pages(world.store, [1])
    salvage(world.store)

    async with world.client(resume=desk) as again:
        over = await again.say("echo")

    assert isinstance(over, TurnEnded) and over.turn is not None and over.turn.told == 2
    assert "canary is yellow" in "".join(world.prompts()[-1])
