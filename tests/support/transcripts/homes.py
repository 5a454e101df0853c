"""A home with the sessions of other tools in it, as the real programs wrote them (long texts shortened)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from catena_acp.transcripts.claude import transcript_path
from catena_acp.transcripts.session import ForeignSession
from catena_acp.transcripts.sources import Scanner, places

SAMPLES = Path(__file__).parent / "samples"
PROJECT = "/home/user/shop"
CLAUDE = "524ea600-448e-462d-b3f2-b3b915909bc6"
CLAUDE_FORK = "78d509b3-97fd-4728-938a-a2cf3ea09952"
CODEX = "01a20962-f736-7072-ab3a-041c305f65b0"
CODEX_FORK = "01a20962-fc2d-7290-ac1e-ea2e7b11d518"
CODEX_REVIEW = "01a20962-f815-7c01-b2ac-d7d85e7a8b11"
GEMINI = "d3ddbf35-429b-482e-977c-40bf3e3d466d"
QWEN = "77625d49-7f71-4df8-ba92-e76e22c71fdd"
OPENCODE = "ses_df69d1946ffeI2bt364VBpvsU3"
OPENCODE_FORK = "ses_df69d1246ffe4bxsQXYCF0XyVp"


class Home:
    """A person's home directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environment = {"HOME": str(path)}

    def with_all(self, project: str = PROJECT) -> Home:
        """Put a session of every tool into it, of one directory, and the forks of some."""
        day = ".codex/sessions/2026/11/23/rollout-2026-11-23T17-10"
        for sample, place in (
            ("claude", self.claude_file(CLAUDE).relative_to(self.path)),
            ("claude-fork", self.claude_file(CLAUDE_FORK).relative_to(self.path)),
            ("codex", f"{day}-10-{CODEX}.jsonl"),
            ("codex-fork", f"{day}-11-{CODEX_FORK}.jsonl"),
            ("codex-review", f"{day}-10-{CODEX_REVIEW}.jsonl"),
            ("gemini", ".gemini/tmp/shop/chats/session-2026-11-23T17-10-d3ddbf35.jsonl"),
            ("qwen", f".qwen/projects/-home-user-shop/chats/{QWEN}.jsonl"),
        ):
            target = self.path / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text((SAMPLES / f"{sample}.jsonl").read_text().replace(PROJECT, project))
        (self.path / ".gemini/tmp/shop/.project_root").write_text(project)
        with closing(self.opencode()) as database:
            rows = (SAMPLES / "opencode.sql").read_text().replace(PROJECT, project)
            database.executescript(f"BEGIN;\n{rows}\nCOMMIT;")
        return self

    def claude_file(self, session_id: str, cwd: str = PROJECT) -> Path:
        """Where Claude Code has a session."""
        return transcript_path(self.path / ".claude", cwd, session_id)

    def write_claude(self, session_id: str, records: Iterable[Mapping[str, Any]], cwd: str = PROJECT) -> Path:
        """Write a session of Claude Code."""
        path = self.claude_file(session_id, cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def opencode(self) -> sqlite3.Connection:
        """The database of OpenCode, as its owner has it."""
        folder = self.path / ".local/share/opencode"
        folder.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(folder / "opencode.db", isolation_level=None)

    def scanner(self) -> Scanner:
        """A scanner of all that is in it."""
        return Scanner(places(self.environment))

    def sessions(self) -> dict[str, ForeignSession]:
        """The heads of all sessions in it, by session id."""
        return {each.session_id: each for batch in self.scanner().batches() for each in batch.sessions}


def said(
    number: int,
    role: str,
    content: object,
    *,
    above: int | None = None,
    session: str = CLAUDE,
    **more: object,
) -> dict[str, Any]:
    """A record of Claude Code: message ``number``, which hangs from the one before unless it is told another."""
    parent = number - 1 if above is None else above
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{number}", "model": "opus", "stop_reason": "end_turn"}
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": f"u{parent}" if parent else None,
        "sessionId": session,
        "cwd": PROJECT,
        "timestamp": f"2026-11-23T17:{number // 60:02}:{number % 60:02}.000Z",
        "message": message,
        **more,
    }
