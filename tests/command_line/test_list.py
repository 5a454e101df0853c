"""`catena list`, over rows that were put into a real store."""

from __future__ import annotations

import os
from pathlib import Path

from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, NewMessage
from support.clients.command_line import Catena
from support.clients.listed import said


def test_list_is_a_json_list_newest_first_with_id_and_title(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "older", "fix the login")
    said(catena, "newer", "write the docs", title="docs")

    listed = catena("list", "--json")

    assert listed.status == 0
    assert [(each["id"], each["title"]) for each in listed.json] == [("newer", "docs"), ("older", None)]
    assert set(listed.json[0]) == {
        "id",
        "title",
        "agent",
        "cwd",
        "messages",
        "preview",
        "created_at",
        "updated_at",
        "state",
        "pinned",
        "last_prompt",
        "branches",
        "todos",
        "git_branch",
        "opened_at",
    }
    assert listed.json[1]["preview"] == "fix the login"
    assert listed.json[1]["messages"] == 1
    assert listed.json[1]["created_at"].endswith("Z")


def test_list_shows_one_line_for_each_conversation_with_its_whole_id(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "aaaa", "first\nsecond line")
    said(catena, "bbbb", "x", title="a title")

    lines = catena("list").out.splitlines()

    assert [line.split()[0] for line in lines] == ["bbbb", "aaaa"]
    assert lines[0].endswith("a title")
    assert lines[1].endswith("first")


def test_list_calls_an_agent_by_its_title_of_the_settings_and_keeps_its_stored_name_in_json(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    settings = Path(catena.environment["CATENA_CONFIG_DIR"]) / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[agents.night]\nagent = "rehearsal"\nprofile = "work"\ntitle = "夜勤"\n')
    said(catena, "aaaa", "x")
    said(catena, "bbbb", "x", profile="work")

    of_work, own = catena("list").out.splitlines()

    assert "  夜勤       1  x" in of_work and "rehearsal" not in of_work
    assert "  rehearsal  1  x" in own and "夜勤" not in own
    assert [each["agent"] for each in catena("list", "--json").json] == ["rehearsal", "rehearsal"]
    settings.write_text("this is no TOML")
    assert catena("list").status == 0, "what only reads the store needs no settings"


def test_list_of_a_directory_holds_only_that_directory_s(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "here", "x", cwd=os.path.realpath(catena.project))
    said(catena, "there", "x", cwd="/elsewhere")

    assert [each["id"] for each in catena("list", "--json", "--cwd").json] == ["here"]
    assert [each["id"] for each in catena("list", "--json", "--cwd", str(catena.project)).json] == ["here"]
    assert len(catena("list", "--json").json) == 2


def test_list_goes_as_far_as_it_was_told(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    async def work(tx: Writer) -> None:
        for number in range(450):
            id = f"c{number:03}"
            await conversations.create(tx, id=id, agent="rehearsal", cwd="/shop")
            await messages.insert(
                tx, NewMessage(id=f"{id}-u", conversation_id=id, parent_id=None, kind=Kind.USER, text="x")
            )

    catena.write(work)

    assert len(catena("list", "--json").json) == 50
    assert len(catena("list", "--json", "--limit", "3").json) == 3
    everything = [each["id"] for each in catena("list", "--json", "--limit", "0").json]
    assert everything == sorted({f"c{number:03}" for number in range(450)}, reverse=True)


def test_w27_control_sequences_in_a_title_do_not_reach_the_terminal(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "evil", "x", title="\x1b]0;owned\x07\x9b31m\u202eeltit")

    plain, as_json = catena("list"), catena("list", "--json")

    assert not set(plain.out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert as_json.out.isascii()
    assert as_json.json[0]["title"] == "\x1b]0;owned\x07\x9b31m\u202eeltit"


def test_list_of_a_new_store_is_empty_and_no_error(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    assert catena("list").out == ""
    assert catena("list", "--json").json == []
    assert catena.store.exists()


def test_a_reader_that_goes_away_ends_the_list_without_a_word(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "only", "x" * 200)

    process = catena.start("list", "--json")
    assert process.stdout and process.stderr
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == ""
    assert process.wait(timeout=60) == 0
