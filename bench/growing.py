"""Scenarios of work that grows: the same acts at three sizes, by CPU time, since machines are shared, and by memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.goals import Key, Measured, medians, number
from bench.process import cpu_seconds, resident_kib
from bench.seeding import LONG_LAST_WORDS, LONG_TITLE, Seeder, seeding
from bench.sources import write_session
from bench.streaming import Figures
from bench.subject import AGENT_COMMAND, NOT_INHERITED, Running, Subject
from bench.words import markdown
from catena_acp.agents.catalog import command_spec
from catena_acp.transcripts.sources import KeptHeads, Scanner, places
from catena_store.conversations import conversations, messages
from catena_store.records import Kind, MessageState, NewMessage

MESSAGES = (1_000, 10_000, 100_000)
CONVERSATIONS = (500, 5_000, 50_000)
SESSIONS = (30, 300, 3_000)
TURNS = (10, 100, 1_000)
SESSION_BYTES = 30_000
PRUNED = 200
_NOTHING = 0.03  # CPU seconds of a second in which a program rests; an open history looks for changes
TREE_TITLE = "A very long tree"
F2, TOP, END, FIND, ESCAPE, CTRL_O = "\x1bOQ", "g", "G", "\x06", "\x1b", "\x0f"
NAMES = ("small", "middle", "large")


@dataclass(frozen=True, slots=True)
class Growth:
    """An act at three sizes, and the ratio of cost to size from the middle one to the large one that is allowed.

    1 is an act that reads everything; one that does not depend on the size has a tenth.
    """

    what: str
    scenario: str
    act: str
    sizes: tuple[int, int, int]
    at_most: float
    unit: str = "ms"  # of CPU; MiB of resident memory


_ALL, _SOME = 1.2, 0.2
_UNITS = {"ms": "CPU, ms", "MiB": "MiB"}
GROWTHS = (
    Growth("messages: to the beginning of a conversation", "places_grow", "home", MESSAGES, _SOME),
    Growth("messages: to its end", "places_grow", "end", MESSAGES, _SOME),
    Growth("messages: its first prompt found", "places_grow", "find", MESSAGES, _ALL),
    Growth("messages: memory, after these", "places_grow", "memory", MESSAGES, _SOME, "MiB"),
    Growth("messages: `catena show`", "messages_grow", "show", MESSAGES, _ALL),
    Growth("messages: `catena export`", "messages_grow", "export", MESSAGES, _ALL),
    Growth(
        "messages, each prompt in two versions: `catena show --tree`", "messages_grow", "tree", MESSAGES, _ALL
    ),
    Growth(
        "messages, each prompt in two versions: `catena export --tree`",
        "messages_grow",
        "export_tree",
        MESSAGES,
        _ALL,
    ),
    Growth("conversations: the history opened", "conversations_grow", "history", CONVERSATIONS, _SOME),
    Growth("conversations: the history opened again", "conversations_grow", "again", CONVERSATIONS, _SOME),
    Growth("conversations: the first letter in it", "conversations_grow", "letter", CONVERSATIONS, _ALL),
    Growth("conversations: memory, after these", "conversations_grow", "memory", CONVERSATIONS, _SOME, "MiB"),
    Growth("conversations: `catena search`", "conversations_grow", "search", CONVERSATIONS, _ALL),
    Growth("conversations: `catena list`", "conversations_grow", "list", CONVERSATIONS, _SOME),
    Growth("conversations: `catena prune`, listed", "conversations_grow", "prune", CONVERSATIONS, _ALL),
    Growth(
        f"conversations: `catena prune --yes`, of {PRUNED} among them",
        "conversations_grow",
        "pruned",
        CONVERSATIONS,
        _ALL,
    ),
    Growth("turns in one tab: memory", "turns_grow", "memory", TURNS, _SOME, "MiB"),
    Growth("sessions of other tools: listed", "sessions_grow", "listed", SESSIONS, _ALL),
    Growth("sessions of other tools: listed by the next process", "sessions_grow", "again", SESSIONS, _ALL),
)


def growth_table(measured: Sequence[Measured]) -> list[str]:
    """One Markdown row for each act: its CPU or its memory at three sizes, and the ratio of cost to size."""
    found = medians(measured)
    lines = [
        "| how many, and what | | of the fewest | of more | of most | ratio of cost to size | goal | |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for growth in GROWTHS:
        costs = [found.get(_key(growth, size)) for size in NAMES]
        sizes = " / ".join(f"{size:,}" for size in growth.sizes)
        ratio = _ratio(costs, growth.sizes)
        verdict = "not measured" if ratio is None else "met" if ratio <= growth.at_most else "**short**"
        lines.append(
            f"| {sizes} {growth.what} | {_UNITS[growth.unit]} | {' | '.join(map(number, costs))} "
            f"| {'' if ratio is None else f'{ratio:.2f}'} "
            f"| {growth.at_most} | {verdict} |"
        )
    return lines


def _key(growth: Growth, size: str) -> Key:
    return "catena", growth.scenario, f"{growth.act}_{size}_{growth.unit.lower()}"


def _ratio(costs: Sequence[float | None], sizes: Sequence[int]) -> float | None:
    """How much the cost grew from the middle size to the large one, in units of how much that is more."""
    _, middle, large = costs
    return large / middle / (sizes[2] / sizes[1]) if middle and large else None


def places_grow(subject: Subject, folder: Path) -> Figures:
    """From one end of a conversation to the other, and from its end to a text in its first prompts."""
    return _at_each(MESSAGES, lambda size: _places(subject, folder / str(size), size))


def messages_grow(folder: Path) -> Figures:
    """Commands that read all of a conversation, and all of one whose prompts have two versions each."""
    return _at_each(MESSAGES, lambda size: _read_all(folder / str(size), size))


def conversations_grow(subject: Subject, folder: Path) -> Figures:
    """The history, and commands over all conversations; then some of them are removed for good."""
    return _at_each(CONVERSATIONS, lambda size: _among(subject, folder / str(size), size))


def turns_grow(subject: Subject, folder: Path) -> Figures:
    """The memory of one tab after so many short turns."""
    figures: Figures = {}
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        terminal.settle(1.0)
        for name, last, size in zip(NAMES, (0, *TURNS), TURNS, strict=False):
            for number in range(last + 1, size + 1):
                _turn(running, number)
            terminal.settle(1.0)
            figures[f"memory_{name}_mib"] = _memory(running)
    return figures


def _turn(running: Running, number: int) -> None:
    terminal, prompt = running.terminal, f"STREAM words=6 rate=3000.0 run={number}"
    seen = len(terminal.outputs)
    terminal.write(prompt)
    running.expect(f"{prompt} ", since=seen)  # with Enter behind it in one read it would be a paste
    seen = len(terminal.outputs)
    running.submit()
    running.expect(rf"FINISHED{number}\b", since=seen)
    terminal.forget()


def sessions_grow(folder: Path) -> Figures:
    """What other tools keep, listed by a process that has never seen it, and by the next one."""
    return _at_each(SESSIONS, lambda size: _sessions(folder / str(size), size))


def _at_each(sizes: Sequence[int], measure: Callable[[int], Mapping[str, float]]) -> Figures:
    figures: Figures = {}
    for name, size in zip(NAMES, sizes, strict=True):
        for act, cost in measure(size).items():
            if act == "memory":
                figures[f"memory_{name}_mib"] = cost
            else:
                figures[f"{act}_{name}_ms"] = cost * 1e3
    return figures


def _rest(running: Running) -> None:
    """Read until the program does nothing any more, however long a busy machine keeps it waiting."""
    terminal = running.terminal
    before = 0.0
    while (spent := cpu_seconds(terminal.pid)) - before > _NOTHING:
        before = spent
        terminal.settle(1.0)


def _memory(running: Running) -> float:
    """The MiB that are resident now."""
    return resident_kib(running.terminal.pid) / 1024


def _places(subject: Subject, folder: Path, length: int) -> dict[str, float]:
    asyncio.run(_seed_long(folder, length))
    with subject.run(folder, options=("--resume", LONG_TITLE)) as running:
        terminal = running.terminal
        running.expect(LONG_LAST_WORDS)
        _rest(running)
        spent: dict[str, list[float]] = {"find": [], "home": [], "end": []}
        for _ in range(3):
            terminal.write(FIND)
            running.compose("Question 2")
            _rest(running)
            spent["find"].append(terminal.measure(lambda: _until(running, ":", "▌ Question 2:")).cpu)
            terminal.write(ESCAPE + F2 + END)
            _rest(running)
            spent["home"].append(terminal.measure(lambda: _until(running, TOP, "Question 0:")).cpu)
            spent["end"].append(terminal.measure(lambda: _until(running, END, LONG_LAST_WORDS)).cpu)
            terminal.write(F2)
            _rest(running)
        medians_of = {act: sorted(times)[len(times) // 2] for act, times in spent.items()}
        return {**medians_of, "memory": _memory(running)}


def _until(running: Running, keys: str, there: str) -> None:
    seen = len(running.terminal.outputs)
    running.terminal.write(keys)
    running.expect(there, since=seen)
    running.terminal.settle()


def _read_all(folder: Path, length: int) -> dict[str, float]:
    asyncio.run(_seed_messages(folder, length))
    return {
        "show": _cpu_of(folder, "show", LONG_TITLE),
        "export": _cpu_of(folder, "export", LONG_TITLE),
        "tree": _cpu_of(folder, "show", "--tree", TREE_TITLE),
        "export_tree": _cpu_of(folder, "export", "--tree", TREE_TITLE),
    }


def _among(subject: Subject, folder: Path, count: int) -> dict[str, float]:
    asyncio.run(_seed_conversations(folder, count))
    with subject.run(folder) as running:
        terminal = running.terminal
        running.expect(running.ready)
        _rest(running)
        opened = terminal.measure(lambda: _until(running, CTRL_O, r"Conversation \d+ ")).cpu
        terminal.write(ESCAPE)
        _rest(running)
        again = terminal.measure(lambda: _until(running, CTRL_O, r"Conversation \d+ ")).cpu
        _rest(running)
        letter = terminal.measure(lambda: _until(running, "q", f"{count:,} of {count:,}")).cpu
        memory = _memory(running)
    return {
        "memory": memory,
        "history": opened,
        "again": again,
        "letter": letter,
        "search": _cpu_of(folder, "search", f"Conversation {count // 2}"),
        "list": _cpu_of(folder, "list"),
        "prune": _cpu_of(folder, "prune", "--keep", "10"),
        "pruned": _cpu_of(folder, "prune", "--keep", str(count - PRUNED), "--yes"),
    }


def _sessions(folder: Path, count: int) -> dict[str, float]:
    for at in range(count):
        write_session(folder, at, SESSION_BYTES)

    def listed() -> float:
        scanner = Scanner(places({"HOME": str(folder)}), kept=KeptHeads(folder / "heads.json"))
        before = time.process_time()
        assert len(asyncio.run(scanner.sessions())) == count
        return time.process_time() - before

    return {"listed": listed(), "again": listed()}


def _cpu_of(folder: Path, *arguments: str) -> float:
    """The CPU seconds of a command, from its start to its end."""
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment |= {"CATENA_DATA_DIR": str(folder / "data"), "CATENA_CONFIG_DIR": str(folder / "config")}
    before = os.times()
    subprocess.run(
        [Path(sys.executable).with_name("catena"), *arguments],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def _seed_long(folder: Path, length: int) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await seeder.long_conversation(length)


async def _seed_messages(folder: Path, length: int) -> None:
    async with seeding(folder, "bench") as seeder:
        await seeder.long_conversation(length)
        await _tree(seeder, length)


async def _seed_conversations(folder: Path, count: int) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await seeder.conversations(count)


async def _tree(seeder: Seeder, length: int) -> None:
    """A conversation of that many messages, each prompt of which has two versions; the later one goes on."""
    conversation, rows = seeder.new_id(), list[NewMessage]()
    above: str | None = None
    for at in range(length // 4):
        for version in range(2):
            prompt = NewMessage(seeder.new_id(), conversation, above, Kind.USER, f"Question {at}.{version}")
            answer = NewMessage(
                seeder.new_id(), conversation, prompt.id, Kind.AGENT, markdown(60, at), MessageState.FINAL
            )
            rows += [prompt, answer]
        above = rows[-1].id
    async with seeder.database.write() as tx:
        await conversations.create(tx, id=conversation, agent="bench", cwd=seeder.cwd, title=TREE_TITLE)
        await messages.insert_many(tx, rows)
        await conversations.touch(tx, conversation)
