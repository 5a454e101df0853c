"""What conversations publish, as lines: those of the tab that is read in full, of the others what calls the person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import assert_never

from catena.linear import rows
from catena.linear.context import LinearContext
from catena.linear.rows import BranchNumbers
from catena.linear.sentences import SentenceCutter, SpokenLine
from catena.settings.linear import LinearSetting
from catena.text.agent_text import LONG_OPENING
from catena.text.changes_text import MOST_LINES
from catena.text.safe_text import safe, safe_line
from catena.workspace.tab import Tab
from catena.workspace.trouble import StandingTrouble, words_of
from catena_acp.continuity.conversation_events import (
    BackgroundChanged,
    ConversationEvent,
    Doing,
    DoingChanged,
    ElicitationClosed,
    ElicitationOpened,
    HoldChanged,
    LeafMoved,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PermissionClosed,
    PermissionOpened,
    PlaceMoved,
    PromptReturned,
    QueueChanged,
    Remarked,
    Renamed,
    SessionChanged,
    Troubled,
    TurnEnded,
    TurnStarted,
)
from catena_acp.continuity.wording.counts import counted
from catena_acp.continuity.wording.problems import (
    BACK_IN_COMPOSER,
    QUIET,
    hold_words,
    quiet_words,
    retry_words,
)
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import AskedNotice, Divider, Ended, Notice, Plan, Seam, spoken_of
from catena_acp.trouble.troubles import Offer, Trouble
from catena_store.conversations import messages
from catena_store.ids import utc_now
from catena_store.records import Kind, Message, MessageState, QueueItem, StopReason

LOOK_SECONDS = 0.25  # between two looks at the clock, while an agent is at work
_SILENCE = 1.5  # seconds without text, after which a sentence that is not whole is read
_FIRST_WAIT, _NEXT_WAIT = 5.0, 30.0  # seconds without a line, until one says that the agent is at work
_LAST_ROWS = 60  # among which calls are looked for that have not ended
_COMMANDS = {
    Offer.RETRY: "/retry",
    Offer.WAIT: "/retry wait",
    Offer.LOGIN: "/login",
    Offer.OTHER_AGENT: "/agent",
    Offer.LAST_LINES: "/context stderr",
    Offer.TAKE_OVER: "/history takeover",
}


class Narrator:
    """Says what happens in the tabs, in the order in which it is published."""

    def __init__(
        self,
        context: LinearContext,
        *,
        announce: Callable[[], None],
        closed: Callable[[str], None],
        ready: Callable[[], None],
    ) -> None:
        """``announce`` says the open question of the tab that is read, and ``closed`` that one is over.

        ``ready`` shows where the person types.
        """
        self._closed = closed
        self._context = context
        self._announce = announce
        self._ready = ready
        self._progress = asyncio.Event()
        self._leaf_id: str | None = None  # the newest row that was said
        self._cutters: dict[str, SentenceCutter] = {}  # of answers that grow, by message
        self._speaker: str | None = None  # the message of the newest line, if that is an answer's
        self._held: dict[str, list[SpokenLine]] = {}  # lines of answers that are said once they are whole
        self._running: dict[str, str] = {}  # tool calls that have begun, by message: what each does
        self._plan = ""
        self._mode: str | None = None
        self._new_mode = ""  # that is still to be said
        self._acts = 0  # that are under way
        self._queue: tuple[QueueItem, ...] = ()
        self._began: float | None = None  # the turn, by the clock; later by what it has waited for the person
        self._asks_since: float | None = None
        self._tools = 0  # of the turn
        self._said_at = context.clock()
        self._waited = False
        self._grew_at = 0.0
        self._heard = 0.0  # the last word of the agent, as its tab knows it,
        self._heard_at = context.clock()  # by the clock
        self._silence_said = False  # since then

    # --- the tab that is read

    async def begin(self, tab: Tab) -> None:
        """Follow a tab from now on: its published events are read out."""
        self._cutters.clear()
        self._held.clear()
        self._running.clear()
        self._plan, self._mode, self._speaker = "", (tab.session or tab.window.session).mode, None
        self._new_mode = ""
        self._queue = tab.queue
        self._began = now = self._context.clock() if tab.window.busy else None
        self._asks_since = now if tab.doing is Doing.ASKING else None
        self._tools = 0
        await self._number(tab.leaf_id)
        if tab.window.busy:
            await self._follow_calls(tab)

    async def _follow_calls(self, tab: Tab) -> None:
        """Follow the tool calls that have begun before the tab was read: their ends are still to be said."""
        async with self._context.tabs.store.read() as reader:
            found = await messages.page(reader, tab.leaf_id, _LAST_ROWS)
        for row in found:
            if row.kind is Kind.TOOL and row.state is MessageState.OPEN:
                self._running[row.id] = rows.doing_words(Call.of(row), tab.conversation.record.cwd)
                self._tools += 1

    async def _number(self, leaf_id: str | None) -> None:
        async with self._context.tabs.store.read() as reader:
            ids = await messages.numbered(reader, leaf_id)
        self._context.numbers = BranchNumbers(ids)
        self._leaf_id = leaf_id

    async def progress(self) -> None:
        """Wait until something was said, or published."""
        self._progress.clear()
        await self._progress.wait()

    async def through(self, act: Awaitable[None]) -> None:
        """Await an act, which says itself what mode it sets."""
        self._acts += 1
        try:
            await act
        finally:
            self._acts -= 1
            self._say_mode()

    # --- its life

    async def run(self) -> None:
        """Say what is published, until cancelled."""
        looking = asyncio.create_task(self._look())
        pane = self._context.tabs.panes.focused
        try:
            while True:
                await pane.published.wait()
                pane.published.clear()
                await self.catch_up()
        finally:
            looking.cancel()

    async def catch_up(self) -> None:
        """Say what was published so far."""
        tabs = self._context.tabs
        for tab, event in tabs.events.take(tabs.panes.focused):
            active = tab is self._context.tab
            if active and isinstance(event, MessageAdded):
                await self._follow(event.message)
            stood = tab.leaf_id
            tab.handle(event, seen=active)
            if active and isinstance(event, LeafMoved) and tab.leaf_id != stood:
                await self._moved(tab, event.leaf_id)
            elif active:
                self._say(tab, event)
            else:
                self._say_elsewhere(tab, event)
        shown = self._context.tab
        if shown is not None and shown.asks and not self._context.in_dialog:
            self._announce()
        self._progress.set()
        if not tabs.events:
            self._ready()

    async def _follow(self, message: Message) -> None:
        """Number the branch anew where a row does not stand below the newest one."""
        if message.parent_id != self._leaf_id:
            await self._number(message.parent_id)
        self._leaf_id = message.id

    async def _moved(self, tab: Tab, leaf_id: str | None) -> None:
        """Number the branch that the tab was moved to, and say the prompt that it ends with: it was just sent."""
        self._flush()
        await self._number(leaf_id)
        async with self._context.tabs.store.read() as reader:
            last = await messages.get(reader, leaf_id) if leaf_id else None
        number = self._context.numbers.of(leaf_id)
        if last is not None and last.kind is Kind.USER and number is not None and tab.window.busy:
            self._prompt(last, number)

    async def _look(self) -> None:
        """Say what is held back once the agent is silent, and that it is at work where nothing else is said."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            tab = self._context.tab
            if tab is None or not tab.window.busy or self._context.in_dialog:
                self._said_at, self._waited = self._context.clock(), False
                continue
            now = self._context.clock()
            if tab.heard_at != self._heard:
                self._heard, self._heard_at, self._silence_said = tab.heard_at, now, False
            if now - self._grew_at >= _SILENCE and self._context.level is not LinearSetting.WHOLE:
                for id, cutter in self._cutters.items():
                    if cutter.holds and not cutter.in_code:
                        self._answer(id, cutter.rest())
            pause = _NEXT_WAIT if self._waited else _FIRST_WAIT
            asks = tab.doing is Doing.ASKING
            silence = "" if tab.retried or asks else self._silence(now)
            if not (self._context.quiet or asks) and (silence or now - self._said_at >= pause):
                self._say_waiting(now, silence)

    def _silence(self, now: float) -> str:
        """How long nothing came from the agent, once in a silence of a minute while no tool runs; else ""."""
        if self._silence_said or self._running or now - self._heard_at < QUIET:
            return ""
        self._silence_said = True
        return f". There is {quiet_words(now - self._heard_at)}; /stop stops it."

    def _say_waiting(self, now: float, silence: str = "") -> None:
        doing = f", {list(self._running.values())[-1]}" if self._running else ""
        since = rows.duration_words(now - (self._began if self._began is not None else self._said_at))
        self._line(f"Waiting: {self._context.agent} is at work for {since}{doing}{silence}")
        self._waited = True

    def _line(self, text: str) -> None:
        self._context.out.line(text)
        self._noted()

    def _lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._line(text)

    def _noted(self) -> None:
        self._said_at, self._speaker, self._waited = self._context.clock(), None, False

    # --- events of the tab that is read

    def _say(self, tab: Tab, event: ConversationEvent) -> None:
        context = self._context
        match event:
            case MessageAdded(message=message):
                self._added(message)
            case MessageChanged(message=message):
                self._changed(message)
            case MessageGrew(message_id=id, text=text):
                self._grew(id, text)
            case LeafMoved():
                pass  # the tab was moved there by a command, which says so
            case TurnStarted():
                self._began, self._tools = context.clock(), 0
            case TurnEnded():
                self._ended(tab, event)
                context.tabs.saw(tab)
            case PromptReturned():
                context.say("Your text is kept as a draft: /draft send sends it, /draft reads it.")
            case DoingChanged(doing=doing, retried=retried):
                self._doing(doing)
                if retried is not None:
                    self._flush()
                    self._line(f"Waiting: {retry_words(retried)}")
            case PermissionOpened() | ElicitationOpened():
                self._flush()
            case PermissionClosed(ask_id=ask_id) | ElicitationClosed(ask_id=ask_id):
                self._closed(ask_id)
            case SessionChanged(session=session):
                if self._mode is not None and session.mode not in (None, self._mode):
                    names = {each.id: each.name for each in session.modes}
                    self._new_mode = safe_line(names.get(session.mode or "", session.mode or ""))
                    self._say_mode()
                self._mode = session.mode
            case QueueChanged(items=items):
                self._queued(items)
            case Renamed(title=title):
                if context.verbose:
                    self._line(f"Note: The title is {safe_line(title or 'none')}")
            case Troubled(problem=problem):
                self._trouble(tab, problem.text)
            case Remarked(text=text):
                self._flush()
                self._line(f"Note: {safe_line(text)}")
            case LinkChanged(link=link, why=why):
                if context.verbose and why:
                    self._line(f"Session: {safe_line(link.session_id)}: {safe_line(why)}")
            case HoldChanged(read_only=read_only, free=free):
                if read_only or free:
                    conversation = tab.conversation
                    self._line(f"Note: {hold_words(conversation.holder, context.tabs.host, free=free)}")
            case PlaceMoved():
                if tab.elsewhere is not None:
                    self._line(f"Note: {tab.elsewhere.words('/tree end')}.")
            case BackgroundChanged():
                count = tab.window.background_count
                running = f"{counted(count, 'command')} running" if count else "nothing is running any more"
                self._line(f"Background: {running}")
            case _:
                assert_never(event)

    def _say_mode(self) -> None:
        """Say a new mode, once no act is under way, unless that act has said it."""
        if self._new_mode and not self._acts:
            if not self._context.takes_as_said(f" is {self._new_mode}."):
                self._line(f"Mode: {self._new_mode}")
            self._new_mode = ""

    def _added(self, message: Message) -> None:
        number = self._context.numbers.add(message)
        match message.kind:
            case Kind.USER if number is not None:
                self._flush()
                self._prompt(message, number)
            case Kind.AGENT:
                self._flush(but=message.id)
                self._grew(message.id, message.text, open=message.state is MessageState.OPEN)
            case Kind.TOOL:
                self._flush()
                self._tools += 1
                self._tool(message, begins=True)
            case _:
                self._changed(message)

    def _changed(self, message: Message) -> None:
        match message.kind:
            case Kind.TOOL:
                self._tool(message)
            case Kind.AGENT if message.state is not MessageState.OPEN:
                self._flush(only=message.id)
            case Kind.PLAN:
                self._say_plan(message)
            case Kind.NOTICE if message.state is not MessageState.OPEN:
                self._flush()
                self._notice(message)
            case Kind.SEAM:
                self._seam(message)
            case Kind.THOUGHT if self._context.verbose and message.state is not MessageState.OPEN:
                self._flush()
                self._lines(f"Thought: {line}" for line in safe(message.text).splitlines() if line.strip())
            case Kind.USER | Kind.AGENT | Kind.NOTICE | Kind.THOUGHT:
                pass
            case _:
                self._line(f"Note: {rows.spoken(safe_line(spoken_of(message).head))}")

    def _prompt(self, message: Message, number: int) -> None:
        context = self._context
        typed, context.typed = context.typed, None
        if typed != (number, message.text) or not context.echoes:
            self._lines(rows.prompt_lines(message, number))
        else:
            self._lines(rows.attached_lines(message))
        self._began, self._tools = context.clock(), 0

    def _grew(self, id: str, text: str, *, open: bool = True) -> None:
        if self._context.numbers.of(id) is None:  # a thought, or of another branch
            return
        cutter = self._cutters.setdefault(id, SentenceCutter())
        self._grew_at = self._context.clock()
        lines = cutter.feed(safe(text))
        if self._context.level is LinearSetting.WHOLE:
            self._held.setdefault(id, []).extend(lines)
        else:
            self._answer(id, lines)
        if not open:
            self._flush(only=id)

    def _answer(self, id: str, lines: Sequence[SpokenLine]) -> None:
        """Say lines of an answer; the first one behind its label, and so the next one after another line."""
        agent = self._context.agent
        for line in lines:
            label = f"{agent} {self._context.numbers.of(id)}:" if self._speaker != id else ""
            self._line(rows.answer_line(line, agent, label))
            self._speaker = id

    def _flush(self, *, only: str | None = None, but: str | None = None) -> None:
        """Say what of answers is held back; they go on below another line, or are whole."""
        for id, cutter in list(self._cutters.items()):
            if (only is None or id == only) and id != but:
                self._answer(id, [*self._held.pop(id, ()), *cutter.rest()])
                del self._cutters[id]

    def _tool(self, message: Message, *, begins: bool = False) -> None:
        context, number = self._context, self._context.numbers.of(message.id)
        call = Call.of(message)
        if number is None or (call.subagent_of and not context.verbose):
            return
        directory = context.here.conversation.record.cwd
        over = message.state is not MessageState.OPEN or call.over
        if not over:
            if begins:
                self._running[message.id] = rows.doing_words(call, directory)
                if context.verbose:
                    self._line(rows.tool_line(call, number, directory))
            return
        if not (begins or message.id in self._running):
            return  # said before
        self._running.pop(message.id, None)
        if context.quiet and not (call.failed or call.ending or call.rejected or any(call.notes)):
            return
        self._line(rows.tool_line(call, number, directory))
        if context.verbose:
            self._lines(rows.tool_details(call, directory, most=MOST_LINES))
        else:
            self._lines(rows.note_lines(call))
            self._lines(rows.failure_lines(call))
            self._lines(rows.image_lines(call))

    def _say_plan(self, message: Message) -> None:
        steps = Plan.of(message).steps
        line = rows.plan_line(steps)
        if steps and line != self._plan and not self._context.quiet:
            self._flush()
            self._line(line)
            if self._context.verbose and not self._plan:
                self._lines(rows.plan_details(steps))
        self._plan = line

    def _notice(self, message: Message) -> None:
        said = spoken_of(message)
        if isinstance(said, Ended) or (isinstance(said, AskedNotice) and not self._context.verbose):
            return  # the end of the turn says it, or the answer did
        self._line(f"Note: {rows.spoken(safe_line(message.text))}")
        if self._context.verbose and isinstance(said, Notice):
            self._lines(rows.set_in(line) for line in safe(said.details).splitlines() if line.strip())

    def _seam(self, message: Message) -> None:
        said = spoken_of(message)
        if isinstance(said, Divider) or (isinstance(said, Seam) and said.drawn):
            self._flush()
            self._line(f"Seam: {rows.spoken(safe_line(said.text))}")

    def _doing(self, doing: Doing) -> None:
        context, now = self._context, self._context.clock()
        if self._began is not None and self._asks_since is not None:
            self._began += now - self._asks_since
        self._asks_since = now if doing is Doing.ASKING else None
        words = {
            Doing.STARTING: f"Waiting: {context.agent} is starting",
            Doing.OPENING: f"Waiting: {context.agent} is opening a session",
            Doing.LONG_OPENING: f"Waiting: {LONG_OPENING.format(Send='Enter')}",
            Doing.LOGGING_IN: f"Waiting: {context.agent} is waiting for the login",
            Doing.STOPPING: f"Waiting: {context.agent} is stopping",
        }
        if doing in words and (context.verbose or doing in (Doing.LOGGING_IN, Doing.LONG_OPENING)):
            self._line(words[doing])

    def _queued(self, items: tuple[QueueItem, ...]) -> None:
        known = {item.id for item in self._queue}
        for place, item in enumerate(items, start=1):
            if item.id not in known:
                self._line(f"Queued: {place}: {safe_line(item.text)}")
        held = [item for item in items if item.held]
        if held and not any(item.held for item in self._queue):
            self._line(
                f"Queued: {counted(len(held), 'prompt')} waits for you. /queue send sends, /queue lists."
            )
        self._queue = items

    # --- the end of a turn

    def _ended(self, tab: Tab, event: TurnEnded) -> None:
        self._flush()
        self._running.clear()
        turn, problem = event.turn, event.problem
        if turn is None and problem is None:
            self._began = None
            return  # nothing was sent: a context that was cleared
        clock = self._context.clock()
        took = rows.duration_words(clock - (self._began if self._began is not None else clock))
        tools = f", {counted(self._tools, 'tool')}" if self._tools else ""
        if problem is not None:
            self._trouble(tab, problem.text.replace(BACK_IN_COMPOSER, ""))
            word = "Failed"
        elif turn is not None and turn.stop_reason is StopReason.CANCELLED:
            word = "Stopped"
        else:
            word = "Done"
        self._context.out.last_line(f"{word}: {took}{tools}{self._usage(tab)}", bells=3 if problem else 1)
        self._noted()
        self._began, self._tools, self._plan = None, 0, ""

    def _usage(self, tab: Tab) -> str:
        usage = (tab.session or tab.window.session).usage
        if usage is None or not self._context.verbose:
            return ""
        return f", {usage.used:,} of {usage.size:,} tokens of context used"

    def _trouble(self, tab: Tab, text: str) -> None:
        self._flush()
        self._line(f"Trouble: {safe_line(text)}")
        if (standing := tab.trouble.standing) is not None:
            self._lines(offer_lines(standing))

    # --- other tabs

    def _say_elsewhere(self, tab: Tab, event: ConversationEvent) -> None:
        match event:
            case PermissionOpened() | ElicitationOpened(opened=False):
                words = "asks"
            case TurnEnded(turn=turn, problem=problem):
                if turn is None and problem is None:
                    return
                words = "answered" if problem is None else safe_line(problem.text)
            case Troubled(problem=problem):
                words = safe_line(problem.text)
            case _:
                return
        if tab not in self._context.tabs.tabs:  # it was closed meanwhile
            return
        number = self._context.tabs.tabs.index(tab) + 1
        self._line(f"Tab: {number}, {safe_line(tab.name())}, {words}. /tabs go {number} goes there.")


def offer_lines(standing: StandingTrouble) -> list[str]:
    """What can be done about a trouble, each by its command."""
    if standing.problem.trouble is Trouble.READ_ONLY and not standing.problem.offers:
        return []
    words = words_of(standing, utc_now(), busy=False)
    if words is None or not words.offers:
        return []
    offers = (f"{_COMMANDS[offer]}: {does}" for offer, does in words.offers)
    return ["Choose: " + "; ".join(offers)]
