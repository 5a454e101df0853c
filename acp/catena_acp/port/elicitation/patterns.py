"""Regular expressions of forms, matched in linear time: an agent's pattern must not stop the screen.

A pattern is compiled into a machine that is in several states at once, so nothing is ever tried twice. What such a
machine cannot do (references back, looking around) and what is too large raises ``PatternRefused``; such a pattern
restricts nothing here, and the agent checks the answer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MOST_STATES = 4_000
MOST_STEPS = 4_000_000  # states times characters
_DEEPEST = 40

Test = Callable[[str], bool]

_SPACES = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
_SINGLE = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_LINE_ENDS = "\n\r\u2028\u2029"


class PatternRefused(ValueError):
    """A pattern that is invalid, too large, or needs more than a linear-time matcher has."""


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _is_space(character: str) -> bool:
    return character in _SPACES or "\u2000" <= character <= "\u200a"


_CLASSES: dict[str, Test] = {
    "d": _is_digit,
    "w": _is_word,
    "s": _is_space,
    "D": lambda character: not _is_digit(character),
    "W": lambda character: not _is_word(character),
    "S": lambda character: not _is_space(character),
}


@dataclass(slots=True)
class _State:
    """A state: it consumes a character (``test``), stands for an assertion, or only leads on."""

    test: Test | None = None
    assertion: str = ""  # ^ $ b B
    next: list[_State] = field(default_factory=list)
    number: int = 0


_Make = Callable[["_Builder"], tuple[_State, _State]]  # the first and the last state of a part


class _Builder:
    """Makes the states of a machine, and counts them."""

    def __init__(self) -> None:
        self.states: list[_State] = []

    def state(self, test: Test | None = None, assertion: str = "") -> _State:
        if len(self.states) >= MOST_STATES:
            raise PatternRefused("too large")
        made = _State(test, assertion, number=len(self.states))
        self.states.append(made)
        return made


class Pattern:
    """A compiled pattern. Raises PatternRefused."""

    def __init__(self, source: str) -> None:
        builder = _Builder()
        self._first, self._last = _Parser(source).parse()(builder)
        self._size = len(builder.states)

    def found_in(self, text: str) -> bool:
        """True if the pattern matches somewhere in the text. Raises PatternRefused for a text that is too long."""
        if self._size * (len(text) + 1) > MOST_STEPS:
            raise PatternRefused("too long a text")
        states: dict[int, _State] = {}
        for place in range(len(text) + 1):
            states[self._first.number] = self._first  # a match may begin anywhere
            states = self._spread(states.values(), text, place)
            if self._last.number in states:
                return True
            if place == len(text):
                break
            states = {
                after.number: after
                for state in states.values()
                if state.test is not None and state.test(text[place])
                for after in state.next
            }
        return False

    def _spread(self, states: Iterable[_State], text: str, place: int) -> dict[int, _State]:
        """All states that are reached from these without a character."""
        reached: dict[int, _State] = {}
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state.number in reached:
                continue
            reached[state.number] = state
            if state.test is None and _holds(state.assertion, text, place):
                waiting.extend(state.next)
        return reached


def _holds(assertion: str, text: str, place: int) -> bool:
    match assertion:
        case "^":
            return place == 0
        case "$":
            return place == len(text)
        case "b" | "B":
            before = place > 0 and _is_word(text[place - 1])
            after = place < len(text) and _is_word(text[place])
            return (before != after) is (assertion == "b")
        case _:
            return True


def _joined(parts: list[_Make]) -> _Make:
    def make(builder: _Builder) -> tuple[_State, _State]:
        first = last = builder.state()
        for part in parts:
            begin, end = part(builder)
            last.next.append(begin)
            last = end
        return first, last

    return make


def _either(options: list[_Make]) -> _Make:
    def make(builder: _Builder) -> tuple[_State, _State]:
        first, last = builder.state(), builder.state()
        for option in options:
            begin, end = option(builder)
            first.next.append(begin)
            end.next.append(last)
        return first, last

    return make


def _repeated(part: _Make, least: int, most: int | None) -> _Make:
    def make(builder: _Builder) -> tuple[_State, _State]:
        first = last = builder.state()
        for _ in range(least):
            begin, end = part(builder)
            last.next.append(begin)
            last = end
        after = builder.state()
        last.next.append(after)
        if most is None:
            begin, end = part(builder)
            last.next.append(begin)
            end.next += [begin, after]
            return first, after
        for _ in range(most - least):
            begin, end = part(builder)
            last.next.append(begin)
            end.next.append(after)
            last = end
        return first, after

    return make


def _consuming(test: Test) -> _Make:
    def make(builder: _Builder) -> tuple[_State, _State]:
        state, after = builder.state(test), builder.state()
        state.next.append(after)
        return state, after

    return make


def _asserting(assertion: str) -> _Make:
    def make(builder: _Builder) -> tuple[_State, _State]:
        state = builder.state(assertion=assertion)
        after = builder.state()
        state.next.append(after)
        return state, after

    return make


def _one(wanted: str) -> Test:
    return lambda character: character == wanted


class _Parser:
    """Parser of the part of ECMAScript's regular expressions that can be matched in linear time."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._place = 0
        self._depth = 0

    def parse(self) -> _Make:
        """The whole pattern."""
        made = self._options()
        if self._place < len(self._source):
            raise PatternRefused("an unmatched )")
        return made

    @property
    def _here(self) -> str:
        return self._source[self._place : self._place + 1]

    def _take(self, text: str) -> bool:
        if self._source.startswith(text, self._place):
            self._place += len(text)
            return True
        return False

    def _options(self) -> _Make:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _either(options)

    def _sequence(self) -> _Make:
        parts: list[_Make] = []
        while self._here not in ("", "|", ")"):
            parts.append(self._quantified(self._atom()))
        return _joined(parts)

    def _quantified(self, atom: _Make) -> _Make:
        bounds = self._quantifier()
        if bounds is None:
            return atom
        self._take("?")  # lazily or not: it is the same, where only a match is asked for
        return _repeated(atom, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for mark, bounds in {"*": (0, None), "+": (1, None), "?": (0, 1)}.items():
            if self._take(mark):
                return bounds
        if self._here != "{":
            return None
        inside, brace, _ = self._source[self._place + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not brace or not low.isdecimal() or not (high.isdecimal() or not high):
            return None  # no quantifier, but a brace
        self._place += len(inside) + 2
        if max(len(low), len(high)) > 4:
            raise PatternRefused("too large")
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            raise PatternRefused("bounds in the wrong order")
        return least, most

    def _atom(self) -> _Make:
        character = self._here
        self._place += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return _consuming(self._set())
            case "^" | "$":
                return _asserting(character)
            case ".":
                return _consuming(lambda found: found not in _LINE_ENDS)
            case "\\":
                if self._here in ("b", "B"):
                    self._place += 1
                    return _asserting(self._source[self._place - 1])
                return _consuming(self._escaped())
            case "*" | "+" | "?":
                raise PatternRefused(f"nothing before {character}")
            case _:
                return _consuming(_one(character))

    def _group(self) -> _Make:
        if self._take("?<") and self._here not in ("=", "!", ""):
            name, _, _ = self._source[self._place :].partition(">")
            self._place += len(name) + 1
        elif self._source[self._place - 2 : self._place] == "?<" or (
            self._here == "?" and not self._source.startswith("?:", self._place)
        ):
            raise PatternRefused("looks around")
        else:
            self._take("?:")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PatternRefused("too deep")
        made = self._options()
        self._depth -= 1
        if not self._take(")"):
            raise PatternRefused("an unmatched (")
        return made

    def _escaped(self) -> Test:
        """What stands behind a backslash."""
        character = self._here
        self._place += 1
        if character in _CLASSES:
            return _CLASSES[character]
        if character in ("x", "u"):
            return _one(self._code(character))
        if character == "" or character in "123456789kpPc":
            raise PatternRefused("an escape that is not known here")
        return _one(_SINGLE.get(character, character))

    def _code(self, kind: str) -> str:
        if kind == "u" and self._take("{"):
            digits, _, _ = self._source[self._place :].partition("}")
            self._place += len(digits) + 1
        else:
            length = 2 if kind == "x" else 4
            digits = self._source[self._place : self._place + length]
            self._place += length
            if len(digits) < length:
                raise PatternRefused("half an escape")
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError) as error:
            raise PatternRefused("half an escape") from error

    def _set(self) -> Test:
        """A set of characters, behind its bracket."""
        negated = self._take("^")
        tests: list[Test] = []
        while not self._take("]"):
            if not self._here:
                raise PatternRefused("an unmatched [")
            low = self._member()
            if (
                isinstance(low, str)
                and self._here == "-"
                and self._source[self._place + 1 :][:1] not in ("]", "")
            ):
                self._place += 1
                high = self._member()
                if not isinstance(high, str):
                    tests += [_one(low), _one("-"), high]
                    continue
                if high < low:
                    raise PatternRefused("a range in the wrong order")
                tests.append(_between(low, high))
            else:
                tests.append(_one(low) if isinstance(low, str) else low)
        return lambda character: any(test(character) for test in tests) is not negated

    def _member(self) -> str | Test:
        character = self._here
        self._place += 1
        if character != "\\":
            return character
        escaped = self._here
        if escaped in _CLASSES or escaped in ("x", "u", ""):
            self._place += 1
            if escaped in _CLASSES:
                return _CLASSES[escaped]
            if not escaped:
                raise PatternRefused("half an escape")
            return self._code(escaped)
        if escaped in "123456789kpPc":
            raise PatternRefused("an escape that is not known here")
        self._place += 1
        return "\b" if escaped == "b" else _SINGLE.get(escaped, escaped)


def _between(low: str, high: str) -> Test:
    return lambda character: low <= character <= high
