"""The effective settings: each with its value, and where that comes from."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.settings.definitions import SettingKind, Value
from catena.settings.file.document import SettingsDocument, read_text
from catena.settings.settings import SETTINGS, TABLES, Settings, parse_settings


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting in effect; neither ``line`` nor ``variable`` is set where the default holds."""

    key: tuple[str, ...]
    value: Value  # None where nothing is set and there is no default
    line: int | None = None  # of the settings file
    variable: str | None = None  # of the environment
    private: bool = False  # may be a secret

    @property
    def name(self) -> str:
        """The key as it is written with dots."""
        return ".".join(self.key)


def effective_settings(path: Path, environment: Mapping[str, str]) -> tuple[Effective, ...]:
    """Every setting in effect, in the order of the documentation. Raises InvalidSettings."""
    text = read_text(path) or ""
    settings, document = parse_settings(path, text), tomllib.loads(text)
    return tuple(_effective(SettingsDocument(path, text), document, settings, environment))


def _effective(
    file: SettingsDocument, document: Mapping[str, Any], settings: Settings, environment: Mapping[str, str]
) -> Iterator[Effective]:
    for each in SETTINGS:
        if word := environment.get(each.variable):
            if each.kind is SettingKind.ON_OFF:
                word = "off" if word == "off" else "on"
            yield Effective(each.key, word, variable=each.variable)
            continue
        places = [key for key in each.keys if _is_set(document, key)]
        yield Effective(each.key, each.value(settings), line=file.line_of(places[-1]) if places else None)
    for table in TABLES:
        for key, value in table.values(settings):
            yield Effective(
                key,
                value,
                line=file.line_of(key) if _is_set(document, key) else None,
                private=len(key) > 3 and key[2] in table.private,
            )


def value_words(value: Value) -> str:
    """A value, in words."""
    match value:
        case bool():
            return "true" if value else "false"  # as the file has it
        case None:
            return "not set"
        case tuple():
            return f"{len(value)}: {', '.join(value)}" if value else "none"
        case _:
            return str(value)


def _is_set(document: Mapping[str, Any], key: tuple[str, ...]) -> bool:
    """True if the file has a value of its own for a key; a table of settings is none."""
    value: Any = document
    for name in key:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return not isinstance(value, Mapping)
