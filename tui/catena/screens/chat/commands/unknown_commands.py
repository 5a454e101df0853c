"""Commands that neither Catena nor the agent has."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from catena.screens.chat.commands.table import SLASH_COMMANDS, slash_command
from catena_acp.continuity.routing.slash_commands import command_name

_LONGEST = 40  # characters of a name that are shown


def refusal_of(text: str, agent_commands: Sequence[str] | None) -> str:
    """Why a text is not sent: it is a command that nobody has; "" for any other text.

    ``agent_commands`` are the names that the agent has announced; None before it has: then every text is sent.
    """
    name = command_name(text)
    if name is None or agent_commands is None or name in agent_commands or slash_command(name):
        return ""
    own = [each for command in SLASH_COMMANDS for each in (command.name, *command.aliases)]
    known = {each.lower(): each for each in (*agent_commands, *own)}
    near = get_close_matches(name.lower(), known, n=1)
    meant = f"Did you mean /{_cut(known[near[0]])}? " if near else ""
    return f"Unknown command /{_cut(name)}. {meant}Your text is kept; with a space before it, it is sent as text."


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
