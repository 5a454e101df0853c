"""Comparison of a changed file with what is in its place now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from catena_acp.changes.changed_file import MOST_CHARACTERS, ChangedFile, FileState, OnDisk, TextChange
from catena_acp.changes.composition import Edit, before_edits
from catena_acp.errors import FileRefused
from catena_acp.protocol.files import FileAccess

_UNREADABLE = "\ufffd"  # a file that is not UTF-8 is compared with nothing


class FilesOnDisk:
    """The files below the directories of a conversation; nothing outside of them is read."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._access = FileAccess(map(Path, directories), writable=False)

    def text(self, path: str) -> tuple[OnDisk, str]:
        """The state and text of a file: GONE if there is none, UNKNOWN if it may not or cannot be read."""
        try:
            text = self._access.read(path)
        except FileRefused as refused:
            return (OnDisk.GONE if refused.missing else OnDisk.UNKNOWN), ""
        if _UNREADABLE in text or len(text) > MOST_CHARACTERS:
            return OnDisk.UNKNOWN, ""
        return OnDisk.SAME, text

    def placed(self, file: ChangedFile, edits: Sequence[Edit], later: Sequence[Edit]) -> ChangedFile:
        """The file with the whole texts around its ``edits``, where what is there now proves them.

        ``later`` edits came after them. Blocks.
        """
        found, text = self.text(file.path)
        if found is not OnDisk.SAME:
            return replace(file, on_disk=found)
        known, new = before_edits(text, later)
        if known and new is not None:
            known, old = before_edits(new, edits)
            if known:
                since = OnDisk.CHANGED if later else OnDisk.SAME
                state = file.state
                if state is FileState.CHANGED and old is None:
                    state = FileState.NEW
                return replace(
                    file,
                    state=state,
                    changes=(TextChange(old, new, whole=True),),
                    successive=False,
                    on_disk=since,
                )
        return self._placed_parts(file, text, changed=bool(later))

    def _placed_parts(self, file: ChangedFile, text: str, *, changed: bool) -> ChangedFile:
        """The file with the whole texts around its parts, where each of them is in the text exactly once."""
        if file.net is not None and not changed:
            return replace(file, on_disk=OnDisk.SAME if file.net.new == text else OnDisk.CHANGED)
        if changed or file.successive or any(change.whole or not change.new for change in file.changes):
            absent = any(_absent(change, text) for change in file.changes)
            return replace(file, on_disk=OnDisk.CHANGED if changed or absent else OnDisk.UNKNOWN)
        places = []
        for change in file.changes:
            new = change.new or ""
            at = text.find(new)
            if at < 0:
                return replace(file, on_disk=OnDisk.CHANGED)
            if change.old is None or text.find(new, at + 1) >= 0:
                return file
            places.append((at, new, change.old))
        old, end = "", 0
        for at, new, before in sorted(places):
            if at < end:
                return file
            old += text[end:at] + before
            end = at + len(new)
        old += text[end:]
        return replace(file, changes=(TextChange(old, text, whole=True),), on_disk=OnDisk.SAME)


def _absent(change: TextChange, text: str) -> bool:
    return change.new is not None and (change.new != text if change.whole else change.new not in text)
