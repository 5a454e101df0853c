"""The checkpoints of a conversation: go back to one, fork there, name it, remove it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.text.safe_text import safe_line
from catena.text.wording import (
    FREQUENCY_SENTENCES,
    checkpoint_name,
    checkpoint_place,
    context_text,
    format_clock,
)
from catena.widgets.row_list import Row, RowList, key_hints
from catena.widgets.text_fields import SafeInput
from catena_acp.conversation.checkpoints.checkpoints import Listed
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.inspection.price import Price
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, ReadOnly
from catena_store.conversations.checkpoints import Checkpoint
from catena_store.errors import StoreError

_NARROW = 70  # cells; below, the agent is left out of the rows


class CheckpointAct(Enum):
    """What is to be done with the chosen checkpoint."""

    REWIND = "rewind"
    FORK = "fork"
    FORK_BESIDE = "fork beside"


@dataclass(frozen=True, slots=True)
class CheckpointChoice:
    """What the person wants with which checkpoint."""

    wanted: CheckpointAct
    checkpoint: Checkpoint


class CheckpointsScreen(ModalScreen[CheckpointChoice | None]):
    """Names and removes by itself; gives what else is wanted, or None."""

    CSS_PATH = "checkpoints.tcss"
    AUTO_FOCUS = ""  # the field has the keys only while a label is written
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "back", priority=True),
        Binding("q", "leave", "back", show=False),
        Binding("k,up", "move(-1)", show=False),
        Binding("j,down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("enter", "choose('REWIND')", "go back to it", id="checkpoints.rewind"),
        Binding("f", "choose('FORK')", "fork there", id="checkpoints.fork"),
        Binding(
            "F,shift+f", "choose('FORK_BESIDE')", "fork there, side by side", id="checkpoints.fork_beside"
        ),
        Binding("r", "name", "name it", id="checkpoints.name"),
        Binding("d", "remove", "remove it", id="checkpoints.remove"),
    ]

    def __init__(self, conversation: Conversation, window: Window) -> None:
        super().__init__()
        self._conversation = conversation
        self._of_window = window
        self._listed: list[Listed] = []
        self._prices: dict[str | None, Price] = {}  # by the message that is gone on from
        self._doomed: str | None = None  # the one whose removal was asked for once
        self._under_cursor: str | None = None
        self._told = False  # something else than the price stands there to be read

    def compose(self) -> ComposeResult:
        """Title, checkpoints, what was said last, a field for a label, keys."""
        field = SafeInput(placeholder="its label; nothing takes the label away", compact=True, id="label")
        field.cursor_blink = False
        yield Static("checkpoints", id="title", markup=False)
        yield RowList(empty="no checkpoint yet: /checkpoint makes one of where you stand", id="rows")
        yield Static("", id="said", markup=False)
        yield field
        yield Static(
            key_hints(
                ("enter go back", "choose('REWIND')"),
                ("f fork", "choose('FORK')"),
                ("F side by side", "choose('FORK_BESIDE')"),
                ("r name", "name"),
                ("d remove", "remove"),
                ("esc back", "leave"),
            ),
            id="hint",
        )

    async def on_mount(self) -> None:
        """Read them; the newest is under the cursor."""
        await self._guarded(self._read())
        self._run(self._read_prices())

    @property
    def _list(self) -> RowList:
        return self.query_one(RowList)

    @property
    def _field(self) -> SafeInput:
        return self.query_one("#label", SafeInput)

    @property
    def _chosen(self) -> Checkpoint | None:
        """The checkpoint under the cursor."""
        row = self._list.chosen
        return next((each.checkpoint for each in self._listed if row and each.checkpoint.id == row.key), None)

    async def _read(self) -> None:
        self._listed = list(await self._conversation.checkpoints.listed())
        frequency = await self._conversation.checkpoints.frequency()
        count = len(self._listed)
        words = f"{count:,} checkpoint{'' if count == 1 else 's'}, newest first · {FREQUENCY_SENTENCES[frequency]}"
        self.query_one("#title", Static).update(Content(words))
        self._show()

    def _show(self) -> None:
        chosen = self._list.chosen
        self._list.show([self._row(each) for each in self._listed], keep=chosen.key if chosen else None)

    def _row(self, each: Listed) -> Row:
        checkpoint = each.checkpoint
        price = self._prices.get(checkpoint.message_id)
        wide = self.size.width >= _NARROW
        facts = [each.agent_title if wide else "", context_text(price) if price else ""]
        facts.append(format_clock(checkpoint.created_at))
        return Row(
            checkpoint.id,
            safe_line(checkpoint.label or ("·" if checkpoint.automatic else "by hand")),
            note=safe_line(
                " · ".join(filter(None, (checkpoint_place(each), str(checkpoint.data.get("note") or ""))))
            ),
            detail=safe_line("  ".join(filter(None, facts))),
        )

    async def _read_prices(self) -> None:
        """What a prompt would need from each of them on: it takes a moment, and the list is there meanwhile."""
        if self._conversation.read_only:
            return
        for each in list(self._listed):
            at = each.checkpoint.message_id
            if at not in self._prices:
                self._prices[at] = await self._conversation.chain.price(self._of_window, leaf_id=at)
                self._show()
                if self._chosen is each.checkpoint and not self._told:
                    self._say_price()

    def _say(self, text: str) -> None:
        self._told = True
        self.query_one("#said", Static).update(Content(safe_line(text)))

    def _say_price(self) -> None:
        """What Enter would need, before it is pressed."""
        checkpoint = self._chosen
        price = self._prices.get(checkpoint.message_id) if checkpoint else None
        self._say(f"enter goes back to it: {price.words}. Files stay as they are." if price else "")
        self._told = False

    # What keys and clicks do.

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Another one: what going back to it would need; its removal was not asked for."""
        event.stop()
        if event.key != self._under_cursor:
            self._under_cursor, self._doomed = event.key, None
            self._say_price()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click only points: going back is more than that."""
        event.stop()

    def action_move(self, step: int) -> None:
        """Up or down."""
        self._list.move(step)

    def action_page(self, step: int) -> None:
        """Up or down by a screenful."""
        self._list.move(step * max(2, self._list.size.height - 1))

    def action_leave(self) -> None:
        """Back: first from a label that is being written."""
        if self.has_class("-naming"):
            self._end_naming()
        else:
            self.dismiss(None)

    def action_choose(self, wanted: str) -> None:
        """Go back to it, or fork there."""
        if (checkpoint := self._chosen) is not None:
            self.dismiss(CheckpointChoice(CheckpointAct[wanted], checkpoint))

    def action_name(self) -> None:
        """Write its label."""
        if (checkpoint := self._chosen) is not None:
            self.add_class("-naming")
            self._field.value = checkpoint.label or ""
            self._field.focus()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Give it the label."""
        event.stop()
        checkpoint = self._chosen
        label = event.value
        self._end_naming()
        if checkpoint is not None:
            self._run(self._relabel(checkpoint, label))

    def _end_naming(self) -> None:
        self.remove_class("-naming")
        self.set_focus(None)

    async def _relabel(self, checkpoint: Checkpoint, label: str) -> None:
        kept = await self._conversation.checkpoints.name(label, checkpoint.id)
        await self._read()
        self._say(f"It is called {checkpoint_name(kept)} now." if kept.label else "Its label is gone.")

    def action_remove(self) -> None:
        """Remove it, after d was pressed twice."""
        checkpoint = self._chosen
        if checkpoint is None:
            return
        if self._doomed != checkpoint.id:
            self._doomed = checkpoint.id
            self._say(f"d once more removes {checkpoint_name(checkpoint)}; the messages stay.")
        else:
            self._doomed = None
            self._run(self._remove(checkpoint))

    async def _remove(self, checkpoint: Checkpoint) -> None:
        await self._conversation.checkpoints.remove(checkpoint.id)
        await self._read()
        self._under_cursor = chosen.id if (chosen := self._chosen) else None  # what is said now stays
        self._say(f"Removed {checkpoint_name(checkpoint)}; the messages are all there.")

    def _run(self, work: Awaitable[None]) -> None:
        self.run_worker(self._guarded(work))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (AgentError, StoreError, ReadOnly) as error:
            self._say(str(error))
