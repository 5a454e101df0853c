"""Permission rules in force in a place, from the store; a stored one that cannot be read as a rule is left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from catena_acp.permissions.rule import InvalidRule, Rule, RuleScope, rule_of
from catena_acp.permissions.subject import PATH_KINDS
from catena_store.conversations import permission_rules
from catena_store.conversations.permission_rules import StoredRule
from catena_store.database.database import Reader, Writer


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
    stored = await permission_rules.that_may_hold(reader, directory, conversation_id)
    places = (directory, *further)
    return (
        *(rule for each in stored if _reaches(each, places) and (rule := _read(each, directory))),
        *(rule for rule in everywhere if _holds(rule, places if not rule.allow else (directory,))),
    )


async def add_rule(tx: Writer, rule: Rule, directory: str, conversation_id: str | None) -> str:
    """Store a rule under its id, for ``conversation_id`` or else for the project; returns the id of what holds."""
    stored = StoredRule(rule.id, directory, conversation_id, rule.kind, rule.pattern, rule.allow)
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
