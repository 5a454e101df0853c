"""Input history: every text that was typed, over all conversations and independent of them."""

from __future__ import annotations

from catena_store.database.database import Reader, Writer

_CONTAINS = "text LIKE '%' || ? || '%' ESCAPE '\\'"


async def add(tx: Writer, text: str, cwd: str) -> None:
    """Add a typed text, unless it is blank."""
    if text.strip():
        await tx.run("INSERT INTO input (text, cwd, created_at) VALUES (?, ?, ?)", (text, cwd, tx.now()))


async def keep_newest(tx: Writer, count: int) -> None:
    """Remove all but so many of the newest texts."""
    await tx.run(
        "DELETE FROM input WHERE id <= (SELECT id FROM input ORDER BY id DESC LIMIT 1 OFFSET ?)", (count,)
    )


async def remove(tx: Writer, part: str) -> int:
    """Remove every text that contains a part, which is all of them for ""; returns how many those were."""
    return await tx.run(f"DELETE FROM input WHERE {_CONTAINS}", (_pattern(part),))


async def count(r: Reader, part: str) -> int:
    """How many texts contain a part."""
    row = await r.one(f"SELECT count(*) FROM input WHERE {_CONTAINS}", (_pattern(part),))
    return 0 if row is None else int(row[0])


async def recent(r: Reader, limit: int = 200, before: int | None = None) -> list[tuple[int, str]]:
    """Typed texts with their numbers, newest first; a text that repeats the one before it is left out.

    The next page is the one ``before`` the last number.
    """
    return [
        (id, text)
        for id, text in await r.all(
            "SELECT i.id, i.text FROM input i WHERE (?1 IS NULL OR i.id < ?1)"
            " AND i.text IS NOT (SELECT text FROM input WHERE id < i.id ORDER BY id DESC LIMIT 1)"
            " ORDER BY i.id DESC LIMIT ?2",
            (before, limit),
        )
    ]


async def search(r: Reader, text: str, limit: int = 50) -> list[tuple[int, str]]:
    """Typed texts that contain a text, with their numbers, newest first, each once; A to Z match in either case."""
    return [
        (id, found)
        for id, found in await r.all(
            f"SELECT max(id), text FROM input WHERE {_CONTAINS} GROUP BY text ORDER BY 1 DESC LIMIT ?",
            (_pattern(text), limit),
        )
    ]


def _pattern(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
