"""Permission rules: what one says, where it is kept, and which are proposed for a request.

A rule that rejects beats one that allows, then the narrower scope decides; what is not certain asks the person.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING

from catena_acp.permissions.commands import Words, commands_of, obstacle_in
from catena_acp.permissions.parts import PartRole
from catena_acp.permissions.subject import KINDS, PATH_KINDS, RequestSubject

if TYPE_CHECKING:  # the settings have rules, and are read before the store is opened
    from catena_store.conversations.permission_rules import StoredRule
    from catena_store.database.database import Reader, Writer

ANYTHING = "*"
EVERYWHERE = "**"
_LONGEST = 1000  # characters of a pattern
_HOST = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z")
_NOUNS = {
    "read": "reads",
    "edit": "edits",
    "delete": "deletions",
    "move": "moves",
    "search": "searches",
}
_LOOKING = frozenset({"read", "search"})
_KEPT_BY_GIT = ".git"
_WORDS = re.compile(r"[^\s;&|()<>`$'\"{}=,:]+")  # of a text that may be a command, a patch or a path
_DEEPEST = 40  # parts of a place whose beginning is not known


class RuleScope(IntEnum):
    """Where a rule holds, the narrowest first."""

    CONVERSATION = 1
    PROJECT = 2
    SETTINGS = 3

    @property
    def place(self) -> str:
        """The scope in words."""
        return ("this conversation", "this project", "settings file")[self - 1]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for one kind of tool call; make it with ``rule_of``, which checks the pattern."""

    kind: str  # one of KINDS
    pattern: str
    allow: bool
    scope: RuleScope
    id: str = ""  # of one in the store
    project: str = ""  # absolute: it holds in this directory and below; "" for every one

    @property
    def words(self) -> str:
        """The rule in words: `allow edits below auth/`."""
        return f"{'allow' if self.allow else 'reject'} {rule_text(self)}"


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The rule that answers a request, or None where the person is asked; ``why`` says it in words."""

    rule: Rule | None
    why: str


class InvalidRule(ValueError):
    """A rule that cannot be; ``str()`` of it says why, after the name of its field."""


def rule_of(
    kind: str, pattern: str, *, allow: bool, scope: RuleScope, id: str = "", project: str = ""
) -> Rule:
    """A rule whose kind and pattern were checked, with its pattern in its plain form. Raises InvalidRule."""
    if kind not in KINDS:
        raise InvalidRule(f"kind must be one of {', '.join(KINDS)}")
    if not pattern.strip() or len(pattern) > _LONGEST or not pattern.isprintable():
        raise InvalidRule("pattern must be one line that is not empty")
    match kind:
        case "any":
            if pattern.strip() not in (ANYTHING, EVERYWHERE):
                raise InvalidRule('pattern of any kind of tool can only be "*"')
            plain = ANYTHING
        case "execute":
            plain = _plain_command(pattern)
        case "fetch":
            plain = pattern.strip().lower()
            if plain != ANYTHING and not _HOST.match(plain):
                raise InvalidRule("pattern must be a host: example.org, *.example.org or *")
        case _:
            plain = _plain_path(pattern.strip())
    return Rule(kind, plain, allow, scope, id, project)


def rule_text(rule: Rule) -> str:
    """What a rule is about, in words: `edits below auth/`."""
    pattern = rule.pattern
    if rule.kind == "any":
        return "anything in this project"
    if rule.kind == "execute":
        return "any command" if pattern == ANYTHING else f"commands that begin with “{pattern}”"
    if rule.kind == "fetch":
        if pattern == ANYTHING:
            return "pages of any site"
        return f"pages below {pattern[2:]}" if pattern.startswith("*.") else f"pages of {pattern}"
    noun = _NOUNS[rule.kind]
    if _is_elsewhere(rule):
        return f"{noun} of {pattern} in {rule.project}"
    if pattern == EVERYWHERE:
        return f"{noun} anywhere in this project"
    directory = pattern.removesuffix("/**")
    if directory != pattern and not any(sign in directory for sign in "*?"):
        return f"{noun} below {directory}/"
    return f"{noun} of {pattern}"


def decide(rules: Iterable[Rule], subject: RequestSubject) -> RuleVerdict:
    """The rule that answers a request, and why. Never a rule that allows where the subject is in doubt."""
    ordered: Sequence[Rule] = sorted(rules, key=lambda rule: rule.scope)
    for rule in ordered:
        if not rule.allow and _rejects(rule, subject):
            return RuleVerdict(rule, f"rejected by your rule: {rule_text(rule)}")
    if subject.doubt:
        return RuleVerdict(None, f"asks: {subject.doubt}")
    for rule in ordered:
        if rule.allow and _allows(rule, subject):
            return RuleVerdict(rule, f"allowed by your rule: {rule_text(rule)}")
    return RuleVerdict(None, "asks: no rule matches")


def _allows(rule: Rule, subject: RequestSubject) -> bool:
    """True if the rule covers everything that the request is about."""
    if rule.kind not in ("any", subject.kind):
        return False
    match subject.kind:
        case "execute":
            return bool(subject.commands) and all(_begins(rule, words) for words in subject.commands)
        case "fetch":
            return bool(subject.hosts) and all(_is_host(rule, host) for host in subject.hosts)
        case kind if kind in PATH_KINDS:
            pattern = EVERYWHERE if rule.kind == "any" else rule.pattern
            return bool(subject.paths) and all(_covers(pattern, path, kind) for path in subject.paths)
        case _:
            return False


def _rejects(rule: Rule, subject: RequestSubject) -> bool:
    """True if the rule is about any part of the request, or may be where that is in doubt."""
    if rule.kind == "any":
        return True
    if subject.doubt and _may_be(rule, subject):
        return True
    if rule.kind != subject.kind:
        return False
    about_files = rule.kind in PATH_KINDS
    if rule.pattern == (EVERYWHERE if about_files else ANYTHING) and not (
        about_files and _is_elsewhere(rule)
    ):
        return True
    match subject.kind:
        case "execute":
            return any(_begins(rule, words) or _begins(rule, _bare(words)) for words in subject.commands)
        case "fetch":
            return any(_is_host(rule, host) for host in subject.hosts)
        case _:
            # Some file systems take names in another case for the same.
            pattern = rule.pattern.casefold()
            return any(_matches(pattern, path.casefold(), least=0) for path in _seen_from(rule, subject))


def _is_elsewhere(rule: Rule) -> bool:
    """True for a stored rule of another directory than the one that is worked in."""
    return bool(rule.project) and rule.scope is RuleScope.PROJECT


def _seen_from(rule: Rule, subject: RequestSubject) -> Iterator[str]:
    """The paths of a request, relative to the project, or to the directory of a rule that was made in another one."""
    if not _is_elsewhere(rule):
        yield from subject.paths
    if rule.project:
        own = os.path.realpath(rule.project)
        for place in map(PurePosixPath, subject.places):
            if place.is_relative_to(own):
                yield str(place.relative_to(own))


def _may_be(rule: Rule, subject: RequestSubject) -> bool:
    """True if a doubtful request may be what the rule names: its words, place or host stand somewhere in the input."""
    whole = rule.pattern in (EVERYWHERE, ANYTHING)
    if whole:  # each request of an unknown kind may be of this one
        there = any(True for _ in _seen_from(rule, subject)) and rule.kind == subject.kind
        unknown = subject.kind not in KINDS and bool(subject.mentions)
        return unknown or (there and rule.kind in PATH_KINDS)
    match rule.kind:
        case "execute":
            wanted = [PurePosixPath(word).name for word in rule.pattern.split()]
            return any(
                words[at : at + len(wanted)] == wanted
                for text in subject.mentions
                if (words := [PurePosixPath(word).name for word in _WORDS.findall(text)])
                for at in range(len(words))
            )
        case "fetch":
            host = rule.pattern.removeprefix("*.")
            return any(host in text.casefold() for text in subject.mentions)
        case _:
            pattern = rule.pattern.casefold()
            places = (place.casefold() for text in subject.mentions for place in _WORDS.findall(text))
            return any(_may_match(pattern, place) for place in places)


def _may_match(pattern: str, place: str) -> bool:
    """True if a place, or its end, matches: where it begins is not known."""
    parts = [part for part in place.split("/") if part not in ("", ".")]
    return any(_matches(pattern, "/".join(parts[at:]), least=0) for at in range(min(len(parts), _DEEPEST)))


def _begins(rule: Rule, words: Words) -> bool:
    if rule.kind == "any" or rule.pattern == ANYTHING:
        return True
    wanted = commands_of(rule.pattern)
    return wanted is not None and words[: len(wanted[0])] == wanted[0]


def _bare(words: Words) -> Words:
    """The words with the program's name instead of its path."""
    return (PurePosixPath(words[0]).name, *words[1:])


def _is_host(rule: Rule, host: str) -> bool:
    if rule.kind == "any" or rule.pattern == ANYTHING:
        return True
    if rule.pattern.startswith("*."):
        return host.endswith(rule.pattern[1:])
    return host == rule.pattern


def _covers(pattern: str, path: str, kind: str) -> bool:
    """True if a pattern that allows matches; what git runs is changed only where the pattern names it."""
    parts = [part.casefold() for part in path.split("/")]
    if kind not in _LOOKING and _KEPT_BY_GIT in parts and _KEPT_BY_GIT not in pattern.split("/"):
        return False
    return _matches(pattern, path, least=0 if kind in _LOOKING else 1)


def _matches(pattern: str, path: str, *, least: int) -> bool:
    """Match segment by segment; `**` stands for any number of them, at the end for ``least`` or more."""
    wanted = pattern.split("/")
    found = [] if path in ("", ".") else path.split("/")
    reached = {0}  # how many segments of the path the pattern may have taken so far
    for number, segment in enumerate(wanted):
        if segment == EVERYWHERE:
            skip = least if number == len(wanted) - 1 else 0
            start = min(reached, default=len(found) + 1) + skip
            reached = set(range(start, len(found) + 1))
        else:
            glob = segment.replace("[", "[[]")  # names have brackets; a pattern has only `*` and `?`
            reached = {at + 1 for at in reached if at < len(found) and fnmatchcase(found[at], glob)}
    return len(found) in reached


def _plain_path(pattern: str) -> str:
    pattern = pattern.removeprefix("./")
    if pattern.endswith("/"):
        pattern += EVERYWHERE
    segments = pattern.split("/")
    if pattern.startswith(("/", "~")) or any(segment in ("", ".", "..") for segment in segments):
        raise InvalidRule(
            "pattern must be a path within the project: auth/, src/**/*.py, or ** for all of it"
        )
    if any(EVERYWHERE in segment and segment != EVERYWHERE for segment in segments):
        raise InvalidRule("pattern can have ** only between slashes")
    return "/".join(segments)


def _plain_command(pattern: str) -> str:
    import shlex

    if pattern.strip() == ANYTHING:
        return ANYTHING
    commands = commands_of(pattern)
    if commands is None or len(commands) != 1 or any(sign in pattern for sign in ";&|\n"):
        raise InvalidRule("pattern must be the first words of one command: git status, or * for any command")
    return shlex.join(commands[0])


async def rules_in_force(
    reader: Reader,
    directory: str,
    conversation_id: str | None,
    everywhere: Sequence[Rule],
    further: Sequence[str] = (),
) -> tuple[Rule, ...]:
    """The conversation's rules, the project's, and those of ``everywhere`` that hold there, in this order.

    ``further`` are the conversation's directories beside ``directory``. A rule that rejects holds in its directory and
    below, and wherever that is one of them; one about files also if its directory lies below one of them.
    """
    from catena_store.conversations import permission_rules

    stored = await permission_rules.that_may_hold(reader, directory, conversation_id)
    places = (directory, *further)
    return (
        *(rule for each in stored if _reaches(each, places) and (rule := _read(each, directory))),
        *(rule for rule in everywhere if _holds(rule, places if not rule.allow else (directory,))),
    )


async def add_rule(tx: Writer, rule: Rule, directory: str, conversation_id: str | None) -> str:
    """Store a rule under its id, for ``conversation_id`` or else for the project; returns the id of what holds."""
    from catena_store.conversations import permission_rules

    stored = permission_rules.StoredRule(
        rule.id, directory, conversation_id, rule.kind, rule.pattern, rule.allow
    )
    return await permission_rules.add(tx, stored)


def _holds(rule: Rule, places: Sequence[str]) -> bool:
    return not rule.project or any(PurePath(place).is_relative_to(rule.project) for place in places)


def _reaches(stored: StoredRule, places: Sequence[str]) -> bool:
    if stored.conversation_id or stored.directory == places[0]:
        return True
    own, about_files = PurePath(stored.directory), stored.tool_kind in PATH_KINDS
    return any(
        PurePath(place).is_relative_to(own) or (about_files and own.is_relative_to(place)) for place in places
    )


def _read(stored: StoredRule, directory: str) -> Rule | None:
    elsewhere = "" if stored.conversation_id or stored.directory == directory else stored.directory
    scope = RuleScope.CONVERSATION if stored.conversation_id else RuleScope.PROJECT
    try:
        return rule_of(
            stored.tool_kind,
            stored.pattern,
            allow=stored.allow,
            scope=scope,
            id=stored.id,
            project=elsewhere,
        )
    except InvalidRule:
        return None


def proposals(subject: RequestSubject) -> tuple[Rule, ...]:
    """Rules of the project that would allow just such a request, the narrowest first; none where it is in doubt."""
    if subject.doubt:
        return ()
    found: list[Rule] = []
    for pattern in _patterns(subject):
        try:
            rule = rule_of(subject.kind, pattern, allow=True, scope=RuleScope.PROJECT)
        except InvalidRule:
            continue
        if rule not in found and decide([rule], subject).rule is rule:
            found.append(rule)
    return tuple(found)


def no_rule_words(subject: RequestSubject) -> str:
    """Why no rule is offered that would allow just such a request, as a sentence."""
    commands = [part.text for part in subject.main if part.role is PartRole.COMMAND]
    if subject.kind == "execute" and commands and (sign := obstacle_in(commands[0])):
        return f"A command with {sign} cannot be allowed by a rule."
    return f"No rule can allow this: {subject.doubt}." if subject.doubt else "No rule can allow this."


def first_choice(rules: tuple[Rule, ...]) -> int:
    """The index of the rule that is offered first: of one directory for files, else the narrowest."""
    below = (at for at, rule in enumerate(rules) if rule.kind in PATH_KINDS and rule.pattern.endswith("/**"))
    return next(below, 0)


def _patterns(subject: RequestSubject) -> Iterator[str]:
    match subject.kind:
        case "execute":
            import shlex

            shortest = min(subject.commands, key=len, default=())
            for length in range(len(shortest), 0, -1):
                text = shlex.join(shortest[:length])
                if commands_of(text) is not None:
                    yield text
        case "fetch":
            yield from subject.hosts[:1]
        case kind if kind in PATH_KINDS:
            first = PurePosixPath(subject.paths[0]) if subject.paths else PurePosixPath(".")
            if not any(sign in str(first) for sign in "*?"):
                yield str(first)
                yield from (f"{above}/{EVERYWHERE}" for above in first.parents if above.name)
            yield EVERYWHERE
