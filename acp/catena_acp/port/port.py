"""The interface between the conversation side and an agent.

``agents.agent.Agent`` implements it with a process; tests implement it with a model that records what each session
was sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the first frame needs AgentSpec and none of these
    from catena_acp.port.abilities import Abilities
    from catena_acp.port.elicitation.requests import ElicitationAnswer
    from catena_acp.port.session_events import (
        Event,
        Option,
        PromptBlock,
        PromptEnded,
        SessionOpened,
        SessionPage,
        ToolCallChanged,
    )


# Before a request for files or terminals: what it would write or run, None if it only reads; returns whether a question
# covered it.
FileGuard = Callable[["ToolCallChanged | None"], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Command, environment and profile with which an agent is started."""

    name: str  # stored with links: a catalogue name, or `command:` and its argv
    title: str  # shown to a person
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    profile: str = ""


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """Directories and MCP servers of a session, as `session/new`, load, resume and fork take them."""

    cwd: str
    additional_directories: tuple[str, ...] = ()
    mcp_servers: tuple[dict[str, object], ...] = field(default=())
    tools: dict[str, object] | None = None  # our own server, whose tools are of one window


class AgentPort(Protocol):
    """A running, initialised agent; each request may raise any ``AgentError``."""

    @property
    def spec(self) -> AgentSpec: ...
    @property
    def abilities(self) -> Abilities: ...
    @property
    def alive(self) -> bool: ...
    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines of the agent's standard error, oldest first."""
        ...

    @property
    def runs_commands(self) -> bool:
        """True while a command of the agent's runs in a terminal of ours."""
        ...

    @property
    def group(self) -> tuple[int, str]:
        """Process group id and start time of its leader, as the lease stores them."""
        ...

    async def new_session(self, setup: SessionSetup) -> SessionOpened: ...
    async def resume_session(self, session_id: str, setup: SessionSetup) -> SessionOpened: ...
    async def load_session(self, session_id: str, setup: SessionSetup) -> SessionOpened: ...
    async def fork_session(
        self, session_id: str, setup: SessionSetup, at: str | None = None
    ) -> SessionOpened: ...
    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> SessionPage:
        """One page of the agent's own list of sessions, of a directory or of all."""
        ...

    async def close_session(self, session_id: str) -> None:
        """Close a session where the agent offers that; a refusal is not an error."""
        ...

    async def delete_session(self, session_id: str) -> None: ...
    async def prompt(self, session_id: str, blocks: Sequence[PromptBlock]) -> PromptEnded: ...
    async def steer(self, session_id: str, blocks: Sequence[PromptBlock]) -> str:
        """Steer a running turn; return the outcome: injected, startedNewTurn, promptRequired or failed."""
        ...

    async def cancel(self, session_id: str) -> None:
        """Send `session/cancel` and answer the session's open permission requests and elicitations with `cancelled`."""
        ...

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        """Replace the further directories below which the session may read and write files through the client."""
        ...

    def forbid_writes(self, session_id: str) -> None:
        """Refuse every later `fs/write_text_file` and `terminal/create` of the session."""
        ...

    async def set_mode(self, session_id: str, mode_id: str) -> None: ...
    async def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]: ...
    async def authenticate(self, method_id: str) -> None:
        """Log in by a method of kind `agent`; a person may have to act meanwhile."""
        ...

    async def logout(self) -> None: ...
    def listen(self, session_id: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Pass every event of a session to ``listener``, in order, undelivered ones first; return the unsubscription.

        The listener must not block and must not raise.
        """
        ...

    def guard_files(self, session_id: str, guard: FileGuard) -> Callable[[], None]:
        """Await ``guard`` before a request of the session for files or terminals; return the unsubscription."""
        ...

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Answer a ``PermissionRequested``; None is `cancelled`. A second answer is ignored."""
        ...

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        """Answer an ``ElicitationRequested``. A second answer is ignored."""
        ...

    async def stop(self) -> None:
        """End the process and its process group."""
        ...

    def on_exit(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the process has ended, at once where it has; return the unsubscription."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits of requests, in seconds; a prompt and the opening of a session have none."""

    replay: float = 20  # the end of a history that comes behind the answer
    setting: float = 60
    closing: float = 5
    # Seconds without a byte, after which a line without its end is looked at; after five times that it is shown.
    quiet: float = 1
    login: float = 600  # a person may be logging in in a browser
