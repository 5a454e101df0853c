"""What a person answered about files of projects that are not used unasked, for each content of a file."""

from __future__ import annotations

from catena_store.database.database import Reader, Writer


async def answer(tx: Writer, path: str, digest: str, *, trusted: bool) -> None:
    """Store the answer about a file with this content, in place of an earlier one."""
    await tx.run(
        "INSERT INTO trusted_file (path, digest, trusted, answered_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (path, digest) DO UPDATE SET trusted = excluded.trusted, answered_at = excluded.answered_at",
        (path, digest, int(trusted), tx.now()),
    )


async def answer_of(r: Reader, path: str, digest: str) -> bool | None:
    """The answer about a file with this content; None if it was not asked for."""
    found = await r.one("SELECT trusted FROM trusted_file WHERE path = ? AND digest = ?", (path, digest))
    return bool(found[0]) if found else None
