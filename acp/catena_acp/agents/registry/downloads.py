"""Downloads from `https:` and `file:` addresses, and the unpacking of archives that nobody vouches for.

A download's TLS stays out of the process that draws the screen. A redirection to anything but https is refused.

Of an archive nothing is written outside of the directory, over anything or through a link; no link leads out; and there
are no devices, no foreign owners, and no modes but those of plain files and programs. What breaks these rules ends it
all.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import lzma
import os
import re
import shutil
import stat
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from catena_acp.errors import DownloadFailed, InstallFailed

MOST_BYTES = 2 << 30
_SECONDS = 30.0  # without a byte
_PIECE = 1 << 18
_CREDENTIALS = re.compile(r"://[^/@]*@")

Progress = Callable[[int, int | None], None]


def checked_address(address: str) -> str:
    """An address that may be fetched: https, or a file on this machine. Raises DownloadFailed."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return address
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return address
    raise DownloadFailed(f"{shown_address(address)}: only https:// addresses and files can be fetched")


def file_name(address: str) -> str:
    """The name of the file at an address."""
    return urllib.parse.unquote(urllib.parse.urlsplit(address).path).rpartition("/")[2]


def size_of_download(address: str) -> int | None:
    """The size of a download at an address, in bytes; None if the server does not tell. Raises DownloadFailed."""
    with _opened(address, method="HEAD") as answer:
        return _length(answer)


def read_address(address: str, most_bytes: int) -> bytes:
    """The content at an address. Raises DownloadFailed, also if it is larger than ``most_bytes``."""
    with _opened(address) as answer:
        try:
            data: bytes = answer.read(most_bytes + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _failed(address, error) from error
    if len(data) > most_bytes:
        raise DownloadFailed(f"{shown_address(address)}: it is larger than {most_bytes >> 20} MB")
    return data


def download(
    address: str, path: Path, *, sha256: str | None, progress: Progress, most_bytes: int = MOST_BYTES
) -> None:
    """Write what is at an address to a new file, whose digest is ``sha256`` if that is known.

    Raises DownloadFailed, and OSError where the file cannot be written.
    """
    digest, size = hashlib.sha256(), 0
    with _opened(address) as answer, path.open("xb") as file:
        whole = _length(answer)
        while piece := _piece(answer, address):
            size += len(piece)
            if size > most_bytes:
                raise DownloadFailed(f"{shown_address(address)}: it is larger than {most_bytes >> 20:,} MB")
            file.write(piece)
            digest.update(piece)
            progress(size, whole)
        file.flush()
        os.fsync(file.fileno())
    if whole is not None and size != whole:
        raise DownloadFailed(f"{shown_address(address)}: it ended after {size:,} of {whole:,} bytes")
    if sha256 is not None and digest.hexdigest() != sha256:
        raise DownloadFailed(
            f"{shown_address(address)}: it is not what the registry names: its SHA-256 is {digest.hexdigest()}, "
            f"not {sha256}"
        )


class SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Redirections that stay encrypted."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme != "https":
            raise DownloadFailed(f"{shown_address(req.full_url)}: it redirects to an address without https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opened(address: str, method: str = "GET") -> Any:
    request = urllib.request.Request(
        checked_address(address), method=method, headers={"User-Agent": "catena"}
    )
    try:
        return urllib.request.build_opener(SecureRedirects).open(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadFailed(
            f"{shown_address(address)}: the server answered {error.code} {error.reason}"
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(address, error) from error


def _piece(answer: Any, address: str) -> bytes:
    try:
        piece: bytes = answer.read(_PIECE)
    except (OSError, http.client.HTTPException) as error:
        raise _failed(address, error) from error
    return piece


def _length(answer: Any) -> int | None:
    told = answer.headers.get("Content-Length")
    return int(told) if told and re.fullmatch("[0-9]{1,18}", told) else None


def _failed(address: str, error: Exception) -> DownloadFailed:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    words = getattr(reason, "strerror", None) or reason
    return DownloadFailed(f"{shown_address(address)}: {words}")


def shown_address(address: str) -> str:
    """An address without a password in it."""
    return _CREDENTIALS.sub("://", address)


MOST_UNPACKED_BYTES = 8 << 30
MOST_MEMBERS = 500_000
_TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar")
_MEMBER_PIECE = 1 << 20
_MOST_HELD = 4 << 20  # bytes of a tar that are held at once: a piece of a file, or what names a member
_MOST_LINK = 4096  # bytes of a link's target
_DAMAGED = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much may come out of an archive."""

    size: int = MOST_UNPACKED_BYTES
    members: int = MOST_MEMBERS


def is_archive(name: str) -> bool:
    """True for the name of a file that is unpacked; any other is a program itself."""
    return name.lower().endswith((*_TARS, ".zip"))


def unpack(archive: Path, name: str, directory: Path, limits: UnpackLimits | None = None) -> None:
    """Unpack an archive, of the kind that ``name`` ends with, into an empty directory.

    Raises InstallFailed and OSError; what was unpacked by then stays.
    """
    target = _Target(directory, limits or UnpackLimits())
    try:
        if name.lower().endswith(".zip"):
            _unzip(archive, target)
        else:
            _untar(archive, target)
    except _DAMAGED as error:
        raise InstallFailed(f"the archive is damaged: {error}") from error
    except (
        NotImplementedError,
        RuntimeError,
    ) as error:  # how zipfile tells of encryption and unknown compression
        raise InstallFailed(f"the archive cannot be unpacked: {error}") from error
    target.check_links()


def _untar(archive: Path, target: _Target) -> None:
    with _decompressed(archive) as stream:
        held = _HeldReader(stream)
        # tarfile reads, seeks and tells, and no more.
        with tarfile.open(fileobj=cast("IO[bytes]", held), mode="r:") as tar:
            for member in tar:
                _add_member(tar, member, target, held)
                held.let_go()


def _add_member(tar: tarfile.TarFile, member: tarfile.TarInfo, target: _Target, held: _HeldReader) -> None:
    if member.isdir():
        target.add_directory(member.name)
    elif member.issym():
        target.add_link(member.name, member.linkname)
    elif member.islnk():
        target.add_copy(member.name, member.linkname)
    elif member.isreg():
        content = tar.extractfile(member)
        assert content is not None

        def read(size: int) -> bytes:
            held.let_go()
            return content.read(size)

        target.add_file(member.name, read, executable=bool(member.mode & 0o111))
    elif member.type not in (tarfile.XGLTYPE, tarfile.XHDTYPE):
        raise InstallFailed(f"the archive has a device or something like it: {member.name!r}")


def _decompressed(archive: Path) -> IO[bytes]:
    """The tar in a file, whatever it is compressed with."""
    with archive.open("rb") as file:
        magic = file.read(6)
    for beginning, opened in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open)):
        if magic.startswith(beginning):
            return cast("IO[bytes]", opened(archive))
    return archive.open("rb")


class _HeldReader:
    """A tar of which no more than _MOST_HELD is held: tarfile holds a name whole, and few bytes unpack to gigabytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._held = 0
        self.seek, self.tell = stream.seek, stream.tell

    def let_go(self) -> None:
        """What was read so far is not held any more."""
        self._held = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises InstallFailed where they are too many to be held."""
        if not 0 <= size <= _MOST_HELD - self._held:
            raise InstallFailed("the archive has a name that is too long")
        self._held += size
        return self._stream.read(size)


def _unzip(archive: Path, target: _Target) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                target.add_directory(member.filename)
            elif stat.S_ISLNK(mode):
                if member.file_size > _MOST_LINK:
                    raise InstallFailed(f"the archive has a link that is too long: {member.filename!r}")
                target.add_link(member.filename, zipped.read(member).decode("utf-8"))
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise InstallFailed(f"the archive has a device or something like it: {member.filename!r}")
            else:
                with zipped.open(member) as content:
                    target.add_file(member.filename, content.read, executable=bool(mode & 0o111))


@dataclass(slots=True)
class _Target:
    """The directory that is filled, and what is left of the limits."""

    root: Path
    limits: UnpackLimits
    _links: list[Path] = field(default_factory=list)
    _members: int = 0
    _size: int = 0

    def add_directory(self, name: str) -> None:
        steps = self._steps(name)
        self._make_directories(steps)

    def add_file(self, name: str, read: Callable[[int], bytes], *, executable: bool) -> None:
        path = self._place(name)
        with self._created(path, executable=executable) as file:
            while piece := read(_MEMBER_PIECE):
                self._count_bytes(len(piece))
                file.write(piece)

    def add_link(self, name: str, linked: str) -> None:
        path = self._place(name)
        inner = path.parent.relative_to(self.root).parts
        depth = len(inner)
        for step in linked.split("/"):
            depth += -1 if step == ".." else 0 if step in ("", ".") else 1
            if depth < 0:
                break
        if depth < 0 or linked.startswith("/") or "\0" in linked or not linked:
            raise InstallFailed(f"the archive has a link that leads out of it: {name!r}")
        path.symlink_to(linked)
        self._links.append(path)

    def add_copy(self, name: str, linked: str) -> None:
        """A hard link becomes a file of its own: nothing that is changed later changes another."""
        source = self.root.joinpath(*self._steps(linked))
        if source.is_symlink() or not source.is_file() or self._crosses_link(source.parent):
            raise InstallFailed(f"the archive has a link to what it does not have: {name!r}")
        with source.open("rb") as content:
            self.add_file(name, content.read, executable=os.access(source, os.X_OK))

    def check_links(self) -> None:
        """Each alone stays inside; together they might not."""
        root = self.root.resolve()
        for link in self._links:
            try:
                link.stat()
            except FileNotFoundError:
                pass  # what it names is not there, but could be
            except OSError as error:  # a circle, of which `resolve` tells only before Python 3.13
                raise InstallFailed(f"the archive has a link that leads nowhere: {link.name!r}") from error
            if not link.resolve().is_relative_to(root):
                raise InstallFailed(f"the archive has a link that leads out of it: {link.name!r}")

    def _place(self, name: str) -> Path:
        """The path of a new file or link, in directories that are there. Raises InstallFailed."""
        steps = self._steps(name)
        if not steps:
            raise InstallFailed(f"the archive has a file without a name: {name!r}")
        self._make_directories(steps[:-1])
        path = self.root.joinpath(*steps)
        if path.is_symlink() or path.exists():
            raise InstallFailed(f"the archive has the same file twice: {name!r}")
        return path

    def _make_directories(self, steps: list[str]) -> None:
        path = self.root
        for step in steps:
            path = path / step
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise InstallFailed(f"the archive writes through a link: {path.name!r}")
            path.mkdir(mode=0o755, exist_ok=True)

    def _steps(self, name: str) -> list[str]:
        self._members += 1
        if self._members > self.limits.members:
            raise InstallFailed(f"the archive has more than {self.limits.members:,} files")
        steps = [step for step in name.split("/") if step not in ("", ".")]
        if name.startswith("/") or ".." in steps or "\0" in name or "\\" in name:
            raise InstallFailed(f"the archive has a path that leads out of it: {name!r}")
        return steps

    def _crosses_link(self, path: Path) -> bool:
        inner = path.relative_to(self.root)
        return any((self.root / parent).is_symlink() for parent in (inner, *inner.parents))

    def _created(self, path: Path, *, executable: bool) -> IO[bytes]:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(path, flags, 0o755 if executable else 0o644), "wb")

    def _count_bytes(self, count: int) -> None:
        self._size += count
        if self._size > self.limits.size:
            raise InstallFailed(f"the archive unpacks to more than {self.limits.size >> 20:,} MB")


def place_program(file: Path, path: Path) -> None:
    """Copy a file that is a program itself to a path, so that it can be started. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, path)
    path.chmod(0o755)
