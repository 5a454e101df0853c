"""Recorder of a session's events as rows below one point of the tree: committed, then published.

Everything is committed before it is told, except the text of a growing message: told at once, committed within
250 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    MessageAdded,
    MessageChanged,
    MessageGrew,
)
from catena_acp.continuity.services import Services, Tenure
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.reducer import Append, Attach, Change, Insert, Op, Reducer
from catena_acp.growing_text import GrowingText
from catena_acp.port.session_events import ElicitationRequested, Event, PermissionRequested
from catena_acp.tasks import shielded
from catena_store import places
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Writer
from catena_store.errors import Fenced, StoreError
from catena_store.records import Kind, NewMessage
from catena_store.windows import attachments, windows

COMMIT_SECONDS = 0.25
AGAIN_SECONDS = 1.0  # after a transaction that failed


class Recorder:
    """Recorder of one session's events as rows.

    ``failed`` is set where the store does not take them; they are kept, and tried again with what comes next.
    """

    def __init__(
        self,
        services: Services,
        tenure: Tenure,
        live: LiveSession,
        window_id: str,
        reducer: Reducer,
        publish: Callable[[ConversationEvent], None],
        *,
        prompt_id: str | None = None,
        floor_follows: bool = False,
    ) -> None:
        self._services = services
        self._tenure = tenure
        self._live = live
        self._window_id = window_id
        self._reducer = reducer
        self._publish = publish
        self._prompt_id = prompt_id  # of the turn
        self._floor_follows = floor_follows  # the session surely holds what it tells now
        self._pending: list[Op] = []
        self._unborn: set[str] = set()  # rows whose birth is pending
        self._due: float | None = None  # when what is pending must be in the store
        self._in_sight = True  # the window stands on the branch that these rows are on
        self.failed: StoreError | None = None

    @property
    def due(self) -> float | None:
        """The monotonic time by which ``write`` must be called; None while nothing waits."""
        return self._due

    @property
    def unsaved_text(self) -> str:
        """The agent's text that no transaction has taken yet."""
        born, _, grown = _folded(self._pending)
        said = [*map(str, grown.values()), *(row.text for row in born if row.kind is Kind.AGENT)]
        return "\n\n".join(filter(None, said))

    async def take(self, events: Sequence[Event]) -> None:
        """Reduce events; commit at once where a row is born or closes, and what has waited long enough."""
        at_once = False
        for event in events:
            at_once = at_once or isinstance(event, PermissionRequested | ElicitationRequested)
            for op in self._reducer.reduce(event):
                at_once = self._note(op) or at_once
        if self._pending and self._due is None:
            self._due = self._services.monotonic() + COMMIT_SECONDS
        if at_once or (self._due is not None and self._services.monotonic() >= self._due):
            await self.write([])

    async def write(self, ops: Sequence[Op]) -> None:
        """Commit what is pending and these operations, then publish them. Raises Fenced; other failures are kept."""
        for op in ops:
            self._note(op)
        if not self._pending:
            return
        try:
            # Broken off after its commit, the same would be written twice.
            await shielded(self._commit())
        except Fenced:
            raise
        except StoreError as error:
            self.failed = error
            self._due = self._services.monotonic() + AGAIN_SECONDS

    async def _commit(self) -> None:
        async with self._tenure.write() as tx:
            events = await self.apply(tx, [])
        self.committed(events)

    async def apply(self, tx: Writer, ops: Sequence[Op]) -> list[ConversationEvent]:
        """Write within the caller's transaction; ``committed`` publishes the events after it."""
        inserts, changes, texts = _folded([*self._pending, *ops])
        for message_id, text in texts.items():
            await messages.append(tx, message_id, str(text))
        events: list[ConversationEvent] = []
        for change in changes:
            changed = await messages.update(tx, change.message_id, data=change.data, state=change.state)
            events.append(MessageChanged(self._window_id, changed))
        if inserts:
            added = await messages.insert_many(tx, inserts)
            events += [MessageAdded(self._window_id, message) for message in added]
            self._in_sight = await self._follow(tx, inserts)
        for op in (*self._pending, *ops):
            if isinstance(op, Attach):
                await attachments.add_image(tx, op.message_id, op.image)
        return events

    def committed(self, events: Sequence[ConversationEvent]) -> None:
        """Publish the events of a committed transaction."""
        self._pending.clear()
        self._unborn.clear()
        self._due = self.failed = None
        for event in events if self._in_sight else ():
            self._publish(event)

    def _note(self, op: Op) -> bool:
        """Keep an operation for the next transaction; True if that must not wait."""
        self._pending.append(op)
        match op:
            case Insert(row):
                self._unborn.add(row.id)
                return True
            case Append(message_id, text):
                if message_id not in self._unborn and self._in_sight:
                    self._publish(MessageGrew(self._window_id, message_id, text))
                return False
            case Change(state=state):
                return state is not None
            case Attach():
                return False

    async def _follow(self, tx: Writer, inserts: Sequence[NewMessage]) -> bool:
        """Move the session's pointers, the turn's last row, the place and the window's leaf with the rows.

        All in their transaction. True if the rows can be seen in the window: always within a turn, and after it where
        the leaf stood there.
        """
        first, last = inserts[0], inserts[-1]
        link = await links.move(
            tx,
            self._live.link_id,
            knows=last.id if self._floor_follows else links.UNSET,
            reach=last.id,
            # With the row that tells of it: we may not live to see the end.
            unabridged_from=(self._prompt_id or last.id) if self._reducer.may_be_compacted else links.UNSET,
        )
        self._live.version = link.version
        if last.turn_id:
            await turns.set_last(tx, last.turn_id, last.id)
        if await self._belongs(tx, first):
            await places.grow(tx, first.conversation_id, first.parent_id, last.id)
            window = await windows.get(tx, self._window_id)
            stood = (window.conversation_id, window.leaf_id) if window else None
            if stood == (first.conversation_id, first.parent_id):
                await windows.advance(tx, self._window_id, last.id)
                return True
        return first.turn_id is not None

    async def _belongs(self, tx: Writer, row: NewMessage) -> bool:
        """False for what comes between turns below a prompt: another session may just be answering that.

        Not so below one that was said into a turn: only the session of that turn can.
        """
        above = await messages.get(tx, row.parent_id) if row.parent_id and row.turn_id is None else None
        return above is None or not above.is_prompt


def _folded(ops: Sequence[Op]) -> tuple[list[NewMessage], list[Change], dict[str, GrowingText]]:
    """Births, changes and further text, with whatever befalls a row born among them folded into its birth."""
    births: dict[str, NewMessage] = {}
    changes: dict[str, Change] = {}
    texts: dict[str, GrowingText] = {}
    for op in ops:
        match op:
            case Insert(row):
                births[row.id] = row
                texts[row.id] = GrowingText(row.text)
            case Append(message_id, text):
                if message_id not in texts:
                    texts[message_id] = GrowingText()
                texts[message_id].add(text)
            case Change(message_id, data, state) if message_id in births:
                row = births[message_id]
                births[message_id] = replace(
                    row, data=row.data if data is None else data, state=state or row.state
                )
            case Change(message_id, data, state):
                before = changes.get(message_id, op)
                changes[message_id] = Change(
                    message_id, before.data if data is None else data, state or before.state
                )
            case Attach():  # written behind the rows
                pass
    rows = [replace(row, text=str(texts.pop(row.id))) for row in births.values()]
    return rows, list(changes.values()), texts
