"""Messages as lines of structure: each begins with a plain word, and its number where it has one. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from catena.linear.sentences import SpokenLine, spoken_lines
from catena.text.call_text import (
    UNLIKE,
    glyph_of,
    image_facts,
    locations_of,
    notes_of,
    object_of,
    raw_text,
    rule_of,
    size_of,
    texts_of,
    verb_of,
)
from catena.text.changes_text import change_lines, cut, spoken_size
from catena.text.formats import duration_parts, size_in_words
from catena.text.prompt_text import hidden_range, is_long, size_of_text
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.blocks import PlanStep
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import Prompt
from catena_store.records import Kind, Message

# Words that lines of ours begin with; a line of someone else's that begins like one is set in by two spaces.
WORDS: Final = frozenset(
    (
        "agent",
        "answer",
        "answered",
        "asks",
        "attached",
        "background",
        "blame",
        "catena",
        "change",
        "changes",
        "checkpoints",
        "choose",
        "code",
        "code ends",
        "context",
        "conversations here",
        "done",
        "draft",
        "failed",
        "field",
        "file",
        "files",
        "forks",
        "found",
        "heading",
        "help",
        "here",
        "history",
        "image",
        "input",
        "left",
        "mode",
        "note",
        "open",
        "output",
        "permission rules",
        "plan",
        "prompt",
        "prompt history",
        "queue",
        "queued",
        "quote",
        "read-only",
        "replayed",
        "retry",
        "row",
        "seam",
        "server",
        "session",
        "sessions",
        "setting",
        "step",
        "stopped",
        "tab",
        "tabs",
        "templates",
        "thought",
        "to continue",
        "tool",
        "tree",
        "trouble",
        "undo history",
        "usage",
        "waiting",
        "you",
    )
)
AGENT: Final = "Agent"  # what an agent is called whose title is no plain word
_LONGEST_NAME = 24
_LABEL_WITHIN = 100  # characters of a line, in which a label would stand
_LONGEST_LINE = 160  # characters of a command, a path or a title
_FAILURE_LINES = 1  # of a call that failed, behind its line
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]*")
_LABEL = re.compile(r"\s*(?P<word>[\w .-]{0,40}?)(?:\s\d+)?\s*(?P<colon>[:.：])")
_ABOUT = re.compile(r"~(?=\d)")
_COUNTED = re.compile(r"(?:line \d+ \w+|step \d+,[^:]*|field \d+ of \d+|left out|\d+)\s*:", re.IGNORECASE)
_UNITS = {"s": "second", "min": "minute", "h": "hour"}
_STATES = {
    "completed": "done",
    "failed": "failed",
    "in_progress": "running",
    "pending": "begun",
    "cancelled": "cancelled",
    "rejected": "rejected",
}


def agent_word(title: str) -> str:
    """What lines of an agent begin with: its title, where that can be searched and is no word of ours."""
    name = safe_line(title)[:_LONGEST_NAME].strip()
    if not _NAME.fullmatch(name) or name.lower() in WORDS:
        return AGENT
    return name


def set_in(line: str, agent: str = AGENT) -> str:
    """A line of someone else's, which cannot be taken for one of structure."""
    seen = "".join(each for each in line[:_LABEL_WITHIN] if unicodedata.category(each) != "Cf").lstrip()
    label = _LABEL.match(seen)
    word = label["word"].strip().lower() if label else ""
    alike = word in WORDS or word == agent.lower() or _COUNTED.match(seen) is not None
    return f"  {line.lstrip()}" if alike else line


def prompt_lines(message: Message, number: int, versions: str = "", *, whole: bool = False) -> Iterator[str]:
    """A prompt, with what goes along with it; of a long one only its beginning, unless it is read ``whole``."""
    text = safe(message.text)
    end = len(text) if whole or not is_long(text) else hidden_range(text)[0]
    first, *more = text[:end].split("\n")
    version = f" ({versions})" if versions else ""
    notes = "".join(f" ({note})" for note in Prompt.of(message).notes)
    yield f"You {number}:{version}{notes} {first}".rstrip()
    yield from (set_in(line) for line in more if line.strip())
    if left := text[end:]:
        yield f"Note: {size_of_text(left)} more; /show {number} reads all."
    yield from attached_lines(message)


def attached_lines(message: Message) -> Iterator[str]:
    """The files of a message."""
    for file in Prompt.of(message).files:
        words = "" if file.size is None else f", {size_in_words(file.size)}"
        yield f"Attached: {safe_line(file.name)}{words}"


def answer_lines(message: Message, number: int, agent: str) -> Iterator[str]:
    """An answer that is whole."""
    label = f"{agent} {number}:"
    for line in spoken_lines(safe(message.text)):
        yield answer_line(line, agent, label)
        label = ""


def answer_line(line: SpokenLine, agent: str, label: str = "") -> str:
    """A line of an answer, behind its label if it has one; code begins on a line of its own."""
    if label and line.ours and line.text.startswith("Code: "):
        return f"{label}\n{line.text}"
    if label:
        return f"{label} {line.text.strip()}"
    return line.text if line.ours else set_in(line.text, agent)


def spoken(text: str) -> str:
    """Words of ours as they are read aloud: without signs that are only for the eye."""
    return _ABOUT.sub("about ", text.replace(" · ", ", "))


def doing_words(call: Call, directory: str) -> str:
    """The call under way, in words: `in Run make`."""
    return f"in {verb_of(call)} {object_of(call, directory)}"


def tool_line(call: Call, number: int, directory: str) -> str:
    """A tool call in one line: what it did to what, how many lines it changed, how it ended."""
    pieces = [f"{verb_of(call)} {_shortened(object_of(call, directory))}".strip()]
    diffs, seconds = call.counted, call.seconds
    if diffs:
        pieces.append(spoken_size(*size_of(diffs)))
    pieces.append(_state_words(call))
    if seconds is not None and seconds >= 10:
        pieces.append(duration_words(seconds))
    if call.background:
        pieces.append("goes on in the background")
    return f"Tool {number}: {', '.join(filter(None, pieces))}"


def failure_lines(call: Call) -> Iterator[str]:
    """The first words of a call that failed."""
    if call.failed or call.ending:
        said = (line.strip() for line in _body_of(call))
        lines = [line for line in said if line and not line.startswith("$ ")]
        yield from (f"Output: {_shortened(line)}" for line in lines[:_FAILURE_LINES])


def note_lines(call: Call) -> Iterator[str]:
    """Where what a call did is not what the person was asked for."""
    yield from (f"Note: {spoken(note[0].upper() + note[1:])}" for note in notes_of(call))


def tool_details(call: Call, directory: str, *, most: int | None = None) -> Iterator[str]:
    """Everything about a tool call: what it was called with, what it changed, what it said."""
    yield from note_lines(call)
    if rule := rule_of(call):
        yield f"Note: Answered by your rule: {rule}"
    if len(locations := locations_of(call, directory)) > 1:
        yield f"Files: {', '.join(locations)}"
    yield from change_lines(call.diffs, directory, made=call.counted, most=most)
    body = [line.rstrip() for line in _body_of(call)]
    if body:
        yield f"Output: {counted(len(body), 'line')}"
        yield from cut((set_in(line) for line in body if line.strip()), most)
    yield from image_lines(call)
    if not body and not call.diffs and (brought := raw_text(call.raw_output)):
        yield "Output:"
        yield from cut((set_in(line) for line in safe(brought).splitlines() if line.strip()), most)


def _body_of(call: Call) -> list[str]:
    return safe("\n".join(texts_of(call)).strip("\n")).splitlines()


def image_lines(call: Call) -> Iterator[str]:
    """The images of a tool call; a file can be made of them."""
    for image in call.images:
        yield f"Image: {image_facts(image)}. /export message N FILE writes it."


def duration_words(seconds: float) -> str:
    """A duration as it is spoken: `42 seconds`, `3 minutes 12 seconds`."""
    if seconds < 1:
        return "under 1 second"
    return " ".join(counted(number, _UNITS[unit]) for number, unit in duration_parts(seconds))


def plan_line(steps: Sequence[PlanStep]) -> str:
    """A plan in one line: how far it is, and what is being done."""
    now = next((safe_line(step.text) for step in steps if step.status == "in_progress"), "")
    doing = f". Now: {now}" if now else ""
    return f"Plan: {sum(step.done for step in steps)} of {counted(len(steps), 'step')} done{doing}"


def plan_details(steps: Sequence[PlanStep]) -> Iterator[str]:
    """The steps of a plan."""
    words = {"completed": "done", "in_progress": "now"}
    for number, step in enumerate(steps, start=1):
        yield f"Step {number}, {words.get(step.status, 'to do')}: {safe_line(step.text)}"


def _state_words(call: Call) -> str:
    if call.ending:
        return f"failed, {call.ending}"
    if call.failed:
        return "failed"
    if call.running:
        return "running"
    glyph = glyph_of(call)
    if glyph == UNLIKE:
        return "not what was asked for"
    if glyph == "✓":
        return "done"
    return _STATES.get(call.status, "outcome unknown")


def _shortened(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3].rstrip()}..."


NUMBERED = frozenset({Kind.USER, Kind.AGENT, Kind.TOOL})


class BranchNumbers:
    """The numbers of one branch; a message has the same one at every start."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        """``ids`` are the numbered messages of the branch, oldest first."""
        self._ids = list(ids)
        self._numbers = {id: number for number, id in enumerate(self._ids, start=1)}

    @property
    def next(self) -> int:
        """The number of the next message."""
        return len(self._ids) + 1

    @property
    def last(self) -> int:
        """The number of the newest message; 0 for an empty branch."""
        return len(self._ids)

    def add(self, message: Message) -> int | None:
        """The number of a message, which gets the next one if it has none; None for a kind without numbers."""
        if message.kind not in NUMBERED:
            return None
        if message.id not in self._numbers:
            self._ids.append(message.id)
            self._numbers[message.id] = len(self._ids)
        return self._numbers[message.id]

    def of(self, message_id: str | None) -> int | None:
        """The number of a message of the branch."""
        return self._numbers.get(message_id or "")

    def id_of(self, number: int) -> str | None:
        """The message with this number."""
        return self._ids[number - 1] if 1 <= number <= len(self._ids) else None

    def from_number(self, number: int) -> list[str]:
        """The messages from a number on."""
        return self._ids[max(0, number - 1) :]
