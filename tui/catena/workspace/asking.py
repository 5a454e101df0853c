"""The same prompt for the agents of several tabs: it goes to all of them, or to nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catena.workspace.tab import Tab
from catena_acp.errors import NotAsked


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
