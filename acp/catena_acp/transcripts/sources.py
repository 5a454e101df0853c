"""All tools together: where their sessions lie, their heads in batches, as a file keeps them, and whole ones."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from catena_acp.transcripts import claude, codex, gemini, opencode, qwen
from catena_acp.transcripts.lines import Record, UnreadableTranscript, head_lines, opened, parsed
from catena_acp.transcripts.session import ForeignSession, ForeignTranscript, Tool

_BATCH = 40  # files that are looked at before somebody hears of them
_RECOGNISED_BY = 20  # lines


@dataclass(frozen=True, slots=True)
class _Reader:
    """How the transcripts of one tool are found and read."""

    root: Callable[[Mapping[str, str]], Path]
    files: Callable[[Path], Iterator[Path]]
    head: Callable[[Path], ForeignSession | None]
    read: Callable[[Path, ForeignSession], ForeignTranscript]
    recognises: Callable[[Record], bool]

    def transcript(self, path: Path) -> ForeignTranscript:
        """The whole session in a file. Raises UnreadableTranscript."""
        session = self.head(path)
        if session is None:
            raise UnreadableTranscript("nothing was said in it")
        return self.read(path, session)


# The order in which a file is recognised: a record of Qwen Code also looks like one of Claude Code.
_READERS: Mapping[Tool, _Reader] = {
    Tool.CODEX: _Reader(codex.root, codex.files, codex.head, codex.read, codex.recognises),
    Tool.GEMINI: _Reader(gemini.root, gemini.files, gemini.head, gemini.read, gemini.recognises),
    Tool.QWEN: _Reader(qwen.root, qwen.files, qwen.head, qwen.read, qwen.recognises),
    Tool.CLAUDE: _Reader(claude.root, claude.files, claude.head, claude.read, claude.recognises),
}


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A directory in which a tool keeps its sessions, of one of the person's accounts."""

    tool: Tool
    root: Path
    profile: str = ""


def places(
    environment: Mapping[str, str], profile: str = "", only: str | None = None
) -> tuple[SourcePlace, ...]:
    """Where the tools keep their sessions in an environment; of one tool where one is named."""
    roots = {tool: reader.root for tool, reader in _READERS.items()} | {Tool.OPENCODE: opencode.root}
    return tuple(
        SourcePlace(tool, roots[tool](environment), profile) for tool in Tool if only in (None, tool)
    )


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is no transcript that can be read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What a scan has found since the batch before."""

    sessions: Sequence[ForeignSession]
    unread: Sequence[Unread] = ()


@dataclass(frozen=True, slots=True)
class _File:
    place: SourcePlace
    path: Path
    state: FileState


class Scanner:
    """Scanner of the places; what has not changed since its last scan is not read again."""

    def __init__(
        self,
        places: Iterable[SourcePlace],
        also: Callable[[], Iterable[tuple[SourcePlace, Path]]] = tuple,
        kept: KeptHeads | None = None,
    ) -> None:
        """``also`` names further files, such as copies, that count where nothing else has their session.

        ``kept`` has the heads of the last scan, also that of another process.
        """
        self._places = tuple(places)
        self._also = also
        self._kept = kept
        self._seen: dict[Path, tuple[FileState, Sequence[ForeignSession], Unread | None]] | None = None
        self._titles: tuple[tuple[Path, tuple[int, int]], dict[str, str]] | None = None

    async def scan(self) -> AsyncIterator[Batch]:
        """Batches of heads, newest first, each session once; files are read in a thread."""
        batches = self.batches()
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield batch

    async def sessions(self) -> list[ForeignSession]:
        """All heads at once."""
        return [session async for batch in self.scan() for session in batch.sessions]

    def batches(self) -> Iterator[Batch]:
        """The same batches for a caller that may wait."""
        before = self._kept.load() if self._kept is not None and self._seen is None else {}
        if self._seen is None:
            self._seen = {path: (state, heads, None) for path, (state, heads) in before.items()}
        begun = dict(self._seen)
        listed, copied = self._files(), self._copies()
        known: set[tuple[str, str]] = set()
        for copies, files in ((False, listed), (True, copied)):
            for start in range(0, len(files), _BATCH):
                sessions: list[ForeignSession] = []
                unread: list[Unread] = []
                for file in files[start : start + _BATCH]:
                    heads, failure = self._heads(file)
                    unread += [failure] if failure else []
                    for head in heads:
                        if head.key not in known:
                            known.add(head.key)
                            sessions.append(replace(head, copied=copies, profile=file.place.profile))
                yield Batch(sessions, unread)
        here = {file.path for file in (*listed, *copied)}
        self._seen = {path: seen for path, seen in self._seen.items() if path in here}
        if self._kept is not None and self._seen != begun:
            # What could not be read, or what lacks its directory, may come without a change of its file.
            self._kept.save(
                {
                    path: (state, heads)
                    for path, (state, heads, failure) in self._seen.items()
                    if not failure and all(head.cwd for head in heads)
                }
            )

    def _files(self) -> list[_File]:
        found: dict[str, _File] = {}
        for place in self._places:
            listing = opencode.files if place.tool is Tool.OPENCODE else _READERS[place.tool].files
            for path in _listed(listing, place.root):
                real = os.path.realpath(path)
                if (real not in found or real == str(path)) and (state := _state(path)):
                    found[real] = _File(place, path, state)
        return sorted(found.values(), key=lambda file: file.state[1], reverse=True)

    def _copies(self) -> list[_File]:
        return [_File(place, path, state) for place, path in self._also() if (state := _state(path))]

    def _heads(self, file: _File) -> tuple[Sequence[ForeignSession], Unread | None]:
        assert self._seen is not None
        seen = self._seen.get(file.path)
        if seen is None or seen[0] != file.state:
            seen = self._seen[file.path] = (file.state, *self._read(file))
        heads = seen[1]
        return self._named(file.place.root, heads) if file.place.tool is Tool.CODEX else heads, seen[2]

    def _read(self, file: _File) -> tuple[Sequence[ForeignSession], Unread | None]:
        heads: list[ForeignSession] = []
        failure = None
        try:
            if file.place.tool is Tool.OPENCODE:
                heads = opencode.heads(file.path)
            elif head := _READERS[file.place.tool].head(file.path):
                heads = [head]
        except UnreadableTranscript as error:
            failure = Unread(file.path, str(error))
        return heads, failure

    def _named(self, root: Path, heads: Sequence[ForeignSession]) -> Sequence[ForeignSession]:
        """Codex keeps the names of all its sessions in one file."""
        index = root / "session_index.jsonl"
        state = _state(index)
        if state is None:
            return heads
        if self._titles is None or self._titles[0] != (index, state):
            self._titles = ((index, state), codex.titles(root))
        titles = self._titles[1]
        return [replace(head, title=titles.get(head.session_id, head.title)) for head in heads]


def _listed(listing: Callable[[Path], Iterator[Path]], root: Path) -> list[Path]:
    """The files below a root, as far as it can be read."""
    found: list[Path] = []
    try:
        for path in listing(root):
            found.append(path)
    except OSError:
        pass
    return found


def _state(path: Path) -> tuple[int, int] | None:
    """The size of a file and the time of its last change; of a database, those of its log too. None without one."""
    try:
        status = path.stat()
        size, changed = status.st_size, status.st_mtime_ns
        if path.suffix == ".db":
            log = path.with_name(f"{path.name}-wal").stat()
            size, changed = size + log.st_size, max(changed, log.st_mtime_ns)
    except FileNotFoundError:
        return None if not path.exists() else (status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):
        return None
    return size, changed


def read_session(session: ForeignSession) -> ForeignTranscript:
    """A whole session, from its file. Raises UnreadableTranscript."""
    if session.path is None:
        raise UnreadableTranscript("only its agent can open it")
    if session.source == Tool.OPENCODE:
        read = opencode.read(session.path, session.session_id)
    else:
        reader = _READERS.get(Tool(session.source)) if session.source in _READERS else None
        if reader is None:
            raise UnreadableTranscript("is of a tool whose transcripts cannot be read")
        read = reader.transcript(session.path)
    head = replace(
        read.session,
        profile=session.profile,
        copied=session.copied,
        title=session.title or read.session.title,
    )
    return replace(read, session=head)


def tool_of_file(path: Path) -> Tool | None:
    """The tool that wrote a transcript, by its content; None for any other file. Raises UnreadableTranscript."""
    with opened(path) as (file, _):
        for at, line in enumerate(head_lines(file, None)):
            record = parsed(line)
            if record is not None:
                for tool, reader in _READERS.items():
                    if reader.recognises(record):
                        return tool
            if at >= _RECOGNISED_BY:
                break
    return None


def read_file(path: Path) -> ForeignTranscript:
    """The session in a transcript, wherever it lies. Raises UnreadableTranscript."""
    tool = tool_of_file(path)
    if tool is None:
        raise UnreadableTranscript("is not a transcript of a tool that Catena knows")
    return _READERS[tool].transcript(path)


FILE = "heads.json"  # below the data folder

FileState: TypeAlias = tuple[int, int]  # size and time of the last change
Heads: TypeAlias = Mapping[Path, tuple[FileState, Sequence[ForeignSession]]]

_TIMES = ("created_at", "updated_at")


class KeptHeads:
    """The heads that were read from files, by path, with the states of those files.

    Other readers than those of now may have found something else in a file: then nothing counts as kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Heads:
        """The heads that are kept; none where the file is not there or cannot be read."""
        try:
            kept = json.loads(self._path.read_bytes())
            if kept["readers"] != _readers():
                return {}
            return {
                Path(path): ((size, changed), [_head(Path(path), each) for each in heads])
                for path, (size, changed, heads) in kept["files"].items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def save(self, heads: Heads) -> None:
        """Keep these heads and no others; where nothing can be written, they are read again next time."""
        files = {
            str(path): (*state, [_record(head) for head in found]) for path, (state, found) in heads.items()
        }
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.touch(mode=0o600)
            beside.write_text(json.dumps({"readers": _readers(), "files": files}))
            beside.replace(self._path)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def _readers() -> list[list[object]]:
    """What tells the modules that read heads from those of another version."""
    found = []
    for module in sorted(Path(__file__).parent.glob("*.py")):
        status = module.stat()
        found.append([module.name, status.st_size, status.st_mtime_ns])
    return found


def _record(head: ForeignSession) -> dict[str, Any]:
    record = {name: value for name, value in asdict(head).items() if name != "path"}
    return record | {name: record[name] and record[name].isoformat() for name in _TIMES}


def _head(path: Path, record: Mapping[str, Any]) -> ForeignSession:
    times = {name: record[name] and datetime.fromisoformat(record[name]) for name in _TIMES}
    return ForeignSession(**{**record, **times}, path=path)
