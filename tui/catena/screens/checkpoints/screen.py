"""The checkpoints of a conversation: go back to one, fork there, name or remove it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static
from textual.worker import WorkType

from catena.keys.bindings import keys_of
from catena.screens.common.dialog import STYLES, ListScreen, list_bindings
from catena.text.chain_text import (
    FREQUENCY_SENTENCES,
    checkpoint_facts,
    checkpoint_name,
    checkpoint_place,
    format_clock,
    price_text,
)
from catena.text.safe_text import safe_line
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.row_list import Row, RowList, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena.widgets.typing_box import EdgeWord, TypingBox
from catena.workspace.files_along import FilesAlong
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.inspection.price import Price
from catena_acp.conversation.prompts.window import Window
from catena_acp.snapshots.restoring import FileChoice, RestorePlan
from catena_store.conversations.checkpoints import Checkpoint

_FILES_KEYS = (
    SheetKey("{checkpoint_files}", "files too", "files_too"),
    SheetKey("{checkpoint_show_files}", "show them", "show_files"),
)
_PAUSE = 0.1  # seconds on a checkpoint after which its files are looked at
_NARROW = 70  # cells; below, the agent is left out of the rows


class CheckpointAct(Enum):
    """An act on a checkpoint that the chat carries out."""

    REWIND = "rewind"
    FORK = "fork"
    FORK_BESIDE = "fork in a new tab"


@dataclass(frozen=True, slots=True)
class CheckpointChoice:
    """A checkpoint and the act on it."""

    act: CheckpointAct
    checkpoint: Checkpoint
    files: FileChoice | None = None  # they go back, too


class CheckpointsScreen(ListScreen[CheckpointChoice | None]):
    """The checkpoints, which it names and removes itself; its result is the checkpoint to go back to or to fork at."""

    CSS_PATH = [STYLES, "checkpoints.tcss"]  # noqa: RUF012 - as Textual declares them
    HEADING = "Checkpoints"
    EMPTY = "no checkpoints yet: /checkpoint saves one here"
    KEYS = (
        SheetKey("{checkpoint_rewind}", "go back", "choose('REWIND')"),
        SheetKey("{checkpoint_fork}", "fork", "choose('FORK')"),
        SheetKey("{checkpoint_fork_beside}", "in a new tab", "choose('FORK_BESIDE')"),
        SheetKey("{checkpoint_name}", "name", "name"),
        SheetKey("{checkpoint_remove}", "remove", "remove"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(
        KEYS, checkpoint_files="files_too", checkpoint_show_files="show_files"
    )

    def __init__(
        self,
        conversation: Conversation,
        window: Window,
        *,
        along: Callable[[], FilesAlong] = FilesAlong,
        show_files: Callable[[RestorePlan], None] = lambda plan: None,
        subject: Subject | None = None,
    ) -> None:
        """``along`` makes the files of a way back; ``show_files`` shows what would become of them."""
        super().__init__(subject)
        self._make_along = along
        self._along = along()  # to the checkpoint under the cursor
        self._show_plan = show_files
        self._conversation = conversation
        self._of_window = window
        self._checkpoints: list[Listed] = []
        self._prices: dict[str | None, Price] = {}  # by the message that is gone on from
        self._removal: str | None = None  # the checkpoint whose removal is to be confirmed
        self._cursor_key: str | None = None
        self._message = False  # the line shows a message, not the price

    def compose_field(self) -> ComposeResult:
        """The field for a label, which is seen only while one is typed."""
        yield Static("", id="frequency", markup=False)
        field = SafeInput(placeholder="label (empty removes it)", compact=True, id="label")
        field.cursor_blink = False
        box = TypingBox(field, id="naming")
        box.upper.show([EdgeWord(Content.styled("Name this checkpoint", "$muted"))])
        yield box

    async def on_mount(self) -> None:
        """Read the checkpoints, then their prices."""
        await self.attempt(self._read())
        self.run_worker(self.attempt(self._read_prices()))

    @property
    def _field(self) -> SafeInput:
        return self.query_one("#label", SafeInput)

    @property
    def _chosen(self) -> Checkpoint | None:
        """The checkpoint under the cursor."""
        key = self.chosen_key
        return next((each.checkpoint for each in self._checkpoints if each.checkpoint.id == key), None)

    async def _read(self) -> None:
        self._checkpoints = list(await self._conversation.checkpoints.listed())
        frequency = await self._conversation.checkpoints.frequency()
        count = len(self._checkpoints)
        self.show_head(f"Checkpoints ({count:,}), newest first")
        self.query_one("#frequency", Static).update(FREQUENCY_SENTENCES[frequency])
        self._show()

    def _show(self) -> None:
        self.row_list.show([self._row(each) for each in self._checkpoints], keep=self.chosen_key)

    def _row(self, each: Listed) -> Row:
        checkpoint = each.checkpoint
        price = self._prices.get(checkpoint.message_id)
        return Row(
            checkpoint.id,
            safe_line(checkpoint.label or ("automatic" if checkpoint.automatic else "by hand")),
            note=safe_line(
                " · ".join(filter(None, (checkpoint_place(each), str(checkpoint.data.get("note") or ""))))
            ),
            columns=(Word(safe_line(each.agent_title)),) if self.size.width >= _NARROW else (),
            detail=price_text(price) if price else "",
            time=format_clock(checkpoint.created_at),
            dim=checkpoint.automatic and not checkpoint.label,
        )

    async def _read_prices(self) -> None:
        """Add the price of going on from each checkpoint, one after the other: each may take a moment."""
        if self._conversation.read_only:
            return
        for each in list(self._checkpoints):
            at = each.checkpoint.message_id
            if at not in self._prices:
                self._prices[at] = await self._conversation.chain.price(self._of_window, leaf_id=at)
                self._show()
                if self._chosen is each.checkpoint and not self._message:
                    self._say_price()

    def say(self, text: str) -> None:
        """Show a message; the price of a checkpoint does not replace it until the cursor moves."""
        self._message = True
        super().say(text)

    def _say_price(self) -> None:
        checkpoint = self._chosen
        price = self._prices.get(checkpoint.message_id) if checkpoint else None
        facts = checkpoint_facts(checkpoint) if checkpoint else []
        key = keys_of(self).said("{checkpoint_rewind}")
        act = f"{key} goes back to it: {price.words}." if price else ""
        self.say(" · ".join(filter(None, (*facts, act, self._along.words))))
        self._message = False

    async def _look_at_files(self, at: str | None) -> None:
        """Say what going back to the checkpoint under the cursor does to files, once it is known."""
        await asyncio.sleep(_PAUSE)
        along = self._along
        await along.look(self._conversation.files, self._of_window.id, at)
        if along is self._along and along.words:
            self._show_keys()
            if not self._message:
                self._say_price()

    def _show_keys(self) -> None:
        offered = self._along.offered
        self.show_keys(
            *(self.KEYS[:1] if offered else ()), *(_FILES_KEYS if offered else ()), *self.KEYS[offered:]
        )

    def action_files_too(self) -> None:
        """Choose that files go back, too, or that they stay."""
        if self._along.offered:
            self._along.choose_next()
            self._say_price()
        else:
            self.say(self._along.refusal)

    def action_show_files(self) -> None:
        """Show what would happen to files."""
        if self._along.plan is not None and self._along.offered:
            self._show_plan(self._along.plan)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Show the price of the checkpoint under the cursor, and forget a removal that was not confirmed."""
        event.stop()
        if event.key != self._cursor_key:
            self._cursor_key, self._removal = event.key, None
            self._along = self._make_along()
            self._show_keys()
            self._say_price()
            if (checkpoint := self._chosen) is not None:
                looking: WorkType[None] = partial(self._look_at_files, checkpoint.message_id)
                self.run_worker(looking, group="files", exclusive=True)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Ignore a click, which only moves the cursor: going back takes a key."""
        event.stop()

    def action_leave(self) -> None:
        """Close the field; without one, close the screen."""
        if self.has_class("-naming"):
            self._end_naming()
        else:
            self.dismiss(None)

    def action_choose(self, act: str) -> None:
        """Close the screen with an act on the checkpoint."""
        if (checkpoint := self._chosen) is not None:
            back = CheckpointAct[act] is CheckpointAct.REWIND
            self.dismiss(
                CheckpointChoice(CheckpointAct[act], checkpoint, self._along.choice if back else None)
            )

    def action_name(self) -> None:
        """Open the field with the label of the checkpoint."""
        if (checkpoint := self._chosen) is not None:
            self.add_class("-naming")
            self._field.value = checkpoint.label or ""
            self.set_focus(self._field)

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Label the checkpoint."""
        event.stop()
        checkpoint = self._chosen
        label = event.value
        self._end_naming()
        if checkpoint is not None:
            self.run_worker(self.attempt(self._relabel(checkpoint, label)))

    def _end_naming(self) -> None:
        self.remove_class("-naming")
        self.set_focus(None)

    async def _relabel(self, checkpoint: Checkpoint, label: str) -> None:
        kept = await self.finish(self._conversation.checkpoints.name(label, checkpoint.id))
        await self._read()
        self.say(f"Renamed to {checkpoint_name(kept)}." if kept.label else "Label removed.")

    def action_remove(self) -> None:
        """Remove the checkpoint when d is pressed a second time."""
        checkpoint = self._chosen
        if checkpoint is None:
            return
        if self._removal != checkpoint.id:
            self._removal = checkpoint.id
            again = keys_of(self).said("Press {checkpoint_remove} again")
            self.say(f"{again} to remove {checkpoint_name(checkpoint)}. Messages are kept.")
        else:
            self._removal = None
            self.run_worker(self.attempt(self._remove(checkpoint)))

    async def _remove(self, checkpoint: Checkpoint) -> None:
        await self.finish(self._conversation.checkpoints.remove(checkpoint.id))
        await self._read()
        self._cursor_key = self.chosen_key  # the message stays although the cursor has moved
        self.say(f"Removed {checkpoint_name(checkpoint)}. Messages are kept.")
