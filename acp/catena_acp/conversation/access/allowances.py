"""What a conversation's agent is allowed and given: permission rules of the person, and MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError
from catena_acp.mcp.servers import ProjectFile, ServerChoice
from catena_acp.permissions.rule import Rule, RuleScope, add_rule, rules_in_force
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


@dataclass(frozen=True, slots=True)
class ListedServers:
    """The servers that a conversation knows, and the file of its project with what the person answered about it."""

    choices: tuple[ServerChoice, ...]
    own: str | None  # the name of Catena's own server, where agents are handed its tools
    in_session: frozenset[str]  # names of those that the open session of the window has
    open: bool  # there is such a session
    reopens: bool  # it can be opened again, with others, for the next prompt
    project: ProjectFile | None
    allowed: bool | None


class ConversationServers:
    """Servers of one conversation: listed, and those of the project allowed or not."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def listed(self, window_id: str) -> ListedServers:
        """The servers as the next session gets them. Raises AgentMissing where the agent is not known."""
        conversation = self._conversation
        record, servers = conversation.record, conversation.environment.servers
        await servers.look(record.cwd)
        spec = conversation.spec_of(record.agent, record.profile)
        agent = conversation.agents.live(spec, record.family)
        abilities = agent.abilities if agent else None
        try:
            live = conversation.live(window_id)
        except AgentError:
            live = None
        return ListedServers(
            servers.listed(record.cwd, spec, abilities, conversation.agent_title),
            str(tools(record.id, window_id)["name"])
            if (tools := conversation.services.checkpointing.tools)
            else None,
            frozenset(str(each.get("name")) for each in live.servers) if live else frozenset(),
            live is not None,
            abilities is not None and abilities.reopens and not abilities.quirks.load_destroys,
            servers.project,
            servers.allowed,
        )

    async def answer(self, project: ProjectFile, *, allowed: bool) -> None:
        """Keep what the person answers about the project's file, as they were shown it. Raises StoreError."""
        await self._conversation.environment.servers.answer(project, allowed=allowed)
