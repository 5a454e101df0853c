"""Mentions in a text: `@path`, `@"a path with blanks"`, and either with lines behind it, `:10` or `:10-20`.

An `@` within a word is text, and so is one behind a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MENTION = re.compile(
    r"""(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]+)"(?P<behind>:\d{1,9}(?:-\d{1,9})?)?|(?P<bare>[^\s"]+))""",
    re.MULTILINE,
)
_UNFINISHED = re.compile(r"""(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<bare>[^\s"]*))$""")
_LINES = re.compile(r":(\d{1,9})(?:-(\d{1,9}))?$")
_REST = re.compile(r'[^\s"]*')
_LONGEST = 4_096  # characters of a path
_MOST_BEHIND = 8  # characters of punctuation
_PUNCTUATION = ".,;:!?)]}>'`"  # behind a mention; it may belong to a name, too


@dataclass(frozen=True, slots=True)
class Mention:
    """A path that a text mentions, and which of its lines, counted from 1; all of them where ``first`` is None."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def written(self) -> str:
        """The mention as it is stored with a prompt, without quotes."""
        if self.first is None:
            return f"@{self.path}"
        return f"@{self.path}:{self.first}" + (f"-{self.last}" if self.last is not None else "")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A mention that is being written: what is written of its path, and the columns that it stands in."""

    typed: str
    start: int
    end: int
    quoted: bool

    @property
    def without_lines(self) -> str:
        """The path as it was typed, without the line numbers behind it."""
        return _LINES.sub("", self.typed)


def readings_in(text: str) -> Iterator[tuple[Mention, ...]]:
    """Each mention of a text, as all that it can mean: a file's name may end like a line number or a sentence."""
    for found in _MENTION.finditer(text):
        if found["quoted"]:
            yield (_with_lines(found["quoted"], found["behind"] or ""),)
        else:
            yield tuple(_readings(found["bare"]))


def _readings(word: str) -> Iterator[Mention]:
    for _ in range(_MOST_BEHIND if len(word) <= _LONGEST else 0):
        yield Mention(word)
        if (lines := _LINES.search(word)) is not None and lines.start():
            yield _with_lines(word[: lines.start()], lines[0])
        if word[-1] not in _PUNCTUATION or len(word) == 1:
            return
        word = word[:-1]


def _with_lines(path: str, behind: str) -> Mention:
    lines = _LINES.search(behind)
    if lines is None:
        return Mention(path)
    return Mention(path, int(lines[1]), int(lines[2]) if lines[2] else None)


def unfinished(line: str, column: int) -> Unfinished | None:
    """The mention that is being written before a column of a line; None if there is none."""
    found = _UNFINISHED.search(line[:column])
    if found is None:
        return None
    quoted = found["quoted"] is not None
    rest = _REST.match(line, column)
    end = column if quoted or rest is None else rest.end()
    return Unfinished(found["quoted"] if quoted else found["bare"], found.start(), end, quoted)


def written(path: str) -> str:
    """How a path is mentioned; that of a directory, which ends with a slash, stays open for what follows."""
    if not any(character.isspace() for character in path):
        return f"@{path}" if path.endswith("/") else f"@{path} "
    return f'@"{path}' if path.endswith("/") else f'@"{path}" '
