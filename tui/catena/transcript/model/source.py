"""The text of a message: its source for copying, the code blocks in it, and how often a search matches it as shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import indent

from catena.text.call_text import (
    change_of,
    lineless_words,
    not_made_words,
    object_of,
    raw_of,
    texts_of,
    verb_of,
)
from catena.text.safe_text import safe_line
from catena.transcript.markdown.markdown import parser
from catena.transcript.markdown.splitter import split
from catena.transcript.messages.answer import parse_fence
from catena.transcript.messages.notices import plan_text
from catena.transcript.model.entry import Entry
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import Answer, Divider, Notice, Plan, Prompt, Seam, Thought, Unknown, spoken_of
from catena_store.records import Message

_LONG = 48_000  # characters parsed at once
_MAY_HOLD_CODE = re.compile(r"```|~~~| {4}|\t")


def text_of(entry: Entry) -> str:
    """Return the exact text of a message; of a tool call its line, diffs and output, and what its subagent did."""
    own = _own_text(entry)
    return "\n".join((own, *(indent(text_of(each), "  ") for each in entry.inner))) if entry.inner else own


def _own_text(entry: Entry) -> str:
    message = entry.message
    match entry.said:
        case Prompt():
            return message.text
        case Answer() | Thought():
            growing = entry.answer is not None and entry.answer.growing
            return entry.answer.text if growing and entry.answer is not None else message.text
        case Call() as call:
            work = [*_diff_texts(call), *texts_of(call)] or [text for _, text in raw_of(call)]
            return "\n".join((f"{verb_of(call)} {object_of(call)}".strip(), *work))
        case Plan() as plan:
            return plan_text(plan)
        case Seam(text) | Divider(text, compacted=""):
            return "\n\n".join(each for each in (safe_line(text), entry.detail) if each)
        case Notice(text, details=details):
            return "\n".join(each for each in (text, details) if each)
        case Unknown() as unknown:
            return f"{unknown.head}\n{unknown.details}"


def _diff_texts(call: Call) -> Iterator[str]:
    for diff in call.diffs:
        if undone := not_made_words(diff, call, ""):
            yield undone
        yield "\n".join(change_of(diff.old, diff.new).unified(diff.path)) or lineless_words(diff)


def code_blocks_of(entry: Entry) -> list[str]:
    """Return the code blocks of a message in order, each without its last newline."""
    if isinstance(call := entry.said, Call):
        return [*(diff.new or "" for diff in call.diffs), *texts_of(call)]
    text = text_of(entry)
    return _code_in(text) if len(text) < _LONG else list(_code_in_pieces(text))


def _code_in(text: str) -> list[str]:
    return [
        token.content.removesuffix("\n")
        for token in parser().parse(text)
        if token.type in ("fence", "code_block")
    ]


def _code_in_pieces(text: str) -> Iterator[str]:
    """Yield the code blocks of a long text; only pieces that may contain code are parsed."""
    for piece in split(text):
        source = text[piece.start : piece.end]
        if piece.fence:
            yield "\n".join(parse_fence(source)[1])
        elif not piece.plain and len(source) < _LONG and _MAY_HOLD_CODE.search(source) is not None:
            yield from _code_in(source)


class TextPattern:
    """A text, or any of several, in any case."""

    def __init__(self, text: str | Sequence[str]) -> None:
        texts = (text,) if isinstance(text, str) else tuple(filter(None, text))
        self._pattern = re.compile("|".join(map(re.escape, texts)), re.IGNORECASE)
        self._lower = texts[0].lower() if len(texts) == 1 and texts[0].isascii() else None

    def count(self, text: str) -> int:
        """Return the number of matches in ``text``."""
        if self._lower is not None and text.isascii():
            return text.lower().count(self._lower)
        return sum(1 for _ in self._pattern.finditer(text))

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in ``text``."""
        return self._pattern.finditer(text)


def searchable_text(message: Message, detail: str = "") -> str:
    """Return the searchable text of a message; ``detail`` is the prior context of a seam, if it is known."""
    match spoken_of(message):
        case Call() as call:
            return "\n".join((object_of(call), *texts_of(call), *(diff.new or "" for diff in call.diffs)))
        case Plan(steps):
            return "\n".join(safe_line(step.text) for step in steps)
        case Seam(text) | Divider(text, compacted=""):
            return f"{safe_line(text)}\n{detail}"
        case Notice(text, details=details):
            return f"{text}\n{details}"
        case Prompt(text) | Answer(text) | Thought(text):
            return text
        case Unknown() as unknown:
            return f"{unknown.head}\n{unknown.details}"
