"""Conversations written as one document, and read back into another store."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena_acp.continuity.sessions.settings import wanted_on
from catena_store import places
from catena_store.chains import links, turns
from catena_store.clients import leases
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.errors import NotImportable
from catena_store.exchange.exporting import select_branch, select_tree, write_document
from catena_store.exchange.importing import Imported, import_document
from catena_store.exchange.outline import read_messages, read_outline
from catena_store.exchange.staging import document_members, is_document
from catena_store.finding import search
from catena_store.records import Kind, LinkState, MessageState, NewMessage
from support.storage.rows import Clock, a_turn, an_owner, new_conversation, new_link, say, say_much, store
from support.storage.trees import ACTS, Acts, Family

AT = datetime(2026, 5, 1, tzinfo=UTC)
Document = dict[str, Any]


async def exported(
    db: Database, conversation: str = "c0", *, tree: bool = True, leaf: str | None = None
) -> str:
    async with db.read() as r:
        if tree:
            selected = await select_tree(r, conversation)
        else:
            selected = await select_branch(r, conversation, leaf or await places.of(r, conversation))
        return "".join([piece async for piece in write_document(r, selected, at=AT)])


async def imported(db: Database, document: str, directory: Path) -> Imported:
    path = directory / "document.json"
    path.write_text(document, encoding="utf-8")
    return await import_document(db, path, is_dead=lambda lease: lease.owner.id == "dead")


def as_imported(document: Document) -> Document:
    """A document as its import exports it: what an import says that it changes is left out."""
    sections = json.loads(json.dumps(document))
    for link in sections["links"]:
        if link["state"] != "lost":
            link["ended"] = "imported from a file: what the session has heard since is not known"
        link["ended"] = link["ended"] or "imported from a file: what the session has heard since is not known"
        link["state"] = "lost"
    for row in sections["messages"]:
        if row["kind"] == "user":
            row["data"] = {"origin": "import"} | row["data"]
    sections["link_events"] = [each for each in sections["link_events"] if each["event"] != "imported"]
    return dict(sections)


@settings(max_examples=40, deadline=None)
@given(acts=ACTS, place=st.integers(0, 1000), tree=st.booleans())
async def test_h15_an_export_goes_back_in_with_tree_seams_and_chain_intact(
    acts: Acts, place: int, tree: bool
) -> None:
    with TemporaryDirectory() as name:
        here, there = Path(name, "here"), Path(name, "there")
        async with store(here, clock := Clock()) as db:
            family = Family(db, clock)
            await family.grow(acts)
            conversation, leaf = family.leaves[place % len(family.leaves)]
            document = await exported(db, conversation, tree=tree, leaf=leaf)
            async with db.read() as r:
                counted = await r.one("SELECT count(*) FROM message")
        async with store(there, Clock()) as db:
            done = await imported(db, document, Path(name))
            again = await exported(db, conversation, tree=tree, leaf=leaf)
            twice = await imported(db, document, Path(name))
            third = await exported(db, conversation, tree=tree, leaf=leaf)
            async with db.read() as r:
                files = await r.all("SELECT DISTINCT path FROM conversation_file")
                broken = await r.all("PRAGMA foreign_key_check")
                # The jump pointers and the ends of branches are derived from what was written.
                derived = await r.one("SELECT count(*) FROM ancestry")
                sound = await r.all("PRAGMA integrity_check")

        first = json.loads(document)
        assert json.loads(again) | {"masked": False} == as_imported(first) | {
            "link_events": json.loads(again)["link_events"]
        }
        events = [each for each in json.loads(again)["link_events"] if each["event"] != "imported"]
        assert events == first["link_events"]
        assert done.conversation_id == conversation
        assert done.added == done.messages == len(first["messages"]) == (derived or [0])[0]
        assert not tree or done.messages == (counted or [0])[0]
        assert (done.existed, twice.existed, twice.added) == (False, True, 0)
        assert third == again
        tools = {f"/shop/{row['id']}" for row in first["messages"] if row["kind"] == "tool"}
        assert {path for (path,) in files} == (tools | {"/a"} if tools else set())
        assert (broken, sound) == ([], [("ok",)])


async def test_h15_an_import_is_found_read_and_never_prompted_as_it_was(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1", title="the login", agent="claude")
            await new_link(tx, "l1", "c1", agent="claude")
            await say(tx, "u1", None, "a needle in it")
            await turns.insert(tx, a_turn("t1", "u1", "l1", mode="bypassPermissions"))
            await messages.set_turn(tx, "u1", "t1", "l1")
            await say(tx, "a1", "u1", "half an answ", kind=Kind.AGENT, state=MessageState.OPEN, turn_id="t1")
            await turns.set_last(tx, "t1", "a1")
        async with db.read() as r:
            wanted = await wanted_on(r, "a1", "w", "claude")
        assert wanted and wanted.mode == "bypassPermissions"
        document = await exported(db, "c1")
    async with store(tmp_path / "b") as db:
        done = await imported(db, document, tmp_path)
        async with db.read() as r:
            answer, turn = await messages.get(r, "a1"), await turns.get(r, "t1")
            link = await links.get(r, "l1")
            hits = await search.find(r, "needle", limit=5)
            listed = await conversations.page(r)
            restored = await wanted_on(r, "a1", "w", "claude")

    assert (done.title, done.added) == ("the login", 2)
    assert answer and answer.state is MessageState.INTERRUPTED
    assert turn and turn.stop_reason == "interrupted"
    assert link and link.state is LinkState.LOST and link.ended
    assert "imported" in link.ended
    assert restored is None, "a file from elsewhere does not say what an agent may do unasked"
    assert [hit.message_id for hit in hits] == ["u1"]
    assert [each.id for each in listed] == ["c1"]


async def test_h15_a_later_export_extends_what_is_here_and_a_session_that_went_on_elsewhere_is_lost(
    tmp_path: Path,
) -> None:
    async with store(tmp_path / "a") as db:
        family = Family(db, Clock())
        await family.grow([])
        early = await exported(db)
        await family.grow_on([("turn", 1, "later"), ("turn", 1, "and later")])
        late = await exported(db)
    async with store(tmp_path / "b") as db:
        await imported(db, early, tmp_path)
        async with db.write() as tx:
            await conversations.set_title(tx, "c0", "my own")
            await say(tx, "mine", "a6", "what I said here", conversation="c0")
            # As if the session had been opened here again.
            await tx.run("UPDATE link SET state = 'open', ended = NULL")
        done = await imported(db, late, tmp_path)
        async with db.read() as r:
            rows = {row.id: row.parent_id for row in await messages.of_conversation(r, "c0")}
            record = await conversations.get(r, "c0")
            states = {link.state for link in await links.of_conversation(r, "c0")}

    assert done.existed and not done.copied and done.added == done.messages - 4
    assert rows["mine"] == "a6"
    assert {row["id"] for row in json.loads(late)["messages"]} <= {*rows}
    assert record and record.title == "my own"
    assert states == {LinkState.LOST}


async def test_h15_a_conversation_that_a_running_client_has_gets_no_rows(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        family = Family(db, Clock())
        await family.grow([])
        early = await exported(db)
        await family.grow_on([("turn", 1, "later")])
        late = await exported(db)
    async with store(tmp_path / "b") as db:
        await imported(db, early, tmp_path)
        for owner in ("alive", "dead"):
            async with db.write() as tx:
                await leases.acquire(tx, "c0", an_owner(owner), is_dead=lambda _: True)
            again = await imported(db, early, tmp_path)
            if owner == "alive":
                with pytest.raises(NotImportable, match="is open in a running Catena"):
                    await imported(db, late, tmp_path)
        done = await imported(db, late, tmp_path)
    assert again.added == 0 and done.added > 0


async def test_h15_ids_that_are_used_here_are_replaced_once(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        await Family(db, Clock()).grow([("fork", 1, "x"), ("checkpoint", 1, "k")])
        document = await exported(db)
    async with store(tmp_path / "b") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            await say(tx, "u1", None, "another one's row", conversation="c1")
        done = await imported(db, document, tmp_path)
        twice = await imported(db, document, tmp_path)
        copy = json.loads(await exported(db, done.conversation_id))
        async with db.read() as r:
            mine = await messages.get(r, "u1")

    assert done.copied and done.conversation_id != "c0"
    assert twice.conversation_id == done.conversation_id and (twice.existed, twice.added) == (True, 0)
    first = json.loads(document)
    assert [row["text"] for row in copy["messages"]] == [row["text"] for row in first["messages"]]
    assert not {row["id"] for row in copy["messages"]} & {row["id"] for row in first["messages"]}
    assert mine and mine.text == "another one's row"


async def test_h15_a_deleted_conversation_comes_back(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await Family(db, Clock()).grow([])
        document = await exported(db)
        async with db.write() as tx:
            await conversations.set_deleted(tx, "c0", True)
        done = await imported(db, document, tmp_path)
        async with db.read() as r:
            listed = [each.id for each in await conversations.page(r)]
    assert (done.restored, done.added, listed) == (True, 0, ["c0"])


async def test_h15_what_was_removed_for_good_comes_in_anew(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        await Family(db, Clock()).grow([])
        document = await exported(db)
        async with db.write() as tx:
            await tx.run("UPDATE conversation SET deleted_at = 1, pruned_at = 1")
        done = await imported(db, document, tmp_path)
    assert done.copied and not done.restored


async def test_h15_a_command_in_a_foreign_file_is_not_what_the_next_prompt_starts(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1", agent="command:rm -rf /home/ada")
            await say(tx, "u1", None, "hello")
        document = await exported(db, "c1")
        kept = await imported(db, document, tmp_path)
    async with store(tmp_path / "b") as db:
        done = await imported(db, document, tmp_path)
        async with db.read() as r:
            record = await conversations.get(r, "c1")
    assert (kept.unknown_agents, done.unknown_agents) == ((), ("command:rm -rf /home/ada",))
    assert record and record.agent == "unknown"


async def test_h15_an_export_leaves_out_what_was_deleted_and_what_other_machines_must_not_do(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        await Family(db, Clock()).grow([("fork", 0, "gone"), ("fork", 1, "stays")])
        async with db.write() as tx:
            (gone,) = await tx.one("SELECT id FROM conversation WHERE title = 'gone'") or ("",)
            await conversations.set_deleted(tx, gone, True)
            await tx.run(
                "INSERT INTO conversation_mcp_server VALUES ('c0', 1, ?)", ('{"command": "evil", "env": []}',)
            )
        document = await exported(db)
    assert gone and f'"{gone}"' not in document
    assert "stays" in document and "evil" not in document


async def test_h15_a_deleted_source_comes_in_deleted_with_only_what_its_fork_hangs_from(
    tmp_path: Path,
) -> None:
    async with store(tmp_path / "a") as db:
        family = Family(db, Clock())
        await family.grow([("turn", 1, "a second prompt")])
        async with db.write() as tx:
            await new_conversation(tx, "fork", family="c0", fork_point_id="a6")
            await say(tx, "f1", "a6", "in the fork", conversation="fork")
            await conversations.set_deleted(tx, "c0", True)
        document = await exported(db, "fork")
    async with store(tmp_path / "b") as db:
        await imported(db, document, tmp_path)
        again = await exported(db, "fork")
        async with db.read() as r:
            listed = [each.id for each in await conversations.page(r)]
    assert "a second prompt" not in {row["text"] for row in json.loads(document)["messages"]}
    assert listed == ["fork"]
    assert json.loads(again)["conversations"] == json.loads(document)["conversations"]


async def test_h15_a_nul_in_a_text_is_exported_as_its_picture(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1", cwd="/a\nb")
            deep: Any = "end"
            for _ in range(400):
                deep = [deep]
            data = {"x\0": ["a\0b"], "nan": float("nan"), "deep": deep}
            await messages.insert(tx, NewMessage("u1", "c1", None, Kind.USER, "a\0b", data=data))
        document = await exported(db, "c1")
    async with store(tmp_path / "b") as db:
        await imported(db, document, tmp_path)
        async with db.read() as r:
            row = await messages.get(r, "u1")
    assert row and row.text == "a␀b"
    assert (row.data["x␀"], row.data["nan"]) == (["a␀b"], None)


@settings(max_examples=40, deadline=None)
@given(acts=ACTS)
async def test_h15_an_outline_has_every_message_once_below_what_it_hangs_from(acts: Acts) -> None:
    with TemporaryDirectory() as name:
        async with store(Path(name), clock := Clock()) as db:
            await Family(db, clock).grow(acts)
            async with db.read() as r:
                selected = await select_tree(r, "c0")
                outline = await read_outline(r, selected)
                rows = await read_messages(r, outline)
    assert sorted(row for passage in outline for row in passage.messages) == list(selected.messages)
    for passage, messages_of_it in zip(outline, rows, strict=True):
        first = messages_of_it[0]
        assert outline[passage.place] is passage
        assert passage.prompts == (first.kind is Kind.USER)
        assert not any(row.kind is Kind.USER for row in messages_of_it[1:])
        assert [row.parent_id for row in messages_of_it[1:]] == [row.id for row in messages_of_it[:-1]]
        if passage.above is None:
            assert first.parent_id is None
        else:
            assert passage.above < passage.place and rows[passage.above][-1].id == first.parent_id
        beside = [
            each.place
            for each, found in zip(outline, rows, strict=True)
            if found[0].parent_id == first.parent_id
        ]
        assert list(passage.versions) == beside


# --- hostile and damaged documents


def changed(section: str, at: int, **fields: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document[section][at] |= fields

    return change


def doubled(section: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document[section].append(document[section][0])

    return change


HOSTILE: Mapping[str, tuple[Callable[[Document], Any], str]] = {
    "a cycle": (changed("messages", 0, parent_id="a6"), "hangs from a6"),
    "its own parent": (changed("messages", 0, parent_id="u1"), "hangs from u1"),
    "a parent that is missing": (changed("messages", 1, parent_id="nobody"), "hangs from nobody"),
    "a local parent": (changed("messages", 0, parent_id="local"), "hangs from local"),
    "a wrong type": (changed("messages", 1, text=7), "“text” of entry 2 of “messages” is not a text"),
    "a kind of its own": (changed("messages", 1, kind="virus"), "is none of"),
    "no id": (changed("messages", 1, id=None), "has no “id”"),
    "an id with a newline": (changed("messages", 1, id="a\nb"), "is not an id"),
    "a time that is none": (changed("messages", 1, created_at="soon"), "is not a time"),
    "a time before time": (changed("messages", 1, created_at="0001-01-01T00:00:00Z"), "is not a time"),
    "data that is none": (changed("messages", 1, data=[1]), "is not an object"),
    "a message twice": (doubled("messages"), "twice"),
    "a conversation twice": (doubled("conversations"), "twice"),
    "a session twice": (doubled("links"), "twice"),
    "a turn twice": (doubled("turns"), "twice"),
    "another conversation's": (changed("messages", 0, conversation_id="local"), "not in it"),
    "a turn of nobody": (changed("messages", 1, turn_id="t9"), "not in it"),
    "a turn on a session of nobody": (changed("turns", 0, link_id="nobody"), "not in it"),
    "a turn of no prompt": (changed("turns", 0, prompt_id="nobody"), "not in it"),
    "a session that knows nobody": (changed("links", 0, knows="local"), "not in it"),
    "a session without an id": (changed("links", 0, session_id=" "), "no session id"),
    "a fork of itself": (changed("conversations", 0, fork_point_id="a6"), "comes after its first"),
    "an event of nobody": (changed("link_events", 0, link_id="nobody"), "not in it"),
    "a checkpoint of content": (changed("checkpoints", 0, data={"all": [1]}), "short facts"),
    "a file that is another": (changed("attachments", 0, bytes="aGk="), "not what its hash says"),
    "a file that is no base64": (changed("attachments", 0, bytes="?"), "is not base64"),
    "a huge number": (changed("turns", 0, told=2**70), "is not a whole number"),
    "half a character": (changed("messages", 1, text="\ud800"), "half a character"),
    "a NUL": (changed("messages", 1, text="a\0b"), "NUL"),
    "NaN": (changed("turns", 0, cost=float("nan")), "NaN is not a number"),
    "no number any more": (changed("turns", 0, cost=float("inf")), "not a number"),
    "no conversation": (lambda document: document.update(conversations=[]), "not in it"),
    "no messages": (lambda document: document.update(messages=[], links=[], turns=[]), "not in it"),
    "a newer format": (lambda document: document.update(format=2), "needs a newer one"),
    "another kind of JSON": (lambda document: document.pop("contents"), "of another kind"),
    "no format": (lambda document: document.pop("format"), "no format number"),
    "another main conversation": (lambda document: document.update(conversation_id="x"), "not in it"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_h15_a_hostile_document_is_refused_and_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    change, why = HOSTILE[name]
    async with store(tmp_path / "a") as db:
        await Family(db, Clock()).grow([("attach", 0, "x"), ("checkpoint", 0, "y")])
        document = json.loads(await exported(db))
    change(document)
    async with store(tmp_path / "b") as db:
        async with db.write() as tx:
            await new_conversation(tx, "local")
            await say(tx, "local", None, conversation="local")
        with pytest.raises(NotImportable) as refused:
            await imported(db, json.dumps(document), tmp_path)
        async with db.read() as r:
            left = [
                await r.one(f"SELECT count(*) FROM {table}") for table in ("message", "conversation", "link")
            ]
    assert why in str(refused.value)
    assert left == [(1,), (1,), (0,)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cut off"),
        ("[]", "{ is missing"),
        ('{"format": 1', "cut off"),
        ('{"format": 1, "messages": [{"id": "a"', "cut off"),
        ('{"format": 1} trailing', "after its end"),
        ('{"format": 1,\n "x": nope}', "not JSON (expecting value) (line 2)"),
        ('{"format": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"format": 1, "x": ' + '{"a":' * 300 + "1" + "}" * 300 + "}", "nested too deeply"),
        ('{"format": 1, "x": ' + "9" * 10_000 + "}", "too long"),
        ('{"format": 1, "x": 1e999}', "too large"),
        ('{"format": 1, "x": "a\nb"}', "not JSON"),
        ('{"format": true}', "no format number"),
        ('{"format": 1, "messages": 7}', "is not a list"),
        ('{"format": 1, "messages": [], "conversations": []}', "wrong place"),
    ],
)
async def test_h15_what_is_no_document_is_refused_in_words(tmp_path: Path, text: str, why: str) -> None:
    async with store(tmp_path) as db:
        with pytest.raises(NotImportable) as refused:
            await imported(db, text, tmp_path)
    assert why in str(refused.value)


async def test_h15_what_a_later_catena_adds_is_left_out_without_a_failure(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        await Family(db, Clock()).grow([])
        document = json.loads(await exported(db))
    document["weather"] = [{"id": 1}, [[]]]
    document["messages"][0]["colour"] = {"deep": ["x"]}
    async with store(tmp_path / "b") as db:
        done = await imported(db, json.dumps(document, indent=3), tmp_path)
    assert done.added == 4


@settings(max_examples=60, deadline=None)
@given(
    value=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**40), 2**40)
            | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
            lambda inner: st.lists(inner, max_size=5),
        ),
        max_size=5,
    ),
    chunk=st.integers(1, 40),
)
def test_h15_a_document_is_read_the_same_however_it_is_cut(value: Document, chunk: int) -> None:
    class Slow(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            return super().read(chunk)

    found: Document = {}
    for key, each, is_element in document_members(Slow(json.dumps(value))):
        if is_element:
            found[key].append(each)
        else:
            found[key] = [] if each is None and isinstance(value[key], list) else each
    assert found == value


async def test_h15_a_long_conversation_is_written_and_read_in_pieces(tmp_path: Path) -> None:
    async with store(tmp_path / "a") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            await say_much(tx, 5_000)
        async with db.read() as r:
            selected = await select_tree(r, "c1")
            pieces = [piece async for piece in write_document(r, selected, at=AT)]
    assert max(map(len, pieces)) < 1_000
    path = tmp_path / "document.json"
    path.write_text("".join(pieces))
    assert is_document(path)
    statements = 0
    async with store(tmp_path / "b") as db:
        done = await import_document(db, path, is_dead=lambda _: False)
        async with db.write_much() as tx:
            await tx.run("UPDATE message SET barrier = 0 WHERE id = 1")
            statements = len(tx._written_steps)
    assert done.added == 5_000
    assert statements == 0  # nothing of a long transaction is held in memory
