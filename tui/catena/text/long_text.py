"""Long texts: which are shown folded, what is shown of them, and how their size is said."""

from __future__ import annotations

MOST_LINES = 20
MOST_CHARACTERS = 2000

_FIRST_LINES, _LAST_LINES = 5, 2  # of a folded text
_MOST_AT_AN_END = 500  # characters
_LINE = 500  # characters of a line, beyond which a number of lines says little


def is_long(text: str) -> bool:
    """True for a text of more than 20 lines or 2,000 characters."""
    return len(text) > MOST_CHARACTERS or text.count("\n") - text.endswith("\n") >= MOST_LINES


def size_of_text(text: str) -> str:
    """The size of a long text in words: lines, or characters if there are few lines."""
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{lines:,} lines" if lines > 1 and len(text) < lines * _LINE else f"{len(text):,} characters"


def hidden_range(text: str) -> tuple[int, int]:
    """The range of a long text that is left out while it is folded: its first and last lines stay if they are short."""
    start = 0
    for _ in range(_FIRST_LINES):
        start = text.find("\n", start) + 1 or len(text)
    if start > _MOST_AT_AN_END:
        cuts = (text.rfind(mark, 0, _MOST_AT_AN_END) + 1 for mark in "\n ")
        start = next(filter(None, cuts), _MOST_AT_AN_END)
    end = len(text)
    for _ in range(_LAST_LINES):
        end = max(start, text.rfind("\n", start, end))
    return start, end + 1 if start < end and len(text) - end <= _MOST_AT_AN_END else len(text)
