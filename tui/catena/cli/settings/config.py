"""``catena config``: the effective settings and where they come from; the file in an editor, and its check."""

from __future__ import annotations

import asyncio
import json as json_text
import os
from pathlib import Path
from typing import Any

from catena.cli.settings.keys import warn_of_keys
from catena.errors import CommandRefused, ExitStatus, SettingsNotWritten
from catena.settings.checks import check_names, old_names
from catena.settings.definitions import Key
from catena.settings.effective import Effective, effective_settings
from catena.settings.file.document import SettingsDocument, read_text, settings_path
from catena.settings.file.writing import FileValue, SettingChange, file_value, key_of, write_setting
from catena.settings.settings import SETTINGS, definition_of, load_settings
from catena.text.safe_text import safe_line

_HIDDEN = "(hidden)"
_OWN_NAMES = ("agents", "keys", "themes", "mcp", "projects")  # tables of names that no list of settings has


def print_config(key: str | None, *, json: bool) -> int:
    """Print every setting, or one, or those of one table. Raises CommandRefused, InvalidSettings.

    Environment variables of agents may be secrets: their values are printed only where one is asked for by its key.
    """
    path = settings_path()
    settings = effective_settings(path, os.environ)
    warn_of_keys(load_settings(path))
    if key is not None:
        definition = definition_of(key)
        key = definition.name if definition else key
        settings = tuple(each for each in settings if f"{each.name}.".startswith(f"{key}."))
        if not settings and key not in _OWN_NAMES:
            raise _not_a_setting(key)
    shown = [(each, not each.private or each.name == key) for each in settings]
    if json:
        print(json_text.dumps([_object(each, path, told) for each, told in shown], indent=2))
        return ExitStatus.ANSWERED
    lines = [
        tuple(safe_line(text) for text in (each.name, _words(each, told), _source(each, path)))
        for each, told in shown
    ]
    widths = [max((len(line[column]) for line in lines), default=0) for column in (0, 1)]
    for name, words, source in lines:
        print(f"{name:<{widths[0]}}  {words:<{min(widths[1], 40)}}  {source}")
    return ExitStatus.ANSWERED


def check_config() -> int:
    """Check the settings file, the names of theme and agent included. Raises InvalidSettings."""
    path = settings_path()
    if not path.exists():
        print(safe_line(f"{_at_home(path)} does not exist: the defaults apply."))
        return ExitStatus.ANSWERED
    settings = load_settings(path)
    check_names(settings)
    for old in old_names(SettingsDocument(path, read_text(path) or "")):
        print(safe_line(f"{_at_home(path)}:{old.line}: `{old.name}` is an old name of `{old.setting}`"))
    if settings.key_problems:
        warn_of_keys(settings)
        return ExitStatus.USAGE
    print(safe_line(f"{_at_home(path)}: valid"))
    return ExitStatus.ANSWERED


def set_config(name: str, value: str) -> int:
    """Write a setting into the file. Raises CommandRefused, InvalidSettings."""
    return _write(name, file_value(definition_of(name), value))


def unset_config(name: str) -> int:
    """Remove a setting from the file, so that its default holds. Raises CommandRefused, InvalidSettings."""
    return _write(name, None)


def _write(name: str, value: FileValue | None) -> int:
    path = settings_path()
    try:
        key = key_of(name)
        if value is None and not _is_known(key):
            raise _not_a_setting(name)
        write_setting(path, SettingChange(key, value), check=check_names)
    except ValueError as error:
        raise CommandRefused(f"{error}. See catena config") from error
    except SettingsNotWritten as error:
        raise CommandRefused(str(error), ExitStatus.FAILED) from error
    definition = definition_of(name)
    wanted = definition.key if definition else key
    now = [each for each in effective_settings(path, os.environ) if each.key[: len(wanted)] == wanted]
    for each in now:
        shown = not each.private or each.key == key
        print("  ".join(map(safe_line, (each.name, _words(each, shown), _source(each, path)))))
    if not now:
        print(safe_line(f"{name} is not set."))
    return ExitStatus.ANSWERED


def _is_known(key: Key) -> bool:
    """True for a setting, a table of some, and whatever stands in a table of other names."""
    return key[0] in _OWN_NAMES or any(own[: len(key)] == key for each in SETTINGS for own in each.keys)


def _not_a_setting(name: str) -> CommandRefused:
    return CommandRefused(f"`{name}` is not a setting. See catena config")


def edit_config() -> int:
    """Open the settings file in the person's editor, then check it. Raises CommandRefused, InvalidSettings."""
    from catena.terminal.programs import EditorFailed, editor_command, run_program

    path = settings_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{path.parent} cannot be created: {error.strerror}"
        raise CommandRefused(why, ExitStatus.FAILED) from error
    try:
        command = editor_command(os.environ)
        running = run_program([*command, str(path)], environment=os.environ, directory=str(path.parent))
        status = asyncio.run(running)
    except EditorFailed as error:
        raise CommandRefused(str(error), ExitStatus.FAILED) from error
    except OSError as error:
        why = f"{command[0]} cannot be started: {error.strerror}. Set $EDITOR to use another"
        raise CommandRefused(why, ExitStatus.FAILED) from error
    if status:
        raise CommandRefused(f"{command[0]} exited with status {status}", ExitStatus.FAILED)
    return check_config()


def _words(setting: Effective, told: bool) -> str:
    if not told:
        return _HIDDEN
    return "(not set)" if setting.value is None else json_text.dumps(setting.value, ensure_ascii=False)


def _source(setting: Effective, path: Path) -> str:
    if setting.variable:
        return setting.variable
    return f"{_at_home(path)}:{setting.line}" if setting.line else "default"


def _object(setting: Effective, path: Path, told: bool) -> dict[str, Any]:
    source = "environment" if setting.variable else "file" if setting.line else "default"
    return {
        "key": setting.name,
        "value": setting.value if told else None,
        "hidden": not told,
        "source": source,
        "file": str(path) if setting.line else None,
        "line": setting.line,
        "variable": setting.variable,
    }


def _at_home(path: Path) -> str:
    return str(path).replace(f"{Path.home()}/", "~/")
