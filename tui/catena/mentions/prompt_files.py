"""The files that go with a prompt of a tab."""

from __future__ import annotations

import asyncio

from catena.workspace.tab import Tab
from catena_store.records import Attachment


async def with_mentions_of(tab: Tab, text: str, files: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """What goes with a text: what is attached, and the files that it mentions as they are now. Raises NotAttachable."""
    if "@" not in text and not any(file.mentioned for file in files):
        return files
    from catena.mentions.reading import with_mentions

    roots = (tab.conversation.record.cwd, *tab.conversation.directories)
    taken = frozenset(tab.taken_paths)
    found = await asyncio.to_thread(with_mentions, text, files, roots, taken=taken)
    tab.taken_paths -= taken
    return found
