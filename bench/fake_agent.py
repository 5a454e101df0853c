"""An agent that streams, replays and notes when; standard library only, JSON-RPC lines on stdio.

The prompt ``STREAM words=2000 rate=60 run=7`` is answered with that many words of Markdown that end in
``FINISHED7``, in chunks of 5 to 20 characters, ``rate`` of them a second (0: as fast as the pipe takes them).
``HOLD`` is answered when it is cancelled. Any other prompt is answered ``ok: …``.

``BENCH_AGENT_LOG``   file that gets one JSON line for each event, stamped with the monotonic clock
``BENCH_REPLAY``      number of messages that `session/load` replays: those of ``replayed``
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.words import markdown, pieces

LAST_REPLAYED = "LASTREPLAYED"


def replayed(count: int) -> Iterator[tuple[str, str]]:
    """The messages of a replay, questions and answers in turn: the role of each and its text."""
    for index in range(count):
        if index % 2 == 0:
            yield "user", f"Question {index}: {markdown(20, 100 + index).strip()}"
        else:
            yield "agent", markdown(150, 100 + index, LAST_REPLAYED if index == count - 1 else "")


class Agent:
    """One connection."""

    def __init__(self, log: Path | None, replay: int) -> None:
        self._log = log
        self._replay = replay
        self._sessions = 0
        self._output = threading.Lock()
        self._cancelled = threading.Event()

    def serve(self) -> None:
        """Answer until the client closes our input."""
        self._note("started")
        for line in sys.stdin.buffer:
            request = json.loads(line)
            self._note("received", method=request.get("method"))
            self._receive(request.get("method"), request.get("id"), request.get("params") or {})

    def _receive(self, method: str | None, request: object, parameters: dict[str, Any]) -> None:
        session = parameters.get("sessionId", "")
        match method:
            case "initialize":
                self._answer(request, self._introduction())
            case "session/new" | "session/fork":
                self._sessions += 1
                self._answer(request, {"sessionId": f"bench-{os.getpid()}-{self._sessions}"})
            case "session/load":
                self._note("replay begins")
                for role, text in replayed(self._replay):
                    self._update(session, f"{role}_message_chunk", text)
                self._note("replay ends")
                self._answer(request, {})
            case "session/prompt":
                text = "".join(block.get("text", "") for block in parameters.get("prompt", []))
                threading.Thread(target=self._prompt, args=(request, session, text), daemon=True).start()
            case "session/cancel":
                self._cancelled.set()
            case _ if request is not None and method is not None:
                self._answer(request, {})
            case _:
                pass

    def _introduction(self) -> dict[str, Any]:
        sessions: dict[str, Any] = {} if self._replay else {"fork": {}, "resume": {}}
        abilities = {"loadSession": bool(self._replay), "sessionCapabilities": sessions}
        agent = {"name": "bench-agent", "title": "Bench", "version": "1"}
        return {"protocolVersion": 1, "agentInfo": agent, "agentCapabilities": abilities, "authMethods": []}

    def _prompt(self, request: object, session: str, text: str) -> None:
        self._cancelled.clear()
        self._note("prompted", characters=len(text))
        asked = dict(word.split("=", 1) for word in text.split() if "=" in word)
        if "STREAM" in text:
            self._stream(session, int(asked["words"]), float(asked["rate"]), f"FINISHED{asked['run']}")
        elif "HOLD" in text:
            self._cancelled.wait()
        else:
            self._update(session, "agent_message_chunk", f"ok: {text}")
        self._answer(request, {"stopReason": "cancelled" if self._cancelled.is_set() else "end_turn"})

    def _stream(self, session: str, words: int, rate: float, end: str) -> None:
        answer = markdown(words, end=end)
        self._note("stream begins", characters=len(answer))
        began, number = time.monotonic(), 0
        for number, piece in enumerate(pieces(answer)):
            if self._cancelled.is_set():
                break
            if rate:
                time.sleep(max(0.0, began + number / rate - time.monotonic()))
            self._update(session, "agent_message_chunk", piece)
        self._note("stream ends", chunks=number + 1)

    def _update(self, session: str, kind: str, text: str) -> None:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        self._send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def _answer(self, request: object, result: dict[str, Any]) -> None:
        self._send({"id": request, "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"
        with self._output:
            sys.stdout.write(line)
            sys.stdout.flush()

    def _note(self, event: str, **facts: object) -> None:
        if self._log is not None:
            with self._log.open("a") as log:
                log.write(json.dumps({"at": time.monotonic(), "event": event, **facts}) + "\n")


def main() -> None:
    """Serve as the environment says."""
    log = os.environ.get("BENCH_AGENT_LOG")
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        Agent(Path(log) if log else None, int(os.environ.get("BENCH_REPLAY", "0"))).serve()


if __name__ == "__main__":
    main()
