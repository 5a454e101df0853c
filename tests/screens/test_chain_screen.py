"""The chain on the screen, and the price of another agent: the real app with real agent processes."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

import pytest

from catena.screens.chain.screen import ChainScreen
from catena.widgets.row_list import RowList
from catena_acp.agents.catalog import command_spec
from catena_acp.conversation.inspection.chain import Chain
from catena_acp.port.port import AgentSpec
from support.conversations.rehearsed import World
from support.screen.chain import two_sessions
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen


async def chain_of(person: Person) -> Chain:
    return await person.tab.conversation.chain.read(person.tab.window)


async def open_chain(person: Person) -> ChainScreen:
    await person.say("/chain")
    screen = await person.sees_dialog(ChainScreen)
    await person.sees("Sessions (2), newest last")
    return screen


async def test_m09_the_chain_shows_every_link_and_everything_about_each(world: World) -> None:
    async with two_sessions(world) as person:
        await open_chain(person)
        await person.sees("● Rehearsal", "“say alpha”", "“say beta”", "2 turns", "1 turn")
        first, second = (await chain_of(person)).entries
        await person.press("enter")
        await person.sees(second.link.session_id, "directory", "knows", "used", "new session")
        await person.press("escape")
        await person.sees_dialog(ChainScreen)
        await person.press("k", "enter")
        await person.sees(first.link.session_id, "its agent was killed", "not checked")
        await person.press("escape")
        await person.sees_dialog(ChainScreen)
        await person.press("escape")
        await person.back()


async def test_m09_the_session_id_is_copied_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        "textual.drivers.headless_driver.HeadlessDriver.write", lambda _, data: sent.append(data)
    )
    async with two_sessions(world) as person:
        await open_chain(person)
        await person.press("y")
        await person.sees("Sent the session id")
        session_id = (await chain_of(person)).entries[-1].link.session_id
    copied = base64.b64encode(session_id.encode()).decode()
    assert any(copied in data for data in sent)


async def test_m09_probing_says_which_sessions_load_and_prompts_nothing(world: World) -> None:
    async with two_sessions(world) as person:
        heard = len(world.prompts())
        first = (await chain_of(person)).entries[0].link
        await open_chain(person)
        await person.press("k", "p")
        await person.sees("It loads: Rehearsal opened it")
        for file in (world.place / "rehearsal").rglob(f"*{first.session_id}*"):
            file.unlink()
        await person.press("P")
        await person.sees("1 load, 1 do not, 0 not checked", "✗ Rehearsal", "lost")
        await person.press("r")
        await person.sees("This session is lost")
    assert len(world.prompts()) == heard


async def test_m09_going_on_from_an_older_link_names_its_price_first(world: World) -> None:
    async with two_sessions(world) as person:
        first = (await chain_of(person)).entries[0].link
        leaf = person.tab.leaf_id
        await open_chain(person)
        await person.press("k", "r")
        await person.sees("Continue from here: ", "2 messages replayed that it may have lost, ~")
        await person.press("escape")
        await person.sees_no("Continue from here")
        assert isinstance(person.app.screen, ChainScreen)
        await person.press("r")
        await person.sees("Continue from here")
        await person.press("enter")
        await person.sees("Back where that session ended")
        await person.until(lambda: person.tab.leaf_id not in (None, leaf), "another leaf")
        await person.done()
        assert person.tab.leaf_id == first.reach
        await person.sees_no("say beta")
        await person.idle()
        await person.say("echo")
        await person.sees("[heard]")
        await person.idle()
        newest = (await chain_of(person)).entries[-1]
    assert newest.link.id == first.id
    assert "beta" not in "\n".join(world.prompts()[-1])


@pytest.mark.parametrize("size", [(40, 10), (100, 30)])
async def test_s01_the_chain_works_by_mouse_and_in_a_small_terminal(
    world: World, size: tuple[int, int]
) -> None:
    async with two_sessions(world) as person:
        await person.pilot.resize_terminal(*size)
        first = (await chain_of(person)).entries[0].link
        screen = await open_chain(person)
        rows = screen.query_one(RowList)
        await person.until(lambda: rows.size.height >= 2 and rows.scroll_offset.y == 0, "room for both")
        assert max(len(line) for line in person.text.splitlines()) <= size[0]
        await person.pilot.click(RowList, offset=(5, 0))
        await person.sees(first.session_id[:30])
        await person.press("escape")
        await person.sees_dialog(ChainScreen)
        await person.pilot.click("#hint", offset=(22, 0))
        await person.sees("It loads")


async def test_p11_every_agent_to_choose_from_names_its_price(world: World, tmp_path: Path) -> None:
    other = AgentSpec("command:other", "other", world.spec().command, world.spec().env)
    async with at_the_screen(str(world.project), agent=other) as person:
        await person.say("/agent")
        await person.sees("built-in demo")
        assert "told" not in person.text, "nothing was said that could be told"
        await person.press("escape")
        await person.back()
        await person.say("say alpha")
        await person.sees("  alpha")
        await person.idle()
        await person.say("/agent")
        await person.sees("2 messages replayed, ~")
        await person.press("escape")
        await person.say("/agent rehearsal")
        await person.sees("Switched to Rehearsal. Your next prompt: 2 messages replayed, ~")


async def test_w17_a_conversation_goes_back_to_the_command_that_it_began_with(world: World) -> None:
    spec = world.spec()
    command = command_spec(
        shlex.join(("env", *(f"{name}={value}" for name, value in spec.env), *spec.command))
    )
    async with at_the_screen(str(world.project), agent=command) as person:
        await person.say("say alpha")
        await person.sees("  alpha")
        await person.idle()
        await person.say("/agent rehearsal")
        await person.sees("Switched to Rehearsal.")
        await person.say("/agent")
        await person.sees("same context, nothing replayed · used in this conversation")
        await person.press(*"used in this", "enter")
        await person.until(lambda: person.tab.agent == command.name, "the command to be the agent again")
