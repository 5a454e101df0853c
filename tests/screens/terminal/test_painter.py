"""The cell painter: what a terminal shows is what Textual drew, in every frame, and few bytes are sent for it."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.screen import Clusters, Screen, one_by_one
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from catena.cells import measure_by_clusters
from catena.terminal.painter.cells import CellsOfStrips, Looks
from catena.terminal.painter.painter import Frame, Painter
from catena.themes.colours import DARK, LIGHT, TERMINAL
from support.counted_work import calls_counted
from support.screen.frames import Frames, assert_same, joined
from support.screen.pilot import at_the_screen
from support.screen.terminal import Place, Terminal
from support.walks.length import walks

WORDS = (
    # Sure.
    *(
        "plain",
        "a",
        "│",
        "─────",
        "● Run",
        "✓",
        "naïve",
        "Ωμέγα",
        "кот",
        "   ",
        " ",
        " " * 13,
        "◐",
        "„so“ …",
    ),
    *("世界", "한국어", "ひらがな", "，"),  # sure, and wide
    *("e\u0301", "ก็", "न्दी", "👩‍🚀", "👍🏽", "❤️", "❤", "☑", "🇩🇪", "🙂", "ﷺ", "שלום", "1️⃣"),
    *("ක්\u200dරි", "x\u200dyz", "🏳️‍🌈", "🇩🇪🇫🇷"),
)
STYLES = (
    *(None, Style(), Style(color="red"), Style(bold=True), Style(color="#6fb3c8", bold=True, italic=True)),
    *(Style(bgcolor="#223344"), Style(color="white", bgcolor="blue", dim=True), Style(reverse=True)),
    *(Style(underline=True), Style(strike=True, color="green"), Style(link="https://example.org/a")),
    *(Style(underline2=True, overline=True), Style(color="bright_black", reverse=True, bold=True)),
)
PLAIN, GROUND, BAND, CODE = (Style(), *(Style(bgcolor=each) for each in ("#14171b", "#1d262c", "#1c1f23")))


@pytest.fixture(autouse=True)
def _clusters() -> None:
    measure_by_clusters()


def all_narrow(text: str) -> Iterable[tuple[str, int]]:
    """A terminal for which whatever is unusual takes one cell, joined or not."""
    return ((cluster, min(width, 1) if _is_unusual(cluster) else width) for cluster, width in joined(text))


def all_wide(text: str) -> Iterable[tuple[str, int]]:
    """A terminal for which each character that is unusual takes two cells, and joins with nothing."""
    return ((character, 2 if _is_unusual(character) else cell_len(character)) for character in text)


def _is_unusual(cluster: str) -> bool:
    return any(cluster in word for word in WORDS[WORDS.index("e\u0301") :]) and not cluster.isascii()


class Canvas:
    """What would be on the screen, drawn at random; each step is an update as Textual's compositor makes them."""

    def __init__(self, chance: random.Random, width: int, height: int) -> None:
        self._chance = chance
        self._grounds = chance.choice([(PLAIN,), (PLAIN, PLAIN, BAND), (GROUND,), (GROUND, GROUND, BAND)])
        self.width, self.height = width, height
        self.lines = [self._strip(width) for _ in range(height)]

    def full(self) -> LayoutUpdate:
        """All of it."""
        return LayoutUpdate([[line] for line in self.lines], Region(0, 0, self.width, self.height))

    def step(self) -> LayoutUpdate | ChopsUpdate:
        """A change, and the update that shows it."""
        match self._chance.choice(("text", "text", "box", "scroll", "scroll", "nothing", "all")):
            case "text":
                return self._changed(Region(0, self._chance.randrange(self.height), self.width, 1))
            case "box":
                x, y = self._chance.randrange(self.width), self._chance.randrange(self.height)
                width = self._chance.randint(1, self.width - x)
                return self._changed(Region(x, y, width, self._chance.randint(1, self.height - y)))
            case "scroll":
                return self._scrolled()
            case "nothing":
                return self.full()
            case _:
                self.lines = [self._strip(self.width) for _ in range(self.height)]
                return self.full()

    def _changed(self, region: Region) -> ChopsUpdate:
        new = {y: self._strip(region.width) for y in region.line_range}
        for y, strip in new.items():
            before, _, after = self._divided(y, region)
            self.lines[y] = Strip.join([before, strip, after])
        return self._update(region, new)

    def _scrolled(self) -> ChopsUpdate:
        top = self._chance.randrange(self.height)
        bottom = self._chance.randint(top + 1, self.height)
        by = self._chance.choice((1, 1, 2, 3, 7))
        part = self.lines[top:bottom]
        new = [self._strip(self.width) for _ in range(min(by, len(part)))]
        self.lines[top:bottom] = (
            part[len(new) :] + new if self._chance.random() < 0.5 else new + part[: len(part) - len(new)]
        )
        region = Region(0, top, self.width, bottom - top)
        return self._update(region, {y: self.lines[y] for y in region.line_range})

    def _update(self, region: Region, new: Mapping[int, Strip]) -> ChopsUpdate:
        chops: list[dict[int, Strip | None]] = []
        for y in range(self.height):
            pieces: dict[int, Strip | None] = {0: None, region.x: new.get(y)}
            if region.right < self.width:
                pieces[region.right] = None
            chops.append(pieces)
        ends = [[*list(pieces)[1:], self.width] for pieces in chops]
        return ChopsUpdate(chops, [(y, region.x, region.right) for y in region.line_range], ends)

    def _divided(self, y: int, region: Region) -> Sequence[Strip]:
        line = _separated(_separated(self.lines[y], region.x), region.right)
        return line.divide([region.x, region.right, self.width])

    def _strip(self, width: int) -> Strip:
        segments: list[Segment] = []
        ground = self._chance.choice(self._grounds)
        while (
            cell_len("".join(segment.text for segment in segments)) < width and self._chance.random() < 0.85
        ):
            segments.append(Segment(self._chance.choice(WORDS), ground + self._chance.choice(STYLES)))
        margin = self._chance.randrange(width) if self._chance.random() < 0.3 else width
        strip = Strip(segments).adjust_cell_length(margin, ground)
        return strip.adjust_cell_length(width, self._chance.choice(self._grounds))


class Panes(Canvas):
    """Two panes with a line between them, whose rows move at different times."""

    def __init__(self, chance: random.Random, width: int, height: int, words: Sequence[str] = WORDS) -> None:
        self._words = words
        super().__init__(chance, width, height)
        self._left, self._right = (width - 1) // 2, width - (width - 1) // 2 - 1
        self.panes = [[self._strip(each) for _ in range(height)] for each in (self._left, self._right)]
        self._join()

    def full(self) -> LayoutUpdate:
        """All of it, in the pieces of the panes."""
        rows: list[Iterable[Strip]] = [
            [left, Strip([Segment("│")]), right] for left, right in zip(*self.panes, strict=True)
        ]
        return LayoutUpdate(rows, Region(0, 0, self.width, self.height))

    def step(self) -> LayoutUpdate:
        """A change of one pane, or of both."""
        for pane, width in zip(self.panes, (self._left, self._right), strict=True):
            by = self._chance.choice((0, 0, 1, 1, 2, 5, -1, -3))
            new = [self._strip(width) for _ in range(min(abs(by), self.height))]
            pane[:] = [*pane[by:], *new] if by > 0 else [*new, *pane[: self.height - len(new)]]
        self._join()
        return self.full()

    def _join(self) -> None:
        self.lines = [Strip.join(list(row)) for row in self.full().strips]

    def _strip(self, width: int) -> Strip:
        words = Segment(" ".join(self._chance.choices(self._words, k=9)), self._chance.choice(STYLES))
        return Strip([words]).adjust_cell_length(width, self._grounds[0])


def _separated(line: Strip, at: int) -> Strip:
    """A line with blanks for the character that stands on both sides of a place."""
    segments: list[Segment] = []
    x = 0
    for text, style, _ in line:
        for cluster, width in joined(text):
            segments.append(Segment(" " * width if x < at < x + width else cluster, style))
            x += width
    return Strip(segments)


@dataclass(frozen=True)
class Erasing:
    """Whether a terminal erases with the background of the pen, and whether the painter counts on that."""

    with_background: bool
    trusted: bool


WITH_BACKGROUND = Erasing(True, True)
ERASINGS = (WITH_BACKGROUND, Erasing(False, False), WITH_BACKGROUND, Erasing(True, False))


class Pair:
    """A terminal that is sent what changes, and what is compared with it."""

    def __init__(
        self, canvas: Canvas, clusters: Clusters = joined, erasing: Erasing = WITH_BACKGROUND
    ) -> None:
        measure_by_clusters()
        self.canvas = canvas
        self.clusters = clusters
        self.erasing = erasing
        self.painter = Painter(erases_with_background=erasing.trusted)
        self.painter.moves_columns = True
        self.console = Console(color_system="truecolor", force_terminal=True)
        self.terminal = self._terminal()

    def _terminal(self) -> Screen:
        terminal = Screen(
            self.canvas.width,
            self.canvas.height,
            self.clusters,
            erases_with_background=self.erasing.with_background,
        )
        terminal.feed(b"\x1b[?7l")
        return terminal

    def paint(self, update: LayoutUpdate | ChopsUpdate | None) -> bytes:
        """Send an update, or what was kept; what was sent."""
        cursor = (self.canvas.width // 2, self.canvas.height // 2)
        sent = Frame(self.painter, update, cursor).render_segments(self.console)
        sent += f"\x1b[{cursor[1] + 1};{cursor[0] + 1}H"
        self.terminal.feed(sent.encode())
        return sent.encode()

    def plain(self) -> Screen:
        """All of the canvas, as Textual writes it."""
        terminal = self._terminal()
        terminal.feed(self.canvas.full().render_segments(self.console).replace("\n", "\r\n").encode())
        return terminal

    def anew(self) -> Screen:
        """All of the canvas, painted at once on an empty screen."""
        other = Pair(self.canvas, self.clusters, self.erasing)
        other.paint(self.canvas.full())
        return other.terminal


def _steps(seed: int, clusters: Clusters) -> Iterable[tuple[Pair, bytes]]:
    """A walk of random updates; the terminal is lent to another program, and gets another size, now and then."""
    chance = random.Random(seed)
    canvas = Canvas(chance, chance.choice((1, 7, 20, 61)), chance.choice((1, 3, 12)))
    pair = Pair(canvas, clusters, ERASINGS[seed % len(ERASINGS)])
    for number in range(40):  # 0: nothing was drawn at this size
        if number and chance.random() < 0.1:
            pair.terminal.feed(b"\x1b[H\x1b[41mcommand not found \xf0\x9f\x99\x82\x1b[J\x1b[m")
            pair.painter.forget()
        elif number and chance.random() < 0.1:
            pair.canvas = Canvas(chance, chance.choice((2, 30, 44)), chance.choice((2, 9)))
            pair.terminal.resize(pair.canvas.width, pair.canvas.height)
            pair.terminal.feed(b"what was there before\r\n" * 5)
            pair.painter.forget()
            number = 0
        yield pair, pair.paint(pair.canvas.step() if number else pair.canvas.full())


@pytest.mark.parametrize("seed", range(walks(20)))
def test_after_every_frame_each_cell_is_as_plain_output_draws_it(seed: int) -> None:
    for pair, sent in _steps(seed, joined):
        assert_same(pair.plain(), pair.terminal, sent)


@pytest.mark.parametrize("clusters", [one_by_one, all_narrow, all_wide])
@pytest.mark.parametrize("seed", range(walks(8)))
def test_a_terminal_that_measures_otherwise_shows_what_it_would_show_if_all_were_drawn_anew(
    seed: int, clusters: Clusters
) -> None:
    for pair, sent in _steps(seed, clusters):
        assert_same(pair.anew(), pair.terminal, sent)


@pytest.mark.parametrize("words", [WORDS, ("one", "two", "three", "Ωμέγα", "世界", "   ")])
@pytest.mark.parametrize("seed", range(walks(10)))
def test_rows_of_two_panes_move_between_margins_and_each_cell_is_as_plain_output_draws_it(
    seed: int, words: Sequence[str]
) -> None:
    chance = random.Random(seed)
    panes = Panes(chance, chance.choice((50, 91)), chance.choice((5, 14)), words)
    pair = Pair(panes, joined, ERASINGS[seed % len(ERASINGS)])
    pair.painter.moves_columns = seed % 5 > 0
    pair.paint(panes.full())
    for _ in range(30):
        sent = pair.paint(panes.step())
        assert_same(pair.plain(), pair.terminal, sent)


def test_two_panes_that_scroll_cost_little_where_the_terminal_has_margins() -> None:
    sent = {}
    for margins in (True, False):
        panes = Panes(random.Random(7), 160, 40, ("one", "two", "three", "four"))
        pair = Pair(panes)
        pair.painter.moves_columns = margins
        pair.paint(panes.full())
        sent[margins] = sum(len(pair.paint(panes.step())) for _ in range(40))
    assert sent[True] * 4 < sent[False]


def a_chat(width: int = 120, height: int = 40) -> Canvas:
    """A ground all over, a prompt's band and a block of code in a column of 100, and a box at the bottom."""
    canvas = Canvas(random.Random(0), width, height)
    text, muted = (Style(color=each) for each in ("#d5dae0", "#98a2ad"))

    def row(*segments: Segment, within: Style = GROUND) -> Strip:
        column = Strip(segments).adjust_cell_length(100, within)
        return Strip([Segment(" " * 10, GROUND), *column]).adjust_cell_length(width, GROUND)

    canvas.lines = [row() for _ in range(height)]
    for y in (2, 3, 4):
        words = (("  Why is the sky blue?", text), (" " * 65, PLAIN), ("14:02", muted))
        canvas.lines[y] = row(*(Segment(each, BAND + style) for each, style in words if y == 3), within=BAND)
    canvas.lines[6] = row(Segment("  Since air scatters short waves more than long ones.", GROUND + text))
    for y in range(8, 20):
        canvas.lines[y] = row(Segment(f"  line {y}", CODE + Style(bold=True)), within=CODE)
    canvas.lines[height - 3] = row(Segment("╭", GROUND + muted), Segment(" Reply", GROUND + text))
    return canvas


@pytest.mark.parametrize("emoji", ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👩‍💻", "🇩🇪"])
def test_blanks_that_joined_emoji_may_reach_over_are_sent(emoji: str) -> None:
    painter = Painter(erases_with_background=True)
    strip = Strip([Segment(f"x {emoji}{' ' * 20}y")])
    region = Region(0, 0, strip.cell_length, 1)
    sent = painter.paint(LayoutUpdate([[strip]], region), ColorSystem.TRUECOLOR, (0, 0))
    # kitty takes a cell that was only erased for room of the emoji's parts, and other terminals keep remains there.
    at = f"{emoji}\x1b[1;5H"
    assert at + " " * (2 * len(emoji) - 2) in sent


def test_a_cursor_on_a_flag_or_a_joined_emoji_leaves_it_whole() -> None:
    cells = CellsOfStrips(Looks(erases_with_background=True))
    for emoji in ("🇩🇪", "👩‍💻", "🏳️‍🌈"):
        line = Strip([Segment("🇫🇷x"), Segment(emoji[0], Style(reverse=True)), Segment(f"{emoji[1:]}🇫🇷")])
        assert cells.of(line, ColorSystem.TRUECOLOR)[0] == ["🇫🇷", "", "x", emoji, "", "🇫🇷", ""]


def test_a_ground_a_band_and_a_block_of_code_are_erased_and_not_sent_as_blanks() -> None:
    pair = Pair(a_chat())
    assert len(pair.paint(pair.canvas.full())) <= 700
    without = Pair(a_chat(), erasing=Erasing(False, False))
    assert len(without.paint(without.canvas.full())) > 4_800  # all of them


def test_a_screen_of_one_ground_is_one_erasure() -> None:
    canvas = a_chat()
    canvas.lines = canvas.lines[:1] * canvas.height
    assert len(Pair(canvas).paint(canvas.full())) <= 40


def test_a_strip_that_is_drawn_at_another_place_is_not_taken_apart_again() -> None:
    cells = CellsOfStrips(Looks(erases_with_background=True))
    strip = Strip([Segment("a row that moves", Style(bold=True))])
    before = cells.of(strip, ColorSystem.TRUECOLOR)
    assert cells.of(strip, ColorSystem.TRUECOLOR) is before
    assert cells.of(strip, ColorSystem.STANDARD) is not before
    again = cells.of(strip, ColorSystem.TRUECOLOR)
    for number in range(1_000):  # all of them live as long as they are known: no other has their identity
        assert cells.of(Strip([Segment(f"row {number}")]), ColorSystem.TRUECOLOR)[0] == [*f"row {number}"]
    assert cells.of(strip, ColorSystem.TRUECOLOR) is not again


def test_letters_of_one_look_are_sent_together_and_what_is_as_before_is_not_looked_at() -> None:
    def calls_for(*lines: Sequence[Segment]) -> int:
        pair = Pair(a_chat())
        pair.paint(pair.canvas.full())
        pair.canvas.lines[5 : 5 + len(lines)] = [
            Strip(list(line)).adjust_cell_length(pair.canvas.width, PLAIN) for line in lines
        ]
        update = pair.canvas.full()
        with calls_counted() as calls:
            pair.painter.paint(update, ColorSystem.TRUECOLOR, (0, 0))
        return calls.made

    none = calls_for()
    few, many = (calls_for([Segment("word" * count, CODE)]) - none for count in (1, 20))
    assert many < 1.5 * few, f"{many} calls for eighty letters, {few} for four"


def test_a_band_within_a_ground_comes_and_goes_in_few_bytes() -> None:
    pair = Pair(a_chat())
    pair.paint(pair.canvas.full())
    plain, band = pair.canvas.lines[0], pair.canvas.lines[2]
    for line in (band, plain):
        pair.canvas.lines[30] = line
        assert len(pair.paint(pair.canvas.full())) <= 45


def test_a_second_key_in_the_same_look_needs_no_colour() -> None:
    pair = Pair(a_chat())
    lines = pair.canvas.lines
    sent = [pair.paint(pair.canvas.full())]
    for typed in ("z", "za", "zab"):
        words = Segment(f" {typed} ", GROUND + Style(color="#d5dae0"))
        lines[30] = Strip([words]).adjust_cell_length(pair.canvas.width, GROUND)
        sent.append(pair.paint(pair.canvas.full()))
    assert len(sent[-1]) <= 20
    assert_same(pair.plain(), pair.terminal, sent[-1])


def test_lines_that_scroll_in_have_the_ground_already() -> None:
    pair = Pair(a_chat())
    pair.paint(pair.canvas.full())
    lines = pair.canvas.lines
    lines[2:30] = lines[5:30] + lines[:1] * 3
    assert len(pair.paint(pair.canvas.full())) <= 60
    assert_same(pair.plain(), pair.terminal, b"")


WIDE_PROMPT = "say **世界** e\u0301 👩‍🚀 👍🏽 ❤️ naïve; edit! notes.txt; history 2; say the end"


@pytest.mark.parametrize(
    ("theme", "size", "other_size"),
    [(DARK, (100, 30), (61, 13)), (LIGHT, (40, 12), (120, 40)), (TERMINAL, (80, 24), (30, 9))],
)
async def test_every_frame_of_the_app_is_the_same_as_plain_output(
    tmp_path: Path, theme: str, size: tuple[int, int], other_size: tuple[int, int]
) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        frames = Frames()
        frames.watch(person.app)
        person.app.theme = theme
        await person.say(WIDE_PROMPT)
        await person.sees("the end")
        await person.idle()
        for keys in (("f1", "pagedown", "escape"), ("ctrl+o", "x", "escape"), ("/", "t", "escape")):
            await person.press(*keys)
        for scrolled in (person.transcript.scroll_up, person.transcript.scroll_page_up) * 2:
            scrolled(animate=False)
            await person.taken_in()
        await person.pilot.resize_terminal(*other_size)
        await person.type("世界 👩‍🚀 ok")
        await person.press("left", "left", "backspace", "f2", "end")
        await person.taken_in()
        await person.pilot.resize_terminal(*size)
        await person.taken_in()

        assert frames.count > 20
        assert frames.painted_bytes * 4 < frames.plain_bytes


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.without_parking()
    return place


ALL_OF_IT = (
    r"▌ say hello\s[\s\S]*  hello[\s\S]*╭─────[\s\S]*│ Reply to Rehearsal +[^\n]*"
    r"ctrl\+o history[^\n]*f1 help │\n *╰ Rehearsal"
)


def with_an_answer(terminal: Terminal) -> None:
    """Come to rest with something on the screen."""
    terminal.say("say hello")
    terminal.wait_for(ALL_OF_IT)
    terminal.wait_until_quiet(0.5)


def is_whole_again(terminal: Terminal) -> None:
    """Wait until all of it is there again, and nothing of another program."""
    terminal.wait_for(ALL_OF_IT)
    assert "another program" not in terminal.text


def test_a_few_bytes_are_the_first_frame_a_key_and_rest(place: Place) -> None:
    with place.catena("--agent", "rehearsal", columns=120, rows=40) as terminal:
        # A dark background, and frames that are shown at once: what terminals of today answer.
        terminal.write("\x1b]11;rgb:1414/1717/1b1b\x1b\\\x1b[?2026;2$y")
        terminal.wait_for("f1 help")
        with_an_answer(terminal)
        # More than the first frame may have come by the time that we looked.
        over = re.compile(rb"\x1b\[\?2026[hl]").search(terminal.output, terminal.output.index(b"help"))
        assert over is not None and over.end() <= 1_500
        typed = ""
        for letter, most in (("z", 56), ("q", 30), ("k", 30), ("x", 30)):  # the first takes the hints away
            before = len(terminal.output)
            typed += letter
            terminal.write(letter)
            terminal.wait_for(f"│ {typed} ")
            terminal.wait_until_quiet(0.3)
            assert terminal.output[before:].count(b"\x1b[?2026h") == 1
            assert len(terminal.output) - before <= most


def test_the_terminal_gets_its_own_look_back(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        with_an_answer(terminal)
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
        drawn, _, _ = terminal.output.partition(b"\x1b[?1049l")
        assert re.findall(rb"\x1b\[[\d;]*m", drawn)[-1] == b"\x1b[m"


def test_all_is_drawn_again_after_the_program_was_stopped_and_let_go_on(place: Place) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        with_an_answer(terminal)
        terminal.signal(signal.SIGTSTP)
        terminal.wait_for_state("T")
        terminal.wait_until_quiet(0.2)
        terminal.spoil()
        terminal.signal(signal.SIGCONT)
        is_whole_again(terminal)


def test_all_is_drawn_again_after_a_program_had_the_terminal(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nfor _ in $(seq 40); do echo another program; done\n")
    editor.chmod(0o755)
    with place.catena("--agent", "rehearsal", EDITOR=str(editor)) as terminal:
        with_an_answer(terminal)
        terminal.press("ctrl+g")
        terminal.wait_for_output(b"another program")
        is_whole_again(terminal)


def test_all_is_drawn_again_when_the_terminal_says_that_its_size_changed_though_it_is_the_same(
    place: Place,
) -> None:
    with place.catena("--agent", "rehearsal") as terminal:
        with_an_answer(terminal)
        terminal.spoil()
        terminal.signal(signal.SIGWINCH)
        is_whole_again(terminal)


@pytest.mark.parametrize("switch", ["setting", "environment"])
def test_the_painter_can_be_switched_off(place: Place, switch: str) -> None:
    if switch == "setting":
        with (place.config / "config.toml").open("a") as settings:
            settings.write('painter = "off"\n')
    in_environment = "off" if switch == "environment" else ""
    with place.catena("--agent", "rehearsal", CATENA_PAINTER=in_environment) as terminal:
        with_an_answer(terminal)
        before = len(terminal.output)
        terminal.write("z")
        terminal.wait_for("│ z")
        assert len(terminal.output) - before > 100  # all of the line
