"""Prompts: sending, queueing, stopping, answering, the price of the next one, and the history of inputs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from catena.mentions.mentions import with_mentions_of
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.widgets.row_list import Row
from catena.workspace.next_price import is_priced, read_next_price
from catena.workspace.outgoing import DraftPlace, OutgoingText, Stage
from catena.workspace.questions.permission_words import saved_words
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import ElicitationOpened, PermissionOpened, Question
from catena_acp.errors import AgentError, QuestionChanged, ReadOnly
from catena_acp.permissions.rule import Rule
from catena_acp.port.elicitation.requests import ElicitationAnswer
from catena_acp.port.session_events import PermissionOption
from catena_store.errors import StoreError
from catena_store.records import Attachment


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
        """Take over the stored inputs, below those of this walk that the store may not have yet."""
        self._older += [text for text in newest_first if text not in self._older]
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
        """End the walk, and return the input that is shown and the draft that it is shown instead of."""
        shown, self._at = self._older[self._at], -1
        return shown, self._draft

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


class PromptActions:
    """Actions on the prompts of the active tab."""

    def __init__(self, context: ChatContext, act: Callable[..., Awaitable[None]]) -> None:
        """``act`` does an act by its name."""
        self._context = context
        self._act = act
        self._inputs = InputHistory()
        self._walks_in: DraftPlace | None = None
        self._cleared_in: DraftPlace | None = None  # where ↑ brings a cleared draft back first

    def detach(self) -> None:
        """End the walk through earlier inputs, and keep what is typed into questions: the screen is left."""
        if self._inputs.walking and self._walks_in is not None:
            self._context.drafts.replace(self._walks_in, *self._inputs.leave())
        permission, outgoing = self._context.parts.permission, self._context.tabs.outgoing
        if permission.ask is not None and permission.reason and (tab := self.asks(permission.ask)):
            outgoing.add(permission.reason, tab)
        for tab in self._context.tabs.tabs:
            if text := tab.unsent_forms():
                outgoing.add(text, tab)
            tab.forms.clear()

    @property
    def cleared_here(self) -> bool:
        """True where ↑ brings a cleared draft back first."""
        return self._cleared_in is self._context.drafts.place

    async def send(
        self,
        tab: Tab,
        text: str,
        *,
        is_draft: bool = True,
        outgoing: OutgoingText | None = None,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Send a prompt, or queue it while a turn runs; if neither works, restore the text.

        ``is_draft``: its attachments are sent with it. ``outgoing`` is the text where it has left the composer before.
        It is sent as soon as it is ``ready``.
        """
        context = self._context
        self._inputs.add(text)
        files: tuple[Attachment, ...] = ()
        if is_draft:
            files, tab.draft_files = tab.draft_files, ()
        outgoing = outgoing or context.tabs.outgoing.add(text, tab)
        outgoing.back = lambda: tab.restore(text, files)
        if tab is context.presenter.shown:  # at once: a person who scrolls up meanwhile reads on there
            context.parts.transcript.follow()
        await context.drafts.store(outgoing, _say(tab, text, files, ready))
        if tab.draft.strip():  # typed meanwhile, and taken out of the store with what was sent
            await context.tabs.keep(tab)
        if tab.unsent()[1]:
            await context.tabs.keep_attachments(tab)

    async def go_on(self) -> None:
        """Go on without an opening that takes long, or send the prompts that an error held back."""
        tab = self._context.seen
        if tab is None or tab is not self._context.drafts.tab:
            return
        if tab.window.leave_opening() or not tab.queue:
            return
        if not tab.busy or any(item.held for item in tab.queue):
            await tab.window.send_queued()

    def answer(
        self, ask: PermissionOpened, option: PermissionOption, reason: str, *, rule: Rule | None = None
    ) -> Awaitable[None]:
        """Answer a permission request in its tab; a reason is the next prompt there, and a rule is kept."""
        tab, outgoing = self.asks(ask), None
        if reason and tab is not None:
            outgoing = self._context.tabs.outgoing.add(reason, tab, stage=Stage.HELD)
        return self._answer(tab, ask, option, outgoing, rule)

    async def answer_elicitation(self, ask: ElicitationOpened, answer: ElicitationAnswer) -> None:
        """Answer a form or a web page in its tab."""
        if tab := self.asks(ask):
            await tab.conversation.answer_elicitation(ask.ask_id, answer)

    def asks(self, ask: Question) -> Tab | None:
        """The tab that a question belongs to."""
        tabs = self._context.tabs
        return next((tab for tab in tabs.tabs if tab.window_id == ask.window_id), self._context.tab)

    async def _answer(
        self,
        tab: Tab | None,
        ask: PermissionOpened,
        option: PermissionOption,
        reason: OutgoingText | None,
        rule: Rule | None,
    ) -> None:
        if tab:
            try:
                if tab.asks_otherwise(ask):
                    raise QuestionChanged
                if rule is not None:
                    await tab.conversation.rules.add(rule)
                await tab.conversation.answer(ask.ask_id, option.id, ask.tool_call)
                if rule is not None:
                    await self._apply_rules()
            except (AgentError, StoreError, ReadOnly):
                if reason:
                    self._context.drafts.restore_outgoing(reason)
                raise
            if reason:
                await self.send(tab, reason.text, is_draft=False, outgoing=reason)

    async def apply_rules(self) -> int:
        """Let rules answer what is open already, but not what a reason is being typed for; return how many it was."""
        return await self._context.tabs.apply_rules(lambda: self._context.panes.reasoned)

    async def _apply_rules(self) -> None:
        """Let a new rule answer what is open already, and say so."""
        context = self._context
        answered = await self.apply_rules()
        context.say(saved_words(answered))

    async def walk(self, *, older: bool) -> None:
        """Show an older or newer input; ↑ in an empty composer restores a waiting prompt first."""
        context, composer = self._context, self._context.parts.composer
        if (
            older
            and composer.blank
            and not self._inputs.walking
            and not self.cleared_here
            and context.tab
            and context.tab.queue
            and not context.tab.conversation.read_only
        ):
            await self._act("catena.acts.prompts:unqueue")
            return
        if not self._inputs.loaded:
            place, stood = context.drafts.place, composer.text
            texts = await context.tabs.recent_inputs()
            if not self._inputs.loaded:  # else another ↑ has
                self._inputs.load(texts)
            if context.drafts.place is not place or composer.text != stood:
                return  # the person went on writing, and the text is theirs
        self._end_walk_elsewhere()
        text = self._inputs.older(composer.text) if older else self._inputs.newer()
        if text is not None:
            composer.put(text)

    def _end_walk_elsewhere(self) -> None:
        """Put the draft back that an earlier input is shown instead of, if that is not the one that is written now."""
        place = self._context.drafts.place
        if self._walks_in is not place:
            if self._inputs.walking and self._walks_in is not None:
                self._context.drafts.replace(self._walks_in, *self._inputs.leave())
            self._walks_in = place

    def stop_walking(self) -> None:
        """End the walk: the text of the composer has become the draft."""
        self._inputs.stop()
        self._cleared_in = None

    def cleared(self, text: str) -> Awaitable[None]:
        """Remember a text that was cleared, and the draft that it was shown instead of: ↑ brings them back."""
        context = self._context
        self._end_walk_elsewhere()
        draft = self._inputs.leave()[1] if self._inputs.walking else ""
        texts = [each for each in (draft, text) if each.strip()]
        for each in texts:
            self._inputs.add(each)
        self._cleared_in = context.drafts.place
        tab = context.drafts.tab
        return context.tabs.remember_inputs(
            texts, tab.conversation.record.cwd if tab else context.tabs.directory
        )

    async def remember(self, text: str) -> None:
        """Add a text that is not a prompt to the history of inputs."""
        self._inputs.add(text)
        tab, tabs = self._context.drafts.tab, self._context.tabs
        await tabs.remember_inputs([text], tab.conversation.record.cwd if tab else tabs.directory)

    async def search_inputs(self, words: str = "") -> None:
        """Let the person choose from the history of inputs: by the words, else by what stands in the composer."""
        context = self._context
        context.drafts.begin_typing()
        draft, stood, place = context.drafts.place, context.parts.composer.text, context.place()
        texts = await context.tabs.recent_inputs()
        if context.went_on(place):
            return
        rows = [Row(str(index), text) for index, text in enumerate(dict.fromkeys(texts))]
        chosen = await context.app.push_screen_wait(
            Picker(
                "Prompt history",
                rows,
                filtered_by=words or stood,
                enter="insert",
            )
        )
        if chosen is not None:
            context.drafts.replace(draft, stood, next(row.label for row in rows if row.key == chosen))


async def _say(
    tab: Tab, text: str, files: tuple[Attachment, ...], ready: Callable[[], Awaitable[None]] | None = None
) -> None:
    if ready is not None:
        await ready()
    await tab.window.say(text, await with_mentions_of(tab, text, files))


_AFTER = 0.1  # seconds: what was opened is on the screen by then, and what comes at once is read together


class NextPriceActions:
    """Reads the price of the next prompt of the tab on the screen."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._reading = False

    def renew(self) -> None:
        """Read the price anew if anything that it depends on has changed."""
        tab = self._context.seen
        if tab is not None and not self._reading and not is_priced(tab):
            self._reading = True
            self._context.run(self._read(tab))

    async def _read(self, tab: Tab) -> None:
        try:
            await asyncio.sleep(_AFTER)
            await read_next_price(tab)
        finally:
            self._reading = False
        self._context.presenter.refresh()
