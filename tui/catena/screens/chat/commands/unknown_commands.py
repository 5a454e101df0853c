"""Commands that neither Catena nor the agent has."""

from __future__ import annotations

from collections.abc import Sequence

from catena.acts.unknown import unknown_command
from catena.screens.chat.commands.table import SLASH_COMMANDS, slash_command
from catena_acp.continuity.routing.slash_commands import command_name


def refusal_of(text: str, agent_commands: Sequence[str] | None, templates: Sequence[str] = ()) -> str:
    """Why a text is not sent: it is a command that nobody has; "" for any other text.

    ``agent_commands`` are the names that the agent has announced; None before it has: then every text is sent.
    ``templates`` are names that may have been meant.
    """
    name = command_name(text)
    if name is None or agent_commands is None or name in agent_commands or slash_command(name):
        return ""
    return unknown_command(name, SLASH_COMMANDS, "Your text is kept", (*agent_commands, *templates))
