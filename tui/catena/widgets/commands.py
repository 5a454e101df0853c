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
    OwnCommand("retry", "the last prompt again; by another agent", argument="AGENT", key="r while browsing"),
    OwnCommand("edit", "say an earlier prompt in other words", key="esc esc, e while browsing"),
    OwnCommand("fork", "a conversation of its own from here on", argument="side", key="f F while browsing"),
    OwnCommand("tree", "every branch: go to one, compare two, quote from one", key="t while browsing"),
    OwnCommand("lineage", "to what this was forked from, or to a fork of it", aliases=("source", "forks")),
    OwnCommand("undo", "take back the last edit, fork, title, closing… of this tab", key="u while browsing"),
    OwnCommand("redo", "do again what was undone last"),
    OwnCommand("reflog", "everything that can be undone, with the times; go back to any"),
    OwnCommand("delete", "delete this conversation from every list; /undo brings it back"),
    OwnCommand("archive", "put this conversation at the end of the history"),
    OwnCommand("checkpoint", "keep this place to come back to", argument="LABEL"),
    OwnCommand("label", "name the newest checkpoint", argument="LABEL"),
    OwnCommand("checkpoints", "go back to one, fork there; or turn, tool, manual, off", argument="HOW OFTEN"),
    OwnCommand("rewind", "back to a checkpoint, the newest or by label; files stay", argument="LABEL"),
    OwnCommand("stop", "stop what the agent does", key="esc"),
    OwnCommand("stderr", "the last lines of the agent's standard error"),
    OwnCommand("agent", "go on with another agent", argument="NAME"),
    OwnCommand("login", "log in to this tab's agent; then your prompt goes out", argument="METHOD"),
    OwnCommand("logout", "log out of this tab's agent; nothing above is told again"),
    OwnCommand("chain", "every session that carried this conversation: look at one, go on from one"),
    OwnCommand("context", "what the agent knew and was told", key="c while browsing"),
    OwnCommand("btw", "ask beside the conversation; nothing of it stays there", argument="QUESTION"),
    OwnCommand("summary", "a summary by the agent: to copy, to keep, to go on from", argument="WISH"),
    OwnCommand("pr", "the text of a pull request by the agent, the same way", argument="WISH"),
    OwnCommand("model", "another model", argument="NAME"),
    OwnCommand("mode", "another mode", argument="NAME"),
    OwnCommand("options", "all settings that the agent offers"),
    OwnCommand("takeover", "go on here with what a Catena that is gone left"),
    OwnCommand("files", "the files read and changed on this branch, with the changes"),
    OwnCommand("usage", "what this conversation cost, and how many tokens it took", aliases=("cost",)),
    OwnCommand("add-dir", "give this conversation another directory, or take one away", argument="DIR"),
    OwnCommand("queue", "put the waiting prompts in order, change them, send one now", key="ctrl+n"),
    OwnCommand("attach", "attach a file to this prompt", argument="PATH"),
    OwnCommand("detach", "take an attached file off, the newest or by name", argument="NAME"),
    OwnCommand("unqueue", "take the newest waiting prompt back into the composer", key="↑ when empty"),
    OwnCommand("find", "find in the transcript", argument="TEXT", key="ctrl+f"),
    OwnCommand("browse", "go through the transcript by keys", key="shift+tab"),
    OwnCommand("inputs", "search what you typed before", key="ctrl+r"),
    OwnCommand("editor", "write the prompt in your editor", key="ctrl+g"),
    OwnCommand("copy", "copy the last answer"),
    OwnCommand("theme", "another theme, with preview", argument="NAME"),
    OwnCommand("palette", "every command", key="ctrl+p"),
    OwnCommand("help", "keys and commands for this place", key="f1"),
    OwnCommand("suspend", "to the shell; fg comes back", key="ctrl+z with nothing to undo"),
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
