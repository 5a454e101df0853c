"""A permission request in words, its options by what they decide, and its subject as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import BREAK, call_line, safe, safe_line
from catena_acp.continuity.wording.counts import counted

if TYPE_CHECKING:
    from catena_acp.continuity.conversation_events import PermissionOpened
    from catena_acp.permissions.rule import Rule
    from catena_acp.permissions.subject import RequestSubject
    from catena_acp.port.session_events import PermissionOption

_WORDS = {
    "read": "Allow reading {}?",
    "edit": "Allow the edit of {}?",
    "delete": "Allow deleting {}?",
    "move": "Allow moving {}?",
    "search": "Allow searching {}?",
    "execute": "Allow running {}?",
    "fetch": "Allow fetching {}?",
    "rewind": "Allow the rewind {}?",
}
_LABELS, _LABEL = 8, 60  # names of what was changed, and characters of one
ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})

WITH_REASON = "Reject with a reason"
_WIDTH = 80  # cells that a row is taken to have where it is counted


def changed_words(changed: Sequence[str]) -> str:
    """What the agent changed while its question was open."""
    more = f" and {len(changed) - _LABELS:,} more" if len(changed) > _LABELS else ""
    return f"Changed while it was open: {', '.join(safe_line(label[:_LABEL]) for label in changed[:_LABELS])}{more}"


def always_words(rule: Rule) -> str:
    """What it means to allow by a rule of the person's own."""
    from catena_acp.permissions.rule import rule_text

    return f"Always in this project: {rule_text(rule)}"


def saved_words(answered: int) -> str:
    """What is said when a rule is saved, which ``answered`` other requests."""
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
    from catena.text.call_text import without_verb

    call, title = subject.call, call_line(subject.words.title)
    if not title:
        return safe_line(call.kind or "Permission request")
    named = without_verb(title, call.kind or "")
    return title if _is_backed(subject, named) else f"“{title}”, in the agent's words"


def _is_backed(subject: RequestSubject, named: str) -> bool:
    """True if a title says what the call is about, as its input tells, or if Catena itself gave it."""
    from catena_acp.permissions.deeds import about

    if subject.call.by_client:
        return True
    line, file = call_line(about(subject)), named.partition(" ")[2] or named
    of_file = subject.kind in ABOUT_FILES and (file == line or subject.paths == (file,))
    return bool(line) and (named == line or of_file)


def question_words(subject: RequestSubject, directory: str) -> str:
    """The question in one sentence: about the files or the command of a call, else in the agent's words, as such."""
    from catena.text.call_text import relative, without_verb
    from catena_acp.permissions.deeds import deeds_of

    call = subject.call
    kind, title = call.kind or "", call_line(call.title or "")
    words, named = _WORDS.get(kind, ""), without_verb(title, kind)
    deeds = deeds_of(subject, directory)
    changed = [deed.of for deed in deeds if deed.kind == "line"]
    paths = list(dict.fromkeys((*changed, *(deed.text for deed in deeds if deed.kind == "place"))))
    if kind in ABOUT_FILES and paths:
        named = relative(paths[0], directory)
        if others := len(paths) - 1:
            named += f" and {counted(others, 'other file')}"
    elif not title:
        return "Allow this tool call?"
    elif not _is_backed(subject, named):
        calls = "what the agent calls " if subject.shown or subject.diffs else ""
        return f"Allow {'running ' if kind == 'execute' else ''}{calls}“{title.removesuffix('?')}”?"
    elif not words:
        return f"Allow this: {title.removesuffix('?')}?"
    return words.format(named.removesuffix("?"))


NO_ANSWER = "The agent offers no answer"


def not_offered(options: Sequence[PermissionOption], *, allow: bool) -> str:
    """Why a key that allows or rejects answers nothing, and what does."""
    if not options:
        return f"{NO_ANSWER}: stop the turn to go on."
    kind = "allow_once" if allow else "reject_once"
    several = sum(option.kind == kind for option in options) > 1
    what = f"Several answers {'allow' if allow else 'reject'} this" if several else "Not offered"
    return f"{what}. Press one of the numbers."


def subject_lines(subject: RequestSubject) -> Iterator[str]:
    """All parts of a subject, whole; each line of one that goes on ends with a sign."""
    for part in subject.shown:
        first, *more = safe(part.text).splitlines() or [""]
        lines = [f"{safe_line(part.label)}: {first}", *(f"  {line}" for line in more)]
        yield from (f"{line} {BREAK}" for line in lines[:-1])
        yield lines[-1]


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
