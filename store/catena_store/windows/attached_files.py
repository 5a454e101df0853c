"""Files as attachments: read within limits, with the media type that their bytes and name tell."""

from __future__ import annotations

import mimetypes
import stat
from dataclasses import replace
from pathlib import Path

from catena_store.errors import NotAttachable
from catena_store.records import DIRECTORY, FILE, Attachment

MOST_BYTES = 10 * 1024 * 1024  # of one file
MOST_FILES = 20  # of one prompt

_MAGIC: tuple[tuple[int, bytes, str], ...] = (  # offset, bytes, type
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (8, b"WAVE", "audio/wav"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
)


def read_file(path: str, *, directory: str = "") -> Attachment:
    """Read the file at a path, where `~` is the person's home and a relative path is below ``directory``.

    Blocks while reading. Raises NotAttachable for a file that is missing, not a plain one, unreadable, or over 10 MB.
    """
    try:
        place = Path(directory, Path(path).expanduser()).absolute()
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise NotAttachable(f"{path} is {what}; only files can be attached.")
        if found.st_size > MOST_BYTES:
            raise NotAttachable(_too_large_words(path, found.st_size))
        with place.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise NotAttachable(f"File not found: {path}") from error
    except (OSError, ValueError, RuntimeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error).rstrip(".")
        raise NotAttachable(f"{path} cannot be read: {why}.") from error
    if len(content) > MOST_BYTES:
        raise NotAttachable(_too_large_words(path, len(content)))
    return from_bytes(content, place.name, path=str(place))


def link_to(path: str, name: str, *, directory: bool = False) -> Attachment:
    """An attachment without bytes: the agent gets a link to the path."""
    return replace(from_bytes(b"", name, path=path), mime=DIRECTORY if directory else FILE)


def from_bytes(content: bytes, name: str, *, path: str | None = None) -> Attachment:
    """An attachment of some bytes, with the media type that they and the name tell."""
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    return Attachment(hashlib.sha256(content).hexdigest(), mime_of(content, name), name, path, content)


def mime_of(content: bytes, name: str) -> str:
    """The media type of a file: of an image by its first bytes, of a text by its name."""
    seen = next((mime for at, magic, mime in _MAGIC if content[at : at + len(magic)] == magic), None)
    named = mimetypes.guess_type(name, strict=False)[0]
    if seen == "application/zip" and named and named.startswith("application/"):
        return named  # documents of many kinds are archives
    if seen:
        return seen
    if _is_text(content):
        return named if named and (named.startswith("text/") or named in _TEXTS) else "text/plain"
    # A name alone makes no image: an agent would fail on bytes that are none.
    return named if named and not named.startswith(("text/", "image/")) else "application/octet-stream"


_TEXTS = frozenset({"application/json", "application/xml", "application/javascript", "image/svg+xml"})


def _is_text(content: bytes) -> bool:
    """True where the bytes are UTF-8 without a null byte."""
    if b"\x00" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _too_large_words(name: str, size: int) -> str:
    """The words for a file over the limit."""
    return (
        f"{name} is too large ({size / 1_048_576:.1f} MB; the limit is {MOST_BYTES // 1_048_576} MB). "
        "Write its path in the prompt instead: the agent can read it."
    )
