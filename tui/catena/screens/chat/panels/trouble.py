"""The trouble panel: what is wrong in the tab, and what one key can do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, assert_never

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from catena.text.safe_text import safe_line
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Offer

if TYPE_CHECKING:  # not needed before there is trouble
    from catena.workspace.trouble import StandingTrouble


KEYS: dict[Offer, str] = {
    Offer.RETRY: "r",
    Offer.WAIT: "w",
    Offer.LOGIN: "l",
    Offer.OTHER_AGENT: "a",
    Offer.LAST_LINES: "e",
    Offer.TAKE_OVER: "t",
}
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class TroubleWords:
    """The words of the panel at one moment."""

    line: str
    offers: tuple[tuple[Offer, str], ...] = ()  # best first, with what each does
    note: str = ""  # what goes on by itself


def words_of(standing: StandingTrouble, now: datetime, *, busy: bool) -> TroubleWords | None:
    """The words for a trouble now; None if a running turn makes it stale."""
    problem, held = standing.problem, standing.held(now)
    if busy or standing.gone_on:
        if held:
            return TroubleWords(problem.text)
        return None if busy else TroubleWords(_passed(problem.resets_at, now))
    offers = [offer for offer in problem.offers if held or offer is not Offer.WAIT]
    if standing.waits_until is not None:
        note = _again(problem.resets_at, standing.waits_until, now)
        return TroubleWords(problem.text, _worded(standing, offers, now), note)
    if problem.resets_at is not None and not held:
        return TroubleWords(_passed(problem.resets_at, now), _worded(standing, offers, now))
    return TroubleWords(problem.text, _worded(standing, offers, now))


def changes_in(standing: StandingTrouble, now: datetime) -> float | None:
    """Seconds until the words change by themselves; None if they do not."""
    if (until := standing.waits_until) is not None and until > now:
        left = until - now
        step = _MINUTE if left > _MINUTE else timedelta(seconds=1)
        return (left % step).total_seconds() or step.total_seconds()
    if standing.held(now) and standing.problem.resets_at is not None:
        return (standing.problem.resets_at - now).total_seconds()
    return None


def _worded(
    standing: StandingTrouble, offers: Sequence[Offer], now: datetime
) -> tuple[tuple[Offer, str], ...]:
    return tuple((offer, _does(offer, standing, now)) for offer in offers)


def _does(offer: Offer, standing: StandingTrouble, now: datetime) -> str:
    waiting = standing.waits_until is not None
    match offer:
        case Offer.RETRY if waiting:
            return "retry now"
        case Offer.RETRY:
            return "retry"
        case Offer.WAIT if waiting:
            return "do not wait"
        case Offer.WAIT:
            resets_at = standing.problem.resets_at
            return f"wait and retry at {format_time(resets_at, now)}" if resets_at else "wait"
        case Offer.LOGIN:
            return "log in"
        case Offer.OTHER_AGENT:
            return "another agent"
        case Offer.LAST_LINES:
            return "error output"
        case Offer.TAKE_OVER:
            return "take over"
        case _:
            assert_never(offer)


def _passed(resets_at: datetime | None, now: datetime) -> str:
    return f"The limit reset at {format_time(resets_at, now)}." if resets_at else ""


def _again(resets_at: datetime | None, until: datetime, now: datetime) -> str:
    if until <= now:
        return "retrying now"
    return f"retries at {format_time(resets_at or until, now)} · in {duration(until - now)}"


def duration(left: timedelta) -> str:
    """A duration as a person reads it: `42 s`, `12 min`, `3 h 5 min`."""
    if left <= _MINUTE:
        return f"{-(-left // timedelta(seconds=1))} s"
    minutes = left // _MINUTE
    if left < _HOUR:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


_LONGEST_NAP = 30.0  # seconds between two looks at the clock; it may have been set, or the machine slept
_TEXT_LINES = 3
_TAB = " tab"
_NARROW = 60
_SHORT = 15


def _now() -> datetime:
    return datetime.now(UTC)


class TroublePanel(Widget, can_focus=True):
    """One trouble. Its keys answer only while it has the focus; a click on an offer takes it."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "take('retry')", "retry", id="trouble.retry"),
        Binding("w", "take('wait')", "wait, do not wait", id="trouble.wait"),
        Binding("l", "take('login')", "log in", id="trouble.login"),
        Binding("a", "take('other_agent')", "another agent", id="trouble.agent"),
        Binding("e", "take('last_lines')", "error output", id="trouble.last_lines"),
        Binding("t", "take('take_over')", "take over", id="trouble.take_over"),
        Binding("tab", "leave", "back to the composer", id="trouble.leave"),
    ]
    DEFAULT_CSS = """
    TroublePanel {
        height: auto;
        display: none;
        border-top: solid $asking;
        padding: 0 1;
        &.-troubled { display: block; }
        &:focus { border-top: solid $asking; }
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
        super().__init__(id=id)
        self._clock = clock
        self._standing: StandingTrouble | None = None
        self._busy = False
        self._warning = ""
        self._words: TroubleWords | None = None
        self._places: list[tuple[int, int, int, Offer]] = []  # line, first column, column behind it
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
        self.refresh(layout=True)

    def _words_now(self) -> TroubleWords | None:
        standing = self._standing
        if not self._warning and standing is None:
            return None

        if self._warning:
            return TroubleWords(self._warning)
        if standing is None:
            return None
        now = self._clock()
        if (seconds := changes_in(standing, now)) is not None:
            self._timer = self.set_timer(min(seconds, _LONGEST_NAP) + 0.01, self._look)
        return words_of(standing, now, busy=self._busy)

    # Drawing.

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the words take."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The line, and the offers with their keys."""
        return Content("\n").join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> list[Content]:
        words = self._words
        self._places = []
        if words is None or width < 1:
            return [Content("")]
        screen = self.screen.size
        if (screen.width < _NARROW or screen.height < _SHORT) and not self.has_focus:
            return [self._one_line(words, width)]
        said = list(Content(safe_line(words.line)).wrap(max(1, width - 2)))
        if len(said) > _TEXT_LINES:
            said = said[:_TEXT_LINES]
            said[-1] = (said[-1] + Content(" …")).truncate(max(1, width - 2), ellipsis=True)
        mark = Content.styled("! ", "$asking")
        lines = [(Content("  ") if at else mark) + line for at, line in enumerate(said)]
        if words.note or words.offers:
            lines += self._packed(words, width, after=len(lines))
        return lines

    def _one_line(self, words: TroubleWords, width: int) -> Content:
        """One line for a narrow screen: what happened or goes on by itself, and the keys."""
        keys = [(offer, _key(offer)) for offer, _ in words.offers]
        room = width - sum(len(key) + 1 for _, key in keys) - (len(_TAB) if keys else 0)
        said = Content.assemble(("! ", "$asking"), safe_line(words.note or words.line))
        line = said.truncate(max(1, room), ellipsis=True)
        if not keys:
            return line
        line += Content(" " * max(0, room - line.cell_length)) + Content.styled(_TAB, "$asking")
        for offer, key in keys:
            self._places.append((0, line.cell_length + 1, line.cell_length + 1 + len(key), offer))
            line = Content.assemble(line, " ", (key, "$muted"))
        return line

    def _packed(self, words: TroubleWords, width: int, *, after: int) -> list[Content]:
        """The note and the offers in as many lines as they need, each in one of them."""
        lit = self.has_focus
        pieces: list[tuple[Offer | None, Content]] = []
        if words.note:
            pieces.append((None, Content(safe_line(words.note))))
        if words.offers and not lit:
            pieces.append((None, Content.styled("tab to choose", "$asking")))
        for offer, does in words.offers:
            key = Content.styled(_key(offer), "$accent" if lit else "$faint")
            pieces.append((offer, Content.assemble(key, f" {safe_line(does)}")))
        lines: list[Content] = []
        for taken, piece in pieces:
            if lines and lines[-1].cell_length + 3 + piece.cell_length <= width:
                start = lines[-1].cell_length + 3
                lines[-1] = Content.assemble(lines[-1], "   ", piece)
            else:
                start = 0
                lines.append(piece)
            if taken is not None:
                self._places.append((after + len(lines) - 1, start, start + piece.cell_length, taken))
        return lines

    def on_focus(self) -> None:
        """Light the offers: keys answer now."""
        self.refresh(layout=True)

    def on_blur(self) -> None:
        """Dim the offers: keys do not answer."""
        self.refresh(layout=True)

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

    def on_click(self, event: events.Click) -> None:
        """Take the offer that was clicked."""
        at = event.get_content_offset(self)
        if at is None:
            return
        for line, start, end, offer in self._places:
            if at.y == line and start <= at.x < end:
                self.post_message(self.Taken(offer))
                return

    def on_key(self, event: events.Key) -> None:
        """Swallow letters without a binding: they must not be typed elsewhere."""
        if event.is_printable:
            event.prevent_default()

    def _offered(self) -> Sequence[tuple[Offer, str]]:
        return self._words.offers if self._words is not None else ()


def _key(offer: Offer) -> str:

    return KEYS[offer]
