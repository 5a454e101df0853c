"""Staging of a document: its rows are read one by one, checked and kept in a file of ours before any is written."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import re
from collections.abc import Iterator
from contextlib import suppress
from json import JSONDecodeError
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO

from catena_store.errors import NotImportable
from catena_store.exchange.document import MOST_NESTED, SECTIONS, check_head, read_row

_PAGE = 200  # rows that are written at a time
_PAGE_CHARACTERS = 4_000_000

_CHUNK = 1 << 18  # characters
_MOST = 1 << 26  # characters of one value
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89abAB])")
_UNWANTED = re.compile("[\x00\ud800-\udfff]")
_CUT = 16  # characters from the end within which an error may be of what is not read yet


def is_document(path: Path) -> bool:
    """True for a file that begins as a document does."""
    with suppress(UnicodeDecodeError), path.open(encoding="utf-8-sig") as file:
        beginning = "".join(file.read(400).split())
        return beginning.startswith('{"format":')
    return False


def stage(path: Path, into: BinaryIO) -> dict[str, Any]:
    """Write the checked pages of a document into a file of ours, and return its head. Raises NotImportable."""
    head: dict[str, Any] = {}
    checked: dict[str, Any] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for page in _sections(file, head):
            checked = checked or check_head(head)
            pickle.dump(page, into)
    return checked or check_head(head)


def staged_pages(staged: BinaryIO) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The pages of rows that were staged, each with the name of its section."""
    staged.seek(0)
    while True:
        try:
            yield pickle.load(staged)
        except EOFError:
            return


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sections(file: TextIO, head: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the checked rows of each section in pages; fill the head meanwhile. Raises NotImportable."""
    order, seen = list(SECTIONS), list[str]()
    page: list[dict[str, Any]] = []
    characters = number = 0
    for key, value, is_element in document_members(file):
        if page and (not is_element or len(page) >= _PAGE or characters >= _PAGE_CHARACTERS):
            yield seen[-1], page
            page, characters = [], 0
        if not is_element:
            if key not in SECTIONS:
                if key in head:
                    raise NotImportable(f"“{key}” is in it twice")
                head[key] = value
                continue
            if value is not None:
                raise NotImportable(f"“{key}” is not a list")
            if seen and order.index(key) <= order.index(seen[-1]):
                raise NotImportable(f"“{key}” is in the wrong place: the order of its parts must stay")
            seen.append(key)
            number = 0
        elif key in SECTIONS:
            number += 1
            row = read_row(SECTIONS[key], f"entry {number} of “{key}”", value)
            characters += sum(len(each) for each in row.values() if isinstance(each, str | bytes))
            page.append(row)
    if page:
        yield seen[-1], page


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
            self._fail("there is text after its end")

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
