"""An agent that does one bad thing for each prompt; standard library only.

A prompt's first word names the misdeed. Around most of them the agent says `before NAME.` and `after NAME.`, so that it
can be seen that neither was lost. Misdeeds that come before there is a prompt are named by the variable MISDEED.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Misdeed = Callable[["Turn"], "bool | None"]

EVIL = (
    "\x1b]52;c;aGk=\x07\x1b[2J\x1b[31m\x9b5A\x07\x08\r\x00\u202egnp\u2066\u2028[bold red on blue]\\[/][@click=app.quit]"
    "\U000e0041\u200b:warning: <b>&amp;\n\x1bPq#0\x1b\\ EVIL"
)
MISDEEDS: dict[str, Misdeed] = {}


def misdeed(perform: Misdeed) -> Misdeed:
    """List it under its name. It answers True where the turn was ended, or is to have no end."""
    MISDEEDS[perform.__name__.replace("_", "-")] = perform
    return perform


def raw(data: bytes) -> None:
    """Write bytes that need be no message."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(*messages: Message) -> None:
    """Write messages, as few writes as the pipe takes."""
    raw(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages))


def read() -> Message:
    """The next message; the process ends where there are no more."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    message: Message = json.loads(line)
    return message


def read_until(done: Callable[[Message], object]) -> Message:
    """Read on until a message is the one."""
    while not done(message := read()):
        pass
    return message


class Turn:
    """A prompt, and what the agent does about it."""

    def __init__(self, request: Message) -> None:
        self.id = request["id"]
        self.session: str = request["params"]["sessionId"]
        self.name: str = request["params"]["prompt"][-1]["text"].split()[-1]

    def update(self, variant: Any, /, **fields: Any) -> Message:
        update = {"sessionUpdate": variant, **fields}
        return {"method": "session/update", "params": {"sessionId": self.session, "update": update}}

    def chunk(self, text: Any, **fields: Any) -> Message:
        return self.update("agent_message_chunk", content={"type": "text", "text": text}, **fields)

    def say(self, text: str) -> None:
        send(self.chunk(text))

    def end(self, result: Any = None) -> bool:
        send({"id": self.id, "result": result or {"stopReason": "end_turn"}})
        return True

    def ask(self, request_id: Any, method: str = "session/request_permission", **params: Any) -> Message:
        return {"id": request_id, "method": method, "params": {"sessionId": self.session, **params}}

    def answer_to(self, request_id: Any) -> Message:
        return read_until(lambda message: "method" not in message and message.get("id") == request_id)


# Lines that are no messages.


@misdeed
def garbage(turn: Turn) -> None:
    raw(b"this is no JSON\n{\n}\n\n\r\n   \n{]}\n" + bytes(range(11, 256)) + b"\n" + b"x" * 100_000 + b"\n")


@misdeed
def not_objects(turn: Turn) -> None:
    raw(b'[]\n42\n-0\n1e5\n"text"\nnull\ntrue\n[[[]]]\n[1,"a",null,[{}]]\n{}\n[{},{"id":null}]\n')


@misdeed
def batches(turn: Turn) -> None:
    batch = [{"jsonrpc": "2.0", **turn.chunk(f"b{number} ")} for number in range(3)]
    raw(json.dumps(batch).encode() + b"\n")
    raw(json.dumps([batch, 7, None]).encode() + b"\n")
    raw(b"[" + b",".join([b"{}"] * 1_000_000) + b"]\n")


@misdeed
def small_garbage(turn: Turn) -> None:
    raw(b"1\n" * 100_000)
    raw(b"{}\n" * 50_000)


@misdeed
def odd_ids(turn: Turn) -> None:
    ids: list[Any] = [[1], {"a": 1}, 1.5, -1, 10**300, True, None, "", "x" * 100_000, "x1", "\ud800", [[]]]
    for odd in ids:
        send({"id": odd, "result": {"stopReason": "refusal"}}, {"id": odd, "error": odd})
        send(turn.ask(odd, "terminal/create"), turn.ask(odd, "fs/read_text_file", path="/nowhere"))
    raw(b'{"id":1e999,"result":{}}\n{"id":NaN,"result":{}}\n{"id":' + b"9" * 5_000 + b',"result":{}}\n')


@misdeed
def odd_methods(turn: Turn) -> None:
    methods: list[Any] = [
        [1],
        {},
        7,
        1.5,
        True,
        "",
        "\ud800",
        "_catena/update",
        "_catena/cancel",
        "x" * 100_000,
    ]
    for odd in methods:
        send({"method": odd}, {"method": odd, "params": [1]}, {"id": 5, "method": odd, "params": "text"})
    forms: list[Any] = [{"params": {"update": {}}, "request_id": 0}, None, [], {"sessionId": turn.session}]
    for params in forms:
        send({"method": "_catena/update", "params": params}, {"method": "session/update", "params": params})
        send({"method": "$/cancel_request", "params": params})
    ids: list[Any] = [[], {}, 1.5, None, True, 10**300]
    for odd in ids:
        send({"method": "$/cancel_request", "params": {"requestId": odd}})


@misdeed
def forged_meta(turn: Turn) -> None:
    forged = {
        "session_id": "FORGED",
        "sessionId": "FORGED",
        "update": "FORGED",
        "request_id": 0,
        "path": "/etc",
    }
    message = turn.chunk("with meta. ")
    message["params"]["_meta"] = forged
    message["params"]["update"]["_meta"] = forged
    send(message, {**turn.chunk("more. "), "_meta": forged})
    asked: Message = {"_meta": {**forged, "asked": {}}, "toolCall": {"toolCallId": "t"}, "options": OPTIONS}
    send(
        {
            "id": 1,
            "method": "fs/read_text_file",
            "params": {"sessionId": turn.session, "path": "/x", "_meta": forged},
        }
    )
    turn.answer_to(1)
    send({"id": 2, "method": "fs/write_text_file", "params": {"_meta": {**forged, "content": "x"}}})
    turn.answer_to(2)
    send(turn.ask(3, **asked))
    turn.answer_to(3)


OPTIONS: list[Message] = [{"optionId": "a", "name": "Allow", "kind": "allow_once"}]


@misdeed
def foreign_sessions(turn: Turn) -> None:
    for session in ("nobody", "", "s999", turn.session + " ", "x" * 100_000, 7, None, [turn.session]):
        message = turn.chunk("FOREIGN")
        message["params"]["sessionId"] = session
        send(
            message, {"id": 4, "method": "fs/read_text_file", "params": {"sessionId": session, "path": "/x"}}
        )
    for number in range(2_000):
        message = turn.chunk("FOREIGN")
        message["params"]["sessionId"] = f"made up {number}"
        send(message)


@misdeed
def foreign_floods(turn: Turn) -> None:
    """Hundreds of megabytes for sessions that nobody listens to."""
    for number in range(30):
        message = turn.chunk("F" * 8_000_000, messageId=str(number))
        message["params"]["sessionId"] = f"flood {number % 3}"
        send(message)


@misdeed
def everything_twice(turn: Turn) -> None:
    for message in (
        turn.update("tool_call", toolCallId="t", title="twice", status="pending"),
        turn.update("tool_call_update", toolCallId="t", status="completed"),
        turn.update("plan", entries=[{"content": "twice", "priority": "high", "status": "pending"}]),
        turn.update("current_mode_update", currentModeId="m"),
        turn.update("session_info_update", title="twice"),
    ):
        send(message, message)


@misdeed
def huge_text(turn: Turn) -> None:
    send(turn.chunk("lorem ipsum dolor sit amet \n" * 35_000, messageId="huge"))


@misdeed
def line_without_end(turn: Turn) -> None:
    block = b"x" * 1_000_000
    raw(b'{"jsonrpc":"2.0","method":"')
    for _ in range(70):
        raw(block)
    raw(b"\n")


@misdeed
def stderr_flood(turn: Turn) -> None:
    for piece in (b"y" * 100_000, b"line\n" * 20_000):
        for _ in range(50):
            os.write(2, piece)


# What answers are made of.


@misdeed
def wrong_answers(turn: Turn) -> None:
    first, _, count = turn.id.partition(".")  # ids of requests are texts such as "1.7"
    near: list[Any] = [f"{first}.{int(count) + step}" for step in (1, 100, -1)]
    for wrong in (*near, f"{first}1.{count}", count, int(count), float(turn.id), 99_999_999, "nobody", 0, -1):
        send({"id": wrong, "result": {"stopReason": "refusal"}}, {"id": wrong, "error": {"code": 1}})


@misdeed
def answers_twice(turn: Turn) -> bool:
    turn.say("after answers-twice.")
    turn.end()
    turn.end({"stopReason": "refusal"})
    send({"id": turn.id, "error": {"code": -32603, "message": "no"}})
    return True


@misdeed
def error_of_odd_shape(turn: Turn) -> bool:
    send({"id": turn.id, "error": {"code": [1], "message": {"no": "words"}, "data": [[{"deep": None}]]}})
    return True


@misdeed
def error_of_many_words(turn: Turn) -> bool:
    words = "session" + " " * 200_000 + "x" + EVIL * 20_000
    send({"id": turn.id, "error": {"code": 10**400, "message": words, "data": {"details": words}}})
    return True


@misdeed
def stop_reason_of_another_type(turn: Turn) -> bool:
    return turn.end({"stopReason": ["end_turn"], "usage": [1]})


@misdeed
def unknown_stop_reason(turn: Turn) -> bool:
    turn.say("after unknown-stop-reason.")
    return turn.end({"stopReason": EVIL, "usage": {"inputTokens": -1, "outputTokens": 1e300, "x": [None]}})


@misdeed
def never_answers(turn: Turn) -> bool:
    read_until(lambda message: message.get("method") == "session/cancel")
    return turn.end({"stopReason": "cancelled"})


@misdeed
def cancel_answered_with_an_error(turn: Turn) -> bool:
    read_until(lambda message: message.get("method") == "session/cancel")
    send({"id": turn.id, "error": {"code": -32603, "message": "I will not be stopped"}})
    return True


@misdeed
def answers_first(turn: Turn) -> bool:
    """The answer before any update, and updates for a long time thereafter."""
    turn.end()
    for number in range(400):
        turn.say(f"late {number}. ")
        time.sleep(0.001)
    send(turn.update("tool_call", toolCallId="late", title="late tool", status="pending"))
    return True


@misdeed
def asks_after_the_end(turn: Turn) -> bool:
    turn.say("after asks-after-the-end.")
    turn.end()
    send(turn.ask(50, toolCall={"toolCallId": "late", "title": "Late question"}, options=OPTIONS))
    return True


# Text that is none.


@misdeed
def no_utf8(turn: Turn) -> None:
    line = json.dumps({"jsonrpc": "2.0", **turn.chunk("caf@ ")}).encode()
    raw(line.replace(b"@", b"\xe9\xff\xfe\xc0\x80\xed\xa0\x80") + b"\n")
    send(turn.chunk("half \ud800 pair \udfff and nul \x00. "))
    send(
        turn.update(
            "tool_call", toolCallId="\ud800\x00", title="\udc80\x00", rawInput={"\ud800": ["\x00\udfff"]}
        )
    )


@misdeed
def banners(turn: Turn) -> None:
    raw(b"*** a new version ***\n\x1b[2Jcleared\n")


@misdeed
def control_sequences(turn: Turn) -> None:
    call = {"toolCallId": EVIL, "title": EVIL, "kind": EVIL, "name": EVIL}
    places = [{"path": EVIL, "line": 3}, {"path": "/etc/passwd", "line": -1}, {"path": "", "line": 1e300}]
    content = [
        {"type": "diff", "path": EVIL, "oldText": EVIL, "newText": EVIL + "new"},
        {"type": "content", "content": {"type": "text", "text": EVIL}},
        {"type": "terminal", "terminalId": EVIL},
        {"type": EVIL, "title": EVIL},
        {"type": "content", "content": {"type": "resource_link", "uri": EVIL, "name": EVIL, "title": EVIL}},
    ]
    choices = [{"value": EVIL, "name": EVIL, "description": EVIL}]
    option = {"id": EVIL, "name": EVIL, "description": EVIL, "type": "select", "currentValue": EVIL}
    send(
        turn.update("agent_thought_chunk", content={"type": "text", "text": EVIL}),
        turn.update("tool_call", **call, status="pending", rawInput={EVIL: EVIL}),
        turn.update(
            "tool_call_update", **call, status="completed", locations=places, content=content, rawOutput=EVIL
        ),
        turn.update("plan", entries=[{"content": EVIL, "priority": EVIL, "status": EVIL}]),
        turn.update(
            "available_commands_update",
            availableCommands=[{"name": EVIL, "description": EVIL, "input": {"hint": EVIL}}],
        ),
        turn.update("current_mode_update", currentModeId=EVIL),
        turn.update(
            "config_option_update",
            configOptions=[
                {**option, "category": category, "options": choices} for category in ("mode", "model", EVIL)
            ],
        ),
        turn.update("session_info_update", title=EVIL),
        turn.update("usage_update", used=5, size=10, cost={"amount": 1.5, "currency": EVIL}),
        turn.update("notice", severity=EVIL, title=EVIL, description=EVIL),
        turn.update("compaction_update", status=EVIL, summary=[{"type": "text", "text": EVIL}]),
        turn.update(EVIL, content=EVIL),
        turn.update("agent_message_chunk", content={"type": EVIL, "uri": EVIL, "mimeType": EVIL}),
        turn.chunk(
            EVIL + f"\n[{EVIL}](javascript:{EVIL})\n# {EVIL}\n```{EVIL}\n{EVIL}\n```\n| {EVIL} |\n|-|\n"
        ),
    )
    os.write(2, EVIL.encode() + b"\n")
    options = [{"optionId": EVIL, "name": EVIL, "kind": EVIL}, *OPTIONS]
    send(turn.ask(7, toolCall={**call, "locations": places, "content": content}, options=options))
    turn.answer_to(7)


@misdeed
def control_sequences_in_an_error(turn: Turn) -> bool:
    send({"id": turn.id, "error": {"code": -32603, "message": EVIL, "data": {"details": EVIL}}})
    return True


# Too much, and too odd.


@misdeed
def many_tool_calls(turn: Turn) -> None:
    for number in range(3_000):
        send(turn.update("tool_call", toolCallId=f"t{number}", title=f"Tool {number}", status="completed"))


@misdeed
def many_questions(turn: Turn) -> None:
    # A few more than may be open in this test.
    send(*(turn.ask(number, toolCall={"toolCallId": f"q{number}"}, options=OPTIONS) for number in range(50)))
    for _ in range(50):
        if "error" not in read_until(lambda message: "method" not in message):
            break
    turn.say("refused some. ")


@misdeed
def many_chunks(turn: Turn) -> None:
    for start in range(0, 30_000, 1_000):
        send(*(turn.chunk(f"{number} ") for number in range(start, start + 1_000)))


@misdeed
def many_unjoinable_chunks(turn: Turn) -> None:
    for start in range(0, 2_000, 1_000):
        send(*(turn.chunk("z ", messageId=str(number)) for number in range(start, start + 1_000)))


@misdeed
def deep_json(turn: Turn) -> None:
    for depth in (150, 1_000, 100_000):
        nested = b"[" * depth + b"]" * depth
        line = json.dumps(
            {"jsonrpc": "2.0", **turn.update("tool_call", toolCallId=f"d{depth}", rawInput="@")}
        ).encode()
        raw(line.replace(b'"@"', nested) + b"\n")
        raw(line.replace(b'"@"', b'{"a":' * depth + b"1" + b"}" * depth) + b"\n")


@misdeed
def odd_numbers(turn: Turn) -> None:
    for odd in (
        b"1e999",
        b"-1e999",
        b"NaN",
        b"-Infinity",
        b"-5",
        b"1e308",
        b"9" * 400,
        b"0.1",
        b'"5"',
        b"null",
        b"true",
    ):
        line = json.dumps(
            {
                "jsonrpc": "2.0",
                **turn.update("usage_update", used="@", size="@", cost={"amount": "@", "currency": 5}),
            }
        ).encode()
        raw(line.replace(b'"@"', odd) + b"\n")
        line = json.dumps(
            {
                "jsonrpc": "2.0",
                **turn.update(
                    "tool_call",
                    toolCallId="n",
                    rawInput=["@"],
                    rawOutput="@",
                    locations=[{"path": "/x", "line": "@"}],
                ),
            }
        ).encode()
        raw(line.replace(b'"@"', odd) + b"\n")
        line = json.dumps({"jsonrpc": "2.0", **turn.update("mood", mood="@")}).encode()
        raw(line.replace(b'"@"', odd) + b"\n")


@misdeed
def huge_names(turn: Turn) -> None:
    huge = "N" * 2_000_000 + "[" * 1_000_000 + "\n" * 1_000_000
    choices = [{"value": huge, "name": huge}, {"value": "b", "name": huge}]
    option = {
        "id": huge,
        "name": huge,
        "category": "model",
        "type": "select",
        "currentValue": huge,
        "options": choices,
    }
    send(
        turn.update("session_info_update", title=huge * 2),
        turn.update("tool_call", toolCallId="h", title=huge, kind=huge, locations=[{"path": huge}] * 2),
        turn.update("plan", entries=[{"content": huge, "priority": "high", "status": "pending"}]),
        turn.update("available_commands_update", availableCommands=[{"name": huge, "description": huge}]),
        turn.update("current_mode_update", currentModeId=huge),
        turn.update("config_option_update", configOptions=[option]),
        turn.update("usage_update", used=1, size=2, cost={"amount": 1, "currency": huge}),
        turn.update(huge),
    )


@misdeed
def long_lists(turn: Turn) -> None:
    entry = {"content": "e", "priority": "high", "status": "pending"}
    choices = [{"value": f"v{number}", "name": f"V{number}"} for number in range(50_000)]
    send(
        turn.update("plan", entries=[entry] * 50_000),
        turn.update(
            "available_commands_update",
            availableCommands=[{"name": f"c{n}", "description": "d"} for n in range(50_000)],
        ),
        turn.update(
            "config_option_update",
            configOptions=[
                {
                    "id": "m",
                    "name": "M",
                    "category": "model",
                    "type": "select",
                    "currentValue": "v1",
                    "options": choices,
                }
            ],
        ),
        turn.update(
            "tool_call",
            toolCallId="l",
            title="t",
            locations=[{"path": "/x"}] * 50_000,
            content=[{"type": "terminal", "terminalId": "t"}] * 5_000,
        ),
    )


@misdeed
def markup_bombs(turn: Turn) -> None:
    for bomb in (
        "[" * 20_000,
        "*" * 20_000,
        "`" * 20_001,
        "> " * 5_000,
        "[a](" * 10_000,
        "|" * 20_000 + "\n|-|\n",
        "<!--" * 5_000,
        "- " * 5_000,
        "_a_" * 10_000,
        "![" * 10_000,
        "&" * 20_000,
        "```" + "x" * 50_000,
        "**a" * 10_000,
    ):
        send(turn.chunk("\n\n" + bomb + "\n\n"))


@misdeed
def odd_updates(turn: Turn) -> None:
    odd: list[Any] = [None, 5, "x", [], {}, [[]], [None], {"type": "text"}, {"type": ["text"]}, True]
    fields = (
        "content",
        "toolCallId",
        "entries",
        "availableCommands",
        "configOptions",
        "title",
        "used",
        "locations",
        "messageId",
        "plan",
        "currentModeId",
        "summary",
        "status",
        "rawInput",
        "kind",
    )
    variants: list[Any] = [
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan_update",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        ["x"],
        {},
        None,
        7,
    ]
    for variant in variants:
        for value in odd:
            send(turn.update(variant, **dict.fromkeys(fields, value)))


# Settings and questions.


@misdeed
def odd_settings(turn: Turn) -> None:
    option = {"id": "o", "name": "O", "type": "select", "currentValue": "nowhere", "options": []}
    send(
        turn.update(
            "config_option_update",
            configOptions=[
                option,
                option,
                {**option, "type": "boolean", "currentValue": True},
                {**option, "options": [{"value": "a"}, {"value": "a"}]},
            ],
        ),
        turn.update("current_mode_update", currentModeId="no such mode"),
        turn.update(
            "available_commands_update",
            availableCommands=[{"name": "same"}, {"name": "same"}, {"name": ""}, {"name": "quit"}],
        ),
    )


@misdeed
def odd_questions(turn: Turn) -> None:
    """Questions that nobody can answer are answered all the same."""
    questions: list[Message] = [
        {
            "options": [{"optionId": "a", "name": "A", "kind": ["allow_once"]}],
            "toolCall": {"toolCallId": ["x"]},
        },
        {"options": [{"optionId": "a", "name": ["A"], "kind": {"x": 1}}], "toolCall": 7},
        {
            "options": [
                {"optionId": f"o{n}", "name": f"Option {n}", "kind": "allow_once"} for n in range(500)
            ],
            "toolCall": {"toolCallId": "t"},
        },
        {"options": [OPTIONS[0], OPTIONS[0]], "toolCall": {"toolCallId": "t"}},
    ]
    for number, params in enumerate(questions, start=100):
        send(turn.ask(number, **params))
        turn.answer_to(number)


@misdeed
def question_without_options(turn: Turn) -> None:
    send(turn.ask(200, toolCall={"toolCallId": "t"}, options=[]))
    turn.answer_to(200)


@misdeed
def ids_again(turn: Turn) -> None:
    """The same id for two questions that are open at once, and for ours."""
    send(*(turn.ask(0, toolCall={"toolCallId": f"r{number}"}, options=OPTIONS) for number in range(2)))
    turn.answer_to(0)
    turn.answer_to(0)


@misdeed
def odd_forms(turn: Turn) -> None:
    """Forms and web pages that cannot be shown are refused, and all others are shown without harm."""
    fields: list[object] = [
        {"type": "string", "title": EVIL, "description": EVIL, "default": EVIL, "pattern": "(a+)+$"},
        {"type": "string", "pattern": "(" * 3_000, "minLength": -1},
        {"type": "string", "oneOf": [{"const": EVIL, "title": EVIL * 20, "description": EVIL}]},
        {"type": "array", "items": {"type": "string", "enum": [f"value {n}" for n in range(900)]}},
        {"type": "integer", "minimum": 1e300, "maximum": "x", "default": {}},
        {"type": "object", "properties": {}},
        [],
        None,
    ]
    schema = {"type": "object", "properties": {f"{EVIL}{n}": field for n, field in enumerate(fields)}}
    requests: list[Message] = [
        {
            "mode": "form",
            "message": EVIL * 40,
            "requestedSchema": schema | {"title": EVIL, "required": ["", 7]},
        },
        {
            "mode": "form",
            "message": "many",
            "requestedSchema": {"properties": dict.fromkeys(map(str, range(5_000)))},
        },
        {"mode": "form", "message": {"x": 1}, "requestedSchema": []},
        {"mode": "url", "message": EVIL, "url": f"javascript:{EVIL}", "elicitationId": EVIL},
        {"mode": "url", "message": "m", "url": "https://x/" + "y" * 200_000, "elicitationId": "e"},
        {"mode": ["form"], "message": "m"},
    ]
    for number, params in enumerate(requests, start=400):
        send(turn.ask(number, "elicitation/create", **params))
        answer = turn.answer_to(number)
        assert "result" in answer or answer["error"]["code"] == -32602
    send({"method": "elicitation/complete", "params": {"elicitationId": [EVIL]}})


@misdeed
def not_offered(turn: Turn) -> None:
    methods = (
        "terminal/attach",
        "session/elicitation",
        "fs/delete",
        "session/prompt",
        "initialize",
        "_x/y",
    )
    for number, method in enumerate(methods, start=300):
        send(turn.ask(number, method, command="rm", args=["-rf", "/"]))
        assert turn.answer_to(number)["error"]["code"] == -32601


@misdeed
def odd_terminals(turn: Turn) -> None:
    """Commands that flood and never end, more of them than there may be, and none that is let go of as it should be."""
    params: list[Message] = [
        *({"command": "yes", "outputByteLimit": limit} for limit in (0, 1, 10**15)),
        *({"command": "sleep", "args": ["300"]} for _ in range(300)),
        {"command": "printf '\\033]0;FOREIGN\\007\\033[2J\\033[?1049h'; cat /dev/urandom | head -c 300000"},
        {"command": "true", "cwd": "/"},
        {"command": "true", "args": ["x" * 1_000_000]},
        {"command": EVIL},
        {"command": "true", "sessionId": "nobody"},
        {"command": 7},
    ]
    made: list[Message] = []
    for number, wanted in enumerate(params, start=2_000):
        send({**turn.ask(number, "terminal/create"), "params": {"sessionId": turn.session, **wanted}})
        made.append(turn.answer_to(number))
    assert any("error" in answer for answer in made)
    shown = [answer["result"]["terminalId"] for answer in made if "result" in answer]
    content = [{"type": "terminal", "terminalId": each} for each in [*shown, "nobody's", EVIL] * 5]
    send(turn.update("tool_call", toolCallId="t", title="shows all", kind="execute", content=content))
    for number, each in enumerate([*shown[:4], shown[0], "nobody's"], start=3_000):
        send(turn.ask(number, "terminal/release", terminalId=each))
        turn.answer_to(number)


@misdeed
def paths(turn: Turn) -> None:
    here = Path.cwd()
    os.mkfifo(here / "fifo")
    (here / "link").symlink_to("/etc/passwd")
    (here / "whole-disk").symlink_to("/")
    odd = [
        "/etc/passwd",
        f"{here}/../x",
        f"{here}/link",
        f"{here}/whole-disk/etc/passwd",
        f"{here}/fifo",
        "/dev/zero",
        str(here),
        "a\x00b",
        f"{here}/a\x00",
        "",
        ".",
        "x",
        "/" * 500_000,
        f"{here}/" + "a/" * 500_000,
        "/proc/self/environ",
        "~/x",
        "file:///etc/passwd",
        f"{here}/\ud800",
    ]
    for number, path in enumerate([*odd, 7, None, ["x"]], start=400):
        send(turn.ask(number, "fs/read_text_file", path=path))
        assert "error" in turn.answer_to(number), path
    for number, path in enumerate([name for name in odd if "\ud800" not in name], start=500):
        send(turn.ask(number, "fs/write_text_file", path=path, content="GOTCHA"))
        assert "error" in turn.answer_to(number), path


@misdeed
def many_files(turn: Turn) -> None:
    """Thousands of files asked for, and nothing read of the answers."""
    path = Path.cwd() / "big"
    path.write_bytes(b"b" * 4_000_000)
    send(*(turn.ask(number, "fs/read_text_file", path=str(path)) for number in range(1_500)))
    turn.say("asked. ")
    for _ in range(1_500):
        read_until(lambda message: "method" not in message)


# Ends.


@misdeed
def exits(turn: Turn) -> bool:
    os._exit(0)


@misdeed
def grandchild_keeps_stdout(turn: Turn) -> bool:
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    os._exit(3)


@misdeed
def closes_stdout(turn: Turn) -> bool:
    os.close(1)
    while True:
        read()


@misdeed
def closes_stdin(turn: Turn) -> bool:
    os.close(0)
    time.sleep(60)
    return True


@misdeed
def deaf(turn: Turn) -> bool:
    """It reads no more, and asks for what it will not read."""
    for number in range(100_000):
        send(turn.ask(number, "terminal/create", filler="x" * 100))
    time.sleep(60)
    return True


@misdeed
def talks_for_ever(turn: Turn) -> bool:
    """Messages without an end, a thousand a second, until it is told to stop."""
    assert isinstance(sys.stdin.buffer, io.BufferedReader)
    os.set_blocking(0, False)
    number = 0
    while sys.stdin.buffer.raw.read(1) is None:
        number += 1
        send(*(turn.chunk("on and on \n", messageId=f"{number} {piece}") for piece in range(10)))
        time.sleep(0.01)
    turn.end({"stopReason": "cancelled"})
    os._exit(0)


# Before there is a prompt.

CAPABILITIES: Message = {
    "loadSession": True,
    "sessionCapabilities": {name: {} for name in ("resume", "fork", "close")},
}
ODD_CAPABILITIES: list[Any] = [
    None,
    7,
    "all",
    [],
    {"loadSession": "yes", "sessionCapabilities": [1], "promptCapabilities": True},
]
INITIALIZE: dict[str, Any] = {
    "version-99": {"protocolVersion": 99},
    "version-x": {"protocolVersion": "x"},
    "version-missing": {},
    "initialize-null": None,
    "initialize-list": [1],
}
NEW: dict[str, Any] = {
    "new-null": None,
    "new-text": "s1",
    "new-blank": {"sessionId": " "},
    "new-number": {"sessionId": 7},
    "new-huge": {"sessionId": "s" * 1_000_000},
}


def initialize(how: str, request: Message) -> None:
    if how == "exits-in-initialize":
        os._exit(0)
    if how == "silent-initialize":
        return
    if how == "banner-first":
        raw(b"*** welcome ***\n" * 100 + EVIL.encode() + b"\n")
    info: Any = {"name": "hostile", "title": "Hostile", "version": "1"}
    capabilities: Any = CAPABILITIES
    if how == "evil-names":
        info = {"name": EVIL, "title": EVIL, "version": EVIL}
    if how == "huge-names-first":
        info = {"name": "n" * 1_000_000, "title": "T" * 5_000_000, "version": "v" * 1_000_000}
    if how.startswith("odd-capabilities-"):
        capabilities = ODD_CAPABILITIES[int(how[-1])]
        info = capabilities
    result = {
        "protocolVersion": 1,
        "agentCapabilities": capabilities,
        "agentInfo": info,
        "authMethods": capabilities,
    }
    send({"id": request["id"], "result": INITIALIZE.get(how, result)})


def new(how: str, request: Message, number: int) -> None:
    if how == "silent-new":
        return
    if how == "dies-in-new":
        os._exit(9)
    result: Any = {"sessionId": f"s{number}"}
    if how == "unknown-mode":
        modes = [{"id": "m", "name": "M"}, {"id": "m", "name": "M"}, {"id": 5}, None]
        result["modes"] = {"currentModeId": "nowhere", "availableModes": modes}
        result["configOptions"] = [{"id": "x", "type": "select", "currentValue": "y", "name": EVIL}] * 2
    if how == "silent-settings":
        result["modes"] = {"currentModeId": "a", "availableModes": [{"id": id, "name": id} for id in "am"]}
    if how == "replay-after-the-answer":
        result["modes"] = {"currentModeId": EVIL, "availableModes": [{"id": EVIL, "name": EVIL}]}
    send({"id": request["id"], "result": NEW.get(how, result)})


def replay(session: str) -> None:
    """A history that comes after the answer that it belongs before."""
    for text in ("REPLAYED old answer", "REPLAYED older answer"):
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def answer(how: str, message: Message, sessions: int) -> None:
    """Do what a message asks for, badly or well."""
    match message.get("method"):
        case "initialize":
            initialize(how, message)
        case "session/new" | "session/fork":
            new(how, message, sessions)
        case "session/resume" | "session/load":
            send({"id": message["id"], "result": {}})
            if how == "replay-after-the-answer":
                replay(message["params"]["sessionId"])
        case "session/prompt":
            turn = Turn(message)
            perform = MISDEEDS.get(turn.name)
            if perform is None:
                turn.say(f"I do not know {turn.name}.")
                turn.end()
                return
            if turn.name != "answers-first":
                turn.say(f"before {turn.name}.\n\n")
            if not perform(turn):
                turn.say(f"\n\nafter {turn.name}.")
                turn.end()
        case "session/set_mode" | "session/set_config_option" if how == "silent-settings":
            pass
        case str() if "id" in message:
            send({"id": message["id"], "result": {}})


def main() -> None:
    how = os.environ.get("MISDEED", "")
    sessions = 0
    while True:
        message = read()
        sessions += message.get("method") in ("session/new", "session/fork")
        answer(how, message, sessions)


if __name__ == "__main__":
    main()
