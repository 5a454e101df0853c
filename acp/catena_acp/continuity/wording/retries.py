"""Text about a call of the model that failed and that the agent tries again."""

from __future__ import annotations

from collections.abc import Mapping

from catena_acp.port.session_events import ModelRetried, RetryReason

_REASONS: Mapping[RetryReason, str] = {
    "rate_limited": "rate limited",
    "server_error": "the model's server failed",
    "timed_out": "the model did not answer in time",
    "connection": "no connection to the model",
    "unknown": "the model's answer failed",
}


def retry_words(retried: ModelRetried) -> str:
    """`rate limited: the agent tries again (HTTP 429)`; nothing of it is the agent's own text."""
    status = f" (HTTP {retried.status})" if retried.status is not None else ""
    return f"{_REASONS[retried.reason]}: the agent tries again{status}"
