"""Messages as values, each made from its row. Pure.

Texts are as they were sent: whoever draws them makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from catena_acp.port.images import ImageNote
from catena_acp.spoken.blocks import (
    Block,
    FieldsBlock,
    Markdown,
    OutputBlock,
    PlanStep,
    Reference,
    Steps,
    entries_in,
    link_in,
    text_in,
)
from catena_acp.spoken.call import Call, images_in, seconds_in, time_in
from catena_store.records import ContextSource, Kind, Message, MessageState, PromptOrigin, StopReason

_CLAUSES = 2  # of the line of a seam; its text has all of them


@dataclass(frozen=True, slots=True)
class _Words:
    """A message that is all text."""

    text: str

    @property
    def head(self) -> str:
        """Its first line."""
        return self.text.strip().partition("\n")[0]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Markdown(self.text),)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file of a prompt; ``size`` in bytes, None if it is not known."""

    name: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt(_Words):
    """A prompt of the person's, or one that an agent sent as theirs."""

    files: tuple[Attached, ...] = ()
    origin: str = ""  # a PromptOrigin; "" if it was typed here
    steered: bool = False  # said into a running turn
    doubtful: bool = False  # the agent did not confirm that
    refused: bool = False  # no agent accepted it
    others: tuple[Reference, ...] = ()  # content that is not text

    @classmethod
    def of(cls, message: Message) -> Prompt:
        """Read a prompt's message; of another one only the text."""
        data, refused = message.data, message.state is MessageState.REFUSED
        if not data:
            return cls(message.text, refused=refused)
        files = data.get("attachments")
        return cls(
            message.text,
            tuple(map(_attached, files)) if isinstance(files, list | tuple) else (),
            str(data.get("origin") or ""),
            message.steered,
            bool(data.get("doubtful")),
            refused,
            others_of(message),
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (OutputBlock(self.text), *self.others)

    @property
    def notes(self) -> list[str]:
        """Where it came from and what became of it, in words; none for one that was typed here and sent."""
        sent = f"sent to the running turn{'; not confirmed by the agent' if self.doubtful else ''}"
        notes = (
            _ORIGINS.get(self.origin),
            sent if self.steered else None,
            "not sent" if self.refused else None,
        )
        return [note for note in notes if note]


IMPORTED = "imported"
_ORIGINS = {
    PromptOrigin.AGENT.value: "sent by the agent, not typed here",
    PromptOrigin.IMPORT.value: IMPORTED,
}


@dataclass(frozen=True, slots=True)
class Answer(_Words):
    """What an agent answered, with what of it is no text."""

    others: tuple[Reference, ...] = ()
    interrupted: bool = False
    failure: Ended | None = None  # what the words mean if they are an error

    @classmethod
    def of(cls, message: Message) -> Answer:
        """Read an answer's message."""
        data, text = message.data, message.text
        failed = data.get("trouble") or data.get("said_error")
        failure = _ended(text_in(data.get("means")) or text, data) if failed else None
        return cls(text, others_of(message), message.state is MessageState.INTERRUPTED, failure)

    @property
    def named(self) -> bool:
        """True if the text only names the content that is not text."""
        return any(self.text == f"[{other.description}]" for other in self.others)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.others if self.named else (Markdown(self.text), *self.others)


@dataclass(frozen=True, slots=True)
class Thought(_Words):
    """What an agent thought; ``words``: what a subagent said."""

    words: bool = False
    open: bool = False  # it still grows
    seconds: float | None = None  # that it took


@dataclass(frozen=True, slots=True)
class Plan:
    """An agent's plan."""

    steps: tuple[PlanStep, ...]

    @classmethod
    def of(cls, message: Message) -> Plan:
        """Read a plan's message."""
        entries = entries_in(message.data.get("entries"))
        return cls(
            tuple(
                PlanStep(str(each.get("text") or ""), str(each.get("status") or "pending"))
                for each in entries
            )
        )

    @property
    def head(self) -> str:
        """The step in progress, else the first step."""
        now = (step.text for step in self.steps if step.status == "in_progress")
        return next(now, self.steps[0].text if self.steps else "")

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Steps(self.steps),)


@dataclass(frozen=True, slots=True)
class Notice(_Words):
    """A remark of ours, with its details in lines."""

    detail: tuple[str, ...] = ()

    @property
    def details(self) -> str:
        """The details as one text."""
        return "\n".join(self.detail)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (OutputBlock(self.details),) if self.detail else ()


@dataclass(frozen=True, slots=True)
class AskedNotice(Notice):
    """A form or a web page that an agent asked the person for, with the answer in its text."""

    message: str = ""  # of the agent


@dataclass(frozen=True, slots=True)
class Ended(Notice):
    """How a turn ended that did not end well."""

    trouble: str = ""  # a Trouble or a StopReason
    resets_at: datetime | None = None

    @property
    def failed(self) -> bool:
        """False if the person asked for the stop."""
        return self.trouble != StopReason.CANCELLED


@dataclass(frozen=True, slots=True)
class Divider(Notice):
    """The place where an agent shortened its context, or where the person cleared it."""

    compacted: str = ""  # how far that is; "" if the context was cleared

    @property
    def head(self) -> str:
        return _clauses(self.text)


@dataclass(frozen=True, slots=True)
class Seam(_Words):
    """The place where the way context reached the agent changed."""

    line: str = ""  # what is said of it in a line, if that is not its text
    how: str = ""  # a ContextSource
    opened: str = ""  # how the session came to what it held before
    prior_context: str = ""
    others: Mapping[str, Any] | None = None  # by link, why the prompt did not go to it
    drawn: bool = True  # more than the prompt went out, or something changed for the agent

    @property
    def head(self) -> str:
        """Two clauses at most, without the trouble that the message above tells of."""
        return _clauses(self.line or self.text)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (OutputBlock(self.prior_context),) if self.prior_context else ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A message of a kind that this version does not know, with all that is there."""

    kind: str
    text: str
    data: Mapping[str, Any]

    @property
    def head(self) -> str:
        return f"{self.kind}: {self.text}".removesuffix(": ")

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (FieldsBlock(tuple((name, str(value)) for name, value in self.data.items())),)

    @property
    def details(self) -> str:
        """All fields of the message, one a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.data.items())


Spoken = Prompt | Answer | Thought | Call | Plan | AskedNotice | Notice | Ended | Divider | Seam | Unknown


def spoken_of(message: Message) -> Spoken:
    """Make the value of a message."""
    data, text = message.data, message.text
    match message.kind:
        case Kind.USER:
            return Prompt.of(message)
        case Kind.AGENT:
            return Answer.of(message)
        case Kind.THOUGHT:
            return Thought(
                text, bool(data.get("words")), message.state is MessageState.OPEN, seconds_in(data)
            )
        case Kind.TOOL:
            return Call.of(message)
        case Kind.PLAN:
            return Plan.of(message)
        case Kind.NOTICE:
            return _notice(text, data)
        case Kind.SEAM:
            return _seam(message, data)
        case _:
            return Unknown(str(message.kind), text, data)


def precedes_prompt(message: Message, last: Message) -> bool:
    """True for a seam whose parent is the prompt ``last``: it is shown above that prompt."""
    follows = message.parent_id == last.id and last.kind is Kind.USER
    return follows and message.kind is Kind.SEAM and not message.barrier


def seams_above(branch: Iterable[Message]) -> Iterator[Message]:
    """The branch with each seam above its parent prompt, whose way to the agent it describes."""
    last: Message | None = None
    for message in branch:
        if last and precedes_prompt(message, last):
            yield message
            continue
        if last:
            yield last
        last = message
    if last:
        yield last


def others_of(message: Message) -> tuple[Reference, ...]:
    """The content of a prompt or an answer that is not text."""
    others = message.data.get("other")
    return tuple(map(link_in, entries_in(others))) if others else ()


def ended_in(message: Message | None) -> Ended | None:
    """The end of a turn that a notice tells of, or an agent's only words if they are an error."""
    match spoken_of(message) if message else None:
        case Ended() as ended:
            return ended
        case Answer(failure=failure):
            return failure
        case _:
            return None


def images_of(message: Message) -> tuple[ImageNote, ...]:
    """The images of a message."""
    return images_in(spoken_of(message).blocks)


def _attached(entry: object) -> Attached:
    if not isinstance(entry, Mapping):
        return Attached(str(entry))
    names = (entry.get(name) for name in ("name", "path", "description", "kind"))
    size = entry.get("size")
    return Attached(
        str(next((name for name in names if name), "attachment")), size if isinstance(size, int) else None
    )


def _ended(text: str, data: Mapping[str, Any]) -> Ended:
    return Ended(text, _detail(data), str(data.get("trouble") or ""), _aware(time_in(data.get("resets_at"))))


def _notice(text: str, data: Mapping[str, Any]) -> Notice:
    if compacted := data.get("compacted"):
        return Divider(text, _detail(data), str(compacted))
    if data.get("trouble"):
        return _ended(text, data)
    if asked := data.get("elicitation"):
        return AskedNotice(
            text, _detail(data), text_in(asked.get("message")) if isinstance(asked, Mapping) else ""
        )
    return Notice(text, _detail(data))


def _detail(data: Mapping[str, Any]) -> tuple[str, ...]:
    match data.get("detail"):
        case list() | tuple() as lines:
            return tuple(map(str, lines))
        case str(text) if text:
            return tuple(text.split("\n"))
        case _:
            return ()


def _seam(message: Message, data: Mapping[str, Any]) -> Divider | Seam:
    if message.barrier or data.get("cleared"):
        return Divider(message.text or "context cleared")
    others, how = data.get("route"), text_in(data.get("how"))
    return Seam(
        message.text or "new session",
        text_in(data.get("line")),
        how,
        text_in(data.get("opened")),
        str(data.get("prior_context") or ""),
        others if isinstance(others, Mapping) else None,
        _is_drawn(how, data),
    )


def _is_drawn(how: str, data: Mapping[str, Any]) -> bool:
    if not how or data.get("told_total") or data.get("tools_listed") or data.get("left_out"):
        return True
    if data.get("after_stop"):  # it changed only because the person stopped a turn
        return False
    return bool(data.get("cause") or data.get("abridged")) or how in (ContextSource.TOLD, ContextSource.FRESH)


def _clauses(text: str) -> str:
    return " · ".join(text.split(" · ")[:_CLAUSES])


def _aware(at: datetime | None) -> datetime | None:
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)
