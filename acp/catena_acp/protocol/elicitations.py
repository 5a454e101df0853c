"""Elicitation requests as forms and web pages. Pure.

A form is read as the protocol restricts it: flat, of strings, numbers, booleans and choices. A field of another type,
or one whose restrictions cannot be read, becomes an ``UnknownField``: it is named, and never shown as what it is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from catena_acp.port.elicitation.requests import (
    Action,
    BooleanField,
    ChoiceField,
    ChoicesField,
    Elicitation,
    ElicitationAnswer,
    Field,
    FieldChoice,
    Form,
    Label,
    NumberField,
    TextField,
    UnknownField,
    WebPage,
)
from catena_acp.protocol.framing import MAX_NAME, Json, name_of, object_of, text_of

MAX_FIELDS = 100
MAX_CHOICES = 1_000
MAX_URL = 20_000  # characters; a longer address is refused, not cut

# Protocol: form mode must not ask for secrets or credentials.
_SECRET = re.compile(
    r"pass(word|wd|phrase|code)|\bsecret\b|api[ _-]?key|access[ _-]?key|private[ _-]?key|"
    r"(access|refresh|auth|bearer|security|api|session|github|personal)[ _-]?token|\btoken\b|"
    r"recovery[ _-]?code|credential|\bcvv\b|\bcvc\b|(card|credit)[ _-]?number|\bpin\b",
    re.IGNORECASE,
)


class ElicitationInvalid(ValueError):
    """An elicitation request that cannot be shown; its text is for the agent."""


def elicitation_of(asked: Json) -> Elicitation:
    """The form or web page that a request asks for. Raises ElicitationInvalid."""
    message, mode = name_of(asked, "message"), asked.get("mode")
    if message is None:
        raise ElicitationInvalid("the elicitation has no message")
    if mode == "form":
        return _form(message, asked)
    if mode == "url":
        url, elicitation_id = text_of(asked, "url"), text_of(asked, "elicitationId")
        if url is None or elicitation_id is None or max(len(url), len(elicitation_id)) > MAX_URL:
            raise ElicitationInvalid("the elicitation has no usable url or elicitationId")
        return WebPage(message, url, elicitation_id)
    raise ElicitationInvalid("the mode of the elicitation is not supported")


def answer_message(answer: ElicitationAnswer) -> dict[str, Any]:
    """An answer as the protocol has it."""
    action: Action = answer.action
    if action == "accept" and answer.content is not None:
        return {"action": action, "content": dict(answer.content)}
    return {"action": action}


def _form(message: str, asked: Json) -> Form:
    schema = object_of(asked, "requestedSchema")
    if schema is None:
        raise ElicitationInvalid("the form has no schema")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise ElicitationInvalid(f"the form has no properties, or more than {MAX_FIELDS}")
    listed = schema.get("required")
    required = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    fields = [_field(name, schema, name in required) for name, schema in properties.items()]
    missing = [name for name in dict.fromkeys(required) if name not in properties][:MAX_FIELDS]
    fields += [
        UnknownField(Label(name, name[:MAX_NAME], required=True), "The form does not describe this field.")
        for name in missing
    ]
    return Form(message, tuple(fields), name_of(schema, "title") or "", name_of(schema, "description") or "")


def _field(name: str, schema: object, required: bool) -> Field:
    if not isinstance(schema, dict):
        return UnknownField(Label(name, name[:MAX_NAME], required=required), "This field cannot be read.")
    title = name_of(schema, "title") or name[:MAX_NAME]
    label = Label(
        name, title, name_of(schema, "description") or "", required, _is_secret(name, title, schema)
    )
    kind = schema.get("type")
    try:
        match kind:
            case "string" if schema.get("oneOf") is not None or schema.get("enum") is not None:
                return _choice_field(label, schema)
            case "string":
                return _text_field(label, schema)
            case "number" | "integer":
                return _number_field(label, schema, whole=kind == "integer")
            case "boolean":
                default = schema.get("default")
                return BooleanField(label, default if isinstance(default, bool) else None)
            case "array":
                return _choices_field(label, schema)
    except _Unreadable:
        return UnknownField(label, "This field cannot be read.")
    named = f"“{kind[:40]}” " if isinstance(kind, str) else ""
    return UnknownField(label, f"Fields of the type {named}are not supported.")


class _Unreadable(ValueError):
    """A restriction that cannot be read."""


def _is_secret(name: str, title: str, schema: Json) -> bool:
    if schema.get("type") != "string":
        return False
    if schema.get("format") == "password" or schema.get("writeOnly") is True:
        return True
    if schema.get("enum") is not None or schema.get("oneOf") is not None:
        return False
    spoken = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", f"{name} {title}").replace("_", " ")
    return _SECRET.search(spoken) is not None


def _text_field(label: Label, schema: Json) -> TextField:
    kind, default = schema.get("format"), text_of(schema, "default")
    if not isinstance(kind, str | None):
        raise _Unreadable
    least, most = _bounds(schema, "minLength", "maxLength")
    return TextField(label, least, most, kind, default)


def _number_field(label: Label, schema: Json, *, whole: bool) -> NumberField:
    least = _number(schema.get("minimum"), whole=whole)
    most = _number(schema.get("maximum"), whole=whole)
    try:
        default = _number(schema.get("default"), whole=whole)
    except _Unreadable:
        default = None
    return NumberField(label, whole, least, most, default)


def _choice_field(label: Label, schema: Json) -> ChoiceField:
    titled = schema.get("oneOf")
    choices = tuple(_titled(titled) if titled is not None else _untitled(schema.get("enum")))
    if not choices:
        raise _Unreadable
    default = text_of(schema, "default")
    return ChoiceField(label, choices, default if default in [each.value for each in choices] else None)


def _choices_field(label: Label, schema: Json) -> ChoicesField:
    items = object_of(schema, "items")
    if items is None:
        raise _Unreadable
    if items.get("anyOf") is not None and "type" not in items:
        choices = tuple(_titled(items["anyOf"]))
    elif items.get("type") == "string":
        choices = tuple(_untitled(items.get("enum")))
    else:
        raise _Unreadable
    if not choices:
        raise _Unreadable
    least, most = _bounds(schema, "minItems", "maxItems")
    values = {each.value for each in choices}
    listed = schema.get("default")
    chosen = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    default = tuple(each for each in dict.fromkeys(chosen) if each in values)
    return ChoicesField(label, choices, least, most, default)


def _untitled(listed: object) -> Iterator[FieldChoice]:
    if not isinstance(listed, list) or len(listed) > MAX_CHOICES:
        raise _Unreadable
    if not all(isinstance(each, str) for each in listed):
        raise _Unreadable
    for value in dict.fromkeys(listed):
        yield FieldChoice(value, value[:MAX_NAME])


def _titled(listed: object) -> Iterator[FieldChoice]:
    if not isinstance(listed, list) or len(listed) > MAX_CHOICES:
        raise _Unreadable
    seen: set[str] = set()
    for option in listed:
        value = option.get("const") if isinstance(option, dict) else None
        if not isinstance(value, str):
            raise _Unreadable
        if value not in seen:
            seen.add(value)
            yield FieldChoice(
                value, name_of(option, "title") or value[:MAX_NAME], name_of(option, "description") or ""
            )


def _bounds(schema: Json, least: str, most: str) -> tuple[int | None, int | None]:
    low, high = (_number(schema.get(name), whole=True) for name in (least, most))
    if (low is not None and low < 0) or (high is not None and high < 0):
        raise _Unreadable
    return (None if low is None else int(low)), (None if high is None else int(high))


def _number(value: object, *, whole: bool) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _Unreadable
    if whole and isinstance(value, float):
        if not value.is_integer():
            raise _Unreadable
        return int(value)
    return value
