"""`catena prune`, on real stores, beside a Catena that runs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from catena_store.conversations import conversations
from catena_store.database.database import Database
from support.clients.command_line import Catena, run, typed
from support.clients.imports import FORBIDDEN, imported
from support.clients.listed import said


def make_older(catena: Catena, days: int, *ids: str) -> None:
    """Let conversations be touched last so many days ago."""

    async def work() -> None:
        then = datetime.now(UTC) - timedelta(days=days)
        async with Database.open(catena.store, clock=lambda: then) as db, db.write() as tx:
            for id in ids:
                await conversations.touch(tx, id)

    asyncio.run(work())


def test_h09_prune_lists_first_and_removes_with_yes(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "old", "the old one " * 300, title="an old one")
    said(catena, "new", "the new one")
    make_older(catena, 31, "old")

    asked = catena("prune", "--older-than", "30d")

    assert asked.status == 0
    (line,) = asked.out.splitlines()
    assert line.split()[0] == "old" and "3.6 KB" in line and line.endswith("an old one")
    assert "1 conversation, 3.6 KB. Nothing was removed: add --yes" in asked.err
    assert len(catena("list", "--json").json) == 2
    as_json = catena("prune", "--older-than", "30d", "--json").json
    assert (as_json["format"], as_json["removed"], as_json["bytes"]) == (1, False, 3_602)
    assert [(each["id"], each["messages"]) for each in as_json["conversations"]] == [("old", 1)]

    done = catena("prune", "--older-than", "30d", "--yes")

    assert done.status == 0 and "removed 1 conversation" in done.err
    assert [each["id"] for each in catena("list", "--json").json] == ["new"]
    assert catena("show", "old").status == 2
    assert catena("prune", "--older-than", "30d").err == "catena: nothing to prune.\n"


@pytest.mark.parametrize(
    ("days", "given", "found"),
    [
        (31, "30d", ["a"]),
        (29, "30d", []),
        (15, "2w", ["a"]),
        (61, "2m", ["a"]),
        (364, "1y", []),
        (366, "1y", ["a"]),
        (9, "99999999999y", []),
    ],
)
def test_h09_an_age_is_in_days_weeks_months_or_years(
    tmp_path: Path, days: int, given: str, found: list[str]
) -> None:
    catena = Catena(tmp_path)
    said(catena, "a", "x")
    make_older(catena, days, "a")
    listed = catena("prune", "--older-than", given, "--json").json["conversations"]
    assert [each["id"] for each in listed] == found


def test_h09_a_rule_is_needed_and_has_to_be_one(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert "--older-than or --keep is needed" in catena("prune", "--yes").err
    for age in ("30", "d", "x", "3h", "٣d"):
        refused = catena("prune", "--older-than", age)
        assert refused.status == 2 and "30d, 12w, 6m or 1y" in refused.err


def test_h09_prune_for_a_directory_that_is_gone(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "there", "x", cwd="/gone/for ever")
    said(catena, "here", "x", cwd="/shop")
    listed = catena("prune", "--keep", "0", "--cwd", "/gone/for ever", "--json").json
    assert [each["id"] for each in listed["conversations"]] == ["there"]


def test_what_is_removed_for_good_is_gone_from_the_prompt_history(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    for text in ("say a secret", "say kept"):
        assert run(catena, text).status == 0
    assert typed(catena) == ["say kept", "say a secret"]
    assert catena("prune", "--keep", "1", "--yes").status == 0
    assert typed(catena) == ["say kept"]


def test_prompts_are_removed_from_the_prompt_history_by_a_text_in_them_and_beyond_its_limit(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    for text in ("say one", "say 100%", "say three"):
        assert run(catena, text).status == 0
    listed = catena("prune", "prompts", "0%")
    assert (listed.status, "1 prompt in" in listed.err, len(typed(catena))) == (0, True, 3)
    assert catena("prune", "prompts", "0%", "--yes").status == 0
    assert typed(catena) == ["say three", "say one"]
    assert catena("prune", "prompts", "--keep", "1").status == 2
    catena.settings("prompt_history = 1\n")
    assert run(catena, "say four").status == 0
    assert typed(catena) == ["say four"]
    assert catena("prune", "prompts", "--yes", "--json").json["prompts"] == 1
    assert typed(catena) == []


def test_c03_prune_loads_neither_the_screen_nor_the_protocol(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said(catena, "a", "x")
    assert not imported(catena, "prune", "--keep", "0", "--yes") & FORBIDDEN
