"""Diagnosis of an agent's error by its codes, data and words, and the phrases that agents report errors with. Pure.

Whether a session is gone is decided in ``protocol.answers``.

Each phrase was found in an agent's answers or source. A pattern matches a phrase, never a single word or number: `429`
in a path, or `limit` in an answer about limits, means nothing.
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
from catena_acp.trouble.reset_times import end_in_data, end_in_words
from catena_acp.trouble.troubles import Diagnosis, Trouble

KINDS: Final[dict[str, Trouble]] = {
    **dict.fromkeys(
        [
            "rate_limit",
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "usage_limit_reached",
            "usage_limit_exceeded",
            "too_many_requests",
            "resource_exhausted",
            "throttling",
            "throttling_exception",
            "session_limit",
        ],
        Trouble.RATE_LIMIT,
    ),
    **dict.fromkeys(
        [
            "billing",
            "billing_error",
            "billing_not_active",
            "insufficient_quota",
            "insufficient_credits",
            "insufficient_balance",
            "credit_balance_too_low",
            "payment_required",
            "billing_hard_limit_reached",
            "usage_not_included",
            "quota_exceeded",
            "spend_limit_reached",
            "out_of_credits",
        ],
        Trouble.CREDIT,
    ),
    **dict.fromkeys(
        [
            "overloaded",
            "overloaded_error",
            "server_overloaded",
            "server_is_overloaded",
            "model_overloaded",
            "engine_overloaded",
            "server_error",
            "internal_server_error",
            "service_unavailable",
            "slow_down",
            "unavailable",
        ],
        Trouble.OVERLOAD,
    ),
    **dict.fromkeys(
        [
            "authentication_error",
            "authentication_failed",
            "authentication_required",
            "unauthorized",
            "unauthenticated",
            "invalid_api_key",
            "auth_required",
            "login_required",
            "not_logged_in",
            "oauth_org_not_allowed",
            "provider_auth_error",
        ],
        Trouble.LOGIN_NEEDED,
    ),
    **dict.fromkeys(
        [
            "context_length_exceeded",
            "context_window_exceeded",
            "model_context_window_exceeded",
            "prompt_too_long",
            "context_overflow",
            "context_overflow_error",
            "input_too_long",
            "request_too_large",
        ],
        Trouble.CONTEXT_FULL,
    ),
}

STATUSES: Final[dict[int, Trouble]] = {
    401: Trouble.LOGIN_NEEDED,
    402: Trouble.CREDIT,
    413: Trouble.CONTEXT_FULL,
    429: Trouble.RATE_LIMIT,
    **dict.fromkeys((500, 502, 503, 504, 520, 522, 524, 529), Trouble.OVERLOAD),
}

# Codes of the protocol with one meaning for every agent; 500 is any internal error.
CODES: Final = frozenset({401, 402, 413, 429, 502, 503, 504, 529})

# `API Error: 529`, `last status: 429 Too Many Requests`, `429 You exceeded …`, `… (429)` at the end of a sentence.
_STATUS = re.compile(
    r"(?:\bapi error:?|\bhttp(?: error| status)?:?|\bstatus(?: code)?:?|\berror(?: code)?:?|\bexecution failed:)"
    r"\s*\(?(?P<named>[45]\d\d)\)?(?![\d/.-]*\d)(?!/)"
    r"|(?m:^)(?P<first>401|402|429|50[0234]|529) (?!(?:of|files?|lines?|tests?|items?|bytes?|tokens?|errors?)\b)[a-z{<]"
    r"|\((?P<bracketed>401|402|429|5\d\d)\)\s*(?:[.,;:]|$)"
    r"|(?<![\w/.:#-])(?P<titled>429 too many requests|401 unauthorized|402 payment required"
    r"|503 service unavailable|502 bad gateway|504 gateway time-?out|500 internal server error|529 overloaded)",
    re.IGNORECASE,
)

CREDIT = re.compile(
    r"credit balance is (?:too low|insufficient)|insufficient (?:credits?|balance|funds|quota)"
    r"|insufficient_quota|out of (?:extra usage|credits?)|no (?:credits?|quota) (?:left|remaining)"
    r"|(?:run|ran) out of credits|credits? (?:have been|are|is) (?:exhausted|used up|depleted)"
    r"|\b(?:monthly|spend(?:ing)?|billing|budget)(?: \w+){0,2} (?:limit|cap)\b.{0,40}\b(?:reached|exceeded|hit)"
    r"|(?:reached|exceeded|hit) (?:your|the|its)(?: \w+){0,2} (?:monthly|spend(?:ing)?|billing|budget)"
    r"(?: \w+){0,2} (?:limit|cap)"
    r"|monthly cycle ends|billing hard limit|payment required|exceeded your premium request allowance"
    r"|plan does not include|to use \w+ with your \w+ plan, upgrade",
    re.IGNORECASE,
)

# OpenAI says this of credit and Gemini of requests a minute; with a reset time it is the latter.
QUOTA = re.compile(
    r"exceeded your current quota|quota exceeded|check your plan and billing",
    re.IGNORECASE,
)

RATE = re.compile(
    r"\brate[- _]?limit(?:s|ed|ing)?\b.{0,60}\b(?:reached|exceeded|hit|error|resets?|retry|again)\b"
    r"|\b(?:reached|exceeded|hit|over|exceeds?) (?:your|the|its|a|this)?(?: \S+){0,5}? ?rate[- _]?limit"
    r"|\b(?:you (?:have been|are being|are)|you've been|is|was|been|being) rate[- ]limited"
    r"|too many requests|\bexhausted your (?:capacity|(?:\w+ )?quota)\b|\bexceeded your (?:\w+ )?token usage"
    r"|\busage limit (?:reached|exceeded|hit)\b"
    r"|\b(?:hit|reached|exceeded) your (?:\S+ ){0,3}?(?:usage |session |message )?limit\b"
    r"|\b(?:5-hour|session|weekly|daily|opus(?: weekly)?|sonnet(?: weekly)?) limit (?:reached|exceeded)"
    r"|\brequests per (?:minute|day|hour)\b.{0,60}\b(?:exceeded|reached)",
    re.IGNORECASE,
)

OVERLOAD = re.compile(
    r"\boverloaded(?:_error)?\b|experiencing (?:high|heavy|unusually high) (?:demand|load|traffic)"
    r"|\bmodel is at capacity|no capacity available|server is (?:too )?busy|temporarily (?:unavailable|overloaded)"
    r"|service (?:is )?unavailable",
    re.IGNORECASE,
)

LOGIN = re.compile(
    r"invalid (?:x-)?api[- ]key|incorrect api key|authentication (?:failed|required|error)|not logged in"
    r"|please (?:run )?`?/?log ?in\b|please run (?:\S+ )?/?login|oauth token (?:has )?(?:expired|revoked)"
    r"|(?:token|session|credentials?) (?:has |have )?expired[.;,:]? (?:please )?(?:log|sign) ?in"
    r"|refresh token was (?:already used|revoked)|api key (?:not valid|expired)|no api key|missing api key",
    re.IGNORECASE,
)

CONTEXT = re.compile(
    r"prompt (?:is|as) too long|input is too long|maximum context length|context[ _](?:length|window)[ _]exceeded"
    r"|exceeds? (?:the |your |its )?(?:\S+ ){0,3}?context (?:window|length|limit|size)"
    r"|ran out of room in the model'?s context|conversation (?:is )?too long"
    r"|input token count .{0,40}exceeds the maximum|too many tokens in (?:the )?(?:prompt|context|request)",
    re.IGNORECASE,
)

# How an error message begins that is sent as an answer. Everything else is taken for an answer.
_OPENINGS = re.compile(
    r"(?:info: request failed\b[^\n]{0,300}\s*(?=error: ))?[^\w`\"']{0,4}(?:"
    r"exceeded retry limit, last status:|unexpected status [45]\d\d\b"
    r"|we(?:'|\u2019)re currently experiencing high demand|selected model is at capacity"
    r"|stream disconnected before completion|stream error:"
    r"|(?:error: ?|execution failed: ?|request failed: ?){0,4}api error(?::|:? ?\(|:? [45]\d\d\b)"
    r"|(?:(?:error|execution failed|request failed): ?){1,4}(?:authentication (?:failed|required|error)"
    r"|failed to get (?:a )?response from\b"
    r"|[45]\d\d\b|rate[-_ ]?limit|too many requests|you(?:'ve|\u2019ve| have| exceeded| are (?:not|out|being))\b)"
    r"|(?:sorry, )?you(?:'ve|\u2019ve| have) (?:hit|reached|exceeded) (?:a rate limit"
    r"|your [\w -]{0,40}(?:limit|quota|allowance|cap|usage))\b"
    r"|you have exhausted your \w+|(?:execution|model call) failed: "
    r"|you exceeded your current quota|quota exceeded\b"
    r"|you(?:'|\u2019)re out of (?:extra usage|credits)"
    r"|claude (?:ai )?usage limit reached|(?:5-hour|session|weekly|opus weekly) limit reached"
    r"|failed to authenticate\. api error:"
    r"|credit balance is too low|rate limit (?:reached|exceeded)"
    r"|invalid api key\b|not logged in\b|oauth token (?:has )?(?:expired|revoked)"
    r"|(?:error: ?)?the provider rejected the prompt\b"
    r"|prompt is too long|codex ran out of room"
    r"|i hit an internal error while calling the model: "
    # An answer about errors goes on with a verb: `429 means …`, `Rate limit exceeded errors happen …`.
    r")(?!\W{0,3}(?:\d{3}\W{1,3})?(?:means?|is|are|was|indicates?|happens?|occurs?|errors|usually|handling|can|will"
    r"|because|format|users|tests?)\b)",
    re.IGNORECASE,
)
_LONGEST_ERROR: Final = 600  # characters


def statuses_in(text: str) -> set[int]:
    """The HTTP statuses in a text that are named as such."""
    return {
        int((found["named"] or found["first"] or found["bracketed"] or found["titled"])[:3])
        for found in _STATUS.finditer(text)
    }


def begins_like_error(text: str) -> bool:
    """True for a short text that begins as only error messages do."""
    return len(text) <= _LONGEST_ERROR and _OPENINGS.match(text) is not None


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
    if begins_like_error(line):
        resets_at = end_in_words(line, now)
        return _diagnosis(_Evidence({}, statuses_in(line), [line]), resets_at)
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
    said = _classify(_Evidence({}, statuses_in(words), [words]), resets_at)
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
            case int() if name in _STATUS_KEYS and value in STATUSES:
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
        if (trouble := KINDS.get(kind)) is not None:
            self.kinds[kind] = trouble


def _diagnose_refusal(code: int, message: str, data: Any, now: datetime) -> Diagnosis:
    evidence = _Evidence()
    evidence.add(message, "message")
    evidence.add(data, "data")
    if code in CODES:
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
    statuses = evidence.statuses | statuses_in(words)
    kinds = set(evidence.kinds.values())
    first = _first(kinds, _BY_WEIGHT) or _first(
        {STATUSES[status] for status in statuses if status in STATUSES}, _BY_WEIGHT
    )
    if first is None or first in _AMBIGUOUS:
        if CREDIT.search(words):
            return Trouble.CREDIT
        if CONTEXT.search(words):
            return Trouble.CONTEXT_FULL
        if QUOTA.search(words) and Trouble.RATE_LIMIT not in kinds:
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
        (RATE, Trouble.RATE_LIMIT),
        (OVERLOAD, Trouble.OVERLOAD),
        (LOGIN, Trouble.LOGIN_NEEDED),
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
