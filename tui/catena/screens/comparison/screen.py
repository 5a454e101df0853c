"""The screen that compares branches from where they part: as many columns as can be read, of all that there are."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Size
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import STYLES
from catena.screens.common.page import PageScreen, ReadingPane
from catena.text.chain_text import branch_letter, shared_words, shown_words
from catena.text.changes_text import (
    caveat_words,
    note_words,
    shown_path,
    size_words,
    state_words,
    touched_words,
)
from catena.text.formats import duration_text
from catena.text.safe_text import safe_line
from catena.text.usage import usage_text
from catena.transcript.widget.blocks import MessagesBlock, SubjectBlock
from catena.widgets.sheet_edges import SheetKey, Subject
from catena_acp.changes.changed_file import FileDiff, diffs_of_files
from catena_acp.changes.reading import Changes, ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.changes import ConversationChanges
from catena_acp.conversation.inspection.file_changes import FileTouched
from catena_acp.conversation.inspection.tree import BranchTail, Comparison, ConversationTree
from catena_acp.port.session_events import ToolDiff
from catena_store.records import Kind, Message

_COLUMN, _WIDEST = 40, 200  # cells of a screen for each branch, and in which branches stand
_MOST_FILES = 20  # of a branch whose changes are shown
_MOST_LINES = 200  # added and removed, of one file
# From the left.
_KEEP = (
    "keep_a",
    "keep_b",
    "keep_c",
    "keep_d",
    "keep_e",
    "keep_f",
    "keep_g",
    "keep_h",
    "keep_i",
)
_OTHERS = SheetKey("{answer_before answer_after}", "others")
_STEP = "step"  # of a click

_MARGIN = "  "
_MOST_NAMED = 40  # that are listed
_NO_FILES = Content.styled("No files read or changed on any branch.", "$faint")


@dataclass(frozen=True, slots=True)
class ComparedBranch:
    """A branch to compare: what it is called, its leaf, and whether its turn goes on."""

    title: str
    leaf_id: str
    works: bool = False


class BranchWords(Widget):
    """The words of a branch, laid out for its width."""

    DEFAULT_CSS = "BranchWords { height: auto; }"

    def __init__(self, words: Callable[[int], Content]) -> None:
        """``words`` are those for a width."""
        super().__init__()
        self._words = words

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the words take."""
        return len(self._words(width).plain.split("\n"))

    def render(self) -> Content:
        """The words for the width."""
        return self._words(self.content_size.width)


class ShownAnswers(Static):
    """Which of the answers stand on the screen, between ways to those before and after."""

    DEFAULT_CSS = "ShownAnswers { display: none; height: 1; padding: 0 2; color: $muted; }"

    def show(self, first: int, shown: int, of: int) -> None:
        """Show which ones; nothing where all are."""
        self.display = shown < of
        self.update(
            Content(" ").join(
                [
                    _way("‹", -1) if first else Content(" "),
                    Content(shown_words(first, shown, of)),
                    _way("›", 1) if first + shown < of else Content(" "),
                ]
            )
        )

    async def on_click(self, event: Click) -> None:
        """Go the way that was clicked."""
        if step := event.style.meta.get(_STEP):
            event.stop()
            await self.run_action(f"screen.step({step})")


def _way(mark: str, step: int) -> Content:
    return Content.styled(mark, "$foreground").stylize(Style.from_meta({_STEP: step}))


class ComparisonScreen(PageScreen):
    """Branches from where they part: what each says, changed in files, and took."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(
            answer_before="step(-1)",
            answer_after="step(1)",
            **{name: f"keep({at})" for at, name in enumerate(_KEEP)},
        )
    ]
    CSS_PATH = [STYLES, "comparison.tcss"]  # noqa: RUF012 - as Textual declares them

    def __init__(
        self,
        branches: ConversationTree,
        changes: ConversationChanges,
        compared: Sequence[ComparedBranch],
        *,
        keep: Callable[[int], None] | None = None,
        subject: Subject | None = None,
    ) -> None:
        """``keep`` is called with the place of the one that the person keeps; without it none can be kept."""
        super().__init__("Compare branches", Content(""), subject=subject)
        self._branches = branches
        self._changes = changes
        self._compared = compared
        self._keep = keep
        self._first = 0  # of the branches that are shown
        self._shown = len(compared)  # that there is room for

    def compose(self) -> ComposeResult:
        """Head, which are shown, what all have, the branches, keys."""
        yield from self.compose_head()
        yield ShownAnswers(markup=False)
        with ReadingPane(id="text"):
            yield Static("", id="shared", markup=False)
            with Horizontal(id="branches"):
                for _ in self._compared:
                    yield Vertical(classes="branch")
        yield from self.compose_foot(*self.KEYS)

    def on_mount(self) -> None:
        """Read the branches."""
        self.run_worker(self.attempt(self._read()))

    def on_resize(self, event: Resize) -> None:
        """Let as many branches stand side by side as there is room for."""
        room = max(1, min(event.size.width, _WIDEST) // _COLUMN)
        self._shown = min(room, len(self._compared))
        self.action_step(0)

    def action_step(self, step: int) -> None:
        """Show the branch before or after the ones that are shown."""
        count = len(self._compared)
        self._first = first = max(0, min(self._first + step, count - self._shown))
        shown = range(first, first + self._shown)
        for at, column in enumerate(self.query(".branch")):
            column.display = at in shown
        self.query_one(ShownAnswers).show(first, self._shown, count)
        keep = [
            SheetKey(f"{{{_KEEP[at]}}}", f"keep {branch_letter(at)}", f"keep({at})")
            for at in shown
            if at < len(_KEEP)
        ]
        others = [_OTHERS] if self._shown < count else []
        self.show_keys(*(keep if self._keep else ()), *others, *self.KEYS)

    async def _read(self) -> None:
        found = await self._branches.compare(*(each.leaf_id for each in self._compared))
        scope = ChangeScope(Since.CHECKPOINT, found.shared)
        read = [await self._changes.read(branch.leaf_id, scope) for branch in self._compared]
        diffs = [await asyncio.to_thread(diffs_of_files, changes.files[:_MOST_FILES]) for changes in read]
        directory, tails = read[0].directory, found.tails
        kept = [changes.kept or not tail.rows for changes, tail in zip(read, tails, strict=True)]
        columns = self.query(".branch").results(Vertical)
        for at, (branch, tail, column) in enumerate(zip(self._compared, tails, columns, strict=True)):
            words = partial(branch_part, branch_letter(at), branch.title, tail, works=branch.works)
            said = [MessagesBlock(rows), Static("")] if (rows := said_on(tail)) else [Static("")]
            drawn = _drawn(diffs[at], len(read[at].files), directory)
            # Where nothing was kept, the head of the list says it for all.
            lacks = caveat_words(read[at]) if any(kept) and tail.rows else ""
            caveat = [_note(lacks)] if lacks else []
            await column.mount(BranchWords(words), *said, *drawn, *caveat)
        own = [changed_files(*each) for each in zip(read, diffs, strict=True)] if all(kept) else None
        self.query_one("#shared", Static).update(shared_part(found, directory, own))

    def action_keep(self, which: int) -> None:
        """Keep one of the branches, where that was offered."""
        if self._keep is not None and which < len(self._compared):
            self._keep(which)
            self.dismiss(None)


def _drawn(diffs: Sequence[FileDiff], files: int, directory: str) -> list[Widget]:
    """The changes of a branch, one file below the other."""
    drawn: list[Widget] = []
    for diff in diffs:
        file = diff.file
        told = " · ".join(filter(None, (size_words(diff.added, diff.removed), state_words(file, directory))))
        head = Content.assemble((f"  {shown_path(file.path, directory)}", "bold"), (f"  {told}", "$muted"))
        drawn.append(Static(head, markup=False))
        if diff.added + diff.removed > _MOST_LINES:
            drawn.append(_note("Too long to be shown here: /files changes has all of it."))
        elif file.changes:
            parts = tuple(ToolDiff(file.path, each.old, each.new or "") for each in file.changes)
            drawn.append(SubjectBlock(parts, directory, whole=True))
        elif note := note_words(file):
            drawn.append(_note(note))
        drawn.append(Static(""))
    if files > _MOST_FILES:
        drawn.append(_note(f"{counted(files - _MOST_FILES, 'more file')}: /files changes has all of them."))
    return drawn


def _note(words: str) -> Static:
    return Static(Content.styled(f"  {words}", "$faint"), markup=False)


def shared_part(comparison: Comparison, cwd: str, own: Sequence[Mapping[str, str]] | None = None) -> Content:
    """What branches have in common, and the files that each of them touched.

    ``own`` are those that really differ, of each branch; without it they are as the agents reported them.
    """
    files = _reported_files(comparison, cwd) if own is None else _own_files(comparison, cwd, own)
    first = Content.styled(shared_words(comparison), "$muted")
    return Content("\n").join([first, Content(""), *files, Content("")])


def changed_files(changes: Changes, diffs: Sequence[FileDiff]) -> dict[str, str]:
    """The changed files of a branch by their absolute paths, in words; of those without a diff only their state."""
    sizes = {diff.file.path: size_words(diff.added, diff.removed) for diff in diffs}
    return {
        file.path: " ".join(filter(None, [file.state.value, sizes.get(file.path)])) for file in changes.files
    }


def branch_part(letter: str, title: str, tail: BranchTail, width: int, *, works: bool = False) -> Content:
    """The part on one branch, wrapped to a width: its letter, its title and its facts; ``works``: its turn goes on."""
    head = Content.styled(f"{letter}  {safe_line(title)}", "bold").wrap(max(8, width))
    rows = (row for words in _facts(tail, works=works) for row in words.wrap(max(8, width - len(_MARGIN))))
    return Content("\n").join([*head, *(Content.assemble(_MARGIN, row) for row in rows)])


def said_on(tail: BranchTail) -> list[Message]:
    """The prompts and answers that one of the branches has."""
    return [row for row in tail.rows if row.kind in (Kind.USER, Kind.AGENT)]


def _own_files(comparison: Comparison, cwd: str, own: Sequence[Mapping[str, str]]) -> Iterator[Content]:
    """What became of files, by the files themselves, and how often the agents say that they read them."""
    told = [dict(each) for each in own]
    for words, tail in zip(told, comparison.tails, strict=True):
        for touched in tail.files.values():
            path = os.path.normpath(os.path.join(cwd, touched.path))  # noqa: PTH118 - the path need not be one
            if touched.read:
                words[path] = " · ".join(filter(None, [words.get(path), _read_words(touched)]))
    paths = sorted({path for each in told for path in each})
    if not paths:
        yield _NO_FILES
        return
    yield Content.styled("Files", "bold")
    for path in paths[:_MOST_NAMED]:
        yield Content(f"  {shown_path(path, cwd)}")
        for at, words in enumerate(told):
            yield Content.styled(f"    {branch_letter(at)}  {words.get(path, 'not touched')}", "$muted")
    if more := len(paths) - _MOST_NAMED if len(paths) > _MOST_NAMED else 0:
        yield Content.styled(f"  … {counted(more, 'more file')}", "$faint")


def _read_words(touched: FileTouched) -> str:
    return " · ".join(touched_words(FileTouched(touched.path, read=touched.read)))


def _reported_files(comparison: Comparison, cwd: str) -> Iterator[Content]:
    paths = list(dict.fromkeys(path for tail in comparison.tails for path in tail.files))
    if not paths:
        yield _NO_FILES
        return
    yield Content.styled("Files, as reported by the agents", "bold")
    for path in paths:
        yield Content(f"  {shown_path(path, cwd)}")
        for at, tail in enumerate(comparison.tails):
            touched = tail.files.get(path)
            words = " · ".join(touched_words(touched)) if touched else "not touched"
            yield Content.styled(f"    {branch_letter(at)}  {words}", "$muted")


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
