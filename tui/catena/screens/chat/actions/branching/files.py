"""Files that go along to another place of a conversation: chosen, shown, brought along afterwards, or cut off."""

from __future__ import annotations

from catena.screens.chat.actions.conversations.changes import ChangesActions
from catena.screens.chat.context import ChatContext
from catena.screens.chat.panels.fork import FILES, FINISH, SHOW, TAKE_BACK, ForkOption, ForkQuestion
from catena.text.safe_text import safe_line
from catena.workspace.files_along import NO_FILES, Extent, FilesAlong, cut_words, moved_words
from catena.workspace.tab import FilesBehind, Tab
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.branches.files import named_files
from catena_acp.errors import AgentError
from catena_acp.snapshots.restoring import RestorePlan, whose_change
from catena_store.errors import StoreError

_TOGETHER = "{undo} while browsing, or /undo, undoes both."


def along_choices(along: FilesAlong) -> tuple[ForkOption, ...]:
    """The options of a question about files that may go along: what becomes of them, and a look at it."""
    if not along.offered:
        return ()
    mark = "" if along.extent is Extent.NONE else "✓ "
    return (
        ForkOption(FILES, f"{mark}Files too: {along.words}", f"{mark}Files too"),
        ForkOption(SHOW, "Show what would happen to files", "Show them"),
    )


class AlongActions:
    """Actions on the files that the active tab may take along."""

    def __init__(self, context: ChatContext, changes: ChangesActions) -> None:
        self._context = context
        self._changes = changes

    # --- what would be

    def along(self) -> FilesAlong:
        """The files of a way that is about to be priced."""
        return FilesAlong(by_default=self._context.settings.files_follow)

    async def look(self, tab: Tab, along: FilesAlong, target: str | None) -> None:
        """Find out what going to a row does to files, and show it where a tab shows it."""
        await along.look(tab.conversation.files, tab.window_id, target)
        self._context.presenter.refresh()

    async def find_behind(self, tab: Tab) -> None:
        """Offer the files that did not go along to where a tab stands now."""
        leaf_id, along = tab.leaf_id, FilesAlong()
        tab.behind = None
        await along.look(tab.conversation.files, tab.window_id, leaf_id)
        if tab.leaf_id == leaf_id:
            tab.behind = FilesBehind(leaf_id, along)
            self._context.presenter.refresh()

    def ways(self, tab: Tab | None) -> str:
        """The keys that restore and show the files of a tab that did not go along, in words; "" if there are none."""
        keys = self._context.keys
        if tab is None or tab is not self._context.tab or tab.editing is not None or tab.along is None:
            return ""
        return tab.along.ways(keys.said("{Files_too}"), keys.said("{Show_files}"))

    async def show(self) -> None:
        """Show what would happen to files."""
        tab = self._context.tab
        if tab is not None and tab.along is not None and tab.along.plan is not None:
            await self.show_plan(tab, tab.along.plan)
        else:
            self._context.say(_refusal(tab))

    async def show_plan(self, tab: Tab, plan: RestorePlan) -> None:
        """Show what a plan would change, until that is closed."""
        await self._changes.planned(tab, plan)

    # --- the choice

    async def choose(self) -> None:
        """Choose that files go along with an edit, or bring those along that stayed behind."""
        context, tab = self._context, self._context.tab
        if tab is not None and tab.cut is not None:
            await self._decide_cut(tab)
        elif tab is None or (along := tab.along) is None:
            context.say(_refusal(tab))
        elif tab.editing is not None:
            along.choose_next()
            context.presenter.refresh()
        else:
            await self._bring(tab, along)

    async def _bring(self, tab: Tab, along: FilesAlong) -> None:
        """Bring files along to where the tab stands; where someone else changed some of them, ask first."""
        context, plan = self._context, along.plan
        assert plan is not None
        along.chosen = Extent.FREE
        if plan.conflicts:
            along.chosen = await self._ask_about_conflicts(tab, plan)
            if along.chosen is None or tab is not context.tab:
                return
        choice = along.choice
        if choice is None:
            return
        try:
            moved = await tab.window.bring_files(choice)
        finally:
            tab.behind = None
            context.presenter.refresh()
        context.say(f"{moved_words(moved) or NO_FILES} {context.keys.said(_TOGETHER)}")

    async def _ask_about_conflicts(self, tab: Tab, plan: RestorePlan) -> Extent | None:
        free, others = counted(len(plan.free), "file"), plan.conflicts
        named, more = safe_line(named_files(others)), counted(len(others), "file")
        while True:
            key = await self._context.parts.fork.ask(
                ForkQuestion(
                    "Restore the files?",
                    "",
                    f"Restore {free}, leave the rest" if plan.free else "",
                    (
                        ForkOption(FILES, f"Also {more} others may have changed", f"Also {more}"),
                        ForkOption(SHOW, "Show what would change", "Show"),
                    ),
                    f"{whose_change(others).capitalize()}: {named}.",
                )
            )
            if key != SHOW:
                break
            await self.show_plan(tab, plan)
        match key:
            case "enter":
                return Extent.FREE
            case "files":
                self._context.write_here()
                return Extent.ALL
            case _:
                return None

    # --- what was cut off

    async def look_for_cut(self, tab: Tab) -> None:
        """Ask about a change of files that a killed Catena left half done, where nothing else is being written."""
        if tab.conversation.read_only:
            return
        try:
            tab.cut = await tab.conversation.files.cut()
        except (AgentError, StoreError):
            return
        if tab.cut is not None:
            self._context.presenter.refresh()
            if tab is self._context.seen and not self._context.writing:
                await self._decide_cut(tab)

    async def _decide_cut(self, tab: Tab) -> None:
        context, cut = self._context, tab.cut
        if cut is None:
            return
        key = await context.parts.fork.ask(
            ForkQuestion(
                f"{cut_words(cut)}.",
                "",
                "",
                (ForkOption(FINISH, "Finish it"), ForkOption(TAKE_BACK, "Undo it")),
                f"In {safe_line(str(cut.begun.root))}. The rest is as it was.",
                leave="Decide later",
            )
        )
        if key not in (FINISH, TAKE_BACK):
            if context.parts.fork.had_keys:
                context.write_here()
            return
        context.write_here()
        left = await tab.window.end_cut(cut, finished=key == FINISH)
        tab.cut = None
        context.presenter.refresh()
        if left is None:
            context.say("Another Catena has finished or undone it.")
            return
        named = safe_line(named_files(left))
        ended = "Finished." if key == FINISH else "Undone: the files are as they were before."
        context.say(f"{ended} Changed meanwhile by someone else, so left: {named}." if left else ended)


def _refusal(tab: Tab | None) -> str:
    """What is said to the person who wants files to go along where a tab offers none."""
    return tab.editing.along.refusal if tab is not None and tab.editing is not None else NO_FILES
