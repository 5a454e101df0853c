"""The tree in words, its search at every letter, and its changes while it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from functools import partial

from textual.message import Message
from textual.worker import WorkType

from catena.text.formats import cell_width, time_or_day, title_of, truncate
from catena.text.safe_text import safe_line
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.row_list import Columns, Lead, Row, Tone, Word
from catena.workspace.tree_layout import TreeLayout, TreeLine
from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    LeafMoved,
    MessageAdded,
    MessageChanged,
    Renamed,
    TurnEnded,
    TurnStarted,
)
from catena_acp.continuity.wording.counts import counted
from catena_acp.continuity.wording.problems import cause_name
from catena_acp.conversation.conversation import Conversation
from catena_store.conversations.tree import TreeNode
from catena_store.errors import StoreError
from catena_store.finding.search import TreeHit, TreeHits
from catena_store.records import ContextSource, Kind, MessageState, StopReason

HERE, ACTIVE, ELSEWHERE, REFUSED, FORK = "◉", "●", "○", "✗", "◇"
_HIT_WIDE, _HIT_NARROW = 26, 12  # cells of a label with a snippet behind it
_LABEL_WIDE, _LABEL_NARROW = 28, 14  # cells of a checkpoint's label before a prompt
_HOW = {
    ContextSource.RESUMED: "resumed",
    ContextSource.FORKED: "forked",
    ContextSource.FORKED_AT: "forked",
    ContextSource.CAUGHT_UP: "replayed",
    ContextSource.TOLD: "replayed",
    ContextSource.FRESH: "new session",
}
_STOPS = {
    StopReason.REFUSAL: "refused",
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "failed",
    StopReason.AGENT_GONE: "failed",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.NOT_SENT: "not sent",
    StopReason.MAX_TOKENS: "cut short",
    StopReason.MAX_TURN_REQUESTS: "cut short",
}

_FAILED = frozenset({StopReason.ERROR, StopReason.AGENT_GONE})
_COUNTED, _STATE, _AGENT = 5, 12, 14  # cells of the columns, at most


def tree_count(tree: TreeLayout) -> str:
    """How many prompts and branches a tree has."""
    prompts, branches = len(tree.places.own), tree.branches
    ends = f", {branches:,} branches" if branches > 1 else ""
    return f"{counted(prompts, 'prompt')}{ends}"


def tree_kin(tree: TreeLayout) -> str:
    """How many other conversations a tree has."""
    kin = {node.conversation_id for node in tree.places.nodes if tree.foreign(node.id)}
    return counted(len(kin), "other conversation") if kin else ""


def tree_columns(tree: TreeLayout, now: datetime) -> Columns:
    """The columns of every row of a tree."""
    agents = {(node.agent, node.profile): node for node in tree.places.nodes}
    first = tree.places.nodes[0].created_at if tree.places.nodes else now
    return Columns(
        words=(_COUNTED, _STATE),
        detail=min(_AGENT, max((cell_width(tree.agent(node)) for node in agents.values()), default=0)),
        time=5 if first.astimezone().date() == now.astimezone().date() else 10,
    )


def tree_row(
    tree: TreeLayout,
    line: TreeLine,
    marked: Collection[str],
    now: datetime,
    *,
    wide: bool,
    on_way: bool = False,
    asks: bool = False,
    hit: TreeHit | None = None,
) -> Row:
    """One line of the tree, most important words first, since lines are cut at their end.

    ``on_way``: the outermost rail beside it is that of the person's branch; ``asks``: its agent waits for the person.
    ``hit``: a search hit in the turn of the prompt; the label is shortened to make room for its snippet.
    """
    node = line.node
    refused = node.state is MessageState.REFUSED or node.stop_reason is StopReason.NOT_SENT
    width = _LABEL_WIDE if wide else _LABEL_NARROW
    labels = "".join(
        f"[{truncate(safe_line(label), width)}] " for label in tree.places.labels.get(node.id, ())
    )
    name = f"{title} · " if node.id in tree.heads and (title := _name(tree, node)) else ""
    fold = "▸ " if line.folded else ""
    preview = node.preview.strip() or "(files only)"
    label = f"{fold}{labels}{name}{preview}"
    mark = Word("*", Tone.ACCENT) if node.id in marked else None
    bead = _bead(tree, node, refused)
    time = time_or_day(node.created_at, now)
    if hit is not None:
        return Row(
            node.id,
            truncate(safe_line(label), _HIT_WIDE if wide else _HIT_NARROW),
            note=f"{_hit_place(hit, wide=wide)}: {safe_line(hit.snippet)}",
            time=time if wide else "",
            dim=refused,
            lead=Lead("", bead),
            mark=mark,
        )
    return Row(
        node.id,
        label,
        columns=(
            Word(f"+{line.folded:,}" if line.folded else ""),
            Word("asks", Tone.ASKING) if asks else _state(tree, node),
        ),
        detail=truncate(tree.agent(node), _AGENT),
        time=time,
        dim=refused or node.id not in tree.active,
        lead=Lead(line.lead, bead, Tone.ACCENT if on_way else Tone.MUTED),
        mark=mark,
    )


def _hit_place(hit: TreeHit, *, wide: bool) -> str:
    what = "answer" if hit.kind is Kind.AGENT else "prompt"
    return f"in the {what}" if wide else what


def hit_line(line: TreeLine) -> TreeLine:
    """The line of a prompt in a list of hits, without the branches to its left."""
    return TreeLine(line.node, "", 0, line.parts)


def _bead(tree: TreeLayout, node: TreeNode, refused: bool) -> Word:
    if node.id == tree.places.here:
        return Word(HERE, Tone.ACCENT)
    if refused:
        return Word(REFUSED)
    if node.id in tree.active:
        return Word(ACTIVE, Tone.ACCENT)
    return Word(FORK if node.id in tree.heads else ELSEWHERE)


def _name(tree: TreeLayout, node: TreeNode) -> str:
    title = tree.places.names.get(node.conversation_id)
    return f"“{title}”" if title else ""


def _kin(tree: TreeLayout, node: TreeNode) -> str:
    """What the conversation is to that of the person, where it begins in the tree."""
    above = tree.node(node.parent_id)
    return "original" if above and above.conversation_id == node.conversation_id else "fork"


def _state(tree: TreeLayout, node: TreeNode) -> Word:
    """What became of a prompt, or what it is in the tree."""
    above = tree.node(node.parent_id)
    if node.state is MessageState.REFUSED:
        return Word("not sent")
    if cause := cause_name(node.trouble):
        return Word(cause, Tone.FAILURE)
    if node.stop_reason in _STOPS:
        failed = node.stop_reason in _FAILED
        return Word(_STOPS[node.stop_reason], Tone.FAILURE if failed else Tone.MUTED)
    if node.id in tree.heads:
        return Word(_kin(tree, node), Tone.FAINT)
    number, count = tree.version(node) if node.id in tree.active else (1, 1)
    if count > 1:
        return Word(f"‹ {number}/{count} ›", Tone.ACCENT)
    return Word(_HOW.get(node.how, "") if node.how and above is not None else "", Tone.FAINT)


def matches(text: str, tree: TreeLayout, node: TreeNode) -> bool:
    """True if each word of a text is in the prompt, its labels, its agent or the conversation's title."""
    title = tree.places.names.get(node.conversation_id) or ""
    labels = " ".join(tree.places.labels.get(node.id, ()))
    place = f"{node.preview}\n{labels}\n{tree.agent(node)}\n{title}".casefold()
    return all(word in place for word in text.casefold().split())


def branch_title(tree: TreeLayout, node: TreeNode) -> str:
    """The title of a branch: its last prompt, and whether it is the window's branch."""
    where = " · you are here" if node.id == tree.places.here else ""
    return f"…“{title_of(node.preview)}”{where}"


_GAP = "\n\n"  # between answers


_PAUSE = 0.15  # seconds without another letter, after which the store is asked


class TreeSearch(SafeInput):
    """The search field and its hits; hits of another text are never shown."""

    class Found(Message):
        """The hits changed. ``words``: the message about them; None leaves the one that is shown."""

        def __init__(self, words: str | None) -> None:
            super().__init__()
            self.words = words

    def __init__(self, search: Callable[[str], Awaitable[TreeHits]], words: str = "") -> None:
        super().__init__(words, placeholder="Search prompts, answers, labels", compact=True, id="search")
        self.cursor_blink = False
        self._search = search
        self._hits_text = ""  # the text that was searched for
        self._hits: TreeHits | None = TreeHits()  # None after an error of the store
        self._answer_hits: dict[str, TreeHit] = {}  # of the lines that were shown last, by prompt
        self._tree: TreeLayout | None = None
        self._all_lines: Sequence[TreeLine] = ()

    @property
    def wanted(self) -> str:
        """The text to search for; empty while the whole tree is shown."""
        return self.value.strip()

    @property
    def empty(self) -> str:
        """The words in place of lines, if there are none."""
        if not self.wanted:
            return "no prompts yet"
        if self._hits_text != self.wanted:
            return "no prompt matches; searching answers"
        return "no prompt matches" if self._hits is None else "no match"

    def lines(self, tree: TreeLayout) -> list[TreeLine]:
        """The prompts that match, and those with a hit in their turn, as a list."""
        if self._tree is not tree:
            self._tree, self._all_lines = tree, [hit_line(line) for line in tree.lines(())]
        wanted, hits = self.wanted, self._hits if self._hits_text == self.wanted else None
        of_turns = hits.by_prompt if hits else {}
        found, self._answer_hits = [], {}
        for line in self._all_lines:
            if matches(wanted, tree, line.node):
                found.append(line)
            elif (hit := of_turns.get(line.node.id)) is not None:
                found.append(line)
                self._answer_hits[line.node.id] = hit
        return found

    def hit(self, id: str) -> TreeHit | None:
        """The hit in the turn of a prompt that does not match itself."""
        return self._answer_hits.get(id) if self.wanted else None

    def open(self) -> None:
        """Focus the field."""
        self.screen.set_focus(self)

    def close(self) -> None:
        """Search for nothing, and let go of the keys."""
        self.screen.set_focus(None)
        self.value = ""

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Search for another text, and cancel the search before."""
        event.stop()
        self.post_message(self.Found(""))
        self.search()

    async def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Keep the hits."""
        event.stop()
        await self.run_action("screen.keep")

    def search(self) -> None:
        """Search the store after a pause; older hits of the same text are shown until then."""
        # Not a coroutine: where another letter follows at once, it is never begun.
        search: WorkType[None] = partial(self._search_store, self.wanted)
        self.run_worker(search, group="answers", exclusive=True)

    async def _search_store(self, wanted: str) -> None:
        if not wanted:
            return
        await asyncio.sleep(_PAUSE)
        words = None
        try:
            hits = await self._search(wanted)
        except StoreError as error:
            self._hits, words = None, str(error)
        else:
            self._hits = hits
            if hits.cut:
                words = "Too many matches: only the newest answers are listed."
        self._hits_text = wanted
        self.post_message(self.Found(words))


class TreeUpdates:
    """Changes of a tree by the open conversations of its family; those that come together count once."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = conversations
        self._changed = asyncio.Event()
        self._subscriptions: list[Callable[[], None]] = []

    def subscribe(self) -> None:
        """Subscribe to the conversations."""
        self._subscriptions = [each.subscribe(self._handle) for each in self._conversations]

    def unsubscribe(self) -> None:
        """End the subscriptions."""
        for end in self._subscriptions:
            end()
        self._subscriptions = []

    async def changed(self) -> None:
        """Wait for a change since the last call."""
        await self._changed.wait()
        self._changed.clear()

    def _handle(self, event: ConversationEvent) -> None:
        if _changes_tree(event):
            self._changed.set()


def _changes_tree(event: ConversationEvent) -> bool:
    match event:
        case MessageAdded(message=message) | MessageChanged(message=message):
            return message.kind is Kind.USER  # the rest of a turn counts when the turn ends
        case TurnStarted() | TurnEnded() | LeafMoved() | Renamed():
            return True
        case _:
            return False
