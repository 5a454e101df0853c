"""Scenes of an ordinary conversation: text, plans, session updates, and the session's context."""

from __future__ import annotations

import json
import re
from typing import Final

from catena_acp.rehearsal import settings
from catena_acp.rehearsal.scenes import prose
from catena_acp.rehearsal.script import (
    NOTHING,
    OPTIONAL_SECONDS,
    OPTIONAL_TEXT,
    TEXT,
    RunScene,
    Scene,
    ScriptStep,
    text_content,
)
from catena_acp.rehearsal.transcripts import Exchange
from catena_acp.rehearsal.turn import ScriptedTurn, TurnCancelled


def _say(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.say(step.word("text") or "")


def _think(turn: ScriptedTurn, step: ScriptStep) -> None:
    for part in re.findall(
        r"\S+\s*", step.word("text") or "First the question, then the code, then the answer."
    ):
        turn.think(part)


def _stream(turn: ScriptedTurn, step: ScriptStep) -> None:
    words = prose.stream_of_words(int(step.number("count", 0)), step.word("end"))
    turn.stream(words, step.number("rate", 0))


def _wait(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.pause(step.number("seconds", 1))


def _cue(turn: ScriptedTurn, step: ScriptStep) -> None:
    if not turn.options.cues.wait(step.word("cue") or "", turn.cancelled):
        raise TurnCancelled


def _heed(turn: ScriptedTurn, step: ScriptStep) -> None:
    said = turn.next_steered(step.number("seconds", 5))
    turn.say("Nothing was sent to this turn." if said is None else prose.HEEDED.format(heard=said))


def _text(text: str) -> RunScene:
    def run(turn: ScriptedTurn, step: ScriptStep) -> None:
        turn.say(text)

    return run


def _code(turn: ScriptedTurn, step: ScriptStep) -> None:
    language = step.word("text") or "python"
    unknown = "no example in this language\n"
    turn.say(f"```{language}\n{prose.CODE.get(language, unknown)}```\n")


def _history(turn: ScriptedTurn, step: ScriptStep) -> None:
    """Make a long session at once, since turn by turn is slow."""
    for number in range(1, int(step.number("count", 1)) + 1):
        exchange = Exchange(turn.new_id(), turn.new_id(), ({"type": "text", "text": f"Question {number}"},))
        answer = "".join(prose.stream_of_words(40 + number % 80))
        turn.session.transcript.add_prompt(exchange)
        entry = {"kind": "agent", "id": turn.new_id(), "text": f"Answer {number}. {answer}"}
        turn.session.transcript.add_answer(exchange.id, (entry,), turn.session.transcript.cost)
    turn.say("We have a history now.")


def _image(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.show({"type": "image", "mimeType": "image/png", "data": prose.PIXEL})


def _huge(turn: ScriptedTurn, step: ScriptStep) -> None:
    line = "a line of a very long chunk, sixty-four bytes with its newline.\n"
    turn.say(line * (int(step.number("size", 1)) * 1024 // len(line)))


def _plan(turn: ScriptedTurn, step: ScriptStep) -> None:
    lines = (("Read the code", "high"), ("Make the change", "medium"), ("Run the tests", "low"))
    for done in range(len(lines) + 1):
        turn.plan(
            [
                {"content": text, "priority": priority, "status": _status(number, done)}
                for number, (text, priority) in enumerate(lines)
            ]
        )


def _status(number: int, done: int) -> str:
    if number < done:
        return "completed"
    return "in_progress" if number == done else "pending"


def _mode(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.session.settings.set_mode(step.word("word"))
    turn.update({"sessionUpdate": "current_mode_update", "currentModeId": step.word("word")})
    if turn.options.options:
        shown = turn.session.settings.options(
            booleans=turn.client_offers("session", "configOptions", "boolean")
        )
        turn.update({"sessionUpdate": "config_option_update", "configOptions": shown})


def _title(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.session.transcript.set_title(step.word("text") or "")
    turn.update({"sessionUpdate": "session_info_update", "title": step.word("text")})


def _commands(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.update(
        {"sessionUpdate": "available_commands_update", "availableCommands": settings.commands(extra=True)}
    )


def _usage(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.usage_sent = True
    used, size = int(step.number("used", 0)), int(step.number("size", 200_000))
    cost = {"amount": round(turn.session.transcript.cost, 6), "currency": "USD"}
    turn.update({"sessionUpdate": "usage_update", "used": used, "size": size, "cost": cost})


def _notice(turn: ScriptedTurn, step: ScriptStep) -> None:
    title = step.word("text") or "The disk is almost full"
    turn.update(
        {"sessionUpdate": "notice", "severity": "warning", "title": title, "description": "Nothing is lost."}
    )


def _compact(turn: ScriptedTurn, step: ScriptStep) -> None:
    compaction = {"sessionUpdate": "compaction_update", "compactionId": f"compaction-{turn.new_id()}"}
    turn.update({**compaction, "status": "in_progress"})
    turn.update(
        {**compaction, "status": "completed", "summary": [{"type": "text", "text": "We talked for a while."}]}
    )


def _unknown(turn: ScriptedTurn, step: ScriptStep) -> None:
    turn.update({"sessionUpdate": "mood_changed", "mood": "hopeful", "since": 3})


def _escape(turn: ScriptedTurn, step: ScriptStep) -> None:
    bad = prose.ESCAPES
    turn.think(f"thought {bad}")
    call_id = turn.start_tool(title=f"tool {bad}", kind="execute", rawInput={"command": bad})
    turn.update_tool(
        call_id, status="completed", content=[text_content(f"output {bad}")], rawOutput={"output": bad}
    )
    turn.plan([{"content": f"plan {bad}", "priority": "high", "status": "pending"}])
    command = {"name": f"command{bad}", "description": f"about {bad}", "input": {"hint": bad}}
    turn.update({"sessionUpdate": "available_commands_update", "availableCommands": [command]})
    turn.update({"sessionUpdate": "session_info_update", "title": f"title {bad}"})
    turn.say(f"text {bad} end of text")


def _echo(turn: ScriptedTurn, step: ScriptStep) -> None:
    context = turn.session.transcript.context()
    users = [text.replace("\n", "/") for role, text in context if role == "user"]
    answers = sum(role == "assistant" for role, _ in context)
    turn.say(f'[heard] users={len(users)} assistants={answers} last="{users[-1]}" all={"|".join(users)}')


def _context(turn: ScriptedTurn, step: ScriptStep) -> None:
    lines = [
        f"{role} {json.dumps(text, ensure_ascii=False)}" for role, text in turn.session.transcript.context()
    ]
    turn.say("[context]\n" + "\n".join(lines))


def _settings(turn: ScriptedTurn, step: ScriptStep) -> None:
    values = turn.session.settings.values.items()
    turn.say("[settings] " + " ".join(f"{name}={str(value).lower()}" for name, value in values))


SPEECH: Final[dict[str, Scene]] = {
    "say": Scene(TEXT, _say, "say TEXT", "answers with TEXT"),
    "stream": Scene(
        r"(?P<count>\d+)(?: rate (?P<rate>\d+(?:\.\d+)?))?(?: end=(?P<end>\S+))?",
        _stream,
        "stream N [rate R] [end=WORD]",
        "streams N words of Markdown, R per second",
    ),
    "think": Scene(OPTIONAL_TEXT, _think, "think [TEXT]", "a thought"),
    "markdown": Scene(NOTHING, _text(prose.MARKDOWN), "markdown", "every Markdown element"),
    "table": Scene(NOTHING, _text(prose.TABLE), "table", "a table"),
    "code": Scene(r"(?P<text>\w*)", _code, "code [LANGUAGE]", "a block of code"),
    "todo": Scene(NOTHING, _text(prose.TODO), "todo", "an answer with open tasks"),
    "image": Scene(NOTHING, _image, "image", "a picture"),
    "huge": Scene(r"(?P<size>\d+)", _huge, "huge N", "one chunk of N kB"),
    "plan": Scene(NOTHING, _plan, "plan", "a plan of three steps that progresses"),
    "mode": Scene(r"(?P<word>ask|code|plan)", _mode, "mode ask|code|plan", "changes the agent's mode"),
    "title": Scene(TEXT, _title, "title TEXT", "sets the session's title"),
    "commands": Scene(NOTHING, _commands, "commands", "adds a slash command"),
    "usage": Scene(r"(?P<used>\d+)/(?P<size>\d+)", _usage, "usage N/M", "reports context usage"),
    "notice": Scene(OPTIONAL_TEXT, _notice, "notice [TEXT]", "shows a notice", ("session", "notices")),
    "compact": Scene(
        NOTHING, _compact, "compact", "reports that it shortened its context", ("session", "compaction")
    ),
    "unknown": Scene(NOTHING, _unknown, "unknown", "sends an unknown update"),
    "escape": Scene(NOTHING, _escape, "escape", "control sequences and markup everywhere"),
    "wait": Scene(OPTIONAL_SECONDS, _wait, "wait [SECONDS]", "pauses"),
    "cue": Scene(r"(?P<cue>[\w-]+)", _cue, "cue NAME", "waits until the file cues/NAME exists in its home"),
    "heed": Scene(OPTIONAL_SECONDS, _heed, "heed [SECONDS]", "waits for a message sent into the turn"),
    "history": Scene(r"(?P<count>\d+)", _history, "history N", "adds N pretend turns to its history"),
    "echo": Scene(NOTHING, _echo, "echo", "what this session has received"),
    "context": Scene(NOTHING, _context, "context", "the same, in full"),
    "settings": Scene(NOTHING, _settings, "settings", "current mode, model and options"),
}
