"""Sessions of other tools as conversations of ours: what is kept, which session goes on, and each of them once."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import TurnEnded
from catena_acp.continuity.routing.prior_context import Budget
from catena_acp.conversation.adoption.adoption import Adopter, adopt_file
from catena_acp.conversation.adoption.rows import preview
from catena_acp.conversation.inspection.price import price_when_closed
from catena_acp.conversation.inspection.todos import left_open_on
from catena_acp.errors import NotAdopted
from catena_acp.transcripts.folding import claim_forks, fold, merged
from catena_acp.transcripts.session import ForeignSession, time_of
from catena_acp.transcripts.sources import read_session
from catena_store import places
from catena_store.chains import hidden_sessions, links, turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.finding import search
from catena_store.ids import new_id
from catena_store.records import Cause, ContextSource, Kind, Link, LinkState, Message, NewLink
from support.agents.model import Said, Transcript, Upstream
from support.conversations.modelled import answering, client, how
from support.conversations.rehearsed import Desk, open_window
from support.storage.rows import new_conversation, store
from support.transcripts.adopted import adopt_session
from support.transcripts.homes import (
    CLAUDE,
    CLAUDE_FORK,
    CODEX,
    CODEX_FORK,
    GEMINI,
    OPENCODE,
    PROJECT,
    QWEN,
    Home,
    said,
)


def in_a_project(tmp_path: Path) -> dict[str, ForeignSession]:
    """Sessions of every tool in a directory that is there."""
    project = tmp_path / "shop"
    project.mkdir()
    return Home(tmp_path / "home").with_all(str(project)).sessions()


def claude() -> Upstream:
    return Upstream("claude", scene=answering)


def kept(upstream: Upstream, rows: list[Message], session_id: str = CLAUDE) -> None:
    """Let the agent hold what was adopted."""
    spoken = [row for row in rows if row.kind in (Kind.USER, Kind.AGENT)]
    held = [
        Said("user" if row.kind is Kind.USER else "agent", row.text, row.agent_message_id) for row in spoken
    ]
    upstream.kept[session_id] = Transcript(held)


async def branch_of(db: Database, conversation_id: str) -> list[Message]:
    async with db.read() as reader:
        return await messages.page(reader, await places.of(reader, conversation_id), 10_000)


async def link_of(db: Database, conversation_id: str) -> Link:
    async with db.read() as reader:
        (link,) = await links.of_conversation(reader, conversation_id)
    return link


@asynccontextmanager
async def resumed(desk: Desk, session: ForeignSession) -> AsyncIterator[Desk]:
    """A window on the conversation of a session."""
    adopted = await desk.conversations.foreign.adopt(session)
    async with desk.db.read() as reader:
        leaf = await places.of(reader, adopted.conversation_id)
    window_id = await open_window(desk.db, adopted.conversation_id, leaf)
    conversation = await desk.conversations.open(adopted.conversation_id)
    opened = Desk(desk.db, desk.conversations, conversation, window_id)
    conversation.subscribe(opened.hear)
    yield opened


@pytest.mark.parametrize("session_id", [CLAUDE, CODEX, GEMINI, QWEN, OPENCODE])
async def test_h07_an_adopted_session_has_its_messages_calls_times_and_tokens(
    tmp_path: Path, session_id: str
) -> None:
    session = Home(tmp_path / "home").with_all().sessions()[session_id]
    async with store(tmp_path) as db:
        adopted = await adopt_session(db, session, new_id=new_id)
        rows = await branch_of(db, adopted.conversation_id)
        async with db.read() as reader:
            record = await conversations.get(reader, adopted.conversation_id)
            kept_turns = await turns.of_conversation(reader, adopted.conversation_id)
            found = await search.find(reader, "TOOLWRITE")
            sound = await reader.all("PRAGMA integrity_check"), await reader.all("PRAGMA foreign_key_check")
            counted = await messages.count_between(reader, None, rows[-1].id)
        assert record
        assert (record.agent, record.cwd, record.updated_at) == (session.source, PROJECT, session.updated_at)
        assert rows[0].text.startswith("imported from ")
        assert rows[0].created_at == record.created_at
        assert rows[-1].created_at <= record.updated_at
        shown = preview(read_session(session), new_id=new_id)
        assert [(row.kind, row.text, row.data) for row in shown] == [
            (row.kind, row.text, row.data) for row in rows[1:]
        ]
        assert {turn.id for turn in kept_turns} == {row.turn_id for row in rows[1:]}
        assert all(
            turn.clean and turn.model and turn.usage
            for turn in kept_turns
            if turn.prompt_id in {row.id for row in rows if not row.text.startswith("/")}
        )
        assert found[0].message_id in {row.id for row in rows}
        assert sound == ([("ok",)], [])
        spoken = sum(row.kind in (Kind.USER, Kind.AGENT) for row in rows)
        assert counted == (spoken, sum(row.kind is Kind.TOOL for row in rows))
        assert adopted.messages == spoken


async def test_h07_the_very_session_goes_on_with_the_bare_prompt(tmp_path: Path) -> None:
    upstream = claude()
    session = in_a_project(tmp_path)[CLAUDE]
    async with client(tmp_path, upstream) as desk, resumed(desk, session) as opened:
        kept(upstream, await opened.branch())
        link = await link_of(desk.db, opened.conversation.id)
        rows = await opened.branch()
        assert (link.session_id, link.cause, link.state) == (CLAUDE, Cause.IMPORT, LinkState.OPEN)
        assert (link.knows, link.reach, link.unabridged_from) == (rows[-1].id, rows[-1].id, None)
        over: TurnEnded = await opened.say("and on")
        assert how(over) is ContextSource.RESUMED
        assert upstream.prompts == [(CLAUDE, ("and on",))]
        assert upstream.count("new") == 0


async def test_a_session_that_went_on_elsewhere_is_not_taken_for_what_was_adopted(tmp_path: Path) -> None:
    upstream = claude()
    session = in_a_project(tmp_path)[CLAUDE]
    async with client(tmp_path, upstream) as desk, resumed(desk, session) as opened:
        kept(upstream, await opened.branch())
        upstream.kept[CLAUDE].content += [Said("user", "said in the other tool"), Said("agent", "indeed")]
        over = await opened.say("and on")
        assert how(over) is ContextSource.TOLD
        ((carried, blocks),) = upstream.prompts
        assert carried != CLAUDE
        assert "hello one" in blocks[0]
        assert "said in the other tool" not in "".join(blocks)


@pytest.mark.parametrize("rewound", [False, True], ids=["went on", "rewound"])
async def test_what_was_said_in_the_tool_since_is_added_when_the_session_is_resumed_again(
    tmp_path: Path, rewound: bool
) -> None:
    home = Home(tmp_path / "home")
    shop = str(tmp_path)
    before = [said(1, "user", "first", cwd=shop), said(2, "assistant", "one", cwd=shop)]
    more = [
        said(3, "user", "second", above=1 if rewound else 2, cwd=shop),
        said(4, "assistant", "two", cwd=shop),
    ]
    upstream = claude()
    home.write_claude(CLAUDE, before)
    async with client(tmp_path, upstream) as desk:
        first = await desk.conversations.foreign.adopt(home.sessions()[CLAUDE])
        window_id = await open_window(
            desk.db, first.conversation_id, (await branch_of(desk.db, first.conversation_id))[-1].id
        )
        home.write_claude(CLAUDE, [*before, *more])
        again = await desk.conversations.foreign.adopt(home.sessions()[CLAUDE])
        assert (again.conversation_id, again.new) == (first.conversation_id, False)
        rows = await branch_of(desk.db, first.conversation_id)
        link = await link_of(desk.db, first.conversation_id)
        if rewound:
            assert [row.text for row in rows[1:]] == ["first", "one"]
            return
        assert [row.text for row in rows[1:]] == ["first", "one", "second", "two"]
        assert (again.messages, link.knows, link.reach) == (2, rows[-1].id, rows[-1].id)
        third = await desk.conversations.foreign.adopt(home.sessions()[CLAUDE])
        assert third.messages == 0
        kept(upstream, rows)
        conversation = await desk.conversations.open(first.conversation_id)
        opened = Desk(desk.db, desk.conversations, conversation, window_id)
        conversation.subscribe(opened.hear)
        home.write_claude(CLAUDE, [*before, *more, said(5, "user", "third"), said(6, "assistant", "three")])
        open_here = await desk.conversations.foreign.adopt(home.sessions()[CLAUDE])
        assert open_here.messages == 0  # what is open here is not changed behind its back
        assert how(await opened.say("and on")) is ContextSource.RESUMED
        assert upstream.prompts == [(CLAUDE, ("and on",))]


@pytest.mark.parametrize(
    ("session_id", "why"), [(GEMINI, "destroy"), (CLAUDE, "could not be read")], ids=["gemini", "torn"]
)
async def test_a_link_never_claims_more_than_it_holds(tmp_path: Path, session_id: str, why: str) -> None:
    home = Home(tmp_path / "home").with_all()
    path = home.sessions()[session_id].path
    assert path
    if session_id == CLAUDE:
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:12], "\x00 torn", *lines[12:]]) + "\n")
    async with store(tmp_path) as db:
        adopted = await adopt_session(db, home.sessions()[session_id], new_id=new_id)
        link = await link_of(db, adopted.conversation_id)
    assert link.state is LinkState.LOST
    assert why in (link.ended or "")


async def test_the_floor_is_the_last_turn_that_ended_well_and_the_ceiling_all_of_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    compacted = said(3, "user", "what was said", isCompactSummary=True)
    home.write_claude(
        CLAUDE,
        [
            said(1, "user", "before"),
            said(2, "assistant", "much"),
            compacted,
            said(4, "user", "after"),
            said(5, "assistant", "little"),
            said(6, "user", "cut"),
        ],
    )
    async with store(tmp_path) as db:
        adopted = await adopt_session(db, home.sessions()[CLAUDE], new_id=new_id)
        rows = {row.text: row.id for row in await branch_of(db, adopted.conversation_id)}
        link = await link_of(db, adopted.conversation_id)
    assert (link.knows, link.reach, link.unabridged_from) == (rows["little"], rows["cut"], rows["after"])


async def test_h04_a_session_of_any_link_of_ours_is_no_row_of_its_own(tmp_path: Path) -> None:
    found = list(Home(tmp_path / "home").with_all().sessions().values())
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            for session_id, cause, state, agent in (
                (CLAUDE, Cause.NEW, LinkState.OPEN, "command:claude-agent-acp"),
                (CLAUDE_FORK, Cause.PROBE, LinkState.LOST, "claude"),
                (OPENCODE, Cause.ASIDE, LinkState.OPEN, "opencode"),
                (QWEN, Cause.PARK, LinkState.PARKED, "qwen"),
            ):
                link = NewLink(new_id(), "c1", agent, "work", session_id, PROJECT, cause, state=state)
                await links.add(tx, link)
            await hidden_sessions.hide(tx, "codex", "", CODEX)
        async with db.read() as reader:
            folded = await fold(reader, found)
            plan = await reader.all(
                "EXPLAIN QUERY PLAN SELECT 1 FROM json_each('[]') CROSS JOIN link l ON l.session_id = value"
            )
    left = {session.session_id for session in folded.foreign}
    # Nothing was said in the fork of the one that was deleted: it is as much ours as that was.
    ours = {CLAUDE, CLAUDE_FORK, OPENCODE, QWEN, CODEX, CODEX_FORK}
    assert left == {each.session_id for each in found} - ours
    assert folded.held == dict.fromkeys([CLAUDE, CLAUDE_FORK, OPENCODE, QWEN], "c1")
    assert "link_session_id" in str(plan)


async def test_h04_a_file_and_the_same_session_of_an_agent_s_list_are_one_row(tmp_path: Path) -> None:
    found = in_a_project(tmp_path)
    upstream = claude()
    upstream.kept["elsewhere"] = Transcript()
    async with client(tmp_path, upstream) as desk, resumed(desk, found[CLAUDE_FORK]) as opened:
        kept(upstream, await opened.branch(), CLAUDE_FORK)
        kept(upstream, [], CLAUDE)
        assert await desk.conversations.foreign.listed() == []  # none runs, and none is started
        await opened.say("hello")
        listed = await desk.conversations.foreign.listed()
        assert {each.session_id for each in listed} == {CLAUDE, CLAUDE_FORK, "elsewhere"}
        now = time_of("2026-11-23T18:00:00Z")
        assert now
        titled = [replace(each, title=f"listed {each.session_id}", updated_at=now) for each in listed]
        rows = merged(list(found.values()), titled)
        async with desk.db.read() as reader:
            folded = await fold(reader, rows)
    ids = [each.session_id for each in folded.foreign]
    assert len(ids) == len(set(ids))
    assert folded.held == {CLAUDE_FORK: opened.conversation.id}
    by_id = {each.session_id: each for each in folded.foreign}
    assert (by_id[CLAUDE].path, by_id[CLAUDE].title) == (found[CLAUDE].path, f"listed {CLAUDE}")
    assert by_id["elsewhere"].path is None


async def test_h07_a_session_that_only_its_agent_has_is_adopted_from_what_that_replays(
    tmp_path: Path,
) -> None:
    upstream = claude()
    upstream.kept["theirs"] = Transcript(
        [
            Said("user", "what is it", "p1"),
            Said("agent", "a kingfisher", "a1"),
            Said("user", "and that", "p2"),
            Said("user", "a third", "p3"),
            Said("agent", "both are", "a2"),
        ]
    )
    async with client(tmp_path, upstream) as desk:
        await desk.say("hello")
        listed = {each.session_id: each for each in await desk.conversations.foreign.listed()}["theirs"]
        listed = replace(listed, cwd=str(tmp_path))
        shown = preview(await desk.conversations.foreign.read(listed), new_id=new_id)
        assert [(row.kind.value, row.text) for row in shown] == [
            ("user", "what is it"),
            ("agent", "a kingfisher"),
            ("user", "and that"),
            ("user", "a third"),
            ("agent", "both are"),
        ]
        async with resumed(desk, listed) as opened:
            over = await opened.say("and on")
        assert how(over) is ContextSource.RESUMED
        assert upstream.prompts[1:] == [("theirs", ("and on",))]
        silent = replace(listed, session_id="silent")
        upstream.kept["silent"] = Transcript()
        with pytest.raises(NotAdopted, match="does not show what was said"):
            await desk.conversations.foreign.adopt(silent)


async def test_h19_resumed_twice_is_the_same_conversation_and_adopted_twice_is_two_children(
    tmp_path: Path,
) -> None:
    upstream = claude()
    session = in_a_project(tmp_path)[CLAUDE]
    async with client(tmp_path, upstream) as desk:
        first = await desk.conversations.foreign.adopt(session)
        again = await desk.conversations.foreign.adopt(session)
        assert (again.conversation_id, first.new, again.new) == (first.conversation_id, True, False)
        kept(upstream, await branch_of(desk.db, first.conversation_id))
        before = list(upstream.kept[CLAUDE].content)
        old = await desk.conversations.open(first.conversation_id)
        window_id = await open_window(desk.db, old.id, (await branch_of(desk.db, old.id))[-1].id)
        children = [
            await desk.conversations.fork(old, window_id=window_id),
            await desk.conversations.fork(old.record, window_id=None),  # as from a list
        ]
        for number, child in enumerate(children):
            branch = Desk(desk.db, desk.conversations, child.conversation, child.window.id)
            child.conversation.subscribe(branch.hear)
            over = await branch.say(f"on my own {number}")
            assert how(over) in (ContextSource.FORKED, ContextSource.CONTINUED)
        assert len({child.conversation.id for child in children} | {old.id}) == 3
        assert upstream.kept[CLAUDE].content == before
        assert all(child.conversation.record.fork_point_id for child in children)
        assert len({session_id for session_id, _ in upstream.prompts}) == 2


async def test_p11_a_fork_of_an_imported_session_is_priced_as_its_agent_does_though_it_never_ran_here(
    tmp_path: Path,
) -> None:
    sessions = Home(tmp_path / "home").with_all().sessions()
    async with store(tmp_path) as db:
        for session, adopter in (
            (sessions[CLAUDE], None),
            (sessions[CODEX], Adopter("command:codex-acp", "work")),
        ):
            adopted = await adopt_session(db, session, new_id=new_id, adopter=adopter)
            async with db.read() as reader:
                record = await conversations.get(reader, adopted.conversation_id)
                assert record
                leaf = await places.of(reader, record.id)
                price = await price_when_closed(reader, record, leaf, Budget(), apart=True)
            assert price.words == "probably same context, nothing replayed"


async def test_h16_a_file_is_imported_once_under_the_agent_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sent by a friend.txt"
    path.write_bytes((Home(tmp_path / "home").with_all().sessions()[CODEX].path or path).read_bytes())
    async with store(tmp_path) as db:
        adopted = await adopt_file(db, path, new_id=new_id, adopter=Adopter("command:codex-acp", "work"))
        async with db.write() as tx:
            await conversations.set_deleted(tx, adopted.conversation_id, True)
        again = await adopt_file(db, path, new_id=new_id)
        async with db.read() as reader:
            assert not (await conversations.marks(reader, adopted.conversation_id)).deleted
        link = await link_of(db, adopted.conversation_id)
        assert again.conversation_id == adopted.conversation_id
        assert (link.agent, link.profile, link.session_id) == ("command:codex-acp", "work", CODEX)
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "since"}]}
        with path.open("a") as file:
            file.write(json.dumps({"type": "response_item", "payload": item}) + "\n")
        assert (await adopt_file(db, path, new_id=new_id)).messages == 1
        path.write_text("[1, 2]\n")
        with pytest.raises(NotAdopted, match="not a transcript"):
            await adopt_file(db, path, new_id=new_id)


async def test_m11_the_todos_of_an_adopted_session_are_open_todos(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    todos = [{"content": "write the tests", "status": "pending"}, {"content": "read", "status": "completed"}]
    call = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}
    home.write_claude(
        CLAUDE, [said(1, "user", "plan"), said(2, "assistant", [call]), said(3, "assistant", "planned")]
    )
    async with store(tmp_path) as db:
        adopted = await adopt_session(db, home.sessions()[CLAUDE], new_id=new_id)
        leaf = (await branch_of(db, adopted.conversation_id))[-1].id
        async with db.read() as reader:
            found = await left_open_on(reader, leaf)
    assert found.plan
    assert [(entry["text"], entry["status"]) for entry in found.plan.data["entries"]] == [
        ("write the tests", "pending"),
        ("read", "completed"),
    ]


_IMPORTING = """
import asyncio, os, sys
from pathlib import Path
from catena_acp.conversation.adoption.adoption import adopt_file
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.ids import new_id

stop_at, insert_many = int(sys.argv[3]), messages.insert_many

async def killed(tx, rows):
    global stop_at
    stop_at -= 1
    if stop_at < 0:
        os.kill(os.getpid(), 9)
    return await insert_many(tx, rows)

messages.insert_many = killed

async def main():
    async with Database.open(Path(sys.argv[1])) as db:
        await adopt_file(db, Path(sys.argv[2]), new_id=new_id)

asyncio.run(main())
"""


def test_a_client_that_is_killed_while_it_adopts_leaves_nothing_behind(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    records = [
        said(number, "user" if number % 2 else "assistant", f"message {number}") for number in range(1, 1801)
    ]
    path = home.write_claude(CLAUDE, records)
    database = tmp_path / "data" / "catena.db"

    def imported(stop_at: int) -> int:
        done = subprocess.run(
            [sys.executable, "-c", _IMPORTING, str(database), str(path), str(stop_at)], check=False
        )
        return done.returncode

    def left() -> tuple[int, ...]:
        with closing(sqlite3.connect(database)) as file:
            tables = ("conversation", "message", "turn", "link", "branch_end")
            return tuple(file.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)

    for stop_at in range(4):
        assert imported(stop_at) == -9
        assert left() == (0, 0, 0, 0, 0)
    assert imported(100) == 0
    assert left() == (1, 1801, 900, 1, 1)


async def test_h04_a_fork_that_we_asked_for_is_hidden_for_ever_whatever_became_of_the_answer(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home").with_all()
    gone_on = home.claude_file(CLAUDE_FORK).read_text(encoding="utf-8")
    own = json.dumps(said(9, "user", "a prompt of the person's own", session=_ghost(4)))
    home.claude_file(_ghost(4)).write_text(
        f"{gone_on.replace(CLAUDE_FORK, _ghost(4))}{own}\n", encoding="utf-8"
    )
    copied = home.claude_file(CLAUDE).read_text(encoding="utf-8").splitlines()
    for number, told in ((1, copied), (2, copied[: len(copied) // 2]), (3, [])):
        more = [] if told else [json.dumps(said(1, "user", "a chat of the person's own"))]
        home.claude_file(_ghost(number)).write_text("\n".join([*told, *more]) + "\n", encoding="utf-8")
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await links.add(tx, NewLink(new_id(), "c1", "claude", "", CLAUDE, PROJECT, Cause.NEW))
            for made in (_ghost(1), None):
                intent = await hidden_sessions.intend_fork(tx, "claude", "", CLAUDE, PROJECT)
                if made:
                    await hidden_sessions.answer_intent(tx, intent, made)
        for number in range(1, 5):  # they are made once they are asked for
            os.utime(home.claude_file(_ghost(number)))
        found = list(home.sessions().values())
        await claim_forks(db, found)
        async with db.read() as reader:
            left = {session.session_id for session in (await fold(reader, found)).foreign}
            assert await hidden_sessions.unanswered_intents(reader) == []
    ghosts = {_ghost(1), _ghost(2), CLAUDE_FORK}  # the last one names one of ours as its source
    assert ghosts.isdisjoint(left)
    assert {_ghost(3), _ghost(4)} <= left, "what holds anything else is somebody's"


async def test_h04_a_fork_that_was_never_answered_claims_nothing_that_was_written_later(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home").with_all()
    later = home.claude_file(_ghost(1))
    later.write_bytes(home.claude_file(CLAUDE).read_bytes())
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await links.add(tx, NewLink(new_id(), "c1", "claude", "", CLAUDE, PROJECT, Cause.NEW))
            await hidden_sessions.intend_fork(tx, "claude", "", CLAUDE, PROJECT)
        an_hour_on = time.time() + 3600
        os.utime(later, (an_hour_on, an_hour_on))
        found = list(home.sessions().values())
        await claim_forks(db, found)
        async with db.read() as reader:
            assert _ghost(1) in {session.session_id for session in (await fold(reader, found)).foreign}


def _ghost(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


@pytest.mark.parametrize("copies", [True, False], ids=["a full copy", "a pointer to its source"])
async def test_h16_an_imported_fork_hangs_below_what_its_source_has_and_is_found_once(
    tmp_path: Path, copies: bool
) -> None:
    home = Home(tmp_path / "home").with_all()
    source, fork = (CLAUDE, CLAUDE_FORK) if copies else (CODEX, CODEX_FORK)
    path = home.sessions()[fork].path
    assert path is not None
    own = (
        said(900, "user", "what nobody said before", session=fork)
        if copies
        else {
            "timestamp": "2026-11-23T18:00:00.000Z",
            "ordinal": 900,
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "what nobody said before"}],
            },
        }
    )
    if copies:
        messages_of_it = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        own["parentUuid"] = [each["uuid"] for each in messages_of_it if each.get("type") == "assistant"][-1]
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(own) + "\n")
    found = home.sessions()
    assert not found[fork].only_copied
    async with store(tmp_path) as db:
        parent = await adopt_session(db, found[source], new_id=new_id)
        child = await adopt_session(db, found[fork], new_id=new_id)
        async with db.read() as reader:
            record = await conversations.get(reader, child.conversation_id)
            above = await conversations.get(reader, parent.conversation_id)
            assert record and above and record.family == above.family
            assert record.fork_point_id is not None
            hits = await search.find(reader, "hello one")
            (link,) = await links.of_conversation(reader, record.id)
            branch = await messages.page(reader, link.reach, 100)
        assert {hit.conversation_id for hit in hits} == {above.id}
        assert child.messages == 1
        whole = [row.text for row in branch if row.kind is Kind.USER]
        assert whole == [turn.prompt.text for turn in read_session(found[fork]).turns if turn.prompt]
