"""What looks like a secret in a text, and masks in its place.

Every rule is anchored at something rare and looks a bounded way, or goes on behind what it read: the time grows with
the text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_TOKEN_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_])"
_FORMS: tuple[tuple[str, str], ...] = (
    ("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("OpenRouter key", r"sk-or-[A-Za-z0-9_-]{16,}"),
    ("OpenAI key", r"sk-(?:proj-|svcacct-|admin-|None-)?(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{20,}"),
    ("GitHub token", r"gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab token", r"gl(?:pat|rt|dt|cbt|ptt|soat)-[A-Za-z0-9_.-]{20,}"),
    ("AWS key id", r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|AIPA)[A-Z0-9]{16}" + _TOKEN_END),
    ("Google key", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}"),
    ("Slack token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    ("Stripe key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{16,}"),
    ("npm token", r"npm_[A-Za-z0-9]{36,}"),
    ("PyPI token", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    ("SendGrid key", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),
    ("DigitalOcean token", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Databricks token", r"dapi[a-f0-9]{32}"),
    ("Groq key", r"gsk_[A-Za-z0-9]{32,}"),
    ("xAI key", r"xai-[A-Za-z0-9]{40,}"),
    ("Telegram token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _TOKEN_END),
    ("age key", r"AGE-SECRET-KEY-1[A-Z0-9]{30,}"),
    ("JSON web token", r"(?<!-)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)
_KEYS = re.compile(_START + "(?:" + "|".join(f"({form})" for _, form in _FORMS) + ")[A-Za-z0-9_-]*+")
# A rule is asked only where a text stands that it cannot do without: to look for those costs a tenth.
_KEY_MARKS = (
    *(
        "sk-",
        "gho_",
        "ghp_",
        "ghr_",
        "ghs_",
        "ghu_",
        "github_pat_",
        "glpat-",
        "glrt-",
        "gldt-",
        "glcbt-",
        "glptt-",
    ),
    *(
        "glsoat-",
        "AKIA",
        "ASIA",
        "AGPA",
        "AIDA",
        "AROA",
        "ANPA",
        "ANVA",
        "AIza",
        "GOCSPX-",
        "ya29.",
        "xox",
        "xapp-",
    ),
    *(
        "sk_",
        "rk_",
        "whsec_",
        "npm_",
        "pypi-",
        "hf_",
        "SG.",
        "_v1_",
        "dapi",
        "gsk_",
        "xai-",
        ":AA",
        "AGE-",
        "eyJ",
    ),
)
_NAME_MARKS = ("key", "pass", "token", "secret", "pwd", "credential")
_BEARER_MARKS = ("bearer", "basic", "token")
_SLACK_HOOK = re.compile(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,100}")

_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|token|credential|client[_-]?secret)"
)
_NAME = re.compile(_SECRET_NAME + r"s?(?:[_-][a-z0-9]{1,20}){0,2}\Z", re.IGNORECASE)
# From the telling part of a name on: what stands before it does not matter, and would have to be read again and again.
_ASSIGNED = re.compile(
    rf"{_SECRET_NAME}[A-Za-z0-9_-]{{0,30}}+\\?[\"']?[ \t]{{0,8}}+"
    r"(?P<sign>=>|:=|=|:|(?<= )(?=[^ \t\n=:]))[ \t]{0,8}"
    r"(?:\\?\"(?P<double>[^\"\n\\]{1,400}+)\\?\"|'(?P<single>[^'\n]{1,400}+)'|(?P<bare>[^\s\"'`,;<>(){}\[\]\\&|]{1,400}+))",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?:bearer|basic|token)[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE)
_URL = re.compile(r"://[^\s/:@\"'<>]{0,100}:([^\s/@\"'<>]{1,200})@")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:(?:\\n|\s){0,4}[A-Za-z0-9+/=]{16,})*")
_LONGEST_KEY = 20_000  # characters between the two lines of a private key

_PLACEHOLDER = re.compile(
    r"\$|%|<|\{|\*+\Z|x+\Z|\.+\Z|-+\Z|\[masked: |(?:true|false|null|none|nil|undefined|string|str|bytes|required|"
    r"optional|changeme|example|redacted|hidden|secret|password|token|your[-_ ].*|process\.env.*|os\.environ.*"
    r"|env\..*|self\..*)\Z",
    re.IGNORECASE,
)
_CUT = "…"  # at the end of a title, or of anything else that was shortened
_LOOKED_BACK = 500  # characters before it, in which a secret may begin
# What may have stood behind it. A rest that goes on is no end of those keys that have a length.
_WEB_TOKEN_REST = f".eyJ{'a1' * 10}.{'a1' * 10}"
_RESTS = (
    "a1" * 40,
    f"{'a1' * 20}@",
    f"{'a1' * 20}{_WEB_TOKEN_REST}",
    *(_WEB_TOKEN_REST[at:] for at in range(4)),
    *(("A1" * 20)[:length] for length in range(1, 34)),
)
_SHORTEST = 4  # characters of a value; 6 where a name alone makes it one
_RULE_WINDOW = 4_000  # characters that a rule of one's own sees at a time


class FoundSecret(NamedTuple):
    """Something that looks like a secret, by its place in the text."""

    start: int
    end: int
    kind: str


def find_secrets(text: str, rules: Sequence[re.Pattern[str]] = ()) -> list[FoundSecret]:
    """What looks like a secret, from left to right, without overlaps; ``rules`` are a person's own."""
    found = sorted((*_all(text, rules), *_cut_off(text, rules)), key=lambda each: (each.start, -each.end))
    apart: list[FoundSecret] = []
    for each in found:
        if not apart or each.start >= apart[-1].end:
            apart.append(each)
        elif each.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=each.end)
    return apart


def is_secret_name(name: str) -> bool:
    """True for a name such as `password` or `GITHUB_TOKEN`, whose value is a secret."""
    return len(name) <= 100 and _NAME.search(name) is not None


def _all(text: str, rules: Sequence[re.Pattern[str]]) -> Iterator[FoundSecret]:
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    small = text.lower()
    for match in _KEYS.finditer(text) if _has(text, _KEY_MARKS) else ():
        yield FoundSecret(match.start(), match.end(), _FORMS[(match.lastindex or 1) - 1][0])
    for mark, pattern, kind in (
        ("hooks.slack.com", _SLACK_HOOK, "Slack hook"),
        ("://", _URL, "password in a URL"),
    ):
        for match in pattern.finditer(text) if mark in text else ():
            start, end = match.span(1 if match.re.groups else 0)
            if not _PLACEHOLDER.match(text[start:end]):
                yield FoundSecret(start, end, kind)
    for match in _BEARER.finditer(text) if _has(small, _BEARER_MARKS) else ():
        mixed = match[1][1:] not in (match[1][1:].lower(), match[1][1:].upper())
        if mixed or match[1].endswith("=") or any(character.isdigit() for character in match[1]):
            yield FoundSecret(*match.span(1), "bearer token")
    if _has(small, _NAME_MARKS):
        yield from _assignments(text)
    for rule in rules:
        for at in range(0, len(text), _RULE_WINDOW):
            for match in rule.finditer(text, at, at + _RULE_WINDOW):
                if match.end() > match.start():
                    yield FoundSecret(match.start(), match.end(), "by your rule")


def _has(text: str, marks: Sequence[str]) -> bool:
    for mark in marks:  # noqa: SIM110 (a loop takes half the time of `any`)
        if mark in text:
            return True
    return False


def _may_hold_secrets(text: str) -> bool:
    """False for a text without anything that a secret, or the name of one, cannot do without."""
    if _CUT in text or "://" in text or "hooks.slack.com" in text or _has(text, _KEY_MARKS):
        return True
    small = text.lower()
    return _has(small, _BEARER_MARKS) or _has(small, _NAME_MARKS)  # in which the marks of private keys are


def _collect(value: Any, texts: list[str]) -> None:
    """Add the texts and names of a JSON value."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            texts.append(str(key))
            _collect(each, texts)
    elif isinstance(value, list | tuple):
        for each in value:
            _collect(each, texts)


def _cut_off(text: str, rules: Sequence[re.Pattern[str]]) -> Iterator[FoundSecret]:
    """The beginning of a secret at the end of a text that was shortened: it does not look like one any more."""
    if not text.endswith(_CUT):
        return
    end = len(text) - len(_CUT)
    begin = max(0, end - _LOOKED_BACK)
    for rest in _RESTS:
        for found in _all(text[begin:end] + rest, rules):
            if begin + found.start < end < begin + found.end:
                yield FoundSecret(begin + found.start, end, found.kind)


def _private_keys(text: str) -> Iterator[FoundSecret]:
    after = 0
    following: int | None = 0  # where the next end line is, as far as it was looked for
    for match in _PRIVATE_KEY.finditer(text):
        if match.start() < after:
            continue
        if following is not None and following < match.end():
            ended = _END.search(text, match.end())
            following = ended.end() if ended else None
        if following is not None and following - match.end() <= _LONGEST_KEY:
            after = following
        else:
            lines = _KEY_LINES.match(text, match.end())
            after = lines.end() if lines else match.end()
        yield FoundSecret(match.start(), after, "private key")


def _assignments(text: str) -> Iterator[FoundSecret]:
    at = 0
    while match := _ASSIGNED.search(text, at):
        group = next(name for name in ("double", "single", "bare") if match[name] is not None)
        start, end = match.span(group)
        at = start  # a value may hold an assignment of its own
        if _is_value(match, group, text):
            at = end
            yield FoundSecret(start, end, "secret")


def _is_value(match: re.Match[str], group: str, text: str) -> bool:
    value = match[group].rstrip(".:") if group == "bare" else match[group]
    if len(value) < _SHORTEST or _PLACEHOLDER.match(value):
        return False
    varied = any(each.isdigit() for each in value) and any(not each.isdigit() for each in value)
    if not match["sign"]:  # `--token abc123`
        begin = text.rfind("--", max(0, match.start() - 24), match.start())
        option = begin >= 0 and not any(each.isspace() for each in text[begin : match.start()])
        return option and len(value) >= 6 and not value.startswith("-")
    if group != "bare":
        return len(value) >= 6 and " " not in value
    if text[match.end() : match.end() + 1] in ("(", "["):
        return False  # a call, or an item of something
    if match["sign"] == "=" and match[0][: len(match[0]) - len(match[group])].split("=")[0].isupper():
        return not value.isdigit() or len(value) >= 6  # as environments and shells have it
    return varied and len(value) >= 6 and "." not in value[:-1]


@dataclass(slots=True)
class Masked:
    """One secret that was masked, in every place where it stood."""

    kind: str
    mask: str
    first: str  # where it stood first
    times: int = 0


@dataclass
class SecretMask:
    """Masks secrets in the texts of one export: the same secret gets the same mask. It is a ``Rewriter``."""

    rules: Sequence[re.Pattern[str]] = ()
    _masks: dict[str, Masked] = field(default_factory=dict)  # by secret
    _counts: dict[str, int] = field(default_factory=dict)  # by kind
    _where: str = ""

    @property
    def masked(self) -> list[Masked]:
        """Every secret that was masked, in the order in which they were found."""
        return list(self._masks.values())

    def begin(self, where: str) -> None:
        """Say where the texts that follow stand."""
        self._where = where

    def rewrite(self, text: str, name: str = "") -> str:
        """The text with masks; all of it is one where it stands under the name of a secret."""
        if name and is_secret_name(name) and len(text) >= _SHORTEST and " " not in text:
            if not _PLACEHOLDER.match(text):
                return self._mask(text, "secret")
            return text
        found = find_secrets(text, self.rules)
        if not found:
            return text
        pieces: list[str] = []
        at = 0
        for each in found:
            pieces += [text[at : each.start], self._mask(text[each.start : each.end], each.kind)]
            at = each.end
        return "".join((*pieces, text[at:]))

    def rewrite_all(self, value: Any, name: str = "") -> Any:
        """A JSON value with masks in all of its texts."""
        if not self.rules and not isinstance(value, str):
            texts = [name]
            _collect(value, texts)
            # Most values: a look at all at once is a fifth of the work.
            if not _may_hold_secrets("\n".join(texts)):
                return value
        return self._rewrite_each(value, name)

    def _rewrite_each(self, value: Any, name: str) -> Any:
        match value:
            case str():
                return self.rewrite(value, name)
            case dict():
                owner = value.get("name")
                return {
                    key: self._rewrite_each(
                        each, owner if key == "value" and isinstance(owner, str) else str(key)
                    )
                    for key, each in value.items()
                }
            case list() | tuple():
                return [self._rewrite_each(each, name) for each in value]
            case _:
                return value

    def _mask(self, secret: str, kind: str) -> str:
        known = self._masks.get(secret)
        if known is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._masks[secret] = Masked(kind, f"[masked: {kind} {number}]", self._where)
        known.times += 1
        return known.mask


def masked_lines(masked: Sequence[Masked]) -> Iterator[str]:
    """The secrets that were masked, a line each, by kind and first place: never the secret itself."""
    for each in masked:
        times = f", {each.times} times" if each.times > 1 else ""
        yield f"{each.mask[1:-1].removeprefix('masked: ')}{times}: first in {each.first or 'the title'}"


def rule_trouble(pattern: str) -> str | None:
    """The reason, in words, why a regular expression cannot be a rule; None if it can be one."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is not a regular expression: {error}"
    if compiled.search(""):
        return "matches nothing at all: it would mask every place"
    if _nests(_parser.parse(pattern)):
        return "repeats what is repeated, such as (a+)+, and could take for ever"
    return None


def _nests(parsed: Any, within: bool = False) -> bool:
    """True where something without an upper bound is repeated without an upper bound."""
    for operation, argument in parsed:
        endless = operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[1] > 64
        if endless and within:
            return True
        parts: list[Any] = [argument]
        while parts:
            part = parts.pop()
            if isinstance(part, _parser.SubPattern):
                if _nests(part, within or endless):
                    return True
            elif isinstance(part, list | tuple):
                parts += part
    return False
