"""The history: a conversation is chosen from all of them, and opened where something was found in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from catena.acts.surface import STAYED
from catena.history.entries import HistoryEntry, HistoryScope, Repositories, TypedHistory
from catena.history.finding import HitPlace, MessageFinder, MessageHit
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.history.preview import ActPrices, Preview, read_preview, read_prices, read_rows
from catena.history.reading import HistoryReader, lives
from catena.history.sessions_here import sessions_here
from catena.screens.chat.actions.branching.editing import EditActions
from catena.screens.chat.actions.tabs import TabActions
from catena.screens.chat.context import ChatContext
from catena.screens.history.acts import HistoryActs, HistoryChoice
from catena.screens.history.picker import HistoryScreen
from catena.screens.history.sources import HistorySources
from catena.settings.agents import titles_of
from catena.settings.replays import replay_budget
from catena.text.formats import program_of
from catena.text.safe_text import safe, safe_line
from catena.workspace.outgoing import UnplacedDraft
from catena.workspace.tab import Tab
from catena_acp.agents.catalog import catalog
from catena_acp.errors import StillAtWork
from catena_store.conversations import conversations, messages
from catena_store.errors import NotFound
from catena_store.finding import newest_hits
from catena_store.records import Kind, Message


class HistoryActions:
    """Actions on the history of all conversations."""

    def __init__(
        self,
        context: ChatContext,
        tabs: TabActions,
        act: Callable[..., Awaitable[None]],
        edits: EditActions,
    ) -> None:
        self._context = context
        self._tabs = tabs
        self._act = act
        self._edits = edits
        self._repositories = Repositories()  # a directory seldom moves to another one
        self._others: OtherTools | None = None
        self._scope: HistoryScope | None = None  # that was chosen last

    async def choose(self, wanted: str = "", *, beside: bool = False) -> None:
        """Let the person choose a conversation, of what is ``wanted``, and do with it what they want.

        ``beside``: open it side by side.
        """
        context = self._context
        typed = TypedHistory.parse(wanted) if wanted else None
        screen = self._screen(typed)
        choice = await context.app.push_screen_wait(screen)
        if typed is None or screen.chosen_scope is not typed.scope:
            self._scope = screen.chosen_scope
        gone = context.presenter.shown is not None and context.presenter.shown not in context.tabs.tabs
        if choice is not None and choice.act == "quote":
            draft = context.drafts.place
            context.quote_into(draft, await self._quote(choice))
            choice = None
        way = context.drafts.set_out()
        with context.drafts.under_way(way), self._tabs.one_frame():
            if choice is not None:
                await self._do(choice, way, beside=beside or choice.act == "beside")
            elif gone:
                await self._tabs.show_what_is_left(context.presenter.shown, way)
            elif context.tab is None:
                await self._tabs.first_tab(way)

    def _screen(self, typed: TypedHistory | None) -> HistoryScreen:
        context = self._context
        tabs, store, start = context.tabs, context.tabs.store, context.parts.conversation.start
        if self._others is None:
            self._others = OtherTools(store, tabs.foreign, context.settings)
        others = self._others
        listing = HistoryListing(directory=tabs.directory, repositories=self._repositories)
        budget = replay_budget(context.settings)
        titles, known = titles_of(context.settings), {entry.name: entry.short_title for entry in catalog()}

        async def preview(
            entry: HistoryEntry, hit: MessageHit | None, place: HitPlace | None
        ) -> Preview | None:
            if entry.foreign:
                return await others.preview(entry.key)
            return await read_preview(store, entry.key, budget=budget, hit=hit, place=place)

        async def rows(entry: HistoryEntry, hit: MessageHit | None, place: HitPlace | None) -> list[Message]:
            if entry.foreign:
                return await others.rows(entry.key)
            return await read_rows(store, entry.key, hit=hit, place=place)

        async def prices(entry: HistoryEntry, hit: MessageHit | None, place: HitPlace | None) -> ActPrices:
            return await read_prices(store, entry.key, budget=budget, hit=hit, place=place)

        async def sizes(ids: Sequence[str]) -> Mapping[str, int]:
            return {id: size.total for id, size in (await tabs.keeping.sizes(ids)).items()}

        return HistoryScreen(
            HistorySources(
                listing,
                HistoryReader(store, listing, lives=lives(tabs.host, context.clock)),
                MessageFinder(store, listing),
                preview,
                prices,
                rows,
                sizes,
                HistoryActs(tabs.undoing, tabs.keeping, context.keys),
                others,
                partial(sessions_here, store, context.settings, tabs.directory),
                _save_copies,
            ),
            agent_title=lambda agent, profile: (
                titles(agent, profile) or known.get(agent) or program_of(agent)
            ),
            clock=context.clock,
            scope=typed.scope if typed else self._scope,
            words=typed.words if typed else "",
            others=typed.here and typed.all_sources if typed else bool(start.display and start.others),
            still=context.screen.still,
        )

    # --- what was chosen

    async def open(self, choice: HistoryChoice) -> None:
        """Do what the person chose in another pane, where the conversation stands in this one."""
        way = self._context.drafts.set_out()
        with self._context.drafts.under_way(way):
            await self._do(choice, way, beside=False)

    async def open_prompt(self, conversation_id: str, prompt_id: str) -> None:
        """Open a conversation at a prompt, on the branch of it. Raises StoreError."""
        async with self._context.tabs.store.read_concurrently() as reader:
            record = await conversations.get(reader, conversation_id)
            prompt = await messages.get(reader, prompt_id)
            if record is None or prompt is None:
                raise NotFound("conversation", conversation_id)
            place = await newest_hits.place(reader, prompt_id)
        at = record.created_at
        entry = HistoryEntry(record.id, record.title, prompt.text, "", record.agent, record.cwd, at, at)
        hit = MessageHit(record.id, prompt.id, prompt.kind, "", (), prompt.created_at)
        await self.open(HistoryChoice("open", entry, hit, place))

    async def _do(self, choice: HistoryChoice, way: UnplacedDraft, *, beside: bool) -> None:
        context = self._context
        id = choice.entry.key
        if choice.entry.foreign and self._others is not None:
            context.say(f"Reading the session of {safe_line(choice.entry.source)} …")
            id = await self._others.adopt(choice.entry.key)
        was_open = any(tab.conversation.id == id for tab in context.tabs.tabs)
        tab = await context.tabs.open_conversation(id)
        if choice.act == "fork" and not was_open:
            tab.prepared = True  # to open the session that is forked could change it
        if beside and context.tabs.panes.of(tab) is None:
            await self._tabs.show_beside(tab, way)
        pane = context.tabs.panes.of(tab)
        if pane is not None and pane is not context.pane:
            await self._tabs.show(tab, way)
            await context.panes.open_choice(pane, choice)
            return
        if choice.act == "tree":
            await self._tabs.show(tab, way)
            at = await self._prompt_of(choice) or ""
            if context.still_at(tab):
                context.run(context.gate.led(self._act("catena.acts.branches:tree", at=at, words="")))
            return
        try:
            moved = await self._go_to_branch(tab, choice, way)
        except StillAtWork:
            await self._tabs.show(tab, way)
            context.say(STAYED)
            return
        if moved and tab is context.seen:
            context.write_here()
        else:
            if choice.hit is not None and tab is not context.presenter.shown:
                tab.scroll = await context.tabs.branches.position_of(choice.hit.message_id)
            await self._tabs.show(tab, way)
        if choice.hit is not None and tab is context.seen:
            await self._show_found(tab, choice.hit)
        await self._act_there(choice, tab, was_open=was_open)

    async def _go_to_branch(self, tab: Tab, choice: HistoryChoice, way: UnplacedDraft) -> bool:
        """Move a tab to the branch of a hit; False if it is there. Raises StillAtWork."""
        context, hit, place = self._context, choice.hit, choice.place
        if hit is None or place is None or await context.tabs.branches.on_branch(tab, hit.message_id):
            return False

        if tab is context.seen:
            await self._act("catena.acts.branches:stand_at", leaf_id=place.leaf_id, way=way)
        else:
            await context.tabs.move(tab, tab.window.go_to(place.leaf_id))
        return True

    async def _show_found(self, tab: Tab, hit: MessageHit) -> None:
        """Scroll to a hit, and mark what was found."""
        context, transcript = self._context, self._context.parts.transcript
        if not await context.presenter.load(hit.message_id, tab):
            return
        words = tuple(dict.fromkeys(hit.snippet[start:end] for start, end in hit.spans))
        transcript.call_after_refresh(self._mark, tab, hit.message_id, words)
        self._mark(tab, hit.message_id, words)

    def _mark(self, tab: Tab, message_id: str, words: tuple[str, ...]) -> None:
        if tab is self._context.seen:
            self._context.parts.transcript.show_found(message_id, words)

    async def _act_there(self, choice: HistoryChoice, tab: Tab, *, was_open: bool) -> None:
        """Do what is done to the tab on the screen, unless the person has gone to another one."""
        context = self._context
        if choice.act not in ("fork", "edit", "export") or not context.still_at(tab):
            return
        match choice.act:
            case "fork":
                at = choice.hit.message_id if choice.hit else None
                beside = was_open or tab.at_work
                await self._act("catena.acts.branches:fork_at", message_id=at, beside=beside)
            case "edit":
                above = await self._edits.prompt_at(tab, choice.hit.message_id if choice.hit else None)
                if above is None:
                    context.say("There is no prompt there to edit.")
                elif context.still_at(tab):
                    await self._edits.edit_prompt(tab, above)
            case "export":
                await self._act("catena.acts.conversations:export", wish="")

    async def _prompt_of(self, choice: HistoryChoice) -> str | None:
        prompt = await self._context.tabs.branches.prompt_of(choice.hit.message_id) if choice.hit else None
        return prompt.id if prompt else None

    async def _quote(self, choice: HistoryChoice) -> str:
        """What was found, as a quote below a line that names its conversation; else the last answer there."""
        context = self._context
        tabs = context.tabs
        message = await tabs.branches.message(
            choice.hit.message_id if choice.hit else None, of=choice.entry.key
        )
        if message is None:
            return ""
        who = "I said" if message.kind is Kind.USER else "the agent said"
        at = message.created_at.astimezone()
        quoted = "\n".join(f"> {line}".rstrip() for line in safe(message.text).strip().split("\n"))
        title = safe_line(choice.entry.name)
        return f"From the conversation “{title}”, {at:%Y-%m-%d %H:%M}, {who}:\n{quoted}"


def _save_copies(wanted: bool) -> None:
    from catena.settings.file.writing import save_copies  # the history opens without it

    save_copies(wanted)
