"""Linear mode in this process, at what it takes for a terminal: what a person types, and what they see of it.

A script has one line for each line that is typed. Its first character says when, and the rest is what:

    ▸ say Hello.     when the client is ready for a line, and nothing goes on
    ▹ /retry         at once, while the agent works or starts
    ◂ /agent slow    as the first, and Ctrl+C as soon as the agent starts: nobody waits for it any more
    § echo 1 > a     is run by a shell in the project, when nothing goes on
    ¶ give go        the same, at once
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catena.linear import narrator
from catena.linear.client import LinearClient
from catena.linear.context import LinearContext
from catena.linear.input import InputLine, LineInput
from catena.linear.output import LineOutput
from catena.linear.start import _serve
from catena.settings.agents import find_agent
from catena.settings.linear import LinearSetting
from catena.settings.settings import Start, load_settings
from catena_acp.continuity.conversation_events import Doing
from catena_acp.snapshots import keeping

READY, AT_ONCE, GIVEN_UP = "▸", "▹", "◂"
SIGNS = READY + AT_ONCE + GIVEN_UP
SHELL, SHELL_AT_ONCE = "§", "¶"
_SECONDS = 120  # for a whole script: else something is waited for that never comes


class ScriptedLines(LineInput):
    """The lines of a script, each typed when the client asks for one; at their end the person leaves."""

    def __init__(self, script: Iterable[str]) -> None:
        super().__init__(-1, terminal=True, clock=lambda: self.clock)
        self._script = iter(script)
        self.client: LinearClient
        self.context: LinearContext
        self.seen: list[str] = []  # what has been written, and typed
        self._giving_up: asyncio.Task[None] | None = None
        self.clock = 0.0  # seconds: half of one for each line that is typed

    @property
    def typed_ahead(self) -> bool:
        """Never: a line is typed when it is asked for."""
        return False

    async def _next(self) -> InputLine | None:
        for line in self._script:
            sign, text = line[0], line[1:].removeprefix(" ")
            if not self.context.in_dialog:
                await self._until(ready=sign not in (AT_ONCE, SHELL_AT_ONCE))
            if sign in (SHELL, SHELL_AT_ONCE):
                self.context.out.line(line)
                await asyncio.to_thread(
                    subprocess.run, text, shell=True, check=True, cwd=self.context.start.directory
                )
                continue
            self.clock += 0.5
            self.seen.append(f"{sign}{text}\n")
            if not self.context.out.marker:
                self.context.out.mark(" ")  # nothing stands there: the next line begins behind what was typed
            if sign == GIVEN_UP:
                self._giving_up = asyncio.create_task(self._give_up())
            return InputLine(text, self.clock)
        if not self.context.in_dialog:
            await self._until(ready=True)
        return None

    async def _give_up(self) -> None:
        while self.context.here.doing is not Doing.STARTING:  # noqa: ASYNC110 - as a person looks
            await asyncio.sleep(0.01)
        self.client.interrupt()

    async def _until(self, *, ready: bool) -> None:
        """Wait until nothing goes on, or only until all is said of what does, with the price of the next prompt."""
        await self._come_to(ready=ready)
        while self.client._pricing is not None:  # what came meanwhile is priced again
            await self.client._pricing

    async def _come_to(self, *, ready: bool) -> None:
        if not ready:
            await self.client._narrator.catch_up()
            while self.context.here.window.in_turn and not self.client._narrator._running:
                await asyncio.sleep(0.01)  # until the tool call is there that every turn here begins with
                await self.client._narrator.catch_up()
            return
        self.terminal = False  # a file's lines wait for the turn, and for what is done behind it
        try:
            await self.client._ready_for_line()
            for tab in self.context.tabs.tabs:
                if tab is not self.context.tab and not tab.asks:
                    await tab.window.wait_idle()
                # What is written now is no turn's any more.
                if tab.conversation.services.snapshots is not None:
                    await tab.conversation.services.snapshots.settled()
            await self.client._narrator.catch_up()
        finally:
            self.terminal = True
        self.client._ready()

    def suspend(self) -> None:
        """Read on: no other program gets this terminal."""

    def resume(self) -> None:
        """Read on."""


# Beside the rehearsal agent: another, one that is not there, one that wants a login, one that starts at a cue.
_SETTINGS = """park = "off"
agent = "rehearsal"
agents.two = { command = "two --name Two" }
agents.gone = { command = "gone" }
agents.wall = { command = "two --auth=required --name Wall" }
agents.slow = { command = "two --name Slow", env = { CATENA_REHEARSAL_FAULTS = "../faults.json" } }
"""
_TWO = f"""#!{sys.executable}
from catena_acp.rehearsal import agent
from catena_acp.rehearsal.__main__ import main

handshake = agent.handshake


def named(options, login):
    answer = handshake(options, login)
    answer["agentInfo"]["title"] = options.name
    return answer


agent.handshake = named
main()
"""
_GIVE = """#!/bin/sh
mkdir -p $XDG_STATE_HOME/catena/rehearsal/cues && touch $XDG_STATE_HOME/catena/rehearsal/cues/$1
"""


@contextmanager
def furnish(home: Path, monkeypatch: pytest.MonkeyPatch, settings: str = "") -> Iterator[Path]:
    """A project below a home with settings, two agents and nothing else of this machine; `give CUE` gives a cue.

    What is done to files waits until they are kept.
    """
    bin, project, config = home / "bin", home / "project", home / "config"
    for directory in (bin, project, config):
        directory.mkdir()
    for name in ("sh", "git", "mkdir", "touch", "rm", "mv", "cat", "sleep"):
        (bin / name).symlink_to(str(shutil.which(name)))
    for name, text in (("two", _TWO), ("give", _GIVE)):
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    (config / "config.toml").write_text(settings + _SETTINGS)
    (home / "faults.json").write_text('{"initialize": {"cue": "start"}}')
    environment = {"HOME": str(home), "PATH": str(bin), "SHELL": "/bin/sh", "GIT_CONFIG_GLOBAL": os.devnull}
    with monkeypatch.context() as patched:
        for variable, value in environment.items():
            patched.setenv(variable, value)
        patched.setattr(narrator, "_FIRST_WAIT", 60.0)
        patched.setattr(keeping, "PATIENCE", 60.0)
        patched.setattr(keeping, "CHANGE_PATIENCE", 60.0)
        patched.setattr(keeping, "_SLOW", 60.0)
        subprocess.run(["git", "-c", "init.defaultBranch=main", "init", "-q"], cwd=project, check=True)
        yield project


async def converse(
    script: Iterable[str],
    project: Path,
    *,
    conversation_id: str | None = None,
    level: LinearSetting = LinearSetting.NORMAL,
) -> str:
    """All that stands on the terminal when the script is over; what was typed is behind its sign.

    It begins with a new conversation, unless one is named.
    """
    settings, lines = load_settings(), ScriptedLines(script)
    agent = None if conversation_id else find_agent("rehearsal", settings)
    context = LinearContext(
        Start(str(project), agent=agent, conversation_id=conversation_id, settings=settings),
        LineOutput(lines.seen.append, most_bells=0),
        lines,
        level=level,
        environment=os.environ,
        clock=lambda: lines.clock,
        echoes=True,
    )
    lines.context, lines.client = context, LinearClient(context)
    async with asyncio.timeout(_SECONDS):
        await _serve(lines.client, context, flag="--linear ")
    return "".join(lines.seen)
