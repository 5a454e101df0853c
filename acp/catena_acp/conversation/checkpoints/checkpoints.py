"""The checkpoints of one live conversation: made by themselves or asked for, found, named, pruned.

A checkpoint never holds anything up: what cannot be kept by itself is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    HoldChanged,
    MessageAdded,
    MessageChanged,
    TurnStarted,
)
from catena_acp.continuity.parking import drop_parked
from catena_acp.continuity.sessions.opening import point_at, settled_point
from catena_acp.conversation.checkpoints.agent_rewinds import RewindRequests
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, NoCheckpoint, ReadOnly
from catena_acp.snapshots.restoring import FileChoice
from catena_acp.spoken.call import Call
from catena_acp.tasks import TaskSet
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.conversations.checkpoints import (
    MOST_CHARACTERS,
    Checkpoint,
    CheckpointStore,
    Frequency,
    SqliteCheckpoints,
    frequency_of,
    parked_link_at,
    set_frequency,
)
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import ConversationRecord, Kind, Link, LinkState, Message, Turn
from catena_store.windows import windows

MOST_LABEL = 60  # characters
_ENDED = ("completed", "failed")  # states of a tool call
_OFF = "Checkpoints are off in this conversation; turn them on with /checkpoint list manual."


class Checkpoints:
    """The checkpoints of one conversation. Makes the automatic ones on the conversation's events."""

    def __init__(self, conversation: LiveConversation, window_of: Callable[[str], Window]) -> None:
        self._conversation = conversation
        self._writing = asyncio.Lock()
        self._frequency: Frequency | None = None  # None until it was read
        self._dropping = TaskSet()
        self._seen: set[str] = set()  # tool calls that have ended and were looked at
        conversation.subscribe(self._handle)
        RewindRequests(conversation, window_of)

    @property
    def store(self) -> CheckpointStore:
        """Where they are kept, to be written by the holder of the conversation. Raises ReadOnly, StoreReadOnly."""
        return SqliteCheckpoints(self._conversation.services.db.read, self._conversation.writable().write)

    @property
    def _kept(self) -> CheckpointStore:
        """The same, to be read."""
        db = self._conversation.services.db
        return SqliteCheckpoints(db.read, db.write)

    # --- how often

    async def frequency(self) -> Frequency:
        """When they are made here."""
        if self._frequency is None:
            async with self._conversation.services.db.read() as reader:
                set_here = await frequency_of(reader, self._conversation.id)
            self._frequency = set_here or self._conversation.services.checkpointing.frequency
        return self._frequency

    async def set_frequency(self, frequency: Frequency) -> None:
        """Set it for this conversation. Raises ReadOnly, StoreError."""
        async with self._conversation.write() as tx:
            await set_frequency(tx, self._conversation.id, frequency)
        self._frequency = frequency

    # --- those that are asked for

    async def make(self, window: Window, label: str | None = None, *, note: str | None = None) -> Checkpoint:
        """Make one of where the window stands.

        Raises NoCheckpoint if they are off here, LabelTaken, ReadOnly, StoreError.
        """
        conversation = self._conversation
        store = self.store
        if await self.frequency() is Frequency.OFF:
            raise NoCheckpoint(_OFF)
        async with self._writing:
            async with conversation.services.db.read() as reader:
                stored = await windows.get(reader, window.id)
                at = await settled_point(reader, stored.leaf_id if stored else None)
                new = await drawn(
                    reader,
                    conversation.record,
                    at,
                    id=conversation.services.new_id(),
                    now=conversation.services.clock(),
                    label=label_of(label),
                    note=note,
                    model=window.session.model,
                )
            return await store.save(new)

    async def all(self) -> Sequence[Checkpoint]:
        """Every one, newest first; those that are being made are waited for."""
        async with self._writing:
            return await self._kept.list(self._conversation.id)

    async def listed(self) -> list[Listed]:
        """The same, each with what a person reads of it."""
        checkpoints = await self.all()
        async with self._conversation.services.db.read() as reader:
            return [await _listed(reader, self._conversation, each) for each in checkpoints]

    async def about(self, checkpoint: Checkpoint) -> Listed:
        """One of them, with what a person reads of it."""
        async with self._conversation.services.db.read() as reader:
            return await _listed(reader, self._conversation, checkpoint)

    async def find(self, key: str | None = None) -> Checkpoint:
        """The one of this label, id or beginning of an id; the newest for None. Raises NoCheckpoint."""
        return found(await self.all(), key)

    async def name(self, label: str | None, key: str | None = None) -> Checkpoint:
        """Give one another label, the newest for None, or take its label away.

        Raises NoCheckpoint, LabelTaken, ReadOnly, StoreError.
        """
        store = self.store
        named = replace(await self.find(key), label=label_of(label))
        async with self._writing:
            named = await store.save(named)
            await self._prune(store)  # without its label it is one of the automatic ones again
        return named

    async def remove(self, key: str) -> Checkpoint:
        """Remove one; what it points to stays. Raises NoCheckpoint, ReadOnly, StoreError."""
        store = self.store
        gone = await self.find(key)
        async with self._writing:
            await store.remove(gone.id)
            await self._drop_parked([gone], store)
        return gone

    async def rewind(
        self, window: Window, key: str | None = None, *, choice: FileChoice | None = None
    ) -> Checkpoint:
        """Let a window stand at a checkpoint again; a running turn is stopped first. Files go back by ``choice`` alone.

        Later messages can still be reached. Raises NoCheckpoint, AgentError, StoreError.
        """
        checkpoint = await self.find(key)
        await window.rewind(checkpoint.message_id, choice=choice)
        return checkpoint

    # --- those that are made by themselves

    def _handle(self, event: ConversationEvent) -> None:
        if isinstance(event, HoldChanged):
            self._frequency = None  # another client may have set it meanwhile
        if (
            self._conversation.tenure is None
            or self._conversation.closing
            or not self._makes(Frequency.TURN, Frequency.TOOL)
        ):
            return
        match event:
            case TurnStarted(turn=turn) if turn.stop_reason is None:
                self._conversation.spawn(self._quietly(lambda: self._at_start_of(turn)))
            case MessageAdded(message=message) | MessageChanged(message=message):
                ended = message.kind is Kind.TOOL and Call.of(message).status in _ENDED
                if ended and message.id not in self._seen and self._makes(Frequency.TOOL):
                    self._seen.add(message.id)
                    self._conversation.spawn(self._quietly(lambda: self._at_end_of(message)))
            case _:
                return

    def _makes(self, *when: Frequency) -> bool:
        """True if they are made then, and if that is not known yet."""
        return self._frequency is None or self._frequency in when

    async def _quietly(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with contextlib.suppress(AgentError, ReadOnly, StoreError):
            async with self._writing:
                await work()

    async def _at_start_of(self, turn: Turn) -> None:
        """Where the turn began: above its prompt."""
        if await self.frequency() not in (Frequency.TURN, Frequency.TOOL):
            return
        async with self._conversation.services.db.read() as reader:
            prompt = await messages.get(reader, turn.prompt_id)
            at = await point_at(reader, prompt.parent_id) if prompt else None
        await self._automatic(at, turn)

    async def _at_end_of(self, call: Message) -> None:
        if await self.frequency() is not Frequency.TOOL:
            return
        async with self._conversation.services.db.read() as reader:
            turn = await turns.get(reader, call.turn_id) if call.turn_id else None
        await self._automatic(call.id, turn)

    async def _automatic(self, at: str | None, turn: Turn | None) -> None:
        conversation, store = self._conversation, self.store
        newest = next(iter(await store.list(conversation.id)), None)
        if newest is not None and newest.message_id == at:
            return
        async with conversation.services.db.read() as reader:
            new = await drawn(
                reader,
                conversation.record,
                at,
                id=conversation.services.new_id(),
                now=conversation.services.clock(),
                automatic=True,
                turn=turn,
                model=conversation.session(turn.window_id or "").model if turn else None,
            )
        await store.save(new)
        await self._prune(store)

    async def _prune(self, store: CheckpointStore) -> None:
        conversation = self._conversation
        await self._drop_parked(
            await store.remove_oldest(conversation.id, conversation.services.checkpointing.keep), store
        )

    async def _drop_parked(self, gone: Sequence[Checkpoint], store: CheckpointStore) -> None:
        """The parked sessions where no other checkpoint stands go with them, upstream too."""
        wanted = {each.link_id for each in gone if each.link_id}
        if not wanted or self._conversation.closing:
            return
        stay = {each.message_id for each in await store.list(self._conversation.id)}
        async with self._conversation.services.db.read() as reader:
            found = [await links.get(reader, id) for id in sorted(wanted)]
        freed = [link for link in found if link and link.knows not in stay]
        # Nobody waits for an agent that takes its time; where it ends first, so does this.
        self._dropping.begin(self._drop_links(freed))

    async def _drop_links(self, freed: Sequence[Link]) -> None:
        with contextlib.suppress(AgentError, ReadOnly, StoreError):
            for link in freed:
                if link.state is LinkState.PARKED:
                    spec = self._conversation.spec_of(link.agent, link.profile)
                    await drop_parked(self._conversation.send_context(spec=spec), [link])


async def drawn(
    r: Reader,
    record: ConversationRecord,
    at: str | None,
    *,
    id: str,
    now: datetime,
    label: str | None = None,
    automatic: bool = False,
    turn: Turn | None = None,
    model: str | None = None,
    note: str | None = None,
    by: str | None = None,
) -> Checkpoint:
    """A checkpoint of this row as it is to be kept, with what is known of the moment.

    ``turn`` is the one under way, else it is the row's; ``by`` says who wanted it, where that was not the person.
    """
    row = await messages.get(r, at) if at else None
    if turn is None and row and row.turn_id:
        turn = await turns.get(r, row.turn_id)
    spoken, _ = await messages.count_between(r, None, at)
    return Checkpoint(
        id=id,
        conversation_id=record.id,
        message_id=at,
        link_id=await parked_link_at(r, record.id, at),
        label=label,
        automatic=automatic,
        data={
            "turn": turn.id if turn else None,
            "agent": record.agent,
            "profile": record.profile,
            "model": model or (turn.model if turn else None),
            "messages": spoken,
            "note": note[:MOST_CHARACTERS] if note else None,
            "by": by,
        },
        created_at=now,
    )


def found(newest_first: Sequence[Checkpoint], key: str | None) -> Checkpoint:
    """The one that a person means by a label, an id or the beginning of one; the newest for None.

    Raises NoCheckpoint.
    """
    if not newest_first:
        raise NoCheckpoint("No checkpoints yet; /checkpoint saves one here.")
    if key is None:
        return newest_first[0]
    named = [each for each in newest_first if each.label == key] or [
        each for each in newest_first if each.id == key
    ]
    begun = named or [each for each in newest_first if key and each.id.startswith(key)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise NoCheckpoint(f"{len(begun)} checkpoints start with “{key}”; type more of the id.")
    raise NoCheckpoint(f"No checkpoint “{key}”; /checkpoint list lists them.")


def label_of(text: str | None) -> str | None:
    """A label as it is kept: one line, without what cannot be seen. Raises NoCheckpoint if it is too long."""
    label = " ".join((text or "").split())
    label = "".join(each for each in label if each.isprintable())
    if len(label) > MOST_LABEL:
        raise NoCheckpoint(f"A label has at most {MOST_LABEL} characters.")
    return label or None


@dataclass(frozen=True, slots=True)
class Listed:
    """A checkpoint, and what it stands beside."""

    checkpoint: Checkpoint
    agent_title: str
    prompt: str  # the beginning of its turn's prompt; "" where there is no turn
    before: bool  # it stands before that prompt, not within or after its turn


async def _listed(reader: Reader, conversation: LiveConversation, checkpoint: Checkpoint) -> Listed:
    data = checkpoint.data
    turn = await turns.get(reader, str(data["turn"])) if data.get("turn") else None
    prompts = await links.previews(reader, [turn.prompt_id]) if turn else {}
    row = await messages.get(reader, checkpoint.message_id) if checkpoint.message_id else None
    return Listed(
        checkpoint,
        conversation.title_of(str(data.get("agent") or ""), str(data.get("profile") or "")),
        prompts[turn.prompt_id].text if turn and turn.prompt_id in prompts else "",
        before=turn is not None and (row is None or row.turn_id != turn.id),
    )
