"""Whatever turns and people do to a file: who is named for a line wrote it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from catena_acp.blame.authorship import Proof
from support.storage.written_files import WrittenFiles, written_files
from support.walks.length import walks

CONVERSATIONS = ("shop", "garden")


class Walk:
    """Random edits; every line that is written is the only one of its text."""

    def __init__(self, files: WrittenFiles, chance: random.Random) -> None:
        self.files = files
        self.chance = chance
        self.name = "a"
        self.wrote: dict[str, str] = {}  # by line: a turn, or "somebody"
        self.at_work: dict[str, str] = {}  # by conversation
        self._numbers = itertools.count(1)
        (files / self.name).write_text("first\n")
        self.wrote["first"] = "somebody"

    def edit(self, writer: str) -> None:
        """Add, change, delete or move lines, or the file."""
        path = self.files / self.name
        lines = path.read_text().splitlines()
        for _ in range(self.chance.randint(1, 3)):
            at = self.chance.randint(0, len(lines))
            match self.chance.choice(("add", "add", "change", "delete")):
                case "add":
                    lines[at:at] = [self._line(writer) for _ in range(self.chance.randint(1, 4))]
                case "change" if lines:
                    lines[at % len(lines)] = self._line(writer)
                case "delete":
                    del lines[at : at + 1]
        if self.chance.random() < 0.15:
            path.unlink()
            self.name = f"file{next(self._numbers)}"
            path = self.files / self.name
        path.write_text("".join(f"{line}\n" for line in lines))

    async def step(self) -> None:
        """A turn begins, writes, ends or is killed, or somebody writes beside them."""
        match self.chance.choice(("turn", "turn", "begin", "end", "write", "somebody")):
            case "turn" if not self.at_work:
                conversation = self.chance.choice(CONVERSATIONS)
                turn = await self.files.begin(conversation)
                self.edit(turn)
                await self.files.end(turn)
            case "begin":
                conversation = self.chance.choice(CONVERSATIONS)
                if conversation not in self.at_work:
                    self.at_work[conversation] = await self.files.begin(conversation)
            case "end" if self.at_work:
                _, turn = self.at_work.popitem()
                await self.files.end(turn, kept=self.chance.random() < 0.8)
            case "write" if self.at_work:
                self.edit(self.chance.choice(list(self.at_work.values())))
            case "somebody" if not self.at_work:  # beside a turn nothing tells the two apart
                self.edit("somebody")

    def _line(self, writer: str) -> str:
        line = f"line {next(self._numbers)}"
        self.wrote[line] = writer
        return line


@pytest.mark.parametrize("seed", range(walks(3)))
async def test_g08_every_line_that_is_named_was_written_by_that_turn(tmp_path: Path, seed: int) -> None:
    async with written_files(tmp_path) as files:
        await files.conversation("garden")
        walk = Walk(files, random.Random(seed))
        for _ in range(24):
            await walk.step()
        for turn in walk.at_work.values():
            await files.end(turn)
        last = await files.turn("shop", (walk.name, (files / walk.name).read_text() + "last\n"))
        walk.wrote["last"] = last
        found = await files.turns(walk.name)
        assert found["last"] == last
        for line, author in await files.authors(walk.name):
            match author.proof:
                case Proof.SNAPSHOTS:
                    assert walk.wrote[line] == author.turn_id, line
                case Proof.BETWEEN:
                    assert walk.wrote[line] == "somebody", line
                case Proof.UNKNOWN if author.perhaps:
                    assert walk.wrote[line] in ("somebody", *author.perhaps), line
