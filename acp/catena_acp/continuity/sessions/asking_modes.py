"""Modes in which an agent asks before it acts, for where its questions are what keeps it from acting.

Agents begin in modes of their own choice, and some of these ask for nothing. They are told apart by their ids.
"""

from __future__ import annotations

from typing import Final

from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.sessions.settings import set_mode
from catena_acp.errors import AgentError, AgentGone

_UNASKED: Final = frozenset(
    {"auto", "acceptedits", "autoedit", "autoapprove", "autopilot", "bypasspermissions", "yolo"}
    | {"workspacewrite", "fullaccess", "agentfullaccess"}
)
_ASKING: Final = ("default", "ask", "manual", "readonly")  # the first that is offered


async def ask_first(live: LiveSession) -> str | None:
    """Put a session that would act unasked into a mode that asks; in words what became of that, None if nothing did.

    Raises AgentGone.
    """
    state, unasked = live.state, _UNASKED | live.agent.abilities.quirks.unasked_modes
    if state.mode is None or _short(state.mode) not in unasked:
        return None
    names = {choice.id: choice.name for choice in state.modes}
    before = names.get(state.mode, state.mode)
    offered = {_short(id): id for id in names}
    for short in _ASKING:
        if (wanted := offered.get(short)) is None:
            continue
        try:
            await set_mode(live, wanted)
        except AgentGone:
            raise
        except AgentError:
            continue
        return f"{state.agent_title} is in mode “{names[wanted]}”: in “{before}” it would not ask."
    return f"{state.agent_title} is in mode “{before}”, in which it does not ask: nothing can be refused."


def _short(id: str) -> str:
    """The id of a mode without what differs between agents; of one that is an address, its last part."""
    return "".join(letter for letter in id.lower().rpartition("#")[2] if letter.isalnum())
