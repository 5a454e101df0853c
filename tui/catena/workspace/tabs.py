"""The open tabs of this process: restored, saved, and subscribed to their conversations."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from catena.text import chain_text
from catena.text.formats import joined
from catena.workspace.directories import MovedDirectory, moved_directories
from catena.workspace.keeping import TabKeeping, TabUndo
from catena.workspace.outgoing import OutgoingTexts
from catena.workspace.panes import Pane, Panes, TabEvents
from catena.workspace.tab import Tab, TurnsElsewhere
from catena.workspace.tab_branches import TabBranches
from catena_acp.continuity.conversation_events import ConversationEvent, PromptReturned
from catena_acp.continuity.wording.problems import CutBy
from catena_acp.conversation import journal
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentSpec
from catena_acp.process_group import is_running
from catena_acp.tasks import TaskSet, with_retries
from catena_store import places
from catena_store.chains import environments, turns
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.errors import NotFound, StoreError, StoreGone
from catena_store.finding import history
from catena_store.ids import utc_now
from catena_store.records import Attachment, Message, Summary, WindowRecord, Workspace
from catena_store.windows import attachments, inputs, queue, windows

if TYPE_CHECKING:
    from catena_acp.conversation.adoption.sessions import ForeignSessions
    from catena_acp.conversation.inspection.price import Price
    from catena_store.conversations.tree import Lineage


READ_ONLY = "The database is read-only: you can read but not send."
_INPUTS = 500
_STORE_LOOK_SECONDS = 2.0
T = TypeVar("T")


class OpenTabs:
    """Every tab of this process, and the panes that show some of them.

    Events are only collected here; the presenter of a pane takes them from ``events`` when they are published there.
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
        inputs_kept: int = 1_000,
        workspace_id: str | None = None,
    ) -> None:
        """``note`` is called when the directory is left otherwise than before: with tabs or not, and the last agent.

        ``inputs_kept`` of the texts that were typed stay in the prompt history. ``workspace_id`` is for acts that are
        undone in a workspace whose tabs are not restored.
        """
        self._note = note
        self._inputs_kept = inputs_kept
        self._noted: tuple[bool, str, str] | None = None
        self._db = db
        self._conversations = conversations
        self._directory = directory
        self._new_id = new_id
        self._workspace_id = workspace_id
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self.tabs: list[Tab] = []
        self.panes = Panes()
        self.side_by_side: tuple[Tab, ...] = ()  # at the last start, from the left, until they are so again
        self._stored_panes: tuple[str, ...] = ()
        self.events = TabEvents(self.panes)
        # Drafts that could not be saved when they were left.
        self.unsaved_drafts: list[tuple[str, StoreError]] = []
        self.outgoing = outgoing
        self.tell_by = db.tell_by
        conversations.in_sight = self._in_sight
        self.branches = TabBranches(db)
        self.undoing = TabUndo(self, db, conversations)
        self._storing = TaskSet()
        self.keeping = TabKeeping(self, db, conversations)

    def _in_sight(self) -> list[str]:
        return [pane.tab.window_id for pane in self.panes.open if pane.tab is not None and pane.in_sight]

    @property
    def active(self) -> Tab | None:
        """The tab of the pane that has the keys."""
        return self.panes.focused.tab

    @property
    def directory(self) -> str:
        """The directory of new conversations."""
        return self._directory

    @property
    def unsaved_answers(self) -> list[tuple[str, StoreError]]:
        """What agents said and the store did not take, and why; complete when the conversations are closed."""
        return self._conversations.unsaved_answers

    @property
    def store(self) -> Database:
        """The store that the tabs are of."""
        return self._db

    @property
    def foreign(self) -> ForeignSessions:
        """The sessions of other tools."""
        return self._conversations.foreign

    @property
    def host(self) -> str:
        """The machine that this client runs on, as leases name it."""
        return self._conversations.owner.host

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

    async def restore(self, *, waits: bool = False) -> None:
        """Restore this directory's tabs, unless another living Catena has them.

        With ``waits`` it goes on as soon as the process lets it that keeps the store busy, however long that takes.
        """
        if self._db.read_only:
            await self._restore_to_read()
            return
        taken = await (
            with_retries(self._take_workspace, waits=lambda: True) if waits else self._take_workspace()
        )
        if taken is None:
            return
        workspace, restored = taken
        for window in restored:
            with contextlib.suppress(NotFound):  # one conversation that is gone must not keep the others away
                await self._add(window)
        self._restore_panes(workspace, restored)

    async def _take_workspace(self) -> tuple[Workspace, list[WindowRecord]] | None:
        """Take the directory with its windows; None if another living Catena has it."""
        owner = self._conversations.owner
        async with self._db.write() as tx:
            await inputs.keep_newest(tx, self._inputs_kept)
            workspace = await windows.ensure_workspace(tx, self._directory, new_id=self._new_id)
            if not await windows.take_workspace(tx, workspace.id, owner, is_dead=self._is_abandoned):
                return None
            restored = await windows.of_workspace(tx, workspace.id)
        self._workspace_id = workspace.id
        return workspace, restored

    async def _restore_to_read(self) -> None:
        """Restore the tabs from a store that may only be read; nothing of them is saved."""
        async with self._db.read() as reader:
            workspace = await windows.find_workspace(reader, self._directory)
            restored = await windows.of_workspace(reader, workspace.id) if workspace else []
        for window in restored:
            with contextlib.suppress(NotFound):
                await self._add(window)
        self._restore_panes(workspace, restored)

    def _restore_panes(self, workspace: Workspace | None, restored: Sequence[WindowRecord]) -> None:
        active = workspace.active_window_id if workspace else None
        first = next(iter(self.tabs), None)
        self.panes.focused.tab = next((tab for tab in self.tabs if tab.window_id == active), first)
        places = {window.id: window.pane for window in restored if window.pane is not None}
        beside = [tab for tab in self.tabs if tab.window_id in places]
        self.side_by_side = tuple(sorted(beside, key=lambda tab: places[tab.window_id]))
        self._stored_panes = tuple(tab.window_id for tab in self.side_by_side)

    def _is_abandoned(self, workspace: Workspace) -> bool:
        """True if the owner is gone: known for this machine, inferred from a long silence for another."""
        holder = workspace.owner
        return holder is None or not is_running(holder, workspace.heartbeat_at, utc_now())

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
            leaf_id = await places.of(reader, conversation_id)
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
        opened = conversation.window(window.id)
        # What a client that is gone had left there is in order only now.
        if opened.at_rest:
            await conversation.logins.begin_anew(opened)
        later = await opened.follow_place()
        async with self._db.read() as reader:
            window = await windows.get(reader, window.id) or window
        self._know_pieces(window)
        tab = Tab(
            opened,
            conversation,
            kept=window.workspace_id is not None,
            draft=window.draft,
            scroll=window.scroll,
            leaf_id=window.leaf_id,
            doing=opened.doing,
            retried=opened.retried,
            session=opened.session,
            asks=opened.asked,
        )
        if later is not None and later.turns and window.leaf_id == later.place:
            tab.unread, tab.added = True, later.turns
        await self._read_about(tab)
        self._listen(tab)
        tab.among = self.tabs
        self.tabs.append(tab)
        return tab

    def _know_pieces(self, window: WindowRecord) -> None:
        for piece in window.pieces:
            self.outgoing.pastes.add(piece)

    async def _read_about(self, tab: Tab) -> None:
        async with self._db.read() as reader:
            tab.queue = tuple(each for each in await queue.items(reader, tab.window_id) if each.waits)
            tab.draft_files = tuple(await attachments.of_draft(reader, tab.window_id))
            first_prompt = await messages.first_prompt(reader, tab.conversation.id)
        await tab.conversation.read_costs()
        later = await tab.conversation.turns_elsewhere(tab.window_id, tab.leaf_id)
        tab.elsewhere = TurnsElsewhere(later) if later else None
        tab.first_prompt = first_prompt or ""
        tab.source = "" if first_prompt else await self._source_of(tab)

    async def _source_of(self, tab: Tab) -> str:
        """The name of the conversation that a tab's was forked from; "" if it was not, or if that cannot be read."""
        if tab.conversation.record.fork_point_id is None:
            return ""
        lineage = await self._lineage(tab)
        return chain_text.kin_name(lineage.source) if lineage and lineage.source else ""

    async def _lineage(self, tab: Tab) -> Lineage | None:
        with contextlib.suppress(StoreError):  # a tab opens without it
            return await tab.conversation.branches.lineage()
        return None

    def _listen(self, tab: Tab) -> None:
        def listen(event: ConversationEvent) -> None:
            if event.window_id == tab.window_id:
                self.events.publish(tab, event)

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
            self.events.forget(tab)
            tab.change_conversation(conversation)
            self._listen(tab)
        self._know_pieces(window)
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
        self,
        tab: Tab,
        *,
        at: str | None,
        beside: bool,
        cwd: str | None = None,
        agent: AgentSpec | None = None,
    ) -> tuple[Tab, Price]:
        """Fork a tab's conversation at a message, or where it stands; the tab that shows the fork, and its price.

        ``cwd`` and ``agent`` are those of the fork, where they are to be other ones.

        Raises AgentError, StoreError: then everything is as it was.
        """
        await self.keep(tab)
        tab.moving += not beside
        try:
            made = await self._conversations.fork(
                tab.conversation, window_id=tab.window_id, at=at, side_by_side=beside, cwd=cwd, agent=agent
            )
            if beside:
                shown = await self.reopen(made.window.id)
                assert shown is not None, "the window was just opened"
                return shown, made.price
            await self.reload(tab)
        finally:
            tab.moving -= not beside
        return tab, made.price

    async def move(self, tab: Tab, step: Awaitable[T]) -> T:
        """Await a step that moves a tab to another leaf, and return what it did.

        An edit is left; draft and scroll position stay at the leaf before. Raises whatever the step raises.
        """
        tab.leave_edit()
        await self.keep(tab)
        tab.moving += 1
        try:
            moved = await step
            await self.reload(tab)
        finally:
            tab.moving -= 1
        return moved

    async def moved_directories(self, tab: Tab) -> list[MovedDirectory]:
        """Where a conversation's directory may be now that it is gone, the surest first."""
        async with self._db.read() as reader:
            turn_id = await turns.newest_on(reader, tab.leaf_id) if tab.leaf_id else None
            last = await environments.of_turn(reader, turn_id) if turn_id else None
            known = await conversations.directories_in_use(reader)
        gone, here = tab.conversation.record.cwd, self._directory
        return await asyncio.to_thread(moved_directories, gone, last, known, here)

    async def stand_in(self, pane: Pane, tab: Tab) -> None:
        """Let a tab stand in a pane, and store that, with what was seen of it and of the one before."""
        left, pane.tab = pane.tab, tab
        if pane.in_sight:
            tab.look()
        self._note_start(has_tabs=True)
        await self._store_seen(*(each for each in (left, tab) if each in self.tabs))
        await self._store_panes()

    async def _store_panes(self) -> None:
        """Store which tabs stand side by side, and which one has the keys."""
        active, panes = self.active, self.panes.open
        if self._workspace_id is None or active is None:
            return
        shown = (
            [pane.tab.window_id for pane in panes if pane.tab and pane.tab in self.tabs]
            if len(panes) > 1
            else []
        )
        async with self._db.write() as tx:
            await windows.set_active(tx, self._workspace_id, active.window_id)
            if not self.side_by_side and tuple(shown) != self._stored_panes:
                await windows.set_panes(tx, self._workspace_id, shown)
                self._stored_panes = tuple(shown)

    def panes_changed(self) -> None:
        """Store, in the background, that other panes are open than before, or another one has the keys."""
        self._storing.begin(self._panes_stored())

    async def _panes_stored(self) -> None:
        with contextlib.suppress(StoreError):  # stored with the next change
            await self._store_panes()

    def saw(self, tab: Tab) -> None:
        """Store, in the background, that the person saw a tab down to where it is now."""
        self._storing.begin(self._store_seen(tab))

    async def _store_seen(self, *tabs: Tab) -> None:
        """Store how far tabs were seen, as far as the store can: the history tells it of each conversation."""
        if self._db.read_only or not tabs:
            return
        with contextlib.suppress(StoreError):
            async with self._db.write() as tx:
                for tab in tabs:
                    await history.mark_seen(tx, tab.conversation.id, tab.leaf_id)

    async def close(self, *tabs: Tab) -> None:
        """Close tabs as one act: what runs goes on or is ended by its conversation; an empty chat leaves no trace."""
        if not self._db.read_only:
            for tab in tabs:
                await self.keep(tab)  # /undo brings it back as it is
            async with self._db.write() as tx:
                await journal.close_windows(tx, window_ids=[tab.window_id for tab in tabs])
        for tab in tabs:
            await self.detach(tab)

    def kin(self, tab: Tab) -> list[Tab]:
        """The other tabs whose conversations have a beginning in common with a tab's, or were asked the same."""
        family = tab.conversation.record.family
        return [each for each in self.tabs if each is not tab and each.conversation.record.family == family]

    def beside(self, tab: Tab) -> Tab | None:
        """The tab that takes a tab's place if it is closed; None for the last one."""
        index = self.tabs.index(tab)
        others = [other for other in self.tabs if other is not tab]
        return others[min(index, len(others) - 1)] if others else None

    async def detach(self, tab: Tab) -> None:
        """Detach a tab whose window is closed."""
        beside = self.beside(tab)
        self.tabs.remove(tab)
        tab.trouble.stop_waiting()
        self._unsubscribe.pop(tab.window_id)()
        tab.conversation.leave(tab.window_id)
        if all(other.conversation.id != tab.conversation.id for other in self.tabs):
            await self._conversations.close(tab.conversation.id)
        if not tab.conversation.read_only:
            async with self._db.write() as tx:
                await conversations.delete_if_empty(tx, tab.conversation.id)
        if (pane := self.panes.of(tab)) is None:
            return
        if len(self.panes.open) > 1:  # it is closed, too
            pane.tab = None
        else:
            pane.tab = beside if beside in self.tabs else next(iter(self.tabs), None)

    async def leave(self, *, quits: bool = False) -> str | None:
        """Save every tab for the next start, and return the id of the conversation to resume.

        None if there is none, or the store is gone. ``quits`` if the person asked to leave. A draft that the store does
        not take is in ``unsaved_drafts`` afterwards.
        """
        if quits:
            self._conversations.cut_by = CutBy.QUIT
        await self.outgoing.restore_all(self.tabs)
        if self._storing:
            await asyncio.wait(set(self._storing))
        await self._store_seen(*(pane.tab for pane in self.panes.open if pane.tab and pane.in_sight))
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
        """Save a tab's draft, with what waits to be sent there or is typed into a form, and its scroll position.

        Not while another step has the draft in the store: what is to be saved is saved after that.
        """
        if self._in_other_hands(tab) or (self._db.read_only and not tab.draft):
            return
        async with self._db.write() as tx:
            if self._in_other_hands(tab):  # by now
                return
            waiting = [each.text for each in self.outgoing.waiting(tab)]
            texts = (*waiting, tab.unsent()[0], tab.unsent_forms())
            await windows.set_draft(tx, tab.window_id, *self.outgoing.pastes.split(joined(*texts)))
            await windows.set_scroll(tx, tab.window_id, tab.scroll)

    def _in_other_hands(self, tab: Tab) -> bool:
        return tab.moving > 0 or self.outgoing.storing(tab)

    async def keep_behind(
        self, tab: Tab, draft: str, files: Sequence[Attachment], scroll: int | None
    ) -> None:
        """Save draft, attachments and scroll position at the leaf that a window is about to leave."""
        async with self._db.write() as tx:
            await windows.set_draft(tx, tab.window_id, *self.outgoing.pastes.split(draft))
            await windows.set_scroll(tx, tab.window_id, scroll)
            await attachments.set_draft(tx, tab.window_id, files)

    async def keep_attachments(self, tab: Tab) -> None:
        """Save the attachments of a tab's draft as they are when they are written."""
        async with self._db.write() as tx:
            await attachments.set_draft(tx, tab.window_id, tab.unsent()[1])

    async def apply_rules(self, spared: Callable[[], Collection[str]]) -> int:
        """Answer the open requests of all tabs that a permission rule is about now; returns how many.

        ``spared`` are the ids of requests that the person is just answering. Raises StoreError.
        """
        conversations_here = dict.fromkeys(tab.conversation for tab in self.tabs)
        return sum([await each.rules.answer_open(spared) for each in conversations_here])

    async def mentioned_paths(self, tab: Tab, limit: int = 50) -> list[str]:
        """The files that came with prompts of a tab's conversation, the newest first."""
        async with self._db.read() as reader:
            return await attachments.mentioned_in(reader, tab.conversation.id, limit)

    async def wait_out(self, tab: Tab) -> bool:
        """Wait for the end of a tab's limit; True if nothing else has happened there, and its prompt is due."""
        return await tab.trouble.wait_out(lambda leaf_id: tab.leaf_id == leaf_id and not tab.at_work)

    async def lineage_line(self, tab: Tab) -> str:
        """The line on the source and the forks of a tab's conversation; "" if they cannot be read."""
        lineage = await self._lineage(tab)
        return chain_text.lineage_line(lineage, tab.conversation.record.created_at) if lineage else ""

    async def newest_here(self, limit: int) -> tuple[list[tuple[Summary, Message | None]], int]:
        """The newest conversations of this directory, each with the last row of its branch, and how many there are."""
        async with self._db.read() as reader:
            found = await conversations.page(reader, limit=limit, cwd=self._directory)
            newest = []
            for summary in found:
                leaf_id = await places.of(reader, summary.id)
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
        """Recent inputs of the person, newest first."""
        async with self._db.read() as reader:
            return [text for _, text in await inputs.recent(reader, _INPUTS)]
