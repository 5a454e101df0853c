"""Images that agents send: what they are by their bytes, and what is kept of them beside these. Pure.

Nothing here decodes an image: type and size stand in its first bytes, and whoever draws it has limits of their own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena_store.records import Attachment
from catena_store.windows.attached_files import MOST_BYTES, from_bytes, mime_of

# What models and viewers look at.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_IMAGES = 20  # of one message
MOST_PIXELS = 100_000_000  # beyond which an image is saved, but not opened: some unpack to gigabytes
_LONGEST_SCAN = 64 * 1024  # bytes in which a JPEG has to tell its size


@dataclass(frozen=True, slots=True)
class ImageNote:
    """The note on an image in the row of its message; the image is the message's attachment with this hash."""

    sha256: str
    mime: str
    size: int  # bytes
    width: int = 0  # pixels; 0 where the image does not tell
    height: int = 0

    @property
    def openable(self) -> bool:
        """False for what may be made to fill the memory of the program that shows it."""
        return self.width * self.height <= MOST_PIXELS

    def to_data(self) -> dict[str, Any]:
        """The note as it is stored."""
        return {
            "sha256": self.sha256,
            "mime": self.mime,
            "bytes": self.size,
            "width": self.width,
            "height": self.height,
        }

    @classmethod
    def from_data(cls, data: object) -> ImageNote | None:
        """Read a stored note; None for anything else."""
        if not isinstance(data, Mapping):
            return None
        sha256, mime = data.get("sha256"), data.get("mime")
        if not isinstance(sha256, str) or mime not in IMAGE_TYPES:
            return None
        size, width, height = (_count(data.get(key)) for key in ("bytes", "width", "height"))
        return cls(sha256, str(mime), size, width, height)


def received_image(data: str) -> Attachment | None:
    """The image of a base64 text; None if it is no image, even if it is called one, or if it is larger than 10 MB."""
    if len(data) > MOST_BYTES * 4 // 3 + 4:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    mime = mime_of(content, "")
    if mime not in IMAGE_TYPES or len(content) > MOST_BYTES:
        return None
    return from_bytes(content, f"image.{mime.removeprefix('image/').replace('jpeg', 'jpg')}")


def note_of_image(image: Attachment) -> ImageNote:
    """The note on an image for its message's row."""
    width, height = pixels_of(image.content) or (0, 0)
    return ImageNote(image.sha256, image.mime, len(image.content), width, height)


def pixels_of(content: bytes) -> tuple[int, int] | None:
    """Width and height of an image as it tells them itself; None where it does not."""
    match mime_of(content[:64], ""):
        case "image/png" if content[12:16] == b"IHDR" and len(content) >= 24:
            return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
        case "image/gif" if len(content) >= 10:
            return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
        case "image/webp":
            return _pixels_of_webp(content)
        case "image/jpeg":
            return _pixels_of_jpeg(content[:_LONGEST_SCAN])
        case _:
            return None


def _pixels_of_webp(content: bytes) -> tuple[int, int] | None:
    if len(content) < 30:
        return None
    match content[12:16]:
        case b"VP8 ":
            width, height = content[26:28], content[28:30]
            return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(content[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = content[24:27], content[27:30]
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
        case _:
            return None


def _pixels_of_jpeg(content: bytes) -> tuple[int, int] | None:
    """The size in the frame header: SOF0 to SOF15, but for DHT, JPG and DAC."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # filling
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        else:
            length = int.from_bytes(content[at + 2 : at + 4], "big")
            at += 2 + max(2, length)
    return None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
