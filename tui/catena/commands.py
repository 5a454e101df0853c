"""Catena's own commands: one list for the slash, the palette and the help."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """One command; its name is also that of the chat screen's act."""

    name: str
    summary: str
    argument: str = ""  # what may follow it, "" for nothing
    key: str = ""  # as the person presses it
    aliases: tuple[str, ...] = ()


OWN_COMMANDS: tuple[OwnCommand, ...] = (
    OwnCommand("new", "a new conversation, in a new tab", key="ctrl+t"),
    OwnCommand("history", "all conversations: open one", key="ctrl+o", aliases=("resume", "open")),
    OwnCommand("close", "close this tab; its conversation stays in the history"),
    OwnCommand("rename", "give this conversation a title", argument="TITLE"),
    OwnCommand("clear", "nothing above is told again; all of it stays here", aliases=("reset",)),
    OwnCommand("retry", "the last prompt again"),
    OwnCommand("stop", "stop what the agent does", key="esc"),
    OwnCommand("agent", "go on with another agent", argument="NAME"),
    OwnCommand("model", "another model", argument="NAME"),
    OwnCommand("mode", "another mode", argument="NAME"),
    OwnCommand("options", "all settings that the agent offers"),
    OwnCommand("unqueue", "take the newest waiting prompt back into the composer", key="↑ when empty"),
    OwnCommand("find", "find in the transcript", argument="TEXT", key="ctrl+f"),
    OwnCommand("browse", "go through the transcript by keys", key="shift+tab"),
    OwnCommand("inputs", "search what you typed before", key="ctrl+r"),
    OwnCommand("editor", "write the prompt in your editor", key="ctrl+g"),
    OwnCommand("copy", "copy the last answer"),
    OwnCommand("theme", "another theme, with preview", argument="NAME"),
    OwnCommand("palette", "every command", key="ctrl+p"),
    OwnCommand("help", "keys and commands for this place", key="f1"),
    OwnCommand("quit", "leave; the tabs come back", key="ctrl+d when empty", aliases=("exit",)),
)


def own_command(name: str) -> OwnCommand | None:
    """The command of this name or alias."""
    return next((each for each in OWN_COMMANDS if name == each.name or name in each.aliases), None)


def split_slash(text: str) -> tuple[str, str] | None:
    """Name and argument of a text that begins with a slash; None for any other text."""
    if not text.startswith("/") or len(text) < 2 or text[1].isspace():
        return None
    name, _, argument = text[1:].partition(" ")
    return (name.strip(), argument.strip()) if "\n" not in name else None
