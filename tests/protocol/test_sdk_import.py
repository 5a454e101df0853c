"""Importing the SDK: once, whatever the number of agents."""

from __future__ import annotations

import gc

from catena_acp.protocol.sdk_import import import_sdk


def test_q04_only_the_first_agent_keeps_what_is_there_from_the_garbage_collector() -> None:
    assert gc.isenabled()
    import_sdk()
    kept = gc.get_freeze_count()
    made_since: list[list[int]] = [[] for _ in range(10_000)]

    import_sdk()

    assert gc.get_freeze_count() <= kept
    assert len(made_since) == 10_000
