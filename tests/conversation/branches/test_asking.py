"""Several agents that are asked the same: forks with agents of their own, made ready before anything is sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena.errors import CommandRefused
from catena.settings.agents import leading_agents
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.conversation_events import Doing
from catena_acp.trouble.troubles import Trouble
from catena_store.records import Cause, ContextSource
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def asked_too(desk: Desk, world: World, *flags: str) -> Desk:
    """A desk for a fork, from where the desk stands, with the agent `second`."""
    made = await desk.conversations.fork(
        desk.conversation, window_id=desk.window_id, agent=world.spec(*flags, name="second")
    )
    desk_of_fork = Desk(desk.db, desk.conversations, made.conversation, made.window.id)
    made.conversation.subscribe(desk_of_fork.hear)
    return desk_of_fork


async def test_w17_two_agents_answer_one_prompt_at_once_as_branches_of_one_message(world: World) -> None:
    async with world.client("--no-titles", specs={"second": world.spec(name="second")}) as desk:
        await desk.say("say one")
        point = (await desk.branch())[-1].id
        other = await asked_too(desk, world)
        heard = len(world.prompts())
        assert [await each.window.make_ready() for each in (desk, other)] == [None, None]
        assert len(world.prompts()) == heard, "nothing is sent yet"
        (link,) = await other.links()
        assert (link.agent, link.cause) == ("second", Cause.NEW), "its session is open"

        for each in (desk, other):
            await each.window.say("cue both; edit! shared.txt; say two")
        await world.heard("session/prompt", heard + 2)
        assert [each.window.doing for each in (desk, other)] == [Doing.WORKING] * 2, "both at once"
        for name in ("rehearsal", "second"):
            world.cue("both", name)
        await asyncio.gather(*(each.window.wait_idle() for each in (desk, other)))

        (turn,) = await other.turns()
        assert (turn.how, turn.link_id) == (ContextSource.TOLD, link.id), "told what it did not know"
        prompts = [await _prompt_below(each, point) for each in (desk, other)]
        assert prompts == ["cue both; edit! shared.txt; say two"] * 2

        leaves = [(await each.branch())[-1].id for each in (desk, other)]
        found = await desk.conversation.tree.compare(*leaves)
        assert found.shared == point
        for leaf, tail in zip(leaves, found.tails, strict=True):
            assert any(row.text.endswith("two") for row in tail.rows)
            assert sum(each.turns for each in tail.spent) == 1
            assert tail.seconds > 0
            changes = await desk.conversation.changes.read(leaf, ChangeScope(Since.CHECKPOINT, found.shared))
            assert [Path(file.path).name for file in changes.files] == ["shared.txt"]


async def test_w17_an_agent_that_needs_a_login_is_told_of_before_anybody_is_asked(world: World) -> None:
    second = world.spec("--auth=required", name="second")
    async with world.client(specs={"second": second}) as desk:
        await desk.say("say one")
        other = await asked_too(desk, world)
        heard = len(world.prompts())
        problem = await other.window.make_ready()
        assert problem is not None
        assert problem.trouble is Trouble.LOGIN_NEEDED
        assert await desk.window.make_ready() is None
        assert len(world.prompts()) == heard


def test_w17_agents_are_named_by_the_first_words_and_the_prompt_follows() -> None:
    own = AgentSetting("mine", command=("sh",), title="Mine")
    settings = Settings(agents={"mine": own})

    def named(text: str) -> tuple[list[str], str]:
        specs, rest = leading_agents(text, settings)
        return [spec.title for spec in specs], rest

    assert named("mine") == (["Mine"], "")
    assert named("mine rehearsal fix it,\n  all of it") == (["Mine", "Rehearsal"], "fix it,\n  all of it")
    assert named("mine\nrehearsal is an agent") == (["Mine"], "rehearsal is an agent")
    assert named(" ") == ([], "")
    with pytest.raises(CommandRefused, match=r"^mien: no such agent; /agent lists them\.$"):
        named("mien fix it")


async def _prompt_below(desk: Desk, message_id: str) -> str:
    """The text of the row of a branch that hangs from a message."""
    (text,) = [row.text for row in await desk.branch() if row.parent_id == message_id and row.text]
    return text
