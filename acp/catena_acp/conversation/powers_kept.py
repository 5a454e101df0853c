"""What an agent could do about sessions when it last ran: all that is known of one that does not run now."""

from __future__ import annotations

from catena_acp.conversation import route
from catena_acp.port import AgentPort, AgentSpec
from catena_store.chains import agents
from catena_store.database.database import Reader, Writer

_WHEN_LAST_RUN = ""  # in the place of a version: whichever that was


async def keep_powers(tx: Writer, agent: AgentPort) -> None:
    """Keep what a running agent can do, under the name that its links are stamped with."""
    abilities = agent.abilities
    for name, power in (("reopens", abilities.reopens), ("forks", abilities.fork)):
        await agents.learn(tx, agent.spec.name, _WHEN_LAST_RUN, name, "yes" if power else "no")


async def keep_fork_at(tx: Writer, agent: AgentPort, *, honoured: bool) -> None:
    """Keep what was learnt of the version that runs: the next one will probably do the same."""
    await agents.learn(
        tx, agent.spec.name, _WHEN_LAST_RUN, "forks_at", "yes" if honoured and agent.abilities.fork else "no"
    )


async def kept_powers(r: Reader, spec: AgentSpec) -> route.Powers:
    """What it could do then; of one that never ran, that it can open a session again."""
    known = await agents.known(r, spec.name, _WHEN_LAST_RUN)
    return route.Powers(
        reopens=known.get("reopens") != "no",
        forks=known.get("forks") == "yes",
        forks_at=known.get("forks_at") == "yes",
    )
