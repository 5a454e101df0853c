"""An open session, and its running turn: updates to the client, and entries for the transcript."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from catena_acp.rehearsal.rpc import ClientRequest, RpcChannel, encode
from catena_acp.rehearsal.settings import Options, RehearsalSettings
from catena_acp.rehearsal.transcripts import Block, Entry, SessionTranscript, block_text


class Session:
    """An open session: its transcript, settings and running turn."""

    def __init__(self, transcript: SessionTranscript, unasked: str | None = None) -> None:
        self.transcript = transcript
        self.settings = RehearsalSettings(unasked)
        self.turn: ScriptedTurn | None = None

    @property
    def id(self) -> str:
        """The session id."""
        return self.transcript.id

    @property
    def tokens(self) -> int:
        """A made-up context size in tokens: four characters each, on top of 1,200."""
        return 1_200 + sum(len(text) for _, text in self.transcript.context()) // 4


_BURST = 400  # chunks a write: about 64 KiB, the capacity of a pipe


class TurnStopped(Exception):
    """End of a turn with a stop reason, raised by a scene."""

    def __init__(self, stop_reason: str) -> None:
        super().__init__(stop_reason)
        self.stop_reason = stop_reason


class TurnCancelled(Exception):
    """Cancellation of the turn by the client."""


class ScriptedTurn:
    """One prompt and its answer so far; scenes run in the turn's thread, ``cancel`` in the reader's."""

    def __init__(
        self,
        *,
        id: str,
        request_id: Any,
        prompt: tuple[Block, ...],
        session: Session,
        rpc: RpcChannel,
        options: Options,
        abilities: dict[str, Any],
        new_id: Callable[[], str],
    ) -> None:
        self.id = id
        self.request_id = request_id
        self.prompt = prompt
        self.session = session
        self.rpc = rpc
        self.options = options
        self.client_abilities = abilities
        self.new_id = new_id
        self.cancelled = threading.Event()
        self.cancellable = True
        self.entries: list[Entry] = []
        self.usage_sent = False
        self.after_answer: list[Callable[[], None]] = []
        self._request: ClientRequest | None = None
        self._steered: deque[tuple[Block, ...]] = deque()
        self._steering = threading.Condition()
        self._over = False  # steering is refused
        self._between_scenes = False

    @property
    def script(self) -> str:
        """The text that names the scenes: the last text block, since earlier ones are context."""
        return script_of(self.prompt)

    def client_offers(self, *path: str) -> bool:
        """True if the client advertises the capability at ``path``."""
        return offers(self.client_abilities, *path)

    def cancel(self) -> None:
        """Cancel the turn, and its open request unless that outlives it."""
        if not self.cancellable:
            return
        self.cancelled.set()
        request = self._request
        if request is not None and not self.options.permission_outlives_cancel:
            request.abandon()

    def raise_if_cancelled(self) -> None:
        """Raise TurnCancelled where the client cancelled the turn."""
        if self.cancelled.is_set():
            raise TurnCancelled

    def pause(self, seconds: float | None) -> None:
        """Wait; None is for ever. Raises TurnCancelled."""
        if self.cancelled.wait(seconds):
            raise TurnCancelled

    def steer(self, prompt: tuple[Block, ...], taken: Callable[[], None]) -> bool:
        """Add a steering prompt and call ``taken`` before any scene sees it; False if the turn is over.

        Called in the reader's thread.
        """
        with self._steering:
            if self._over or self.cancelled.is_set():
                return False
            taken()
            self._steered.append(prompt)
            self._steering.notify_all()
            return True

    def close_steering(self) -> None:
        """Refuse further steering."""
        with self._steering:
            self._over = True

    def next_steered(self, seconds: float = 0) -> str | None:
        """Wait for the next steering prompt, add it to the context and return its script; None if there is none.

        A call without waiting that finds none also closes steering. Raises TurnCancelled.
        """
        end = time.monotonic() + seconds
        while True:
            self.raise_if_cancelled()
            with self._steering:
                if self._steered:
                    prompt = self._steered.popleft()
                    break
                if not seconds:
                    self._over = True
                    return None
                if time.monotonic() >= end:
                    return None
                self._steering.wait(0.02)
        self.entries.append({"kind": "steered", "id": self.new_id(), "prompt": list(prompt)})
        self._between_scenes = False
        return script_of(prompt)

    def update(self, update: dict[str, Any]) -> None:
        """Send a session update."""
        self.rpc.notify("session/update", {"sessionId": self.session.id, "update": update})

    def begin_scene(self) -> None:
        """Separate the next text from that of an earlier scene."""
        self._between_scenes = True

    def say(self, text: str) -> None:
        """Send a chunk of the answer."""
        self.raise_if_cancelled()
        entry, lead = self._open_text("agent")
        entry["text"] += lead + text
        self.update(self.text_chunk("agent", entry["id"], lead + text))

    def say_after(self, text: str, *, new_message: bool = False) -> None:
        """Send text of the turn after its answer; it becomes part of the session's context."""
        known = [entry["id"] for entry in self.entries if entry["kind"] == "agent"]
        message_id = self.new_id() if new_message or not known else known[-1]
        transcript = self.session.transcript
        transcript.add_answer(self.id, ({"kind": "agent", "id": message_id, "text": text},), transcript.cost)
        self.update(self.text_chunk("agent", message_id, text))

    def think(self, text: str) -> None:
        """Send a chunk of a thought."""
        self.raise_if_cancelled()
        entry, lead = self._open_text("thought")
        entry["text"] += lead + text
        self.update(self.text_chunk("thought", entry["id"], lead + text))

    def stream(self, chunks: Iterable[str], rate: float) -> None:
        """Send many chunks, ``rate`` a second, or as fast as possible for 0. Raises TurnCancelled."""
        entry, lead = self._open_text("agent")
        before, after = self._chunk_frame(entry["id"])
        said: list[str] = [lead]
        burst: list[bytes] = []
        begun = time.monotonic()
        quote = json.encoder.encode_basestring_ascii
        try:
            for number, chunk in enumerate(chunks):
                if rate:
                    wait = begun + number / rate - time.monotonic()
                    if wait > 0:
                        self._write_burst(burst)
                        self.pause(wait)
                text = chunk if number else lead + chunk
                burst.append(before + quote(text).encode() + after)
                said.append(chunk)
                if len(burst) == _BURST:
                    self._write_burst(burst)
                    self.raise_if_cancelled()
            self._write_burst(burst)
        finally:
            # A cancelled turn has sent less than it had prepared; the transcript holds what was sent.
            entry["text"] += "".join(said[: len(said) - len(burst)])

    def show(self, content: Block) -> None:
        """Send content of the answer that is not text."""
        self.raise_if_cancelled()
        entry: Entry = {"kind": "content", "id": self.new_id(), "content": content}
        self.entries.append(entry)
        self.update(self._with_id({"sessionUpdate": "agent_message_chunk", "content": content}, entry["id"]))

    def plan(self, entries: list[dict[str, str]]) -> None:
        """Send a plan, which replaces the previous one."""
        self.raise_if_cancelled()
        if not (self.entries and self.entries[-1]["kind"] == "plan"):
            self.entries.append({"kind": "plan", "entries": entries})
        self.entries[-1]["entries"] = entries
        self.update({"sessionUpdate": "plan", "entries": entries})

    def start_tool(self, **fields: Any) -> str:
        """Start a tool call; return its id."""
        self.raise_if_cancelled()
        call = {"toolCallId": f"call-{self.new_id()}", "status": "pending", **fields}
        self.entries.append({"kind": "tool", "call": call})
        self.update({"sessionUpdate": "tool_call", **call})
        return str(call["toolCallId"])

    def update_tool(self, call_id: str, **fields: Any) -> None:
        """Update a tool call of this turn."""
        self.raise_if_cancelled()
        for entry in self.entries:
            if entry["kind"] == "tool" and entry["call"]["toolCallId"] == call_id:
                entry["call"].update(fields)
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields})

    def ask_client(self, method: str, **params: Any) -> dict[str, Any]:
        """Send the client a request and wait for its answer, ``result`` or ``error``. Raises TurnCancelled."""
        self.raise_if_cancelled()
        request = self.rpc.ask(method, {"sessionId": self.session.id, **params})
        self._request = request
        if self.cancelled.is_set():
            self.cancel()
        request.done.wait()
        self._request = None
        self.raise_if_cancelled()
        return request.answer or {}

    def tell_client(self, method: str, **params: Any) -> None:
        """Send the client a request whose answer nobody waits for, also from a cancelled turn."""
        self.rpc.ask(method, {"sessionId": self.session.id, **params})

    def ask_permission(self, call_id: str) -> str:
        """Request permission for a tool call; return the chosen option's id, ``yes…`` or ``no…``."""
        call = next(
            e["call"] for e in self.entries if e["kind"] == "tool" and e["call"]["toolCallId"] == call_id
        )
        known = ("toolCallId", "title", "kind", "status", "content", "locations", "rawInput")
        return self._asked_about({key: call[key] for key in known if key in call})

    def permitted(self, call: dict[str, Any]) -> bool:
        """Request permission for a tool call, as it is to be shown."""
        return self._asked_about(call).startswith("yes")

    def _asked_about(self, call: dict[str, Any]) -> str:
        if not self.session.settings.asks:
            return "yes"
        answer = self.ask_client("session/request_permission", toolCall=call, options=list(_PERMISSIONS))
        match answer.get("result"):
            case {"outcome": {"outcome": "selected", "optionId": str(chosen)}}:
                return chosen
            case {"outcome": {"outcome": "cancelled"}}:
                raise TurnCancelled
            case _:
                return "no"

    def text_chunk(self, kind: str, message_id: str, text: str) -> dict[str, Any]:
        """The update with a chunk of text; ``kind`` is agent or thought."""
        name = "agent_message_chunk" if kind == "agent" else "agent_thought_chunk"
        return self._with_id({"sessionUpdate": name, "content": {"type": "text", "text": text}}, message_id)

    def _write_burst(self, burst: list[bytes]) -> None:
        if burst:
            self.rpc.write(b"".join(burst))
            burst.clear()

    def _open_text(self, kind: str) -> tuple[Entry, str]:
        """The entry for text of this kind, and the separator from an earlier scene's text."""
        lead = ""
        if self.entries and self.entries[-1]["kind"] == kind:
            if self._between_scenes and self.entries[-1]["text"]:
                lead = "\n\n"
        else:
            self.entries.append({"kind": kind, "id": self.new_id(), "text": ""})
        self._between_scenes = False
        return self.entries[-1], lead

    def _with_id(self, update: dict[str, Any], message_id: str) -> dict[str, Any]:
        return {**update, "messageId": message_id} if self.options.message_ids else update

    def _chunk_frame(self, message_id: str) -> tuple[bytes, bytes]:
        """The bytes of a chunk's line before and after its text, encoded once so that long streams are cheap."""
        params = {"sessionId": self.session.id, "update": self.text_chunk("agent", message_id, "\0")}
        line = encode({"jsonrpc": "2.0", "method": "session/update", "params": params})
        before, after = line.split(json.dumps("\0").encode())
        return before, after


def script_of(prompt: tuple[Block, ...]) -> str:
    """The last text block of a prompt."""
    texts = [block["text"] for block in prompt if block.get("type") == "text" and block_text(block)]
    return texts[-1] if texts else ""


def offers(abilities: Any, *path: str) -> bool:
    """True if the value at ``path`` exists and is not false; an empty object counts."""
    for key in path:
        if not isinstance(abilities, dict):
            return False
        abilities = abilities.get(key)
    return abilities is not None and abilities is not False


_PERMISSIONS = (
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "yes-always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "no-always", "name": "Always reject", "kind": "reject_always"},
)
