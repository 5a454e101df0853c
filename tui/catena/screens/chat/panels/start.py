"""The start of a directory without tabs, with agents and the newest conversations; and an empty one's welcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from catena.text.formats import cell_width, from_home, truncate, truncate_left, whole_clauses
from catena.text.safe_text import safe_line

if TYPE_CHECKING:  # the first frame of a directory with tabs needs no agents
    from catena.settings.agent_choices import AgentChoice


_SENTENCE = "Your conversations are yours: kept locally, independent of agent sessions."
_MARGIN = 2
_VERSION, _STATE, _ABOUT = 26, 36, 46  # cells at which columns begin
_NARROW_STATE, _NARROW_ABOUT = 26, 36  # where there is no room for versions
_VERSIONED = 72  # cells, below which there is none
_NARROW = 60  # cells, below which a row is a name and a state
_SHORT = 15  # rows of the screen, below which there are only agents
_CONVERSATIONS = 6  # rows kept free for conversations that are still being read
_BAR = "▌"
_FOLDED, _OPEN = "▸", "▾"
_ENTER, _COPY, _INSTALL = "enter", "y copy", "enter install · y copy"
_SEE = "see "  # before an address in the catalogue


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent to start with; one that is not installed cannot be started."""

    choice: AgentChoice

    @property
    def key(self) -> str:
        """What it is known by while rows are replaced."""
        return f"agent {self.choice.name}"

    @property
    def starts(self) -> bool:
        """True if it leads to a chat."""
        return self.choice.found

    @property
    def command(self) -> str:
        """The command that installs it, or the address that tells how."""
        return self.choice.how.removeprefix(_SEE)


@dataclass(frozen=True, slots=True)
class FoldRow:
    """The fold of the agents that are not installed."""

    count: int | None  # None until they are all known
    opened: bool

    key: ClassVar[str] = "fold"
    starts: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation to continue."""

    id: str
    title: str
    agent: str
    messages: int
    when: str
    failed: bool = False  # its last turn

    @property
    def key(self) -> str:
        """What it is known by while rows are replaced."""
        return f"conversation {self.id}"

    starts: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RecentRow:
    """The way to the other conversations."""

    count: int

    key: ClassVar[str] = "history"
    starts: ClassVar[bool] = False


def more_agents(count: int | None, why: str) -> str:
    """The words of a fold of agents; None for those that are not counted yet."""
    counted = "More" if count is None else f"{count} more"
    return f"{counted} {'agent' if count == 1 else 'agents'}, {why}"


@dataclass(frozen=True, slots=True)
class OthersRow:
    """The way to sessions of other tools in this directory."""

    words: str

    key: ClassVar[str] = "others"
    starts: ClassVar[bool] = False


StartRow: TypeAlias = AgentRow | FoldRow | ConversationRow | RecentRow | OthersRow
_Piece: TypeAlias = tuple[int, str, str]  # the cell that it begins at, text, tone


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: its pieces from left to right, and the row that it belongs to."""

    pieces: tuple[_Piece, ...] = ()
    row: int | None = None


class StartPanel(ScrollView, can_focus=False):
    """Rows that the composer's arrow keys go through: it takes no focus."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "start--accent",
        "start--focus",
        "start--name",
        "start--muted",
        "start--faint",
        "start--heading",
        "start--asking",
        "start--failure",
        "start--cursor",
    }
    DEFAULT_CSS = """
    StartPanel {
        height: 1fr;
        width: 1fr;
        scrollbar-size: 0 0;
        & > .start--accent { color: $accent; }
        & > .start--focus { color: $focus; }
        & > .start--name { text-style: bold; }
        & > .start--muted { color: $muted; }
        & > .start--faint { color: $faint; }
        & > .start--heading { color: $muted; text-style: bold; }
        & > .start--asking { color: $asking; }
        & > .start--failure { color: $failure; text-style: bold; }
        & > .start--cursor { background: $selection; color: $selection-text; text-style: $selection-style; }
    }
    .-tall StartPanel { margin-bottom: 1; }
    """

    cursor = reactive(0)

    class Taken(Message):
        """A row was clicked."""

    class Moved(Message):
        """Another row is selected, or the rows were replaced."""

    def __init__(self, directory: str, *, column: int, id: str | None = None) -> None:
        """``column`` is the width at most."""
        super().__init__(id=id)
        self._directory = safe_line(from_home(directory))
        self._column = column
        self._agents: Sequence[AgentChoice] = ()
        self._whole = False
        self._conversations: Sequence[ConversationRow] | None = None  # None until they are read
        self._more = 0  # conversations of the directory that are not listed
        self.others = ""  # what is said of other tools' sessions here
        self._opened = False
        self._touched = False  # the person moved the cursor
        self._rows: list[StartRow] = []
        self._lines: list[_Line] = []
        self._top = 0
        self._made_for = Size(0, 0)
        self._tones: dict[str, Style] = {}
        self.taken: AgentRow | None = None  # chosen before it could be started

    # What it shows.

    @property
    def agents(self) -> Sequence[AgentChoice]:
        """The agents that are shown."""
        return self._agents

    @property
    def selected(self) -> StartRow | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def addressed(self) -> str:
        """The title of the agent that a text goes to; "" where the selected row leads to none."""
        match self.selected:
            case AgentRow(choice=choice) if choice.found:
                return choice.addressed_as
            case ConversationRow(agent=agent):
                return agent
            case _:
                return ""

    @property
    def installation(self) -> str:
        """How to install the selected agent; "" where none is selected that is missing."""
        selected = self.selected
        missing = isinstance(selected, AgentRow) and not selected.choice.found
        return selected.command if missing and isinstance(selected, AgentRow) else ""

    def show_agents(self, choices: Sequence[AgentChoice], *, whole: bool = True) -> None:
        """Show agents; the cursor stays at its row, once the person has moved it.

        ``whole``: they are all that there are, and those that are not installed are counted.
        """
        if (list(choices), whole) != (list(self._agents), self._whole):
            self._agents, self._whole = choices, whole
            self._show()

    def show_conversations(self, conversations: Sequence[ConversationRow], *, more: int) -> None:
        """Show the newest conversations; ``more`` are in the history."""
        self._conversations, self._more = conversations, more
        self._show()

    def show_others(self, words: str) -> None:
        """Show that other tools have sessions here."""
        self.others = words
        self._show()

    def toggle(self) -> None:
        """Fold or unfold the agents that are not installed."""
        self._opened = not self._opened
        self._show()

    def move(self, step: int) -> None:
        """Move the cursor; it goes around the ends."""
        if self._rows:
            self._touched = True
            self.cursor = (self.cursor + step) % len(self._rows)

    def widen(self, column: int) -> None:
        """Take another width at most."""
        self._column = column
        self.refresh(layout=True)

    def page(self, step: int) -> None:
        """Move the cursor by a screenful; it stops at the ends."""
        if self._rows:
            self._touched = True
            target = self.cursor + step * max(1, self.size.height - 2)
            self.cursor = max(0, min(len(self._rows) - 1, target))

    def _show(self) -> None:
        before = self.selected
        found = [AgentRow(choice) for choice in self._agents if choice.found]
        missing = [AgentRow(choice) for choice in self._agents if not choice.found]
        rows: list[StartRow] = [*found]
        if missing:
            rows += [
                FoldRow(len(missing) if self._whole else None, self._opened),
                *(missing if self._opened else ()),
            ]
        if not self._short:
            rows += self._conversations or ()
            if self._more:
                rows.append(RecentRow(self._more))
            if self.others:
                rows.append(OthersRow(self.others))
        self._rows = rows
        keys = [row.key for row in rows]
        kept = before is not None and self._touched and before.key in keys
        at = keys.index(before.key) if kept and before is not None else 0
        if at == self.cursor:
            self._lay_out()
            self.post_message(self.Moved())
        self.cursor = at

    def watch_cursor(self) -> None:
        """Draw the cursor at its row, in sight."""
        self._lay_out()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Lay everything out anew."""
        self._show()

    def on_click(self, event: events.Click) -> None:
        """Take the row that was clicked."""
        at = event.y + self.scroll_offset.y - self._top
        row = self._lines[at].row if 0 <= at < len(self._lines) else None
        if row is not None:
            event.stop()
            self._touched = True
            self.cursor = row
            self.post_message(self.Taken())

    # Its lines.

    @property
    def _short(self) -> bool:
        return self.app.size.height < _SHORT

    @property
    def _width(self) -> int:
        return min(self._column, self.size.width)

    @property
    def _end(self) -> int:
        """The cell behind the text's edge."""
        return self._width - _MARGIN

    @property
    def _narrow(self) -> bool:
        return self._width < _NARROW

    @property
    def _columns(self) -> tuple[int, int]:
        """The cells at which the columns of states and of what is worth knowing begin."""
        return (_STATE, _ABOUT) if self._width >= _VERSIONED else (_NARROW_STATE, _NARROW_ABOUT)

    def _lay_out(self) -> None:
        if not self.size.height:
            return
        self._make_lines()
        self.virtual_size = Size(0, self._top + len(self._lines))
        self._keep_cursor_in_sight()
        self.refresh()

    def _make_lines(self) -> None:
        self._made_for = self.size
        head = [] if self._short else self._head()
        groups = [
            self._group(name, list(rows))
            for name, rows in groupby(enumerate(self._rows), key=lambda each: _heading(each[1]))
        ]
        self._lines = [
            *head,
            *(line for at, group in enumerate(groups) for line in ([_Line()] * (at > 0) + group)),
        ]
        # As high as it will be: what comes later finds its place free, and nothing moves.
        found = sum(choice.found for choice in self._agents)
        folds = found < len(self._agents)
        height = len(head) + 1 + found + folds + (0 if self._short else _CONVERSATIONS)
        self._top = max(0, self.size.height - height) * 2 // 5

    def _keep_cursor_in_sight(self) -> None:
        lines = [at for at, line in enumerate(self._lines) if line.row == self.cursor]
        if not lines:
            return
        first = 0 if self.cursor == 0 else self._top + lines[0]
        region = Region(0, first, 1, self._top + lines[-1] + 1 - first)
        self.scroll_to_region(region, animate=False, force=True, immediate=True, x_axis=False)

    def _head(self) -> list[_Line]:
        """The mark with the directory, and what Catena is in a sentence."""
        mark: list[_Piece] = [
            (2, "●", "accent"),
            (3, "─", "focus"),
            (4, "●", "accent"),
            (5, "─", "focus"),
            (6, "●", "accent"),
            (8, "catena", "name"),
        ]
        where = truncate_left(self._directory, max(4, self._end - 18))
        mark.append((self._end - cell_width(where), where, "muted"))
        said = [_Line(((_MARGIN, words, "muted"),)) for words in _wrapped(_SENTENCE, self._end - _MARGIN)]
        return [_Line(tuple(mark)), _Line(), *said, _Line(), _Line()]

    def _group(self, name: str, rows: Sequence[tuple[int, StartRow]]) -> list[_Line]:
        lines = [_Line(((_MARGIN, name, "heading"),))]
        for at, row in rows:
            match row:
                case AgentRow():
                    lines += self._agent_lines(at, row)
                case ConversationRow():
                    lines.append(self._conversation_line(at, row))
                case FoldRow(count=count, opened=opened):
                    words = more_agents(count, "not installed")
                    lines.append(self._fold_line(at, _OPEN if opened else _FOLDED, words))
                case RecentRow(count=count):
                    lines.append(self._fold_line(at, _FOLDED, f"{count} more in this directory"))
                case OthersRow(words=words):
                    lines.append(self._fold_line(at, _FOLDED, truncate(words, self._end - _MARGIN - 6)))
        return lines

    def _fold_line(self, at: int, sign: str, words: str) -> _Line:
        right = self._right(_ENTER) if at == self.cursor else []
        return _Line(((0, sign, "faint"), (_MARGIN, words, "muted"), *right), at)

    def _right(self, words: str, tone: str = "muted") -> list[_Piece]:
        return [(self._end - cell_width(words), words, tone)] if words else []

    def _agent_lines(self, at: int, row: AgentRow) -> list[_Line]:
        choice, selected = row.choice, at == self.cursor
        title = safe_line(choice.title)
        name = "name" if selected else "text"
        if not choice.found:
            return self._missing_lines(at, row, title, name)
        state = "asking" if choice.needs_login else "muted"
        if self._narrow:
            named = truncate(title, max(4, self._end - 10 - _MARGIN))
            return [_Line(((_MARGIN, named, name), *self._right(choice.readiness, state)), at)]
        state_at, about_at = self._columns
        about = whole_clauses(safe_line(choice.about), max(4, self._end - about_at))
        room = self._end - about_at - cell_width(about)
        right = self._right(_ENTER) if selected and room > len(_ENTER) + 1 else []
        version = truncate(safe_line(choice.version), state_at - _VERSION - 1) if state_at > _VERSION else ""
        pieces: list[_Piece] = [
            (_MARGIN, truncate(title, _VERSION - _MARGIN - 2), name),
            (_VERSION, version, "muted"),
            (state_at, choice.readiness, state),
            (about_at, about, "muted"),
        ]
        return [_Line((*pieces, *right), at)]

    def _missing_lines(self, at: int, row: AgentRow, title: str, name: str) -> list[_Line]:
        """An agent that is not installed; of the selected one all that is to be typed, below it if it is too long."""
        how = safe_line(row.choice.how)
        room = self._end - _VERSION
        keys = _INSTALL if row.choice.installable and not self._narrow else _COPY
        until = self._end - len(_COPY) - 2 if self._narrow else _VERSION - 2
        titled = (_MARGIN, truncate(title, until - _MARGIN), name)
        if at != self.cursor:
            beside = () if self._narrow else ((_VERSION, truncate(how, room), "muted"),)
            return [_Line((titled, *beside), at)]
        right = self._right(keys)
        if not self._narrow and cell_width(how) <= room - len(keys) - 2:
            return [_Line((titled, (_VERSION, how, "text"), *right), at)]
        begin = 2 * _MARGIN
        below = [_Line(((begin, words, "text"),), at) for words in _wrapped(how, self._end - begin)]
        return [_Line((titled, *right), at), *below]

    def _conversation_line(self, at: int, row: ConversationRow) -> _Line:
        pieces: list[_Piece] = [(0, "!", "failure")] if row.failed else []
        name = "name" if at == self.cursor else "text"
        agent_at, about_at = self._columns
        until = self._end - cell_width(row.when) - 2 if self._narrow else agent_at - 2
        pieces.append((_MARGIN, truncate(safe_line(row.title), until - _MARGIN), name))
        if not self._narrow:
            counted = f"{row.messages:,} {'message' if row.messages == 1 else 'messages'}"
            room = self._end - about_at - cell_width(row.when) - 2
            counted = counted if cell_width(counted) <= room else ""
            agent = truncate(safe_line(row.agent), about_at - agent_at - 1)
            pieces += [(agent_at, agent, "muted"), (about_at, counted, "muted")]
        return _Line((*pieces, *self._right(row.when)), at)

    # Drawing.

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines; read the styles that they share once."""
        if self._made_for != self.size:  # the first frame comes before the first size is told
            self._make_lines()
        base = self.rich_style
        named = {name.removeprefix("start--") for name in self.COMPONENT_CLASSES} - {"cursor"}
        self._tones = {
            tone: base + self.get_component_rich_style(f"start--{tone}", partial=True) for tone in named
        } | {"text": base}
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw one line, in the column."""
        at = y + self.scroll_offset.y - self._top
        width, whole = self._width, self.size.width
        base = self.rich_style
        if not 0 <= at < len(self._lines) or not self._lines[at].pieces:
            return Strip.blank(whole, base)
        line = self._lines[at]
        margin = (whole - width) // 2
        if line.row is not None and line.row == self.cursor:
            segments = self._selected_segments(line)
        else:
            segments = _segments(line.pieces, width, self._tones, base)
        edges = Segment(" " * margin, base), Segment(" " * (whole - width - margin), base)
        return Strip([edges[0], *segments, edges[1]], whole)

    def _selected_segments(self, line: _Line) -> list[Segment]:
        """The row under the cursor: what is faint elsewhere would be too weak on its ground."""
        ground = self.get_component_rich_style("start--cursor")
        tones = {"text": ground, "name": ground + Style(bold=True)}
        for tone in ("accent", "muted", "asking", "failure"):
            # Reversed, a colour would be a ground in the middle of the row.
            coloured = Style() if ground.reverse else Style(color=self._tones[tone].color)
            tones[tone] = ground + coloured
        tones["faint"] = tones["muted"]
        marked = line.pieces[0][0] == 0 or ground.reverse
        pieces = line.pieces if marked else ((0, _BAR, "accent"), *line.pieces)
        return _segments(pieces, self._width, tones, ground)


def _heading(row: StartRow) -> str:
    return "Start with" if isinstance(row, AgentRow | FoldRow) else "Continue here"


def _segments(pieces: Sequence[_Piece], width: int, tones: dict[str, Style], base: Style) -> list[Segment]:
    """The pieces in a width, each at its cell unless the one before it reaches further."""
    segments, used = [], 0
    for begin, text, tone in pieces:
        if not text:
            continue
        if begin > used:
            segments.append(Segment(" " * (begin - used), base))
        segments.append(Segment(text, tones[tone]))
        used = max(begin, used) + cell_width(text)
    segments.append(Segment(" " * max(0, width - used), base))
    return segments


def _wrapped(text: str, width: int) -> list[str]:
    """The words of a text in lines; one that is longer than a line is cut into several."""
    lines = [""]
    for word in text.split(" "):
        rest = word
        if lines[-1] and cell_width(lines[-1]) + 1 + cell_width(rest) > width:
            lines.append("")
        while cell_width(rest) > width:
            lines[-1], rest = rest[:width], rest[width:]
            lines.append("")
        lines[-1] = f"{lines[-1]} {rest}" if lines[-1] else rest
    return lines


class Welcome(Widget):
    """The mark, the agent and its directory, in the middle."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; content-align: center middle; text-align: center; color: $muted; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = ("", "", False)

    def show(self, *, agent: str, where: str, ready: bool) -> None:
        """Name the agent and the directory; not ``ready``: it is starting, or something is wrong with it."""
        words = (safe_line(agent), safe_line(where), ready)
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Content:
        """The mark, then the agent and the directory."""
        agent, where, is_ready = self._words
        if not agent:
            return Content("")
        bead, link = ("●", "$accent"), ("─", "$faint")
        mark = Content.assemble(bead, link, bead, link, bead, (" catena", "bold $foreground"))
        width = max(8, self.size.width - 4)
        said = f"{agent}{' is ready' if is_ready else ''} in "
        where = truncate_left(where, max(8, width - cell_width(said)))
        words = Content.assemble(said, (where, "$foreground"))
        return Content("\n").join([mark, Content(""), words.truncate(width, ellipsis=True)])
