"""The lines of a file with the prompts that wrote them, each to be opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.blame.view import BlameView
from catena.screens.changes.quoting import fenced
from catena.screens.common.dialog import STYLES, Dialog
from catena.text.blame_text import full_words
from catena.text.safe_text import safe, safe_line
from catena.widgets.foot import SheetKey
from catena.widgets.sheet_head import SheetWords, Subject
from catena_acp.blame.authorship import BlamedFile, Proof
from catena_acp.continuity.wording.counts import counted

_MOST_QUOTED = 200  # lines
_KEYS = (
    SheetKey("{blame_open}", "open", "open"),
    SheetKey("{next_turn previous_turn}", "next, previous turn"),
    SheetKey("{blame_quote}", "quote", "quote"),
    SheetKey("{blame_read}", "read again", "read"),
    SheetKey("{leave}", "close", "leave"),
)
_MORE_KEYS = (
    ("{line_down line_up}", "next, previous line"),
    ("{blame_top} {blame_end}", "first, last line"),
)


@dataclass(frozen=True, slots=True)
class BlamePlace:
    """A prompt to be opened."""

    conversation_id: str
    prompt_id: str


class BlameScreen(Dialog[BlamePlace | None]):
    """A file, and who wrote it; the result is the prompt that the person opens."""

    CSS_PATH = [STYLES, "blame.tcss"]  # noqa: RUF012 - as Textual declares them
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(leave="leave", cancel="leave"),
        *bindings(
            row_down="move(1)",
            row_up="move(-1)",
            blame_down="move(1)",
            blame_up="move(-1)",
            page_down="page(1)",
            page_up="page(-1)",
            next_turn="turn(1)",
            previous_turn="turn(-1)",
            blame_top="to_end(-1)",
            blame_end="to_end(1)",
            blame_open="open",
            blame_quote="quote",
            blame_read="read",
        ),
    ]

    def __init__(
        self,
        path: Path,
        line: int,
        *,
        shown: str,
        read: Callable[[Path], Awaitable[BlamedFile]],
        quote: Callable[[str], None],
        clock: Callable[[], datetime],
        subject: Subject,
    ) -> None:
        """``line`` has the cursor, from 1; ``shown`` is the path as a person knows it."""
        super().__init__(SheetWords(f"Blame {safe_line(shown)}", subject=subject))
        self._path = path
        self._line = line
        self._shown = shown
        self._read_file = read
        self._quote = quote
        self._clock = clock
        self._file: BlamedFile | None = None

    def compose(self) -> ComposeResult:
        """Head, lines, who wrote the current ones, message, keys."""
        yield from self.compose_head()
        yield BlameView(self._clock, id="lines")
        yield Static("", id="author", markup=False)
        yield from self.compose_foot(*_KEYS)

    def on_mount(self) -> None:
        """Read the file; Esc ends that."""
        self.action_read()

    @property
    def _view(self) -> BlameView:
        return self.query_one(BlameView)

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from super().help_keys
        yield from keys_of(self).hints(_MORE_KEYS)

    def action_read(self) -> None:
        """Read the file, and look through its snapshots again."""
        self.say("")
        if self._file is None:
            self._view.say("Looking through the snapshots …")
        self.run_worker(self.attempt(self._read()), group="read", exclusive=True)

    async def _read(self) -> None:
        line = self._line - 1 if self._file is None else self._view.cursor
        try:
            self._file = file = await self._read_file(self._path)
        except Exception:  # whatever it was is said; not when cancelled: the next reading has begun
            self._view.say("")
            raise
        turns = {block.author.turn_id for block in file.blocks if block.author.turn_id is not None}
        lines = len(file.lines)
        self.show_head(count=f"{counted(lines, 'line')} · {counted(len(turns), 'turn')}")
        self._view.show(file, line)
        if not file.blocks:
            self._show_author()

    # Moving

    def on_blame_view_moved(self, event: BlameView.Moved) -> None:
        """Show who wrote the line."""
        event.stop()
        self.say("")
        self._show_author()

    def on_blame_view_opened(self, event: BlameView.Opened) -> None:
        """Open the turn of the line."""
        event.stop()
        self.action_open()

    def _show_author(self) -> None:
        block, file = self._view.current, self._file
        words = (
            full_words(file, block.author, self._clock()) if block is not None and file is not None else ""
        )
        self.query_one("#author", Static).update(Content.styled(words, "$muted"))

    def action_move(self, step: int) -> None:
        """Go to the next or previous line."""
        self._view.go_to(self._view.cursor + step)

    def action_page(self, step: int) -> None:
        """Go on by a screenful."""
        self.action_move(step * max(1, self._view.size.height - 1))

    def action_to_end(self, step: int) -> None:
        """Go to the first or last line."""
        if self._file is not None:
            self._view.go_to(0 if step < 0 else len(self._file.lines) - 1)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous block of a turn."""
        if self._file is not None and not self._view.go_to_turn(step):
            self.say("No turn below wrote a line." if step > 0 else "No turn above wrote a line.")

    # What is done with it

    def action_open(self) -> None:
        """Open the conversation at the prompt that wrote the line."""
        block, file = self._view.current, self._file
        if block is None or file is None:
            return
        turn = file.blamed_turns.get(block.author.turn_id or "")
        if turn is None:
            outside = block.author.proof is Proof.BETWEEN
            self.say("No turn wrote these lines." if outside else "It is not known who wrote these lines.")
        elif turn.prompt.deleted:
            self.say("The conversation was deleted.")
        else:
            self.dismiss(BlamePlace(turn.prompt.conversation_id, turn.prompt.prompt_id))

    def action_quote(self) -> None:
        """Quote the block into the prompt."""
        block, file = self._view.current, self._file
        if block is None or file is None:
            return
        lines = [safe(line).replace("\n", " ") for line in file.lines[block.first : block.end]]
        place = f"line {block.end:,}" if block.count == 1 else f"lines {block.first + 1:,}–{block.end:,}"
        shown = lines[:_MOST_QUOTED]
        if len(lines) > len(shown):
            shown.append(f"… {counted(len(lines) - len(shown), 'more line')}")
        self._quote(fenced(f"{safe_line(self._shown)}, {place}:", "\n".join(shown)))
        self.say(f"Quoted {place} into your prompt.")
