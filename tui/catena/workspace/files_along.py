"""Whether files go along to another place of a conversation, and what that changes: one value for every way there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.errors import AgentError, FilesNotKept
from catena_store.errors import StoreError

if TYPE_CHECKING:  # before there is a plan none of them is needed
    from catena_acp.conversation.branches.files import BranchFiles, CutRestore
    from catena_acp.snapshots.restoring import FileChoice, FilesMoved, RestorePlan
    from catena_store.snapshots.restoring import RestoreStep

FILES_STAY = "files stay as they are"
NO_FILES = "No files to restore here."


class Extent(Enum):
    """Which files go along."""

    NONE = "none"
    FREE = "free"  # those that nobody else changed since
    ALL = "all"


@dataclass(slots=True)
class FilesAlong:
    """The files of one way to another place; nothing is known of them before ``look`` is done."""

    by_default: bool = False  # they go along where nothing else is chosen
    plan: RestorePlan | None = None
    chosen: Extent | None = None  # by the person
    looked: bool = False  # what is known of them is all there is to know
    stay: bool = False  # they were not kept around every turn on the way, so that none can go along

    async def look(self, files: BranchFiles, window_id: str, target: str | None) -> None:
        """Find out what going from where a window's files are to a row would change; beside what goes on."""
        try:
            self.plan = await files.plan(window_id, target)
        except (AgentError, StoreError) as error:
            self.plan, self.stay = None, isinstance(error, FilesNotKept)
        self.looked = True

    @property
    def offered(self) -> bool:
        """True if there is something to choose."""
        return len(self.offers) > 1

    @property
    def offers(self) -> list[Extent]:
        """What may be chosen."""
        free, theirs = (self.plan.free, self.plan.conflicts) if self.plan is not None else ((), ())
        return [Extent.NONE, *([Extent.FREE] if free else []), *([Extent.ALL] if theirs else [])]

    @property
    def refusal(self) -> str:
        """The reply to a person who wants files to go along although none are offered."""
        return NO_FILES if self.looked else "Files are still being compared: press again."

    @property
    def extent(self) -> Extent:
        """Which files go along now."""
        if self.chosen is not None:
            return self.chosen
        return Extent.FREE if self.by_default else Extent.NONE

    @property
    def choice(self) -> FileChoice | None:
        """The choice as it is carried out; None where files stay."""
        plan = self.plan
        if self.extent is Extent.NONE:
            return None
        from catena_acp.snapshots.restoring import FileChoice

        match self.extent:
            case Extent.FREE:
                return FileChoice(where_kept=self.chosen is None)
            case Extent.ALL:
                return FileChoice(frozenset(step.path for step in plan.conflicts) if plan else frozenset())

    def choose_next(self) -> None:
        """Choose the next of: none, those that nobody else changed, all."""
        if not self.offered:
            return
        offers = self.offers
        at = offers.index(self.extent) if self.extent in offers else 0
        self.chosen = offers[(at + 1) % len(offers)]

    @property
    def words(self) -> str:
        """A line on the files' part in the act; "" if there is nothing to say."""
        return self.words_with("")

    def words_with(self, key: str, *, size: Callable[[int, int], str] | None = None) -> str:
        """The same, with the ``key`` that takes files along while they would stay.

        ``size`` says how many lines are added and removed, if that is not said by signs.
        """
        plan = self.plan
        if plan is None or not plan.steps:
            return FILES_STAY if self.stay else ""
        steps, pieces = self._steps(plan), []
        if steps:
            does = self.extent is not Extent.NONE and self._takes(steps)
            goes = _offers(steps, key) if key and not does else _goes(steps, does=does)
            pieces.append(f"{goes}{_size(plan, steps, size)}")
        if plan.conflicts:
            named = f"{_named(plan.conflicts)} {_whose(plan.conflicts)}"
            if self.extent is Extent.ALL:
                pieces.append(f"also {named}" if plan.free else named)
            elif plan.free:
                pieces.append(f"{named}: {'stays' if len(plan.conflicts) == 1 else 'stay'}")
            else:
                pieces.append(
                    f"{named}: {'stays' if len(plan.conflicts) == 1 else 'stay'} unless you choose otherwise"
                )
        if plan.stuck:
            pieces.append(
                f"{_named(plan.stuck)} {_whose(plan.stuck)}: {'stays' if len(plan.stuck) == 1 else 'stay'}"
            )
        return "; ".join(pieces)

    def _steps(self, plan: RestorePlan) -> Sequence[RestoreStep]:
        """The steps that are taken, or would be."""
        if self.extent is Extent.ALL or not plan.free:
            return (*plan.free, *plan.conflicts)
        return plan.free

    def short_words(self, key: str) -> str:
        """The same in fewer cells: without lines, and what others changed is counted and not named."""
        plan = self.plan
        if plan is None or not self.offered:
            return self.words
        steps = self._steps(plan)
        if self.extent is not Extent.NONE and self._takes(steps):
            goes = _goes(steps, does=True)
        elif (deleted := _deletes(steps)) == len(steps):
            goes = _offers(steps, key)
        else:
            goes = f"{key} restores {_counted(steps)}"
            # Behind a comma: left out where there is less room.
            goes += f", {deleted:,} deleted" if deleted else ""
        left = len(plan.steps) - len(steps)
        stays = f"; {left:,} {'stays' if left == 1 else 'stay'}" if left else ""
        theirs = sum(step.conflict is not None for step in steps)
        others = f", {theirs:,} of others" if theirs else ""
        return f"{goes}{others}{stays}"

    def ways(self, restores: str, shows: str) -> str:
        """The keys that restore and show files that did not go along, with what they would do."""
        steps = self._steps(self.plan) if self.plan is not None else ()
        if not steps:
            return ""
        does = "deletes" if _deletes(steps) == len(steps) else "restores"
        them = f"{_file_or_count(steps)}{_deleted(steps) if does == 'restores' else ''}"
        return f"{restores} {does} {them}, {shows} shows {'it' if len(steps) == 1 else 'them'}"

    def _takes(self, steps: Sequence[RestoreStep]) -> bool:
        return self.extent is Extent.ALL or all(step.conflict is None for step in steps)


def moved_words(moved: FilesMoved | None) -> str:
    """What became of files that were restored, as sentences in one safe line; "" where none did."""
    from catena_acp.conversation.branches import files

    return safe_line(files.moved_words(moved))


def _whose(steps: Sequence[RestoreStep]) -> str:
    from catena_acp.snapshots.restoring import whose_change

    return whose_change(steps)


def cut_words(cut: CutRestore) -> str:
    """A line on a restore that was cut off, with the number of files already done."""
    return f"Restoring {counted(len(cut.begun.steps), 'file')} was interrupted after {cut.done:,}"


def _offers(steps: Sequence[RestoreStep], key: str) -> str:
    if _deletes(steps) == len(steps):
        return f"{key[:1].upper()}{key[1:]} also deletes {_file_or_count(steps)}"
    return f"{key} restores {_counted(steps)}{_deleted(steps)}"


def _goes(steps: Sequence[RestoreStep], *, does: bool) -> str:
    if _deletes(steps) == len(steps):
        return f"{'deletes' if does else 'would delete'} {_file_or_count(steps)}"
    return f"{'restores' if does else 'would restore'} {_counted(steps)}{_deleted(steps)}"


def _deletes(steps: Sequence[RestoreStep]) -> int:
    return sum(step.wanted is None for step in steps)


def _deleted(steps: Sequence[RestoreStep]) -> str:
    from catena_acp.conversation.branches.files import deleted_words

    return deleted_words(steps)


def _counted(steps: Sequence[RestoreStep]) -> str:
    return counted(len(steps), "file")


def _file_or_count(steps: Sequence[RestoreStep]) -> str:
    return safe_line(steps[0].path) if len(steps) == 1 else _counted(steps)


def _size(
    plan: RestorePlan, steps: Sequence[RestoreStep], size: Callable[[int, int], str] | None = None
) -> str:
    if _deletes(steps) == len(steps):
        return ""
    paths = {step.path for step in steps}
    counts = [each for each in plan.line_counts() if each.path in paths]
    added, removed = sum(each.added or 0 for each in counts), sum(each.removed or 0 for each in counts)
    return f", {(size or lines_words)(added, removed)}" if added or removed else ""


def lines_words(added: int, removed: int) -> str:
    """How many lines are added and removed: `+12 −40 lines`."""
    from catena.text.changes_text import size_words

    return f"{size_words(added, removed)} {'line' if added + removed == 1 else 'lines'}"


def _named(steps: Sequence[RestoreStep]) -> str:
    from catena_acp.conversation.branches.files import named_files

    return safe_line(named_files(steps))
