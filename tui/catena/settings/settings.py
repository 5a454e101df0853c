"""Settings of the person, from one optional TOML file whose errors have file and line; and the start of the screen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena.errors import InvalidSettings
from catena.settings.start_notes import StartNote
from catena.themes.colours import COLOUR_NAMES, ThemeColours, is_colour

if TYPE_CHECKING:  # dataclasses that the first frame does not need
    from catena_acp.port import AgentSpec


FILE_NAME = "config.toml"
_MOST_BYTES = 1 << 20  # of the file; a larger one is another


class Permissions(StrEnum):
    """Policy of a headless run for permission requests."""

    ASK = "ask"  # ask the person; DENY without a terminal
    ALLOW_READS = "allow-reads"  # allow what only reads, refuse the rest
    ALLOW = "allow"
    DENY = "deny"


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


_KEYS = (
    "agent",
    "theme",
    "permissions",
    "park",
    "painter",
    "column",
    "half_rows",
    "themes",
    "checkpoints",
    "agents",
)
_COLUMN, _NARROWEST, _WIDEST = 100, 40, 400
FREQUENCIES = ("turn", "tool", "manual", "off")


@dataclass(frozen=True, slots=True)
class CheckpointSetting:
    """The `[checkpoints]` table: when checkpoints are made, how many are kept, and whether agents get tools."""

    frequency: str = "turn"  # one of FREQUENCIES; a conversation may have its own
    keep: int = 20  # automatic ones of a conversation; those with a label do not count
    tools: bool = False  # agents get tools to save, list and request a rewind


@dataclass(frozen=True, slots=True)
class Settings:
    """The person's settings; the defaults hold without a file."""

    agent: str | None = None  # of new conversations
    theme: str | None = None
    permissions: Permissions = Permissions.ASK
    park: bool = True  # park native forks at the ends of turns
    painter: bool = True  # send the terminal only the cells that change
    column: int = 100  # cells that everything stands in, at most
    half_rows: bool = True  # bands and code reach half a row above and below
    themes: Mapping[str, ThemeColours] = field(default_factory=dict)
    checkpoints: CheckpointSetting = field(default_factory=CheckpointSetting)
    agents: Mapping[str, AgentSetting] = field(default_factory=dict)


def config_directory() -> Path:
    """The directory of the settings file: ``CATENA_CONFIG_DIR``, or the system's place for configuration."""
    if named := os.environ.get("CATENA_CONFIG_DIR"):
        return Path(named).expanduser()
    from platformdirs import user_config_path

    return user_config_path("catena")


def settings_path() -> Path:
    """The path of the settings file, whether it exists or not."""
    return config_directory() / FILE_NAME


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings; defaults if there is no file.

    Raises InvalidSettings where the file cannot be read, is not TOML, or has an unknown key or invalid value.
    """
    path = path or settings_path()
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except UnicodeDecodeError as error:
        raise InvalidSettings(path, None, "is not UTF-8 text") from error
    except OSError as error:
        raise InvalidSettings(path, None, f"cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise InvalidSettings(path, None, f"is larger than {_MOST_BYTES} bytes")
    return _Reading(path, text).settings()


class _Reading:
    """Reader of one settings file; each error names the line that it is about."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def settings(self) -> Settings:
        document = self._parsed()
        self._only(document, (), _KEYS)
        agents = {name: self._agent(name, value) for name, value in self._tables(document, "agents").items()}
        self._check_profiles(agents)
        return Settings(
            agent=self._text_at(document, ("agent",)),
            theme=self._text_at(document, ("theme",)),
            permissions=self._permissions(document),
            park=self._switch(document, "park", default=True),
            painter=self._switch(document, "painter", default=True),
            column=self._column(document),
            half_rows=self._switch(document, "half_rows", default=True),
            themes={
                name: self._theme(name, value) for name, value in self._tables(document, "themes").items()
            },
            checkpoints=self._checkpoints(document),
            agents=agents,
        )

    def _parsed(self) -> dict[str, Any]:
        import re
        import tomllib

        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\s*\(at line (\d+), column \d+\)$", str(error))
            line = int(found[1]) if found else len(self._text.splitlines())
            why = str(error)[: found.start()] if found else str(error).removesuffix(" (at end of document)")
            raise InvalidSettings(self._path, line, f"invalid TOML: {why}") from error
        except RecursionError as error:
            line = self._line_that_raises(RecursionError)
            raise InvalidSettings(self._path, line, "invalid TOML: nested too deeply") from error
        except ValueError as error:
            line = self._line_that_raises(ValueError)
            raise InvalidSettings(self._path, line, f"invalid TOML: {error}") from error

    def _line_that_raises(self, kind: type[Exception]) -> int:
        """The line with which the file begins to raise an error that tells no line."""
        import tomllib
        from bisect import bisect_left

        lines = self._text.splitlines(keepends=True)

        def raises(count: int) -> bool:
            try:
                tomllib.loads("".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                return False  # it is cut off
            except kind:
                return True
            return False

        return bisect_left(range(len(lines)), True, key=raises)

    def _tables(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong((key,), f"must be a table: [{key}.NAME]")
        return value

    def _column(self, document: Mapping[str, Any]) -> int:
        value = document.get("column", _COLUMN)
        if not isinstance(value, int) or isinstance(value, bool) or not _NARROWEST <= value <= _WIDEST:
            raise self._wrong(("column",), f"must be a number of cells from {_NARROWEST} to {_WIDEST}")
        return value

    def _theme(self, name: str, value: Any) -> ThemeColours:
        at = ("themes", name)
        if not isinstance(value, dict):
            raise self._wrong(at, f"must be a table of ten colours: {', '.join(COLOUR_NAMES)}")
        self._only(value, at, COLOUR_NAMES)
        for key in COLOUR_NAMES:
            if not (isinstance(value.get(key), str) and is_colour(value[key])):
                raise self._wrong((*at, key) if key in value else at, f'needs {key} = "#rrggbb"')
        return ThemeColours(**{key: value[key].lower() for key in COLOUR_NAMES})

    def _agent(self, name: str, value: Any) -> AgentSetting:
        at = ("agents", name)
        if not isinstance(value, dict):
            raise self._wrong(at, "must be a table with `command`, `title`, `env`, or `agent` and `profile`")
        self._only(value, at, ("command", "title", "env", "agent", "profile"))
        agent = self._text_at(value, (*at, "agent"))
        profile = self._text_at(value, (*at, "profile"))
        if agent and "command" in value:
            raise self._wrong(
                (*at, "command"), "cannot be combined with `agent`: a profile uses its agent's command"
            )
        if profile and not agent:
            raise self._wrong((*at, "profile"), "needs `agent`, the agent it belongs to")
        return AgentSetting(
            name=name,
            command=self._command(value, (*at, "command")),
            title=self._text_at(value, (*at, "title")),
            env=self._env(value, (*at, "env")),
            agent=agent,
            profile=(profile or name) if agent else "",
        )

    def _check_profiles(self, agents: Mapping[str, AgentSetting]) -> None:
        """Check that each profile has an existing agent, a name of its own and a unique profile name."""
        profiles = [each for each in agents.values() if each.agent]
        if not profiles:
            return
        from catena_acp.agents.catalog import catalog

        known = {entry.name for entry in catalog()}
        seen: dict[tuple[str, str], str] = {}
        for each in profiles:
            at = ("agents", each.name)
            whose = agents.get(each.agent or "")
            if each.name in known:
                raise self._wrong(
                    (*at, "agent"), f"is already the name of an agent: “{each.name}”; choose another"
                )
            if each.agent not in known and (whose is None or not whose.command):
                why = f'"{each.agent}" is not an agent that can have profiles; see `catena agents`'
                raise self._wrong((*at, "agent"), why)
            other = seen.setdefault((each.agent or "", each.profile), each.name)
            if other != each.name:
                raise self._wrong((*at, "profile"), f'"{each.profile}" is already used by [agents.{other}]')

    def _command(self, table: Mapping[str, Any], at: tuple[str, ...]) -> tuple[str, ...]:
        value = table.get(at[-1])
        if value is None:
            return ()
        if isinstance(value, str):
            import shlex

            try:
                words: list[Any] = shlex.split(value)
            except ValueError as error:
                raise self._wrong(at, f"cannot be parsed as a command: {error}") from error
        else:
            words = value if isinstance(value, list) else []
        if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
            raise self._wrong(at, 'must be a command: "my-agent --acp", or ["my-agent", "--acp"]')
        return tuple(words)

    def _env(self, table: Mapping[str, Any], at: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        value = table.get(at[-1], {})
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._wrong(at, 'must be a table of strings: { KEY = "value" }')
        for name, text in value.items():
            if not name or "=" in name or "\0" in name:
                raise self._wrong(
                    (*at, name), "is not a valid variable name: it is empty, or contains = or NUL"
                )
            if "\0" in text:
                raise self._wrong((*at, name), "contains a NUL character")
        return tuple(value.items())

    def _permissions(self, document: Mapping[str, Any]) -> Permissions:
        text = self._text_at(document, ("permissions",))
        if text is None:
            return Permissions.ASK
        try:
            return Permissions(text)
        except ValueError as error:
            known = ", ".join(Permissions)
            raise self._wrong(("permissions",), f'must be one of {known}; it is "{text}"') from error

    def _switch(self, document: Mapping[str, Any], name: str, *, default: bool) -> bool:
        value = document.get(name, default)
        if isinstance(value, bool):
            return value
        if value not in ("on", "off"):
            raise self._wrong((name,), 'must be "on" or "off"')
        return bool(value == "on")

    def _checkpoints(self, document: Mapping[str, Any]) -> CheckpointSetting:
        table, at = document.get("checkpoints", {}), ("checkpoints",)
        if not isinstance(table, dict):
            raise self._wrong(at, "must be a table with `frequency`, `keep`, `tools`")
        self._only(table, at, ("frequency", "keep", "tools"))
        before = CheckpointSetting()
        frequency = self._text_at(table, (*at, "frequency")) or before.frequency
        if frequency not in FREQUENCIES:
            raise self._wrong(
                (*at, "frequency"), f'must be one of {", ".join(FREQUENCIES)}; it is "{frequency}"'
            )
        keep, tools = table.get("keep", before.keep), table.get("tools", before.tools)
        if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
            raise self._wrong((*at, "keep"), "must be a number, 1 or more")
        if not isinstance(tools, bool):
            raise self._wrong((*at, "tools"), "must be true or false")
        return CheckpointSetting(frequency, keep, tools)

    def _text_at(self, table: Mapping[str, Any], at: tuple[str, ...]) -> str | None:
        value = table.get(at[-1])
        if value is None or (isinstance(value, str) and value):
            return value
        raise self._wrong(at, "must be a non-empty string")

    def _only(self, table: Mapping[str, Any], at: tuple[str, ...], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise self._wrong((*at, key), f"is not a setting; known: {', '.join(known)}")

    def _wrong(self, at: tuple[str, ...], why: str) -> InvalidSettings:
        return InvalidSettings(self._path, line_of(self._text, at), f"`{'.'.join(at)}` {why}")


def wrong_setting(key: tuple[str, ...], why: str) -> InvalidSettings:
    """The error for a setting that is found wrong after the file was read."""
    path = settings_path()
    try:
        line = line_of(path.read_text(encoding="utf-8"), key)
    except (OSError, UnicodeDecodeError):
        line = None
    return InvalidSettings(path, line, f"`{'.'.join(key)}` {why}")


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    """The line, from 1, on which a key of valid TOML is set, or that of the nearest table around it.

    ``tomllib`` keeps no positions. Only line beginnings are read, which is enough for an error message.
    """
    table: tuple[str, ...] = ()
    nearest: tuple[int, int | None] = (0, None)
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _names(stripped.strip("[]").partition("]")[0])
            here = table
        elif "=" in stripped and not stripped.startswith("#"):
            here = table + _names(stripped.partition("=")[0])
        else:
            continue
        length = min(len(here), len(key))
        shared = length if here[:length] == key[:length] else 0
        if shared > nearest[0]:
            nearest = (shared, number)
    return nearest[1]


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(name.strip().strip("\"'") for name in dotted.split("."))


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

    @property
    def chooses_agent(self) -> bool:
        """True if the person is to choose an agent, as far as that is known before the store is open."""
        given = self.agent or self.conversation_id or self.settings.agent
        return given is None and not self.picker and not self.note.has_tabs
