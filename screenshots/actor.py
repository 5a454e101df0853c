"""The agent in the pictures: a real process with a part that it has learnt; standard library only.

A prompt that begins with one of the cues below is answered with what stands there. It says of itself that it is a
demonstration.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

Update = dict[str, Any]

VIEW = "auth/views.py"
BEFORE = """\
def login(request):
    target = redirect_target(request)
    form = LoginForm(request.POST or None)
    if form.is_valid():
        return redirect(target)
"""
AFTER = """\
def login(request):
    form = LoginForm(request.POST or None)
    if form.is_valid():
        return redirect(form.cleaned_data["next"])
"""
FOUND = f"""\
The redirect target was read **before** the form was bound, so `next` was always empty:

```python
{AFTER}```

Two things to know:

- `LoginForm` has to keep `next` as a hidden field, which it now does.
- Old bookmarks without `next` still go to the front page.
"""
TEST = """\
I have added `test_login_keeps_next`: it signs in with `next=/basket` and expects to be sent there. It fails
without the change.
"""
WHICH = """\
Only `login` in `auth/views.py`. `logout` and `register` bind their forms first, as they should.
"""


def text(kind: str, words: str) -> Update:
    """A piece of the answer, or of a thought."""
    return {"sessionUpdate": f"agent_{kind}_chunk", "content": {"type": "text", "text": words}}


def tool(number: int, kind: str, title: str, *, status: str = "completed", **more: Any) -> Update:
    """A tool call."""
    call = {"toolCallId": f"call-{number}", "kind": kind, "title": title, "status": status}
    return {"sessionUpdate": "tool_call", **call, **more}


def change(status: str = "completed") -> Update:
    """The call that mends the login form."""
    diff = {"type": "diff", "path": VIEW, "oldText": BEFORE, "newText": AFTER}
    return tool(2, "edit", VIEW, status=status, content=[diff], locations=[{"path": VIEW}])


class Actor:
    """One connection."""

    def __init__(self) -> None:
        self._requests = 0
        self._sessions = 0

    def serve(self) -> None:
        """Play until the client leaves."""
        for line in sys.stdin:
            message = json.loads(line)
            request, parameters = message.get("id"), message.get("params") or {}
            match message.get("method"):
                case "initialize":
                    self._answer(request, self._introduction())
                case "session/new" | "session/fork":
                    self._answer(request, {"sessionId": self._new_session()})
                case "session/prompt":
                    cue = parameters["prompt"][-1]["text"]
                    for update in self._part(cue, parameters["sessionId"]):
                        self._tell(parameters["sessionId"], update)
                    self._answer(request, {"stopReason": "end_turn"})
                case str() if request is not None:
                    self._answer(request, {})

    def _new_session(self) -> str:
        self._sessions += 1
        return f"session-{os.getpid()}-{self._sessions}"

    def _introduction(self) -> dict[str, Any]:
        abilities: dict[str, Any] = {"sessionCapabilities": {"resume": {}, "fork": {}, "close": {}}}
        agent = {"name": "demo", "title": "Demonstration", "version": "1"}
        return {"protocolVersion": 1, "agentInfo": agent, "agentCapabilities": abilities}

    def _part(self, cue: str, session: str) -> Iterator[Update]:
        match cue.split():
            case ["The", *_]:
                yield text("thought", "Where does the parameter get lost? Start with the view.")
                yield tool(1, "read", VIEW, locations=[{"path": VIEW, "line": 12}])
                yield change()
                yield text("message", FOUND)
            case ["Go", "on,", *_]:
                yield text("message", "The target has to be read after the form is bound.")
                yield change("pending")
                self._ask(session)
            case ["Now", *_]:
                yield text("message", TEST.partition(" with")[0])
                os.kill(os.getpid(), signal.SIGKILL)
            case ["What", *_]:
                yield text("message", "It reads `next` before the form is bound, and so never sees it.")
            case ["Which", *_]:
                yield text("message", WHICH)
            case _:
                yield text("message", TEST)

    def _ask(self, session: str) -> None:
        options = [
            {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow edits in auth/", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        question = {"sessionId": session, "toolCall": {"toolCallId": "call-2"}, "options": options}
        self._requests += 1
        self._send(
            {"id": f"ask-{self._requests}", "method": "session/request_permission", "params": question}
        )
        sys.stdin.readline()

    def _tell(self, session: str, update: Update) -> None:
        self._send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def _answer(self, request: object, result: dict[str, Any]) -> None:
        self._send({"id": request, "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    Actor().serve()
