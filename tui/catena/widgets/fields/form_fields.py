"""Fields of a form, one a row: the label on the text's edge, what is filled in beside it, what is wrong below."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from catena.keys.bindings import bindings, keys_of
from catena.text.safe_text import safe_line
from catena.widgets.band import SHORT
from catena.widgets.fields.text_fields import SafeInput
from catena_acp.port.elicitation.checks import Input
from catena_acp.port.elicitation.requests import (
    BooleanField,
    ChoiceField,
    ChoicesField,
    Field,
    FieldChoice,
    NumberField,
    TextField,
    UnknownField,
)

SECRET_WARNING = "This looks like a secret, which no form may ask for. It is not kept in the transcript."
_YES_OR_NO = (FieldChoice("yes", "Yes"), FieldChoice("no", "No"))
_MOST_CHOICES, _MOST_CHOICES_SHORT = 9, 2  # that are shown at once
_MORE = 2  # cells on the right of a choice for a mark: there are more
_CHOOSES = "chooses"  # the number that a click on a choice stands for
_PLACEHOLDERS = {
    "email": "name@example.org",
    "uri": "https://…",
    "date": "2026-11-23",
    "date-time": "2026-11-23T14:02:00Z",
}


class Stepped(Message):
    """The person goes to the next or previous field."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class Entered(Message):
    """The person is done with a field that takes no text."""


class Filled(Message):
    """The text in a field changed."""

    def __init__(self, value: Input) -> None:
        super().__init__()
        self.value = value


class FieldInput(SafeInput):
    """A text or a number; of a secret only dots are drawn."""

    def __init__(self, field: TextField | NumberField, value: str) -> None:
        super().__init__(
            value=value,
            placeholder=_placeholder(field),
            compact=True,
            password=field.label.secret,
            select_on_focus=False,
        )
        self.cursor_blink = False

    @property
    def _value(self) -> Text:
        """The value as it is drawn."""
        return Text("•" * len(self.value), no_wrap=True, end="") if self.password else super()._value

    def _on_paste(self, event: events.Paste) -> None:
        """Paste as one line; Textual's would keep the first line alone."""
        event.stop()
        event.prevent_default()
        text = " ".join(event.text.splitlines())
        self.replace(text, *self.selection) if not self.selection.is_empty else self.insert_text_at_cursor(
            text
        )

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Say what is filled in."""
        event.stop()
        self.post_message(Filled(event.value))

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Enter belongs to the form."""
        event.stop()
        self.post_message(Entered())


class ChoiceList(Widget, can_focus=True):
    """Values to choose from: one, or any number of them. ↑ and ↓ go from value to value, and on to the next field."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            previous_choice="move(-1)",
            next_choice="move(1)",
            choose="turn",
            take_field="enter",
            **{f"choice_{number}": f"choose({number})" for number in range(1, 10)},
        )
    ]
    DEFAULT_CSS = "ChoiceList { height: auto; }"

    def __init__(self, field: BooleanField | ChoiceField | ChoicesField, value: Input) -> None:
        super().__init__()
        self._field = field
        self._choices = _YES_OR_NO if isinstance(field, BooleanField) else field.choices
        self._chosen = _chosen(value)
        self._cursor = next(
            (number for number, choice in enumerate(self._choices) if choice.value in self._chosen), 0
        )
        self._moved = False  # the cursor, since something was chosen

    @property
    def _several(self) -> bool:
        return isinstance(self._field, ChoicesField)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the choices take."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The choices around the cursor."""
        return Content("\n").join(self._lines(self.content_size.width))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the cursor."""
        super().watch_has_focus(has_focus)
        self.refresh(layout=True)

    def _lines(self, width: int) -> list[Content]:
        short = self.screen.size.height < SHORT
        most = min(len(self._choices), _MOST_CHOICES_SHORT if short else _MOST_CHOICES)
        first = min(max(0, self._cursor - most // 2), len(self._choices) - most)
        fewer = most < len(self._choices)
        lines = [
            line
            for number in range(first, first + most)
            for line in self._row(number, max(8, width - (_MORE if short and fewer else 0)), one=short)
        ]
        if fewer and short:
            lines[0] = _with_more(lines[0], "↑" if first else "", width)
            lines[-1] = _with_more(lines[-1], "↓" if first + most < len(self._choices) else "", width)
        elif fewer:
            at = f"{self._cursor + 1} of {len(self._choices)}"
            keys = keys_of(self).fill("{previous_choice} {next_choice}")
            lines.append(Content.styled(f"{at}: {keys}" if keys else at, "$muted"))
        return lines

    def _row(self, number: int, width: int, *, one: bool) -> list[Content]:
        choice = self._choices[number]
        here = self.has_focus and number == self._cursor
        on, off = ("[✓]", "[ ]") if self._several else ("(●)", "( )")
        mark = on if choice.value in self._chosen else off
        key = keys_of(self).shown(f"choice_{number + 1}") if number < 9 else " "
        title, about = safe_line(choice.title), safe_line(choice.description)
        words = Content.assemble((title, "bold" if here else ""), (f"  {about}" if about else "", "$muted"))
        axis = 6
        lines = [words.truncate(width - axis, ellipsis=True)] if one else words.wrap(width - axis)
        head = Content.assemble((key, "bold $asking" if here else "$asking"), f" {mark} ")
        rows = [(head if not index else Content(" " * axis)) + line for index, line in enumerate(lines)]
        if here:
            rows = [
                row.pad_right(width - row.cell_length).stylize("$selection-text on $selection")
                for row in rows
            ]
        return [row.stylize(Style.from_meta({_CHOOSES: number + 1})) for row in rows]

    def action_move(self, step: int) -> None:
        """Go to another choice, or past the last to the next field."""
        cursor = self._cursor + step
        if not 0 <= cursor < len(self._choices):
            self.post_message(Stepped(step))
            return
        self._cursor, self._moved = cursor, True
        self.refresh(layout=True)

    def action_turn(self) -> None:
        """Choose what the cursor is on, or no longer; of yes and no the other one."""
        if isinstance(self._field, BooleanField) and self._chosen:
            self._cursor = 0 if "no" in self._chosen else 1
            self._take(self._cursor, toggles=False)
        else:
            self._take(self._cursor, toggles=True)

    def action_choose(self, number: int) -> None:
        """Choose by number; of several the same number again takes it back."""
        if number <= len(self._choices):
            self._cursor = number - 1
            self._take(self._cursor, toggles=self._several)

    def action_enter(self) -> None:
        """Choose what the cursor was moved to, and go on."""
        if self._moved and not self._several:
            self._take(self._cursor, toggles=False)
        self.post_message(Entered())

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked."""
        number = event.style.meta.get(_CHOOSES)
        if isinstance(number, int):
            event.stop()
            self.screen.set_focus(self)
            self.action_choose(number)

    def _take(self, number: int, *, toggles: bool) -> None:
        value = self._choices[number].value
        before = self._chosen
        if self._several:
            self._chosen = before - {value} if value in before else before | {value}
        else:
            self._chosen = frozenset() if toggles and value in before else frozenset({value})
        self._moved = False
        self.refresh(layout=True)
        self.post_message(Filled(self._value()))

    def _value(self) -> Input:
        match self._field:
            case BooleanField():
                return ("yes" in self._chosen) if self._chosen else None
            case ChoicesField(choices=choices):
                return tuple(choice.value for choice in choices if choice.value in self._chosen)
            case ChoiceField():
                return next(iter(self._chosen), None)


class FieldRow(Widget):
    """A field with its label, its description, and what is wrong with what is filled in."""

    DEFAULT_CSS = """
    FieldRow {
        layout: horizontal;
        height: auto;
        & > .label { width: 24; height: auto; padding-right: 2; }
        & > .value { width: 1fr; height: auto; }
        & .about { height: auto; color: $muted; }
        & .error { height: auto; color: $failure; text-style: $error-style; }
        &.-short .about, &.-short .error { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-narrow { layout: vertical; & > .label { width: 1fr; } & > .value { height: auto; } }
    }
    """

    class Changed(Message):
        """The input of the field changed."""

        def __init__(self, field: Field, value: Input) -> None:
            super().__init__()
            self.field = field
            self.value = value

    def __init__(self, field: Field, value: Input, *, optional: bool, place: str) -> None:
        """``optional`` is said where other fields are not; ``place``, such as 1 of 3, where it is shown alone."""
        super().__init__()
        self._optional = " (optional)" if optional else ""
        self._place = place
        self.field = field
        self.control = _control(field, value)
        self._label = Static("", classes="label", markup=False)
        about = [field.label.description, SECRET_WARNING if field.label.secret else ""]
        self._about_text = safe_line(" ".join(filter(None, about)))
        self._about = Static(Content(self._about_text), classes="about")
        self._error = Static("", classes="error", markup=False)
        self.say("")

    @property
    def is_typed(self) -> bool:
        """True where letters are text; elsewhere they may be keys."""
        return not isinstance(self.control, ChoiceList)

    def compose(self) -> ComposeResult:
        """Yield the label, and beside it the control and what is said of it."""
        yield self._label
        with Vertical(classes="value"):
            if not self.is_typed:  # else it is about what is typed
                yield self._about
                yield self.control
                yield self._error
            else:
                yield self.control
                yield self._error
                yield self._about

    def fit(self, *, short: bool, narrow: bool) -> None:
        """Fit a screen: the value below its label on a narrow one, a row for each part on a short one."""
        self.set_class(narrow, "-narrow")
        self.set_class(short, "-short")
        self._show_about()
        title = (safe_line(self.field.label.title), "bold")
        place = f" · {self._place}" if short else ""
        self._label.update(Content.assemble(title, (f"{self._optional}{place}", "$muted")))

    def say(self, error: str) -> None:
        """Show what is wrong; "" if nothing is."""
        self._error.update(Content(safe_line(error)))
        self._error.display = bool(error)
        self._show_about()

    def _show_about(self) -> None:
        """Show the description; on a short screen what is wrong takes its place."""
        in_the_way = self._error.display and self.has_class("-short")
        self._about.display = bool(self._about_text) and not in_the_way

    def on_filled(self, event: Filled) -> None:
        """Name the field that changed."""
        event.stop()
        self.post_message(self.Changed(self.field, event.value))


def _with_more(line: Content, mark: str, width: int) -> Content:
    """A choice with a mark at the end of its row, which says on which side there are more."""
    room = max(0, width - 1 - line.cell_length)
    return Content.assemble(line, " " * room, (mark, "$muted")) if mark else line


def _control(field: Field, value: Input) -> Widget:
    match field:
        case TextField() | NumberField():
            return FieldInput(field, value if isinstance(value, str) else "")
        case BooleanField() | ChoiceField() | ChoicesField():
            return ChoiceList(field, value)
        case UnknownField(why=why):
            return Static(Content.styled(safe_line(why), "$muted"))


def _chosen(value: Input) -> frozenset[str]:
    match value:
        case bool():
            return frozenset({"yes" if value else "no"})
        case str():
            return frozenset({value})
        case tuple():
            return frozenset(value)
        case None:
            return frozenset()


def _placeholder(field: TextField | NumberField) -> str:
    if isinstance(field, TextField):
        return _PLACEHOLDERS.get(field.format or "", "type here")
    kind = "whole number" if field.whole else "number"
    bounds = [f"{bound:g}" if bound is not None else "" for bound in (field.least, field.most)]
    match bounds:
        case ["", ""]:
            return kind
        case [low, ""]:
            return f"{kind}, {low} or more"
        case ["", high]:
            return f"{kind}, {high} or less"
        case _:
            return f"{kind}, {bounds[0]} to {bounds[1]}"
