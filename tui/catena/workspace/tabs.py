"""The open tabs of this process: restored, saved, and subscribed to their conversations."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from catena.text.formats import joined, title_of
from catena.transcript.messages.prompt import Siblings
from catena.transcript.widget.viewport import ReadingPosition
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.tab import Tab
from catena.workspace.undo import TabUndo
from catena_acp.agents.process_group import process_start_time
from catena_acp.continuity.conversation_events import ConversationEvent, PromptReturned
from catena_acp.conversation import journal
from catena_acp.conversation.conversations import Conversations
from catena_acp.port import AgentSpec
from catena_store.chains import turns
from catena_store.conversations import branches, conversations, messages
from catena_store.database.database import Database, Reader
from catena_store.errors import NotFound, StoreError, StoreGone
from catena_store.ids import utc_now
from catena_store.records import Attachment, Kind, Message, Summary, WindowRecord, Workspace
from catena_store.windows import attachments, inputs, queue, windows

if TYPE_CHECKING:
    from catena_acp.conversation.inspection.price import Price


T = TypeVar("T")

PAGE = 60
_FOREIGN_SILENCE = timedelta(seconds=60)
_MOST_ROWS = 2_000  # read at once to come back to a place far up
_INPUTS = 500
_STORE_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Rows of a branch, oldest first."""

    rows: list[Message]
    more_above: bool
    siblings: Mapping[str, Siblings]  # of the prompts that have any


class OpenTabs:
    """Every tab of this process, and the active one.

    Events are only collected here; the presenter takes them from ``events`` when ``published`` is set.
    """

    def __init__(
        self,
        db: Database,
        conversations: Conversations,
        *,
        outgoing: OutgoingTexts,
        directory: str,
        new_id: Callable[[], str],
        note: Callable[[bool, str, str], None] = lambda has_tabs, agent, profile: None,
    ) -> None:
        """``note`` is called when the directory is left otherwise than before: with tabs or not, and the last agent."""
        self._note = note
        self._noted: tuple[bool, str, str] | None = None
        self._db = db
        self._conversations = conversations
        self._directory = directory
        self._new_id = new_id
        self._workspace_id: str | None = None
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self.tabs: list[Tab] = []
        self.active: Tab | None = None
        self.events: deque[tuple[Tab, ConversationEvent]] = deque()
        self.published = asyncio.Event()
        # Drafts that could not be saved when they were left.
        self.unsaved_drafts: list[tuple[str, StoreError]] = []
        self.outgoing = outgoing
        self.on_repair = db.on_repair
        self.undoing = TabUndo(self, db, conversations)

    @property
    def directory(self) -> str:
        """The directory of new conversations."""
        return self._directory

    @property
    def read_only(self) -> bool:
        """True if the store may only be read."""
        return self._db.read_only

    @property
    def workspace_is_ours(self) -> bool:
        """False if another Catena has this directory's tabs."""
        return self._workspace_id is not None

    @property
    def workspace_id(self) -> str | None:
        """The workspace of these tabs; None if another Catena has it."""
        return self._workspace_id

    async def restore(self) -> None:
        """Restore this directory's tabs, unless another living Catena has them."""
        owner = self._conversations.owner
        if self._db.read_only:
            await self._restore_to_read()
            return
        async with self._db.write() as tx:
            workspace = await windows.ensure_workspace(tx, self._directory, new_id=self._new_id)
            taken = await windows.take_workspace(tx, workspace.id, owner, is_dead=self._is_abandoned)
            if not taken:
                return
            self._workspace_id = workspace.id
            restored = await windows.of_workspace(tx, workspace.id)
        for window in restored:
            with contextlib.suppress(NotFound):  # one conversation that is gone must not keep the others away
                await self._add(window)
        self.active = next((tab for tab in self.tabs if tab.window_id == workspace.active_window_id), None)
        if self.active is None and self.tabs:
            self.active = self.tabs[0]

    async def _restore_to_read(self) -> None:
        """Restore the tabs from a store that may only be read; nothing of them is saved."""
        async with self._db.read() as reader:
            workspace = await windows.find_workspace(reader, self._directory)
            restored = await windows.of_workspace(reader, workspace.id) if workspace else []
        for window in restored:
            with contextlib.suppress(NotFound):
                await self._add(window)
        active = workspace.active_window_id if workspace else None
        self.active = next((tab for tab in self.tabs if tab.window_id == active), next(iter(self.tabs), None))

    def _is_abandoned(self, workspace: Workspace) -> bool:
        """True if the owner is gone: known for this machine, inferred from a long silence for another."""
        holder = workspace.owner
        if holder is None:
            return True
        if holder.host == self._conversations.owner.host:
            return process_start_time(holder.pid) != holder.started
        return workspace.heartbeat_at is None or utc_now() - workspace.heartbeat_at > _FOREIGN_SILENCE

    async def open_new(self, agent: AgentSpec, *, cwd: str | None = None) -> Tab:
        """A new conversation in a new tab; no agent is started yet."""
        conversation = await self._conversations.create(agent=agent, cwd=cwd or self._directory)
        return await self._open_window(conversation.id, leaf_id=None)

    async def open_conversation(self, conversation_id: str) -> Tab:
        """The tab of a conversation, a new one if it has none. Raises StoreError."""
        for tab in self.tabs:
            if tab.conversation.id == conversation_id:
                return tab
        async with self._db.read() as reader:
            leaf_id = await windows.newest_leaf(reader, conversation_id)
        return await self._open_window(conversation_id, leaf_id=leaf_id)

    async def _open_window(self, conversation_id: str, *, leaf_id: str | None) -> Tab:
        if self._db.read_only:
            return await self._add(WindowRecord(self._new_id(), None, 0, conversation_id, leaf_id, "", None))
        async with self._db.write() as tx:
            window = await windows.open(
                tx,
                id=self._new_id(),
                conversation_id=conversation_id,
                leaf_id=leaf_id,
                workspace_id=self._workspace_id,
            )
        return await self._add(window)

    async def _add(self, window: WindowRecord) -> Tab:
        conversation = await self._conversations.open(window.conversation_id)
        # What a client that is gone had left there is in order only now.
        async with self._db.read() as reader:
            window = await windows.get(reader, window.id) or window
        opened = conversation.window(window.id)
        tab = Tab(
            opened,
            conversation,
            kept=window.workspace_id is not None,
            draft=window.draft,
            scroll=window.scroll,
            leaf_id=window.leaf_id,
            doing=opened.doing,
            session=opened.session,
            asks=opened.asked,
        )
        await self._read_about(tab)
        self._listen(tab)
        self.tabs.append(tab)
        return tab

    async def _read_about(self, tab: Tab) -> None:
        async with self._db.read() as reader:
            tab.queue = tuple(each for each in await queue.items(reader, tab.window_id) if each.waits)
            tab.draft_files = tuple(await attachments.of_draft(reader, tab.window_id))
            first_prompt = await messages.first_prompt(reader, tab.conversation.id)
        tab.title = title_of(first_prompt or "")

    def _listen(self, tab: Tab) -> None:
        def listen(event: ConversationEvent) -> None:
            if event.window_id == tab.window_id:
                self.events.append((tab, event))
                self.published.set()

        self._unsubscribe[tab.window_id] = tab.conversation.subscribe(listen)

    async def reload(self, tab: Tab) -> None:
        """Reload a tab from its stored window: another leaf, or another conversation."""
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
        if window is None:
            return
        left = tab.conversation
        if window.conversation_id != left.id:
            conversation = await self._conversations.open(window.conversation_id)
            self._unsubscribe.pop(tab.window_id)()
            left.leave(tab.window_id)
            for event in [each for each in self.events if each[0] is tab]:
                self.events.remove(event)  # events of the other conversation
            tab.change_conversation(conversation)
            self._listen(tab)
        tab.reload(window)
        await self._read_about(tab)
        if all(other.conversation.id != left.id for other in self.tabs):
            await self._conversations.close(left.id)

    async def reopen(self, window_id: str) -> Tab | None:
        """Reopen the tab of a window at its place among the others."""
        async with self._db.read() as reader:
            window = await windows.get(reader, window_id)
            order = await windows.of_workspace(reader, self._workspace_id) if self._workspace_id else []
        if window is None:
            return None
        tab = await self._add(window)
        places = {each.id: place for place, each in enumerate(order)}
        self.tabs.sort(key=lambda each: places.get(each.window_id, len(places)))
        return tab

    async def fork(
        self, tab: Tab, *, at: str | None, beside: bool, cwd: str | None = None
    ) -> tuple[Tab, Price]:
        """Fork a tab's conversation at a message, or where it stands; the tab that shows the fork, and its price.

        ``cwd`` is the directory of the fork, where it is to be another one.

        Raises AgentError, StoreError: then everything is as it was.
        """
        await self.keep(tab)
        tab.moving += not beside
        try:
            made = await self._conversations.fork(
                tab.conversation, window_id=tab.window_id, at=at, side_by_side=beside, cwd=cwd
            )
            if beside:
                shown = await self.reopen(made.window.id)
                assert shown is not None, "the window was just opened"
                return shown, made.price
            await self.reload(tab)
        finally:
            tab.moving -= not beside
        return tab, made.price

    async def make_active(self, tab: Tab) -> None:
        """Make a tab the active one, and store that."""
        self.active = tab
        tab.look()
        self._note_start(has_tabs=True)
        if self._workspace_id is not None:
            async with self._db.write() as tx:
                await windows.set_active(tx, self._workspace_id, tab.window_id)

    async def close(self, tab: Tab) -> None:
        """Close a tab: what runs in it goes on or is ended by its conversation, and an empty chat leaves no trace."""
        if not self._db.read_only:
            async with self._db.write() as tx:
                await journal.close_window(tx, window_id=tab.window_id)
        await self.detach(tab)

    def beside(self, tab: Tab) -> Tab | None:
        """The tab that takes a tab's place if it is closed; None for the last one."""
        index = self.tabs.index(tab)
        others = [other for other in self.tabs if other is not tab]
        return others[min(index, len(others) - 1)] if others else None

    async def detach(self, tab: Tab) -> None:
        """Detach a tab whose window is closed."""
        beside = self.beside(tab)
        self.tabs.remove(tab)
        self._unsubscribe.pop(tab.window_id)()
        tab.conversation.leave(tab.window_id)
        if all(other.conversation.id != tab.conversation.id for other in self.tabs):
            await self._conversations.close(tab.conversation.id)
        if not tab.conversation.read_only:
            async with self._db.write() as tx:
                await conversations.delete_if_empty(tx, tab.conversation.id)
        if self.active is tab:
            self.active = beside if beside in self.tabs else next(iter(self.tabs), None)

    async def leave(self) -> str | None:
        """Save every tab for the next start, and return the id of the conversation to resume.

        None if there is none, or the store is gone. A draft that the store does not take is in ``unsaved_drafts``
        afterwards.
        """
        await self.outgoing.restore_all(self.tabs)
        for tab, event in self.events:  # published, and not handled by a screen that is gone
            if isinstance(event, PromptReturned):
                tab.restore(event.text, event.attachments)
        come_back, left = None, False
        for tab in list(self.tabs):
            self._unsubscribe.pop(tab.window_id)()
            try:
                gone = await self._keep_at_last(tab)
            except StoreError as error:
                gone = isinstance(error, StoreGone)
                if (unsent := tab.unsent()[0]).strip():
                    self.unsaved_drafts.append((unsent, error))
            left = left or (tab.kept and not gone)
            if not gone and (come_back is None or tab is self.active):
                come_back = tab.conversation.id
        self._note_start(has_tabs=left)
        if self._workspace_id is not None:
            with contextlib.suppress(StoreError):  # the next client sees that this process is gone
                async with self._db.write() as tx:
                    await windows.release_workspace(tx, self._workspace_id, self._conversations.owner.id)
        return come_back

    def _note_start(self, *, has_tabs: bool) -> None:
        """Note what the next start of this directory begins with."""
        if (tab := self.active) is None or not self.workspace_is_ours:
            return
        noted = has_tabs, tab.agent, tab.profile
        if noted != self._noted:
            self._noted = noted
            self._note(*noted)

    async def watch_store(self, tell: Callable[[str], None]) -> None:
        """Tell, within two seconds, that the store's file was deleted or replaced; runs until cancelled."""
        told = False
        while True:
            await asyncio.sleep(_STORE_LOOK_SECONDS)
            if (trouble := self.store_trouble) and not told:
                tell(trouble)
            told = trouble is not None

    @property
    def store_trouble(self) -> str | None:
        """Why nothing can be saved any more, None while the store's file is in its place."""
        try:
            self._db.check_in_place()
        except StoreGone as error:
            return str(error)
        return None

    async def _keep_at_last(self, tab: Tab) -> bool:
        """Save a tab as it is left; True if it left no trace."""
        await self.keep(tab)
        if tab.unsent()[1]:
            await self.keep_attachments(tab)
        async with self._db.write() as tx:
            # A conversation that another client has is not ours to delete.
            ours = not tab.conversation.read_only
            gone = ours and await conversations.delete_if_empty(tx, tab.conversation.id)
            if not gone and not tab.kept:
                await windows.close(tx, tab.window_id)
        return gone

    async def keep(self, tab: Tab) -> None:
        """Save a tab's draft, with what waits to be sent there, and its scroll position.

        Not while another step has the draft in the store: what is to be saved is saved after that.
        """
        if self._in_other_hands(tab) or (self._db.read_only and not tab.draft):
            return
        async with self._db.write() as tx:
            if self._in_other_hands(tab):  # by now
                return
            waiting = [each.text for each in self.outgoing.waiting(tab)]
            await windows.set_draft(tx, tab.window_id, joined(*waiting, tab.unsent()[0]))
            await windows.set_scroll(tx, tab.window_id, tab.scroll)

    def _in_other_hands(self, tab: Tab) -> bool:
        return tab.moving > 0 or self.outgoing.storing(tab)

    async def keep_behind(
        self, tab: Tab, draft: str, files: Sequence[Attachment], scroll: int | None
    ) -> None:
        """Save draft, attachments and scroll position at the leaf that a window is about to leave."""
        async with self._db.write() as tx:
            await windows.set_draft(tx, tab.window_id, draft)
            await windows.set_scroll(tx, tab.window_id, scroll)
            await attachments.set_draft(tx, tab.window_id, files)

    async def keep_attachments(self, tab: Tab) -> None:
        """Save the attachments of a tab's draft as they are when they are written."""
        async with self._db.write() as tx:
            await attachments.set_draft(tx, tab.window_id, tab.unsent()[1])

    async def newest_page(self, tab: Tab) -> HistoryPage:
        """The end of a tab's branch, with enough above it to come back to its place."""
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
            leaf_id = window.leaf_id if window else tab.leaf_id
            depth = await messages.depth(reader, leaf_id) if leaf_id else 0
        above = 0 if tab.scroll is None else max(0, depth - ReadingPosition.unpack(tab.scroll).depth)
        return await self._page(tab, leaf_id, min(_MOST_ROWS, PAGE + above))

    async def page_above(self, tab: Tab, oldest: Message) -> HistoryPage:
        """The rows before the oldest one that is shown."""
        return await self._page(tab, oldest.parent_id, PAGE * 2)

    async def _page(self, tab: Tab, leaf_id: str | None, limit: int) -> HistoryPage:
        async with self._db.read() as reader:
            rows = await messages.page(reader, leaf_id, limit)
            prompts = [row.id for row in rows if row.kind is Kind.USER]
            siblings = await _siblings(reader, tab, prompts)
        return HistoryPage(
            tab.with_published_text(rows), bool(rows) and rows[0].parent_id is not None, siblings
        )

    async def of_branch(self, tab: Tab, read: Callable[[Reader, str | None], Awaitable[T]]) -> T:
        """Read from the branch of a tab, in one snapshot."""
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
            return await read(reader, window.leaf_id if window else tab.leaf_id)

    async def siblings(self, tab: Tab, prompt_id: str) -> Mapping[str, Siblings]:
        """The place of a prompt among its siblings, if it has any."""
        async with self._db.read() as reader:
            return await _siblings(reader, tab, [prompt_id])

    async def branches_above(self, tab: Tab, oldest: Message) -> bool:
        """True if a prompt above the oldest row that is shown has siblings."""
        async with self._db.read() as reader:
            return await branches.fork_above(reader, oldest.parent_id, tab.conversation.id)

    async def attachments_of(self, message_id: str) -> list[Attachment]:
        """The attachments of a prompt."""
        async with self._db.read() as reader:
            return await attachments.of_message(reader, message_id)

    async def lineage_line(self, tab: Tab) -> str:
        """The line on the source and the forks of a tab's conversation; "" if they cannot be read."""
        from catena.text.chain_text import lineage_line

        try:
            lineage = await tab.conversation.branches.lineage()
        except StoreError:
            return ""
        return lineage_line(lineage, tab.conversation.record.created_at)

    async def prior_context(self, turn_id: str) -> str | None:
        """The exact prior context that was sent before a prompt."""
        async with self._db.read() as reader:
            turn = await turns.get(reader, turn_id)
        return turn.prior_context if turn else None

    async def summaries(
        self, before: tuple[int, str] | None, limit: int, *, archived: bool = False
    ) -> list[Summary]:
        """A page of all conversations, newest first; those of the archive come in pages of their own."""
        async with self._db.read() as reader:
            return await conversations.page(reader, limit=limit, before=before, archived=archived)

    async def newest_here(self, limit: int) -> tuple[list[tuple[Summary, Message | None]], int]:
        """The newest conversations of this directory, each with the last row of its branch, and how many there are."""
        async with self._db.read() as reader:
            found = await conversations.page(reader, limit=limit, cwd=self._directory)
            newest = []
            for summary in found:
                leaf_id = await windows.newest_leaf(reader, summary.id)
                newest.append((summary, await messages.get(reader, leaf_id) if leaf_id else None))
            return newest, await conversations.count(reader, cwd=self._directory)

    async def last_used_agent(self) -> tuple[str, str] | None:
        """The agent and profile of this directory's newest conversation, else of the newest anywhere."""
        async with self._db.read() as reader:
            latest = await conversations.latest(reader, cwd=self._directory)
            latest = latest or await conversations.latest(reader)
        return (latest.agent, latest.profile) if latest else None

    async def remember_inputs(self, texts: Sequence[str], cwd: str) -> None:
        """Add texts to the history of inputs."""
        if not self._db.read_only:
            async with self._db.write() as tx:
                for text in texts:
                    await inputs.add(tx, text, cwd)

    async def recent_inputs(self) -> Sequence[str]:
        """What was typed, newest first."""
        async with self._db.read() as reader:
            return [text for _, text in await inputs.recent(reader, _INPUTS)]


async def _siblings(reader: Reader, tab: Tab, prompt_ids: Sequence[str]) -> Mapping[str, Siblings]:
    conversation = tab.conversation
    positions = await branches.sibling_positions(reader, prompt_ids, conversation.id)
    agents = await branches.agents_told_apart(reader, list(positions), conversation.id) if positions else {}
    titles = {id: conversation.tree.title_of(*agent) for id, agent in agents.items()}
    return {id: Siblings(*place, titles.get(id, "")) for id, place in positions.items()}
