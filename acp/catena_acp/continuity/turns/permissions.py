"""Permission requests that agents wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from catena_acp.continuity.conversation_events import ConversationEvent, PermissionClosed, PermissionOpened
from catena_acp.session_events import PermissionOption, PermissionRequested, ToolCallChanged


class Answerable(Protocol):
    """The party that waits for an answer: an agent, or Catena on its behalf."""

    def answer_permission(self, ask_id: str, option_id: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class _PendingPermission:
    window_id: str
    link_id: str
    agent: Answerable
    event: PermissionOpened


class PendingPermissions:
    """The open permission requests, until each is answered, withdrawn or cancelled with its turn."""

    def __init__(self, publish: Callable[[ConversationEvent], None]) -> None:
        self._publish = publish
        self._open: dict[str, _PendingPermission] = {}

    def add(
        self,
        window_id: str,
        link_id: str,
        agent: Answerable,
        asked: PermissionRequested,
        known: ToolCallChanged | None,
    ) -> None:
        """Add and publish a request; ``known`` is its tool call as it was reported before."""
        event = PermissionOpened(window_id, asked.ask_id, _completed(asked.tool_call, known), asked.options)
        self._open[asked.ask_id] = _PendingPermission(window_id, link_id, agent, event)
        self._publish(event)

    def of_window(self, window_id: str) -> list[PermissionOpened]:
        """The open requests of a window, oldest first."""
        return [ask.event for ask in self._open.values() if ask.window_id == window_id]

    def get(self, ask_id: str) -> tuple[str, Sequence[PermissionOption]] | None:
        """The link and the options of an open request."""
        ask = self._open.get(ask_id)
        return (ask.link_id, ask.event.options) if ask else None

    def answer(self, ask_id: str, option_id: str | None) -> str | None:
        """Answer a request; returns its window, or None if it is no longer open."""
        ask = self._open.pop(ask_id, None)
        if ask is None:
            return None
        ask.agent.answer_permission(ask_id, option_id)
        self._publish(PermissionClosed(ask.window_id, ask_id))
        return ask.window_id

    def withdrawn(self, ask_id: str) -> None:
        """Drop a request that the agent withdrew."""
        if ask := self._open.pop(ask_id, None):
            self._publish(PermissionClosed(ask.window_id, ask_id))

    def cancel(self, link_id: str) -> None:
        """Answer every open request of a link's session with `cancelled`."""
        for ask_id in [ask_id for ask_id, ask in self._open.items() if ask.link_id == link_id]:
            self.answer(ask_id, None)


def _completed(call: ToolCallChanged, known: ToolCallChanged | None) -> ToolCallChanged:
    """The call of a request, completed from ``known`` if the request names only its id."""
    if known is None:
        return call
    return ToolCallChanged(
        tool_call_id=call.tool_call_id,
        title=call.title or known.title,
        kind=call.kind or known.kind,
        status=call.status or known.status,
        name=call.name or known.name,
        locations=call.locations or known.locations,
        content=call.content or known.content,
        raw_input=call.raw_input if call.raw_input is not None else known.raw_input,
        raw_output=call.raw_output if call.raw_output is not None else known.raw_output,
    )
