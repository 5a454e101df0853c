"""A permission request in words, its options by what they decide, and its subject as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import BREAK, call_line, safe, safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.permissions.parts import PartRole

if TYPE_CHECKING:
    from catena_acp.continuity.conversation_events import PermissionOpened
    from catena_acp.permissions.parts import SubjectPart
    from catena_acp.permissions.rule import Rule
    from catena_acp.permissions.subject import RequestSubject
    from catena_acp.port.session_events import PermissionOption

_WORDS = {
    "read": "Allow reading {}?",
    "edit": "Allow editing {}?",
    "delete": "Allow deleting {}?",
    "move": "Allow this move?",
    "search": "Allow this search?",
    "execute": "Allow running {}?",
    "fetch": "Allow fetching {}?",
    "rewind": "Allow this rewind?",
}
_NOUNS = {"execute": "command", "fetch": "page"}  # else a file
_LABELS, _LABEL = 8, 60  # names of what was changed, and characters of one
ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})

WITH_REASON = "Reject with a reason"
_WIDTH = 80  # cells that a row is taken to have where it is counted


def changed_words(changed: Sequence[str]) -> str:
    """A line on the agent's changes to its question while it was open."""
    more = f" and {len(changed) - _LABELS:,} more" if len(changed) > _LABELS else ""
    return f"Changed while it was open: {', '.join(safe_line(label[:_LABEL]) for label in changed[:_LABELS])}{more}"


def always_words(rule: Rule) -> str:
    """What it means to allow by a rule of the person's own."""
    from catena_acp.permissions.rule import rule_text

    return f"Always in this project: {rule_text(rule)}"


def saved_words(answered: int) -> str:
    """The message after a rule is saved, which also answered ``answered`` other requests."""
    also = f"It also answered {counted(answered, 'open request')}. " if answered else ""
    return f"Rule saved for this project. {also}/permissions lists and removes rules."


def note_words(asked: PermissionOpened) -> Iterator[str]:
    """What stands below the question: what the agent changed of it, which subagent asks, what is not certain."""
    if asked.changed:
        yield changed_words(asked.changed)
    if asked.subagent:
        yield f"Asked by the subagent for: {safe_line(asked.subagent)}"
    if asked.subject.call.by_client:
        yield "Catena would do it for the agent"
    if caution := asked.subject.caution:
        yield safe_line(caution)


def title_words(subject: RequestSubject) -> str:
    """The title of a call; in quotes, as the agent's words, if it is not what the call is about."""
    title = call_line(subject.words.title)
    if not title:
        return safe_line(subject.kind or "Permission request")
    return title if _is_backed(subject, title) else f"“{title}”, in the agent's words"


def _is_backed(subject: RequestSubject, title: str) -> bool:
    """True if a title says what the call is about, as its input tells, or if Catena itself gave it."""
    from catena.text.call_text import without_verb
    from catena_acp.permissions.deeds import about

    if subject.call.by_client or title.lower() == subject.kind:
        return True
    named = without_verb(title, subject.kind)
    line, file = call_line(about(subject)), named.partition(" ")[2] or named
    of_file = subject.kind in ABOUT_FILES and (file == line or subject.paths == (file,))
    return bool(line) and (named == line or of_file)


def question_words(subject: RequestSubject) -> str:
    """The question in one sentence without a word of the agent's; what it is about stands below, in lines."""
    count = len(subject.main)
    noun = _NOUNS.get(subject.kind, "file")
    these = f"these {count:,} {noun}s" if count > 1 else f"this {noun}" if count else "this"
    return _WORDS.get(subject.kind, "Allow this tool call?").format(these)


NO_ANSWER = "The agent offers no answer"
STOP_IT = f"{NO_ANSWER}: stop the turn to go on."


def not_offered(options: Sequence[PermissionOption], *, allow: bool) -> str:
    """Why a key that allows or rejects answers nothing, and what does."""
    if not options:
        return STOP_IT
    kind = "allow_once" if allow else "reject_once"
    several = sum(option.kind == kind for option in options) > 1
    what = f"Several answers {'allow' if allow else 'reject'} this" if several else "Not offered"
    return f"{what}. Press one of the numbers."


def subject_lines(subject: RequestSubject, directory: str) -> list[str]:
    """All that a request is about, whole: first its commands, addresses or places, then the title and all else.

    The title stands there if it says something else, or if nothing else does. A line that goes on ends with a sign, and
    the next one is set in. Paths below ``directory`` are relative to it.
    """
    title = call_line(subject.words.title)
    told = title if title and not (subject.main and _is_backed(subject, title)) else ""
    one_kind = len({part.label for part in subject.main}) == 1
    lines = [line for part in subject.main for line in _main_lines(part, subject, directory, bare=one_kind)]
    lines += [title_words(subject)] if told else []
    changed = {_below(diff.path, directory) for diff in subject.diffs}
    if len(changed) == 1 and subject.kind not in ABOUT_FILES:  # else each is named, there or by the changes
        lines += _lines_of("change: ", changed.pop())
    for part in subject.shown:
        if part.text != told or part.role not in (PartRole.WORDS, PartRole.CONTENT):
            lines += _lines_of(f"{safe_line(part.label)}: ", _text_of(part, subject, directory))
    return lines


def _main_lines(part: SubjectPart, subject: RequestSubject, directory: str, *, bare: bool) -> list[str]:
    sign = "$ " if part.role is PartRole.COMMAND else "" if bare else f"{safe_line(part.label)}: "
    return _lines_of(sign, _text_of(part, subject, directory))


def _text_of(part: SubjectPart, subject: RequestSubject, directory: str) -> str:
    """The text of a part; a place is relative to the directory, with its line."""
    if part.role not in (PartRole.PLACE, PartRole.LOCATION):
        return part.text
    line = next((each.line for each in subject.call.locations or () if each.path == part.text), None)
    return f"{_below(part.text, directory)}{f':{line}' if line else ''}"


def _below(path: str, directory: str) -> str:
    """A path without the directory that it begins with; as it was sent if that is another."""
    rest = path.removeprefix(f"{directory}/") if directory else path
    return path if rest.startswith("/") or not rest else rest


def _lines_of(beginning: str, text: str) -> list[str]:
    """The lines of a text behind its beginning; all but the last end with a sign, all but the first are set in."""
    first, *more = safe(text).expandtabs(4).splitlines() or [""]
    lines = [f"{beginning}{first}", *(f"  {line}" for line in more)]
    return [*(f"{line} {BREAK}" for line in lines[:-1]), lines[-1]]


def first_rows(lines: Sequence[str], most: int) -> tuple[list[str], int]:
    """The lines that fit into so many rows, and how many are left; a line of which only a part fits is cut."""
    shown: list[str] = []
    for line in lines:
        rows = len(line) // _WIDTH + 1
        if rows > most:
            if not shown:
                return [f"{line[: most * _WIDTH]}…"], len(lines)
            break
        shown.append(line)
        most -= rows
    return shown, len(lines) - len(shown)


def more_words(left: int) -> str:
    """How much more there is, and how to read it."""
    return f"… {counted(left, 'more line')}: d shows all"
