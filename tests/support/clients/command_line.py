"""The real ``catena`` executable, in a data folder and a home of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar

from catena_store.database.database import Database, Writer
from catena_store.windows import inputs
from support.clients.forked import is_forkable, run_forked

T = TypeVar("T")
EXECUTABLE = Path(sys.executable).parent / "catena"


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as one JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def event(self, name: str) -> dict[str, Any]:
        """The only event of this name."""
        (found,) = (event for event in self.events if event["event"] == name)
        return found


class Catena:
    """Starts ``catena`` as a script would: no terminal, nothing of this machine's settings."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.project = place / "project"
        self.data = place / "data"
        self.config = place / "config"
        for directory in (self.home, self.project, self.config):
            directory.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CATENA_DATA_DIR": str(self.data),
            "CATENA_CONFIG_DIR": str(self.config),
        }

    @property
    def store(self) -> Path:
        return self.data / "catena.db"

    def start(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, **environment: str
    ) -> subprocess.Popen[str]:
        """Start it in the project directory, in a session of its own: there is no terminal to ask on."""
        return subprocess.Popen(
            [EXECUTABLE, *arguments],
            cwd=self.project,
            env=self.environment | environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __call__(self, *arguments: str, stdin: str | None = None, **environment: str) -> Finished:
        """Run it to its end: forked, unless it is given what Python itself heeds when it starts."""
        if is_forkable(environment):
            status, *outputs = run_forked(
                arguments, self.project, self.environment | environment, (stdin or "").encode()
            )
            return Finished(
                status, *(TextIOWrapper(BytesIO(each), encoding="utf-8").read() for each in outputs)
            )
        process = self.start(
            *arguments, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **environment
        )
        with process:
            try:
                out, err = process.communicate(stdin, timeout=60)
            except BaseException:
                process.kill()
                raise
        return Finished(process.returncode, out, err)

    def cue(self, name: str) -> None:
        """Let the rehearsal agent go on that waits for this cue, or will wait for it."""
        cues = self.home / ".local" / "state" / "catena" / "rehearsal" / "cues"
        cues.mkdir(parents=True, exist_ok=True)
        (cues / name).touch()

    def settings(self, text: str) -> Path:
        """Write the settings file."""
        path = self.config / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def write(self, work: Callable[[Writer], Awaitable[T]]) -> T:
        """Do one write transaction on the store."""

        async def done() -> T:
            async with Database.open(self.store) as db, db.write() as tx:
                return await work(tx)

        return asyncio.run(done())


def run(catena: Catena, *arguments: str, stdin: str | None = None, **environment: str) -> Finished:
    """`catena run` with the rehearsal agent."""
    return catena("run", "--agent", "rehearsal", *arguments, stdin=stdin, **environment)


def shown(catena: Catena, id: str) -> Any:
    """All that the store has of a conversation, as `catena show --json` gives it."""
    return catena("show", id, "--json").json


def typed(catena: Catena) -> list[str]:
    """What is in the history of inputs, newest first."""

    async def read(tx: Writer) -> list[str]:
        return [text for _, text in await inputs.recent(tx)]

    return catena.write(read)


def turns_kept(store: Path, *, ended: bool = False) -> int:
    """How many turns there are whose files were kept at their beginning, or at their end, too."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        try:
            counted = "count(after)" if ended else "count(*)"
            return int(connection.execute(f"SELECT {counted} FROM turn_files").fetchone()[0])
        except sqlite3.OperationalError:  # it is just being made
            return 0


def newest(catena: Catena) -> str:
    """The id of the newest conversation."""
    id: str = catena("list", "--json").json[0]["id"]
    return id


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read standard output until the text has come."""
    assert process.stdout
    seen = ""
    while text not in seen:
        more = process.stdout.read(1)
        assert more, f"it ended before {text!r}: {seen!r}"
        seen += more
    return seen


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Look again and again until it holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)


def agents_of(catena: Catena) -> list[int]:
    """The processes that run in the project directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink() == catena.project.resolve():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def run_between_snapshots(catena: Catena, prompt: str, *arguments: str) -> None:
    """The agent does what it is asked to once the files are kept as they were, for which it would not wait for long."""
    before = turns_kept(catena.store)
    with catena.start("run", *arguments, "--permissions", "allow", prompt) as begun:
        wait_until(lambda: begun.poll() is not None or turns_kept(catena.store) > before)
        catena.cue(prompt.split(";")[0].removeprefix("cue "))
        _, err = begun.communicate(timeout=60)
    assert begun.returncode == 0, err
