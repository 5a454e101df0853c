"""An agent process whose behaviour is a script that the test hands it; standard library only.

The script is Python source in the environment variable SCRIPT. It may define a function for any method, its name the
method's with `_` for everything that is not a letter: `session_prompt(agent, request)`. What it does not define has a
plain answer below. Every line that the agent reads is kept in the file that HEARD names.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]


class Agent:
    """The agent's two pipes, and the record of what it heard."""

    def __init__(self) -> None:
        self.heard = open(os.environ["HEARD"], "ab", buffering=0)  # noqa: SIM115, PTH123
        self.sessions = 0

    def read(self) -> Message:
        """The next message; the process ends where there are no more."""
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        self.heard.write(line)
        message: Message = json.loads(line)
        return message

    def raw(self, line: str | bytes) -> None:
        """Write a line that need not be a message."""
        sys.stdout.buffer.write((line.encode() if isinstance(line, str) else line) + b"\n")
        sys.stdout.buffer.flush()

    def send(self, *messages: Message) -> None:
        """Write messages with a single write."""
        lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
        self.raw("\n".join(lines))

    def update(self, session_id: str, variant: str, /, **fields: Any) -> Message:
        """A session update, to be sent."""
        update = {"sessionUpdate": variant, **fields}
        return {"method": "session/update", "params": {"sessionId": session_id, "update": update}}

    def text(self, session_id: str, text: str, kind: str = "agent_message_chunk", **fields: Any) -> Message:
        """A text chunk, to be sent."""
        return self.update(session_id, kind, content={"type": "text", "text": text}, **fields)

    def result(self, request: Message, result: Any) -> Message:
        """An answer, to be sent."""
        return {"id": request["id"], "result": result}

    def error(self, request: Message, code: int, message: str, data: Any = None) -> Message:
        """A refusal, to be sent."""
        return {"id": request["id"], "error": {"code": code, "message": message, "data": data}}

    def ask(self, request_id: Any, method: str, **params: Any) -> None:
        """Send a request of the agent's own."""
        self.send({"id": request_id, "method": method, "params": params})


CAPABILITIES: Message = {
    "loadSession": True,
    "promptCapabilities": {"image": True},
    "sessionCapabilities": {name: {} for name in ("resume", "fork", "list", "close", "delete")},
    "auth": {"logout": {}},
}


def initialize(agent: Agent, request: Message) -> None:
    info = {"name": "scripted", "title": "Scripted", "version": "1"}
    agent.send(
        agent.result(request, {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "agentInfo": info})
    )


def session_new(agent: Agent, request: Message) -> None:
    agent.sessions += 1
    agent.send(agent.result(request, {"sessionId": f"s{agent.sessions}"}))


session_fork = session_new


def session_prompt(agent: Agent, request: Message) -> None:
    said = request["params"]["prompt"][0]["text"]
    session_id = request["params"]["sessionId"]
    agent.send(agent.text(session_id, f"you said {said}"), agent.result(request, {"stopReason": "end_turn"}))


def anything(agent: Agent, request: Message) -> None:
    if "id" in request and "method" in request:
        agent.send(agent.result(request, {}))


def main() -> None:
    scene: dict[str, Callable[[Agent, Message], None]] = dict(globals())
    exec(os.environ.get("SCRIPT", ""), scene)
    agent = Agent()
    while True:
        message = agent.read()
        name = re.sub(r"[^a-z]+", "_", message.get("method", ""))
        scene.get(name, scene["anything"])(agent, message)


if __name__ == "__main__":
    main()
