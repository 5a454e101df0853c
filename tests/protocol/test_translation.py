"""Updates and handshakes as events and abilities: the pure part, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from catena_acp.port.abilities import AuthMethod, ImageLimits
from catena_acp.port.session_events import (
    AgentCommand,
    CommandsChanged,
    ContextCompacted,
    Event,
    Location,
    ModelRetried,
    ModesChanged,
    NoticeReported,
    OtherContent,
    PlanChanged,
    PlanEntry,
    TextChunk,
    TitleChanged,
    ToolCallChanged,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
    UnknownUpdate,
    UsageReported,
)
from catena_acp.protocol.answers import abilities_of
from catena_acp.protocol.session_updates import events_of, permission_of, retry_of

ENTRIES = [{"content": "a", "status": "blocked", "priority": "high"}, {"content": "b"}, {"status": "no text"}]
PLANNED = (PlanEntry("a", "blocked", "high"), PlanEntry("b", "pending", "medium"))


@pytest.mark.parametrize(
    ("update", "event"),
    [
        (
            {
                "sessionUpdate": "user_message_chunk",
                "content": {"type": "text", "text": "q"},
                "messageId": "m",
            },
            TextChunk("user", "q", "m"),
        ),
        (
            {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}},
            TextChunk("thought", "hm", None),
        ),
        ({"sessionUpdate": "plan", "entries": ENTRIES}, PlanChanged(PLANNED)),
        (
            {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": ENTRIES}},
            PlanChanged(PLANNED, "p"),
        ),
        ({"sessionUpdate": "plan_removed", "planId": "p"}, PlanChanged((), "p")),
        (
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {"name": "web", "description": "search", "input": {"hint": "what"}},
                    {"name": "x"},
                    {},
                ],
            },
            CommandsChanged((AgentCommand("web", "search", "what"), AgentCommand("x", "", None))),
        ),
        ({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, ModesChanged("plan")),
        ({"sessionUpdate": "session_info_update", "title": "T"}, TitleChanged("T")),
        ({"sessionUpdate": "session_info_update", "title": None}, TitleChanged(None)),
        (
            {
                "sessionUpdate": "usage_update",
                "used": 10,
                "size": 200_000,
                "cost": {"amount": 0.5, "currency": "USD"},
            },
            UsageReported(10, 200_000, 0.5, "USD"),
        ),
        ({"sessionUpdate": "usage_update", "used": 1, "size": 2}, UsageReported(1, 2, None, None)),
        ({"sessionUpdate": "notice", "title": "Moved"}, NoticeReported("Moved", "info")),
        (
            {
                "sessionUpdate": "compaction_update",
                "status": "completed",
                "summary": [{"type": "text", "text": "short"}],
            },
            ContextCompacted("short", "completed"),
        ),
        (
            {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": [1]},
            ToolCallChanged("t", status="completed", raw_output=[1]),
        ),
    ],
)
def test_an_update_is_the_event_that_it_means(update: dict[str, Any], event: Event) -> None:
    assert events_of(update) == (event,)


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}},
        {"sessionUpdate": "session_info_update", "updatedAt": "2026-01-01T00:00:00Z"},
    ],
)
def test_an_update_that_says_nothing_is_no_event(update: dict[str, Any]) -> None:
    assert events_of(update) == ()


@pytest.mark.parametrize(
    "kind",
    [
        "user_message_chunk",
        "tool_call",
        "plan",
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "usage_update",
        "notice",
        "compaction_summary_chunk",
        "subagent_update",
    ],
)
@pytest.mark.parametrize(
    "odd", [{}, {"content": 7}, {"entries": {}}, {"used": True, "size": -1}, {"plan": []}]
)
def test_an_update_that_cannot_be_understood_is_kept_whole(kind: str, odd: dict[str, Any]) -> None:
    update = {"sessionUpdate": kind, **odd}
    assert events_of(update) == (UnknownUpdate(kind, update),)


@pytest.mark.parametrize(
    ("told", "retried"),
    [
        ({"category": "rate_limited", "detail": "HTTP 429"}, ModelRetried("rate_limited", 429)),
        ({"category": "connection", "detail": "ConnectError"}, ModelRetried("connection")),
        ({"category": "\x1b[2J" * 9_999, "detail": "HTTP 999"}, ModelRetried("unknown")),
        ({"category": ["rate_limited"], "detail": {"HTTP": 429}}, ModelRetried("unknown")),
        ({}, ModelRetried("unknown")),
    ],
)
def test_what_vibe_tells_of_a_call_of_its_model_is_one_of_our_reasons(
    told: dict[str, Any], retried: ModelRetried
) -> None:
    assert retry_of(told) == retried


@pytest.mark.parametrize(
    ("info", "retried"),
    [
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, ModelRetried("rate_limited", 429)),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, ModelRetried("connection")),
        ({"httpConnectionFailed": {"httpStatusCode": 502}}, ModelRetried("server_error", 502)),
        ("serverOverloaded", ModelRetried("server_error")),
        ({"other": {"httpStatusCode": 10**400}}, ModelRetried("unknown")),
        ({"other": {"httpStatusCode": True}}, ModelRetried("unknown")),
        ({"\x1b[2J": "\x1b[2J"}, ModelRetried("unknown")),
        ({}, ModelRetried("unknown")),
        (["serverOverloaded"], ModelRetried("unknown")),
        (None, ModelRetried("unknown")),
    ],
)
def test_what_codex_tells_of_a_call_of_its_model_is_one_of_our_reasons(
    info: object, retried: ModelRetried
) -> None:
    error = {"message": "\x1b[2J", "codexErrorInfo": info, "turnId": "t", "willRetry": True}
    update = {"sessionUpdate": "session_info_update", "_meta": {"codex": {"error": error}}}
    assert events_of(update) == (retried,)
    assert events_of({**update, "title": "T"}) == (retried, TitleChanged("T"))
    error["willRetry"] = False
    assert events_of(update) == ()


@pytest.mark.parametrize("kind", [None, 7, ["a"], {"b": 1}])
def test_a_kind_that_is_no_word_is_unknown(kind: object) -> None:
    (event,) = events_of({"sessionUpdate": kind})
    assert isinstance(event, UnknownUpdate)


@pytest.mark.parametrize(
    ("block", "kind", "described"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "A" * 4096}, "image", "image, image/png, 3 KiB"),
        (
            {"type": "resource_link", "name": "a.py", "uri": "file:///a.py", "size": 12},
            "resource_link",
            "resource link, a.py, file:///a.py, 12 bytes",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///b", "text": "x" * 3_000_000}},
            "resource",
            "resource, file:///b, 2.9 MiB",
        ),
        ({"type": "hologram"}, "hologram", "hologram"),
    ],
)
def test_content_that_is_not_text_is_described_in_one_line(
    block: dict[str, Any], kind: str, described: str
) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": block, "messageId": "m"}
    assert events_of(update) == (OtherContent("agent", kind, described, "m", block),)


def test_w07_a_tool_call_keeps_its_places_and_every_kind_of_content() -> None:
    (event,) = events_of(
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Edit",
            "locations": [{"path": "/a", "line": 3}, {"path": "/b"}, {"line": 1}, "odd"],
            "content": [
                {"type": "content", "content": {"type": "text", "text": "out"}},
                {"type": "content", "content": {"type": "image", "data": "", "mimeType": "image/png"}},
                {"type": "diff", "path": "/a", "oldText": None, "newText": "new"},
                {"type": "terminal", "terminalId": "term"},
                {"type": "diff", "path": "/a"},
            ],
        }
    )
    assert isinstance(event, ToolCallChanged)
    assert event.locations == (Location("/a", 3), Location("/b", None))
    assert event.content == (
        ToolText("out"),
        ToolOther("image", "image, image/png"),
        ToolDiff("/a", None, "new"),
        ToolTerminal("term"),
        ToolOther("diff", "diff"),
    )


def test_a_tool_call_says_what_changed_and_leaves_the_rest() -> None:
    (event,) = events_of({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": []})
    assert event == ToolCallChanged("t", content=())


def test_a_permission_without_anything_in_it_is_still_one() -> None:
    asked = permission_of("a", {})
    assert (asked.ask_id, asked.tool_call, asked.options) == ("a", ToolCallChanged(""), ())


# Handshakes, as real agents answer them.


def test_an_answer_with_nothing_in_it_offers_nothing() -> None:
    abilities = abilities_of({"protocolVersion": 1})
    assert (abilities.name, abilities.load, abilities.fork, abilities.auth_methods) == ("", False, False, ())


@pytest.mark.parametrize("odd", [{}, {"protocolVersion": "1"}, {"protocolVersion": True}])
def test_an_answer_without_a_version_is_no_handshake(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="version"):
        abilities_of(odd)


def test_what_is_odd_in_an_answer_counts_as_absent() -> None:
    abilities = abilities_of(
        {
            "protocolVersion": 1,
            "agentInfo": "me",
            "agentCapabilities": {"loadSession": "yes", "sessionCapabilities": {"fork": None, "list": False}},
            "authMethods": [7, {"name": "no id"}],
        }
    )
    assert not (abilities.load or abilities.fork or abilities.list or abilities.auth_methods)


def test_w05_the_limits_of_an_agent_for_images_are_known_where_it_tells_them() -> None:
    def limits(told: object) -> ImageLimits:
        able = {"_meta": {"imageCapability": told}}
        return abilities_of({"protocolVersion": 1, "agentCapabilities": able}).image_limits

    assert limits({"maxBytes": 10380902, "maxImagesPerTurn": 4}) == ImageLimits(10380902, 4)
    assert limits({"maxBytes": "many", "maxImagesPerTurn": -1}) == limits(None) == ImageLimits()


def test_everything_that_an_agent_advertises_is_known() -> None:
    abilities = abilities_of(
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "auth": {"logout": {}},
                "loadSession": True,
                "sessionCapabilities": {
                    name: {}
                    for name in ("additionalDirectories", "close", "delete", "fork", "list", "resume")
                },
            },
            "agentInfo": {
                "name": "@agentclientprotocol/claude-agent-acp",
                "title": "Claude Agent",
                "version": "0.100.0",
            },
            "_meta": {"steering": {"supported": True}},
        }
    )
    offered = {name for name in abilities.__dataclass_fields__ if getattr(abilities, name) is True}
    assert offered == {
        "load",
        "resume",
        "fork",
        "list",
        "close",
        "delete",
        "logout",
        "additional_directories",
        "image",
        "embedded_context",
        "mcp_http",
        "mcp_sse",
        "steering",
    }
    assert abilities.quirks.fork_at_key == "air"


def test_what_an_agent_can_and_does_not_say_is_known_too() -> None:
    abilities = abilities_of({"protocolVersion": 1, "agentInfo": {"name": "@mistralai/mistral-vibe"}})
    assert abilities.resume


@pytest.mark.parametrize(
    ("method", "known"),
    [
        ({"id": "a", "name": "A"}, AuthMethod("a", "A", None, "agent")),
        (
            {"id": "t", "name": "T", "type": "terminal", "args": ["login"], "env": {"X": "1"}},
            AuthMethod("t", "T", None, "terminal", args=("login",), env=(("X", "1"),)),
        ),
        (
            {
                "id": "copilot-login",
                "name": "Log in",
                "_meta": {"terminal-auth": {"command": "copilot", "args": ["login"]}},
            },
            AuthMethod("copilot-login", "Log in", None, "terminal", command=("copilot", "login")),
        ),
        (
            {"id": "openai", "name": "Key", "_meta": {"type": "terminal", "args": ["--auth-type=openai"]}},
            AuthMethod("openai", "Key", None, "terminal", args=("--auth-type=openai",)),
        ),
        (
            {"id": "e", "name": "E", "type": "env_var", "vars": [{"name": "CODEX_API_KEY"}, {}]},
            AuthMethod("e", "E", None, "env_var", variables=("CODEX_API_KEY",)),
        ),
    ],
)
def test_w13_a_way_to_log_in_is_known_in_all_its_forms(method: dict[str, Any], known: AuthMethod) -> None:
    assert abilities_of({"protocolVersion": 1, "authMethods": [method]}).auth_methods == (known,)
