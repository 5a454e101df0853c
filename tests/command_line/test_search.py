"""`catena search`, over rows that were put into a real store."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, NewMessage
from support.clients.command_line import Catena
from support.clients.listed import said
from support.clients.on_terminal import on_terminal


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    """Three conversations: one called login, one with the word in an answer on another branch, and one without."""
    catena = Catena(tmp_path)
    said(catena, "titled", "What is wrong?", title="The login form")
    said(catena, "spoken", "Look at the shop.", cwd="/elsewhere")
    said(catena, "other", "Write docs.")

    async def answer(tx: Writer) -> None:
        def row(id: str, parent: str, kind: Kind, text: str) -> NewMessage:
            return NewMessage(id=id, conversation_id="spoken", parent_id=parent, kind=kind, text=text)

        await messages.insert(
            tx, row("a1", "spoken-u", Kind.AGENT, "It was the log\x1b[31min\x07 of the shop:\nlogins fail.")
        )
        await messages.insert(tx, row("u2", "a1", Kind.USER, "Mend it."))
        await messages.insert(tx, row("u3", "a1", Kind.USER, "Leave it."))
        await messages.insert(tx, row("a3", "u3", Kind.AGENT, f"{'hay ' * 9}and the needle."))

    catena.write(answer)
    return catena


def test_c03_search_prints_titles_before_messages_and_why_as_json(catena: Catena) -> None:
    found = catena("search", "LOG", "--json")
    assert found.status == 0
    titled, spoken = found.json
    assert set(titled) == {"conversation", "title", "message", "kind", "snippet", "at", "agent", "cwd"}
    assert (titled["conversation"], titled["message"], titled["kind"]) == ("titled", None, "title")
    assert titled["snippet"] == titled["title"] == "The login form"
    assert (spoken["conversation"], spoken["message"], spoken["kind"]) == ("spoken", "a1", "agent")
    assert spoken["snippet"] == "It was the log\x1b[31min\x07 of the shop: logins fail."
    assert spoken["at"].endswith("Z")
    assert (spoken["agent"], spoken["cwd"]) == ("rehearsal", "/elsewhere")


def test_c03_search_prints_two_lines_each_that_no_terminal_obeys(catena: Catena) -> None:
    lines = catena("search", "log").out.splitlines()
    assert [line.split()[0] for line in lines] == ["titled", "spoken", "It"]
    assert lines[0].endswith("  rehearsal  The login form · /shop")
    assert lines[2].strip() == "It was the login␇ of the shop: logins fail."
    (first, second) = catena("search", "needle").out.splitlines()
    assert first.split()[0] == "spoken"
    assert second.strip() == f"version 2 of 2 · …{'hay ' * 7}and the needle."


def test_c03_search_can_give_the_best_alone_so_many_or_those_of_a_directory(catena: Catena) -> None:
    assert [each["conversation"] for each in catena("search", "log", "-1", "--json").json] == ["titled"]
    assert len(catena("search", "log", "--limit", "1", "--json").json) == 1
    assert len(catena("search", "log", "--limit", "0", "--json").json) == 2
    here = catena("search", "log", "--cwd", str(catena.project))
    assert (here.status, here.out) == (1, "")
    assert "nothing found for “log”" in here.err

    async def move(tx: Writer) -> None:
        await tx.run("UPDATE conversation SET cwd = ? WHERE id = 'spoken'", (str(catena.project),))

    catena.write(move)
    assert [each["conversation"] for each in catena("search", "log", "--cwd", "--json").json] == ["spoken"]


def test_c03_search_says_that_nothing_was_found_and_what_it_ignored(catena: Catena) -> None:
    nothing = catena("search", "nowhere", "--json")
    assert (nothing.status, nothing.json, nothing.err) == (1, [], "catena: nothing found for “nowhere”\n")
    ignored = catena("search", "log", "before:nowhen")
    assert ignored.status == 0
    assert ignored.err.startswith("catena: before:nowhen is ignored: “nowhen” is not a date")
    assert catena("search").status == 2


def test_c03_search_takes_filters_and_leaves_out_what_was_deleted(catena: Catena) -> None:
    def found(*words: str) -> list[str]:
        return [each["conversation"] for each in catena("search", *words, "--json").json]

    async def change(tx: Writer) -> None:
        await conversations.set_archived(tx, "titled", True)
        await conversations.set_deleted(tx, "other", True)

    catena.write(change)
    assert found("log") == ["spoken", "titled"]
    assert found("log", "archived") == ["titled"]
    assert found("dir:elsewhere") == ["spoken"]
    assert found("docs") == []


@pytest.mark.parametrize("columns", [40, 80])
def test_c03_search_fits_the_terminal_and_prints_what_it_found_in_bold(catena: Catena, columns: int) -> None:
    catena.environment["COLUMNS"] = str(columns)
    catena.environment["TERM"] = "xterm"
    with on_terminal(catena, "search", "log") as terminal:
        terminal.wait_for("of the shop")
        assert terminal.status() == 0
        seen = terminal.seen
    assert "The \x1b[1mlog\x1b[22min form" in seen
    assert "the \x1b[1mlog" in seen
    plain = seen.replace("\x1b[1m", "").replace("\x1b[22m", "")
    assert "\x1b" not in plain
    assert all(len(line) <= columns for line in plain.splitlines())


def test_c03_search_shows_what_it_found_where_the_line_is_too_short_for_what_is_before_it(
    catena: Catena,
) -> None:
    catena.environment["COLUMNS"] = "40"
    with on_terminal(catena, "search", "needle") as terminal:
        terminal.wait_for("\x1b[1mneedle")
        assert terminal.status() == 0
