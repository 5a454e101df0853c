"""A permission request in words, and its options by what they decide. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.port.session_events import PermissionOption, ToolCallChanged, ToolDiff

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
_ANY_TITLE = frozenset({"execute", "rewind"})  # their titles need not begin with a verb
ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})


def diffs_of(call: ToolCallChanged) -> list[ToolDiff]:
    """The file changes of a tool call."""
    from catena_acp.port.session_events import ToolDiff

    return [content for content in call.content or () if isinstance(content, ToolDiff)]


def asker_words(subagent: str) -> str:
    """Whose call it is, of a subagent's; "" for the agent's own."""
    return f"Asked by the subagent for: {safe_line(subagent)}" if subagent else ""


def changed_words(changed: Sequence[str]) -> str:
    """What the agent changed while its question was open."""
    return f"Changed while it was open: {', '.join(safe_line(label) for label in changed)}"


def question_words(call: ToolCallChanged, directory: str) -> str:
    """The question in one sentence: about the files of the call, else in the agent's words."""
    from catena.transcript.messages.tool_call import relative, without_verb

    kind, title = call.kind or "", safe_line(call.title or "").strip()
    words, named = _WORDS.get(kind, ""), without_verb(title, kind)
    paths = [diff.path for diff in diffs_of(call)] or [place.path for place in call.locations or ()]
    if kind in ABOUT_FILES and paths:
        named = relative(paths[0], directory)
        if others := len(set(paths)) - 1:
            named += f" and {counted(others, 'other file')}"
    elif not words or not named or (kind not in _ANY_TITLE and named == title and " " in title):
        return f"Allow this: {title.removesuffix('?')}?" if title else "Allow this tool call?"
    return words.format(named.removesuffix("?"))


def not_offered(options: Sequence[PermissionOption], *, allow: bool) -> str:
    """Why a key that allows or rejects answers nothing, and what does."""
    kind = "allow_once" if allow else "reject_once"
    several = sum(option.kind == kind for option in options) > 1
    what = f"Several answers {'allow' if allow else 'reject'} this" if several else "Not offered"
    return f"{what}. Press one of the numbers."
