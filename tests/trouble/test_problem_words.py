"""The line in which a problem is told: the agent's own words, without what says nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from catena_acp.continuity.wording.problems import problem_of
from catena_acp.errors import AgentRefused

_NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def _line(words: str) -> str:
    return problem_of("Ada", AgentRefused(-32603, words, None), now=_NOW).text


def test_r01_what_the_protocol_calls_every_error_is_said_only_where_the_agent_says_nothing_else() -> None:
    assert _line("Internal error: fake error (429)") == (
        "Ada is rate limited: fake error (429). Retry later, or continue with another agent."
    )
    assert _line("Internal error") == "Ada refused: Internal error."
