"""Attachments: files read within limits, and stored with messages, queued prompts and drafts."""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotAttachable, NotFound
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
    place = Path(directory, Path(path).expanduser()).absolute()
    try:
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
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
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


_COLUMNS = "sha256, mime, name, path, bytes"

# --- of messages


async def of_message(r: Reader, message_id: str) -> list[Attachment]:
    """The attachments of a message, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM attachment WHERE message_id = (SELECT id FROM message WHERE uid = ?)"
            " ORDER BY position",
            (message_id,),
        )
    )


async def mentioned_in(r: Reader, conversation_id: str, limit: int) -> list[str]:
    """The paths of the files that prompts of a conversation came with, the newest first."""
    found = await r.all(
        "SELECT path FROM attachment JOIN message ON message.id = attachment.message_id"
        " WHERE message.conversation_id = ? AND message.kind = 'user' AND path IS NOT NULL"
        " GROUP BY path ORDER BY max(attachment.id) DESC LIMIT ?",
        (conversation_id, limit),
    )
    return [path for (path,) in found]


async def add_to_message(tx: Writer, message_id: str, attachments: Sequence[Attachment]) -> None:
    """Store attachments with a message. Raises NotFound."""
    message = (await rows.rowids(tx, [message_id]))[message_id] if attachments else None
    await tx.run_many(
        "INSERT INTO attachment (message_id, position, sha256, mime, name, path, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(message, at, *_values(each)) for at, each in enumerate(attachments)],
    )


async def add_image(tx: Writer, message_id: str, image: Attachment) -> None:
    """Store an image that an agent sent with a message, behind others, unless it is there. Raises NotFound."""
    message = (await rows.rowids(tx, [message_id]))[message_id]
    await tx.run(
        "INSERT INTO attachment (message_id, position, sha256, mime, name, path, bytes)"
        " SELECT ?1, (SELECT coalesce(max(position) + 1, 0) FROM attachment WHERE message_id = ?1),"
        " ?2, ?3, ?4, ?5, ?6"
        " WHERE NOT EXISTS (SELECT 1 FROM attachment WHERE message_id = ?1 AND sha256 = ?2)",
        (message, *_values(image)),
    )


# --- of queued prompts


async def of_queue_item(r: Reader, item_id: str) -> list[Attachment]:
    """The attachments of a queued prompt, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM queue_attachment WHERE item_id = ? ORDER BY position", (item_id,)
        )
    )


async def add_to_queue_item(tx: Writer, item_id: str, attachments: Sequence[Attachment]) -> None:
    """Store attachments with a queued prompt; they are deleted with it."""
    await tx.run_many(
        "INSERT INTO queue_attachment (item_id, position, sha256, mime, name, path, bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(item_id, at, *_values(each)) for at, each in enumerate(attachments)],
    )


# --- of drafts


async def of_draft(r: Reader, window_id: str) -> list[Attachment]:
    """The attachments of the draft at the window's leaf, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM draft_attachment WHERE window_id = ?1"
            " AND leaf_id = (SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?1) ORDER BY position",
            (window_id,),
        )
    )


async def set_draft(tx: Writer, window_id: str, attachments: Sequence[Attachment]) -> None:
    """Set the attachments of the draft at the window's leaf. Raises NotFound."""
    found = await tx.one("SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?", (window_id,))
    if found is None:
        raise NotFound("window", window_id)
    await tx.run("DELETE FROM draft_attachment WHERE window_id = ? AND leaf_id = ?", (window_id, found[0]))
    await tx.run_many(
        "INSERT INTO draft_attachment (window_id, leaf_id, position, sha256, mime, name, path, bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(window_id, found[0], at, *_values(each)) for at, each in enumerate(attachments)],
    )


def _values(attachment: Attachment) -> tuple[object, ...]:
    return (attachment.sha256, attachment.mime, attachment.name, attachment.path, attachment.content)


def _attachments(found: Sequence[rows.Row]) -> list[Attachment]:
    return [Attachment(*row) for row in found]
