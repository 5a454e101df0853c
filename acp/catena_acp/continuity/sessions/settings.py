"""The settings of a branch's sessions, and applying them to a session that was just opened.

A session that is opened again, forked or new has its agent's defaults; the person chose otherwise once. Some agents
begin in a mode that asks for nothing: modes that ask before they act are told by their ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.errors import AgentError, AgentGone
from catena_acp.port.session_events import ModesChanged, Option, OptionsChanged
from catena_store.chains import environments, links, turns
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import ChosenOption, TurnEnvironment
from catena_store.windows import windows

_UNASKED: Final = frozenset(
    {"auto", "acceptedits", "autoedit", "autoapprove", "autopilot", "bypasspermissions", "yolo"}
    | {"workspacewrite", "fullaccess", "agentfullaccess"}
)
_ASKING: Final = ("default", "ask", "manual", "readonly")  # the first that is offered


async def set_mode(live: LiveSession, mode_id: str) -> None:
    """Switch the mode, by the option that stands for it if there is one. Raises AgentError."""
    if option := option_of_category(live.state, "mode"):
        await set_option(live, option.id, mode_id)
        return
    await live.agent.set_mode(live.session_id, mode_id)
    live.take(ModesChanged(mode_id))


async def set_option(live: LiveSession, option_id: str, value: str | bool) -> None:
    """Set one option. Raises AgentError."""
    options = await live.agent.set_option(live.session_id, option_id, value)
    if options:
        live.take(OptionsChanged(options))


async def set_mode_and_model(live: LiveSession, mode: str | None, model: str | None) -> None:
    """Set what this session offers of a mode's id and a model's name, and has not in force. Raises AgentError."""
    if mode and mode != live.state.mode and mode in {choice.id for choice in live.state.modes}:
        await set_mode(live, mode)
    option = option_of_category(live.state, "model")
    if model and option and model != live.state.model:
        wanted = next((choice.id for choice in option.choices if choice.name == model), None)
        if wanted:
            await set_option(live, option.id, wanted)


MODE = "mode"  # what a mode is kept by where no option of the agent stands for it
_FIRST = ("model", "mode")  # categories; a model may change what else there is to set


@dataclass(frozen=True, slots=True)
class WantedSettings:
    """Settings to apply: a mode by its id, a model by its name, options by their ids."""

    mode: str | None
    model: str | None
    options: Mapping[str, str | bool]


async def wanted_on(reader: Reader, leaf_id: str | None, window_id: str, agent: str) -> WantedSettings | None:
    """The settings of the agent's last turn on the branch, and what the person chose in the window since."""
    turn_id = await turns.newest_on(reader, leaf_id, agent)
    turn = await turns.get(reader, turn_id) if turn_id else None
    if turn and await links.imported(reader, turn.link_id):
        turn_id = turn = None  # a file from elsewhere does not say what an agent may do unasked
    kept: TurnEnvironment | None = None
    chosen: list[ChosenOption] = []
    # Lost or damaged, one of these tables must not keep the other from coming back.
    with contextlib.suppress(StoreError):
        kept = await environments.of_turn(reader, turn_id) if turn_id else None
    with contextlib.suppress(StoreError):
        chosen = await windows.choices(reader, window_id, agent)
    if turn:
        since = turn.ended_at or turn.started_at
        chosen = [choice for choice in chosen if choice.chosen_at >= since]
    if turn is None and not chosen:
        return None
    options = {**(kept.options if kept else {}), **{choice.option: choice.value for choice in chosen}}
    mode = options.get(MODE, turn.mode if turn else None)
    return WantedSettings(mode if isinstance(mode, str) else None, turn.model if turn else None, options)


async def apply_settings(live: LiveSession, wanted: WantedSettings) -> list[str]:
    """Apply the settings that the session offers; the ones that it refused, in words."""
    refused: list[str] = []
    tried: set[str] = set()
    try:
        while option := _next(live, tried):
            tried.add(option.id)
            value = _value_of(option, wanted)
            if value is None or value == option.value:
                continue
            if option.kind == "select" and value not in {choice.id for choice in option.choices}:
                if option.category in _FIRST:
                    refused.append(f"{option.name} “{_name_of(value, wanted, option)}” is no longer offered")
                continue
            try:
                await set_option(live, option.id, value)
            except AgentGone:
                raise
            except AgentError as error:
                refused.append(f"{option.name} “{_name_of(value, wanted, option)}” ({error})")
        if option_of_category(live.state, "mode") is None:
            refused += await _apply_mode(live, wanted.mode)
    except AgentGone:
        return []  # who prompts next will say so
    return refused


async def _apply_mode(live: LiveSession, mode: str | None) -> list[str]:
    names = {choice.id: choice.name for choice in live.state.modes}
    if mode is None or mode == live.state.mode or mode not in names:
        return []
    try:
        await set_mode(live, mode)
    except AgentGone:
        raise
    except AgentError as error:
        return [f"mode “{names[mode]}” ({error})"]
    return []


def _next(live: LiveSession, tried: set[str]) -> Option | None:
    """The next option to look at; asked anew each time, since setting one may change the others."""
    left = [option for option in live.state.options if option.id not in tried]
    ranks = {category: rank for rank, category in enumerate(_FIRST)}
    return min(left, key=lambda option: ranks.get(option.category or "", len(ranks)), default=None)


def _value_of(option: Option, wanted: WantedSettings) -> str | bool | None:
    if option.kind not in ("select", "boolean"):
        return None
    kept = wanted.options.get(option.id)
    if kept is None and option.category == "mode":
        kept = wanted.mode
    if kept is None and option.category == "model" and wanted.model:
        # Kept by its name alone, from before options were.
        return next((choice.id for choice in option.choices if choice.name == wanted.model), None)
    return kept if isinstance(kept, bool) == (option.kind == "boolean") else None


def _name_of(value: str | bool, wanted: WantedSettings, option: Option) -> str:
    if option.category == "model" and wanted.model:
        return wanted.model
    return next((choice.name for choice in option.choices if choice.id == value), str(value))


async def ask_first(live: LiveSession) -> str | None:
    """Put a session that would act unasked into a mode that asks; in words what became of that, None if nothing did.

    Raises AgentGone.
    """
    state, unasked = live.state, _UNASKED | live.agent.abilities.quirks.unasked_modes
    if state.mode is None or _short(state.mode) not in unasked:
        return None
    names = {choice.id: choice.name for choice in state.modes}
    before = names.get(state.mode, state.mode)
    offered = {_short(id): id for id in names}
    for short in _ASKING:
        if (wanted := offered.get(short)) is None:
            continue
        try:
            await set_mode(live, wanted)
        except AgentGone:
            raise
        except AgentError:
            continue
        return f"{state.agent_title} is in mode “{names[wanted]}”: in “{before}” it would not ask."
    return f"{state.agent_title} is in mode “{before}”, in which it does not ask: nothing can be refused."


def _short(id: str) -> str:
    """The id of a mode without what differs between agents; of one that is an address, its last part."""
    return "".join(letter for letter in id.lower().rpartition("#")[2] if letter.isalnum())
