"""The same prompt for the agents of several tabs: it goes to all of them, or to nobody; then they are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.workspace.tab import Tab
from catena_acp.conversation.prompts.rows import clears
from catena_acp.errors import NotAsked
from catena_store.records import Message

NO_OTHER = "No prompt here has another version, and no other branch is open in a tab."
_NOTHING_TO_ASK = "Write a prompt first, or put it behind the agent: /ask AGENT PROMPT"
_STEERED = (
    "The last prompt was sent into a running turn. Write the prompt behind the agent: /ask AGENT PROMPT"
)


def refusal_to_ask(text: str, last: Message | None) -> str:
    """Why a text cannot be asked, nor, without one, the last prompt of a branch; "" if it can."""
    if text.strip():
        return _NOTHING_TO_ASK if clears(text) else ""
    if last is None:
        return _NOTHING_TO_ASK
    return _STEERED if last.steered else ""


async def make_all_ready(tabs: Sequence[Tab], *, kept: str) -> None:
    """Wait until the agents of all tabs take a prompt; ``kept`` says where it is if one does not.

    Raises NotAsked where one does not, other AgentErrors.
    """
    found = await asyncio.gather(*(tab.window.make_ready() for tab in tabs), return_exceptions=True)
    wrong = []
    for tab, problem in zip(tabs, found, strict=True):
        if isinstance(problem, BaseException):
            raise problem
        if problem is not None:
            wrong.append(f"{tab.window.session.agent_title}: {problem.text}")
    if wrong:
        raise NotAsked(f"Nothing was sent. {' '.join(wrong)} {kept}")
