"""Work that outlives its turn: what of it goes on, by what agents tell. Pure.

A command that was left running is known from its call's row, which names it. It ends with a later update of that call,
when the agent stops it by its id, when the agent says that some of its work is over, or with the session's process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from catena_acp.port.session_events import ToolCallChanged
from catena_acp.spoken.blocks import OutputBlock
from catena_acp.spoken.call import Call
from catena_store.records import Kind, Message

_STOPPED_BY = ("task_id", "taskId", "shell_id")


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Work that goes on after its tool call has returned."""

    window_id: str
    link_id: str
    call_id: str
    message_id: str  # the call's row
    task_id: str  # the agent's
    title: str
    since: datetime
    data: Mapping[str, Any]

    @property
    def last_line(self) -> str:
        """The last line of what the call has put out, as far as the agent tells; hostile text."""
        blocks = Call(self.data).blocks
        texts = [block.text for block in blocks if type(block) is OutputBlock]
        lines = [line for text in texts for line in text.splitlines() if line.strip(" `")]
        return lines[-1].strip() if lines else ""


class BackgroundWork:
    """The work of a conversation's sessions that goes on between turns."""

    def __init__(self) -> None:
        self._tasks: dict[str, BackgroundTask] = {}  # by the row of the call
        self._over: dict[str, BackgroundTask] = {}  # that has ended
        self._unnamed: Counter[str] = Counter()  # by link: how many have ended, and nobody knows which

    def take(self, window_id: str, message: Message) -> bool:
        """Take in a committed row; return whether that changed what goes on."""
        if message.kind is not Kind.TOOL or message.link_id is None:
            return False
        record = Call.of(message)
        if record.background and message.id not in self._over:
            known = self._tasks.get(message.id)
            if known is not None:
                self._tasks[message.id] = replace(known, data=message.data, title=record.head)
                return False
            self._tasks[message.id] = BackgroundTask(
                window_id,
                message.link_id,
                message.agent_message_id or "",
                message.id,
                record.background,
                record.head,
                message.created_at,
                message.data,
            )
            return True
        stopped = _stopped_by(record) if record.status == "completed" else frozenset()
        ended = [
            task
            for task in self._tasks.values()
            if task.link_id == message.link_id and task.task_id in stopped
        ]
        for task in ended:
            self._end(task)
        return bool(ended)

    def take_late(self, link_id: str, call: ToolCallChanged) -> bool:
        """Take in an update of a call that had returned; return whether that ended its work."""
        task = next((each for each in self.of_link(link_id) if each.call_id == call.tool_call_id), None)
        if task is None or not Call(task.data).over or not Call({"status": call.status}).over:
            return False
        self._end(task)
        return True

    def end_one(self, link_id: str) -> bool:
        """Some of a session's work is over; return whether any of it was known."""
        tasks = self.of_link(link_id)
        if not tasks:
            return False
        self._unnamed[link_id] += 1
        if len(tasks) <= self._unnamed[link_id]:
            for task in tasks:
                self._end(task)
        return True

    def end_all(self, links: Collection[str]) -> set[str]:
        """The sessions of these links are gone, and with them their work; return the windows that it was in."""
        ended = [task for task in self._tasks.values() if task.link_id in links]
        for task in ended:
            self._end(task)
        return {task.window_id for task in ended}

    def of_link(self, link_id: str) -> list[BackgroundTask]:
        """What may go on in the session of a link, oldest first."""
        return [task for task in self._tasks.values() if task.link_id == link_id]

    def calls_of(self, link_id: str) -> list[BackgroundTask]:
        """What went on in the session of a link at any time: more may be told of its calls."""
        return [task for task in (*self._over.values(), *self._tasks.values()) if task.link_id == link_id]

    def of_window(self, window_id: str) -> tuple[BackgroundTask, ...]:
        """What may go on that was begun in a window, oldest first."""
        return tuple(task for task in self._tasks.values() if task.window_id == window_id)

    def ended_unnamed(self, window_id: str) -> int:
        """How many of a window's tasks have ended without the agent's saying which."""
        return sum(self._unnamed[link_id] for link_id in {task.link_id for task in self.of_window(window_id)})

    def _end(self, task: BackgroundTask) -> None:
        del self._tasks[task.message_id]
        self._over[task.message_id] = task
        if not self.of_link(task.link_id):
            del self._unnamed[task.link_id]


def _stopped_by(record: Call) -> frozenset[str]:
    """The ids of the work that a call stops: by Claude's tool for that."""
    if record.name not in ("TaskStop", "KillShell", "KillBash") or not isinstance(record.raw_input, Mapping):
        return frozenset()
    named = (record.raw_input.get(key) for key in _STOPPED_BY)
    return frozenset(value for value in named if isinstance(value, str))
