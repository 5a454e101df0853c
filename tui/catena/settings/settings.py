"""Settings of the person, from one optional TOML file whose errors have file and line; and the start of the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena.errors import InvalidSettings
from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.settings.file.document import SettingsDocument, read_text
from catena.settings.file.location import settings_path
from catena.settings.linear import LinearSetting
from catena.settings.start_notes import StartNote
from catena.settings.tables import client_access
from catena.settings.tables.agents import AgentSetting, known_names, read_agents
from catena.settings.tables.choices import one_of
from catena.settings.tables.keys import read_keys
from catena.settings.tables.mcp import McpSetting, read_mcp
from catena.settings.tables.permissions import Permissions, read_own_requests, read_permissions
from catena.settings.tables.programs import HookSettings, Program, read_hooks, read_status_line
from catena.settings.tables.projects import ProjectSetting, read_projects
from catena.terminal.control.graphics import ImageDrawing
from catena.terminal.control.notifications import NotificationForm
from catena.themes.colours import COLOUR_NAMES, ThemeColours, is_colour
from catena_acp.permissions.own_request_policy import OwnRequests
from catena_acp.snapshots.scope import SnapshotScope

if TYPE_CHECKING:  # dataclasses that the first frame does not need
    from datetime import datetime

    from catena_acp.permissions.rule import Rule
    from catena_acp.port.port import AgentSpec


PROMPT_HISTORY = 1_000
IDLE_AGENTS = 30  # minutes
PAINTER_VARIABLE = "CATENA_PAINTER"  # of the environment; overrides the setting


_OLD_KEYS = ("column", "permission_rules")
_KEYS = (
    "agent",
    "theme",
    "permissions",
    "park",
    "painter",
    "width",
    "half_rows",
    "window_title",
    "shell",
    "replay",
    *client_access.KEYS,
    "images",
    "notifications",
    "snapshots",
    "files_follow",
    "prompt_history",
    "idle_agents",
    "vim",
    "linear",
    "keys",
    "themes",
    "checkpoints",
    "history",
    "export",
    "memory",
    "agents",
    "mcp",
    "projects",
    "hooks",
    "status_line",
)
_WIDTH, _NARROWEST, _WIDEST = 100, 40, 400
_REPLAY, _SHORTEST_REPLAY, _LONGEST_REPLAY = 32_000, 1_000, 1_000_000  # characters
MEMORY_SCOPES = ("repository", "everywhere")
FREQUENCIES = ("turn", "tool", "manual", "off")


@dataclass(frozen=True, slots=True)
class CheckpointSetting:
    """The `[checkpoints]` table: when checkpoints are made, how many are kept, and whether agents get tools."""

    frequency: str = "turn"  # one of FREQUENCIES; a conversation may have its own
    keep: int = 20  # automatic ones of a conversation; those with a label do not count
    tools: bool = False  # agents get tools to save, list and request a rewind


@dataclass(frozen=True, slots=True)
class HistorySetting:
    """The `[history]` table: what is done with the sessions of other tools."""

    copies: bool | None = (
        None  # copy their transcripts when they are listed; None while the person was not asked
    )


@dataclass(frozen=True, slots=True)
class MemorySetting:
    """The `[memory]` table: whether agents get tools to look up other conversations, and which."""

    tools: bool = False
    scope: str = "repository"  # one of MEMORY_SCOPES


@dataclass(frozen=True, slots=True)
class ExportSetting:
    """The `[export]` table: regular expressions of what is masked in exports beside what looks like a secret."""

    mask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The person's settings; the defaults hold without a file."""

    agent: str | None = None  # of new conversations
    theme: str | None = None
    permissions: Permissions = Permissions.ASK
    own_requests: OwnRequests = OwnRequests.RECORD
    permission_rules: tuple[Rule, ...] = ()  # of every project; they answer before the person is asked
    park: bool = True  # park native forks at the ends of turns
    painter: bool = True  # send the terminal only the cells that change
    replay: int = _REPLAY  # characters of a replay, at most
    width: int = 100  # cells of the column that everything stands in, at most
    half_rows: bool = True  # bands and code reach half a row above and below, if the terminal draws that well
    window_title: bool = True  # of the terminal: the conversation and its state
    shell: bool = True  # `!` in the composer runs a command
    access: client_access.ClientAccess = field(default_factory=client_access.ClientAccess)
    images: ImageDrawing = ImageDrawing.AUTO  # of agents, below their lines
    notifications: NotificationForm = NotificationForm.AUTO
    snapshots: SnapshotScope = SnapshotScope.REPOSITORIES
    files_follow: bool = (
        False  # an edit, a retry or a move takes the files along where nothing else is chosen
    )
    idle_agents: int = IDLE_AGENTS  # minutes; 0 is never
    prompt_history: int = PROMPT_HISTORY  # so many typed texts are kept
    vim: bool = False  # vi's keys in the composer
    linear: LinearSetting = LinearSetting.AUTO
    keys: KeyMap = DEFAULT_KEYS
    key_problems: tuple[InvalidSettings, ...] = ()  # keys that cannot be; the defaults hold for those
    themes: Mapping[str, ThemeColours] = field(default_factory=dict)
    checkpoints: CheckpointSetting = field(default_factory=CheckpointSetting)
    history: HistorySetting = field(default_factory=HistorySetting)
    export: ExportSetting = field(default_factory=ExportSetting)
    memory: MemorySetting = field(default_factory=MemorySetting)
    agents: Mapping[str, AgentSetting] = field(default_factory=dict)
    mcp: tuple[McpSetting, ...] = ()
    projects: tuple[ProjectSetting, ...] = ()
    hooks: HookSettings = field(default_factory=HookSettings)
    status_line: Program | None = None


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings; defaults if there is no file.

    Raises InvalidSettings where the file cannot be read, is not TOML, or has an unknown key or invalid value.
    """
    path = path or settings_path()
    text = read_text(path)
    return Settings() if text is None else parse_settings(path, text)


def parse_settings(path: Path, text: str) -> Settings:
    """Settings in the text of a file. Raises InvalidSettings where it is not TOML, or a key or value is wrong."""
    return _settings(SettingsDocument(path, text))


def at_once(before: Settings, after: Settings) -> Settings:
    """The settings of a running screen with what holds at once of changed ones; the rest needs another start."""
    return replace(
        before,
        agent=after.agent,
        theme=after.theme,
        themes=after.themes,
        width=after.width,
        half_rows=after.half_rows,
        window_title=after.window_title,
        shell=after.shell,
        keys=after.keys,
        key_problems=after.key_problems,
        vim=after.vim,
        files_follow=after.files_follow,
        notifications=after.notifications,
        history=after.history,
        export=after.export,
    )


def paints_cells(settings: Settings, environment: Mapping[str, str]) -> bool:
    """True if only the cells that change are sent to the terminal: the variable decides, else the setting."""
    named = environment.get(PAINTER_VARIABLE)
    return named != "off" if named else settings.painter


def _settings(document: SettingsDocument) -> Settings:
    document.only(document.values, (), _KEYS, old=_OLD_KEYS)
    agents = read_agents(document)
    keys, key_problems = read_keys(document.values, document.wrong)
    permissions, rules = read_permissions(document)
    return Settings(
        agent=document.text_at(document.values, ("agent",)),
        theme=document.text_at(document.values, ("theme",)),
        permissions=permissions,
        permission_rules=rules,
        own_requests=read_own_requests(document),
        park=document.switch("park", default=True),
        painter=document.switch("painter", default=True),
        replay=_replay(document),
        width=_width(document),
        half_rows=document.switch("half_rows", default=True),
        window_title=document.switch("window_title", default=True),
        shell=document.switch("shell", default=True),
        access=client_access.client_access(document.values, document.wrong),
        images=document.checked("images", one_of(ImageDrawing.AUTO)),
        notifications=document.checked("notifications", one_of(NotificationForm.AUTO)),
        snapshots=document.checked("snapshots", one_of(SnapshotScope.REPOSITORIES)),
        files_follow=document.switch("files_follow", default=False),
        idle_agents=_idle_agents(document),
        prompt_history=_prompt_history(document),
        vim=document.switch("vim", default=False),
        linear=document.checked("linear", one_of(LinearSetting.AUTO)),
        keys=keys,
        key_problems=key_problems,
        themes=_themes(document),
        checkpoints=_checkpoints(document),
        history=_history(document),
        export=_export(document),
        memory=_memory(document),
        agents=agents,
        mcp=read_mcp(document.values, document.wrong, lambda: known_names(agents)),
        projects=read_projects(document.values, document.wrong),
        hooks=read_hooks(document.values, document.wrong),
        status_line=read_status_line(document.values, document.wrong),
    )


def _width(document: SettingsDocument) -> int:
    name = "column" if "column" in document.values else "width"
    if name == "column" and "width" in document.values:
        raise document.wrong(("column",), "is the old name of `width`: only one of them can be set")
    value = document.values.get(name, _WIDTH)
    if not isinstance(value, int) or isinstance(value, bool) or not _NARROWEST <= value <= _WIDEST:
        raise document.wrong((name,), f"must be a number of cells from {_NARROWEST} to {_WIDEST}")
    return value


def _replay(document: SettingsDocument) -> int:
    value = document.values.get("replay", _REPLAY)
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not _SHORTEST_REPLAY <= value <= _LONGEST_REPLAY
    ):
        least, most = f"{_SHORTEST_REPLAY:,}", f"{_LONGEST_REPLAY:,}"
        raise document.wrong(("replay",), f"must be a number of characters from {least} to {most}")
    return value


def _idle_agents(document: SettingsDocument) -> int:
    value = document.values.get("idle_agents", IDLE_AGENTS)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise document.wrong(("idle_agents",), "must be a number of minutes, 0 for never")
    return value


def _prompt_history(document: SettingsDocument) -> int:
    value = document.values.get("prompt_history", PROMPT_HISTORY)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise document.wrong(("prompt_history",), "must be a number of prompts, 0 for none")
    return value


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


def _checkpoints(document: SettingsDocument) -> CheckpointSetting:
    table, at = document.table("checkpoints", ("frequency", "keep", "tools")), ("checkpoints",)
    before = CheckpointSetting()
    frequency = document.text_at(table, (*at, "frequency")) or before.frequency
    if frequency not in FREQUENCIES:
        raise document.wrong(
            (*at, "frequency"), f'must be one of {", ".join(FREQUENCIES)}; it is "{frequency}"'
        )
    keep, tools = table.get("keep", before.keep), table.get("tools", before.tools)
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
        raise document.wrong((*at, "keep"), "must be a number, 1 or more")
    if not isinstance(tools, bool):
        raise document.wrong((*at, "tools"), "must be true or false")
    return CheckpointSetting(frequency, keep, tools)


def _history(document: SettingsDocument) -> HistorySetting:
    copies = document.table("history", ("copies",)).get("copies")
    if copies is not None and not isinstance(copies, bool):
        raise document.wrong(("history", "copies"), "must be true or false")
    return HistorySetting(copies)


def _memory(document: SettingsDocument) -> MemorySetting:
    table, at = document.table("memory", ("tools", "scope")), ("memory",)
    before = MemorySetting()
    tools = table.get("tools", before.tools)
    if not isinstance(tools, bool):
        raise document.wrong((*at, "tools"), "must be true or false")
    scope = document.text_at(table, (*at, "scope")) or before.scope
    if scope not in MEMORY_SCOPES:
        raise document.wrong((*at, "scope"), f'must be one of {", ".join(MEMORY_SCOPES)}; it is "{scope}"')
    return MemorySetting(tools, scope)


def _export(document: SettingsDocument) -> ExportSetting:
    rules, at = document.table("export", ("mask",)).get("mask", []), ("export", "mask")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise document.wrong(at, 'must be a list of regular expressions: ["ACME-[0-9]+"]')
    if rules:
        from catena.text.secrets import rule_trouble

        for rule in rules:
            if why := rule_trouble(rule):
                raise document.wrong(at, f'"{rule}" {why}')
    return ExportSetting(tuple(rules))


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
    further_directories: tuple[
        str, ...
    ] = ()  # absolute: for the first tab that is shown, and for new conversations
    settings: Settings = field(default_factory=Settings)
    note: StartNote = field(default_factory=StartNote)
    clock: Callable[[], datetime] | None = None  # None: the system's

    @property
    def chooses_agent(self) -> bool:
        """True if the person is to choose an agent, as far as that is known before the store is open."""
        given = self.agent or self.conversation_id or self.settings.agent
        return given is None and not self.picker and not self.note.has_tabs
