"""Two branches after their last common message, in words."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from catena.screens.changes.files import summary_of
from catena.text.changes_text import shown_path
from catena.text.formats import duration_text
from catena.text.safe_text import safe_line
from catena.text.usage import usage_text
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_store.records import Kind, Message

_MARGIN = "  "


def shared_part(comparison: Comparison, cwd: str) -> Content:
    """What two branches have in common, and the files that each of them touched."""
    first = Content.styled(_together(comparison), "$muted")
    return Content("\n").join([first, Content(""), *_files(comparison, cwd), Content("")])


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


def _files(comparison: Comparison, cwd: str) -> Iterator[Content]:
    paths = list(dict.fromkeys([*comparison.left.files, *comparison.right.files]))
    if not paths:
        yield Content.styled("No files read or changed on either branch.", "$faint")
        return
    yield Content.styled("Files, as reported by the agents", "bold")
    for path in paths:
        yield Content(f"  {shown_path(path, cwd)}")
        for letter, tail in (("A", comparison.left), ("B", comparison.right)):
            touched = tail.files.get(path)
            words = summary_of(touched) if touched else "not touched"
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
