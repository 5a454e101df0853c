"""The words on the edges of the composer's box: above, what it does; below, to whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message

from catena.keys.keymap import KeyMap
from catena.text.safe_text import safe_line
from catena.widgets.hint_line import Hint, hint_words
from catena.widgets.typing_box import EdgeWord, TypingBox

if TYPE_CHECKING:
    from catena.workspace.tab import TurnsElsewhere

CHIP = "chip"
CANCEL = "cancel"
_TYPING = "INSERT"
SPINNER = "◐◓◑◒"
_LONGEST_NAME = 32  # cells
FRAMES_A_SECOND = 4


class EditLeft(Message):
    """The person wants the draft back that an edit stands in the place of."""


@dataclass(frozen=True, slots=True)
class Status:
    """Whom the composer writes to, and what goes on there."""

    agent: str = ""
    model: str = ""
    mode: str = ""
    modes: int = 0  # that the agent offers
    unasked: bool = False  # the mode lets the agent act without asking
    context: str = ""  # how much of it is used, where the agent reports that
    cost: str = ""
    directory: str = ""  # of an empty conversation
    price: str = ""  # of the next prompt, where that sends more than itself,
    price_in_brief: str = ""  # the same where there is little room,
    price_in_a_word: str = ""  # and where there is none beside the text
    doing: str = ""  # in words, but for work
    ways: str = ""  # what can be done about it
    busy: bool = False
    working: bool = False  # on a prompt
    asking: bool = False  # it waits for the person's answer
    background: int = 0  # work that outlives its turn


@dataclass(frozen=True, slots=True)
class EditWords:
    """The edit of a prompt in words."""

    at: str
    price: str
    price_in_brief: str
    version: str = ""  # the version that stays as it is, such as `2/3`
    stops_turn: bool = False


@dataclass(frozen=True, slots=True)
class Away:
    """How far the transcript is from its end."""

    rows: int
    answered: bool = False  # the turn has ended meanwhile


@dataclass(frozen=True, slots=True)
class FilesWords:
    """What becomes of files, in words; ``chosen``: they go along with what is sent next."""

    words: str
    short: str = ""  # the same in fewer cells
    chosen: bool = False
    cut: bool = False  # a change of them was cut off
    offered: bool = True  # there is something to choose

    @property
    def in_brief(self) -> FilesWords:
        """How many of them, and the key."""
        return replace(self, words=re.split("[,;]", self.short or self.words)[0], short="")


class ComposerEdges:
    """The words on the edges, drawn anew when one of them changes."""

    def __init__(self, box: TypingBox, *, narrow: Callable[[], bool], keys: Callable[[], KeyMap]) -> None:
        self._keys_in_effect = keys
        self._box = box
        self._narrow = narrow
        self.status = Status()
        self.modes_changed: Callable[[], object] = lambda: None  # the agent offers other ones
        self.edit: EditWords | None = None
        self.files: FilesWords | None = None
        self.away: Away | None = None
        self.elsewhere: TurnsElsewhere | None = None
        self._frame = 0  # of the spinner
        self._queued = 0
        self._held = 0
        self._written = False
        self._browsed = ("", "")  # the mode word, and which message is browsed
        self._vim_mode = ""
        self._shell = False
        self._line = ""  # with the cursor, where a composer of one row hides the others
        self._keys: tuple[Hint, ...] = ()
        self._others = Content("")

    def show_status(self, status: Status) -> None:
        """Show another status."""
        if status != self.status:
            before, self.status = self.status, status
            self.draw()
            if before.modes != status.modes:
                self.modes_changed()

    def show_edit(self, edit: EditWords | None) -> None:
        """Show that a prompt is edited."""
        if edit != self.edit:
            self.edit = edit
            self.draw()

    def show_files(self, files: FilesWords | None) -> None:
        """Show what becomes of files."""
        if files != self.files:
            self.files = files
            self.draw()

    def show_elsewhere(self, turns: TurnsElsewhere | None) -> None:
        """Show that the conversation went on from another point."""
        if turns != self.elsewhere:
            self.elsewhere = turns
            self.draw()

    def show_queued(self, count: int, *, held: int) -> None:
        """Show how many prompts wait, and how many of them ``held`` for the person."""
        if (count, held) != (self._queued, self._held):
            self._queued, self._held = count, held
            self.draw()

    def show_written(self, on: bool) -> None:
        """Show what Enter does while there is a text, which goes alone, or none."""
        if on != self._written:
            self._written = on
            self.draw()

    def show_away(self, away: Away | None) -> None:
        """Show how far the end is; None at the end."""
        if away != self.away:
            self.away = away
            self.draw()

    def show_shell(self, on: bool) -> None:
        """Show that what is written is a shell command."""
        if on != self._shell:
            self._shell = on
            self._box.set_class(on, "-shell")
            self.draw()

    def show_line(self, line: int, count: int) -> None:
        """Show which of several lines the cursor is in, where a composer of one row hides the others."""
        shown = f"line {line}/{count}" if count > 1 else ""
        if shown != self._line:
            self._line = shown
            self.draw()

    def turn(self) -> None:
        """Turn the mark of work."""
        self._frame = (self._frame + 1) % len(SPINNER)
        self.draw()

    def show_browsed(self, mode: str, message: str) -> None:
        """Show the mode word, and which message is browsed; "" while none is."""
        if (mode, message) != self._browsed:
            self._browsed = (mode, message)
            self.draw()

    def show_mode(self, word: str) -> None:
        """Show the word of vi's mode; "" without vi's keys."""
        if word != self._vim_mode:
            self._vim_mode = word
            self.draw()

    def show_keys(self, keys: Sequence[Hint]) -> None:
        """Show hints on the upper edge, because text occupies their usual place."""
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self.draw()

    def show_others(self, marks: Content) -> None:
        """Show the marks of other tabs, where they have no bar."""
        if not marks.is_same(self._others):
            self._others = marks
            self.draw()

    def draw(self) -> None:
        """Draw the words that there are now."""
        self._box.upper.show(self._what(), self._beside())
        self._box.lower.show(*self._whom())
        self._box.behind.show(self._behind())

    def _what(self, *, in_one_row: bool = False) -> list[EdgeWord]:
        """What the composer does, or what goes on; ``in_one_row``: without what has a place of its own there."""
        status, edit = self.status, self.edit
        words = []
        if self._shell:
            words.append(EdgeWord(Content.styled("shell command", "bold $sand"), 7))
        if edit is not None:
            short = Content.styled("Edit", "bold $accent")
            words.append(EdgeWord(Content.styled(f"Edit {edit.at}", "bold $accent"), 6, short=short))
            if edit.price:
                price, brief = safe_line(edit.price), safe_line(edit.price_in_brief)
                short = Content.styled(brief, "$foreground")
                words.append(EdgeWord(Content.styled(price, "$foreground"), 4, short=short))
            if edit.version:
                stays = f"what follows stays in ‹ {edit.version} ›"
                words.append(EdgeWord(Content.styled(stays, "$muted"), 0))
        if (files := self.files) is not None:
            words.append(_about_files(files))
        if status.price and edit is None and not in_one_row:
            whole, least = (
                Content.styled(safe_line(text), "$foreground")
                for text in (f"Next prompt: {status.price}", f"Next: {status.price_in_brief}")
            )
            words.append(EdgeWord(whole, 4, short=least))
        if self.elsewhere is not None and edit is None:
            key = self._keys_in_effect().shown("follow")
            short = Content.styled(f"{self.elsewhere.count} later: {key}", "$asking")
            words.append(EdgeWord(Content.styled(self.elsewhere.words(key), "$asking"), 5, short=short))
        if (waiting := self._held) and not status.busy:
            opens = "" if self._narrow() else f"{{Queue}} opens {'it' if waiting == 1 else 'them'}"
            sends = "{Send} sends your text only" if self._written else "{Send} sends"
            ways = self._keys_in_effect().fill(f"{sends}, {opens}" if opens else sends)
            alone = Content.styled(f"{waiting} waiting", "$asking") if self._written else None
            words.append(EdgeWord(Content.styled(f"{waiting} waiting: {ways}", "$asking"), 5, short=alone))
        if status.doing:
            words.append(EdgeWord(Content.styled(safe_line(status.doing), "$muted"), 3))
        if status.ways:
            words.append(EdgeWord(Content.styled(safe_line(status.ways), "$muted"), 2))
        return words

    def _beside(self) -> list[EdgeWord]:
        """What can be done, what waits, and how far the end is."""
        words = []
        if self.files is not None and self.files.offered and not self.files.cut:
            words.append(EdgeWord(hint_words(self._keys_in_effect().shown("show_files"), "show them"), 1))
        if self.edit is not None:
            if self.edit.stops_turn:
                words.append(EdgeWord(hint_words(self._keys_in_effect().shown("send"), "stop and send"), 1))
            words.append(
                EdgeWord(hint_words(self._keys_in_effect().shown("stop"), "cancel"), 5, clicked=CANCEL)
            )
        last = len(self._keys)
        words += [EdgeWord(hint_words(*key), -last + at) for at, key in enumerate(self._keys)]
        return [*words, *self._queue(), *self._chip()]

    def _queue(self) -> list[EdgeWord]:
        """How many prompts wait for the turn's end."""
        if not self._queued or not self.status.busy:
            return []
        return [EdgeWord(Content.styled(f"{self._queued} queued", "$muted"), 5)]

    def _chip(self) -> list[EdgeWord]:
        """How far the end of the transcript is."""
        away = self.away
        if away is None:
            return []
        mark = "? " if self.status.asking else f"{SPINNER[self._frame]} " if self.status.working else ""
        lines = f"{away.rows}" if self._narrow() else f"{away.rows} {'line' if away.rows == 1 else 'lines'}"
        text = f" {mark}↓ {'answered' if away.answered else lines} "
        return [EdgeWord(Content.styled(text, "bold"), 9, clicked=CHIP, chip=True)]

    def _whom(self) -> tuple[list[EdgeWord], list[EdgeWord]]:
        """Agent, model and mode; then context and cost."""
        status = self.status
        left = []
        if self._browsed[0]:
            left += self._mode_word()
        else:
            if self._vim_mode:
                left.append(self._vim_word())
            if status.agent:
                left.append(EdgeWord(_said(status.agent, "$foreground"), 3))
            if status.model and not self._narrow():
                left.append(EdgeWord(_said(status.model, "$muted"), 0))
            left += self._mode()
        behind = f"{status.background} in background" if status.background else ""
        right = [
            EdgeWord(Content.styled(safe_line(text), "$muted"), weight)
            for text, weight in ((behind, 6), (status.context, 1), (status.cost, 4), (status.directory, -1))
            if text
        ]
        return left, right

    def _mode_word(self) -> list[EdgeWord]:
        """The mode that the keys are in, and which message is browsed."""
        mode, message = self._browsed
        words = [EdgeWord(Content.styled(mode, "bold $accent"), 9)]
        return [*words, EdgeWord(Content.styled(message, "$muted"), 2)] if message else words

    def _vim_word(self) -> EdgeWord:
        """Vi's mode; that in which keys are typed is as quiet as the agent's."""
        style = "$muted" if self._vim_mode == _TYPING else "bold $accent"
        return EdgeWord(
            Content.styled(safe_line(self._vim_mode), style).truncate(_LONGEST_NAME, ellipsis=True), 8
        )

    def _mode(self) -> list[EdgeWord]:
        status = self.status
        if not status.mode:
            return []
        style = "$unasked" if status.unasked else "$muted"
        return [EdgeWord(_said(status.mode, style), 5)]

    def _behind(self) -> list[EdgeWord]:
        """What is behind the field of a composer of one row."""
        words = self._what(in_one_row=True)[:1]
        if self._browsed[0]:
            words = self._mode_word()
        elif self.files is not None:  # with the edit that they go along with
            files = replace(_about_files(self.files.in_brief), weight=7)
            words = [*([] if self.edit is None else words), files]
        elif not words:
            words = [*([self._vim_word()] if self._vim_mode else []), *self._mode()]
        if self.status.price and self.edit is None:
            words.append(EdgeWord(Content.styled(self.status.price_in_a_word, "$foreground"), 4))
        if self._line:
            words.insert(0, EdgeWord(Content.styled(self._line, "$muted"), 8))
        if self._others.cell_length:
            words.append(EdgeWord(self._others))
        return [*words, *self._queue(), *self._chip()]


def _about_files(files: FilesWords) -> EdgeWord:
    style = "$asking" if files.cut else "bold $accent" if files.chosen else "$muted"
    said, short = (Content.styled(safe_line(words), style) for words in (files.words, files.short))
    return EdgeWord(said, 5, short=short if files.short else None)


def _said(name: str, style: str) -> Content:
    """A name as an agent gives it, which is as long as it likes."""
    return Content.styled(safe_line(name), style).truncate(_LONGEST_NAME, ellipsis=True)
