"""The trouble panel: what is wrong in the tab, and what one key can do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer

from catena.keys.bindings import bindings, keys_of
from catena.terminal.times import call_after
from catena.text.safe_text import safe_line
from catena.widgets.band import Band, BandWords, Choice
from catena.workspace.trouble import TroubleWords, changes_in, words_of
from catena_acp.trouble.troubles import Offer

if TYPE_CHECKING:  # not needed before there is trouble
    from catena.workspace.trouble import StandingTrouble


KEY_ACTIONS: dict[Offer, str] = {  # of the table of keys
    Offer.RETRY: "trouble_retry",
    Offer.WAIT: "trouble_wait",
    Offer.LOGIN: "trouble_login",
    Offer.OTHER_AGENT: "trouble_agent",
    Offer.LAST_LINES: "trouble_stderr",
    Offer.TAKE_OVER: "trouble_takeover",
}
_IN_BRIEF = {Offer.WAIT: "Wait", Offer.OTHER_AGENT: "Other agent"}  # where offers share rows
_LONGEST_NAP = 30.0  # seconds between two looks at the clock; it may have been set, or the machine slept
_NEXT_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=[A-Z`“])")


def _now() -> datetime:
    return datetime.now(UTC)


class TroublePanel(Band, can_focus=True):
    """One trouble. Its keys answer only while it has the focus; a click on an offer takes it."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            trouble_retry="take('retry')",
            trouble_wait="take('wait')",
            trouble_login="take('login')",
            trouble_agent="take('other_agent')",
            trouble_stderr="take('last_lines')",
            trouble_takeover="take('take_over')",
            trouble_leave="leave",
        )
    ]
    DEFAULT_CSS = """
    TroublePanel {
        display: none;
        &.-troubled { display: block; }
    }
    """

    class Taken(Message):
        """The person takes an offer."""

        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer = offer

    class Mistyped(Message):
        """A text about a key without a meaning here."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The panel is hidden while it has the focus."""

    def __init__(self, *, clock: Callable[[], datetime] = _now, id: str | None = None) -> None:
        super().__init__("failure", id=id)
        self._clock = clock
        self._standing: StandingTrouble | None = None
        self._busy = False
        self._warning = ""
        self._words: TroubleWords | None = None
        self._prices: tuple[StandingTrouble, Mapping[Offer, str]] | None = None
        self._timer: Timer | None = None

    @property
    def open(self) -> bool:
        """True while it is on the screen."""
        return self._words is not None

    @property
    def words(self) -> TroubleWords | None:
        """The words that are shown."""
        return self._words

    @property
    def can_act(self) -> bool:
        """True while it offers something."""
        return self._words is not None and bool(self._words.offers)

    def show(self, standing: StandingTrouble | None, *, busy: bool = False, warning: str = "") -> None:
        """Show this trouble; ``busy``: a turn runs; a ``warning`` takes precedence."""
        if (standing, busy, warning) != (self._standing, self._busy, self._warning):
            self._standing, self._busy, self._warning = standing, busy, warning
            self._look()

    def show_prices(self, standing: StandingTrouble, prices: Mapping[Offer, str]) -> None:
        """Show what it takes to send the prompt of this trouble again, by the offers that do."""
        self._prices = (standing, prices)
        self._lay_out()

    def _look(self) -> None:
        """Show the words for now, and update them when they change."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        words = self._words_now()
        if words == self._words:
            return
        self._words = words
        if words is None and self.has_focus:
            self.post_message(self.Left())
        self.set_class(words is not None, "-troubled")
        self._lay_out()

    def _words_now(self) -> TroubleWords | None:
        if self._warning:
            return TroubleWords(self._warning)
        standing = self._standing
        if standing is None:
            return None
        now = self._clock()
        if (seconds := changes_in(standing, now)) is not None:
            self._timer = call_after(self, min(seconds, _LONGEST_NAP) + 0.01, self._look)
        return words_of(standing, now, busy=self._busy)

    # Drawing.

    def _lay_out(self) -> None:
        """Lay out what happened, what it means, and the offers with their keys."""
        words = self._words
        if words is None:
            return
        happened, *means = _NEXT_SENTENCE.split(safe_line(words.line), maxsplit=1)
        priced, prices = self._prices or (None, {})
        if priced is not self._standing:
            prices = {}
        keys = keys_of(self)
        tab = () if self.has_focus or not words.offers else (Choice("", keys.shown("complete"), "to choose"),)
        choices = tuple(
            Choice(
                offer,
                keys.shown(KEY_ACTIONS[offer]),
                does,
                price=prices.get(offer, ""),
                short=_IN_BRIEF.get(offer, ""),
            )
            for offer, does in words.offers
        )
        self.text.show(BandWords(happened, words.note, " ".join(means), choices, tab))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say how to get here while keys do not answer."""
        super().watch_has_focus(has_focus)
        self._lay_out()

    # Acting.

    def action_leave(self) -> None:
        """Return the focus to the composer."""
        self.post_message(self.Left())

    def action_take(self, offer: str) -> None:
        """Take this offer, if it is one."""
        for offered, _ in self._offered():
            if offered == offer:
                self.post_message(self.Taken(offered))
                return
        self.post_message(self.Mistyped("Not offered here. Press one of the letters shown."))

    def on_band_chosen(self, event: Band.Chosen) -> None:
        """Take the offer that was clicked."""
        event.stop()
        if event.name:
            self.action_take(event.name)

    def on_key(self, event: events.Key) -> None:
        """Swallow letters without a binding: they must not be typed elsewhere."""
        if event.is_printable:
            event.prevent_default()

    def _offered(self) -> Sequence[tuple[Offer, str]]:
        return self._words.offers if self._words is not None else ()
