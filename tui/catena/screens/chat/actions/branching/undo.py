"""Deleting and archiving conversations."""

from __future__ import annotations

from collections.abc import Awaitable

from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.settings.agents import titles_of
from catena.workspace.keeping import upstream_words
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena_store.windows.journal import Act

_IN_EDIT = "Finish or cancel the edit first ({Send} or {Stop})."
_EVERYWHERE = "everywhere"
_DELETE_USAGE = (
    "/delete deletes this conversation here; /delete everywhere also at its agents, which cannot be undone."
)
_UNTOUCHED = "This conversation is empty; /close discards it."


class UndoActions:
    """Actions that put the conversation of the active tab away."""

    def __init__(self, context: ChatContext, tabs: TabActions) -> None:
        self._context = context
        self._tabs = tabs

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
            if tab is context.presenter.shown:
                tab.scroll = context.parts.transcript.position()
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


async def _nothing() -> None:
    """Do nothing."""
