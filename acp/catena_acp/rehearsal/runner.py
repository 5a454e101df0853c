"""Running a turn: from the script in its prompt to the answer to the request."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from catena_acp.rehearsal.rpc import INTERNAL_ERROR, MessageLog, Refusal
from catena_acp.rehearsal.scenes import prose
from catena_acp.rehearsal.scenes.delegation import DELEGATION
from catena_acp.rehearsal.scenes.failures import FAILURES
from catena_acp.rehearsal.scenes.speech import SPEECH
from catena_acp.rehearsal.scenes.tools import TOOLS
from catena_acp.rehearsal.script import Scene, ScriptStep, read_script
from catena_acp.rehearsal.turn import ScriptedTurn, TurnCancelled, TurnStopped

_CONTEXT_SIZE = 200_000


class _Ending(NamedTuple):
    """End of a turn, and what stays in the context: user (the prompt), partial (the answer so far, too) or nothing."""

    keeps: str
    stop_reason: str = ""
    refusal: Refusal | None = None


def start_turn(turn: ScriptedTurn, log: MessageLog) -> None:
    """Read the script and run it in a thread of its own."""
    steps = read_script(turn.script, _FORMS)
    # Before the thread starts: a cancel must not come before the scene that ignores it.
    turn.cancellable = not any(step.scene == "hang" and step.word("hard") for step in steps)
    threading.Thread(target=_run, args=(turn, steps, log), daemon=True).start()


def _run(turn: ScriptedTurn, steps: tuple[ScriptStep, ...], log: MessageLog) -> None:
    """Run the steps, store the turn, and answer the request."""
    ending = _run_steps(turn, steps)
    turn.close_steering()
    session = turn.session
    _store(turn, ending.keeps)
    if ending.refusal is None and ending.stop_reason != "cancelled" and turn.entries:
        _send_title(turn)
        _send_usage(turn)
    # Before the answer: the client may send its next prompt at once.
    session.turn = None
    if ending.refusal is not None:
        log.turn_ended(session.id, f"error {ending.refusal.code}")
        turn.rpc.refuse(turn.request_id, ending.refusal)
    else:
        log.turn_ended(session.id, ending.stop_reason)
        turn.rpc.answer(turn.request_id, {"stopReason": ending.stop_reason, **_tokens(turn)})
    for act in turn.after_answer:
        act()


def _run_steps(turn: ScriptedTurn, steps: tuple[ScriptStep, ...]) -> _Ending:
    try:
        for step in steps:
            turn.raise_if_cancelled()
            turn.begin_scene()
            _SCENES[step.scene].run(turn, step)
        if not steps:
            turn.say(prose.FREE_ANSWER.format(heard=_first_words(turn.script, 200)))
        while (said := turn.next_steered()) is not None:
            turn.begin_scene()
            _run_steered(turn, said)
    except TurnCancelled:
        return _Ending(turn.options.cancel_keeps, "cancelled")
    except TurnStopped as stopped:
        # By the protocol the prompt of a refusal, and all after it, are not part of the next turn's context.
        return _Ending("nothing" if stopped.stop_reason == "refusal" else "partial", stopped.stop_reason)
    except Refusal as refusal:
        return _Ending(turn.options.error_keeps, refusal=refusal)
    except OSError as error:
        return _Ending(turn.options.error_keeps, refusal=Refusal(INTERNAL_ERROR, str(error)))
    return _Ending("partial", "end_turn")


def _run_steered(turn: ScriptedTurn, said: str) -> None:
    """Run a steering prompt as a script."""
    steps = read_script(said, _FORMS)
    for step in steps:
        turn.begin_scene()
        _SCENES[step.scene].run(turn, step)
    if not steps:
        turn.say(prose.HEEDED.format(heard=_first_words(said, 200)))


def _store(turn: ScriptedTurn, keeps: str) -> None:
    transcript = turn.session.transcript
    match keeps:
        case "nothing":
            transcript.forget(turn.id)
        case "partial" if turn.entries:
            words = sum(len(entry["text"].split()) for entry in turn.entries if "text" in entry)
            transcript.add_answer(
                turn.id, tuple(turn.entries), round(transcript.cost + 0.001 + words * 0.00002, 6)
            )


def _send_title(turn: ScriptedTurn) -> None:
    transcript = turn.session.transcript
    if turn.options.titles and transcript.title is None:
        transcript.set_title(_first_words(turn.script, 60) or "Rehearsal")
        now = datetime.now(UTC).isoformat()
        turn.update({"sessionUpdate": "session_info_update", "title": transcript.title, "updatedAt": now})


def _send_usage(turn: ScriptedTurn) -> None:
    if turn.options.usage and not turn.usage_sent:
        cost = {"amount": turn.session.transcript.cost, "currency": "USD"}
        used = turn.session.tokens
        turn.update({"sessionUpdate": "usage_update", "used": used, "size": _CONTEXT_SIZE, "cost": cost})


def _tokens(turn: ScriptedTurn) -> dict[str, Any]:
    """The token usage for the answer to the prompt."""
    if not (turn.options.usage and turn.entries):
        return {}
    said = sum(len(entry["text"]) for entry in turn.entries if "text" in entry) // 4
    heard = turn.session.tokens
    return {"usage": {"inputTokens": heard, "outputTokens": said, "totalTokens": heard + said}}


def _first_words(text: str, length: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1].rstrip() + "…"


def _help(turn: ScriptedTurn, step: ScriptStep) -> None:
    """Name every scene that this client can show; so briefly that the answer fits a screen, unless all is asked for."""
    acts = (("Words", SPEECH), ("Work", {**TOOLS, **DELEGATION}), ("Failures", FAILURES))
    explained = step.word("all") is not None
    parts = [
        _act(title, [scene for scene in scenes.values() if _shown(turn, scene)], explained=explained)
        for title, scenes in acts
    ]
    form = prose.HELP_ALL if explained else prose.HELP
    turn.say(form.format(scenes="\n\n".join(parts)))


def _shown(turn: ScriptedTurn, scene: Scene) -> bool:
    return not scene.needs or turn.client_offers(*scene.needs)


def _act(title: str, scenes: Sequence[Scene], *, explained: bool) -> str:
    if explained:
        return "\n".join([f"## {title}", "", *(f"- `{scene.usage}`: {scene.about}" for scene in scenes)])
    return f"**{title}**: " + ", ".join(f"`{scene.usage}`" for scene in scenes)


_SCENES: Final = {
    "help": Scene(r"(?P<all>all)?", _help, "help [all]", "lists all commands; all: explained"),
    **SPEECH,
    **TOOLS,
    **DELEGATION,
    **FAILURES,
}
_FORMS: Final = {name: scene.form for name, scene in _SCENES.items()}
