"""However long a text is, and however fast it comes, a frame does a bounded amount of work and nothing looks different.

Work is counted, in characters laid out and lines looked at; no clock is asked.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from catena.settings.agents import find_agent
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from catena.transcript.drawing import wrapping
from catena.transcript.markdown import markdown
from catena.transcript.markdown import splitter as pieces
from catena.transcript.messages import answer as answers
from catena.transcript.messages import answer as long_block
from catena.transcript.messages import parts as slices
from catena.transcript.messages.answer import AnswerParts
from catena.transcript.model import source as sources
from catena.transcript.model.column import IN_GAP, Anchor, Column
from catena.transcript.widget.search import TextMatcher, TranscriptSearch
from catena.transcript.widget.selection import row_offset, selected_text
from catena.transcript.widget.viewport import Viewport
from catena.workspace.tab_branches import PAGE
from catena_acp.continuity.conversation_events import MessageAdded
from catena_store.conversations import messages
from catena_store.records import Kind, Message, MessageState
from support.places import HOSTILE_AGENT
from support.screen.growth import Walk, answer_rows, rows_of, whole
from support.screen.pilot import Person, at_the_screen
from support.screen.transcript import Writer, page, render_options, scene, settled, shown, viewport
from support.screen.transcript import markdown as some_markdown
from support.walks.length import walks

FRAME = 60_000  # characters that may be laid out for one frame: what may be Markdown, and a slice
PIECE = 100_000  # characters that come between two frames
LINES = 12_000  # of a text that may be looked at one by one


def repeated(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


SHAPES: dict[str, Callable[[int], str]] = {
    "one line": lambda size: repeated("lorem ipsum dolor sit amet ", size),
    "one word": lambda size: repeated("x", size),
    "lines": lambda size: repeated("lorem ipsum dolor sit amet\n", size),
    "lines of code": lambda size: "```py\n" + repeated("x = lorem(ipsum)\n", size),
    "a line of code": lambda size: "```py\n" + repeated("x = lorem(ipsum); ", size),
    "a table": lambda size: "| a | b |\n|---|---|\n" + repeated("| one | `two` |\n", size),
    "a list": lambda size: repeated("- an item of *some* words\n", size),
    "a nested list": lambda size: "- x\n" + repeated("  - an item of *some* words\n", size),
    "a quotation": lambda size: repeated("> said by somebody\n", size),
    "paragraphs": lambda size: repeated("some words\n\n", size),
    "fences": lambda size: repeated("```\n", size),
    "newlines": lambda size: "x" + repeated("\n", size) + "x",
    "brackets": lambda size: repeated("[", size),
    "wide characters": lambda size: repeated("日本語のテキスト 👩\u200d👩\u200d👧 ", size),
}


class Work:
    """What was laid out, and how many lines were looked at one by one, since the last ``take``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.laid_out = self.looked_at = 0
        wrap_runs, line = wrapping.wrap_runs, pieces.MarkdownSplitter._line

        def counted_lay(runs: Sequence[wrapping.Run], *rest: object, **named: object) -> object:
            self.laid_out += sum(len(text) for text, _ in runs) + 1
            return wrap_runs(runs, *rest, **named)  # type: ignore[arg-type]

        def counted_line(cutter: pieces.MarkdownSplitter, *rest: object) -> None:
            self.looked_at += 1
            line(cutter, *rest)  # type: ignore[arg-type]

        for module in (wrapping, markdown):
            monkeypatch.setattr(module, "wrap_runs", counted_lay)
        monkeypatch.setattr(pieces.MarkdownSplitter, "_line", counted_line)

    def take(self) -> int:
        laid_out, self.laid_out = self.laid_out, 0
        return laid_out


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


def kept_drawn(view: Viewport) -> int:
    """Rows that are kept drawn."""
    return sum(len(part.lines or ()) for entry in view.column.entries for part in entry.parts or ())


@pytest.mark.parametrize("kind", [Kind.AGENT, Kind.THOUGHT])
@pytest.mark.parametrize("shape", SHAPES)
def test_w18_a_frame_of_a_huge_block_costs_no_more_however_huge_it_is(
    work: Work, shape: str, kind: Kind
) -> None:
    text, writer = SHAPES[shape](1_500_000), Writer()
    growing = writer.row(kind, state=MessageState.OPEN)
    view = viewport([writer.prompt("go"), growing], 100, 30, unfolded=[growing.id])
    for start in range(0, len(text), PIECE):
        work.take()
        view.column.grow(growing.id, text[start : start + PIECE], draw=False)
        view.place(view.anchor())
        assert work.take() < FRAME
    final = replace(growing, text=text, state=MessageState.FINAL)
    view.column.change(final, draw=False)
    view.place(view.anchor())
    assert work.take() < FRAME
    assert work.looked_at <= LINES * (1 if kind is Kind.AGENT else 2)  # a thought is read anew at its end
    fresh = viewport([view.column.entries[0].message, final], 100, 30, unfolded=[growing.id])
    assert work.take() < FRAME
    assert rows_of(view) == rows_of(fresh)
    for place in (0, fresh.column.total // 2):
        fresh.scroll_to(place)
        assert work.take() < FRAME


@pytest.mark.parametrize("shape", ["one line", "lines", "lines of code", "a list"])
def test_w18_whoever_reads_above_a_huge_block_that_grows_sees_nothing_move_and_keeps_little_drawn(
    work: Work, shape: str
) -> None:
    text, writer = SHAPES[shape](1_500_000), Writer()
    growing = writer.growing()
    view = viewport([writer.prompt("go"), growing], 100, 30)
    view.column.grow(growing.id, text[:PIECE], draw=False)
    view.go_to(Anchor(view.column.entries[1], IN_GAP, 0, 0))
    before = rows_of(view)
    for start in range(PIECE, len(text), PIECE):
        work.take()
        anchor = view.anchor()
        view.column.grow(growing.id, text[start : start + PIECE], draw=True)
        view.place(anchor)
        assert work.take() < 2 * FRAME
        assert rows_of(view) == before
        assert kept_drawn(view) < 6_000


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[random.Random], None]]:
    """Have nearly everything be too long, by other limits with every call."""

    def set_limits(chance: random.Random) -> None:
        for module, name, values in (
            (answers, "_MAX_PROSE", (30, 60, 200)),
            (answers, "_MAX_ROWS", (2, 5, 50)),
            (answers, "_MAX_BRACKETS", (1, 5, 50)),
            (answers, "MAX_CHARACTERS", (20, 120, 400)),
            (answers, "MAX_LINES", (3, 6)),
            (answers, "_MAX_LINE", (20, 60)),
            (pieces, "_MOST_CHARACTERS", (100, 700, 5_000)),
            (pieces, "_MOST_LINES", (5, 25, 500)),
            (slices, "LINES", (2, 4, 10)),
            (slices, "_MAX_COUNTED", (30, 200, 2_000)),
            (long_block.LongProse, "_characters", (15, 40, 100)),
            (long_block.LongCode, "_characters", (15, 50, 100)),
        ):
            monkeypatch.setattr(module, name, chance.choice(values))

    yield set_limits


def long_text(chance: random.Random) -> str:
    ends = ("", "\n", "\n\n", "\n\n\n\n", "x" * chance.randint(0, 90), "word " * chance.randint(0, 30))
    return "".join(some_markdown(chance, 25) + chance.choice(ends) for _ in range(chance.randint(1, 5)))


@pytest.mark.parametrize("block", [0, 1_000])
def test_q02_what_is_too_long_for_markdown_is_drawn_the_same_however_it_came(
    small_limits: Callable[[random.Random], None], block: int
) -> None:
    for seed in range(block, block + walks(10)):
        chance = random.Random(seed)
        small_limits(chance)
        text, at = long_text(chance), render_options(chance.choice((20, 30, 60, 100)))
        growing = AnswerParts("", growing=True, style=lambda palette: palette.text)
        told = list(growing.parts)  # by what ``grow`` says of them
        start = 0
        while start < len(text):
            end = start + chance.randint(1, max(12, len(text) // 30))
            first = growing.grow(text[start:end])
            told[first:] = growing.parts[first:]
            if chance.random() < 0.2:
                first = growing.release()
                told[first:] = growing.parts[first:]
            assert told == growing.parts, seed
            if chance.random() < 0.3:
                answer_rows(growing, at)
            start = end
        first = growing.finish()
        told[first:] = growing.parts[first:]
        assert told == growing.parts, seed
        assert answer_rows(growing, at) == answer_rows(whole(text), at), seed


@pytest.mark.parametrize("seed", range(walks(3)))
def test_q02_a_screen_on_texts_that_are_too_long_is_a_stretch_of_the_whole(
    small_limits: Callable[[random.Random], None], seed: int
) -> None:
    small_limits(random.Random(seed))
    walk = Walk(seed)
    for _ in range(25):
        walk.step()
        screen, everything = rows_of(walk.view), rows_of(walk.afresh())
        count = len(screen)
        assert any(everything[n : n + count] == screen for n in range(len(everything) - count + 1))


def test_a_definition_of_a_link_in_any_block_is_known_to_all_and_the_first_one_counts() -> None:
    text = "see [x] and [y]\n\n[x]: http://one.example/\n\n- [x]: http://two.example/\n\n> [y]: http://three.example/\n"
    rows = answer_rows(whole(text), render_options(100))
    assert rows[0] == "see x (http://one.example/) and y (http://three.example/)"


def test_a_thousand_blocks_of_which_nothing_is_drawn_leave_a_screen_that_is_right() -> None:
    writer = Writer()
    text = "begin\n\n" + "".join(f"[a{number}]: http://x.example/\n\n" for number in range(1_000)) + "end"
    growing = writer.growing()
    view = viewport([growing], 80, 10)
    view.column.grow(growing.id, text, draw=False)
    view.place(view.anchor())
    view.column.change(replace(growing, text=text, state=MessageState.FINAL), draw=False)
    view.place(view.anchor())
    assert [row for _, row in rows_of(view) if row] == ["begin", "end"]


# Finding, selecting, copying


def huge_answer(words: str) -> tuple[Column, Message]:
    message = Writer().answer(words)
    return viewport([message], 100, 30).column, message


def test_w26_a_hit_far_down_in_a_huge_paragraph_is_found_without_laying_out_what_is_above(work: Work) -> None:
    words = repeated("lorem ipsum needle dolor sit amet ", 1_000_000)
    column, message = huge_answer(words)
    matcher = TextMatcher("needle")
    hits = matcher.hits(column)
    assert len(hits) == 10_000
    work.take()
    entry = column.entry(message.id)
    assert entry is not None
    location = matcher.location(column, entry, 9_000)
    assert location is not None and work.take() < FRAME
    row = column.lines(entry, location.part)[location.row]
    assert row.shown[location.start : location.start + 6] == "needle"
    drawn = [matcher.location(column, entry, index) for index in range(400)]
    assert len(set(drawn)) == 400  # each hit has a place of its own


def test_w26_the_rows_of_a_part_are_looked_through_once_for_a_whole_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = Writer().answer(repeated("needle and thread ", 60_000))
    view = viewport([message], 100, 30)
    search = TranscriptSearch("needle", view.column)
    looked = create_autospec(TextMatcher.row_spans, side_effect=TextMatcher.row_spans)
    monkeypatch.setattr(TextMatcher, "row_spans", looked)
    rows = [row for row in view.rows if row.line is not None]
    overlays = [list(search.overlays(view.column, row, view.column.options.palette)) for row in rows]
    assert all(overlays) and looked.call_count <= len({row.part for row in rows})


@pytest.mark.parametrize("shape", ["one line", "lines", "lines of code"])
def test_w22_what_is_selected_in_a_huge_block_is_copied_as_it_was_written(shape: str) -> None:
    text = SHAPES[shape](600_000)
    message = Writer().answer(text)
    view = viewport([message], 100, 30)
    view.scroll_to(view.column.total // 2)
    first, last = view.rows[3], view.rows[-1]
    copied = selected_text(
        view.column, Selection(Offset(0, row_offset(first)), Offset(1_000, row_offset(last)))
    )
    assert len(copied) > 300 and copied in text
    everything = selected_text(view.column, Selection(None, None))
    assert everything == text.strip("\n")


def test_w22_the_code_of_a_huge_answer_is_found_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    code_in = sources._code_in
    parsed = Mock(side_effect=code_in)
    monkeypatch.setattr(sources, "_code_in", parsed)
    fence, listed = "```py\na = 1\n\nb = 2\n```\n\n", "- item\n\n      c = 3\n\nwords\n\n"
    text = fence + repeated("lorem ipsum ", 500_000) + "\n\n" + listed + fence
    column, message = huge_answer(text)
    entry = column.entry(message.id)
    assert entry is not None
    assert sources.code_blocks_of(entry) == ["a = 1\n\nb = 2", "c = 3", "a = 1\n\nb = 2"]
    assert 0 < sum(len(call.args[0]) for call in parsed.call_args_list) < 1_000
    for seed in range(walks(75)):
        some = some_markdown(random.Random(seed), 25).replace("\r\n", "\n")
        assert list(sources._code_in_pieces(some)) == code_in(some)


# Other things that are huge


def test_a_tool_output_of_megabytes_is_unfolded_by_drawing_what_is_on_the_screen(work: Work) -> None:
    for output in ("lorem ipsum dolor\n" * 200_000, "lorem ipsum dolor " * 200_000):
        writer = Writer()
        tool = writer.tool("execute", "run", content=[{"type": "text", "text": output}])
        view = viewport([writer.prompt("go"), tool], 100, 30)
        work.take()
        view.column.fold(view.column.entries[1], False)
        view.go_to(None)
        view.scroll_to(view.column.total // 2)
        assert work.take() < FRAME


# Many messages at once


async def test_many_messages_that_come_at_once_are_put_on_the_screen_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    branch = page(300)
    async with scene(branch[:2]) as (transcript, pilot):
        settled_column = create_autospec(Column.measure, side_effect=Column.measure)
        monkeypatch.setattr(Column, "measure", settled_column)
        transcript.add_all(branch[2:])
        settled_column.assert_called_once()
        await settled(transcript, pilot)
        assert "answer 299" in "\n".join(shown(transcript))


class Unlooked:
    """A turn of two thousand messages that the screen takes in at once."""

    def __init__(self, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        self.person = person
        self.added = 0
        self.placed = 0
        add, measure = Column.add, Column.measure

        def counted_add(column: Column, message: Message) -> object:
            self.added += 1
            return add(column, message)

        def counted_settle(column: Column, anchor: Anchor | None, height: int) -> int:
            self.placed += 1
            return measure(column, anchor, height)

        monkeypatch.setattr(Column, "add", counted_add)
        monkeypatch.setattr(Column, "measure", counted_settle)

    async def happens(self) -> None:
        person = self.person
        view, tabs = person.chat.context.presenter, person.chat.context.tabs
        tab = person.tab
        view.moving = tab  # its news wait
        await tab.window.say("many-unjoinable-chunks")
        await tab.window.wait_idle()
        self.added = self.placed = 0
        view.moving = None
        tabs.panes.focused.published.set()
        await person.until(lambda: not tabs.events, "the news to be taken in")
        await person.until(lambda: not tab.busy, "the end of the turn")
        # Rows far below whoever reads further up are let go once the turn has ended.
        await person.until(
            lambda: tab.leaf_id in {**view._rows, **(view._end or {})}, "the newest row to come"
        )
        await person.until(lambda: not person.transcript.busy, "it to be drawn")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    setting = AgentSetting("hostile", (sys.executable, str(HOSTILE_AGENT)), "Hostile", ())
    return Settings(agents={"hostile": setting})


async def test_w18_whoever_follows_a_flood_of_messages_is_shown_the_newest_page_and_not_each(
    tmp_path: Path, hostile: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = find_agent("hostile", hostile)
    async with at_the_screen(str(tmp_path / "here"), agent=agent, settings=hostile) as person:
        flood = Unlooked(person, monkeypatch)
        await flood.happens()
        await person.sees("after many-unjoinable-chunks.")
        assert flood.added < 500
        assert len(person.chat.context.presenter._rows) <= PAGE
        await person.until(lambda: person.transcript.following, "the end to be in sight")
        # What is told late of a row above the page is no news: it would come to stand below the newest one.
        tabs, view, tab = person.chat.context.tabs, person.chat.context.presenter, person.tab
        rows = await tabs.branches.of_branch(tab, lambda reader, leaf: messages.page(reader, leaf, 1_000))
        tabs.events.publish(tab, MessageAdded(tab.window_id, rows[0]))
        tabs.panes.focused.published.set()
        await person.until(lambda: not tabs.events, "the news to be taken in")
        assert rows[0].id not in view._rows and rows[-1].id in view._rows
        tab.leaf_id = rows[-1].id
        await person.say("garbage")
        await person.sees("after garbage.")


async def test_w18_whoever_reads_above_a_flood_of_messages_keeps_their_place_and_all_of_them_come(
    tmp_path: Path, hostile: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = find_agent("hostile", hostile)
    async with at_the_screen(str(tmp_path / "here"), agent=agent, settings=hostile) as person:
        await person.say("huge-text")
        await person.sees("after huge-text.")
        await person.idle()
        await person.until(lambda: not person.transcript.busy, "it to be drawn")
        person.transcript.scroll_home()
        await person.sees("↓")  # the row above the composer stays free from here on
        await person.done()
        before = shown(person.transcript)
        flood = Unlooked(person, monkeypatch)
        await flood.happens()
        assert shown(person.transcript) == before
        assert flood.added >= 2_000
        assert flood.placed < 200
        await person.chat.context.presenter.go_to(None)
        await person.sees("after many-unjoinable-chunks.")
