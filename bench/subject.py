"""The programs that are measured, and how to start each of them in a scratch folder."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.terminal import Terminal

HERE = Path(__file__).resolve().parent
# What changes how a program draws, where it keeps things, or that it has its bytecode as an installed one has.
NOT_INHERITED = (
    *("TMUX", "STY", "SSH_TTY", "NO_COLOR", "COLUMNS", "LINES", "VIRTUAL_ENV", "TEXTUAL"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """A line of the agent's log."""

    at: float
    event: str
    method: str | None
    characters: int  # of a prompt, or of an answer


@dataclass
class Running:
    """A program that runs, and its agent's log."""

    terminal: Terminal
    log: Path
    ready: str
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def agent_events(self) -> list[AgentEvent]:
        """What the agent has noted so far."""
        if not self.log.exists():
            return []
        lines: list[dict[str, Any]] = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [
            AgentEvent(line["at"], line["event"], line.get("method"), line.get("characters", 0))
            for line in lines
        ]

    def compose(self, text: str) -> None:
        """Type a prompt and let it be drawn."""
        self.terminal.write(text)
        self.terminal.settle()

    def submit(self) -> float:
        """Press Enter; the time of that."""
        return self.terminal.write("\r")

    def greet(self) -> None:
        """One prompt and its answer: from here on the agent runs and has a session."""
        seen = len(self.terminal.outputs)
        self.compose("hello")
        self.submit()
        self.expect("ok: hello", since=seen)
        self.terminal.settle()

    def compose_stream(self, words: int, rate: float) -> str:
        """Type the prompt that asks for a stream; returns the text that the stream will end with."""
        run = next(self._runs)
        self.compose(f"STREAM words={words} rate={rate} run={run}")
        return f"FINISHED{run}"

    def expect(self, pattern: str, *, since: int = 0) -> float:
        """The time at which the text was shown. Raises Unusable where it was not."""
        at = self.terminal.wait_for(pattern, since=since)
        if at is None:
            shown = "\n".join(line for line in self.terminal.screen() if line)
            raise Unusable(f"{pattern!r} was not shown within a minute; the screen:\n{shown}")
        return at


class Unusable(Exception):
    """The program did not do what was waited for."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program that is measured; each start gets a folder that is new or was prepared for it."""

    name: str
    command: tuple[str, ...]  # the agent's command comes last
    ready: str  # what it shows when it takes a prompt

    def warm_up(self, folder: Path) -> None:
        """Start it once with its agent, so that its bytecode is written and its files are in memory."""
        with self.run(folder) as running:
            running.expect(running.ready)
            running.greet()

    @contextmanager
    def run(
        self,
        folder: Path,
        *,
        options: Sequence[str] = (),
        replay: int = 0,
        log: str = "agent.jsonl",
        line: Sequence[str] = (),
        columns: int = 120,
    ) -> Iterator[Running]:
        """Start it with everything that it keeps in ``folder``, and end it afterwards.

        ``line``: the command that starts it behind a line.
        """
        project = folder / "project"
        project.mkdir(parents=True, exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        environment |= {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "CATENA_DATA_DIR": str(folder / "data"),
            "CATENA_CONFIG_DIR": str(folder / "config"),
            "BENCH_AGENT_LOG": str(folder / log),
            "BENCH_REPLAY": str(replay),
        }
        command = [*line, *self.command, AGENT_COMMAND, *options]
        terminal = Terminal(command, environment=environment, directory=project, columns=columns)
        try:
            yield Running(terminal, folder / log, self.ready)
        finally:
            terminal.close()


AGENT_COMMAND = shlex.join((sys.executable, str(HERE / "fake_agent.py")))
CATENA = Subject("catena", (str(Path(sys.executable).with_name("catena")), "--agent-command"), "f1 help")
BASELINE = Subject("baseline", (sys.executable, str(HERE / "baseline_markdown.py")), "Message")
