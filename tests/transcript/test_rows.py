"""How each kind of message stands in the column, at widths of 100, 60 and 30."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from rich.style import Style

from catena.text.call_text import change_of
from catena.text.changes_text import change_lines
from catena.text.formats import duration_text
from catena.transcript.drawing.output_colours import fit_runs, runs_of
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.messages.diff import changed_words, draw_diff
from catena.transcript.messages.prompt import Siblings
from catena.transcript.model.column import Column
from catena.transcript.model.entry import Entry
from catena.transcript.model.source import text_of
from catena.transcript.widget.viewport import Viewport
from catena_acp.diff import DiffLine
from catena_acp.spoken.blocks import Diff
from catena_store.records import Kind, Message, MessageState
from support.screen.transcript import Writer, at, column, viewport

OLD = "".join(f"line {number}\n" for number in range(1, 30))
NEW = OLD.replace("line 5\n", "line five\nand more\n").replace("line 25\n", "")


def conversation() -> list[Message]:
    writer = Writer()
    rows = [
        writer.prompt("Find out why."),
        writer.row(Kind.THOUGHT, "hm", data={"started_at": at(0), "ended_at": at(8)}),
        writer.tool("read", "Read auth/views.py", locations=[{"path": "auth/views.py"}]),
        writer.tool(
            "edit",
            "Edit auth/views.py",
            content=[{"type": "diff", "path": "/home/u/shop/auth/views.py", "old": OLD, "new": NEW}],
            started_at=at(0),
            ended_at=at(0.3),
        ),
        writer.answer("It was bound late:\n\n```py\nx = 1\n```"),
        writer.prompt("Now add a test.", link="B"),
        writer.row(Kind.SEAM, "rate limit at 14:02 · new session", link="B"),
        writer.tool(
            "execute",
            "pytest",
            state=MessageState.OPEN,
            status="in_progress",
            raw_input={"command": "pytest -q"},
        ),
        writer.answer("Half an ans", link="B", state=MessageState.INTERRUPTED),
        writer.row(Kind.SEAM, barrier=True, link="B"),
        writer.prompt("Something else.", link="C"),
    ]
    rows[7] = replace(rows[7], link_id=None)  # not stamped yet: it belongs to its turn all the same
    return rows


def test_w07_a_conversation_as_it_stands_in_a_column() -> None:
    messages = conversation()
    assert column(messages, 72) == [
        "",
        "▌ Find out why.                                                  14:00",
        "",
        "▸ Thought for 8 s",
        "✓ Read    auth/views.py",
        "✓ Edit    /home/u/shop/auth/views.py                     +2 −2   0.3 s",
        "      4   line 4",
        "      5 − line 5",
        "      5 + line five",
        "      6 + and more",
        "      7   line 6",
        "          ⋯",
        "     25   line 24",
        "     25 − line 25",
        "     26   line 26",
        "",
        "  It was bound late:",
        "",
        "  x = 1                                                             py",
        "",
        "╌ rate limit at 14:02 · new session ▸ ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
        "",
        "▌ Now add a test.                                                14:00",
        "",
        "◐ Run     pytest -q",
        "",
        "  Half an ans",
        "  interrupted",
        "",
        "╌ context cleared ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
        "",
        "▌ Something else.                                                14:00",
    ]


def test_in_thirty_columns_the_left_margin_stays_and_the_right_one_goes() -> None:
    assert column(conversation(), 30) == [
        "",
        "▌ Find out why.          14:00",
        "",
        "▸ Thought for 8 s",
        "✓ Read  auth/views.py",
        "✓ Edit  /home…h/views.py +2 −2",
        "        line 4",
        "      − line 5",
        "      + line five",
        "      + and more",
        "        line 6",
        "        ⋯",
        "        line 24",
        "      − line 25",
        "        line 26",
        "",
        "  It was bound late:",
        "",
        "  x = 1",
        "",
        "╌ rate li… · new session ▸ ╌╌╌",
        "",
        "▌ Now add a test.        14:00",
        "",
        "◐ Run   pytest -q",
        "",
        "  Half an ans",
        "  interrupted",
        "",
        "╌ context cleared ╌╌╌╌╌╌╌╌╌╌╌╌",
        "",
        "▌ Something else.        14:00",
    ]


@pytest.mark.parametrize(
    ("width", "before", "last"),
    [(160, 30, 128), (120, 10, 108), (102, 1, 99), (80, 0, 78), (60, 0, 58), (40, 0, 40)],
)
def test_the_column_is_centred_and_never_wider_than_a_hundred_cells(
    width: int, before: int, last: int
) -> None:
    rows = column([Writer().answer("word " * 200, link="A")], width)
    assert rows[1].startswith(" " * (before + 2) + "word")
    assert max(len(row) for row in rows) <= last
    assert max(len(row) for row in rows) > last - 6


def test_e03_siblings_stand_at_the_right_of_a_prompts_first_row() -> None:
    writer = Writer()
    view = viewport([writer.prompt("word " * 20), writer.prompt("alone")], 60, 20)
    view.column.set_siblings({"m1": Siblings(2, 3), "m2": Siblings(1, 1)})
    view.place()
    assert [strip.text.rstrip() for strip in view.strips(None, None)][1:6] == [
        "▌ word word word word word word word word  14:00   ‹ 2/3 ›",
        "▌ word word word word word word word word word word word",
        "▌ word",
        "",
        "▌ alone                                              14:00",
    ]


def test_u02_a_prompt_uses_the_whole_width_and_keeps_its_lines_apart() -> None:
    rows = column([Writer().prompt(f"{'a' * 60}\n{'b' * 68}\n\n{'c ' * 40}")], 72)
    assert [row.rstrip() for row in rows][1:6] == [
        f"▌ {'a' * 60}   14:00",
        f"▌ {'b' * 68}",
        "▌",
        f"▌ {'c ' * 34}".rstrip(),
        f"▌ {'c ' * 6}".rstrip(),
    ]


def test_e08_the_agent_that_a_prompt_went_to_stands_before_its_siblings_where_there_is_room() -> None:
    for width, line in (
        (60, "▌ word word word word word word     14:00   Gemini ‹ 2/3 ›"),
        (30, "▌ word word word   14:00   2/3"),
    ):
        view = viewport([Writer().prompt("word " * 6)], width, 20)
        view.column.set_siblings({"m1": Siblings(2, 3, "Gemini")})
        view.place()
        assert view.strips(None, None)[1].text.rstrip() == line


def test_w05_attachments_and_a_refusal_stand_under_the_prompt() -> None:
    prompt = Writer().prompt(
        "look", state=MessageState.REFUSED, data={"attachments": [{"name": "a.png"}, {"path": "b"}]}
    )
    assert column([prompt], 60) == [
        "",
        "▌ look                                               14:00",
        "▌ + a.png",
        "▌ + b",
        "▌ not sent",
    ]


def test_w07_an_edit_unfolds_to_its_diff_with_numbers_signs_and_some_context() -> None:
    rows = column(conversation()[:4], 60, unfolded=["m4"])
    start = next(number for number, row in enumerate(rows) if "Edit" in row)
    assert rows[start].startswith("✓ Edit    /home/u/shop/auth/views.py ▾")
    assert rows[start + 1 :] == [
        "      2   line 2",
        "      3   line 3",
        "      4   line 4",
        "      5 − line 5",
        "      5 + line five",
        "      6 + and more",
        "      7   line 6",
        "      8   line 7",
        "      9   line 8",
        "          ⋯",
        "     23   line 22",
        "     24   line 23",
        "     25   line 24",
        "     25 − line 25",
        "     26   line 26",
        "     27   line 27",
        "     28   line 28",
    ]


def test_a_diff_counts_lines_and_a_new_file_is_all_added() -> None:
    assert (change_of(OLD, NEW).added, change_of(OLD, NEW).removed) == (2, 2)
    assert (change_of(None, "a\nb\n").added, change_of(None, "a\nb\n").removed) == (2, 0)
    assert change_of("same\n", "same\n").hunks == ()
    assert change_of("a\nb\n", None).removed == 0
    assert list(change_lines([Diff("notes.txt", "a\nb\n", None)], "/here")) == [
        "Change: notes.txt, not a text file"
    ]
    huge = "".join(f"{number}\n" for number in range(20_000))
    assert change_of(huge, huge.replace("1", "2")).added > 1500


@pytest.mark.parametrize(
    ("status", "state", "glyph"),
    [
        ("pending", MessageState.OPEN, "○"),
        ("in_progress", MessageState.OPEN, "◐"),
        ("completed", MessageState.FINAL, "✓"),
        ("failed", MessageState.FINAL, "✗"),
        ("cancelled", MessageState.FINAL, "◌"),
        ("in_progress", MessageState.INTERRUPTED, "◌"),
        ("something new", MessageState.OPEN, "◌"),
    ],
)
def test_w07_a_tool_calls_state_has_a_glyph_of_its_own(status: str, state: MessageState, glyph: str) -> None:
    rows = column([Writer().tool("read", "x", status=status, state=state)], 60)
    assert rows[1] == f"{glyph} Read    x"


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("read", {"title": "Read a.py", "locations": [{"path": "a.py", "line": 7}]}, "✓ Read    a.py:7"),
        ("read", {"title": "x", "locations": [{"path": "a"}, {"path": "b"}]}, "✓ Read    a and 1 more ▸"),
        ("execute", {"title": "`ls -l`"}, "✓ Run     ls -l"),
        ("execute", {"title": "x", "raw_input": {"command": ["ls", "-l"]}}, "✓ Run     ls -l"),
        ("search", {"title": "Search for cats"}, "✓ Search  for cats"),
        ("fetch", {"title": "https://x.y"}, "✓ Fetch   https://x.y"),
        ("something new", {"title": "Dance"}, "✓ Tool    Dance"),
        ("edit", {"title": 5, "locations": "nonsense", "content": [3, {"type": "diff"}]}, "✓ Edit"),
    ],
)
def test_a_tool_calls_line_says_what_was_done_to_what(kind: str, data: dict[str, object], line: str) -> None:
    message = Writer().tool(kind, "", **data) if "title" not in data else Writer().tool(kind, **data)  # type: ignore[arg-type]
    assert column([message], 60)[1] == f"{line}"


def test_w07_output_unfolds_without_its_fence_and_raw_data_where_there_is_nothing_else() -> None:
    writer = Writer()
    output = writer.tool(
        "execute", "make", content=[{"type": "text", "text": "```sh\n\x1b[31mred\x1b[0m\n\ndone\n```"}]
    )
    raw = writer.tool("fetch", "x", raw_input={"url": "http://x"}, raw_output="body")
    assert column([output, raw], 60, unfolded=["m1", "m2"]) == [
        "",
        "✓ Run     make ▾",
        "          red",
        "",
        "          done",
        "✓ Fetch   http://x ▾",
        "          input",
        "          {",
        '            "url": "http://x"',
        "          }",
        "          output",
        "          body",
    ]


def test_w06_a_plan_is_a_checklist() -> None:
    entries = [
        {"text": "find the cause", "status": "completed"},
        {"text": "bind the form first, which takes more than one row", "status": "in_progress"},
        {"text": "test", "status": "pending"},
    ]
    assert column([Writer().row(Kind.PLAN, data={"entries": entries})], 30) == [
        "",
        "  ● find the cause",
        "  ◐ bind the form first, which",
        "    takes more than one row",
        "  ○ test",
    ]


def test_trouble_that_is_over_has_a_mark_and_any_other_notice_has_none() -> None:
    writer = Writer()
    trouble = writer.row(
        Kind.NOTICE, "It stopped.", data={"trouble": "agent_gone", "detail": ["panic", "core"]}
    )
    stopped = writer.row(Kind.NOTICE, "Stopped by you.", data={"trouble": "cancelled"})
    assert column([stopped], 60) == ["", "  Stopped by you."]
    rows = column([trouble, writer.row(Kind.NOTICE, "compacted")], 60, unfolded=["m1"])
    assert rows == ["", "! It stopped. ▾", "  panic", "  core", "", "  compacted"]


def test_r15_a_compaction_is_a_divider_that_unfolds_to_the_agent_s_summary() -> None:
    writer = Writer()
    data = {"compacted": "completed", "detail": ["We talked.", "Then we edited."]}
    done = writer.row(Kind.NOTICE, "the agent shortened its own context", data=data)
    assert column([done], 60) == [
        "",
        "╌ the agent shortened its own context ▸ ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌",
    ]
    assert column([done], 60, unfolded=["m1"])[-2:] == ["  We talked.", "  Then we edited."]
    failed = writer.row(Kind.NOTICE, "the agent shortened its own context", data={"compacted": "failed"})
    assert " could not shorten its own context " in column([failed], 60)[-1]
    under_way = writer.row(
        Kind.NOTICE, "the agent shortened its own context", data={"compacted": "in_progress"}
    )
    assert " the agent is shortening its own context " in column([under_way], 60)[-1]


def test_p09_a_seam_without_words_of_its_own_is_named_after_what_it_did() -> None:
    writer = Writer()
    assert " new session " in column([writer.row(Kind.SEAM, data={"how": "fresh"})], 100)[1]
    assert " context cleared " in column([writer.row(Kind.SEAM, data={"cleared": True})], 100)[1]


def test_p09_a_seam_stands_above_its_prompt_and_unfolds_to_what_was_told() -> None:
    writer = Writer()
    prompt, seam = writer.prompt("go on"), writer.row(Kind.SEAM, "new session")
    view = viewport([prompt], 60, 20)
    view.column.details["m2"] = "All that was said."
    view.column.add(seam)
    view.place()
    assert [entry.message.id for entry in view.column.entries] == ["m2", "m1"]
    view.column.fold(view.column.entries[0], False)
    view.place()
    rows = [strip.text.rstrip() for strip in view.strips(None, None)]
    assert rows[1].startswith("╌ new session ▾ ╌")
    assert rows[2:6] == [
        "",
        "  All that was said.",
        "",
        "▌ go on                                              14:00",
    ]


def test_an_answer_without_a_word_takes_no_room() -> None:
    writer = Writer()
    rows = column([writer.prompt("q"), writer.growing(), writer.answer("")], 60)
    assert rows == ["", "▌ q                                                  14:00"]


def test_what_is_not_text_is_named_under_the_answer() -> None:
    answer = Writer().answer("see", data={"other": [{"kind": "image", "description": "image, 12 kB"}]})
    assert column([answer], 60) == ["", "  see", "", "  ◇ image, 12 kB"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (0.34, "0.3 s"),
        (9.96, "10 s"),
        (59.2, "59 s"),
        (192, "3 min 12 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_call_that_took_no_time_has_none_on_its_line() -> None:
    writer = Writer()
    calls = [
        writer.tool("read", "a.py", status="completed", started_at=at(0), ended_at=at(after))
        for after in (0, 1)
    ]
    assert [column([call], 40)[-1].split()[-1] for call in calls] == ["a.py", "s"]


@pytest.mark.parametrize("width", [20, 30, 59, 60, 80, 200])
def test_w27_hostile_strings_everywhere_stay_text_of_the_right_width(width: int) -> None:
    evil = (
        "\x1b[2J\x1b]52;c;eA==\x07[bold]x[/] [@click=app.quit]y[/]\u202e"
        + "e\u0301" * 200
        + "\ud800"
        + "w" * 300
        + "日" * 80
    )
    writer = Writer()
    messages = [
        writer.prompt(evil, data={"attachments": [{"name": evil}]}),
        writer.row(Kind.THOUGHT, evil),
        writer.tool(
            "edit",
            evil,
            locations=[{"path": evil}],
            content=[{"type": "diff", "path": evil, "old": evil, "new": evil * 2}],
        ),
        writer.tool(
            "execute",
            evil,
            raw_input={"command": evil},
            content=[{"type": "text", "text": evil}],
            raw_output={evil: evil},
        ),
        writer.row(Kind.PLAN, data={"entries": [{"text": evil, "status": evil}]}),
        writer.row(Kind.NOTICE, evil, data={"trouble": "x", "detail": [evil]}),
        writer.answer(
            f"# {evil}\n\n- {evil}\n\n| {evil} | b |\n|---|---|\n| c | {evil} |\n\n```{evil}\n{evil}\n```\n"
        ),
        writer.row(Kind.SEAM, evil),
        replace(writer.row(Kind.SEAM, data={"cause": evil, "how": evil})),
    ]
    rows = column(messages, width, unfolded=[message.id for message in messages])
    text = "\n".join(rows)
    text.encode()
    assert not [character for character in text if ord(character) < 0x20 and character != "\n"]
    assert "\x9b" not in text
    assert "\u202e" not in text
    if width >= 60:
        assert "[bold]x[/]" in text


def test_w01_a_call_that_is_asked_for_is_its_line_alone() -> None:
    writer = Writer()
    change = {"kind": "edit", "status": "pending", "content": [{"type": "diff", "path": "a.py", "new": "x"}]}
    messages = [writer.prompt("q"), writer.row(Kind.TOOL, "Edit a.py", data=change)]
    messages[1] = replace(messages[1], agent_message_id="call-1", state=MessageState.OPEN)
    view = viewport(messages, 80, 20)
    assert len(view.column.entries[1].open(view.column.options)) > 1
    assert view.column.set_asked({"call-1"})
    view.place()
    rows = [strip.text.rstrip() for strip in view.strips(None, None)]
    assert [row for row in rows if row][1:] == [f"? Edit    a.py{' ' * 62}+1"]
    assert not view.column.set_asked({"call-1"})
    assert view.column.set_asked(())


def test_w07_a_rejected_call_counts_only_the_lines_that_catena_wrote() -> None:
    writer = Writer()
    told = {"type": "diff", "path": "b.py", "old": None, "new": "x\ny\n"}
    for written, right in (([], "rejected"), ([{**told, "by_client": True}], "+2 rejected")):
        row = writer.tool("edit", "b.py", status="rejected", content=[*written, told])
        line, *below = (each.split() for each in column([row], 60) if each.strip())
        assert line == ["◌", "Edit", "b.py", *(["▸"] if not written else []), *right.split()]
        assert below == ([["1", "+", "x"], ["2", "+", "y"]] if written else [])


def test_w07_a_change_that_was_not_made_is_shown_once_its_call_is_unfolded_and_says_so() -> None:
    told = {"type": "diff", "path": "b.py", "old": None, "new": "x\ny\n"}
    for status in ("rejected", "failed"):
        row = Writer().tool("edit", "b.py", status=status, content=[told])
        folded, unfolded = column([row], 60), column([row], 60, unfolded=[row.id])
        assert not any("+ x" in each for each in folded)
        at = next(number for number, each in enumerate(unfolded) if "Not made: b.py" in each)
        assert [each.split() for each in unfolded[at + 1 : at + 3]] == [["1", "+", "x"], ["2", "+", "y"]]
        copied = text_of(Entry(row, 0)).splitlines()
        assert copied[1] == "Not made: b.py" and copied[-2:] == ["+x", "+y"]


@pytest.mark.parametrize("height", [5, 8])
def test_half_rows_are_drawn_at_the_edges_of_the_screen_as_in_its_middle(height: int) -> None:
    writer = Writer()
    messages = [
        row
        for number in range(6)
        for row in (writer.prompt(f"question {number}"), writer.answer("a\n\n```\nb\n```\n\nc"))
    ]
    ground = Style(bgcolor="red")
    palette = replace(Palette.plain(), prompt=ground, prompt_text=ground, code_block=ground)
    view = Viewport(Column(RenderOptions(80, palette)), half_rows=True)
    view.resize(80, 200, palette)
    view.column.replace(messages)
    view.place()
    whole = [strip.text for strip in view.strips(None, None)]
    assert {"▄", "▀"} <= set("".join(whole))
    view.resize(80, height, palette)
    for top in range(view.column.end - height):
        view.scroll_to(top)
        assert [strip.text for strip in view.strips(None, None)] == whole[top : top + height]


def test_an_interrupted_answer_says_so_unless_the_notice_below_it_does() -> None:
    writer = Writer()
    answer = writer.answer("half", state=MessageState.INTERRUPTED)
    notice = writer.row(Kind.NOTICE, "It was killed.", data={"trouble": "agent_gone"})
    view = viewport([answer], 60, 10)
    assert [row for row in drawn(view) if row] == ["  half", "  interrupted"]
    view.column.add(notice)
    view.place()
    assert [row for row in drawn(view) if row] == ["  half", "! It was killed."]
    view.column.put_away(notice.id)
    view.place()
    assert [row for row in drawn(view) if row] == ["  half"]


# Tool calls


def reads(writer: Writer, names: str, **more: object) -> list[Message]:
    return [
        writer.tool("read", f"Read {name}", locations=[{"path": f"auth/{name}.py"}], **more)  # type: ignore[arg-type]
        for name in names
    ]


def test_calls_of_one_kind_that_follow_one_another_are_one_line_that_opens() -> None:
    writer = Writer()
    messages = [*reads(writer, "abcd"), writer.answer("So."), *reads(writer, "e")]
    view = viewport(messages, 60, 50)
    assert drawn(view) == ["", "✓ Read    4 files in auth ▸", "", "  So.", "", "✓ Read    auth/e.py"]
    view.column.fold_group(view.column.entries[0], False)
    view.place()
    assert drawn(view)[1:6] == [
        "✓ Read    4 files in auth ▾",
        "✓ Read    auth/a.py",
        "✓ Read    auth/b.py",
        "✓ Read    auth/c.py",
        "✓ Read    auth/d.py",
    ]
    view.column.fold_group(view.column.entries[0], True)
    view.place()
    assert drawn(view)[1:3] == ["✓ Read    4 files in auth ▸", ""]


def test_a_call_joins_its_group_while_it_runs_so_that_no_row_goes_when_it_ends() -> None:
    writer = Writer()
    messages = reads(writer, "ab")
    running = reads(writer, "c", status="in_progress", state=MessageState.OPEN)[0]
    view = viewport(messages, 60, 50)
    assert drawn(view) == ["", "✓ Read    2 files in auth ▸"]
    view.column.add(running)
    view.place()
    assert drawn(view) == ["", "◐ Read    3 files in auth ▸"]
    done = replace(running, data={**running.data, "status": "completed"}, state=MessageState.FINAL)
    view.column.change(done, draw=True)
    view.place()
    assert drawn(view) == ["", "✓ Read    3 files in auth ▸"]
    failed = replace(done, data={**done.data, "status": "failed"})
    view.column.change(failed, draw=True)
    view.place()
    assert drawn(view) == ["", "✓ Read    2 files in auth ▸", "✗ Read    auth/c.py"]


def test_two_hundred_calls_are_a_few_lines() -> None:
    writer = Writer()
    messages = [writer.tool(("read", "search", "fetch")[number // 70], f"x{number}") for number in range(200)]
    assert len(column(messages, 80)) <= 6


def runs(writer: Writer, count: int, **more: object) -> list[Message]:
    """That many commands, each with a line of output."""
    output = [{"type": "text", "text": "well"}]
    return [
        writer.tool("execute", f"make {number}", content=output, **more)  # type: ignore[arg-type]
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "grouped"), [(1, 0), (9, 0), (10, 6), (15, 6), (16, 12), (200, 192), (204, 200)]
)
def test_the_newest_runs_show_their_output_and_those_before_are_one_line(count: int, grouped: int) -> None:
    rows = column(runs(Writer(), count), 60)
    assert rows.count("          well") == count - grouped
    lines = [row for row in rows if row.startswith("✓ Run")]
    assert lines[:1] == [f"✓ Run     {grouped} commands ▸" if grouped else "✓ Run     make 0"]
    assert lines[-1] == f"✓ Run     make {count - 1}"
    assert len(lines) == count - grouped + (grouped > 0)


def test_five_hundred_edits_are_a_few_lines_and_the_newest_diffs_are_shown() -> None:
    writer = Writer()
    change = [{"type": "diff", "path": "auth/a.py", "old": "x", "new": "y"}]
    messages = [writer.tool("edit", "auth/a.py", content=change) for _ in range(500)]
    rows = column(messages, 60)
    assert [row for row in rows if "times" in row] == [
        "✓ Edit    auth/a.py 200 times ▸",
        "✓ Edit    auth/a.py 200 times ▸",
        "✓ Edit    auth/a.py 96 times ▸",
    ]
    assert len([row for row in rows if "+ y" in row]) == 4


def test_a_failure_never_hides_in_a_group() -> None:
    writer = Writer()
    broken = writer.tool("execute", "make broken", raw_output={"exitCode": 2})
    failed = writer.tool("execute", "make failed", status="failed")
    rows = column([*runs(writer, 12), broken, *runs(writer, 12), failed], 60)
    lines = [" ".join(row.split()) for row in rows if "Run" in row]
    assert lines[0] == lines[8] == "✓ Run 6 commands ▸"
    assert lines[7] == "✗ Run make broken ▸ exit 2" and lines[-1] == "✗ Run make failed"


def test_work_goes_into_its_group_only_while_nobody_reads_it() -> None:
    writer = Writer()
    messages = runs(writer, 16)
    view = viewport(messages[:9], 60, 80)
    view.column.gather(False)
    for message in messages[9:]:
        view.column.add(message)
    view.place()
    assert len([row for row in drawn(view) if "make" in row]) == 16
    view.column.gather(True)
    view.place()
    assert len([row for row in drawn(view) if "make" in row]) == 4
    assert "✓ Run     12 commands ▸" in drawn(view)


def test_a_run_shows_its_last_lines_and_a_failed_one_the_first_line_of_its_error() -> None:
    writer = Writer()
    output = "\n".join(f"line {number}" for number in range(10))
    passed = writer.tool("execute", "make", content=[{"type": "text", "text": output}])
    error = f"start\n{output}\nE   AssertionError: '/' != '/cart'\n{output}\n1 failed\n"
    failed = writer.tool(
        "execute",
        "pytest",
        status="failed",
        content=[{"type": "text", "text": error}],
        raw_output={"exitCode": 1},
    )
    assert column([passed, failed], 60) == [
        "",
        "✓ Run     make",
        "          … 7 lines ▸",
        "          line 7",
        "          line 8",
        "          line 9",
        "✗ Run     pytest                                    exit 1",
        "          E   AssertionError: '/' != '/cart'",
        "          … 20 lines ▸",
        "          line 9",
        "          1 failed",
    ]


def test_a_long_diff_shows_twelve_changed_lines_and_how_many_more_there_are() -> None:
    new = "".join(f"line {number}\n" for number in range(20))
    edit = writer_edit(None, new)
    rows = column([edit], 60)
    assert rows[1:3] == ["✓ Edit    a.py                                         +20", "      1 + line 0"]
    assert rows[13:] == ["     12 + line 11", "          … 8 lines ▸"]
    opened = column([edit], 60, unfolded=["m1"])
    assert opened[1] == "✓ Edit    a.py ▾                                       +20"
    assert len(opened) == 22


def writer_edit(old: str | None, new: str) -> Message:
    return Writer().tool(
        "edit", "Edit a.py", content=[{"type": "diff", "path": "a.py", "old": old, "new": new}]
    )


def test_on_a_screen_of_few_rows_calls_are_their_lines_alone() -> None:
    view = viewport([writer_edit("a\n", "b\n")], 60, 10)
    view.resize(60, 10, Palette.plain(), short=True)
    assert drawn(view)[1:] == ["✓ Edit    a.py ▸                                     +1 −1"]


def test_the_words_that_changed_in_a_line_are_known_and_lines_that_are_not_alike_are_left_whole() -> None:
    rows = [
        DiffLine("-", 1, 'target = request.GET.get("next")'),
        DiffLine("+", 1, "form = LoginForm(request.POST or None)"),
        DiffLine("+", 2, 'target = request.POST.get("next")'),
    ]
    words = changed_words(rows)
    assert {at: [rows[at].text[a:b] for a, b in ranges] for at, ranges in words.items()} == {
        0: ["GET"],
        2: ["POST"],
    }


def test_in_a_column_of_a_hundred_and_twenty_cells_both_versions_stand_beside_each_other() -> None:
    options = RenderOptions(116, Palette.plain())
    rows = [
        DiffLine(" ", 1, "same"),
        DiffLine("-", 2, "old"),
        DiffLine("+", 2, "new"),
        DiffLine("+", 3, "more"),
    ]
    lines = draw_diff(rows, options)
    assert [" ".join(line.shown.split()) for line in lines] == [
        "1 same 1 same",
        "2 − old 2 + new",
        "3 + more",
    ]
    assert {line.cells for line in lines} == {116}


@pytest.mark.parametrize(
    ("data", "drawn"),
    [
        ({"how": "forked_at"}, False),
        ({"how": "resumed", "told_total": 0}, False),
        ({"how": "told", "told_total": 14}, True),
        ({"how": "resumed", "after_stop": True, "cause": "it was stopped"}, False),
        ({"how": "caught_up", "told_total": 2, "after_stop": True}, True),
        ({"how": "resumed", "cause": "the agent stopped"}, True),
        ({"cleared": True}, True),
    ],
)
def test_a_seam_is_drawn_where_more_than_the_prompt_went_out_or_something_changed_for_the_agent(
    data: dict[str, object], drawn: bool
) -> None:
    assert (column([Writer().row(Kind.SEAM, "Session resumed", data=data)], 60) != []) == drawn


def drawn(view: Viewport) -> list[str]:
    return [strip.text.rstrip() for strip in view.strips(None, None)[: view.column.total]]


TERMINAL = {
    "type": "terminal",
    "id": "t1",
    "output": "",
    "hidden_lines": 0,
    "exit_code": None,
    "signal": None,
}


def ran(output: str, **more: Any) -> Message:
    """A command that ran in a terminal of ours."""
    state = MessageState.OPEN if more.get("status") == "in_progress" else MessageState.FINAL
    content = [{**TERMINAL, "output": output, **{key: more.pop(key) for key in TERMINAL if key in more}}]
    return Writer().tool("execute", "make", state=state, content=content, **more)


def test_w11_a_terminal_shows_its_last_lines_and_how_the_command_ended() -> None:
    output = "one\ntwo\n\x1b[1;31mthree\x1b[0m\nfour"
    assert column([ran(output, hidden_lines=1_000, exit_code=2)], 60) == [
        "",
        "✗ Run     make                                      exit 2",
        "          … 1,001 lines ▸",
        "          two",
        "          three",
        "          four",
    ]
    assert column([ran("", signal="SIGKILL")], 60)[1:] == [
        "✓ Run     make                                     SIGKILL"
    ]
    assert column([ran("10 %", status="in_progress")], 60)[1:] == [
        "◐ Run     make",
        "          10 %",
    ]


def test_w11_a_terminal_opens_with_all_that_is_kept_of_it() -> None:
    output = "\n".join(f"\x1b[32mline {number}\x1b[0m" for number in range(300))
    rows = column([ran(output, hidden_lines=5)], 60, unfolded=["m1"])
    assert rows[2].strip() == "5 lines above are not kept"
    assert [row.strip() for row in rows[3:]] == [f"line {number}" for number in range(300)]


def test_w11_what_a_command_printed_in_colour_has_the_themes() -> None:
    names = ("text", "faint", "output_red", "output_green", "muted")
    palette = replace(Palette.plain(), **{name: Style(color=f"color({at})") for at, name in enumerate(names)})
    row = "\x1b[31mred\x1b[0m \x1b[1;32mgreen\x1b[0m\x1b[30mblack\x1b[0m\x1b[1mbold\x1b[0m"
    row += "\x1b[37;41m FAIL \x1b[0m\u202e"
    runs = runs_of(row, palette.muted, palette)
    assert [(text, style.color.name if style.color else "") for text, style in runs] == [
        ("red", "color(2)"),
        (" ", "color(4)"),
        ("green", "color(3)"),
        ("black", "color(1)"),
        ("bold", "color(0)"),
        (" FAIL ", "color(2)"),
        ("⟨202E⟩", "color(4)"),
    ]
    assert [style.reverse for _, style in runs][5] and runs[2][1].bold and not runs[0][1].bold
    assert "".join(text for text, _ in fit_runs(runs, 8)) == "red gre…"


def test_w11_only_terminals_tell_their_colours() -> None:
    message = Writer().tool("execute", "x", content=[{"type": "text", "text": "\x1b[31mred\x1b[0m\x1b[2J"}])
    assert column([message], 60)[-1] == "          red␛[2J"


def test_w05_an_image_is_a_line_of_its_own_and_a_call_with_one_stands_for_itself() -> None:
    writer = Writer()
    image = {"sha256": "x", "mime": "image/png", "bytes": 48_000, "width": 640, "height": 480}
    other = {"kind": "image", "description": "image, 47 KiB", "image": image}
    answer = writer.answer("[image, 47 KiB]", data={"other": [other]})
    assert column([answer], 60) == ["", "  ◇ image · PNG 640×480, 48 kB · Enter opens, s saves"]
    link = {"kind": "resource_link", "description": "resource link, the page", "address": "https://x.org"}
    shown = column([writer.answer("[resource link, the page]", data={"other": [link]})], 60)
    assert shown[-1] == "  ◇ resource link, the page · Enter opens"
    assert Entry(tool_with(other), 0).group_key is None
    assert Entry(tool_with({"type": "text", "text": "words"}), 0).group_key == "read"


def tool_with(content: Mapping[str, object]) -> Message:
    data = {"title": "x", "kind": "read", "status": "completed", "content": [content]}
    return Writer().row(Kind.TOOL, "x", data=data)


def test_a_long_turn_ends_with_how_long_it_took_and_a_short_one_with_its_last_words() -> None:
    writer = Writer()
    messages = [
        writer.prompt("Quickly."),
        replace(writer.answer("Done."), took=9.9),
        writer.prompt("Thoroughly."),
        replace(writer.answer("Done, and tested."), took=134.0),
        writer.prompt("More."),
        replace(writer.row(Kind.NOTICE, "You stopped Claude.", data={"trouble": "cancelled"}), took=12.0),
    ]
    assert [line for line in column(messages, 40) if line.strip() and "▌" not in line] == [
        "  Done.",
        "  Done, and tested.",
        f"{'2 min 14 s':>40}",
        "  You stopped Claude.",
        f"{'12 s':>40}",
    ]


def test_an_answer_that_grew_on_the_screen_gets_the_duration_of_its_turn_with_its_end() -> None:
    writer = Writer()
    rows = [writer.prompt("Go on."), writer.growing("So")]
    screen = viewport(rows, 40, 20)
    screen.column.grow(rows[1].id, " be it.", draw=True)
    screen.column.change(replace(rows[1], text="So be it.", state=MessageState.FINAL, took=42.0), draw=True)
    screen.place()
    drawn = [strip.text for strip in screen.strips(None, None)]
    assert sum(line.strip() == "42 s" for line in drawn) == 1
