"""`catena show`, over rows that were put into a real store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from catena_store.chains import links as chains
from catena_store.chains import turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import (
    Cause,
    ContextSource,
    Kind,
    LinkState,
    MessageState,
    NewMessage,
    StopReason,
    Turn,
)
from catena_store.windows import windows
from cli_client import Catena

CONVERSATION = "conversation0001"


def turn_of(id: str, prompt_id: str, link_id: str, last_id: str, how: ContextSource, **more: object) -> Turn:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    values: dict[str, object] = {
        "id": id,
        "conversation_id": CONVERSATION,
        "prompt_id": prompt_id,
        "link_id": link_id,
        "base_link_id": None,
        "window_id": "w",
        "last_id": last_id,
        "how": how,
        "cause": None,
        "told_from": None,
        "told_to": None,
        "told": 0,
        "told_total": 0,
        "tools_listed": 0,
        "left_out": 0,
        "whole_id": None,
        "prior_context": None,
        "stop_reason": None,
        "error": None,
        "usage": None,
        "cost": None,
        "currency": None,
        "model": None,
        "mode": None,
        "started_at": at,
        "ended_at": None,
    }
    return Turn(**(values | more))  # type: ignore[arg-type]


async def two_sessions(tx: Writer) -> None:
    """Two turns, the second on another session that was told the first; a parked fork, an unused link, a sibling."""

    def row(id: str, parent: str | None, kind: Kind, text: str = "", **more: object) -> NewMessage:
        return NewMessage(id=id, conversation_id=CONVERSATION, parent_id=parent, kind=kind, text=text, **more)  # type: ignore[arg-type]

    await conversations.create(tx, id=CONVERSATION, agent="rehearsal", cwd="/shop", title="the login")
    await messages.insert(tx, row("u1", None, Kind.USER, "Find out why."))

    async def link(id: str, cause: Cause = Cause.NEW, state: LinkState = LinkState.OPEN) -> None:
        await chains.add(
            tx,
            id=id,
            conversation_id=CONVERSATION,
            agent="rehearsal",
            profile="",
            session_id=f"s-{id}",
            cwd="/shop",
            cause=cause,
            state=state,
        )

    await link("a")
    await turns.insert(tx, turn_of("t1", "u1", "a", "u1", ContextSource.FRESH))
    stamp = {"turn_id": "t1", "link_id": "a"}
    await messages.insert_many(
        tx,
        [
            row("th1", "u1", Kind.THOUGHT, "hm", **stamp),
            row("x1", "th1", Kind.TOOL, data={"title": "Read views.py", "status": "completed"}, **stamp),
            row("x2", "x1", Kind.TOOL, data={"title": "Run pytest", "status": "failed"}, **stamp),
            row(
                "a1",
                "x2",
                Kind.AGENT,
                "Because of \x1b[31mthe order\x1b[0m.\x07",
                agent_message_id="m-1",
                **stamp,
            ),
        ],
    )
    await turns.set_last(tx, "t1", "a1")
    await turns.end(tx, "t1", stop_reason=StopReason.END_TURN)
    await link("parked", Cause.PARK, LinkState.PARKED)
    await link("unused")
    await chains.move(tx, "unused", state=LinkState.LOST, ended="not found")
    await messages.insert(tx, row("old", "a1", Kind.USER, "An earlier version of the prompt."))
    await messages.insert(tx, row("u2", "a1", Kind.USER, "Now add\na test."))
    await link("b")
    await turns.insert(
        tx,
        turn_of(
            "t2",
            "u2",
            "b",
            "u2",
            ContextSource.TOLD,
            base_link_id=None,
            cause="rate limit at 14:02",
            told=2,
            told_total=2,
            told_from="u1",
            told_to="a1",
            prior_context="Earlier: …",
        ),
    )
    stamp = {"turn_id": "t2", "link_id": "b"}
    await messages.insert_many(
        tx,
        [
            row("s2", "u2", Kind.SEAM, "rate limit at 14:02 · new session · told 2 of 2 messages", **stamp),
            row("a2", "s2", Kind.AGENT, "Done", state=MessageState.INTERRUPTED, **stamp),
            row("n2", "a2", Kind.NOTICE, "The agent stopped (killed by signal 9).", **stamp),
        ],
    )
    await turns.set_last(tx, "t2", "n2")
    await turns.end(tx, "t2", stop_reason=StopReason.AGENT_GONE, error="killed")
    await windows.open(tx, id="w", conversation_id=CONVERSATION, leaf_id="n2")
    await windows.close(tx, "w")


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
        "left_out",
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
        "╌╌ rate limit at 14:02 · new session · told 2 of 2 messages ╌╌\n"
        "\n"
        "▌ Now add\n"
        "▌ a test.\n"
        "\n"
        "Done\n"
        "(interrupted)\n"
        "\n"
        "! The agent stopped (killed by signal 9).\n"
    )


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
    assert unknown.err == "catena: there is no conversation 'zzz'\n"
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
