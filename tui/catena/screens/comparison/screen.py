"""The screen that compares two branches from where they part: in two columns, or below each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import STYLES
from catena.screens.common.page import PageScreen
from catena.screens.common.reading_screen import ReadingPane
from catena.screens.comparison.words import branch_part, changed_files, said_on, shared_part
from catena.text.changes_text import note_words, shown_path, size_words, state_words
from catena.transcript.widget.messages_block import MessagesBlock
from catena.transcript.widget.subject_block import SubjectBlock
from catena.widgets.foot import SheetKey
from catena.widgets.sheet_head import Subject
from catena_acp.changes.hunks import FileDiff, diffs_of_files
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.changes import ConversationChanges
from catena_acp.conversation.inspection.tree import ConversationTree
from catena_acp.permissions.subject import unresolved_subject
from catena_acp.port.session_events import ToolCallChanged, ToolDiff

_WIDE = 120  # cells of a screen on which the branches stand side by side
_MOST_FILES = 20  # of a branch whose changes are shown
_MOST_LINES = 200  # added and removed, of one file
_KEEP = (SheetKey("{keep_a}", "keep A", "keep(0)"), SheetKey("{keep_b}", "keep B", "keep(1)"))


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


class ComparisonScreen(PageScreen):
    """Two branches from where they part: what each says, changed in files, and took."""

    BINDINGS: ClassVar[list[BindingType]] = [*priority_bindings(keep_a="keep(0)", keep_b="keep(1)")]
    CSS_PATH = [STYLES, "comparison.tcss"]  # noqa: RUF012 - as Textual declares them

    def __init__(
        self,
        branches: ConversationTree,
        changes: ConversationChanges,
        left: ComparedBranch,
        right: ComparedBranch,
        *,
        keep: Callable[[int], None] | None = None,
        subject: Subject | None = None,
    ) -> None:
        """``keep`` is called with 0 or 1 where the person keeps one; without it neither can be kept."""
        super().__init__("Compare two branches", Content(""), subject=subject)
        self._branches = branches
        self._changes = changes
        self._compared = (left, right)
        self._keep = keep

    def compose(self) -> ComposeResult:
        """Head, what both have, the two branches, keys."""
        yield from self.compose_head()
        with ReadingPane(id="text"):
            yield Static("", id="shared", markup=False)
            with Horizontal(id="branches"):
                yield Vertical(classes="branch")
                yield Vertical(classes="branch")
        yield from self.compose_foot(*(_KEEP if self._keep else ()), *self.KEYS)

    def on_mount(self) -> None:
        """Read both branches."""
        self.run_worker(self.attempt(self._read()))

    def on_resize(self, event: Resize) -> None:
        """Let the branches stand side by side where there is room."""
        self.set_class(event.size.width < _WIDE, "-below")

    async def _read(self) -> None:
        left, right = self._compared
        found = await self._branches.compare(left.leaf_id, right.leaf_id)
        scope = ChangeScope(Since.CHECKPOINT, found.shared)
        read = [await self._changes.read(branch.leaf_id, scope) for branch in self._compared]
        diffs = [await asyncio.to_thread(diffs_of_files, changes.files[:_MOST_FILES]) for changes in read]
        directory, tails = read[0].directory, (found.left, found.right)
        kept = [changes.kept or not tail.rows for changes, tail in zip(read, tails, strict=True)]
        columns = self.query(".branch").results(Vertical)
        for at, (branch, tail, column) in enumerate(zip(self._compared, tails, columns, strict=True)):
            words = partial(branch_part, "AB"[at], branch.title, tail, works=branch.works)
            said = [MessagesBlock(rows), Static("")] if (rows := said_on(tail)) else [Static("")]
            drawn = _drawn(diffs[at], len(read[at].files), directory)
            # Where nothing was kept, the head of the list says it for both.
            caveat = [_note(read[at].caveat)] if any(kept) and tail.rows and read[at].caveat else []
            await column.mount(BranchWords(words), *said, *drawn, *caveat)
        own = [changed_files(*each) for each in zip(read, diffs, strict=True)] if all(kept) else None
        self.query_one("#shared", Static).update(shared_part(found, directory, own))

    def action_keep(self, which: int) -> None:
        """Keep one of the branches, where that was offered."""
        if self._keep is not None:
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
            drawn.append(_note("Too long to be shown here: /changes has all of it."))
        elif file.changes:
            parts = tuple(ToolDiff(file.path, each.old, each.new or "") for each in file.changes)
            drawn.append(
                SubjectBlock(
                    unresolved_subject(ToolCallChanged("", kind="edit", content=parts)), directory, whole=True
                )
            )
        elif note := note_words(file):
            drawn.append(_note(note))
        drawn.append(Static(""))
    if files > _MOST_FILES:
        drawn.append(_note(f"{counted(files - _MOST_FILES, 'more file')}: /changes has all of them."))
    return drawn


def _note(words: str) -> Static:
    return Static(Content.styled(f"  {words}", "$faint"), markup=False)
