"""Working on the prompts that wait."""

from __future__ import annotations

from catena.screens.desk import Desk
from catena.tab import Tab
from catena_store.records import QueueItem


class QueueActs:
    """Acts on the queue of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def enter(self, argument: str = "") -> None:
        """Give the keys to the list of what waits, or back to the composer."""
        desk, listed = self._desk, self._desk.parts.queue
        if listed.has_focus:
            desk.parts.composer.focus()
        elif desk.tab and desk.tab.queue:
            listed.enter()
        else:
            desk.say("Nothing waits. Enter while the agent works puts a prompt here.")

    async def delete(self, tab: Tab, item: QueueItem) -> None:
        """Take a waiting prompt out for good."""
        await tab.conversation.unqueue(tab.window_id, item.id)
        self._desk.say("It waits no more. Ctrl+R still finds its text.")

    async def move(self, tab: Tab, item: QueueItem, position: int) -> None:
        """Give a waiting prompt another place."""
        await tab.conversation.requeue(tab.window_id, item.id, position)

    async def send_now(self, tab: Tab, item: QueueItem) -> None:
        """Send a waiting prompt before all others."""
        busy = tab.busy
        if await tab.conversation.send_now(tab.window_id, item.id):
            self._desk.say("Said into the running turn.")
        elif busy:
            self._desk.say("It goes next, as soon as the turn has ended.")
