"""Keeping house from a list or a tab: acts on any number of conversations, their tabs, and undo and redo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, assert_never

from catena.text.formats import program_of
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena.workspace.files_along import moved_words
from catena_acp.errors import AgentMissing, ReadOnly
from catena_store.conversations import conversations, messages
from catena_store.conversations.conversations import marks
from catena_store.database.database import Database, Reader
from catena_store.keeping.sizes import Size, sizes
from catena_store.windows import windows
from catena_store.windows.journal import Act, JournalEntry

if TYPE_CHECKING:
    from catena.workspace.tab import Tab
    from catena_acp.conversation.conversations.conversations import Conversations
    from catena_acp.conversation.conversations.keeping import Keeping, Kept
    from catena_acp.conversation.conversations.undo import Scope, UndoStep
    from catena_acp.conversation.conversations.upstream import UpstreamDeletion
    from catena_acp.snapshots.restoring import FilesMoved


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One entry of the journal, with the name of its conversation."""

    entry: JournalEntry
    name: str


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The acts that were undone or redone, and the act that is next."""

    acts: tuple[JournalLine, ...]
    next: JournalLine | None
    look_at: Tab | None  # the tab to show afterwards
    files: FilesMoved | None = None  # those that were restored with the last of the acts


NOTHING_TO_UNDO = "Nothing to undo."
NOTHING_TO_REDO = "Nothing to redo."
NOT_AGAIN = (
    "Cannot redo: something else has changed since. What you undid is still in the history and the tree."
)
_TAKEN_ALONG = "Your next prompt includes messages from before you logged out. "


class MovableTabs(Protocol):
    """The open tabs, as far as undoing moves them."""

    @property
    def tabs(self) -> Sequence[Tab]:
        """Every tab of this process."""

    @property
    def workspace_id(self) -> str | None:
        """The workspace of these tabs; None if another Catena has it."""

    async def keep(self, tab: Tab) -> None:
        """Save a tab's draft and scroll position."""

    async def reload(self, tab: Tab) -> None:
        """Reload a tab from its stored window."""

    async def reopen(self, window_id: str) -> Tab | None:
        """Reopen the tab of a window."""

    async def detach(self, tab: Tab) -> None:
        """Remove the tab of a closed window from the screen."""


class TabUndo:
    """Undoes and redoes acts for the tabs of this process."""

    def __init__(self, tabs: MovableTabs, db: Database, conversations: Conversations) -> None:
        self._tabs = tabs
        self._db = db
        self._conversations = conversations

    @property
    def opened(self) -> frozenset[str]:
        """The conversations that have a tab."""
        return frozenset(tab.conversation.id for tab in self._tabs.tabs)

    async def undo(self, tab: Tab | None) -> UndoResult | None:
        """Undo the newest act of a tab, or on a closed one. Raises AgentError, ReadOnly, StoreError."""
        return await self._step(tab, back=True)

    async def redo(self, tab: Tab | None) -> UndoResult | None:
        """Redo the act that was undone last."""
        return await self._step(tab, back=False)

    async def go_back_to(self, tab: Tab | None, entry_id: int) -> UndoResult | None:
        """Undo everything down to an act, or redo everything up to it; stop at the first act that cannot be."""
        listed = [done.entry for done in await self.acts(tab)]
        wanted = next((entry for entry in listed if entry.id == entry_id), None)
        if wanted is None:
            return None
        taken: UndoResult | None = None
        look_at = tab
        while True:
            step = await self._step(look_at if look_at in self._tabs.tabs else None, back=not wanted.undone)
            if step is None:
                return taken
            acts = (*taken.acts, *step.acts) if taken else step.acts
            look_at = step.look_at or look_at
            taken = UndoResult(acts, step.next, look_at, step.files)
            reached = step.acts[-1].entry.id
            if (reached <= wanted.id) if not wanted.undone else (reached >= wanted.id):
                return taken

    async def acts(self, tab: Tab | None) -> list[JournalLine]:
        """The acts done in a tab and on closed ones, newest first."""
        from catena_acp.conversation.conversations.undo import ConversationUndo

        entries = await ConversationUndo(self._db, self._conversations).entries(self._scope(tab))
        async with self._db.read() as reader:
            return [await _named(reader, entry) for entry in entries]

    async def nothing_said(self, tab: Tab) -> bool:
        """True if a tab's conversation has no prompt of its own: closed, it leaves no trace."""
        async with self._db.read() as reader:
            return await messages.first_prompt(reader, tab.conversation.id) is None

    def _scope(self, tab: Tab | None) -> Scope:
        from catena_acp.conversation.conversations.undo import Scope

        return Scope(tab.window_id if tab else None, self._tabs.workspace_id)

    async def _step(self, tab: Tab | None, *, back: bool) -> UndoResult | None:
        from catena_acp.conversation.conversations.undo import ConversationUndo

        undo, scope = ConversationUndo(self._db, self._conversations), self._scope(tab)
        if tab is not None:
            await self._tabs.keep(tab)
            tab.moving += 1  # the draft belongs to the leaf before the step
        try:
            step = await (undo.undo(scope) if back else undo.redo(scope))
            if step is None:
                return None
            look_at = await self._bring_along(step)
        finally:
            if tab is not None:
                tab.moving -= 1
        async with self._db.read() as reader:
            done = await _named(reader, step.entry)
            coming = await _named(reader, step.next) if step.next else None
        return UndoResult((done,), coming, look_at, step.files)

    async def _bring_along(self, step: UndoStep) -> Tab | None:
        """Move, open and close the tabs of a step; return the tab that the step was about, if it is open."""
        tabs = {tab.window_id: tab for tab in self._tabs.tabs}
        look_at = tabs.get(step.entry.window_id or "")
        if step.moved in tabs:
            await self._tabs.reload(tabs[step.moved])
        for window_id in step.closed:
            if window_id in tabs:
                await self._tabs.detach(tabs[window_id])
                look_at = None
        for window_id in step.opened:
            look_at = await self._tabs.reopen(window_id) or look_at
        return look_at


async def _named(r: Reader, entry: JournalEntry) -> JournalLine:
    record = await conversations.get(r, entry.conversation_id)
    first_prompt = await messages.first_prompt(r, entry.conversation_id)
    return JournalLine(entry, conversation_name(record.title if record else None, first_prompt))


def act_words(done: JournalLine) -> str:
    """The name of an act, as part of a sentence."""
    name, after = f"“{safe_line(done.name)}”", done.entry.after
    if of_each := done.entry.after.get("conversations"):
        after = next(iter(of_each.values()))
        name = name if len(of_each) == 1 else f"{len(of_each)} conversations"
    match done.entry.act:
        case Act.EDIT:
            return "the edit"
        case Act.RETRY:
            return "the retry"
        case Act.FORK:
            return "the fork"
        case Act.REWIND:
            return "the rewind"
        case Act.SIBLING:
            return "switching branches"
        case Act.GO_TO:
            return "the jump to another branch"
        case Act.FILES:
            only = after.get("files", {}).get("only", ())
            return f"restoring {safe_line(only[0])}" if len(only) == 1 else "restoring files"
        case Act.CLEAR:
            return "clearing the context"
        case Act.PICK:
            return "continuing from an older session"
        case Act.AGENT:
            return f"the change to {_agent(after)}"
        case Act.DIRECTORY:
            return f"the change to {safe_line(str(after.get('cwd', '')))}"
        case Act.RENAME:
            title = after.get("title")
            return f"the title “{safe_line(str(title))}”" if title else "removing the title"
        case Act.DELETE:
            return f"deleting {name}"
        case Act.ARCHIVE:
            return f"archiving {name}" if after.get("archived") else f"unarchiving {name}"
        case Act.PIN:
            return f"pinning {name}" if after.get("pinned") else f"unpinning {name}"
        case Act.CLOSE:
            closed = len(done.entry.before.get("windows", ()))
            return f"closing {closed} tabs" if closed > 1 else f"closing the tab {name}"
        case act:
            assert_never(act)


def undone(taken: UndoResult) -> str:
    """Text on what was undone, and what one more `/undo` would undo."""
    coming = f"/undo again for: {act_words(taken.next)}." if taken.next else "Nothing more to undo."
    return f"Undone: {_acts(taken)}. {_files(taken)}{coming} /undo redo to redo."


def done_again(taken: UndoResult) -> str:
    """Text on what was redone, and what one more `/redo` would redo."""
    coming = f"/undo redo again for: {act_words(taken.next)}." if taken.next else ""
    return f"Redone: {_acts(taken)}. {_files(taken)}{coming}".rstrip()


async def logout_warning(taken: UndoResult) -> str:
    """Say if the branch has messages from before a logout, which the next prompt would send on; "" if not."""
    tab = taken.look_at
    if tab is None or tab.conversation.read_only:
        return ""
    try:
        price = await tab.conversation.chain.price(tab.window)
    except (AgentMissing, ReadOnly):
        return ""
    return _TAKEN_ALONG if price.before_logout else ""


def _files(taken: UndoResult) -> str:
    words = moved_words(taken.files)
    return f"{words} " if words else ""


def _acts(taken: UndoResult) -> str:
    last = act_words(taken.acts[-1])
    more = len(taken.acts) - 1
    return f"{last} and {more} more after it" if more else last


def _agent(values: Any) -> str:
    name = program_of(str(values.get("agent", "")))
    profile = values.get("profile")
    return safe_line(f"{name} ({profile})" if profile else name)


_MEASURE_SECONDS = 2.0  # after which the size of snapshots is not told


class TabKeeping:
    """Renames, pins, archives and deletes conversations, open here or not.

    Each act raises NotFound, StillAtWork, ReadOnly in words on who holds one of them, StoreError: then nothing is
    changed. ``by`` is the tab that it can be undone in; without one, `/undo` of any tab takes it back.
    """

    def __init__(self, tabs: MovableTabs, db: Database, conversations: Conversations) -> None:
        self._tabs = tabs
        self._db = db
        self._conversations = conversations

    async def rename(self, conversation_id: str, title: str | None, *, by: Tab | None = None) -> Kept:
        """Name a conversation, or take its name away."""
        return await self._keeping.rename(conversation_id, title, scope=self._scope(by))

    async def pin(self, ids: Sequence[str], *, pinned: bool = True, by: Tab | None = None) -> Kept:
        """Pin conversations, or unpin them."""
        return await self._keeping.pin(ids, pinned=pinned, scope=self._scope(by))

    async def toggle_pin(self, conversation_id: str, *, by: Tab | None = None) -> bool:
        """Pin a conversation, or unpin a pinned one; True if it is pinned now."""
        async with self._db.read() as reader:
            pinned = not (await marks(reader, conversation_id)).pinned
        await self.pin([conversation_id], pinned=pinned, by=by)
        return pinned

    async def archive(self, ids: Sequence[str], *, archived: bool = True, by: Tab | None = None) -> Kept:
        """Archive conversations, whose tabs are closed, or restore them."""
        closing = await self._closing(ids) if archived else {}
        kept = await self._keeping.archive(ids, archived=archived, scope=self._scope(by), closing=closing)
        await self._detach(kept)
        return kept

    async def delete(self, ids: Sequence[str], *, upstream: bool = False, by: Tab | None = None) -> Kept:
        """Delete conversations, whose tabs are closed; the file keeps them until they are pruned.

        ``upstream``: their sessions at the agents, too, where these offer that. No undo brings those back.
        """
        closing = await self._closing(ids)
        kept = await self._keeping.delete(ids, scope=self._scope(by), closing=closing)
        await self._detach(kept)
        return await self._keeping.delete_upstream(kept) if upstream else kept

    async def is_deleted(self, id: str) -> bool:
        """True of a conversation that was deleted and not pruned yet. Raises NotFound."""
        async with self._db.read() as reader:
            return (await marks(reader, id)).deleted

    async def sizes(self, ids: Sequence[str]) -> dict[str, Size]:
        """What conversations take; every row of them is read, so ask for those that are on the screen."""
        async with self._db.read_concurrently() as reader:
            return await sizes(reader, ids)

    async def snapshot_bytes(self, ids: Sequence[str]) -> int:
        """The bytes of file snapshots that only these conversations need; pruning them frees that room."""
        from catena_store.snapshots import turns  # neither is needed for the first frame
        from catena_store.snapshots.tidying import measure_roots

        async with self._db.read_concurrently() as reader:
            roots, kept = await turns.roots_of(reader, ids), await turns.trees(reader, without=ids)
        return await asyncio.to_thread(measure_roots, self._db.path, roots, kept, seconds=_MEASURE_SECONDS)

    async def _closing(self, ids: Sequence[str]) -> dict[str, list[str]]:
        closing: dict[str, list[str]] = {}
        for tab in list(self._tabs.tabs):
            if tab.conversation.id in ids:
                await self._tabs.keep(tab)
                closing.setdefault(tab.conversation.id, []).append(tab.window_id)
        if not self._tabs.tabs and self._tabs.workspace_id:  # those that the next start would restore
            async with self._db.read() as reader:
                for window in await windows.of_workspace(reader, self._tabs.workspace_id):
                    if window.conversation_id in ids:
                        closing.setdefault(window.conversation_id, []).append(window.id)
        return closing

    async def _detach(self, kept: Kept) -> None:
        for tab in [tab for tab in self._tabs.tabs if tab.window_id in kept.closed]:
            await self._tabs.detach(tab)

    @property
    def _keeping(self) -> Keeping:
        from catena_acp.conversation.conversations.keeping import Keeping

        return Keeping(self._db, self._conversations)

    def _scope(self, tab: Tab | None) -> Scope:
        from catena_acp.conversation.conversations.undo import Scope

        return Scope(tab.window_id if tab else None, self._tabs.workspace_id)


def upstream_words(done: UpstreamDeletion, title_of: Callable[[str], str]) -> str:
    """Text on what was deleted at the agents, and what was not; ``title_of`` gives the title of a stored agent."""
    words = []
    for agent, count in done.deleted.items():
        sessions = "1 session" if count == 1 else f"{count} sessions"
        words.append(f"{sessions} deleted at {safe_line(title_of(agent))}, which cannot be undone.")
    words += [f"Not deleted at {safe_line(title_of(agent))}: {why}" for agent, why in done.refused.items()]
    return " ".join(words) or "No agent has a session for it."
