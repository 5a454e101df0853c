"""Permission rules in a conversation: what they outlive, and where they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.rule import RuleScope, add_rule, rule_of
from catena_store.records import Kind
from support.clients.protocol import spec
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


# It asks for a change of the file that the prompt names.
EDITS = """
def session_prompt(agent, request):
    s, path = request["params"]["sessionId"], request["params"]["prompt"][-1]["text"].split()[-1]
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    call = {"toolCallId": path, "title": "Edit", "kind": "edit", "locations": [{"path": path}]}
    agent.ask(path, "session/request_permission", sessionId=s, toolCall=call, options=options)
    while (answer := agent.read()).get("id") != path:
        pass
    chosen = answer["result"]["outcome"].get("optionId")
    agent.send(agent.text(s, str(chosen)), agent.result(request, {"stopReason": "end_turn"}))
"""


async def test_v04_a_rule_that_rejects_holds_below_its_directory_and_where_that_is_a_further_one(
    world: World, tmp_path: Path
) -> None:
    keys, below = tmp_path / "keys", world.project / "sub"
    for directory in (keys, below):
        directory.mkdir()
    scripted = spec(tmp_path, EDITS)
    async with world.client(rules=(), specs={"scripted": scripted}, agent="scripted") as desk:
        async with desk.db.write() as tx:
            for directory, pattern, allow in (
                (keys, "private/", False),
                (keys, "open/", True),
                (world.project, "auth/", False),
                (tmp_path, "*.lock", False),
                (below, "**", False),
                (tmp_path / "another", "**", False),
            ):
                rule = rule_of(
                    "edit", pattern, allow=allow, scope=RuleScope.PROJECT, id=f"{directory}{pattern}"
                )
                await add_rule(tx, rule, str(directory), None)
        await desk.conversation.add_directory(str(keys))
        for path, by_rule in (
            (world.project / "auth" / "x", True),
            (world.project / "sub" / "x", True),
            (world.project / "x", False),
            (world.project / "private" / "x", False),
            (tmp_path / "a.lock", True),
            (world.project / "a.lock", False),
            (keys / "private" / "x", True),
            (keys / "open" / "x", False),
        ):
            before = asked(desk)
            await desk.say(f"edit {path}", answer="yes")
            assert (asked(desk) == before) is by_rule, path
            answers = [row.text for row in await desk.branch() if row.kind is Kind.AGENT]
            assert answers[-1] == ("no" if by_rule else "yes"), path
