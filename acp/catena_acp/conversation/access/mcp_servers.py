"""The MCP servers of a conversation, as a person sees them and answers for those of its project."""

from __future__ import annotations

from dataclasses import dataclass

from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError
from catena_acp.mcp.project_file import ProjectFile
from catena_acp.mcp.selection import ServerChoice


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
