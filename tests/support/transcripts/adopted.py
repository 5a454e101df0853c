"""Adopting a session of another tool as its client does, without a client."""

from __future__ import annotations

from collections.abc import Callable

from catena_acp.conversation.adoption.adoption import (
    Adopted,
    Adopter,
    adopt_transcript,
    holder,
    read,
    undeleted,
)
from catena_acp.transcripts.session import ForeignSession
from catena_acp.transcripts.sources import read_session
from catena_store.database.database import Database


async def adopt_session(
    db: Database, session: ForeignSession, *, new_id: Callable[[], str], adopter: Adopter | None = None
) -> Adopted:
    """The conversation of a session; the one that holds it where there is one. Raises NotAdopted, StoreError."""
    if held := await holder(db, session):
        return Adopted(await undeleted(db, held), new=False)
    return await adopt_transcript(db, await read(lambda: read_session(session)), new_id, adopter)
