"""Scenes of failure: exits, limits, silence, and sends invalid lines."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from catena_acp.rehearsal.rpc import INTERNAL_ERROR, Refusal, encode, exit_process
from catena_acp.rehearsal.scenes import prose
from catena_acp.rehearsal.script import CUE, NOTHING, OPTIONAL_SECONDS, WORD, RunScene, Scene, ScriptStep
from catena_acp.rehearsal.settings import Login
from catena_acp.rehearsal.turn import ScriptedTurn, TurnStopped

_PARTIAL = "I was about to say"


def kill_process() -> None:
    """Kill this process with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def start_child(seconds: float) -> None:
    """Start a process that keeps our standard output open and does nothing."""
    code = f"import time; time.sleep({seconds})"
    os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", code], dict(os.environ))


def _crash(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(_PARTIAL)
    kill_process()


def _exit(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(_PARTIAL)
    exit_process(int(step.number("status", 0)))


def _orphan(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(_PARTIAL)
    start_child(step.number("seconds", 60))
    exit_process(0)


def _hang(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.pause(None)


def _deaf(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.rpc.stop_reading()
    turn.say("I no longer listen.")
    threading.Event().wait()


def _rate_limit(turn: ScriptedTurn, step: ScriptStep) -> None:
    if not step.word("early"):
        turn.say(_PARTIAL)
    seconds = step.number("seconds", 3600)
    resets = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    data = {"errorKind": "rate_limit", "status": 429, "resetsAt": resets.isoformat(), "retryAfter": seconds}
    raise Refusal(INTERNAL_ERROR, f"You have reached your rate limit. It resets at {resets:%H:%M} UTC.", data)


def _credit(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(_PARTIAL)
    data = {"errorKind": "billing_error", "status": 402}
    raise Refusal(INTERNAL_ERROR, "Your credit balance is too low for this month.", data)


def _overload(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(_PARTIAL)
    raise Refusal(INTERNAL_ERROR, "API Error: 529 Overloaded", {"errorKind": "overloaded", "status": 529})


def _login(turn: ScriptedTurn, step: ScriptStep) -> None:
    login = Login(turn.options)
    login.require()
    raise login.refusal()


def _error(turn: ScriptedTurn, step: ScriptStep) -> None:
    raise Refusal(int(step.number("code", INTERNAL_ERROR)), step.word("text") or "It went wrong")


def _empty(turn: ScriptedTurn, step: ScriptStep) -> None:
    raise TurnStopped("end_turn")


def _stop_with(reason: str, words: str) -> RunScene:
    def run(turn: ScriptedTurn, step: ScriptStep) -> None:
        if words:
            turn.say(words)
        raise TurnStopped(reason)

    return run


def _stop_reason(turn: ScriptedTurn, step: ScriptStep) -> None:
    raise TurnStopped(step.word("word") or "end_turn")


def _late(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say("This came in time.")
    turn.after_answer.append(lambda: turn.say_after(" This came late."))


def _between(turn: ScriptedTurn, step: ScriptStep) -> None:
    def say_later() -> None:
        if (cue := step.word("cue")) is None:
            time.sleep(step.number("seconds", 1))
        else:
            turn.options.cues.wait(cue, threading.Event())
        turn.say_after("Something occurred to me between turns.", new_message=True)

    turn.say("I may think of something.")
    turn.after_answer.append(lambda: threading.Thread(target=say_later, daemon=True).start())


def _garbage(turn: ScriptedTurn, step: ScriptStep) -> None:
    session, chunk = turn.session.id, turn.text_chunk
    turn.say("Before the garbage.")
    for line in (
        b"this is no JSON",
        b"[]",
        b"42",
        b'"a text"',
        b"null",
        b"{}",
        b"",
        b'{"jsonrpc":"2.0","id":[1]}',
    ):
        turn.rpc.write(line + b"\n")
    for update, extra in (
        (chunk("agent", turn.new_id(), "FOREIGN"), {"sessionId": "00000000-0000-4000-8000-000000000000"}),
        ({"sessionUpdate": "agent_message_chunk"}, {"sessionId": session}),
        ({"sessionUpdate": "mood_changed", "mood": None}, {"sessionId": session}),
        ({"sessionUpdate": "usage_update", "used": -1, "size": "large"}, {"sessionId": session}),
    ):
        turn.rpc.notify("session/update", {**extra, "update": update})
    turn.rpc.notify("session/update", {})
    turn.rpc.notify("_rehearsal/gossip", {"about": "nothing"})
    turn.rpc.notify("$/cancel_request", {"requestId": "nobody-asked-this"})
    turn.rpc.answer("nobody-asked-this", {"stopReason": "end_turn"})
    turn.rpc.ask("_rehearsal/question", {"sessionId": session})
    forged = {"session_id": "FORGED", "sessionId": "FORGED", "update": "FORGED"}
    entry_id = turn.entries[-1]["id"]
    turn.entries[-1]["text"] += " Forged."
    turn.rpc.notify(
        "session/update",
        {"sessionId": session, "_meta": forged, "update": chunk("agent", entry_id, " Forged.")},
    )
    turn.say(" After the garbage.")


def _flood(turn: ScriptedTurn, step: ScriptStep) -> None:
    line = b"a line of complaint on standard error, sixty-four bytes or so..\n"
    for _ in range(int(step.number("size", 1)) * 1024 // len(line)):
        os.write(2, line)
    turn.say("I complained at length.")


def _twice(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say("I answer twice.")
    turn.after_answer.append(lambda: turn.rpc.answer(turn.request_id, {"stopReason": "refusal"}))


def _wrong_id(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say("I answer someone else.")
    turn.rpc.answer(99_999_999, {"stopReason": "end_turn"})
    if step.word("only"):
        turn.pause(None)


def _invalid_utf8(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say("Well formed,")
    broken = turn.text_chunk("agent", turn.entries[-1]["id"], " caf@ @@")
    params: dict[str, Any] = {"sessionId": turn.session.id, "update": broken}
    line = encode({"jsonrpc": "2.0", "method": "session/update", "params": params})
    turn.rpc.write(line.replace(b"caf@ @@", b"caf\xe9 \xff\xfe"))
    turn.entries[-1]["text"] += " caf\ufffd \ufffd\ufffd"
    turn.say(" and well formed again.")


def _banner(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.rpc.write(b"*** A new version is available! ***\n")
    turn.say("I greeted in plain text.")


FAILURES: Final[dict[str, Scene]] = {
    "crash": Scene(NOTHING, _crash, "crash", "kills itself in mid-sentence"),
    "exit": Scene(r"(?P<status>\d{1,3})", _exit, "exit N", "exits with that status"),
    "orphan": Scene(
        OPTIONAL_SECONDS, _orphan, "orphan [S]", "exits while a child process keeps its output open"
    ),
    "hang": Scene(r"(?P<hard>hard)?", _hang, "hang [hard]", "never answers; hard: not even to a stop"),
    "deaf": Scene(NOTHING, _deaf, "deaf", "stops reading input"),
    "ratelimit": Scene(
        r"(?P<early>early)?\s*(?P<seconds>\d+)?",
        _rate_limit,
        "ratelimit [early] [S]",
        "429; resets in S",
    ),
    "credit": Scene(NOTHING, _credit, "credit", "no credit left"),
    "overload": Scene(NOTHING, _overload, "overload", "529"),
    "login": Scene(NOTHING, _login, "login", "requires a login until you log in"),
    "error": Scene(
        r"(?P<code>-?\d+)(?: (?P<text>.*))?",
        _error,
        "error CODE WORDS",
        "fails with this message",
    ),
    "empty": Scene(NOTHING, _empty, "empty", "returns an empty answer"),
    "errortext": Scene(
        NOTHING,
        _stop_with("end_turn", prose.LIMIT_AS_TEXT),
        "errortext",
        "an error sent as an answer",
    ),
    "refuse": Scene(NOTHING, _stop_with("refusal", "I would rather not."), "refuse", "stops with a refusal"),
    "maxtokens": Scene(NOTHING, _stop_with("max_tokens", _PARTIAL), "maxtokens", "stops at the token limit"),
    "stopreason": Scene(WORD, _stop_reason, "stopreason X", "stops with that reason"),
    "late": Scene(NOTHING, _late, "late", "continues after its answer"),
    "between": Scene(
        f"(?:{CUE}|{OPTIONAL_SECONDS})",
        _between,
        "between [S | cue NAME]",
        "sends a message S seconds after the turn, or at a cue",
    ),
    "garbage": Scene(NOTHING, _garbage, "garbage", "sends invalid lines"),
    "flood": Scene(r"stderr (?P<size>\d+)", _flood, "flood stderr N", "writes N kB to standard error"),
    "twice": Scene(NOTHING, _twice, "twice", "answers twice"),
    "wrongid": Scene(r"(?P<only>only)?", _wrong_id, "wrongid [only]", "answers a request nobody made"),
    "invalid-utf8": Scene(NOTHING, _invalid_utf8, "invalid-utf8", "sends bytes that are not text"),
    "banner": Scene(NOTHING, _banner, "banner", "sends plain text between messages"),
}
