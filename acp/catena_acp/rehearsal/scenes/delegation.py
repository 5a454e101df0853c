"""Scenes of delegated work: subagents, and commands that go on when the turn is over; told as Claude's adapter does."""

from __future__ import annotations

import threading
from pathlib import PurePath
from typing import Any, Final

from catena_acp.rehearsal.script import Scene, ScriptStep, text_content
from catena_acp.rehearsal.turn import ScriptedTurn

_FILES = ("README.md", "src/login.py", "src/session.py", "tests/test_login.py")


def _subagent(turn: ScriptedTurn, step: ScriptStep) -> None:
    task = step.word("title") or "Explore the code"
    calls = min(int(step.number("count", 3)), 10_000)
    prompt = f"{task}, and report what you find."
    started_by = turn.start_tool(
        title=task,
        kind="think",
        name="Agent",
        content=[text_content(prompt)],
        rawInput={"description": task, "prompt": prompt, "subagent_type": "general-purpose"},
    )
    turn.update_tool(started_by, status="in_progress")
    subagent = _Subagent(turn, started_by)
    subagent.think("Where would that be?")
    subagent.say("I am looking at the files.")
    cue = step.word("cue")
    for number in range(calls):
        if cue is not None and number == calls // 2:
            running = subagent.begin_reading(number)
            if not turn.options.cues.wait(cue, turn.cancelled):
                turn.raise_if_cancelled()
            subagent.finish(running)
        else:
            subagent.finish(subagent.begin_reading(number))
    if step.word("asks") is not None:
        subagent.run("make check")
    report = f"I looked at {calls} files. The login is in src/login.py."
    subagent.say(report)
    turn.update_tool(started_by, status="completed", content=[text_content(report)], rawOutput=report)
    turn.say(f"The subagent says: {report}")


class _Subagent:
    """What a subagent says and does; none of it is in the session's transcript, but for its report."""

    def __init__(self, turn: ScriptedTurn, started_by: str) -> None:
        self._turn = turn
        self._meta = {"claudeCode": {"parentToolUseId": started_by}}

    def say(self, text: str) -> None:
        """Send words as one message."""
        self._send_text("agent", text)

    def think(self, text: str) -> None:
        """Send a thought."""
        self._send_text("thought", text)

    def begin_reading(self, number: int) -> str:
        """Start to read a file; return the call's id."""
        path = _FILES[number % len(_FILES)]
        place = str(PurePath(self._turn.session.transcript.cwd) / path)
        return self._begin(title=f"Read {path}", kind="read", name="Read", locations=[{"path": place}])

    def finish(self, call_id: str, status: str = "completed") -> None:
        """End a call."""
        self._update("tool_call_update", toolCallId=call_id, status=status)

    def run(self, command: str) -> None:
        """Ask whether a command may be run, and pretend to run it."""
        raw_input = {"command": command}
        call_id = self._begin(title=command, kind="execute", name="Bash", rawInput=raw_input)
        call = {"toolCallId": call_id, "title": command, "kind": "execute", "status": "pending"}
        allowed = self._turn.permitted({**call, "rawInput": raw_input, "_meta": self._meta})
        self.finish(call_id, "completed" if allowed else "failed")

    def _begin(self, **fields: Any) -> str:
        call_id = f"call-{self._turn.new_id()}"
        self._update("tool_call", toolCallId=call_id, **{"status": "in_progress", **fields})
        return call_id

    def _send_text(self, kind: str, text: str) -> None:
        self._turn.raise_if_cancelled()
        chunk = self._turn.text_chunk(kind, self._turn.new_id(), text)
        self._turn.update({**chunk, "_meta": self._meta})

    def _update(self, update: str, **fields: Any) -> None:
        self._turn.raise_if_cancelled()
        self._turn.update({"sessionUpdate": update, **fields, "_meta": self._meta})


def _background(turn: ScriptedTurn, step: ScriptStep) -> None:
    command = step.word("text") or ""
    call_id = turn.start_tool(
        title=command,
        kind="execute",
        name="Bash",
        rawInput={"command": command, "run_in_background": True},
    )
    task = f"task-{turn.new_id()}"
    left = {"claudeCode": {"toolResponse": {"stdout": "", "backgroundTaskId": task}}}
    turn.update_tool(call_id, _meta=left)
    said = f"Command running in background with ID: {task}."
    turn.update_tool(call_id, status="completed", content=[text_content(said)], rawOutput=said)
    turn.say(f"`{command}` goes on in the background.")
    if (cue := step.word("cue")) is None:
        return

    def end() -> None:
        turn.options.cues.wait(cue, threading.Event())
        turn.say_after(f"`{command}` has ended.", new_message=True)
        turn.update(
            {
                "sessionUpdate": "usage_update",
                "used": turn.session.tokens,
                "size": 200_000,
                "_meta": {"_claude/origin": {"kind": "task-notification"}},
            }
        )

    turn.after_answer.append(lambda: threading.Thread(target=end, daemon=True).start())


DELEGATION: Final[dict[str, Scene]] = {
    "subagent": Scene(
        r"(?:(?P<count>\d+)\b\s*)?(?P<asks>ask\b\s*)?(?:cue (?P<cue>[\w-]+)\s*)?(?P<title>.*)",
        _subagent,
        "subagent [N] [ask] [cue NAME] [TASK]",
        "a subagent that makes N calls; ask: and asks for a permission; cue: in the middle it waits for it",
    ),
    "background": Scene(
        r"(?:cue (?P<cue>[\w-]+) )?(?P<text>.+)",
        _background,
        "background [cue NAME] COMMAND",
        "a command that goes on after the turn, until the cue",
    ),
}
