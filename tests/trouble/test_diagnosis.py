"""What is wrong with a turn, told apart by what agents really answer; and what only looks like it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from catena_acp.continuity.wording.problems import cut_off, offers_for, problem_of, problem_of_notice
from catena_acp.errors import (
    AgentError,
    AgentGone,
    AgentMissing,
    AgentRefused,
    AgentSilent,
    LoginNeeded,
    NotOffered,
    ProtocolBroken,
    SessionGone,
)
from catena_acp.port.session_events import TypedFailure
from catena_acp.trouble import diagnosis, reset_times
from catena_acp.trouble.diagnosis import diagnose, diagnose_failure, diagnose_words
from catena_acp.trouble.reset_times import end_in_data, end_in_words, format_time
from catena_acp.trouble.troubles import Diagnosis, Offer, Trouble
from catena_store.records import Kind, Message, MessageState
from support.counted_work import calls_counted

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")

RATE, CREDIT, OVERLOAD = Trouble.RATE_LIMIT, Trouble.CREDIT, Trouble.OVERLOAD
LOGIN, CONTEXT, REFUSED = Trouble.LOGIN_NEEDED, Trouble.CONTEXT_FULL, Trouble.REFUSED


def at(hour: int, minute: int = 0, day: int = 20, zone: Any = UTC) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=zone)


def in_seconds(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def gemini(code: int, status: str, message: str, *details: Any) -> str:
    return json.dumps(
        {"error": {"code": code, "message": message, "status": status, "details": list(details)}}
    )


# Which agent says it: code, message, data; what it is, and until when.
ANSWERS: dict[str, tuple[int, str, Any, Trouble, datetime | None]] = {
    "claude 429": (
        -32603,
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"fake 429"}}',
        {"errorKind": "rate_limit"},
        RATE,
        None,
    ),
    "claude 429, rejected": (
        -32603,
        "Internal error: API Error: Request rejected (429) · fake error (429)",
        {"errorKind": "rate_limit"},
        RATE,
        None,
    ),
    "claude 529, in many words": (
        -32603,
        "Internal error: API Error: 529 fake error (529). This is a server-side issue, usually temporary — try again"
        " in a moment. If it persists, check your inference gateway (127.0.0.1:33127).",
        None,
        OVERLOAD,
        None,
    ),
    "claude context, after its own compaction": (
        -32603,
        "Internal error: Prompt is too long",
        None,
        CONTEXT,
        None,
    ),
    "claude hit a limit": (
        -32603,
        "Internal error: You've hit your limit · resets 5pm (Europe/Berlin)",
        {"errorKind": "rate_limit"},
        RATE,
        at(17, zone=BERLIN),
    ),
    "claude weekly limit": (
        -32603,
        "Internal error: Weekly limit reached ∙ resets Nov 24, 9am (UTC)",
        None,
        RATE,
        at(9, day=24),
    ),
    "claude of old, with an epoch": (
        -32603,
        "Claude AI usage limit reached|1795185000",
        None,
        RATE,
        datetime.fromtimestamp(1795185000, UTC),
    ),
    "claude 529": (
        -32603,
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        {"errorKind": "server_error"},
        OVERLOAD,
        None,
    ),
    "claude 500": (
        -32603,
        "API Error: 500 Internal server error",
        {"errorKind": "server_error"},
        OVERLOAD,
        None,
    ),
    "claude credit": (
        -32603,
        "Internal error: Credit balance is too low",
        {"errorKind": "billing_error"},
        CREDIT,
        None,
    ),
    "claude credit as a 400": (
        -32603,
        "API Error: 400 Your credit balance is too low to access the Anthropic API.",
        {"errorKind": "unknown"},
        CREDIT,
        None,
    ),
    "claude extra usage": (
        -32603,
        "You're out of extra usage · resets Dec 1, 12am (UTC)",
        {"errorKind": "rate_limit"},
        CREDIT,
        datetime(2026, 12, 1, tzinfo=UTC),
    ),
    "claude context": (-32603, "API Error: 400 prompt is too long: 210000 tokens", None, CONTEXT, None),
    "claude 400": (-32603, "API Error: 400 fake bad request", {"errorKind": "unknown"}, REFUSED, None),
    "codex 401": (-32000, "Authentication required", None, LOGIN, None),
    "codex usage limit": (
        -32603,
        "You've hit your usage limit. Upgrade to Pro or try again in 3 hours 2 minutes.",
        {"codex_error_info": "usage_limit_exceeded"},
        RATE,
        in_seconds(3 * 3600 + 120),
    ),
    "zedcodex 429": (
        -32603,
        "Internal error",
        {
            "message": "exceeded retry limit, last status: 429 Too Many Requests",
            "codex_error_info": {"response_too_many_failed_attempts": {"http_status_code": 429}},
        },
        RATE,
        None,
    ),
    "zedcodex 500": (
        -32603,
        "Internal error",
        {"codex_error_info": {"http_connection_failed": {"http_status_code": 500}}},
        OVERLOAD,
        None,
    ),
    "zedcodex 401": (
        -32603,
        "Internal error",
        {"codex_error_info": {"http_connection_failed": {"http_status_code": 401}}},
        LOGIN,
        None,
    ),
    "zedcodex context": (
        -32603,
        "Internal error",
        {"codex_error_info": "context_window_exceeded"},
        CONTEXT,
        None,
    ),
    "zedcodex overloaded": (
        -32603,
        "Internal error",
        {"codex_error_info": "server_overloaded"},
        OVERLOAD,
        None,
    ),
    "gemini 429": (
        429,
        gemini(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ),
        None,
        RATE,
        in_seconds(34.5),
    ),
    "gemini 401": (401, gemini(401, "UNAUTHENTICATED", "fake 401"), None, LOGIN, None),
    "gemini 400 key": (
        400,
        gemini(400, "INVALID_ARGUMENT", "API key not valid. Pass one."),
        None,
        LOGIN,
        None,
    ),
    "gemini 400 context": (
        400,
        gemini(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        None,
        CONTEXT,
        None,
    ),
    "gemini 400": (400, gemini(400, "INVALID_ARGUMENT", "fake 400"), None, REFUSED, None),
    "gemini 500": (500, gemini(500, "INTERNAL", "fake 500"), None, OVERLOAD, None),
    "gemini cut": (500, "terminated", None, REFUSED, None),
    "gemini 503": (503, gemini(503, "UNAVAILABLE", "The model is overloaded."), None, OVERLOAD, None),
    "qwen 401": (-32603, "Internal error", {"details": "401 Incorrect API key provided"}, LOGIN, None),
    "qwen context": (
        -32603,
        "Internal error",
        {"details": "400 This model's maximum context length is 8192 tokens."},
        CONTEXT,
        None,
    ),
    "qwen empty": (
        -32603,
        "Internal error",
        {"details": "Model stream ended with empty response text."},
        REFUSED,
        None,
    ),
    "vibe 401": (-31002, "Invalid API key. Please check your configuration.", None, LOGIN, None),
    "opencode 401": (-32603, "Internal error: fake failure (401)", {"errorName": "APIError"}, LOGIN, None),
    "opencode 429": (-32603, "Internal error: fake failure (429)", {"errorName": "APIError"}, RATE, None),
    "opencode 429, in its own words": (-32603, "Internal error: fake error (429)", None, RATE, None),
    "opencode login": (-32603, "Internal error", {"errorName": "ProviderAuthError"}, LOGIN, None),
    "opencode context": (-32603, "Internal error", {"errorName": "ContextOverflowError"}, CONTEXT, None),
    "copilot quota": (-32603, "You have exceeded your premium request allowance.", None, CREDIT, None),
    "openai quota": (
        -32603,
        "429 You exceeded your current quota, please check your plan and billing details.",
        {"error": {"type": "insufficient_quota", "code": "insufficient_quota"}, "status": 429},
        CREDIT,
        None,
    ),
    "openai quota, in words alone": (
        -32603,
        "Error: You exceeded your current quota, please check your plan and billing details.",
        None,
        CREDIT,
        None,
    ),
    "openai rate": (
        -32603,
        "Rate limit reached for gpt-5 on requests per min. Please try again in 20s.",
        {"code": "rate_limit_exceeded"},
        RATE,
        in_seconds(20),
    ),
    "copilot rate": (
        -32603,
        "Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within"
        " a specific time period. Please try again in 2 hours.",
        None,
        RATE,
        in_seconds(7200),
    ),
    "copilot 402": (
        -32603,
        '402 {"error":{"message":"You have no quota","code":"quota_exceeded"}}',
        None,
        CREDIT,
        None,
    ),
    "codex purchase": (
        -32603,
        "You've hit your usage limit. Visit https://example.org/usage to purchase more credits or try again at"
        " Nov 24th, 2026 12:30 PM (UTC).",
        None,
        RATE,
        at(12, 30, day=24),
    ),
    "cursor month": (
        -32603,
        "You've hit your usage limit. Usage will reset when your monthly cycle ends on 12/1/2026.",
        None,
        CREDIT,
        None,
    ),
    "gemini capacity": (
        429,
        "You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.",
        None,
        RATE,
        in_seconds(8 * 3600 + 44 * 60 + 7),
    ),
    "gemini capacity, now": (
        429,
        "You have exhausted your capacity on this model. Your quota will reset after 0s.",
        None,
        RATE,
        None,
    ),
    "gemini exhausted": (429, "Resource has been exhausted (e.g. check quota).", None, RATE, None),
    "payment required": (-32603, "HTTP 402", None, CREDIT, None),
    "monthly cap": (-32603, "You have reached your monthly spending limit.", None, CREDIT, None),
    "retry after, in seconds": (-32603, "Too Many Requests", {"retry-after": "90"}, RATE, in_seconds(90)),
    "rehearsal ratelimit": (
        -32603,
        "You have reached your rate limit. It resets at 15:02 UTC.",
        {
            "errorKind": "rate_limit",
            "status": 429,
            "resetsAt": "2026-11-20T15:02:11+00:00",
            "retryAfter": 3600,
        },
        RATE,
        in_seconds(3600),
    ),
    "rehearsal credit": (
        -32603,
        "Your credit balance is too low for this month.",
        {"errorKind": "billing_error", "status": 402},
        CREDIT,
        None,
    ),
    "rehearsal overload": (
        -32603,
        "API Error: 529 Overloaded",
        {"errorKind": "overloaded", "status": 529},
        OVERLOAD,
        None,
    ),
    "a bare internal error": (-32603, "Internal error", None, REFUSED, None),
    "the status first": (-32603, "429 rate limit", None, RATE, None),
    "overload, the status first": (-32603, '529 {"type":"error"}', None, OVERLOAD, None),
    "our own words for it": (-32603, "rate limit exceeded (429)", None, RATE, None),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_what_agents_answer_is_told_apart(case: str) -> None:
    code, message, data, trouble, resets_at = ANSWERS[case]
    error = LoginNeeded(code, message, data) if code == -32000 else AgentRefused(code, message, data)
    assert diagnose(error, now=NOW) == Diagnosis(trouble, resets_at)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (AgentMissing("claude", "no such command"), Trouble.AGENT_MISSING),
        (AgentGone(-9), Trouble.AGENT_GONE),
        (AgentSilent("no answer to session/new within 60 s"), Trouble.AGENT_SILENT),
        (LoginNeeded(-32000, "Authentication required"), Trouble.LOGIN_NEEDED),
        (SessionGone(-32002, "Resource not found"), Trouble.SESSION_LOST),
        (NotOffered(-32601, "Method not found"), Trouble.REFUSED),
        (ProtocolBroken("no answer"), Trouble.NO_CARRIER),
    ],
)
def test_errors_of_ours_are_what_they_are(error: AgentError, trouble: Trouble) -> None:
    assert diagnose(error, now=NOW) == Diagnosis(trouble)


NEAR_MISSES: tuple[tuple[str, Any], ...] = (
    ("cannot read /srv/429/notes.txt", None),
    ("cannot read line 4290 of log-429.txt", None),
    ("tests/test_529.py failed", None),
    ("the ticket 401-B is not known", None),
    ("file too large: 4.29 MB", {"path": "/home/me/402/x", "line": 429}),
    ("Invalid params", {"code": 4290, "status": "ok"}),
    ("no such mode: rate-limited-mode", None),
    ("The credit card field is missing in form.html", None),
    ("quota.py: syntax error", None),
    ("the mode 'overload' is not offered", None),
    ("cannot limit the context: unknown option `length`", None),
    ("login.html: not found", None),
    ("Fork point message 5290 was not found", {"messageId": "5290"}),
    ("port 5030 is in use", {"port": 5030}),
    ("step 429 of 1000 failed", {"index": 503}),
    ("429 of 1000 steps failed", None),
    ("503 files are missing", {"details": "500 lines were too long"}),
)


@pytest.mark.parametrize(("message", "data"), NEAR_MISSES)
def test_a_number_in_a_path_and_a_word_by_chance_are_nothing(message: str, data: Any) -> None:
    assert diagnose(AgentRefused(-32603, message, data), now=NOW) == Diagnosis(REFUSED)


WORDS: tuple[tuple[str, Trouble, datetime | None], ...] = (
    ("exceeded retry limit, last status: 429 Too Many Requests", RATE, None),
    ("exceeded retry limit, last status: 529 <unknown status code>, request id: 429", OVERLOAD, None),
    ("We're currently experiencing high demand, which may cause temporary errors.", OVERLOAD, None),
    ("We\u2019re currently experiencing high demand, which may cause temporary errors.", OVERLOAD, None),
    ("Selected model is at capacity. Please try a different model.", OVERLOAD, None),
    ("unexpected status 401 Unauthorized: fake, url: http://127.0.0.1:9/v1", LOGIN, None),
    ("unexpected status 400 Bad Request: fake", REFUSED, None),
    ("stream disconnected before completion: error sending request", REFUSED, None),
    ("You've hit your usage limit. Try again at 4:15 PM (UTC).", RATE, at(16, 15)),
    ("You've hit your limit · resets 5pm (Europe/Berlin)", RATE, at(17, zone=BERLIN)),
    ("Claude AI usage limit reached|1795185000", RATE, datetime.fromtimestamp(1795185000, UTC)),
    ("5-hour limit reached ∙ resets 6:30pm (UTC)", RATE, at(18, 30)),
    ("You\u2019ve hit your limit for Claude messages. Limits will reset at 3:30 PM (UTC).", RATE, at(15, 30)),
    ("Sorry, you've hit a rate limit. Please try again in 2 hours.", RATE, in_seconds(7200)),
    ("[API Error: You have exhausted your daily quota on this model.]", RATE, None),
    ('Model call failed: {"message":"rate limit exceeded","code":"rate_limited"}', RATE, None),
    ("Execution failed: Failed to get response from the AI model; retried 5 times", REFUSED, None),
    (
        "Error: Failed to get response from the AI model; retried 5 times (total retry wait time: 5.40 seconds)"
        " Last error: 429 fake error (429)",
        RATE,
        None,
    ),
    (
        "I hit an internal error while calling the model: generic request failed for model 'fake-model' (code:"
        " rate_limit_exceeded) (status=429): Error code: 429 - {'error': {'message': 'fake error (429)',"
        " 'type': 'fake', 'param': None, 'code': 'rate_limit_exceeded'}}. See fast-agent-error for additional details.",
        RATE,
        None,
    ),
    ("Credit balance is too low", CREDIT, None),
    ("Quota exceeded. Check your plan and billing details.", CREDIT, None),
    ("Invalid API key · Please run /login", LOGIN, None),
    ("Not logged in · Please run /login", LOGIN, None),
    ("OAuth token has expired. Please obtain a new token.", LOGIN, None),
    ("Error: Authentication failed: the token is not valid.", LOGIN, None),
    ("Failed to authenticate. API Error: 401 fake error (401)", LOGIN, None),
    ("API Error: Request rejected (429) · fake error (429)", RATE, None),
    ("Error: 429 too many requests", RATE, None),
    ("Error: 400 fake bad request", REFUSED, None),
    ("API Error: 500 Internal server error", OVERLOAD, None),
    ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', OVERLOAD, None),
    ("API Error (Connection error.)", REFUSED, None),
    ("Prompt is too long", CONTEXT, None),
    ("Error: The provider rejected the prompt as too long", CONTEXT, None),
    (
        "Info: Request failed due to a transient API error. Retrying...\n"
        "Error: Authentication failed with provider openai",
        LOGIN,
        None,
    ),
    ("Info: Request failed (attempt 5).Error: Authentication failed with provider.", LOGIN, None),
    (
        '{"error": {"message": "Your input exceeds the context window of this model.", "type": "invalid_request_error",'
        ' "param": "input", "code": "context_length_exceeded"}}',
        CONTEXT,
        None,
    ),
    ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', OVERLOAD, None),
    ("Codex ran out of room in the model's context window. Start a new thread.", CONTEXT, None),
    ("■ You've hit your usage limit. Try again in 2 days 3 hours.", RATE, in_seconds(2 * 86400 + 3 * 3600)),
)


@pytest.mark.parametrize(("text", "trouble", "resets_at"), WORDS)
def test_r09_an_error_that_comes_as_an_answer_is_known_by_how_it_begins(
    text: str, trouble: Trouble, resets_at: datetime | None
) -> None:
    assert diagnose_words(text, now=NOW) == Diagnosis(trouble, resets_at)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done.",
        "The API answers 429 when you exceed the rate limit; back off and try again in 20s.",
        "`Error: 429 Too Many Requests` is what the server sends then.",
        "Error: 429 means that there were too many requests.",
        "Error: Failed to get responses is what the log says; the proxy is down.",
        "Error: 404 because the route is not registered.",
        "Error: your function is missing a return statement.",
        "Error: rate.py is missing an import.",
        "Error: too many arguments to the function on line 3.",
        "Error: authentication middleware is registered twice; remove one.",
        "Invalid API key format in config.py: the prefix must be there.",
        "Not logged in users see the landing page.",
        "Rate limit exceeded errors happen when a client is too fast.",
        "API error handling lives in api/errors.py.",
        "Error: file not found is printed by line 12.",
        "The session is not logged in, so the page redirects.",
        "You've hit your stride with this refactoring.",
        "You've reached a limit of the type checker here.",
        "You have reached a usage of 40 % with this change.",
        "I set the limit to 429 and the timeout to 529.",
        "Your credit balance is shown at the top.",
        "Prompt is too long errors are handled in prompt.py.",
        "Info: Request failed tests live in tests/requests.",
        '{"error": null, "result": 3}',
        '{"error": {"message": "the field is missing", "code": "missing_field"}}',
        'An answer: {"error": {"message": "too much", "code": "context_length_exceeded"}}',
        "exceeded retry limit, last status: 429 Too Many Requests\n"
        + "and here is what I did about it. " * 20,
    ],
)
def test_r09_an_answer_about_errors_is_no_error(text: str) -> None:
    assert diagnose_words(text, now=NOW) is None


@pytest.mark.parametrize(
    ("data", "end"),
    [
        ({"resetsAt": 1795185000}, datetime.fromtimestamp(1795185000, UTC)),
        ({"resetsAt": 1795185000000}, datetime.fromtimestamp(1795185000, UTC)),
        ({"error": {"resets_at": "1795185000"}}, datetime.fromtimestamp(1795185000, UTC)),
        ({"resetsAt": "2026-11-20T17:00:00Z"}, at(17)),
        ({"resetsAt": "2026-11-20T17:00:00"}, at(17)),
        ({"resetsAt": "2026-11-20 17:00 UTC"}, at(17)),
        ({"resetsAt": "2026-11-20T18:00:00+01:00"}, at(17)),
        ({"headers": {"Retry-After": "120"}}, in_seconds(120)),
        ({"headers": {"retry-after": "Fri, 20 Nov 2026 15:00:00 GMT"}}, at(15)),
        ({"retryAfter": 30.5}, in_seconds(30.5)),
        ({"retry_after_ms": 1500}, in_seconds(1.5)),
        ({"resets_in_seconds": 600}, in_seconds(600)),
        ([{"retryDelay": "1m30s"}], in_seconds(90)),
        ({"resetsAt": "2026-11-20T14:00:00Z"}, None),  # past
        ({"resetsAt": 99999999999999999999}, None),
        ({"resetsAt": float("nan")}, None),
        ({"resetsAt": True}, None),
        ({"resetsAt": "soon"}, None),
        ({"retryAfter": -5}, None),
        ({"retryAfter": "9" * 400}, None),
        ({"retryAfter": 1e300}, None),
        (
            {"reset": {"reset": {"reset": {"reset": {"reset": {"reset": {"reset": {"retryAfter": 5}}}}}}}},
            None,
        ),
        ("retryAfter: 5", None),
        (None, None),
    ],
)
def test_r01_the_end_of_a_limit_is_read_from_an_error_s_data(data: Any, end: datetime | None) -> None:
    assert end_in_data(data, NOW) == end


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("resets 5pm (Europe/Berlin)", at(17, zone=BERLIN)),
        ("resets at 5:30 p.m. (UTC)", at(17, 30)),
        ("It resets at 15:02 UTC.", at(15, 2)),
        ("resets 2pm (UTC)", at(14, day=21)),  # has passed today
        ("resets 12am (UTC)", at(0, day=21)),
        ("resets 17:00", at(17, zone=BERLIN)),  # no zone: this machine's
        ("resets 5pm (Nowhere/At_All)", None),  # another zone's 5 pm would be wrong by hours
        ("resets 5pm XYZT", None),
        ("resets 5pm (Etc/GMT+5)", at(22)),
        ("resets 5pm (Etc/GMT-3)", at(14, day=21)),  # 14:00 has passed
        ("resets 5pm (America/Argentina/Buenos_Aires)", at(20)),
        ("resets 5pm (America/Port-au-Prince).", at(22)),
        ("resets 5pm US/Pacific", at(1, day=21)),
        ("resets 5pm PST", at(1, day=21)),
        ("resets 5pm (PDT)", at(0, day=21)),
        ("resets 5pm PT", at(1, day=21)),
        ("resets at 5 p.m. Eastern Time", at(22)),
        ("resets at 5:00 PM Pacific Standard Time.", at(1, day=21)),
        ("resets 5pm (CET)", at(16)),
        ("resets 5pm CEST", at(15)),
        ("resets 9am (UTC+05:30)", at(3, 30, day=21)),
        ("resets 9am UTC-7", at(16)),
        ("resets 9am (GMT-0700)", at(16)),
        ("resets 9am (UTC\u22127)", at(16)),
        ("resets 21:00 +0530", at(15, 30)),
        ("resets 5pm. It is a limit of the plan.", at(17, zone=BERLIN)),
        ("resets 5pm-6pm", at(17, zone=BERLIN)),
        ("resets 5pm OR upgrade", at(17, zone=BERLIN)),
        ("resets 9am (UTC+99:30)", None),
        ("try again at Nov 24th, 2026 5:12 PM (UTC)", at(17, 12, day=24)),
        ("resets Nov 24 at 9am (UTC)", at(9, day=24)),
        ("resets Jan 2, 9am (UTC)", datetime(2027, 1, 2, 9, tzinfo=UTC)),
        ("resets on 2026-11-20T17:00:00Z", at(17)),
        ("resets at 2026-11-20 17:00:00 UTC", at(17)),
        ("resets at 2026-11-20 17:00", at(17)),
        ("resets at 2026-11-20T17:00:00.5+01:00", at(16) + timedelta(seconds=0.5)),
        ("resets at 2026-11-20 10:00 PST", at(18)),
        ("resets at 2026-11-20 17:00 (Europe/Berlin)", at(16)),
        ("resets at 2026-11-20 17:00 (Nowhere/At_All)", None),
        ("Please retry after 30 seconds", in_seconds(30)),
        ("try again in 6m0s", in_seconds(360)),
        ("Please retry in 24.3s.", in_seconds(24.3)),
        ("try again in 1 day, 2 hours and 3 minutes", in_seconds(86400 + 7200 + 180)),
        ("resets Feb 31, 9am (UTC)", None),
        ("resets 25:99", None),
        ("resets 13pm", None),
        ("resets 5 counters", None),
        ("retry 3 times", None),
        ("try again later", None),
        ("a commit at 17:00", None),
    ],
)
def test_r01_the_end_of_a_limit_is_read_from_an_agent_s_words(text: str, end: datetime | None) -> None:
    assert end_in_words(text, NOW, BERLIN) == end


@contextmanager
def machine_in(zone: str) -> Iterator[None]:
    before = os.environ["TZ"]
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        os.environ["TZ"] = before
        time.tzset()


def test_r01_a_time_without_a_zone_is_this_machine_s() -> None:
    with machine_in("Asia/Tokyo"):
        assert end_in_words("resets 5am", NOW) == at(5, day=21, zone=ZoneInfo("Asia/Tokyo"))


# In Berlin, clocks go forward from 2 to 3 on 29 March 2026, and back from 3 to 2 on 25 October, both at 01:00 UTC.
@pytest.mark.parametrize(
    ("now", "text", "end"),
    [
        ("2026-03-28 20:00", "resets 9am", "2026-03-29 07:00"),
        ("2026-03-28 20:00", "resets 1am", "2026-03-29 00:00"),
        ("2026-03-28 20:00", "resets 2:30", "2026-03-29 01:30"),  # clocks show 3:30 then
        ("2026-03-29 00:30", "resets 3am", "2026-03-29 01:00"),
        ("2026-03-29 10:00", "resets 9am", "2026-03-30 07:00"),
        ("2026-03-01 10:00", "resets Apr 1, 9am", "2026-04-01 07:00"),
        ("2026-10-24 20:00", "resets 9am", "2026-10-25 08:00"),
        ("2026-10-24 20:00", "resets 2:30", "2026-10-25 00:30"),
        ("2026-10-25 00:45", "resets 2:30", "2026-10-25 01:30"),  # clocks show it for the second time
        ("2026-10-25 01:45", "resets 2:30", "2026-10-26 01:30"),
        ("2026-10-25 00:10", "resets 2:05", "2026-10-25 01:05"),
        ("2026-10-01 10:00", "resets Nov 1, 9am", "2026-11-01 08:00"),
        ("2026-12-31 22:30", "resets 1am", "2027-01-01 00:00"),
        ("2026-07-01 10:00", "resets Jan 2, 9am", "2027-01-02 08:00"),
        ("2027-06-01 10:00", "resets Feb 29, 9am", "2028-02-29 08:00"),
        ("2026-07-01 10:00", "resets 5pm CET", "2026-07-01 16:00"),  # as it says, though it is CEST there
    ],
)
def test_r01_a_time_is_what_clocks_show_then_also_after_they_change(now: str, text: str, end: str) -> None:
    began, ended = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (now, end))
    with machine_in("UTC"):
        assert end_in_words(text, began, BERLIN) == ended
        assert text.endswith("CET") or end_in_words(f"{text} (Europe/Berlin)", began) == ended
    with machine_in("Europe/Berlin"):
        assert end_in_words(text, began) == ended


def test_r01_a_short_name_of_a_zone_is_what_it_means_on_this_machine() -> None:
    with machine_in("Asia/Shanghai"):
        assert end_in_words("resets 11:30pm CST", NOW) == at(15, 30)
    with machine_in("Asia/Jerusalem"):
        assert end_in_words("resets 5:30pm IST", NOW) == at(15, 30)
    with machine_in("Europe/Berlin"):
        assert end_in_words("resets 11:30pm CST", NOW) == at(5, 30, day=21)
        assert end_in_words("resets 9:00pm IST", NOW) == at(15, 30)


def test_of_hostile_errors_no_more_is_looked_at_than_their_beginning() -> None:
    nested: Any = "429 " * 50_000
    for _ in range(200):
        nested = {"details": [nested, "a " * 10_000], "resets": "1" * 10_000}
    wide = {f"status{n}": ["resets " * 100, {"code": n}] for n in range(20_000)}
    spans = "try again in " + "1 d " * 20_000 + "you've hit your " + "a " * 20_000
    with calls_counted() as calls:
        for message, data in (("x", nested), (spans, wide), ("{" * 8_000, spans), ("[" * 9_000, None)):
            diagnose(AgentRefused(-32603, message, data), now=NOW)
        diagnose_words(spans, now=NOW)
    assert calls.made < 120_000


def test_no_pattern_goes_over_a_long_text_more_than_once() -> None:
    """One that went back over it from every character would not end while somebody waits."""
    patterns = [
        pattern
        for module in (diagnosis, reset_times)
        for pattern in vars(module).values()
        if isinstance(pattern, re.Pattern)
    ]
    assert len(patterns) > 8
    for pattern in patterns:
        for piece in (
            "try again in " + "1 d " * 20_000,
            "you've hit your " + "a " * 20_000,
            "429 " * 20_000,
            "error: " * 15_000,
            "execution failed: " * 6_000,
            "0" * 100_000,
            "0." * 50_000,
            "retry " + " " * 100_000,
        ):
            for _ in pattern.finditer(piece):
                pass


def test_times_are_read_as_a_person_in_this_zone_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        words = [
            format_time(end, NOW)
            for end in (
                at(16),
                in_seconds(3600),  # rounded up: nobody is to try too early
                at(22, 59),
                at(23),
                at(8, day=24),
                datetime(2027, 1, 2, 8, tzinfo=UTC),
            )
        ]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert words == ["17:00", "16:03", "23:59", "tomorrow 00:00", "24 Nov 09:00", "2 Jan 2027 09:00"]


@pytest.mark.parametrize("trouble", Trouble)
def test_every_trouble_offers_something_and_waiting_only_where_an_end_is_to_come(trouble: Trouble) -> None:
    offers = offers_for(trouble, in_seconds(60), now=NOW)
    assert offers and len(set(offers)) == len(offers)
    assert (Offer.WAIT in offers) == (trouble is Trouble.RATE_LIMIT)
    for without in (offers_for(trouble), offers_for(trouble, in_seconds(-1), now=NOW)):
        assert without == tuple(offer for offer in offers if offer is not Offer.WAIT)
    left = offers_for(trouble, in_seconds(60), now=NOW, prompt=False)
    assert not {Offer.RETRY, Offer.WAIT} & set(left)


def test_a_long_error_is_short_in_the_line_and_whole_in_the_detail() -> None:
    words = "It broke.\n" + "because of this and that, " * 30
    problem = problem_of("Claude", AgentRefused(-32603, words), now=NOW, returned=True)
    assert problem.text.startswith("Claude refused: It broke. because of this")
    assert len(problem.text) < 230 and "\n" not in problem.text
    assert problem.text.endswith("…. Your text is back in the composer.")
    assert "\n".join(problem.detail) == words.strip()


def test_the_last_lines_of_an_agent_that_went_are_the_detail() -> None:
    problem = problem_of("Claude", AgentGone(-9, ("Killed",)), now=NOW, kept=True)
    assert problem.detail == ("Killed",)
    assert problem.text == (
        "Claude was killed by signal 9. Its partial answer is saved. Your next prompt restarts it."
    )


@pytest.mark.parametrize("data", [{}, {"trouble": "cancelled"}, {"trouble": 7}])
def test_a_notice_of_something_else_is_no_problem(data: dict[str, Any]) -> None:
    assert problem_of_notice(row(Kind.NOTICE, data)) is None


def test_what_a_row_keeps_may_be_anything() -> None:
    data = {"trouble": "rate_limit", "resets_at": "no time", "detail": "no list"}
    problem = problem_of_notice(row(Kind.NOTICE, data))
    assert problem is not None and (problem.resets_at, problem.detail) == (None, ("no list",))
    assert problem_of_notice(row(Kind.TOOL, data)) is None
    older = problem_of_notice(row(Kind.NOTICE, {"trouble": "error"}))
    assert older is not None and older.trouble is Trouble.REFUSED
    cut = problem_of_notice(row(Kind.NOTICE, {"trouble": "interrupted"}))
    assert cut is not None and cut.offers == (Offer.RETRY, Offer.OTHER_AGENT)


@pytest.mark.parametrize(
    ("titles", "said"),
    [
        ([], "Claude's answer may be incomplete."),
        (["deploy"], "`deploy` may or may not have finished: check before you retry."),
        (
            ["deploy", "make  all\nof it"],
            "`deploy` and `make all ⏎ of it` may or may not have finished: check before you retry.",
        ),
        (
            ["a", None, "c", "d", "e"],
            "`a`, `execute`, `c` and 2 more may or may not have finished: check before you retry.",
        ),
        (["x" * 90], f"`{'x' * 39}…` may or may not have finished: check before you retry."),
    ],
)
def test_p07_a_turn_that_we_cut_off_names_the_calls_whose_outcome_nobody_saw(
    titles: list[str | None], said: str
) -> None:
    problem = cut_off("Claude", [{"title": title, "kind": "execute"} for title in titles])
    assert problem.trouble is Trouble.INTERRUPTED
    assert problem.text == f"Catena exited during this turn. {said}"


def row(kind: Kind, data: dict[str, Any]) -> Message:
    return Message("m", "c", None, None, kind, MessageState.FINAL, "text", data, None, None, False, 0, NOW)


@pytest.mark.parametrize(
    ("failure", "trouble"),
    [
        (TypedFailure("access", "Sign in to go on", None, ("login",)), LOGIN),
        (TypedFailure("access", "This model is not for you", None, ()), REFUSED),
        (TypedFailure("limit", "Rate limit reached", None, ("retry",)), RATE),
        (TypedFailure("limit", "Credit balance is too low", None, ()), CREDIT),
        (TypedFailure("limit", "Prompt is too long", None, ("new_session",)), CONTEXT),
        (TypedFailure("service", "Something went wrong", "status 503", ("retry",)), OVERLOAD),
        (TypedFailure("connection", "Authentication failed", None, ("retry",)), REFUSED),
        (TypedFailure("unheard of", "Credit balance is too low", None, ()), CREDIT),
    ],
)
def test_r09_a_failure_that_an_agent_names_is_what_its_category_says_and_its_words_only_refine_that(
    failure: TypedFailure, trouble: Trouble
) -> None:
    assert diagnose_failure(failure, now=NOW).trouble is trouble
