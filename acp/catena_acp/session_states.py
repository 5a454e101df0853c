"""What an agent said of its open sessions that later requests and events depend on: their options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from catena_acp.answers import legacy_model_of, modes_of, options_of
from catena_acp.events import (
    CommandsChanged,
    Event,
    ModesChanged,
    Option,
    OptionsChanged,
    SessionOpened,
    TitleChanged,
    UsageReported,
)
from catena_acp.reading import Json


class SessionStates:
    """The open sessions of one agent, and the options of each.

    Older agents keep their models apart from the options; here they are an option like the others, unless the agent has
    one for the model itself.
    """

    def __init__(self) -> None:
        self._options: dict[str, tuple[Option, ...]] = {}
        self._legacy_models: dict[str, Option] = {}

    @property
    def open(self) -> frozenset[str]:
        return frozenset(self._options)

    def opened(self, answer: Json, session_id: str, replay: list[Event]) -> SessionOpened:
        """A session was opened, and this is the answer and what was told before it."""
        legacy = legacy_model_of(answer)
        if legacy is not None:
            self._legacy_models[session_id] = legacy
        options = self._complete(session_id, options_of(answer) or ())
        self._options[session_id] = options
        return SessionOpened(session_id, modes_of(answer), options, tuple(replay))

    def still_so(self, opened: SessionOpened) -> Iterator[Event]:
        """What the replay said of the session itself, where the answer, which is newer, does not say it."""
        for event in opened.replay:
            match event:
                case CommandsChanged() | TitleChanged() | UsageReported():
                    yield event
                case ModesChanged() if opened.modes is None:
                    yield event
                case OptionsChanged() if not opened.options:
                    yield event

    def told(self, session_id: str, event: Event) -> Event:
        """The event as listeners shall have it."""
        if isinstance(event, OptionsChanged):
            return OptionsChanged(self.options_told(session_id, event.options))
        return event

    def options_told(self, session_id: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """The agent said what its options are; all of them, as they stand now."""
        options = self._complete(session_id, options)
        if session_id in self._options:
            self._options[session_id] = options
        return options

    def legacy_model_is(self, session_id: str, option_id: str) -> bool:
        """True where that option stands for the models of an older agent."""
        legacy = self._legacy_models.get(session_id)
        return legacy is not None and legacy.id == option_id and legacy in self._options.get(session_id, ())

    def set_here(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]:
        """An option was set, and the agent did not say what its options are now."""
        if self.legacy_model_is(session_id, option_id):
            self._legacy_models[session_id] = replace(self._legacy_models[session_id], value=value)
        options = tuple(
            replace(option, value=value) if option.id == option_id else option
            for option in self._options.get(session_id, ())
        )
        return self.options_told(session_id, options)

    def forget(self, session_id: str) -> None:
        """The session is over."""
        self._options.pop(session_id, None)
        self._legacy_models.pop(session_id, None)

    def _complete(self, session_id: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
        legacy = self._legacy_models.get(session_id)
        if legacy is None or any(option.category == legacy.category for option in options):
            return options
        return (legacy, *options)
