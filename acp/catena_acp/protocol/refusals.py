"""Error answers of an agent as ``AgentRefused`` and its subclasses. Pure.

No code alone means that an agent does not know a session: it is -32002, -32602 or -32603, depending on agent and
method. What counts as proof is narrow, since a session taken for lost is never used again.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from catena_acp.errors import AgentRefused, LoginNeeded, NotOffered, SessionGone

if TYPE_CHECKING:
    from pydantic import ValidationError

LOGIN_NEEDED = -32000
NOT_FOUND = -32002
NO_SUCH_METHOD = -32601
INVALID = -32602
INTERNAL = -32603
CANCELLED = -32800

_MAX_LENGTH = 8_000  # characters of an error that are searched

_GONE = re.compile(
    r"no rollout found|no previous sessions|--resume requires a valid session|invalid session id"
    r"|resource not found|unknown session|no such session"
    # `Session abc not found`, but not a mode or model that was not found in a session.
    r"|\b(?:session|thread|conversation)\b[\s:'\"]*\S{0,80}?\s+"
    r"(?:(?:was |is |could )?not (?:be )?found|does not exist)",
    re.IGNORECASE,
)


def refusal(
    code: int,
    message: str,
    data: Any = None,
    *,
    session_id: str | None = None,
    opening: bool = False,
    anchor: str | None = None,
    agent_name: str = "",
) -> AgentRefused:
    """The error to raise for an agent's error answer.

    ``session_id`` is the session in the request, if any; ``opening`` is True for load, resume and fork, which are about
    nothing but the session; ``anchor`` is the message id of a fork point.
    """
    if code == LOGIN_NEEDED:
        return LoginNeeded(code, message, data)
    if code == NO_SUCH_METHOD:
        return NotOffered(code, message, data)
    if session_id is not None:
        # Cut, and without runs of white space: a hostile text must not make the search slow.
        words = " ".join(f"{message[:_MAX_LENGTH]} {_as_text(data)[:_MAX_LENGTH]}".split())
        anchor_missing = anchor is not None and anchor in words
        if not anchor_missing and _is_session_gone(code, words, data, opening, agent_name):
            return SessionGone(code, message, data)
    return AgentRefused(code, message, data)


def _is_session_gone(code: int, words: str, data: Any, opening: bool, agent_name: str) -> bool:
    if code == NOT_FOUND:
        return opening or not _is_about_file(data)
    if _GONE.search(words):
        return True
    # OpenCode's only words for an unknown session.
    return (
        opening
        and code == INTERNAL
        and agent_name.lower().startswith("opencode")
        and "service failure" in words.lower()
    )


def _is_about_file(data: Any) -> bool:
    """True if the resource that was not found is a file that the prompt links to."""
    uri = data.get("uri") if isinstance(data, dict) else None
    return isinstance(uri, str) and uri.startswith(("file:", "/"))


def _as_text(data: Any) -> str:
    if isinstance(data, str):
        return data
    return "" if data is None else json.dumps(data, ensure_ascii=False, default=str)


def described(error: ValidationError) -> str:
    """The first fault that one of the SDK's models found."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
