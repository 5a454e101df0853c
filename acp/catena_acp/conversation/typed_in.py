"""What was in force when a waiting prompt was typed: its session is put into that before it goes out."""

from __future__ import annotations

from catena_acp.conversation.core import Core
from catena_acp.conversation.news import Problem, SessionState, Troubled
from catena_acp.conversation.session_settings import set_mode_and_model
from catena_acp.conversation.sessions import LiveSession
from catena_acp.errors import AgentError
from catena_acp.troubles import Trouble
from catena_store.records import QueueItem


class TypedIn:
    """Puts a window's session into the mode and model of waiting prompts, and back when none waits any more.

    Whatever the person or the agent switches meanwhile is theirs and is left alone.
    """

    def __init__(self, core: Core, window_id: str) -> None:
        self._core = core
        self._window_id = window_id
        self._before: tuple[str, str | None, str | None] | None = (
            None  # link, mode, model that the person chose
        )
        self._ours: tuple[str | None, str | None] | None = None  # what we put in force instead

    async def restore(self, live: LiveSession, item: QueueItem) -> None:
        """Put the session into what the prompt was typed in; where that fails it is told, and the prompt goes out."""
        state = live.state
        if (
            self._ours is None
            or self._before is None
            or self._before[0] != live.link_id
            or (_in_force(state) != self._ours)
        ):
            self._before = (live.link_id, state.mode, state.model)
        why = await self._set(live, item.mode, item.model)
        self._ours = _in_force(live.state)
        missing = _not_in_force(live.state, item.mode, item.model)
        if missing:
            because = f": {why}" if why else " offers no such thing now"
            self._core.tell(
                Troubled(
                    self._window_id,
                    Problem(
                        Trouble.REFUSED,
                        f"A waiting prompt was typed in {' and '.join(missing)}, and {state.agent_title}"
                        f"{' did not take that' if why else ''}{because}. It goes out as the session is.",
                    ),
                )
            )

    async def give_back(self) -> None:
        """The queue has come to rest: the session is as the person chose it, unless it was switched since."""
        before, ours, self._before, self._ours = self._before, self._ours, None, None
        live = self._core.sessions.by_link(before[0]) if before else None
        if before and live and live.agent.alive and _in_force(live.state) == ours:
            why = await self._set(live, before[1], before[2])
            # The turn before tells what the waiting prompt was typed in; this is what comes back after a restart.
            await self._core.around.note_in_force(self._window_id, live)
            if why:
                text = f"{live.state.agent_title} did not go back to the mode and model of before: {why}."
                self._core.tell(Troubled(self._window_id, Problem(Trouble.REFUSED, text)))

    async def _set(self, live: LiveSession, mode: str | None, model: str | None) -> str | None:
        try:
            await set_mode_and_model(live, mode, model)
        except AgentError as error:
            return str(error)
        return None


def _in_force(state: SessionState) -> tuple[str | None, str | None]:
    return state.mode, state.model


def _not_in_force(state: SessionState, mode: str | None, model: str | None) -> list[str]:
    names = []
    if mode and mode != state.mode:
        known = next((choice.name for choice in state.modes if choice.id == mode), mode)
        names.append(f"the mode “{known}”")
    if model and model != state.model:
        names.append(f"the model “{model}”")
    return names
