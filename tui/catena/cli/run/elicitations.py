"""Answers of a headless run to forms and web pages that an agent asks for: asked on the terminal, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from catena.cli.run.permissions import Terminal
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.conversation_events import ElicitationOpened
from catena_acp.port.elicitation.addresses import address_of
from catena_acp.port.elicitation.checks import Input, check, default_of
from catena_acp.port.elicitation.requests import (
    CANCEL,
    DECLINE,
    BooleanField,
    ChoiceField,
    ChoicesField,
    ElicitationAnswer,
    Field,
    FieldChoice,
    Form,
    NumberField,
    TextField,
    UnknownField,
    Value,
    WebPage,
)

_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
SECRET_WARNING = (
    "This looks like a secret, which agents must not ask for in a form. The transcript does not keep it."
)


async def ask_elicitation(terminal: Terminal, asked: ElicitationOpened) -> ElicitationAnswer:
    """Ask the person; `cancel` if the input ends or the terminal cannot be read."""
    request = asked.request
    match request:
        case Form() if not request.can_be_sent:
            options: tuple[str, ...] = ("Decline",)
        case Form():
            options = ("Fill in", "Decline")
        case WebPage(url=url):
            options = ("Decline",) if address_of(url).refusal else ("I open it myself: go on", "Decline")
        case _:
            assert_never(request)
    numbered = [f"  {number} {words}" for number, words in enumerate(options, start=1)]
    chosen = await terminal.choose([*question_of(asked), *numbered], len(options))
    if chosen is None:
        return CANCEL
    if options[chosen] == "Decline":
        return DECLINE
    return ElicitationAnswer("accept") if isinstance(request, WebPage) else await _fill(terminal, request)


def question_of(asked: ElicitationOpened) -> Iterator[str]:
    """The lines of the question."""
    first, *more = safe(asked.request.message).splitlines() or [""]
    yield f"? {safe_line(asked.agent_title)} asks: {first}"
    yield from (f"  {line}" for line in more)
    if isinstance(asked.request, WebPage):
        address = address_of(asked.request.url)
        yield f"  {safe_line(asked.request.url)}"
        yield f"  {address.refusal or f'Host: {address.host}'}"
        if unusual := address.punycode or address.spoken:
            yield f"  Its host reads {address.spoken or address.host}, and is {unusual or address.host}."


async def _fill(terminal: Terminal, form: Form) -> ElicitationAnswer:
    content: dict[str, Value] = {}
    for field in form.fields:
        if isinstance(field, UnknownField):
            continue
        lines = list(_about(field))
        while True:
            line = await terminal.ask_line(lines, f"{safe_line(field.label.title)}: ")
            if line is None:
                return CANCEL
            checked = check(field, _given(field, line))
            if not checked.error:
                break
            lines = [f"  {safe_line(checked.error)}"]
        if checked.value is not None:
            content[field.label.name] = checked.value
    return ElicitationAnswer("accept", content)


def _about(field: Field) -> Iterator[str]:
    label = field.label
    if label.description:
        yield f"  {safe_line(label.description)}"
    if label.secret:
        yield f"  {SECRET_WARNING}"
    for number, choice in enumerate(_choices(field), start=1):
        about = f": {safe_line(choice.description)}" if choice.description else ""
        yield f"  {number} {safe_line(choice.title)}{about}"
    match field:
        case BooleanField():
            yield "  yes or no"
        case ChoicesField():
            yield "  numbers, separated by commas"
        case _:
            pass
    default = default_of(field)
    if default not in (None, ()):
        yield f"  Enter alone: {_shown(field, default)}"
    elif not label.required:
        yield "  Enter alone: nothing"


def _shown(field: Field, default: Input) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    values = default if isinstance(default, tuple) else (default,)
    titles = {choice.value: choice.title for choice in _choices(field)}
    return ", ".join(safe_line(titles.get(str(value), str(value))) for value in values)


def _choices(field: Field) -> tuple[FieldChoice, ...]:
    return field.choices if isinstance(field, ChoiceField | ChoicesField) else ()


def _given(field: Field, line: str) -> Input:
    """What a line stands for; of something else than a choice that is offered, what no field takes."""
    if not line:
        return default_of(field)
    match field:
        case TextField() | NumberField() | UnknownField():
            return line
        case BooleanField():
            said = line.lower()
            return True if said in _YES else False if said in _NO else None
        case ChoiceField(choices=choices):
            return _chosen(choices, line)
        case ChoicesField(choices=choices):
            return tuple(_chosen(choices, part.strip()) for part in line.split(","))
    assert_never(field)


def _chosen(choices: tuple[FieldChoice, ...], word: str) -> str:
    number = int(word) if word.isdecimal() and len(word) < 6 else 0
    return choices[number - 1].value if 1 <= number <= len(choices) else word
