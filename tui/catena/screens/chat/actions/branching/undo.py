"""Undo, redo, the reflog, and deleting and archiving conversations."""

from __future__ import annotations

from collections.abc import Awaitable

from catena.screens.chat.actions.branching.files import AlongActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.screens.common.picker import Picker
from catena.settings.agents import titles_of
from catena.text.formats import age
from catena.widgets.row_list import Row
from catena.workspace.keeping import upstream_words
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena.workspace.undo import (
    NOTHING,
    NOTHING_AGAIN,
    JournalLine,
    UndoResult,
    done_again,
    gone_back,
    undone,
    warning,
    what,
)
from catena_store.windows.journal import Act

_IN_EDIT = "Finish or cancel the edit first ({Send} or {Stop})."
_EVERYWHERE = "everywhere"
_DELETE_USAGE = (
    "/delete deletes this conversation here; /delete everywhere also at its agents, which cannot be undone."
)
_UNTOUCHED = "This conversation is empty; /close discards it."


class UndoActions:
    """Actions on the journal of the active tab."""

    def __init__(self, context: ChatContext, tabs: TabActions, along: AlongActions) -> None:
        self._context = context
        self._along = along
        self._tabs = tabs

    def undo(self) -> Awaitable[None]:
        """Undo the newest act in the active tab or on a closed one."""
        return _nothing() if self._in_edit() else self._undo(self._set_out())

    async def _undo(self, way: UnplacedDraft) -> None:
        taken = await self._moving(self._context.tabs.undoing.undo(self._as_it_is()), way)
        self._context.say(await warning(taken) + undone(taken) if taken else NOTHING)

    def redo(self) -> Awaitable[None]:
        """Redo the act that was undone last."""
        return _nothing() if self._in_edit() else self._redo(self._set_out())

    async def _redo(self, way: UnplacedDraft) -> None:
        taken = await self._moving(self._context.tabs.undoing.redo(self._as_it_is()), way)
        self._context.say(await warning(taken) + done_again(taken) if taken else NOTHING_AGAIN)

    async def reflog(self) -> None:
        """List every act of the journal; Enter undoes down to an act, or redoes up to it."""
        context = self._context
        listed = await context.tabs.undoing.acts(context.tab)
        if not listed:
            context.say(NOTHING)
            return
        now = context.clock()
        rows = [
            Row(
                str(done.entry.id),
                what(done),
                note="undone" if done.entry.undone else "",
                detail=f"{done.entry.at.astimezone():%H:%M}",
                time=age(done.entry.at, now),
                dim=done.entry.undone,
            )
            for done in listed
        ]
        chosen = await context.app.push_screen_wait(
            Picker(
                "Undo history",
                rows,
                enter="undo or redo to here",
                subject=context.subject,
            )
        )
        if chosen is not None and not self._in_edit():
            await self._go_to(next(done for done in listed if str(done.entry.id) == chosen))

    async def _go_to(self, done: JournalLine) -> None:
        context = self._context
        going = context.tabs.undoing.go_back_to(self._as_it_is(), done.entry.id)
        taken = await self._moving(going, self._set_out())
        context.say(await warning(taken) + gone_back(taken, done))

    def delete(self, wish: str = "") -> Awaitable[None]:
        """Delete this conversation: lists hide it, the tab closes, and /undo brings it back.

        With `everywhere` its sessions at the agents, too, which nothing brings back.
        """
        if wish not in ("", _EVERYWHERE):
            self._context.say(_DELETE_USAGE, wrong=True)
            return _nothing()
        return self._leave_by(Act.DELETE, "Deleted", upstream=wish == _EVERYWHERE)

    def archive(self) -> Awaitable[None]:
        """Archive this conversation: it moves to the end of the history."""
        return self._leave_by(Act.ARCHIVE, "Archived: now at the end of the history")

    def _leave_by(self, act: Act, said: str, *, upstream: bool = False) -> Awaitable[None]:
        tab = self._context.tab
        if tab is None or self._in_edit() or self._context.drafts.leaves(tab):
            return _nothing()
        return self._archive(tab, act, said, self._set_out(), upstream=upstream)

    async def _archive(self, tab: Tab, act: Act, said: str, way: UnplacedDraft, *, upstream: bool) -> None:
        context = self._context
        with context.drafts.under_way(way):
            if await context.tabs.undoing.nothing_said(tab):
                context.say(_UNTOUCHED)
                return
            self._as_it_is()
            keeping, ids = context.tabs.keeping, [tab.conversation.id]
            if act is Act.DELETE:
                kept = await keeping.delete(ids, by=tab, upstream=upstream)
            else:
                kept = await keeping.archive(ids, by=tab)
            await self._tabs.show_what_is_left(tab, way)
        more = ""
        if kept.upstream is not None:
            more = " " + upstream_words(kept.upstream, self._title_of)
        context.say(f"{said}. /undo to restore it.{more}")

    def _title_of(self, agent: str) -> str:
        return titles_of(self._context.settings)(agent, None) or agent

    def _set_out(self) -> UnplacedDraft:
        return self._context.drafts.set_out(self._context.tab)

    def _in_edit(self) -> bool:
        """True while a prompt is being edited, which must not get lost; says so."""
        editing = self._context.tab is not None and self._context.tab.editing is not None
        if editing:
            self._context.say(self._context.keys.said(_IN_EDIT))
        return editing

    async def _moving(self, taking: Awaitable[UndoResult | None], way: UnplacedDraft) -> UndoResult | None:
        """Await a step and show its tab; events of the tab wait until it has moved.

        ``way`` is what is written meanwhile.
        """
        context, presenter = self._context, self._context.presenter
        with context.drafts.under_way(way):
            before = presenter.moving = context.tab
            try:
                taken = await taking
            finally:
                presenter.moving = None
            if context.tab is before or before not in context.tabs.tabs:
                await self._show(taken, way)
            else:  # the person went to another tab meanwhile, and stays there
                presenter.refresh()
            return taken

    def _as_it_is(self) -> Tab | None:
        """The active tab, with the scroll position of the shown one saved."""
        context = self._context
        if (shown := context.presenter.shown) is not None and shown in context.tabs.tabs:
            shown.scroll = context.parts.transcript.position()
        return context.tab

    async def _show(self, taken: UndoResult | None, way: UnplacedDraft) -> None:
        """Show the tab of the acts; the focus stays."""
        context = self._context
        if taken is None:
            return
        tab = taken.look_at
        if tab is None or tab not in context.tabs.tabs:
            if context.presenter.shown not in context.tabs.tabs:
                await self._tabs.show_what_is_left(context.presenter.shown, way)
            return
        if tab is not context.presenter.shown:
            await self._tabs.show(tab, way)
            return
        await context.presenter.show(tab)
        context.drafts.arrive(way, tab)
        if not tab.conversation.read_only:
            context.run(tab.window.prepare())
            context.run(self._along.find_behind(tab))


async def _nothing() -> None:
    """Do nothing."""
