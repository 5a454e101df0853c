"""The prompts under way in one agent's process, and which of their turns knows a tool call."""

from __future__ import annotations

from collections.abc import Iterator

from catena_acp.port.session_events import Event, PermissionRequested, ToolCallChanged


class RunningPrompts:
    """The sessions with a prompt under way, each with the tool calls that its turn was told of."""

    def __init__(self) -> None:
        self._prompts: dict[str, int] = {}
        self._calls: dict[str, set[str]] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._prompts

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._prompts))

    def begin(self, session_id: str) -> None:
        """Note that a prompt goes out to the session."""
        self._prompts[session_id] = self._prompts.get(session_id, 0) + 1
        self._calls.setdefault(session_id, set())

    def end(self, session_id: str) -> bool:
        """Note that a prompt of the session is over; True if it was its last."""
        self._prompts[session_id] -= 1
        if self._prompts[session_id]:
            return False
        del self._prompts[session_id], self._calls[session_id]
        return True

    def note(self, session_id: str, event: Event) -> None:
        """Note the tool call that an event of the session is about."""
        call = event.tool_call if isinstance(event, PermissionRequested) else event
        if isinstance(call, ToolCallChanged) and session_id in self._calls:
            self._calls[session_id].add(call.tool_call_id)

    def that_knows(self, call_id: str | None) -> str | None:
        """The session whose running turn knows a tool call."""
        return next((session_id for session_id, calls in self._calls.items() if call_id in calls), None)

    @property
    def only(self) -> str | None:
        """The session with a running turn, if there is just one."""
        return next(iter(self._prompts)) if len(self._prompts) == 1 else None
