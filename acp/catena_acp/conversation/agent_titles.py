"""What commands of a person's own call themselves: told when they run, and kept for when they do not."""

from __future__ import annotations

import contextlib

from catena_acp.abilities import Abilities
from catena_acp.catalog import has_no_title
from catena_acp.port import AgentPort, AgentSpec
from catena_store.chains import agents
from catena_store.database.database import Database, Writer
from catena_store.errors import StoreError

_LONGEST = 40  # characters
_WHEN_LAST_RUN = ""  # in the place of a version: whichever that was
_TITLE = "title"


def title_of(spec: AgentSpec, abilities: Abilities | None) -> str:
    """What a person reads for an agent: its title here, or what a command without one calls itself once it runs."""
    if abilities is None or not has_no_title(spec):
        return spec.title
    return _readable(abilities.title) or _readable(abilities.name) or spec.title


class AgentTitles:
    """Of every command that has run, what it called itself last."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}  # by the name that links are stamped with
        self._loaded = False

    async def load(self, db: Database) -> None:
        """Read what was kept, once; where that cannot be read, commands are called by their words."""
        if not self._loaded:
            with contextlib.suppress(StoreError):
                async with db.read() as reader:
                    kept = await agents.of_all(reader, _WHEN_LAST_RUN, _TITLE)
                self._told = {name: _readable(title) for name, title in kept.items()} | self._told
                self._loaded = True

    def heard(self, agent: AgentPort) -> None:
        """The agent has just been started, and told its name."""
        self._told[agent.spec.name] = title_of(agent.spec, agent.abilities)

    def of(self, spec: AgentSpec) -> str:
        """What a person reads for an agent that may not run."""
        return (has_no_title(spec) and self._told.get(spec.name)) or spec.title


async def keep_title(tx: Writer, agent: AgentPort) -> None:
    """Keep what a command calls itself, for the next time that nothing of it runs."""
    if has_no_title(agent.spec):
        title = title_of(agent.spec, agent.abilities)
        await agents.learn(tx, agent.spec.name, _WHEN_LAST_RUN, _TITLE, title)


def _readable(title: str) -> str:
    """A name as one short line of what can be printed; an agent may call itself anything."""
    line = " ".join("".join(each if each.isprintable() else " " for each in title).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
