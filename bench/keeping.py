"""Scenarios of what is kept: long histories on the screen; the store and the prior context by themselves."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench.process import cpu_seconds, memory
from bench.seeding import BEGINNING, LONG_LAST_WORDS, LONG_TITLE, RARE_AGENT, Vocabulary, seeding
from bench.streaming import RATE, WORDS_IN_TEN_SECONDS, Figures
from bench.subject import AGENT_COMMAND, Subject
from bench.terminal import percentile
from catena.history.listing import HistoryListing
from catena.history.query import HistoryQuery, Quality, spans
from catena.history.reading import HistoryReader
from catena.settings.replays import replay_budget
from catena.settings.settings import Settings
from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.routing.prior_context import read_prior_context
from catena_acp.continuity.routing.replay_check import Verdict
from catena_acp.continuity.sessions.replays import ReplayRecord
from catena_acp.port.session_events import TextChunk
from catena_store import ancestry
from catena_store.chains import links
from catena_store.conversations import messages
from catena_store.conversations.tree import family_tree
from catena_store.database.database import Database
from catena_store.finding import newest_hits
from catena_store.records import Cause, Kind, MessageState, NewLink, NewMessage

REPLAYED = 500
CONVERSATIONS = 10_000
LONG = 10_000
VERY_LONG = 100_000
SEARCHED = 1_000_000
TOLD_TURNS = 7  # of a prompt, a tool call that acts and an answer
PAGES = 30
QUERIES = 200
CTRL_O, CTRL_U, PAGE_UP = "\x0f", "\x15", "\x1b[5~"
FILTERED = "conversation 77 que"
PIECE = "x" * 190  # what sixty chunks a second bring in a quarter of a second


def replayed_by_agent(subject: Subject, folder: Path) -> Figures:
    """A session that its agent can only load: it replays 500 messages before it takes the prompt."""
    asyncio.run(_seed_replayable(folder))
    untouched = folder.with_name(f"{folder.name}-without-replay")
    shutil.copytree(folder, untouched)
    with subject.run(untouched, options=("--resume", "Replayed")) as running:
        running.expect(running.ready)
        running.greet()
        without_replay = memory(running.terminal.pid).now
    with subject.run(folder, options=("--resume", "Replayed"), replay=REPLAYED) as running:
        running.expect(running.ready)
        running.terminal.write("hello\r")  # at once: the session is loaded from the first letter on
        running.expect("ok: hello")
        running.terminal.settle()
        events = running.agent_events()
        begun = next(event.at for event in events if event.event == "replay begins")
        prompted = next(event.at for event in events if event.method == "session/prompt")
        growth = memory(running.terminal.pid).now - without_replay
        return {"seconds": prompted - begun, "memory_growth_mib": growth}


def long_histories(subject: Subject, folder: Path) -> Figures:
    """The list of 10,000 conversations, and one of 10,000 messages opened from it."""
    asyncio.run(_seed_histories(folder))
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        terminal.settle(1.0)
        seen = len(terminal.outputs)
        pressed = terminal.write(CTRL_O)
        listed = running.expect(LONG_TITLE, since=seen)
        terminal.settle(1.0)  # all pages are read
        keys = []
        for letter in FILTERED:
            seen = len(terminal.outputs)
            at = terminal.write(letter)
            if terminal.read(1.0):
                keys.append((terminal.outputs[seen].at - at) * 1e3)
            terminal.settle(0.3)  # what messages say has come, too
        seen = len(terminal.outputs)
        terminal.write(CTRL_U)
        running.expect(LONG_TITLE, since=seen)
        terminal.settle(0.3)
        before = memory(terminal.pid).now
        seen = len(terminal.outputs)
        chosen = terminal.write("\r")
        opened = running.expect(LONG_LAST_WORDS, since=seen)
        terminal.settle()
        pages = []
        for _ in range(PAGES):
            seen = len(terminal.outputs)
            at = terminal.write(PAGE_UP)
            if terminal.read(1.0):
                pages.append((terminal.outputs[seen].at - at) * 1e3)
            terminal.settle(0.15)
        return {
            "list_ms": (listed - pressed) * 1e3,
            "list_key_p95_ms": percentile(keys, 0.95),
            "open_ms": (opened - chosen) * 1e3,
            "page_up_p95_ms": percentile(pages, 0.95),
            "memory_growth_mib": memory(terminal.pid).now - before,
        }


def resumed(subject: Subject, folder: Path) -> Figures:
    """From exec to the end of a conversation of 5 MB, which the command line names; no agent is waited for."""

    async def seed() -> None:
        async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
            await seeder.long_conversation(LONG)

    asyncio.run(seed())
    with subject.run(folder, options=("--resume", LONG_TITLE)) as running:
        shown = running.expect(LONG_LAST_WORDS)
        return {"shown_ms": (shown - running.terminal.began) * 1e3}


def search_in_a_million(folder: Path) -> Figures:
    """Searches as they are typed, in the store alone: the newest hit of each of 10,000 conversations.

    Common and rare words, beginnings and two words; the most frequent words, two letters, and both with a rare filter.
    """
    return asyncio.run(_search(folder))


def prior_context(folder: Path) -> Figures:
    """Twenty rows read from the store and told."""
    return asyncio.run(_prior_context(folder))


def kept_stream(subject: Subject, folder: Path) -> Figures:
    """What keeping a stream costs: transactions while it comes, and the CPU time of such transactions."""
    with subject.run(folder) as running:
        running.expect(running.ready)
        running.terminal.settle()
        running.greet()
        end = running.compose_stream(WORDS_IN_TEN_SECONDS, RATE)
        with _Watch(folder / "data" / "catena.db") as watch:
            seen, began = len(running.terminal.outputs), running.submit()
            running.expect(end, since=seen)
            seconds = time.monotonic() - began
    per_second = watch.changes / seconds
    cpu = asyncio.run(_cpu_of_a_transaction(folder))
    return {"transactions_per_s": per_second, "cpu_percent": cpu * per_second * 100}


class _Watch:
    """Counts the transactions of another process: asks a hundred times a second whether there was one."""

    def __init__(self, path: Path) -> None:
        self.changes = 0
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._count()))

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    async def _count(self) -> None:
        async with Database.open(self._path) as database:
            version = await database.data_version()
            while not self._stop.is_set():
                await asyncio.sleep(0.01)
                latest = await database.data_version()
                self.changes += latest != version
                version = latest


async def _seed_replayable(folder: Path) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await seeder.replayable_conversation(REPLAYED)


async def _seed_histories(folder: Path) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await seeder.conversations(CONVERSATIONS)
        await seeder.long_conversation(LONG)


async def _search(folder: Path) -> Figures:
    async with seeding(folder, "bench") as seeder:
        await seeder.searchable(SEARCHED)
        words = Vocabulary().words
        chance = random.Random(5)
        mixed = []
        for _ in range(QUERIES // 4):
            common, rare = chance.choice(words[:50]), chance.choice(words)
            mixed += [common, rare, rare[: chance.randint(2, 4)], f"{common} {rare}"]
        async with seeder.database.read() as reader:
            few = await reader.all("SELECT id FROM conversation WHERE agent = ?", (RARE_AGENT,))
        rare_agent = [id for (id,) in few]

        async def p95(queries: Sequence[str], within: Sequence[str] | None = None) -> tuple[float, float]:
            async def query(text: str) -> None:
                async with seeder.database.read_concurrently() as reader:
                    await newest_hits.newest_hits(reader, text.split(), within=within)

            times = [await _milliseconds(query, text) for text in queries]
            return percentile(times, 0.5), percentile(times, 0.95)

        frequent = [chance.choice(words[:5]) for _ in range(QUERIES // 4)]
        two_letters = [chance.choice(words)[:2] for _ in range(QUERIES // 4)]
        p50, mixed_p95 = await p95(mixed)
        return {
            "p50_ms": p50,
            "p95_ms": mixed_p95,
            "frequent_p95_ms": (await p95(frequent))[1],
            "two_letters_p95_ms": (await p95(two_letters))[1],
            "filter_p95_ms": (await p95([*frequent, *two_letters], rare_agent))[1],
        }


def history_keys(folder: Path) -> Figures:
    """The history of 10,000 conversations without a screen: its first page, all of it, and a key."""
    return asyncio.run(_history_keys(folder))


async def _history_keys(folder: Path) -> Figures:
    async with seeding(folder, "bench") as seeder:
        await seeder.searchable(6 * CONVERSATIONS, CONVERSATIONS)
        listing = HistoryListing(directory=seeder.cwd)
        reader = HistoryReader(seeder.database, listing, lives=lambda _: True)
        began = time.perf_counter()
        pages = reader.pages()
        await anext(pages)
        first = time.perf_counter() - began
        async for _ in pages:
            pass
        everything = time.perf_counter() - began
        words, chance = Vocabulary().words, random.Random(5)
        typed = [f"{chance.choice(words[:50])} {chance.choice(words)}" for _ in range(20)]
        times = []
        for text in typed:
            for length in range(1, len(text) + 1):
                began = time.thread_time()
                matches = listing.match(HistoryQuery.parse(text[:length], now=BEGINNING))
                for match in matches[:40]:
                    spans(match.entry.name, match.words, fuzzy=match.quality is Quality.FUZZY)
                    spans(match.entry.cwd, match.words)
                times.append((time.thread_time() - began) * 1e3)
        return {
            "first_page_ms": first * 1e3,
            "read_ms": everything * 1e3,
            "key_p95_cpu_ms": percentile(times, 0.95),
        }


async def _prior_context(folder: Path) -> Figures:
    async with seeding(folder, "bench") as seeder:
        conversation = await seeder.long_conversation(LONG)
        async with seeder.database.read() as reader:
            knows = (await messages.of_conversation(reader, conversation))[-1].id
        leaf = await seeder.turns_with_calls(conversation, knows, TOLD_TURNS)
        budget = replay_budget(Settings())
        async with seeder.database.read() as reader:
            path = await ancestry.path(reader, leaf, [knows])  # which the route has read

        async def read_and_tell(_: str) -> None:
            async with seeder.database.read() as reader:
                told = await read_prior_context(reader, path, knows, leaf, budget)
            assert told is not None and (told.told, told.tools_listed) == (2 * TOLD_TURNS, TOLD_TURNS)

        return {"p50_ms": percentile([await _milliseconds(read_and_tell, "") for _ in range(200)], 0.5)}


def very_long_reads(folder: Path) -> Figures:
    """How long a loop is held at most while all of 100,000 messages are read: by a replay's check, and by the tree."""
    return asyncio.run(_very_long_reads(folder))


async def _very_long_reads(folder: Path) -> Figures:
    async with seeding(folder, "bench") as seeder:
        database, conversation = seeder.database, await seeder.long_conversation(VERY_LONG)
        async with database.read() as reader:
            rows = await messages.of_conversation(reader, conversation)
        leaf = rows[-1].id
        replay = [TextChunk("user" if row.kind is Kind.USER else "agent", row.text, row.id) for row in rows]
        del rows
        async with database.write() as tx:
            session = NewLink(
                seeder.new_id(), conversation, "bench", "", "all", "/", Cause.NEW, knows=leaf, reach=leaf
            )
            link = await links.add(tx, session)

        async def check() -> None:
            assert await ReplayRecord(database, link).verdict(replay) is Verdict.AGREES

        async def read_tree() -> None:
            async with database.read_concurrently() as reader:
                assert len((await family_tree(reader, conversation, leaf)).nodes) == VERY_LONG // 2

        return {"check_held_ms": await _held(check), "tree_held_ms": await _held(read_tree)}


async def _held(act: Callable[[], Awaitable[None]]) -> float:
    """The longest time, in milliseconds, that the loop did nothing else."""
    longest, doing = 0.0, asyncio.ensure_future(act())
    while not doing.done():
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        longest = max(longest, time.perf_counter() - before)
    await doing
    return longest * 1e3


async def _cpu_of_a_transaction(folder: Path) -> float:
    """Seconds that this process spends on adding a piece of text to a growing message."""
    async with seeding(folder / "cpu", "bench") as seeder:
        conversation = await seeder.long_conversation(2)
        row = NewMessage(seeder.new_id(), conversation, None, Kind.AGENT, "", MessageState.OPEN)
        async with seeder.database.write() as tx:
            await messages.insert(tx, row)
        before, count = cpu_seconds(os.getpid()), 200
        for _ in range(count):
            async with seeder.database.write() as tx:
                await messages.append(tx, row.id, PIECE)
        return (cpu_seconds(os.getpid()) - before) / count


async def _milliseconds(act: Callable[[str], Awaitable[None]], text: str) -> float:
    began = time.perf_counter()
    await act(text)
    return (time.perf_counter() - began) * 1e3
