"""What does it know? The exact bytes that an agent was told, on the screen: the real app, real agent processes."""

from __future__ import annotations

import base64

import pytest

from catena.screens.context.screen import ContextScreen
from catena.text.safe_text import safe
from catena_acp.conversation.inspection.chain import LEFT_OUT_SHOWN
from catena_store.records import ContextSource
from support.conversations.rehearsed import World
from support.conversations.untold import spoken
from support.screen.chain import two_sessions
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen


async def shown(person: Person) -> ContextScreen:
    return await person.sees_dialog(ContextScreen)


async def test_p10_the_view_equals_what_the_agent_received(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        "textual.drivers.headless_driver.HeadlessDriver.write", lambda _, data: sent.append(data)
    )
    async with two_sessions(world, (100, 60)) as person:
        await person.say("/context")
        await shown(person)
        told, prompt = world.prompts()[-1]
        assert prompt == "say beta"
        await person.sees(
            "Context · turn 3 of 3", "Rehearsal", "Your prompt: “say beta”", "new session · 4 messages"
        )
        await person.sees("Other sessions, when it was sent:", ": it could not be opened: try later")
        await person.sees(*(line[:90].rstrip() for line in safe(told).splitlines()))
        await person.press("y")
        await person.sees(f"Sent {len(told):,} characters")
        assert any(base64.b64encode(told.encode()).decode() in data for data in sent)
        await person.press("enter")
        await person.sees_no("> say alpha")
        async with person.chat.context.tabs._db.write():  # nothing is read before both are pressed
            await person.press("left", "left")
        await person.sees("turn 1 of 3", "Only your prompt was sent.", "none of this conversation")
        await person.press("right")
        await person.sees("turn 2 of 3", "“crash”")
        await person.press("escape")
        await person.back()


async def test_the_context_of_the_newest_turn_says_where_the_next_prompt_would_go_and_why(
    world: World,
) -> None:
    async with two_sessions(world, (100, 60)) as person:
        (first, second) = (await person.tab.conversation.chain.read(person.tab.window)).entries
        await person.say("/context")
        await shown(person)
        await person.sees(
            f"The next prompt would go to the session {second.link.session_id}.",
            f"– Rehearsal: {first.next}",
            "– Rehearsal 2: would be used",
        )
        assert first.next.endswith("another is preferred") or first.next.startswith("not used: ")
        await person.press("left")
        await person.sees("turn 2 of 3")
        await person.sees_no("The next prompt would go to")


async def test_a_context_of_one_session_names_it_once_below_a_single_blank_row(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await person.say("say alpha")
        await person.sees("  alpha")
        await person.idle()
        await person.say("/context")
        await shown(person)
        text = await person.sees("Only your prompt was sent.", "The next prompt would go to the session")
        rows = [row.strip() for row in text.splitlines()]
        at = rows.index("Only your prompt was sent.")
        assert not rows[at + 1] and rows[at + 2].startswith("The next prompt") and not any(rows[at + 4 : -1])


async def test_p10_c_shows_the_context_of_the_message_that_is_browsed(world: World) -> None:
    async with two_sessions(world) as person:
        await person.browse()
        await person.press("g", *["k"] * 10, "c")
        await shown(person)
        await person.sees("turn 1 of 3", "“say alpha”")


async def test_s01_the_context_works_by_mouse_and_in_a_small_terminal(world: World) -> None:
    async with two_sessions(world) as person:
        await person.pilot.resize_terminal(40, 10)
        await person.say("/context")
        text = (await shown(person)).query_one("#text")
        await person.sees("turn 3 of 3")
        await person.until(lambda: text.size.height >= 4, "room for the text")
        assert max(len(line) for line in person.text.splitlines()) <= 40
        await person.pilot.click("#hint", offset=(3, 0))
        await person.sees("turn 2 of 3")
        await person.pilot.click("#hint", offset=(16, 0))
        await person.sees("turn 3 of 3")
        await person.until(lambda: text.max_scroll_y > 15, "the text to be laid out")
        while "> say alpha" not in person.text and text.scroll_y < text.max_scroll_y:
            await person.press("pagedown")
        await person.sees("> say alpha")


async def test_p10_there_is_no_context_before_the_first_prompt(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await person.say("/context")
        await person.sees("Nothing has been sent yet")


async def test_p10_what_was_left_out_and_which_tool_calls_were_listed_can_be_seen(world: World) -> None:
    async with world.client() as desk:
        await spoken(desk, 300)
        await desk.say("tool read README.md")
    async with world.client(specs={"other": world.spec(name="other")}, resume=desk) as later:
        await later.window.set_agent(world.spec(name="other"))
        await later.say("echo")
        context = await later.conversation.chain.context(later.window)
        assert context is not None
        earlier = await later.conversation.chain.context(later.window, turn_id=context.before)
        branch = await later.branch()
        of_row = await later.conversation.chain.context(later.window, branch[5].id)
    told, _ = world.prompts()[-1]
    assert context.prior_context == told
    assert (context.turn.how, context.knew, context.number, context.total) == (ContextSource.TOLD, 0, 2, 2)
    assert len(context.left_out) == LEFT_OUT_SHOWN < context.turn.left_out
    # The last one left out is the one before the first that was told.
    at = next(index for index, row in enumerate(branch) if row.id == context.turn.told_from)
    assert context.left_out[-1].id == branch[at - 1].id
    assert context.left_out[-1].text[:60] not in told
    assert context.tools == (next(line[2:] for line in told.splitlines() if line.startswith("- ")),)
    assert earlier is not None
    assert (earlier.number, earlier.after) == (1, context.turn.id)
    assert 20 < earlier.turn.told == 300 - earlier.turn.left_out
    assert of_row is not None, "a message that travelled on no link shows the newest turn"
