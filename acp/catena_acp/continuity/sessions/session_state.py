"""A session's state beside its messages: modes, options, commands, usage, and the total cost that its agent reports.

Some agents keep the total with the session, so that it goes on when the session is opened again or forked; of others it
begins at nothing with each process. They do not say which, so that is learnt, per version and way of opening.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from catena_acp.continuity.conversation_events import SessionState, Usage
from catena_acp.continuity.services import title_of
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import (
    CommandsChanged,
    Event,
    ModesChanged,
    Option,
    OptionsChanged,
    SessionOpened,
    UsageReported,
)
from catena_store.chains import agents, usage
from catena_store.database.database import Writer
from catena_store.records import ContextSource, Link

_GOES_ON: Final = "goes on"
_BEGINS_ANEW: Final = "begins anew"
_TURNS_THAT_TELL = 3  # one turn hardly costs as much as these together


def opened_state(agent: AgentPort, link_id: str, opened: SessionOpened) -> SessionState:
    """The state of a session that was just opened."""
    state = SessionState(
        agent_title=title_of(agent.spec, agent.abilities),
        agent_version=agent.abilities.version,
        images=agent.abilities.image,
        image_limits=agent.abilities.image_limits,
        link_id=link_id,
    )
    if opened.modes:
        state = with_event(state, opened.modes)
    if opened.options:
        state = with_event(state, OptionsChanged(opened.options))
    return state


def with_event(state: SessionState, event: Event) -> SessionState:
    """The state after an event; the same object where the event says nothing about it."""
    match event:
        case ModesChanged(current, modes):
            return replace(state, mode=current, modes=state.modes if modes is None else modes)
        case OptionsChanged(options):
            return _with_options(state, options)
        case CommandsChanged(commands):
            return replace(state, commands=commands)
        case UsageReported(used, size, cost, currency):
            before = state.usage
            if before and cost is None:
                cost, currency = before.cost, before.currency
            return replace(state, usage=Usage(used, size, cost, currency))
        case _:
            return state


def option_of_category(state: SessionState, category: str) -> Option | None:
    """The first option of a category, if the agent offers one."""
    return next((option for option in state.options if option.category == category), None)


def _with_options(state: SessionState, options: tuple[Option, ...]) -> SessionState:
    state = replace(state, options=options)
    if model := option_of_category(state, "model"):
        state = replace(state, model=_name_of(model))
    # Where options are offered they replace modes; the mode is then one of them.
    if mode := option_of_category(state, "mode"):
        state = replace(state, mode=str(mode.value), modes=mode.choices)
    return state


def _name_of(option: Option) -> str:
    return next((choice.name for choice in option.choices if choice.id == option.value), str(option.value))


@dataclass(slots=True)
class SessionTotal:
    """What a session reported of its total since it was opened in this process."""

    before: float | None = None  # the first figure before the first prompt
    last: float | None = None  # at the end of the last turn that reported one

    def take(self, total: float, *, prompted: bool) -> None:
        """Take in a figure; ``prompted``: a prompt went out to the session since it was opened."""
        if self.before is None and not prompted:
            self.before = total

    async def share(
        self, tx: Writer, abilities: Abilities, opened: ContextSource, link: Link, total: float
    ) -> float:
        """What a turn cost at whose end the session reports this total; ``opened`` is how it was opened here.

        Nothing is changed: once the turn's end is committed, ``last`` is to be set.
        """
        base = self.last if self.last is not None else self.before
        if base is None:
            base = await _base(tx, abilities, opened, link, total)
        return total - base if total >= base else total


async def _base(tx: Writer, abilities: Abilities, opened: ContextSource, link: Link, total: float) -> float:
    """The figure from which a session counts that was opened here and reported none before its first prompt."""
    stored = link.cost_total
    if not stored or opened is ContextSource.FRESH:
        return 0.0
    version, name = (abilities.name, abilities.version), f"total when {opened}"
    known = (await agents.abilities(tx, *version)).get(name)
    if total < stored:
        learnt = _BEGINS_ANEW
    elif known is None and (
        opened in abilities.quirks.total_goes_on or await usage.paid_turns(tx, link) >= _TURNS_THAT_TELL
    ):
        learnt = _GOES_ON
    else:
        learnt = known or ""
    if learnt != (known or ""):
        await agents.set_ability(tx, *version, name, learnt)
    return stored if learnt == _GOES_ON else 0.0
