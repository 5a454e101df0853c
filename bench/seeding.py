"""Stores to measure with: many conversations, a long one, one that an agent replays, a million messages."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.fake_agent import replayed
from bench.words import markdown
from catena_store.chains import links, turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Writer
from catena_store.records import (
    Cause,
    ContextSource,
    Kind,
    MessageState,
    NewLink,
    NewMessage,
    StopReason,
    Turn,
)

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 500
SEARCHED_CONVERSATIONS = 10_000
SIDE_BY_SIDE = 30
RARE_AGENT = "rare"
LONG_TITLE = "A very long conversation"
LONG_LAST_WORDS = "THEVERYEND"
REPLAYED_SESSION = "kept-session"


class Seeder:
    """Writes into one store, under ids that count and times that advance by a second a transaction."""

    def __init__(self, database: Database, agent: str, cwd: Path) -> None:
        self.database = database
        self.agent = agent
        self.cwd = str(cwd)
        self._numbers = itertools.count(1)

    def new_id(self) -> str:
        """An id in the form that the store gives them."""
        return f"{next(self._numbers):016}"

    async def conversations(self, count: int) -> None:
        """That many conversations of one question and one answer."""
        for first in range(0, count, BATCH):
            async with self.database.write() as tx:
                for number in range(first, min(first + BATCH, count)):
                    texts = [f"Question {number}", markdown(30, number).strip()]
                    await self._conversation(tx, f"Conversation {number}", texts)

    async def conversation(self, title: str, texts: list[str]) -> None:
        """One of these prompts and answers in turn."""
        async with self.database.write() as tx:
            await self._conversation(tx, title, texts)

    async def long_conversation(self, count: int) -> str:
        """A conversation of that many messages, the newest of all; returns its id."""
        texts = [
            f"Question {number}: {markdown(20, number).strip()}" if number % 2 == 0 else markdown(120, number)
            for number in range(count - 1)
        ]
        async with self.database.write() as tx:
            return await self._conversation(tx, LONG_TITLE, [*texts, markdown(120, count, LONG_LAST_WORDS)])

    async def turns_with_calls(self, conversation: str, leaf: str, count: int) -> str:
        """That many prompts below a row, each with a call that acts and an answer; returns the last row's id."""
        rows: list[NewMessage] = []

        def add(kind: Kind, text: str, data: Mapping[str, object] | None = None) -> None:
            parent = rows[-1].id if rows else leaf
            state = MessageState.FINAL
            rows.append(NewMessage(self.new_id(), conversation, parent, kind, text, state, data=data or {}))

        for number in range(count):
            call = {
                "title": "Deploy",
                "kind": "execute",
                "status": "completed",
                "raw_input": {"command": f"deploy --stage {number}", "description": markdown(20, number)},
                "content": [{"type": "text", "text": markdown(60, number)}],
            }
            add(Kind.USER, f"Question {number}: {markdown(20, number).strip()}")
            add(Kind.TOOL, "Deploy", call)
            add(Kind.AGENT, markdown(120, number))
        async with self.database.write() as tx:
            await messages.insert_many(tx, rows)
        return rows[-1].id

    async def replayable_conversation(self, count: int) -> str:
        """A conversation whose session replays exactly what is kept of it; returns its id."""
        async with self.database.write() as tx:
            texts = [text.strip() for _, text in replayed(count)]
            conversation = await self._conversation(tx, "Replayed", texts)
            rows = await messages.of_conversation(tx, conversation)
            last = rows[-1].id
            link = await links.add(
                tx,
                NewLink(
                    id=self.new_id(),
                    conversation_id=conversation,
                    agent=self.agent,
                    profile="",
                    session_id=REPLAYED_SESSION,
                    cwd=self.cwd,
                    cause=Cause.NEW,
                    knows=last,
                    reach=last,
                ),
            )
            for prompt, answer in zip(rows[::2], rows[1::2], strict=True):
                await turns.insert(tx, self._finished_turn(conversation, link.id, prompt.id, answer.id))
            return conversation

    async def searchable(self, count: int, conversations_of: int = SEARCHED_CONVERSATIONS) -> None:
        """That many messages in words of which few are common and most are rare, in conversations of all lengths.

        Some of these are always led side by side; one in a thousand is of an agent of its own.
        """
        vocabulary, chance = Vocabulary(), random.Random(3)
        async with self.database.write() as tx:
            for number in range(conversations_of):
                agent = RARE_AGENT if number % 1_000 == 7 else self.agent
                title = vocabulary.sentence(4)
                await conversations.create(
                    tx, id=f"searched{number:08}", agent=agent, cwd=self.cwd, title=title
                )
        lengths = [2 + int(chance.expovariate(conversations_of / count)) for _ in range(conversations_of)]
        side_by_side, next_one = list(range(SIDE_BY_SIDE)), SIDE_BY_SIDE
        last: dict[int, str] = {}
        for first in range(0, count, 10 * BATCH):
            rows = []
            for _ in range(first, min(first + 10 * BATCH, count)):
                at = chance.randrange(SIDE_BY_SIDE)
                number = side_by_side[at]
                id, parent = f"searched{number:08}", last.get(number)
                kind = Kind.AGENT if lengths[number] % 2 else Kind.USER
                rows.append(NewMessage(self.new_id(), id, parent, kind, vocabulary.sentence(12)))
                last[number] = rows[-1].id
                lengths[number] -= 1
                if lengths[number] <= 0 and next_one < conversations_of:
                    side_by_side[at], next_one = next_one, next_one + 1
            async with self.database.write() as tx:
                await messages.insert_many(tx, rows)
                for id in dict.fromkeys(row.conversation_id for row in rows):
                    await conversations.touch(tx, id)

    async def _conversation(self, tx: Writer, title: str, texts: list[str]) -> str:
        id = self.new_id()
        await conversations.create(tx, id=id, agent=self.agent, cwd=self.cwd, title=title)
        rows: list[NewMessage] = []
        for number, text in enumerate(texts):
            parent = rows[-1].id if rows else None
            kind = Kind.USER if number % 2 == 0 else Kind.AGENT
            rows.append(NewMessage(self.new_id(), id, parent, kind, text, MessageState.FINAL))
        await messages.insert_many(tx, rows)
        await conversations.touch(tx, id)
        return id

    def _finished_turn(self, conversation: str, link: str, prompt: str, last: str) -> Turn:
        return Turn(
            id=self.new_id(),
            conversation_id=conversation,
            prompt_id=prompt,
            link_id=link,
            base_link_id=link,
            window_id=None,
            last_id=last,
            how=ContextSource.CONTINUED,
            cause=None,
            told_from=None,
            told_to=None,
            told=0,
            told_total=0,
            tools_listed=0,
            tools_left_out=0,
            left_out=0,
            shortened=0,
            masked=0,
            unabridged_from=None,
            prior_context=None,
            stop_reason=StopReason.END_TURN,
            error=None,
            usage=None,
            cost=None,
            currency=None,
            model=None,
            mode=None,
            started_at=BEGINNING,
            ended_at=BEGINNING,
        )


class Vocabulary:
    """Words of which the first are common and the last rare, as in any language."""

    def __init__(self) -> None:
        self._chance = random.Random(11)
        syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprst", "aeiou")]
        self.words = ["".join(three) for three in itertools.product(syllables, syllables, syllables[:12])]
        self._chance.shuffle(self.words)

    def sentence(self, words: int) -> str:
        """A few words, the n-th of the vocabulary about n times rarer than the first."""
        last = len(self.words)
        return " ".join(self.words[int(last ** self._chance.random()) - 1] for _ in range(words))


@asynccontextmanager
async def seeding(folder: Path, agent: str) -> AsyncIterator[Seeder]:
    """A seeder for the store of a subject that will run in ``folder``."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    async with Database.open(folder / "data" / "catena.db", clock=advancing_clock()) as database:
        yield Seeder(database, agent, project)


def advancing_clock() -> Callable[[], datetime]:
    """A clock that says a second more whenever it is asked."""
    times: Iterator[datetime] = (BEGINNING + timedelta(seconds=passed) for passed in itertools.count())
    return lambda: next(times)
