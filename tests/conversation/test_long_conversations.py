"""What a person does in a long conversation asks as much of the store as in a short one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from catena_acp.continuity.conversation_events import TurnEnded
from catena_store.chains import links
from catena_store.clients import progress
from catena_store.conversations import messages
from catena_store.records import ContextSource, LinkState
from support.conversations.modelled import how
from support.conversations.rehearsed import Desk, World
from support.conversations.untold import spoken
from support.counted_work import queries_counted
from support.storage.rows import every_prompt_carried, new_link

SHORT, LONG = 1_000, 20_000


async def carried_by_a_lost_session(desk: Desk) -> None:
    """Every prompt so far went to one session, which is lost."""
    leaf = (await desk.stored_window()).leaf_id
    async with desk.db.write() as tx:
        await new_link(
            tx, "lost", desk.conversation.id, cwd=desk.conversation.record.cwd, knows=leaf, reach=leaf
        )
        await every_prompt_carried(tx, desk.conversation.id, "lost")
        await links.move(tx, "lost", state=LinkState.LOST)


async def say(desk: Desk) -> None:
    """Send a prompt to a session that knows the branch."""
    await desk.say("say two")


async def edit_the_last_prompt(desk: Desk) -> None:
    await edited(desk, await last_prompt(desk))


async def edit_the_first_prompt(desk: Desk) -> None:
    await edited(desk, "row0")


async def edited(desk: Desk, prompt_id: str) -> None:
    """Edit a prompt and wait for the end of its turn."""
    at = len(desk.told)
    await desk.window.edit(prompt_id, "say instead", ())
    await desk.until(lambda: next((news for news in desk.told[at:] if isinstance(news, TurnEnded)), None))


async def switch_back(desk: Desk) -> None:
    """From the edited first prompt to the long branch beside it, and back."""
    for prompt, step in ((await last_prompt(desk), -1), ("row0", 1)):
        assert await desk.window.to_sibling(prompt, step)


async def last_prompt(desk: Desk) -> str:
    leaf = (await desk.stored_window()).leaf_id
    async with desk.db.read() as reader:
        return (await messages.last_turn(reader, leaf))[0].id


async def prices(desk: Desk) -> None:
    await desk.conversation.chain.price(desk.window)
    await desk.conversation.chain.price(desk.window, leaf_id="row1")


async def follow(desk: Desk) -> None:
    """Read what a client reads that follows this one."""
    leaf = (await desk.stored_window()).leaf_id
    async with desk.db.read() as reader:
        assert await progress.unsettled_rows(reader, desk.conversation.id, leaf)
        await progress.passes_through(reader, "row0", leaf)


ACTS: Mapping[str, Callable[[Desk], Awaitable[None]]] = {
    "a prompt with prior context": say,
    "a prompt": say,
    "prices": prices,
    "the last prompt, edited": edit_the_last_prompt,
    "following": follow,
    "the first prompt, edited": edit_the_first_prompt,
    "a sibling and back": switch_back,
}


async def test_m03_what_a_person_does_among_20000_messages_takes_the_steps_that_it_takes_among_1000(
    tmp_path: Path,
) -> None:
    steps: dict[int, dict[str, int]] = {}
    for length in (SHORT, LONG):
        (place := tmp_path / str(length)).mkdir()
        async with World(place).client("--fork-at") as desk:
            await spoken(desk, length)
            await carried_by_a_lost_session(desk)
            steps[length] = {}
            for name, act in ACTS.items():
                async with queries_counted(desk.db) as queries:
                    await act(desk)
                steps[length][name] = queries.steps
    assert not grown(steps), steps


async def test_m03_a_session_that_was_told_the_end_of_20000_messages_is_opened_again_as_after_1000(
    tmp_path: Path,
) -> None:
    steps: dict[int, dict[str, int]] = {}
    for length in (SHORT, LONG):
        (place := tmp_path / str(length)).mkdir()
        world = World(place)
        async with world.client() as desk:
            await spoken(desk, length)
            await say(desk)
        async with world.client(resume=desk) as later, queries_counted(later.db) as queries:
            over = await later.say("say three")
        assert how(over) is ContextSource.RESUMED
        assert len(world.requests("session/load")) == 1
        steps[length] = {"a session, opened again": queries.steps}
    assert not grown(steps), steps


def grown(steps: Mapping[int, Mapping[str, int]]) -> set[str]:
    """What takes more than twice the steps among so many messages more."""
    return {name for name, few in steps[SHORT].items() if steps[LONG][name] > 2 * few}
