"""Reading of the document into the store: in one transaction, a page of rows at a time.

Nothing in the file is trusted: each row is checked, and hangs only from rows of the same document. Sessions come back
as lost ones, for the store knows nothing of what they heard since.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final

from catena_store import places
from catena_store.chains.links import IMPORTED
from catena_store.clients import leases
from catena_store.conversations import messages
from catena_store.conversations.checkpoints import MOST_CHARACTERS
from catena_store.database.database import Database, Writer
from catena_store.database.rows import as_json
from catena_store.errors import NotImportable
from catena_store.exchange.staging import digest, stage, staged_pages
from catena_store.records import Kind, Lease, LinkState, MessageState, PromptOrigin, StopReason

LOST_WHY: Final = "imported from a file: what the session has heard since is not known"
COMMAND: Final = "command:"  # how the name of an agent begins that is any command
UNKNOWN_AGENT: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    conversation_id: str  # the conversation that was exported, by its id here
    title: str | None
    conversations: tuple[str, ...]  # every conversation of the document, by its id here
    messages: int  # in the document
    added: int  # that were not here
    existed: bool  # the conversation was here already
    copied: bool  # its ids were used here by another one, so that it has new ones
    restored: bool  # it was deleted here
    unknown_agents: tuple[str, ...]  # commands that no conversation here uses: another agent has to be chosen


class _Taken(Exception):
    """An id of the document belongs to something else here."""


async def import_document(db: Database, path: Path, *, is_dead: Callable[[Lease], bool]) -> Imported:
    """Import the document of a file; nothing is stored where that fails.

    Rows that are here stay as they are, and those that are not are added below them, so that importing twice adds
    nothing. A conversation whose lease has an owner that is not dead gets no rows. Raises NotImportable, OSError, and
    what `Database.write_much` raises.
    """
    # Checked before the transaction, which keeps other clients from writing.
    with TemporaryFile() as staged:
        head = await asyncio.to_thread(stage, path, staged)
        try:
            return await _attempt(db, head, staged, "", is_dead)
        except _Taken:
            salt = await asyncio.to_thread(digest, path)
        try:
            return await _attempt(db, head, staged, salt, is_dead)
        except _Taken as taken:
            raise NotImportable(f"{taken}, and so is the new id for it") from taken


async def _attempt(
    db: Database, head: Mapping[str, Any], staged: BinaryIO, salt: str, is_dead: Callable[[Lease], bool]
) -> Imported:
    async with db.write_much() as tx:
        return await _Import(tx, salt, is_dead, head).run(staged_pages(staged))


@dataclass(slots=True)
class _Conversation:
    """A conversation of the document."""

    id: str  # here
    new: bool
    fork_point: str | None
    leaf: str | None
    updated_at: int
    added: int = 0  # messages
    sequence: int = 0  # of its last link, once there was one


@dataclass(slots=True)
class _Import:
    """One import. The table ``exchange`` maps the ids of the document to those here, for as long as it takes."""

    tx: Writer
    salt: str  # of new ids; empty where the document's are kept
    is_dead: Callable[[Lease], bool]
    head: Mapping[str, Any]
    family: str | None = None
    conversations: dict[str, _Conversation] = field(default_factory=dict)
    messages: int = 0
    added: int = 0
    restored: bool = False
    unknown_agents: dict[str, None] = field(default_factory=dict)

    async def run(self, pages: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> Imported:
        await self.tx.run(
            "CREATE TEMP TABLE exchange (kind TEXT, id TEXT, here TEXT, number INTEGER, added INTEGER,"
            " PRIMARY KEY (kind, id)) WITHOUT ROWID"
        )
        for key, page in pages:
            await self._write(key, page)
        if not self.messages:
            raise NotImportable("there is no message in it")
        await self._finish()
        await self.tx.run("DROP TABLE exchange")
        main = self.conversations.get(self.head["conversation_id"])
        if main is None:
            raise NotImportable("its conversation is not in it")
        title = await self.tx.one("SELECT title FROM conversation WHERE id = ?", (main.id,))
        return Imported(
            conversation_id=main.id,
            title=title[0] if title else None,
            conversations=tuple(each.id for each in self.conversations.values()),
            messages=self.messages,
            added=self.added,
            existed=not main.new,
            copied=bool(self.salt),
            restored=self.restored,
            unknown_agents=tuple(self.unknown_agents),
        )

    async def _write(self, key: str, page: Sequence[Mapping[str, Any]]) -> None:
        match key:
            case "conversations":
                for row in page:
                    await self._conversation(row)
            case "messages":
                await self._messages(page)
            case "links":
                await self._links(page)
            case "link_events":
                await self._link_events(page)
            case "turns":
                await self._turns(page)
            case "surroundings":
                await self._surroundings(page)
            case "attachments":
                await self._attachments(page)
            case "checkpoints":
                for row in page:
                    await self._checkpoint(row)
            case _:
                raise AssertionError(key)

    # --- ids

    def _here(self, kind: str, id: str) -> str:
        """The id that something of the document has here."""
        if not self.salt:
            return id
        derived = hashlib.sha256(f"{self.salt} {kind} {id}".encode()).digest()
        return base64.b32encode(derived[:10]).decode("ascii").lower()

    async def _known(self, kind: str, ids: Sequence[str | None]) -> dict[str, tuple[str, int]]:
        """Id and row number here of those that came already."""
        wanted = sorted({id for id in ids if id is not None})
        found = await self.tx.all(
            "SELECT x.id, x.here, x.number FROM json_each(?) CROSS JOIN exchange x ON x.kind = ? AND x.id = value",
            (json.dumps(wanted), kind),
        )
        return {id: (here, number) for id, here, number in found}

    async def _note(self, kind: str, rows: Sequence[tuple[str, str, int, bool]]) -> None:
        ids = [id for id, *_ in rows]
        twice = await self._known(kind, ids)
        if twice or len({*ids}) < len(ids):
            doubled = next(iter(twice), None) or next(id for id in ids if ids.count(id) > 1)
            raise NotImportable(f"{kind} {doubled} is in it twice")
        await self.tx.run_many(
            "INSERT INTO exchange (kind, id, here, number, added) VALUES (?, ?, ?, ?, ?)",
            [(kind, *row) for row in rows],
        )

    async def _rows(
        self, page: Sequence[Mapping[str, Any]], names: Sequence[str]
    ) -> dict[str | None, int | None]:
        """The row numbers of the messages that some rows of a page point at. Raises NotImportable."""
        known = await self._known("message", [row[name] for row in page for name in names])
        for row in page:
            for name in names:
                if row[name] is not None and row[name] not in known:
                    raise NotImportable(
                        f"“{name}” of {row['id']} points at message {row[name]}, which is not in it"
                    )
        return {None: None, **{id: number for id, (_, number) in known.items()}}

    def _conversation_of(self, what: str, id: str) -> _Conversation:
        if id not in self.conversations:
            raise NotImportable(f"{what} belongs to conversation {id}, which is not in it")
        return self.conversations[id]

    async def _insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows that have the same columns."""
        if rows:
            columns, places = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
            values = [tuple(row.values()) for row in rows]
            await self.tx.run_many(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)

    async def _existing(self, table: str, columns: str, ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Columns of the rows of a table that are here already, by id."""
        found = await self.tx.all(
            f"SELECT t.id, {columns} FROM json_each(?) CROSS JOIN {table} t ON t.id = value",
            (json.dumps(ids),),
        )
        return {id: tuple(rest) for id, *rest in found}

    # --- sections

    async def _conversation(self, row: Mapping[str, Any]) -> None:
        id, here = row["id"], self._here("conversation", row["id"])
        if id in self.conversations:
            raise NotImportable(f"conversation {id} is in it twice")
        self.family = self.family or row["family"]
        if row["family"] != self.family:
            raise NotImportable("its conversations are of different families")
        family = self._here("conversation", row["family"])
        found = await self.tx.one(
            "SELECT family, deleted_at, pruned_at FROM conversation WHERE id = ?", (here,)
        )
        self.conversations[id] = _Conversation(
            here, found is None, row["fork_point_id"], row["leaf_id"], row["updated_at"]
        )
        if found is not None:
            if found[0] != family or found[2] is not None:  # what is removed for good does not come back
                raise _Taken(f"the id of conversation {id} is used here")
            if found[1] is not None and not row["deleted"]:
                self.restored = True
                await self.tx.run("UPDATE conversation SET deleted_at = NULL WHERE id = ?", (here,))
            return
        await self._insert(
            "conversation",
            [
                {
                    "id": here,
                    "family": family,
                    "title": row["title"],
                    "agent": await self._agent(row["agent"]),
                    "profile": row["profile"],
                    "cwd": row["cwd"],
                    "pinned": row["pinned"],
                    "archived": row["archived"],
                    "deleted_at": self.tx.now() if row["deleted"] else None,
                    "created_at": row["created_at"],
                    "updated_at": row["updated_at"],
                }
            ],
        )

    async def _agent(self, name: str) -> str:
        """The agent of the next prompt: a command of a foreign file is not to be started by opening it."""
        if not name.startswith(COMMAND) or await self.tx.one(
            "SELECT 1 FROM conversation WHERE agent = ?", (name,)
        ):
            return name
        self.unknown_agents[name] = None
        return UNKNOWN_AGENT

    async def _messages(self, page: Sequence[Mapping[str, Any]]) -> None:
        self.messages += len(page)
        last = await self.tx.one("SELECT coalesce(max(id), 0) FROM message")
        assert last is not None
        first_free = number = last[0] + 1
        parents = await self._parents(page)
        here = [self._here("message", row["id"]) for row in page]
        existing = await self._existing_messages(here)
        noted: list[tuple[str, str, int, bool]] = []
        values: list[tuple[object, ...]] = []
        for row, uid in zip(page, here, strict=True):
            what = f"message {row['id']}"
            conversation = self._conversation_of(what, row["conversation_id"])
            parent, depth = parents.get(row["parent_id"], (0, 0))
            if not parent and row["parent_id"] is not None:
                raise NotImportable(f"{what} hangs from {row['parent_id']}, which does not come before it")
            above = parent or None
            if uid in existing:
                at, own_depth, *known = existing[uid]
                if known != [conversation.id, above, row["kind"]]:
                    raise _Taken(f"the id of {what} is used here")
                noted.append((row["id"], uid, at, False))
                parents[row["id"]] = at, own_depth + 1
                continue
            noted.append((row["id"], uid, number, True))
            parents[row["id"]] = number, depth + 1
            values.append(self._message(row, number, uid, conversation.id, above, depth))
            conversation.added += 1
            number += 1
        await self._note("message", noted)
        await self.tx.run_many(
            "INSERT INTO message (id, uid, conversation_id, parent_id, turn_id, kind, state, link_id,"
            " agent_message_id, barrier, depth, created_at, text, data)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        tools = any(row["kind"] == Kind.TOOL for row in page)
        await messages.index_from(self.tx, first_free, tools=tools)
        self.added += len(values)

    def _message(
        self, row: Mapping[str, Any], number: int, uid: str, conversation: str, above: int | None, depth: int
    ) -> tuple[object, ...]:
        # It was being written when it was exported, and nobody will go on with it here.
        state = MessageState.INTERRUPTED if row["state"] == MessageState.OPEN else row["state"]
        turn = None if row["turn_id"] is None else self._here("turn", row["turn_id"])
        link = None if row["link_id"] is None else self._here("link", row["link_id"])
        data = _imported(row["data"]) if row["kind"] == Kind.USER else row["data"]
        said = (row["agent_message_id"], row["barrier"], depth, row["created_at"], row["text"], data)
        return (number, uid, conversation, above, turn, row["kind"], state, link, *said)

    async def _parents(self, page: Sequence[Mapping[str, Any]]) -> dict[str | None, tuple[int, int]]:
        """Row number and depth below it, of the parents of a page that came before it."""
        wanted = sorted({row["parent_id"] for row in page if row["parent_id"] is not None})
        found = await self.tx.all(
            "SELECT x.id, m.id, m.depth + 1 FROM json_each(?)"
            " CROSS JOIN exchange x ON x.kind = 'message' AND x.id = value CROSS JOIN message m ON m.id = x.number",
            (json.dumps(wanted),),
        )
        return {id: (number, depth) for id, number, depth in found}

    async def _existing_messages(self, uids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        found = await self.tx.all(
            "SELECT m.uid, m.id, m.depth, m.conversation_id, m.parent_id, m.kind FROM json_each(?)"
            " CROSS JOIN message m ON m.uid = value",
            (json.dumps(uids),),
        )
        return {uid: tuple(rest) for uid, *rest in found}

    async def _links(self, page: Sequence[Mapping[str, Any]]) -> None:
        pointers = ("base", "knows", "reach", "whole")
        numbers = await self._rows(page, pointers)
        sources = {
            id: here
            for id, (here, _) in (await self._known("link", [row["source_id"] for row in page])).items()
        }
        ids = [self._here("link", row["id"]) for row in page]
        existing = await self._existing("link", "t.conversation_id, t.agent, t.session_id, t.version", ids)
        await self._note(
            "link", [(row["id"], here, 0, here not in existing) for row, here in zip(page, ids, strict=True)]
        )
        new: list[dict[str, object]] = []
        behind: list[str] = []
        for row, here in zip(page, ids, strict=True):
            what = f"session {row['id']}"
            conversation = self._conversation_of(what, row["conversation_id"])
            if row["source_id"] is not None and row["source_id"] not in sources:
                raise NotImportable(
                    f"{what} was forked from {row['source_id']}, which does not come before it"
                )
            sources[row["id"]] = here
            if here in existing:
                *known, version = existing[here]
                if known != [conversation.id, row["agent"], row["session_id"]]:
                    raise _Taken(f"the id of {what} is used here")
                behind += [here] if row["version"] > version else []
                continue
            if not row["session_id"].strip():
                raise NotImportable(f"{what} has no session id")
            values = {name: value for name, value in row.items() if name not in pointers}
            values |= {name: numbers[row[name]] for name in pointers}
            values |= {"id": here, "conversation_id": conversation.id, "state": LinkState.LOST}
            values |= {"source_id": None if row["source_id"] is None else sources[row["source_id"]]}
            values |= {"ended": LOST_WHY if row["ended"] is None else row["ended"]}
            new.append(values | {"sequence": await self._next_sequence(conversation)})
        await self._insert("link", new)
        await self._lose(behind)

    async def _next_sequence(self, conversation: _Conversation) -> int:
        if not conversation.sequence:
            found = await self.tx.one(
                "SELECT coalesce(max(sequence), 0) FROM link WHERE conversation_id = ?", (conversation.id,)
            )
            conversation.sequence = found[0] if found else 0
        conversation.sequence += 1
        return conversation.sequence

    async def _lose(self, links: Sequence[str]) -> None:
        """Mark links that were here as lost: elsewhere their sessions heard what is not known here."""
        found = await self.tx.all(
            "SELECT l.id, l.conversation_id FROM json_each(?) CROSS JOIN link l ON l.id = value"
            " WHERE l.state <> 'lost'",
            (json.dumps(links),),
        )
        for id, _ in found:
            await self.tx.run(
                "UPDATE link SET state = 'lost', owner = NULL, version = version + 1, ended = ? WHERE id = ?",
                (LOST_WHY, id),
            )
        now = self.tx.now()
        await self._insert(
            "link_event", [_event(conversation, id, "lost", LOST_WHY, now) for id, conversation in found]
        )

    async def _link_events(self, page: Sequence[Mapping[str, Any]]) -> None:
        found = await self.tx.all(
            "SELECT x.id, x.here, x.added, l.conversation_id FROM json_each(?)"
            " CROSS JOIN exchange x ON x.kind = 'link' AND x.id = value CROSS JOIN link l ON l.id = x.here",
            (json.dumps([row["link_id"] for row in page]),),
        )
        known = {id: rest for id, *rest in found}
        new: list[dict[str, object]] = []
        for row in page:
            if row["link_id"] not in known:
                raise NotImportable(f"an event is of session {row['link_id']}, which is not in it")
            here, added, conversation = known[row["link_id"]]
            if added:
                new.append(_event(conversation, here, row["event"], row["detail"], row["at"]))
        await self._insert("link_event", new)

    async def _turns(self, page: Sequence[Mapping[str, Any]]) -> None:
        pointers = ("prompt_id", "last_id", "told_from", "told_to", "whole_id")
        numbers = await self._rows(page, pointers)
        links = await self._known(
            "link", [link for row in page for link in (row["link_id"], row["base_link_id"])]
        )
        ids = [self._here("turn", row["id"]) for row in page]
        existing = await self._existing("turn", "t.conversation_id, t.prompt_id", ids)
        await self._note(
            "turn", [(row["id"], here, 0, here not in existing) for row, here in zip(page, ids, strict=True)]
        )
        new: list[dict[str, Any]] = []
        for row, here in zip(page, ids, strict=True):
            what = f"turn {row['id']}"
            conversation = self._conversation_of(what, row["conversation_id"])
            for link in (row["link_id"], row["base_link_id"]):
                if link is not None and link not in links:
                    raise NotImportable(f"{what} is of session {link}, which is not in it")
            if here in existing:
                if existing[here] != (conversation.id, numbers[row["prompt_id"]]):
                    raise _Taken(f"the id of {what} is used here")
                continue
            values = {**row, **{name: numbers[row[name]] for name in pointers}}
            base = row["base_link_id"]
            values |= {"id": here, "conversation_id": conversation.id, "link_id": links[row["link_id"]][0]}
            values |= {"base_link_id": None if base is None else links[base][0]}
            if row["stop_reason"] is None:
                values |= {
                    "stop_reason": StopReason.INTERRUPTED,
                    "ended_at": row["ended_at"] or row["started_at"],
                }
            new.append(values)
        await self._lose(sorted({values["link_id"] for values in new}))
        await self._insert("turn", new)

    async def _surroundings(self, page: Sequence[Mapping[str, Any]]) -> None:
        turns = await self._added("turn", [row["turn_id"] for row in page])
        new = [{**row, "turn_id": turns[row["turn_id"]][0]} for row in page if row["turn_id"] in turns]
        here = [values["turn_id"] for values in new]
        twice = await self.tx.one(
            "SELECT turn_id FROM turn_surroundings WHERE turn_id IN (SELECT value FROM json_each(?))",
            (json.dumps(here),),
        )
        if twice is not None or len({*here}) < len(here):
            raise NotImportable("the surroundings of a turn are in it twice")
        await self._insert("turn_surroundings", new)

    async def _added(self, kind: str, ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Those of the document's that this import added. Raises NotImportable for one that it does not have."""
        found = await self.tx.all(
            "SELECT x.id, x.here, x.number, x.added FROM json_each(?) CROSS JOIN exchange x"
            " ON x.kind = ? AND x.id = value",
            (json.dumps(sorted({*ids})), kind),
        )
        missing = {*ids} - {id for id, *_ in found}
        if missing:
            raise NotImportable(f"{kind} {min(missing)} is pointed at, and is not in it")
        return {id: (here, number) for id, here, number, added in found if added}

    async def _attachments(self, page: Sequence[Mapping[str, Any]]) -> None:
        added = await self._added("message", [row["message_id"] for row in page])
        for row in page:
            if hashlib.sha256(row["bytes"]).hexdigest() != row["sha256"]:
                raise NotImportable(f"attachment {row['name']} is not what its hash says")
        await self._insert(
            "attachment",
            [
                {**row, "message_id": added[row["message_id"]][1]}
                for row in page
                if row["message_id"] in added
            ],
        )

    async def _checkpoint(self, row: Mapping[str, Any]) -> None:
        id, here, what = row["id"], self._here("checkpoint", row["id"]), f"checkpoint {row['id']}"
        conversation = self._conversation_of(what, row["conversation_id"])
        message = (await self._rows([row], ["message_id"]))[row["message_id"]]
        link = await self._known("link", [row["link_id"]])
        if row["link_id"] is not None and not link:
            raise NotImportable(f"{what} is of session {row['link_id']}, which is not in it")
        for name, value in json.loads(row["data"]).items():
            if not isinstance(value, str | int | float | bool | None) or len(str(value)) > MOST_CHARACTERS:
                raise NotImportable(f"{what} holds more than pointers and short facts (“{name}”)")
        found = await self.tx.one("SELECT conversation_id FROM checkpoint WHERE id = ?", (here,))
        await self._note("checkpoint", [(id, here, 0, found is None)])
        if found is not None:
            if found[0] != conversation.id:
                raise _Taken(f"the id of {what} is used here")
            return
        taken = await self.tx.one(
            "SELECT 1 FROM checkpoint WHERE conversation_id = ? AND label = ?",
            (conversation.id, row["label"]),
        )
        values = {**row, "id": here, "conversation_id": conversation.id, "message_id": message}
        values["link_id"] = next((known for known, _ in link.values()), None)
        await self._insert("checkpoint", [values | ({"label": None} if taken else {})])

    # --- the end

    async def _finish(self) -> None:
        dangling = await self.tx.one(
            "SELECT m.uid FROM exchange x CROSS JOIN message m ON m.id = x.number"
            " WHERE x.kind = 'message' AND x.added AND ("
            "  m.turn_id IS NOT NULL AND m.turn_id NOT IN (SELECT here FROM exchange WHERE kind = 'turn')"
            "  OR m.link_id IS NOT NULL AND m.link_id NOT IN (SELECT here FROM exchange WHERE kind = 'link'))"
            " LIMIT 1"
        )
        if dangling is not None:
            raise NotImportable(f"message {dangling[0]} is of a turn or a session that is not in it")
        await self.tx.run(
            "INSERT INTO link_event (conversation_id, link_id, event, detail, at)"
            " SELECT l.conversation_id, l.id, ?, NULL, ? FROM exchange x CROSS JOIN link l ON l.id = x.here"
            " WHERE x.kind = 'link' AND x.added ORDER BY l.rowid",
            (IMPORTED, self.tx.now()),
        )
        for id, conversation in self.conversations.items():
            await self._place(id, conversation)

    async def _place(self, id: str, conversation: _Conversation) -> None:
        """Set the fork point, the time and the leaf of a conversation whose messages are all here."""
        what = f"conversation {id}"
        pointers = {"id": what, "fork_point_id": conversation.fork_point, "leaf_id": conversation.leaf}
        numbers = await self._rows([pointers], ["fork_point_id", "leaf_id"])
        point, leaf = numbers[conversation.fork_point], numbers[conversation.leaf]
        if not conversation.new:
            if conversation.added:
                lease = await leases.get(self.tx, conversation.id)
                if lease is not None and not self.is_dead(lease):
                    raise NotImportable(f"{what} is open in a running Catena: close its tab first")
                await self.tx.run(
                    "UPDATE conversation SET updated_at = max(updated_at, ?) WHERE id = ?",
                    (conversation.updated_at, conversation.id),
                )
            return
        if point is not None:
            # It comes before all that hangs from it, so that conversations cannot be forks of each other in a circle.
            first = await self.tx.one(
                "SELECT min(id) FROM message WHERE conversation_id = ?", (conversation.id,)
            )
            if first is not None and first[0] is not None and first[0] <= point:
                raise NotImportable(f"the fork point of {what} comes after its first message")
            await self.tx.run(
                "UPDATE conversation SET fork_point_id = ? WHERE id = ?", (point, conversation.id)
            )
        wanted = await self.tx.one("SELECT uid FROM message WHERE id = ?", (leaf,))
        if wanted is not None:
            await places.move(self.tx, conversation.id, wanted[0])


def _event(conversation: str, link: str, event: str, detail: str | None, at: int) -> dict[str, object]:
    return {"conversation_id": conversation, "link_id": link, "event": event, "detail": detail, "at": at}


def _imported(data: str) -> str:
    """The data of a prompt, which says that a file had it."""
    return as_json({"origin": PromptOrigin.IMPORT} | json.loads(data))
