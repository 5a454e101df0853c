"""Sessions of other tools in the history: entries beside our own, each once, with a preview and a price."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from catena.history.entries import HistoryScope
from catena.history.foreign import ForeignReader
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery
from catena_acp.transcripts.copies import Copies
from catena_store.ids import new_id
from support.storage.rows import store
from support.transcripts.adopted import adopt_session
from support.transcripts.homes import CLAUDE, CLAUDE_FORK, CODEX, GEMINI, Home, said

NOW = datetime(2026, 11, 24, tzinfo=UTC)


async def test_h04_other_tools_sessions_are_entries_until_they_are_ours(tmp_path: Path) -> None:
    home = Home(tmp_path / "home").with_all()
    listing = HistoryListing(directory=str(tmp_path))
    async with store(tmp_path) as db:
        foreign = ForeignReader(db, listing, home.scanner())
        assert sum([count async for count in foreign.pages()]) >= 8
        found = listing.match(HistoryQuery.parse("hello", now=NOW), HistoryScope.ALL_SOURCES)
        assert {match.entry.source for match in found} == {"claude", "codex", "gemini", "qwen", "opencode"}
        assert not len(listing.match(HistoryQuery.parse("hello", now=NOW), HistoryScope.EVERYWHERE))
        key = f"claude:{CLAUDE}"
        session = foreign.session(key)
        assert session
        await adopt_session(db, session, new_id=new_id)
        home.claude_file(CLAUDE_FORK).unlink()
        async for _ in foreign.pages():
            pass
        left = {match.entry.session for match in listing.match(HistoryQuery(), HistoryScope.ALL_SOURCES)}
        assert left.isdisjoint({CLAUDE, CLAUDE_FORK})
        assert CODEX in left
        copies = Copies(tmp_path / "kept")
        assert (await foreign.keep_copies(copies), await foreign.keep_copies(copies)) == (4, 0)


async def test_h07_a_preview_says_how_it_began_and_ended_what_is_open_and_what_going_on_takes(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home").with_all()
    todos = [{"content": "write", "status": "pending"}, {"content": "read", "status": "completed"}]
    call = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}
    records = [
        said(1, "user", "begin"),
        said(2, "assistant", "begun"),
        said(3, "user", "go on", cwd="/nowhere"),
    ]
    home.write_claude(
        CLAUDE,
        [*records, said(4, "assistant", [call]), said(5, "assistant", [{"type": "text", "text": "end"}])],
    )
    listing = HistoryListing(directory=str(tmp_path))
    async with store(tmp_path) as db:
        foreign = ForeignReader(db, listing, home.scanner())
        async for _ in foreign.pages():
            pass
        shown = await foreign.preview(f"claude:{CLAUDE}")
        destroyed = await foreign.preview(f"gemini:{GEMINI}")
        assert await foreign.preview("claude:nobody") is None
    assert shown
    assert (shown.began.prompt, shown.began.answer) == ("begin", "begun")
    assert (shown.ended.prompt, shown.ended.answer) == ("go on", "end")
    assert (shown.todos, shown.more_todos) == (("write",), 0)
    assert shown.price == "probably same context, nothing replayed"
    assert shown.directory_gone
    assert destroyed
    assert destroyed.price.startswith("probably 12 messages replayed, 2 tool calls")
