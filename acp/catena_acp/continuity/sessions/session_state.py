"""A session's state beside its messages: modes, options, commands, usage."""

from __future__ import annotations

from dataclasses import replace

from catena_acp.continuity.conversation_events import SessionState, Usage
from catena_acp.continuity.services import title_of
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
