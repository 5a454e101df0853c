"""The one table of the chat screen's commands: dispatch, completion, palette and help are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from catena.keys.keymap import KeyMap

if TYPE_CHECKING:  # the first frame completes commands, and does none
    from catena.screens.chat.actions.chat_actions import ChatActions


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: its words, and the action behind it, which is handed what was typed behind the name."""

    name: str
    summary: str
    action: Callable[[ChatActions, str], Awaitable[None]]
    argument: str = ""  # what may follow the name, "" for nothing
    key: str = ""  # a template of the keys in effect; as the person presses it where commands are listed
    aliases: tuple[str, ...] = ()
    by_name: bool = True  # False: done by a key alone, and in no list
    needs_argument: bool = False  # without one, the beginning of the command is put into the composer
    leads: bool = False  # it opens a screen or moves the focus: the keys behind it wait for that place


COMMANDS: tuple[ChatCommand, ...] = (
    ChatCommand("new", "start a new conversation in a new tab", lambda do, _: do.tabs.new(), key="{new_tab}"),
    ChatCommand(
        "history",
        "open an earlier conversation",
        lambda do, _: do.history.choose(),
        key="{history}",
        aliases=("resume", "open"),
        leads=True,
    ),
    ChatCommand(
        "close", "close this tab (the conversation stays in the history)", lambda do, _: do.tabs.close()
    ),
    ChatCommand(
        "side",
        "show another tab, a fork or a conversation side by side",
        lambda do, text: do.panes.side(text),
        argument="[TAB]",
        leads=True,
    ),
    ChatCommand(
        "other-pane", "go to the other pane", lambda do, _: do.panes.other(), key="{other_pane}", leads=True
    ),
    ChatCommand("swap-panes", "let the two panes change places", lambda do, _: do.panes.swap()),
    ChatCommand(
        "close-pane", "close this pane (its tab stays open)", lambda do, _: do.panes.close(), leads=True
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
        key="{retry} while browsing",
        leads=True,
    ),
    ChatCommand(
        "edit",
        "edit and resend an earlier prompt",
        lambda do, _: do.edits.edit(),
        key="{stop} {stop}, {edit} while browsing",
    ),
    ChatCommand(
        "fork",
        "fork a new conversation from here",
        lambda do, text: do.branches.fork(text),
        argument="[side] [--dir PATH]",
        key="{fork fork_beside} while browsing",
        leads=True,
    ),
    ChatCommand(
        "ask",
        "ask other agents the same, side by side",
        lambda do, text: do.asking.ask(text),
        argument="AGENT [AGENT…] [PROMPT]",
        leads=True,
    ),
    ChatCommand(
        "compare",
        "compare with the branch of another tab; keep one",
        lambda do, _: do.asking.compare(),
        leads=True,
    ),
    ChatCommand(
        "tree",
        "show all branches: go to one, compare two, quote",
        lambda do, _: do.trees.tree(),
        key="{tree} while browsing",
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
        key="{undo} while browsing",
    ),
    ChatCommand("redo", "redo what was undone", lambda do, _: do.undo.redo()),
    ChatCommand(
        "reflog",
        "list what can be undone; go back to any point",
        lambda do, _: do.undo.reflog(),
        leads=True,
    ),
    ChatCommand(
        "delete",
        "delete this conversation (/undo restores it), also at the agent",
        lambda do, text: do.undo.delete(text),
        argument="[everywhere]",
    ),
    ChatCommand("pin", "pin this conversation, or unpin it", lambda do, _: do.undo.pin()),
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
        "go back to a checkpoint: newest, or by label",
        lambda do, text: do.checkpoints.rewind(text),
        argument="LABEL",
        leads=True,
    ),
    ChatCommand(
        "stop",
        "stop the agent",
        lambda do, _: do.prompts.stop(),
        key="{stop}, {copy_clear_or_stop} when empty",
    ),
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
        "background",
        "list what runs in the background",
        lambda do, _: do.chains.background(),
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
        key="{context} while browsing",
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
        "changes",
        "review what agents changed in files; quote from it",
        lambda do, text: do.changes.changes(text),
        argument="[turn|look|CHECKPOINT]",
        leads=True,
    ),
    ChatCommand(
        "blame",
        "show which prompt wrote each line of a file",
        lambda do, text: do.blaming.blame(text),
        argument="FILE[:LINE]",
        needs_argument=True,
        leads=True,
    ),
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
        "cd",
        "continue in another directory",
        lambda do, text: do.directories.change(text),
        argument="DIR",
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
        "permissions",
        "your permission rules here: remove one, change where it holds",
        lambda do, _: do.permissions.permissions(),
        leads=True,
    ),
    ChatCommand(
        "mcp",
        "MCP servers of this conversation",
        lambda do, _: do.servers.servers(),
        leads=True,
    ),
    ChatCommand(
        "templates",
        "prompt templates: read them, allow those of the project",
        lambda do, _: do.templates.templates(),
        aliases=("prompts",),
        leads=True,
    ),
    ChatCommand(
        "next-question",
        "go to the next tab whose agent asks",
        lambda do, _: do.permissions.next_question(),
        key="{next_question}",
        leads=True,
    ),
    ChatCommand(
        "queue",
        "reorder, edit or send queued prompts",
        lambda do, _: do.queue.enter(),
        key="{queue}",
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
        "paste",
        "attach the image on the clipboard",
        lambda do, _: do.attachments.paste(),
        key="{paste}",
    ),
    ChatCommand(
        "detach",
        "remove an attached file: newest, or by name",
        lambda do, text: do.attachments.detach(text),
        argument="NAME",
    ),
    ChatCommand(
        "open-image",
        "open the image of the agent, or the page it links to",
        lambda do, _: do.images.open(),
        key="{open_image} while browsing",
    ),
    ChatCommand(
        "save-image",
        "save the image of the agent",
        lambda do, text: do.images.save(text),
        argument="PATH",
        key="{save_image} while browsing",
    ),
    ChatCommand(
        "copy-image-path",
        "copy the path of a copy of the image",
        lambda do, _: do.images.copy_path(),
        by_name=False,
    ),
    ChatCommand(
        "unqueue",
        "move the newest queued prompt back to the composer",
        lambda do, _: do.prompts.unqueue(),
        key="{text_up} when empty",
    ),
    ChatCommand(
        "find",
        "find in the transcript",
        lambda do, text: do.view.find(text),
        argument="TEXT",
        key="{find}",
        leads=True,
    ),
    ChatCommand(
        "follow",
        "go to the end of the transcript and follow it",
        lambda do, _: do.branches.to_end(),
        key="{follow} when empty",
    ),
    ChatCommand(
        "browse",
        "browse the transcript by keyboard",
        lambda do, _: do.view.browse(),
        key="{browse}",
        leads=True,
    ),
    ChatCommand(
        "inputs",
        "search prompt history",
        lambda do, _: do.prompts.search_inputs(),
        key="{search_inputs}",
        leads=True,
    ),
    ChatCommand("editor", "write the prompt in your editor", lambda do, _: do.view.editor(), key="{editor}"),
    ChatCommand(
        "export",
        "write this branch, or all, as markdown, html or json",
        lambda do, text: do.exports.export(text),
        argument="[FORMAT] [tree] [FILE]",
    ),
    ChatCommand("copy", "copy the last answer", lambda do, _: do.view.copy()),
    ChatCommand(
        "theme",
        "change theme",
        lambda do, text: do.settings.theme(text),
        argument="NAME",
        leads=True,
    ),
    ChatCommand("settings", "change settings", lambda do, _: do.settings.sheet(), leads=True),
    ChatCommand("palette", "all commands", lambda do, _: do.view.palette(), key="{palette}", leads=True),
    ChatCommand(
        "help", "keys and commands for this place", lambda do, _: do.view.help(), key="{help}", leads=True
    ),
    ChatCommand(
        "suspend",
        "suspend to the shell (fg returns)",
        lambda do, _: do.tabs.suspend(),
        key="{suspend}",
    ),
    ChatCommand(
        "quit",
        "quit (tabs are restored next time)",
        lambda do, _: do.quitting.quit(),
        key="{quit} when empty",
        aliases=("exit",),
    ),
    ChatCommand(
        "again",
        "retry the browsed prompt",
        lambda do, _: do.edits.retry_browsed(),
        key="{retry} while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "fork-beside",
        "fork side by side, or in a new tab",
        lambda do, _: do.branches.fork_beside(),
        key="{fork_beside} while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "turn-changes",
        "changes of this turn",
        lambda do, _: do.changes.of_browsed(),
        key="{turn_changes} while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "sibling-before",
        "previous version",
        lambda do, _: do.branches.sibling_before(),
        key="{previous_version} while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "sibling-after",
        "next version",
        lambda do, _: do.branches.sibling_after(),
        key="{next_version} while browsing",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "files-too",
        "files too: they go back, or along to another branch",
        lambda do, _: do.along.choose(),
        key="{files_too}",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "show-files",
        "show what would become of files",
        lambda do, _: do.along.show(),
        key="{show_files}",
        by_name=False,
        leads=True,
    ),
    ChatCommand(
        "branch-point-before",
        "branch point above",
        lambda do, _: do.branches.branch_point_before(),
        key="{branch_point_above} while browsing",
        by_name=False,
    ),
    ChatCommand(
        "branch-point-after",
        "branch point below",
        lambda do, _: do.branches.branch_point_after(),
        key="{branch_point_below} while browsing",
        by_name=False,
    ),
)

SLASH_COMMANDS: tuple[ChatCommand, ...] = tuple(each for each in COMMANDS if each.by_name)
_BY_NAME = {each.name: each for each in COMMANDS}


def listed_commands(keys: KeyMap) -> tuple[ChatCommand, ...]:
    """Return the commands that are typed, each with its key in effect."""
    return tuple(replace(each, key=keys.fill(each.key)) for each in SLASH_COMMANDS)


def command(name: str) -> ChatCommand:
    """Return the command of this name, whether it is typed or done by a key."""
    return _BY_NAME[name]


def slash_command(name: str) -> ChatCommand | None:
    """Return the command that is typed by this name or alias."""
    return next((each for each in SLASH_COMMANDS if name == each.name or name in each.aliases), None)
