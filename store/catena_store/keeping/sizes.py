"""Sizes: what a conversation takes in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catena_store.database import rows
from catena_store.database.database import Reader

# The length of a text in bytes. `octet_length` would be shorter, and is not in every SQLite that we run on.
ROW_BYTES = "length(CAST(m.text AS BLOB)) + length(CAST(m.data AS BLOB))"
_FILES = "SELECT coalesce(sum(length(a.bytes)), 0) FROM attachment a JOIN message m ON m.id = a.message_id"


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the rows that were born in a conversation, in bytes, without indexes."""

    messages: int  # texts, and what else is known of each row
    attachments: int

    @property
    def total(self) -> int:
        return self.messages + self.attachments


async def sizes(r: Reader, conversation_ids: Sequence[str]) -> dict[str, Size]:
    """The sizes of conversations, by id; every row of them is read, so ask for those that are shown."""
    found = await r.all(
        f"SELECT value, (SELECT coalesce(sum({ROW_BYTES}), 0) FROM message m WHERE m.conversation_id = value),"
        f" ({_FILES} WHERE m.conversation_id = value) FROM json_each(?)",
        (rows.as_list(conversation_ids),),
    )
    return {id: Size(texts, files) for id, texts, files in found}
