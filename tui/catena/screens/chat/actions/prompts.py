"""Prompts: sending, queueing, stopping, answering, and the history of inputs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence

from catena.screens.chat.context import ChatContext
from catena.screens.chat.drafts import hands_over
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.presenter import STOP_PATIENCE
from catena.screens.common.picker import Picker
from catena.widgets.composer import Composer
from catena.widgets.row_list import Row
from catena.workspace.pending import PendingText
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import Doing, PermissionOpened
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.session_events import PermissionOption
from catena_store.errors import StoreError
from catena_store.records import Attachment, QueueItem


class InputHistory:
    """A walk over earlier inputs that begins and ends at the draft."""

    def __init__(self) -> None:
        self._older: list[str] = []  # newest first
        self._at = -1  # -1: at the draft
        self._draft = ""
        self.loaded = False

    @property
    def walking(self) -> bool:
        """True while an earlier input is shown instead of the draft."""
        return self._at >= 0

    def load(self, newest_first: Sequence[str]) -> None:
        """Take over the stored inputs."""
        self._older = list(newest_first)
        self.loaded = True

    def add(self, text: str) -> None:
        """Add a new input and end the walk."""
        if not self._older or self._older[0] != text:
            self._older.insert(0, text)
        self.stop()

    def stop(self) -> None:
        """End the walk: the input that is shown has become the draft."""
        self._at = -1

    def leave(self) -> tuple[str, str]:
        """End the walk, and return the draft that it began at and the input that is shown instead."""
        shown, self._at = self._older[self._at], -1
        return self._draft, shown

    def older(self, shown: str) -> str | None:
        """The next older input, or None at the end; ``shown`` is kept as the draft where the walk begins."""
        if self._at == -1:
            self._draft = shown
        at = self._at + 1
        while at < len(self._older) and self._older[at] == shown:
            at += 1
        if at >= len(self._older):
            return None
        self._at = at
        return self._older[at]

    def newer(self) -> str | None:
        """The next newer input, in the end the draft; None if the draft is shown already."""
        if self._at == -1:
            return None
        self._at -= 1
        return self._draft if self._at == -1 else self._older[self._at]


BUSY = "The agent is still at work; esc stops it."


class PromptActions:
    """Actions on the prompts of the active tab."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._inputs = InputHistory()
        self._walks_in: Tab | None = None

    def hold(self, tab: Tab | None, text: str) -> PendingText:
        """Hold a text that has just left the composer until it is stored or restored."""
        pending = self._context.tabs.pending
        if tab is None:
            return pending.hold(lambda: pending.homeless.append(text))
        return pending.hold(lambda: tab.restore(text))

    def hold_all(self, texts: Sequence[str], composer: Composer, permission: PermissionPanel) -> None:
        """Hold every text of a screen that is left: submitted and not handled, or in no tab's draft."""
        self._break_off()
        for text in texts:
            self.hold(self._context.tab, text)
        for submitted in composer.handed:
            self.hold(submitted.tab or self._context.tab, submitted.text)
        composer.handed.clear()
        if permission.ask is not None and permission.reason:
            self.hold(self.asks(permission.ask), permission.reason)
        if composer.tab is None and not composer.blank:
            self.hold(self._context.tab, composer.text)

    async def send(
        self, tab: Tab, text: str, *, is_draft: bool = True, held: PendingText | None = None
    ) -> None:
        """Send a prompt, or queue it while a turn runs; if neither works, restore the text.

        ``is_draft``: its attachments are sent with it. ``held`` has held the text until now.
        """
        self._inputs.add(text)
        files: tuple[Attachment, ...] = ()
        if is_draft:
            files, tab.attachments = tab.attachments, ()
        held = held or self.hold(tab, text)
        held.back = lambda: tab.restore(text, files)
        if tab is self._context.presenter.shown:  # at once: a person who scrolls up meanwhile reads on there
            self._context.parts.transcript.follow()
        try:
            await self._context.tabs.pending.see_through(_said(tab, text, files), held)
        except (AgentError, StoreError, ReadOnly):
            if held.release():
                self._context.restore(tab, text, files)
            raise
        if tab.draft.strip():  # typed meanwhile, and taken out of the store with what was sent
            await self._context.tabs.keep(tab)
        if tab.attachments:
            await self._context.tabs.keep_attachments(tab)

    async def go_on(self) -> None:
        """Send the prompts that an error held back."""
        tab = self._context.tab
        if tab is not None and tab.queue and (not tab.busy or any(item.held for item in tab.queue)):
            await tab.window.send_queued()

    async def clear(self) -> None:
        """`/clear`: nothing above this line is sent to an agent again."""
        if tab := self._context.tab:
            if tab.busy:
                self._context.say(BUSY)
            else:
                await tab.window.clear()

    @hands_over
    async def rename(self, argument: str = "") -> None:
        """Give the conversation a title."""
        if not (tab := self._context.tab):
            return
        if argument:
            await tab.conversation.rename(argument, by=tab.window_id)
            self._context.say(f"This conversation is now called “{argument}”.")
        else:
            self._context.handover.prepend("/rename ")

    async def stop(self) -> None:
        """Stop the turn; if the agent goes on for a while, end its process."""
        tab, presenter = self._context.tab, self._context.presenter
        if tab is None or not tab.busy:
            return
        if tab.conversation.read_only:
            self._context.say("Only the Catena that has this conversation can stop it.")
            return
        if presenter.stop_wanted_at is None or tab.doing is not Doing.STOPPING:
            presenter.stop_wanted_at = time.monotonic()
            self._context.screen.set_timer(STOP_PATIENCE + 0.1, presenter.refresh)
            await tab.window.stop()
        elif time.monotonic() - presenter.stop_wanted_at >= STOP_PATIENCE:
            await tab.window.kill_agent()

    def answer(self, ask: PermissionOpened, option: PermissionOption, reason: str) -> Awaitable[None]:
        """Answer a permission request in its tab; a reason is the next prompt there."""
        tab = self.asks(ask)
        return self._answer(tab, ask, option, reason, self.hold(tab, reason) if reason else None)

    def asks(self, ask: PermissionOpened) -> Tab | None:
        """The tab that a permission request belongs to."""
        tabs = self._context.tabs
        return next((tab for tab in tabs.tabs if tab.window_id == ask.window_id), tabs.active)

    async def _answer(
        self,
        tab: Tab | None,
        ask: PermissionOpened,
        option: PermissionOption,
        reason: str,
        held: PendingText | None,
    ) -> None:
        if tab:
            await tab.conversation.answer(ask.ask_id, option.id)
            if reason:
                await self.send(tab, reason, is_draft=False, held=held)

    async def unqueue(self) -> None:
        """Restore the newest waiting prompt to the draft."""
        if (tab := self._context.tab) and tab.queue:
            await self.restore_queued(tab, tab.queue[-1])

    async def restore_queued(self, tab: Tab, item: QueueItem) -> None:
        """Restore a waiting prompt to the draft, with its attachments."""
        self._context.write_here()
        await self._context.tabs.pending.see_through(tab.window.queue.restore(item.id))

    async def walk(self, *, older: bool) -> None:
        """Show an older or newer input; ↑ in an empty composer restores a waiting prompt first."""
        context, composer = self._context, self._context.parts.composer
        if (
            older
            and composer.blank
            and not self._inputs.walking
            and context.tab
            and _may_restore_queued(context.tab)
        ):
            await self.unqueue()
            return
        if not self._inputs.loaded:
            tab, stood = composer.tab, composer.text
            texts = await context.tabs.recent_inputs()
            if not self._inputs.loaded:  # else another ↑ has
                self._inputs.load(texts)
            if composer.tab is not tab or composer.text != stood:
                return  # the person went on writing, and the text is theirs
        if self._walks_in is not composer.tab:
            self._break_off()
            self._walks_in = composer.tab
        text = self._inputs.older(composer.text) if older else self._inputs.newer()
        if text is not None:
            composer.put(text)

    def _break_off(self) -> None:
        """End the walk in its tab, and restore the draft that the walk began at."""
        tab = self._walks_in
        if self._inputs.walking and tab is not None:
            draft, shown = self._inputs.leave()
            if tab.written == shown:
                tab.write(draft)
            elif draft.strip():
                tab.restore(draft)

    def stop_walking(self) -> None:
        """End the walk: the text of the composer has become the draft."""
        self._inputs.stop()

    @hands_over
    async def search_inputs(self) -> None:
        """Let the person choose from the history of inputs."""
        context, composer = self._context, self._context.parts.composer
        texts = await context.tabs.recent_inputs()
        rows = [Row(str(index), text) for index, text in enumerate(dict.fromkeys(texts))]
        chosen = await context.app.push_screen_wait(
            Picker(
                "typed before",
                rows,
                filtered_by=composer.text,
                hint="enter put it into the composer · esc leave",
            )
        )
        if chosen is not None:
            context.handover.replace(next(row.label for row in rows if row.key == chosen))


async def _said(tab: Tab, text: str, files: Sequence[Attachment]) -> None:
    tab.sending += 1
    try:
        await tab.window.say(text, files)
    finally:
        tab.sending -= 1


def _may_restore_queued(tab: Tab) -> bool:
    return bool(tab.queue) and not tab.conversation.read_only


class QueueActions:
    """Actions on the queue of the active tab."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def enter(self) -> None:
        """Give the keys to the queue, or back to the composer."""
        context, listed = self._context, self._context.parts.queue
        if listed.has_focus:
            context.write_here()
        elif context.tab and context.tab.queue:
            listed.enter()
        else:
            context.say("Nothing waits. Enter while the agent works puts a prompt here.")

    async def delete(self, tab: Tab, item: QueueItem) -> None:
        """Delete a waiting prompt."""
        await tab.window.queue.remove(item.id)
        self._context.say("It waits no more. Ctrl+R still finds its text.")

    async def move(self, tab: Tab, item: QueueItem, position: int) -> None:
        """Move a waiting prompt to another place in the queue."""
        await tab.window.queue.move(item.id, position)

    async def send_now(self, tab: Tab, item: QueueItem) -> None:
        """Send a waiting prompt before all others."""
        busy = tab.busy
        if await tab.window.send_now(item.id):
            self._context.say("Said into the running turn.")
        elif busy:
            self._context.say("It goes next, as soon as the turn has ended.")
