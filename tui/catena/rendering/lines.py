"""A branch as lines of text, as ``catena show`` prints it; nothing in them steers a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from catena.text.call_text import (
    NO_VERB,
    change_of,
    glyph_of,
    lineless_words,
    not_made_words,
    notes_of,
    object_of,
    relative,
    verb_of,
)
from catena.text.changes_text import MOST_LINES, cut
from catena.text.names import short_id
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.tool_calls import nested
from catena_acp.spoken.blocks import TerminalBlock
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import (
    Answer,
    Divider,
    Notice,
    Plan,
    Prompt,
    Seam,
    Thought,
    Unknown,
    seams_above,
    spoken_of,
)
from catena_store.records import ConversationRecord, Kind, Message, MessageState

_LAST_ROWS = 3  # of what a command printed
_STATE_WORDS = {
    MessageState.INTERRUPTED: "interrupted",
    MessageState.REFUSED: "not sent",
}


def branch_lines(
    conversation: ConversationRecord,
    agent: str,
    title: str,
    branch: Iterable[Message],
    *,
    whole: bool = False,
) -> Iterator[str]:
    """Yield a branch as text: prompts, answers, tool calls, notices and seams, each a block of lines.

    Of a long change only the first lines, unless it is read ``whole``.
    """
    yield safe_line(title)
    yield f"{safe_line(agent)} · {safe_line(conversation.cwd)} · {conversation.id}"
    before: Kind | None = None
    for message, depth in _in_place(seams_above(branch)):
        block = _block(message, conversation, whole)
        if block is None:
            continue
        block = indent(block, "  " * depth)
        if not (before is Kind.TOOL and message.kind is Kind.TOOL):
            yield ""
        yield block
        before = message.kind


def _in_place(branch: Iterable[Message]) -> Iterator[tuple[Message, int]]:
    """The branch with what subagents did below the calls that started them, and how deep inside it is."""
    turn: list[Message] = []
    for message in branch:
        if message.kind is Kind.USER:
            yield from ((row.message, row.depth) for call in nested(turn) for row in call)
            turn = []
        turn.append(message)
    yield from ((row.message, row.depth) for call in nested(turn) for row in call)


def _block(message: Message, conversation: ConversationRecord, whole: bool) -> str | None:
    match spoken_of(message):
        case Prompt(text) as prompt:
            lines = [*safe(text).split("\n"), *(f"+ {safe_line(file.name)}" for file in prompt.files)]
            shown = "\n".join(f"▌ {line}".rstrip() for line in lines)
            return "\n".join([shown, *(f"({note})" for note in prompt.notes)])
        case Answer(text) | Thought(text, words=True):
            return _with_state(message, safe(text).strip("\n"))
        case Call() as call:
            most = None if whole else MOST_LINES
            more = f"catena show {short_id(conversation.id)} --turn {short_id(message.id)} prints all."
            return _tool_lines(call, conversation.cwd, _changes(call, conversation.cwd, most, more))
        case Divider(text) | Seam(text):
            return f"╌╌ {safe_line(text)} ╌╌"
        case Notice(text):
            return f"! {safe(text)}"
        case Unknown() as unknown:
            return f"? {safe_line(unknown.head)}\n{indent(safe(unknown.details), '  ')}"
        case Thought() | Plan():
            return None


def _with_state(message: Message, text: str) -> str:
    words = _STATE_WORDS.get(message.state)
    return f"{text}\n({words})" if words else text


def _tool_lines(call: Call, directory: str, changes: Iterable[str]) -> str:
    verb = "" if (verb := verb_of(call)) == NO_VERB else f"{verb} "
    named = f"{glyph_of(call)} {verb}{object_of(call, directory) or 'tool call'}"
    line = " · ".join(filter(None, (named, "rejected" if call.rejected else "")))
    below = (f"  {each}" for each in (*notes_of(call), *changes))
    return "\n".join((line, *below, *(row for terminal in call.terminals for row in _ended(terminal))))


def _changes(call: Call, directory: str, most: int | None, more: str) -> Iterator[str]:
    """The changes of files in the unified format; of each the first lines, and how many there are ``more``."""
    for diff in call.diffs:
        path = relative(diff.path, directory)
        if undone := not_made_words(diff, call, directory):
            yield undone
        lines = [*change_of(diff.old, diff.new).unified(path)]
        yield from cut(lines, most, more)
        if not lines:
            yield f"{lineless_words(diff).capitalize()}: {path}"


def _ended(terminal: TerminalBlock) -> Iterator[str]:
    """What a command printed last in a terminal, and how it ended if not well."""
    rows = safe(terminal.text).split("\n") if terminal.text else []
    if above := terminal.hidden_lines + max(0, len(rows) - _LAST_ROWS):
        yield f"  … {above:,} line{'s' if above != 1 else ''}"
    yield from (f"  {row}".rstrip() for row in rows[-_LAST_ROWS:])
    if terminal.signal or terminal.exit_code:
        yield f"  {terminal.signal or f'exit {terminal.exit_code}'}"
