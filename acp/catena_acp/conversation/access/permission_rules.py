"""Permission rules of the person, as a conversation sees and changes them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from catena_acp.conversation.live import LiveConversation
from catena_acp.permissions.rule import Rule, RuleScope
from catena_acp.permissions.stored_rules import add_rule, rules_in_force
from catena_store.conversations import permission_rules


class ConversationRules:
    """Rules in force in a conversation: its own, its project's and the settings file's."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def listed(self) -> tuple[Rule, ...]:
        """The rules in force, the conversation's own first. Raises StoreError."""
        async with self._conversation.services.db.read() as reader:
            return await rules_in_force(
                reader,
                self._conversation.record.cwd,
                self._conversation.id,
                self._conversation.services.rules or (),
                self._conversation.environment.directories,
            )

    async def add(self, rule: Rule) -> None:
        """Add a rule to the conversation or its project, by its scope. Raises StoreError."""
        whose = self._conversation.id if rule.scope is RuleScope.CONVERSATION else None
        async with self._conversation.services.db.write() as tx:
            await add_rule(
                tx,
                rule if rule.id else replace(rule, id=self._conversation.services.new_id()),
                self._conversation.record.cwd,
                whose,
            )

    async def answer_open(self, spared: Callable[[], Collection[str]] = tuple) -> int:
        """Answer the open requests that a rule is about now, but those with ``spared`` ids; returns how many."""
        return await self._conversation.apply_rules(spared)

    async def remove(self, rule: Rule) -> None:
        """Remove a stored rule. Raises StoreError."""
        async with self._conversation.services.db.write() as tx:
            await permission_rules.remove(tx, rule.id)

    async def move(self, rule: Rule, scope: RuleScope) -> None:
        """Let a stored rule hold in another scope, in one transaction. Raises StoreError."""
        whose = self._conversation.id if scope is RuleScope.CONVERSATION else None
        async with self._conversation.services.db.write() as tx:
            await permission_rules.remove(tx, rule.id)
            directory = rule.project or self._conversation.record.cwd
            await add_rule(tx, replace(rule, scope=scope), directory, whose)
