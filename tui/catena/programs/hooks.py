"""Hooks: commands of the person's own that are told of a turn's end, of a question and of a seam.

Nobody waits for them, and nothing that they write or answer changes what happens.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

from catena.programs import shapes
from catena.programs.filter import FilterEnd, run_filter
from catena.programs.shapes import facts_of
from catena.settings.tables import HookSettings, Program
from catena.text.safe_text import safe_line
from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    ElicitationOpened,
    MessageAdded,
    PermissionOpened,
    Remarked,
    TurnEnded,
)
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.spoken.spoken import Seam, spoken_of
from catena_acp.tasks import TaskSet
from catena_store.chains import links
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import ContextSource, Kind

LIMIT_SECONDS = 60.0
_CLOSING_SECONDS = 1.0  # for hooks of what happened last
_AT_ONCE = 4
_MOST = 100  # that run or wait; an agent can ask without end
_LONGEST = 200  # characters of what is said of a failure
# A block in which hooks come to their end; it is given what ends them before that.
Settling = Callable[[Callable[[], None]], AbstractContextManager[None]]


class Hooks:
    """The hooks of this process; use as ``async with Hooks.serve(…)``."""

    def __init__(
        self, settings: HookSettings, db: Database, tell: Callable[[str], None] | None, limit: float
    ) -> None:
        self._settings = settings
        self._db = db
        self._tell = tell
        self._limit = limit
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._tasks = TaskSet()
        self._failed: set[Program] = set()  # whose failure was told
        self.conversations: Conversations | None = None  # set as soon as they are served

    @classmethod
    @asynccontextmanager
    async def serve(
        cls,
        settings: HookSettings,
        db: Database,
        *,
        tell: Callable[[str], None] | None = None,
        settling: Settling | None = None,
        limit: float = LIMIT_SECONDS,
    ) -> AsyncIterator[Hooks]:
        """Run hooks until the end of the block; then end those that still run.

        In a block of ``settling`` they come to their end before that. ``tell`` is told of a hook's first failure;
        without it, that is remarked in the hook's conversation.
        """
        hooks = cls(settings, db, tell, limit)
        try:
            yield hooks
            if hooks._tasks:
                with settling(hooks._end) if settling else nullcontext():
                    await asyncio.wait(hooks._tasks, timeout=limit if settling else _CLOSING_SECONDS)
        finally:
            running = list(hooks._tasks)
            hooks._end()
            await asyncio.gather(*running, return_exceptions=True)

    def _end(self) -> None:
        for task in self._tasks:
            task.cancel()

    def observe(self, conversation_id: str, event: ConversationEvent) -> None:
        """Begin the hooks of an event."""
        match event:
            case TurnEnded() if self._settings.turn_end:
                self._begin(self._turn_ended, conversation_id, event)
            case PermissionOpened() | ElicitationOpened(opened=False) if self._settings.permission:
                self._begin(self._asked, conversation_id, event)
            case MessageAdded(message=message) if message.kind is Kind.SEAM and self._settings.seam:
                self._begin(self._seam, conversation_id, event)

    def _begin(
        self,
        work: Callable[[Conversation, Any], Coroutine[Any, Any, None]],
        conversation_id: str,
        event: ConversationEvent,
    ) -> None:
        live = self.conversations.live if self.conversations else ()
        conversation = next((each for each in live if each.id == conversation_id), None)
        if conversation is None or len(self._tasks) >= _MOST:
            return
        self._tasks.begin(self._do(work(conversation, event)))

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as error:
            logging.getLogger(__name__).warning("a hook was not run: %s", error)

    async def _turn_ended(self, conversation: Conversation, event: TurnEnded) -> None:
        turn, problem = event.turn, event.problem
        link, answer = None, ""
        if turn is not None:
            async with self._db.read() as reader:
                link = await links.get(reader, turn.link_id)
                rows = await messages.last_turn(reader, turn.last_id)
            answer = next((row.text for row in reversed(rows) if row.kind is Kind.AGENT), "")
        stopped = turn.stop_reason if turn is not None else None
        told = shapes.turn_end(
            await facts_of(self._db, conversation, event.window_id, link),
            outcome=stopped.value if stopped else "not_sent",
            error=problem.text if problem else None,
            answer=answer,
        )
        await self._run_all("turn_end", conversation, event.window_id, told)

    async def _asked(self, conversation: Conversation, event: PermissionOpened | ElicitationOpened) -> None:
        facts = await facts_of(self._db, conversation, event.window_id)
        agent = facts.session.agent_title
        match event:
            case PermissionOpened(tool_call=call):
                title = call.title or "a tool"
                message = f"{agent} asks for a permission: {title}"
                told = shapes.permission(facts, message=message, tool=title, kind=call.kind)
            case ElicitationOpened(request=request):
                message = f"{agent} asks: {request.message}"
                told = shapes.permission(facts, message=message, tool=None, kind=None)
        await self._run_all("permission", conversation, event.window_id, told)

    async def _seam(self, conversation: Conversation, event: MessageAdded) -> None:
        said = spoken_of(event.message)
        how = said.how if isinstance(said, Seam) else None
        known = ContextSource(how) if how in {each.value for each in ContextSource} else None
        facts = await facts_of(self._db, conversation, event.window_id)
        told = shapes.seam(facts, how=known, text=event.message.text)
        await self._run_all("seam", conversation, event.window_id, told)

    async def _run_all(
        self, name: str, conversation: Conversation, window_id: str, told: dict[str, Any]
    ) -> None:
        for program in getattr(self._settings, name):
            async with self._room:
                trouble = await self._run(program, conversation.record.cwd, told)
            if trouble and program not in self._failed:
                self._failed.add(program)
                text = safe_line(f"Hook {name} ({program}) {trouble}")
                self._say(
                    conversation, window_id, text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
                )

    async def _run(self, program: Program, cwd: str, told: dict[str, Any]) -> str:
        environment = {**os.environ, "CLAUDE_PROJECT_DIR": cwd, "CATENA_CONVERSATION": told["conversation"]}
        try:
            ended: FilterEnd = await run_filter(
                program.arguments(os.environ),
                json.dumps(told),
                directory=cwd,
                environment=environment,
                seconds=self._limit,
            )
        except OSError as error:
            return f"cannot be started: {error.strerror or error}"
        return ended.trouble

    def _say(self, conversation: Conversation, window_id: str, text: str) -> None:
        if self._tell is not None:
            self._tell(text)
        else:
            conversation.publish(Remarked(window_id, text))
