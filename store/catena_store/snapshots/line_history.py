"""Where each line of a file came into a row of snapshots, followed through later changes and renames. It blocks.

git finds it by itself, in a row of commits that is made for one question: in a repository that is thrown away
afterwards and borrows the contents of ours. It works in an empty directory, so that nothing of the person's tree is
read.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from catena_store.errors import SearchStopped, SnapshotFailed
from catena_store.snapshots.git import ATTRIBUTES, Git, end_group, readable
from catena_store.snapshots.repository import SnapshotRepository
from catena_store.snapshots.trees import blob_id

_REF = "refs/heads/lines"
_NOBODY = b"committer Catena <> %d +0000\n"
_LOOK = 0.05  # seconds between two looks at whether the answer is still wanted
_PIECE = 1 << 16  # bytes
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Lines of a text that follow each other, and came at the same moment into what is now their file."""

    first: int  # line of the text, from 0
    count: int
    moment: (
        int  # of the snapshots, from 0: the first that has the lines; the text itself comes after the last
    )
    path: str  # of the file at that moment
    new_file: bool  # the snapshot before has no such file


def line_origins(
    repository: SnapshotRepository,
    trees: Sequence[str],
    path: str,
    content: bytes,
    *,
    seconds: float,
    untouched: Set[int] = frozenset(),
    wanted: Callable[[], bool] = lambda: True,
) -> Generator[LineOrigin, None, None]:
    """Where the lines of a file came in, in no order, as they are found.

    ``trees`` are its snapshots, oldest first, at least one; ``content`` is what is in the file now, at ``path`` from
    the root. A file that a moment of those ``untouched`` has as an earlier one had it came back: its lines came in
    before. ``wanted`` is asked again and again. Raises SearchStopped where it is wanted no more, or after ``seconds``,
    and SnapshotFailed.
    """
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="catena-blame-") as place:
        try:
            git = _borrowing(repository, Path(place))
            returned = _returned(git, trees, path, content, untouched)
            git.run("fast-import", "--quiet", stdin=_commits(trees, path, content, returned))
        except SnapshotFailed as failed:
            raise SnapshotFailed(repository.root, failed.why) from failed
        asked = ("blame", "--incremental", "--no-textconv", _REF, "--", path)
        process = git.started(*asked)
        try:
            yield from _origins(_lines(process, until, wanted))
            ended = process.wait()
        finally:
            end_group(process)
        if ended:
            raise SnapshotFailed(repository.root, f"git blame ended with {process.returncode}")


def _borrowing(repository: SnapshotRepository, place: Path) -> Git:
    """A new repository that has the contents of another, and no files."""
    empty = place / "empty"
    empty.mkdir()
    git = Git(repository.program, place / "git", empty)
    git.run("init", "-q", "--template=")
    information = git.repository / "objects" / "info"
    information.mkdir(exist_ok=True)
    (information / "alternates").write_bytes(os.fsencode(repository.path / "objects") + b"\n")
    (git.repository / "info").mkdir(exist_ok=True)
    (git.repository / "info" / "attributes").write_text(ATTRIBUTES)
    return git


def _returned(
    git: Git, trees: Sequence[str], path: str, content: bytes, untouched: Set[int]
) -> dict[int, int]:
    """For the moments at which the file came back as it had been before: the newest moment that had it so."""
    if not untouched or "\n" in path:
        return {}
    asked = b"".join(f"{tree}:".encode() + os.fsencode(path) + b"\n" for tree in trees)
    lines = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked).splitlines()
    blobs = [None if line.endswith(b" missing") else line.decode() for line in lines] + [blob_id(content)]
    newest: dict[str, int] = {}
    returned = {}
    for moment, blob in enumerate(blobs):
        if blob is None:
            continue
        if moment in untouched and blob in newest and newest[blob] < moment - 1:
            returned[moment] = newest[blob]
        newest[blob] = moment
    return returned


def _commits(trees: Sequence[str], path: str, content: bytes, returned: Mapping[int, int]) -> bytes:
    """A commit for each snapshot, and one with the text; the time of each is its place in the row, from 1.

    Of a moment at which the file came back, the one that had it before is a parent, too.
    """
    pieces = []
    for at, tree in enumerate(trees, start=1):
        pieces += [_head(at, returned.get(at - 1)), f'M 040000 {tree} ""\n'.encode()]
    name = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    pieces += [
        _head(len(trees) + 1, returned.get(len(trees))),
        b'M 100644 inline "%s"\ndata %d\n' % (name, len(content)),
        content,
        b"\n",
    ]
    return b"".join(pieces)


def _head(at: int, returned: int | None) -> bytes:
    before = b"" if at == 1 else b"from :%d\n" % (at - 1)
    also = b"" if returned is None else b"merge :%d\n" % (returned + 1)
    return f"commit {_REF}\nmark :{at}\n".encode() + _NOBODY % at + b"data 0\n" + before + also


def _origins(lines: Iterator[bytes]) -> Iterator[LineOrigin]:
    moments: dict[bytes, int] = {}  # git says the time of a commit once
    commit, first, count, new_file = b"", 0, 0, True
    for line in lines:
        key, _, rest = line.partition(b" ")
        match key:
            case b"committer-time":
                moments[commit] = int(rest) - 1
            case b"previous":
                new_file = False
            case b"filename":
                yield LineOrigin(first, count, moments[commit], os.fsdecode(_unquoted(rest)), new_file)
                new_file = True
            case _ if len(key) == 40 and (numbers := rest.split()) and len(numbers) == 3:
                commit, first, count = key, int(numbers[1]) - 1, int(numbers[2])


def _lines(process: subprocess.Popen[bytes], until: float, wanted: Callable[[], bool]) -> Iterator[bytes]:
    """The lines that a process prints. Raises SearchStopped."""
    output = process.stdout
    assert output is not None
    left = b""
    while True:
        if time.monotonic() > until or not wanted():
            raise SearchStopped("the history of the file is too long")
        if not readable(output.fileno(), _LOOK):
            continue
        piece = os.read(output.fileno(), _PIECE)
        if not piece:
            return
        *whole, left = (left + piece).split(b"\n")
        yield from whole


def _unquoted(name: bytes) -> bytes:
    """A path as git writes it, in quotes where it has characters that would not stand in a line."""
    if not name.startswith(b'"'):
        return name
    return _ESCAPED.sub(_letter, name[1:-1])


def _letter(found: re.Match[bytes]) -> bytes:
    escaped = found[1]
    return bytes([int(escaped, 8)]) if len(escaped) == 3 else _LETTERS.get(escaped, escaped)
