"""Editing prompts: a prompt is chosen in the transcript and sent again as a sibling."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from catena.mentions.mentions import with_mentions_of
from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.context import ChatContext
from catena.text.formats import joined
from catena.workspace.outgoing import OutgoingText, Stage
from catena.workspace.tab import Editing, Tab
from catena.workspace.tab_branches import NO_PROMPTS
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.routing.slash_commands import draft_of
from catena_store.records import Attachment, Message

_TWICE = 0.5  # seconds within which a second Esc belongs to the first
_LEFT_CHANGED = "Your draft is back. Edit that prompt again to get your changes."
_DRAFT_LEFT = "Your draft stays on the earlier branch; press {previous_version} while browsing to go back."


class EditActions:
    """Actions on the prompts of the active tab."""

    def __init__(self, context: ChatContext, along: AlongActions) -> None:
        self._context = context
        self._along = along
        self._panel = context.parts.fork
        # When it was pressed, and not when its turn came: between two turns the screen may have been busy.
        self.clock: Callable[[], float] = lambda: context.gate.pace.read_at
        self._escaped_at: float | None = None
        self._read_at: int | None = None  # the scroll position before a prompt was to be chosen

    # --- which prompt

    def escaped(self, *, idle: bool) -> None:
        """Note that Esc was pressed; pressed twice while ``idle``, let the person choose a prompt to edit."""
        before, self._escaped_at = self._escaped_at, None
        if not idle:
            return
        now = self.clock()
        if before is not None and now - before <= _TWICE:
            self._context.run(self._choose())
        else:
            self._escaped_at = now

    def typed(self) -> None:
        """Note that another key was pressed: an Esc before it counts alone."""
        self._escaped_at = None

    def _choose(self) -> Awaitable[None]:
        """Let the person choose a prompt to edit in the transcript, whose end is loaded first if need be."""
        transcript = self._context.parts.transcript
        self._read_at = transcript.position()
        if transcript.below:
            return self._choose_at_end()
        self._begin_choosing()
        return _nothing()

    async def _choose_at_end(self) -> None:
        place = self._context.place()
        await self._context.presenter.go_to(None)
        if not self._context.went_on(place):
            self._begin_choosing()

    def _begin_choosing(self) -> None:
        transcript = self._context.parts.transcript
        if transcript.display and transcript.choose_prompt():
            self._context.parts.conversation.browse()
        else:
            self._context.say(NO_PROMPTS)

    def leave_choosing(self) -> None:
        """Leave the choice of a prompt, and scroll back."""
        self._context.write_here()
        self._context.parts.transcript.restore_position(self._read_at)

    async def prompt_at(self, tab: Tab, message_id: str | None) -> Message | None:
        """The prompt at or above a message of a tab; None: the last of its branch."""
        context = self._context
        if message_id is None:
            loaded, below = context.presenter.last_prompt, tab.leaf_id
        else:
            loaded, below = context.parts.transcript.prompt_above(message_id), message_id
        if loaded is not None or below is None:
            return loaded
        return await context.tabs.branches.prompt_of(below)

    def here(self) -> str | None:
        """The browsed message; None while the keys are elsewhere."""
        return self._context.parts.conversation.browsed

    # --- edit

    def edit(self) -> Awaitable[None]:
        """Edit the browsed prompt; while nothing is browsed, let the person choose one."""
        tab, here = self._context.seen, self.here()
        if tab is None:
            return _nothing()
        if here is None:
            return self._choose()
        prompt = self._context.parts.transcript.prompt_above(here)
        return self._edit_at(tab, here) if prompt is None else self.edit_prompt(tab, prompt)

    async def _edit_at(self, tab: Tab, here: str) -> None:
        """Edit the prompt of a message that is not loaded."""
        prompt = await self.prompt_at(tab, here)
        if prompt is None:
            self._context.say(NO_PROMPTS)
        elif tab is self._context.seen:
            await self.edit_prompt(tab, prompt)

    def edit_prompt(self, tab: Tab, prompt: Message) -> Awaitable[None]:
        """Put a prompt into the composer, with its attachments and the price of sending it again behind it."""
        context, transcript = self._context, self._context.parts.transcript
        read_at = self._read_at if transcript.choosing else transcript.position()
        context.write_here()
        left = tab.left_edits.get(prompt.id)
        editing = Editing(
            prompt,
            *((left.text, left.files) if left else (draft_of(prompt), ())),
            read_at,
            along=self._along.along(),
        )
        context.drafts.rewrite(tab, lambda: self._begin(tab, editing))
        files = context.tabs.outgoing.add("", tab, stage=Stage.READING)  # what is sent waits for them
        context.presenter.refresh()
        return self._attach_files(editing, files, left=left is not None)

    def _begin(self, tab: Tab, editing: Editing) -> None:
        tab.leave_edit()
        tab.editing = editing

    async def _attach_files(self, editing: Editing, outgoing: OutgoingText, *, left: bool) -> None:
        """Attach the files of the prompt to its edit, unless it was ``left`` before with those that it has."""
        try:
            editing.prompt_files = tuple(await self._context.tabs.branches.attachments_of(editing.prompt.id))
        finally:
            self._context.tabs.outgoing.remove(outgoing)
        if not left:
            editing.files = (*editing.prompt_files, *editing.files)
        self._context.presenter.refresh()
        self._context.drafts.release()

    def price_anew(self) -> None:
        """Price the edit again if the agent has changed or got ready, or a turn has begun or ended."""
        tab = self._context.tab
        if tab and tab.editing and tab.editing.priced_for != _state(tab):
            tab.editing.priced_for = _state(tab)
            self._context.run(self._price(tab, tab.editing))

    async def _price(self, tab: Tab, editing: Editing) -> None:
        price = await tab.conversation.chain.price(tab.window, leaf_id=editing.prompt.parent_id)
        editing.price, editing.price_in_brief = price.words, price.in_brief
        self._context.presenter.refresh()
        await self._along.look(tab, editing.along, editing.prompt.parent_id)

    def leave_edit(self) -> bool:
        """Leave the edit and restore the draft; False if no prompt is edited."""
        context, tab = self._context, self._context.drafts.tab
        if tab is None or tab.editing is None:
            return False
        context.drafts.write()
        changed, read_at = tab.editing.differs, tab.editing.read_at
        context.drafts.rewrite(tab, tab.leave_edit)
        if tab is context.presenter.shown:
            context.parts.transcript.restore_position(read_at)
        else:
            tab.scroll = read_at
        context.write_here()
        context.presenter.refresh()
        context.run(self.keep(tab))
        if changed:
            context.say(_LEFT_CHANGED)
        return True

    async def keep(self, tab: Tab) -> None:
        """Save the draft, the scroll position and the attachments."""
        await self._context.tabs.keep(tab)
        await self._context.tabs.keep_attachments(tab)

    def submit(self, tab: Tab, text: str) -> None:
        """Send the edited prompt as a sibling; the draft stays on the branch that is left.

        The edit is over for the composer: what is typed from now on is the next prompt's.
        """
        context, editing = self._context, tab.editing
        assert editing is not None
        editing.text = text
        sent = _SentEdit(editing, tab.draft, tab.draft_files)
        context.tabs.outgoing.add(text, tab, back=lambda: sent.edit_on(tab), send=partial(self._send, sent))
        tab.editing, tab.draft, tab.draft_files = None, "", ()
        context.drafts.write()
        context.presenter.refresh()

    async def _send(self, sent: _SentEdit, tab: Tab, outgoing: OutgoingText) -> None:
        context, editing = self._context, sent.editing
        tab.scroll = editing.read_at
        context.presenter.refresh()
        try:
            await context.drafts.store(outgoing, self._say(tab, sent))
        finally:
            context.presenter.refresh()
        tab.left_edits.pop(editing.prompt.id, None)
        tab.scroll = None
        await self.keep(tab)
        if tab is context.presenter.shown:
            context.parts.transcript.follow()
        if sent.draft.strip():
            context.say(context.keys.said(_DRAFT_LEFT))

    async def _say(self, tab: Tab, sent: _SentEdit) -> None:
        editing = sent.editing
        await self._context.tabs.keep_behind(tab, sent.draft, sent.draft_files, editing.read_at)
        files = await with_mentions_of(tab, editing.text, editing.files)
        await tab.window.edit(editing.prompt.id, editing.text, files, choice=editing.along.choice)

    # --- keys

    def back_to(self, here: str | None) -> None:
        """Give the keys back to the browsed message or the composer, unless the person took them elsewhere."""
        if not self._panel.had_keys:
            return
        if here is not None and self._context.parts.transcript.focus_message(here):
            self._context.parts.conversation.browse()
        else:
            self._context.write_here()


@dataclass(slots=True)
class _SentEdit:
    """An edit that has left the composer, and the draft that stays behind."""

    editing: Editing
    draft: str
    draft_files: tuple[Attachment, ...]

    def edit_on(self, tab: Tab) -> None:
        """Edit on, since it was not sent; what was written behind it stays behind it."""
        editing = self.editing
        if tab.editing is not None:  # another prompt by now
            tab.draft = joined(editing.text, self.draft, tab.draft)
            tab.draft_files = (*editing.files, *self.draft_files, *tab.draft_files)
            return
        editing.text = joined(editing.text, tab.draft)
        editing.files = (*editing.files, *tab.draft_files)
        tab.editing, tab.draft, tab.draft_files = editing, self.draft, self.draft_files


async def _nothing() -> None:
    """Do nothing."""


def _state(tab: Tab) -> tuple[str, str, Doing]:
    """The state of a tab that a price depends on: what an agent can do is only assumed until it is ready."""
    return (tab.agent, tab.profile, tab.doing)
