"""What a person has filled into a form that an agent waits for, kept with its tab."""

from __future__ import annotations

from catena_acp.continuity.routing.slash_commands import as_prose
from catena_acp.port.elicitation.checks import Input, default_of
from catena_acp.port.elicitation.requests import Form, NumberField, TextField


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
