"""Contents of files, read from a repository of ours by their ids."""

from __future__ import annotations

import os
import time

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.git import SECONDS, Git, end_group, readable
from catena_store.snapshots.trees import blob_id

_CHUNK = 1 << 16  # bytes that a pipe holds


class ContentReader:
    """Reads contents by their ids, of which one git serves all. Each is the bytes that its id is of, or none at all."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._rest = b""  # what git said beyond what was read

    def __enter__(self) -> ContentReader:
        self._process = self._git.started("cat-file", "--batch")
        return self

    def __exit__(self, *raised: object) -> None:
        end_group(self._process)

    def read(self, blob: str) -> bytes:
        """A content. Raises SnapshotFailed where the repository has lost it, or git is silent."""
        ends = time.monotonic() + SECONDS
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{blob}\n".encode())
            self._process.stdin.flush()
        except OSError:  # it ended: over the content before, or killed
            raise self._lost(blob) from None
        head = self._line(ends).split()
        if len(head) != 3:
            raise self._lost(blob)
        content = self._exactly(int(head[2]) + 1, ends)[:-1]
        # Nothing else looks whether what a disk gave back is what was kept.
        if blob_id(content) != blob:
            raise self._lost(blob)
        return content

    def _line(self, ends: float) -> bytes:
        while b"\n" not in self._rest and (more := self._more(ends)):
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _exactly(self, size: int, ends: float) -> bytes:
        parts, found = [self._rest], len(self._rest)
        while found < size and (more := self._more(ends)):
            parts.append(more)
            found += len(more)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def _more(self, ends: float) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        if not readable(pipe, max(0.0, ends - time.monotonic())):
            raise SnapshotFailed(self._git.root, f"git took longer than {SECONDS:.0f} s")
        return os.read(pipe, _CHUNK)

    def _lost(self, blob: str) -> SnapshotFailed:
        self._git.doubt()
        return SnapshotFailed(self._git.root, f"the content {blob[:8]} is not in {self._git.repository}")
