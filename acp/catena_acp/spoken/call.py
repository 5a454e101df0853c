"""A tool call as a value, read from its message's data, which may hold anything. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from catena_acp.port.images import ImageNote
from catena_acp.spoken.blocks import (
    Block,
    Diff,
    OutputBlock,
    Picture,
    TerminalBlock,
    entries_in,
    link_in,
    text_in,
)
from catena_acp.terminals.screen_text import without_colours
from catena_store.records import LOOKING_KINDS, Message, MessageState

_OVER = frozenset(("completed", "failed", "cancelled", "unknown", "rejected"))
_SIGNAL = re.compile("SIG[A-Z0-9+]{1,12}")
_EXIT_KEYS = ("exit_code", "exitCode", "exit_status", "exit", "code", "returncode")


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A place in a file that the call touches."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class AnswerByRule:
    """A rule of the person's that answered a call's permission request."""

    text: str
    allowed: bool


@dataclass(frozen=True)
class Call:
    """A stored tool call, each field read when it is asked for; a text that is missing, or is none, is empty."""

    data: Mapping[str, Any]
    text: str = ""  # of its message
    state: MessageState = MessageState.OPEN

    @classmethod
    def of(cls, message: Message) -> Call:
        """The call of a tool call's message."""
        return cls(message.data, message.text, message.state)

    @property
    def title(self) -> str:
        return text_in(self.data.get("title"))

    @property
    def kind(self) -> str:
        """Read, edit, delete, move, search, execute, think, fetch, switch_mode, other, …, as the protocol has them."""
        return text_in(self.data.get("kind"))

    @property
    def status(self) -> str:
        """Pending, in_progress, completed, failed, cancelled, rejected, unknown, …"""
        return text_in(self.data.get("status"))

    @property
    def name(self) -> str:
        return text_in(self.data.get("name"))

    @property
    def places(self) -> tuple[ToolPlace, ...]:
        return tuple(map(_place, entries_in(self.data.get("locations"))))

    @property
    def content(self) -> Any:
        """The content as it is stored; ``blocks`` reads it."""
        return self.data.get("content")

    @property
    def raw_input(self) -> Any:
        return self.data.get("raw_input")

    @property
    def raw_output(self) -> Any:
        return self.data.get("raw_output")

    @property
    def subagent_of(self) -> str:
        """The id of the tool call that started the subagent that made this one."""
        return text_in(self.data.get("subagent_of"))

    @property
    def doubt(self) -> str:
        """Why the rest may not be all that it is about."""
        return text_in(self.data.get("doubt"))

    @property
    def background(self) -> str:
        """The agent's id of the work that went on after the call had returned."""
        return text_in(self.data.get("background"))

    @property
    def failed(self) -> bool:
        """True if it failed; agents call a command completed that ended, whatever its exit code."""
        return self.status == "failed" or (self.status == "completed" and bool(self.exit_code))

    @property
    def running(self) -> bool:
        return self.state is MessageState.OPEN and self.status == "in_progress"

    @property
    def over(self) -> bool:
        """True if its status is final."""
        return self.status in _OVER

    @property
    def done(self) -> bool | None:
        """True if what it tells of was done; None if nobody saw how it ended."""
        return None if self.status == "unknown" else self.status == "completed"

    @property
    def rejected(self) -> bool:
        """True if its permission request was."""
        return self.status == "rejected"

    @property
    def ending(self) -> str:
        """How its command ended, if not well: `exit 1`, `SIGKILL`, which may be what the agent wanted."""
        if code := self.exit_code:
            return f"exit {code}"
        return next((each.signal for each in self.terminals if each.signal), "")

    @property
    def starts_subagent(self) -> bool:
        """True for a call that hands a task to a subagent, as far as its arguments tell."""
        return isinstance(self.raw_input, Mapping) and isinstance(self.raw_input.get("subagent_type"), str)

    @property
    def acts(self) -> bool:
        """True unless the call only looks, as far as its kind tells; MCP tools and subagents may do anything."""
        of_server = any(each[:3].lower() == "mcp" for each in (self.name, self.title))
        return self.kind not in LOOKING_KINDS or of_server or self.starts_subagent

    @property
    def head(self) -> str:
        """The call in a few words: its title, else its kind."""
        return self.title or self.kind or "a tool call"

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The content, not read until it is asked for: most readers want only the call's line."""
        return tuple(map(_block, entries_in(self.content)))

    @property
    def told(self) -> tuple[Block, ...]:
        """The content as the agent sent it: of a file that Catena wrote for the call, the agent's own diff."""
        of_agent = (each for each in entries_in(self.content) if not each.get("by_client"))
        return tuple(map(_block, (*of_agent, *entries_in(self.data.get("told_diffs")))))

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The changes of files among the blocks, made or not."""
        return tuple(each for each in self.blocks if isinstance(each, Diff))

    @property
    def written(self) -> tuple[Diff, ...]:
        """The changes that Catena wrote for the call: they were made, however it ended."""
        entries = (each for each in entries_in(self.content) if each.get("by_client"))
        return tuple(each for each in map(_block, entries) if isinstance(each, Diff))

    @property
    def made(self) -> tuple[Diff, ...]:
        """The changes that were certainly made: all of a call that was done, else what Catena wrote for it."""
        return self.diffs if self.done else self.written

    @property
    def perhaps_made(self) -> tuple[Diff, ...]:
        """The other changes of a call whose end nobody saw."""
        if self.done is not None:
            return ()
        written = frozenset(self.written)
        return tuple(each for each in self.diffs if each not in written)

    @property
    def counted(self) -> tuple[Diff, ...]:
        """The changes that its line counts: those made, perhaps made, or of a call that is not over to be made."""
        return self.written if self.over and self.done is False else self.diffs

    @property
    def terminals(self) -> tuple[TerminalBlock, ...]:
        """The terminals among the blocks."""
        return tuple(each for each in self.blocks if isinstance(each, TerminalBlock))

    @property
    def images(self) -> tuple[ImageNote, ...]:
        """The images among the blocks."""
        return images_in(self.blocks)

    @property
    def started_at(self) -> datetime | None:
        return time_in(self.data.get("started_at"))

    @property
    def seconds(self) -> float | None:
        """How long it took, if it was done and that is known."""
        return None if self.rejected else seconds_in(self.data)

    @property
    def exit_code(self) -> int | None:
        """The exit code of a command: as the agent tells it, else as the terminal ended that we ran for it."""
        code = _exit_code(self.raw_output) if self.kind == "execute" else None
        codes = (each.exit_code for each in self.terminals)
        return next((each for each in codes if each is not None), None) if code is None else code

    @property
    def rule(self) -> AnswerByRule | None:
        """The rule that answered its permission request."""
        rule = self.data.get("rule")
        if not isinstance(rule, Mapping):
            return None
        return AnswerByRule(text_in(rule.get("text")), rule.get("allowed") is not False)

    @property
    def became(self) -> Mapping[str, Any] | None:
        """What it was asked for, and what it did instead, if that is known."""
        became = self.data.get("became")
        return became if isinstance(became, Mapping) else None

    @property
    def unlike(self) -> bool:
        """True if it did something else than what was allowed, or went on though it was rejected."""
        other = any(each.get("other") for each in entries_in(self.data.get("done_by_client")))
        return self.became is not None or bool(self.data.get("done_anyway")) or other

    @property
    def notes(self) -> Iterator[str]:
        """The lines below its own: what it did beside what the person was asked for, in the agent's texts as sent."""
        if (became := self.became) is not None:
            asked, did = became.get("asked", ""), became.get("did", "")
            by = f" ({rule.text})" if (rule := self.rule) else ""
            yield f"asked for {asked}{by}; {'ran' if self.kind == 'execute' else 'did'} {did}"
        if self.data.get("done_anyway"):
            yield "rejected, and the agent reports it as done"
        for entry in entries_in(self.data.get("done_by_client")):
            did, other = entry.get("did", "ran"), entry.get("other", "")
            unasked = "" if entry.get("asked") else " · not asked"
            if other or unasked or entry.get("own"):
                yield f"Catena {did} {other or 'this for the agent'}{unasked}"


def images_in(blocks: tuple[Block, ...]) -> tuple[ImageNote, ...]:
    """The images among blocks."""
    return tuple(each.image for each in blocks if isinstance(each, Picture))


def time_in(value: object) -> datetime | None:
    """Read a stored ISO time; None for anything else."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def seconds_in(data: Mapping[str, Any]) -> float | None:
    """The seconds that a message took, by its data, if they are known."""
    start, end = data.get("started_at"), data.get("ended_at")
    return seconds_between(time_in(start), time_in(end)) if start and end else None


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """The seconds between two times, if both are known; never negative."""
    if start is None or end is None or (start.tzinfo is None) != (end.tzinfo is None):
        return None
    return max(0.0, (end - start).total_seconds())


def _place(entry: Mapping[str, Any]) -> ToolPlace:
    line = entry.get("line")
    return ToolPlace(text_in(entry.get("path")), line if isinstance(line, int) else None)


def _block(entry: Mapping[str, Any]) -> Block:
    match entry.get("type"):
        case "text":
            return OutputBlock(text_in(entry.get("text")))
        case "diff":
            old, new = entry.get("old"), entry.get("new")
            return Diff(
                text_in(entry.get("path")),
                None if old is None else text_in(old),
                new if isinstance(new, str) else None,
            )
        case "terminal":
            output, hidden, code = entry.get("output"), entry.get("hidden_lines"), entry.get("exit_code")
            return TerminalBlock(
                without_colours(text_in(output)),
                id=text_in(entry.get("id")),
                coloured=output if isinstance(output, str) else None,
                hidden_lines=hidden if isinstance(hidden, int) and hidden > 0 else 0,
                exit_code=code if isinstance(code, int) else None,
                signal=name if _SIGNAL.fullmatch(name := text_in(entry.get("signal"))) else "",
            )
        case _:
            return link_in(entry)


def _exit_code(raw_output: object) -> int | None:
    """The exit code of a command, if the agent's own record of it names one."""
    if not isinstance(raw_output, Mapping):
        return None
    for key in _EXIT_KEYS:
        value = raw_output.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return next(
        (code for key in ("metadata", "result") if (code := _exit_code(raw_output.get(key))) is not None),
        None,
    )
