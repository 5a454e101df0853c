"""Codes and phrases by which agents and their providers report errors. Pure.

Each was found in an agent's answers or source. A pattern matches a phrase, never a single word or number: `429` in a
path, or `limit` in an answer about limits, means nothing.
"""

from __future__ import annotations

import re
from typing import Final

from catena_acp.trouble.troubles import Trouble

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
