"""The description of a setting, which stands at its field: reader, defaults, lists and completion are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import reduce
from typing import Any, Generic, TypeAlias, TypeVar

from catena.settings.file.document import SettingsDocument

Value: TypeAlias = str | int | bool | tuple[str, ...] | None
Key: TypeAlias = tuple[str, ...]
Named: TypeAlias = tuple[Key, Value]
_Read = TypeVar("_Read")
_Word = TypeVar("_Word", bound=str)
_ON_OFF = {"on": True, "off": False}
_DESCRIBED, _BELOW = "described", "below"  # metadata of a field: its description, or the class of its table


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
    """When a change applies, in words behind "applies"."""

    NOW = "at once"
    RUN = "from the next catena run"
    START = "from the next start"


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
    ADVANCED = "Advanced"  # what one person in a hundred needs: folded


@dataclass(frozen=True, slots=True)
class Takes(Generic[_Read]):
    """The values of a setting: its default, how another is read, and how each is shown."""

    kind: SettingKind
    default: _Read
    read: Callable[[object], _Read]  # raises ValueError with what is wrong
    shown: Callable[[_Read], Value]
    choices: tuple[str, ...] = ()
    whole: Callable[[SettingsDocument], _Read] | None = None  # of a value that more than one key has


@dataclass(frozen=True, slots=True)
class SettingDefinition:
    """One setting: its name, what it takes, and a sentence for the person."""

    takes: Takes[Any]
    group: Group
    does: str
    applies: Applies = Applies.START
    name: str = ""  # with dots; in a declaration "" for that of the field
    other_names: tuple[str, ...] = ()  # that it may have in the file
    old_names: tuple[str, ...] = ()  # that are read, and not written any more
    variable: str = ""  # of the environment; overrides the file
    field: Key = ()  # of Settings, and of its tables

    @property
    def kind(self) -> SettingKind:
        """What it takes."""
        return self.takes.kind

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes, none if it takes others."""
        return self.takes.choices

    @property
    def key(self) -> Key:
        """The name as a path of tables."""
        return tuple(self.name.split("."))

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every place in the file where it may stand."""
        return (self.key, *(tuple(name.split(".")) for name in (*self.other_names, *self.old_names)))

    def value(self, settings: Any) -> Value:
        """Its value in effect."""
        return self.takes.shown(reduce(getattr, self.field, settings))

    def read(self, document: SettingsDocument) -> Any:
        """Its value in a file. Raises InvalidSettings."""
        if self.takes.whole is not None:
            return self.takes.whole(document)
        found = {key: value for key in self.keys if (value := document.at(key)) is not None}
        if self.other_names and isinstance(found.get(self.key), Mapping):
            del found[self.key]  # the table of another name
        for name in self.old_names:
            if len(found) > 1 and (name,) in found:
                raise document.wrong(
                    (name,), f"is the old name of `{self.name}`: only one of them can be set"
                )
        for key, value in found.items():
            try:
                return self.takes.read(value)
            except ValueError as error:
                raise document.wrong(key, str(error)) from error
        return self.takes.default


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """Tables that the person names: `[agents.NAME]`."""

    name: str  # "" if they are not listed
    read: Callable[[SettingsDocument], Any]
    applies: Applies = Applies.START
    group: Group = Group.LOOK
    does: str = ""
    values: Callable[[Any], Iterator[Named]] = lambda _: iter(())
    names: Callable[[Any], tuple[str, ...]] = tuple
    private: tuple[str, ...] = ()  # tables in it whose values may be secrets


def on_off(default: bool) -> Takes[bool]:
    """A switch that is written as a word."""
    return Takes(
        SettingKind.ON_OFF, default, _switch('must be "on" or "off"'), lambda on: "on" if on else "off"
    )


def true_false(default: bool | None) -> Takes[Any]:
    """A switch that is written as TOML has it; None: the person has not chosen."""
    return Takes(SettingKind.TRUE_FALSE, default, _switch("must be true or false"), lambda on: on)


def _switch(wrong: str) -> Callable[[object], bool]:
    def read(value: object) -> bool:
        found = _ON_OFF.get(value) if isinstance(value, str) else value
        if not isinstance(found, bool):
            raise ValueError(wrong)
        return found

    return read


def number(default: int, least: int, most: int | None, words: str) -> Takes[int]:
    """A number from ``least`` to ``most``; ``words`` say behind "a number" what of, and both bounds."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least or (most and value > most):
            raise ValueError(f"must be a number{words}")
        return value

    return Takes(SettingKind.NUMBER, default, read, lambda value: value)


def choice(default: _Word, choices: Iterable[_Word]) -> Takes[_Word]:
    """One of several words."""
    words = {str(each): each for each in choices}

    def read(value: object) -> _Word:
        if isinstance(value, str) and value in words:
            return words[value]
        told = f'; it is "{value}"' if isinstance(value, str) else ""
        raise ValueError(f"must be one of {', '.join(words)}{told}")

    return Takes(SettingKind.CHOICE, default, read, str, tuple(words))


def named(kind: SettingKind) -> Takes[str | None]:
    """A name of a kind, which is looked for when it is used."""

    def read(value: object) -> str:
        if isinstance(value, str) and value:
            return value
        raise ValueError("must be a non-empty string")

    return Takes(kind, None, read, lambda value: value)


def written(
    default: _Read,
    read: Callable[[object], _Read],
    shown: Callable[[_Read], Value],
    whole: Callable[[SettingsDocument], _Read] | None = None,
) -> Takes[_Read]:
    """A value that is edited in the file only."""
    return Takes(SettingKind.WRITTEN, default, read, shown, whole=whole)


def setting(
    takes: Takes[_Read], group: Group, does: str, applies: Applies = Applies.START, **names: Any
) -> _Read:
    """A field that is one setting; ``names`` are those of SettingDefinition."""
    described = SettingDefinition(takes, group, does, applies, **names)
    declared: _Read = field(default=takes.default, metadata={_DESCRIBED: described})
    return declared


def table(kind: type[_Read]) -> _Read:
    """A field that is a table of settings, each of which is a field of ``kind``."""
    declared: _Read = field(default_factory=kind, metadata={_BELOW: kind})
    return declared


def tables(default: Callable[[], _Read], described: TableDefinition) -> _Read:
    """A field of tables that the person names."""
    declared: _Read = field(default_factory=default, metadata={_DESCRIBED: described})
    return declared


def described_in(kind: Any, at: Key = ()) -> Iterator[SettingDefinition | TableDefinition]:
    """The descriptions of the fields of a class, in their order."""
    for each in fields(kind):
        path, described = (*at, each.name), each.metadata.get(_DESCRIBED)
        if _BELOW in each.metadata:
            yield from described_in(each.metadata[_BELOW], path)
        elif isinstance(described, SettingDefinition):
            yield replace(described, name=described.name or ".".join(path), field=path)
        elif isinstance(described, TableDefinition):
            yield described


def read_fields(kind: type[_Read], read: Callable[[SettingDefinition | TableDefinition, Key], Any]) -> _Read:
    """An object of a class with settings, each with what ``read`` returns for its description and its path."""
    descriptions = described_in(kind)

    def made(kind: Any, at: Key) -> Any:
        return kind(
            **{
                each.name: made(each.metadata[_BELOW], (*at, each.name))
                if _BELOW in each.metadata
                else read(next(descriptions), (*at, each.name))
                for each in fields(kind)
            }
        )

    result: _Read = made(kind, ())
    return result
