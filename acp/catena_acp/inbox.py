"""What an agent said and nobody has taken yet, with text that came in pieces joined.

An answer comes in hundreds of chunks a second, a replayed history in tens of thousands. Joining them before anything
looks at them is what makes both cheap: the cost of a message is in its dispatch, not in its length.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from catena_acp.wire import UPDATE, Message, session_named

MAX_MESSAGES = 2_000
MAX_BYTES = 32 * 1024 * 1024
MAX_JOINED = 64 * 1024  # characters of one joined chunk

_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_PLAIN_PARAMS = frozenset({"sessionId", "update"})
_PLAIN_UPDATE = frozenset({"sessionUpdate", "content", "messageId"})
_PLAIN_CONTENT = frozenset({"type", "text"})


@dataclass(slots=True)
class _Entry:
    message: Message
    size: int
    session_id: str | None = None
    key: tuple[object, ...] | None = None  # what the next chunk must have in common with this one
    parts: list[str] = field(default_factory=list)
    characters: int = 0


class Inbox:
    """Messages in the order in which they came.

    Adjacent text chunks of the same session, variant and message id become one. Nothing is joined across another
    message of the same session, nor across an answer, since nobody can say which session that belongs to.
    """

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._growing: dict[str, _Entry] = {}  # by session: the chunk that the next one may be joined to
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def full(self) -> bool:
        """True where more should be left in the pipe until some of this is taken."""
        return len(self._entries) >= MAX_MESSAGES or self._bytes >= MAX_BYTES

    def put(self, message: Message, size: int) -> None:
        """Add a message that took ``size`` bytes on the wire."""
        self._bytes += size
        session_id = session_named(message)
        if session_id is None:
            self._growing.clear()
            self._entries.append(_Entry(message, size))
            return
        key = _chunk_key(message)
        growing = self._growing.get(session_id)
        if growing is not None and key is not None and growing.key == key and growing.characters < MAX_JOINED:
            text: str = message["params"]["update"]["content"]["text"]
            growing.parts.append(text)
            growing.characters += len(text)
            growing.size += size
            return
        entry = _Entry(message, size, session_id, key)
        self._entries.append(entry)
        if key is None:
            self._growing.pop(session_id, None)
        else:
            entry.parts.append(message["params"]["update"]["content"]["text"])
            self._growing[session_id] = entry

    def take(self) -> Message:
        """The oldest message."""
        entry = self._entries.popleft()
        self._bytes -= entry.size
        if entry.session_id is not None and self._growing.get(entry.session_id) is entry:
            del self._growing[entry.session_id]
        if len(entry.parts) > 1:
            entry.message["params"]["update"]["content"]["text"] = "".join(entry.parts)
        return entry.message


def _chunk_key(message: Message) -> tuple[object, ...] | None:
    """What two chunks must have in common to be one; None for anything but plain text without ``_meta``."""
    if message.get("method") != UPDATE:
        return None
    params = message["params"]
    update = params["update"]
    kind, content, message_id = update.get("sessionUpdate"), update.get("content"), update.get("messageId")
    if (
        isinstance(kind, str)
        and kind in _CHUNKS
        and isinstance(content, dict)
        and content.get("type") == "text"
        and isinstance(content.get("text"), str)
        and (message_id is None or isinstance(message_id, str))
        and params.keys() <= _PLAIN_PARAMS
        and update.keys() <= _PLAIN_UPDATE
        and content.keys() <= _PLAIN_CONTENT
    ):
        return (kind, message_id)
    return None
