"""Tables of the settings file: agents, keys, MCP servers, permissions, programs of the person's own, projects.

`permissions` is a word, or a table with that word as ``run`` and the rules as ``[[permissions.rules]]``. Rules are read
from ``[[permission_rules]]``, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena.errors import InvalidSettings
from catena.settings.definitions import Group, Takes, setting, written
from catena.settings.file.document import SettingsDocument

if TYPE_CHECKING:  # for annotations alone
    from catena.keys.keymap import KeyMap
    from catena_acp.permissions.rule import Rule


Wrong = Callable[[tuple[str, ...], str], "InvalidSettings"]  # the error for a key of the file, with its line


def read_keys(document: Mapping[str, Any], wrong: Wrong) -> tuple[KeyMap, tuple[InvalidSettings, ...]]:
    """The keys in effect, and an error for each that cannot be and has its default instead.

    Raises InvalidSettings for an unknown action, a text that names no key, and a value of another kind.
    """
    from catena.keys.keymap import DEFAULT_KEYS, settled

    table = document.get("keys", {})
    if not isinstance(table, dict):
        raise wrong(("keys",), 'must be a table: [keys] with action = "key"')
    if not table:
        return DEFAULT_KEYS, ()
    wanted = {name: _keys(name, value, wrong) for name, value in table.items()}
    keys, problems = settled(wanted)
    return keys, tuple(wrong(("keys", each.name), each.why) for each in problems)


def _keys(name: str, value: Any, wrong: Wrong) -> tuple[str, ...]:
    from catena.keys.actions import ACTIONS
    from catena.keys.spelling import UnknownKey, spelled

    if name not in ACTIONS:
        from difflib import get_close_matches

        near = get_close_matches(name, ACTIONS, n=1)
        meant = f"did you mean `{near[0]}`?" if near else "`catena keys` lists them"
        raise wrong(("keys", name), f"is not an action of a key; {meant}")
    texts = value if isinstance(value, list) else [value] if value != "" else []
    if not all(isinstance(text, str) for text in texts):
        raise wrong(
            ("keys", name), 'must be a key, a list of keys, or "" for none: "ctrl+n", ["j", "down"], "g g"'
        )
    try:
        return tuple(dict.fromkeys(map(spelled, texts)))
    except UnknownKey as error:
        raise wrong(("keys", name), f": {error}") from error


@dataclass(frozen=True, slots=True)
class AgentSetting:
    """One `[agents.NAME]` table: an agent of its own, changes to a catalogue agent, or a profile.

    A profile is another account of ``agent``, named ``profile``.
    """

    name: str
    command: tuple[str, ...] = ()  # empty: the catalogue's
    title: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    agent: str | None = None
    profile: str = ""


def read_agents(document: SettingsDocument) -> dict[str, AgentSetting]:
    """The agents of a settings file, by name. Raises InvalidSettings."""
    agents = {name: _agent(document, name, value) for name, value in document.tables("agents").items()}
    _check_profiles(document, agents)
    return agents


def known_agent_names(agents: Mapping[str, AgentSetting]) -> set[str]:
    """The names of every agent: of the catalogue, and of these tables."""
    from catena_acp.agents.catalog import catalog

    return {*agents, *(entry.name for entry in catalog())}


def _agent(document: SettingsDocument, name: str, value: Any) -> AgentSetting:
    at = ("agents", name)
    if not isinstance(value, dict):
        raise document.wrong(at, "must be a table with `command`, `title`, `env`, or `agent` and `profile`")
    document.only(value, at, ("command", "title", "env", "agent", "profile"))
    agent = document.text_at(value, (*at, "agent"))
    profile = document.text_at(value, (*at, "profile"))
    if agent and "command" in value:
        raise document.wrong(
            (*at, "command"), "cannot be combined with `agent`: a profile uses its agent's command"
        )
    if profile and not agent:
        raise document.wrong((*at, "profile"), "needs `agent`, the agent it belongs to")
    return AgentSetting(
        name=name,
        command=_command(document, value, (*at, "command")),
        title=document.text_at(value, (*at, "title")),
        env=_env(document, value, (*at, "env")),
        agent=agent,
        profile=(profile or name) if agent else "",
    )


def _check_profiles(document: SettingsDocument, agents: Mapping[str, AgentSetting]) -> None:
    """Check that each profile has an existing agent, a name of its own and a unique profile name."""
    profiles = [each for each in agents.values() if each.agent]
    if not profiles:
        return
    from catena_acp.agents.catalog import catalog, is_known

    known = {entry.name for entry in catalog()}
    seen: dict[tuple[str, str], str] = {}
    for each in profiles:
        at = ("agents", each.name)
        whose = agents.get(each.agent or "")
        if each.name in known:
            raise document.wrong(
                (*at, "agent"), f"is already the name of an agent: “{each.name}”; choose another"
            )
        if (whose is None or not whose.command) and not is_known(each.agent or ""):
            why = f'"{each.agent}" is not an agent that can have profiles; see `catena agents`'
            raise document.wrong((*at, "agent"), why)
        other = seen.setdefault((each.agent or "", each.profile), each.name)
        if other != each.name:
            raise document.wrong((*at, "profile"), f'"{each.profile}" is already used by [agents.{other}]')


def _command(document: SettingsDocument, table: Mapping[str, Any], at: tuple[str, ...]) -> tuple[str, ...]:
    value = table.get(at[-1])
    if value is None:
        return ()
    if isinstance(value, str):
        import shlex

        try:
            words: list[Any] = shlex.split(value)
        except ValueError as error:
            raise document.wrong(at, f"cannot be parsed as a command: {error}") from error
    else:
        words = value if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise document.wrong(at, 'must be a command: "my-agent --acp", or ["my-agent", "--acp"]')
    return tuple(words)


def _env(
    document: SettingsDocument, table: Mapping[str, Any], at: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    value = table.get(at[-1], {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise document.wrong(at, 'must be a table of strings: { KEY = "value" }')
    for name, text in value.items():
        if not name or "=" in name or "\0" in name:
            raise document.wrong(
                (*at, name), "is not a valid variable name: it is empty, or contains = or NUL"
            )
        if "\0" in text:
            raise document.wrong((*at, name), "contains a NUL character")
    return tuple(value.items())


_KEYS = ("command", "url", "type", "env", "headers", "agents", "projects", "enabled")
_TYPES = ("http", "sse")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class McpSetting:
    """One `[mcp.NAME]` table; either ``command`` or ``url`` is set."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    type: str = "http"  # of one with a URL; one of http, sse
    env: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    agents: tuple[str, ...] = ()  # names; none: every agent
    projects: tuple[str, ...] = ()  # directories as they are written; none: everywhere
    enabled: bool = True


def read_mcp(
    document: Mapping[str, Any], wrong: Wrong, agents: Callable[[], Collection[str]]
) -> tuple[McpSetting, ...]:
    """The servers of a settings file; ``agents`` tells which agents there are. Raises what ``wrong`` makes."""
    tables = document.get("mcp", {})
    if not isinstance(tables, dict):
        raise wrong(("mcp",), "must be a table: [mcp.NAME]")
    return tuple(_ServerTable(name, table, wrong).read(agents) for name, table in tables.items())


class _ServerTable:
    def __init__(self, name: str, table: Any, wrong: Wrong) -> None:
        self._name, self._at, self._wrong = name, ("mcp", name), wrong
        if not isinstance(table, dict):
            raise wrong(self._at, "must be a table with `command` or `url`")
        self._table: dict[str, Any] = table

    def read(self, agents: Callable[[], Collection[str]]) -> McpSetting:
        table, name = self._table, self._name
        for key in table:
            if key not in _KEYS:
                raise self._wrong((*self._at, key), f"is not a setting; known: {', '.join(_KEYS)}")
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise self._wrong(self._at, f"needs a name of one line and at most {_LONGEST_NAME} characters")
        from catena_acp.mcp.servers import OWN_NAMES

        if name in OWN_NAMES:
            raise self._wrong(self._at, "is the name of Catena's own server; choose another")
        if ("command" in table) == ("url" in table):
            raise self._wrong(self._at, "needs either `command` or `url`")
        self._only_with("url", "type", "headers")
        self._only_with("command", "env")
        kind = table.get("type", "http")
        if kind not in _TYPES:
            raise self._wrong((*self._at, "type"), f"must be one of {', '.join(_TYPES)}")
        enabled = table.get("enabled", True)
        if not isinstance(enabled, bool):
            raise self._wrong((*self._at, "enabled"), "must be true or false")
        return McpSetting(
            name,
            command=self._command() if "command" in table else (),
            url=self._url() if "url" in table else "",
            type=kind,
            env=self._pairs("env"),
            headers=self._pairs("headers"),
            agents=self._agents(agents),
            projects=self._projects(),
            enabled=enabled,
        )

    def _only_with(self, what: str, *keys: str) -> None:
        for key in keys:
            if key in self._table and what not in self._table:
                raise self._wrong((*self._at, key), f"is only for a server with `{what}`")

    def _command(self) -> tuple[str, ...]:
        value, at = self._table["command"], (*self._at, "command")
        if isinstance(value, str):
            import shlex

            try:
                value = shlex.split(value)
            except ValueError as error:
                raise self._wrong(at, f"cannot be parsed as a command: {error}") from error
        words = value if isinstance(value, list) else []
        if not words or not words[0] or not all(isinstance(each, str) and "\0" not in each for each in words):
            raise self._wrong(at, 'must be a command: "my-server --stdio", or ["my-server", "--stdio"]')
        return tuple(words)

    def _url(self) -> str:
        value, at = self._table["url"], (*self._at, "url")
        if not isinstance(value, str) or not value.isprintable():
            raise self._wrong(at, 'must be an address: "https://example.org/mcp"')
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(value)
        except ValueError as error:
            raise self._wrong(at, f"is not an address: {error}") from error
        if not value.startswith("${") and (parts.scheme not in ("http", "https") or not parts.netloc):
            raise self._wrong(at, "must begin with http:// or https://")
        return value

    def _pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        value, at = self._table.get(key, {}), (*self._at, key)
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise self._wrong(at, 'must be a table of strings: { NAME = "value" }')
        for name, text in value.items():
            if not name or "=" in name or not name.isprintable() or "\0" in text:
                raise self._wrong((*at, name), "has characters that cannot be sent")
            if key == "headers" and ("\n" in text or "\r" in text):
                raise self._wrong((*at, name), "must be one line")
        return tuple(value.items())

    def _agents(self, known: Callable[[], Collection[str]]) -> tuple[str, ...]:
        names = self._texts("agents", "names of agents")
        for name in names:
            if name not in known():
                raise self._wrong((*self._at, "agents"), f'"{name}" is not an agent; see `catena agents`')
        return names

    def _projects(self) -> tuple[str, ...]:
        paths = self._texts("projects", "directories")
        for path in paths:
            if not is_absolute(path):
                raise self._wrong((*self._at, "projects"), f'"{path}" must begin with / or ~')
        return paths

    def _texts(self, key: str, of: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise self._wrong((*self._at, key), f"must be a list of {of}")
        return tuple(value)


def mcp_values(
    servers: tuple[McpSetting, ...],
) -> Iterator[tuple[tuple[str, ...], str | bool | tuple[str, ...]]]:
    """The settings of each server that are set, by their keys."""
    for server in servers:
        at = ("mcp", server.name)
        for key in ("command", "url", "agents", "projects"):
            if value := getattr(server, key):
                yield (*at, key), value
        if server.url:
            yield (*at, "type"), server.type
        for key, pairs in (("env", server.env), ("headers", server.headers)):
            for name, text in pairs:
                yield (*at, key, name), text
        yield (*at, "enabled"), server.enabled


RULES, OLD_RULES = ("permissions", "rules"), ("permission_rules",)
_FIELDS = ("project", "kind", "pattern", "path", "answer")


class Permissions(StrEnum):
    """Policy of a headless run for permission requests."""

    ASK = "ask"  # ask the person; DENY without a terminal
    ALLOW_READS = "allow-reads"  # allow what only reads, refuse the rest
    ALLOW = "allow"
    DENY = "deny"


def read_rules(document: SettingsDocument) -> tuple[Rule, ...]:
    """The rules of every project. Raises InvalidSettings."""
    if document.at(RULES) is not None and document.at(OLD_RULES):
        raise document.wrong(
            OLD_RULES, f"is the old name of [[{'.'.join(RULES)}]]: only one of them can be set"
        )
    return (*_rules(document, RULES), *_rules(document, OLD_RULES))


def _rules(document: SettingsDocument, at: tuple[str, ...]) -> Iterator[Rule]:
    tables = document.at(at) or []
    header = f"[[{'.'.join(at)}]]"
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise document.wrong(at, f"must be tables: {header}")
    for number, each in enumerate(tables):
        try:
            yield _rule(each)
        except ValueError as error:
            raise document.wrong_table(at, number, f"{header} {error}") from error


def _rule(table: Mapping[str, Any]) -> Rule:
    """The rule of a table. Raises ValueError with what is wrong."""
    from catena_acp.permissions.rule import RuleScope, rule_of

    if unknown := [key for key in table if key not in _FIELDS]:
        raise ValueError(f"`{unknown[0]}` is not a setting; known: {', '.join(_FIELDS)}")
    if "pattern" in table and "path" in table:
        raise ValueError("`path` is another name of `pattern`: only one of them can be set")
    kind, answer = table.get("kind"), table.get("answer")
    pattern = table.get("pattern", table.get("path"))
    if not (isinstance(kind, str) and isinstance(pattern, str) and answer in ("allow", "reject")):
        raise ValueError('needs kind = "…", pattern = "…" and answer = "allow" or "reject"')
    project = table.get("project")
    if project is not None and not (isinstance(project, str) and is_absolute(project)):
        raise ValueError("project must be a directory that begins with / or ~")
    return rule_of(
        kind,
        pattern,
        allow=answer == "allow",
        scope=RuleScope.SETTINGS,
        project=absolute(project) if project else "",
    )


@dataclass(frozen=True, slots=True)
class Program:
    """A command: a text for the person's shell, or a program with its arguments."""

    words: tuple[str, ...]
    shell: bool = False  # ``words`` is one text

    def arguments(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """The command line to start; a shell command runs in ``$SHELL``, or in ``/bin/sh`` if that is not set."""
        return (environment.get("SHELL") or "/bin/sh", "-c", self.words[0]) if self.shell else self.words

    def __str__(self) -> str:
        import shlex

        return self.words[0] if self.shell else shlex.join(self.words)


def program_of(value: Any) -> Program:
    """The command in a value of the file. Raises ValueError."""
    match value:
        case str() if value.strip() and "\0" not in value:
            return Program((value,), shell=True)
        case [str(first), *rest] if first and all(isinstance(each, str) for each in rest):
            if not any("\0" in each for each in value):
                return Program(tuple(value))
    raise ValueError('must be a command: "notify-send done", or ["notify-send", "done"]')


def _programs(value: object) -> tuple[Program, ...]:
    """One command, or several if a list has a list in it."""
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return tuple(map(program_of, value))
    return (program_of(value),)


def _hook() -> Takes[tuple[Program, ...]]:
    return written((), _programs, lambda programs: tuple(map(str, programs)))


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The `[hooks]` table: for each event the commands that are told of it."""

    turn_end: tuple[Program, ...] = setting(
        _hook(), Group.ADVANCED, "commands that are run when a turn has ended"
    )
    permission: tuple[Program, ...] = setting(
        _hook(), Group.ADVANCED, "commands that are run when an agent asks for a permission"
    )
    seam: tuple[Program, ...] = setting(_hook(), Group.ADVANCED, "commands that are run at each seam")

    @property
    def any(self) -> bool:
        """True if there is a command at all."""
        return bool(self.turn_end or self.permission or self.seam)


@dataclass(frozen=True, slots=True)
class ProjectSetting:
    """One `[projects."DIR"]` table; it holds in that directory and below."""

    directory: str  # as it is written
    directories: tuple[str, ...] = ()  # additional ones of its conversations, relative to it


def read_projects(document: Mapping[str, Any], wrong: Wrong) -> tuple[ProjectSetting, ...]:
    """The projects of a settings file. Raises what ``wrong`` makes."""
    tables = document.get("projects", {})
    if not isinstance(tables, dict):
        raise wrong(("projects",), 'must be a table: [projects."~/work/api"]')
    return tuple(_project(name, table, wrong) for name, table in tables.items())


def _project(directory: str, table: Any, wrong: Wrong) -> ProjectSetting:
    at = ("projects", directory)
    if not isinstance(table, dict):
        raise wrong(at, "must be a table with `directories`")
    if not is_absolute(directory):
        raise wrong(at, "must be named by a directory that begins with / or ~")
    for key in table:
        if key != "directories":
            raise wrong((*at, key), "is not a setting; known: directories")
    named = table.get("directories", [])
    if not isinstance(named, list) or not all(isinstance(each, str) and each for each in named):
        raise wrong((*at, "directories"), 'must be a list of directories: ["../shared"]')
    if any("\0" in each for each in named):
        raise wrong((*at, "directories"), "contains a NUL character")
    return ProjectSetting(directory, tuple(named))


def additional_directories(projects: tuple[ProjectSetting, ...], cwd: str) -> tuple[str, ...]:
    """The additional directories of a new conversation, absolute; one that is not there is left out. Blocks."""
    found: dict[str, None] = {}
    for project in projects:
        top = absolute(project.directory)
        if Path(cwd).is_relative_to(top):
            named = (absolute(each, base=top) for each in project.directories)
            found |= dict.fromkeys(path for path in named if path != cwd and Path(path).is_dir())
    return tuple(found)


def is_absolute(path: str) -> bool:
    """True for a path that begins with / or ~, and can be one."""
    return path.startswith(("/", "~")) and "\0" not in path


def absolute(path: str, *, base: str = "/") -> str:
    """The absolute path of a directory, links resolved, whether it is there or not. Blocks."""
    try:
        return str(Path(base, Path(path).expanduser()).resolve())
    except (OSError, RuntimeError):  # `~nobody`, or links in a circle
        return str(Path(base, path))
