"""What this process heard, written down before it acts on it: the tests' proof of what an agent was told."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Heard:
    """A JSON-lines file, one line a message, shared by every process that is given the same path."""

    def __init__(self, path: Path | None) -> None:
        self._file = (
            None
            if path is None
            else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        )

    def started(self, argv: Sequence[str]) -> None:
        """Note that this process began."""
        self._note({"event": "start", "argv": list(argv)})

    def message(self, message: dict[str, Any]) -> None:
        """Note a request, a notification or an answer; ``blocks`` are a prompt's texts, whole."""
        if self._file is None:
            return
        method = message.get("method")
        if not isinstance(method, str):
            self._note(
                {"event": "answer", **{k: message[k] for k in ("id", "result", "error") if k in message}}
            )
            return
        params = message.get("params")
        line: dict[str, Any] = {"method": method, "id": message.get("id")}
        if isinstance(params, dict):
            line["session"] = params.get("sessionId")
            if method in ("session/prompt", "_session/steering"):
                prompt = params.get("prompt") or []
                line["blocks"] = [block.get("text", "") for block in prompt if block.get("type") == "text"]
                line["kinds"] = [block.get("type") for block in prompt]
            line["params"] = {key: value for key, value in params.items() if key != "prompt"}
        self._note(line)

    def turn_ended(self, session_id: str, how: str) -> None:
        """Note how a turn ended: its stop reason, or ``error`` with the code."""
        self._note({"event": "turn ended", "session": session_id, "how": how})

    def _note(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            # One write for one line: several processes append to the same file.
            os.write(self._file, json.dumps({"pid": os.getpid(), **line}).encode() + b"\n")
