"""The form and the web page that an agent asks for, at the end of the transcript, on real screens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot

from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.terminal.times import KeyPace
from catena.widgets.band import Band
from catena.widgets.fields.form_fields import ChoiceList, FieldInput
from catena.workspace.questions.forms import FormDraft
from catena_acp.continuity.conversation_events import ElicitationOpened
from catena_acp.port.elicitation.requests import Elicitation, Form, WebPage
from catena_acp.protocol.elicitations import elicitation_of
from catena_store.windows import windows
from support.screen.messages import press, taken_in
from support.screen.pilot import Person, at_the_screen
from support.screen.themed import ThemedApp

SIZES = [(120, 40), (80, 24), (40, 10)]


class Stage(ThemedApp):
    """The panel alone."""

    def __init__(self) -> None:
        super().__init__()
        self.panel = ElicitationPanel(give_keys=lambda: None)
        self.answers: list[ElicitationPanel.Answered] = []
        self.wanted: list[str] = []
        self.mistyped: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_elicitation_panel_answered(self, event: ElicitationPanel.Answered) -> None:
        self.answers.append(event)

    def on_elicitation_panel_page_wanted(self, event: ElicitationPanel.PageWanted) -> None:
        self.wanted.append(event.address)

    def on_elicitation_panel_mistyped(self, event: ElicitationPanel.Mistyped) -> None:
        self.mistyped.append(event.text)

    async def ask(self, pilot: Pilot[None], request: Elicitation) -> str:
        """Ask for this; what is on the screen."""
        asked = ElicitationOpened("w", "1", "Claude", request)
        draft = FormDraft(request) if isinstance(request, Form) else None
        self.panel.show([asked], lambda _: draft)
        await taken_in(pilot)
        self.panel.enter()
        await taken_in(pilot)
        self.panel.standing.drawn(float("-inf"))
        return self.drawn

    @property
    def drawn(self) -> str:
        return "\n".join(strip.text.rstrip() for strip in self.screen._compositor.render_strips())


def form(*required: str, **properties: object) -> Form:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    read = elicitation_of({"mode": "form", "message": "Who?", "requestedSchema": schema})
    assert isinstance(read, Form)
    return read


def page(url: str) -> WebPage:
    return WebPage("Log in there", url, "e1")


async def form_has_the_keys(person: Person) -> None:
    await person.until(lambda: person.area.place == "form", "the keys to go to the form")
    await person.taken_in()


@pytest.mark.parametrize("size", SIZES)
async def test_w12_a_form_is_filled_in_with_the_keyboard_and_sent_by_enter_on_the_last_field(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with at_the_screen(str(tmp_path), size=size) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        assert "Rehearsal asks" in person.text and "Name" in person.text
        assert person.tab.mark == "?"
        await person.type("d Ada y")
        assert person.tab.asks, "letters in a field are text"
        await person.press("enter")
        await person.sees("1 ( ) Red", "2 ( ) Green")
        await person.press("3", "enter")
        await person.idle()
        assert not person.tab.asks
        await person.sees('"name": "d Ada y", "colour": "blue"')
        if size[1] > 15:
            await person.sees(
                "Asked: What is your name, and which colour do you like? · Name: d Ada y · Colour: Blue"
            )
        assert person.app.focused is person.composer


async def test_w12_a_key_stands_beside_what_it_does_where_it_does_that(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        assert re.search(r"▌ {9,}Send\n.*▌ {9,}Decline", text := person.text), text
        await person.press("enter")
        await person.until(lambda: re.search(r"▌ enter +Send\n.*▌ d +Decline", person.text), "the keys")


async def test_w12_what_is_wrong_stands_at_its_field_and_nothing_is_sent(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("form")
        await form_has_the_keys(person)
        await person.press("tab", "end", *"00", "tab")
        await person.sees("At most 99.")
        await person.press("down", "down", "down", "tab", "space", "enter")
        await person.sees("This field is required.")
        assert person.tab.asks and isinstance(person.app.focused, FieldInput)
        await person.type("Ada")
        await person.sees_no("This field is required.")
        await person.press("tab", "backspace", "backspace", "enter", "enter", "enter", "enter")
        await person.idle()
        await person.sees('"name": "Ada", "lines": 3', '"days": ["sat"]')


async def test_w12_esc_decides_later_and_keeps_what_was_typed_also_in_another_tab(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        await person.type("Ada")
        await person.press("escape")
        assert person.app.focused is person.composer and person.tab.asks
        await person.new_tab()
        assert "Rehearsal asks" not in person.text
        await person.answered("say meanwhile")
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("Rehearsal asks", "Ada")
        await person.press("tab")
        await form_has_the_keys(person)
        await person.press("enter", "1", "enter")
        await person.idle()
        await person.sees('"name": "Ada", "colour": "red"')


@pytest.mark.parametrize("how", ["decline", "stop", "kill"])
async def test_w12_what_was_typed_is_the_draft_again_when_the_form_is_not_sent(
    tmp_path: Path, how: str
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("ask name and colour; say on")
        await form_has_the_keys(person)
        await person.type("Ada Lovelace")
        if how == "decline":
            await person.press("tab")
            await person.apart()
            await person.press("d")
        elif how == "stop":
            await person.press("escape", "escape")
        else:
            await person.tab.window.kill_agent()
        await person.until(lambda: not person.tab.asks, "the form to be closed")
        await person.until(lambda: person.draft == "Ada Lovelace", "the text to be back")
        await person.idle()
        if how == "decline":
            await person.sees('{"action": "decline"}')
        else:
            await person.sees("· cancelled")


async def test_w12_what_was_typed_into_a_form_is_the_draft_after_a_restart(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        assert not any(mark in person.text for mark in "◐◓◑◒"), "it is the person's turn"
        await person.type("Ada Lovelace")
        conversation_id = person.tab.conversation.id
    async with at_the_screen(str(tmp_path), conversation_id=conversation_id) as person:
        await person.until(lambda: person.draft == "Ada Lovelace", "the text to be back")


async def test_w12_what_is_typed_into_a_form_survives_a_crash_and_is_no_draft_once_it_is_sent(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        await person.type("Ada")
        await saved(person, "Ada")
        await person.press("enter", "1", "enter")
        await person.idle()
        await saved(person, "")


async def saved(person: Person, draft: str) -> None:
    """Wait until this is the draft in the store."""
    db, window_id = person.chat.context.tabs._db, person.tab.window_id
    async with asyncio.timeout(60):
        while True:
            async with db.read() as reader:
                window = await windows.get(reader, window_id)
            if window is not None and window.draft == draft:
                return
            await person.pilot.pause(0.02)


async def test_w12_the_next_question_gets_the_keys_when_a_form_was_sent(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask name and colour; ask May I?; ask name and colour")
        await form_has_the_keys(person)
        await person.type("Ada")
        await person.press("enter", "1", "enter")
        await person.until(lambda: person.area.place == "question", "the keys to go to the permission")
        await person.apart()
        await person.press("y")
        await form_has_the_keys(person)
        assert "Ada" not in person.text.split("Rehearsal asks")[-1], "it is another form"
        await person.type("Bob")
        await person.press("enter", "2", "enter")
        await person.idle()
        await person.sees('"name": "Bob", "colour": "green"')


async def test_w12_a_page_on_a_short_screen_shows_its_whole_address(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        await person.say("ask url")
        await person.until(lambda: person.area.place == "page", "the keys to go there")
        await person.sees("https://example.org/programme", "Host: example.org", "Open in", "Decline")


async def test_w12_a_form_is_answered_with_the_mouse(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("ask name and colour")
        await form_has_the_keys(person)
        await person.type("Ada")
        await clicks(person, "Green")
        await clicks(person, "Send")
        await person.idle()
        await person.sees('"name": "Ada", "colour": "green"')
        await person.say("form")
        await form_has_the_keys(person)
        await clicks(person, "Decline")
        await person.idle()
        await person.sees('{"action": "decline"}')


async def clicks(person: Person, words: str) -> None:
    """Click on the last of these words on the screen."""
    await person.taken_in()
    rows = person.text.splitlines()
    y = max(y for y, row in enumerate(rows) if words in row)
    await person.pilot.click(offset=Offset(rows[y].index(words), y))
    await person.taken_in()


async def test_w12_a_web_page_is_opened_by_enter_alone_and_closed_by_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    async with at_the_screen(str(tmp_path)) as person:
        monkeypatch.setattr(person.app, "open_url", opened.append)
        await person.say("ask url")
        await person.until(lambda: person.area.place == "page", "the keys to go there")
        await person.sees("https://example.org/programme", "Host: example.org")
        assert opened == [], "nothing is opened or fetched by itself"
        await person.press("enter")
        await person.idle()
        assert opened == ["https://example.org/programme"]
        assert not person.tab.asks
        await person.sees("Asked: Look at the programme · opened example.org · done")


async def test_w12_over_ssh_the_address_goes_to_the_clipboard(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), environment={"SSH_TTY": "/dev/pts/1"}) as person:
        await person.say("ask url")
        await person.until(lambda: person.area.place == "page", "the keys to go there")
        await person.press("enter")
        await person.idle()
        assert person.app.clipboard == "https://example.org/programme"


@pytest.mark.parametrize("size", SIZES)
async def test_w12_an_address_is_shown_whole_and_what_is_hidden_in_it_too(size: tuple[int, int]) -> None:
    long = "https://example.org/" + "".join(f"{number:03}/" for number in range(40))
    async with (stage := Stage()).run_test(size=(size[0], 60)) as pilot:
        drawn = await stage.ask(pilot, page(long))
        assert long in "".join(row.removeprefix("▌").strip() for row in drawn.splitlines())
    async with (stage := Stage()).run_test(size=size) as pilot:
        await stage.ask(pilot, page("https://example.org/\u202e\x1b[2J gpj"))
        lines = stage.panel._said.render_lines(stage.panel._said.size.region)
        shown = "".join(strip.text for strip in lines)
        assert "⟨202E⟩⟨001B⟩[2J⟨0020⟩gpj" in shown.replace(" ", "")
        await press(pilot, "enter")
        assert stage.wanted == [] and not stage.answers


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://аpple.com/", "it is xn--pple-43d.com"),
        ("https://xn--pple-43d.com/", "It reads аpple.com"),
        ("http://example.org/", "not encrypted"),
        ("ftp://example.org/", "Only http and https addresses are opened."),
        ("https://a@example.org/", "hides where it leads"),
    ],
)
async def test_w12_what_is_odd_about_an_address_is_said(url: str, said: str) -> None:
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        assert said in await stage.ask(pilot, page(url))


async def test_w12_no_letter_or_enter_decides_anything_right_behind_another_key() -> None:
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        pace = stage.panel.pace = KeyPace()
        await stage.ask(pilot, page("https://example.org/"))
        stage.panel._clock = lambda: 10.0
        await press(pilot, "y")
        pace._alone = False
        await press(pilot, "d", "enter")
        assert not stage.answers and not stage.wanted
        assert stage.mistyped == ["Press again to confirm."] * 2
        pace._alone = True
        await press(pilot, "d")
        assert [event.answer.action for event in stage.answers] == ["decline"]


async def test_v03_neither_enter_nor_a_click_answers_what_has_just_taken_the_place_of_something_else() -> (
    None
):
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        await stage.ask(pilot, page("https://example.org/"))
        second = ElicitationOpened("w", "2", "Claude", page("https://evil.example/"))
        stage.panel.show([second], lambda _: None)
        stage.panel.enter()
        stage.panel.post_message(Band.Chosen("enter"))
        await press(pilot, "enter")
        await taken_in(pilot)
        assert not stage.answers and not stage.wanted
        assert stage.mistyped == ["This was asked just now. Read it, then press again."] * 2
        stage.panel.standing.drawn(float("-inf"))
        await press(pilot, "enter")
        assert stage.wanted == ["https://evil.example/"]


async def test_w12_a_secret_is_warned_of_masked_and_not_returned_to_the_draft() -> None:
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        drawn = await stage.ask(pilot, form(password={"type": "string"}))
        assert "This looks like a secret, which no form may ask for." in drawn
        await press(pilot, *"hunter2")
        assert "•••••••" in stage.drawn and "hunter2" not in stage.drawn
        assert stage.panel._draft is not None and stage.panel._draft.typed == ""
        await press(pilot, "enter")
        assert [event.answer.content for event in stage.answers] == [{"password": "hunter2"}]


async def test_w12_a_form_that_needs_an_unknown_field_says_so_and_can_only_be_declined() -> None:
    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        drawn = await stage.ask(pilot, form("s", s={"type": "x-signature"}, name={"type": "string"}))
        assert "Fields of the type “x-signature” are not supported." in drawn
        assert "decline it" in drawn and "Send" not in drawn
        await press(pilot, "enter", "tab", "d")
        assert [event.answer.action for event in stage.answers] == ["decline"]


async def test_w12_a_paste_is_one_line_of_text_and_goes_nowhere_else() -> None:
    from textual import events

    async with (stage := Stage()).run_test(size=(100, 30)) as pilot:
        await stage.ask(pilot, form(name={"type": "string"}))
        stage.panel.screen.focused.post_message(events.Paste("one\ntwo"))  # type: ignore[union-attr]
        await taken_in(pilot)
        assert stage.panel._draft is not None and stage.panel._draft.inputs == {"name": "one two"}


async def test_w12_many_choices_are_walked_through_a_few_at_a_time() -> None:
    values = [f"value {number}" for number in range(200)]
    async with (stage := Stage()).run_test(size=(40, 10)) as pilot:
        await stage.ask(pilot, form(c={"type": "string", "enum": values}, n={"type": "string"}))
        assert isinstance(stage.focused, ChoiceList)
        await press(pilot, *["down"] * 60, "space")
        assert "(●) value 60" in stage.drawn and "value 0" not in stage.drawn
        await press(pilot, "enter", "enter")
        assert [event.answer.content for event in stage.answers] == [{"c": "value 60"}]


HOSTILE = "\x1b[31m[bold]red[/bold]\u202egpj.exe\r\n" + "long " * 300


@pytest.mark.parametrize("size", SIZES)
async def test_w27_nothing_in_a_form_steers_the_terminal_or_the_layout(size: tuple[int, int]) -> None:
    options = [{"const": HOSTILE, "title": HOSTILE, "description": HOSTILE}]
    hostile = form(
        **{HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE}},
        c={"type": "string", "title": HOSTILE, "oneOf": options, "default": HOSTILE},
        u={"type": HOSTILE},
    )
    request = Form(HOSTILE, hostile.fields, HOSTILE, HOSTILE)
    async with (stage := Stage()).run_test(size=size) as pilot:
        drawn = await stage.ask(pilot, request)
        await press(pilot, "tab")
        for text in (drawn, stage.drawn):
            assert not any(ord(each) < 32 and each != "\n" for each in text) and "\u202e" not in text
        assert list(widths(drawn)) <= [size[0]] * size[1]


def widths(drawn: str) -> Iterable[int]:
    return (len(row) for row in drawn.splitlines())


async def test_w12_a_form_says_what_it_asks_and_shows_the_field_with_the_keys_in_a_terminal_that_changes_its_size() -> (
    None
):
    fields = {f"field {number}": {"type": "string", "enum": ["one", "two", "three"]} for number in range(6)}
    async with (stage := Stage()).run_test(size=(80, 24)) as pilot:
        assert "\n▌ Who?" in await stage.ask(pilot, form(**fields))
        await press(pilot, *["tab"] * 5)
        await pilot.resize_terminal(40, 10)
        await taken_in(pilot)
        assert "Claude asks: Who?" in stage.drawn
        await pilot.resize_terminal(80, 24)
        await taken_in(pilot)
        assert "\n▌ Who?" in stage.drawn and "Claude asks: Who?" not in stage.drawn
        assert "field 5" in stage.drawn and "3 ( ) three" in stage.drawn


async def test_w12_choices_that_a_short_screen_hides_are_marked_on_the_side_where_they_are() -> None:
    async with (stage := Stage()).run_test(size=(40, 10)) as pilot:
        drawn = await stage.ask(pilot, form(size={"type": "string", "enum": ["one", "two", "three"]}))
        assert [row.split() for row in drawn.splitlines() if "( )" in row] == [
            ["▌", "1", "(", ")", "one"],
            ["▌", "2", "(", ")", "two", "↓"],
        ]
        await press(pilot, "down", "down")
        assert [row.split() for row in stage.drawn.splitlines() if "( )" in row] == [
            ["▌", "2", "(", ")", "two", "↑"],
            ["▌", "3", "(", ")", "three"],
        ]


LONG = " ".join(f"word{number}." for number in range(150))
FORM = replace(form(name={"type": "string"}), message=LONG)
PAGE = WebPage(LONG, "https://example.org/a", "e1")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("asked", ["form", "page"])
async def test_w12_all_of_a_long_question_can_be_read_beside_what_answers_it(
    size: tuple[int, int], asked: str
) -> None:
    read = FORM if asked == "form" else PAGE
    async with (stage := Stage()).run_test(size=size) as pilot:
        drawn = await stage.ask(pilot, read)
        words = {*re.findall(r"word\d+\.", drawn)}
        if size[1] < 40:
            assert "pgdn more" in drawn and "word0." in drawn and "word149." not in drawn
        for _ in range(40):
            assert ("type here" if asked == "form" else "Decline") in drawn, drawn
            await press(pilot, "pagedown")
            drawn = stage.drawn
            words |= {*re.findall(r"word\d+\.", drawn)}
        assert words == {*LONG.split()}
        for _ in range(40):
            await press(pilot, "pageup")
        assert "word0." in stage.drawn


async def test_w12_a_notice_that_another_tab_asks_goes_once_that_tab_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path))
    async with at_the_screen(str(tmp_path), size=(40, 10)) as person:
        asking = person.tab
        await person.say("cue now; ask name and colour")
        await person.new_tab()
        (tmp_path / "cues").mkdir(exist_ok=True)
        (tmp_path / "cues" / "now").touch()
        await person.sees("asks: What is your name")
        await person.press("f8")
        await person.until(lambda: person.tab is asking, "the tab that asks")
        await form_has_the_keys(person)
        await person.sees("Rehearsal asks")
        await person.sees_no(": asks:")
