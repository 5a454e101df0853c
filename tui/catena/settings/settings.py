"""Settings of the person, from one optional TOML file whose errors have file and line; and the start of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena.errors import InvalidSettings
from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.settings.definitions import (
    Applies,
    Group,
    Named,
    SettingDefinition,
    SettingKind,
    TableDefinition,
    choice,
    described_in,
    named,
    number,
    on_off,
    read_fields,
    setting,
    table,
    tables,
    true_false,
    written,
)
from catena.settings.file.document import SettingsDocument, read_text, settings_path
from catena.settings.linear import LINEAR_VARIABLE, LinearSetting
from catena.settings.start_notes import StartNote
from catena.settings.tables import (
    AgentSetting,
    HookSettings,
    McpSetting,
    Permissions,
    Program,
    ProjectSetting,
    known_agent_names,
    mcp_values,
    program_of,
    read_agents,
    read_keys,
    read_mcp,
    read_projects,
    read_rules,
)
from catena.terminal.control.graphics import ImageDrawing
from catena.terminal.control.sequences import NotificationForm
from catena.themes.colours import COLOUR_NAMES, ThemeColours, is_colour
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.snapshots.scope import SnapshotScope

if TYPE_CHECKING:  # dataclasses that the first frame does not need
    from datetime import datetime

    from catena_acp.permissions.rule import Rule
    from catena_acp.port.port import AgentSpec


PAINTER_VARIABLE = "CATENA_PAINTER"  # of the environment; overrides the setting
MEMORY_SCOPES = ("repository", "everywhere")
FREQUENCIES = ("turn", "tool", "manual", "off")


@dataclass(frozen=True, slots=True)
class CheckpointSetting:
    """The `[checkpoints]` table: when checkpoints are made, how many are kept, and whether agents get tools."""

    frequency: str = setting(  # a conversation may have its own
        choice("turn", FREQUENCIES), Group.ADVANCED, "when checkpoints are saved"
    )
    keep: int = setting(  # those with a label do not count
        number(20, 1, None, ", 1 or more"),
        Group.ADVANCED,
        "automatic checkpoints, and saved forks, to keep of a conversation",
    )
    tools: bool = setting(
        true_false(False),
        Group.ADVANCED,
        "agents get tools to save and list checkpoints, and to ask for a rewind",
    )


@dataclass(frozen=True, slots=True)
class HistorySetting:
    """The `[history]` table: what is done with the sessions of other tools."""

    copies: bool | None = setting(  # when they are listed; None while the person was not asked
        true_false(None),
        Group.HISTORY,
        "keep copies of other tools' sessions, before those tools delete them",
        Applies.NOW,
    )


@dataclass(frozen=True, slots=True)
class MemorySetting:
    """The `[memory]` table: whether agents get tools to look up other conversations, and which."""

    tools: bool = setting(
        true_false(False), Group.HISTORY, "agents get tools to look things up in your other conversations"
    )
    scope: str = setting(
        choice("repository", MEMORY_SCOPES), Group.ADVANCED, "which of your conversations these tools see"
    )


def _masks(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise ValueError('must be a list of regular expressions: ["ACME-[0-9]+"]')
    from catena.text.secrets import rule_trouble

    for rule in value:
        if why := rule_trouble(rule):
            raise ValueError(f'"{rule}" {why}')
    return tuple(value)


@dataclass(frozen=True, slots=True)
class ExportSetting:
    """The `[export]` table."""

    mask: tuple[str, ...] = setting(
        written((), _masks, lambda rules: rules),
        Group.ADVANCED,
        "regular expressions of what exports mask beside what looks like a secret",
        Applies.NOW,
    )


def _rules_in_words(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    return tuple(
        " ".join(filter(None, ("allow" if each.allow else "reject", each.kind, each.pattern, each.project)))
        for each in rules
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


@dataclass(frozen=True, slots=True)
class Settings:
    """The person's settings, in the order of `catena config`, but the advanced are last; defaults need no file."""

    agent: str | None = setting(
        named(SettingKind.AGENT), Group.AGENTS, "the agent for new conversations", Applies.NOW
    )
    theme: str | None = setting(named(SettingKind.THEME), Group.LOOK, "colours of the screen", Applies.NOW)
    permissions: Permissions = setting(
        choice(Permissions.ASK, Permissions),
        Group.PERMISSIONS,
        "how catena run answers permission requests",
        Applies.RUN,
        other_names=("permissions.run",),
    )
    own_requests: OwnRequests = setting(
        choice(OwnRequests.RECORD, OwnRequests),
        Group.ADVANCED,
        "what agents let Catena write or run without a question: record it, ask you, or refuse",
        name="permissions.own_requests",
    )
    permission_rules: tuple[Rule, ...] = setting(
        written((), lambda _: (), _rules_in_words, read_rules),
        Group.PERMISSIONS,
        "rules that answer requests of agents in every project, before you are asked",
        name="permissions.rules",
        old_names=("permission_rules",),
    )
    park: bool = setting(
        on_off(True), Group.ADVANCED, "save a fork after each turn, so that edits need no replay"
    )
    replay: int = setting(
        number(32_000, 1_000, 1_000_000, " of characters from 1,000 to 1,000,000"),
        Group.ADVANCED,
        "maximum characters of a replay, 1,000 to 1,000,000; half for tool calls",
    )
    painter: bool = setting(
        on_off(True),
        Group.ADVANCED,
        "send the terminal only the cells that change",
        variable=PAINTER_VARIABLE,
    )
    width: int = setting(
        number(100, 40, 400, " of cells from 40 to 400"),
        Group.LOOK,
        "maximum width of the column in cells, 40 to 400",
        Applies.NOW,
        old_names=("column",),
    )
    half_rows: bool = setting(  # if the terminal draws them well
        on_off(True), Group.ADVANCED, "backgrounds of prompts and code reach half a row further", Applies.NOW
    )
    window_title: bool = setting(
        on_off(True),
        Group.ADVANCED,
        "the terminal's window is named after the conversation and its state",
        Applies.NOW,
    )
    images: ImageDrawing = setting(
        choice(ImageDrawing.AUTO, ImageDrawing),
        Group.ADVANCED,
        "agents' images are drawn if the terminal can do so",
    )
    shell: bool = setting(
        on_off(True), Group.ADVANCED, "a ! at the beginning of the composer runs a shell command", Applies.NOW
    )
    files: bool = setting(true_false(True), Group.ADVANCED, "agents may read and write files through Catena")
    terminals: bool = setting(true_false(True), Group.ADVANCED, "agents may run commands through Catena")
    snapshots: SnapshotScope = setting(
        choice(SnapshotScope.REPOSITORIES, SnapshotScope),
        Group.ACCESS,
        "where files are snapshotted around each turn",
    )
    files_follow: bool = setting(
        on_off(False),
        Group.ACCESS,
        "restore files with the conversation unless you choose otherwise",
        Applies.NOW,
    )
    notifications: NotificationForm = setting(
        choice(NotificationForm.AUTO, NotificationForm),
        Group.NOTIFICATIONS,
        "how you are notified while the terminal is out of focus",
        Applies.NOW,
    )
    vim: bool = setting(on_off(False), Group.KEYS, "vi's keys in the composer", Applies.NOW)
    linear: LinearSetting = setting(
        choice(LinearSetting.AUTO, LinearSetting),
        Group.ADVANCED,
        "lines instead of a screen, for screen readers and dumb terminals",
        variable=LINEAR_VARIABLE,
    )
    linear_bells: bool = setting(
        on_off(True),
        Group.ADVANCED,
        "linear mode: one bell for done, two for a question, three for a failure; else always one",
    )
    idle_agents: int = setting(
        number(30, 0, None, " of minutes, 0 for never"),
        Group.ADVANCED,
        "minutes without a prompt before a hidden tab's agent is ended; 0 for never",
    )
    prompt_history: int = setting(
        number(1_000, 0, None, " of prompts, 0 for none"),
        Group.ADVANCED,
        "prompts that the prompt history keeps; older ones go at the next start",
    )
    checkpoints: CheckpointSetting = table(CheckpointSetting)
    history: HistorySetting = table(HistorySetting)
    memory: MemorySetting = table(MemorySetting)
    export: ExportSetting = table(ExportSetting)
    hooks: HookSettings = table(HookSettings)
    status_line: Program | None = setting(
        written(None, program_of, lambda program: str(program) if program else None),
        Group.PROGRAMS,
        "a command whose first line of output is shown below the composer",
        other_names=("status_line.command",),
    )
    keys: KeyMap = tables(
        lambda: DEFAULT_KEYS,
        TableDefinition(
            "keys",
            lambda document: read_keys(document.values, document.wrong)[0],
            Applies.NOW,
            Group.KEYS,
            "keys of your own, by action",
            _key_values,
            lambda on: tuple(on.keys.own),
        ),
    )
    key_problems: tuple[InvalidSettings, ...] = tables(  # keys that cannot be; the defaults hold for those
        tuple,
        TableDefinition("", lambda document: read_keys(document.values, document.wrong)[1], Applies.NOW),
    )
    themes: Mapping[str, ThemeColours] = tables(
        dict,
        TableDefinition(
            "themes",
            lambda document: _themes(document),
            Applies.NOW,
            Group.ADVANCED,
            "themes of your own",
            _theme_values,
            lambda on: tuple(on.themes),
        ),
    )
    agents: Mapping[str, AgentSetting] = tables(
        dict,
        TableDefinition(
            "agents",
            read_agents,
            Applies.START,
            Group.AGENTS,
            "agents of your own, changes to known ones, and profiles",
            _agent_values,
            lambda on: tuple(on.agents),
            private=("env",),
        ),
    )
    mcp: tuple[McpSetting, ...] = tables(
        tuple,
        TableDefinition(
            "mcp",
            lambda document: read_mcp(
                document.values, document.wrong, lambda: known_agent_names(document.tables("agents"))
            ),
            Applies.START,
            Group.AGENTS,
            "MCP servers that sessions are given",
            lambda on: mcp_values(on.mcp),
            lambda on: tuple(each.name for each in on.mcp),
            private=("env", "headers"),
        ),
    )
    projects: tuple[ProjectSetting, ...] = tables(
        tuple,
        TableDefinition(
            "projects",
            lambda document: read_projects(document.values, document.wrong),
            Applies.START,
            Group.ADVANCED,
            "additional directories of new conversations",
            _project_values,
            lambda on: tuple(each.directory for each in on.projects),
        ),
    )


_DESCRIBED = tuple(described_in(Settings))
ADVANCED = frozenset(each.name for each in _DESCRIBED if each.group is Group.ADVANCED)
SETTINGS = tuple(
    sorted(
        (each for each in _DESCRIBED if isinstance(each, SettingDefinition)),
        key=lambda each: each.name in ADVANCED,
    )
)
TABLES = tuple(each for each in _DESCRIBED if isinstance(each, TableDefinition) and each.name)


def definition_of(name: str) -> SettingDefinition | None:
    """The setting of a name, or of another name of it."""
    return next((each for each in SETTINGS if name in map(".".join, each.keys)), None)


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings; defaults if there is no file.

    Raises InvalidSettings where the file cannot be read, is not TOML, or has an unknown key or invalid value.
    """
    path = path or settings_path()
    text = read_text(path)
    return Settings() if text is None else parse_settings(path, text)


def parse_settings(path: Path, text: str) -> Settings:
    """Settings in the text of a file. Raises InvalidSettings if it is not TOML, or a key or value is wrong."""
    return _settings(SettingsDocument(path, text))


def at_once(before: Settings, after: Settings) -> Settings:
    """The settings of a running screen with what holds at once of changed ones; the rest needs another start."""
    return read_fields(
        Settings,
        lambda each, path: reduce(getattr, path, after if each.applies is Applies.NOW else before),
    )


def paints_cells(settings: Settings, environment: Mapping[str, str]) -> bool:
    """True if only the cells that change are sent to the terminal: the variable decides, else the setting."""
    named = environment.get(PAINTER_VARIABLE)
    return named != "off" if named else settings.painter


def _settings(document: SettingsDocument) -> Settings:
    document.known(
        [key for each in SETTINGS for key in each.keys if ".".join(key) not in each.old_names],
        [each.name for each in TABLES],
        old=[name for each in SETTINGS for name in each.old_names],
    )
    return read_fields(Settings, lambda each, _: each.read(document))


def _themes(document: SettingsDocument) -> dict[str, ThemeColours]:
    return {name: _theme(document, name, value) for name, value in document.tables("themes").items()}


def _theme(document: SettingsDocument, name: str, value: Any) -> ThemeColours:
    at = ("themes", name)
    if not isinstance(value, dict):
        raise document.wrong(at, f"must be a table of ten colours: {', '.join(COLOUR_NAMES)}")
    document.only(value, at, COLOUR_NAMES)
    for key in COLOUR_NAMES:
        if not (isinstance(value.get(key), str) and is_colour(value[key])):
            raise document.wrong((*at, key) if key in value else at, f'needs {key} = "#rrggbb"')
    return ThemeColours(**{key: value[key].lower() for key in COLOUR_NAMES})


def wrong_setting(key: tuple[str, ...], why: str) -> InvalidSettings:
    """The error for a setting that is found wrong after the file was read."""
    path = settings_path()
    try:
        line = SettingsDocument(path, path.read_text(encoding="utf-8")).line_of(key)
    except (OSError, UnicodeDecodeError):
        line = None
    return InvalidSettings(path, line, f"`{'.'.join(key)}` {why}")


@dataclass(frozen=True, slots=True)
class Start:
    """Start of the screen: its directory, and what to open first.

    With none of ``agent``, ``conversation_id`` and ``picker`` the tabs of ``directory`` are restored; if there are
    none, the person chooses an agent.
    """

    directory: str  # absolute: the workspace, and where new conversations work
    agent: AgentSpec | None = None  # open a new tab with this agent
    conversation_id: str | None = None  # show its tab, a new one if it has none
    picker: bool = False  # begin with the list of conversations
    # Absolute: for the first tab that is shown, and for new conversations.
    further_directories: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    note: StartNote = field(default_factory=StartNote)
    clock: Callable[[], datetime] | None = None  # None: the system's

    @property
    def chooses_agent(self) -> bool:
        """True if the person is to choose an agent, as far as that is known before the store is open."""
        given = self.agent or self.conversation_id or self.settings.agent
        return given is None and not self.picker and not self.note.has_tabs
