"""Commands as lines of text over a pipe: acts are done there as they are on the screen and in linear mode."""

from __future__ import annotations

from pathlib import Path

from catena.acts.text_surface import TextSurface
from catena.text.formats import from_home
from support.screen.pilot import at_the_screen

DELETE_USAGE = (
    "/delete deletes this conversation here; /delete everywhere also at its agents, which cannot be undone."
)


async def test_acts_are_done_and_refused_by_lines_of_text(tmp_path: Path) -> None:
    written: list[str] = []
    pipe = TextSurface(written.append)

    async def told(line: str) -> list[str]:
        context = person.chat.context
        written.clear()
        await pipe.take(line, context.tabs, person.tab, context.settings)
        return list(written)

    shown = from_home(str(tmp_path))
    async with at_the_screen(str(tmp_path)) as person:
        await person.first_tab()
        await person.idle()
        assert await told("/files") == ["! No files read or changed on this branch."]
        assert await told("usage") == ["Usage: No usage yet."]
        await person.say("write notes.txt one")
        await person.idle()
        assert await told("/files") == ["File: notes.txt · changed 1 time, +1"]
        assert await told("/changes") == [
            "Changes on this branch: 1 file",
            "Changes on this branch: notes.txt · new · +1",
        ]
        assert await told("/changes look") == ["! No changes since your last look."]
        (whole, line) = await told("/blame notes.txt")
        assert whole == "Blame: notes.txt, 1 line"
        assert line.startswith("Blame: line 1 · write notes.txt one · ")
        assert line.endswith(" · as the agent reported it")
        assert await told("/blame nothing.txt") == [f"! {shown}/nothing.txt: No such file or directory"]
        assert "Context: Messages in session: none of this conversation" in await told("/context")
        (count, session) = await told("/chain")
        assert count == "Sessions: 1 session, newest last" and "next: would be used" in session
        assert await told("/background") == ["! Nothing is running in the background."]
        assert await told("/permissions") == [
            "! No rules: you are asked each time. An answer with “Always” makes one."
        ]
        assert await told("/mcp") == ["! No MCP servers: [mcp.NAME] in the settings adds one."]
        assert await told("/mcp allow") == ["! This project has no .mcp.json."]
        assert await told("/templates") == [
            "Templates: /pr · shipped with Catena · side question",
            "Templates: /summary · shipped with Catena · side question",
        ]
        assert await told("/templates nothing") == ["! There is no template nothing."]
        assert await told("/next-question") == ["! No tab asks."]
        assert await told("/checkpoint here") == ["Saved checkpoint “here”: /rewind here returns here."]
        assert await told("/label") == ["! /checkpoint name LABEL names the newest checkpoint."]
        assert await told("/label there") == ["Newest checkpoint renamed to “there”."]
        (kept, *_) = await told("/checkpoints")
        assert kept.startswith("Checkpoints, newest first: “there” · ")
        assert await told("/rewind") == ["You are already at “there”."]
        assert await told("/pin") == ["Pinned: first in the history, never pruned."]
        assert await told("/fork") == ["! Fork this branch in this tab? same context, nothing replayed"]
        assert await told("/retry") == ["! Retry this prompt? new session, nothing to replay"]
        assert await told("/tree") == [
            "Tree: 1 prompt",
            "Tree: another branch · write notes.txt one · checkpoint there · Rehearsal · here",
        ]
        assert await told("/tree nothing") == ["! No prompts there."]
        (asked,) = await told("/ask rehearsal")
        assert asked.startswith("! Ask Rehearsal the last prompt, too? Rehearsal: ")
        assert await told("/compare") == [
            "! No prompt here has another version, and no other branch is open in a tab."
        ]
        assert await told("/compare 1") == [
            "! /compare N compares this branch with that of another tab; /tabs lists them."
        ]
        assert await told("/btw say Beside.") == ["Answer: Beside."]
        assert await told("/lineage") == ["! This conversation has no forks; /fork creates one."]
        assert await told("/undo") == [
            "Undone: pinning “write notes.txt one”. Nothing more to undo. /undo redo to redo."
        ]
        (act,) = await told("/reflog")
        assert act.startswith("Undo history: pinning “write notes.txt one” · ") and act.endswith(" · undone")
        assert await told("/rename A\x1b[1m title") == ["Renamed to “A title”."]
        assert await told("/takeover") == ["! This conversation is already yours."]
        assert await told("/attach notes.txt") == ["Attached notes.txt, 4 B."]
        assert await told("/attach notes.txt") == ["notes.txt is attached already."]
        assert await told("/detach other.txt") == ["! No other.txt is attached."]
        assert await told("/detach") == ["notes.txt is no longer attached."]
        assert await told("/stop") == ["! Nothing is running here."]
        assert (await told("/queue"))[0].startswith("! The queue is empty. A prompt that you type ")
        assert await told("/queue first 2") == ["! 2 is not in the queue; /queue lists it."]
        assert await told("/unqueue") == ["! The queue is empty."]
        assert (await told("/export html a.html"))[0].endswith("a.html")
        assert await told("/export a.html") == ["! a.html exists already. Name another file."]
        assert await told("/cd") == [f"This conversation works in {shown}. /cd DIR changes that."]
        assert await told("/cd nowhere") == ["! nowhere: No such file or directory"]
        assert await told("/add-dir") == ["! No additional directories; add one with /cd add DIR."]
        assert await told("/delete here") == [f"! {DELETE_USAGE}"]
        assert await told("/mode code") == ["The mode is Code."]
        assert await told("/mode nothing") == ["! nothing is not one of: Ask, Code, Plan."]
        assert await told("/options fast on") == ["Fast is on."]
        assert await told("/model") == ["! Model Understudy, Lead, Chorus"]
        assert await told("/agent rehearsal") == ["Rehearsal is already in use here."]
        (why,) = await told("/settings theme nothing")
        assert "config.toml: `theme` must be one of catena-dark, " in why
        assert await told("/settings linear") == ["Setting: linear · auto · default"]
        assert await told("/settings nothing") == ["! nothing is not a setting; /settings lists them."]
        assert (await told("/logout"))[0].startswith("! Log out of Rehearsal?")
        assert await told("/clear") == []
        assert await told("/close") == ["Closed “A title”. /undo opens it again."]
        (wrong,) = await told("/file")
        assert wrong.startswith("! Unknown command /file. Did you mean /files? Nothing was done")
