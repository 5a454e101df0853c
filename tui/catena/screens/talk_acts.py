"""Talking: sending, queueing, stopping, answering, and the texts that were typed before."""

from __future__ import annotations

import time

from catena.input_history import InputHistory
from catena.screens.desk import Desk
from catena.screens.picker import Picker
from catena.screens.status_words import STOP_PATIENCE
from catena.tab import Tab
from catena.widgets.row_list import Row
from catena_acp.conversation.core import ReadOnly
from catena_acp.conversation.news import Asked, Doing
from catena_acp.errors import AgentError
from catena_acp.events import PermissionOption
from catena_store.errors import StoreError
from catena_store.records import Attachment, QueueItem

BUSY = "The agent is still at work; esc stops it."


class TalkActs:
    """Acts on the conversation of the tab that is looked at; each takes the text behind its command."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._inputs = InputHistory()

    async def send(self, tab: Tab, text: str, *, is_draft: bool = True) -> None:
        """Say it, or queue it while a turn runs; where neither works the text comes back.

        What is attached goes along where the text is the draft that it was attached to.
        """
        self._inputs.add(text)
        files: tuple[Attachment, ...] = ()
        if is_draft:
            files, tab.attachments = tab.attachments, ()
        tab.sending += 1
        try:
            await tab.conversation.say(tab.window_id, text, files)
        except (AgentError, StoreError, ReadOnly):
            self._desk.give_back(tab, text, files)
            raise
        finally:
            tab.sending -= 1
        if tab.draft.strip():  # typed meanwhile, and taken out of the store with what was sent
            await self._desk.tabs.keep(tab)
        if tab.attachments:
            await self._desk.tabs.keep_attachments(tab)
        if tab is self._desk.view.shown:
            self._desk.parts.transcript.follow()

    async def go_on(self, argument: str = "") -> None:
        """Let prompts that an error held back go out."""
        tab = self._desk.tab
        if tab is not None and not tab.busy and tab.queue:
            await tab.conversation.send_queued(tab.window_id)

    async def clear(self, argument: str = "") -> None:
        """A floor for what is told again."""
        if tab := self._desk.tab:
            if tab.busy:
                self._desk.say(BUSY)
            else:
                await tab.conversation.clear(tab.window_id)

    async def rename(self, argument: str = "") -> None:
        """Give the conversation a title."""
        if not (tab := self._desk.tab):
            return
        if argument:
            await tab.conversation.rename(argument, by=tab.window_id)
            self._desk.say(f"This conversation is now called “{argument}”.")
        else:
            self._desk.parts.composer.put("/rename ")

    async def stop(self, argument: str = "") -> None:
        """Stop the turn; where that is not heeded for a while, end the agent's process."""
        tab, view = self._desk.tab, self._desk.view
        if tab is None or not tab.busy:
            return
        if tab.conversation.read_only:
            self._desk.say("Only the Catena that has this conversation can stop it.")
            return
        if view.stop_wanted_at is None or tab.doing is not Doing.STOPPING:
            view.stop_wanted_at = time.monotonic()
            self._desk.screen.set_timer(STOP_PATIENCE + 0.1, view.refresh)
            await tab.conversation.stop(tab.window_id)
        elif time.monotonic() - view.stop_wanted_at >= STOP_PATIENCE:
            await tab.conversation.kill_agent(tab.window_id)

    async def answer(self, ask: Asked, option: PermissionOption, reason: str) -> None:
        """Answer a question; a reason is the next prompt."""
        if tab := self._desk.tab:
            await tab.conversation.answer(ask.ask_id, option.id)
            if reason:
                await self.send(tab, reason, is_draft=False)

    async def unqueue(self, argument: str = "") -> None:
        """Take the newest waiting prompt back into the composer."""
        if (tab := self._desk.tab) and tab.queue:
            await self.take_back(tab, tab.queue[-1])

    async def take_back(self, tab: Tab, item: QueueItem) -> None:
        """Take a waiting prompt back into the composer, with what is attached to it."""
        await tab.conversation.take_back(tab.window_id, item.id)
        self._desk.parts.composer.focus()

    async def walk(self, *, older: bool) -> None:
        """↑ and ↓ at the edges of the composer; ↑ in an empty one takes a waiting prompt back first."""
        desk, composer = self._desk, self._desk.parts.composer
        if older and composer.blank and not self._inputs.walking and desk.tab and _may_take_back(desk.tab):
            await self.unqueue()
            return
        if not self._inputs.loaded:
            self._inputs.load(await desk.tabs.recent_inputs())
        text = self._inputs.older(composer.text) if older else self._inputs.newer()
        if text is not None:
            composer.put(text)

    def stop_walking(self) -> None:
        """What is in the composer has become the draft."""
        self._inputs.stop()

    async def search_inputs(self, argument: str = "") -> None:
        """Choose from everything that was typed before."""
        desk, composer = self._desk, self._desk.parts.composer
        texts = await desk.tabs.recent_inputs()
        rows = [Row(str(index), text) for index, text in enumerate(dict.fromkeys(texts))]
        chosen = await desk.app.push_screen_wait(
            Picker(
                "typed before",
                rows,
                filtered_by=composer.text,
                hint="enter put it into the composer · esc leave",
            )
        )
        if chosen is not None:
            composer.put(next(row.label for row in rows if row.key == chosen))


def _may_take_back(tab: Tab) -> bool:
    return bool(tab.queue) and not tab.conversation.read_only
