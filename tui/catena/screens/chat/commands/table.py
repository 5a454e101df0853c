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
    ChatCommand("new", "a new conversation, in a new tab", lambda do, _: do.tabs.new(), key="ctrl+t"),
    ChatCommand(
        "history",
        "all conversations: open one",
        lambda do, _: do.tabs.history(),
        key="ctrl+o",
        aliases=("resume", "open"),
        leads=True,
    ),
    ChatCommand(
        "close", "close this tab; its conversation stays in the history", lambda do, _: do.tabs.close()
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
        "nothing above is told again; all of it stays here",
        lambda do, _: do.prompts.clear(),
        aliases=("reset",),
    ),
    ChatCommand(
        "retry",
        "the last prompt again; by another agent",
        lambda do, text: do.edits.retry(text),
        argument="AGENT",
        key="r while browsing",
        leads=True,
    ),
    ChatCommand(
        "edit",
        "say an earlier prompt in other words",
        lambda do, _: do.edits.edit(),
        key="esc esc, e while browsing",
    ),
    ChatCommand(
        "fork",
        "a conversation of its own from here on",
        lambda do, text: do.branches.fork(text),
        argument="[side] [--dir PATH]",
        key="f F while browsing",
        leads=True,
    ),
    ChatCommand(
        "tree",
        "every branch: go to one, compare two, quote from one",
        lambda do, _: do.trees.tree(),
        key="t while browsing",
        leads=True,
    ),
    ChatCommand(
        "lineage",
        "to what this was forked from, or to a fork of it",
        lambda do, _: do.branches.lineage(),
        aliases=("source", "forks"),
        leads=True,
    ),
    ChatCommand(
        "undo",
        "take back the last edit, fork, title, closing… of this tab",
        lambda do, _: do.undo.undo(),
        key="u while browsing",
    ),
    ChatCommand("redo", "do again what was undone last", lambda do, _: do.undo.redo()),
    ChatCommand(
        "reflog",
        "everything that can be undone, with the times; go back to any",
        lambda do, _: do.undo.reflog(),
        leads=True,
    ),
    ChatCommand(
        "delete",
        "delete this conversation from every list; /undo brings it back",
        lambda do, _: do.undo.delete(),
    ),
    ChatCommand(
        "archive", "put this conversation at the end of the history", lambda do, _: do.undo.archive()
    ),
    ChatCommand(
        "checkpoint",
        "keep this place to come back to",
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
        "go back to one, fork there; or turn, tool, manual, off",
        lambda do, text: do.checkpoints.checkpoints(text),
        argument="HOW OFTEN",
        leads=True,
    ),
    ChatCommand(
        "rewind",
        "back to a checkpoint, the newest or by label; files stay",
        lambda do, text: do.checkpoints.rewind(text),
        argument="LABEL",
        leads=True,
    ),
    ChatCommand(
        "stop", "stop what the agent does", lambda do, _: do.prompts.stop(), key="esc, ctrl+c when empty"
    ),
    ChatCommand(
        "stderr",
        "the last lines of the agent's standard error",
        lambda do, _: do.trouble.last_lines(),
        leads=True,
    ),
    ChatCommand(
        "agent",
        "go on with another agent",
        lambda do, text: do.settings.agent(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand(
        "login",
        "log in to this tab's agent; then your prompt goes out",
        lambda do, text: do.logins.login(text),
        argument="METHOD",
        leads=True,
    ),
    ChatCommand(
        "logout",
        "log out of this tab's agent; nothing above is told again",
        lambda do, _: do.logins.logout(),
        leads=True,
    ),
    ChatCommand(
        "chain",
        "every session that carried this conversation: look at one, go on from one",
        lambda do, _: do.chains.chain(),
        leads=True,
    ),
    ChatCommand(
        "context",
        "what the agent knew and was told",
        lambda do, _: do.chains.context(),
        key="c while browsing",
        leads=True,
    ),
    ChatCommand(
        "btw",
        "ask beside the conversation; nothing of it stays there",
        lambda do, text: do.asides.btw(text),
        argument="QUESTION",
        leads=True,
    ),
    ChatCommand(
        "summary",
        "a summary by the agent: to copy, to keep, to go on from",
        lambda do, text: do.asides.summary(text),
        argument="WISH",
        leads=True,
    ),
    ChatCommand(
        "pr",
        "the text of a pull request by the agent, the same way",
        lambda do, text: do.asides.pull_request(text),
        argument="WISH",
        leads=True,
    ),
    ChatCommand(
        "model", "another model", lambda do, text: do.settings.model(text), argument="NAME", leads=True
    ),
    ChatCommand("mode", "another mode", lambda do, text: do.settings.mode(text), argument="NAME", leads=True),
    ChatCommand(
        "options", "all settings that the agent offers", lambda do, _: do.settings.options(), leads=True
    ),
    ChatCommand(
        "takeover", "go on here with what a Catena that is gone left", lambda do, _: do.tabs.take_over()
    ),
    ChatCommand(
        "files",
        "the files read and changed on this branch, with the changes",
        lambda do, _: do.usage.files(),
        leads=True,
    ),
    ChatCommand(
        "usage",
        "what this conversation cost, and how many tokens it took",
        lambda do, _: do.usage.usage(),
        aliases=("cost",),
        leads=True,
    ),
    ChatCommand(
        "add-dir",
        "give this conversation another directory, or take one away",
        lambda do, text: do.usage.add_directory(text),
        argument="DIR",
        leads=True,
    ),
    ChatCommand(
        "queue",
        "put the waiting prompts in order, change them, send one now",
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
        "take an attached file off, the newest or by name",
        lambda do, text: do.attachments.detach(text),
        argument="NAME",
    ),
    ChatCommand(
        "unqueue",
        "take the newest waiting prompt back into the composer",
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
        "to the end of the transcript, and along with it",
        lambda do, _: do.view.follow(),
        key="end when empty",
    ),
    ChatCommand(
        "browse",
        "go through the transcript by keys",
        lambda do, _: do.view.browse(),
        key="shift+tab",
        leads=True,
    ),
    ChatCommand(
        "inputs",
        "search what you typed before",
        lambda do, _: do.prompts.search_inputs(),
        key="ctrl+r",
        leads=True,
    ),
    ChatCommand("editor", "write the prompt in your editor", lambda do, _: do.view.editor(), key="ctrl+g"),
    ChatCommand("copy", "copy the last answer", lambda do, _: do.view.copy()),
    ChatCommand(
        "theme",
        "another theme, with preview",
        lambda do, text: do.settings.theme(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand("palette", "every command", lambda do, _: do.view.palette(), key="ctrl+p", leads=True),
    ChatCommand(
        "help", "keys and commands for this place", lambda do, _: do.view.help(), key="f1", leads=True
    ),
    ChatCommand(
        "suspend",
        "to the shell; fg comes back",
        lambda do, _: do.tabs.suspend(),
        key="ctrl+z",
    ),
    ChatCommand(
        "quit",
        "leave; the tabs come back; asks once while an agent works",
        lambda do, _: do.quitting.quit(),
        key="ctrl+d when empty",
        aliases=("exit",),
    ),
    ChatCommand(
        "again",
        "the prompt that is browsed again",
        lambda do, _: do.edits.retry_browsed(),
        key="r while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "fork-beside",
        "fork side by side",
        lambda do, _: do.branches.fork_beside(),
        key="F while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "sibling-before",
        "the version before",
        lambda do, _: do.branches.sibling_before(),
        key="h while browsing",
        by_name=False,
    ),
    ChatCommand(
        "sibling-after",
        "the next version",
        lambda do, _: do.branches.sibling_after(),
        key="l while browsing",
        by_name=False,
    ),
    ChatCommand(
        "branch-point-before",
        "the branch point above",
        lambda do, _: do.branches.branch_point_before(),
        key="[ while browsing",
        by_name=False,
    ),
    ChatCommand(
        "branch-point-after",
        "the branch point below",
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
