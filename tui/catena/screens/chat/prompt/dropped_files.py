"""Files that were dropped on the terminal: pictures are attached, what is in the directories is mentioned."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from catena.desktop.files import host_name, is_wsl, pasted_paths
from catena.mentions.index import leads_inside, resolved_roots
from catena.mentions.mentions import readings_in, written
from catena.text.safe_text import safe_line
from catena_acp.continuity.sending.prompt_blocks import SHOWN_PICTURES
from catena_store.windows.attached_files import mime_of

_BEGINNING = 64  # bytes of a file that tell whether it is a picture


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """What becomes of the paths of one paste."""

    files: tuple[str, ...]  # that can be attached; directories cannot
    attached: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()  # as they are written
    taken: bool = False  # nothing is left to ask: each path is attached or mentioned

    @classmethod
    def of(cls, text: str, roots: Sequence[str]) -> DroppedFiles | None:
        """The files of a paste; None where it is anything else than paths of such. ``roots``: the directories.

        Blocks for some reads of the file system.
        """
        paths = pasted_paths(
            text, exists=_exists, home=str(Path.home()), wsl=is_wsl(os.environ), host=host_name()
        )
        if not paths:
            return None
        files = tuple(path for path in paths if Path(path).is_file())
        attached = tuple(path for path in files if _is_picture(path))
        resolved = resolved_roots(roots)
        others = [path for path in paths if path not in attached]
        mentions = [_mention(path, roots[0]) for path in others if leads_inside(path, resolved)]
        mentioned = tuple(each for each in mentions if each is not None)
        taken = len(mentioned) == len(others)
        return cls(files, attached, mentioned, taken) if taken else cls(files)

    @property
    def words(self) -> str:
        """A sentence on the files that were attached or mentioned."""
        if not self.mentions:
            names = [safe_line(Path(path).name) for path in self.attached]
            return f"Attached {names[0]}." if len(names) == 1 else f"Attached {len(names)} images."
        if not self.attached:
            return "Mentioned." if len(self.mentions) == 1 else f"Mentioned {len(self.mentions)} files."
        return f"Attached {len(self.attached)}, mentioned {len(self.mentions)}."


def _exists(path: str) -> bool:
    try:
        return Path(path).is_file() or Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _is_picture(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return mime_of(file.read(_BEGINNING), path) in SHOWN_PICTURES
    except OSError:
        return False


def _mention(path: str, directory: str) -> str | None:
    """How a path in the directories is mentioned; None where no mention can say it."""
    for base in (Path(directory), Path(directory).resolve()):
        if Path(path).is_relative_to(base) and Path(path) != base:
            path = str(Path(path).relative_to(base))
            break
    if Path(directory, path).is_dir():
        path = f"{path.rstrip('/')}/"
    mention = written(path)
    if mention.startswith('@"') and path.endswith("/"):
        mention += '" '  # no more follows
    mention = mention if mention.endswith(" ") else f"{mention} "
    read = next(readings_in(mention), ())
    return mention if read and read[0].path == path else None
