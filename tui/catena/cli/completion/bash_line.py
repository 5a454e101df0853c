"""The line of a bash that completes: its words, and how a word has to be written where the cursor stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_PLAIN = frozenset("%+,-./:=@_^")  # beside letters and digits


@dataclass(frozen=True, slots=True)
class BashLine:
    """A line up to the cursor."""

    words: Sequence[str]  # behind the program, without the current one
    current: str  # without quotes
    quote: str  # that is open at the cursor
    kept: int  # characters of the current word that bash does not replace

    def insert(self, word: str) -> str:
        """What bash has to put in the place of that which it replaces, so that the word stands there."""
        rest = word[self.kept :]
        match self.quote:
            case "'":
                return rest.replace("'", "'\\''")
            case '"':
                return "".join(f"\\{one}" if one in '"\\$`' else one for one in rest)
            case _:
                return "".join(one if one.isalnum() or one in _PLAIN else f"\\{one}" for one in rest)


def read_line(line: str, breaks: str) -> BashLine:
    """Read a line up to the cursor; ``breaks`` are the characters at which bash begins to replace (COMP_WORDBREAKS)."""
    words: list[str] = []
    current: str | None = None
    quote, kept, at = "", 0, 0
    while at < len(line):
        one = line[at]
        at += 1
        if quote:
            if one == quote:
                quote = ""
            elif one == "\\" and quote == '"' and line[at : at + 1] in tuple('"\\$`'):
                current = (current or "") + line[at]
                at += 1
            else:
                current = (current or "") + one
        elif one == "\\":
            current = (current or "") + line[at : at + 1]
            at += 1
        elif one.isspace():
            if current is not None:
                words.append(current)
            current, kept = None, 0
        else:
            current = current or ""
            if one in "'\"":
                quote, kept = one, len(current)
            else:
                current += one
                kept = len(current) if one in breaks else kept
    return BashLine(words[1:], current or "", quote, kept)
