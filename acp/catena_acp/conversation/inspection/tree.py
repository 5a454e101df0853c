"""All branches of a conversation at once: the tree, branches compared, and a search in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from catena_acp.conversation.inspection.file_changes import FileTouched, files_touched
from catena_acp.conversation.live import LiveConversation
from catena_acp.conversation.prompts.window import Window
from catena_store.chains import turns, usage
from catena_store.conversations.tree import FamilyTree, TreeNode, compare, family_tree, rows_of_prompt
from catena_store.database.database import Reader
from catena_store.finding.search import TreeHits, find_in_family
from catena_store.records import Expense, Message
from catena_store.windows import windows

_MOST_ROWS = 2_000  # of each branch that are compared


@dataclass(frozen=True, slots=True)
class BranchTail:
    """What one of some branches has below the last row that all of them have."""

    rows: Sequence[Message]  # oldest first
    left_out: int  # older rows that were too many
    files: Mapping[str, FileTouched] = field(default_factory=dict)  # by path, the latest first
    spent: Sequence[Expense] = ()  # by the turns of these rows
    seconds: float = 0.0  # that those of its turns took that have ended


@dataclass(frozen=True, slots=True)
class Comparison:
    """Branches from where they part."""

    shared: str | None  # the last row that all have; None if they share nothing
    shared_prompts: int
    tails: Sequence[BranchTail]


class ConversationTree:
    """Every branch, some of them beside each other, and what was said in one."""

    def __init__(self, conversation: LiveConversation) -> None:
        self._conversation = conversation

    async def places(self, window: Window) -> FamilyTree:
        """Every prompt of the conversation and of its kin, as seen from the window; nothing waits for it."""
        async with self._conversation.services.db.read_concurrently() as reader:
            stored = await windows.get(reader, window.id)
            return await family_tree(reader, self._conversation.id, stored.leaf_id if stored else None)

    def title_of(self, agent: str, profile: str) -> str:
        """What a person reads for the agent that answered a prompt, by the settings where they know it."""
        return self._conversation.title_of(agent, profile)

    async def search(self, text: str) -> TreeHits:
        """What of the conversation and of its kin was said with these words; nothing waits for it."""
        async with self._conversation.services.db.read_concurrently() as reader:
            return await find_in_family(reader, self._conversation.record.family, text)

    async def compare(self, *leaves: str) -> Comparison:
        """Branches, each by its leaf, from where they part."""
        async with self._conversation.services.db.read() as reader:
            found = await compare(reader, *leaves, limit=_MOST_ROWS)
            tails = [await _tail(reader, each.newest, each.count) for each in found.branches]
            return Comparison(found.shared, found.shared_prompts, tails)

    async def turn_messages(self, node: TreeNode) -> Sequence[Message]:
        """A prompt and everything that it brought, oldest first."""
        async with self._conversation.services.db.read() as reader:
            return await rows_of_prompt(reader, node)


async def _tail(reader: Reader, rows: Sequence[Message], count: int) -> BranchTail:
    ids = {row.turn_id for row in rows if row.turn_id is not None}
    return BranchTail(
        rows,
        count - len(rows),
        {file.path: file for file in files_touched(rows)},
        await usage.of_turns(reader, ids),
        await turns.seconds_of(reader, ids),
    )
