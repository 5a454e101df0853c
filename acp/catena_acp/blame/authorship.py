"""Authorship of the lines of a file, as far as it is known. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from catena_store.chains.turns import TurnPrompt


class Proof(StrEnum):
    """How it is known who wrote a line."""

    SNAPSHOTS = "snapshots"  # the start of a turn lacks it, and its end has it
    REPORT = "report"  # the agent reported the edit
    BETWEEN = "between turns"  # it came while no turn was at work
    UNKNOWN = "unknown"


class Doubt(StrEnum):
    """Why it is not known who wrote a line."""

    OLDER = "older than the first snapshot"
    SEVERAL = "several turns were at work"
    NOT_KEPT = "no snapshot of the turn's start or end"
    AT_WORK = "a turn is at work"
    UNSEEN = "not in the snapshot before: new, ignored or left out then"
    MOVED = "it stood in a file that went when this one came"
    TOO_LONG = "the history is too long"
    NONE = "no snapshots"


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote some lines, as far as it is known."""

    proof: Proof
    turn_id: str | None = None  # of SNAPSHOTS and REPORT
    after: str | None = None  # of BETWEEN: the turn that had ended last, if there was one
    before: str | None = None  # of BETWEEN: the turn that began next, if there is one
    doubt: Doubt | None = None  # of UNKNOWN
    perhaps: tuple[str, ...] = ()  # of UNKNOWN: the turns that may have been it

    @property
    def turns(self) -> tuple[str, ...]:
        """Every turn that is named."""
        named = (self.turn_id, self.after, self.before, *self.perhaps)
        return tuple(dict.fromkeys(id for id in named if id is not None))


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that follow each other and have one author."""

    first: int  # from 0
    count: int
    author: Author

    @property
    def end(self) -> int:
        """The line behind the last one."""
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class BlamedTurn:
    """A turn that is named."""

    prompt: TurnPrompt
    number: int | None = None  # of its branch, from 1
    on_branch: bool = True  # False: it is on a branch that its conversation has left


@dataclass(frozen=True, slots=True)
class BlamedFile:
    """A file as it is now, and who wrote its lines."""

    path: Path
    lines: tuple[str, ...]  # without line ends; hostile text
    blocks: tuple[Block, ...]  # all of the file, from its first line on
    blamed_turns: Mapping[str, BlamedTurn]  # by turn
    root: str | None = None  # of the snapshots, where there are any

    def block_at(self, line: int) -> int:
        """The place of the block that has a line, counted from 0."""
        return next((at for at, block in enumerate(self.blocks) if line < block.end), len(self.blocks) - 1)


def blocks_of(authors: Sequence[Author]) -> tuple[Block, ...]:
    """Neighbouring lines with the same author as blocks."""
    blocks: list[Block] = []
    for line, author in enumerate(authors):
        if blocks and blocks[-1].author == author:
            blocks[-1] = Block(blocks[-1].first, blocks[-1].count + 1, author)
        else:
            blocks.append(Block(line, 1, author))
    return tuple(blocks)
