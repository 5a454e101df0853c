"""The transcript on a screen: following, reading, browsing, selecting, finding."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from rich.console import RenderableType
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.selection import SELECT_ALL
from textual.strip import Strip

from catena.transcript import Transcript
from catena.transcript.drawing.render_options import Palette
from catena.transcript.messages.prompt import Siblings
from catena_store.records import Kind, MessageState
from support.screen.messages import press, taken_in
from support.screen.transcript import START, Writer, at, markdown, page, posted, scene, settled, shown, until


async def test_it_opens_at_the_end_and_follows_it() -> None:
    async with scene(page(60)) as (transcript, _):
        assert transcript.following
        assert transcript.position() is None
        assert "answer 59" in "\n".join(shown(transcript))


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (120, 40)])
@pytest.mark.parametrize("seed", range(6))
async def test_q02_the_last_byte_of_an_answer_is_on_the_screen(seed: int, size: tuple[int, int]) -> None:
    chance = random.Random(seed)
    writer = Writer()
    prompt, answer = writer.prompt("go"), writer.growing()
    text = markdown(chance, chance.choice((3, 30, 300))).replace("[ref]: ", "") + f"\n\nlast byte {seed}!"
    async with scene([prompt, answer], size=size) as (transcript, pilot):
        start = 0
        while start < len(text):
            end = start + chance.randint(5, 20)
            transcript.grow(answer.id, text[start:end])
            start = end
            if chance.random() < 0.05:
                await taken_in(pilot)
        transcript.change(replace(answer, text=text, state=MessageState.FINAL))
        await settled(transcript, pilot)
        assert f"last byte {seed}!" in "\n".join(shown(transcript))


@pytest.mark.parametrize("end", ["-", "===", "1.", "| a |", "``", "**b", "x"])
async def test_q02_even_an_undecided_end_is_shown_when_nothing_follows(end: str) -> None:
    writer = Writer()
    answer = writer.growing()
    async with scene([writer.prompt("go"), answer]) as (transcript, pilot):
        transcript.grow(answer.id, "text\n\n" + end)
        await until(lambda: not transcript.busy)
        await taken_in(pilot)
        rows = [row.strip() for row in shown(transcript)]
        assert rows[rows.index("text") + 1 : rows.index("text") + 3] == [
            "",
            {"-": "•", "===": "===", "``": "``"}.get(end, end),
        ]


async def test_a_thousand_pieces_are_drawn_in_few_frames_and_nothing_runs_afterwards() -> None:
    writer = Writer()
    answer = writer.growing()
    async with scene([answer]) as (transcript, pilot):
        flushes = 0
        flush = transcript._column.grow

        def counted(message_id: str, text: str, *, draw: bool) -> None:
            nonlocal flushes
            flushes += 1
            flush(message_id, text, draw=draw)

        transcript._column.grow = counted  # type: ignore[method-assign]
        for number in range(1000):
            transcript.grow(answer.id, f"word{number} ")
        await settled(transcript, pilot)
        assert flushes <= 2
        assert not transcript.busy
        assert "word999" in "\n".join(shown(transcript))


async def test_while_one_reads_above_what_comes_moves_nothing() -> None:
    messages = page(40)
    writer = Writer()
    async with scene(messages) as (transcript, pilot):
        await press(pilot, "tab")
        transcript.action_page_up()
        await settled(transcript, pilot)
        before = shown(transcript)
        assert not transcript.following
        answer = replace(writer.growing(), id="new", depth=100)
        transcript.add(answer)
        for _ in range(50):
            transcript.grow("new", "more and more words\n\n")
        await settled(transcript, pilot)
        transcript.change(replace(answer, text="short after all", state=MessageState.FINAL))
        await settled(transcript, pilot)
        assert shown(transcript) == before
        transcript.follow()
        await settled(transcript, pilot)
        assert shown(transcript)[-2].endswith("short after all")


async def test_the_first_frame_of_another_size_has_rows_that_are_wrapped_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene(page(60)) as (transcript, pilot):
        transcript.styles.width = 50
        frames: list[list[Strip]] = []
        display = pilot.app._display

        def noted(screen: Screen[object], frame: RenderableType | None) -> None:
            frames.append(transcript.render_lines(Region(0, 0, 50, transcript.size.height)))
            display(screen, frame)

        monkeypatch.setattr(pilot.app, "_display", noted)
        await settled(transcript, pilot)
        assert {strip.cell_length for strip in frames[0]} == {50}
        assert [strip.text.rstrip() for strip in frames[0]] == shown(transcript)


async def test_keys_scroll_by_pages_and_to_both_ends() -> None:
    async with scene(page(80)) as (transcript, pilot):
        transcript.focus()
        end = shown(transcript)
        await press(pilot, "pageup")
        assert not transcript.following
        above = shown(transcript)
        assert above[-1] != end[-1]
        await press(pilot, "pagedown")
        assert shown(transcript) == end
        assert transcript.following
        await press(pilot, "home")
        assert shown(transcript)[1].startswith("▌ question 0 ")
        await press(pilot, "end")
        assert shown(transcript) == end


async def test_page_up_skips_no_row_and_shows_none_twice() -> None:
    messages = page(120)
    async with scene(messages) as (transcript, pilot):
        pages = [shown(transcript)]
        while not pages[-1][1].startswith("▌ question 0 "):
            transcript.action_page_up()
            await taken_in(pilot)
            pages.append(shown(transcript))
        rows = [row for screen in reversed(pages[1:-1]) for row in screen]
        questions = [row for row in rows if "question" in row]
        numbers = [int(row.split()[2]) for row in questions]
        assert numbers == list(range(numbers[0], numbers[-1] + 2, 2))


async def test_the_wheel_scrolls_a_few_rows() -> None:
    async with scene(page(40)) as (transcript, pilot):
        before = shown(transcript)
        await pilot._post_mouse_events([events.MouseScrollUp], widget=transcript, offset=(5, 5))
        await taken_in(pilot)
        after = shown(transcript)
        moved = next(n for n in range(1, 10) if after[n:] == before[:-n])
        assert moved in (1, 2, 3)


async def test_older_messages_are_asked_for_early_once_and_put_above_without_moving_anything() -> None:
    messages = page(120)
    async with scene(messages[80:]) as (transcript, pilot):
        transcript.show(messages[80:], more_above=True)
        await settled(transcript, pilot)
        assert not posted(transcript, Transcript.OlderRequested)
        while not posted(transcript, Transcript.OlderRequested):
            transcript.action_page_up()
            await taken_in(pilot)
        assert transcript.scroll_offset.y > 0
        before = shown(transcript)
        transcript.action_page_down()
        transcript.action_page_up()
        await taken_in(pilot)
        assert len(posted(transcript, Transcript.OlderRequested)) == 1
        transcript.prepend(messages[:80], more_above=False)
        await settled(transcript, pilot)
        assert shown(transcript) == before


@pytest.mark.parametrize("back", [1, 3, 5])
async def test_m06_a_position_is_the_same_row_after_a_restart_whatever_was_added(back: int) -> None:
    messages = page(80)
    async with scene(messages) as (transcript, pilot):
        for _ in range(back):
            transcript.action_page_up()
            await taken_in(pilot)
        place, before = transcript.position(), shown(transcript)
    assert place is not None
    async with scene(messages[:20]) as (transcript, pilot):
        more = Writer().answer("came meanwhile " * 100)
        transcript.show([*messages[10:], replace(more, id="new", depth=80)], more_above=True, scroll=place)
        await settled(transcript, pilot)
        assert shown(transcript) == before
        assert transcript.position() == place
        assert not transcript.following


async def test_s06_a_resize_keeps_the_top_message_and_the_end() -> None:
    async with scene(page(60)) as (transcript, pilot):
        await pilot.resize_terminal(50, 12)
        await taken_in(pilot)
        await settled(transcript, pilot)
        assert "answer 59" in "\n".join(shown(transcript))
        assert transcript.following
        for _ in range(4):
            transcript.action_page_up()
            await taken_in(pilot)
        top = next(row for row in shown(transcript) if "answer" in row or "question" in row)
        await pilot.resize_terminal(90, 30)
        await taken_in(pilot)
        await settled(transcript, pilot)
        first = " ".join(top.strip(" ▌").split()[:2]).rstrip(":")
        assert any(first in row for row in shown(transcript)[:12])


async def test_s06_the_end_stays_in_sight_where_the_screen_grows_taller() -> None:
    async with scene(page(60), size=(80, 12)) as (transcript, pilot):
        assert transcript.following
        for height in (24, 12, 13, 30):
            await pilot.resize_terminal(80, height)
            await settled(transcript, pilot)
            assert transcript.following
            assert "answer 59" in "\n".join(shown(transcript))


async def test_another_theme_redraws_everything_in_its_colours() -> None:
    writer = Writer()
    async with scene([writer.prompt("hello"), writer.answer("a `code` b")]) as (transcript, pilot):
        dark = [
            segment.style for strip in transcript.render_lines(transcript.size.region) for segment in strip
        ]
        rows = shown(transcript)
        dark_text = transcript._column.options.palette.text
        transcript.app.theme = "textual-light"
        await settled(transcript, pilot)
        light = [
            segment.style for strip in transcript.render_lines(transcript.size.region) for segment in strip
        ]
        assert shown(transcript) == rows
        assert light != dark
        text = transcript._column.options.palette.text
        assert text == transcript.get_component_rich_style("transcript--text")
        assert text.color != dark_text.color


async def test_q01_styles_of_roles_are_mixed_once_and_again_in_another_theme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mixed, mix = [], Palette.read

    def counted(style_of: Callable[[str], Style]) -> Palette:
        mixed.append(style_of)
        return mix(style_of)

    async with scene(page(3)) as (transcript, pilot):
        monkeypatch.setattr(Palette, "read", counted)
        await pilot.resize_terminal(60, 20)
        transcript.notify_style_update()
        await settled(transcript, pilot)
        assert transcript.size.width <= 60 and not mixed
        transcript.app.theme = "textual-light"
        await settled(transcript, pilot)
        assert mixed


@pytest.mark.parametrize(
    "theme",
    [
        "catena-dark",
        "catena-light",
        "catena-ansi",
        "ansi-dark",
        "ansi-light",
        "textual-dark",
        "textual-light",
    ],
)
async def test_s01_what_is_dim_is_dimmer_than_text_in_every_theme(theme: str) -> None:
    writer = Writer()
    async with scene([writer.answer("text"), writer.row(Kind.THOUGHT, "x")], theme=theme) as (transcript, _):
        palette = transcript._column.options.palette
        for dimmer in (palette.muted, palette.faint, palette.quote, palette.rule):
            assert dimmer.color != palette.text.color or dimmer.dim
        assert palette.prompt_bar.color != palette.text.color


# Browsing


async def test_w26_browsing_goes_message_by_message_and_prompt_by_prompt() -> None:
    messages = page(40)
    async with scene(messages) as (transcript, pilot):
        transcript.browse(True)
        assert transcript.current == "m40"
        transcript.move(-1)
        assert transcript.current == "m39"
        transcript.move(-2, prompts=True)
        assert transcript.current == "m35"
        await taken_in(pilot)
        assert any("█ question 34" in row for row in shown(transcript))
        transcript.move(-100, prompts=True)
        assert transcript.current == "m1"
        transcript.move(1)
        transcript.move(1, prompts=True)
        assert transcript.current == "m3"
        transcript.move(1000)
        assert transcript.current == "m40"
        await taken_in(pilot)
        assert transcript.following
        transcript.browse(False)
        assert transcript.current is None


async def test_w26_folds_are_toggled_by_key_or_click_and_remembered() -> None:
    writer = Writer()
    messages = [
        writer.prompt("q"),
        writer.row(Kind.THOUGHT, "what I **thought**", data={"started_at": at(0), "ended_at": at(3)}),
        writer.answer("done"),
    ]
    async with scene(messages) as (transcript, pilot):
        assert "▸ Thought for 3 s" in shown(transcript)
        await pilot.click(transcript, offset=(6, 3))
        await taken_in(pilot)
        assert shown(transcript)[3:5] == ["▾ Thought for 3 s", "  what I thought"]
        assert [(event.message_id, event.folded) for event in posted(transcript, Transcript.FoldToggled)] == [
            ("m2", False)
        ]
        transcript.show(messages, more_above=False)
        await taken_in(pilot)
        assert "  what I thought" in shown(transcript)
        transcript.toggle_fold("m2")
        await taken_in(pilot)
        assert "  what I thought" not in shown(transcript)
        transcript.fold_all(False)
        await taken_in(pilot)
        assert "  what I thought" in shown(transcript)


LONG = "\n".join(
    ["Why does this fail?", *(f"line {number}\tof the log" for number in range(1, 399)), "Help."]
)


async def test_u02_a_long_prompt_is_folded_and_a_click_or_key_unfolds_it() -> None:
    writer = Writer()
    async with scene([writer.prompt(LONG), writer.answer("done")], size=(72, 16)) as (transcript, pilot):
        assert [row[:40] for row in shown(transcript)][1:9] == [
            "▌ Why does this fail?                   ",
            *(f"▌ line {number}  of the log" for number in range(1, 5)),
            "▌ … 393 lines ▸",
            "▌ line 398    of the log",
            "▌ Help.",
        ]
        await pilot.click(transcript, offset=(6, 6))
        await taken_in(pilot)
        assert "▌ line 6  of the log" in shown(transcript)
        await pilot.click(transcript, offset=(6, 6))
        await taken_in(pilot)
        assert "▌ line 6  of the log" in shown(transcript)  # text of it, which a click leaves alone
        transcript.toggle_fold("m1")
        await taken_in(pilot)
        assert "▌ … 393 lines ▸" in shown(transcript)
        transcript.find("line 7\t")
        await taken_in(pilot)
        transcript.find("line 7 ")
        await taken_in(pilot)
        assert "▌ line 7  of the log" in shown(transcript)


async def test_u02_twenty_lines_are_not_folded_and_what_has_one_endless_line_is() -> None:
    texts = {"\n".join("x" * 20): "", "\n".join("x" * 21): "14 lines", "word " * 401: "1,505 characters"}
    for text, hidden in texts.items():
        async with scene([Writer().prompt(text)], size=(72, 30)) as (transcript, _):
            assert any(f"▌ … {hidden} ▸" == row for row in shown(transcript)) is bool(hidden)


async def test_u02_copying_over_a_folded_prompt_gives_the_whole_with_its_tabs() -> None:
    writer = Writer()
    async with scene([writer.prompt(LONG), writer.answer("done")], size=(72, 16)) as (transcript, pilot):
        assert await drag(transcript, pilot, (2, 1), (8, 8)) == LONG
        assert await drag(transcript, pilot, (2, 2), (21, 3)) == "line 1\tof the log\nline 2\tof the log"
        assert await drag(transcript, pilot, (5, 2), (13, 2)) == "e 1\tof t"


async def test_unfolding_leaves_the_line_where_it_is() -> None:
    writer = Writer()
    messages = [*page(30), replace(writer.row(Kind.THOUGHT, "one\n\n" * 60), id="thought", depth=31)]
    async with scene(messages) as (transcript, pilot):
        row = next(n for n, text in enumerate(shown(transcript)) if "Thought" in text)
        transcript.toggle_fold("thought")
        await taken_in(pilot)
        assert "▾ Thought" in shown(transcript)[row]
        transcript.toggle_fold("thought")
        await taken_in(pilot)
        assert "▸ Thought" in "\n".join(shown(transcript))


async def test_p10_a_seam_asks_for_what_was_told_and_shows_it() -> None:
    writer = Writer()
    messages = [writer.prompt("q"), writer.row(Kind.SEAM, "new session", data={"how": "told"})]
    async with scene(messages) as (transcript, pilot):
        transcript.toggle_fold("m2")
        await taken_in(pilot)
        assert [event.message_id for event in posted(transcript, Transcript.SeamOpened)] == ["m2"]
        transcript.set_seam_detail("m2", "This was said before.")
        await taken_in(pilot)
        assert "  This was said before." in shown(transcript)


async def test_e03_a_click_on_the_arrows_wants_a_sibling() -> None:
    async with scene([Writer().prompt("q")]) as (transcript, pilot):
        transcript.set_siblings({"m1": Siblings(2, 3)})
        await taken_in(pilot)
        row = shown(transcript)[1]
        await pilot.click(transcript, offset=(row.index("‹"), 1))
        await taken_in(pilot)
        await pilot.click(transcript, offset=(row.index("›"), 1))
        await taken_in(pilot)
        assert [event.step for event in posted(transcript, Transcript.SiblingRequested)] == [-1, 1]


async def test_w26_a_click_on_a_link_opens_it_and_takes_the_keys_from_nobody() -> None:
    async with scene([Writer().answer("see [here](http://x.y/z) or there")]) as (transcript, pilot):
        transcript.screen.set_focus(None)
        row = shown(transcript)[1]
        await pilot.click(transcript, offset=(row.index("here"), 1))
        await taken_in(pilot)
        await pilot.click(transcript, offset=(row.index("there"), 1))
        await taken_in(pilot)
        assert [event.href for event in posted(transcript, Transcript.LinkOpened)] == ["http://x.y/z"]
        assert not transcript.has_focus


async def test_e02_everything_after_a_message_is_taken_away() -> None:
    rows = page(10)
    last = next(at for at, row in enumerate(rows) if row.id == "m7")
    async with scene(rows) as (transcript, pilot):
        transcript.show(rows[: last + 1], more_above=False)
        await taken_in(pilot)
        assert shown(transcript)[-1] == "" or "question 6" in "\n".join(shown(transcript))
        assert "answer 7" not in "\n".join(shown(transcript))
        transcript.show(rows[:last], more_above=False)
        transcript.add(Writer().prompt("instead"))
        await taken_in(pilot)
        assert "question 6" not in "\n".join(shown(transcript))
        transcript.show((), more_above=False)
        await taken_in(pilot)
        assert "".join(shown(transcript)) == ""


# Copying


async def drag(
    transcript: Transcript, pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]
) -> str:
    await pilot.mouse_down(transcript, offset=start)
    await pilot.hover(transcript, offset=end)
    await pilot.mouse_up(transcript, offset=end)
    await taken_in(pilot)
    return transcript.screen.get_selected_text() or ""


ANSWER = """A paragraph that is **wrapped** because it is longer than one row of this narrow screen.

```py
def f():
\treturn 1
```

- one
- two
"""


async def test_w22_a_drag_over_wrapped_rows_copies_no_newline_and_no_gutter() -> None:
    async with scene([Writer().answer(ANSWER)], size=(62, 20)) as (transcript, pilot):
        rows = shown(transcript)
        text = await drag(transcript, pilot, (rows[1].index("that"), 1), (rows[2].index("row") + 2, 2))
        assert text == "that is wrapped because it is longer than one row"


async def test_w22_whole_blocks_are_copied_as_their_source() -> None:
    async with scene([Writer().prompt("first"), Writer().answer(ANSWER)], size=(62, 20)) as (
        transcript,
        pilot,
    ):
        transcript.show(
            [Writer().prompt("q"), replace(Writer().answer(ANSWER), id="a", depth=1)], more_above=False
        )
        await taken_in(pilot)
        rows = shown(transcript)
        last = max(n for n, row in enumerate(rows) if row)
        text = await drag(transcript, pilot, (0, 3), (55, last - 1))
        assert text.startswith("A paragraph that is **wrapped** because")
        assert "```py\ndef f():\n\treturn 1\n```" in text
        assert text.endswith("- one")


async def test_w22_a_selection_spans_messages_and_survives_what_comes_above_and_below() -> None:
    messages = page(20)
    async with scene(messages[10:]) as (transcript, pilot):
        text = await drag(transcript, pilot, (4, 10), (10, 20))
        assert text
        transcript.prepend(messages[:10], more_above=False)
        transcript.add(replace(Writer().prompt("later"), id="later", depth=99))
        await settled(transcript, pilot)
        assert transcript.screen.get_selected_text() == text


async def test_w26_keys_select_whole_messages() -> None:
    async with scene(page(6)) as (transcript, pilot):
        transcript.focus()
        transcript.browse(True)
        await press(pilot, "shift+up", "shift+up", "shift+up")
        text = transcript.screen.get_selected_text()
        assert text is not None
        assert text.startswith("answer 3:")
        assert "question 4" in text
        assert text.rstrip().endswith("```")


async def test_w26_a_double_click_selects_a_word_and_a_third_the_message() -> None:
    async with scene([Writer().prompt("open src/app.py now"), Writer().answer("x")]) as (transcript, pilot):
        column = shown(transcript)[1].index("app")
        await pilot.click(transcript, offset=(column, 1), times=2)
        await taken_in(pilot)
        assert (transcript.screen.get_selected_text() or "").strip() == "src/app.py"
        await pilot.click(transcript, offset=(column, 1), times=3)
        await taken_in(pilot)
        assert (transcript.screen.get_selected_text() or "").strip() == "open src/app.py now"


async def test_w22_everything_selected_is_every_messages_source() -> None:
    messages = page(200)
    async with scene(messages) as (transcript, _):
        selected = transcript.get_selection(SELECT_ALL)
        assert selected is not None
        assert selected[0] == "\n\n".join(message.text.strip("\n") for message in messages)


async def test_w22_a_message_and_its_code_are_copied_exactly() -> None:
    writer = Writer()
    text = "See:\n\n```go\nfunc f() {\n\treturn\n}\n```\n\n1. then\n\n   ```sh\n   ls\n   ```\r\n"
    async with scene([writer.answer(text), writer.growing()]) as (transcript, _):
        assert transcript.text_of("m1") == text
        assert transcript.code_blocks_of("m1") == ["func f() {\n\treturn\n}", "ls"]
        transcript.grow("m2", "half\n```\nco")
        assert transcript.text_of("m2") == "half\n```\nco"
        assert transcript.code_blocks_of("m2") == ["co"]
        assert transcript.text_of("nobody") == ""


# Finding


async def test_w26_find_goes_from_hit_to_hit_and_around_the_ends() -> None:
    async with scene(page(60)) as (transcript, pilot):
        hits = transcript.find("QUESTION 1")
        assert [hit.message_id for hit in hits] == ["m11", "m13", "m15", "m17", "m19"]
        assert transcript.hit_position == (5, 5)
        await taken_in(pilot)
        assert any("question 18" in row for row in shown(transcript))
        assert transcript.find_step(-1) == hits[3]
        await taken_in(pilot)
        assert any("question 16" in row for row in shown(transcript))
        transcript.find_step(1)
        assert transcript.find_step(1) == hits[0]
        assert transcript.hit_position == (1, 5)
        assert transcript.find("") == []
        assert transcript.hit_position == (0, 0)
        assert transcript.find_step(1) is None


async def test_w26_hits_are_marked_also_where_a_row_was_wrapped() -> None:
    text = "word " * 8 + "two parts " + "word " * 8 + "two parts"
    async with scene([Writer().answer(text)], size=(62, 12)) as (transcript, pilot):
        assert len(transcript.find("two parts")) == 2
        await taken_in(pilot)
        strips = transcript.render_lines(transcript.size.region)
        current = transcript._column.options.palette.hit_current.bgcolor
        marked = [
            s.text
            for strip in strips
            for s in strip
            if s.style and (s.style.reverse or s.style.bgcolor == current)
        ]
        assert "".join(marked).replace(" ", "") == "twoparts" * 2


async def test_w26_a_hit_inside_a_folded_message_unfolds_it() -> None:
    writer = Writer()
    messages = [
        writer.row(Kind.THOUGHT, "a needle in here"),
        *[writer.answer("hay " * 500) for _ in range(5)],
    ]
    async with scene(messages) as (transcript, pilot):
        transcript.find("needle")
        await taken_in(pilot)
        assert any("a needle in here" in row for row in shown(transcript))


async def test_w27_hostile_messages_are_drawn_as_text() -> None:
    writer = Writer()
    evil = "\x1b]52;c;eA==\x07\x1b[2J[bold red]x[/] [/] \u202eabc " + "z" * 1_000_000
    async with scene([writer.prompt(evil), writer.answer(evil)]) as (transcript, pilot):
        for _ in range(3):
            text = "\n".join(shown(transcript))
            assert "\x1b" not in text
            assert "\u202e" not in text
            transcript.scroll_home()
            await taken_in(pilot)
        assert "[bold red]x[/] [/] ⟨202E⟩abc" in "\n".join(shown(transcript))


async def test_q04_what_is_out_of_sight_is_not_kept_drawn() -> None:
    async with scene(page(600)) as (transcript, pilot):
        for _ in range(60):
            transcript.action_page_up()
            await taken_in(pilot)
        entries = transcript._column.entries
        drawn = sum(
            len(part.lines) for entry in entries for part in entry.parts or () if part.lines is not None
        )
        assert drawn <= 1600


async def test_the_pointer_finds_the_character_it_is_on() -> None:
    async with scene([Writer().answer("日本語 text")]) as (transcript, _):
        column = 2
        _, offset = transcript.screen.get_widget_and_offset_at(column + 4, 1)
        assert offset is not None
        assert offset.x == 2
        _, gutter = transcript.screen.get_widget_and_offset_at(0, 1)
        assert gutter is not None
        assert gutter.x <= 0
        assert isinstance(gutter, Offset)


async def test_e02_what_an_edited_prompt_leaves_behind_is_faint_and_nothing_moves() -> None:
    writer = Writer()
    messages = [
        writer.prompt("first"),
        writer.answer("kept"),
        writer.prompt("second"),
        writer.answer("a `b` c"),
    ]
    async with scene(messages) as (transcript, pilot):
        palette = transcript._column.options.palette
        before = shown(transcript)
        transcript.edit("m3")
        await taken_in(pilot)
        assert shown(transcript) == before
        rows = transcript.render_lines(transcript.size.region)
        colours = {
            strip.text.split()[0]: {
                segment.style and segment.style.color for segment in strip if segment.text.strip()
            }
            for strip in rows
            if strip.text.strip(" ▌") and strip.text.split()[0] in ("kept", "a")
        }
        assert colours["kept"] != {palette.faint.color}
        assert colours["a"] == {palette.faint.color}
        edited = next(strip for strip in rows if "second" in strip.text)
        assert {segment.style and segment.style.bgcolor for segment in edited} == {palette.selection.bgcolor}
        transcript.edit(None)
        await taken_in(pilot)
        assert transcript.render_lines(transcript.size.region) != rows


async def test_w07_what_the_agent_was_sent_and_answered_is_shown_raw_and_hidden_again() -> None:
    writer = Writer()
    call = writer.tool(
        "execute",
        "make",
        raw_input={"command": "make"},
        content=[{"type": "text", "text": "built"}],
    )
    async with scene([call]) as (transcript, pilot):
        before = shown(transcript)
        transcript.browse(True)
        transcript.toggle_raw()
        await taken_in(pilot)
        assert '"command": "make"' in "\n".join(shown(transcript))
        transcript.toggle_raw()
        transcript.browse(False)
        await taken_in(pilot)
        assert shown(transcript) == before


async def test_while_the_agent_works_a_mark_turns_below_the_last_message_and_moves_nothing() -> None:
    now = 100.0
    async with scene([Writer().answer("text")]) as (transcript, pilot):
        transcript._now = lambda: now
        transcript.working(now - 21)
        await taken_in(pilot)
        assert [row for row in shown(transcript) if row] == ["  text", "◐ 21 s"]
        now += 0.25
        transcript._draw_tail()
        await taken_in(pilot)
        assert [row for row in shown(transcript) if row] == ["  text", "◓ 21 s"]
        transcript.working(None)
        await taken_in(pilot)
        assert [row for row in shown(transcript) if row] == ["  text"]


async def test_while_the_agent_works_a_running_call_shows_for_how_long() -> None:
    call = Writer().tool("execute", "make", state=MessageState.OPEN, status="in_progress", started_at=at(0))
    async with scene([call], size=(60, 10)) as (transcript, pilot):
        transcript._wall_clock = lambda: START + timedelta(seconds=3)
        transcript.working(transcript._now())
        await taken_in(pilot)
        assert "◐ Run     make".ljust(55) + "3 s" in shown(transcript)
        transcript.working(None)
        await taken_in(pilot)
        assert "◐ Run     make" in shown(transcript)


async def test_a_hit_in_a_group_of_calls_opens_it() -> None:
    writer = Writer()
    calls = [
        writer.tool("read", f"Read {name}", locations=[{"path": f"{name}.py"}])
        for name in ("a", "needle", "c")
    ]
    async with scene(calls) as (transcript, pilot):
        assert [row for row in shown(transcript) if row] == ["✓ Read    3 files ▸"]
        transcript.find("needle")
        await taken_in(pilot)
        assert "✓ Read    needle.py" in shown(transcript)


async def test_a_click_opens_a_group_and_another_one_closes_it() -> None:
    writer = Writer()
    calls = [writer.tool("read", f"Read {name}", locations=[{"path": f"{name}.py"}]) for name in "abc"]
    async with scene(calls) as (transcript, pilot):
        await pilot.click(transcript, offset=(14, 1))
        await taken_in(pilot)
        assert next(row for row in shown(transcript) if row) == "✓ Read    3 files ▾"
        assert "✓ Read    b.py" in shown(transcript)
        await pilot.click(transcript, offset=(14, 1))
        await taken_in(pilot)
        assert [row for row in shown(transcript) if row] == ["✓ Read    3 files ▸"]


async def test_a_notice_that_is_said_elsewhere_is_not_drawn_meanwhile() -> None:
    writer = Writer()
    messages = [writer.prompt("q"), writer.row(Kind.NOTICE, "It stopped.", data={"trouble": "agent_gone"})]
    async with scene(messages) as (transcript, pilot):
        transcript.put_away("m2")
        await taken_in(pilot)
        assert "It stopped." not in "\n".join(shown(transcript))
        transcript.put_away(None)
        await taken_in(pilot)
        assert "! It stopped." in shown(transcript)
