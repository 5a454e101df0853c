"""What answers leave open, read from their Markdown: unticked boxes, and lists of what is to be done next. Pure.

Careful rather than clever: what is not plainly a list of open work is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena_acp.spoken.spoken import Plan
from catena_store.conversations import branches
from catena_store.database.database import Reader
from catena_store.records import Kind, Message

_MOST = 50  # of one branch; beyond it is prose with bullets
_LONGEST = 300  # characters of one

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?P<text>\S.*)$")
_BOX = re.compile(r"^\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)$")
_DONE_MARK = re.compile(r"^(?:✓|✔️?|✅|☑️?|~~(?P<struck>.+)~~$)\s*")
_DONE_BEHIND = re.compile(r"(?:✓|✔️?|✅|☑️?|\((?:done|erledigt)\))\s*$", re.IGNORECASE)

_NEXT = (
    "(?:suggested |possible |recommended |remaining |the )?next steps?"
    "|what(?:'|’)?s (?:next|left)|what (?:is|remains) (?:next|left|to do)"
)
_LEFT = (
    "to-?dos?|todo list|remaining(?: (?:work|tasks?|items?|steps?|todos?))?|still (?:to do|open|missing|left)"
    "|left to do|open (?:tasks?|items?|todos?)|not (?:yet )?done(?: yet)?|follow-?ups?"
)
_TITLE = re.compile(rf"^(?:{_NEXT}|{_LEFT})(?: \([^()]{{1,40}}\))?$", re.IGNORECASE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<text>.*?)[ \t]*#*$")
_BOLD = re.compile(r"^(?:\*\*|__)(?P<text>[^*_]+?)(?:\*\*|__)[ \t]*:?$")


@dataclass(frozen=True, slots=True)
class Todo:
    """One thing to do, and whether it was ticked off since."""

    text: str
    done: bool


def left_open(answers: Sequence[str]) -> tuple[Todo, ...]:
    """The todos that the answers, oldest first, leave open, with ticked ones among them; () if nothing is open.

    An answer that lists next steps replaces those of the answers before; a box stays until it is ticked.
    """
    # By its words: the todo, and whether a list of next steps has it.
    found: dict[str, tuple[Todo, bool]] = {}
    for answer in answers:
        listed = list(_listed(answer))
        if any(from_list for _, _, from_list in listed):
            found = {key: kept for key, kept in found.items() if not kept[1]}
        for text, done, from_list in listed:
            key = _key(text)
            if not key or (done and key not in found and from_list is None):
                continue
            before = found.get(key)
            shown = before[0].text if before else text
            found[key] = (Todo(shown, done), before[1] if before else bool(from_list))
    todos = tuple(todo for todo, _ in found.values())[:_MOST]
    return todos if any(not todo.done for todo in todos) else ()


def _listed(answer: str) -> Iterator[tuple[str, bool, bool | None]]:
    """Each item that says something of open work: its words, whether it is done, and where it stands.

    That is True in a list of next steps, False for a box, None for an item that is only marked as done.
    """
    titled = False  # the last heading announced open work
    in_list = False  # … and its list has begun
    depth = 0
    for line in _outside_code(answer):
        if not line.strip():
            continue
        item = _ITEM.match(line)
        if item is None:
            if title := _title(line):
                titled, in_list = bool(_TITLE.match(title)), False
            elif titled and not (in_list and line[:1] in " \t"):
                # Words of introduction may stand before the list; words behind it end it.
                titled = not in_list and line.rstrip().endswith(":")
            continue
        indent = len(item["indent"].expandtabs(4))
        text = item["text"].strip()
        if titled and not in_list:
            in_list, depth = True, indent
        if box := _BOX.match(text):
            yield _plain(box["text"]), box["mark"] != " ", False
        elif (mark := _DONE_MARK.match(text)) or _DONE_BEHIND.search(text):
            bare = (mark["struck"] or text[mark.end() :]) if mark else _DONE_BEHIND.sub("", text)
            yield _plain(bare), True, None
        elif titled and indent <= depth and not _says_none(text):
            yield _plain(text), False, True


def _outside_code(answer: str) -> Iterator[str]:
    fence = ""
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif not line.lstrip().startswith(">"):  # someone else's words
            yield line


def _title(line: str) -> str | None:
    """The words of a heading, or of a line that stands for one: bold, or plain with a colon at its end."""
    for pattern in (_HEADING, _BOLD):
        if match := pattern.match(line.strip() if pattern is _BOLD else line):
            return match["text"].strip().strip("*_").rstrip(":").strip()
    if line.rstrip().endswith(":") and _TITLE.match(words := line.strip().rstrip(":").strip()):
        return words
    return None


def _says_none(text: str) -> bool:
    return text.strip(" .!*_").lower() in ("none", "nothing", "n/a", "-", "keine", "nothing left")


def _plain(text: str) -> str:
    """The words without the marks around them, cut where they are many."""
    text = re.sub(r"\[([^\]]+)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"\*\*|__|~~|`", "", text)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


_ANSWERS = 8  # the newest, that are looked through where the agent sends no plan
_ROWS = 3000  # among which they are looked for


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """One of the two: the row of a plan, which may be done, or todos that were drawn from answers."""

    plan: Message | None
    todos: tuple[Todo, ...] = ()


async def left_open_on(reader: Reader, leaf_id: str | None) -> LeftOpen:
    """The open work of a branch: its newest plan, else todos read from answers."""
    plans = await branches.newest_rows(reader, leaf_id, Kind.PLAN, limit=1, within=_ROWS)
    if plan := next((row for row in reversed(plans) if Plan.of(row).steps), None):
        return LeftOpen(plan)
    answers = await branches.newest_answers(reader, leaf_id, limit=_ANSWERS, within=_ROWS)
    return LeftOpen(None, left_open([answer.text for answer in answers]))
