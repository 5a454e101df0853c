"""A real agent, offline, and the command line of Catena in front of it.

What the agent heard is read from the log of the fake model behind it: what the model was really sent.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.json_lines import json_lines
from support.places import RIG

CATENA = str(Path(sys.executable).with_name("catena"))
RIGS = Path(  # where `tests/rig/rig` installs agents
    os.environ.get("ACP_RIGS")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acp-rigs"
)
PATIENCE = 60.0  # seconds; real agents take a few to start


@dataclass(frozen=True, slots=True)
class Heard:
    """One request that the model behind the agent was sent: all that it knew when it answered."""

    users: list[str]  # each user message as one text
    last: list[str]  # the blocks of the last one
    everything: str
    tool_results: int
    results: str  # the texts of the tools
    tools: frozenset[str]  # that the model could call

    @classmethod
    def of(cls, line: dict[str, Any]) -> Heard:
        """What a line of the model's log says."""
        messages = line["messages"]
        users = [message["texts"] for message in messages if message["role"] == "user" and message["texts"]]
        everything = "\n".join(text for message in messages for text in message["texts"])
        results = sum(bool(message["tool_result"]) for message in messages)
        told = "\n".join(text for message in messages for text in message["results"])
        said = ["\n".join(texts) for texts in users]
        return cls(said, users[-1] if users else [], everything, results, told, frozenset(line["tools"]))


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command line ended."""

    status: int
    output: str
    errors: str


class RealAgent:
    """One installed agent with a home, a model, a project and a store of its own."""

    def __init__(self, name: str, folder: Path, model_port: int, model_log: Path) -> None:
        self.name = name
        self.home = folder / "home"
        self.project = folder / f"acp-cwd-{name}"  # the fake model finds a directory of this name by itself
        self.data = folder / "data"
        self._log = model_log
        self._skipped = len(self._lines())
        for made in (self.home, self.project):
            made.mkdir()
        settings = [f"RIG_HOME={self.home}", f"FAKE_MODEL_PORT={model_port}"]
        self.command = shlex.join(["env", *settings, str(RIG / "rig"), "run", name])
        self.environment = {
            **os.environ,
            "CATENA_DATA_DIR": str(self.data),
            "CATENA_CONFIG_DIR": str(folder / "config"),
        }

    def run(self, prompt: str, *options: str) -> Ran:
        """``catena run`` to its end."""
        done = subprocess.run(
            self._arguments(prompt, options),
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, prompt: str, *options: str) -> Iterator[subprocess.Popen[str]]:
        """``catena run`` that goes on; it is killed at the end of the block where it has not ended."""
        with subprocess.Popen(
            self._arguments(prompt, options),
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def heard(self, prompt: str) -> Heard:
        """What the model was sent when the agent was given this prompt.

        Agents ask it of their own accord too, for titles and suggestions; those end in words of theirs.
        """
        requests = [Heard.of(line) for line in self._lines()[self._skipped :] if line["tools"]]
        found = [heard for heard in requests if heard.last and heard.last[-1] == prompt]
        assert found, f"the model never heard {prompt!r}: {[heard.last for heard in requests]}"
        return found[-1]

    def asked(self, prompt: str) -> int:
        """How often the model was asked to answer this prompt."""
        requests = [Heard.of(line) for line in self._lines()[self._skipped :] if line["tools"]]
        return sum(bool(heard.last) and heard.last[-1] == prompt for heard in requests)

    def kept(self) -> dict[str, Any]:
        """Everything that is kept of the one conversation there is."""
        (conversation,) = self._json("list", "--json")
        shown = self._json("show", str(conversation["id"]), "--json")
        assert isinstance(shown, dict)
        return shown

    def processes(self) -> list[int]:
        """The agent's processes: all that have its home."""
        mark = f"HOME={self.home}\0".encode()
        found = []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # it ended meanwhile
                if mark in environment.read_bytes():
                    found.append(int(environment.parent.name))
        return found

    def kill(self) -> None:
        """End the agent at once, as a crash or the system would."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _arguments(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        goes_on = "--continue" in options
        agent = [] if goes_on else ["--agent-command", self.command]
        return [CATENA, "run", *agent, *options, prompt]

    def _json(self, *arguments: str) -> Any:
        command = [CATENA, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def _lines(self) -> list[dict[str, Any]]:
        return json_lines(self._log)


@contextmanager
def fake_model(log: Path) -> Iterator[int]:
    """The model behind the agents, for the length of the block; gives its port."""
    command = [sys.executable, "-m", "fake_model", "--log", str(log)]
    with subprocess.Popen(command, cwd=RIG, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


@contextmanager
def with_its_model(name: str, place: Path) -> Iterator[RealAgent]:
    """An agent at home in a directory, with a model of its own; both end with the block."""
    log = place / "requests.jsonl"
    with fake_model(log) as port:
        agent = RealAgent(name, place, port, log)
        try:
            yield agent
        finally:
            agent.kill()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What the process has written when ``text`` is in it."""
    assert process.stdout is not None
    written = ""
    while text not in written:
        more = process.stdout.read(1)
        assert more, f"ended before {text!r} was written: {written!r}"
        written += more
    return written


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Return once ``holds`` is true; fails where that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)
