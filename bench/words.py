"""Markdown to stream: deterministic, of any length, with what answers have in them."""

from __future__ import annotations

import random
from collections.abc import Iterator

TEXT = """
a conversation belongs to the person who leads it and every session that carried a part of it is a link of
one chain so what was said stays readable after limits crashes and restarts while the screen keeps up with an
agent that writes faster than anyone can read
"""
WORDS = TEXT.split()

CODE_LINES = 4
LIST_LINES = 5
TABLE_ROWS = 4


def markdown(words: int, seed: int = 1, end: str = "") -> str:
    """About ``words`` words: headings, paragraphs, lists, code, now and then a table; ``end`` comes last."""
    writer = _Writer(random.Random(seed))
    blocks: list[str] = []
    section = 0
    while writer.written < words:
        section += 1
        if section % 3 == 1 and words > 60:
            blocks.append(f"## Section {section}: {writer.sentence(4)}")
        for _ in range(2):
            if writer.written < words:
                length = writer.chance.randint(35, 80)
                blocks.append(writer.sentence(min(length, max(5, words - writer.written))) + ".")
        if writer.written < words:
            blocks.append(writer.something_else(section))
    if end:
        blocks.append(end)
    return "\n\n".join(blocks) + "\n"


def pieces(text: str, shortest: int = 5, longest: int = 20) -> Iterator[str]:
    """The text in chunks as an agent sends them, of 5 to 20 characters by default."""
    chance = random.Random(7)
    start = 0
    while start < len(text):
        size = chance.randint(shortest, longest)
        yield text[start : start + size]
        start += size


class _Writer:
    """Makes blocks and counts the words in them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.written = 0

    def sentence(self, words: int) -> str:
        self.written += words
        return " ".join(self._word() for _ in range(words))

    def _word(self) -> str:
        word = self.chance.choice(WORDS)
        emphasis = self.chance.random()
        if emphasis < 0.03:
            return f"**{word}**"
        if emphasis < 0.06:
            return f"`{word}`"
        return f"*{word}*" if emphasis < 0.08 else word

    def something_else(self, section: int) -> str:
        match section % 4:
            case 1:
                return "\n".join(f"- {self.sentence(self.chance.randint(5, 14))}" for _ in range(LIST_LINES))
            case 2:
                return self._code()
            case 3:
                return "\n".join(
                    f"{number}. {self.sentence(self.chance.randint(4, 10))}"
                    for number in range(1, LIST_LINES)
                )
            case _:
                return self._table()

    def _code(self) -> str:
        self.written += 3 * CODE_LINES
        lines = ["```python"]
        for number in range(CODE_LINES):
            name, word = self.chance.choice(WORDS), self.chance.choice(WORDS)
            lines += [
                f"def {name}_{number}(value: int = {number}) -> str:",
                f'    return f"{{value}} {word}"',
            ]
        return "\n".join([*lines, "```"])

    def _table(self) -> str:
        self.written += 2 * TABLE_ROWS
        rows = [
            f"| {self.chance.choice(WORDS)} | {self.chance.randint(1, 9999)} | {self.chance.choice(WORDS)} |"
            for _ in range(TABLE_ROWS)
        ]
        return "\n".join(["| name | value | note |", "|---|---|---|", *rows])
