"""Setting what a session offers: its mode, its model, its options."""

from __future__ import annotations

from catena_acp.conversation.session_state import option_of_category
from catena_acp.conversation.sessions import LiveSession
from catena_acp.events import ModesChanged, OptionsChanged


async def set_mode(live: LiveSession, mode_id: str) -> None:
    """Switch the mode, by the option that stands for it where there is one. Raises AgentError."""
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
