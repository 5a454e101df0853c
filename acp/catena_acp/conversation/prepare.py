"""Opening a session before there is a prompt, where nothing would have to be told."""

from __future__ import annotations

from catena_acp.conversation import route
from catena_acp.conversation.ground import Ground
from catena_acp.conversation.news import Doing
from catena_acp.conversation.sessions import LiveSession
from catena_acp.errors import SessionGone
from catena_store import messages, windows
from catena_store.records import Kind, PathRow

_NEXT_PROMPT = PathRow(id="", kind=Kind.USER, turn_id=None)


class Preparing:
    """Gets a window's next session ready: its commands, modes and models can then be shown."""

    def __init__(self, ground: Ground, window_id: str) -> None:
        self._ground = ground
        self._window_id = window_id

    async def open(self) -> LiveSession | None:
        """The session that the next prompt would go to, opened; None where that would have to be forked or told.

        Raises AgentError.
        """
        ground = self._ground
        agent = await ground.agent(self._window_id)
        async with ground.services.db.read() as reader:
            window = await windows.get(reader, self._window_id)
            path = await messages.path(reader, window.leaf_id if window else None)
            situation = await ground.situation(reader, agent, self._window_id, [*path, _NEXT_PROMPT])
        match route.candidates(situation)[0]:
            case route.Use(link):
                if live := ground.sessions.of(link):
                    return live
                if agent.abilities.quirks.load_destroys:
                    return None
                ground.doing(self._window_id, Doing.OPENING)
                try:
                    return await ground.sessions.open_cold(link, agent, ground.place, ground.ear)
                except SessionGone as error:
                    await ground.lose(link, str(error))
                    return None
            case route.New() if route.gap_of(situation.path, None) == 0:
                ground.doing(self._window_id, Doing.OPENING)
                return await ground.open_new(agent, self._window_id)
            case _:
                return None
