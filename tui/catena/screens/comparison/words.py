"""Two branches after their last common message, in words."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence

from textual.content import Content

from catena.text.changes_text import shown_path, size_words, touched_words
from catena.text.formats import duration_text
from catena.text.safe_text import safe_line
from catena.text.usage import usage_text
from catena_acp.changes.hunks import FileDiff
from catena_acp.changes.reading import Changes
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_store.records import Kind, Message

_MARGIN = "  "
_MOST_FILES = 40  # that are listed


def shared_part(comparison: Comparison, cwd: str, own: Sequence[Mapping[str, str]] | None = None) -> Content:
    """What two branches have in common, and the files that each of them touched.

    ``own`` are those that really differ, of each branch; without it they are as the agents reported them.
    """
    files = _reported_files(comparison, cwd) if own is None else _own_files(comparison, cwd, own)
    first = Content.styled(_together(comparison), "$muted")
    return Content("\n").join([first, Content(""), *files, Content("")])


def changed_files(changes: Changes, diffs: Sequence[FileDiff]) -> dict[str, str]:
    """The changed files of a branch by their absolute paths, in words; of those without a diff only their state."""
    sizes = {diff.file.path: size_words(diff.added, diff.removed) for diff in diffs}
    return {
        file.path: " ".join(filter(None, [file.state.value, sizes.get(file.path)])) for file in changes.files
    }


def _together(comparison: Comparison) -> str:
    """Where two branches split, in words."""
    if prompts := comparison.shared_prompts:
        return f"Both start with the same {'prompt' if prompts == 1 else counted(prompts, 'prompt')}."
    left, right = (_first_prompt(tail) for tail in (comparison.left, comparison.right))
    if left is not None and left == right:
        return "Both answer the same first prompt."
    return "They split at the first prompt."


def _first_prompt(tail: BranchTail) -> str | None:
    """The text of a branch's first prompt; None where it is not known."""
    return None if tail.left_out else next((row.text for row in tail.rows if row.kind is Kind.USER), None)


def branch_part(letter: str, title: str, tail: BranchTail, width: int, *, works: bool = False) -> Content:
    """What is to be known of what one of two branches has, in a width; ``works``: its turn goes on."""
    head = Content.styled(f"{letter}  {safe_line(title)}", "bold")
    rows = (row for words in _facts(tail, works=works) for row in words.wrap(max(8, width - len(_MARGIN))))
    return Content("\n").join([head, *(Content.assemble(_MARGIN, row) for row in rows)])


def said_on(tail: BranchTail) -> list[Message]:
    """The prompts and answers that one of two branches has."""
    return [row for row in tail.rows if row.kind in (Kind.USER, Kind.AGENT)]


def _own_files(comparison: Comparison, cwd: str, own: Sequence[Mapping[str, str]]) -> Iterator[Content]:
    """What became of files, by the files themselves, and how often the agents say that they read them."""
    told = [dict(each) for each in own]
    for words, tail in zip(told, (comparison.left, comparison.right), strict=True):
        for touched in tail.files.values():
            path = os.path.normpath(os.path.join(cwd, touched.path))  # noqa: PTH118 - the path need not be one
            if touched.read:
                words[path] = " · ".join(filter(None, [words.get(path), _read_words(touched)]))
    paths = sorted({*told[0], *told[1]})
    if not paths:
        yield Content.styled("No files read or changed on either branch.", "$faint")
        return
    yield Content.styled("Files", "bold")
    for path in paths[:_MOST_FILES]:
        yield Content(f"  {shown_path(path, cwd)}")
        for letter, words in zip("AB", told, strict=True):
            yield Content.styled(f"    {letter}  {words.get(path, 'not touched')}", "$muted")
    if more := len(paths) - _MOST_FILES if len(paths) > _MOST_FILES else 0:
        yield Content.styled(f"  … {counted(more, 'more file')}", "$faint")


def _read_words(touched: FileTouched) -> str:
    return " · ".join(touched_words(FileTouched(touched.path, read=touched.read)))


def _reported_files(comparison: Comparison, cwd: str) -> Iterator[Content]:
    paths = list(dict.fromkeys([*comparison.left.files, *comparison.right.files]))
    if not paths:
        yield Content.styled("No files read or changed on either branch.", "$faint")
        return
    yield Content.styled("Files, as reported by the agents", "bold")
    for path in paths:
        yield Content(f"  {shown_path(path, cwd)}")
        for letter, tail in (("A", comparison.left), ("B", comparison.right)):
            touched = tail.files.get(path)
            words = " · ".join(touched_words(touched)) if touched else "not touched"
            yield Content.styled(f"    {letter}  {words}", "$muted")


def _facts(tail: BranchTail, *, works: bool) -> Iterator[Content]:
    prompts = sum(row.kind is Kind.USER for row in tail.rows)
    calls = sum(row.kind is Kind.TOOL for row in tail.rows)
    if not tail.rows:
        yield Content.styled("ends where the branches split", "$faint")
        return
    took = ["still working"] if works else [duration_text(tail.seconds)] if tail.seconds else []
    said = " · ".join([counted(prompts, "prompt"), counted(calls, "tool call"), *took])
    yield Content.styled(said, "$muted")
    if tail.spent:
        yield Content.styled(usage_text(tail.spent), "$muted")
    if tail.left_out:
        yield Content.styled(f"… {counted(tail.left_out, 'older row')} not shown", "$faint")
