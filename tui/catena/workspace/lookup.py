"""Which conversation `--continue` and `--resume` mean."""

from __future__ import annotations

from catena.errors import CommandRefused
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.workspace.directories import is_directory, moved_directories
from catena_store import places
from catena_store.chains import environments, turns
from catena_store.conversations import conversations
from catena_store.database.database import Database, Reader, default_path
from catena_store.records import ConversationRecord

DELETED = "It was deleted already."
_LOOKED_AT = 200  # directories, the most recently used ones


def restore_words(directory: str) -> str:
    """How a conversation of a directory is restored from outside of Catena, as a sentence."""
    return f"To restore it, start Catena in {safe_line(from_home(directory))} and type /undo."


async def find_conversation(reader: Reader, *, directory: str, named: str | None) -> ConversationRecord:
    """The conversation of that id, unique beginning of an id, or title; the newest of the directory if none is named.

    Without one there, it is the newest of a directory that is gone, if git says that it is this one now.

    Raises NotFound, Ambiguous, and CommandRefused for a deleted one, in which nothing is to be said.
    """
    if named is not None:
        found = await conversations.find(reader, named)
        if (await conversations.marks(reader, found.id)).deleted:
            raise CommandRefused(f"{DELETED} {restore_words(found.cwd)}")
        return found
    newest = await conversations.latest(reader, cwd=directory) or await _moved_here(reader, directory)
    if newest is None:
        raise CommandRefused(f"no conversations in {directory}; `catena list` shows all")
    return newest


async def _moved_here(reader: Reader, directory: str) -> ConversationRecord | None:
    """The newest conversation of a directory that was moved here."""
    known = await conversations.directories_in_use(reader)
    for gone in [each for each in known[:_LOOKED_AT] if not is_directory(each)]:
        newest = await conversations.latest(reader, cwd=gone)
        leaf_id = await places.of(reader, newest.id) if newest else None
        turn_id = await turns.newest_on(reader, leaf_id) if leaf_id else None
        last = await environments.of_turn(reader, turn_id) if turn_id else None
        if any(each.path == directory for each in moved_directories(gone, last, [directory])):
            return newest
    return None


def conversation_id_of(*, directory: str, named: str | None) -> str:
    """The same, from the store at its usual place, for a caller without a loop."""
    import asyncio

    async def look() -> str:
        async with Database.open(default_path()) as db, db.read() as reader:
            return (await find_conversation(reader, directory=directory, named=named)).id

    return asyncio.run(look())
