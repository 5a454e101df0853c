"""Source text of a message for copying, and the code blocks in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent

from catena.transcript.markdown.markdown import parser
from catena.transcript.markdown.splitter import split
from catena.transcript.messages.answer import parse_fence
from catena.transcript.messages.notices import notice_details, plan_entries, seam_words
from catena.transcript.messages.tool_call import ToolCall
from catena.transcript.model.entry import Entry
from catena_acp.diff import line_diff
from catena_acp.port.session_events import ToolDiff
from catena_store.records import Kind

_LONG = 48_000  # characters parsed at once
_MAY_HOLD_CODE = re.compile(r"```|~~~| {4}|\t")


def text_of(entry: Entry) -> str:
    """Return the exact text of a message; of a tool call its line, diffs and output, and what its subagent did."""
    own = _own_text(entry)
    return "\n".join((own, *(indent(text_of(each), "  ") for each in entry.inner))) if entry.inner else own


def _own_text(entry: Entry) -> str:
    message = entry.message
    match message.kind:
        case Kind.USER:
            return message.text
        case Kind.AGENT | Kind.THOUGHT:
            growing = entry.answer is not None and entry.answer.growing
            return entry.answer.text if growing and entry.answer is not None else message.text
        case Kind.TOOL:
            call = ToolCall.of(message)
            diffs = [_unified(diff) for diff in call.diffs]
            raw = [] if diffs or call.texts else [text for text in (call.raw_input, call.raw_output) if text]
            return "\n".join((f"{call.verb} {call.object}".strip(), *diffs, *call.texts, *raw))
        case Kind.PLAN:
            return "\n".join(
                f"- [{'x' if status == 'completed' else ' '}] {text}"
                for text, status in plan_entries(message)
            )
        case Kind.NOTICE:
            return "\n".join(text for text in (message.text, notice_details(message)) if text)
        case Kind.SEAM:
            return "\n\n".join(text for text in (seam_words(message), entry.detail) if text)


def code_blocks_of(entry: Entry) -> list[str]:
    """Return the code blocks of a message in order, each without its last newline."""
    message = entry.message
    if message.kind is Kind.TOOL:
        call = ToolCall.of(message)
        return [*(diff.new for diff in call.diffs), *call.texts]
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


def _unified(diff: ToolDiff) -> str:
    return "\n".join(line_diff(diff.old, diff.new).unified(diff.path))
