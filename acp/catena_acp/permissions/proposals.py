"""Rules that are offered to the person beside an agent's request: each would answer it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from catena_acp.permissions.commands import commands_of, obstacle_in
from catena_acp.permissions.parts import PartRole
from catena_acp.permissions.rule import (
    EVERYWHERE,
    InvalidRule,
    Rule,
    RuleScope,
    decide,
    rule_of,
)
from catena_acp.permissions.subject import PATH_KINDS, RequestSubject


def proposals(subject: RequestSubject, scope: RuleScope = RuleScope.PROJECT) -> tuple[Rule, ...]:
    """Rules that would allow just such a request, the narrowest first; none where the subject is in doubt."""
    if subject.doubt:
        return ()
    found: list[Rule] = []
    for pattern in _patterns(subject):
        try:
            rule = rule_of(subject.kind, pattern, allow=True, scope=scope)
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
