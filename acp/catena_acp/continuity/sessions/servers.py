"""The MCP servers of one conversation's sessions: its own, the settings', and those of its project's file.

They are chosen anew whenever a session is opened, so that what changed holds for the next one. An open session that
could have others is opened again with the next prompt, by the way of the directories.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from catena_acp.continuity.conversation_events import ConversationEvent, Remarked
from catena_acp.continuity.services import Services
from catena_acp.continuity.sessions.directory_reading import DirectoryReading
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.mcp.project_file import FILE_NAME, ProjectFile, read_project_file
from catena_acp.mcp.selection import Recipient, ServerChoice, choose
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentSpec
from catena_store.conversations import mcp_servers, trusted_files
from catena_store.errors import StoreError


class SessionServers:
    """The servers of one live conversation."""

    def __init__(
        self, services: Services, conversation_id: str, publish: Callable[[ConversationEvent], None]
    ) -> None:
        self._services = services
        self._conversation_id = conversation_id
        self._publish = publish
        self._kept: tuple[dict[str, object], ...] = ()  # of the conversation itself
        self._told: set[tuple[str, str]] = set()  # a window, and what was said there
        self._reading = DirectoryReading(read_project_file)
        self._cwd = ""  # where the project was looked for last
        self.project: ProjectFile | None = None
        self.allowed: bool | None = None  # the person's answer about that file as it is; None without one

    async def load(self) -> None:
        """Read which servers the conversation was given."""
        with contextlib.suppress(StoreError):
            async with self._services.db.read() as reader:
                self._kept = await mcp_servers.of_conversation(reader, self._conversation_id)

    async def look(self, cwd: str) -> None:
        """Read the project's file anew, and what the person answered about it."""
        self._cwd = cwd
        self.project = await self._reading.of(cwd)
        self.allowed = None
        if self.project is not None:
            with contextlib.suppress(StoreError):
                async with self._services.db.read() as reader:
                    self.allowed = await trusted_files.answer_of(
                        reader, self.project.path, self.project.digest
                    )

    async def answer(self, project: ProjectFile, *, allowed: bool) -> None:
        """Store the person's answer about a file as they saw it. Raises StoreError."""
        async with self._services.db.write() as tx:
            await trusted_files.answer(tx, project.path, project.digest, trusted=allowed)
        if self.project is not None and self.project.digest == project.digest:
            self.allowed = allowed

    def listed(
        self, cwd: str, spec: AgentSpec, abilities: Abilities | None, title: str = ""
    ) -> tuple[ServerChoice, ...]:
        """Every server that this conversation knows, with what becomes of it in a session of this agent."""
        recipient = Recipient(cwd, spec.name, spec.profile, title or spec.title, abilities)
        known = (*self._services.mcp_servers, *(self.project.servers if self.project else ()))
        return choose(self._kept, known, recipient, project_allowed=self.allowed, environment=os.environ)

    def sent(self, cwd: str, spec: AgentSpec, abilities: Abilities | None) -> tuple[dict[str, object], ...]:
        """The servers that a session is given."""
        return tuple(each.sent for each in self.listed(cwd, spec, abilities) if each.sent is not None)

    def tell(self, live: LiveSession, window_id: str) -> None:
        """Remark, once for each window, which servers a session that was just opened did not get."""
        agent = live.agent
        known = self.listed(self._cwd, agent.spec, agent.abilities, live.state.agent_title)
        words = [
            f"MCP server {each.server.name} is left out: {each.why}." for each in known if each.unexpected
        ]
        if self.project is not None:
            words += [f"{FILE_NAME}: {wrong}." for wrong in self.project.wrong]
            if self.allowed is None and (count := len(self.project.servers)):
                servers, them = ("an MCP server", "it") if count == 1 else (f"{count} MCP servers", "them")
                words.append(f"This project brings {servers} ({FILE_NAME}): /mcp shows and allows {them}.")
        new = [each for each in words if (window_id, each) not in self._told]
        if new:
            self._told |= {(window_id, each) for each in new}
            self._publish(Remarked(window_id, " ".join(new)))
