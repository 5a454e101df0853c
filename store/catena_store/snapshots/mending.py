"""A damaged repository of ours made whole again: what is lost goes, and every snapshot that is still whole stays."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from catena_store.errors import SnapshotFailed
from catena_store.snapshots.git import DOUBTFUL, Git

_SECONDS = 600.0  # that one pack may take
_CHUNK = 1 << 20  # bytes
_PACKED = re.compile(rb"([0-9a-f]{40}) refs/trees/\d+/\1\n")


def mend(git: Git) -> int:
    """Remove what is damaged, and the names of snapshots that are not whole; how many of these. It blocks.

    Whoever calls it holds the lock of the repository. The index goes: the next snapshot reads every file again.
    Raises SnapshotFailed and OSError.
    """
    repository = git.repository
    (repository / "index").unlink(missing_ok=True)
    _begin_anew(git)
    for path in repository.glob("objects/[0-9a-f][0-9a-f]/*"):
        if not _is_whole(path):
            path.unlink()
    for pack in repository.glob("objects/pack/*.pack"):
        _check_pack(git, pack)
    for pack in repository.glob(f"{DOUBTFUL}.*.pack"):
        _save(git, pack)
    lost = [name for name in dict.fromkeys(_names(git)) if not _is_complete(git, name)]
    if lost:
        commands = "".join(f"delete {name}\n" for name in lost)
        git.run("update-ref", "--stdin", stdin=commands.encode())
    (repository / DOUBTFUL).unlink(missing_ok=True)
    return len(lost)


def _begin_anew(git: Git) -> None:
    """Write the files that make it a repository; of the names of snapshots, those that can be read stay."""
    for name in ("HEAD", "config"):
        (git.repository / name).unlink(missing_ok=True)
    packed = git.repository / "packed-refs"
    if packed.exists():
        lines = packed.read_bytes().splitlines(keepends=True)
        packed.write_bytes(b"".join(line for line in lines if _PACKED.fullmatch(line)))
    for path in (git.repository / "refs").rglob("*"):
        if path.is_file() and path.read_bytes() != f"{path.name}\n".encode():
            path.unlink()
    git.run("init", "-q", "--template=")


def _is_whole(path: Path) -> bool:
    """Whether the bytes of a loose object are those that its name is of."""
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    digest, unpacked = hashlib.sha1(usedforsecurity=False), zlib.decompressobj()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(unpacked.decompress(chunk))
    except zlib.error:
        return False
    return unpacked.eof and digest.hexdigest() == path.parent.name + path.name


def _check_pack(git: Git, pack: Path) -> None:
    """Take a damaged pack out of those that git reads."""
    try:
        git.run("verify-pack", str(pack), seconds=_SECONDS)
    except SnapshotFailed:
        pack.replace(git.repository / f"{DOUBTFUL}.{pack.name}")
        for path in pack.parent.glob(f"{pack.stem}.*"):
            path.unlink()


def _save(git: Git, pack: Path) -> None:
    """Save what can be read of a damaged pack. Git would not write an object that it believes to have."""
    content = pack.read_bytes()
    git.run("unpack-objects", "-q", "-r", stdin=content, allowed=range(-64, 256), seconds=_SECONDS)
    pack.unlink()


def _names(git: Git) -> list[str]:
    """The names of all snapshots; git cannot list those of which a part is lost."""
    packed = git.repository / "packed-refs"
    lines = packed.read_bytes().splitlines() if packed.exists() else ()
    loose = (path for path in (git.repository / "refs").rglob("*") if path.is_file())
    return [
        *(line.split(b" ")[1].decode() for line in lines),
        *(path.relative_to(git.repository).as_posix() for path in loose),
    ]


def _is_complete(git: Git, name: str) -> bool:
    """Whether every directory and file of a snapshot is there."""
    try:
        listed = git.run("ls-tree", "-r", "-t", "-z", name)
        blobs = {line.split()[2] for line in listed.split(b"\0") if line}
        found = git.run("cat-file", "--batch-check", stdin=b"".join(blob + b"\n" for blob in sorted(blobs)))
    except SnapshotFailed:
        return False
    return not any(line.endswith(b" missing") for line in found.splitlines())
