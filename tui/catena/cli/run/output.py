"""Output of a headless run: the answer's text alone, or one JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from catena.cli.run.branch import NewBranch
from catena.errors import ExitStatus
from catena.text.json_shapes import FORMAT, dumps, record_shape, time_shape
from catena.text.safe_text import call_line, safe, safe_line
from catena.workspace.files_along import Extent, FilesAlong
from catena_acp.continuity.conversation_events import (
    ElicitationOpened,
    PermissionOpened,
    Problem,
    TurnEnded,
    Usage,
)
from catena_acp.continuity.wording.problems import BACK_IN_COMPOSER
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.elicitation.words import elicitation_shape, kept_data
from catena_acp.port.session_events import PermissionOption
from catena_acp.spoken.spoken import ended_in
from catena_store.records import ConversationRecord, Kind, Link, Message, MessageState, Turn

# A partial line end or colour sequence at the end of a chunk, completed by the next one.
_UNFINISHED = re.compile("(?:\r|\x1b(?:\\[[0-9;:]*)?|\x9b[0-9;:]*)$")


class Stream(Protocol):
    """Where text goes, without waiting."""

    @property
    def broken(self) -> bool:
        """True if nobody reads any more."""
        ...

    def write(self, text: str) -> None: ...
    async def flush(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Streams:
    """Where the output goes; ``err`` is None for JSON, which has all on standard output."""

    out: Stream
    err: Stream | None
    shared_terminal: bool = False  # both end on the same screen

    def output(self) -> Output:
        """The output of a run."""
        if self.err is None:
            return JsonOutput(self.out)
        return PlainOutput(self.out, self.err, shared_terminal=self.shared_terminal)


class Output(Protocol):
    """Receiver of a headless run's events, in order; no call blocks."""

    def conversation(self, conversation: ConversationRecord, branch: NewBranch | None, *, new: bool) -> None:
        """Report the conversation, and the branch that the prompt starts."""
        ...

    def turn(self, turn: Turn, link: Link | None) -> None: ...
    def link(self, link: Link, why: str | None) -> None:
        """Report a new link, or the end of one."""
        ...

    def message(self, message: Message) -> None:
        """Report a new or changed message; the same one may come any number of times."""
        ...

    def text(self, message: Message, text: str) -> None:
        """Report text appended to a reported answer or thought."""
        ...

    def asked(self, asked: PermissionOpened) -> None: ...
    def answered(self, asked: PermissionOpened, option: PermissionOption | None, by: str) -> None: ...
    def elicited(self, asked: ElicitationOpened) -> None: ...
    def elicitation_answered(self, asked: ElicitationOpened, answer: ElicitationAnswer, by: str) -> None: ...
    def usage(self, usage: Usage) -> None: ...
    def remark(self, text: str) -> None:
        """Report something that needs no action."""
        ...

    def problem(self, problem: Problem) -> None: ...
    def trouble(self, text: str, status: ExitStatus) -> None:
        """Report an error that ends the run."""
        ...

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        """Report the end of the run; None if no turn was begun."""
        ...

    async def flush(self) -> None: ...


class PlainOutput:
    """Output of the answer's text to standard output, and of seams, notices and trouble to standard error."""

    def __init__(self, out: Stream, err: Stream, *, shared_terminal: bool, whose: str = "") -> None:
        """``whose`` is the agent's name in notes, where several are asked."""
        self._out = out
        self._err = err
        self._prefix = f"{whose}: " if whose else ""
        self._shared_terminal = shared_terminal  # both streams end on the same screen
        self._last_id: str | None = None
        self._last_character = "\n"
        self._held = ""
        self._noted_ids: set[str] = set()
        self._has_notice = False  # a notice of the turn says already what went wrong

    def conversation(self, conversation: ConversationRecord, branch: NewBranch | None, *, new: bool) -> None:
        if branch is None:
            return
        begun = {"fork": f"Forked as {conversation.id}", "at": "Branched", "edit": "Edited"}
        self._note(f"{begun[branch.act]}: {branch.price.words}")
        if branch.files is not None and branch.files.free:  # what stays is remarked when they went
            plan = replace(branch.files, steps=branch.files.free)
            self._note(f"Files too: {FilesAlong(plan=plan, chosen=Extent.FREE).words}")

    def turn(self, turn: Turn, link: Link | None) -> None:
        return

    def link(self, link: Link, why: str | None) -> None:
        return

    def message(self, message: Message) -> None:
        match message.kind:
            case Kind.SEAM:
                self._once(message, f"╌╌ {message.text} ╌╌")
            case Kind.NOTICE if message.state is MessageState.OPEN:
                return  # what the agent asked: it is told with its answer
            case Kind.NOTICE:
                self._has_notice = self._has_notice or ended_in(message) is not None
                self._once(message)
            case Kind.USER | Kind.AGENT | Kind.THOUGHT | Kind.TOOL | Kind.PLAN:
                return

    def text(self, message: Message, text: str) -> None:
        if message.kind is not Kind.AGENT or not text:
            return
        if self._last_id not in (None, message.id):
            self._write("\n" if self._last_character == "\n" else "\n\n")
        self._last_id = message.id
        text = self._held + text
        self._held = held[0] if (held := _UNFINISHED.search(text)) else ""
        self._write(safe(text.removesuffix(self._held)))

    def asked(self, asked: PermissionOpened) -> None:
        return

    def answered(self, asked: PermissionOpened, option: PermissionOption | None, by: str) -> None:
        if by == "policy" and (option is None or option.kind.startswith("reject")):
            title = call_line(asked.tool_call.title or "a tool call")
            self._note(f"denied: {title} ({_why_denied(asked)})")

    def elicited(self, asked: ElicitationOpened) -> None:
        return

    def elicitation_answered(self, asked: ElicitationOpened, answer: ElicitationAnswer, by: str) -> None:
        if by == "policy":
            self._note(
                f"declined: {safe_line(asked.agent_title)} asks for input, and there is no terminal to answer at"
            )

    def usage(self, usage: Usage) -> None:
        return

    def remark(self, text: str) -> None:
        self._note(safe_line(text))

    def problem(self, problem: Problem) -> None:
        if not self._has_notice:
            self._note(_text_of(problem))
        for line in problem.detail:
            self._note(f"  {line}")

    def trouble(self, text: str, status: ExitStatus) -> None:
        self._note(f"catena: {text}")

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        self._write(safe(self._held))
        if self._last_id is not None and self._last_character != "\n":
            self._write("\n")
        if ended and ended.problem:
            self.problem(ended.problem)

    async def flush(self) -> None:
        await self._out.flush()
        await self._err.flush()

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._last_character = text[-1]

    def _once(self, message: Message, text: str | None = None) -> None:
        if message.id not in self._noted_ids:
            self._noted_ids.add(message.id)
            self._note(text or message.text)

    def _note(self, text: str) -> None:
        if self._out.broken:
            return  # the answer's reader has closed the pipe
        between = "\n" if self._shared_terminal and self._last_character != "\n" else ""
        self._err.write(f"{between}{self._prefix}{safe(text)}\n")


def _why_denied(asked: PermissionOpened) -> str:
    """Why no policy allowed a request, or how one would."""
    options = [option for option in asked.options if not option.kind.startswith("reject")]
    once = [option for option in options if option.kind == "allow_once"]
    choices = [safe_line(option.name) for option in once or options]
    if len(choices) > 1:
        return f"several answers allow it, and only a person can choose: {', '.join(choices)}"
    return "use --permissions to allow it"


class JsonOutput:
    """Output of one JSON object a line to standard output, and nothing else."""

    def __init__(self, out: Stream, *, whose: str | None = None) -> None:
        """``whose`` is the agent's name in each event, where several are asked."""
        self._out = out
        self._whose = {} if whose is None else {"asked_agent": whose}
        self._states: dict[str, str] = {}  # by message id: the state last written
        # Remarks until the conversation is written, which is the first event; an answer of several comes behind it.
        self._early: list[str] | None = [] if whose is None else None

    def conversation(self, conversation: ConversationRecord, branch: NewBranch | None, *, new: bool) -> None:
        self._line("conversation", {"format": FORMAT, "new": new} | record_shape(conversation))
        if branch is not None:
            self._branch(branch)
        self._write_early()

    def _write_early(self) -> None:
        early, self._early = self._early, None
        for text in early or ():
            self.remark(text)

    def _branch(self, branch: NewBranch) -> None:
        price = branch.price
        self._line(
            "branch",
            {
                "act": branch.act,
                "source_id": branch.source_id,
                "leaf_id": branch.leaf_id,
                "edited_id": branch.edited_id,
                "how": price.how,
                "told": price.told,
                "told_total": price.told_total,
                "left_out": price.left_out,
                "tokens": price.tokens,
                "before_logout": price.before_logout,
                "files": None
                if branch.files is None
                else {
                    "restored": [step.path for step in branch.files.free],
                    "left": [step.path for step in branch.files.conflicts],
                },
            },
        )

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
                "shortened": turn.shortened,
                "tools_listed": turn.tools_listed,
                "tools_left_out": turn.tools_left_out,
                "masked": turn.masked,
            },
        )

    def link(self, link: Link, why: str | None) -> None:
        self._line("link_changed", {"link": record_shape(link), "why": why})

    def message(self, message: Message) -> None:
        before = self._states.get(message.id)
        self._states[message.id] = message.state
        match message.kind:
            case Kind.USER | Kind.AGENT | Kind.THOUGHT:
                if before is None:
                    # Its text follows in `text` events, which joined are the complete text.
                    shape = _message_shape(message)
                    if files := message.data.get("attachments"):
                        shape["attachments"] = files
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

    def asked(self, asked: PermissionOpened) -> None:
        call = asked.tool_call
        self._line(
            "permission",
            {
                "ask_id": asked.ask_id,
                "tool_call_id": call.tool_call_id,
                "title": call.title,
                "kind": call.kind,
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in asked.options],
            }
            | ({"changed": list(asked.changed)} if asked.changed else {}),
        )

    def answered(self, asked: PermissionOpened, option: PermissionOption | None, by: str) -> None:
        self._line(
            "permission_settled",
            {
                "ask_id": asked.ask_id,
                "option_id": option.id if option else None,
                "kind": option.kind if option else None,
                "by": by,
            },
        )

    def elicited(self, asked: ElicitationOpened) -> None:
        self._line("elicitation", {"ask_id": asked.ask_id, **elicitation_shape(asked.request)})

    def elicitation_answered(self, asked: ElicitationOpened, answer: ElicitationAnswer, by: str) -> None:
        kept = kept_data(asked.request, answer)["elicitation"]
        self._line(
            "elicitation_settled",
            {
                "ask_id": asked.ask_id,
                "action": answer.action,
                "content": kept.get("content"),
                "by": by,
            },
        )

    def usage(self, usage: Usage) -> None:
        self._line(
            "usage",
            {"used": usage.used, "size": usage.size, "cost": usage.cost, "currency": usage.currency},
        )

    def remark(self, text: str) -> None:
        if self._early is None:
            self._line("remark", {"text": text})
        else:
            self._early.append(text)

    def problem(self, problem: Problem) -> None:
        self._problem(
            problem.trouble,
            _text_of(problem),
            detail=list(problem.detail),
            offers=list(problem.offers),
            resets_at=time_shape(problem.resets_at) if problem.resets_at else None,
            returned=problem.returned,
        )

    def trouble(self, text: str, status: ExitStatus) -> None:
        self._write_early()
        self._problem(status.name.lower(), text, detail=[], offers=[], resets_at=None, returned=False)

    def _problem(self, trouble: str, text: str, **more: Any) -> None:
        self._line("problem", {"trouble": trouble, "text": text, **more})

    def ended(self, ended: TurnEnded | None, status: int) -> None:
        self._write_early()
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
        self._out.write(dumps({"event": str(event), **self._whose, **fields}) + "\n")


def _text_of(problem: Problem) -> str:
    """A problem's text for a person without a composer."""
    return problem.text.replace(BACK_IN_COMPOSER, " Your text is in the prompt history.")


def _message_shape(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "kind": message.kind,
        "state": message.state,
        "parent_id": message.parent_id,
        "turn_id": message.turn_id,
        "link_id": message.link_id,
    }
