"""The page that compares two branches after their last common message."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from catena.screens.files import display_path, summary_of
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.counts import counted
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_store.records import Kind

_SHOWN_LINES = 40  # of one message


def comparison_page(comparison: Comparison, titles: tuple[str, str], cwd: str) -> Content:
    """What each of two branches has and the other has not: files first, then messages."""
    together = f"Both start with the same {counted(comparison.shared_prompts, 'prompt')}."
    lines = [Content.styled(together if comparison.shared else "They have nothing in common.", "$muted")]
    lines += [Content(""), *_files(comparison, cwd), Content("")]
    for letter, title, tail in (("A", titles[0], comparison.left), ("B", titles[1], comparison.right)):
        lines += [
            Content.styled(f"{letter}  {safe_line(title)}", "bold"),
            *_messages(tail),
            Content(""),
        ]
    return Content("\n").join(lines)


def _files(comparison: Comparison, cwd: str) -> Iterator[Content]:
    paths = list(dict.fromkeys([*comparison.left.files, *comparison.right.files]))
    if not paths:
        yield Content.styled("No files read or changed on either branch.", "$faint")
        return
    yield Content.styled("Files, as reported by the agents", "bold")
    for path in paths:
        yield Content(f"  {display_path(path, cwd)}")
        for letter, tail in (("A", comparison.left), ("B", comparison.right)):
            touched = tail.files.get(path)
            words = summary_of(touched) if touched else "not touched"
            yield Content.styled(f"    {letter}  {words}", "$muted")


def _messages(tail: BranchTail) -> Iterator[Content]:
    prompts = sum(row.kind is Kind.USER for row in tail.rows)
    calls = sum(row.kind is Kind.TOOL for row in tail.rows)
    if not tail.rows:
        yield Content.styled("  ends where the branches split", "$faint")
        return
    yield Content.styled(f"  {counted(prompts, 'prompt')} · {counted(calls, 'tool call')}", "$muted")
    if tail.left_out:
        yield Content.styled(f"  … {counted(tail.left_out, 'older row')} not shown", "$faint")
    for row in tail.rows:
        if row.kind is Kind.USER:
            yield Content("")
            yield from (Content.styled(f"▌ {line}", "bold") for line in _first_lines(row.text))
        elif row.kind is Kind.AGENT:
            yield from (Content(f"  {line}") for line in _first_lines(row.text))


def _first_lines(text: str) -> list[str]:
    lines = safe(text).strip("\n").split("\n")
    more = len(lines) - _SHOWN_LINES
    return lines if more <= 0 else [*lines[:_SHOWN_LINES], f"… {counted(more, 'more line')}"]
