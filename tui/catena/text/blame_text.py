"""Who wrote lines of a file, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from catena.text.formats import age, title_of
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena_acp.blame.authorship import Author, BlamedFile, BlamedTurn, Doubt, Proof

WAY, LEFT, REPORTED = "●", "○", "~"  # on the way of its conversation, on a branch that was left, as reported
_MOST_NAMED = 2  # of the turns that may have written a line

_LINES = re.compile(r"(?P<path>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileLines:
    """A file, and the lines of it that are asked about, counted from 1; None for its last one."""

    path: Path
    first: int = 1
    last: int | None = None

    @classmethod
    def read(cls, text: str, base: Path) -> FileLines:
        """Read `FILE`, `FILE:LINE` or `FILE:LINE-LINE`, also as a mention; a file of the whole name comes first.

        Relative paths count from ``base``. Blocks for a moment.
        """
        text = text.strip()
        if text.startswith("@") and not _exists(base / text):
            text = text[1:].replace('"', "", 2) if text.startswith('@"') else text[1:]
        found = None if _exists(base / text) else _LINES.fullmatch(text)
        if found is None:
            return cls(_from(base, text))
        first = int(found["first"])
        return cls(_from(base, found["path"]), first, int(found["last"] or first))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _from(base: Path, text: str) -> Path:
    try:
        return base / Path(text).expanduser()
    except RuntimeError:  # of nobody's home
        return base / text


def mark_of(file: BlamedFile, author: Author) -> str:
    """The mark before an author: on the way, on a branch that was left, as reported; "" for no turn."""
    turn = file.blamed_turns.get(author.turn_id or "")
    if turn is None:
        return ""
    if author.proof is Proof.REPORT:
        return REPORTED
    return WAY if turn.on_branch else LEFT


def prompt_words(turn: BlamedTurn) -> str:
    """The first words of a turn's prompt."""
    if turn.prompt.deleted:
        return "deleted conversation"
    return safe_line(title_of(turn.prompt.preview)) or "(no text)"


def turn_words(turn: BlamedTurn) -> str:
    """A turn by its number: `turn 3`."""
    return f"turn {turn.number}" if turn.number else "a turn"


def brief_words(file: BlamedFile, author: Author) -> str:
    """An author in the few words of a gutter."""
    match author.proof:
        case Proof.SNAPSHOTS | Proof.REPORT:
            turn = file.blamed_turns.get(author.turn_id or "")
            return "unknown" if turn is None else prompt_words(turn)
        case Proof.BETWEEN:
            return between_words(file, author)
        case Proof.UNKNOWN:
            return "unknown"


def age_words(file: BlamedFile, author: Author, now: datetime) -> str:
    """How long ago the turn of an author began; "" for no turn."""
    turn = file.blamed_turns.get(author.turn_id or "")
    return "" if turn is None else age(turn.prompt.began_at, now)


def between_words(file: BlamedFile, author: Author) -> str:
    """The time of lines that no turn wrote: `between turns 3 and 4`."""
    after, before = file.blamed_turns.get(author.after or ""), file.blamed_turns.get(author.before or "")
    if after is None:
        return f"before {turn_words(before)}" if before else "not in a turn"
    if before is None:
        return f"after {turn_words(after)}"
    one = after.prompt.conversation_id == before.prompt.conversation_id
    if one and after.number and before.number:
        return f"between turns {after.number} and {before.number}"
    return f"after {turn_words(after)}, not in a turn"


def full_words(file: BlamedFile, author: Author, now: datetime) -> str:
    """An author in a sentence, as it stands below the lines."""
    match author.proof:
        case Proof.SNAPSHOTS | Proof.REPORT:
            turn = file.blamed_turns.get(author.turn_id or "")
            if turn is None:
                return "Unknown."
            ago = age_words(file, author, now)
            where = f"{turn_words(turn)} of “{conversation_words(turn)}”"
            parts = [prompt_words(turn), f"{ago} ago" if " " in ago else ago, where]
            if not turn.on_branch:
                parts.append("on a branch that was left")
            if author.proof is Proof.REPORT:
                parts.append("as the agent reported it")
            return " · ".join(parts)
        case Proof.BETWEEN:
            return f"Not written in a turn: {between_words(file, author)}."
        case Proof.UNKNOWN:
            return f"Unknown: {doubt_words(file, author)}."


def conversation_words(turn: BlamedTurn) -> str:
    """The title of a turn's conversation."""
    if turn.prompt.deleted:
        return "a deleted conversation"
    return safe_line(conversation_name(turn.prompt.title, turn.prompt.opening))


def doubt_words(file: BlamedFile, author: Author) -> str:
    """Why an author is not known, with the turns that it may have been."""
    named = [file.blamed_turns[turn] for turn in author.perhaps if turn in file.blamed_turns]
    perhaps = " or ".join(
        f"{turn_words(each)} of “{conversation_words(each)}”" for each in named[:_MOST_NAMED]
    )
    match author.doubt:
        case Doubt.SEVERAL if perhaps and len(author.perhaps) <= _MOST_NAMED:
            return f"{perhaps} – both were at work"
        case Doubt.SEVERAL:
            return f"{len(author.perhaps)} turns were at work at once"
        case Doubt.NOT_KEPT if perhaps:
            return f"{perhaps} or someone else – the files were not kept to its end"
        case Doubt.AT_WORK if perhaps:
            return f"{perhaps} is still at work"
        case Doubt.OLDER:
            return "older than the first snapshot"
        case Doubt.UNSEEN:
            return "in no snapshot before – the file was new, ignored or left out"
        case Doubt.MOVED:
            return "from a file that was removed when this one appeared"
        case Doubt.TOO_LONG:
            return "older than the history that was looked through"
        case Doubt.NONE:
            return "no snapshots of this file"
        case _:
            return "the files were not kept around the turn"
