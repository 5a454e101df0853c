"""The engine: keys of vi change a text and move its cursor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from catena.keys.vim.commands import (
    Range,
    Register,
    Registers,
    Typed,
    VimChange,
    VimCommand,
    joined,
    parsed,
    put,
    shifted,
    swapped,
)
from catena.keys.vim.motions import MOTIONS, Find, MotionSpan, MotionTarget, Move, search, word_end
from catena.keys.vim.objects import (
    BLANK,
    after,
    before,
    column,
    first_nonblank,
    in_indent,
    kind,
    last_in_line,
    line_end,
    line_of,
    line_start,
    place_in_line,
    start_of,
    text_object,
    whole,
)

_MOST_STEPS = 1000  # that can be undone
_MOST_CHARACTERS = 1 << 20  # of a text that a count makes
_NAMED_KEYS = frozenset({"backspace", "space", "ctrl+r"})
_CHANGING = frozenset({*"xXsSrDCJpPoOIAai~"})
_INSERTING = frozenset({*"sSCoOIAai"})
_SHORT = {  # commands that are an operator with a motion
    "x": VimCommand("l", "d"),
    "X": VimCommand("h", "d"),
    "D": VimCommand("$", "d"),
    "C": VimCommand("$", "c"),
    "s": VimCommand("l", "c"),
    "S": VimCommand("lines", "c"),
    "Y": VimCommand("lines", "y"),
}
_VISUAL_OPERATORS = {"x": "d", "X": "d", "D": "d", "s": "c", "S": "c", "C": "c", "Y": "y"}
_VISUAL_LINES = frozenset("XDSCY")  # that take whole lines
_CASES = {"~": "g~", "u": "gu", "U": "gU"}


class Mode(Enum):
    """What keys mean now."""

    NORMAL = "NORMAL"
    INSERT = "INSERT"
    VISUAL = "VISUAL"
    VISUAL_LINES = "VISUAL LINE"
    SEARCH = "SEARCH"


@dataclass(frozen=True, slots=True)
class _Search:
    """A text that is looked for, and the command that waits for where it is."""

    wanted: str
    forward: bool
    command: VimCommand
    back_to: Mode = Mode.NORMAL


class Vim:
    """A text, its cursor, and what the keys of vi have to remember.

    Whoever shows the text types in insert mode by itself, and tells with ``show`` what became of it.
    """

    def __init__(self, text: str = "", cursor: int = 0) -> None:
        self.registers = Registers()
        self.mode = Mode.INSERT
        self._pending: list[str] = []
        self._find: Find | None = None
        self._searched: _Search | None = None
        self._searching: _Search | None = None
        self._last: Repeatable | None = None
        self._anchor = 0
        self._column = 0
        self.restart(text, cursor)

    def restart(self, text: str, cursor: int) -> None:
        """Begin with another text, in insert mode; nothing of the one before can be undone."""
        self.text, self.cursor = text, max(0, min(cursor, len(text)))
        self.mode, self._pending = Mode.INSERT, []
        self._undo: list[tuple[str, int]] = [(text, self.cursor)]
        self._redo: list[tuple[str, int]] = []
        self._insertion = Insertion(text, self.cursor, of_command=False)

    # --- what is shown

    @property
    def pending(self) -> str:
        """The keys of a command that is not complete; what is searched for, while that is typed."""
        if self._searching is not None:
            return f"{'/' if self._searching.forward else '?'}{self._searching.wanted}"
        return "".join(self._pending)

    @property
    def selected(self) -> tuple[int, int] | None:
        """The part of the text that is selected, its end not included; None outside of the visual modes."""
        if self.mode not in (Mode.VISUAL, Mode.VISUAL_LINES):
            return None
        chosen = self._chosen()
        return chosen.start, chosen.end

    def show(self, text: str, cursor: int) -> None:
        """Take what became of the text elsewhere: by typing, a paste, the mouse, another key."""
        cursor = max(0, min(cursor, len(text)))
        if text != self.text:
            if self.mode is not Mode.INSERT:
                self._remember(self.text, self.cursor)
                self._pending, self.mode = [], Mode.NORMAL
            self.text = text
        elif cursor == self.cursor:
            return
        self.cursor = cursor
        if self.mode is not Mode.INSERT:
            self._settle()

    # --- keys

    def press(self, key: str) -> bool:
        """Do what a key means: a character, or a name such as `escape`; False if it means nothing here."""
        if self.mode is Mode.INSERT:
            if key == "escape":
                self._leave_insertion()
            return key == "escape"
        if self._searching is not None:
            return self._search_key(self._searching, key)
        if key == "escape":
            idle = not self._pending and self.mode is Mode.NORMAL
            self._pending, self.mode = [], Mode.NORMAL
            return not idle
        if len(key) != 1 and key not in _NAMED_KEYS and not (key == "enter" and self._pending):
            self._pending = []
            return False
        self._pending.append(key)
        command = parsed(self._pending, visual=self.mode is not Mode.NORMAL)
        if command is Typed.INCOMPLETE:
            return True
        self._pending = []
        if isinstance(command, VimCommand):
            self._run(command)
        return True

    def _search_key(self, searching: _Search, key: str) -> bool:
        match key:
            case "escape":
                self._searching, self.mode = None, searching.back_to
            case "backspace" if not searching.wanted:
                self._searching, self.mode = None, searching.back_to
            case "backspace":
                self._searching = replace(searching, wanted=searching.wanted[:-1])
            case "enter":
                self._searching, self.mode = None, searching.back_to
                if searching.wanted or self._searched is not None:
                    wanted = searching.wanted or (self._searched.wanted if self._searched else "")
                    self._searched = replace(searching, wanted=wanted)
                    self._run(replace(searching.command, name="n"))
            case "space":
                self._searching = replace(searching, wanted=f"{searching.wanted} ")
            case character if len(character) == 1:
                self._searching = replace(searching, wanted=searching.wanted + character)
            case _:
                return False
        return True

    # --- commands

    def _run(self, command: VimCommand) -> None:
        if command.name in ("/", "?"):
            self._searching = _Search("", command.name == "/", command, self.mode)
            self.mode = Mode.SEARCH
            return
        text, cursor = self.text, self.cursor
        if self.mode is Mode.NORMAL:
            self._run_normal(command)
        else:
            self._run_visual(command)
        if self.mode is Mode.INSERT or (self.text != text and command.name not in ("u", "ctrl+r")):
            self._remember(text, cursor)
        if self.mode is not Mode.INSERT:
            self._settle(keeps_column=command.name in ("j", "k", "$") and not command.operator)

    def _run_normal(self, command: VimCommand) -> None:
        command = self._spelled_out(command)
        match command.name:
            case "u" | "ctrl+r" if not command.operator:
                stacks = (self._undo, self._redo) if command.name == "u" else (self._redo, self._undo)
                self._step(*stacks, command.times)
            case "." if not command.operator:
                self._repeat(command.count)
            case "v" | "V" if not command.operator:
                self.mode = Mode.VISUAL if command.name == "v" else Mode.VISUAL_LINES
                self._anchor = self.cursor
            case _ if command.operator:
                chosen = self._range(command)
                if chosen is not None:
                    if command.operator != "y":
                        self._last = Repeatable(command)
                    self._operate(command, chosen)
            case name if name in _CHANGING:
                text, empty = self.text, self.cursor == line_end(self.text, self.cursor)
                self._change(command)
                tried = name in "pP" or (name == "~" and not empty)  # though nothing may be different
                if self.text != text or self.mode is Mode.INSERT or tried:
                    self._last = Repeatable(command)
            case _:
                self._go(command)

    @staticmethod
    def _spelled_out(command: VimCommand) -> VimCommand:
        short = None if command.operator else _SHORT.get(command.name)
        return replace(short, count=command.count, register=command.register) if short else command

    def _go(self, command: VimCommand) -> None:
        target = self._target(command, operated=False)
        if target is not None:
            self.cursor = target.place
            if target.column is not None:
                self._column = target.column

    def _target(self, command: VimCommand, *, operated: bool) -> MotionTarget | None:
        wanted = self._column
        past = self.mode is not Mode.NORMAL
        move = Move(self.text, self.cursor, command.count, operated, past, wanted)
        match command.name:
            case "f" | "F" | "t" | "T" as name:
                self._find = Find(command.argument, name in "ft", name in "tT")
                return self._find.go(move)
            case ";" | "," as name:
                find = self._find
                return None if find is None else (find if name == ";" else find.turned()).go(move, again=True)
            case "n" | "N" as name:
                searched = self._searched
                if searched is None:
                    return None
                return search(move, searched.wanted, forward=searched.forward == (name == "n"))
            case "w" | "W" as name if command.operator == "c" and kind(self.text, self.cursor) != BLANK:
                return word_end(name == "W", stays=True)(move)
            case name:
                return MOTIONS[name](move)

    def _range(self, command: VimCommand) -> Range | None:
        """What an operator is done to; None where there is nothing."""
        text = self.text
        if command.name == "lines":
            line, last = line_of(text, self.cursor), text.count("\n")
            if command.times > 1 and line == last:
                return None
            end = line_end(text, start_of(text, min(last, line + command.times - 1)))
            return Range(line_start(text, self.cursor), end, self.cursor, lines=True)
        if command.name[0] in "ia" and command.name not in MOTIONS:
            around, name = command.name[0] == "a", command.name[1]
            found = text_object(text, self.cursor, name, around=around, count=command.times)
            if found is None:
                return None
            chosen = Range(found.start, found.end, found.start, lines=found.lines)
            return chosen if chosen.lines else self._adjusted(chosen, command)
        target = self._target(command, operated=True)
        if target is None:
            return None
        start, end = sorted((self.cursor, target.place))
        if target.span is MotionSpan.LINES:
            return Range(line_start(text, start), line_end(text, end), start, lines=True)
        if target.span is MotionSpan.INCLUSIVE:
            end = after(text, end) if end < line_end(text, end) else end
            return self._whole_lines(Range(start, end, start), command)
        return self._adjusted(Range(start, end, start), command)

    def _adjusted(self, chosen: Range, command: VimCommand) -> Range:
        """A range that ends before the first character of a line ends with the line before it."""
        start, end, text = chosen.start, chosen.end, self.text
        if start < end and text[end - 1] == "\n":
            if in_indent(text, start):
                return Range(line_start(text, start), end - 1, start, lines=True)
            chosen = replace(chosen, end=end - 1)
        return self._whole_lines(chosen, command)

    def _whole_lines(self, chosen: Range, command: VimCommand) -> Range:
        """A deletion of several lines, with nothing left of the first and the last one, is one of whole lines."""
        text, start, end = self.text, chosen.start, chosen.end
        if command.operator != "d" or "\n" not in text[start:end]:
            return chosen
        if in_indent(text, start) and not text[end : line_end(text, end)].strip(" \t"):
            return Range(line_start(text, start), line_end(text, end), start, lines=True)
        return chosen

    # --- changes

    def _operate(self, command: VimCommand, chosen: Range, *, times: int = 1) -> None:
        text, operator, name = self.text, command.operator, command.register
        part = text[chosen.start : chosen.end]
        match operator:
            case "y":
                self.registers.put(name, _register(part, chosen), yanked=True)
                self.cursor = chosen.cursor
            case "d" | "c":
                if chosen.start == chosen.end and not chosen.lines and operator == "d":
                    return
                if part or chosen.lines:
                    self.registers.put(name, _register(part, chosen), yanked=False)
                self._delete(chosen, keeps_line=operator == "c")
                if operator == "c":
                    self._insert(self.cursor)
            case ">" | "<":
                start = line_start(text, chosen.start)
                end = chosen.end if chosen.lines else line_end(text, max(chosen.start, chosen.end - 1))
                steps = times if operator == ">" else -times
                self.text = text[:start] + shifted(text[start:end], steps) + text[end:]
                self.cursor = first_nonblank(self.text, start)
            case case:
                self.text = text[: chosen.start] + swapped(part, case) + text[chosen.end :]
                self.cursor = chosen.cursor
                if chosen.lines:
                    self.cursor = min(chosen.cursor, first_nonblank(self.text, chosen.start))

    def _delete(self, chosen: Range, *, keeps_line: bool) -> None:
        text, start, end = self.text, chosen.start, chosen.end
        if not chosen.lines or keeps_line:
            self.text, self.cursor = text[:start] + text[end:], start
            return
        if end < len(text):
            self.text = text[:start] + text[end + 1 :]
        else:
            self.text = text[: max(0, start - 1)]
        self.cursor = first_nonblank(self.text, min(start, len(self.text)))

    def _change(self, command: VimCommand) -> None:
        text, cursor, times = self.text, self.cursor, command.times
        end = line_end(text, cursor)
        match command.name:
            case "i":
                self._insert(cursor, times)
            case "a":
                self._insert(after(text, cursor) if cursor < end else cursor, times)
            case "I":
                start = line_start(text, cursor)
                blanks = len(text[start:end]) - len(text[start:end].lstrip(" \t"))
                self._insert(start + blanks, times)
            case "A":
                self._insert(end, times)
            case "o":
                self.text = f"{text[:end]}\n{text[end:]}"
                self._insert(end + 1, times, lines=True)
            case "O":
                start = line_start(text, cursor)
                self.text = f"{text[:start]}\n{text[start:]}"
                self._insert(start, times, lines=True)
            case "J":
                self._apply(joined(text, cursor, max(1, times - 1)))
            case "p" | "P" as name:
                if self._fits(register := self.registers.take(command.register), times):
                    self._apply(put(text, cursor, register, times, behind=name == "p"))
            case "~":
                place = cursor
                for _ in range(times):
                    place = after(text, place) if place < end else place
                self.text = text[:cursor] + swapped(text[cursor:place], "g~") + text[place:]
                self.cursor = place
            case _:
                self._replace(command)

    def _fits(self, register: Register, times: int) -> bool:
        return bool(register.text) and len(register.text) * times + len(self.text) <= _MOST_CHARACTERS

    def _apply(self, change: VimChange | None) -> None:
        if change is not None:
            self.text, self.cursor = change.text, change.cursor

    def _replace(self, command: VimCommand) -> None:
        """`r`: put a character in the place of others, if there are so many."""
        text, place, end = self.text, self.cursor, line_end(self.text, self.cursor)
        for _ in range(command.times):
            if place >= end:
                return
            place = after(text, place)
        new = "\n" if command.argument == "\n" else command.argument * command.times
        self.text = text[: self.cursor] + new + text[place:]
        self.cursor += len(new) if new == "\n" else len(new) - 1

    # --- insert mode

    def _insert(self, at: int, times: int = 1, *, lines: bool = False) -> None:
        self.cursor, self.mode = at, Mode.INSERT
        self._insertion = Insertion(self.text, at, times, lines)

    def _leave_insertion(self) -> None:
        began = self._insertion
        typed = began.typed(self.text, self.cursor)
        if typed is not None:
            if began.times > 1 and (typed.text or began.lines):
                piece = f"\n{typed.text}" if began.lines else typed.text
                room = max(0, (_MOST_CHARACTERS - len(self.text)) // max(1, len(piece)))
                more = piece * min(began.times - 1, room)
                self.text = self.text[: self.cursor] + more + self.text[self.cursor :]
                self.cursor += len(more)
            if self._last is not None and began.of_command:
                self._last = replace(self._last, inserted=typed)
        self.mode = Mode.NORMAL
        if self.cursor > line_start(self.text, self.cursor):
            self.cursor = before(self.text, self.cursor)
        if self._undo and self._undo[-1][0] == self.text:
            self._undo.pop()
        self._settle()

    def _repeat(self, count: int | None) -> None:
        """Do the last change again."""
        last = self._last
        if last is None:
            return
        command = last.command if count is None else replace(last.command, count=count)
        if last.size is not None:
            self._anchor = self.cursor
            lines, characters, whole_lines = last.size
            self.cursor = self._sized_end(lines, characters)
            self.mode = Mode.VISUAL_LINES if whole_lines else Mode.VISUAL
            self._run_visual(command)
        else:
            self._run_normal(command)
        if self.mode is Mode.INSERT:
            typed, at = last.inserted, self.cursor
            start = max(line_start(self.text, at), at - typed.back)
            self.text = self.text[:start] + typed.text + self.text[at:]
            self.cursor = start + len(typed.text)
            self._undo.append((self.text, self.cursor))  # taken off by what follows
            self._leave_insertion()
        self._last = last if count is None else replace(last, command=command)

    # --- visual modes

    def _chosen(self) -> Range:
        text = self.text
        start, end = sorted((min(self._anchor, len(text)), self.cursor))
        if self.mode is Mode.VISUAL_LINES:
            first = line_start(text, start)
            return Range(first, line_end(text, end), first, lines=True)
        return Range(start, after(text, end) if end < len(text) else end, start)

    def _sized_end(self, lines: int, characters: int) -> int:
        text = self.text
        if lines == 1:
            return place_in_line(
                text, line_start(text, self.cursor), column(text, self.cursor) + characters - 1, past=True
            )
        line = min(text.count("\n"), line_of(text, self.cursor) + lines - 1)
        return place_in_line(text, start_of(text, line), characters - 1, past=True)

    def _run_visual(self, command: VimCommand) -> None:
        name, mode = command.name, self.mode
        chosen = self._chosen()
        if name in ("v", "V"):
            wanted = Mode.VISUAL if name == "v" else Mode.VISUAL_LINES
            self.mode = Mode.NORMAL if mode is wanted else wanted
        elif name == "o":
            self._anchor, self.cursor = self.cursor, min(self._anchor, len(self.text))
        elif command.name[0] in "ia" and len(name) == 2:
            self._choose(command)
        elif name in MOTIONS or name in ";,nNfFtT":
            self._go(command)
        else:
            if name not in ("y", "Y"):
                self._last = Repeatable(command, size=self._size())
            if name in _VISUAL_LINES:
                chosen = Range(
                    line_start(self.text, chosen.start),
                    line_end(self.text, max(chosen.start, chosen.end - 1)),
                    chosen.start,
                    lines=True,
                )
            self.mode, self.cursor = Mode.NORMAL, chosen.start
            self._change_chosen(command, chosen)

    def _size(self) -> tuple[int, int, bool]:
        """The lines that are selected, and the characters of the last one."""
        start, last = sorted((min(self._anchor, len(self.text)), self.cursor))
        lines = self.text.count("\n", start, last) + 1
        characters = column(self.text, last) + 1 - (column(self.text, start) if lines == 1 else 0)
        return lines, characters, self.mode is Mode.VISUAL_LINES

    def _choose(self, command: VimCommand) -> None:
        """Select a text object; where more than a character is selected, up to its end."""
        at = self.cursor
        grown = self._anchor != at
        if grown and at > self._anchor:
            at = min(after(self.text, at), len(self.text))
        around, name = command.name[0] == "a", command.name[1]
        found = text_object(self.text, at, name, around=around, count=command.times)
        if found is None or found.start == found.end:
            return
        if not grown:
            self._anchor = found.start
            if found.lines:
                self.mode = Mode.VISUAL_LINES
        self.cursor = before(self.text, found.end)

    def _change_chosen(self, command: VimCommand, chosen: Range) -> None:
        text, name = self.text, command.name
        operator = _CASES.get(name) or _VISUAL_OPERATORS.get(name, name)
        match name:
            case "J":
                count = max(1, text.count("\n", chosen.start, chosen.end))
                self._apply(joined(text, chosen.start, count))
            case "r":
                part = "".join(
                    each if each == "\n" else command.argument for each in _whole_characters(text, chosen)
                )
                self.text = text[: chosen.start] + part + text[chosen.end :]
            case "p" | "P":
                register = self.registers.take(command.register)
                self._operate(VimCommand("", "d"), chosen)
                if register.text and self._fits(register, command.times):
                    self._put_instead(register, chosen, command.times)
            case _:
                self._operate(
                    VimCommand("", operator, register=command.register), chosen, times=command.times
                )

    def _put_instead(self, register: Register, chosen: Range, times: int) -> None:
        """Put a text where a part of it was deleted."""
        text, start = self.text, chosen.start
        if chosen.lines:
            at_end = start >= len(text) and bool(text)
            lines = "\n".join([register.text.removesuffix("\n")] * times)
            if at_end:
                self.text, start = f"{text}\n{lines}", len(text) + 1
            else:
                self.text = f"{text[:start]}{lines}\n{text[start:]}" if text else lines
            self.cursor = first_nonblank(self.text, start)
        elif register.lines:
            body = "".join([f"{register.text.removesuffix(chr(10))}\n"] * times)
            self.text = f"{text[:start]}\n{body}{text[start:]}"
            self.cursor = first_nonblank(self.text, start + 1)
        else:
            body = register.text * times
            self.text = text[:start] + body + text[start:]
            self.cursor = max(start, start + len(body) - 1)

    # --- undo

    def _remember(self, text: str, cursor: int) -> None:
        if not self._undo or self._undo[-1][0] != text or self.mode is Mode.INSERT:
            self._undo = [*self._undo[-_MOST_STEPS:], (text, cursor)]
        self._redo = []

    def _step(self, taken: list[tuple[str, int]], kept: list[tuple[str, int]], times: int) -> None:
        for _ in range(min(times, len(taken))):
            kept.append((self.text, self.cursor))
            self.text, self.cursor = taken.pop()

    # --- the cursor

    def _settle(self, *, keeps_column: bool = False) -> None:
        """Put the cursor on a character of its line, and begin another column for `j` and `k`."""
        self.cursor = whole(self.text, max(0, min(self.cursor, len(self.text))))
        self._anchor = min(self._anchor, len(self.text))
        if self.mode is Mode.NORMAL:
            self.cursor = min(self.cursor, last_in_line(self.text, self.cursor))
        if not keeps_column:
            self._column = column(self.text, self.cursor)


def _register(part: str, chosen: Range) -> Register:
    return Register(f"{part}\n" if chosen.lines else part, chosen.lines)


def _whole_characters(text: str, chosen: Range) -> list[str]:
    characters, place = [], chosen.start
    while place < chosen.end:
        end = after(text, place)
        characters.append(text[place:end])
        place = end
    return characters


@dataclass(frozen=True, slots=True)
class Inserted:
    """The result of typing in insert mode: the number of characters deleted before it, and the text."""

    back: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Where insert mode began, and how often what is typed is to stand there."""

    text: str
    at: int
    times: int = 1
    lines: bool = False  # each time on a line of its own
    of_command: bool = True  # which `.` does again

    def typed(self, text: str, cursor: int) -> Inserted | None:
        """The text inserted here, by the text and cursor now; None if the text was changed in any other way."""
        rest = self.text[self.at :]
        if not text.endswith(rest) or cursor != len(text) - len(rest):
            return None
        before, now = self.text[: self.at], text[: len(text) - len(rest)]
        pairs = zip(before, now, strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))
        return Inserted(self.at - same, now[same:])


@dataclass(frozen=True, slots=True)
class Repeatable:
    """The change that `.` repeats; ``size``: of what was selected, in lines and in characters of the last one."""

    command: VimCommand
    inserted: Inserted = Inserted()
    size: tuple[int, int, bool] | None = None
