"""Permission rules in a conversation: what they outlive, and where they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.rule import RuleScope, rule_of
from catena_store.records import Kind
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def asked(desk: Desk) -> int:
    """How often the person was asked."""
    return sum(isinstance(news, PermissionOpened) for news in desk.told)


async def test_w01_rules_survive_a_restart_and_another_agent_and_a_fork_begins_without_its_own(
    world: World,
) -> None:
    own = rule_of("edit", "own/", allow=True, scope=RuleScope.CONVERSATION)
    project = rule_of("edit", "all/", allow=True, scope=RuleScope.PROJECT)
    async with world.client(rules=()) as first:
        await first.conversation.rules.add(own)
        await first.conversation.rules.add(project)
        await first.say("edit own/a.txt")
        await first.say("edit main.txt", answer="yes")
        assert asked(first) == 1

    other = world.spec(name="other")
    async with world.client(rules=(), resume=first, specs={"other": other}) as desk:
        await desk.say("edit own/b.txt")
        await desk.window.set_agent(other)
        await desk.say("edit own/c.txt\nedit all/c.txt")
        assert asked(desk) == 0
        tools = [row for row in await desk.branch() if row.kind is Kind.TOOL]
        assert [row.data["rule"]["text"] for row in tools if "rule" in row.data] == [
            "allowed by your rule: edits below own/",
            "allowed by your rule: edits below own/",
            "allowed by your rule: edits below own/",
            "allowed by your rule: edits below all/",
        ]

        forked = await desk.conversations.fork(
            desk.conversation, at=None, window_id=desk.window_id, side_by_side=True
        )
        branch = Desk(desk.db, desk.conversations, forked.conversation, forked.window.id)
        forked.conversation.subscribe(branch.hear)
        assert [rule.scope for rule in await branch.conversation.rules.listed()] == [RuleScope.PROJECT]
        await branch.say("edit all/d.txt\nedit own/d.txt", answer="yes")
        assert asked(branch) == 1


async def test_w01_a_rule_that_rejects_beats_one_that_allows(world: World) -> None:
    allow = rule_of("edit", "**", allow=True, scope=RuleScope.SETTINGS)
    async with world.client(rules=(allow,)) as desk:
        await desk.say("edit main.txt")
        await desk.conversation.rules.add(rule_of("edit", "keys/", allow=False, scope=RuleScope.PROJECT))
        await desk.say("edit keys/main.txt")
        tools = [row for row in await desk.branch() if row.kind is Kind.TOOL]
        assert [row.data["rule"]["allowed"] for row in tools] == [True, False]
        assert asked(desk) == 0
