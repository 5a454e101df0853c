"""The question before a fork, a retry or files: what it is, its price, and the keys that do it or cancel it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from catena.keys.bindings import bindings, keys_of
from catena.terminal.times import JUST_ASKED, KeyPace, Standing
from catena.widgets.band import Band, BandWords, Choice

ENTER = "enter"
_CANCEL = "esc"
_TOO_FAST = "Press again to confirm."
_NOTHING_TYPED = "You cannot type here: {branch_do} confirms, {stop} cancels."
_ONLY_LEFT = "You cannot type here: {stop} cancels."
FILES, SHOW, FINISH, TAKE_BACK = "files", "show", "finish", "take back"
_ACTIONS = {  # of the table of keys
    ENTER: "branch_do",
    "agent": "branch_agent",
    "other": "branch_beside",
    FILES: "branch_files",
    SHOW: "branch_show_files",
    FINISH: "branch_finish",
    TAKE_BACK: "branch_take_back",
}


@dataclass(frozen=True, slots=True)
class ForkOption:
    """A key besides Enter, and what it does; ``short``: the same in fewer cells."""

    key: str
    does: str
    short: str = ""


@dataclass(frozen=True, slots=True)
class ForkQuestion:
    """The question before a branch is made."""

    title: str
    price: str
    enter: str  # what Enter does; "" for nothing
    others: Sequence[ForkOption] = ()
    note: str = ""
    leave: str = "Cancel"  # what Esc does


class ForkPanel(Band, can_focus=True):
    """The question before a fork or retry, focused while it is open; a click on an option acts like its key.

    A letter decides nothing as part of a word, or before the question has stood for a moment, nor does Enter right
    behind words: they were typed before the question was read.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(**{name: f"decide({key!r})" for key, name in _ACTIONS.items()})
    ]
    DEFAULT_CSS = """
    ForkPanel {
        display: none;
        &.-asking-now { display: block; }
    }
    """

    class Mistyped(Message):
        """A text about a key without a meaning here."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        *,
        give_keys: Callable[[], None] = lambda: None,
        changed: Callable[[], None] = lambda: None,
        id: str | None = None,
    ) -> None:
        """``give_keys`` moves the focus when the fork is decided; ``changed``: a question was opened or closed."""
        super().__init__("accent", id=id)
        self._give_keys = give_keys
        self._changed = changed
        self._question: ForkQuestion | None = None
        self._answer: asyncio.Future[str | None] | None = None
        self.had_keys = False  # the focus, when it was closed
        self.standing = Standing(self, time.monotonic)
        self.pace = KeyPace()  # of the keys, wherever they went
        self._words_came = False  # letters that mean nothing here, since it was opened

    @property
    def open(self) -> bool:
        """True while a question is open."""
        return self._question is not None

    @property
    def confirms(self) -> bool:
        """True while Enter decides the open question."""
        return self._question is not None and bool(self._question.enter)

    async def ask(self, question: ForkQuestion) -> str | None:
        """Ask, and wait for a key: `enter` or one of the others; None if the person cancels."""
        self._resolve(None)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._words_came = False
        self._show(question)
        self.standing.changed()
        self.screen.set_focus(self)
        return await answer

    def say_anew(self, question: ForkQuestion) -> None:
        """Ask the open question in other words: more of it is known."""
        if self._answer is not None:
            self._show(question)

    def leave(self) -> None:
        """Cancel: no branch is made."""
        self._resolve(None)

    def _resolve(self, key: str | None) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        if not answer.done():
            answer.set_result(key)
        self.had_keys = self.has_focus
        self._show(None)

    def _show(self, question: ForkQuestion | None) -> None:
        self._question = question
        self.set_class(question is not None, "-asking-now")
        if question is not None:
            keys = keys_of(self)
            others = [
                Choice(other.key, keys.shown(_ACTIONS[other.key]), other.does, short=other.short)
                for other in question.others
            ]
            self.text.show(
                BandWords(
                    question.title,
                    note=question.note,
                    choices=(
                        *(
                            [Choice(ENTER, keys.shown(_ACTIONS[ENTER]), question.enter, price=question.price)]
                            if question.enter
                            else []
                        ),
                        *others,
                        Choice(_CANCEL, keys.shown("stop"), question.leave),
                    ),
                )
            )
        self._changed()

    def on_key(self, event: events.Key) -> None:
        """Swallow letters that decide nothing: they must not be typed elsewhere."""
        if not event.is_printable:
            return
        event.prevent_default()
        if not any(event.key in keys_of(self).names(_ACTIONS[key]) for key in _ACTIONS if self._offers(key)):
            self._words_came = True
            self.post_message(
                self.Mistyped(keys_of(self).said(_NOTHING_TYPED if self.confirms else _ONLY_LEFT))
            )

    def on_blur(self) -> None:
        """Cancel: a key that is pressed elsewhere must not decide it."""
        if self.app.app_focus:
            self._resolve(None)

    def on_band_chosen(self, event: Band.Chosen) -> None:
        """Do what the clicked option's key does."""
        event.stop()
        if event.name == _CANCEL:
            self._resolve(None)
        elif event.name:
            self._decide(event.name)

    def action_decide(self, key: str) -> None:
        """Answer with the key, if the question offers it and the key was meant for itself."""
        why_not = self._why_not(key) if self._offers(key) else ""
        if why_not:
            self._words_came = True
            self.post_message(self.Mistyped(why_not))
        else:
            self._decide(key)

    def _why_not(self, key: str) -> str:
        """Say why a letter, or Enter behind words, decides nothing; nobody types a function key by mistake."""
        if not (self._words_came if key == ENTER else self.pace.printable):
            return ""
        if not self.pace.alone:
            return _TOO_FAST
        return "" if key == ENTER or self.standing.holds(self.pace.read_at) else JUST_ASKED

    def _offers(self, key: str) -> bool:
        question = self._question
        if question is None:
            return False
        return (key == ENTER and bool(question.enter)) or any(key == other.key for other in question.others)

    def _decide(self, key: str) -> None:
        if self._offers(key):
            self._resolve(key)
            if key == ENTER:
                self._give_keys()
