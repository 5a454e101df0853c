"""Cutting an answer into sentences, however it arrives.

A sentence is a line. Code comes whole, with a line before it that says so and one behind it. Where the agent is
silent in the middle of a sentence, ``rest`` gives what there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from catena.text.formulas import formulas_in

_END = re.compile(r"[.!?…。！？][\"'”’)\]*_`»]*(?:\s+(?=\S)|(?<=[。！？]))")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[“\"'])(?:\d{1,3}|[A-Za-z]|e\.g|i\.e|a\.m|p\.m|etc|vs|cf|al|Dr|Mr|Mrs|Ms|St|No|Fig|approx)\.$"
)
_ITEM = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
_FENCE = re.compile(rf"^(?P<before>\s*(?:{_ITEM})*)(?P<fence>`{{3,}}|~{{3,}})\s*(?P<language>[^\s`]*)[^`]*$")
_FENCE_BEGINS = re.compile(rf"^\s*(?:{_ITEM})*(?:`{{1,}}|~{{1,}})[^`]*$")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(?P<title>.*?)\s*#*$")
_RULE = re.compile(r"^ {0,3}(?:-{3,}|\*{3,}|_{3,}|=+)$")
_TASK = re.compile(r"^(?P<before>\s*[-*+] )\[(?P<mark>[ xX])\] ")
_STRONG = re.compile(r"(?<![0-9A-Za-z)\]])(\*\*)(?=\S)(.+?)(?<=\S)\1|(?<!\w)(__)(?=\S)(.+?)(?<=\S)\3(?!\w)")
_QUOTE = re.compile(r"^ {0,3}(?:> ?)+")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]+)\]\(([^\s()]+)\)")
_DIVIDER = frozenset("|:- \t")  # of the head of a table and its rows
_PIPE = re.compile(r"(?<!\\)\|")
_LONGEST_FENCE = 200  # characters
_TOKEN = 12  # characters, more than an abbreviation has
_LONGEST = 1_000  # characters of a line without an end of a sentence
_MOST_CODE = 200_000  # characters that are held back until a block of code ends


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A line of an answer as it is read; ``ours`` if it says what it is, as "Code:" does."""

    text: str
    ours: bool = False


class SentenceCutter:
    """The lines of one growing answer."""

    def __init__(self) -> None:
        self._held = ""
        self._fence = ""  # that ends the code which is being held
        self._indent = 0  # of the fence, in a list
        self._language = ""
        self._code: list[str] = []
        self._characters = 0  # of that code
        self._row: tuple[str, ...] = ()  # the cells of the line before, where it was a row of a table
        self._head: tuple[str, ...] = ()  # the names of the columns, while rows of a table come

    @property
    def holds(self) -> bool:
        """True while something was fed that is not out yet."""
        return bool(self._held.strip() or self._fence)

    @property
    def in_code(self) -> bool:
        """True while code is held back that has not ended."""
        return bool(self._fence)

    def feed(self, text: str) -> list[SpokenLine]:
        """Take text that was appended; return the lines that are whole by now."""
        self._held += text
        return list(self._whole())

    def rest(self) -> list[SpokenLine]:
        """Return what is held back as it is: the answer ends here, or pauses."""
        lines = list(self._whole())
        held, self._held = self._held, ""
        if held:
            lines += self._line(held)
        if self._fence:
            lines += self._end_code()
        return lines

    def _whole(self) -> Iterator[SpokenLine]:
        while "\n" in self._held:
            line, _, self._held = self._held.partition("\n")
            yield from self._line(line)
        if self._fence or not self._held.strip() or _begins_fence(self._held):
            return
        if self._held.lstrip().startswith(("|", "#", ">")):
            return  # a row of a table, a heading, a quotation: they end with their line
        *sentences, self._held = _sentences(self._held)
        for sentence in sentences:
            yield from self._text(sentence)

    def _line(self, line: str) -> Iterator[SpokenLine]:
        line = line.rstrip("\r")
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                yield from self._end_code()
                return
            self._code.append(
                line.removeprefix(line[: self._indent]) if line[: self._indent].isspace() else line
            )
            self._characters += len(line)
            if self._characters > _MOST_CODE:
                yield from map(SpokenLine, self._code)
                self._code, self._characters = [], 0
        elif len(line) <= _LONGEST_FENCE and (fence := _FENCE.match(line)):
            self._fence, self._language, self._indent = (
                fence["fence"],
                fence["language"],
                len(fence["before"]),
            )
        else:
            yield from self._text(line)

    def _text(self, line: str) -> Iterator[SpokenLine]:
        """A line that is no code, or a sentence of one, without marks that are only for the eye."""
        quote = _QUOTE.match(line)
        before, text = ("Quote: ", line[quote.end() :]) if quote else ("", line)
        row, self._row = self._row, _cells(text)
        if row and _is_divider(text):
            self._head = row
            return
        if self._row:
            yield SpokenLine(before + self._row_words(), ours=True)
            return
        self._head = ()
        if not text.strip() or _RULE.match(text) or _is_divider(text):
            return
        if heading := _HEADING.match(text):
            yield SpokenLine(f"{before}Heading: {_plain(heading['title'])}", ours=True)
            return
        for sentence in _sentences(text):
            yield from _spoken(sentence, before)

    def _row_words(self) -> str:
        """A row of a table, each cell behind the name of its column, which nobody who listens can look up."""
        names = self._head if len(self._row) > 1 else ()
        named = (f"{name}: " if name else "" for name in names)
        cells = (f"{next(named, '')}{cell or 'blank'}" for cell in self._row)
        return f"Row: {'; '.join(cells)}"

    def _end_code(self) -> Iterator[SpokenLine]:
        count = len(self._code)
        named = f"{self._language}, " if self._language else ""
        yield SpokenLine(f"Code: {named}{count} {'line' if count == 1 else 'lines'}", ours=True)
        yield from map(SpokenLine, self._code)
        yield SpokenLine("Code ends.", ours=True)
        self._fence, self._language, self._code, self._characters = "", "", [], 0


def _sentences(text: str) -> list[str]:
    """The sentences of a line; the last one may be unfinished, and is never left out."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        sentence, after = text[start : end.end()], text[end.end() : end.end() + 1]
        before = text[max(0, end.start() - _TOKEN) : end.start() + 1]
        if after.islower() or sentence.count("`") % 2 or _ABBREVIATION.search(before):
            continue
        sentences += _cut(sentence.rstrip() if start == 0 else sentence.strip())
        start = end.end()
    return [*sentences, *_cut(text[start:])]


def _cut(text: str) -> list[str]:
    """A text without an end of a sentence, in pieces that are not too long; the last one may be empty."""
    pieces = []
    while len(text) > _LONGEST:
        at = text.rfind(" ", 1, _LONGEST)
        at = at if at > 0 else _LONGEST
        pieces.append(text[:at])
        text = text[at:].lstrip(" ")
    return [*pieces, text]


def _begins_fence(text: str) -> bool:
    """True for the beginning of a line that may become a fence."""
    return len(text) <= _LONGEST_FENCE and _FENCE_BEGINS.match(text) is not None


def _spoken(sentence: str, before: str) -> Iterator[SpokenLine]:
    """A sentence as it is read aloud, behind what says that it is quoted."""
    if not sentence.strip():
        return
    if task := _TASK.match(sentence):
        state = "open" if task["mark"] == " " else "finished"
        yield SpokenLine(
            f"{before}{task['before']}{state}: {_plain(sentence[task.end() :])}", ours=bool(before)
        )
    else:
        yield SpokenLine(before + _plain(sentence), ours=bool(before))


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a row of a table; none of a line that is no row."""
    row = line.strip()
    if len(row) < 3 or not (row.startswith("|") and row.endswith("|")) or _is_divider(line):
        return ()
    return tuple(_plain(cell.strip()).replace("\\|", "|") for cell in _PIPE.split(row[1:-1]))


def _is_divider(line: str) -> bool:
    """True for the line between the head of a table and its rows."""
    return set(line) <= _DIVIDER and {"-", "|"} <= set(line)


def _plain(text: str) -> str:
    """A text without marks of Markdown; formulas and names stay as they are."""
    parts, at = [], 0
    for begin, end in [*formulas_in(text), (len(text), len(text))]:
        parts += [_LINK.sub(r"\1 (\2)", _STRONG.sub(_without_marks, text[at:begin])), text[begin:end]]
        at = end
    plain = "".join(parts)
    return plain.removesuffix("\\") if not plain.endswith("\\\\") else plain


def _without_marks(strong: re.Match[str]) -> str:
    return strong[2] or strong[4]


def spoken_lines(text: str) -> list[SpokenLine]:
    """The lines of a text that is whole."""
    cutter = SentenceCutter()
    return [*cutter.feed(text), *cutter.rest()]
