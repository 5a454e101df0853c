"""Profiles: other accounts of an agent, each with sessions of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catena.errors import InvalidSettings
from catena.settings.agents import default_agent, find_agent, stored_agent, stored_agent_name, titles_of
from catena.settings.settings import Settings, load_settings
from catena.settings.tables import AgentSetting
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec
from catena_store.records import ContextSource
from support.clients.command_line import Catena, newest, shown
from support.conversations.rehearsed import World
from support.json_lines import json_lines


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def profile(world: World, name: str) -> AgentSpec:
    spec = world.spec(CATENA_REHEARSAL_HOME=str(world.place / f"home-{name}"))
    return replace(spec, profile=name, title=f"Rehearsal ({name})")


def test_m14_lists_call_an_agent_as_the_chat_does_also_where_the_settings_give_no_title() -> None:
    tables = (
        AgentSetting("mine", ("/opt/rig", "run", "x")),
        AgentSetting("work", agent="rehearsal", profile="office"),
        AgentSetting("other", agent="mine", profile="other"),
        AgentSetting("rehearsal", env=(("A", "b"),)),
        AgentSetting("gone", agent="not there", profile="p"),
    )
    settings = Settings(agents={each.name: each for each in tables})
    title_of = titles_of(settings)
    for name in ("mine", "work", "other"):
        spec = find_agent(name, settings)
        assert title_of(spec.name, spec.profile) == spec.title
    assert title_of("rehearsal", "") is None  # its short name of the catalogue stands in rows
    assert title_of("not there", "p") is None


async def test_m14_another_profile_has_a_head_of_its_own_and_the_history_bridges_it(world: World) -> None:
    work = profile(world, "work")
    async with world.client(specs={"work": work}) as desk:
        await desk.say("say one")
        await desk.window.set_agent(work)
        over = await desk.say("say two")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.TOLD, 2)
        assert over.turn.cause == "switched from Rehearsal to Rehearsal (work)"
        assert "say one" in world.prompts()[-1][0]
        own, other = await desk.links()
        assert [(link.agent, link.profile) for link in (own, other)] == [
            ("rehearsal", ""),
            ("rehearsal", "work"),
        ]
        await desk.window.set_agent(world.spec())
        over = await desk.say("say three")
        assert over.turn and (over.turn.how, over.turn.link_id) == (ContextSource.CAUGHT_UP, own.id)
        assert over.turn.cause == "switched from Rehearsal (work) to Rehearsal"
        caught_up = world.prompts()[-1][0]
        assert "say two" in caught_up and "say one" not in caught_up, "its own session knows that"
    homes = [list((world.place / home / "sessions").iterdir()) for home in ("rehearsal", "home-work")]
    assert [len(sessions) for sessions in homes] == [1, 1], "nothing of one account was opened with the other"


def test_m09_the_title_of_the_settings_is_what_the_agent_is_called_in_show_tree_and_chain(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    settings = Path(catena.environment["CATENA_CONFIG_DIR"]) / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[agents.rehearsal]\ntitle = "The stage"\n')
    assert catena("run", "--agent", "rehearsal", "say one").status == 0
    here = newest(catena)
    for flags in ((), ("--tree",), ("--chain",)):
        shown_ = catena("show", here, *flags)
        assert shown_.status == 0 and "The stage" in shown_.out, flags
        assert "rehearsal ·" not in shown_.out
    settings.write_text("this is no TOML")
    assert catena("show", here).status == 0, "what only reads the store needs no settings"


async def test_m14_the_profile_is_kept_over_a_restart(world: World) -> None:
    work = profile(world, "work")
    async with world.client(specs={"work": work}, agent="work") as desk:
        await desk.say("say one")
    async with world.client(specs={"work": work}, resume=desk) as again:
        assert (again.conversation.record.agent, again.conversation.record.profile) == ("rehearsal", "work")
        over = await again.say("echo")
        assert over.turn and over.turn.how is ContextSource.RESUMED
        assert again.window.session.agent_title == "Rehearsal (work)"


async def test_m14_a_profile_that_is_gone_is_missing_and_no_other_account_answers_for_it(
    world: World,
) -> None:
    async with world.client(specs={"work": profile(world, "work")}, agent="work") as desk:
        await desk.say("say one")
    prompts = len(world.prompts())
    async with world.client(resume=desk) as again:
        over = await again.say("say two")
        assert over.turn is None and over.problem and "rehearsal (work)" in over.problem.text
        assert len(world.prompts()) == prompts
        assert (await again.stored_window()).draft == "say two"


async def test_m14_settings_come_along_to_another_profile(world: World) -> None:
    work = profile(world, "work")
    async with world.client(specs={"work": work}) as desk:
        await desk.window.prepare()
        await desk.window.set_option("model", "chorus")
        await desk.say("say one")
        await desk.window.set_agent(work)
        await desk.say("say two")
        assert desk.window.session.model == "Chorus"


SETTINGS = """
[agents.rehearsal]
env = { SHARED = "yes", WHO = "nobody" }

[agents.work]
agent = "rehearsal"
profile = "office"
env = { WHO = "work" }

[agents.home]
agent = "rehearsal"
title = "At home"

[agents.mine]
command = "my-agent --acp"

[agents.mine-too]
agent = "mine"
"""


def test_m14_a_profile_runs_its_agents_command_with_its_own_environment(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(SETTINGS)
    settings = load_settings(path)
    assert settings.agents["home"] == AgentSetting("home", title="At home", agent="rehearsal", profile="home")
    rehearsal, work = find_agent("rehearsal", settings), find_agent("work", settings)
    assert (work.name, work.profile, work.title) == ("rehearsal", "office", "Rehearsal (office)")
    assert work.command == rehearsal.command
    assert dict(work.env) == {"SHARED": "yes", "WHO": "work"}
    assert dict(rehearsal.env) == {"SHARED": "yes", "WHO": "nobody"}
    for name in ("rehearsal", "work", "home", "mine", "mine-too"):
        spec = find_agent(name, settings)
        assert stored_agent(spec.name, spec.profile, settings) == spec
        assert stored_agent_name(spec.name, spec.profile, settings) == name
        assert default_agent(settings, (spec.name, spec.profile)) == spec
    with pytest.raises(AgentMissing, match="this profile is no longer in the settings"):
        stored_agent("rehearsal", "elsewhere", settings)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('[agents.w]\nprofile = "work"', 2, "`agents.w.profile` needs `agent`"),
        (
            '[agents.w]\nagent = "claude"\ncommand = "x"',
            3,
            "`agents.w.command` cannot be combined with `agent`",
        ),
        (
            '[agents.w]\nagent = "nobody"',
            2,
            '`agents.w.agent` "nobody" is not an agent that can have profiles',
        ),
        ('[agents.claude]\nagent = "codex"', 2, "`agents.claude.agent` is already the name"),
        (
            '[agents.w]\nagent = "claude"\n\n[agents.v]\nagent = "w"',
            5,
            '`agents.v.agent` "w" is not an agent',
        ),
        (
            '[agents.w]\nagent = "claude"\nprofile = "a"\n[agents.v]\nagent = "claude"\nprofile = "a"',
            6,
            '`agents.v.profile` "a" is already used by [agents.w]',
        ),
        ("[agents.w]\nagent = 7", 2, "`agents.w.agent` must be a non-empty string"),
    ],
)
def test_m14_a_mistake_in_a_profile_is_named_with_file_and_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(InvalidSettings) as refused:
        load_settings(path)
    assert str(refused.value).startswith(f"{path}:{line}: {why}"), str(refused.value)


def test_m14_run_takes_a_profile_by_its_name_and_goes_on_with_it(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    log = tmp_path / "heard.jsonl"
    homes = {name: tmp_path / name for name in ("one", "two")}
    catena.settings(
        'park = "off"\n'
        + "".join(
            f'[agents.{name}]\nagent = "rehearsal"\n'
            f'env = {{ CATENA_REHEARSAL_HOME = "{home}", CATENA_REHEARSAL_LOG = "{log}" }}\n'
            for name, home in homes.items()
        )
    )
    assert catena("run", "--agent", "one", "say one").status == 0
    assert catena("run", "--continue", "say two").status == 0
    assert catena("run", "--continue", "--agent", "two", "say three").status == 0
    whole = shown(catena, newest(catena))
    assert [turn["how"] for turn in whole["turns"]] == ["fresh", "resumed", "told"]
    assert [link["profile"] for link in whole["links"]] == ["one", "two"]
    assert whole["conversation"]["profile"] == "two"
    assert [len(list((home / "sessions").iterdir())) for home in homes.values()] == [1, 1]
    listed = {line["name"]: line for line in catena("agents", "--json").json}
    assert listed["one"]["found"] and listed["one"]["title"] == "Rehearsal (one)"
    said = json_lines(log)
    assert sum(entry.get("method") == "session/prompt" for entry in said) == 3
