"""The one table of settings: `catena config`, the settings sheet and a test of the documents are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from catena.settings.linear import LinearSetting
from catena.settings.settings import FREQUENCIES, MEMORY_SCOPES, Settings
from catena.settings.tables.mcp import mcp_values
from catena.settings.tables.permissions import Permissions
from catena.settings.tables.programs import HOOKS
from catena.terminal.control.graphics import ImageDrawing
from catena.terminal.control.notifications import NotificationForm
from catena.themes.colours import COLOUR_NAMES
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.snapshots.scope import SnapshotScope

Value: TypeAlias = str | int | bool | tuple[str, ...] | None
Named: TypeAlias = tuple[tuple[str, ...], Value]


class SettingKind(Enum):
    """What a setting takes, and so how it is edited."""

    ON_OFF = "on or off"
    TRUE_FALSE = "true or false"
    CHOICE = "one of its choices"
    THEME = "the name of a theme"
    NUMBER = "a number"
    AGENT = "the name of an agent"
    WRITTEN = "a list or a table"  # which is edited in the file


class Applies(Enum):
    """When a change holds, in words behind "holds"."""

    NOW = "at once"
    RUN = "from the next catena run on"
    START = "from the next start on"


class Group(Enum):
    """The heading that a setting stands below, in the order of the sheet."""

    LOOK = "Look"
    KEYS = "Keys"
    AGENTS = "Agents"
    PERMISSIONS = "Permissions"
    ACCESS = "Files and terminals"
    HISTORY = "History"
    NOTIFICATIONS = "Notifications"
    PROGRAMS = "Programs"


@dataclass(frozen=True, slots=True)
class SettingDefinition:
    """One setting: its name, what it takes, a sentence for the person, and its value in effect."""

    name: str  # with dots
    group: Group
    kind: SettingKind
    does: str
    value: Callable[[Settings], Value]
    applies: Applies = Applies.START
    choices: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()  # that it may have in the file
    old_names: tuple[str, ...] = ()  # that are read, and not written any more

    @property
    def key(self) -> tuple[str, ...]:
        """The name as a path of tables."""
        return tuple(self.name.split("."))

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Every place in the file where it may stand."""
        return (self.key, *(tuple(name.split(".")) for name in (*self.other_names, *self.old_names)))


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """Tables that the person names: `[agents.NAME]`."""

    name: str
    group: Group
    does: str
    values: Callable[[Settings], Iterator[Named]]
    names: Callable[[Settings], tuple[str, ...]]
    private: tuple[str, ...] = field(default=())  # tables in it whose values may be secrets
    applies: Applies = Applies.START


def _word(on: bool) -> str:
    return "on" if on else "off"


def _rules(settings: Settings) -> tuple[str, ...]:
    return tuple(
        " ".join(filter(None, ("allow" if each.allow else "reject", each.kind, each.pattern, each.project)))
        for each in settings.permission_rules
    )


def _hooks(name: str) -> Callable[[Settings], Value]:
    return lambda settings: tuple(str(each) for each in getattr(settings.hooks, name))


_HOOK_WORDS = {
    "turn_end": "commands that are run when a turn has ended",
    "permission": "commands that are run when an agent asks for a permission",
    "seam": "commands that are run at each seam",
}

SETTINGS: tuple[SettingDefinition, ...] = (
    SettingDefinition(
        "agent",
        Group.AGENTS,
        SettingKind.AGENT,
        "the agent for new conversations",
        lambda on: on.agent,
        Applies.NOW,
    ),
    SettingDefinition(
        "theme", Group.LOOK, SettingKind.THEME, "colours of the screen", lambda on: on.theme, Applies.NOW
    ),
    SettingDefinition(
        "permissions",
        Group.PERMISSIONS,
        SettingKind.CHOICE,
        "how catena run answers permission requests",
        lambda on: on.permissions.value,
        Applies.RUN,
        tuple(Permissions),
        other_names=("permissions.run",),
    ),
    SettingDefinition(
        "permissions.own_requests",
        Group.PERMISSIONS,
        SettingKind.CHOICE,
        "what agents let Catena write or run without a question: record it, ask you, or refuse",
        lambda on: on.own_requests.value,
        Applies.START,
        tuple(OwnRequests),
    ),
    SettingDefinition(
        "permissions.rules",
        Group.PERMISSIONS,
        SettingKind.WRITTEN,
        "rules that answer requests of agents in every project, before you are asked",
        _rules,
        old_names=("permission_rules",),
    ),
    SettingDefinition(
        "park",
        Group.AGENTS,
        SettingKind.ON_OFF,
        "save a fork after each turn, so that edits need no replay",
        lambda on: _word(on.park),
    ),
    SettingDefinition(
        "replay",
        Group.AGENTS,
        SettingKind.NUMBER,
        "characters of a replay at most, 1,000 to 1,000,000; half of them for tool calls",
        lambda on: on.replay,
    ),
    SettingDefinition(
        "painter",
        Group.LOOK,
        SettingKind.ON_OFF,
        "send the terminal only the cells that change",
        lambda on: _word(on.painter),
    ),
    SettingDefinition(
        "width",
        Group.LOOK,
        SettingKind.NUMBER,
        "cells that the column takes at most, 40 to 400",
        lambda on: on.width,
        Applies.NOW,
        old_names=("column",),
    ),
    SettingDefinition(
        "half_rows",
        Group.LOOK,
        SettingKind.ON_OFF,
        "backgrounds of prompts and code reach half a row further",
        lambda on: _word(on.half_rows),
        Applies.NOW,
    ),
    SettingDefinition(
        "window_title",
        Group.LOOK,
        SettingKind.ON_OFF,
        "the terminal's window is named after the conversation and its state",
        lambda on: _word(on.window_title),
        Applies.NOW,
    ),
    SettingDefinition(
        "images",
        Group.LOOK,
        SettingKind.CHOICE,
        "images of agents are drawn where the terminal can",
        lambda on: on.images.value,
        choices=tuple(ImageDrawing),
    ),
    SettingDefinition(
        "shell",
        Group.KEYS,
        SettingKind.ON_OFF,
        "a ! at the beginning of the composer runs a shell command",
        lambda on: _word(on.shell),
        Applies.NOW,
    ),
    SettingDefinition(
        "files",
        Group.ACCESS,
        SettingKind.TRUE_FALSE,
        "agents may read and write files through Catena",
        lambda on: on.access.files,
    ),
    SettingDefinition(
        "terminals",
        Group.ACCESS,
        SettingKind.TRUE_FALSE,
        "agents may run commands through Catena",
        lambda on: on.access.terminals,
    ),
    SettingDefinition(
        "snapshots",
        Group.ACCESS,
        SettingKind.CHOICE,
        "which directories have their files kept around each turn",
        lambda on: on.snapshots.value,
        choices=tuple(SnapshotScope),
    ),
    SettingDefinition(
        "files_follow",
        Group.ACCESS,
        SettingKind.ON_OFF,
        "files go back with the conversation unless you choose otherwise",
        lambda on: _word(on.files_follow),
        Applies.NOW,
    ),
    SettingDefinition(
        "notifications",
        Group.NOTIFICATIONS,
        SettingKind.CHOICE,
        "how your terminal calls you while you look elsewhere",
        lambda on: on.notifications.value,
        Applies.NOW,
        tuple(NotificationForm),
    ),
    SettingDefinition(
        "vim",
        Group.KEYS,
        SettingKind.ON_OFF,
        "vi's keys in the composer",
        lambda on: _word(on.vim),
        Applies.NOW,
    ),
    SettingDefinition(
        "linear",
        Group.LOOK,
        SettingKind.CHOICE,
        "lines instead of a screen, for screen readers and dumb terminals",
        lambda on: on.linear.value,
        choices=tuple(LinearSetting),
    ),
    SettingDefinition(
        "idle_agents",
        Group.AGENTS,
        SettingKind.NUMBER,
        "minutes without a prompt, after which the agent of a tab out of sight is ended; 0 for never",
        lambda on: on.idle_agents,
    ),
    SettingDefinition(
        "prompt_history",
        Group.HISTORY,
        SettingKind.NUMBER,
        "prompts that the prompt history keeps; older ones go at the next start",
        lambda on: on.prompt_history,
    ),
    SettingDefinition(
        "checkpoints.frequency",
        Group.HISTORY,
        SettingKind.CHOICE,
        "when checkpoints are saved",
        lambda on: on.checkpoints.frequency,
        choices=FREQUENCIES,
    ),
    SettingDefinition(
        "checkpoints.keep",
        Group.HISTORY,
        SettingKind.NUMBER,
        "automatic checkpoints, and saved forks, to keep of a conversation",
        lambda on: on.checkpoints.keep,
    ),
    SettingDefinition(
        "checkpoints.tools",
        Group.HISTORY,
        SettingKind.TRUE_FALSE,
        "agents get tools to save and list checkpoints, and to ask for a rewind",
        lambda on: on.checkpoints.tools,
    ),
    SettingDefinition(
        "history.copies",
        Group.HISTORY,
        SettingKind.TRUE_FALSE,
        "keep copies of other tools' sessions, before those tools delete them",
        lambda on: on.history.copies,
        Applies.NOW,
    ),
    SettingDefinition(
        "memory.tools",
        Group.HISTORY,
        SettingKind.TRUE_FALSE,
        "agents get tools to look things up in your other conversations",
        lambda on: on.memory.tools,
    ),
    SettingDefinition(
        "memory.scope",
        Group.HISTORY,
        SettingKind.CHOICE,
        "which of your conversations these tools see",
        lambda on: on.memory.scope,
        choices=MEMORY_SCOPES,
    ),
    SettingDefinition(
        "export.mask",
        Group.HISTORY,
        SettingKind.WRITTEN,
        "regular expressions of what exports mask beside what looks like a secret",
        lambda on: on.export.mask,
        Applies.NOW,
    ),
    *(
        SettingDefinition(
            f"hooks.{name}", Group.PROGRAMS, SettingKind.WRITTEN, _HOOK_WORDS[name], _hooks(name)
        )
        for name in HOOKS
    ),
    SettingDefinition(
        "status_line",
        Group.PROGRAMS,
        SettingKind.WRITTEN,
        "a command whose first line of output is shown below the composer",
        lambda on: str(on.status_line) if on.status_line else None,
    ),
)


def _key_values(settings: Settings) -> Iterator[Named]:
    for action in settings.keys.own:
        yield ("keys", action), settings.keys.keys(action)


def _theme_values(settings: Settings) -> Iterator[Named]:
    for name, colours in settings.themes.items():
        for colour in COLOUR_NAMES:
            yield ("themes", name, colour), getattr(colours, colour)


def _agent_values(settings: Settings) -> Iterator[Named]:
    for name, agent in settings.agents.items():
        at = ("agents", name)
        for key in ("command", "title", "agent", "profile"):
            if value := getattr(agent, key):
                yield (*at, key), value
        for variable, value in agent.env:
            yield (*at, "env", variable), value


def _project_values(settings: Settings) -> Iterator[Named]:
    for project in settings.projects:
        yield ("projects", project.directory, "directories"), project.directories


TABLES: tuple[TableDefinition, ...] = (
    TableDefinition(
        "keys",
        Group.KEYS,
        "keys of your own, by action",
        _key_values,
        lambda on: tuple(on.keys.own),
        applies=Applies.NOW,
    ),
    TableDefinition(
        "themes",
        Group.LOOK,
        "themes of your own",
        _theme_values,
        lambda on: tuple(on.themes),
        applies=Applies.NOW,
    ),
    TableDefinition(
        "agents",
        Group.AGENTS,
        "agents of your own, changes to known ones, and profiles",
        _agent_values,
        lambda on: tuple(on.agents),
        private=("env",),
    ),
    TableDefinition(
        "mcp",
        Group.AGENTS,
        "MCP servers that sessions are given",
        lambda on: mcp_values(on.mcp),
        lambda on: tuple(each.name for each in on.mcp),
        private=("env", "headers"),
    ),
    TableDefinition(
        "projects",
        Group.AGENTS,
        "additional directories of new conversations",
        _project_values,
        lambda on: tuple(each.directory for each in on.projects),
    ),
)


def definition_of(name: str) -> SettingDefinition | None:
    """The setting of a name, or of another name of it."""
    return next((each for each in SETTINGS if name in map(".".join, each.keys)), None)
