"""Commands that neither Catena nor the agent has, and words that ours do not take."""

from __future__ import annotations

from collections.abc import Sequence

from catena.acts.unknown import refused_argument, unknown_command
from catena.screens.chat.commands.table import SLASH_COMMANDS, slash_command, typed_command
from catena.widgets.commands import split_slash
from catena_acp.continuity.routing.slash_commands import command_name


def refusal_of(text: str, agent_commands: Sequence[str] | None, templates: Sequence[str] = ()) -> str:
    """Why a text is not sent: nobody has the command, or it does not take what stands behind it; "" for any other text.

    ``agent_commands`` are the names that the agent has announced; None before it has: then every text is sent.
    ``templates`` are names that may have been meant.
    """
    slash = split_slash(text)
    wanted, argument = typed_command(*slash) if slash else (None, "")
    if wanted is not None:
        return refused_argument(wanted, argument, SLASH_COMMANDS)
    name = command_name(text)
    if name is None or agent_commands is None or name in agent_commands or slash_command(name):
        return ""
    return unknown_command(name, SLASH_COMMANDS, "Your text is kept", (*agent_commands, *templates))
