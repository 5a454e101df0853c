"""The two panes of a review: the rows of files, and the hunks of the one under the cursor; one of them has the keys."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.css.query import NoMatches
from textual.message import Message

from catena.screens.changes.hunk_view import HunkView
from catena.screens.changes.review import Hit, Review
from catena.text.changes_text import shown_path, size_words, state_words
from catena.transcript.drawing.wrapping import shorten, width_of
from catena.widgets.row_list import Columns, Row, RowList, Tone, Word
from catena_acp.changes.changed_file import FileDiff, FileHunk, FileState, UnreadFile

BESIDE = 140  # cells of a screen from which on the hunks stand beside the files
SIDE_BY_SIDE = 120  # … from which on both versions can stand beside each other
_LEAST_PANE = 112  # cells of a pane for both versions; with less, the files make room

_FILE_COLUMNS = Columns(time=11)  # wide enough before sizes are known, so that nothing moves sideways
_STATE = 24  # characters
_MARGINS = 6  # cells before the name, and around the sizes
_GAP = 2
_LEAST_NAME = 16  # cells


class ReviewPanes(Horizontal):
    """Files and hunks: one of them on a narrow screen, both on a wide one."""

    class PlaceChanged(Message):
        """The keys belong to the other pane."""

    def __init__(self, review: Review, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._review = review
        self._width = 0  # of the screen
        self.path: str | None = None  # of the file whose hunks are shown
        self.in_hunks = False

    def compose(self) -> ComposeResult:
        """The files, and the hunks of one of them."""
        yield RowList(empty="", id="rows")
        yield HunkView(self._review.changes.directory, lambda digest: digest in self._review.seen, id="hunks")

    @property
    def row_list(self) -> RowList:
        """The files."""
        return self.query_one(RowList)

    @property
    def hunks(self) -> HunkView:
        """The hunks of the file under the cursor."""
        return self.query_one(HunkView)

    @property
    def at_top(self) -> bool:
        """True while the cursor is on the first file, and the keys belong to the files."""
        return self.row_list.cursor == 0 and not self.in_hunks

    @property
    def compared(self) -> FileDiff | None:
        """The file under the cursor, compared now at the latest: a key is about it."""
        diff = None if self.path is None else self._review.compare_now(self.path)
        self.hunks.show(diff)
        return diff

    @property
    def hunk(self) -> FileHunk | None:
        """The current hunk, or the only one of the file; None where it could be one of several."""
        file, current = self.hunks.file, self.hunks.current
        if file is None or not file.hunks:
            return None
        if self.in_hunks and current is not None:
            return file.hunks[current]
        return file.hunks[0] if len(file.hunks) == 1 else None

    # What is shown

    def show(self, review: Review, files: Sequence[UnreadFile]) -> None:
        """Show these files of a review; the cursor stays at its file."""
        self._review = review
        if self.path not in review.paths:
            self.path = review.files[0].path if review.files else None
        self.show_files(files)
        self.show_file()

    def show_files(self, files: Sequence[UnreadFile]) -> None:
        """Show these files; the cursor stays at its file, or goes to the first."""
        review, rows = self._review, self.row_list
        directory, width = review.changes.directory, rows.size.width
        rows.show(
            [
                _file_row(
                    file, review.diff(file.path), directory, seen=review.is_seen(file.path), width=width
                )
                for file in files
            ],
            keep=self.path,
            empty="no match" if review.files else "No changes.",
            columns=_FILE_COLUMNS,
        )
        if rows.chosen is not None:
            self._take(rows.chosen.key)

    def show_file(self) -> None:
        """Show the hunks of the file under the cursor, as soon as they are compared."""
        diff = self._review.diff(self.path)
        if diff is not None or self.path is None:
            self.hunks.show(diff)
        else:
            self.run_worker(self._compare(self.path), group="file", exclusive=True)

    async def _compare(self, path: str) -> None:
        review = self._review
        await review.compare([file for file in review.files if file.path == path])
        with contextlib.suppress(NoMatches):  # the screen was closed
            if path == self.path and review is self._review:
                self.hunks.show(review.diff(path))

    # Layout

    def fit_to(self, width: int) -> None:
        """Put the hunks beside the files where a screen of so many cells has room for both."""
        self._width = width
        view = self.hunks
        if width < SIDE_BY_SIDE:
            view.put_beside(False)
        both = view.side_by_side and self.in_hunks and width * 2 // 3 < _LEAST_PANE
        self.set_class(width >= BESIDE and not both, "-beside")
        self.set_class(self.in_hunks, "-hunks")

    def give_keys(self, *, to_hunks: bool) -> None:
        """Give the keys to the hunks or to the files."""
        self.in_hunks = to_hunks
        if not to_hunks:
            self.hunks.go(None)
        self.fit_to(self._width)
        self.post_message(self.PlaceChanged())

    def toggle_side_by_side(self) -> str:
        """Show both versions beside each other, or one below the other; returns why not."""
        if self._width < SIDE_BY_SIDE:
            return f"Side by side needs {SIDE_BY_SIDE} columns."
        self.hunks.put_beside(not self.hunks.side_by_side)
        self.fit_to(self._width)
        return ""

    # Moving. What there is to say of a move is returned.

    def select(self, path: str) -> None:
        """Put the cursor on a file, and show its hunks."""
        keys = [row.key for row in self.row_list.rows]
        if path in keys:
            self.row_list.cursor = keys.index(path)
        self._take(path)

    def _take(self, path: str) -> None:
        if path != self.path:
            self.path = path
            self.show_file()

    def step(self, step: int) -> str:
        """Go to the next file, or among the hunks to the next of them."""
        return self.step_hunk(step) if self.in_hunks else self.step_file(step)

    def step_file(self, step: int) -> str:
        """Go to another file; among the hunks to its first one."""
        rows = self.row_list.rows
        at = self.row_list.cursor + step
        if not 0 <= at < len(rows):
            return "Last file." if step > 0 else "First file."
        self.select(rows[at].key)
        if self.in_hunks:
            self._go_into(0)
        return ""

    def step_hunk(self, step: int) -> str:
        """Go to the next or previous hunk, from file to file."""
        diff, view = self.compared, self.hunks
        count = len(diff.hunks) if diff is not None else 0
        if not self.in_hunks:
            self.give_keys(to_hunks=True)
            self._go_into(0 if step > 0 else -1)
            return ""
        at = (view.current if view.current is not None else -1) + step
        if 0 <= at < count:
            view.go(at)
            return ""
        rows, cursor = self.row_list.rows, self.row_list.cursor + step
        if not 0 <= cursor < len(rows):
            return "Last hunk." if step > 0 else "First hunk."
        self.select(rows[cursor].key)
        self._go_into(0 if step > 0 else -1)
        return ""

    def _go_into(self, hunk: int) -> None:
        """Make a hunk of the file under the cursor the current one; -1 is its last."""
        diff = self.compared
        count = len(diff.hunks) if diff is not None else 0
        self.hunks.go(hunk % count if count else None)

    def scroll_line(self, step: int) -> str:
        """Scroll the hunks by a line, or go to the next file."""
        if not self.in_hunks:
            return self.step_file(step)
        self.hunks.scroll_relative(y=step, animate=False, immediate=True)
        return ""

    def page(self, step: int) -> None:
        """Scroll by a screenful, or move by as many files."""
        rows = self.row_list.rows
        if self.in_hunks:
            lines = max(1, self.hunks.size.height - 2)
            self.hunks.scroll_relative(y=step * lines, animate=False, immediate=True)
        elif rows:
            at = self.row_list.cursor + step * self.row_list.page_length
            self.select(rows[max(0, min(len(rows) - 1, at))].key)

    def to_end(self, step: int) -> None:
        """Go to the first or last file, or among the hunks to the first or last of them."""
        at = 0 if step < 0 else -1
        if self.in_hunks:
            self._go_into(at)
        elif rows := self.row_list.rows:
            self.select(rows[at].key)

    def enter(self) -> None:
        """Go to the first hunk of a file that was not seen; fold the current one."""
        if self.in_hunks:
            if self.hunks.current is not None:
                self.hunks.fold(self.hunks.current)
        elif (diff := self.compared) is not None:
            self.give_keys(to_hunks=True)
            unseen = (at for at, each in enumerate(diff.hunks) if each.digest not in self._review.seen)
            self._go_into(next(unseen, 0))

    def go_to(self, hit: Hit) -> None:
        """Show a line of a file that was compared."""
        self.select(hit.path)
        self.hunks.show(self._review.diff(hit.path))
        self.give_keys(to_hunks=True)
        self.hunks.go_to_line(hit.hunk, hit.line)

    # Mouse

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Show the file under the cursor."""
        event.stop()
        if (chosen := self.row_list.chosen) is not None:  # now: the cursor may have moved on since
            self._take(chosen.key)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Give the keys to the files, one of which was clicked."""
        event.stop()
        self.select(event.key)
        self.give_keys(to_hunks=False)
        if self._width < BESIDE:
            self.enter()

    def on_hunk_view_clicked(self, event: HunkView.Clicked) -> None:
        """Make the clicked hunk the current one; fold it by its head."""
        event.stop()
        self.give_keys(to_hunks=True)
        self.hunks.go(event.hunk)
        if event.head:
            self.hunks.fold(event.hunk)


def _file_row(file: UnreadFile, diff: FileDiff | None, directory: str, *, seen: bool, width: int) -> Row:
    """The row of a file in a list of so many cells: its name, what became of it, and how much of it changed."""
    sizes = size_words(diff.added, diff.removed) if diff is not None else ""
    if diff is not None:
        words = state_words(diff.file, directory)
    else:  # what is known of it before it is read
        words = "" if file.state is FileState.CHANGED else file.state.value
    words = words if len(words) <= _STATE else f"{words[: _STATE - 1]}…"
    taken = _MARGINS + _FILE_COLUMNS.time + (width_of(words) + _GAP if words else 0)
    return Row(
        file.path,
        shorten(shown_path(file.path, directory), max(_LEAST_NAME, width - taken)),
        note=words,
        dim=seen,
        mark=Word("✓", Tone.FAINT) if seen else None,
        time=sizes,
    )
