"""`catena export` and `catena import`, as real processes on real files."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import pytest

from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.records import Kind, MessageState, NewMessage
from support.clients.command_line import Catena
from support.clients.imports import imported
from support.clients.listed import CONVERSATION, two_sessions

TOKEN = "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p"


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    client = Catena(tmp_path)
    client.write(two_sessions)
    return client


async def a_secret(tx: Writer) -> None:
    row = NewMessage("leak", CONVERSATION, "a1", Kind.USER, f"use {TOKEN} and ACME-1234", data={"x": TOKEN})
    await messages.insert(tx, row)


@pytest.mark.parametrize("form", ["markdown", "json", "html"])
def test_h15_every_form_goes_to_standard_output_and_into_a_private_file(catena: Catena, form: str) -> None:
    printed = catena("export", CONVERSATION, "--format", form)
    written = catena("export", "the login", "--format", form, "--output", "out")
    path = catena.project / "out"

    assert (printed.status, written.status, written.out, written.err) == (0, 0, "", "")
    assert "Now add" in printed.out and "An earlier version" not in printed.out
    assert len(path.read_text("utf-8").splitlines()) == len(printed.out.splitlines())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in catena.project.iterdir()] == ["out"]  # no half of it beside it


def test_h15_an_export_never_writes_over_a_file_unasked(catena: Catena) -> None:
    path = catena.project / "out.md"
    path.write_text("mine")

    refused = catena("export", CONVERSATION, "-o", "out.md")
    kept = path.read_text()
    forced = catena("export", CONVERSATION, "-o", "out.md", "--force")
    nowhere = catena("export", CONVERSATION, "-o", "no/such/place.md")

    assert (refused.status, kept) == (2, "mine")
    assert "exists already; --force writes over it" in refused.err
    assert forced.status == 0 and path.read_text().startswith("# the login")
    assert nowhere.status == 1 and "cannot be written: No such file" in nowhere.err


def test_h15_a_branch_another_branch_and_the_whole_tree(catena: Catena) -> None:
    newest = catena("export", CONVERSATION).out
    other = catena("export", CONVERSATION, "--at", "old").out
    tree = catena("export", CONVERSATION, "--tree").out

    assert "## 2\\. Now add" in newest and "earlier version" not in newest
    assert "## 2\\. An earlier version" in other and "Now add" not in other
    page = catena("export", CONVERSATION, "--tree", "--format", "html", "-o", "-").out
    assert (
        {*re.findall(r'href="#(b\d+)"', page)}
        == {"b0", "b1", "b2"}
        <= {*re.findall(r'<section id="(b\d+)"', page)}
    )
    assert "*Version **1** [2](#b2)*" in tree
    assert "*Version **2** of 2 · [previous](#b1) [all](#b1)*" in tree
    assert catena("export", CONVERSATION, "--at", "nobody").status == 2


def test_h15_json_goes_back_in_on_another_machine_once(catena: Catena, tmp_path: Path) -> None:
    catena("export", CONVERSATION, "--format", "json", "--tree", "-o", "out.json")
    elsewhere = Catena(tmp_path / "elsewhere")
    path = str(catena.project / "out.json")

    first = elsewhere("import", path)
    twice = elsewhere("import", path, "--json")
    shown = elsewhere("show", CONVERSATION, "--json").json
    again = elsewhere("export", CONVERSATION, "--format", "json", "--tree").json

    assert (first.status, first.err) == (0, "")
    assert first.out == f"{CONVERSATION}  the login · 10 messages\n"
    (done,) = twice.json
    assert (done["id"], done["state"], done["added"], done["messages"]) == (CONVERSATION, "unchanged", 0, 10)
    assert [row["id"] for row in shown["messages"]][-2:] == ["a2", "n2"]
    assert {link["state"] for link in shown["links"]} == {"lost"}
    assert shown["turns"][1]["cause"] == "rate limit at 14:02"
    assert "rate limit at 14:02" in elsewhere("show", CONVERSATION).out
    assert elsewhere("show", CONVERSATION, "--chain").status == 0
    mine = json.loads((catena.project / "out.json").read_text())
    for row in mine["messages"]:
        if row["kind"] == "user":
            row["data"]["origin"] = "import"  # nobody typed it there
    assert again["messages"] == mine["messages"] and again["turns"] == mine["turns"]
    assert again["format"] == 1


def test_h15_the_next_prompt_of_an_import_replays_what_the_agent_does_not_know(
    catena: Catena, tmp_path: Path
) -> None:
    elsewhere = Catena(tmp_path / "elsewhere")
    document = catena("export", CONVERSATION, "--format", "json").out
    # The directory that it worked in is another one there.
    (elsewhere.project / "in.json").write_text(
        document.replace('"/shop"', json.dumps(str(elsewhere.project)))
    )
    elsewhere("import", "in.json")

    answered = elsewhere("run", "--resume", CONVERSATION, "--agent", "rehearsal", "--json", "hello")

    assert answered.status == 0, answered.out + answered.err
    started = answered.event("turn_started")
    assert (started["how"], started["told_total"]) == ("told", 4)


def test_h15_what_cannot_be_imported_is_refused_and_the_rest_goes_on(catena: Catena, tmp_path: Path) -> None:
    catena("export", CONVERSATION, "--format", "json", "-o", "good.json")
    (catena.project / "notes.txt").write_text("hello")
    (catena.project / "newer.json").write_text('{"format": 99, "contents": "catena conversation"}')
    (catena.project / "show.json").write_text(catena("show", CONVERSATION, "--json").out)
    elsewhere = Catena(tmp_path / "elsewhere")
    place = str(catena.project)

    done = elsewhere(
        "import",
        *(f"{place}/{name}" for name in ("notes.txt", "newer.json", "show.json", "none", "good.json")),
    )

    assert done.status == 1
    lines = done.err.splitlines()
    assert "notes.txt: it is neither what `catena export --format json` writes nor a transcript" in lines[0]
    assert "its format is 99, and this Catena knows 1: it needs a newer one" in lines[1]
    assert "it is JSON of another kind" in lines[2]
    assert "it cannot be read: No such file" in lines[3]
    assert done.out.startswith(CONVERSATION)
    assert len(elsewhere("list", "--json").json) == 1


def test_h22_a_secret_that_a_title_would_cut_is_masked_before(catena: Catena) -> None:
    async def leak(tx: Writer) -> None:
        await conversations.create(tx, id="untitled", agent="rehearsal", cwd="/")
        text = f"please have a look at this key, which fails: {TOKEN}"
        await messages.insert(tx, NewMessage("leak2", "untitled", None, Kind.USER, text))

    catena.write(leak)
    assert TOKEN[:12] not in catena("export", "untitled", "--format", "html").out


def test_h22_a_secret_that_was_cut_by_the_title_is_masked_there(catena: Catena) -> None:
    catena("run", "--agent", "rehearsal", f"say please look at this key, it fails: {TOKEN}")
    (listed, *_) = catena("list", "--json").json
    assert listed["title"].endswith("…") and TOKEN[:12] in listed["title"]

    for form in ("markdown", "json", "html"):
        assert TOKEN[:12] not in catena("export", listed["id"], "--format", form).out


@pytest.mark.parametrize("form", ["markdown", "json", "html"])
def test_h22_secrets_are_masked_and_listed_unless_told_otherwise(catena: Catena, form: str) -> None:
    catena.settings('[export]\nmask = ["ACME-[0-9]{4}"]\n')
    catena.write(a_secret)

    masked = catena("export", CONVERSATION, "--at", "leak", "--format", form)
    bare = catena("export", CONVERSATION, "--at", "leak", "--format", form, "--no-mask")

    assert TOKEN not in masked.out and "ACME-1234" not in masked.out
    assert "GitHub token 1" in masked.out and "by your rule 1" in masked.out
    assert masked.err.splitlines()[0] == (
        "catena: masked 2 things that look like secrets (--no-mask leaves them):"
    )
    assert masked.err.splitlines()[1] == "  GitHub token 1, 2 times: first in message leak"
    assert TOKEN not in masked.err and "ACME-1234" not in masked.err
    assert TOKEN in bare.out and bare.err == ""


def test_h22_a_masked_export_goes_back_in(catena: Catena, tmp_path: Path) -> None:
    catena.write(a_secret)
    catena("export", CONVERSATION, "--at", "leak", "--format", "json", "-o", "out.json")
    elsewhere = Catena(tmp_path / "elsewhere")

    assert elsewhere("import", str(catena.project / "out.json")).status == 0
    leak = next(
        row for row in elsewhere("show", CONVERSATION, "--json").json["messages"] if row["id"] == "leak"
    )
    assert leak["text"] == "use [masked: GitHub token 1] and ACME-1234"
    assert leak["data"] == {"x": "[masked: GitHub token 1]", "origin": "import"}


def test_h22_a_wrong_rule_is_named_with_file_and_line(catena: Catena) -> None:
    catena.settings('theme = "nord"\n[export]\nmask = ["(a+)+"]\n')
    refused = catena("export", CONVERSATION)
    assert refused.status == 2
    assert "config.toml:3: `export.mask`" in refused.err and refused.out == ""


def test_h15_a_conversation_of_nobody_and_one_without_messages(catena: Catena) -> None:
    async def empty(tx: Writer) -> None:
        await conversations.create(tx, id="empty", agent="rehearsal", cwd="/")

    catena.write(empty)
    assert catena("export", "nobody").status == 2
    refused = catena("export", "empty", "-o", "x.md")
    assert refused.status == 1 and "The conversation has no messages yet." in refused.err
    assert not (catena.project / "x.md").exists()


def test_h15_a_prompt_that_no_agent_accepted_is_exported(catena: Catena) -> None:
    async def refused(tx: Writer) -> None:
        await conversations.create(tx, id="refused", agent="rehearsal", cwd="/")
        row = NewMessage("r1", "refused", None, Kind.USER, "Anybody?", MessageState.REFUSED)
        await messages.insert(tx, row)

    catena.write(refused)
    assert "Anybody?" in catena("export", "refused").out
    assert "not sent" in catena("export", "refused", "--format", "html").out


def test_h15_a_store_that_may_not_be_written_is_exported(catena: Catena) -> None:
    catena.data.chmod(0o500)
    catena.store.chmod(0o400)
    try:
        assert catena("export", CONVERSATION, "--format", "json").status == 0
    finally:
        catena.data.chmod(0o700)


@pytest.mark.parametrize("form", ["markdown", "json", "html"])
def test_c03_export_and_import_load_neither_the_screen_nor_the_sdk(catena: Catena, form: str) -> None:
    out = f"{form}.out"
    forbidden = {"textual", "acp", "pydantic", "pydantic_core"}

    assert not imported(catena, "export", CONVERSATION, "--format", form, "-o", out) & forbidden
    if form == "json":
        assert not imported(catena, "import", os.fspath(catena.project / out)) & {
            *forbidden,
            "rich",
            "markdown_it",
        }


def test_h16_a_transcript_of_another_tool_is_imported_once(catena: Catena) -> None:
    said = [
        {"type": "user", "message": {"role": "user", "content": "Find the bug"}},
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Here it is."}]},
        },
    ]
    before: str | None = None
    lines = []
    for number, row in enumerate(said):
        uuid = f"0000000{number}-0000-4000-8000-000000000000"
        stamp = {
            "timestamp": f"2026-01-01T12:00:0{number}.000Z",
            "cwd": str(catena.project),
            "version": "2.0.0",
        }
        session = "5e551041-0000-4000-8000-000000000000"
        lines.append(json.dumps({**row, **stamp, "uuid": uuid, "parentUuid": before, "sessionId": session}))
        before = uuid
    (catena.project / "session.jsonl").write_text("\n".join(lines) + "\n")

    first = catena("import", "session.jsonl", "--json")
    twice = catena("import", "session.jsonl")

    (done,) = first.json
    assert (done["source"], done["state"], done["added"]) == ("claude", "new", 2), first.err
    assert twice.out.startswith(f"{done['id']}  ") and "already here" in twice.out
    assert "Here it is." in catena("show", done["id"]).out
