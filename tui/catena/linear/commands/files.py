"""Files that go along to another place of a conversation, chosen by number."""

from __future__ import annotations

from catena.linear import rows
from catena.linear.context import LinearContext, Refused
from catena.workspace.files_along import Extent, FilesAlong, moved_words
from catena.workspace.tab import Tab
from catena_acp.snapshots.restoring import FileChoice

UNCHANGED = "Files are unchanged."
_STAY = "Files stay as they are"


async def choose_files(
    context: LinearContext, tab: Tab, target: str | None, *, says: bool = False
) -> FileChoice | None:
    """Let the person choose what becomes of files on the way to a row; None where they stay.

    Enter takes what the settings have. Where nobody types, that is taken unasked, and said if ``says``: for acts that
    say nothing of it afterwards. Raises Refused where the input ends.
    """
    along = FilesAlong(by_default=context.settings.files_follow)
    await along.look(tab.conversation.files, tab.window_id, target)
    if context.input.terminal:
        if await _choose(context, along):
            raise Refused("Nothing was changed.")
    elif says and along.offered and along.choice is not None:
        words = along.words_with("", size=rows.size_words)
        context.say(f"{words[:1].upper()}{words[1:]}.")
    return along.choice


async def offer_files(context: LinearContext, tab: Tab) -> None:
    """Offer the files that did not go along to where a tab stands now; unless somebody types, they stay."""
    along = FilesAlong()
    await along.look(tab.conversation.files, tab.window_id, tab.leaf_id)
    if not context.input.terminal or await _choose(context, along):
        return
    if (choice := along.choice) is not None:
        context.say(moved_words(await tab.window.bring_files(choice)) or UNCHANGED)


async def _choose(context: LinearContext, along: FilesAlong) -> bool:
    """Ask what becomes of files, where there is a choice; True where the input has ended."""
    if not along.offered or (plan := along.plan) is None:
        return False
    extents = [Extent.NONE, *([Extent.FREE] if plan.free else []), *([Extent.ALL] if plan.conflicts else [])]
    extents.sort(key=lambda extent: extent is not along.extent)  # what holds anyway comes first
    words = [
        _STAY
        if each is Extent.NONE
        else FilesAlong(plan=plan, chosen=each).words_with("", size=rows.size_words)
        for each in extents
    ]
    chosen = await context.choose("Files:", words, first=True)
    if chosen is None:
        return True
    if extents[chosen] is not along.extent:
        along.chosen = extents[chosen]
    return False
