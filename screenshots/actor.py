"""The agent in the pictures: a real process with a part that it has learnt; standard library only.

A prompt that begins with one of the cues below is answered with what stands there. It says of itself that it is a
demonstration.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
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
FORM = "auth/forms.py"
FORM_BEFORE = """\
class LoginForm(Form):
    name = TextField(required=True)
    password = PasswordField(required=True)
"""
FORM_AFTER = """\
class LoginForm(Form):
    name = TextField(required=True)
    password = PasswordField(required=True)
    next = TextField(hidden=True, required=False)
"""
KEEP = "Let the login form keep where a person came from."
FORM_KEEPS = (
    FORM_AFTER
    + """
    def target(self):
        return self.cleaned_data["next"] or "/"
"""
)
GUARD = "Allow no address of another site as the target."
FORM_GUARDS = """\
from auth.urls import is_own
from forms import Form, PasswordField, TextField

""" + FORM_KEEPS.replace(
    """        return self.cleaned_data["next"] or "/"
""",
    """        target = self.cleaned_data["next"]
        return target if is_own(target) else "/"
""",
)
FORM_NOTED = FORM_GUARDS.replace(
    "    def target(self):\n", "    # The form is bound before this is asked for.\n    def target(self):\n"
)
GREET = "Greet people by name after the login."
FORM_GREETS = (
    FORM_NOTED.replace("    password =", "    title = TextField(required=False)\n    password =")
    + """
    def greeting(self):
        name = self.cleaned_data["name"]
        return f"Welcome back, {self.cleaned_data['title']} {name}".strip()
"""
)
CASES = "tests/test_next.py"
CASES_TEXT = """\
def test_login_keeps_next(client):
    answer = client.post("/login?next=/basket", {"name": "ada", "password": "x"})
    assert answer.redirect == "/basket"
"""
CASE = """\
def test_login_keeps_next(client):
    answer = client.post("/login?next=/basket", ADA)
    assert answer.redirect == "/basket"
"""
CASE_OF_OTHERS = """

def test_login_leads_to_no_other_site(client):
    answer = client.post("/login?next=//evil.example", ADA)
    assert answer.redirect == "/"
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
TESTS = """
printf '\\033[1mtests/test_login.py\\033[0m\\n'
printf '\\033[33m%s\\033[0m\\r' 'collecting ...'
printf '\\033[Kcollected 14 items\\n'
printf '\\033[32m.............\\033[31mF\\033[0m\\n'
printf '\\033[36mtests/test_login.py\\033[0m:41: \\033[1;31mAssertionError\\033[0m: sent to /\\n'
printf '\\033[31m1 failed\\033[0m, \\033[32m13 passed\\033[0m in 2.41s\\n'
exit 1
"""
FAILS = """\
One test fails, as it should: `test_login_keeps_next` is sent to the front page, since the target is still read
before the form is bound.
"""
FIXED = """\
The redirect target was read **before** the form was bound, so `next` was always empty. Now the form carries it.

Old bookmarks without `next` still go to the front page.
"""
FOREIGN = """\
I have added two tests: `next=/basket` is followed, and `next=//evil.example` goes to the front page.

Both fail without the change.
"""
PASSED = """\
All 15 tests pass: `next` is kept, and no other site gets through.
"""
_CUES = itertools.count(1)
WAITED_FOR = "waited-for"
WHICH = """\
Only `login` in `auth/views.py`. `logout` and `register` bind their forms first, as they should.
"""

PLANNED = """\
Passwords are hashed from now on, and old ones when their owner signs in next. The last two steps wait for your word:
they change what is stored.
"""
STEPS = (
    ("Find where passwords are compared", "completed"),
    ("Compare hashes, and hash old passwords at the next login", "completed"),
    ("Migrate the passwords of accounts that nobody uses", "in_progress"),
    ("Drop the old column", "pending"),
)
MODELS = (
    ("swift", "Swift", "short answers, little cost"),
    ("steady", "Steady", "for everyday work"),
    ("deep", "Deep", "thinks first, and costs more"),
)


def cue(folder: Path, number: int, what: str = "given") -> Path:
    """The file by which whoever directs a film gives a cue, or by which the agent says that it waits for it."""
    return folder / f"cue-{number}-{what}"


def await_cue() -> None:
    """Wait until whoever directs a film gives the next cue, beside the project; all before it has been sent."""
    number = next(_CUES)
    cue(Path(".."), number, WAITED_FOR).touch()
    while not cue(Path(".."), number).exists():
        time.sleep(0.005)


def parts(answer: str) -> Iterator[Update]:
    """An answer in its paragraphs, each at a cue."""
    for paragraph in answer.split("\n\n"):
        await_cue()
        yield text("message", f"{paragraph}\n\n")


def text(kind: str, words: str) -> Update:
    """A piece of the answer, or of a thought."""
    return {"sessionUpdate": f"agent_{kind}_chunk", "content": {"type": "text", "text": words}}


def tool(number: int, kind: str, title: str, *, status: str = "completed", **more: Any) -> Update:
    """A tool call."""
    call = {"toolCallId": f"call-{number}", "kind": kind, "title": title, "status": status}
    return {"sessionUpdate": "tool_call", **call, **more}


def change(status: str = "completed") -> Update:
    """The call that fixes the login form."""
    diff = {"type": "diff", "path": VIEW, "oldText": BEFORE, "newText": AFTER}
    return tool(2, "edit", VIEW, status=status, content=[diff], locations=[{"path": VIEW}])


def models() -> Update:
    """The models that there are to choose from."""
    options = [{"value": id, "name": name, "description": words} for id, name, words in MODELS]
    choice = {"id": "model", "name": "Model", "category": "model", "type": "select"}
    return {
        "sessionUpdate": "config_option_update",
        "configOptions": [{**choice, "currentValue": "steady", "options": options}],
    }


def planned() -> Iterator[Update]:
    """A plan of which two steps are done, and the calls that did them."""
    yield models()
    entries = [{"content": step, "priority": "medium", "status": status} for step, status in STEPS]
    yield {"sessionUpdate": "plan", "entries": entries}
    for number, path in ((21, VIEW), (22, FORM), (23, "auth/accounts.py")):
        yield tool(number, "read", path, locations=[{"path": path}])
    yield tool(24, "search", "compare_password")
    old = "def same(account, password):\n    return account.password == password\n"
    new = old.replace("account.password == password", "verify(account.hash, password)")
    diff = {"type": "diff", "path": "auth/accounts.py", "oldText": old, "newText": new}
    yield tool(25, "edit", "auth/accounts.py", content=[diff], locations=[{"path": "auth/accounts.py"}])


def delegated() -> Iterator[Update]:
    """Two subagents at the same time, and tests that go on when the turn is over."""
    first, second = "Look at logout", "Look at register"
    for number, task in ((3, first), (4, second)):
        raw_input = {"description": task, "prompt": task, "subagent_type": "Explore"}
        yield tool(number, "think", task, status="in_progress", rawInput=raw_input)
    yield inside(3, text("message", "The form is bound where the view begins; let me see who calls it."))
    for number, path in ((5, VIEW), (6, "auth/urls.py"), (7, "auth/forms.py")):
        yield inside(3, tool(number, "read", path, locations=[{"path": path}]))
    yield inside(4, tool(8, "read", "auth/register.py", locations=[{"path": "auth/register.py"}]))
    yield inside(3, tool(9, "search", "redirect_target"))
    yield inside(3, text("message", "`logout` reads no parameter before its form is bound."))
    for number in (3, 4):
        yield {"sessionUpdate": "tool_call_update", "toolCallId": f"call-{number}", "status": "completed"}
    left = {"claudeCode": {"toolResponse": {"backgroundTaskId": "b1"}}}
    tests = {"command": "pytest -q --looponfail", "run_in_background": True}
    yield tool(10, "execute", "pytest", rawInput=tests, _meta=left)


def inside(number: int, update: Update) -> Update:
    """An update of the subagent that a call started."""
    return {**update, "_meta": {"claudeCode": {"parentToolUseId": f"call-{number}"}}}


def edits() -> Iterator[Update]:
    """The calls that change three files, which are really written."""
    changes = ((VIEW, BEFORE, AFTER), (FORM, FORM_BEFORE, FORM_AFTER), (CASES, None, CASES_TEXT))
    for number, (path, old, new) in enumerate(changes, 11):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(new)
        diff = {"type": "diff", "path": path, "oldText": old, "newText": new}
        yield tool(number, "edit", path, content=[diff], locations=[{"path": path}])


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
        # Known to fork at its end alone, so that nothing has to be found out before a fork is saved.
        agent = {"name": "opencode", "title": "Demonstration", "version": "1"}
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
            case ["Ask", *_]:
                yield text("message", "The change is small; what I do not know is how you test.")
                self._elicit(session)
            case ["Now", *_]:
                yield text("message", TEST.partition(" with")[0])
                os.kill(os.getpid(), signal.SIGKILL)
            case ["Plan", *_]:
                yield from planned()
                yield text("message", PLANNED)
            case ["Let", *_]:
                yield self._write(FORM_BEFORE, FORM_KEEPS)
                yield text("message", "The target is kept in the form now, as a hidden field.")
            case ["Allow", *_]:
                yield self._write(FORM_KEEPS, FORM_GUARDS)
                yield text("message", "The target may be an address of your own site only.")
            case ["Greet", *_]:
                yield self._write(FORM_NOTED, FORM_GREETS)
                yield text("message", "Everybody is greeted by name.")
            case ["Fix", *_]:
                yield from edits()
                yield text("message", TEST)
            case ["What", *_]:
                yield text("message", "It reads `next` before the form is bound, and so never sees it.")
            case ["Run", "them.", *_]:
                yield text("message", "Running the tests of the login form")
                await_cue()
                os.kill(os.getpid(), signal.SIGKILL)
            case ["Run", *_]:
                yield from self._run(session)
                yield text("message", FAILS)
            case ["Have", *_]:
                yield from delegated()
                yield text("message", "Both bind their forms first. The tests run again at each change.")
            case ["Measure", *_]:
                script = "python -m timeit 'import auth.views'\npython -m pytest -q auth\ngit status"
                self._ask_for(
                    session, kind="execute", title="Measure the login", rawInput={"command": script}
                )
            case ["Copy", *_]:
                diff = {"type": "diff", "path": FORM, "oldText": FORM_BEFORE, "newText": FORM_KEEPS}
                raw = {"path": FORM, "copy_to": "/home/ada/.config/shop/forms.py"}
                self._ask_for(session, kind="edit", title="Edit the form", content=[diff], rawInput=raw)
            case ["Tidy", *_]:
                tidy = {"command": "rm -rf build $CACHE", "env": {"CACHE": "~/.cache/shop"}}
                self._ask_for(session, kind="execute", title="Remove build files", rawInput=tidy)
            case ["Publish", *_]:
                raw = {"command": "git push origin login"}
                became = {"sessionUpdate": "tool_call_update", "toolCallId": "call-3"}
                other = {**became, "rawInput": {"command": "git push --force origin main"}}
                self._ask_for(session, other, kind="execute", title="git push origin login", rawInput=raw)
            case ["Find", *_]:
                yield from self._find(session)
            case ["Cover", *_]:
                yield self._case(CASE)
                yield text("message", TEST)
            case ["Also", *_]:
                await_cue()
                yield self._case(CASE + CASE_OF_OTHERS)
                yield from parts(FOREIGN)
            case ["Go", "on.", *_]:
                ran = {"type": "content", "content": {"type": "text", "text": "15 passed in 2.41s"}}
                yield tool(32, "execute", "pytest", rawInput={"command": "pytest -q"}, content=[ran])
                yield text("message", PASSED)
            case ["Which", *_]:
                yield text("message", WHICH)
            case _:
                yield text("message", TEST)

    def _write(self, old: str, new: str) -> Update:
        """Really write the form, in the directory that we were started in."""
        Path(FORM).write_text(new)
        diff = {"type": "diff", "path": FORM, "oldText": old, "newText": new}
        return tool(21, "edit", FORM, content=[diff], locations=[{"path": FORM}])

    def _case(self, text: str) -> Update:
        """Really write tests, beside those that are there."""
        old = Path(CASES).read_text() if Path(CASES).exists() else None
        Path(CASES).parent.mkdir(exist_ok=True)
        Path(CASES).write_text(text)
        diff = {"type": "diff", "path": CASES, "oldText": old, "newText": text}
        return tool(31, "edit", CASES, content=[diff], locations=[{"path": CASES}])

    def _find(self, session: str) -> Iterator[Update]:
        """Look, ask for the change, and say what was wrong; each step at a cue."""
        yield text("thought", "Where does the parameter get lost? Start with the view.")
        await_cue()
        yield tool(1, "read", VIEW, locations=[{"path": VIEW, "line": 12}])
        await_cue()
        yield change("pending")
        self._ask(session)
        yield {"sessionUpdate": "tool_call_update", "toolCallId": "call-2", "status": "completed"}
        yield from parts(FIXED)

    def _ask(self, session: str) -> None:
        options = [
            {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow edits in auth/", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        question = {"sessionId": session, "toolCall": {"toolCallId": "call-2"}, "options": options}
        self._request("session/request_permission", question)

    def _ask_for(self, session: str, then: Update | None = None, **call: Any) -> None:
        """Ask for a call, which becomes something else ``then``; wait for the answer."""
        options = [
            {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        question = {"sessionId": session, "toolCall": {"toolCallId": "call-3", **call}, "options": options}
        self._requests += 1
        self._send(
            {"id": f"ask-{self._requests}", "method": "session/request_permission", "params": question}
        )
        if then is not None:
            self._tell(session, then)
        sys.stdin.readline()

    def _run(self, session: str) -> Iterator[Update]:
        """Run the tests in a terminal of the client's."""
        Path("pytest").write_text(f"#!/bin/sh{TESTS}")
        Path("pytest").chmod(0o755)
        named = {"sessionId": session}
        command = {"command": "./pytest", "args": ["tests/test_login.py"]}
        asked = {"command": "./pytest tests/test_login.py"}
        yield tool(3, "execute", "pytest", status="in_progress", rawInput=asked)
        terminal = named | self._request("terminal/create", named | command)["result"]
        shown = {"type": "terminal", "terminalId": terminal["terminalId"]}
        yield {"sessionUpdate": "tool_call_update", "toolCallId": "call-3", "content": [shown]}
        self._request("terminal/wait_for_exit", terminal)
        self._request("terminal/release", terminal)
        yield {"sessionUpdate": "tool_call_update", "toolCallId": "call-3", "status": "failed"}

    def _elicit(self, session: str) -> None:
        runs = [
            {"const": "pytest", "title": "pytest", "description": "plain functions and fixtures"},
            {"const": "django", "title": "Django's TestCase", "description": "as in tests/test_accounts.py"},
        ]
        cases = {"type": "string", "enum": ["next is a path", "next is empty", "next is another site"]}
        schema = {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Name of the test", "default": "test_login_keeps_next"},
                "framework": {"type": "string", "title": "Framework", "oneOf": runs},
                "cases": {"type": "array", "title": "Cases", "items": cases, "default": ["next is a path"]},
            },
            "required": ["name", "framework", "cases"],
        }
        message = "How do you want this tested?"
        asked = {"sessionId": session, "mode": "form", "message": message, "requestedSchema": schema}
        self._request("elicitation/create", asked)

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._requests += 1
        self._send({"id": f"ask-{self._requests}", "method": method, "params": params})
        answer: dict[str, Any] = json.loads(sys.stdin.readline())
        return answer

    def _tell(self, session: str, update: Update) -> None:
        self._send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def _answer(self, request: object, result: dict[str, Any]) -> None:
        self._send({"id": request, "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    Actor().serve()
