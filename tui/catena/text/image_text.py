"""Images of agents in words: a terminal shows a line in their place."""

from __future__ import annotations

from catena.text.formats import size_in_words
from catena_acp.port.images import ImageNote


def image_words(image: ImageNote, key: str = "Enter") -> str:
    """The line of an image; ``key`` opens it while its message is browsed."""
    return f"image · {image_facts(image)} · {key} opens, s saves"


def image_facts(image: ImageNote) -> str:
    """The facts of an image in one phrase: `PNG 640×480, 29 B`."""
    kind = image.mime.removeprefix("image/").upper()
    pixels = f" {image.width}×{image.height}" if image.width and image.height else ""
    return f"{kind}{pixels}, {size_in_words(image.size)}"


def link_words(description: str) -> str:
    """The line of a link to a page on the web."""
    return f"{description} · Enter opens"
