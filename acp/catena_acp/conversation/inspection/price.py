"""What the next prompt would need: what would be told to whom, before anything is done.

The route is asked, as for a prompt, and the text is made that would be sent; no process is started for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.prior_context import PriorContext, what_to_tell
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.wording import ABRIDGED, counted
from catena_acp.conversation.branches.logout_barrier import SAID_BEFORE, said_before_logout
from catena_acp.conversation.runtime import ConversationRuntime
from catena_acp.port import AgentSpec
from catena_store.chains.links import Unset
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import ContextSource, Kind, PathRow
from catena_store.windows import windows

_NEXT_PROMPT = PathRow(id="", kind=Kind.USER, turn_id=None)
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Price:
    """What it takes to go on: how the context would get there, and what would be told."""

    how: ContextSource
    told: int  # user and agent rows that would be told,
    told_total: int  # … of so many that the session does not know
    tools: int  # tool calls that would be listed
    tokens: int  # about: a quarter of the characters of the very text that would be sent
    left_out: int
    exact: bool  # False where the agent does not run, and what it can do is assumed
    abridged: bool = False  # what the session was told earlier was cut
    before_logout: bool = False  # it takes along what was said before the person logged out of the agent

    @property
    def native(self) -> bool:
        """True where nothing would be replayed."""
        return not self.told and not self.tools and not self.left_out

    @property
    def words(self) -> str:
        """The price in one line."""
        parts = []
        if self.native:
            parts.append(
                "new session: nothing to tell"
                if self.how is ContextSource.FRESH
                else "native: nothing replayed"
            )
        elif self.told_total:
            done = "caught up with" if self.how is ContextSource.CAUGHT_UP else "told"
            parts.append(f"{done} {self.told:,} of {counted(self.told_total, 'message')}")
        if self.tools:
            parts.append(f"{counted(self.tools, 'tool call')} listed")
        if self.tokens:
            parts.append(f"about {_rounded(self.tokens):,} tokens")
        if self.left_out:
            parts.append(f"{self.left_out:,} left out")
        if self.abridged:
            parts.append(ABRIDGED)
        likely = "" if self.exact else "probably "
        taken_along = f"{SAID_BEFORE}, " if self.before_logout else ""  # first: a narrow screen cuts the end
        return taken_along + likely + ", ".join(parts)


async def prices(
    core: ConversationRuntime,
    window_id: str,
    specs: Sequence[AgentSpec],
    *,
    leaf_id: str | Unset | None,
    apart: bool = False,
) -> list[Price]:
    """What the next prompt of a window would need with each of the agents; the branch is read once.

    ``leaf_id`` is the row that the prompt would hang from, where that is not the window's leaf. ``apart``: in a
    conversation of its own, whose links this one's are not. Raises ReadOnly.
    """
    core.writable()
    async with core.services.db.read() as reader:
        if isinstance(leaf_id, Unset):
            window = await windows.get(reader, window_id)
            leaf_id = window.leaf_id if window else None
        path = [*await messages.path(reader, leaf_id), _NEXT_PROMPT]
        contexts = [core.send_context(spec=spec) for spec in specs]
        return [await _price(context, reader, window_id, leaf_id, path, apart) for context in contexts]


async def _price(
    context: SendContext,
    reader: Reader,
    window_id: str,
    leaf_id: str | None,
    path: Sequence[PathRow],
    apart: bool,
) -> Price:
    agent = context.agents.live(context.spec, context.record.family)
    situation = await context.situation_with(reader, agent.abilities if agent else None, window_id, path)
    if apart:
        situation = replace(situation, conversation_id="", window_id="")
    knows, how, unabridged_from = _first_step(route.candidates(situation)[0], context)
    prior = await what_to_tell(reader, path, knows, leaf_id, context.services.budget)
    spec = context.spec
    return Price(
        how=_with_telling(how, knows, prior),
        told=prior.told if prior else 0,
        told_total=prior.told_total if prior else 0,
        tools=prior.tools_listed if prior else 0,
        tokens=-(-len(prior.text) // _CHARACTERS_A_TOKEN) if prior else 0,
        left_out=prior.left_out if prior else 0,
        exact=agent is not None,
        abridged=unabridged_from is not None,
        before_logout=await said_before_logout(reader, path, context.record, spec.name, spec.profile),
    )


def _first_step(step: route.Step, context: SendContext) -> tuple[str | None, ContextSource, str | None]:
    """What the session would know, how it would come to that, and from where on that is unabridged."""
    match step:
        case route.Use(link):
            live = context.sessions.of(link)
            return link.knows, live.opened if live else ContextSource.RESUMED, link.unabridged_from
        case route.Fork(link):
            return link.knows, ContextSource.FORKED, link.unabridged_from
        case route.ForkAt(_, turn):
            return turn.last_id, ContextSource.FORKED_AT, turn.unabridged_from
        case route.New():
            return None, ContextSource.FRESH, None


def _with_telling(how: ContextSource, knows: str | None, prior: PriorContext | None) -> ContextSource:
    if prior:
        return ContextSource.TOLD if knows is None else ContextSource.CAUGHT_UP
    if knows is None:
        return ContextSource.FRESH
    return ContextSource.CONTINUED if how is ContextSource.FRESH else how


def _rounded(tokens: int) -> int:
    """As exact as a quarter of some characters can be."""
    unit = 100 if tokens >= 1_000 else 10 if tokens >= 100 else 1
    return round(tokens / unit) * unit
