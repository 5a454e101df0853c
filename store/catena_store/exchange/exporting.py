"""Writing of the document: what belongs to a branch or to a family of conversations, a page at a time."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from catena_store import ancestry, places
from catena_store.conversations import conversations
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.exchange.document import (
    ATTACHMENTS,
    CHECKPOINTS,
    CONTENTS,
    CONVERSATIONS,
    FORMAT,
    LINK_EVENTS,
    LINKS,
    MESSAGES,
    SURROUNDINGS,
    TURNS,
    Rewriter,
    Row,
    sound,
    time_text,
)
from catena_store.ids import to_milliseconds

_PAGE = 200  # rows that are read at a time
_POINTERS = frozenset(
    {
        "fork_point_id",
        "leaf_id",
        "base",
        "knows",
        "reach",
        "whole",
        "prompt_id",
        "last_id",
        "told_from",
        "told_to",
        "whole_id",
        "message_id",
    }
)


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """What an export contains: messages by row number, in order of birth, and what refers to them."""

    conversation_id: str
    leaf_id: str | None
    tree: bool
    messages: array[int]
    conversations: Sequence[str]
    links: Collection[str]
    turns: array[int]
    leaf_number: int | None = None

    @property
    def leaf_row(self) -> int | None:
        """The row number of the leaf, if it is selected."""
        return self.leaf_number if self.leaf_number is not None and self.holds(self.leaf_number) else None

    def holds(self, row: int) -> bool:
        """True for the row number of a message that the export contains."""
        at = bisect_left(self.messages, row)
        return at < len(self.messages) and self.messages[at] == row


async def select_branch(r: Reader, conversation_id: str, leaf_id: str | None) -> ExportSelection:
    """Select the branch that ends with a message, what it inherits from a source included. Raises NotFound."""
    found = await r.all(
        "WITH RECURSIVE branch (id, parent_id) AS ("
        " SELECT id, parent_id FROM message WHERE uid = ? UNION ALL"
        " SELECT m.id, m.parent_id FROM branch b CROSS JOIN message m ON m.id = b.parent_id)"
        " SELECT id FROM branch",
        (leaf_id,),
    )
    if leaf_id is not None and not found:
        raise NotFound("message", leaf_id)
    rows = array("q", sorted(id for (id,) in found))
    return await _selection(r, conversation_id, leaf_id, rows, tree=False)


async def select_tree(r: Reader, conversation_id: str) -> ExportSelection:
    """Select every branch of a conversation, of its source and of their forks. Raises NotFound.

    Of a deleted conversation only what the others hang from is selected.
    """
    conversation = await conversations.get(r, conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    found = await r.all(
        "WITH kept (id, fork_point_id) AS (SELECT id, fork_point_id FROM conversation"
        "  WHERE family = ?1 AND pruned_at IS NULL AND (deleted_at IS NULL OR id = ?2)),"
        " inherited (id, parent_id) AS ("
        " SELECT m.id, m.parent_id FROM kept CROSS JOIN message m ON m.id = kept.fork_point_id"
        "  WHERE m.conversation_id NOT IN (SELECT id FROM kept) UNION"
        " SELECT m.id, m.parent_id FROM inherited i CROSS JOIN message m ON m.id = i.parent_id)"
        " SELECT id FROM inherited UNION"
        " SELECT m.id FROM kept CROSS JOIN message m ON m.conversation_id = kept.id",
        (conversation.family, conversation_id),
    )
    rows = array("q", sorted(id for (id,) in found))
    leaf = await places.of(r, conversation_id)
    return await _selection(r, conversation_id, leaf, rows, tree=True)


async def _selection(
    r: Reader, conversation_id: str, leaf_id: str | None, rows: array[int], *, tree: bool
) -> ExportSelection:
    selected = ExportSelection(conversation_id, leaf_id, tree, rows, (), (), array("q"))
    born_in: set[str] = {conversation_id}
    for page in _pages(rows):
        found = await r.all(
            "SELECT DISTINCT m.conversation_id FROM json_each(?) CROSS JOIN message m ON m.id = value",
            (page,),
        )
        born_in |= {id for (id,) in found}
    carried = [
        (turn, link, base)
        for turn, prompt, link, base in await r.all(
            "SELECT t.rowid, t.prompt_id, t.link_id, t.base_link_id FROM json_each(?)"
            " CROSS JOIN turn t ON t.conversation_id = value ORDER BY t.rowid",
            (json.dumps(sorted(born_in)),),
        )
        if selected.holds(prompt)
    ]
    links = {link for _, link, _ in carried}
    if tree:
        kept = await r.all(
            "SELECT l.id FROM json_each(?) CROSS JOIN link l ON l.conversation_id = value",
            (json.dumps(sorted(born_in)),),
        )
        links |= {id for (id,) in kept}
    sources = await r.all(
        "WITH RECURSIVE source (id) AS (SELECT value FROM json_each(?1) UNION"
        " SELECT l.source_id FROM source s CROSS JOIN link l ON l.id = s.id WHERE l.source_id IS NOT NULL)"
        " SELECT l.id, l.conversation_id FROM source s CROSS JOIN link l ON l.id = s.id",
        (json.dumps(sorted(links | {base for *_, base in carried if base})),),
    )
    used = {conversation for id, conversation in sources if id in links}
    known = born_in | used
    ordered = await r.all(
        "SELECT c.id FROM json_each(?) CROSS JOIN conversation c ON c.id = value ORDER BY c.rowid",
        (json.dumps(sorted(known)),),
    )
    leaf = await r.one("SELECT id FROM message WHERE uid = ?", (leaf_id,))
    return ExportSelection(
        conversation_id,
        leaf_id,
        tree,
        rows,
        tuple(id for (id,) in ordered),
        frozenset(id for id, conversation in sources if conversation in known),
        array("q", (turn for turn, *_ in carried)),
        None if leaf is None else int(leaf[0]),
    )


async def write_document(
    r: Reader, selected: ExportSelection, *, at: datetime, rewriter: Rewriter | None = None
) -> AsyncIterator[str]:
    """Yield the document of a selection in pieces, in ASCII, with one row a line; ``at`` is the time of the export."""
    yield "{\n" + f'"format": {FORMAT}'
    head = {
        "contents": CONTENTS,
        "exported_at": time_text(to_milliseconds(at)),
        "conversation_id": selected.conversation_id,
        "leaf_id": selected.leaf_id,
        "tree": selected.tree,
        "masked": rewriter is not None,
    }
    for name, value in head.items():
        yield f",\n{json.dumps(name)}: {json.dumps(value)}"
    written = _Written(r, selected, rewriter)
    for name, section in (
        ("conversations", written.conversations()),
        ("messages", written.messages()),
        ("links", written.links()),
        ("link_events", written.link_events()),
        ("turns", written.turns()),
        ("surroundings", written.surroundings()),
        ("attachments", written.attachments()),
        ("checkpoints", written.checkpoints()),
    ):
        yield f",\n{json.dumps(name)}: ["
        between = "\n"
        async for row in section:
            yield between + json.dumps(row)
            between = ",\n"
        yield "\n]"
    yield "\n}\n"


def _pages(rows: Sequence[Any]) -> list[str]:
    return [json.dumps(list(rows[at : at + _PAGE])) for at in range(0, len(rows), _PAGE)]


@dataclass(slots=True)
class _Written:
    """The sections of one document as elements."""

    r: Reader
    selected: ExportSelection
    rewriter: Rewriter | None
    # New hash and size, by the old hash.
    masked_files: dict[str, tuple[str, int]] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)  # of messages, by row number: those looked up last

    async def conversations(self) -> AsyncIterator[dict[str, Any]]:
        gone = "c.deleted_at IS NOT NULL OR c.pruned_at IS NOT NULL"
        columns = _columns(CONVERSATIONS, "c", without=("leaf_id",), deleted=gone)
        for id in self.selected.conversations:
            for values in await self.r.all(f"SELECT {columns} FROM conversation c WHERE c.id = ?", (id,)):
                row = dict(zip((name for name in CONVERSATIONS if name != "leaf_id"), values, strict=True))
                row["leaf_id"] = await self._leaf(id)
                row["deleted"] = row["deleted"] and id != self.selected.conversation_id
                yield await self._element(CONVERSATIONS, {n: row[n] for n in CONVERSATIONS}, "the title")

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        above = "(SELECT p.uid FROM message p WHERE p.id = m.parent_id)"
        columns = _columns(MESSAGES, "m", id="m.uid", parent_id=above)
        sql = (
            f"SELECT t.prompt_id, {columns} FROM json_each(?) CROSS JOIN message m ON m.id = value"
            " LEFT JOIN turn t ON t.id = m.turn_id ORDER BY m.id"
        )
        for page in _pages(self.selected.messages):
            for prompt, *values in await self.r.all(sql, (page,)):
                row = dict(zip(MESSAGES, values, strict=True))
                if prompt is None or not self.selected.holds(prompt):
                    row["turn_id"] = None
                if row["link_id"] not in self.selected.links:
                    row["link_id"] = None
                if self.rewriter is not None and '"attachments"' in row["data"]:
                    await self._mask_files(row["id"])
                element = await self._element(MESSAGES, row, f"message {row['id']}")
                self._correct_files(element["data"])
                yield element

    async def links(self) -> AsyncIterator[dict[str, Any]]:
        sql = f"SELECT {_columns(LINKS, 'l')} FROM json_each(?) CROSS JOIN link l ON l.rowid = value ORDER BY l.rowid"
        for page in await self._link_pages():
            found = await self.r.all(sql, (page,))
            await self._look_up(LINKS, found)
            for values in found:
                row = dict(zip(LINKS, values, strict=True))
                if row["source_id"] not in self.selected.links:
                    row["source_id"] = None
                yield await self._element(LINKS, row, f"session {row['id']}")

    async def link_events(self) -> AsyncIterator[dict[str, Any]]:
        sql = (
            f"SELECT {_columns(LINK_EVENTS, 'e')} FROM json_each(?) CROSS JOIN link l ON l.rowid = value"
            " CROSS JOIN link_event e ON e.link_id = l.id ORDER BY l.rowid, e.id"
        )
        for page in await self._link_pages():
            for values in await self.r.all(sql, (page,)):
                row = dict(zip(LINK_EVENTS, values, strict=True))
                yield await self._element(LINK_EVENTS, row, f"session {row['link_id']}")

    async def _link_pages(self) -> list[str]:
        found = await self.r.all(
            "SELECT l.rowid FROM json_each(?) CROSS JOIN link l ON l.id = value ORDER BY l.rowid",
            (json.dumps(sorted(self.selected.links)),),
        )
        return _pages([row for (row,) in found])

    async def turns(self) -> AsyncIterator[dict[str, Any]]:
        columns = _columns(TURNS, "t")
        sql = f"SELECT {columns} FROM json_each(?) CROSS JOIN turn t ON t.rowid = value ORDER BY t.rowid"
        for page in _pages(self.selected.turns):
            found = await self.r.all(sql, (page,))
            await self._look_up(TURNS, found)
            for values in found:
                row = dict(zip(TURNS, values, strict=True))
                if row["base_link_id"] not in self.selected.links:
                    row["base_link_id"] = None
                yield await self._element(TURNS, row, f"turn {row['id']}")

    async def surroundings(self) -> AsyncIterator[dict[str, Any]]:
        sql = (
            f"SELECT {_columns(SURROUNDINGS, 's')} FROM json_each(?) CROSS JOIN turn t ON t.rowid = value"
            " CROSS JOIN turn_surroundings s ON s.turn_id = t.id ORDER BY t.rowid"
        )
        for page in _pages(self.selected.turns):
            for values in await self.r.all(sql, (page,)):
                row = dict(zip(SURROUNDINGS, values, strict=True))
                yield await self._element(SURROUNDINGS, row, f"turn {row['turn_id']}")

    async def attachments(self) -> AsyncIterator[dict[str, Any]]:
        for page in _pages(self.selected.messages):
            kept = await self.r.all(
                "SELECT a.id FROM json_each(?) CROSS JOIN attachment a ON a.message_id = value ORDER BY a.message_id,"
                " a.position",
                (page,),
            )
            for (id,) in kept:  # one at a time: each may have megabytes
                for values in await self.r.all(
                    f"SELECT {_columns(ATTACHMENTS, 'a')} FROM attachment a WHERE a.id = ?", (id,)
                ):
                    row = dict(zip(ATTACHMENTS, values, strict=True))
                    row["bytes"] = self._masked_bytes(row["bytes"], row["name"])
                    row["sha256"] = hashlib.sha256(row["bytes"]).hexdigest()
                    yield await self._element(ATTACHMENTS, row, f"attachment {row['name']}")

    async def checkpoints(self) -> AsyncIterator[dict[str, Any]]:
        columns = _columns(CHECKPOINTS, "k")
        for conversation in self.selected.conversations:
            found = await self.r.all(
                f"SELECT {columns} FROM checkpoint k WHERE k.conversation_id = ? ORDER BY k.rowid",
                (conversation,),
            )
            for values in found:
                row = dict(zip(CHECKPOINTS, values, strict=True))
                if row["message_id"] is not None and not self.selected.holds(row["message_id"]):
                    continue
                if row["link_id"] not in self.selected.links:
                    row["link_id"] = None
                yield await self._element(CHECKPOINTS, row, f"checkpoint {row['id']}")

    async def _element(self, fields: Row, row: Mapping[str, Any], where: str) -> dict[str, Any]:
        if self.rewriter is not None:
            self.rewriter.begin(where)
        element: dict[str, Any] = {}
        for name, value in row.items():
            if name in _POINTERS:
                element[name] = await self._pointer(value)
                continue
            shown = fields[name].show(value)
            element[name] = sound(shown, self._rewritten if fields[name].spoken else _without_nul, name)
        return element

    def _rewritten(self, text: str, name: str) -> str:
        return _without_nul(text if self.rewriter is None else self.rewriter.rewrite(text, name), name)

    async def _look_up(self, fields: Row, found: Sequence[Sequence[Any]]) -> None:
        """Read the ids of the messages that some rows point at, at once."""
        places = [at for at, name in enumerate(fields) if name in _POINTERS]
        wanted = {row[at] for row in found for at in places if row[at] is not None}
        self.ids = dict(
            await self.r.all(
                "SELECT m.id, m.uid FROM json_each(?) CROSS JOIN message m ON m.id = value",
                (json.dumps(sorted(row for row in wanted if self.selected.holds(row))),),
            )
        )

    async def _pointer(self, row: int | None) -> str | None:
        """The id of a message, or of the nearest one above it that the export contains."""
        if row is None or row in self.ids:
            return None if row is None else self.ids[row]
        found = await self.r.one("SELECT uid FROM message WHERE id = ?", (row,))
        if found is None or self.selected.holds(row):
            return None if found is None else str(found[0])
        if not self.selected.tree and self.selected.leaf_id is not None:
            return await ancestry.meeting(self.r, str(found[0]), self.selected.leaf_id)
        above = await self.r.all(
            "WITH RECURSIVE up (id, parent_id) AS (SELECT id, parent_id FROM message WHERE id = ? UNION ALL"
            " SELECT m.id, m.parent_id FROM up CROSS JOIN message m ON m.id = up.parent_id) SELECT id FROM up",
            (row,),
        )
        nearest = next((id for (id,) in above if self.selected.holds(id)), None)
        return await self._pointer(nearest)

    async def _leaf(self, conversation: str) -> int | None:
        """The row number of the leaf to go on from; on a branch, of the last row that the export has of it."""
        if self.selected.tree:
            leaf = await places.of(self.r, conversation)
            found = await self.r.one("SELECT id FROM message WHERE uid = ?", (leaf,))
            return None if found is None else int(found[0])
        if conversation == self.selected.conversation_id:
            return self.selected.messages[-1] if self.selected.messages else None
        for page in reversed(_pages(self.selected.messages)):
            newest = await self.r.one(
                "SELECT max(m.id) FROM json_each(?) CROSS JOIN message m ON m.id = value WHERE m.conversation_id = ?",
                (page, conversation),
            )
            if newest is not None and newest[0] is not None:
                return int(newest[0])
        return None

    async def _mask_files(self, message_id: str) -> None:
        """Note the new hashes and sizes of a message's files that have something to mask."""
        found = await self.r.all(
            "SELECT a.sha256, a.name, a.bytes FROM message m CROSS JOIN attachment a ON a.message_id = m.id"
            " WHERE m.uid = ?",
            (message_id,),
        )
        for sha256, name, content in found:
            masked = self._masked_bytes(content, name)
            if masked != content:
                self.masked_files[sha256] = hashlib.sha256(masked).hexdigest(), len(masked)

    def _correct_files(self, data: Mapping[str, Any]) -> None:
        files = data.get("attachments")
        for each in files if isinstance(files, list) else ():
            if isinstance(each, dict) and (masked := self.masked_files.get(str(each.get("sha256")))):
                each["sha256"], each["size"] = masked

    def _masked_bytes(self, content: bytes, name: str) -> bytes:
        """A file with its text masked; one that is no text stays as it is."""
        if self.rewriter is None or b"\0" in content:
            return content
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return content
        self.rewriter.begin(f"attachment {name}")
        masked = self.rewriter.rewrite(text)
        return content if masked == text else masked.encode("utf-8")


def _columns(fields: Row, table: str, *, without: Collection[str] = (), **others: str) -> str:
    return ", ".join(others.get(name, f"{table}.{name}") for name in fields if name not in without)


def _without_nul(text: str, _: str) -> str:
    return text.replace("\0", "\u2400") if "\0" in text else text
