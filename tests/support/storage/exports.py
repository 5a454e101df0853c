"""Messages for exports, and texts that would like to be more than texts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from catena.rendering.contents import ExportPart, Head
from catena_store.exchange.outline import Passage
from catena_store.records import Kind, Message, MessageState

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

_PIECES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- ",
    "-->",
    "</details>",
    "<details>",
    "</pre></code>",
    "]]>",
    "<![CDATA[",
    '" onload="x',
    "' style='x",
    "javascript:alert(1)",
    "[a](javascript:alert(1))",
    "[a](<data:text/html,x>)",
    '![x"](javascript:x)',
    "[r]: javascript:x",
    "[r]",
    "<http://x.org/?a=b&c>",
    "https://x.org/'\"<b>",
    "&lt;b&gt;",
    "&#60;b>",
    "\x1b[31mred\x1b]8;;http://x\x07",
    "\u202e",
    "\x00",
    "```",
    "````html",
    "~~~",
    "`",
    "``",
    "    code",
    "# head",
    "head\n===",
    "head\n---",
    "> quote",
    "- item",
    "1. item",
    "  - ",
    "| a | b |\n|---|---|\n| <b> | `|` |",
    "***",
    "---",
    "*a*",
    "_",
    "**",
    "~~",
    "\\",
    "\n",
    "\n\n",
    "\t",
    " ",
    "word",
    "ä€😀",
    "\u2028",
    "</style><script>",
    "<p>\n\n<b>",
    "<?php",
    "<a href=//x>",
]
HOSTILE = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=9).map("".join)


def a_message(
    kind: Kind, text: str = "", *, state: MessageState = MessageState.FINAL, data: Any = None
) -> Message:
    """A message; its data says its text wherever data may have one."""
    said: dict[str, Any] = {
        "title": text,
        "kind": "execute" if len(text) % 2 else "edit",
        "status": "completed",
        "locations": [{"path": text}],
        "raw_input": {"command": text},
        "content": [
            {"type": "text", "text": text},
            {"type": "diff", "path": text, "old": "", "new": text},
            {"type": "diff", "path": text, "old": text, "new": ""},
        ],
        "entries": [{"text": text, "status": "completed"}],
        "detail": text,
        "attachments": [{"name": text}, text],
        "how": "told",
        "told_total": 1,
    }
    return Message(
        id="m1",
        conversation_id="c1",
        parent_id=None,
        turn_id=None,
        kind=kind,
        state=state,
        text=text,
        data=said if data is None else data,
        link_id=None,
        agent_message_id=None,
        barrier=False,
        depth=0,
        created_at=AT,
    )


def a_head(**fields: Any) -> Head:
    """The head of an export with one branch."""
    given: dict[str, Any] = {
        "title": "A title",
        "agent": "Claude",
        "directory": "/home/ada/shop",
        "conversation_id": "c1",
        "began": AT,
        "ended": AT,
        "exported_at": AT,
        "prompts": 1,
        "branches": 1,
        "masked": True,
        "here": 0,
        **fields,
    }
    return Head(**given)


def a_part(
    messages: Sequence[Message],
    place: int = 0,
    *,
    above: int | None = None,
    versions: tuple[int, ...] | None = None,
    fork: str | None = None,
) -> ExportPart:
    """A passage of messages."""
    return ExportPart(Passage(place, above, versions or (place,), "c1", array("q")), list(messages), fork)
