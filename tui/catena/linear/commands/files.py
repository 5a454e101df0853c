"""Files that go along to another place of a conversation, chosen by number."""

from __future__ import annotations

from catena.acts.surface import Refused
from catena.linear.context import LinearContext
from catena.text.changes_text import spoken_size
from catena.workspace.files_along import FILES_STAY, Extent, FilesAlong, moved_words
from catena.workspace.tab import Tab
from catena_acp.snapshots.restoring import FileChoice

UNCHANGED = "Files are unchanged."


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
        if await choose_extent(context, along):
            raise Refused("Nothing was changed.")
    elif says and (said := said_along(along)):
        context.say(said)
    return along.choice


def said_along(along: FilesAlong) -> str:
    """A sentence about the files that go along unasked; "" if there are none."""
    words = along.words_with("", size=spoken_size) if along.offered and along.choice is not None else ""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


async def offer_files(context: LinearContext, tab: Tab) -> None:
    """Offer the files that did not go along to where a tab stands now; unless somebody types, they stay."""
    along = FilesAlong()
    await along.look(tab.conversation.files, tab.window_id, tab.leaf_id)
    if not context.input.terminal or await choose_extent(context, along):
        return
    if (choice := along.choice) is not None:
        context.say(moved_words(await tab.window.bring_files(choice)) or UNCHANGED)


async def choose_extent(
    context: LinearContext, along: FilesAlong, heading: str = "Files:", yes: str = ""
) -> bool:
    """Ask what becomes of files, if there is a choice; True if nothing was chosen.

    Enter takes what holds anyway, unless the question is another one that files belong to: ``yes`` is its answer.
    """
    if not along.offered:
        return False
    extents = _extents(along)
    stay = FILES_STAY if yes else FILES_STAY.capitalize()
    words = [f"{yes}{stay if each is Extent.NONE else _words(along, each)}" for each in extents]
    chosen = await context.choose(heading, words, first=not yes)
    if chosen is None:
        return True
    if extents[chosen] is not along.extent:
        along.chosen = extents[chosen]
    return False


def _extents(along: FilesAlong) -> list[Extent]:
    """What may be chosen; what holds anyway comes first."""
    return sorted(along.offers, key=lambda extent: extent is not along.extent)


def _words(along: FilesAlong, extent: Extent) -> str:
    return FilesAlong(plan=along.plan, chosen=extent).words_with("", size=spoken_size)
