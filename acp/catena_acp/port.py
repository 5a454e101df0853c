"""What the conversation side asks of an agent: the seam between the two sides of this floor.

``agent.Agent`` is the real one, a process; the tests of the route put a model in its place that keeps its own list of
what every session heard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a spec is needed before a screen's first frame, and all this is not
    from catena_acp.abilities import Abilities
    from catena_acp.events import Event, Option, PromptBlock, PromptEnded, SessionOpened


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """How to start an agent."""

    name: str  # what links are stamped with: a catalogue name, or `command:` and its argv
    title: str  # what a person reads
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    profile: str = ""


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """Where a session works and what it is given."""

    cwd: str
    additional_directories: tuple[str, ...] = ()
    mcp_servers: tuple[dict[str, object], ...] = field(default=())


class AgentPort(Protocol):
    """A running, initialised agent. Every request may raise any ``AgentError``."""

    @property
    def spec(self) -> AgentSpec: ...
    @property
    def abilities(self) -> Abilities: ...
    @property
    def alive(self) -> bool: ...
    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines that it wrote to its standard error, oldest first."""
        ...

    @property
    def group(self) -> tuple[int, str]:
        """Process group id and the start time of its leader, as the lease keeps them."""
        ...

    async def new_session(self, setup: SessionSetup) -> SessionOpened: ...
    async def resume_session(self, session_id: str, setup: SessionSetup) -> SessionOpened: ...
    async def load_session(self, session_id: str, setup: SessionSetup) -> SessionOpened: ...
    async def fork_session(
        self, session_id: str, setup: SessionSetup, at: str | None = None
    ) -> SessionOpened: ...
    async def close_session(self, session_id: str) -> None:
        """Close it where the agent offers that; a refusal is not an error."""
        ...

    async def delete_session(self, session_id: str) -> None: ...
    async def prompt(self, session_id: str, blocks: Sequence[PromptBlock]) -> PromptEnded: ...
    async def steer(self, session_id: str, blocks: Sequence[PromptBlock]) -> str:
        """Say something into a running turn. What came of it: injected, startedNewTurn, promptRequired, failed."""
        ...

    async def cancel(self, session_id: str) -> None:
        """Ask it to stop the turn and answer what it waits for with `cancelled`."""
        ...

    def allow_directories(self, session_id: str, directories: Sequence[str]) -> None:
        """From now on the session may ask us for files below these directories, too, and below no others."""
        ...

    def forbid_writes(self, session_id: str) -> None:
        """From now on the session may write no file through us."""
        ...

    async def set_mode(self, session_id: str, mode_id: str) -> None: ...
    async def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]: ...
    async def authenticate(self, method_id: str) -> None:
        """Log in by one of its methods of kind `agent`; a person may have to act meanwhile."""
        ...

    async def logout(self) -> None: ...
    def listen(self, session_id: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hand every event of a session to ``listener``, at once and in order; early ones first. Returns the end of it.

        The listener must not block and must not raise.
        """
        ...

    def answer_permission(self, ask_id: str, option_id: str | None) -> None:
        """Answer a ``PermissionRequested``; None is `cancelled`. Answering twice is harmless."""
        ...

    async def stop(self) -> None:
        """End the process and everything it started."""
        ...

    def on_exit(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the process ends, also when it has already. Returns the end of it."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds until an answer is given up. A prompt may take for ever."""

    opening: float = 120  # a session; agents start servers and read long transcripts meanwhile
    setting: float = 60
    closing: float = 5
    login: float = 600  # a person may be in a browser
