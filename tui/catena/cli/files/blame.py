"""``catena blame``: the prompt, agent and branch that wrote each line of a file, without loading the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from catena.cli.conversations.list import line_width
from catena.cli.outcome import outcome
from catena.errors import CommandRefused, ExitStatus
from catena.settings.agents import titles_in_settings
from catena.text.blame_text import (
    FileLines,
    age_words,
    between_words,
    conversation_words,
    doubt_words,
    mark_of,
    prompt_words,
    turn_words,
)
from catena.text.formats import cell_width, truncate
from catena.text.json_shapes import FORMAT, dumps, time_shape
from catena.text.names import short_id
from catena.text.safe_text import safe, safe_line
from catena_acp.blame.authorship import Author, BlamedFile, BlamedTurn, Proof
from catena_acp.blame.reading import blame
from catena_store.database.database import Database, default_path
from catena_store.ids import utc_now

_NARROW = 60  # cells of a terminal below which the agent is not named
_WHO = 24  # cells, at most, of what stands for lines that no turn wrote
_TAB = 8

Title = Callable[[str, str | None], str | None]


def print_blame(text: str, *, json: bool) -> int:
    """Print who wrote the lines of a file. Raises CommandRefused, NotBlamed and StoreError."""
    asked = FileLines.read(text, Path())
    file = outcome(_read(asked.path))
    last = len(file.lines) if asked.last is None else min(asked.last, len(file.lines))
    if not 1 <= asked.first <= max(last, 1) or (asked.last and not file.lines):
        raise CommandRefused(f"{asked.path} has no line {asked.first}: it ends with line {len(file.lines)}")
    lines = range(asked.first - 1, last)
    titles = titles_in_settings()
    if json:
        print(dumps(_shape(file, lines), indent=2))
        return ExitStatus.ANSWERED
    for line in _lines(file, lines, titles, utc_now(), line_width()):
        print(line)
    return ExitStatus.ANSWERED


async def _read(path: Path) -> BlamedFile:
    async with Database.open(default_path()) as db:
        return await blame(db, path, utc_now())


def _lines(file: BlamedFile, lines: range, titles: Title, now: datetime, width: int | None) -> Iterator[str]:
    """The lines below each other, and the turns that they are from below those."""
    authors = _authors(file, lines)
    narrow = width is not None and width < _NARROW
    who = {author: _who(file, author, titles, now, narrow=narrow) for author in set(authors.values())}
    wide = max(map(cell_width, who.values()), default=0)
    number = len(str(lines.stop))
    for at in lines:
        words = who[authors[at]]
        text = safe(file.lines[at].expandtabs(_TAB)).replace("\n", " ")
        line = f"{words}{'':{wide - cell_width(words)}}  {at + 1:>{number}}  {text}".rstrip()
        yield line if width is None else truncate(line, width)
    turns = dict.fromkeys(author.turn_id for author in authors.values() if author.turn_id is not None)
    named = [file.blamed_turns[id] for id in turns if id in file.blamed_turns]
    if named:
        yield ""
    for turn in named:
        line = f"{short_id(turn.prompt.prompt_id)}  {prompt_words(turn)}"
        yield line if width is None else truncate(line, width)
        yield f"{'':10}catena show {short_id(turn.prompt.conversation_id)} --turn {short_id(turn.prompt.prompt_id)}"


def _authors(file: BlamedFile, lines: range) -> dict[int, Author]:
    return {
        at: block.author
        for block in file.blocks
        for at in range(max(block.first, lines.start), min(block.end, lines.stop))
    }


def _who(file: BlamedFile, author: Author, titles: Title, now: datetime, *, narrow: bool) -> str:
    """What stands before the lines of an author."""
    turn = file.blamed_turns.get(author.turn_id or "")
    if turn is None:
        words = between_words(file, author) if author.proof is Proof.BETWEEN else "unknown"
        return truncate(words, _WHO)
    prompt = turn.prompt
    agent = safe_line(titles(prompt.agent, prompt.profile) or prompt.agent)
    parts = [short_id(prompt.prompt_id), mark_of(file, author), f"{age_words(file, author, now):>6}"]
    return " ".join(parts if narrow else [*parts, truncate(agent, _WHO)])


def _shape(file: BlamedFile, lines: range) -> dict[str, object]:
    """One JSON object, in the shape of ``docs/command-line.md``."""
    authors = _authors(file, lines)
    return {
        "format": FORMAT,
        "path": str(file.path),
        "root": file.root,
        "lines": [
            {"line": at + 1, "text": file.lines[at], **_author_shape(file, authors[at])} for at in lines
        ],
        "turns": {
            id: _turn_shape(file.blamed_turns[id])
            for author in dict.fromkeys(authors.values())
            for id in author.turns
            if id in file.blamed_turns
        },
    }


def _author_shape(file: BlamedFile, author: Author) -> dict[str, object]:
    return {
        "proof": author.proof,
        "turn_id": author.turn_id,
        "after": author.after,
        "before": author.before,
        "doubt": author.doubt,
        "perhaps": [id for id in author.perhaps if id in file.blamed_turns],
        "words": doubt_words(file, author) if author.proof is Proof.UNKNOWN else None,
    }


def _turn_shape(turn: BlamedTurn) -> dict[str, object]:
    prompt = turn.prompt
    return {
        "conversation_id": prompt.conversation_id,
        "title": None if prompt.deleted else conversation_words(turn),
        "prompt_id": prompt.prompt_id,
        "prompt": None if prompt.deleted else prompt.preview,
        "turn": turn.number,
        "words": turn_words(turn),
        "on_branch": turn.on_branch,
        "agent": prompt.agent,
        "profile": prompt.profile,
        "began_at": time_shape(prompt.began_at),
    }
