"""Changed files in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from catena.text.call_text import AnyDiff, change_of, lineless_words, relative
from catena.text.safe_text import safe_line
from catena_acp.changes.changed_file import (
    By,
    ChangedFile,
    FileContents,
    FileState,
    NotInPatch,
    OnDisk,
    relative_path,
)
from catena_acp.changes.reading import Changes, ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.diff import DiffLine

MOST_LINES = 12  # of a change that nobody asked to see whole
_READS_ALL = "/show reads all."
WAY_BACK = "/rewind restores files."
WAYS_BACK = "/files restore FILE restores one, /rewind all."


def scope_words(scope: ChangeScope) -> str:
    """Which changes are shown, in words behind "Changes"."""
    match scope.since:
        case Since.BRANCH:
            return "on this branch"
        case Since.TURN:
            return "in this turn" if scope.message_id else "in the last turn"
        case Since.LOOK:
            return "since your last look"
        case Since.CHECKPOINT:
            return f"since checkpoint {safe_line(scope.name)}"
        case Since.PLANNED:
            return "if files are restored"


def shown_path(path: str, directory: str) -> str:
    """A path, relative where it lies below the directory of the conversation."""
    return safe_line(relative_path(path, directory) or path)


def caveat_words(changes: Changes) -> str:
    """The caveat of the changes, which names files, as one safe line."""
    return safe_line(changes.caveat)


def size_words(added: int, removed: int) -> str:
    """How many lines were added and removed: `+12 −40`."""
    pieces = [f"+{added:,}"] if added else []
    return " ".join([*pieces, f"−{removed:,}"] if removed else pieces)


def touched_words(file: FileTouched, sizes: Callable[[int, int], str] = size_words) -> list[str]:
    """How often a file was read and changed, and by how many lines; what became of it if no call tells that."""
    words = [] if file.unreported is None else [file.unreported.value]
    if file.changed:
        lines = f", {sizes(file.added, file.removed)}" if file.added or file.removed else ""
        words.append(f"changed {counted(file.changed, 'time')}{lines}")
    if file.unsure:
        words.append(f"possibly changed {counted(file.unsure, 'time')}: the result is unknown")
    if file.read:
        words.append(f"read {counted(file.read, 'time')}")
    return words


def state_words(file: ChangedFile, directory: str) -> str:
    """What became of a file, and what of it is not known; "" for a plain change."""
    return " · ".join(state_facts(file, directory))


def state_facts(file: ChangedFile, directory: str) -> list[str]:
    """What became of a file, and what of it is not known, fact by fact."""
    words = []
    match file.state:
        case FileState.NEW:
            words.append("new")
        case FileState.DELETED:
            words.append("deleted")
        case FileState.RENAMED:
            words.append(f"renamed from {shown_path(file.renamed_from, directory)}")
        case FileState.CHANGED:
            pass
    match file.contents:
        case FileContents.BINARY:
            words.append("binary")
        case FileContents.TOO_LARGE:
            words.append("too large")
        case FileContents.UNREPORTED if file.state is FileState.CHANGED:
            words.append("changes not reported")
        case _:
            pass
    if file.unsure:
        words.append("result unknown")
    return [*words, *filter(None, [_since(file)])]


def line_sentence(line: DiffLine) -> str:
    """A changed line as it is read aloud."""
    act = "added" if line.sign == "+" else "removed"
    text = line.text.rstrip("\r\n") if line.text.strip() else "(blank)"
    return f"Line {line.number} {act}: {text}"


def change_lines(
    diffs: Sequence[AnyDiff],
    directory: str,
    *,
    made: Sequence[AnyDiff] | None = None,
    most: int | None = None,
) -> Iterator[str]:
    """Changes of files as sentences: a line for each line that was added or removed.

    Paths below ``directory`` are relative to it. ``made``: those that were made, or will be; None for all.
    """
    for diff in diffs:
        compared = change_of(diff.old, diff.new)
        new = ", a new file" if diff.old is None else ""
        undone = "" if made is None or diff in made else ", not made"
        size = spoken_size(compared.added, compared.removed) if diff.new is not None else lineless_words(diff)
        yield f"Change: {relative(diff.path, directory)}{new}, {size}{undone}"
        lines = (line for hunk in compared.hunks for line in hunk.lines if line.sign != " ")
        yield from cut(map(line_sentence, lines), most)


def cut(lines: Iterable[str], most: int | None, more: str = _READS_ALL) -> Iterator[str]:
    """The first lines, and how many there are ``more``; all of them without a limit."""
    left = 0
    for at, line in enumerate(lines):
        if most is None or at < most:
            yield line
        else:
            left += 1
    if left:
        yield f"Note: {counted(left, 'more line')}; {more}"


def spoken_size(added: int, removed: int) -> str:
    """`6 lines added, 2 removed`; `nothing changed` where nothing is."""
    if not added:
        return f"{counted(removed, 'line')} removed" if removed else "nothing changed"
    return f"{counted(added, 'line')} added" + (f", {removed:,} removed" if removed else "")


def note_words(file: ChangedFile) -> str:
    """A sentence about how the changes of a file are shown, where that is not the difference of two versions."""
    if file.mixed:
        return "Others changed the same lines (you, a program or another turn): not in a patch."
    if file.successive:
        return f"{len(file.changes)} edits, one after the other: they cannot be combined into one change exactly."
    if file.changes and file.net is None:
        return "Parts of the file, as reported: line numbers may differ."
    if file.contents is FileContents.UNREPORTED:
        return "The agent did not report what changed."
    if file.contents is FileContents.BINARY:
        return "Not a text file."
    if file.contents is FileContents.TOO_LARGE:
        return "Too large to compare."
    return ""


def author_words(by: By) -> str:
    """Whose change a hunk of a file that several changed is."""
    return "the agent" if by is By.AGENT else "others"


def left_out_words(left_out: Sequence[NotInPatch], directory: str) -> str:
    """The files that a patch lacks: a sentence, or "" for none."""
    if not left_out:
        return ""
    path, why = left_out[0]
    more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
    return f"Not in the patch: {shown_path(path, directory)} ({why}){more}."


def _since(file: ChangedFile) -> str:
    match file.on_disk:
        case OnDisk.CHANGED:
            return "exists again" if file.state is FileState.DELETED else "changed since"
        case OnDisk.GONE:
            return "" if file.state is FileState.DELETED else "gone since"
        case OnDisk.SAME | OnDisk.UNKNOWN:
            return ""
