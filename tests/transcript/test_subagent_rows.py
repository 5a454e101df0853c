"""What subagents say and do in the column: below the call that started them, folded to its line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catena.transcript.drawing.render_options import Palette
from catena.transcript.model.column import Column
from catena.transcript.model.source import text_of
from catena.transcript.widget.search import TranscriptSearch
from catena.transcript.widget.viewport import Viewport
from catena_store.records import Kind, Message, MessageState
from support.screen.transcript import Writer, at, render_options


class Play:
    """The rows of two subagents that work at the same time."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.prompt = self.writer.prompt("Look around.")
        self.first = self.task("one", "Explore the code", status="in_progress", started_at=at(0))
        self.second = self.task("two", "Read the tests", status="pending")

    def task(self, call_id: str, title: str, **data: Any) -> Message:
        raw_input = {"subagent_type": "general-purpose"}
        state = MessageState.FINAL if data.get("status") == "completed" else MessageState.OPEN
        row = self.writer.tool("think", title, state=state, raw_input=raw_input, **data)
        return replace(row, agent_message_id=call_id)

    def read(self, owner: str, path: str, call_id: str = "", *, over: bool = True) -> Message:
        state = MessageState.FINAL if over else MessageState.OPEN
        status = "completed" if over else "in_progress"
        row = self.writer.tool(
            "read", f"Read {path}", state=state, status=status, locations=[{"path": path}], subagent_of=owner
        )
        return replace(row, agent_message_id=call_id or row.id)

    def say(self, owner: str, text: str) -> Message:
        return self.writer.row(Kind.THOUGHT, text, data={"subagent_of": owner, "words": True})


def a_column(rows: list[Message], width: int = 72) -> Viewport:
    view = Viewport(Column(render_options(width)))
    view.resize(width, 10_000, Palette.plain())
    view.column.replace(rows)
    view.place()
    return view


def drawn(view: Viewport) -> list[str]:
    view.place()
    return [strip.text.rstrip() for strip in view.strips(None, None)[: view.column.total]]


def test_w28_a_subagent_is_one_line_while_it_works_and_when_it_is_done() -> None:
    play = Play()
    view = a_column([play.prompt, play.first, play.second])
    for number in range(3):
        view.column.add(play.read("one", f"{number}.py"))
    running = play.read("one", "login.py", over=False)
    view.column.add(running)
    assert drawn(view)[3:] == [
        "◐ Task    Explore the code · reading login.py ▸                4 calls",
        "◐ Task    Read the tests ▸",
    ]
    assert all(entry.parts is None for entry in view.column.entries if entry.inside), "nothing is laid out"
    done = {**running.data, "status": "completed"}
    view.column.change(replace(running, data=done, state=MessageState.FINAL), draw=True)
    over = {**play.first.data, "status": "completed", "ended_at": at(32)}
    view.column.change(replace(play.first, data=over, state=MessageState.FINAL), draw=True)
    assert drawn(view)[3] == "✓ Task    Explore the code ▸                            4 calls   32 s"


def test_w28_unfolded_each_subagent_has_its_own_work_below_it_however_they_take_turns() -> None:
    play = Play()
    rows = [play.prompt, play.first, play.second]
    rows += [play.read("one", "a.py"), play.read("two", "b.py"), play.say("one", "Found it in a.py.")]
    view = a_column(rows)
    for call in (play.first, play.second):
        entry = view.column.entry(call.id)
        assert entry is not None
        view.column.fold(entry, False)
    answer = play.writer.answer("Both are done.")
    view.column.add(play.read("one", "c.py"))
    view.column.add(play.read("one", "d.py"))
    view.column.add(answer)
    expected = [
        "◐ Task    Explore the code ▾                                   3 calls",
        "  ✓ Read    a.py",
        "",
        "    Found it in a.py.",
        "",
        "  ✓ Read    2 files ▸",
        "◐ Task    Read the tests ▾                                      1 call",
        "  ✓ Read    b.py",
        "",
        "  Both are done.",
    ]
    assert drawn(view)[3:] == expected
    view.column.add(play.say("one", "That is all."))
    assert drawn(view)[10:13] == [
        "    That is all.",
        "",
        "◐ Task    Read the tests ▾                                      1 call",
    ]
    for folded in (True, False):
        entry = view.column.entry(play.first.id)
        assert entry is not None
        view.column.fold(entry, folded)
    assert drawn(view)[10:13] == [
        "    That is all.",
        "",
        "◐ Task    Read the tests ▾                                      1 call",
    ]
    ordinals = [entry.ordinal for entry in view.column.entries]
    assert ordinals == sorted(set(ordinals))
    first = view.column.entry(play.first.id)
    assert first is not None and "  Found it in a.py." in text_of(first)


def test_w28_rows_whose_call_is_on_an_older_page_wait_for_it() -> None:
    play = Play()
    inside = [play.read("one", f"{number}.py") for number in range(5)]
    view = a_column([*inside, play.writer.answer("Done.")])
    assert drawn(view) == ["", "  Done."]
    view.column.prepend([play.prompt, play.first, play.second])
    assert [row for row in drawn(view) if "Task" in row] == [
        "◐ Task    Explore the code ▸                                   5 calls",
        "◐ Task    Read the tests ▸",
    ]
    assert [entry.message.id for entry in view.column.entries if entry.inside] == [row.id for row in inside]


def test_w28_no_cut_parts_what_a_subagent_does_from_its_call() -> None:
    play = Play()
    early = [play.prompt, play.first, play.read("one", "a.py")]
    between = play.writer.prompt("Meanwhile")
    late = [play.read("one", "b.py"), play.writer.prompt("And then"), play.writer.answer("Done.")]
    view = a_column([*early, between, *late])
    assert view.column.parting(view.column.end, -1) == late[1].depth
    assert view.column.parting(0, 1) == play.prompt.depth
    whole = drawn(view)
    view.column.cut(range(late[1].depth))
    assert view.column.parting(view.column.end, -1) == play.prompt.depth
    view.column.append(late[1:])
    assert drawn(view) == whole
    view.column.cut(range(late[1].depth, late[2].depth + 1))
    view.column.prepend([*early, between, late[0]])
    assert drawn(view) == whole


def test_w28_find_opens_the_subagent_that_has_it() -> None:
    play = Play()
    inner = play.task("inner", "Look closer", status="completed", subagent_of="one")
    deep = play.say("inner", "a needle")
    view = a_column([play.prompt, play.first, inner, deep])
    search = TranscriptSearch("needle", view.column)
    assert [hit.message_id for hit in search.hits] == [deep.id]
    entry = view.column.entry(deep.id)
    assert entry is not None and entry.rows == 0
    view.column.unfold_around(entry)
    assert any(row == "      a needle" for row in drawn(view))


def test_w28_calls_that_claim_each_other_are_shown_and_nothing_hangs() -> None:
    play = Play()
    mine = play.read("b", "a.py", "a")
    others = play.read("a", "b.py", "b")
    own = play.read("self", "c.py", "self")
    view = a_column([play.prompt, mine, others, own])
    view.column.prepend([])
    view.column.add(play.writer.answer("Done."))
    assert drawn(view)[-1] == "  Done."
    deep = [play.first, *(play.read(f"d{n - 1}" if n else "one", f"{n}.py", f"d{n}") for n in range(50))]
    view = a_column([play.prompt, *deep])
    view.column.fold(view.column.entries[1], False)
    assert max(entry.nesting for entry in view.column.entries) <= 9


def test_w28_a_call_whose_work_goes_on_says_so_and_afterwards_that_it_ended() -> None:
    writer = Writer()
    run = writer.tool("execute", "npm run dev", background="b1", started_at=at(0), ended_at=at(1))
    view = a_column([writer.prompt("Start it."), run])
    assert drawn(view)[-1].split() == ["✓", "Run", "npm", "run", "dev", "background", "ended"]
    assert view.column.set_going_on([run.id])
    assert drawn(view)[-1].split() == ["◐", "Run", "npm", "run", "dev", "in", "background"]
    assert not view.column.set_going_on([run.id, "unknown"])
    assert view.column.set_going_on([])
    assert drawn(view)[-1].endswith("background ended")
