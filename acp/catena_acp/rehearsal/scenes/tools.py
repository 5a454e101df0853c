"""Scenes of an agent at work: tool calls, permission requests, and requests to the client."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath
from typing import Any, Final

from catena_acp.rehearsal.scenes import prose
from catena_acp.rehearsal.script import (
    CUE,
    NOTHING,
    OPTIONAL_TEXT,
    TEXT,
    WORD,
    Scene,
    ScriptStep,
    text_content,
)
from catena_acp.rehearsal.turn import ScriptedTurn

_KINDS = "read|edit|delete|move|search|execute|think|fetch|switch_mode|other"
_TOOL = rf"(?:(?P<kind>{_KINDS})\b\s*)?(?P<title>.*)"


def _tool(turn: ScriptedTurn, step: ScriptStep) -> None:
    call_id = _begin_tool(turn, step)
    said = f"Pretended: {step.word('title') or 'nothing'}\n"
    turn.update_tool(call_id, status="completed", content=[text_content(said)], rawOutput={"ok": True})


def _begin(turn: ScriptedTurn, step: ScriptStep) -> None:
    _begin_tool(turn, step)


def _fail(turn: ScriptedTurn, step: ScriptStep) -> None:
    call_id = _begin_tool(turn, step)
    turn.update_tool(
        call_id, status="failed", content=[text_content("It did not work.\n")], rawOutput={"ok": False}
    )


def _begin_tool(turn: ScriptedTurn, step: ScriptStep) -> str:
    title = step.word("title") or "README.md"
    call_id = turn.start_tool(
        title=title,
        kind=step.word("kind") or "other",
        locations=[{"path": _in_cwd(turn, PurePath(title.split()[-1]).name), "line": 1}],
        rawInput={"title": title},
    )
    turn.update_tool(call_id, status="in_progress")
    return call_id


def _edit(turn: ScriptedTurn, step: ScriptStep) -> None:
    _change_file(turn, step, ask=True)


def _edit_unasked(turn: ScriptedTurn, step: ScriptStep) -> None:
    _change_file(turn, step, ask=False)


def _change_file(turn: ScriptedTurn, step: ScriptStep, *, ask: bool) -> None:
    path = _in_cwd(turn, step.word("word") or "")
    diff = {"type": "diff", "path": path, "oldText": prose.OLD_FILE, "newText": prose.NEW_FILE}
    call_id = turn.start_tool(
        title=f"Edit {step.word('word')}",
        kind="edit",
        locations=[{"path": path}],
        content=[diff],
        rawInput={"path": path},
    )
    if ask and not turn.ask_permission(call_id).startswith("yes"):
        turn.update_tool(call_id, status="failed")
        turn.say(f"Rejected: I did not pretend to change `{step.word('word')}`.")
        return
    turn.update_tool(call_id, status="in_progress")
    turn.update_tool(call_id, status="completed", rawOutput={"changed": path})
    turn.say(f"I pretended to change `{step.word('word')}`.")


def _run(turn: ScriptedTurn, step: ScriptStep) -> None:
    command = step.word("text") or ""
    call_id = turn.start_tool(title=command, kind="execute", rawInput={"command": command})
    turn.update_tool(call_id, status="in_progress")
    output = [text_content(f"```console\n$ {command}\n{prose.RUN_OUTPUT}```\n")]
    turn.update_tool(
        call_id, status="completed", content=output, rawOutput={"exitCode": 1, "output": prose.RUN_OUTPUT}
    )


def _screenshot(turn: ScriptedTurn, step: ScriptStep) -> None:
    call_id = turn.start_tool(title="the page", kind="fetch", rawInput={"url": prose.PAGE})
    turn.update_tool(call_id, status="in_progress")
    picture = {"type": "image", "mimeType": "image/png", "data": prose.picture()}
    turn.update_tool(call_id, status="completed", content=[{"type": "content", "content": picture}])
    turn.say("This is how the page looks.")
    turn.show(picture)
    turn.show({"type": "resource_link", "name": "the page", "uri": prose.PAGE})


def _ask(turn: ScriptedTurn, step: ScriptStep) -> None:
    if step.word("text") == "name and colour" and turn.client_offers("elicitation", "form"):
        _name_and_colour(turn)
        return
    if step.word("text") == "url" and turn.client_offers("elicitation", "url"):
        _web_page(turn, None)
        return
    title = step.word("text") or "Do something that needs permission"
    call_id = turn.start_tool(title=title, kind="execute", rawInput={"title": title})
    chosen = turn.ask_permission(call_id)
    turn.update_tool(call_id, status="completed" if chosen.startswith("yes") else "failed")
    turn.say(f"You chose `{chosen}`.")


def _redo(turn: ScriptedTurn, step: ScriptStep) -> None:
    """Run a tool call again unless the context says that it was done."""
    title = step.word("text") or ""
    context = turn.session.transcript
    heard = [text for _, text in context.context()[:-1]]
    earlier_blocks = [block["text"] for block in turn.prompt[:-1] if block.get("type") == "text"]
    done = [e["call"]["title"] for x in context.exchanges for e in x.entries if e["kind"] == "tool"]
    if any(title in text for text in (*heard, *earlier_blocks, *done)):
        turn.say(f"[already done] {title}")
        return
    call_id = turn.start_tool(title=title, kind="execute", rawInput={"title": title})
    turn.update_tool(call_id, status="completed")


def _read(turn: ScriptedTurn, step: ScriptStep) -> None:
    path = _in_cwd(turn, step.word("word") or "")
    call_id = turn.start_tool(title=f"Read {step.word('word')}", kind="read", locations=[{"path": path}])
    if not turn.client_offers("fs", "readTextFile"):
        turn.update_tool(
            call_id, status="failed", content=[text_content("The client does not read files for agents.\n")]
        )
        return
    _finish(turn, call_id, turn.ask_client("fs/read_text_file", path=path), "content")


def _write(turn: ScriptedTurn, step: ScriptStep) -> None:
    path = _in_cwd(turn, step.word("word") or "")
    call_id = turn.start_tool(title=f"Write {step.word('word')}", kind="edit", locations=[{"path": path}])
    if not turn.client_offers("fs", "writeTextFile"):
        turn.update_tool(
            call_id, status="failed", content=[text_content("The client does not write files for agents.\n")]
        )
        return
    answer = turn.ask_client("fs/write_text_file", path=path, content=(step.word("text") or "") + "\n")
    _finish(turn, call_id, answer, None)


def _terminal(turn: ScriptedTurn, step: ScriptStep) -> None:
    command, *args = _words(step.word("text") or "")
    call_id = turn.start_tool(
        title=step.word("text"), kind="execute", rawInput={"command": command, "args": args}
    )
    if not turn.client_offers("terminal"):
        turn.update_tool(
            call_id,
            status="failed",
            content=[text_content("The client does not run terminals for agents.\n")],
        )
        return
    made = turn.ask_client("terminal/create", command=command, args=args, cwd=turn.session.transcript.cwd)
    terminal = (made.get("result") or {}).get("terminalId")
    if terminal is None:
        _finish(turn, call_id, made, None)
        return
    try:
        turn.update_tool(
            call_id, status="in_progress", content=[{"type": "terminal", "terminalId": terminal}]
        )
        turn.ask_client("terminal/wait_for_exit", terminalId=terminal)
        output = turn.ask_client("terminal/output", terminalId=terminal)
    finally:  # a stopped turn ends its command
        turn.tell_client("terminal/release", terminalId=terminal)
    turn.update_tool(call_id, status="completed", rawOutput=output.get("result"))
    turn.say(f"The terminal said: {((output.get('result') or {}).get('output') or '').strip()}")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [command]
    except ValueError:  # a quote that is not closed
        return command.split()


def _form(turn: ScriptedTurn, step: ScriptStep) -> None:
    schema = {
        "type": "object",
        "title": "A part in the play",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "How you want to be called"},
            "lines": {"type": "integer", "title": "Lines", "minimum": 1, "maximum": 99, "default": 3},
            "role": {"type": "string", "title": "Role", "enum": ["hero", "villain", "tree"]},
            "mask": {"type": "boolean", "title": "With a mask", "default": False},
            "days": {
                "type": "array",
                "title": "Days",
                "description": "When you can rehearse",
                "items": {
                    "anyOf": [
                        {"const": "sat", "title": "Saturday", "description": "in the hall"},
                        {"const": "sun", "title": "Sunday", "description": "on the stage"},
                    ]
                },
                "minItems": 1,
            },
        },
        "required": ["name"],
    }
    _fill_in(turn, "Who are you to be?", schema)


def _name_and_colour(turn: ScriptedTurn) -> None:
    colours = ("red", "green", "blue")
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "maxLength": 40},
            "colour": {
                "type": "string",
                "title": "Colour",
                "oneOf": [{"const": colour, "title": colour.capitalize()} for colour in colours],
            },
        },
        "required": ["name", "colour"],
    }
    _fill_in(turn, "What is your name, and which colour do you like?", schema)


def _fill_in(turn: ScriptedTurn, message: str, schema: dict[str, Any]) -> None:
    answer = turn.ask_client("elicitation/create", mode="form", message=message, requestedSchema=schema)
    turn.say(f"[form] {json.dumps(answer.get('result') or answer.get('error'), ensure_ascii=False)}")


def _url(turn: ScriptedTurn, step: ScriptStep) -> None:
    _web_page(turn, step.word("cue"))


def _web_page(turn: ScriptedTurn, cue: str | None) -> None:
    """Ask to open a page; what is to be done there is done at the cue, or at once."""
    elicitation_id = f"url-{turn.new_id()}"
    answer = turn.ask_client(
        "elicitation/create",
        mode="url",
        message="Look at the programme",
        elicitationId=elicitation_id,
        url="https://example.org/programme",
    )
    turn.say(f"[url] {json.dumps(answer.get('result') or answer.get('error'))}")
    if (answer.get("result") or {}).get("action") == "accept":
        if cue is not None and not turn.options.cues.wait(cue, turn.cancelled):
            turn.raise_if_cancelled()
        turn.rpc.notify("elicitation/complete", {"elicitationId": elicitation_id})


def _finish(turn: ScriptedTurn, call_id: str, answer: dict[str, Any], field: str | None) -> None:
    """End a tool call by the client's answer, and say so."""
    if "error" in answer:
        words = str(answer["error"].get("message", ""))
        turn.update_tool(call_id, status="failed", content=[text_content(words)])
        turn.say(f"The client refused: {words}")
        return
    words = str((answer.get("result") or {}).get(field, "")) if field else "done"
    turn.update_tool(call_id, status="completed", content=[text_content(words)])
    turn.say(f"[file] {words}")


def _in_cwd(turn: ScriptedTurn, path: str) -> str:
    return str(PurePath(turn.session.transcript.cwd) / path)


TOOLS: Final[dict[str, Scene]] = {
    "tool": Scene(_TOOL, _tool, "tool [KIND] [TITLE]", "a tool call, from pending to completed"),
    "begin": Scene(_TOOL, _begin, "begin [KIND] [TITLE]", "a tool call that stays in progress"),
    "fail": Scene(_TOOL, _fail, "fail [KIND] [TITLE]", "a tool call that fails"),
    "redo": Scene(TEXT, _redo, "redo TITLE", "a tool call, unless its history says it is done"),
    "edit": Scene(WORD, _edit, "edit PATH", "shows a diff, asks first; changes nothing"),
    "edit!": Scene(WORD, _edit_unasked, "edit! PATH", "the same without asking"),
    "run": Scene(TEXT, _run, "run COMMAND", "shows the output of a command without running it"),
    "screenshot": Scene(NOTHING, _screenshot, "screenshot", "a tool call with a picture, and a link"),
    "ask": Scene(OPTIONAL_TEXT, _ask, "ask [TITLE]", "asks for a permission"),
    "read": Scene(WORD, _read, "read PATH", "reads a file through the client", ("fs", "readTextFile")),
    "write": Scene(
        r"(?P<word>\S+)(?: (?P<text>.*))?",
        _write,
        "write PATH TEXT",
        "writes a file through the client",
        ("fs", "writeTextFile"),
    ),
    "terminal": Scene(
        TEXT, _terminal, "terminal COMMAND", "runs a command through the client", ("terminal",)
    ),
    "form": Scene(
        NOTHING,
        _form,
        "form",
        "asks for a few fields; `ask name and colour`: for two",
        ("elicitation", "form"),
    ),
    "url": Scene(rf"(?:{CUE})?", _url, "url [cue NAME]", "asks to open a URL", ("elicitation", "url")),
}
