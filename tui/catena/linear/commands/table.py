"""The one table of linear mode's commands: dispatch and help are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catena.linear.commands.commands import LinearCommands

_LONGEST = 40  # characters of a name that are shown
_WAYS = (
    "a line is a prompt; one that begins with / is a command, one that begins with a space is text",
    'a line that ends in \\ goes on in the next; """ begins and ends a prompt of several lines',
    "Ctrl+C stops the agent, twice leaves; Ctrl+D leaves; Enter alone says what goes on",
    "while an agent asks, a number answers",
    "the commands follow; N is the number of a message",
)


@dataclass(frozen=True, slots=True)
class LinearCommand:
    """One command: its words, and its action, which is handed what was typed behind the name."""

    name: str
    summary: str
    action: Callable[[LinearCommands, str], Awaitable[None]]
    argument: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The name with what may follow it."""
        return f"{self.name} {self.argument}".rstrip()


async def _decide(do: LinearCommands, kind: str, reason: str = "") -> None:
    if not await do.questions.decide(kind, reason):
        do.context.say("No request is open that this answers.")


async def _help(do: LinearCommands, argument: str) -> None:
    """List the commands, or what one does."""
    out = do.context.out
    if argument:
        found = command_of(argument.removeprefix("/"))
        if found is None:
            do.context.say(f"There is no command {_cut(argument)}; /help lists them.")
        else:
            out.line(f"/{found.usage}: {found.summary}")
        return
    out.lines(f"Help: {line}" for line in _WAYS)
    out.lines(f"/{each.usage}: {each.summary}" for each in COMMANDS)


async def _leave(do: LinearCommands) -> None:
    do.context.leave()


COMMANDS: tuple[LinearCommand, ...] = (
    # reading
    LinearCommand("help", "list the commands", _help, "[COMMAND]"),
    LinearCommand(
        "show", "read all of a message or a tool call", lambda do, text: do.reading.show(text), "N"
    ),
    LinearCommand("read", "read the branch from a number on", lambda do, text: do.reading.read(text), "[N]"),
    LinearCommand("find", "find words in this branch", lambda do, text: do.reading.find(text), "WORDS"),
    LinearCommand(
        "save",
        "write a message, or its image, into a file",
        lambda do, text: do.reading.save(text),
        "N FILE",
        ("save-image",),
    ),
    LinearCommand("plan", "read the plan", lambda do, _: do.reading.plan()),
    LinearCommand(
        "linear", "say less or more", lambda do, text: do.agents.linear(text), "[quiet|normal|verbose]"
    ),
    # prompts
    LinearCommand("edit", "edit and resend an earlier prompt", lambda do, text: do.prompts.edit(text), "[N]"),
    LinearCommand(
        "retry",
        "retry the last prompt, or another, or with another agent",
        lambda do, text: do.prompts.retry(text),
        "[N] [AGENT]",
    ),
    LinearCommand("stop", "stop the agent", lambda do, _: do.prompts.stop()),
    LinearCommand("wait", "retry when the limit ends", lambda do, _: do.prompts.wait()),
    LinearCommand("allow", "allow what is asked, once", lambda do, _: _decide(do, "allow")),
    LinearCommand(
        "reject",
        "reject what is asked; a reason is the next prompt",
        lambda do, text: _decide(do, "reject", text),
        "[REASON]",
    ),
    LinearCommand("send", "send the draft", lambda do, _: do.prompts.send()),
    LinearCommand("draft", "read the draft", lambda do, _: do.prompts.draft()),
    LinearCommand("drop", "drop the draft", lambda do, _: do.prompts.drop()),
    LinearCommand("quote", "quote a message in the draft", lambda do, text: do.prompts.quote(text), "N"),
    LinearCommand(
        "inputs", "list earlier prompts, or find one", lambda do, text: do.prompts.inputs(text), "[WORDS]"
    ),
    LinearCommand(
        "queue",
        "list queued prompts, send, move, edit or remove one",
        lambda do, text: do.prompts.queue(text),
        "[now|first|edit|remove N]",
    ),
    LinearCommand("continue", "send queued prompts that were held", lambda do, _: do.prompts.go_on()),
    LinearCommand(
        "unqueue", "move the newest queued prompt to the draft", lambda do, _: do.prompts.unqueue()
    ),
    LinearCommand(
        "attach", "attach a file to the next prompt", lambda do, text: do.prompts.attach(text), "[PATH]"
    ),
    LinearCommand("detach", "take an attached file away", lambda do, text: do.prompts.detach(text), "[NAME]"),
    LinearCommand(
        "clear",
        "clear the agent's context (the transcript stays)",
        lambda do, _: do.prompts.clear(),
        aliases=("reset",),
    ),
    # branches
    LinearCommand(
        "fork",
        "fork a new conversation from a message, or from here",
        lambda do, text: do.branches.fork(text),
        "[N] [side] [--dir PATH]",
    ),
    LinearCommand(
        "versions",
        "list the versions of a prompt; go to one",
        lambda do, text: do.branches.versions(text),
        "[N]",
        ("version",),
    ),
    LinearCommand(
        "tree",
        "list all prompts of all branches; go to one",
        lambda do, text: do.branches.tree(text),
        "[WORDS]",
    ),
    LinearCommand(
        "follow", "go to where the conversation went on elsewhere", lambda do, _: do.branches.follow()
    ),
    LinearCommand(
        "lineage",
        "list the parent and the forks of this conversation",
        lambda do, _: do.branches.lineage(),
        aliases=("source", "forks"),
    ),
    LinearCommand(
        "ask", "ask other agents the same", lambda do, text: do.branches.ask(text), "[AGENT...] [PROMPT]"
    ),
    LinearCommand(
        "compare",
        "compare with the branch of another tab, or with another version",
        lambda do, text: do.branches.compare(text),
        "[N]",
    ),
    LinearCommand("undo", "undo the last edit, fork, rename or close", lambda do, _: do.branches.undo()),
    LinearCommand("redo", "redo what was undone", lambda do, _: do.branches.redo()),
    LinearCommand("reflog", "list what can be undone", lambda do, _: do.branches.reflog()),
    LinearCommand(
        "checkpoint", "save a checkpoint here", lambda do, text: do.checkpoints.make(text), "[LABEL]"
    ),
    LinearCommand(
        "label", "name the newest checkpoint", lambda do, text: do.checkpoints.label(text), "LABEL"
    ),
    LinearCommand(
        "checkpoints",
        "list checkpoints, or set how often: turn, tool, manual, off",
        lambda do, text: do.checkpoints.list(text),
        "[HOW OFTEN]",
    ),
    LinearCommand(
        "rewind",
        "go back to a message or a checkpoint: newest, or by label",
        lambda do, text: do.checkpoints.rewind(text),
        "[N|LABEL]",
    ),
    # conversations
    LinearCommand(
        "history",
        "list conversations, or find some",
        lambda do, text: do.history.history(text),
        "[here] [all-sources] [WORDS]",
        ("resume",),
    ),
    LinearCommand(
        "open",
        "take a number of the last list; or open a conversation",
        lambda do, text: do.history.open(text),
        "N|ID|TITLE",
    ),
    LinearCommand("new", "start a new conversation", lambda do, text: do.tabs.new(text), "[AGENT]"),
    LinearCommand("tabs", "list the tabs", lambda do, _: do.tabs.tabs()),
    LinearCommand("tab", "go to a tab", lambda do, text: do.tabs.tab(text), "N"),
    LinearCommand(
        "next-question", "go to the next tab whose agent asks", lambda do, _: do.tabs.next_question()
    ),
    LinearCommand("close", "close this tab (the conversation stays)", lambda do, _: do.tabs.close()),
    LinearCommand("rename", "give this conversation a title", lambda do, text: do.tabs.rename(text), "TITLE"),
    LinearCommand("pin", "pin this conversation, or unpin it", lambda do, _: do.tabs.pin()),
    LinearCommand("archive", "archive this conversation", lambda do, _: do.tabs.archive()),
    LinearCommand(
        "delete",
        "delete this conversation, also at the agent",
        lambda do, text: do.tabs.delete(text),
        "[everywhere]",
    ),
    LinearCommand("takeover", "take over from a Catena that exited", lambda do, _: do.tabs.take_over()),
    LinearCommand(
        "cd", "continue in another directory", lambda do, text: do.tabs.change_directory(text), "[DIR]"
    ),
    LinearCommand(
        "add-dir", "add a directory, or remove one", lambda do, text: do.tabs.add_directory(text), "[DIR]"
    ),
    LinearCommand(
        "export",
        "write this branch, or all, as markdown, html or json",
        lambda do, text: do.tabs.export(text),
        "[FORMAT] [tree] [FILE]",
    ),
    # what the agent knows and did
    LinearCommand("context", "say what the agent knows", lambda do, text: do.reading.context(text), "[N]"),
    LinearCommand("chain", "list this conversation's sessions", lambda do, _: do.reading.chain()),
    LinearCommand("usage", "say what it cost", lambda do, _: do.reading.usage(), aliases=("cost",)),
    LinearCommand("files", "list files read and changed", lambda do, _: do.reading.files()),
    LinearCommand(
        "changes",
        "read what agents changed in files",
        lambda do, text: do.reading.changes(text),
        "[turn|look|CHECKPOINT]",
    ),
    LinearCommand(
        "blame",
        "say which prompt wrote the lines of a file",
        lambda do, text: do.history.blame(text),
        "FILE[:LINE]",
    ),
    LinearCommand("background", "list what runs in the background", lambda do, _: do.reading.background()),
    LinearCommand("stderr", "read the agent's error output", lambda do, _: do.reading.stderr()),
    LinearCommand("btw", "ask side questions (not saved)", lambda do, text: do.asides.btw(text), "QUESTION"),
    LinearCommand(
        "summary", "summarise the conversation", lambda do, text: do.asides.summary(text), "[WISH]"
    ),
    LinearCommand("pr", "draft a pull request", lambda do, text: do.asides.pull_request(text), "[WISH]"),
    # the agent and settings
    LinearCommand("agents", "list agents", lambda do, _: do.agents.agents()),
    LinearCommand("agent", "continue with another agent", lambda do, text: do.agents.agent(text), "[NAME]"),
    LinearCommand("model", "choose a model", lambda do, text: do.agents.model(text), "[NAME]"),
    LinearCommand("mode", "choose a mode", lambda do, text: do.agents.mode(text), "[NAME]"),
    LinearCommand(
        "options", "change the agent's settings", lambda do, text: do.agents.options(text), "[NAME [VALUE]]"
    ),
    LinearCommand("login", "log in to the agent", lambda do, text: do.agents.login(text), "[METHOD]"),
    LinearCommand("logout", "log out of the agent", lambda do, _: do.agents.logout()),
    LinearCommand("permissions", "list permission rules; remove one", lambda do, _: do.rules.permissions()),
    LinearCommand("mcp", "list MCP servers", lambda do, text: do.rules.servers(text), "[allow|refuse]"),
    LinearCommand(
        "templates",
        "list prompt templates; /NAME fills one in",
        lambda do, text: do.agents.templates(text),
        "[allow|refuse NAME]",
        ("prompts",),
    ),
    LinearCommand(
        "settings", "read or change settings", lambda do, text: do.agents.settings(text), "[NAME [VALUE]]"
    ),
    LinearCommand("quit", "leave", lambda do, _: _leave(do), aliases=("exit",)),
)

_BY_NAME = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}


def command_of(name: str) -> LinearCommand | None:
    """The command of a name."""
    return _BY_NAME.get(name)


def unknown_text(name: str, announced: Sequence[str]) -> str:
    """Why a command is not sent that neither Catena nor the agent has; ``announced`` are the agent's."""
    known = {each.lower(): each for each in (*announced, *_BY_NAME)}
    near = get_close_matches(name.lower(), known, n=1)
    meant = f"Did you mean /{_cut(known[near[0]])}? " if near else ""
    return (
        f"Unknown command /{_cut(name)}. {meant}Nothing was sent; with a space before it, it is sent as text."
    )


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
