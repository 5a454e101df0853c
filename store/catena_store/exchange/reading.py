"""Reader of a document that is larger than memory: one row of one section at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, NoReturn, TextIO

from catena_store.errors import NotImportable
from catena_store.exchange.fields import MOST_NESTED

_CHUNK = 1 << 18  # characters
_MOST = 1 << 26  # characters of one value
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89abAB])")
_UNWANTED = re.compile("[\x00\ud800-\udfff]")
_CUT = 16  # characters from the end within which an error may be of what is not read yet


def document_members(file: TextIO) -> Iterator[tuple[str, Any, bool]]:
    """Yield the members of a JSON object as key, value, and whether the value is one element of an array.

    An array comes element by element; its key alone, with None, before the first. Raises NotImportable for what is no
    such object, and for values that no store may have: NUL, half a character, NaN, endless nesting.
    """
    try:
        yield from _Scanner(file).members()
    except UnicodeDecodeError as error:
        raise NotImportable("it is not UTF-8 text") from error


class _Scanner:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False
        self._lines = 0  # above the text in memory
        self._decoder = json.JSONDecoder(parse_float=self._float, parse_constant=self._constant)

    def members(self) -> Iterator[tuple[str, Any, bool]]:
        self._expect("{")
        if self._next() == "}":
            self._at += 1
        else:
            while True:
                key = self._value()
                if not isinstance(key, str):
                    self._fail("a key is not a text")
                self._expect(":")
                if self._next() == "[":
                    yield from self._elements(key)
                else:
                    yield key, self._value(), False
                if not self._goes_on("}"):
                    break
        if self._next():
            self._fail("something stands behind its end")

    def _elements(self, key: str) -> Iterator[tuple[str, Any, bool]]:
        self._at += 1
        yield key, None, False
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield key, self._value(), True
            if not self._goes_on("]"):
                return

    def _goes_on(self, end: str) -> bool:
        found = self._next()
        if found not in (",", end) or not found:
            self._fail("it is cut off" if not found else f"a comma or {end} is missing")
        self._at += 1
        return found == ","

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            self._fail(f"{mark} is missing" if self._next() else "it is cut off")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no white space, which stays; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or not self._more(_CHUNK):
                return self._text[self._at : self._at + 1]

    def _more(self, count: int) -> bool:
        if self._ended:
            return False
        read = self._file.read(count)
        self._ended = not read
        self._lines += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + read, 0
        return not self._ended

    def _value(self) -> Any:
        if not self._next():
            self._fail("it is cut off")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                open_text = error.msg.startswith("Unterminated")
                ended = open_text or error.pos >= len(self._text)
                if not (ended or error.pos >= len(self._text) - _CUT) or not self._grow():
                    self._fail("it is cut off" if ended else f"it is not JSON ({error.msg.lower()})")
                continue
            except RecursionError:
                self._fail("it is nested too deeply")
            except ValueError:
                self._fail("a number in it is too long")
            if end < len(self._text) or not self._more(_CHUNK):
                break
        start = self._at
        self._check(value, self._text[start:end] if end - start < _MOST else "")
        self._at = end
        return value

    def _grow(self) -> bool:
        """Read as much again of a value that is not complete; False at the end."""
        size = len(self._text) - self._at
        if size > _MOST:
            self._fail("one value in it is too long")
        return self._more(max(_CHUNK, size))

    def _check(self, value: Any, source: str) -> None:
        if source.count("[") + source.count("{") > MOST_NESTED and _depth(value) > MOST_NESTED:
            self._fail("it is nested too deeply")
        if _ESCAPED.search(source) and any(_UNWANTED.search(text) for text in _texts(value)):
            self._fail("a text in it has a NUL or half a character")

    def _float(self, text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            self._fail("a number in it is too large")
        return number

    def _constant(self, text: str) -> NoReturn:
        self._fail(f"{text} is not a number")

    def _fail(self, why: str) -> NoReturn:
        raise NotImportable(f"{why} (line {self._lines + self._text.count(chr(10), 0, self._at) + 1})")


def _depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(each, dict | list):
            waiting += [(inner, depth + 1) for inner in (each.values() if isinstance(each, dict) else each)]
    return deepest


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as table:
                yield from table
                waiting += table.values()
            case list() as items:
                waiting += items
            case _:
                pass
