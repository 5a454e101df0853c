"""Elicitations as agents ask them, and their answers, as frozen dataclasses. All text is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | list[str]
Content = Mapping[str, Value]
Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One value that can be chosen."""

    value: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """What a field is called, and whether it has to be filled in."""

    name: str  # the key of its value
    title: str
    description: str = ""
    required: bool = False
    secret: bool = False  # looks like a password, a key or the like, which no form may ask for


@dataclass(frozen=True, slots=True)
class TextField:
    """A text; lengths are in characters. A pattern that it has to match is the agent's to check."""

    label: Label
    least: int | None = None
    most: int | None = None
    format: str | None = None  # email, uri, date, date-time; others are no restriction
    default: str | None = None


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number, both bounds included."""

    label: Label
    whole: bool = False
    least: float | None = None
    most: float | None = None
    default: float | None = None


@dataclass(frozen=True, slots=True)
class BooleanField:
    """Yes or no."""

    label: Label
    default: bool | None = None


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One of several values."""

    label: Label
    choices: tuple[FieldChoice, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ChoicesField:
    """Any number of several values, within bounds."""

    label: Label
    choices: tuple[FieldChoice, ...]
    least: int | None = None
    most: int | None = None
    default: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that cannot be filled in here; ``why`` says what is wrong with it."""

    label: Label
    why: str


Field = TextField | NumberField | BooleanField | ChoiceField | ChoicesField | UnknownField


@dataclass(frozen=True, slots=True)
class Form:
    """A form with the agent's message; fields are in the agent's order."""

    message: str
    fields: tuple[Field, ...]
    title: str = ""
    description: str = ""

    @property
    def can_be_sent(self) -> bool:
        """False if it needs a field that cannot be filled in here."""
        return not any(isinstance(field, UnknownField) and field.label.required for field in self.fields)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web address that the person is to open; ``elicitation_id`` is what the agent names when that is done."""

    message: str
    url: str
    elicitation_id: str


Elicitation = Form | WebPage


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """An answer; ``content`` is that of an accepted form."""

    action: Action
    content: Content | None = None


CANCEL = ElicitationAnswer("cancel")
DECLINE = ElicitationAnswer("decline")
