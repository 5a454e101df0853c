"""Slash commands: prompts that an agent's own program takes, and not its model. Pure."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"/([\w:.-]+)(?:\s|$)")


def command_name(text: str) -> str | None:
    """The name of the slash command that a prompt is, by its form; None for any other text, also for a path."""
    found = _COMMAND.match(text)
    return found[1] if found else None
