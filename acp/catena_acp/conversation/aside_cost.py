"""What the questions of an aside cost: all of an aside that is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine
from typing import Any

from catena_acp.conversation.aside_session import AsideSession
from catena_acp.conversation.core import Core
from catena_acp.conversation.ground import Ground
from catena_acp.events import PromptEnded, UsageReported
from catena_store.chains import usage
from catena_store.errors import StoreError


class AsideCost:
    """Takes what the agent tells of its costs, as a total of its session, and keeps the share of each question."""

    def __init__(self, core: Core, ground: Ground) -> None:
        self._core = core
        self._ground = ground
        self._session: AsideSession | None = None
        self._before = 0.0  # the session's total before the question
        self._begun_anew = False  # that total may be its source's, and the session's own begin at nothing
        self._told: UsageReported | None = None

    def asked(self, session: AsideSession) -> None:
        """A question goes out to this session."""
        if session is not self._session:
            self._session, self._begun_anew = session, True
            self._before = session.link.cost_total or 0.0
        self._told = None

    def told(self, report: UsageReported) -> None:
        """The agent told its session's total so far."""
        if report.cost is not None:
            self._told = report

    def over(self, answer: PromptEnded | None) -> Coroutine[Any, Any, None]:
        """The question is over, or given up: its share is known at once, and kept by what this gives."""
        told = self._told
        cost = self._share(told.cost) if told and told.cost is not None else None
        model = self._session.model if self._session else None
        return self._keep(model, answer, cost, told.currency if told else None)

    async def _keep(
        self, model: str | None, answer: PromptEnded | None, cost: float | None, currency: str | None
    ) -> None:
        # A store that takes nothing now loses only this.
        with contextlib.suppress(StoreError):
            async with self._core.services.db.write() as tx:
                await usage.add_aside(
                    tx,
                    self._core.record.id,
                    agent=self._ground.spec.name,
                    profile=self._ground.spec.profile,
                    model=model,
                    usage=answer.usage if answer else None,
                    cost=cost,
                    currency=currency,
                )

    def _share(self, total: float) -> float:
        before, anew = self._before, self._begun_anew
        self._before, self._begun_anew = total, False
        return total if total < before and anew else max(0.0, total - before)
