"""Questions and answers of elicitations, in words and as data, for the transcript. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catena_acp.port.elicitation.requests import (
    BooleanField,
    ChoiceField,
    ChoicesField,
    Elicitation,
    ElicitationAnswer,
    Field,
    Form,
    NumberField,
    TextField,
    UnknownField,
    Value,
    WebPage,
    address_of,
)

SECRET = "(not kept)"
DONE = " · done"  # behind an opened web page, when the agent says so
_KINDS = {
    TextField: "text",
    NumberField: "number",
    BooleanField: "boolean",
    ChoiceField: "choice",
    ChoicesField: "choices",
    UnknownField: "unknown",
}
_LONG = 200  # characters of a value or message in one line


def asked_text(request: Elicitation) -> str:
    """The question of an elicitation, in one line."""
    return f"Asked: {_short(request.message) or 'a form'}"


def answered_text(request: Elicitation, answer: ElicitationAnswer) -> str:
    """What follows it, once it is answered."""
    if answer.action != "accept":
        return " · declined" if answer.action == "decline" else " · cancelled"
    if isinstance(request, WebPage):
        return f" · opened {address_of(request.url).host}"
    shown = [f"{_short(title)}: {_short(value)}" for title, value in filled(request, answer)]
    return f" · {' · '.join(shown)}" if shown else " · sent empty"


def filled(form: Form, answer: ElicitationAnswer) -> Iterator[tuple[str, str]]:
    """Title and value of each field that was filled in; secrets are left out."""
    for field in form.fields:
        value = (answer.content or {}).get(field.label.name)
        if value is not None:
            yield field.label.title, SECRET if field.label.secret else _value_text(field, value)


def kept_data(request: Elicitation, answer: ElicitationAnswer | None = None) -> dict[str, Any]:
    """The data that the transcript keeps beside the words; the values of secrets are left out."""
    asked: dict[str, Any] = {"message": request.message, "action": answer.action if answer else None}
    detail: list[str] = []
    if isinstance(request, WebPage):
        asked["url"] = request.url
        detail = [request.url]
    elif answer is not None and answer.content is not None:
        secret = {field.label.name for field in request.fields if field.label.secret}
        asked["content"] = {
            name: SECRET if name in secret else value for name, value in answer.content.items()
        }
        detail = [f"{title}: {value}" for title, value in filled(request, answer)]
    if len(request.message) > _LONG:
        detail = [*request.message.splitlines(), *detail]
    return {"elicitation": asked, "detail": detail} if detail else {"elicitation": asked}


def elicitation_shape(request: Elicitation) -> dict[str, Any]:
    """An elicitation, as data."""
    if isinstance(request, WebPage):
        return {"mode": "url", "message": request.message, "url": request.url}
    fields = [
        {
            "name": field.label.name,
            "title": field.label.title,
            "kind": _KINDS[type(field)],
            "required": field.label.required,
            **_values_of(field),
        }
        for field in request.fields
    ]
    return {"mode": "form", "message": request.message, "fields": fields}


def _values_of(field: Field) -> dict[str, Any]:
    if not isinstance(field, ChoiceField | ChoicesField):
        return {}
    return {"choices": [{"value": choice.value, "title": choice.title} for choice in field.choices]}


def _value_text(field: Field, value: Value) -> str:
    if isinstance(field, BooleanField):
        return "yes" if value else "no"
    if isinstance(field, ChoiceField | ChoicesField):
        titles = {choice.value: choice.title for choice in field.choices}
        values = value if isinstance(value, list) else [str(value)]
        return ", ".join(titles.get(each, each) for each in values)
    return str(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[: _LONG - 1].rstrip()}…"
