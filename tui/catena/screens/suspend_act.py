"""Back to the shell for a while; the agents go on meanwhile."""

from __future__ import annotations

import os

from catena.screens.desk import Desk


class SuspendAct:
    """Stops the program as a shell's Ctrl+Z does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def suspend(self, argument: str = "") -> None:
        """To the shell, where there is one that can bring us back."""
        if os.getsid(0) == os.getpid():
            self._desk.say("No shell started this Catena, and nobody could bring it back.")
        else:
            self._desk.app.action_suspend_process()
