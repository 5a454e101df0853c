"""Scenarios of what other tools keep: their sessions listed, and one adopted."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from bench.streaming import Figures
from bench.words import markdown
from catena_acp.conversation.adoption.adoption import adopt_transcript
from catena_acp.transcripts.session import ForeignSession
from catena_acp.transcripts.sources import Scanner, places, read_session
from catena_store.database.database import Database
from catena_store.ids import new_id

FILES = 500
FILE_BYTES = 1_000_000
_ANSWER = 4_000  # characters


def other_tools(folder: Path) -> Figures:
    """500 transcripts of a megabyte: listed, listed again unchanged, and one of them adopted."""
    home = folder / "home"
    for number in range(FILES):
        write_session(home, number)
    return asyncio.run(_listed(home, folder / "catena.db"))


async def _listed(home: Path, store: Path) -> Figures:
    scanner = Scanner(places({"HOME": str(home)}))
    longest = 0.0
    began = at = time.perf_counter()
    found: list[ForeignSession] = []
    async for batch in scanner.scan():
        found += batch.sessions
        longest = max(longest, time.perf_counter() - at)
        at = time.perf_counter()
    listed = time.perf_counter()
    assert len(found) == FILES
    assert len(await scanner.sessions()) == FILES
    again = time.perf_counter()
    async with Database.open(store) as db:
        opened = time.perf_counter()
        await adopt_transcript(db, await asyncio.to_thread(read_session, found[0]), new_id)
        adopted = time.perf_counter()
    return {
        "listed_ms": (listed - began) * 1e3,
        "batch_longest_ms": longest * 1e3,
        "again_ms": (again - listed) * 1e3,
        "adopted_ms": (adopted - opened) * 1e3,
    }


def write_session(home: Path, number: int, size: int = FILE_BYTES) -> None:
    """A transcript of some bytes as Claude Code writes it: prompts, answers, and records that are none of both."""
    session = f"00000000-0000-4000-8000-{number:012}"
    path = home / ".claude" / "projects" / f"-srv-project-{number % 20}" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    answer = markdown(700, number)[:_ANSWER]
    with path.open("w", encoding="utf-8") as file:
        above = None
        for at in range(10_000):
            role = "assistant" if at % 2 else "user"
            said = {
                "role": role,
                "content": [{"type": "text", "text": answer if at % 2 else f"Question {at}"}],
            }
            record = {
                "type": role,
                "uuid": f"{number}-{at}",
                "parentUuid": above,
                "sessionId": session,
                "cwd": f"/srv/project/{number % 20}",
                "timestamp": "2026-01-01T00:00:00.000Z",
                "message": said | ({"id": f"m{at}", "stop_reason": "end_turn"} if at % 2 else {}),
            }
            above = record["uuid"]
            file.write(json.dumps(record) + "\n")
            if file.tell() > size and at % 2:
                break
