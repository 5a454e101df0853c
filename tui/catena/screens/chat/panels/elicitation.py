"""The elicitation panel: a form that an agent asks the person to fill in, or a web page that it asks them to open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.widgets import Static

from catena.keys.bindings import bindings, keys_of
from catena.terminal.times import APART, JUST_ASKED, KeyPace, Standing
from catena.text.safe_text import safe, safe_line
from catena.widgets.band import SHORT, Band, BandText, BandWords, Choice
from catena.widgets.scroll_bar import thin_scroll_bar

if TYPE_CHECKING:  # not needed before there is a question
    from catena.widgets.fields.form_fields import Entered, FieldRow, Stepped
    from catena.workspace.questions.forms import FormDraft
    from catena_acp.continuity.conversation_events import ElicitationOpened, Question
    from catena_acp.port.elicitation.requests import ElicitationAnswer, WebPage

_TOO_FAST = "Press again to confirm."
_BLANKS = 2  # rows above the fields, and below them
_SEND, _DECLINE = "enter", "d"
_CHOOSING = ("choose", *(f"choice_{number}" for number in range(1, 10)))


class FormEnding(BandText, can_focus=True):
    """What can be done with the form or the page as a whole; the last stop of the keys."""

    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    FormEnding { &:focus { background: $selection; color: $selection-text; text-style: $selection-style; } }
    """

    def lines(self, width: int) -> list[Content]:
        """The options alone: what they are about stands above."""
        return super().lines(width)[1:]


class Fields(Vertical):
    """The fields of a form, as high as they are, up to a part of the screen; what can be done stays in sight below."""

    DEFAULT_CSS = """
    Fields { height: auto; overflow-y: auto; scrollbar-size-vertical: 1; margin-top: 1; }
    """
    _SHARE = 0.4  # of the screen's height
    _LEAST, _SHORT_LEAST = 4, 2  # rows
    around = 0  # rows of what is said above them, and can be done below

    def __init__(self, *, most_of_band: Callable[[int], int]) -> None:
        super().__init__()
        self._most_of_band = most_of_band

    @classmethod
    def least(cls, *, short: bool) -> int:
        """The rows that are left to them by what is asked."""
        return cls._SHORT_LEAST if short else cls._LEAST

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the fields take, up to their part of the screen and what the band has left of its own."""
        needed = super().get_content_height(container, viewport, width)
        left = max(self._LEAST, self._most_of_band(viewport.height) - self.around)
        return min(needed, max(1, int(viewport.height * self._SHARE)), left)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)


class Asked(Vertical):
    """The question, as high as its text, up to the rows that fields and answers leave of the band; the rest scrolls."""

    DEFAULT_CSS = """
    Asked { height: auto; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    _LEAST = 2  # rows
    around = 0  # rows of the title, the least of the fields, and what can be done

    def __init__(self, *said: Widget, most_of_band: Callable[[int], int]) -> None:
        super().__init__(*said)
        self._most_of_band = most_of_band

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the words take, up to what is left for them."""
        return min(super().get_content_height(container, viewport, width), self.most(viewport.height))

    def most(self, height: int) -> int:
        """The rows that it takes at most on a screen of this height."""
        return max(self._LEAST, self._most_of_band(height) - self.around)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)


class ElicitationBand(Band):
    """The band of a form or a web page, which has more to say than a question."""

    share = 0.7


class ElicitationPanel(Vertical, can_focus=True):
    """The first open question of a tab, where that is a form or a web page."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            next_field="step(1)",
            previous_field="step(-1)",
            take_field="take",
            decline="decline",
            scroll_up="read_on(-1)",
            scroll_down="read_on(1)",
        )
    ]
    DEFAULT_CSS = """
    ElicitationPanel {
        height: auto;
        display: none;
        &.-asked { display: block; }
        & Asked > Static { height: auto; }
        & FieldRow { margin-bottom: 1; }
        & FieldRow.-last { margin-bottom: 0; }
        & FormEnding { margin-top: 1; }
        &.-short Fields, &.-short FormEnding { margin-top: 0; }
        &.-short FieldRow { margin-bottom: 0; }
        &.-short FieldRow { display: none; }
        &.-short FieldRow.-current { display: block; }
    }
    """

    class Answered(Message):
        """The person answered, or dismissed a page that is open."""

        def __init__(self, ask: ElicitationOpened, answer: ElicitationAnswer) -> None:
            super().__init__()
            self.ask = ask
            self.answer = answer

    class PageWanted(Message):
        """The person wants to open this web address, which is plain http or https in ASCII."""

        def __init__(self, address: str) -> None:
            super().__init__()
            self.address = address

    class Typed(Message):
        """The input of the form changed."""

    class Mistyped(Message):
        """A text about a key without a meaning here."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        *,
        give_keys: Callable[[], None],
        id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``give_keys`` gives the keys to the composer, when what had them is closed."""
        super().__init__(id=id)
        self._give_keys = give_keys
        self._clock = clock
        self._ask: ElicitationOpened | None = None
        self._draft: FormDraft | None = None
        self._sent = ""  # the id of what was answered here and is not closed yet
        self._waiting = 0
        self.standing = Standing(self, clock)
        self._stray = float("-inf")  # when a letter came that means nothing here
        self._rows: list[FieldRow] = []
        self.pace = KeyPace()  # of the keys, wherever they went
        self._said = Static("", markup=False)
        self._asked = Asked(self._said, most_of_band=lambda height: self.band.most(height))
        self._fields = Fields(most_of_band=lambda height: self.band.most(height))
        self._ending = FormEnding("asking")
        self.band = ElicitationBand("asking", self._asked, self._fields, self._ending, id="elicited")

    def compose(self) -> ComposeResult:
        """Yield the question, its fields, and what can be done with it."""
        yield self.band

    @property
    def ask(self) -> ElicitationOpened | None:
        """The form or web page that is shown."""
        return self._ask

    @property
    def typing(self) -> bool:
        """True while a field of a form has the keys."""
        return self._current is not None

    def show(
        self, asks: Sequence[Question], draft_of: Callable[[ElicitationOpened], FormDraft | None]
    ) -> None:
        """Show the first of the open questions if it is a form or a web page, with what was filled in."""
        from catena_acp.continuity.conversation_events import ElicitationOpened

        first = asks[0] if asks else None
        ask = first if isinstance(first, ElicitationOpened) else None
        if ask == self._ask and len(asks) == self._waiting:
            return
        before, self._ask, self._waiting = self._ask, ask, len(asks)
        self.set_class(ask is not None, "-asked")
        if ask is None or before is None or ask.ask_id != before.ask_id:
            self._draft = draft_of(ask) if ask else None
            self._make_rows()
            self.standing.changed()
        self._lay_out()

    def _make_rows(self) -> None:
        """Make the rows of the form."""
        if self.has_focus_within:
            self._give_keys()
        self._rows = []
        if self._draft is not None:
            from catena.widgets.fields.form_fields import FieldRow

            draft = self._draft
            required = any(field.label.required for field in draft.form.fields)
            self._rows = [
                FieldRow(
                    field,
                    draft.inputs[field.label.name],
                    optional=required and not field.label.required,
                    place=f"field {number} of {len(draft.form.fields)}",
                )
                for number, field in enumerate(draft.form.fields, start=1)
            ]
            for row in self._rows:
                row.say(draft.errors.get(row.field.label.name, ""))
        self._fields.remove_children()
        self._fields.display = bool(self._rows)
        if self._rows:
            self._rows[-1].add_class("-last")
            self._fields.mount(*self._rows)
        self._mark(self._draft.current if self._draft else 0)

    def on_resize(self) -> None:
        """Lay out the words and the fields for the room that there is, with the field that has the keys in sight."""
        self._lay_out()
        self.band.refresh(layout=True)
        self.call_after_refresh(self._show_current)

    def _show_current(self) -> None:
        if (row := self._current) is not None:
            row.control.scroll_visible(animate=False, force=True)

    def _fit(self) -> None:
        size = self.screen.size
        self.set_class(size.height < SHORT, "-short")
        for row in self._rows:
            row.fit(short=size.height < SHORT, narrow=size.width < _NARROW)

    def on_descendant_focus(self) -> None:
        """Show which field has the keys."""
        if (row := self._current) is not None:
            self._mark(self._rows.index(row))
        self._lay_out()

    def on_descendant_blur(self) -> None:
        """Say how to get here while the keys are elsewhere."""
        self._lay_out()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say how to get here while the keys are elsewhere."""
        super().watch_has_focus(has_focus)
        self._lay_out()

    @property
    def _current(self) -> FieldRow | None:
        focused = self.screen.focused if self.is_attached else None
        return next((row for row in self._rows if row.control is focused), None) if focused else None

    def _mark(self, index: int) -> None:
        for number, row in enumerate(self._rows):
            row.set_class(number == index, "-current")
        if self._draft is not None:
            self._draft.current = index

    # --- what is shown

    def _lay_out(self) -> None:
        ask = self._ask
        if ask is None or not self.is_attached:
            return
        self._fit()
        short = self.has_class("-short")
        agent, message = safe_line(ask.agent_title), ask.request.message
        asks = f"{agent} goes on when you are done there" if ask.opened else f"{agent} asks"
        words = BandWords(f"{asks}: {safe_line(message)}", right=tuple(self._beside()))
        in_title = short and not self.band.text.cuts(words)
        said = [*self._said_lines("" if in_title else message)]
        self._said.update(Content("\n").join(said))
        self._asked.display = bool(said)
        endings = tuple(self._endings())
        self._ending.show(BandWords("", choices=endings))
        width = max(1, self.band.content_size.width)
        rows = sum(len(line.wrap(width)) if line else 1 for line in said)
        # The title, and what can be done.
        around = 1 + len(self._ending.lines(width)) + (0 if short else _BLANKS)
        self._asked.around = around + (Fields.least(short=short) if self._rows else 0)
        most = self._asked.most(self.screen.size.height)
        self._fields.around = around + min(rows, most)
        if not in_title:
            words = replace(words, title=asks, right=tuple(self._beside(more=rows > most)))
        self.band.text.show(words)

    def _beside(self, *, more: bool = False) -> Iterator[Choice]:
        """What stands beside the title: how to read the rest, how many wait, how to get here."""
        if more and self.has_focus_within:
            yield Choice("", keys_of(self).shown("scroll_down"), "more")
        if self._waiting > 1:
            yield Choice("", "", f"1 of {self._waiting}")
        if not self.has_focus_within:
            yield Choice("", keys_of(self).shown("complete"), "to answer")

    def _said_lines(self, message: str) -> Iterator[Content]:
        if message.strip():
            yield from map(Content, safe(message).strip().split("\n"))
        if self._draft is not None:
            form = self._draft.form
            for text in (form.title, form.description):
                if text.strip():
                    yield Content.styled(safe_line(text), "$muted")
            if not form.can_be_sent:
                yield Content.styled(
                    "The agent needs a field that Catena cannot show: decline it.", "$asking"
                )
        elif (page := self._page) is not None:
            if message.strip():
                yield Content("")
            yield from _page_lines(page)

    @property
    def _page(self) -> WebPage | None:
        from catena_acp.port.elicitation.requests import WebPage

        request = self._ask.request if self._ask else None
        return request if isinstance(request, WebPage) else None

    def _endings(self) -> Iterator[Choice]:
        """What can be done with the whole, with its keys where they do that: in a field they may be the field's."""
        opened, keys, row = self._ask is not None and self._ask.opened, keys_of(self), self._current
        sends = row is None or row.control is self._stops()[-2]  # else Enter goes to the next field
        take = keys.shown("take_field") if sends else ""
        decline = "" if row is not None and row.is_typed else keys.shown("decline")
        if self._draft is not None:
            if self._draft.form.can_be_sent:
                yield Choice(_SEND, take, "Send")
        elif self._address():
            yield Choice(_SEND, take, "Open again" if opened else "Open in the browser")
        yield Choice(_DECLINE, decline, "Dismiss" if opened else "Decline")

    def _address(self) -> str:
        """The address that may be opened; "" if there is none."""
        from catena_acp.port.elicitation.requests import address_of

        return address_of(self._page.url).opens if self._page else ""

    # --- keys

    def enter(self) -> None:
        """Focus the field that had the keys last, or what can be done with the whole."""
        stops = self._stops()
        current = self._draft.current if self._draft else 0
        wanted = self._rows[current].control if current < len(self._rows) else None
        self.screen.set_focus(wanted if wanted in stops else stops[0])

    def _stops(self) -> list[Widget]:
        """The widgets that the keys can go to, in order."""
        return [
            *(row.control for row in self._rows if row.control.focusable or row.control.can_focus),
            self._ending,
        ]

    def action_step(self, step: int) -> None:
        """Go to the next or previous field; the one that is left is checked. Without fields, what is asked scrolls."""
        if not self._rows:
            self._scrolled(step).scroll_relative(y=step, animate=False)
            self.screen.set_focus(self._ending, scroll_visible=False)
            return
        self._check_current()
        stops = self._stops()
        focused = self.screen.focused
        at = stops.index(focused) if focused in stops else -1
        target = stops[max(0, at + step) if step < 0 else (at + step) % len(stops)]
        if target is self._ending:
            self._mark(len(self._rows) - 1)
        else:
            index = next(number for number, row in enumerate(self._rows) if row.control is target)
            self._mark(index)
        self.screen.set_focus(target)

    def action_read_on(self, step: int) -> None:
        """Scroll what is asked by what is seen of it; if there is no more of it, the transcript scrolls."""
        part = self._scrolled(step)
        if self._ask is None or not _goes_on(part, step):
            raise SkipAction
        part.scroll_relative(y=step * max(1, part.size.height - 1), animate=False)

    def _scrolled(self, step: int) -> Widget:
        """What scrolls in a direction: what is asked, and at its end the whole band."""
        return self._asked if _goes_on(self._asked, step) else self.band

    def _check_current(self) -> None:
        from catena_acp.port.elicitation.checks import check

        if (row := self._current) is None or self._draft is None:
            return
        name = row.field.label.name
        given = self._draft.inputs.get(name)
        error = check(row.field, given).error if given not in (None, "", ()) else ""
        self._say(row, error)

    def _say(self, row: FieldRow, error: str) -> None:
        if self._draft is not None:
            self._draft.errors[row.field.label.name] = error
        row.say(error)

    def on_field_row_changed(self, event: FieldRow.Changed) -> None:
        """Keep what is filled in; what was wrong with it is not said any more."""
        event.stop()
        if self._draft is not None:
            self._draft.inputs[event.field.label.name] = event.value
            row = next((row for row in self._rows if row.field is event.field), None)
            if row is not None:
                self._say(row, "")
            self.post_message(self.Typed())

    def on_stepped(self, event: Stepped) -> None:
        """Leave a list of choices at its edge."""
        event.stop()
        self.action_step(event.step)

    def on_entered(self, event: Entered) -> None:
        """Go on from a field, or send from the last one."""
        event.stop()
        row = self._current
        if row is not None and row.control is not self._stops()[-2]:
            self.action_step(1)
        else:
            self._check_current()
            self.action_take()

    def action_take(self) -> None:
        """Send the form, or open the page; not by an Enter right behind a letter that means nothing here."""
        if self._clock() - self._stray < APART:
            self.post_message(self.Mistyped(_TOO_FAST))
        elif self._stands(self.pace.read_at or self._clock()):
            self._take()

    def _stands(self, pressed_at: float) -> bool:
        """False for a key or a click that may be meant for what stood there before."""
        stands = self.standing.holds(pressed_at)
        if not stands:
            self.post_message(self.Mistyped(JUST_ASKED))
        return stands

    def _take(self) -> None:
        ask, draft = self._ask, self._draft
        if ask is None or ask.ask_id == self._sent:
            return
        if draft is None:
            self._open(ask)
        elif not draft.form.can_be_sent:
            self.post_message(
                self.Mistyped(
                    keys_of(self).said("This form cannot be sent from here. Decline it with {decline}.")
                )
            )
        else:
            self._send(ask, draft)

    def _send(self, ask: ElicitationOpened, draft: FormDraft) -> None:
        from catena_acp.port.elicitation.checks import content_of
        from catena_acp.port.elicitation.requests import ElicitationAnswer

        content, errors = content_of(draft.form, draft.inputs)
        for row in self._rows:
            self._say(row, errors.get(row.field.label.name, ""))
        wrong = next((row for row in self._rows if row.field.label.name in errors), None)
        if wrong is None:
            self._sent = ask.ask_id
            self.post_message(self.Answered(ask, ElicitationAnswer("accept", content)))
            return
        self._mark(self._rows.index(wrong))
        self.screen.set_focus(wrong.control)

    def _open(self, ask: ElicitationOpened) -> None:
        from catena_acp.port.elicitation.requests import ElicitationAnswer

        if address := self._address():
            self.post_message(self.PageWanted(address))
            if not ask.opened:
                self.post_message(self.Answered(ask, ElicitationAnswer("accept")))
            self._give_keys()  # what is to be done is done elsewhere
        else:
            self.post_message(
                self.Mistyped(keys_of(self).said("This address is not opened. Decline it with {decline}."))
            )

    def _say_no(self, template: str) -> None:
        self.post_message(self.Mistyped(keys_of(self).said(template)))

    def action_decline(self) -> None:
        """Decline, if the key was meant for itself."""
        if not self.pace.alone:
            self.post_message(self.Mistyped(_TOO_FAST))
        elif self._stands(self.pace.read_at or self._clock()):
            self._decline()

    def _decline(self) -> None:
        from catena_acp.port.elicitation.requests import DECLINE

        if self._ask is not None and self._ask.ask_id != self._sent:
            self._sent = self._ask.ask_id
            self.post_message(self.Answered(self._ask, DECLINE))

    def on_band_chosen(self, event: Band.Chosen) -> None:
        """Treat a click on an option as its key; a click beside the options focuses the form."""
        event.stop()
        match event.name:
            case "enter" if self._stands(self._clock()):
                self._take()
            case "d" if self._stands(self._clock()):
                self._decline()
            case "enter" | "d":
                pass
            case _ if not self.has_focus_within:
                self.enter()
            case _:
                pass

    def on_key(self, event: events.Key) -> None:
        """Swallow letters without a binding: they must not be typed elsewhere."""
        if not event.is_printable:
            return
        event.prevent_default()
        keys = keys_of(self)
        chooses = any(event.key in keys.names(name) for name in _CHOOSING)
        if not (chooses and self.typing) and event.key not in keys.names("decline"):
            self._stray = self._clock()


def _goes_on(part: Widget, step: int) -> bool:
    """True if there is more of a part in a direction than is seen."""
    return part.display and (part.scroll_y > 0 if step < 0 else part.scroll_y < part.max_scroll_y)


_NARROW = 60  # cells of a screen below which what is filled in stands below its label


def _page_lines(page: WebPage) -> Iterator[Content]:
    """A web address, whole, where it leads, and what is odd about it."""
    from catena_acp.port.elicitation.requests import address_of, visible

    address = address_of(page.url)
    yield Content.styled(safe(visible(page.url)).replace("\n", "␊"), "$foreground")
    if address.host:
        yield Content.assemble(("Host: ", "$muted"), (safe_line(address.host), "bold"))
    if address.punycode:
        yield Content.styled(
            f"Not plain ASCII: it is {address.punycode}. Look-alikes are written like this.", "$asking"
        )
    if address.spoken:
        yield Content.styled(
            f"It reads {safe_line(address.spoken)}. Look-alikes are written like this.", "$asking"
        )
    if address.refusal:
        yield Content.styled(f"{address.refusal} It is not opened.", "$failure")
    elif not address.encrypted:
        yield Content.styled("The connection is not encrypted (http).", "$asking")
