"""Permission rules in force in a place, from the store; a stored one that cannot be read as a rule is left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from catena_acp.permissions.rule import InvalidRule, Rule, RuleScope, rule_of
from catena_store.conversations import permission_rules
from catena_store.conversations.permission_rules import StoredRule
from catena_store.database.database import Reader, Writer


async def rules_in_force(
    reader: Reader, directory: str, conversation_id: str | None, everywhere: Sequence[Rule]
) -> tuple[Rule, ...]:
    """The conversation's rules, the project's, and those of ``everywhere`` that hold there, in this order."""
    stored = await permission_rules.that_hold(reader, directory, conversation_id)
    return (
        *(rule for each in stored if (rule := _read(each))),
        *(rule for rule in everywhere if _holds(rule, directory)),
    )


async def add_rule(tx: Writer, rule: Rule, directory: str, conversation_id: str | None) -> str:
    """Store a rule under its id, for ``conversation_id`` or else for the project; returns the id of what holds."""
    stored = StoredRule(rule.id, directory, conversation_id, rule.kind, rule.pattern, rule.allow)
    return await permission_rules.add(tx, stored)


def _holds(rule: Rule, directory: str) -> bool:
    return not rule.project or PurePath(directory).is_relative_to(rule.project)


def _read(stored: StoredRule) -> Rule | None:
    scope = RuleScope.CONVERSATION if stored.conversation_id else RuleScope.PROJECT
    try:
        return rule_of(stored.tool_kind, stored.pattern, allow=stored.allow, scope=scope, id=stored.id)
    except InvalidRule:
        return None
