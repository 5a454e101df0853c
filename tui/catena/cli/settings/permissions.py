"""``catena permissions``: rules of the person, listed, tested, added and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena.errors import CommandRefused, ExitStatus
from catena.settings.settings import load_settings
from catena.text.json_shapes import FORMAT, dumps
from catena.text.safe_text import safe_line
from catena_acp.permissions.rule import (
    InvalidRule,
    Rule,
    RuleScope,
    RuleVerdict,
    add_rule,
    decide,
    rule_of,
    rule_text,
    rules_in_force,
)
from catena_acp.permissions.subject import KINDS, subject_of_text
from catena_store.conversations import conversations, permission_rules
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id

_STATUSES = {
    "allow": ExitStatus.ANSWERED,
    "ask": ExitStatus.FAILED,
    "reject": ExitStatus.PERMISSION_REFUSED,
}


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """The place that a command is about: a project, and one conversation in it."""

    directory: str
    conversation: str | None  # as it was named
    kind: str  # of a tool; "" where none was named
    json: bool


def answer_rules(
    request: RuleRequest,
    *,
    test: str | None = None,
    add: str | None = None,
    allow: bool = True,
    remove: str | None = None,
) -> int:
    """List the rules of a place, or test, add or remove one. Returns the exit status, which for a test is the answer.

    Raises CommandRefused, InvalidSettings, NotFound or Ambiguous.
    """
    everywhere = load_settings().permission_rules
    if request.kind and request.kind not in KINDS:
        raise CommandRefused(f"{safe_line(request.kind)} is not a kind of tool: {', '.join(KINDS)}")
    status = ExitStatus.ANSWERED
    if add is not None:
        scope = RuleScope.CONVERSATION if request.conversation else RuleScope.PROJECT
        try:
            rule = rule_of(request.kind, add, allow=allow, scope=scope, id=new_id())
        except InvalidRule as error:
            raise CommandRefused(str(error)) from error
        lines = asyncio.run(_added(request, rule))
    elif remove is not None:
        lines = asyncio.run(_removed(request, remove))
    else:
        rules = asyncio.run(_rules(request, everywhere))
        if test is None:
            lines = _listed(request, rules)
        else:
            verdict = decide(rules, subject_of_text(request.kind, test, request.directory))
            lines, status = _tested(request, verdict), _STATUSES[_answer(verdict)]
    for line in lines:
        print(line)
    return status


async def _rules(request: RuleRequest, everywhere: Sequence[Rule]) -> tuple[Rule, ...]:
    async with Database.open(default_path()) as db, db.read() as reader:
        found = await conversations.find(reader, request.conversation) if request.conversation else None
        return await rules_in_force(reader, request.directory, found.id if found else None, everywhere)


async def _added(request: RuleRequest, rule: Rule) -> Iterator[str]:
    async with Database.open(default_path()) as db, db.write() as tx:
        found = await conversations.find(tx, request.conversation) if request.conversation else None
        id = await add_rule(tx, rule, request.directory, found.id if found else None)
    added = rule_of(rule.kind, rule.pattern, allow=rule.allow, scope=rule.scope, id=id)
    return iter(
        [dumps({"format": FORMAT, "rule": _shape(added)}, indent=2)] if request.json else [_line(added)]
    )


async def _removed(request: RuleRequest, id: str) -> Iterator[str]:
    async with Database.open(default_path()) as db, db.write() as tx:
        if not await permission_rules.remove(tx, id):
            raise CommandRefused(f"no rule {safe_line(id)}; rules of the settings file are removed there")
    return iter([dumps({"format": FORMAT, "removed": id}, indent=2)] if request.json else ["removed"])


def _listed(request: RuleRequest, rules: Sequence[Rule]) -> Iterator[str]:
    if request.json:
        shapes = [_shape(rule) for rule in rules]
        yield dumps({"format": FORMAT, "directory": request.directory, "rules": shapes}, indent=2)
    elif rules:
        yield from map(_line, rules)
    else:
        yield "no rules: you are asked each time"


def _tested(request: RuleRequest, verdict: RuleVerdict) -> Iterator[str]:
    if not request.json:
        yield safe_line(verdict.why)
        return
    shape = _shape(verdict.rule) if verdict.rule else None
    yield dumps({"format": FORMAT, "answer": _answer(verdict), "why": verdict.why, "rule": shape}, indent=2)


def _answer(verdict: RuleVerdict) -> str:
    if verdict.rule is None:
        return "ask"
    return "allow" if verdict.rule.allow else "reject"


def _line(rule: Rule) -> str:
    answer = "allow" if rule.allow else "reject"
    return f"{answer:<6}  {safe_line(rule_text(rule))}  ({rule.scope.place})  {rule.id}".rstrip()


def _shape(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id or None,
        "kind": rule.kind,
        "pattern": rule.pattern,
        "answer": "allow" if rule.allow else "reject",
        "scope": rule.scope.name.lower(),
        "text": rule_text(rule),
    }
