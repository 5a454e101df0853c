"""Texts in prompts: long ones, which are shown folded, and shell commands with their output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena.text.safe_text import safe

MOST_LINES = 20
MOST_CHARACTERS = 2000

_PASTES_KEPT = 64
_CHARACTERS_KEPT = 64_000_000
_FIRST_LINES, _LAST_LINES = 5, 2  # of a folded text
_MOST_AT_AN_END = 500  # characters
_OUTPUT = re.compile("`{3,}console\n\\$ ")  # of a command of the person's
_LINE = 500  # characters of a line, beyond which a number of lines says little


def is_long(text: str) -> bool:
    """True for a text of more than 20 lines or 2,000 characters."""
    return len(text) > MOST_CHARACTERS or text.count("\n") - text.endswith("\n") >= MOST_LINES


def size_of_text(text: str) -> str:
    """The size of a long text in words: lines, or characters if there are few lines."""
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{lines:,} lines" if lines > 1 and len(text) < lines * _LINE else f"{len(text):,} characters"


def is_output(text: str) -> bool:
    """True for the block with the output of a command of the person's."""
    return _OUTPUT.match(text) is not None


def piece_words(text: str) -> str:
    """The words for a long paste, or for the long output of a command of the person's, with its size."""
    return f"{'output,' if is_output(text) else 'pasted'} {size_of_text(text)}"


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


class Pastes:
    """The long pastes and outputs of one run of the program: wherever one stands whole in a text, it is a piece of it.

    The newest are kept, up to 64 and 64 million characters.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []  # oldest first

    def add(self, text: str) -> None:
        """Keep a long paste."""
        self.texts = [*(each for each in self.texts if each != text), text][-_PASTES_KEPT:]
        while len(self.texts) > 1 and sum(map(len, self.texts)) > _CHARACTERS_KEPT:
            del self.texts[0]

    def split(self, text: str) -> list[str]:
        """Cut a text at its pieces: what is no piece, a piece, what is none, and so on."""
        parts = [text]
        for paste in sorted(self.texts, key=len, reverse=True) if is_long(text) else ():
            parts = [
                part
                for at, part in enumerate(parts)
                for part in ([part] if at % 2 else _around(part.split(paste), paste))
            ]
        return parts


def _around(apart: Sequence[str], paste: str) -> Iterator[str]:
    for at, part in enumerate(apart):
        yield from (paste, part) if at else (part,)


SIGN = "!"
_BLOCKS = re.compile(r"(?:(?P<fence>`{3,})console\n\$ .*?\n(?P=fence)\n\n*)*", re.DOTALL)
_FENCE = re.compile("`{3,}")
# What programs write for a terminal: colours and movements, titles and links, and other sequences.
_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile("[^\n]\x08")
_REWRITTEN = re.compile("[^\n]*\r(?!\n|$)")  # a line of which a later one took the place


@dataclass(frozen=True, slots=True)
class ShellText:
    """A command, and the text before it: blocks of commands that ran already."""

    before: str
    command: str


def may_be_shell_text(first_line: str) -> bool:
    """False for the first line of a text that is no command."""
    return first_line.startswith((SIGN, "```"))


def shell_text(text: str) -> ShellText | None:
    """The command that a text is: it begins with an exclamation mark, or does so behind the output of others."""
    blocks = _BLOCKS.match(text)
    at = blocks.end() if blocks is not None else 0
    if not text.startswith(SIGN, at):
        return None
    return ShellText(text[:at], text[at + len(SIGN) :].strip())


def plain_output(output: str) -> str:
    """The output of a program as it would stand on a terminal, without anything that a terminal obeys."""
    output = _SEQUENCES.sub("", output)
    while "\x08" in output and output != (shorter := _OVERSTRUCK.sub("", output)):
        output = shorter
    return safe(_REWRITTEN.sub("", output.replace("\r\n", "\n"))).strip("\n")


def output_block(command: str, output: str, end: str) -> str:
    """The block of a command for a prompt: the command, its output, and how it ended unless `end` is ""."""
    said = plain_output(output)
    fence = "`" * max(3, *(len(found) + 1 for found in _FENCE.findall(f"{command}\n{said}")), 3)
    lines = [f"{fence}console", "$ " + safe(command).replace("\n", "\n> ")]
    if said:
        lines.append(said)
    if end:
        lines.append(f"[{end}]")
    return "\n".join([*lines, fence, ""])
