"""Files that go along to another place of a conversation, chosen by number."""

from __future__ import annotations

from catena.acts.surface import Refused
from catena.linear import rows
from catena.linear.context import LinearContext
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
    elif says and along.offered and along.choice is not None:
        words = along.words_with("", size=rows.size_words)
        context.say(f"{words[:1].upper()}{words[1:]}.")
    return along.choice


async def confirm_with_files(
    context: LinearContext, tab: Tab, target: str | None, question: str, yes: str
) -> FilesAlong | None:
    """Ask a question that says a price and, if files would go along to a row, lets them be chosen; None for no.

    The ``question`` has no full stop. Where nobody types, files go along as the settings have it, and the question
    says so.
    """
    along = FilesAlong(by_default=context.settings.files_follow)
    await along.look(tab.conversation.files, tab.window_id, target)
    if along.offered and context.input.terminal:
        extents = _extents(along)
        options = [f"{yes[:1].upper()}{yes[1:]}: {_words(along, each, FILES_STAY)}" for each in extents]
        chosen = await context.choose(rows.spoken(f"{question}."), options)
        if chosen is None:
            return None
        _take(along, extents[chosen])
        return along
    files = along.words_with("", size=rows.size_words) if along.offered and along.choice is not None else ""
    return along if await context.confirm(f"{'; '.join(filter(None, (question, files)))}.", yes) else None


async def offer_files(context: LinearContext, tab: Tab) -> None:
    """Offer the files that did not go along to where a tab stands now; unless somebody types, they stay."""
    along = FilesAlong()
    await along.look(tab.conversation.files, tab.window_id, tab.leaf_id)
    if not context.input.terminal or await choose_extent(context, along):
        return
    if (choice := along.choice) is not None:
        context.say(moved_words(await tab.window.bring_files(choice)) or UNCHANGED)


async def choose_extent(context: LinearContext, along: FilesAlong) -> bool:
    """Ask what becomes of files, if there is a choice; True if the input has ended."""
    if not along.offered:
        return False
    extents = _extents(along)
    words = [_words(along, each, f"{FILES_STAY[:1].upper()}{FILES_STAY[1:]}") for each in extents]
    chosen = await context.choose("Files:", words, first=True)
    if chosen is None:
        return True
    _take(along, extents[chosen])
    return False


def _extents(along: FilesAlong) -> list[Extent]:
    """What may be chosen; what holds anyway comes first."""
    return sorted(along.offers, key=lambda extent: extent is not along.extent)


def _words(along: FilesAlong, extent: Extent, stay: str) -> str:
    if extent is Extent.NONE:
        return stay
    return FilesAlong(plan=along.plan, chosen=extent).words_with("", size=rows.size_words)


def _take(along: FilesAlong, extent: Extent) -> None:
    """Choose what does not hold anyway."""
    if extent is not along.extent:
        along.chosen = extent
