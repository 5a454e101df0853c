"""Diagnosis of an agent's error by its codes, data and words. Pure.

Whether a session is gone is decided in ``protocol.refusals``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from catena_acp.errors import (
    AgentError,
    AgentGone,
    AgentMissing,
    AgentRefused,
    AgentSilent,
    LoginNeeded,
    NotOffered,
    SessionGone,
)
from catena_acp.port.session_events import TypedFailure
from catena_acp.trouble import error_words
from catena_acp.trouble.reset_times import end_in_data, end_in_words
from catena_acp.trouble.troubles import Diagnosis, Trouble

_DEPTH: Final = 6  # levels of nested data that are read
_VALUES: Final = 1_000  # values of nested data that are read
_MAX_LENGTH: Final = 8_000  # characters read of one text,
_MAX_TOTAL: Final = 20_000  # … and of all texts together

_STATUS_KEYS: Final = frozenset(["status", "statuscode", "httpstatus", "httpstatuscode", "code"])
_KIND_KEYS: Final = frozenset(
    [
        "errorkind",
        "errorname",
        "errortype",
        "errorcode",
        "kind",
        "type",
        "code",
        "reason",
        "status",
        "codexerrorinfo",
    ]
)


def diagnose(error: AgentError, *, now: datetime) -> Diagnosis:
    """Diagnose an error; an unknown one is REFUSED, to be shown in the agent's own words."""
    match error:
        case AgentMissing():
            return Diagnosis(Trouble.AGENT_MISSING)
        case AgentGone():
            return Diagnosis(Trouble.AGENT_GONE)
        case AgentSilent():
            return Diagnosis(Trouble.AGENT_SILENT)
        case LoginNeeded():
            return Diagnosis(Trouble.LOGIN_NEEDED)
        case SessionGone():
            return Diagnosis(Trouble.SESSION_LOST)
        case NotOffered():
            return Diagnosis(Trouble.REFUSED)
        case AgentRefused(code=code, message=message, data=data, retried_for=reason):
            found = _diagnose_refusal(code, message, data, now)
            named = found.trouble is not Trouble.REFUSED
            return found if named or reason not in _BY_RETRY else Diagnosis(_BY_RETRY[reason])
        case _:
            return Diagnosis(Trouble.NO_CARRIER)


def diagnose_words(text: str, *, now: datetime) -> Diagnosis | None:
    """Diagnose a turn's only text as an error; None if it may be an answer.

    Only a short text that begins as known error messages do is an error: an answer about rate limits is not. An error
    of unknown kind is REFUSED.
    """
    line = text.strip()
    if error_words.begins_like_error(line):
        resets_at = end_in_words(line, now)
        return _diagnosis(_Evidence({}, error_words.statuses_in(line), [line]), resets_at)
    return _diagnose_bare_json(line, now)


def _diagnose_bare_json(line: str, now: datetime) -> Diagnosis | None:
    """Diagnose a provider's answer that is passed on as it came: an object with an error of a kind that is known."""
    parsed = _parse_json(line) if line.startswith("{") and line.endswith("}") else None
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        return None
    evidence = _Evidence()
    evidence.add(parsed)
    if not evidence.kinds:
        return None
    return _diagnosis(evidence, end_in_data(parsed, now) or end_in_words(line, now))


def diagnose_failure(failure: TypedFailure, *, now: datetime) -> Diagnosis:
    """Diagnose a failure that an agent names by a category: that decides, and its words only where they are finer."""
    words = "\n".join(filter(None, (failure.title, failure.details)))
    resets_at = end_in_words(words, now)
    said = _classify(_Evidence({}, error_words.statuses_in(words), [words]), resets_at)
    allowed = _BY_CATEGORY.get(failure.category, ())
    if "login" in failure.actions:
        trouble = Trouble.LOGIN_NEEDED
    elif said in allowed or not allowed:
        trouble = said
    else:
        trouble = allowed[0]
    return Diagnosis(trouble, resets_at if trouble in _TEMPORARY else None)


def _diagnosis(evidence: _Evidence, resets_at: datetime | None) -> Diagnosis:
    trouble = _classify(evidence, resets_at)
    return Diagnosis(trouble, resets_at if trouble in _TEMPORARY else None)


@dataclass(slots=True)
class _Evidence:
    """Contents of an error: named kinds, HTTP statuses and texts."""

    kinds: dict[str, Trouble] = field(default_factory=dict)
    statuses: set[int] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    seen: int = 0

    def add(self, value: Any, key: str = "", depth: int = 0) -> None:
        """Add nested data, down to six levels and up to 1,000 values."""
        self.seen += 1
        if depth > _DEPTH or self.seen > _VALUES:
            return
        name = re.sub(r"[^a-z]", "", key.lower())
        match value:
            case bool() | None:
                return
            case int() if name in _STATUS_KEYS and value in error_words.STATUSES:
                self.statuses.add(value)
            case str():
                self._add_text(name, value[:_MAX_LENGTH])
            case Mapping():
                for inner, each in islice(value.items(), _VALUES):
                    # Rust enumerations are serialised as an object with the variant's name as its only key.
                    if name in _KIND_KEYS:
                        self._add_kind(str(inner))
                    self.add(each, str(inner), depth + 1)
            case list() | tuple():
                for each in value[:_VALUES]:
                    self.add(each, key, depth + 1)

    def _add_text(self, name: str, text: str) -> None:
        if name in _STATUS_KEYS and text.isdecimal() and len(text) == 3:
            self.statuses.add(int(text))
        if name in _KIND_KEYS:
            self._add_kind(text)
        if " " in text and sum(map(len, self.texts)) < _MAX_TOTAL:
            self.texts.append(text)
        parsed = _parse_json(text)
        if parsed is not None:
            self.add(parsed, depth=_DEPTH - 3)

    def _add_kind(self, text: str) -> None:
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s.]+", "_", text[:80]).lower()
        if (trouble := error_words.KINDS.get(kind)) is not None:
            self.kinds[kind] = trouble


def _diagnose_refusal(code: int, message: str, data: Any, now: datetime) -> Diagnosis:
    evidence = _Evidence()
    evidence.add(message, "message")
    evidence.add(data, "data")
    if code in error_words.CODES:
        evidence.statuses.add(code)
    words = "\n".join(evidence.texts)
    # Gemini's message is the provider's complete answer, as JSON.
    resets_at = end_in_data([data, _parse_json(message)], now) or end_in_words(words, now)
    return _diagnosis(evidence, resets_at)


_TEMPORARY: Final = frozenset({Trouble.RATE_LIMIT, Trouble.CREDIT, Trouble.OVERLOAD})
# What each category of a typed failure can be; the first where its words say nothing finer.
_BY_CATEGORY: Final[Mapping[str, tuple[Trouble, ...]]] = {
    "access": (Trouble.LOGIN_NEEDED, Trouble.REFUSED),
    "limit": (Trouble.RATE_LIMIT, Trouble.CREDIT, Trouble.CONTEXT_FULL),
    "request": (Trouble.REFUSED, Trouble.CONTEXT_FULL),
    "service": (Trouble.OVERLOAD,),
    "connection": (Trouble.REFUSED,),
}
# What an error in unknown words is, if the agent had tried its model again until then.
_BY_RETRY: Final[Mapping[str, Trouble]] = {
    "rate_limited": Trouble.RATE_LIMIT,
    "server_error": Trouble.OVERLOAD,
}
_AMBIGUOUS: Final = frozenset({Trouble.RATE_LIMIT, Trouble.OVERLOAD})


def _classify(evidence: _Evidence, resets_at: datetime | None) -> Trouble:
    """Classify by kinds, then statuses, then words; credit and a full context are also sent as 429, 400 and 500."""
    words = "\n".join(evidence.texts)
    statuses = evidence.statuses | error_words.statuses_in(words)
    kinds = set(evidence.kinds.values())
    first = _first(kinds, _BY_WEIGHT) or _first(
        {error_words.STATUSES[status] for status in statuses if status in error_words.STATUSES}, _BY_WEIGHT
    )
    if first is None or first in _AMBIGUOUS:
        if error_words.CREDIT.search(words):
            return Trouble.CREDIT
        if error_words.CONTEXT.search(words):
            return Trouble.CONTEXT_FULL
        if error_words.QUOTA.search(words) and Trouble.RATE_LIMIT not in kinds:
            return Trouble.RATE_LIMIT if resets_at else Trouble.CREDIT
    return first or _by_words(words) or Trouble.REFUSED


# The order of precedence where an error names several: what takes most from the person first.
_BY_WEIGHT: Final = (
    Trouble.CREDIT,
    Trouble.CONTEXT_FULL,
    Trouble.LOGIN_NEEDED,
    Trouble.RATE_LIMIT,
    Trouble.OVERLOAD,
)


def _first(found: Set[Trouble], order: Iterable[Trouble]) -> Trouble | None:
    return next((trouble for trouble in order if trouble in found), None)


def _by_words(words: str) -> Trouble | None:
    for pattern, trouble in (
        (error_words.RATE, Trouble.RATE_LIMIT),
        (error_words.OVERLOAD, Trouble.OVERLOAD),
        (error_words.LOGIN, Trouble.LOGIN_NEEDED),
    ):
        if pattern.search(words):
            return trouble
    return None


def _parse_json(text: str) -> Any:
    """The JSON in a text from its first brace on; None if there is none."""
    at = text.find("{")
    if at < 0 or len(text) > _MAX_LENGTH:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return None
