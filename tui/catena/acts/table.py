"""The one table of commands: dispatch, completion, palette, helps and manual page of every front are made from it.

Rows are plain data, and this module imports nothing: palette, ``--help`` and completion need no body of a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

FrontName = Literal["screen", "lines", "shell"]
Names = Literal["", "agent", "agents", "checkpoint"]  # that may stand behind a command


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
class ActRow:
    """One command, on every front that has it."""

    name: str
    summary: str = ""
    does: str = ""
    aliases: tuple[str, ...] = ()
    # Words of other clients that lead here, and stay free for an agent's commands.
    meant: tuple[str, ...] = ()
    names_of: Names = ""  # of what completes behind it: one agent, several, a checkpoint with a label
    takes: str = ""  # the parameter that is given what was typed behind the name
    key: str = ""  # of the screen: a template of the keys in effect
    at: Literal["", "message", "message or label"] = ""  # lines may have its number before the argument
    moves: bool = False  # it leads elsewhere unasked: on the screen, what is typed behind it goes there
    leads: bool = False  # on the screen it opens a sheet or moves the focus: the keys behind it wait for that
    # Without one, the screen puts the beginning of the command into the composer.
    needs_argument: bool = False
    by_name: bool = True  # False: done by a key alone, and in no list
    screen: Front | None = None
    lines: Front | None = None
    shell: Front | None = None
    stays: bool = False  # it moves to another tab, and this one stays as it is
    discards: bool = False  # it takes away what is here: Enter on a part of its name only completes that
    listed: str | None = None  # by which words, if not by its name: a command and a verb of it; "" in no list
    # Of a front's command, and empty in the table:
    argument: str = ""  # what may follow the name there
    words: str = ""  # by which it is listed: its name, or a command and a verb; "" if it stands in no list

    @property
    def usage(self) -> str:
        """The words with what may follow them."""
        return f"{self.words or self.name} {self.argument}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the command."""
        return (self.name, *self.aliases)

    def accepts(self, argument: str) -> bool:
        """True if the command looks at what stands behind its name; N in its usage stands for a number alone."""
        if self.argument.strip("[]") == "N":
            return not argument or argument.rstrip(":.").isdecimal()
        return not argument or bool(self.argument)


FrontCommand: TypeAlias = ActRow  # as one front has it


def commands_of(name: FrontName) -> Iterator[FrontCommand]:
    """Yield the commands of a front, in the order of the table."""
    there = {act.name for act in ACTS if getattr(act, name) is not None}
    for act in ACTS:
        front: Front | None = getattr(act, name)
        if front is not None:
            words = act.name if act.listed is None or name == "shell" else act.listed
            yield replace(
                act,
                summary=front.summary or act.summary,
                does=front.does or act.does,
                argument=front.argument,
                aliases=act.aliases if front.aliases is None else front.aliases,
                discards=act.discards and name != "shell",  # nobody is anywhere there
                words=words if act.by_name and words.partition(" ")[0] in there else "",
            )


def verbs_of(command: FrontCommand, commands: Iterable[FrontCommand]) -> list[FrontCommand]:
    """Return what is listed as a verb behind a command."""
    return [each for each in commands if each.words.startswith(f"{command.name} ")]


def by_names(commands: Iterable[FrontCommand]) -> dict[str, FrontCommand]:
    """Return the commands by all that may be typed: names, aliases, and a command with its verb."""
    return {name: each for each in commands for name in (*each.names, each.words) if name}


def command_with_rest(
    commands: Mapping[str, FrontCommand], name: str, argument: str = ""
) -> tuple[FrontCommand | None, str]:
    """Return the command that is typed, or that of the verb behind it, and the argument; None for another name."""
    found = commands.get(name)
    verb, *rest = argument.split(maxsplit=1) or [""]
    if found is not None and (of_verb := commands.get(f"{found.name} {verb}")) is not None:
        return of_verb, "".join(rest)
    return found, argument


ACTS: tuple[ActRow, ...] = (
    ActRow(
        "new",
        "start a new conversation in a new tab",
        "catena.acts.agents:new",
        names_of="agent",
        takes="name",
        key="{new_tab}",
        moves=True,
        stays=True,
        screen=Front(argument="[AGENT]"),
        lines=Front("", "[AGENT]", "start a new conversation"),
    ),
    ActRow("tabs", "list the tabs", lines=Front("tabs.tabs")),
    ActRow(
        "tab",
        "go to a tab",
        lines=Front("tabs.tab", "N"),
        listed="tabs go",
    ),
    ActRow(
        "history",
        "open an earlier conversation",
        key="{history}",
        leads=True,
        screen=Front("history.choose", "[here|all-sources] [WORDS]"),
        lines=Front(
            "history.history",
            "[here] [all-sources] [WORDS]",
            "list conversations, or find some",
            aliases=("resume", "sessions"),
        ),
        aliases=("resume", "open", "sessions"),
        meant=("search", "chat"),
    ),
    ActRow(
        "open",
        "open N of the last list, or a conversation",
        lines=Front("history.open", "N|ID|TITLE"),
    ),
    ActRow(
        "close",
        "close this tab (the conversation stays in the history)",
        "catena.acts.conversations:close",
        moves=True,
        screen=Front(),
        lines=Front(summary="close this tab (the conversation stays)"),
    ),
    ActRow(
        "side",
        "show another tab, a fork or a conversation side by side",
        leads=True,
        screen=Front("panes.side", "[TAB]"),
    ),
    ActRow(
        "other-pane",
        "go to the other pane",
        key="{other_pane}",
        leads=True,
        screen=Front("panes.other"),
        listed="side other",
    ),
    ActRow(
        "swap-panes",
        "swap the two panes",
        screen=Front("panes.swap"),
        listed="side swap",
    ),
    ActRow(
        "close-pane",
        "close this pane (its tab stays open)",
        leads=True,
        screen=Front("panes.close"),
        listed="side close",
    ),
    ActRow(
        "rename",
        "give this conversation a title",
        "catena.acts.conversations:rename",
        takes="title",
        needs_argument=True,
        screen=Front(argument="TITLE"),
        lines=Front(argument="TITLE"),
        shell=Front("catena.cli.conversations.arguments", "ID TITLE", "give a conversation a title"),
        meant=("title",),
    ),
    ActRow(
        "clear",
        "clear the agent's context (the transcript stays)",
        "catena.acts.prompts:clear",
        aliases=("reset",),
        screen=Front(),
        lines=Front(),
        discards=True,
    ),
    ActRow(
        "retry",
        "retry the last prompt, or with another agent",
        "catena.acts.prompts:retry",
        names_of="agent",
        takes="agent",
        at="message",
        key="{retry} while browsing",
        leads=True,
        screen=Front(argument="[AGENT]"),
        lines=Front("", "[N] [AGENT]", "retry the last prompt, or another, or with another agent"),
    ),
    ActRow(
        "edit",
        "edit and resend an earlier prompt",
        key="{stop} {stop}, {edit} while browsing",
        screen=Front("edits.edit"),
        lines=Front("prompts.edit", "[N]"),
    ),
    ActRow(
        "fork",
        "fork a new conversation from here",
        "catena.acts.branches:fork",
        takes="wish",
        at="message",
        key="{fork fork_beside} while browsing",
        leads=True,
        screen=Front(argument="[side] [--dir PATH]"),
        lines=Front("", "[N] [side] [--dir PATH]", "fork a new conversation from a message, or from here"),
        meant=("branch",),
    ),
    ActRow(
        "versions",
        "list the versions of a prompt; go to one",
        aliases=("version",),
        lines=Front("branches.versions", "[N]"),
        listed="tree versions",
    ),
    ActRow(
        "ask",
        "ask other agents too, side by side",
        "catena.acts.asking:ask",
        names_of="agents",
        takes="wish",
        leads=True,
        screen=Front(argument="[AGENT…] [PROMPT]"),
        lines=Front("", "[AGENT...] [PROMPT]", "ask other agents too"),
    ),
    ActRow(
        "compare",
        "compare all answers of /ask side by side; keep one",
        "catena.acts.asking:compare",
        takes="number",
        leads=True,
        screen=Front(argument="[N]"),
        lines=Front(
            "", "[N]", "compare with the branches of other tabs and keep one, or with other versions"
        ),
    ),
    ActRow(
        "tree",
        "show all branches: go to one, compare two, quote",
        "catena.acts.branches:tree",
        takes="words",
        key="{tree} while browsing",
        leads=True,
        screen=Front(argument="[WORDS]"),
        lines=Front("", "[WORDS]", "list all prompts of all branches; go to one"),
        aliases=("timeline",),
    ),
    ActRow(
        "lineage",
        "go to the parent or a fork of this conversation",
        "catena.acts.branches:lineage",
        aliases=("source", "forks"),
        leads=True,
        screen=Front(),
        lines=Front(summary="list the parent and the forks of this conversation"),
        listed="context forks",
    ),
    ActRow(
        "undo",
        "undo the last edit, fork, rename or close",
        "catena.acts.conversations:undo",
        key="{undo} while browsing",
        moves=True,
        screen=Front(),
        lines=Front(),
    ),
    ActRow(
        "ask-undo",
        "undo, after a question",
        "catena.acts.conversations:ask_undo",
        key="{undo} while browsing",
        leads=True,
        by_name=False,
        screen=Front(),
    ),
    ActRow(
        "redo",
        "redo what was undone",
        "catena.acts.conversations:redo",
        moves=True,
        screen=Front(),
        lines=Front(),
        listed="undo redo",
    ),
    ActRow(
        "reflog",
        "list what can be undone; go back to any point",
        "catena.acts.conversations:reflog",
        leads=True,
        screen=Front(),
        lines=Front(summary="list what can be undone"),
        listed="undo list",
    ),
    ActRow(
        "delete",
        "delete this conversation (/undo restores it), or everywhere",
        "catena.acts.conversations:delete",
        takes="wish",
        moves=True,
        screen=Front(argument="[everywhere]"),
        lines=Front("", "[everywhere]", "delete this conversation; everywhere: at its agents, too"),
        shell=Front("catena.cli.conversations.arguments", "ID", "delete a conversation"),
        discards=True,
    ),
    ActRow(
        "pin",
        "pin this conversation, or unpin it",
        "catena.acts.conversations:pin",
        screen=Front(),
        lines=Front(),
        shell=Front("catena.cli.conversations.arguments", "ID", "pin a conversation, or unpin it"),
    ),
    ActRow(
        "archive",
        "archive this conversation",
        "catena.acts.conversations:archive",
        moves=True,
        screen=Front(),
        lines=Front(),
        shell=Front(
            "catena.cli.conversations.arguments", "ID", "move a conversation to the end of the history"
        ),
    ),
    ActRow(
        "checkpoint",
        "save a checkpoint: a place to go back to",
        "catena.acts.branches:checkpoint",
        takes="label",
        screen=Front(argument="[LABEL]"),
        lines=Front(argument="[LABEL]"),
    ),
    ActRow(
        "label",
        "name the newest checkpoint",
        "catena.acts.branches:name_checkpoint",
        takes="label",
        needs_argument=True,
        screen=Front(argument="LABEL"),
        lines=Front(argument="LABEL"),
        listed="checkpoint name",
    ),
    ActRow(
        "checkpoints",
        "list checkpoints; or set how often: turn, tool, manual, off",
        "catena.acts.branches:checkpoints",
        takes="frequency",
        leads=True,
        screen=Front(argument="[HOW OFTEN]"),
        lines=Front("", "[HOW OFTEN]", "list checkpoints, or set how often: turn, tool, manual, off"),
        listed="checkpoint list",
    ),
    ActRow(
        "rewind",
        "go back to a checkpoint, newest or by label, with its files if you like",
        "catena.acts.branches:rewind",
        names_of="checkpoint",
        takes="label",
        at="message or label",
        moves=True,
        leads=True,
        screen=Front(argument="[LABEL]"),
        lines=Front(
            "",
            "[N|LABEL]",
            "go back to a message or a checkpoint, newest or by label, with its files if you like",
        ),
        aliases=("restore",),
        discards=True,
        meant=("revert", "rollback"),
    ),
    ActRow(
        "stop",
        "stop the agent",
        "catena.acts.prompts:stop",
        key="{stop}, {copy_clear_or_stop} when empty",
        screen=Front(),
        lines=Front(),
    ),
    ActRow(
        "wait",
        "retry when the limit ends",
        lines=Front("prompts.wait"),
        listed="retry wait",
    ),
    ActRow(
        "allow",
        "allow what is asked, once",
        lines=Front("allow"),
        listed="permissions allow",
    ),
    ActRow(
        "reject",
        "reject what is asked; a reason is the next prompt",
        lines=Front("reject", "[REASON]"),
        listed="permissions reject",
    ),
    ActRow(
        "send",
        "send the draft",
        lines=Front("prompts.send"),
        listed="draft send",
    ),
    ActRow("draft", "read the draft", lines=Front("prompts.draft")),
    ActRow(
        "drop",
        "drop the draft",
        lines=Front("prompts.drop"),
        listed="draft drop",
    ),
    ActRow(
        "quote",
        "quote a message in the draft",
        lines=Front("prompts.quote", "N"),
        listed="draft quote",
    ),
    ActRow(
        "stderr",
        "show the agent's error output",
        "catena.acts.reading:stderr",
        leads=True,
        screen=Front(),
        lines=Front(summary="read the agent's error output"),
        listed="context stderr",
    ),
    ActRow(
        "agent",
        "continue with another agent",
        "catena.acts.agents:agent",
        names_of="agent",
        takes="name",
        leads=True,
        screen=Front(argument="[NAME]"),
        lines=Front(argument="[NAME]"),
    ),
    ActRow(
        "login",
        "log in to this tab's agent",
        "catena.acts.agents:login",
        takes="named",
        leads=True,
        screen=Front(argument="[METHOD]"),
        lines=Front("", "[METHOD]", "log in to the agent"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "log in to an agent"),
        aliases=("auth", "connect"),
    ),
    ActRow(
        "logout",
        "log out of this tab's agent (clears its context)",
        "catena.acts.agents:logout",
        leads=True,
        screen=Front(),
        lines=Front(summary="log out of the agent"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "log out of an agent"),
        discards=True,
        listed="login out",
    ),
    ActRow(
        "background",
        "list what runs in the background",
        "catena.acts.reading:background",
        leads=True,
        screen=Front(),
        lines=Front(),
        aliases=("tasks", "bashes", "ps"),
        listed="context background",
        meant=("shells",),
    ),
    ActRow(
        "chain",
        "list this conversation's sessions; check or continue one",
        "catena.acts.reading:chain",
        leads=True,
        screen=Front(),
        lines=Front(summary="list this conversation's sessions"),
        listed="context sessions",
    ),
    ActRow(
        "context",
        "see what the agent knows",
        "catena.acts.reading:context",
        key="{context} while browsing",
        at="message",
        leads=True,
        screen=Front(),
        lines=Front(argument="[N]", summary="say what the agent knows"),
        meant=("status", "compact", "compress", "summarize"),
    ),
    ActRow(
        "btw",
        "ask a side question (not saved)",
        "catena.acts.prompts:btw",
        takes="question",
        leads=True,
        screen=Front(argument="QUESTION"),
        lines=Front("", "QUESTION", "ask side questions (not saved)"),
    ),
    ActRow(
        "agents",
        "list agents",
        lines=Front("agents.agents", "[all]"),
        shell=Front("catena.cli.agents.arguments", "[AGENT]", "list agents; install, remove, update"),
        listed="agent list",
    ),
    ActRow(
        "model",
        "choose a model",
        "catena.acts.agents:model",
        takes="name",
        leads=True,
        screen=Front(argument="[NAME]"),
        lines=Front(argument="[NAME]"),
        aliases=("models",),
    ),
    ActRow(
        "mode",
        "choose a mode: what the agent may do unasked",
        "catena.acts.agents:mode",
        takes="name",
        key="{next_mode} for the next",
        leads=True,
        screen=Front(argument="[NAME]"),
        lines=Front("", "[NAME]", "choose a mode"),
        aliases=("approvals",),
        listed="model mode",
    ),
    ActRow(
        "next-mode",
        "switch to the agent's next mode",
        "catena.acts.agents:next_mode",
        key="{next_mode}",
        by_name=False,
        screen=Front(),
    ),
    ActRow(
        "options",
        "change the agent's settings",
        "catena.acts.agents:options",
        takes="wish",
        leads=True,
        screen=Front(argument="[NAME [VALUE]]"),
        lines=Front(argument="[NAME [VALUE]]"),
        aliases=("effort",),
        listed="model options",
        meant=("thinking", "variants"),
    ),
    ActRow(
        "takeover",
        "take over from a Catena that exited",
        "catena.acts.conversations:take_over",
        screen=Front(),
        lines=Front(),
        listed="history takeover",
    ),
    ActRow(
        "changes",
        "review what agents changed in files; quote from it",
        "catena.acts.files:changes",
        names_of="checkpoint",
        takes="named",
        leads=True,
        screen=Front(argument="[turn|look|LABEL]"),
        lines=Front(argument="[turn|look|LABEL]", summary="read what agents changed in files"),
        shell=Front("catena.cli.files.arguments", "ID", "print what agents changed in files"),
        aliases=("diff",),
        listed="files changes",
    ),
    ActRow(
        "blame",
        "show which prompt wrote each line of a file",
        "catena.acts.files:blame",
        takes="named",
        leads=True,
        needs_argument=True,
        screen=Front(argument="FILE[:LINE]"),
        lines=Front(argument="FILE[:LINE]", summary="say which prompt wrote the lines of a file"),
        shell=Front(
            "catena.cli.files.arguments", "FILE[:LINE]", "print which prompt wrote each line of a file"
        ),
        listed="files blame",
    ),
    ActRow(
        "files",
        "show files read and changed on this branch",
        "catena.acts.files:files",
        leads=True,
        screen=Front(),
        lines=Front(summary="list files read and changed"),
        shell=Front("catena.cli.files.arguments", "ID", "print what each turn did to files, or restore them"),
    ),
    ActRow(
        "usage",
        "show cost and tokens of this conversation",
        "catena.acts.reading:usage",
        leads=True,
        screen=Front(),
        lines=Front(summary="say what it cost"),
        aliases=("cost", "stats"),
        meant=("tokens",),
    ),
    ActRow(
        "cd",
        "continue in another directory",
        "catena.acts.conversations:change_directory",
        takes="directory",
        leads=True,
        screen=Front(argument="[DIR]"),
        lines=Front(argument="[DIR]"),
    ),
    ActRow(
        "add-dir",
        "add a directory, or remove one",
        "catena.acts.conversations:add_directory",
        takes="directory",
        leads=True,
        screen=Front(argument="[DIR]"),
        lines=Front(argument="[DIR]"),
        aliases=("directory",),
        listed="cd add",
    ),
    ActRow(
        "permissions",
        "your permission rules here: remove one, change where it applies",
        "catena.acts.settings:permissions",
        leads=True,
        screen=Front(),
        lines=Front(summary="list permission rules; remove one"),
        shell=Front("catena.cli.settings.arguments", "", "list, test, add or remove permission rules"),
        aliases=("allowed-tools",),
        meant=("policies",),
    ),
    ActRow(
        "mcp",
        "MCP servers of this conversation",
        "catena.acts.settings:mcp",
        takes="answer",
        leads=True,
        screen=Front(argument="[allow|refuse]"),
        lines=Front(argument="[allow|refuse]", summary="list MCP servers"),
        shell=Front("catena.cli.arguments", "", "tools for agents over MCP (started by agents)"),
        meant=("mcps", "tools"),
    ),
    ActRow(
        "templates",
        "prompt templates: read them, allow those of the project",
        "catena.acts.settings:templates",
        takes="answer",
        leads=True,
        screen=Front(argument="[allow|refuse NAME]"),
        lines=Front(argument="[allow|refuse NAME]", summary="list prompt templates; /NAME fills one in"),
        aliases=("prompts",),
    ),
    ActRow(
        "next-question",
        "go to the next tab whose agent asks",
        "catena.acts.reading:next_question",
        key="{next_question}",
        leads=True,
        screen=Front(),
        lines=Front(),
        listed="tabs next",
    ),
    ActRow(
        "queue",
        "reorder, edit or send queued prompts",
        "catena.acts.prompts:queue",
        takes="wish",
        key="{queue}",
        leads=True,
        screen=Front(argument="[now|first|edit|remove N]"),
        lines=Front(
            "",
            "[now|first|edit|remove N]",
            "list queued prompts, send, move, edit or remove one",
        ),
    ),
    ActRow(
        "continue",
        "send the queued prompts that wait for you",
        lines=Front("prompts.go_on"),
        listed="queue send",
    ),
    ActRow(
        "attach",
        "attach a file to this prompt",
        "catena.acts.prompts:attach",
        takes="path",
        needs_argument=True,
        screen=Front(argument="PATH"),
        lines=Front("", "[PATH]", "attach a file to the next prompt"),
        aliases=("mention",),
        meant=("add", "image"),
    ),
    ActRow(
        "paste",
        "attach the image on the clipboard",
        key="{paste}",
        screen=Front("attachments.paste"),
        listed="attach paste",
    ),
    ActRow(
        "detach",
        "remove an attached file: newest, or by name",
        "catena.acts.prompts:detach",
        takes="name",
        screen=Front(argument="[NAME]"),
        lines=Front("", "[NAME]", "remove an attached file"),
        listed="attach remove",
    ),
    ActRow(
        "open-image",
        "open the agent's image, or the page it links to",
        key="{open_image} while browsing",
        screen=Front("images.open"),
        listed="",
    ),
    ActRow(
        "save-image",
        "save the agent's image",
        key="{save_image} while browsing",
        screen=Front("images.save", "[PATH]"),
        listed="export image",
    ),
    ActRow(
        "copy-image-path",
        "copy the path of a saved image",
        by_name=False,
        screen=Front("images.copy_path"),
    ),
    ActRow(
        "unqueue",
        "move the newest queued prompt back to the composer",
        "catena.acts.prompts:unqueue",
        key="{text_up} when empty",
        screen=Front(),
        lines=Front("", "", "move the newest queued prompt to the draft"),
        listed="queue take",
    ),
    ActRow(
        "find",
        "find in the transcript",
        key="{find}",
        leads=True,
        screen=Front("view.find", "[TEXT]"),
        lines=Front("reading.find", "WORDS", "find words in this branch"),
    ),
    ActRow(
        "save",
        "write a message, or its image, to a file",
        aliases=("save-image",),
        lines=Front("reading.save", "N FILE"),
        listed="export message",
    ),
    ActRow(
        "plan",
        "read the plan",
        lines=Front("reading.plan"),
        listed="show plan",
    ),
    ActRow(
        "linear",
        "say less or more",
        lines=Front("agents.linear", "[quiet|normal|whole|verbose]"),
        listed="show detail",
    ),
    ActRow(
        "follow",
        "go to the end of the transcript and follow it",
        key="{follow} when empty",
        screen=Front("branches.to_end"),
        lines=Front("catena.acts.branches:follow", "", "go to where the conversation went on elsewhere"),
        listed="tree end",
    ),
    ActRow(
        "browse",
        "browse the transcript by keyboard",
        key="{browse}",
        leads=True,
        screen=Front("view.browse"),
        listed="",
    ),
    ActRow(
        "inputs",
        "search prompt history",
        key="{search_inputs}",
        leads=True,
        screen=Front("prompts.search_inputs", "[WORDS]"),
        lines=Front("prompts.inputs", "[WORDS]", "list earlier prompts, or find one"),
        listed="history inputs",
    ),
    ActRow(
        "editor",
        "write the prompt in your editor",
        key="{editor}",
        screen=Front("view.editor"),
        listed="",
    ),
    ActRow(
        "export",
        "write this branch, or all, as markdown, html or json",
        "catena.acts.conversations:export",
        takes="wish",
        screen=Front(argument="[FORMAT] [tree] [FILE]"),
        lines=Front(argument="[FORMAT] [tree] [FILE]"),
        shell=Front(
            "catena.cli.conversations.arguments", "ID", "write a conversation as Markdown, JSON or HTML"
        ),
        meant=("share",),
    ),
    ActRow("copy", "copy the last answer", screen=Front("view.copy")),
    ActRow(
        "theme",
        "change theme",
        leads=True,
        screen=Front("settings.theme", "[NAME]"),
        aliases=("themes",),
        listed="settings theme",
        meant=("color",),
    ),
    ActRow(
        "settings",
        "change settings",
        "catena.acts.settings:settings",
        takes="wish",
        leads=True,
        screen=Front(argument="[NAME [VALUE]]"),
        lines=Front("", "[NAME [VALUE]]", "read or change settings"),
        aliases=("config",),
        meant=("preferences",),
    ),
    ActRow(
        "palette",
        "all commands",
        key="{palette}",
        leads=True,
        screen=Front("view.palette"),
        listed="",
    ),
    ActRow(
        "help",
        "keys and commands for this place",
        key="{help}",
        leads=True,
        screen=Front("view.help", "[COMMAND|all]"),
        lines=Front("help", "[COMMAND|all]", "list the commands"),
        shell=Front("catena.cli.arguments", "[COMMAND]", "explain a command"),
        meant=("commands", "keybindings"),
    ),
    ActRow(
        "show",
        "read all of a message or a tool call",
        lines=Front("reading.show", "N"),
        shell=Front("catena.cli.conversations.arguments", "ID", "print a conversation"),
    ),
    ActRow(
        "read",
        "read the branch from a number on",
        lines=Front("reading.read", "[N]"),
        listed="show from",
    ),
    ActRow(
        "suspend",
        "suspend to the shell (fg returns)",
        key="{suspend}",
        screen=Front("tabs.suspend"),
        listed="",
    ),
    ActRow(
        "quit",
        "quit (tabs are restored next time)",
        key="{quit} when empty",
        screen=Front("quitting.quit"),
        lines=Front(summary="leave"),
        aliases=("exit", "q"),
    ),
    ActRow(
        "fork-beside",
        "fork side by side, or in a new tab",
        key="{fork_beside} while browsing",
        leads=True,
        by_name=False,
        does="catena.acts.branches:fork_beside",
        at="message",
        screen=Front(),
    ),
    ActRow(
        "turn-changes",
        "changes of this turn",
        "catena.acts.files:turn_changes",
        at="message",
        key="{turn_changes} while browsing",
        leads=True,
        by_name=False,
        screen=Front(),
    ),
    ActRow(
        "sibling-before",
        "previous version",
        key="{previous_version} while browsing",
        leads=True,
        by_name=False,
        screen=Front("branches.sibling_before"),
    ),
    ActRow(
        "sibling-after",
        "next version",
        key="{next_version} while browsing",
        leads=True,
        by_name=False,
        screen=Front("branches.sibling_after"),
    ),
    ActRow(
        "files-too",
        "restore files too",
        key="{files_too}",
        leads=True,
        by_name=False,
        screen=Front("along.choose"),
    ),
    ActRow(
        "show-files",
        "show what would happen to files",
        key="{show_files}",
        leads=True,
        by_name=False,
        screen=Front("along.show"),
    ),
    ActRow(
        "branch-point-before",
        "branch point above",
        key="{branch_point_above} while browsing",
        by_name=False,
        screen=Front("branches.branch_point_before"),
    ),
    ActRow(
        "branch-point-after",
        "branch point below",
        key="{branch_point_below} while browsing",
        by_name=False,
        screen=Front("branches.branch_point_after"),
    ),
    ActRow("run", "send one prompt, print the answer", shell=Front("catena.cli.run.arguments", '"PROMPT"')),
    ActRow("list", "list conversations, newest first", shell=Front("catena.cli.conversations.arguments")),
    ActRow(
        "search",
        "find conversations by what was said in them",
        shell=Front("catena.cli.conversations.arguments", "WORDS"),
    ),
    ActRow(
        "replay",
        "play a conversation, or write it as an asciicast",
        shell=Front("catena.cli.conversations.arguments", "ID"),
    ),
    ActRow(
        "import", "read conversations from files", shell=Front("catena.cli.conversations.arguments", "FILE")
    ),
    ActRow(
        "prune",
        "remove old conversations for good; lists them first",
        shell=Front("catena.cli.conversations.arguments"),
    ),
    ActRow(
        "config",
        "print the settings and where they come from; edit, check",
        shell=Front("catena.cli.settings.arguments", "[KEY]"),
    ),
    ActRow("keys", "list every key action, with your keys", shell=Front("catena.cli.settings.arguments")),
    ActRow(
        "doctor",
        "print diagnostics; repair a terminal or database",
        shell=Front("catena.cli.doctor.arguments"),
    ),
    ActRow(
        "completion", "print completion for bash, zsh or fish", shell=Front("catena.cli.arguments", "SHELL")
    ),
    ActRow(
        "agents check",
        "start the installed agents, and list what they can do",
        aliases=("agents --check",),
        shell=Front("catena.cli.agents.arguments", "[AGENT]"),
    ),
    ActRow("agents install", "install an agent", shell=Front("catena.cli.agents.arguments", "AGENT")),
    ActRow(
        "agents remove",
        "remove one that Catena installed",
        shell=Front("catena.cli.agents.arguments", "AGENT"),
    ),
    ActRow(
        "agents update",
        "read a newer copy of the registry",
        shell=Front("catena.cli.agents.arguments", "FILE|URL"),
    ),
    ActRow(
        "login list",
        "list the login methods of an agent",
        aliases=("login --list",),
        shell=Front("catena.cli.agents.arguments", "[AGENT]"),
    ),
    ActRow("config set", "write a setting", shell=Front("catena.cli.settings.arguments", "KEY VALUE")),
    ActRow(
        "config unset",
        "remove a setting: its default applies",
        shell=Front("catena.cli.settings.arguments", "KEY"),
    ),
    ActRow("config edit", "open the settings in your editor", shell=Front("catena.cli.settings.arguments")),
    ActRow("config check", "check the settings", shell=Front("catena.cli.settings.arguments")),
    ActRow("permissions list", "list the rules", shell=Front("catena.cli.settings.arguments")),
    ActRow(
        "permissions test",
        "say which rule would answer a request",
        shell=Front("catena.cli.settings.arguments", "KIND INPUT"),
    ),
    ActRow("permissions add", "add a rule", shell=Front("catena.cli.settings.arguments", "KIND PATTERN")),
    ActRow("permissions remove", "remove a rule", shell=Front("catena.cli.settings.arguments", "RULE")),
    ActRow(
        "restore-file",
        "restore one file as it was before this branch; the conversation stays",
        "catena.acts.files:restore",
        takes="named",
        leads=True,
        needs_argument=True,
        screen=Front(argument="FILE"),
        lines=Front(argument="FILE"),
        listed="files restore",
    ),
    ActRow(
        "files restore",
        "restore files as they were at a message",
        aliases=("files --restore",),
        shell=Front("catena.cli.files.arguments", "ID --at MESSAGE"),
    ),
    ActRow(
        "files finish",
        "finish an interrupted restore",
        aliases=("files --finish",),
        shell=Front("catena.cli.files.arguments", "ID"),
    ),
    ActRow(
        "files undo",
        "undo an interrupted restore",
        aliases=("files --undo",),
        shell=Front("catena.cli.files.arguments", "ID"),
    ),
    ActRow(
        "prune prompts",
        "remove prompts from the prompt history",
        aliases=("prune --prompts",),
        shell=Front("catena.cli.conversations.arguments", "[TEXT]"),
    ),
    ActRow(
        "doctor reset",
        "reset a terminal that a killed program left behind",
        aliases=("doctor --reset",),
        shell=Front("catena.cli.doctor.arguments"),
    ),
    ActRow(
        "doctor salvage",
        "recover a damaged database",
        aliases=("doctor --salvage",),
        shell=Front("catena.cli.doctor.arguments"),
    ),
    ActRow(
        "doctor backup",
        "copy the database",
        aliases=("doctor --backup",),
        shell=Front("catena.cli.doctor.arguments", "FILE"),
    ),
    ActRow("version", "print the version", shell=Front("catena.cli.arguments")),
)
