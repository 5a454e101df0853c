"""Hooks: told of a turn's end, a question and a seam, never waited for, ended in time, their failure told once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from catena.programs.hooks import Hooks
from catena.settings.tables import HookSettings, Program
from catena_acp.continuity.conversation_events import Remarked
from support.clients.command_line import Catena, newest, run
from support.clients.protocol import runs, until
from support.conversations.rehearsed import Desk, World
from support.json_lines import json_lines


def writes(path: Path) -> Program:
    """A hook that adds what it is told to a file, a line each."""
    # Not `echo`: where the person's shell is dash, it makes two lines of a \n within the JSON.
    return Program((f"line=$(cat); printf '%s\\n' \"$line\" >> '{path}'",), shell=True)


async def until_told(path: Path, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(60):
        while len(found := json_lines(path)) < count:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        return found


@asynccontextmanager
async def hooked(world: World, settings: HookSettings, *, resume: Desk | None = None) -> AsyncIterator[Desk]:
    """A client with hooks, which end with it."""
    async with world.client(resume=resume) as desk, Hooks.serve(settings, desk.db) as hooks:
        hooks.conversations = desk.conversations
        end = desk.conversation.subscribe(lambda event: hooks.observe(desk.conversation.id, event))
        yield desk
        end()


async def test_w31_hooks_are_told_of_a_turn_a_question_and_a_seam(tmp_path: Path) -> None:
    world, path = World(tmp_path), tmp_path / "told"
    hook = (writes(path),)
    settings = HookSettings(turn_end=hook, permission=hook, seam=hook)
    async with hooked(world, settings) as desk:
        await desk.say("ask May I?; say done", answer="allow")
        asked, ended = await until_told(path, 2)
        if asked["event"] != "permission":  # they are not waited for, so that either may be first
            asked, ended = ended, asked
        session = (await desk.links())[0].session_id
        for each in (asked, ended):
            assert (each["session_id"], each["conversation"]) == (session, desk.conversation.id)
            assert (each["cwd"], each["agent"]) == (str(world.project), "Rehearsal")
        assert (asked["hook_event_name"], asked["notification_type"]) == ("Notification", "permission_prompt")
        assert "May I?" in asked["message"]
        assert (ended["hook_event_name"], ended["outcome"], ended["stop_hook_active"]) == (
            "Stop",
            "end_turn",
            False,
        )
        assert ended["last_assistant_message"].endswith("done")
    path.unlink()
    async with hooked(world, HookSettings(seam=hook), resume=desk) as again:
        await again.say("say two")
        (seam,) = await until_told(path, 1)
        assert (seam["hook_event_name"], seam["source"], seam["context"]) == (
            "SessionStart",
            "resume",
            "resumed",
        )


async def test_w31_a_slow_hook_holds_up_nobody_and_ends_with_its_client(tmp_path: Path) -> None:
    world, started = World(tmp_path), tmp_path / "started"
    slow = Program((f"echo $$ >> '{started}'; exec sleep 600",), shell=True)
    async with hooked(world, HookSettings(turn_end=(slow,))) as desk:
        await desk.say("say one")
        await desk.say("say two")
        await until(lambda: started.exists() and started.read_text().endswith("\n"))
    # The client has ended: it did not wait for ten minutes.
    slow_ones = [int(each) for each in started.read_text().split()]
    await until(lambda: not any(map(runs, slow_ones)))
    assert slow_ones


async def test_w31_a_hook_that_fails_is_told_once_in_words_without_its_controls(tmp_path: Path) -> None:
    world = World(tmp_path)
    bad = Program(("printf 'no\\033[31m way\\n' >&2; exit 4",), shell=True)
    async with hooked(world, HookSettings(turn_end=(bad,))) as desk:
        await desk.say("say one")
        remarked = await desk.until_told(Remarked)
        await desk.say("say two")
        await desk.say("say three")
        assert "failed with exit code 4: no" in remarked.text and "\033" not in remarked.text
        assert sum(isinstance(each, Remarked) for each in desk.told) == 1


def test_w31_run_has_hooks_too_and_lets_them_end(tmp_path: Path) -> None:
    catena, path = Catena(tmp_path), tmp_path / "told"
    catena.settings(
        f"""[hooks]\nturn_end = [["sh", "-c", "sleep 0.2; cat > '{path}'"], ["sh", "-c", "echo oh >&2; exit 1"]]\n"""
    )
    done = run(catena, "say one")
    assert done.status == 0 and done.out == "one\n"
    assert "failed with exit code 1: oh" in done.err
    found = json.loads(path.read_text())  # `run` has waited for it
    assert (found["event"], found["conversation"]) == ("turn_end", newest(catena))
