"""Real conversations with the quirky agent, and what its processes were asked for."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from catena_acp.continuity.services import WhileIdle
from catena_acp.port.port import AgentSpec
from support.conversations.rehearsed import Desk, World
from support.json_lines import json_lines
from support.places import QUIRKY_AGENT

IDLE = WhileIdle(probe=False, park=False)


class Quirky:
    """A place with a quirky agent of some habits."""

    def __init__(self, place: Path, *habits: str) -> None:
        self.world = World(place)
        self._home = place / "sessions"
        self._habits = habits

    @property
    def spec(self) -> AgentSpec:
        command = (sys.executable, str(QUIRKY_AGENT), *self._habits)
        return AgentSpec("quirky", "Quirky", command, (("HOME_OF_SESSIONS", str(self._home)),))

    def requests(self, *methods: str) -> list[dict[str, Any]]:
        """What its processes were asked for, oldest first."""
        asked = json_lines(self._home / "requests.jsonl")
        return [request for request in asked if not methods or request["method"] in methods]

    def opened(self) -> list[str]:
        """How sessions were opened, oldest first."""
        names = ("session/new", "session/load", "session/resume", "session/fork")
        return [request["method"].removeprefix("session/") for request in self.requests(*names)]

    @asynccontextmanager
    async def client(self, *, resume: Desk | None = None) -> AsyncIterator[Desk]:
        """One life of a client."""
        specs = {"quirky": self.spec}
        async with self.world.client(resume=resume, specs=specs, agent="quirky", while_idle=IDLE) as desk:
            yield desk
