"""Ctrl+Z without a screen: the process stops as any other does, but never within a transaction.

A process that stopped within one would keep every other process from writing until it continues.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

from catena_acp.tasks import TaskSet
from catena_store.database.database import Database


@contextlib.asynccontextmanager
async def stopping_between_transactions(
    db: Database | None, aside: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext
) -> AsyncIterator[None]:
    """Let SIGTSTP stop the process between two transactions, within the block; an ignored one stays ignored.

    ``db`` is None before it is open. The process is stopped ``aside``: in a block in which the terminal is as other
    programs want it.
    """
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        yield
        return
    loop = asyncio.get_running_loop()
    stopping = TaskSet()

    async def stop() -> None:
        async with contextlib.nullcontext() if db is None else db.between_transactions(), aside():
            loop.remove_signal_handler(signal.SIGTSTP)
            os.kill(os.getpid(), signal.SIGTSTP)  # returns when the process goes on
            loop.add_signal_handler(signal.SIGTSTP, begin)

    def begin() -> None:
        if not stopping:
            stopping.begin(stop())

    loop.add_signal_handler(signal.SIGTSTP, begin)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
