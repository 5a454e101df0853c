"""``catena list`` and ``catena show``: what is read from the store and printed, with nothing of the screen loaded."""

from __future__ import annotations

import asyncio
import shutil
import sys

from catena import listing, showing
from catena.exit_status import ExitStatus
from catena_store.database.database import Database, default_path
from catena_store.ids import utc_now
from catena_store.records import Summary


def print_list(*, cwd: str | None, limit: int | None, json: bool) -> int:
    """Print the newest conversations; ``limit`` None for all."""

    async def read() -> list[Summary]:
        async with Database.open(default_path()) as db:
            return await listing.newest(db, cwd=cwd, limit=limit)

    summaries = asyncio.run(read())
    if json:
        print(listing.as_json(summaries))
        return ExitStatus.ANSWERED
    for line in listing.as_lines(summaries, now=utc_now(), width=_width()):
        print(line)
    return ExitStatus.ANSWERED


def print_conversation(conversation_id: str, *, json: bool) -> int:
    """Print one conversation. Raises NotFound or Ambiguous."""

    async def read_whole() -> showing.Whole:
        async with Database.open(default_path()) as db:
            return await showing.whole(db, conversation_id)

    async def read_branch() -> showing.Branch:
        async with Database.open(default_path()) as db:
            return await showing.newest_branch(db, conversation_id)

    if json:
        print(showing.as_json(asyncio.run(read_whole())))
        return ExitStatus.ANSWERED
    for block in showing.as_text(asyncio.run(read_branch())):
        print(block)
    return ExitStatus.ANSWERED


def print_chain(conversation_id: str) -> int:
    """Print a conversation's chain, as seen from its newest branch. Raises NotFound or Ambiguous."""
    from catena.chain_words import chain_as_text, title_of_agent
    from catena_acp.continuity.services import AgentTitles
    from catena_acp.conversation.inspection.chain import Chain, read_chain
    from catena_store.conversations import conversations
    from catena_store.windows import windows

    titles = AgentTitles()

    async def read() -> Chain:
        async with Database.open(default_path()) as db:
            await titles.load(db)
            async with db.read() as reader:
                found = await conversations.find(reader, conversation_id)
                leaf = await windows.newest_leaf(reader, found.id)
                return await read_chain(reader, found.id, leaf, title_of=title_of, cap=None)

    def title_of(name: str, profile: str) -> str:
        return title_of_agent(name, profile, titles.of)

    for line in chain_as_text(asyncio.run(read())):
        print(line)
    return ExitStatus.ANSWERED


def print_tree(conversation_id: str, *, json: bool) -> int:
    """Print every branch of a conversation. Raises NotFound or Ambiguous."""
    from catena.tree_text import Tree, read_tree, tree_as_json, tree_as_text

    async def read() -> Tree:
        async with Database.open(default_path()) as db:
            return await read_tree(db, conversation_id)

    shown = asyncio.run(read())
    for line in [tree_as_json(shown)] if json else tree_as_text(shown):
        print(line)
    return ExitStatus.ANSWERED


def _width() -> int | None:
    """The cells of a line where a person looks on; None where the output goes elsewhere and is kept whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
