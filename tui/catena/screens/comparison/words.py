"""Two branches after their last common message, in words."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from catena.screens.changes.files import summary_of
from catena.text.changes_text import shown_path
from catena.text.formats import duration_text
from catena.text.safe_text import safe, safe_line
from catena.text.usage import usage_text
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_store.records import Kind

_MARGIN, _PROMPT = "  ", "▌ "
_SHOWN_LINES = 400  # of one message


def shared_part(comparison: Comparison, cwd: str) -> Content:
    """What two branches have in common, and the files that each of them touched."""
    prompts = comparison.shared_prompts
    together = f"Both start with the same {'prompt' if prompts == 1 else counted(prompts, 'prompt')}."
    first = Content.styled(together if comparison.shared else "They have nothing in common.", "$muted")
    return Content("\n").join([first, Content(""), *_files(comparison, cwd), Content("")])


def branch_part(letter: str, title: str, tail: BranchTail, width: int, *, works: bool = False) -> Content:
    """What one of two branches has and the other has not, in a width; ``works``: its turn goes on."""
    head = Content.styled(f"{letter}  {safe_line(title)}", "bold")
    lines = (row for line in _messages(tail, works=works) for row in _rows(line, width))
    return Content("\n").join([head, *lines, Content("")])


def _rows(line: tuple[str, Content], width: int) -> Iterator[Content]:
    """A line that is wrapped behind its margin."""
    margin, words = line
    for row in words.wrap(max(8, width - len(margin))) or [words]:
        yield Content.assemble((margin, "bold"), row)


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


def _messages(tail: BranchTail, *, works: bool) -> Iterator[tuple[str, Content]]:
    """Each line, behind its margin."""
    prompts = sum(row.kind is Kind.USER for row in tail.rows)
    calls = sum(row.kind is Kind.TOOL for row in tail.rows)
    if not tail.rows:
        yield _MARGIN, Content.styled("ends where the branches split", "$faint")
        return
    took = ["still working"] if works else [duration_text(tail.seconds)] if tail.seconds else []
    said = " · ".join([counted(prompts, "prompt"), counted(calls, "tool call"), *took])
    yield _MARGIN, Content.styled(said, "$muted")
    if tail.spent:
        yield _MARGIN, Content.styled(usage_text(tail.spent), "$muted")
    if tail.left_out:
        yield _MARGIN, Content.styled(f"… {counted(tail.left_out, 'older row')} not shown", "$faint")
    for row in tail.rows:
        if row.kind is Kind.USER:
            yield "", Content("")
            yield from ((_PROMPT, Content.styled(line, "bold")) for line in _first_lines(row.text))
        elif row.kind is Kind.AGENT:
            yield from ((_MARGIN, Content(line)) for line in _first_lines(row.text))


def _first_lines(text: str) -> list[str]:
    lines = safe(text).strip("\n").split("\n")
    more = len(lines) - _SHOWN_LINES
    return lines if more <= 0 else [*lines[:_SHOWN_LINES], f"… {counted(more, 'more line')}"]
