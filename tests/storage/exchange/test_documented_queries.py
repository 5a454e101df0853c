"""The queries that the document on storage gives to those who read the file with other tools."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from support.places import ROOT
from support.storage.rows import Clock, store
from support.storage.trees import Family

_QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "database.md").read_text("utf-8"), re.DOTALL)


async def test_d05_the_documented_queries_run_and_find_what_they_say(tmp_path: Path) -> None:
    async with store(tmp_path, clock := Clock()) as db:
        family = Family(db, clock)
        await family.grow([("turn", 1, "second"), ("fork", 1, "forked")])
        leaf = family.leaves[-2][1]
    file = sqlite3.connect(f"file:{tmp_path / 'catena.db'}?mode=ro", uri=True)
    newest, branch, months, causes = (file.execute(query, {"leaf": leaf}).fetchall() for query in _QUERIES)
    file.close()

    assert len(newest) == 2 and "c0" in {row[0] for row in newest}
    assert [row[1] for row in branch][:4] == ["user", "seam", "tool", "agent"]
    assert branch[-1][0] == leaf
    assert months == [("2026-04", "rehearsal", "USD", 3, 0.75)]
    assert causes[0][3] == "rate limit"
