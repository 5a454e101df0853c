"""Mentions in a text, `@path` with or without lines behind it, and what each is read as for the agent.

An `@` within a word is text, and so is one behind a backslash.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from catena.mentions.index import leads_inside, resolved_roots
from catena.workspace.tab import Tab
from catena_acp.continuity.sending.prompt_blocks import LONGEST_TEXT, SHOWN_PICTURES
from catena_store.errors import NotAttachable
from catena_store.records import Attachment
from catena_store.windows.attached_files import MOST_BYTES, MOST_FILES, from_bytes, link_to

_MENTION = re.compile(
    r"""(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]+)"(?P<behind>:\d{1,9}(?:-\d{1,9})?)?|(?P<bare>[^\s"]+))""",
    re.MULTILINE,
)
_UNFINISHED = re.compile(r"""(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<bare>[^\s"]*))$""")
_LINES = re.compile(r":(\d{1,9})(?:-(\d{1,9}))?$")
_REST = re.compile(r'[^\s"]*')
_LONGEST_PATH = 4_096  # characters
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
    for _ in range(_MOST_BEHIND if len(word) <= _LONGEST_PATH else 0):
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


_MOST_SCANNED = 64 * 1024 * 1024  # bytes that are read for some lines
_AS_TEXT = "A backslash before the @ sends it as text."


def with_mentions(
    text: str,
    files: Sequence[Attachment],
    roots: Sequence[str],
    *,
    taken: Collection[str] = (),
) -> tuple[Attachment, ...]:
    """The attachments of a prompt: the attached files, and those that its text mentions, as they are now.

    A path that does not exist, or is outside of ``roots``, is text. A file that was mentioned when the prompt was sent
    before, and is gone since, stays as it was. ``taken`` are paths that the person took from those that were offered.
    Blocks.

    Raises NotAttachable for a path that exists but cannot be read, and for a path that was taken and is gone.
    """
    kept = {each.name: each for each in files if each.mentioned}
    found: dict[str, Attachment] = {}
    resolved = resolved_roots(roots)
    for readings in readings_in(text):
        read = _read_first(readings, roots, resolved, kept)
        if read is not None:
            found.setdefault(read.name, read)
        elif gone := next((each.path for each in readings if each.path in taken), None):
            raise NotAttachable(f"File not found: {gone}. {_AS_TEXT}")
    attached = [each for each in files if not each.mentioned]
    if len(attached) + sum(each.kept for each in found.values()) > MOST_FILES:
        raise NotAttachable(f"At most {MOST_FILES} files per prompt: mention fewer, or their directory.")
    return (*attached, *found.values())


def _read_first(
    readings: Iterable[Mention],
    roots: Sequence[str],
    resolved: Sequence[Path],
    kept: Mapping[str, Attachment],
) -> Attachment | None:
    """What the first reading of a mention that leads somewhere brings; None for text."""
    for mention in readings:
        place = _place_of(mention.path, roots, resolved)
        if place is not None:
            return _read(mention, place)
        if mention.written in kept:
            return kept[mention.written]
    return None


def _place_of(path: str, roots: Sequence[str], resolved: Sequence[Path]) -> Path | None:
    """Where a mentioned path is, if that exists and is below one of the roots; `~` and `..` lead nowhere."""
    if len(path) > _LONGEST_PATH or path.startswith("~") or ".." in Path(path).parts:
        return None
    place = Path(roots[0], path)
    return place if leads_inside(place, resolved) else None


def _read(mention: Mention, place: Path) -> Attachment:
    path = str(place)
    try:
        found = place.stat()
        if stat.S_ISDIR(found.st_mode):
            return link_to(path, f"@{mention.path}", directory=True)
        if not stat.S_ISREG(found.st_mode):
            raise NotAttachable(f"{mention.path} is not a regular file. {_AS_TEXT}")
        with place.open("rb") as file:
            content = file.read(MOST_BYTES + 1) if mention.first is None else _lines(file, mention)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise NotAttachable(f"{mention.path} cannot be read: {why}. {_AS_TEXT}") from error
    read = replace(from_bytes(content, place.name, path=path), name=mention.written)
    most = MOST_BYTES if read.mime in SHOWN_PICTURES else LONGEST_TEXT if _is_text(content) else -1
    return read if len(content) <= most else link_to(path, read.name)


def _lines(file: BinaryIO, mention: Mention) -> bytes:
    """The lines that are mentioned; some of them where they are too long. Raises NotAttachable if there are none."""
    first = mention.first or 1
    last = first if mention.last is None else mention.last
    kept: list[bytes] = []
    number, size, scanned = 1, 0, 0
    while number <= last and size <= LONGEST_TEXT and scanned < _MOST_SCANNED:
        line = file.readline(LONGEST_TEXT + 1)
        if not line:
            break
        scanned += len(line)
        if number >= first:
            kept.append(line)
            size += len(line)
        number += line.endswith(b"\n")
    if not kept:
        raise NotAttachable(f"{mention.path} has no lines {first}-{last}. {_AS_TEXT}")
    return b"".join(kept)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


async def with_mentions_of(tab: Tab, text: str, files: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """What goes with a text: what is attached, and the files that it mentions as they are now. Raises NotAttachable."""
    if "@" not in text and not any(file.mentioned for file in files):
        return files

    roots = (tab.conversation.record.cwd, *tab.conversation.directories)
    taken = frozenset(tab.taken_paths)
    found = await asyncio.to_thread(with_mentions, text, files, roots, taken=taken)
    tab.taken_paths -= taken
    return found
