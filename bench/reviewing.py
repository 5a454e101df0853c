"""A scenario of reviewing: very many changed lines, from the command to the screen, and scrolled through."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from bench.seeding import seeding
from bench.streaming import Figures
from bench.subject import AGENT_COMMAND, Subject
from bench.terminal import percentile
from bench.words import markdown
from catena_acp.agents.catalog import command_spec
from catena_store.conversations import conversations, messages
from catena_store.records import Kind, NewMessage

FILES, CHANGED_LINES = 200, 100  # lines of each file
OPENED, PAGES = 5, 40
TITLE = "Many changes"
ESCAPE, PAGE_DOWN = "\x1b", "\x1b[6~"


def many_changes(subject: Subject, folder: Path) -> Figures:
    """200 files with 20,000 changed lines: from Enter behind /changes to the files and a hunk, then page by page."""
    asyncio.run(_seed(folder))
    with subject.run(folder, options=("--resume", TITLE)) as running:
        terminal = running.terminal
        running.expect("The end of it")
        terminal.settle(1.0)
        shown = []
        for _ in range(OPENED):
            running.compose("/changes")
            seen = len(terminal.outputs)
            pressed = running.submit()
            shown.append((running.expect(f"{FILES} files", since=seen) - pressed) * 1e3)
            terminal.settle(1.0)
            terminal.write(ESCAPE)
            terminal.settle()
        running.compose("/changes")
        running.submit()
        terminal.settle(1.5)
        terminal.write("\r")
        terminal.settle(0.3)
        paged = []
        for _ in range(PAGES):
            seen = len(terminal.outputs)
            pressed = terminal.write("n")
            terminal.settle(0.1)
            if outputs := terminal.outputs[seen:]:
                paged.append((outputs[0].at - pressed) * 1e3)
        return {
            "first_shown_ms": shown[0],
            "shown_ms": percentile(shown, 0.5),
            "hunk_p95_ms": percentile(paged, 0.95),
        }


async def _seed(folder: Path) -> None:
    async with seeding(folder, command_spec(AGENT_COMMAND).name) as seeder:
        conversation = seeder.new_id()
        rows = [_row(seeder.new_id(), conversation, None, Kind.USER, "Change everything.")]
        for number in range(FILES):
            old = markdown(40, number).strip().split()
            old_lines = [f"line {at} {' '.join(old[:6])}\n" for at in range(CHANGED_LINES * 2)]
            new_lines = [
                line if at % 20 >= 10 else f"changed {at} {line}" for at, line in enumerate(old_lines)
            ]
            path = Path(seeder.cwd) / f"folder_{number % 10}" / f"file_{number:03}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(new_lines))
            diff = {"type": "diff", "path": str(path), "old": "".join(old_lines), "new": "".join(new_lines)}
            data = {"kind": "edit", "status": "completed", "title": f"Edit {path.name}", "content": [diff]}
            rows.append(_row(seeder.new_id(), conversation, rows[-1].id, Kind.TOOL, "", data))
        rows.append(_row(seeder.new_id(), conversation, rows[-1].id, Kind.AGENT, "The end of it."))
        async with seeder.database.write() as tx:
            await conversations.create(tx, id=conversation, agent=seeder.agent, cwd=seeder.cwd, title=TITLE)
            await messages.insert_many(tx, rows)
            await conversations.touch(tx, conversation)


def _row(
    id: str,
    conversation: str,
    parent: str | None,
    kind: Kind,
    text: str,
    data: Mapping[str, object] | None = None,
) -> NewMessage:
    return NewMessage(
        id=id, conversation_id=conversation, parent_id=parent, kind=kind, text=text, data=data or {}
    )
