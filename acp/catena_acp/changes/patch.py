"""Changes as a patch that ``git apply`` takes. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from catena_acp.changes.changed_file import FileContents, FileState, NotInPatch, Patch
from catena_acp.changes.hunks import FileDiff, FileHunk

_NO_PLACE = "the exact place of its changes is not known"
_QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def patch_of(diffs: Sequence[FileDiff], directory: str) -> Patch:
    """The changes of files below a directory as one patch; left out is what has no exact place in its file."""
    pieces: list[str] = []
    left_out: list[NotInPatch] = []
    for diff in diffs:
        if _fits(diff, directory):
            pieces += _file_patch(diff, directory, diff.hunks)
        else:
            left_out.append(NotInPatch(diff.file.path, _NO_PLACE))
    return Patch("".join(pieces).encode("utf-8", "surrogateescape"), directory, tuple(left_out))


def hunk_patch(diff: FileDiff, hunk: FileHunk, directory: str) -> str:
    """One hunk of a file as a patch; where the whole file is not known, its line numbers are those of a part."""
    return "".join(_file_patch(diff, directory, (hunk,)))


def hunk_text(hunk: FileHunk) -> str:
    """The lines of a hunk with their signs, below its head."""
    return "".join(_lines(hunk))


def relative_path(path: str, directory: str) -> str | None:
    """A path below a directory as it stands in a patch; None where it is elsewhere."""
    inside = path.startswith(directory.rstrip("/") + "/")
    return os.path.relpath(path, directory) if inside else None


def _fits(diff: FileDiff, directory: str) -> bool:
    file = diff.file
    if relative_path(file.path, directory) is None or file.contents is not FileContents.TEXT:
        return False
    if file.state is FileState.RENAMED:
        if relative_path(file.renamed_from, directory) is None:
            return False
        return not file.changes or file.net is not None
    return file.net is not None


def _file_patch(diff: FileDiff, directory: str, hunks: Sequence[FileHunk]) -> Iterator[str]:
    file = diff.file
    path = relative_path(file.path, directory) or file.path.lstrip("/")
    source = relative_path(file.renamed_from, directory) if file.renamed_from else None
    before = source or path
    net = file.net
    yield f"diff --git {_quoted(f'a/{before}')} {_quoted(f'b/{path}')}\n"
    if net is not None and net.old is None:
        yield "new file mode 100644\n"
    elif net is not None and net.new is None:
        yield "deleted file mode 100644\n"
    elif source is not None:
        yield f"rename from {_quoted(source)}\nrename to {_quoted(path)}\n"
    if not hunks:
        return
    yield f"--- {'/dev/null' if net is not None and net.old is None else _name(f'a/{before}')}\n"
    yield f"+++ {'/dev/null' if net is not None and net.new is None else _name(f'b/{path}')}\n"
    for hunk in hunks:
        yield from _lines(hunk)


def _lines(hunk: FileHunk) -> Iterator[str]:
    yield f"{hunk.head}\n"
    for line in hunk.hunk.lines:
        yield line.sign + line.text
        if not line.text.endswith("\n"):
            yield "\n\\ No newline at end of file\n"


def _name(path: str) -> str:
    """The name of a file above its hunks; a tab ends one that has blanks."""
    quoted = _quoted(path)
    return f"{quoted}\t" if " " in path and quoted == path else quoted


def _quoted(path: str) -> str:
    """A path as git writes it: in quotes where it has characters that would not stand in a line."""
    if not any(character in _QUOTED or not character.isprintable() for character in path):
        return path
    return '"' + "".join(_QUOTED.get(each) or _escaped(each) for each in path) + '"'


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
