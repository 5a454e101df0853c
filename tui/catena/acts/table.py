"""The one table of commands: dispatch, completion, palette, helps and manual page of every front are made from it.

Rows are plain data, and this module imports nothing: palette, ``--help`` and completion need no body of a command.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

FrontName = Literal["screen", "lines", "shell"]


@dataclass(frozen=True, slots=True)
class Front:
    """How one front does and words an act: ``does`` and ``summary`` are the act's if they are empty.

    ``does`` names a coroutine by module and name (``catena.acts.files:files``) if the act is written once, else an
    action of that front: an attribute of ``ChatActions`` or ``LinearCommands``; the module of the parser in the shell.
    """

    does: str = ""
    argument: str = ""  # what may follow the name; an action is handed it as text
    summary: str = ""
    aliases: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One command, on every front that has it."""

    name: str
    summary: str = ""
    does: str = ""
    aliases: tuple[str, ...] = ()
    takes: str = ""  # the parameter that is given what was typed behind the name
    key: str = ""  # of the screen: a template of the keys in effect
    leads: bool = False  # on the screen it opens a sheet or moves the focus: the keys behind it wait for that
    needs_argument: bool = (
        False  # without one, the screen puts the beginning of the command into the composer
    )
    by_name: bool = True  # False: done by a key alone, and in no list
    screen: Front | None = None
    lines: Front | None = None
    shell: Front | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One command as a front has it."""

    name: str
    summary: str
    does: str
    argument: str
    aliases: tuple[str, ...]
    takes: str = ""
    key: str = ""
    leads: bool = False
    needs_argument: bool = False
    by_name: bool = True

    @property
    def usage(self) -> str:
        """The name with what may follow it."""
        return f"{self.name} {self.argument}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the command."""
        return (self.name, *self.aliases)


def commands_of(name: FrontName) -> Iterator[Command]:
    """Yield the commands of a front, in the order of the table."""
    for act in ACTS:
        front: Front | None = getattr(act, name)
        if front is not None:
            yield Command(
                act.name,
                front.summary or act.summary,
                front.does or act.does,
                front.argument,
                act.aliases if front.aliases is None else front.aliases,
                act.takes,
                act.key,
                act.leads,
                act.needs_argument,
                act.by_name,
            )


ACTS: tuple[Act, ...] = (
    Act(
        "new",
        "start a new conversation in a new tab",
        key="{new_tab}",
        screen=Front("tabs.new"),
        lines=Front("tabs.new", "[AGENT]", "start a new conversation"),
    ),
    Act("tabs", "list the tabs", lines=Front("tabs.tabs")),
    Act("tab", "go to a tab", lines=Front("tabs.tab", "N")),
    Act(
        "history",
        "open an earlier conversation",
        aliases=("resume", "open"),
        key="{history}",
        leads=True,
        screen=Front("history.choose"),
        lines=Front(
            "history.history",
            "[here] [all-sources] [WORDS]",
            "list conversations, or find some",
            aliases=("resume",),
        ),
    ),
    Act(
        "open",
        "take a number of the last list; or open a conversation",
        lines=Front("history.open", "N|ID|TITLE"),
    ),
    Act(
        "close",
        "close this tab (the conversation stays in the history)",
        screen=Front("tabs.close"),
        lines=Front("tabs.close", "", "close this tab (the conversation stays)"),
    ),
    Act(
        "side",
        "show another tab, a fork or a conversation side by side",
        leads=True,
        screen=Front("panes.side", "[TAB]"),
    ),
    Act("other-pane", "go to the other pane", key="{other_pane}", leads=True, screen=Front("panes.other")),
    Act("swap-panes", "let the two panes change places", screen=Front("panes.swap")),
    Act("close-pane", "close this pane (its tab stays open)", leads=True, screen=Front("panes.close")),
    Act(
        "rename",
        "give this conversation a title",
        needs_argument=True,
        screen=Front("prompts.rename", "TITLE"),
        lines=Front("tabs.rename", "TITLE"),
    ),
    Act(
        "clear",
        "clear the agent's context (the transcript stays)",
        aliases=("reset",),
        screen=Front("prompts.clear"),
        lines=Front("prompts.clear"),
    ),
    Act(
        "retry",
        "retry the last prompt, or with another agent",
        key="{retry} while browsing",
        leads=True,
        screen=Front("edits.retry", "AGENT"),
        lines=Front(
            "prompts.retry", "[N] [AGENT]", "retry the last prompt, or another, or with another agent"
        ),
    ),
    Act(
        "edit",
        "edit and resend an earlier prompt",
        key="{stop} {stop}, {edit} while browsing",
        screen=Front("edits.edit"),
        lines=Front("prompts.edit", "[N]"),
    ),
    Act(
        "fork",
        "fork a new conversation from here",
        key="{fork fork_beside} while browsing",
        leads=True,
        screen=Front("branches.fork", "[side] [--dir PATH]"),
        lines=Front(
            "branches.fork", "[N] [side] [--dir PATH]", "fork a new conversation from a message, or from here"
        ),
    ),
    Act(
        "versions",
        "list the versions of a prompt; go to one",
        aliases=("version",),
        lines=Front("branches.versions", "[N]"),
    ),
    Act(
        "ask",
        "ask other agents the same, side by side",
        leads=True,
        screen=Front("asking.ask", "AGENT [AGENT…] [PROMPT]"),
        lines=Front("branches.ask", "[AGENT...] [PROMPT]", "ask other agents the same"),
    ),
    Act(
        "compare",
        "compare with the branch of another tab; keep one",
        leads=True,
        screen=Front("asking.compare"),
        lines=Front(
            "branches.compare", "[N]", "compare with the branch of another tab, or with another version"
        ),
    ),
    Act(
        "tree",
        "show all branches: go to one, compare two, quote",
        key="{tree} while browsing",
        leads=True,
        screen=Front("trees.tree"),
        lines=Front("branches.tree", "[WORDS]", "list all prompts of all branches; go to one"),
    ),
    Act(
        "lineage",
        "go to the parent or a fork of this conversation",
        aliases=("source", "forks"),
        leads=True,
        screen=Front("branches.lineage"),
        lines=Front("branches.lineage", "", "list the parent and the forks of this conversation"),
    ),
    Act(
        "undo",
        "undo the last edit, fork, rename or close",
        key="{undo} while browsing",
        screen=Front("undo.undo"),
        lines=Front("branches.undo"),
    ),
    Act("redo", "redo what was undone", screen=Front("undo.redo"), lines=Front("branches.redo")),
    Act(
        "reflog",
        "list what can be undone; go back to any point",
        leads=True,
        screen=Front("undo.reflog"),
        lines=Front("branches.reflog", "", "list what can be undone"),
    ),
    Act(
        "delete",
        "delete this conversation (/undo restores it), also at the agent",
        screen=Front("undo.delete", "[everywhere]"),
        lines=Front("tabs.delete", "[everywhere]", "delete this conversation, also at the agent"),
    ),
    Act(
        "pin", "pin this conversation, or unpin it", "catena.acts.keeping:pin", screen=Front(), lines=Front()
    ),
    Act("archive", "archive this conversation", screen=Front("undo.archive"), lines=Front("tabs.archive")),
    Act(
        "checkpoint",
        "save a checkpoint here",
        "catena.acts.checkpoints:checkpoint",
        takes="label",
        screen=Front(argument="LABEL"),
        lines=Front(argument="[LABEL]"),
    ),
    Act(
        "label",
        "name the newest checkpoint",
        "catena.acts.checkpoints:name",
        takes="label",
        needs_argument=True,
        screen=Front(argument="LABEL"),
        lines=Front(argument="LABEL"),
    ),
    Act(
        "checkpoints",
        "list checkpoints; or set how often: turn, tool, manual, off",
        leads=True,
        screen=Front("checkpoints.checkpoints", "HOW OFTEN"),
        lines=Front(
            "checkpoints.list", "[HOW OFTEN]", "list checkpoints, or set how often: turn, tool, manual, off"
        ),
    ),
    Act(
        "rewind",
        "go back to a checkpoint: newest, or by label",
        leads=True,
        screen=Front("checkpoints.rewind", "LABEL"),
        lines=Front(
            "checkpoints.rewind", "[N|LABEL]", "go back to a message or a checkpoint: newest, or by label"
        ),
    ),
    Act(
        "stop",
        "stop the agent",
        key="{stop}, {copy_clear_or_stop} when empty",
        screen=Front("prompts.stop"),
        lines=Front("prompts.stop"),
    ),
    Act("wait", "retry when the limit ends", lines=Front("prompts.wait")),
    Act("allow", "allow what is asked, once", lines=Front("allow")),
    Act("reject", "reject what is asked; a reason is the next prompt", lines=Front("reject", "[REASON]")),
    Act("send", "send the draft", lines=Front("prompts.send")),
    Act("draft", "read the draft", lines=Front("prompts.draft")),
    Act("drop", "drop the draft", lines=Front("prompts.drop")),
    Act("quote", "quote a message in the draft", lines=Front("prompts.quote", "N")),
    Act(
        "stderr",
        "show the agent's error output",
        "catena.acts.reading:stderr",
        leads=True,
        screen=Front(),
        lines=Front(summary="read the agent's error output"),
    ),
    Act(
        "agent",
        "continue with another agent",
        leads=True,
        screen=Front("settings.agent", "NAME"),
        lines=Front("agents.agent", "[NAME]"),
    ),
    Act(
        "login",
        "log in to this tab's agent",
        leads=True,
        screen=Front("logins.login", "METHOD"),
        lines=Front("agents.login", "[METHOD]", "log in to the agent"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "log in to an agent"),
    ),
    Act(
        "logout",
        "log out of this tab's agent (clears its context)",
        leads=True,
        screen=Front("logins.logout"),
        lines=Front("agents.logout", "", "log out of the agent"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "log out of an agent"),
    ),
    Act(
        "background",
        "list what runs in the background",
        leads=True,
        screen=Front("chains.background"),
        lines=Front("reading.background"),
    ),
    Act(
        "chain",
        "list this conversation's sessions; check or continue one",
        leads=True,
        screen=Front("chains.chain"),
        lines=Front("reading.chain", "", "list this conversation's sessions"),
    ),
    Act(
        "context",
        "see what the agent knows",
        key="{context} while browsing",
        leads=True,
        screen=Front("chains.context"),
        lines=Front("reading.context", "[N]", "say what the agent knows"),
    ),
    Act(
        "btw",
        "ask a side question (not saved)",
        leads=True,
        screen=Front("asides.btw", "QUESTION"),
        lines=Front("asides.btw", "QUESTION", "ask side questions (not saved)"),
    ),
    Act(
        "summary",
        "summarise the conversation: copy it, save it, or continue from it",
        leads=True,
        screen=Front("asides.summary", "WISH"),
        lines=Front("asides.summary", "[WISH]", "summarise the conversation"),
    ),
    Act(
        "pr",
        "draft a pull request description",
        leads=True,
        screen=Front("asides.pull_request", "WISH"),
        lines=Front("asides.pull_request", "[WISH]", "draft a pull request"),
    ),
    Act(
        "agents",
        "list agents",
        lines=Front("agents.agents"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "list agents; install, remove, update"),
    ),
    Act(
        "model",
        "choose a model",
        leads=True,
        screen=Front("settings.model", "NAME"),
        lines=Front("agents.model", "[NAME]"),
    ),
    Act(
        "mode",
        "choose a mode: what the agent may do unasked",
        leads=True,
        screen=Front("settings.mode", "NAME"),
        lines=Front("agents.mode", "[NAME]", "choose a mode"),
    ),
    Act(
        "options",
        "change the agent's settings",
        leads=True,
        screen=Front("settings.options"),
        lines=Front("agents.options", "[NAME [VALUE]]"),
    ),
    Act(
        "takeover",
        "take over from a Catena that exited",
        screen=Front("tabs.take_over"),
        lines=Front("tabs.take_over"),
    ),
    Act(
        "changes",
        "review what agents changed in files; quote from it",
        leads=True,
        screen=Front("changes.changes", "[turn|look|CHECKPOINT]"),
        lines=Front("reading.changes", "[turn|look|CHECKPOINT]", "read what agents changed in files"),
        shell=Front("catena.cli.files.arguments", "ID", "print what agents changed in files"),
    ),
    Act(
        "blame",
        "show which prompt wrote each line of a file",
        leads=True,
        needs_argument=True,
        screen=Front("blaming.blame", "FILE[:LINE]"),
        lines=Front("history.blame", "FILE[:LINE]", "say which prompt wrote the lines of a file"),
        shell=Front(
            "catena.cli.files.arguments", "FILE[:LINE]", "print which prompt wrote each line of a file"
        ),
    ),
    Act(
        "files",
        "show files read and changed on this branch",
        "catena.acts.files:files",
        leads=True,
        screen=Front(),
        lines=Front(summary="list files read and changed"),
        shell=Front(
            "catena.cli.files.arguments", "ID", "print what each turn did to files, or bring them back"
        ),
    ),
    Act(
        "usage",
        "show cost and tokens of this conversation",
        "catena.acts.reading:usage",
        aliases=("cost",),
        leads=True,
        screen=Front(),
        lines=Front(summary="say what it cost"),
    ),
    Act(
        "cd",
        "continue in another directory",
        leads=True,
        screen=Front("directories.change", "DIR"),
        lines=Front("tabs.change_directory", "[DIR]"),
    ),
    Act(
        "add-dir",
        "add a directory, or remove one",
        leads=True,
        screen=Front("usage.add_directory", "DIR"),
        lines=Front("tabs.add_directory", "[DIR]"),
    ),
    Act(
        "permissions",
        "your permission rules here: remove one, change where it holds",
        leads=True,
        screen=Front("permissions.permissions"),
        lines=Front("rules.permissions", "", "list permission rules; remove one"),
        shell=Front("catena.cli.settings.arguments", "", "list, test, add or remove permission rules"),
    ),
    Act(
        "mcp",
        "MCP servers of this conversation",
        leads=True,
        screen=Front("servers.servers"),
        lines=Front("rules.servers", "[allow|refuse]", "list MCP servers"),
        shell=Front("catena.cli.arguments", "", "tools for agents over MCP (started by agents)"),
    ),
    Act(
        "templates",
        "prompt templates: read them, allow those of the project",
        aliases=("prompts",),
        leads=True,
        screen=Front("templates.templates"),
        lines=Front("agents.templates", "[allow|refuse NAME]", "list prompt templates; /NAME fills one in"),
    ),
    Act(
        "next-question",
        "go to the next tab whose agent asks",
        key="{next_question}",
        leads=True,
        screen=Front("permissions.next_question"),
        lines=Front("tabs.next_question"),
    ),
    Act(
        "queue",
        "reorder, edit or send queued prompts",
        key="{queue}",
        leads=True,
        screen=Front("queue.enter"),
        lines=Front(
            "prompts.queue",
            "[now|first|edit|remove N]",
            "list queued prompts, send, move, edit or remove one",
        ),
    ),
    Act("continue", "send queued prompts that were held", lines=Front("prompts.go_on")),
    Act(
        "attach",
        "attach a file to this prompt",
        needs_argument=True,
        screen=Front("attachments.attach", "PATH"),
        lines=Front("prompts.attach", "[PATH]", "attach a file to the next prompt"),
    ),
    Act("paste", "attach the image on the clipboard", key="{paste}", screen=Front("attachments.paste")),
    Act(
        "detach",
        "remove an attached file: newest, or by name",
        screen=Front("attachments.detach", "NAME"),
        lines=Front("prompts.detach", "[NAME]", "take an attached file away"),
    ),
    Act(
        "open-image",
        "open the image of the agent, or the page it links to",
        key="{open_image} while browsing",
        screen=Front("images.open"),
    ),
    Act(
        "save-image",
        "save the image of the agent",
        key="{save_image} while browsing",
        screen=Front("images.save", "PATH"),
    ),
    Act(
        "copy-image-path",
        "copy the path of a copy of the image",
        by_name=False,
        screen=Front("images.copy_path"),
    ),
    Act(
        "unqueue",
        "move the newest queued prompt back to the composer",
        key="{text_up} when empty",
        screen=Front("prompts.unqueue"),
        lines=Front("prompts.unqueue", "", "move the newest queued prompt to the draft"),
    ),
    Act(
        "find",
        "find in the transcript",
        key="{find}",
        leads=True,
        screen=Front("view.find", "TEXT"),
        lines=Front("reading.find", "WORDS", "find words in this branch"),
    ),
    Act(
        "save",
        "write a message, or its image, into a file",
        aliases=("save-image",),
        lines=Front("reading.save", "N FILE"),
    ),
    Act("plan", "read the plan", lines=Front("reading.plan")),
    Act("linear", "say less or more", lines=Front("agents.linear", "[quiet|normal|verbose]")),
    Act(
        "follow",
        "go to the end of the transcript and follow it",
        key="{follow} when empty",
        screen=Front("branches.to_end"),
        lines=Front("branches.follow", "", "go to where the conversation went on elsewhere"),
    ),
    Act(
        "browse", "browse the transcript by keyboard", key="{browse}", leads=True, screen=Front("view.browse")
    ),
    Act(
        "inputs",
        "search prompt history",
        key="{search_inputs}",
        leads=True,
        screen=Front("prompts.search_inputs"),
        lines=Front("prompts.inputs", "[WORDS]", "list earlier prompts, or find one"),
    ),
    Act("editor", "write the prompt in your editor", key="{editor}", screen=Front("view.editor")),
    Act(
        "export",
        "write this branch, or all, as markdown, html or json",
        screen=Front("exports.export", "[FORMAT] [tree] [FILE]"),
        lines=Front("tabs.export", "[FORMAT] [tree] [FILE]"),
        shell=Front(
            "catena.cli.conversations.arguments", "ID", "write a conversation as Markdown, JSON or HTML"
        ),
    ),
    Act("copy", "copy the last answer", screen=Front("view.copy")),
    Act("theme", "change theme", leads=True, screen=Front("settings.theme", "NAME")),
    Act(
        "settings",
        "change settings",
        leads=True,
        screen=Front("settings.sheet"),
        lines=Front("agents.settings", "[NAME [VALUE]]", "read or change settings"),
    ),
    Act("palette", "all commands", key="{palette}", leads=True, screen=Front("view.palette")),
    Act(
        "help",
        "keys and commands for this place",
        key="{help}",
        leads=True,
        screen=Front("view.help"),
        lines=Front("help", "[COMMAND]", "list the commands"),
    ),
    Act(
        "show",
        "read all of a message or a tool call",
        lines=Front("reading.show", "N"),
        shell=Front("catena.cli.conversations.arguments", "ID", "print a conversation"),
    ),
    Act("read", "read the branch from a number on", lines=Front("reading.read", "[N]")),
    Act("suspend", "suspend to the shell (fg returns)", key="{suspend}", screen=Front("tabs.suspend")),
    Act(
        "quit",
        "quit (tabs are restored next time)",
        aliases=("exit",),
        key="{quit} when empty",
        screen=Front("quitting.quit"),
        lines=Front(summary="leave"),
    ),
    Act(
        "again",
        "retry the browsed prompt",
        key="{retry} while browsing",
        leads=True,
        by_name=False,
        screen=Front("edits.retry_browsed"),
    ),
    Act(
        "fork-beside",
        "fork side by side, or in a new tab",
        key="{fork_beside} while browsing",
        leads=True,
        by_name=False,
        screen=Front("branches.fork_beside"),
    ),
    Act(
        "turn-changes",
        "changes of this turn",
        key="{turn_changes} while browsing",
        leads=True,
        by_name=False,
        screen=Front("changes.of_browsed"),
    ),
    Act(
        "sibling-before",
        "previous version",
        key="{previous_version} while browsing",
        leads=True,
        by_name=False,
        screen=Front("branches.sibling_before"),
    ),
    Act(
        "sibling-after",
        "next version",
        key="{next_version} while browsing",
        leads=True,
        by_name=False,
        screen=Front("branches.sibling_after"),
    ),
    Act(
        "files-too",
        "files too: they go back, or along to another branch",
        key="{files_too}",
        leads=True,
        by_name=False,
        screen=Front("along.choose"),
    ),
    Act(
        "show-files",
        "show what would become of files",
        key="{show_files}",
        leads=True,
        by_name=False,
        screen=Front("along.show"),
    ),
    Act(
        "branch-point-before",
        "branch point above",
        key="{branch_point_above} while browsing",
        by_name=False,
        screen=Front("branches.branch_point_before"),
    ),
    Act(
        "branch-point-after",
        "branch point below",
        key="{branch_point_below} while browsing",
        by_name=False,
        screen=Front("branches.branch_point_after"),
    ),
    Act("run", "send one prompt, print the answer", shell=Front("catena.cli.run.arguments", '"PROMPT"')),
    Act("list", "list conversations, newest first", shell=Front("catena.cli.conversations.arguments")),
    Act(
        "search",
        "find conversations by what was said in them",
        shell=Front("catena.cli.conversations.arguments", "WORDS"),
    ),
    Act(
        "replay",
        "play a conversation, or write it as an asciicast",
        shell=Front("catena.cli.conversations.arguments", "ID"),
    ),
    Act("import", "read conversations from files", shell=Front("catena.cli.conversations.arguments", "FILE")),
    Act(
        "prune",
        "remove old conversations for good; lists them first",
        shell=Front("catena.cli.conversations.arguments"),
    ),
    Act(
        "config",
        "print the settings and where they come from; edit, check",
        shell=Front("catena.cli.settings.arguments", "[KEY]"),
    ),
    Act("keys", "list every action of a key, with your keys", shell=Front("catena.cli.settings.arguments")),
    Act(
        "doctor",
        "print diagnostics; repair a terminal or database",
        shell=Front("catena.cli.doctor.arguments"),
    ),
    Act("completion", "print completion for bash, zsh or fish", shell=Front("catena.cli.arguments", "SHELL")),
    Act("agents install", shell=Front("catena.cli.agents.arguments")),
    Act("agents remove", shell=Front("catena.cli.agents.arguments")),
    Act("agents update", shell=Front("catena.cli.agents.arguments")),
    Act("__complete", shell=Front("catena.cli.arguments")),
)
