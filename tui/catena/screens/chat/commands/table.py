"""The one table of the chat screen's commands: dispatch, completion, palette and help are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame completes commands, and does none
    from catena.screens.chat.actions.chat_actions import ChatActions


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: its words, and the action behind it, which is handed what was typed behind the name."""

    name: str
    summary: str
    action: Callable[[ChatActions, str], Awaitable[None]]
    argument: str = ""  # what may follow the name, "" for nothing
    key: str = ""  # as the person presses it
    aliases: tuple[str, ...] = ()
    by_name: bool = True  # False: done by a key alone, and in no list
    needs_argument: bool = False  # without one, the beginning of the command is put into the composer
    leads: bool = False  # it opens a screen or moves the focus: the keys behind it wait for that place


COMMANDS: tuple[ChatCommand, ...] = (
    ChatCommand("new", "start a new conversation in a new tab", lambda do, _: do.tabs.new(), key="ctrl+t"),
    ChatCommand(
        "history",
        "open an earlier conversation",
        lambda do, _: do.tabs.history(),
        key="ctrl+o",
        aliases=("resume", "open"),
        leads=True,
    ),
    ChatCommand(
        "close", "close this tab (the conversation stays in the history)", lambda do, _: do.tabs.close()
    ),
    ChatCommand(
        "rename",
        "give this conversation a title",
        lambda do, text: do.prompts.rename(text),
        argument="TITLE",
        needs_argument=True,
    ),
    ChatCommand(
        "clear",
        "clear the agent's context (the transcript stays)",
        lambda do, _: do.prompts.clear(),
        aliases=("reset",),
    ),
    ChatCommand(
        "retry",
        "retry the last prompt, or with another agent",
        lambda do, text: do.edits.retry(text),
        argument="AGENT",
        key="r while browsing",
        leads=True,
    ),
    ChatCommand(
        "edit",
        "edit and resend an earlier prompt",
        lambda do, _: do.edits.edit(),
        key="esc esc, e while browsing",
    ),
    ChatCommand(
        "fork",
        "fork a new conversation from here",
        lambda do, text: do.branches.fork(text),
        argument="[side] [--dir PATH]",
        key="f F while browsing",
        leads=True,
    ),
    ChatCommand(
        "tree",
        "show all branches: go to one, compare two, quote",
        lambda do, _: do.trees.tree(),
        key="t while browsing",
        leads=True,
    ),
    ChatCommand(
        "lineage",
        "go to the parent or a fork of this conversation",
        lambda do, _: do.branches.lineage(),
        aliases=("source", "forks"),
        leads=True,
    ),
    ChatCommand(
        "undo",
        "undo the last edit, fork, rename or close",
        lambda do, _: do.undo.undo(),
        key="u while browsing",
    ),
    ChatCommand("redo", "redo", lambda do, _: do.undo.redo()),
    ChatCommand(
        "reflog",
        "list what can be undone; go back to any point",
        lambda do, _: do.undo.reflog(),
        leads=True,
    ),
    ChatCommand(
        "delete",
        "delete this conversation (/undo restores it)",
        lambda do, _: do.undo.delete(),
    ),
    ChatCommand("archive", "archive this conversation", lambda do, _: do.undo.archive()),
    ChatCommand(
        "checkpoint",
        "save a checkpoint here",
        lambda do, text: do.checkpoints.checkpoint(text),
        argument="LABEL",
    ),
    ChatCommand(
        "label",
        "name the newest checkpoint",
        lambda do, text: do.checkpoints.label(text),
        argument="LABEL",
        needs_argument=True,
    ),
    ChatCommand(
        "checkpoints",
        "list checkpoints; or set how often: turn, tool, manual, off",
        lambda do, text: do.checkpoints.checkpoints(text),
        argument="HOW OFTEN",
        leads=True,
    ),
    ChatCommand(
        "rewind",
        "go back to a checkpoint: newest, or by label (files stay)",
        lambda do, text: do.checkpoints.rewind(text),
        argument="LABEL",
        leads=True,
    ),
    ChatCommand("stop", "stop the agent", lambda do, _: do.prompts.stop(), key="esc, ctrl+c when empty"),
    ChatCommand(
        "stderr",
        "show the agent's error output",
        lambda do, _: do.trouble.last_lines(),
        leads=True,
    ),
    ChatCommand(
        "agent",
        "continue with another agent",
        lambda do, text: do.settings.agent(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand(
        "login",
        "log in to this tab's agent",
        lambda do, text: do.logins.login(text),
        argument="METHOD",
        leads=True,
    ),
    ChatCommand(
        "logout",
        "log out of this tab's agent (clears its context)",
        lambda do, _: do.logins.logout(),
        leads=True,
    ),
    ChatCommand(
        "chain",
        "list this conversation's sessions; check or continue one",
        lambda do, _: do.chains.chain(),
        leads=True,
    ),
    ChatCommand(
        "context",
        "see what the agent knows",
        lambda do, _: do.chains.context(),
        key="c while browsing",
        leads=True,
    ),
    ChatCommand(
        "btw",
        "ask a side question (not saved)",
        lambda do, text: do.asides.btw(text),
        argument="QUESTION",
        leads=True,
    ),
    ChatCommand(
        "summary",
        "summarise the conversation: copy it, save it, or continue from it",
        lambda do, text: do.asides.summary(text),
        argument="WISH",
        leads=True,
    ),
    ChatCommand(
        "pr",
        "draft a pull request description",
        lambda do, text: do.asides.pull_request(text),
        argument="WISH",
        leads=True,
    ),
    ChatCommand(
        "model", "choose a model", lambda do, text: do.settings.model(text), argument="NAME", leads=True
    ),
    ChatCommand(
        "mode",
        "choose a mode: what the agent may do unasked",
        lambda do, text: do.settings.mode(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand("options", "change the agent's settings", lambda do, _: do.settings.options(), leads=True),
    ChatCommand("takeover", "take over from a Catena that exited", lambda do, _: do.tabs.take_over()),
    ChatCommand(
        "files",
        "show files read and changed on this branch",
        lambda do, _: do.usage.files(),
        leads=True,
    ),
    ChatCommand(
        "usage",
        "show cost and tokens of this conversation",
        lambda do, _: do.usage.usage(),
        aliases=("cost",),
        leads=True,
    ),
    ChatCommand(
        "add-dir",
        "add a directory, or remove one",
        lambda do, text: do.usage.add_directory(text),
        argument="DIR",
        leads=True,
    ),
    ChatCommand(
        "queue",
        "reorder, edit or send queued prompts",
        lambda do, _: do.queue.enter(),
        key="ctrl+n",
        leads=True,
    ),
    ChatCommand(
        "attach",
        "attach a file to this prompt",
        lambda do, text: do.attachments.attach(text),
        argument="PATH",
        needs_argument=True,
    ),
    ChatCommand(
        "detach",
        "remove an attached file: newest, or by name",
        lambda do, text: do.attachments.detach(text),
        argument="NAME",
    ),
    ChatCommand(
        "unqueue",
        "move the newest queued prompt back to the composer",
        lambda do, _: do.prompts.unqueue(),
        key="↑ when empty",
    ),
    ChatCommand(
        "find",
        "find in the transcript",
        lambda do, text: do.view.find(text),
        argument="TEXT",
        key="ctrl+f",
        leads=True,
    ),
    ChatCommand(
        "follow",
        "go to the end of the transcript and follow it",
        lambda do, _: do.view.follow(),
        key="end when empty",
    ),
    ChatCommand(
        "browse",
        "browse the transcript by keyboard",
        lambda do, _: do.view.browse(),
        key="shift+tab",
        leads=True,
    ),
    ChatCommand(
        "inputs",
        "search prompt history",
        lambda do, _: do.prompts.search_inputs(),
        key="ctrl+r",
        leads=True,
    ),
    ChatCommand("editor", "write the prompt in your editor", lambda do, _: do.view.editor(), key="ctrl+g"),
    ChatCommand("copy", "copy the last answer", lambda do, _: do.view.copy()),
    ChatCommand(
        "theme",
        "change theme",
        lambda do, text: do.settings.theme(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand("palette", "all commands", lambda do, _: do.view.palette(), key="ctrl+p", leads=True),
    ChatCommand(
        "help", "keys and commands for this place", lambda do, _: do.view.help(), key="f1", leads=True
    ),
    ChatCommand(
        "suspend",
        "suspend to the shell (fg returns)",
        lambda do, _: do.tabs.suspend(),
        key="ctrl+z",
    ),
    ChatCommand(
        "quit",
        "quit (tabs are restored next time)",
        lambda do, _: do.quitting.quit(),
        key="ctrl+d when empty",
        aliases=("exit",),
    ),
    ChatCommand(
        "again",
        "retry the browsed prompt",
        lambda do, _: do.edits.retry_browsed(),
        key="r while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "fork-beside",
        "fork in a new tab",
        lambda do, _: do.branches.fork_beside(),
        key="F while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "sibling-before",
        "previous version",
        lambda do, _: do.branches.sibling_before(),
        key="h while browsing",
        by_name=False,
    ),
    ChatCommand(
        "sibling-after",
        "next version",
        lambda do, _: do.branches.sibling_after(),
        key="l while browsing",
        by_name=False,
    ),
    ChatCommand(
        "branch-point-before",
        "branch point above",
        lambda do, _: do.branches.branch_point_before(),
        key="[ while browsing",
        by_name=False,
    ),
    ChatCommand(
        "branch-point-after",
        "branch point below",
        lambda do, _: do.branches.branch_point_after(),
        key="] while browsing",
        by_name=False,
    ),
)

SLASH_COMMANDS: tuple[ChatCommand, ...] = tuple(each for each in COMMANDS if each.by_name)
_BY_NAME = {each.name: each for each in COMMANDS}


def command(name: str) -> ChatCommand:
    """Return the command of this name, whether it is typed or done by a key."""
    return _BY_NAME[name]


def slash_command(name: str) -> ChatCommand | None:
    """Return the command that is typed by this name or alias."""
    return next((each for each in SLASH_COMMANDS if name == each.name or name in each.aliases), None)
