"""What a person filled in, as the values that a form's schema asks for, or what is wrong with it. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import assert_never
from urllib.parse import urlsplit

from catena_acp.port.elicitation.requests import (
    BooleanField,
    ChoiceField,
    ChoicesField,
    Field,
    Form,
    NumberField,
    TextField,
    UnknownField,
    Value,
)

# What is in a field: a text as typed, a choice, choices, yes or no; None while there is nothing.
Input = str | bool | tuple[str, ...] | None

LARGEST_WHOLE = 2**63 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EMAIL = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+",
    re.IGNORECASE | re.ASCII,
)
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[!-;=?-\[\]_a-z~]+", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_LONGEST_ADDRESS = 254


@dataclass(frozen=True, slots=True)
class Checked:
    """A field's value, None if it is left out; or what is wrong with it."""

    value: Value | None = None
    error: str = ""


def default_of(field: Field) -> Input:
    """The input of a field before the person changes it."""
    match field:
        case TextField(default=default) | ChoiceField(default=default):
            return default or None
        case NumberField(default=number):
            return None if number is None else _number_text(number)
        case BooleanField(default=default):
            return default
        case ChoicesField(default=default):
            return default
        case UnknownField():
            return None
    assert_never(field)


def check(field: Field, given: Input) -> Checked:
    """The value of one field, or what is wrong with what was filled in."""
    match field:
        case TextField():
            return _check_text(field, given if isinstance(given, str) else "")
        case NumberField():
            return _check_number(field, given.strip() if isinstance(given, str) else "")
        case BooleanField():
            if isinstance(given, bool):
                return Checked(given)
            return Checked(error="Choose yes or no.") if given else _left_out(field, "Choose yes or no.")
        case ChoiceField(choices=choices):
            if any(choice.value == given for choice in choices):
                return Checked(str(given))
            return Checked(error="Choose one of these.") if given else _left_out(field, "Choose one.")
        case ChoicesField():
            return _check_choices(field, given if isinstance(given, tuple) else (given,) if given else ())
        case UnknownField():
            return _left_out(field, "The agent needs this field, which cannot be filled in here.")
    assert_never(field)


def content_of(form: Form, given: Mapping[str, Input]) -> tuple[dict[str, Value], dict[str, str]]:
    """The content of a form, and what is wrong by field name; fields that are left empty are left out."""
    content: dict[str, Value] = {}
    errors: dict[str, str] = {}
    for field in form.fields:
        checked = check(field, given.get(field.label.name))
        if checked.error:
            errors[field.label.name] = checked.error
        elif checked.value is not None:
            content[field.label.name] = checked.value
    return content, errors


def _left_out(field: Field, error: str) -> Checked:
    return Checked(error=error) if field.label.required else Checked()


def _check_text(field: TextField, text: str) -> Checked:
    if not text:
        return _left_out(field, "This field is required.")
    if field.least is not None and len(text) < field.least:
        return Checked(error=f"At least {_characters(field.least)}; it has {len(text):,}.")
    if field.most is not None and len(text) > field.most:
        return Checked(error=f"At most {_characters(field.most)}; it has {len(text):,}.")
    if error := _format_error(field.format, text):
        return Checked(error=error)
    return Checked(text)  # whether it matches a pattern, the agent checks


def _format_error(kind: str | None, text: str) -> str:
    match kind:
        case "email" if len(text) > _LONGEST_ADDRESS or not _EMAIL.fullmatch(text):
            return "Not an email address, such as ada@example.org."
        case "uri" if not _is_uri(text):
            return "Not an address with its scheme, such as https://example.org/page."
        case "date" if not _is_date(text):
            return "Not a date, such as 2026-11-23."
        case "date-time" if not _is_date_time(text):
            return "Not a date and time with its zone, such as 2026-11-23T14:02:00Z."
        case _:
            return ""


def _is_uri(text: str) -> bool:
    if not _URI.fullmatch(text) or re.search(r"%(?![0-9a-fA-F]{2})", text) or text.count("#") > 1:
        return False
    try:
        _ = urlsplit(text).port  # read only now
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _check_number(field: NumberField, text: str) -> Checked:
    if not text:
        return _left_out(field, "This field is required.")
    number = _whole(text) if field.whole else _number(text)
    if number is None:
        return Checked(error="Not a whole number." if field.whole else "Not a number, such as 2.5.")
    if field.least is not None and number < field.least:
        return Checked(error=f"At least {_number_text(field.least)}.")
    if field.most is not None and number > field.most:
        return Checked(error=f"At most {_number_text(field.most)}.")
    return Checked(number)


def _whole(text: str) -> int | None:
    number = int(text) if _WHOLE.fullmatch(text) else None
    return number if number is not None and -LARGEST_WHOLE - 1 <= number <= LARGEST_WHOLE else None


def _number(text: str) -> int | float | None:
    whole = _whole(text)
    if whole is not None:
        return whole
    number = float(text) if _NUMBER.fullmatch(text) and len(text) <= 400 else math.inf
    return number if math.isfinite(number) else None


def _check_choices(field: ChoicesField, given: tuple[object, ...]) -> Checked:
    values = [choice.value for choice in field.choices]
    if any(each not in values for each in given):
        return Checked(error="Choose only of these.")
    chosen = [value for value in values if value in given]
    if not chosen and not field.label.required:
        return Checked()
    if field.least is not None and len(chosen) < field.least:
        return Checked(error=f"Choose at least {field.least:,}.")
    if field.most is not None and len(chosen) > field.most:
        return Checked(error=f"Choose at most {field.most:,}.")
    return Checked(chosen)


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"


def _number_text(number: float) -> str:
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return str(number)
