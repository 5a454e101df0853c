"""The review of changes in files: file by file, hunk by hunk, each to be quoted into the next prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.events import Resize

from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.changes.panes import SIDE_BY_SIDE, ReviewPanes
from catena.screens.changes.review import Hit, Review, place_words, quote_of, quote_of_file
from catena.screens.common.dialog import STYLES, Dialog
from catena.text.changes_text import left_out_words, scope_words, shown_path, size_words, state_words
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject
from catena_acp.changes.changed_file import UnreadFile, hunk_patch
from catena_acp.changes.reading import Changes, ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.tasks import raise_if_cancelled
from catena_store.chains.turns import TurnPrompt
from catena_store.errors import SnapshotFailed
from catena_store.snapshots.repository import work_tree

_BATCH = 100  # files that are compared between two drawings of the list

_WAY_BACK = SheetKey("{changes_rewind}", "/rewind restores files", "rewind")
_RESTORE = SheetKey("{changes_restore}", "restore this file", "restore")
_FILE_KEYS = (
    SheetKey("{changes_enter}", "hunks", "enter"),
    SheetKey("{changes_seen}", "seen", "mark"),
    _WAY_BACK,
    _RESTORE,
    SheetKey("{changes_quote}", "quote", "quote"),
    SheetKey("{changes_scope}", "scope", "scope"),
    SheetKey("{changes_filter}", "filter", "filter"),
    SheetKey("{copy_patch}", "copy patch", "copy_patch"),
    SheetKey("{leave}", "close", "leave"),
)
_HUNK_KEYS = (
    SheetKey("{changes_seen}", "seen", "mark"),
    SheetKey("{changes_quote}", "quote", "quote"),
    SheetKey("{changes_undo}", "ask to undo", "quote_undo"),
    SheetKey("{next_change previous_change}", "hunk"),
    SheetKey("{previous_file next_file}", "file"),
    SheetKey("{changes_enter}", "fold", "enter"),
    SheetKey("{side_by_side}", "side by side", "side_by_side"),
    SheetKey("{copy_hunk}", "copy", "copy_hunk"),
    SheetKey("{changes_blame}", "blame", "blame"),
    SheetKey("{changes_editor}", "editor", "edit"),
    SheetKey("{leave}", "files", "leave"),
)
_FIELD_KEYS = {
    "filter": (SheetKey("{accept}", "keep these"), SheetKey("{leave}", "all files", "leave")),
    "find": (
        SheetKey("{accept}", "next"),
        SheetKey("{row_up row_down}", "previous, next"),
        SheetKey("{leave}", "done", "leave"),
    ),
}
_MORE_KEYS = (
    (
        "{next_change previous_change} {row_up} {row_down}",
        "next, previous file; in its hunks the first two go by hunks, the others by lines",
    ),
    ("{next_hunk previous_hunk}", "next, previous hunk, from file to file"),
    ("{previous_file next_file}", "previous, next file"),
    ("{changes_seen}", "mark the hunk or the file as seen, and go on"),
    ("{changes_undo}", "quote as “Undo this change”"),
    ("{changes_restore}", "restore the file as it was before these changes"),
    ("{changes_find}", "find in all changes"),
    ("{side_by_side}", "both versions side by side (from 120 columns)"),
    ("{copy_hunk copy_patch}", "copy the hunk, or everything, as a patch"),
    ("{changes_blame}", "show which prompt wrote the lines"),
    ("{changes_editor}", "open the file in $EDITOR at that line"),
    ("{changes_read}", "read the changes again"),
)


class ReviewEnd(Enum):
    """The act with which the person leaves the review."""

    REWIND = "rewind"


class ChangesReader(Protocol):
    """The source of the changes, and the store of the hunks that were seen."""

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes of a branch. Raises StoreError."""

    async def mark_seen(self, digests: Sequence[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen. Raises StoreError."""


@dataclass(frozen=True, slots=True)
class ReviewActs:
    """The acts on a hunk that lead out of the review."""

    quote: Callable[[str], None]  # into the prompt
    edit: Callable[[str, int], Awaitable[None]]  # a file, from a line on; raises EditRefused
    restore: Callable[[str, ChangeScope], Awaitable[str]]  # a file, after asking: in words what became of it
    blame: Callable[[str, int], Awaitable[None]]  # show who wrote it, from a line on; raises EditRefused


class ChangesScreen(Dialog[TurnPrompt | ReviewEnd | None]):
    """The changed files and the hunks of one of them; the keys are with the files or with the hunks."""

    CSS_PATH = [STYLES, "changes.tcss"]  # noqa: RUF012 - as Textual declares them
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave", changes_scope="scope", changes_find="find"),
        *bindings(
            row_down="line(1)",
            row_up="line(-1)",
            page_down="page(1)",
            page_up="page(-1)",
            next_change="step(1)",
            previous_change="step(-1)",
            next_hunk="hunk(1)",
            previous_hunk="hunk(-1)",
            next_file="file(1)",
            previous_file="file(-1)",
            changes_top="to_end(-1)",
            changes_end="to_end(1)",
            changes_enter="enter",
            changes_files="files",
            changes_seen="mark",
            changes_quote="quote",
            changes_undo="quote_undo",
            changes_rewind="rewind",
            side_by_side="side_by_side",
            copy_hunk="copy_hunk",
            copy_patch="copy_patch",
            changes_editor="edit",
            changes_read="read",
            changes_restore="restore",
            changes_blame="blame",
            changes_filter="filter",
        ),
    ]

    def __init__(
        self,
        reader: ChangesReader,
        scope: ChangeScope,
        *,
        leaf: Callable[[], str | None],
        directory: str,
        acts: ReviewActs,
        subject: Subject,
    ) -> None:
        """``leaf`` of the branch, as it is now; ``directory`` of the conversation."""
        super().__init__(SheetWords("Changes", subject=subject))
        self._reader = reader
        self._asked = scope
        self._scope = scope
        self._leaf = leaf
        self._directory = directory
        self._about = subject.conversation
        self._acts = acts
        self._review = Review(Changes(scope, None, directory))
        self._quoted = 0
        self._hit: Hit | None = None
        self.looked_at: str | None = None  # the leaf as far as which all new changes were shown

    def compose(self) -> ComposeResult:
        """Head with the filter, files and hunks, message, keys."""
        fields = (
            SafeInput(placeholder="/ filters files", compact=True, id="filter"),
            SafeInput(placeholder="Find in all changes", compact=True, id="find"),
        )
        for field in fields:
            field.cursor_blink = False
        fields[1].display = False
        yield from self.compose_head(*fields)
        yield ReviewPanes(self._review, id="sides")
        yield from self.compose_foot(*self._file_keys)

    async def on_mount(self) -> None:
        """Read the changes before any key is heard."""
        self._panes.fit_to(self.app.size.width)
        await self.attempt(self._read())

    # What is shown

    @property
    def _panes(self) -> ReviewPanes:
        return self.query_one(ReviewPanes)

    @property
    def _filter(self) -> SafeInput:
        return self.query_one("#filter", SafeInput)

    @property
    def _find(self) -> SafeInput:
        return self.query_one("#find", SafeInput)

    @property
    def _file_keys(self) -> tuple[SheetKey, ...]:
        """The keys among the files: what is only planned is not restored yet."""
        planned = self._asked.since is Since.PLANNED
        return tuple(key for key in _FILE_KEYS if not (planned and key in (_RESTORE, _WAY_BACK)))

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from keys_of(self).hints([*((each.key, each.does) for each in self._file_keys), *_MORE_KEYS])

    async def _read(self) -> None:
        """Read the changes in the scope, and show them; the first file is compared before anything is drawn."""
        changes = await self._reader.read(self._leaf(), self._scope)
        self._review = review = Review(changes)
        if self._scope.since in (Since.BRANCH, Since.LOOK):
            self.looked_at = changes.leaf_id
        kept = [file for file in review.files if file.path == self._panes.path]
        await review.compare(kept or review.files[:1])
        self._panes.show(review, self._listed())
        self._count()
        self.call_after_refresh(self._compare_behind, review)

    def _compare_behind(self, review: Review) -> None:
        """Compare the other files behind the frame that shows the first one."""
        self.run_worker(self.attempt(self._compare_rest(review)), group="compare", exclusive=True)

    async def _compare_rest(self, review: Review) -> None:
        """Compare the other files; once all are, what was not seen yet comes first."""
        with contextlib.suppress(NoMatches):  # the screen was closed
            files = list(review.files)
            for start in range(0, len(files), _BATCH):
                await review.compare(files[start : start + _BATCH])
                self._draw_files()
            untouched = self._panes.at_top
            if review.put_seen_last() and untouched and review.files:
                self._panes.path = review.files[0].path
                self._panes.show_file()
            self._draw_files()
            self._renew_hits()

    def _draw_files(self) -> None:
        """Show the files that the filter lets through, and how many these are."""
        self._panes.show_files(self._listed())
        self._count()

    def _listed(self) -> list[UnreadFile]:
        return self._review.listed(self._filter.value)

    def _count(self) -> None:
        files = self._listed()
        parts = [counted(len(files), "file")]
        if self._review.has_compared(files):
            known = self._review.compared(files)
            unseen = sum(not self._review.is_seen(file.path) for file in files)
            parts.append(size_words(sum(each.added for each in known), sum(each.removed for each in known)))
            parts.append(f"{unseen:,} not seen" if files else "")
        else:
            parts.append("counting lines…")
        about, caveat = self._about, self._review.changes.caveat
        self.show_head(
            f"Changes {scope_words(self._scope)}",
            count=" · ".join(filter(None, parts)),
            # What the changes lack stays where there is no room for both.
            subject=Subject(caveat, about) if caveat else Subject(about),
        )

    def on_resize(self, event: Resize) -> None:
        """Put the hunks beside the files if there is room for both."""
        self._panes.fit_to(event.size.width)
        self._draw_files()

    def on_review_panes_place_changed(self, event: ReviewPanes.PlaceChanged) -> None:
        """Show the keys of the other pane."""
        event.stop()
        self._show_keys()

    def _show_keys(self) -> None:
        for name, keys in _FIELD_KEYS.items():
            if self.query_one(f"#{name}", SafeInput).has_focus:
                self.show_keys(*keys)
                return
        wide = self.size.width >= SIDE_BY_SIDE
        keys = _HUNK_KEYS if self._panes.in_hunks else self._file_keys
        self.show_keys(*(key for key in keys if wide or key.action != "side_by_side"))

    # Moving

    def action_line(self, step: int) -> None:
        """Go to the next file, scroll by a line among the hunks, or go to the next place where a text is found."""
        if self._find.has_focus:
            self._go_to_hit(step)
        else:
            self.say(self._panes.scroll_line(step))

    def action_step(self, step: int) -> None:
        """Go to the next file, or among the hunks to the next of them."""
        self.say(self._panes.step(step))

    def action_file(self, step: int) -> None:
        """Go to another file; among the hunks to its first one."""
        self.say(self._panes.step_file(step))

    def action_hunk(self, step: int) -> None:
        """Go to the next or previous hunk, from file to file."""
        self.say(self._panes.step_hunk(step))

    def action_page(self, step: int) -> None:
        """Scroll by a screenful, or move by as many files."""
        self._panes.page(step)

    def action_to_end(self, step: int) -> None:
        """Go to the first or last file, or among the hunks to the first or last of them."""
        self._panes.to_end(step)

    def action_enter(self) -> None:
        """Go into the hunks of a file; fold the current one."""
        self._panes.enter()

    def action_files(self) -> None:
        """Give the keys back to the files."""
        self._panes.give_keys(to_hunks=False)

    def action_leave(self) -> None:
        """Close a field, go from the hunks to the files, or close the screen."""
        if self._find.display:
            self._close_find()
        elif self._filter.has_focus or self._filter.value:
            self.set_focus(None)
            self._filter.value = ""
        elif self._panes.in_hunks:
            self.action_files()
        else:
            self.dismiss(None)

    def action_rewind(self) -> None:
        """Go on to the checkpoints, whose files can be restored; from a plan there is no way back yet."""
        if self._asked.since is not Since.PLANNED:
            self.dismiss(ReviewEnd.REWIND)

    def action_scope(self) -> None:
        """Go from this branch to its newest turn, to what came since the last look, and back."""
        if self._asked.since is Since.PLANNED:
            return
        scopes = [ChangeScope(), ChangeScope(Since.TURN), ChangeScope(Since.LOOK)]
        if self._asked not in scopes:
            scopes.append(self._asked)
        at = scopes.index(self._scope) if self._scope in scopes else -1
        self._scope = scopes[(at + 1) % len(scopes)]
        self.action_files()
        self.action_read()

    def action_read(self) -> None:
        """Read the changes again."""
        self.say("")
        self.run_worker(self.attempt(self._read()), group="read", exclusive=True)

    def action_side_by_side(self) -> None:
        """Show both versions beside each other, or one below the other."""
        self.say(self._panes.toggle_side_by_side())

    # Seen

    def action_mark(self) -> None:
        """Mark the hunk or the file as seen, or as not seen, and go on to the next."""
        panes = self._panes
        if (diff := panes.compared) is None:
            return
        hunk = panes.hunk if panes.in_hunks else None
        digests = diff.digests if hunk is None else (hunk.digest,)
        seen = self._review.mark(digests)
        self._draw_files()
        panes.hunks.draw_again()
        self.run_worker(self.attempt(self.finish(self._reader.mark_seen(digests, seen=seen))), group="seen")
        if seen:
            panes.step(1)

    # Quoting and copying

    def action_quote(self) -> None:
        """Quote the hunk into the prompt."""
        self._quote(undo=False)

    def action_quote_undo(self) -> None:
        """Quote the hunk into the prompt, to be undone."""
        self._quote(undo=True)

    def _quote(self, *, undo: bool) -> None:
        if (diff := self._panes.compared) is None:
            return
        hunk = self._panes.hunk
        if hunk is not None:
            self._acts.quote(quote_of(diff.file, hunk, self._directory, undo=undo))
        elif diff.hunks:
            self.say(keys_of(self).said("{Changes_enter} goes to its hunks: quote one of them."))
            return
        else:
            words = state_words(diff.file, self._directory)
            self._acts.quote(quote_of_file(diff.file, words, self._directory, undo=undo))
        self._quoted += 1
        what = place_words(hunk) if hunk is not None else "the file"
        path = shown_path(diff.file.path, self._directory)
        self.say(f"Quoted {what} of {path} ({self._quoted} in your prompt).")

    def action_copy_hunk(self) -> None:
        """Copy the hunk as a patch."""
        diff, hunk = self._panes.compared, self._panes.hunk
        if diff is None or hunk is None:
            self.say(keys_of(self).said("{Changes_enter} goes to its hunks: copy one of them."))
            return
        self.app.copy_to_clipboard(hunk_patch(diff, hunk, str(work_tree(Path(self._directory)))))
        self.say("Copied the hunk as a patch.")

    def action_copy_patch(self) -> None:
        """Copy everything that is listed as a patch."""
        self.run_worker(self._copy_patch(), group="patch", exclusive=True)

    async def _copy_patch(self) -> None:
        files = self._listed()
        try:
            patch = await self._review.patch(files)
        except SnapshotFailed as error:
            self.say(f"Nothing copied: {error}.")
            return
        rest = left_out_words(patch.left_out, self._directory)
        if not patch.content:
            self.say(f"Nothing to copy. {rest}".rstrip())
            return
        self.app.copy_to_clipboard(patch.content.decode("utf-8", "surrogateescape"))
        named = {path for path, _ in patch.left_out}
        count = sum(file.path not in named for file in files)
        self.say(f"Copied a patch of {counted(count, 'file')}. {rest}".rstrip())

    def action_edit(self) -> None:
        """Open the file in the person's editor, at the hunk."""
        if (diff := self._panes.compared) is not None:
            hunk = self._panes.hunk
            line = hunk.first_line if hunk is not None else 1
            self.run_worker(self._edit(diff.file.path, line), group="edit", exclusive=True)

    async def _edit(self, path: str, line: int) -> None:
        try:
            await self._acts.edit(path, line)
        except EditRefused as refused:
            self.say(str(refused))
        else:
            await self.attempt(self._read())

    def action_restore(self) -> None:
        """Restore the file as it was before these changes, after asking."""
        if (path := self._panes.path) is not None and self._asked.since is not Since.PLANNED:
            self.run_worker(self.attempt(self._restore(path)), group="edit", exclusive=True)

    async def _restore(self, path: str) -> None:
        words = await self._acts.restore(path, self._scope)
        raise_if_cancelled()  # it was restored to its end, and the review may be closed by now
        if words:
            await self._read()
            self.say(words)

    def action_blame(self) -> None:
        """Show which prompts wrote the file, at the hunk."""
        if (diff := self._panes.compared) is not None:
            hunk = self._panes.hunk
            line = hunk.first_line if hunk is not None else 1
            self.run_worker(self._blame(diff.file.path, line), group="blame", exclusive=True)

    async def _blame(self, path: str, line: int) -> None:
        try:
            await self._acts.blame(path, line)
        except EditRefused as refused:
            self.say(str(refused))

    # Filter and find

    def action_filter(self) -> None:
        """Type into the filter of files."""
        self.action_files()
        self.set_focus(self._filter)

    def action_find(self) -> None:
        """Type what is to be found in all changes."""
        self._find.display, self._filter.display = True, False
        self.set_focus(self._find)

    def _close_find(self) -> None:
        self.set_focus(None)
        self._find.display, self._filter.display = False, True
        self._panes.hunks.find("")
        self._hit = None
        self.say("")

    def on_descendant_focus(self) -> None:
        """Show the keys of the field."""
        self._show_keys()

    def on_descendant_blur(self) -> None:
        """Show the keys of the place."""
        with contextlib.suppress(NoMatches):  # the screen is being closed
            self._show_keys()

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Filter the files, or go to the first place where the text is found."""
        event.stop()
        if event.input.id == "find":
            self._panes.hunks.find(event.value)
            self._hit = None
            self._go_to_hit(0)
            return
        self._draw_files()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Go to the next place, or give the keys back to the files."""
        event.stop()
        if event.input.id == "find":
            self._go_to_hit(1)
        else:
            self.set_focus(None)

    def _go_to_hit(self, step: int) -> None:
        """Go to a place where the text is found: the next one, the previous one, or the first from here on."""
        listed = self._listed()
        hits = self._hits(listed)
        if not hits:
            self._hit = None
            self._say_hits(hits, listed)
            return
        if self._hit in hits:
            at = (hits.index(self._hit) + step) % len(hits)
        else:
            places = {file.path: number for number, file in enumerate(listed)}
            panes = self._panes
            here = (places.get(panes.path or "", 0), panes.hunks.current or 0)
            at = next((n for n, hit in enumerate(hits) if (places[hit.path], hit.hunk) >= here), 0)
        self._hit = hits[at]
        self._panes.go_to(self._hit)
        self._say_hits(hits, listed)

    def _renew_hits(self) -> None:
        """All files are compared: count the places where the text is found anew, and go to one if none was found."""
        if not (self._find.display and self._find.value):
            return
        listed = self._listed()
        hits = self._hits(listed)
        if self._hit in hits:
            self._say_hits(hits, listed)
        else:
            self._go_to_hit(0)

    def _hits(self, files: Sequence[UnreadFile]) -> list[Hit]:
        return self._review.hits(self._find.value, files) if self._find.value else []

    def _say_hits(self, hits: Sequence[Hit], files: Sequence[UnreadFile]) -> None:
        """Say which of the places it is, and whether that is all of them."""
        so_far = "" if self._review.has_compared(files) else " so far"
        if not self._find.value:
            self.say("")
        elif self._hit is None:
            self.say(f"Not found{so_far}.")
        else:
            at, path = hits.index(self._hit), shown_path(self._hit.path, self._directory)
            self.say(f"{at + 1:,} of {len(hits):,} lines{so_far}, {path}")


class EditRefused(Exception):
    """A file that cannot be opened in an editor; ``str()`` says why."""
