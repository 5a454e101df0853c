"""Random conversations, made through the store's own operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from catena_store.chains import environments, links, turns
from catena_store.conversations import conversations, messages
from catena_store.conversations.checkpoints import Checkpoint, SqliteCheckpoints
from catena_store.database.database import Database
from catena_store.records import (
    Cause,
    ContextSource,
    Kind,
    LinkState,
    MessageState,
    NewMessage,
    StopReason,
    TurnEnvironment,
)
from catena_store.windows import attached_files, attachments
from support.storage.rows import Clock, a_turn, new_conversation, new_link

# A NUL is exported as its picture.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
_PLACE = st.integers(0, 10_000)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), _PLACE, TEXTS),
        st.tuples(st.just("turn"), _PLACE, TEXTS),
        st.tuples(st.just("edit"), _PLACE, TEXTS),
        st.tuples(st.just("fork"), _PLACE, TEXTS),
        st.tuples(st.just("clear"), _PLACE, TEXTS),
        st.tuples(st.just("refused"), _PLACE, TEXTS),
        st.tuples(st.just("attach"), _PLACE, TEXTS),
        st.tuples(st.just("checkpoint"), _PLACE, TEXTS),
        st.tuples(st.just("lose"), _PLACE, TEXTS),
        st.tuples(st.just("title"), _PLACE, TEXTS),
    ),
    min_size=1,
    max_size=14,
)
Acts = Sequence[tuple[str, int, str]]


@dataclass
class Family:
    """A family of conversations that grows act by act."""

    db: Database
    clock: Clock
    count: int = 0
    leaves: list[tuple[str, str | None]] = field(default_factory=list)  # conversation and row
    prompts: list[tuple[str, str | None, str]] = field(default_factory=list)  # conversation, parent, prompt
    links: list[str] = field(default_factory=list)

    def _new(self, what: str) -> str:
        self.count += 1
        self.clock.forward()
        return f"{what}{self.count}"

    async def grow(self, acts: Acts) -> None:
        """Begin a conversation with one turn, and do the acts."""
        async with self.db.write() as tx:
            await new_conversation(tx, "c0", title="first", profile="work")
        self.leaves.append(("c0", None))
        await self.grow_on([("turn", 0, "begin"), *acts])

    async def grow_on(self, acts: Acts) -> None:
        """Do further acts."""
        for act, place, text in acts:
            await getattr(self, f"_{act}")(place, text)

    async def _turn(self, place: int, text: str, *, at: tuple[str, str | None] | None = None) -> None:
        conversation, parent = at or self.leaves[place % len(self.leaves)]
        prompt, turn = self._new("u"), self._new("t")
        stop = [StopReason.END_TURN, StopReason.CANCELLED, StopReason.ERROR][place % 3]
        async with self.db.write() as tx:
            own = [id for id in self.links if id.startswith(f"{conversation}-")]
            link = own[place % len(own)] if own and place % 2 else f"{conversation}-{self._new('l')}"
            if link not in own:
                source = self.links[place % len(self.links)] if self.links and place % 3 else None
                cause = Cause.FORK if source else Cause.NEW
                await new_link(tx, link, conversation, cause=cause, source_id=source, base=parent)
                self.links.append(link)
            row = NewMessage(prompt, conversation, parent, Kind.USER, text, agent_message_id=text[:3] or None)
            await messages.insert(tx, row)
            told = ContextSource.TOLD if parent and place % 2 else ContextSource.CONTINUED
            opened = a_turn(
                turn,
                prompt,
                link,
                conversation_id=conversation,
                how=told,
                cause="rate limit" if place % 5 == 0 else None,
                told_from=parent,
                told_to=parent,
                unabridged_from=parent,
                told=3,
                prior_context=text or None,
                waited=place,
                base_link_id=self.links[0],
                model="opus",
                mode="plan",
                cost=0.25,
                currency="USD",
                usage={"input_tokens": place, "cached": [text]},
                started_at=datetime(2026, 4, 1, tzinfo=UTC),
            )
            await turns.insert(tx, opened)
            await messages.set_turn(tx, prompt, turn, link)
            await links.record(tx, link, links.CARRIED, text or None)
            stamp: dict[str, Any] = {"turn_id": turn, "link_id": link}
            seam, tool, answer = self._new("s"), self._new("x"), self._new("a")
            call = {
                "title": text,
                "status": "completed",
                "locations": [{"path": f"/shop/{tool}"}],
                "content": [{"type": "diff", "old": None, "new": text, "path": "/a"}],
            }
            rows = [
                NewMessage(seam, conversation, prompt, Kind.SEAM, "a seam", data={"how": "told"}, **stamp),
                NewMessage(tool, conversation, seam, Kind.TOOL, text, data=call, **stamp),
                NewMessage(answer, conversation, tool, Kind.AGENT, text, MessageState.FINAL, **stamp),
            ]
            await messages.insert_many(tx, rows)
            await turns.set_last(tx, turn, answer)
            await turns.end(tx, turn, stop_reason=stop)
            await links.move(tx, link, knows=answer, reach=answer, unabridged_from=prompt, cost_total=1.5)
            surroundings = TurnEnvironment(
                turn, {"effort": "high", "fast": True}, ("/x",), "main", "/w", "c0ffee", 1
            )
            await environments.put(tx, surroundings)
        self.prompts.append((conversation, parent, prompt))
        self.leaves += [(conversation, answer), (conversation, tool)]

    async def _edit(self, place: int, text: str) -> None:
        conversation, parent, _ = self.prompts[place % len(self.prompts)]
        await self._turn(place, text, at=(conversation, parent))

    async def _fork(self, place: int, text: str) -> None:
        _, parent = self.leaves[place % len(self.leaves)]
        fork = self._new("fork")
        async with self.db.write() as tx:
            await new_conversation(tx, fork, family="c0", fork_point_id=parent, title=text or None)
        await self._turn(place, text, at=(fork, parent))

    async def _clear(self, place: int, text: str) -> None:
        conversation, parent = self.leaves[place % len(self.leaves)]
        row = self._new("clear")
        async with self.db.write() as tx:
            await messages.insert(tx, NewMessage(row, conversation, parent, Kind.SEAM, text, barrier=True))
        self.leaves.append((conversation, row))

    async def _refused(self, place: int, text: str) -> None:
        conversation, parent = self.leaves[place % len(self.leaves)]
        async with self.db.write() as tx:
            row = NewMessage(self._new("u"), conversation, parent, Kind.USER, text, MessageState.REFUSED)
            await messages.insert(tx, row)

    async def _attach(self, place: int, text: str) -> None:
        _, _, prompt = self.prompts[place % len(self.prompts)]
        async with self.db.write() as tx:
            files = [
                attached_files.from_bytes(text.encode() + bytes([place % 256, 0]), f"{place}.bin", path="/f")
            ]
            await attachments.add_to_message(tx, prompt, files)
            await messages.update(tx, prompt, data={"attachments": [each.described() for each in files]})

    async def _checkpoint(self, place: int, text: str) -> None:
        conversation, row = self.leaves[place % len(self.leaves)]
        made = Checkpoint(
            id=self._new("k"),
            conversation_id=conversation,
            message_id=row,
            link_id=self.links[0],
            label=self._new("label ") if place % 2 else None,
            automatic=bool(place % 2),
            data={"note": text, "n": place},
            created_at=self.clock(),
        )
        await SqliteCheckpoints(self.db.read, self.db.write).save(made)

    async def _lose(self, place: int, text: str) -> None:
        async with self.db.write() as tx:
            link = self.links[place % len(self.links)]
            await links.move(tx, link, state=LinkState.LOST, ended=text or None, event="lost", detail=text)

    async def _title(self, place: int, text: str) -> None:
        async with self.db.write() as tx:
            await conversations.set_title(tx, self.leaves[place % len(self.leaves)][0], text or None)
