"""What a person reads for an agent that is a command of their own: the name that it tells, running or not."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.services import title_of
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentSpec
from support.clients.command_line import Catena
from support.conversations.rehearsed import World

COMMAND = f"{sys.executable} -m catena_acp.rehearsal --auth=none"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def command_of(world: World) -> AgentSpec:
    return replace(command_spec(COMMAND), env=world.spec().env)


async def test_m09_a_command_is_called_what_it_calls_itself_in_chain_and_context_and_after_a_restart(
    world: World,
) -> None:
    command = command_of(world)
    assert command.title == "catena_acp.rehearsal"
    async with world.client(specs={"own": command}, agent="own") as desk:
        before = desk.window.session.agent_title
        assert before == "catena_acp.rehearsal", "nobody has heard another name yet"
        await desk.say("say one")
    started = len(world.requests("initialize"))
    async with world.client(specs={"own": command}, resume=desk) as again:
        conversation, window_id = again.conversation, again.window_id
        (entry,) = (await conversation.chain.read(conversation.window(window_id))).entries
        context = await conversation.chain.context(conversation.window(window_id))
        aside = await conversation.asides.begin(conversation.window(window_id))
        assert context is not None
        shown = {
            entry.agent_title,
            context.agent_title,
            aside.title,
            conversation.window(window_id).session.agent_title,
        }
        assert shown == {"Rehearsal"}
        assert len(world.requests("initialize")) == started, "nothing was started to know it"
    # What was learnt is lost, and nothing else with it.
    with closing(sqlite3.connect(world.store)) as damaged, damaged:
        damaged.execute("DELETE FROM ability")
    async with world.client(specs={"own": command}, resume=desk) as later:
        assert later.window.session.agent_title == "catena_acp.rehearsal"


async def test_m09_what_the_person_calls_a_command_is_what_it_is_called(world: World) -> None:
    named = replace(command_of(world), title="My agent")
    async with world.client(specs={"own": named}, agent="own") as desk:
        await desk.say("say one")
        (entry,) = (await desk.conversation.chain.read(desk.window)).entries
        assert entry.agent_title == "My agent"
        assert desk.window.session.agent_title == "My agent"


def test_m09_show_prints_the_chain_with_the_name_that_a_command_told(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    assert catena("run", "--agent-command", COMMAND, "say one").status == 0
    (listed,) = catena("list", "--json").json
    chain = catena("show", listed["id"], "--chain").out
    assert chain.startswith("1. Rehearsal\n")


@pytest.mark.parametrize(
    ("title", "name", "shown"),
    [
        ("Helpful", "helpful-acp", "Helpful"),
        ("", "helpful-acp", "helpful-acp"),
        ("", "", "oc.sh"),
        (" \x1b[31m \n", "helpful-acp", "[31m"),
        ("\x07\u202e\n", "\x00", "oc.sh"),
        ("two\nlines\tof\x00it", "", "two lines of it"),
        ("so long " * 20, "", "so long so long so long so long so long…"),
    ],
)
def test_w27_the_name_that_a_command_tells_is_made_safe_and_short(title: str, name: str, shown: str) -> None:
    told = Abilities(name=name, title=title, version="1", protocol_version=1)
    assert title_of(command_spec("sh /some/where/oc.sh"), told) == shown
