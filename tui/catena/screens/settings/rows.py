"""The rows of the settings sheet, and the words below them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catena.settings.definitions import Applies, Group, SettingDefinition, SettingKind, Value
from catena.settings.effective import Effective
from catena.settings.file.document import SettingsDocument
from catena.settings.settings import SETTINGS, TABLES, Settings
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, Tone, Word

_LONGEST = 24  # characters of a value in a row
_NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """One row: a setting, or the tables of a name, which have no ``definition``."""

    name: str
    group: Group
    does: str
    value: str
    line: int | None  # of the file, where it is set
    near: int | None = None  # the line of its table, where it may be set
    variable: str | None = None
    definition: SettingDefinition | None = None
    applies: Applies = Applies.START

    @property
    def written(self) -> bool:
        """True where it is edited in the file."""
        return self.definition is None or self.definition.kind is SettingKind.WRITTEN


def listed_settings(
    settings: Settings, effective: Sequence[Effective], document: SettingsDocument
) -> list[ListedSetting]:
    """Every setting in the order of the sheet; ``effective`` says where each value comes from."""
    known: Mapping[tuple[str, ...], Effective] = {each.key: each for each in effective}
    return sorted(_listed(settings, known, document), key=lambda each: list(Group).index(each.group))


def _listed(
    settings: Settings, known: Mapping[tuple[str, ...], Effective], document: SettingsDocument
) -> Iterator[ListedSetting]:
    for each in SETTINGS:
        found = known.get(each.key, Effective(each.key, each.value(settings)))
        yield ListedSetting(
            each.name,
            each.group,
            each.does,
            value_words(found.value),
            found.line,
            document.line_of(each.key),
            found.variable,
            each,
            each.applies,
        )
    for table in TABLES:
        names = table.names(settings)
        line = document.line_of((table.name,)) if names else None
        words = value_words(names)
        yield ListedSetting(table.name, table.group, table.does, words, line, applies=table.applies)


def value_words(value: Value) -> str:
    """A value, in words."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return _NOT_SET
        case tuple():
            return f"{len(value)}: {', '.join(value)}" if value else "none"
        case _:
            return str(value)


def source_words(setting: ListedSetting, path: Path) -> str:
    """Where a value comes from; "" for a default, since most are."""
    if setting.variable:
        return setting.variable
    return f"{path.name}:{setting.line}" if setting.line else ""


def setting_row(setting: ListedSetting, path: Path, trouble: str = "") -> Row:
    """The row of a setting; ``trouble``: why its last change was not written."""
    value = safe_line(setting.value)
    return Row(
        setting.name,
        setting.name,
        note=safe_line(trouble or setting.does),
        mark=Word("!", Tone.FAILURE) if trouble else None,
        columns=(Word(source_words(setting, path), Tone.FAINT),),
        time=value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…",
        group=setting.group.value,
    )


def about(setting: ListedSetting, path: Path, *, short: bool = False) -> str:
    """What is said of the setting under the cursor; ``short``: there are few rows."""
    if short:
        return setting.does
    source = source_words(setting, path)
    now = f"{setting.value} ({source})" if source else setting.value
    return f"{setting.name}: {setting.does}. Now {now}; a change holds {setting.applies.value}."
