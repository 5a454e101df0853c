"""What was done and undone, in words."""

from __future__ import annotations

from typing import Any, assert_never

from catena.safe_text import safe_line
from catena.undoing import Done, Taken
from catena_store.windows.journal import Act


def what(done: Done) -> str:
    """The act, as part of a sentence."""
    name = f"“{safe_line(done.name)}”"
    after = done.entry.after
    match done.entry.act:
        case Act.EDIT:
            return "the edit"
        case Act.RETRY:
            return "the retry"
        case Act.FORK:
            return "the fork"
        case Act.REWIND:
            return "the rewind"
        case Act.SIBLING:
            return "going to another branch"
        case Act.GO_TO:
            return "the jump to another branch"
        case Act.PICK:
            return "going on from an older session"
        case Act.AGENT:
            return f"the change to {_agent(after)}"
        case Act.RENAME:
            title = after.get("title")
            return f"the title “{safe_line(str(title))}”" if title else "taking the title away"
        case Act.DELETE:
            return f"deleting {name}"
        case Act.ARCHIVE:
            return f"archiving {name}" if after.get("archived") else f"taking {name} out of the archive"
        case Act.CLOSE:
            return f"closing the tab {name}"
        case act:
            assert_never(act)


def undone(taken: Taken) -> str:
    """What was taken back, and what one more `/undo` would take back."""
    coming = f"/undo once more: {what(taken.next)}." if taken.next else "There is nothing more to undo."
    return f"Undone: {_acts(taken)}. {coming} /redo does it again."


def done_again(taken: Taken) -> str:
    """What was done again, and what one more `/redo` would do."""
    coming = f" /redo once more: {what(taken.next)}." if taken.next else ""
    return f"Done again: {_acts(taken)}.{coming}"


def _acts(taken: Taken) -> str:
    last = what(taken.acts[-1])
    more = len(taken.acts) - 1
    return f"{last} and {more} more after it" if more else last


def _agent(values: Any) -> str:
    name = str(values.get("agent", ""))
    profile = values.get("profile")
    return safe_line(f"{name} ({profile})" if profile else name)
