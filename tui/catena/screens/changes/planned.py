"""What files would become, read as changes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catena_acp.changes.reading import Changes, ChangeScope, planned_changes
from catena_acp.snapshots.restoring import RestorePlan


class PlannedChanges:
    """The changes of a plan; what of them was seen is known for as long as it is looked at."""

    def __init__(self, plan: RestorePlan, directory: str) -> None:
        self._changes = planned_changes(plan, directory)

    async def read(self, leaf_id: str | None, scope: ChangeScope) -> Changes:
        """The changes."""
        return self._changes

    async def mark_seen(self, digests: Sequence[str], *, seen: bool) -> None:
        """Mark hunks as seen, or as not seen."""
        now = self._changes.seen | set(digests) if seen else self._changes.seen - set(digests)
        self._changes = replace(self._changes, seen=frozenset(now))
