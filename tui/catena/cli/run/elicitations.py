"""Answers of a headless run to forms and web pages that an agent asks for: asked on the terminal, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from catena.cli.run.permissions import Terminal
from catena.text.safe_text import safe, safe_line
from catena.workspace.questions.form_lines import DECLINED, about_field, given_input, page_lines, ways_of
from catena_acp.continuity.conversation_events import ElicitationOpened
from catena_acp.port.elicitation.checks import check
from catena_acp.port.elicitation.requests import (
    CANCEL,
    DECLINE,
    ElicitationAnswer,
    Form,
    UnknownField,
    Value,
    WebPage,
)


class InvalidAnswer(Exception):
    """The input ended behind an answer that a field does not take; ``str()`` of it names the field, and why."""


async def ask_elicitation(terminal: Terminal, asked: ElicitationOpened) -> ElicitationAnswer:
    """Ask the person; `cancel` if the input ends or the terminal cannot be read.

    Raises InvalidAnswer if it ends where an answer was invalid, and is asked for again.
    """
    request = asked.request
    options = ways_of(request)
    numbered = [f"  {number} {words}" for number, words in enumerate(options, start=1)]
    chosen = await terminal.choose([*question_of(asked), *numbered], len(options))
    if chosen is None:
        return CANCEL
    if options[chosen] == DECLINED:
        return DECLINE
    return ElicitationAnswer("accept") if isinstance(request, WebPage) else await _fill(terminal, request)


def question_of(asked: ElicitationOpened) -> Iterator[str]:
    """The lines of the question."""
    first, *more = safe(asked.request.message).splitlines() or [""]
    yield f"? {safe_line(asked.agent_title)} asks: {first}"
    yield from (f"  {line}" for line in more)
    if isinstance(asked.request, WebPage):
        yield from (f"  {line}" for line in page_lines(asked.request))


async def _fill(terminal: Terminal, form: Form) -> ElicitationAnswer:
    content: dict[str, Value] = {}
    for field in form.fields:
        if isinstance(field, UnknownField):
            continue
        lines, title, error = [f"  {line}" for line in about_field(field)], safe_line(field.label.title), ""
        while True:
            line = await terminal.ask_line(lines, f"{title}: ")
            if line is None and error:
                raise InvalidAnswer(f"the form was not sent: {title}: {error}")
            if line is None:
                return CANCEL
            checked = check(field, given_input(field, line))
            if not checked.error:
                break
            error = safe_line(checked.error)
            lines = [f"  {error}"]
        if checked.value is not None:
            content[field.label.name] = checked.value
    return ElicitationAnswer("accept", content)
