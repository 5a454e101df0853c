"""Where the next prompt would go, and of each link why it would or would not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.explanation import explanation_words
from catena_acp.continuity.sending.context import read_situation
from catena_acp.continuity.sessions.agent_pool import kept_powers
from catena_store.database.database import Reader
from catena_store.records import ConversationRecord, Link


@dataclass(frozen=True, slots=True)
class NextPrompt:
    """The session that the next prompt of a branch would go to, in words."""

    goes_to: str
    links: Mapping[str, str]  # by id: whether the prompt would go to the link, and why not


async def read_next_prompt(
    reader: Reader,
    record: ConversationRecord,
    leaf_id: str | None,
    shown: Sequence[Link],
    *,
    window_id: str = "",
    open_windows: Collection[str] = (),
    warm: Collection[str] = (),
) -> NextPrompt:
    """Ask the route about a prompt below the leaf; ``shown`` are explained beside the links that the route looks at.

    ``warm`` are the links whose session is open here. Starts nothing: what the agent can do is what it last could.
    """
    situation = await read_situation(
        reader,
        record,
        route.Target(record.agent, record.profile, record.cwd),
        window_id,
        leaf_id,
        frozenset(open_windows),
        await kept_powers(reader, record.agent),
        others=shown,
    )
    situation = replace(situation, warm=frozenset(warm))
    explained = route.explain(situation)
    taken = next((each.step for each in explained if each.taken), None)
    return NextPrompt(_goes_to(taken), {each.link.id: explanation_words(each) for each in explained})


def _goes_to(step: route.Step | None) -> str:
    match step:
        case route.Use(link):
            return f"the session {link.session_id}"
        case route.Fork(link):
            return f"a fork of the session {link.session_id}"
        case route.ForkAt(link):
            return f"a fork, at an earlier turn, of the session {link.session_id}"
        case route.Copy(link):
            return f"a copy of the session {link.session_id}"
        case _:
            return "a new session"
