"""Staging of a document: its rows are checked and laid ready in a file of ours, before anything is written."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from catena_store.errors import NotImportable
from catena_store.exchange.document import SECTIONS, check_head
from catena_store.exchange.fields import read_row
from catena_store.exchange.reading import document_members

_PAGE = 200  # rows that are written at a time
_PAGE_CHARACTERS = 4_000_000


def is_document(path: Path) -> bool:
    """True for a file that begins as a document does."""
    with suppress(UnicodeDecodeError), path.open(encoding="utf-8-sig") as file:
        beginning = "".join(file.read(400).split())
        return beginning.startswith('{"format":')
    return False


def stage(path: Path, into: BinaryIO) -> dict[str, Any]:
    """Write the checked pages of a document into a file of ours, and return its head. Raises NotImportable."""
    head: dict[str, Any] = {}
    checked: dict[str, Any] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for page in _sections(file, head):
            checked = checked or check_head(head)
            pickle.dump(page, into)
    return checked or check_head(head)


def staged_pages(staged: BinaryIO) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The pages of rows that were staged, each with the name of its section."""
    staged.seek(0)
    while True:
        try:
            yield pickle.load(staged)
        except EOFError:
            return


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sections(file: TextIO, head: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the checked rows of each section in pages; fill the head meanwhile. Raises NotImportable."""
    order, seen = list(SECTIONS), list[str]()
    page: list[dict[str, Any]] = []
    characters = number = 0
    for key, value, is_element in document_members(file):
        if page and (not is_element or len(page) >= _PAGE or characters >= _PAGE_CHARACTERS):
            yield seen[-1], page
            page, characters = [], 0
        if not is_element:
            if key not in SECTIONS:
                if key in head:
                    raise NotImportable(f"“{key}” is in it twice")
                head[key] = value
                continue
            if value is not None:
                raise NotImportable(f"“{key}” is not a list")
            if seen and order.index(key) <= order.index(seen[-1]):
                raise NotImportable(f"“{key}” is in the wrong place: the order of its parts must stay")
            seen.append(key)
            number = 0
        elif key in SECTIONS:
            number += 1
            row = read_row(SECTIONS[key], f"entry {number} of “{key}”", value)
            characters += sum(len(each) for each in row.values() if isinstance(each, str | bytes))
            page.append(row)
    if page:
        yield seen[-1], page
