"""Sessions over the protocol: opened, replayed, forked, set, closed, and what an agent says when it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catena_acp.agents.running_agent import Agent
from catena_acp.errors import AgentRefused, AgentSilent, LoginNeeded, NotOffered, ProtocolBroken, SessionGone
from catena_acp.port.port import Limits
from catena_acp.port.session_events import (
    CommandsChanged,
    ConfigChoice,
    Event,
    ListedSession,
    ModesChanged,
    Option,
    OptionsChanged,
    TextBlock,
    TextChunk,
    TitleChanged,
)
from catena_acp.protocol.delivery import MAX_UNCLAIMED_SESSIONS
from support.clients.protocol import HELLO, heard, place, scripted, text_of, until


def listening(agent: Agent, session_id: str) -> list[Event]:
    events: list[Event] = []
    agent.listen(session_id, events.append)
    return events


TAKES_DIRECTORIES = """
def initialize(agent, request):
    sessions = {**CAPABILITIES["sessionCapabilities"], "additionalDirectories": {}}
    able = {**CAPABILITIES, "sessionCapabilities": sessions, "mcpCapabilities": {"http": True}}
    agent.send(agent.result(request, {"protocolVersion": 1, "agentCapabilities": able}))
"""


async def test_w15_an_agent_that_does_not_offer_further_directories_is_sent_none(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        await agent.new_session(place(tmp_path, additional_directories=("/more",)))
    (call,) = heard(tmp_path, "session/new")
    assert "additionalDirectories" not in call["params"]


async def test_w14_an_agent_is_sent_no_server_over_a_transport_that_it_does_not_offer(tmp_path: Path) -> None:
    servers: tuple[dict[str, object], ...] = (
        {"type": "sse", "name": "far", "url": "http://h", "headers": []},
        {"type": "http", "name": "near", "url": "http://h", "headers": []},
    )
    async with scripted(tmp_path, TAKES_DIRECTORIES) as agent:
        await agent.new_session(place(tmp_path, mcp_servers=servers))
    (call,) = heard(tmp_path, "session/new")
    assert [each["name"] for each in call["params"]["mcpServers"]] == ["near"]


async def test_what_a_session_is_opened_with_reaches_the_agent(tmp_path: Path) -> None:
    servers: tuple[dict[str, object], ...] = (
        {"name": "local", "command": "srv", "args": [], "env": []},
        {"type": "http", "name": "far", "url": "http://h", "headers": [{"name": "a", "value": "b"}]},
    )
    where = place(tmp_path, additional_directories=("/more",), mcp_servers=servers)
    async with scripted(tmp_path, TAKES_DIRECTORIES) as agent:
        await agent.new_session(where)
        await agent.fork_session("s1", where)
    for method in ("session/new", "session/fork"):
        (call,) = heard(tmp_path, method)
        assert call["params"]["cwd"] == str(tmp_path)
        assert call["params"]["additionalDirectories"] == ["/more"]
        first, second = call["params"]["mcpServers"]
        assert first == {"name": "local", "command": "srv", "args": [], "env": []}
        assert (second["type"], second["url"]) == ("http", "http://h")


async def test_a_new_session_always_names_its_servers_even_where_there_are_none(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        await agent.new_session(place(tmp_path))
    (call,) = heard(tmp_path, "session/new")
    assert call["params"]["mcpServers"] == []


REPLAY = """
def replay(agent, request, session):
    agent.send(
        agent.text(session, "one", "user_message_chunk"), agent.text(session, "two"),
        agent.update(session, "available_commands_update", availableCommands=[{"name": "go", "description": "d"}]),
        agent.update(session, "session_info_update", title="Old"),
        agent.result(request, {"sessionId": session}),
        agent.text(session, "after"),
    )

def session_load(agent, request): replay(agent, request, request["params"]["sessionId"])
session_resume = session_load
def session_fork(agent, request): replay(agent, request, "forked")
"""


@pytest.mark.parametrize("way", ["load", "resume", "fork"])
async def test_f11_what_is_told_before_the_answer_is_the_replay_and_is_told_to_nobody(
    tmp_path: Path, way: str
) -> None:
    async with scripted(tmp_path, REPLAY) as agent:
        events = listening(agent, "old")
        match way:
            case "load":
                opened = await agent.load_session("old", place(tmp_path))
            case "resume":
                opened = await agent.resume_session("old", place(tmp_path))
            case _:
                opened = await agent.fork_session("old", place(tmp_path))
                events = listening(agent, "forked")
        await until(lambda: text_of(events))
    assert [type(event) for event in opened.replay] == [TextChunk, TextChunk, CommandsChanged, TitleChanged]
    assert [type(event) for event in events] == [CommandsChanged, TitleChanged, TextChunk]
    assert text_of(events) == "after"


async def test_h11_a_long_replay_comes_whole_and_joined(tmp_path: Path) -> None:
    script = """
    def session_load(agent, request):
        updates = []
        for n in range(500):
            updates += [agent.text("s", f"q{n}", "user_message_chunk")]
            updates += [agent.text("s", f"{n}.{k} ") for k in range(20)]
        agent.send(*updates, agent.result(request, None))
    """
    async with scripted(tmp_path, script) as agent:
        opened = await agent.load_session("s", place(tmp_path))
    texts = [event.text for event in opened.replay if isinstance(event, TextChunk) and event.role == "user"]
    assert texts == [f"q{n}" for n in range(500)]
    assert len(opened.replay) < 2 * 500 + 200
    whole = "".join(e.text for e in opened.replay if isinstance(e, TextChunk) and e.role == "agent")
    assert whole == "".join(f"{n}.{k} " for n in range(500) for k in range(20))


@pytest.mark.parametrize("answer", ["None", "{}", "[]", "7", '{"sessionId": None}'])
@pytest.mark.parametrize("method", ["session_load", "session_resume", "session_set_mode", "session_close"])
async def test_r07_an_answer_that_says_nothing_is_a_yes(tmp_path: Path, method: str, answer: str) -> None:
    script = f"def {method}(agent, request): agent.send(agent.result(request, {answer}))"
    async with scripted(tmp_path, script) as agent:
        match method:
            case "session_load":
                assert (await agent.load_session("a", place(tmp_path))).session_id == "a"
            case "session_resume":
                assert (await agent.resume_session("a", place(tmp_path))).session_id == "a"
            case "session_set_mode":
                await agent.set_mode("a", "plan")
            case _:
                await agent.close_session("a")
    assert heard(tmp_path, method.replace("_", "/", 1))


async def test_r07_another_id_in_the_answer_is_told_as_it_is(tmp_path: Path) -> None:
    script = 'def session_load(agent, request): agent.send(agent.result(request, {"sessionId": "other"}))'
    async with scripted(tmp_path, script) as agent:
        assert (await agent.load_session("asked", place(tmp_path))).session_id == "other"


@pytest.mark.parametrize(
    "answer", ['{"sessionId": ""}', '{"sessionId": "  "}', '{"sessionId": 7}', "{}", "None"]
)
async def test_m02_a_blank_id_is_never_taken_for_one(tmp_path: Path, answer: str) -> None:
    script = f"def session_new(agent, request): agent.send(agent.result(request, {answer}))\nsession_fork = session_new"
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(ProtocolBroken):
            await agent.new_session(place(tmp_path))
        with pytest.raises(ProtocolBroken):
            await agent.fork_session("s", place(tmp_path))


async def test_what_is_told_of_a_session_before_anybody_listens_comes_first(tmp_path: Path) -> None:
    script = """
    def session_new(agent, request):
        agent.send(agent.text("n", "early "), agent.result(request, {"sessionId": "n"}), agent.text("n", "late"))
    """
    async with scripted(tmp_path, script) as agent:
        opened = await agent.new_session(place(tmp_path))
        assert opened.replay == ()
        events = listening(agent, "n")
        await until(lambda: text_of(events) == "early late")


async def test_sessions_that_an_agent_makes_up_are_let_go_after_some(tmp_path: Path) -> None:
    script = """
    def session_prompt(agent, request):
        agent.send(*[agent.text(f"made-up-{n}", "x") for n in range(500)], agent.text("s1", "mine"))
        agent.send(agent.result(request, {"stopReason": "end_turn"}))
    """
    lines: list[str] = []
    async with scripted(tmp_path, script, log=lines.append) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        events = listening(agent, session_id)
        await agent.prompt(session_id, HELLO)
        assert text_of(events) == "mine"
        assert not listening(agent, "made-up-0")
        assert listening(agent, "made-up-499")
    assert len([line for line in lines if "let go" in line]) == 500 - MAX_UNCLAIMED_SESSIONS


async def test_a_listener_that_left_hears_nothing_more_and_the_next_one_hears_what_it_missed(
    tmp_path: Path,
) -> None:
    async with scripted(tmp_path) as agent:
        session_id = (await agent.new_session(place(tmp_path))).session_id
        first: list[Event] = []
        leave = agent.listen(session_id, first.append)
        leave()
        leave()
        await agent.prompt(session_id, HELLO)
        assert not first
        assert text_of(listening(agent, session_id)) == "you said hello"


# Forks at a message.


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        (
            "@agentclientprotocol/claude-agent-acp",
            {"jetbrains": {"air": {"fork": {"version": 1, "messageId": "m7"}}}},
        ),
        ("@mistralai/mistral-vibe", {"messageId": "m7"}),
        ("never heard of", {"jetbrains": {"air": {"fork": {"version": 1, "messageId": "m7"}}}}),
    ],
)
async def test_f10_a_fork_at_a_message_names_it_in_the_way_of_the_agent(
    tmp_path: Path, name: str, meta: dict[str, Any]
) -> None:
    script = f"""
    def initialize(agent, request):
        able = {{"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "agentInfo": {{"name": "{name}"}}}}
        agent.send(agent.result(request, able))
    def session_fork(agent, request): agent.send(agent.result(request, {{"sessionId": "f"}}))
    """
    async with scripted(tmp_path, script) as agent:
        await agent.fork_session("s", place(tmp_path))
        await agent.fork_session("s", place(tmp_path), at="m7")
    head, past = heard(tmp_path, "session/fork")
    assert "_meta" not in head["params"]
    assert past["params"]["_meta"] == meta
    assert past["params"]["sessionId"] == "s"


# Options, and the models of older agents.

OPTIONS = """
def options(effort):
    return [{"id": "effort", "name": "Effort", "type": "select", "category": "strange", "currentValue": effort,
             "options": [{"group": "g", "name": "Group", "options": [{"value": "low", "name": "Low"}]},
                         {"value": "high", "name": "High", "description": "slow"}]},
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False},
            {"id": "odd", "type": "slider", "currentValue": "3"}, {"id": 7}, "nonsense"]

MODELS = {"currentModelId": "big", "availableModels": [{"modelId": "big", "name": "Big"}, {"modelId": "small"}]}

def session_new(agent, request):
    agent.send(agent.result(request, {"sessionId": "s", "configOptions": options("low"), "models": MODELS,
        "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "auto"}]}}))

def session_set_config_option(agent, request):
    agent.send(agent.result(request, {"configOptions": options(request["params"]["value"])}))

def session_prompt(agent, request):
    agent.send(agent.update("s", "config_option_update", configOptions=options("high")),
               agent.result(request, {"stopReason": "end_turn"}))
"""

MODEL = Option(
    "model", "Model", "model", "select", "big", (ConfigChoice("big", "Big"), ConfigChoice("small", "small"))
)


async def test_w02_modes_options_and_the_models_of_older_agents_are_all_offered(tmp_path: Path) -> None:
    async with scripted(tmp_path, OPTIONS) as agent:
        opened = await agent.new_session(place(tmp_path))
    assert opened.modes == ModesChanged("ask", (ConfigChoice("ask", "Ask"), ConfigChoice("auto", "auto")))
    effort = Option(
        "effort",
        "Effort",
        "strange",
        "select",
        "low",
        (ConfigChoice("low", "Low", None, "Group"), ConfigChoice("high", "High", "slow")),
    )
    fast = Option("fast", "Fast", None, "boolean", False, ())
    assert opened.options == (MODEL, effort, fast, Option("odd", "odd", None, "slider", "3", ()))


async def test_w02_options_are_set_each_in_its_way(tmp_path: Path) -> None:
    async with scripted(tmp_path, OPTIONS) as agent:
        await agent.new_session(place(tmp_path))
        events = listening(agent, "s")

        async def values(option_id: str, value: str | bool) -> dict[str, object]:
            return {option.id: option.value for option in await agent.set_option("s", option_id, value)}

        assert (await values("effort", "high"))["effort"] == "high"
        assert await values("model", "small") == {
            "model": "small",
            "effort": "high",
            "fast": False,
            "odd": "3",
        }
        await values("fast", True)
        await agent.prompt("s", HELLO)
        (changed,) = events
        assert isinstance(changed, OptionsChanged)
        assert (changed.options[0].id, changed.options[0].value) == ("model", "small")
    assert [call["params"] for call in heard(tmp_path, "session/set_config_option")] == [
        {"sessionId": "s", "configId": "effort", "value": "high"},
        {"sessionId": "s", "configId": "fast", "value": True, "type": "boolean"},
    ]
    (model,) = heard(tmp_path, "session/set_model")
    assert model["params"] == {"sessionId": "s", "modelId": "small"}


async def test_an_option_for_the_model_makes_the_older_way_unneeded(tmp_path: Path) -> None:
    script = """
    def session_new(agent, request):
        option = {"id": "model", "name": "M", "type": "select", "category": "model", "currentValue": "a", "options": []}
        models = {"currentModelId": "a", "availableModels": []}
        agent.send(agent.result(request, {"sessionId": "s", "configOptions": [option], "models": models}))
    """
    async with scripted(tmp_path, script) as agent:
        opened = await agent.new_session(place(tmp_path))
        assert [option.name for option in opened.options] == ["M"]
        # The agent answers with nothing: what was set is so.
        (option,) = await agent.set_option("s", "model", "b")
        assert option.value == "b"
    assert not heard(tmp_path, "session/set_model")


# Lists, ends, logins, steering.


async def test_h04_the_agents_own_sessions_are_listed_page_by_page(tmp_path: Path) -> None:
    script = """
    def session_list(agent, request):
        page = {"sessions": [{"sessionId": "a", "cwd": "/w", "title": "T", "updatedAt": "then"}, {"cwd": "/no id"}],
                "nextCursor": "2"}
        last = {"sessions": [{"sessionId": "b", "cwd": None}], "nextCursor": None}
        agent.send(agent.result(request, last if request["params"].get("cursor") else page))
    """
    async with scripted(tmp_path, script) as agent:
        first = await agent.list_sessions(cwd="/w")
        assert first.sessions == (ListedSession("a", "/w", "T", "then"),)
        last = await agent.list_sessions(cwd="/w", cursor=first.next)
        assert (last.sessions, last.next) == ((ListedSession("b", "", None, None),), None)
    assert heard(tmp_path, "session/list")[1]["params"] == {"cwd": "/w", "cursor": "2"}


async def test_deleting_logging_in_and_logging_out_reach_the_agent(tmp_path: Path) -> None:
    async with scripted(tmp_path) as agent:
        await agent.delete_session("s")
        await agent.authenticate("key")
        await agent.logout()
    calls = {call["method"]: call for call in heard(tmp_path)}
    assert calls["session/delete"]["params"] == {"sessionId": "s"}
    assert calls["authenticate"]["params"] == {"methodId": "key"}
    assert calls["logout"]["params"] == {}


async def test_w16_something_can_be_said_into_a_turn_where_that_is_offered(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        agent.send(agent.result(request, {"protocolVersion": 1, "_meta": {"steering": {"supported": True}}}))
    def _session_steering(agent, request):
        agent.send(agent.result(request, {"outcome": "injected"}))
    """
    async with scripted(tmp_path, script) as agent:
        assert await agent.steer("s", (TextBlock("also"),)) == "injected"
    (call,) = heard(tmp_path, "_session/steering")
    assert call["params"]["prompt"] == [{"type": "text", "text": "also"}]


async def test_f07_what_is_not_offered_is_not_even_asked(tmp_path: Path) -> None:
    script = 'def initialize(agent, request): agent.send(agent.result(request, {"protocolVersion": 1}))'
    async with scripted(tmp_path, script) as agent:
        calls = (
            agent.load_session("s", place(tmp_path)),
            agent.resume_session("s", place(tmp_path)),
            agent.fork_session("s", place(tmp_path)),
            agent.delete_session("s"),
            agent.list_sessions(),
            agent.logout(),
            agent.steer("s", HELLO),
        )
        for call in calls:
            with pytest.raises(NotOffered):
                await call
        await agent.close_session("s")
    assert [call["method"] for call in heard(tmp_path)] == ["initialize"]


async def test_a_refusal_to_close_is_no_error(tmp_path: Path) -> None:
    script = 'def session_close(agent, request): agent.send(agent.error(request, -32602, "no"))'
    async with scripted(tmp_path, script) as agent:
        await agent.close_session("s")
        assert agent.alive
    assert heard(tmp_path)[-1]["method"] == "session/close"


async def test_closing_takes_no_longer_than_it_may_and_an_opening_that_was_given_up_is_nobodys(
    tmp_path: Path,
) -> None:
    script = """
    def session_new(agent, request): agent.late = request
    def session_close(agent, request): agent.send(agent.result(agent.late, {"sessionId": "late"}))
    """
    async with scripted(tmp_path, script, limits=Limits(closing=0.2)) as agent:
        opening = asyncio.ensure_future(agent.new_session(place(tmp_path)))
        await until(lambda: heard(tmp_path, "session/new"))
        opening.cancel()
        with pytest.raises(AgentSilent):
            await agent.close_session("s")
        # The late answer is taken for nobody's, and the connection goes on.
        assert (await agent.prompt("s", HELLO)).stop_reason == "end_turn"


async def test_sessions_are_opened_side_by_side(tmp_path: Path) -> None:
    script = """
    waiting = []
    def session_new(agent, request):
        waiting.append(request)
        if len(waiting) == 2:
            for n, late in enumerate(reversed(waiting)):
                agent.send(agent.result(late, {"sessionId": late["params"]["cwd"]}))
    """
    async with scripted(tmp_path, script) as agent:
        other = tmp_path / "other"
        both = await asyncio.gather(agent.new_session(place(tmp_path)), agent.new_session(place(other)))
    assert [opened.session_id for opened in both] == [str(tmp_path), str(other)]


# Refusals, as ten real agents word them.

LOST = [
    (-32002, "Resource not found", {"sessionId": "s"}),
    (-32602, "session not found: s", None),
    (-32602, "Session not found: s", {"session_id": "s"}),
    (-32602, "Invalid params", {"session_id": "Session not found"}),
    (-32603, "Internal error", {"details": "no rollout found for thread id s"}),
    (-32603, "invalid session id: s", None),
    (-32603, "No previous sessions found for this project.", None),
    (-32603, "Claude Code returned an error result: --resume requires a valid session ID", None),
    (-32602, "Resource not found: Session s not found", {"uri": "s"}),
]
KEPT = [
    (-32603, "Internal error", None),
    (-32603, "API Error: 429 rate limit", {"errorKind": "rate_limit"}),
    (-32602, "Invalid params", None),
    (-32602, "MCP server command not found: npx", None),
    (-32603, "OpenCode service failure", {"service": "session"}),
    (-32603, "session s is archived. Run `codex unarchive s`", None),
    (429, "Too Many Requests", None),
]


@pytest.mark.parametrize(("code", "message", "data"), LOST)
async def test_r07_a_session_is_gone_where_the_agent_says_so(
    tmp_path: Path, code: int, message: str, data: object
) -> None:
    script = f"""
    def session_load(agent, request): agent.send(agent.error(request, {code}, {message!r}, {data!r}))
    """
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(SessionGone) as caught:
            await agent.load_session("s", place(tmp_path))
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(("code", "message", "data"), KEPT)
async def test_r07_a_session_is_not_gone_for_any_other_reason(
    tmp_path: Path, code: int, message: str, data: object
) -> None:
    script = f"""
    def session_load(agent, request): agent.send(agent.error(request, {code}, {message!r}, {data!r}))
    """
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(AgentRefused) as caught:
            await agent.load_session("s", place(tmp_path))
    assert type(caught.value) is AgentRefused


async def test_r07_opencode_says_nothing_more_than_that_its_service_failed(tmp_path: Path) -> None:
    script = """
    def initialize(agent, request):
        able = {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "agentInfo": {"name": "OpenCode"}}
        agent.send(agent.result(request, able))
    def session_load(agent, request):
        agent.send(agent.error(request, -32603, "OpenCode service failure", {"service": "session"}))
    session_prompt = session_load
    """
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(SessionGone):
            await agent.load_session("s", place(tmp_path))
        with pytest.raises(AgentRefused) as caught:
            await agent.prompt("s", HELLO)
    assert type(caught.value) is AgentRefused


async def test_an_unknown_message_mode_or_file_is_no_unknown_session(tmp_path: Path) -> None:
    script = """
    def session_fork(agent, request):
        agent.send(agent.error(request, -32602, "Fork point message m9 was not found in session s"))
    def session_set_mode(agent, request):
        agent.send(agent.error(request, -32602, "Invalid params", {"sessionId": "s", "error": "mode x not found"}))
    def session_prompt(agent, request):
        agent.send(agent.error(request, -32002, "Resource not found", {"uri": "file:///gone.py"}))
    def session_new(agent, request):
        agent.send(agent.error(request, -32002, "Session not found"))
    """
    async with scripted(tmp_path, script) as agent:
        for call in (
            agent.fork_session("s", place(tmp_path), at="m9"),
            agent.set_mode("s", "x"),
            agent.prompt("s", HELLO),
            agent.new_session(place(tmp_path)),
        ):
            with pytest.raises(AgentRefused) as caught:
                await call
            assert type(caught.value) is AgentRefused


async def test_r06_a_session_that_wants_a_login_says_so(tmp_path: Path) -> None:
    script = """
    def session_new(agent, request):
        agent.send(agent.error(request, -32000, "Authentication required", {"authMethods": []}))
    """
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(LoginNeeded):
            await agent.new_session(place(tmp_path))


async def test_a_method_that_is_offered_and_yet_not_there_is_not_offered(tmp_path: Path) -> None:
    script = (
        'def session_delete(agent, request): agent.send(agent.error(request, -32601, "Method not found"))'
    )
    async with scripted(tmp_path, script) as agent:
        with pytest.raises(NotOffered):
            await agent.delete_session("s")
