"""Forms and web pages that an agent asks for: as lines that are read and typed, and what a person has filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, assert_never

from catena.text.safe_text import safe_line
from catena_acp.continuity.routing.slash_commands import as_prose
from catena_acp.port.elicitation.checks import Input, default_of
from catena_acp.port.elicitation.requests import (
    BooleanField,
    ChoiceField,
    ChoicesField,
    Elicitation,
    Field,
    FieldChoice,
    Form,
    NumberField,
    TextField,
    UnknownField,
    WebPage,
    address_of,
)


class FormDraft:
    """The inputs of a form that is not sent yet."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.inputs: dict[str, Input] = {field.label.name: default_of(field) for field in form.fields}
        self.errors: dict[str, str] = {}
        self.current = 0  # the field that had the keys last

    @property
    def typed(self) -> str:
        """The person's input to the form, without secrets, to be returned if the form is not sent.

        Values that the agent had filled in are not the person's. The text is never a command: it was typed for a form.
        """
        texts = [
            (field.label.title, typed)
            for field in self.form.fields
            if isinstance(field, TextField | NumberField)
            and not field.label.secret
            and isinstance(text := self.inputs.get(field.label.name), str)
            and (typed := _without(text, default_of(field)).strip())
        ]
        if len(texts) == 1:
            return as_prose(texts[0][1])
        return as_prose("\n".join(f"{title}: {text}" for title, text in texts))


def _without(text: str, default: Input) -> str:
    """A text without what stood there before, if that is still whole."""
    return text.replace(default, "", 1) if isinstance(default, str) and default else text


DECLINED: Final = "Decline"
SECRET_WARNING: Final = (
    "This looks like a secret, which agents must not ask for in a form. The transcript does not keep it."
)
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")


def ways_of(request: Elicitation) -> tuple[str, ...]:
    """The answers that are offered before anything is filled in or opened."""
    match request:
        case Form() if not request.can_be_sent:
            return (DECLINED,)
        case Form():
            return ("Fill in", DECLINED)
        case WebPage(url=url):
            return (DECLINED,) if address_of(url).refusal else ("I'll open it myself", DECLINED)
        case _:
            assert_never(request)


def page_lines(page: WebPage) -> Iterator[str]:
    """The address of a web page, and where it leads."""
    address = address_of(page.url)
    yield safe_line(page.url)
    yield address.refusal or f"Host: {address.host}"
    if address.punycode or address.spoken:
        reads = safe_line(address.spoken or address.host)
        yield f"Its host looks like {reads}, but is {address.punycode or address.host}."


def about_field(field: Field, *, theirs: Callable[[str], str] = str) -> Iterator[str]:
    """The facts to know about a field before it is filled in, a line each; one of the agent's own is ``theirs``."""
    label = field.label
    if label.description:
        yield theirs(safe_line(label.description))
    if label.secret:
        yield f"{SECRET_WARNING}"
    for number, choice in enumerate(_choices(field), start=1):
        about = f": {safe_line(choice.description)}" if choice.description else ""
        yield f"{number}: {safe_line(choice.title)}{about}"
    match field:
        case BooleanField():
            yield "yes or no"
        case ChoicesField():
            yield "numbers, separated by commas"
        case _:
            pass
    default = default_of(field)
    if default not in (None, ()):
        yield f"Enter alone: {_shown(field, default)}"
    elif not label.required:
        yield "Enter alone: nothing"


def _shown(field: Field, default: Input) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    values = default if isinstance(default, tuple) else (default,)
    titles = {choice.value: choice.title for choice in _choices(field)}
    return ", ".join(safe_line(titles.get(str(value), str(value))) for value in values)


def _choices(field: Field) -> tuple[FieldChoice, ...]:
    return field.choices if isinstance(field, ChoiceField | ChoicesField) else ()


def given_input(field: Field, line: str) -> Input:
    """What a line stands for; of something else than a choice that is offered, what no field takes."""
    if not line:
        return default_of(field)
    match field:
        case TextField() | NumberField() | UnknownField():
            return line
        case BooleanField():
            said = line.lower()
            return True if said in _YES else False if said in _NO else line
        case ChoiceField(choices=choices):
            return _chosen(choices, line)
        case ChoicesField(choices=choices):
            return tuple(_chosen(choices, part.strip()) for part in line.split(",") if part.strip())
    assert_never(field)


def _chosen(choices: tuple[FieldChoice, ...], word: str) -> str:
    number = int(word) if word.isdecimal() and len(word) < 6 else 0
    return choices[number - 1].value if 1 <= number <= len(choices) else word
