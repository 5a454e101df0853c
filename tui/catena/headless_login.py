"""What a run without a screen says where a login was needed: which ways there are, and the command for them."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import replace

from catena.agent_choice import name_of_kept
from catena.config import Settings
from catena.safe_text import safe_line
from catena_acp.abilities import AuthMethod
from catena_acp.continuity.events import TurnEnded
from catena_acp.conversation.conversation import Conversation
from catena_acp.errors import AgentError
from catena_acp.trouble.troubles import Trouble


async def with_way_in(
    ended: TurnEnded, conversation: Conversation, window_id: str, settings: Settings
) -> TurnEnded:
    """The same end; where it wants a login, with one line more that says how."""
    problem = ended.problem
    if problem is None or problem.trouble is not Trouble.LOGIN_NEEDED:
        return ended
    methods: tuple[AuthMethod, ...] = ()
    with contextlib.suppress(AgentError):
        methods = await conversation.login_methods(window_id)
    record = conversation.record
    name = name_of_kept(record.agent, record.profile, settings)
    way = _command(name, methods) if methods else conversation.own_way_in
    if way is None:
        return ended
    return replace(ended, problem=replace(problem, detail=(*problem.detail, f"To log in: {way}")))


def _command(name: str, methods: tuple[AuthMethod, ...]) -> str:
    command = name.removeprefix("command:")
    whose = name if command == name else f"--agent-command {shlex.quote(command)}"
    ways = ", ".join(safe_line(method.name) for method in methods)
    return f"catena login {whose} ({ways})"
