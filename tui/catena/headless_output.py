"""What a headless run writes: the answer's text alone, or one JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from catena.exit_status import ExitStatus
from catena.outlet import Outlet
from catena.safe_text import safe
from catena.shapes import FORMAT, dumps, record_shape
from catena_acp.conversation.news import Asked, Problem, TurnEnded, Usage
from catena_acp.conversation.words import BACK_IN_COMPOSER
from catena_acp.events import PermissionOption
from catena_store.records import Conversation, Kind, Link, Message, Turn

# What the next chunk may still make harmless: half a line end, or the beginning of a colour.
_UNFINISHED = re.compile("(?:\r|\x1b(?:\\[[0-9;:]*)?|\x9b[0-9;:]*)$")


class Output(Protocol):
    """Where a headless run tells what happens, in order; every call returns at once."""

    def conversation(self, conversation: Conversation, *, new: bool) -> None: ...
    def turn(self, turn: Turn, link: Link | None) -> None: ...
    def message(self, message: Message) -> None:
        """A row is new or changed; the same row may come any number of times."""
        ...

    def text(self, message: Message, text: str) -> None:
        """An answer or a thought that was told before has this much more text."""
        ...

    def asked(self, asked: Asked) -> None: ...
    def answered(self, asked: Asked, option: PermissionOption | None, by: str) -> None: ...
    def usage(self, usage: Usage) -> None: ...
    def problem(self, problem: Problem) -> None: ...
    def trouble(self, text: str, status: ExitStatus) -> None:
        """The run itself cannot go on."""
        ...

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        """The last word; None where no turn was ever begun."""
        ...

    async def flush(self) -> None: ...


class PlainOutput:
    """The answer's text to standard output; seams, notices and trouble to standard error."""

    def __init__(self, out: Outlet, err: Outlet, *, one_terminal: bool) -> None:
        self._out = out
        self._err = err
        self._one_terminal = one_terminal  # both streams end on the same screen
        self._last_id: str | None = None
        self._last_character = "\n"
        self._held = ""
        self._noted: set[str] = set()
        self._noticed = False  # a row of the turn says already what went wrong

    def conversation(self, conversation: Conversation, *, new: bool) -> None:
        return

    def turn(self, turn: Turn, link: Link | None) -> None:
        return

    def message(self, message: Message) -> None:
        match message.kind:
            case Kind.SEAM:
                self._once(message, f"╌╌ {message.text} ╌╌")
            case Kind.NOTICE:
                self._noticed = True
                self._once(message)
            case Kind.USER | Kind.AGENT | Kind.THOUGHT | Kind.TOOL | Kind.PLAN:
                return

    def text(self, message: Message, text: str) -> None:
        if message.kind is not Kind.AGENT or not text:
            return
        if self._last_id not in (None, message.id):
            self._say("\n" if self._last_character == "\n" else "\n\n")
        self._last_id = message.id
        text = self._held + text
        self._held = held[0] if (held := _UNFINISHED.search(text)) else ""
        self._say(safe(text.removesuffix(self._held)))

    def asked(self, asked: Asked) -> None:
        return

    def answered(self, asked: Asked, option: PermissionOption | None, by: str) -> None:
        if by == "policy" and (option is None or option.kind.startswith("reject")):
            self._note(
                f"refused: {asked.tool_call.title or 'a tool call'} (--permissions says what to allow)"
            )

    def usage(self, usage: Usage) -> None:
        return

    def problem(self, problem: Problem) -> None:
        if not self._noticed:
            self._note(_text_of(problem))
        for line in problem.detail:
            self._note(f"  {line}")

    def trouble(self, text: str, status: ExitStatus) -> None:
        self._note(f"catena: {text}")

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        self._say(safe(self._held))
        if self._last_id is not None and self._last_character != "\n":
            self._say("\n")
        if ended and ended.problem:
            self.problem(ended.problem)

    async def flush(self) -> None:
        await self._out.flush()
        await self._err.flush()

    def _say(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._last_character = text[-1]

    def _once(self, message: Message, text: str | None = None) -> None:
        if message.id not in self._noted:
            self._noted.add(message.id)
            self._note(text or message.text)

    def _note(self, text: str) -> None:
        if self._out.broken:
            return  # who has closed the answer's pipe is not told how it goes on
        between = "\n" if self._one_terminal and self._last_character != "\n" else ""
        self._err.write(f"{between}{safe(text)}\n")


class JsonOutput:
    """One JSON object a line to standard output; nothing else anywhere."""

    def __init__(self, out: Outlet) -> None:
        self._out = out
        self._told: dict[str, str] = {}  # message id: its state when last told
        self._ended = False

    def conversation(self, conversation: Conversation, *, new: bool) -> None:
        self._line("conversation", {"format": FORMAT, "new": new} | record_shape(conversation))

    def turn(self, turn: Turn, link: Link | None) -> None:
        if link is not None:
            self._line("link", record_shape(link))
        self._line(
            "turn_started",
            {
                "id": turn.id,
                "prompt_id": turn.prompt_id,
                "link_id": turn.link_id,
                "how": turn.how,
                "cause": turn.cause,
                "told": turn.told,
                "told_total": turn.told_total,
                "left_out": turn.left_out,
            },
        )

    def message(self, message: Message) -> None:
        before = self._told.get(message.id)
        self._told[message.id] = message.state
        match message.kind:
            case Kind.USER | Kind.AGENT | Kind.THOUGHT:
                if before is None:
                    # Its text follows in `text` events, so that joining those is the whole text.
                    shape = _message_shape(message)
                    self._line(
                        "message", shape | ({"text": message.text} if message.kind is Kind.USER else {})
                    )
                elif before != message.state:
                    self._line("message_ended", {"id": message.id, "state": message.state})
            case Kind.TOOL:
                shape = _message_shape(message) | {"tool_call_id": message.agent_message_id}
                self._line("tool", shape | dict(message.data))
            case Kind.PLAN:
                self._line("plan", _message_shape(message) | dict(message.data))
            case Kind.SEAM | Kind.NOTICE:
                self._line(
                    message.kind, _message_shape(message) | {"text": message.text} | dict(message.data)
                )

    def text(self, message: Message, text: str) -> None:
        if text:
            self._line("text", {"message_id": message.id, "kind": message.kind, "text": text})

    def asked(self, asked: Asked) -> None:
        call = asked.tool_call
        self._line(
            "permission",
            {
                "ask_id": asked.ask_id,
                "tool_call_id": call.tool_call_id,
                "title": call.title,
                "kind": call.kind,
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in asked.options],
            },
        )

    def answered(self, asked: Asked, option: PermissionOption | None, by: str) -> None:
        self._line(
            "permission_settled",
            {
                "ask_id": asked.ask_id,
                "option_id": option.id if option else None,
                "kind": option.kind if option else None,
                "by": by,
            },
        )

    def usage(self, usage: Usage) -> None:
        self._line(
            "usage",
            {"used": usage.used, "size": usage.size, "cost": usage.cost, "currency": usage.currency},
        )

    def problem(self, problem: Problem) -> None:
        self._line(
            "problem", {"trouble": problem.trouble, "text": _text_of(problem), "detail": list(problem.detail)}
        )

    def trouble(self, text: str, status: ExitStatus) -> None:
        self._line("problem", {"trouble": status.name.lower(), "text": text, "detail": []})

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        turn = ended.turn if ended else None
        if ended and ended.problem:
            self.problem(ended.problem)
        self._line(
            "turn_ended",
            {
                "turn_id": turn and turn.id,
                "stop_reason": turn.stop_reason if turn else "not_sent",
                "how": turn and turn.how,
                "error": turn and turn.error,
                "usage": dict(turn.usage) if turn and turn.usage else None,
                "cost": turn and turn.cost,
                "currency": turn and turn.currency,
                "exit_status": int(status),
            },
        )

    async def flush(self) -> None:
        await self._out.flush()

    def _line(self, event: str, fields: Mapping[str, Any]) -> None:
        self._out.write(dumps({"event": str(event), **fields}) + "\n")


def _text_of(problem: Problem) -> str:
    """A problem's words, for somebody who has no composer."""
    return problem.text.replace(BACK_IN_COMPOSER, " Your text is in the input history.")


def _message_shape(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "kind": message.kind,
        "state": message.state,
        "parent_id": message.parent_id,
        "turn_id": message.turn_id,
        "link_id": message.link_id,
    }
