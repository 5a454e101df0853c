"""Slash commands: prompts that an agent's own program takes, and not its model; and texts that must be none. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catena_acp.spoken.spoken import Prompt

if TYPE_CHECKING:  # the first frame needs no records
    from catena_store.records import Message

# An agent's or Catena's command, a shell command, or one behind the output of others.
_TAKEN_FOR_ONE = re.compile(r"\n*(?:/|!|(?:`{3,}console\n\$ .*?\n`{3,}\n+)+!)", re.DOTALL)
_COMMAND = re.compile(r"/([\w:.-]+)(?:\s|$)")


def command_name(text: str) -> str | None:
    """The name of the slash command that a prompt is, by its form; None for any other text, also for a path."""
    found = _COMMAND.match(text)
    return found[1] if found else None


def as_prose(text: str) -> str:
    """A text that the person did not type as a command, with a space in front if it could be taken for one.

    A command begins with a slash or an exclamation mark, or with the output of a command that another one follows.
    """
    return f" {text}" if _TAKEN_FOR_ONE.match(text) else text


def draft_of(prompt: Message) -> str:
    """The text of a prompt as a draft: of commands, only an agent's that was typed here is still one."""
    typed_here = not Prompt.of(prompt).origin
    return prompt.text if typed_here and prompt.text.startswith("/") else as_prose(prompt.text)
