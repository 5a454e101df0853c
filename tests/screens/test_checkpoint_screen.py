"""Checkpoints on the screen: the real app with real agent processes."""

from __future__ import annotations

import asyncio
from typing import Any

from catena.screens.checkpoints.screen import CheckpointsScreen
from catena.settings.settings import CheckpointSetting, Settings
from catena_acp.conversation.inspection.price import Price
from catena_store.conversations import checkpoints
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database, default_path
from support.conversations.rehearsed import World
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen

BY_HAND = Settings(park=False, checkpoints=CheckpointSetting(frequency="manual"))


async def said(person: Person, text: str) -> None:
    await person.say(f"say {text}")
    await person.sees(f"  {text}")
    await person.idle()


async def the_list(person: Person) -> CheckpointsScreen:
    await person.say("/checkpoints")
    return await person.sees_dialog(CheckpointsScreen)


async def back(person: Person) -> None:
    await person.back()


async def test_k03_the_list_shows_label_turn_time_agent_and_whether_it_is_native_or_told(
    world: World,
) -> None:
    async with at_the_screen(str(world.project), size=(120, 30), settings=Settings(park=False)) as person:
        await said(person, "alpha")
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”: /rewind good returns here.")
        await said(person, "beta")
        made = (await person.tab.conversation.checkpoints.find("good")).created_at.astimezone()

        await the_list(person)
        shown = await person.sees(
            "Checkpoints (2), newest first", "start of every turn", "new session", "2 replayed"
        )
        good = next(line for line in shown.splitlines() if "good" in line)
        first = next(line for line in shown.splitlines() if "before “say alpha”" in line)

        assert "in the turn of “say alpha”" in good
        assert "Rehearsal" in good and f"{made:%H:%M}" in good
        assert "new session" in first
        await person.press("j")
        await person.sees("enter goes back to it: new session, nothing to replay.")


async def test_k01_the_list_says_how_much_the_checkpoint_under_the_cursor_holds_and_with_which_model(
    world: World,
) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await said(person, "alpha")
        await said(person, "beta")
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”")
        await the_list(person)
        await person.sees("4 messages · Understudy · enter goes back to it")


async def test_k03_on_the_smallest_screen_what_is_said_leaves_room_for_the_list(world: World) -> None:
    async with at_the_screen(str(world.project), size=(40, 10), settings=Settings(park=False)) as person:
        await said(person, "alpha")
        await person.say("run ls")
        await person.idle()
        await said(person, "beta")
        await said(person, "gamma")
        sheet = await the_list(person)
        await person.sees("enter goes back", "no thoughts")
        assert sheet.row_list.size.height >= 3


async def test_k04_enter_goes_back_to_a_checkpoint_and_undo_returns(world: World) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await said(person, "alpha")
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”")
        await said(person, "beta")

        await the_list(person)
        await person.sees("Checkpoints (1)")
        await person.press("enter")
        await back(person)
        await person.sees("Went back to “good”. Your next prompt:", "Files stay as they are.")
        await person.sees_no("  beta")
        await person.say("/undo")
        await person.sees("  beta")

        await person.say("/rewind good")
        await person.sees("Went back to “good”")
        await person.sees_no("  beta")
        await person.say("/rewind")
        await person.sees("You are already at “good”.")
        await person.say("/rewind bad")
        await person.sees("No checkpoint “bad”; /checkpoint list lists them.")


async def test_k04_a_rewind_during_a_turn_stops_it_first(world: World) -> None:
    async with at_the_screen(str(world.project), settings=Settings(park=False)) as person:
        await said(person, "alpha")
        await person.say("say half; hang")
        await person.sees("  half")

        await person.say("/rewind")

        await person.sees("Went back to before “say half; hang”.")
        await person.sees_no("  half")
        await person.idle()
        assert "  alpha" in person.text


async def test_k02_k07_the_list_names_and_removes(world: World) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await person.say("/label good")
        await person.sees("No checkpoints yet; /checkpoint saves one")
        await said(person, "alpha")
        await person.say("/checkpoint")
        await person.sees("Saved checkpoint without a label: /rewind")
        await person.say("/label good")
        await person.sees("Newest checkpoint renamed to “good”.")

        await the_list(person)
        await person.sees("Checkpoints (1)", "good")
        await person.press("r", *["backspace"] * 4, *"best", "enter")
        await person.sees("Renamed to “best”.")
        await person.press("d")
        await person.sees("Press d again to remove “best”. Messages are kept.")
        await person.press("d")
        await person.sees("Removed “best”", "no checkpoints yet")
        await person.press("escape")
        await back(person)
        assert "  alpha" in person.text


async def test_k07_what_d_asks_is_not_overwritten_by_a_price_that_comes_late(world: World) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await said(person, "alpha")
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”")
        known, price = asyncio.Event(), person.tab.conversation.chain.price

        async def late(*where: Any, **more: Any) -> Price:
            await known.wait()
            return await price(*where, **more)

        person.tab.conversation.chain.price = late  # type: ignore[method-assign]
        screen = await the_list(person)
        await person.sees("Checkpoints (1)")
        await person.press("d")
        await person.sees("Press d again to remove “good”")
        known.set()
        await person.until(lambda: screen._prices, "the price")
        await person.taken_in()
        assert "Press d again to remove “good”" in person.text
        await person.press("d")
        await person.sees("Removed “good”")


async def test_k05_f_forks_at_a_checkpoint_and_the_original_stays(world: World) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await said(person, "alpha")
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”")
        await said(person, "beta")
        source = person.tab

        await the_list(person)
        await person.sees("Checkpoints (1)")
        await person.press("F")
        await back(person)
        await person.until(lambda: len(person.tabs) == 2, "the fork's tab")
        await person.until(lambda: person.tab is not source, "the fork")
        await person.sees("  alpha", "Forked")
        await person.sees_no("  beta")
        assert person.tab.conversation.id != source.conversation.id

        await person.to_tab(1, "ctrl+pageup")
        await person.sees("  beta")


async def test_k01_how_often_is_set_by_a_word(world: World) -> None:
    async with at_the_screen(str(world.project), settings=BY_HAND) as person:
        await said(person, "alpha")
        await person.say("/checkpoints often")
        await person.sees("Choose one of: turn")
        await person.say("/checkpoints tool")
        await person.sees("after every tool call")
        await person.done()
        assert await person.tab.conversation.checkpoints.frequency() is Frequency.TOOL
        await person.say("/checkpoints off")
        await person.sees("Checkpoints are off")
        await person.say("/checkpoint")
        await person.sees(
            "Checkpoints are off in this conversation; turn them on with /checkpoint list manual"
        )


async def test_k09_an_agents_wish_to_rewind_is_asked_in_the_panel_and_done_after_the_turn(
    world: World,
) -> None:
    tools = Settings(park=False, checkpoints=CheckpointSetting(frequency="manual", tools=True))
    async with at_the_screen(str(world.project), settings=tools) as person:
        await said(person, "alpha")
        (server,) = world.requests("session/new")[-1]["params"]["mcpServers"]
        assert server["args"][-4:] == [
            "--conversation",
            person.tab.conversation.id,
            "--window",
            person.tab.window_id,
        ]
        await person.say("/checkpoint good")
        await person.sees("Saved checkpoint “good”")
        good = await person.tab.conversation.checkpoints.find("good")
        await person.say("say half; hang")
        await person.sees("  half")
        # As the tool does, in a process of its own: the store is looked at anew where another process wrote.
        async with Database.open(default_path()) as db, db.write() as tx:
            await checkpoints.ask_for_rewind(
                tx,
                id="q",
                conversation_id=good.conversation_id,
                window_id=person.tab.window_id,
                checkpoint_id=good.id,
            )

        await person.sees("Allow this rewind?", "to “good”, made at", "Rewind after this turn")
        await person.until(lambda: person.area.panels.permission.has_focus, "the question to have the keys")
        await person.press("y")
        await person.writing()
        assert "  half" in person.text
        await person.press("escape")

        await person.sees("Back to “good”")
        await person.sees_no("  half")
