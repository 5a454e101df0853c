"""`catena show`, over rows that were put into a real store."""

from __future__ import annotations

import gc
import io
import json
import sys
from pathlib import Path

import pytest

from catena.cli.conversations.show import print_conversation
from catena_store.chains import links
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, LinkState, Message, NewMessage
from support.clients.command_line import Catena
from support.clients.listed import CONVERSATION, two_sessions
from support.storage.rows import new_conversation, say_much


def test_show_json_is_one_object_with_the_promised_parts(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    shown = catena("show", CONVERSATION, "--json")

    assert shown.status == 0
    whole = shown.json
    parts = {
        "format",
        "conversation",
        "messages",
        "turns",
        "links",
        "parked",
        "windows",
        "directories",
        "usage",
    }
    assert set(whole) == parts
    assert whole["conversation"]["id"] == CONVERSATION
    assert whole["conversation"]["title"] == "the login"
    assert set(whole["messages"][0]) == {
        "id",
        "conversation_id",
        "parent_id",
        "turn_id",
        "kind",
        "state",
        "text",
        "data",
        "link_id",
        "agent_message_id",
        "barrier",
        "depth",
        "created_at",
    }
    ids = [message["id"] for message in whole["messages"]]
    assert ids == [
        "u1",
        "th1",
        "x1",
        "x2",
        "a1",
        "old",
        "u2",
        "s2",
        "a2",
        "n2",
    ]
    assert set(whole["turns"][0]) == {
        "id",
        "conversation_id",
        "prompt_id",
        "base_link",
        "result_link",
        "window_id",
        "last_id",
        "how",
        "cause",
        "told_from",
        "told_to",
        "told",
        "told_total",
        "tools_listed",
        "tools_left_out",
        "left_out",
        "shortened",
        "masked",
        "kept",
        "whole_id",
        "prior_context",
        "stop_reason",
        "error",
        "usage",
        "cost",
        "currency",
        "model",
        "mode",
        "started_at",
        "ended_at",
        "waited",
        "surroundings",
    }
    assert set(whole["links"][0]) == {
        "id",
        "conversation_id",
        "agent",
        "profile",
        "session_id",
        "cwd",
        "cause",
        "source_id",
        "base",
        "knows",
        "reach",
        "whole",
        "state",
        "owner",
        "version",
        "cost_total",
        "ended",
        "created_at",
    }
    assert whole["windows"] == [
        {
            "id": "w",
            "workspace_id": None,
            "position": 0,
            "conversation_id": CONVERSATION,
            "leaf_id": "n2",
            "draft": "",
            "scroll": None,
            "pane": None,
            "open": False,
        }
    ]


def test_m05_every_row_of_a_turn_shows_the_link_it_travelled_on(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    whole = catena("show", CONVERSATION, "--json").json

    links = {turn["id"]: turn["result_link"] for turn in whole["turns"]}
    assert links == {"t1": "a", "t2": "b"}
    assert all(
        message["link_id"] == links[message["turn_id"]] for message in whole["messages"] if message["turn_id"]
    )


def test_links_that_carried_nothing_stand_apart_with_their_role(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    whole = catena("show", CONVERSATION, "--json").json

    assert [link["id"] for link in whole["links"]] == ["a", "b"]
    assert [(link["id"], link["role"]) for link in whole["parked"]] == [
        ("parked", "parked"),
        ("unused", "unused"),
    ]


def test_how_and_why_a_turn_s_context_travelled_can_be_read(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    first, second = catena("show", CONVERSATION, "--json").json["turns"]

    assert (first["how"], first["cause"], first["told"]) == ("fresh", None, 0)
    assert (second["how"], second["cause"]) == ("told", "rate limit at 14:02")
    assert (second["told"], second["told_total"], second["prior_context"]) == (2, 2, "Earlier: …")
    assert (second["stop_reason"], second["error"]) == ("agent_gone", "killed")


def test_show_is_the_newest_branch_as_a_person_reads_it(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    shown = catena("show", "the login")

    assert shown.status == 0
    assert shown.out == (
        "the login\n"
        f"rehearsal · /shop · {CONVERSATION}\n"
        "\n"
        "▌ Find out why.\n"
        "\n"
        "✓ Read views.py\n"
        "✗ Run pytest\n"
        "\n"
        "Because of the order.␇\n"
        "\n"
        "╌╌ rate limit at 14:02 · 2 messages replayed ╌╌\n"
        "\n"
        "▌ Now add\n"
        "▌ a test.\n"
        "\n"
        "Done\n"
        "(interrupted)\n"
        "\n"
        "! The agent stopped (killed by signal 9).\n"
    )


def test_w07_show_prints_the_beginning_of_each_change_and_the_turn_all_of_it(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    long = "".join(f"{number}\n" for number in range(1, 21))
    change = {"type": "diff", "path": "/shop/long.txt", "old": None, "new": long}
    rejected = {"type": "diff", "path": "/shop/a\x1b[2J.py", "old": "x = 1\n", "new": "x = 2\n\x1b[2Jy\n"}
    written = {"type": "diff", "path": "/shop/b", "old": "1\n", "new": "2\n", "by_client": True}
    unwritten = {"type": "diff", "path": "/shop/c", "old": "1\n", "new": "3\n"}
    empty = {"type": "diff", "path": "/shop/d", "old": None, "new": "", "by_client": True}

    async def work(tx: Writer) -> None:
        await conversations.create(tx, id=CONVERSATION, agent="rehearsal", cwd="/shop")
        above: str | None = None
        for id, kind, data in (
            ("prompt-1", Kind.USER, {}),
            ("tool-1", Kind.TOOL, {"kind": "edit", "status": "completed", "content": [change]}),
            ("tool-2", Kind.TOOL, {"kind": "edit", "status": "rejected", "content": [rejected]}),
            (
                "tool-3",
                Kind.TOOL,
                {"kind": "edit", "status": "failed", "content": [written, unwritten, empty]},
            ),
        ):
            row = NewMessage(
                id=id, conversation_id=CONVERSATION, parent_id=above, kind=kind, text="", data=data
            )
            await messages.insert(tx, row)
            above = id

    catena.write(work)
    added = [f"  +{number}\n" for number in range(1, 21)]
    head = "✓ Edit long.txt\n  --- long.txt\n  +++ long.txt\n  @@ -0,0 +1,20 @@\n"
    left = "  Note: 11 more lines; catena show conversa --turn tool-1 prints all.\n"
    assert f"{head}{''.join(added[:9])}{left}◌ Edit" in catena("show", CONVERSATION).out
    whole = catena("show", "conversa", "--turn", "tool-1").out
    assert f"{head}{''.join(added)}" in whole and "Note: " not in whole
    shown = catena("show", CONVERSATION).out
    assert "\x1b" not in shown and "  -x = 1\n" in shown and "rejected\n  Not made: a" in shown
    of_failed = shown[shown.index("--- b\n") :]
    assert "Not made" not in of_failed[: of_failed.index("+2\n")], "what was written was made"
    assert "  +2\n  Not made: c\n  --- c\n" in of_failed and "  New, empty file: d\n" in of_failed


def test_show_prints_the_name_of_a_tool_without_a_title_in_a_line_that_steers_no_terminal(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    name = "\x1b]0;owned\x07\x1b[2Jx\ny"

    async def work(tx: Writer) -> None:
        await conversations.create(tx, id=CONVERSATION, agent="rehearsal", cwd="/shop")
        above: str | None = None
        for id, kind, given in (
            ("prompt-1", Kind.USER, None),
            ("tool-1", Kind.TOOL, None),
            ("tool-2", Kind.TOOL, {"depth": "2"}),
        ):
            call = {"kind": "other", "name": name, "raw_input": given} if kind is Kind.TOOL else {}
            row = NewMessage(
                id=id, conversation_id=CONVERSATION, parent_id=above, kind=kind, text="", data=call
            )
            await messages.insert(tx, row)
            above = id

    catena.write(work)
    shown = catena("show", CONVERSATION).out
    assert not {each for each in shown if ord(each) < 0x20} - {"\n"}
    named = "␛]0;owned␇␛[2Jx ⏎ y"
    assert f"{named}\n" in shown and f"{named}: depth 2\n" in shown


def test_h10_an_id_its_beginning_and_the_title_reach_the_same_conversation(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    reached = [
        catena("show", name, "--json").json["conversation"]["id"]
        for name in (CONVERSATION, "conv", "the login")
    ]

    assert reached == [CONVERSATION] * 3


def test_an_unknown_id_and_an_ambiguous_beginning_are_one_line_and_status_2(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    async def another(tx: Writer) -> None:
        await conversations.create(tx, id="conversation0002", agent="rehearsal", cwd="/shop")

    catena.write(another)
    unknown, ambiguous = catena("show", "zzz"), catena("show", "conv")

    assert (unknown.status, unknown.out) == (2, "")
    assert unknown.err == "catena: no conversation 'zzz'\n"
    assert (ambiguous.status, ambiguous.out) == (2, "")
    assert ambiguous.err.count("\n") == 1
    assert "conversation0001, conversation0002" in ambiguous.err


def test_a_conversation_without_a_window_is_shown_to_its_newest_row(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    async def work(tx: Writer) -> None:
        await conversations.create(tx, id="c", agent="rehearsal", cwd="/shop")
        await messages.insert_many(
            tx,
            [
                NewMessage(id="u", conversation_id="c", parent_id=None, kind=Kind.USER, text="first"),
                NewMessage(id="v", conversation_id="c", parent_id=None, kind=Kind.USER, text="second"),
            ],
        )

    catena.write(work)

    assert catena("show", "c").out.splitlines()[-1] == "▌ second"


def test_a_branch_longer_than_a_page_is_shown_whole_and_in_order(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    async def work(tx: Writer) -> None:
        await conversations.create(tx, id="c", agent="rehearsal", cwd="/shop")
        rows = [
            NewMessage(
                id=f"r{number}",
                conversation_id="c",
                parent_id=f"r{number - 1}" if number else None,
                kind=Kind.USER if number % 2 == 0 else Kind.AGENT,
                text=f"row {number}",
            )
            for number in range(1_203)
        ]
        await messages.insert_many(tx, rows)

    catena.write(work)

    shown = [line.removeprefix("▌ ") for line in catena("show", "c").out.splitlines()[2:] if line]
    assert shown == [f"row {number}" for number in range(1_203)]


class Watched(io.StringIO):
    """Standard output that looks now and then how many messages are in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.most = 0

    def write(self, text: str) -> int:
        if self.writes % 250 == 0:
            self.most = max(self.most, sum(type(each) is Message for each in gc.get_objects()))
        self.writes += 1
        return super().write(text)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_conversation_is_written_while_it_is_read_and_never_held_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    catena = Catena(tmp_path)

    async def long(tx: Writer) -> None:
        await new_conversation(tx)
        await say_much(tx, 2_500)

    catena.write(long)
    monkeypatch.setenv("CATENA_DATA_DIR", str(catena.data))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(catena.config))
    written = Watched()
    monkeypatch.setattr(sys, "stdout", written)
    gc.collect()

    print_conversation("c1", json=as_json)

    assert written.getvalue().count("row number ") == (2_500 if as_json else 2_501), "the title is one"
    assert 0 < written.most <= 1_001, "some are in memory while they are written, two pages at most"


def test_the_json_of_pieces_is_that_of_one_document(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    async def empty(tx: Writer) -> None:
        await conversations.create(tx, id="empty", agent="rehearsal", cwd="/shop")

    catena.write(empty)

    for id in (CONVERSATION, "empty"):
        shown = catena("show", id, "--json").out
        assert shown == json.dumps(json.loads(shown), indent=2) + "\n"


def test_show_chain_says_of_each_link_whether_the_next_prompt_would_go_to_it(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.write(two_sessions)

    first, second, *rest = catena("show", CONVERSATION, "--chain").out.split("\n\n")

    assert "   next      could be used; another is preferred" in first
    assert "   next      would be used" in second
    assert rest[-1] == "The next prompt would go to the session s-b.\n"


def test_show_chain_says_that_the_next_prompt_would_go_to_a_new_session_and_why(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    async def lost(tx: Writer) -> None:
        await two_sessions(tx)
        await links.move(tx, "a", state=LinkState.LOST, ended="not found")
        await links.move(tx, "b", state=LinkState.SUSPECT)

    catena.write(lost)

    first, second, *rest = catena("show", CONVERSATION, "--chain").out.split("\n\n")

    assert "   next      not used: it is lost" in first
    assert "   next      not used: its content is uncertain" in second
    assert rest[-1] == "The next prompt would go to a new session.\n"
