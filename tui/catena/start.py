"""What the command line hands to the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catena.config import Settings

if TYPE_CHECKING:  # a fifth of a frame of dataclasses that the first one does not need
    from catena_acp.port import AgentSpec


@dataclass(frozen=True, slots=True)
class Start:
    """How the screen starts.

    With none of ``agent``, ``conversation_id`` and ``picker`` the tabs of ``directory`` come back; where there are
    none, the person is asked which agent.
    """

    directory: str  # absolute: the workspace, and where new conversations work
    agent: AgentSpec | None = None  # asked for: a new tab with it
    conversation_id: str | None = None  # asked for: its tab, a new one where it has none
    picker: bool = False  # begin with the list of conversations
    further_directories: tuple[
        str, ...
    ] = ()  # absolute: for the first tab that is shown, and for new conversations
    settings: Settings = field(default_factory=Settings)
