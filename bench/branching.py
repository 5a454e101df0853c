"""Scenarios of branches: a broad tree on the screen, and going from one end of a long conversation to another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from bench.seeding import Seeder, seeding
from bench.streaming import Figures
from bench.subject import AGENT_COMMAND, Running, Subject
from bench.terminal import percentile
from bench.words import markdown
from catena_acp.agents.catalog import command_spec
from catena_store.conversations import conversations, messages
from catena_store.records import Kind, NewMessage

PROMPTS = 300
BRANCH_EVERY = 10  # prompts
LONG = 10_000
SHORT, VERY_LONG = 1_000, 100_000
SWITCHES = 10
BROAD_TITLE, LONG_TITLE = "A broad tree", "Two ends"
FIRST_END, OTHER_END = "THEFIRSTEND", "THEOTHEREND"
F2, ESCAPE = "\x1bOQ", "\x1b"


def broad_tree(subject: Subject, folder: Path) -> Figures:
    """The tree of 300 prompts, from Enter behind its command to its lines on the screen."""
    asyncio.run(_seed(folder))
    with subject.run(folder, options=("--resume", BROAD_TITLE)) as running:
        _begin(running, f"Answer {PROMPTS - 1}")
        shown = []
        for _ in range(SWITCHES):
            running.compose("/tree")
            seen = len(running.terminal.outputs)
            pressed = running.submit()
            shown.append((running.expect(f"{PROMPTS} prompts", since=seen) - pressed) * 1e3)
            running.terminal.settle()
            running.terminal.write(ESCAPE)
            running.terminal.settle(0.3)
        return {"shown_ms": shown[0], "again_p50_ms": percentile(shown, 0.5)}


def switched_siblings(subject: Subject, folder: Path) -> Figures:
    """From one version of the last prompt to the other, in a conversation of 10,000 messages."""
    asyncio.run(_seed(folder))
    with subject.run(folder, options=("--resume", LONG_TITLE)) as running:
        _begin(running, OTHER_END)
        running.terminal.write(F2)
        running.terminal.settle(0.3)
        took = []
        for _ in range(SWITCHES):
            for key, end in (("h", FIRST_END), ("l", OTHER_END)):
                seen = len(running.terminal.outputs)
                pressed = running.terminal.write(key)
                took.append((running.expect(end, since=seen) - pressed) * 1e3)
                running.terminal.settle()
        return {"p50_ms": percentile(took, 0.5), "p95_ms": percentile(took, 0.95)}


def lengths_compared(subject: Subject, folder: Path) -> Figures:
    """The CPU time of a switch to a sibling and back, and of a prompt, among 100,000 messages and among 1,000."""
    spent = {length: _cpu_at(subject, folder / str(length), length) for length in (SHORT, VERY_LONG)}
    return {
        f"{act}_{figure}": value
        for act, (short, long) in {
            act: (spent[SHORT][act], spent[VERY_LONG][act]) for act in ("switch", "prompt")
        }.items()
        for figure, value in (("ms", long * 1e3), ("short_ms", short * 1e3), ("ratio", long / short))
    }


def _cpu_at(subject: Subject, folder: Path, length: int) -> dict[str, float]:
    """The CPU seconds of one switch and back, and of one prompt, in a conversation of so many messages."""
    asyncio.run(_seed_two_ends(folder, length))
    with subject.run(folder, options=("--resume", LONG_TITLE)) as running:
        _begin(running, OTHER_END)
        running.terminal.write(F2)
        running.terminal.settle(0.3)

        def switch() -> None:
            for key, end in (("h", FIRST_END), ("l", OTHER_END)):
                seen = len(running.terminal.outputs)
                running.terminal.write(key)
                running.expect(end, since=seen)
                running.terminal.settle()

        switch()
        switched = running.terminal.measure(lambda: _repeat(switch)).cpu
        running.terminal.write(ESCAPE)
        running.terminal.settle(0.3)
        running.compose("begin")  # the first one starts the agent, and it says again what it was told
        seen = len(running.terminal.outputs)
        running.submit()
        running.expect("begin", since=seen)
        running.terminal.settle(1.0)
        prompted = running.terminal.measure(lambda: _repeat(running.greet)).cpu
    return {"switch": switched / SWITCHES, "prompt": prompted / SWITCHES}


def _repeat(act: Callable[[], None]) -> None:
    for _ in range(SWITCHES):
        act()


def _begin(running: Running, end: str) -> None:
    running.expect(end)
    running.terminal.settle(1.0)


async def _seed(folder: Path) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await _broad(seeder)
        await _two_ends(seeder, LONG)


async def _seed_two_ends(folder: Path, length: int) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        await _two_ends(seeder, length)


async def _broad(seeder: Seeder) -> None:
    """Prompts of which every tenth begins a branch of its own."""
    answers: list[str] = []
    rows = []
    conversation = await _conversation(seeder, BROAD_TITLE)
    for number in range(PROMPTS):
        above = answers[-1] if answers else None
        if number and number % BRANCH_EVERY == 0:
            above = answers[-BRANCH_EVERY // 2]
        prompt, answer = seeder.new_id(), seeder.new_id()
        rows.append(NewMessage(prompt, conversation, above, Kind.USER, f"Question {number}"))
        rows.append(NewMessage(answer, conversation, prompt, Kind.AGENT, f"Answer {number}"))
        answers.append(answer)
    await _keep(seeder, conversation, rows)


async def _two_ends(seeder: Seeder, length: int) -> None:
    """A long branch whose last prompt was said in two versions."""
    conversation = await _conversation(seeder, LONG_TITLE)
    rows: list[NewMessage] = []
    for number in range(length - 2):
        kind = Kind.AGENT if number % 2 else Kind.USER
        above = rows[-1].id if rows else None
        text = markdown(60, number) if number % 2 else f"Question {number}"
        rows.append(NewMessage(seeder.new_id(), conversation, above, kind, text))
    parting = rows[-1].id
    for end in (FIRST_END, OTHER_END):
        prompt = NewMessage(seeder.new_id(), conversation, parting, Kind.USER, "And at last?")
        rows += [
            prompt,
            NewMessage(seeder.new_id(), conversation, prompt.id, Kind.AGENT, markdown(60, 1, end)),
        ]
    await _keep(seeder, conversation, rows)


async def _conversation(seeder: Seeder, title: str) -> str:
    id = seeder.new_id()
    async with seeder.database.write() as tx:
        await conversations.create(tx, id=id, agent=seeder.agent, cwd=seeder.cwd, title=title)
    return id


async def _keep(seeder: Seeder, conversation: str, rows: list[NewMessage]) -> None:
    async with seeder.database.write() as tx:
        await messages.insert_many(tx, rows)
        await conversations.touch(tx, conversation)
