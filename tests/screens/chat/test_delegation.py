"""Subagents and work in the background on the screen: the real app with a real agent process."""

from __future__ import annotations

from catena.screens.background.screen import BackgroundScreen
from catena.settings.settings import Settings
from support.conversations.rehearsed import World
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen


def line_with(person: Person, words: str) -> str:
    return next(line for line in person.text.splitlines() if words in line)


async def test_w28_a_subagent_is_watched_asks_by_its_name_and_is_read(world: World) -> None:
    async with at_the_screen(str(world.project), settings=Settings(park=False)) as person:
        await person.say("subagent 4 ask cue go Explore the login")
        await person.sees("Task    Explore the login · reading src/session.py ▸", "3 calls")
        assert "I am looking" not in person.text
        world.cue("go")
        await person.sees(
            "Allow running this command?", "$ make check", "Asked by the subagent for: Explore the login"
        )
        await person.until(lambda: line_with(person, "Task").lstrip().startswith("?"), "its line to ask")
        await person.until(lambda: person.area.place == "question", "the question to have the keys")
        await person.apart()
        await person.press("y")
        await person.idle()
        await person.sees("The subagent says: I looked at 4 files.")
        await person.sees("✓ Task    Explore the login ▸")
        await person.press("ctrl+f")
        await person.type("looking at the")
        await person.sees("    I am looking at the files.", "  ✓ Read    4 files ▸")


async def test_w28_work_in_the_background_is_counted_listed_and_named_before_it_ends(world: World) -> None:
    async with at_the_screen(str(world.project), settings=Settings(park=False)) as person:
        await person.say("background cue over npm run dev")
        await person.idle()
        await person.sees("1 in background")
        await person.sees("◐ Run     npm run dev")
        await person.say("/quit")
        await person.sees("“npm run dev” runs in the background. Ctrl+D or /quit again stops it and quits")
        await person.press("escape")
        await person.say("/close")
        await person.sees(
            "“npm run dev” runs in the background. Closing the tab ends that.", "enter Close it"
        )
        await person.press("escape")
        await person.writing()
        await person.say("/background")
        await person.sees_dialog(BackgroundScreen)
        await person.sees("In the background (1)", "npm run dev", "Command running in background with ID")
        await person.press("s")
        await person.sees("Rehearsal offers no way to stop it from here")
        world.cue("over")
        await person.sees("In the background (0)", "nothing is running in the background")
        await person.press("escape")
        await person.back()
        await person.sees("has ended.", "background ended")
        await person.sees_no("in background ·")


async def test_w28_enter_goes_to_the_call_that_began_it_but_to_no_other_branch(world: World) -> None:
    async with at_the_screen(str(world.project), size=(80, 24), settings=Settings(park=False)) as person:
        await person.say("background cue over npm run dev")
        await person.idle()
        for _ in range(3):
            await person.say("say " + ". ".join(f"{number} is a line" for number in range(60)))
            await person.idle()
        await person.sees_no("Run     npm run dev")
        await person.say("/background")
        await person.sees_dialog(BackgroundScreen)
        await person.press("enter")
        await person.back()
        await person.sees("Run     npm run dev")
        await person.tab.window.go_to(None)
        await person.say("/background")
        await person.sees_dialog(BackgroundScreen)
        await person.press("enter")
        await person.sees("Its call is not on this branch.")
