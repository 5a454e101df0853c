"""The one writer of the settings file: a key is set or removed, and everything else stays as the person wrote it.

The file is read, edited, checked with the reader and replaced in one step, under a lock on its directory that other
clients take, too. A file that someone else changed meanwhile is read again first.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.settings.definitions import SettingDefinition, SettingKind
from catena.settings.file.document import read_text, settings_path
from catena.settings.settings import Settings, definition_of, parse_settings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Key: TypeAlias = tuple[str, ...]
FileValue: TypeAlias = Any  # what TOML has: a text, a number, true or false, a list, a table
_HEAD = "# Settings of Catena. `catena config` lists them; `catena config check` checks this file.\n"
_NAMES = ("agent", "agents", "theme", "themes")
_PATIENCE, _PAUSE = 100, 0.05  # tries for the lock, and seconds between them
_MOST_READINGS = 20  # of a file that changes again and again


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A value for a key of the file; None removes the key."""

    key: Key
    value: FileValue | None


def write_setting(
    path: Path, change: SettingChange, *, check: Callable[[Settings], None] | None = None
) -> Settings:
    """Write a change, and return the settings after it. Blocks.

    ``check`` raises InvalidSettings for what the reader lets pass: the names of themes and agents.

    Raises InvalidSettings with its line where the file has an error, without one where the change would be one;
    SettingsNotWritten where the file cannot be written.
    """
    target = _target(path)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(target.parent):
            for _ in range(_MOST_READINGS):
                before = read_text(path)
                settings, text = _changed(path, before or "", change)
                if check is not None and change.value is not None and change.key[0] in _NAMES:
                    _check(path, check, settings)
                if text == (before or ""):
                    return settings
                if _replace(path, target, before, text):
                    return settings
    except OSError as error:
        raise SettingsNotWritten(f"{path} cannot be written: {error.strerror}") from error
    raise SettingsNotWritten(f"{path} is being changed by another program: nothing was written")


def save_copies(wanted: bool, path: Path | None = None) -> None:
    """Write the answer to whether other tools' transcripts are copied. Raises as write_setting does."""
    write_setting(path or settings_path(), SettingChange(("history", "copies"), wanted))


def file_value(definition: SettingDefinition | None, text: str) -> FileValue:
    """The value of a setting that a person typed: in TOML, or a text without its quotes."""
    match definition.kind if definition else SettingKind.WRITTEN:
        case SettingKind.AGENT | SettingKind.CHOICE | SettingKind.THEME | SettingKind.ON_OFF:
            return _unquoted(text)
        case _:
            try:
                return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
            except (tomllib.TOMLDecodeError, RecursionError, ValueError):
                return text


def key_of(name: str) -> Key:
    """The key that a dotted name means: `agents."my agent".title`. Raises ValueError."""
    try:
        value: Any = tomllib.loads(f"{name} = 0")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"`{name}` is not the name of a setting") from error
    names: list[str] = []
    while isinstance(value, dict):
        if len(value) != 1:
            raise ValueError(f"`{name}` is not the name of a setting")
        ((own, value),) = value.items()
        names.append(own)
    return tuple(names)


def _unquoted(text: str) -> str:
    with suppress(tomllib.TOMLDecodeError, RecursionError, ValueError):
        if text[:1] in ('"', "'") and "\n" not in text:
            value = tomllib.loads(f"value = {text}")["value"]
            return value if isinstance(value, str) else text
    return text


def _changed(path: Path, text: str, change: SettingChange) -> tuple[Settings, str]:
    """The settings and the text after a change. Raises InvalidSettings, SettingsNotWritten."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    parse_settings(path, text)  # a file with an error stays what it is
    values = tomllib.loads(text)
    try:
        document = tomlkit.parse(text or ("" if change.value is None else _HEAD))
        wanted = _edited(values, change)
        _edit(document, values, change)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise SettingsNotWritten(_by_hand(path, change)) from error
    if "\r\n" in text:
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    try:
        same = tomllib.loads(changed) == wanted
    except ValueError:
        same = False
    if not same:
        raise SettingsNotWritten(_by_hand(path, change))
    return _checked(path, changed, change), changed


def _checked(path: Path, text: str, change: SettingChange) -> Settings:
    """The settings of a text that is to be written; its lines are nowhere yet, so that errors name none."""
    try:
        settings = parse_settings(path, text)
        if change.key[0] == "keys" and change.value is not None:
            for problem in settings.key_problems:
                raise problem
    except InvalidSettings as error:
        raise InvalidSettings(path, None, error.why) from error
    return settings


def _check(path: Path, check: Callable[[Settings], None], settings: Settings) -> None:
    try:
        check(settings)
    except InvalidSettings as error:
        raise InvalidSettings(path, None, error.why) from error


def _by_hand(path: Path, change: SettingChange) -> str:
    return f"{path} cannot be changed at `{'.'.join(change.key)}` here: catena config edit opens it"


def _steps(values: Mapping[str, Any], change: SettingChange) -> Iterator[tuple[Key, FileValue | None]]:
    """What is done to the file: one place gets the value, other names of the same setting go."""
    definition = definition_of(".".join(change.key))
    if definition is None:
        yield change.key, change.value
        return
    key = definition.key
    if key == ("permissions",) and isinstance(values.get("permissions"), Mapping):
        key = ("permissions", "run")  # beside the rules
    for other in definition.keys:
        if other != key and not isinstance(_at(values, other), Mapping | None):
            yield other, None
    yield key, change.value


def _edited(values: Mapping[str, Any], change: SettingChange) -> dict[str, Any]:
    """The values that the file is to have."""
    wanted = _copy(values)
    for key, value in _steps(values, change):
        table = wanted
        for name in key[:-1]:
            if value is None and name not in table:
                break
            table = table.setdefault(name, {})
        if value is None:
            table.pop(key[-1], None)
        else:
            table[key[-1]] = value
    return wanted


def _edit(document: TOMLDocument, values: Mapping[str, Any], change: SettingChange) -> None:
    import tomlkit

    for key, value in _steps(values, change):
        table: Any = document
        for at, name in enumerate(key[:-1]):
            if name not in table:
                if value is None:
                    return
                if table is document and document.body:
                    document.add(tomlkit.nl())
                table[name] = tomlkit.table(is_super_table=at < len(key) - 2)
            table = table[name]
        if value is not None:
            table[key[-1]] = value
        elif key[-1] in table:
            del table[key[-1]]


def _copy(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _at(values: Mapping[str, Any], key: Sequence[str]) -> Any:
    value: Any = values
    for name in key:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _target(path: Path) -> Path:
    """The file that is replaced: a symbolic link stays, and what it leads to is written."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise SettingsNotWritten(f"{path} is a link that leads nowhere") from error


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Take the lock of a directory, which others hold for a moment. Raises SettingsNotWritten."""
    for _ in range(_PATIENCE):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return
    raise SettingsNotWritten("another program is writing the settings: nothing was written")


def _replace(path: Path, target: Path, before: str | None, text: str) -> bool:
    """Replace the file by one with this text; False if it is not what it was before."""
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = 0o600  # it may hold what programs need to log in
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if read_text(path) != before:
            return False
        partial.replace(target)
        return True
    finally:
        partial.unlink(missing_ok=True)
