"""Paths in what was pasted: terminals paste the path of a file that is dropped on them, each in its own way."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LONGEST = 8_192  # characters


def pasted_files(text: str) -> list[str]:
    """The files that a pasted text names, where it is nothing but whole paths of files that exist."""
    text = text.strip()
    if not text or len(text) > _LONGEST or not _begins_like_a_path(text):
        return []
    if "\n" not in text and _is_file(text):
        return [text]
    try:
        words = [_path_of(word) for word in shlex.split(text)]
    except ValueError:
        return []
    return words if words and all(_begins_like_a_path(word) and _is_file(word) for word in words) else []


def _begins_like_a_path(text: str) -> bool:
    return text.startswith(("/", "~/", "'/", '"/', "file:///"))


def _path_of(word: str) -> str:
    return unquote(urlsplit(word).path) if word.startswith("file://") else word


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False
