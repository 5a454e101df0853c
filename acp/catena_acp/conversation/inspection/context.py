"""The context of a turn's session: messages it knew, the exact text it was told, and the messages left out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from catena_acp.continuity.routing.prior_context import listed_calls
from catena_acp.continuity.wording.context_summary import ContextSummary, how_words
from catena_acp.conversation.inspection.chain import Chain
from catena_acp.spoken.spoken import Seam, spoken_of
from catena_store.chains import link_history, links, turns
from catena_store.chains.link_history import MessagePreview
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import ContextSource, Link, Turn

LEFT_OUT_SHOWN = 50  # messages of those that were left out, the newest


@dataclass(frozen=True, slots=True)
class OtherSession:
    """A session that did not carry a turn, and in words what the route made of it when the prompt was sent."""

    agent_title: str
    session_id: str
    words: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """How one turn's context got to its session."""

    turn: Turn
    link: Link
    agent_title: str
    prompt: MessagePreview
    number: int  # of the branch's turns, from 1; 0 for an attempt that is not on it any more
    total: int
    how: str  # in words
    knew: int  # user and agent rows that the session held before
    abridged: bool  # … of which it was told some only in part
    left_out: tuple[MessagePreview, ...]  # the newest of what was left out, oldest first
    tools: tuple[str, ...]  # the tool calls that were listed, in words
    # Those that the route chose from; nothing is known of them without a seam.
    others: tuple[OtherSession, ...]
    before: str | None  # the turn before on the branch, and the next one
    after: str | None
    # With what the next prompt makes of each link; of the branch's newest turn only.
    next: Chain | None = None

    @property
    def prior_context(self) -> str | None:
        """The exact text that was sent before the prompt."""
        return self.turn.prior_context


async def read_context(
    r: Reader,
    leaf: str | None,
    *,
    title_of: Callable[[str, str], str],
    message_id: str | None = None,
    turn_id: str | None = None,
) -> TurnContext | None:
    """The context of a turn: of this id, else the message's, else the branch's newest; None before the first turn."""
    turn_id = turn_id or await _turn_of(r, message_id)
    place = await turns.place_on(r, leaf, turn_id)
    turn_id = turn_id or (place.turn_id if place else None)
    turn = await turns.get(r, turn_id) if turn_id else None
    link = await links.get(r, turn.link_id) if turn else None
    prompt = await messages.get(r, turn.prompt_id) if turn else None
    if turn is None or link is None or prompt is None:
        return None
    above = prompt.parent_id
    spoken, _ = await messages.count_between(r, None, above)
    # What the session did not know is the end of the branch above the prompt, and what it was told the end of that.
    unknown = await messages.spoken_between(r, None, above, turn.told + min(turn.left_out, LEFT_OUT_SHOWN))
    left_out = [row.id for row in unknown[: len(unknown) - turn.told]] if turn.left_out else []
    row = await messages.seam_of(r, turn.id)
    said = spoken_of(row) if row else None
    seam = said if isinstance(said, Seam) else None
    seen = await link_history.previews(r, [*left_out, prompt.id])
    return TurnContext(
        turn=turn,
        link=link,
        agent_title=title_of(link.agent, link.profile),
        prompt=seen[prompt.id],
        number=place.number if place else 0,
        total=place.total if place else 0,
        how=how_words(ContextSummary.of_turn(turn), opened=_opened(seam)),
        knew=spoken - turn.told_total,
        abridged=turn.unabridged_from is not None,
        left_out=tuple(seen[id] for id in left_out),
        tools=tuple(listed_calls(turn.prior_context or "")),
        others=await _others(r, seam, title_of),
        before=place.before if place else None,
        after=place.after if place else None,
    )


async def _turn_of(r: Reader, message_id: str | None) -> str | None:
    """The turn that a message belongs to: its own, else that of the nearest message above it."""
    row = await messages.get(r, message_id) if message_id else None
    while row is not None and row.turn_id is None:
        row = await messages.get(r, row.parent_id) if row.parent_id else None
    return row.turn_id if row else None


def _opened(seam: Seam | None) -> ContextSource | None:
    """How the session came to what it held before it was told the rest; a turn of an earlier version does not say."""
    said = seam.opened if seam else None
    return ContextSource(said) if said in tuple(ContextSource) else None


async def _others(
    r: Reader, seam: Seam | None, title_of: Callable[[str, str], str]
) -> tuple[OtherSession, ...]:
    """The other sessions, as the turn's seam has them; turns of an earlier version name none."""
    others = []
    for link_id, words in (seam.others or {}).items() if seam else ():
        if link := await links.get(r, link_id):
            others.append(OtherSession(title_of(link.agent, link.profile), link.session_id, str(words)))
    return tuple(others)
