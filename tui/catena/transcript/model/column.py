"""The column of messages: order and gaps of entries, their rows, and anchors that hold while heights change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.messages.parts import Part, RowCache
from catena.transcript.messages.prompt import Siblings
from catena.transcript.model.entry import Entry
from catena.transcript.model.heights import Heights
from catena.transcript.model.order import (
    STEP,
    CallGroups,
    CallRun,
    explains_interruption,
    number,
    place_below,
    runs_of_calls,
    top_level,
)
from catena_acp.spoken.spoken import precedes_prompt, seams_above
from catena_store.records import Kind, Message, MessageState

_GROWING = 50  # number of last messages among which growing ones are
IN_GAP = -1

_DEEPEST = 8  # subagents of subagents; those of deeper ones count as theirs


class ColumnRow(NamedTuple):
    """A row of the column; ``line`` is None for a blank one, ``row`` counts within its part."""

    entry: Entry
    part: int  # IN_GAP above the entry
    row: int
    line: Line | None


class Anchor(NamedTuple):
    """A row of a message that is to be at row ``at`` of the screen."""

    entry: Entry
    part: int
    row: int
    at: int


class Column:
    """Entries from the oldest to the newest, independent of the widget."""

    def __init__(self, options: RenderOptions) -> None:
        self.options = options
        self.entries: list[Entry] = []
        self.folds: dict[str, bool] = {}  # by message: folded or unfolded by the person
        self._groups = CallGroups()
        self.away: str | None = None  # the notice that is put away, since it is said elsewhere
        self.details: dict[str, str] = {}  # by message: prior context of a seam
        self.tail = 0  # rows below the last message
        self._going_on: set[str] = set()  # rows of calls whose work goes on in the background
        self._heights = Heights()
        self._positions: dict[str, int] = {}
        self._calls: dict[str, Entry] = {}  # by the agent's id
        self._row_cache = RowCache()

    # Entries

    @property
    def total(self) -> int:
        """All rows, the tail included."""
        return self._heights.total + self.tail

    @property
    def end(self) -> int:
        """The row behind the last one of a message."""
        return self._heights.total

    def entry(self, message_id: str) -> Entry | None:
        position = self._positions.get(message_id)
        return None if position is None else self.entries[position]

    def position(self, entry: Entry) -> int:
        return self._positions[entry.message.id]

    def top(self, entry: Entry) -> int:
        """Return the first row of ``entry``, its gap included."""
        return self._heights.top(self.position(entry))

    def neighbour(self, entry: Entry, step: int, *, prompts: bool) -> Entry | None:
        """Return the entry, or prompt, ``step`` further on, or the last in that direction; None without any."""
        ordinal = entry.ordinal
        others = [
            other
            for other in self.entries
            if other.rows
            and (not prompts or other.message.kind is Kind.USER)
            and (other.ordinal > ordinal if step > 0 else other.ordinal < ordinal)
        ]
        if not others:
            return None
        return others[min(step, len(others)) - 1] if step > 0 else others[max(step, -len(others))]

    @property
    def _recent(self) -> list[Entry]:
        """The entries among which growing ones are: the last ones, and those of the subagents that are at work."""
        recent = {id(entry): entry for entry in self.entries[-_GROWING:]}
        for call in self._calls.values():
            if call.inner and call.message.state is MessageState.OPEN:
                recent |= {id(entry): entry for entry in (call, *call.inner[-_GROWING:])}
        return list(recent.values())

    # Changes

    def replace(self, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._row_cache.forget()
        self._going_on.clear()
        self._calls.clear()
        self.entries = self._in_place([Entry(message, 0) for message in seams_above(messages)])
        number(self.entries, 0)
        self._prepare(self.entries)
        self._recount()

    def prepend(self, messages: Sequence[Message]) -> None:
        """Add older messages above."""
        known = self._positions
        older = [Entry(message, 0) for message in seams_above(messages) if message.id not in known]
        seam: list[Entry] = []
        if older and self.entries and precedes_prompt(self.entries[0].message, older[-1].message):
            seam = [self.entries.pop(0)]
        first = top_level(self.entries[0].ordinal) if self.entries else 0
        parted = [entry for entry in self.entries if entry.inside and entry.owner is None]
        if parted:  # the calls that started these subagents may be among what is older
            self.entries = [entry for entry in self.entries if entry not in parted]
        above = self._in_place([*older[:-1], *seam, *older[-1:], *parted])
        number(above, first - STEP * sum(entry.owner is None for entry in above))
        self.entries[:0] = above
        self._prepare(older)
        self._recount()

    def parting(self, row: int, step: int) -> int | None:
        """Return the depth of the prompt nearest to a row, below it (1) or above it (-1), at which rows can be cut off.

        Nothing that a subagent said or did is then parted from the call that started it.
        """
        spans = [(each.root.message.depth, each.message.depth) for each in self.entries if each.inside]
        for entry in self.entries if step > 0 else reversed(self.entries):
            message = entry.message
            if message.kind is not Kind.USER or (self.top(entry) - row) * step < 0:
                continue
            if not any(first < message.depth <= last for first, last in spans):
                return message.depth
        return None

    def cut(self, depths: range) -> None:
        """Keep the messages of these depths alone; both ends come from ``parting``, or are ends of the column."""
        self.entries = [entry for entry in self.entries if entry.message.depth in depths]
        self._calls = {id: call for id, call in self._calls.items() if call.message.depth in depths}
        self._recount()

    def append(self, messages: Sequence[Message]) -> None:
        """Add newer messages below, with the groups that they would have had if they had been there."""
        with self._groups.gathering():
            for message in messages:
                if message.id not in self._positions:
                    self.add(message)

    def add(self, message: Message) -> Entry:
        """Add a message at the end; a seam goes above its prompt."""
        last = self.entries[-1] if self.entries else None
        entry = Entry(message, top_level(last.ordinal) + STEP if last else 0)
        self._know(entry)
        self._prepare([entry])
        if entry.owner is not None:
            self._add_inside(entry)
            return entry
        position = len(self.entries)
        if last is not None and precedes_prompt(message, last.message):
            entry.ordinal, last.ordinal = last.ordinal, entry.ordinal
            position -= 1
        self.entries.insert(position, entry)
        self._recount(position)
        return entry

    def _add_inside(self, entry: Entry) -> None:
        """Add what a subagent says or does below the last of the call that started it."""
        root = entry.root
        position = self.position(root) + sum(1 for _ in root.below)
        entry.ordinal = self.entries[position - 1].ordinal + 1
        self.entries.insert(position, entry)
        self._recount(position, connect=not entry.folded_away)
        self._redraw_owners(entry)

    def _place_inside(self, entry: Entry) -> None:
        """Estimate the heights and set the gaps of what a subagent says and does, which come into sight or go."""
        before = entry
        for each in entry.below:
            if each.folded_away:
                continue
            each.estimate(self.options.width)
            place_below(each, before)
            before = before if each.empty else each

    def _know(self, entry: Entry) -> None:
        """Note a call by its id, and find the one that started the subagent whose row this is."""
        message = entry.message
        owner = self._calls.get(message.subagent_of) if entry.inside else None
        # An agent may name any call, also one that is part of this one.
        while owner is not None and owner.root is not entry and owner.nesting >= _DEEPEST:
            owner = owner.owner
        if owner is not None and owner.root is not entry:
            entry.owner = owner
            owner.inner.append(entry)
        if message.kind is Kind.TOOL and message.agent_message_id:
            self._calls[message.agent_message_id] = entry

    def _in_place(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries with those of each subagent below the call that started it."""
        for entry in entries:
            self._know(entry)
        return [each for entry in entries if entry.owner is None for each in (entry, *entry.below)]

    def _redraw_owners(self, entry: Entry) -> None:
        """Draw the lines of the calls again that tell of what a subagent does."""
        while (owner := entry.owner) is not None:
            if owner.inner == [entry]:
                self.rebuild(owner)  # it was drawn as a call like others
            elif owner.parts:
                owner.parts[0].lines = None
            entry = owner

    def change(self, message: Message, *, draw: bool) -> None:
        """Replace a message by a new version."""
        entry = self.entry(message.id)
        if entry is None:
            return
        if message.kind is Kind.AGENT and message.state is not MessageState.OPEN:
            entry.finish(message, self.options, draw=draw)
        elif (
            entry.answer is not None
            and entry.answer.growing
            and message.state is MessageState.OPEN
            and message.text == entry.answer.text
        ):
            entry.message = message
        else:
            entry.message = message
            entry.rebuild(self.options)
        if not entry.folded_away:
            self._connect(self.position(entry))
        self._redraw_owners(entry)

    def grow(self, message_id: str, text: str, *, draw: bool) -> None:
        """Append text to a message."""
        entry = self.entry(message_id)
        if entry is None:
            return
        empty = entry.empty
        if entry.message.kind in (Kind.AGENT, Kind.THOUGHT) and not entry.folded_away:
            entry.open(self.options)
        entry.grow(text, self.options, draw=draw)
        position = self.position(entry)
        if empty:
            self._connect(position)
        self._heights[position] = entry.rows

    def fold(self, entry: Entry, folded: bool) -> None:
        """Fold or unfold a message; later versions of it stay so."""
        self.folds[entry.message.id] = folded
        entry.set_folded(folded)
        self.rebuild(entry)
        if entry.inner:
            self._regroup(self.position(entry), count=False)
            self._place_inside(entry)
            self._recount(self.position(entry))
            self._connect(self.position(entry) + sum(1 for _ in entry.below) + 1)

    def unfold_around(self, entry: Entry) -> None:
        """Unfold the calls that started the subagent whose row this is."""
        while (owner := entry.owner) is not None:
            if owner.folded:
                self.fold(owner, False)
            entry = owner

    def fold_group(self, entry: Entry, folded: bool) -> None:
        """Fold or unfold the group of calls that begins with ``entry``."""
        self._groups.fold(entry, folded)
        self._connect(self.position(entry))

    def set_now(self, now: Callable[[], datetime] | None) -> None:
        """Show for how long running tool calls have run, by this clock; None: do not."""
        self.options = replace(self.options, now=now)
        self.redraw_running()

    def redraw_running(self) -> bool:
        """Draw the lines of running tool calls again; return whether there are any."""
        running = [
            entry
            for entry in self._recent
            if entry.message.kind is Kind.TOOL and entry.message.state is MessageState.OPEN and entry.parts
        ]
        for entry in running:
            if entry.parts:
                entry.parts[0].lines = None
        return bool(running)

    def put_away(self, message_id: str | None) -> None:
        """Draw a notice no longer, and the one that was put away before again; None: draw all."""
        before, self.away = self.away, message_id
        for each in (before, message_id):
            if each is not None and (entry := self.entry(each)) is not None:
                entry.hidden = each == message_id
                self.rebuild(entry)
                self._connect(self.position(entry))

    def gather(self, gathers: bool) -> None:
        """Group work that is no longer new from now on, or leave it as shown, for a person who is reading it."""
        left_open = self._groups.gather(gathers)
        if left_open is not None and left_open.message.id in self._positions:
            self._connect(self.position(left_open))

    def group_of(self, entry: Entry) -> Entry | None:
        """Return the first call of the folded group that hides ``entry``."""
        if not entry.hidden:
            return None
        position = self.position(entry)
        return next((each for each in reversed(self.entries[:position]) if each.group), None)

    def rebuild(self, entry: Entry) -> None:
        entry.rebuild(self.options)
        self._heights[self.position(entry)] = entry.rows

    def set_siblings(self, siblings: Mapping[str, Siblings]) -> None:
        for message_id, place in siblings.items():
            entry = self.entry(message_id)
            shown = place if place.of > 1 else None
            if entry is not None and entry.siblings != shown:
                entry.siblings = shown
                self.rebuild(entry)

    def set_asked(self, calls: Collection[str]) -> bool:
        """Mark the calls of these ids as asked for, and no others; return whether that changed any."""
        changed = False
        for entry in self._recent:
            asked = entry.message.kind is Kind.TOOL and entry.message.agent_message_id in calls
            if asked != entry.asked:
                entry.asked, changed = asked, True
                self.rebuild(entry)
                self._connect(self.position(entry))
                self._redraw_owners(entry)
        return changed

    def set_going_on(self, message_ids: Collection[str]) -> bool:
        """Mark the calls of these rows as going on in the background, and no others; return whether any changed."""
        wanted = {id for id in message_ids if id in self._positions}
        changed = (wanted ^ self._going_on) & self._positions.keys()
        self._going_on = wanted
        for each in changed:
            entry = self.entries[self._positions[each]]
            entry.goes_on = each in wanted
            self.rebuild(entry)
            self._connect(self.position(entry))
        return bool(changed)

    def set_options(self, options: RenderOptions) -> None:
        """Change the render options and drop all rows; heights stay while the width does."""
        old = self.options
        same_width = (options.width, options.narrow, options.short) == (old.width, old.narrow, old.short)
        self.options = options
        self._row_cache.forget()
        if not same_width:
            for entry in self.entries:
                if entry.message.kind is Kind.TOOL:
                    entry.parts = None  # they depend on the second axis
                entry.estimate(options.width)
            self._heights = Heights(entry.rows for entry in self.entries)

    def has_held_text(self, message_id: str) -> bool:
        """Return whether the end of a growing message is held back."""
        entry = self.entry(message_id)
        return entry is not None and entry.answer is not None and entry.answer.has_held_text

    def release(self) -> bool:
        """Draw the held-back ends of growing messages; return whether there were any."""
        held = [entry for entry in self._recent if entry.answer is not None and entry.answer.has_held_text]
        for entry in held:
            entry.release(self.options)
            self._heights[self.position(entry)] = entry.rows
        return bool(held)

    def drop_uncoloured_rows(self) -> bool:
        """Drop rows of code drawn before it was highlighted; return whether there were any."""
        return self._row_cache.drop_provisional()

    def redraw_images(self) -> bool:
        """Make the parts of messages with images again; return whether there are any."""
        pictured = [each for each in self.entries if each.parts and any(part.pictured for part in each.parts)]
        for entry in pictured:
            self.rebuild(entry)
        return bool(pictured)

    # Rows

    def measure(self, anchor: Anchor | None, height: int) -> int:
        """Draw the ``height`` rows around ``anchor``, or at the end for None, and return the top row.

        All heights on the screen are measured after this.
        """
        top = self._top_for(anchor, height)
        while self._draw(top, top + height):  # every pass measures an estimate, and none is estimated again
            top = self._top_for(anchor, height)
        top = self._top_for(anchor, height)
        self._row_cache.evict()
        return top

    def anchor_at(self, top: int, height: int) -> Anchor | None:
        """Return the anchor of a screen that begins at ``top``, a measured row if there is one."""
        total = self.end
        if not total:
            return None
        row = min(max(0, top), total - 1)
        first, before = self._position_at(row), self._position_at(row - 1) if row else None
        if first.part == IN_GAP and first.measured:
            # The gap itself may go when a message is added above it.
            return Anchor(first.entry, 0, 0, row + first.left - top)
        if first.measured or row == 0 or (first.row == 0 and before is not None and before.measured):
            return Anchor(first.entry, first.part, first.row, row - top)
        below = row + 1
        while below <= min(total - 1, row + height):
            place = self._position_at(below)
            if place.measured:
                return Anchor(place.entry, place.part, place.row, below - top)
            below += max(1, place.left)
        return Anchor(first.entry, first.part, first.row, row - top)

    def row_of(self, anchor: Anchor) -> int:
        """Return the row number of an anchor."""
        entry = anchor.entry
        top = self.top(entry)
        if anchor.part == IN_GAP or entry.parts is None or not entry.parts:
            return top + min(anchor.row, max(0, entry.rows - 1))
        part = min(anchor.part, len(entry.parts) - 1)
        return top + entry.gap + entry.heights.top(part) + anchor.row

    def rows(self, top: int, height: int) -> Iterator[ColumnRow]:
        """Yield the rows of a screen; they must be measured."""
        row, end = max(0, top), min(self.end, top + height)
        while row < end:
            place = self._position_at(row)
            entry = place.entry
            if place.part == IN_GAP:
                count = min(place.left, end - row)
                yield from (ColumnRow(entry, IN_GAP, place.row + n, None) for n in range(count))
            else:
                part = entry.open(self.options)[place.part]
                lines = entry.measure(place.part, self.options)
                self._row_cache.touch(part, len(lines))
                count = min(place.left, end - row)
                for index in range(place.row, place.row + count):
                    line = lines[index - part.lead] if 0 <= index - part.lead < len(lines) else None
                    yield ColumnRow(entry, place.part, index, line)
            row += count

    def known_line(self, row: int) -> Line | None:
        """Return the line of a row beyond the screen, if it was drawn before."""
        if not 0 <= row < self.end or not self._position_at(row).measured:
            return None
        return next(self.rows(row, 1)).line

    def parts(self, entry: Entry) -> list[Part]:
        """Return the parts of a message, made if needed."""
        parts = entry.open(self.options)
        self._heights[self.position(entry)] = entry.rows
        return parts

    def lines(self, entry: Entry, part: int) -> list[Line]:
        """Return the lines of a part, drawn if needed, on or off the screen."""
        lines = entry.measure(part, self.options)
        self._row_cache.touch(self.parts(entry)[part], len(lines))
        return lines

    class _RowPosition(NamedTuple):
        entry: Entry
        part: int
        row: int
        left: int  # rows from here to the end of the part
        measured: bool

    def _position_at(self, row: int) -> _RowPosition:
        position = self._heights.find(row)
        entry = self.entries[position]
        inside = row - self._heights.top(position)
        if inside < entry.gap:
            return Column._RowPosition(entry, IN_GAP, inside, entry.gap - inside, entry.parts is not None)
        if entry.parts is None:
            return Column._RowPosition(entry, 0, inside - entry.gap, entry.rows - inside, False)
        inside -= entry.gap
        index = entry.heights.find(inside)
        part = entry.parts[index]
        offset = inside - entry.heights.top(index)
        return Column._RowPosition(entry, index, offset, part.height - offset, part.measured)

    def _top_for(self, anchor: Anchor | None, height: int) -> int:
        end = max(0, self.total - height)
        if anchor is None:
            return end
        return max(0, min(self.row_of(anchor) - anchor.at, end))

    def _draw(self, top: int, bottom: int) -> bool:
        """Draw the undrawn parts between two rows; return whether a height changed."""
        if not self.entries or top >= self.end:
            return False
        changed = False
        position = self._heights.find(max(0, top))
        row = self._heights.top(position)
        while position < len(self.entries) and row < bottom:
            entry = self.entries[position]
            if entry.rows:
                entry.open(self.options)
                self._draw_entry(entry, top - row - entry.gap, bottom - row - entry.gap)
                if entry.rows != self._heights[position]:
                    self._heights[position] = entry.rows
                    changed = True
            row += entry.rows
            position += 1
        return changed

    def _draw_entry(self, entry: Entry, top: int, bottom: int) -> None:
        parts = entry.open(self.options)
        if not parts or top >= entry.heights.total:
            return
        index = entry.heights.find(max(0, top)) if entry.heights.total else 0
        row = entry.heights.top(index)
        while index < len(parts) and row < bottom:
            lines = entry.measure(index, self.options)
            self._row_cache.touch(parts[index], len(lines))
            row += parts[index].height
            index += 1

    # Bookkeeping

    def _prepare(self, entries: Sequence[Entry]) -> None:
        width = self.options.width
        for entry in entries:
            message_id = entry.message.id
            if message_id in self.folds and entry.foldable:
                entry.set_folded(self.folds[message_id])
            entry.detail = self.details.get(message_id)
            entry.hidden = message_id == self.away
            entry.estimate(width)

    def _recount(self, start: int = 0, *, connect: bool = True) -> None:
        if start == 0 and connect:
            self._positions = {entry.message.id: position for position, entry in enumerate(self.entries)}
            self._connect(0, count=False)
            self._heights = Heights([entry.rows for entry in self.entries])
            return
        for position in range(start, len(self.entries)):
            self._positions[self.entries[position].message.id] = position
        self._heights.cut(start)
        for entry in self.entries[start:]:
            self._heights.append(entry.rows)
        if connect:
            self._connect(start)

    def _regroup(self, start: int, *, count: bool) -> None:
        """Set the groups of calls around entry ``start``, or from it on unless rows are counted."""
        for run in runs_of_calls(self.entries, start, around=count):
            self._set_group(run, count=count)

    def _set_group(self, run: CallRun, *, count: bool) -> None:
        grouped, folded = self._groups.size(run), self._groups.is_folded(run)
        for index, entry in enumerate(run.calls):
            group = tuple(each.message for each in run.calls[:grouped]) if index == 0 and grouped > 1 else ()
            hidden = 0 < index < grouped and folded
            if (entry.group, entry.group_folded, entry.hidden) != (group, folded, hidden):
                entry.group, entry.group_folded, entry.hidden = group, folded, hidden
                entry.rebuild(self.options)
                if count:
                    self._heights[self.position(entry)] = entry.rows

    def _explain(self, start: int, *, count: bool) -> None:
        """Draw no mark of an interruption above the notice that tells of it."""
        last = len(self.entries) - 1
        for position in range(max(0, start - 1), min(start + 1, last) if count else last):
            entry, explained = self.entries[position], explains_interruption(self.entries[position + 1])
            if entry.message.state is MessageState.INTERRUPTED and entry.explained != explained:
                entry.explained = explained
                entry.rebuild(self.options)
                if count:
                    self._heights[position] = entry.rows

    def _connect(self, start: int, *, count: bool = True) -> None:
        """Set the groups and the gaps from entry ``start`` on."""
        self._regroup(start, count=count)
        self._explain(start, count=count)
        before: Entry | None = None
        for position in range(start - 1, -1, -1):
            if not self.entries[position].empty:
                before = self.entries[position]
                break
        for position in range(start, len(self.entries)):
            entry = self.entries[position]
            known = (entry.gap, self._heights[position] if count else 0)
            place_below(entry, before)
            if count:
                self._heights[position] = entry.rows
                same = known == (entry.gap, entry.rows)
                if same and position > start and not entry.empty:
                    return
            if not entry.empty:
                before = entry
