"""Whatever text gets into a field, by whichever way, is drawn so that the terminal obeys none of it."""

from __future__ import annotations

import ast
import json
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static
from textual.widgets.text_area import Selection

import catena
from catena.text.safe_text import safe_cells
from catena.widgets.composer import Composer
from catena.widgets.fields.text_fields import EditedText, SafeInput, SafeTextArea
from catena.widgets.hint_line import HintLine
from support.places import SCRIPTED_AGENT
from support.screen.messages import taken_in
from support.screen.pilot import at_the_screen
from support.screen.terminal import EMPTY_BOX, Place, Terminal
from support.screen.themed import ThemedApp

# Each begins with what it is; none has a newline, which every field of one line would end at.
SEQUENCES = (
    "clipboard\x1b]52;c;aGk=\x07",
    "title\x1b]0;stolen\x1b\\",
    "clear\x1b[2J\x1b[3J\x1b[H",
    "device\x1bPq#0;2;0;0;0\x1b\\",
    "csi\x9b2J\x9b5A",
    "osc\x9d0;stolen\x9c",
    "order\u202egnp.exe\u2066x\u2069\u202c",
    "lines\u2028\u2029",
    "keys\x07\x08\x7f\x0e\x00",
)
PAYLOAD = " ".join(SEQUENCES)
FAMILY = "👨\u200d👩\u200d👧"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
KEPT = (FAMILY, ENGLAND, "🇩🇪", "e\u0301", "漢字", "שלום", "\u00a0", "👍🏽")

# All that Catena itself sends while it runs: styles, places, erased and moved lines, modes, and questions, at its start
# and about what has been drawn.
_OURS = re.compile(
    rb"\x1b\[[0-9;]*m|\x1b\[(?:[0-9]+(?:;[0-9]+)?)?H|\x1b\[[0-9]+[GX]|\x1b\[D|\x1b\[[JK]|\x1b\[(?:[0-9]+;[0-9]+)?r|\x1b\[[0-9]+[LM]|\x1b\[\?[0-9]+[hl]|\x1b\[\?[0-9;]+\$p|\x1b\[[<>=?][0-9;]*u|\x1b\[[56]n"
    rb"|\x1b\[>0q|\x1b\]99;i=catena:p=\?;\x1b\\|\x1b\]11;\?(?:\x07|\x1b\\)|\x1b\]22;[a-z-]+\x07|[\r\n]"
    rb"|\x1b\]2;[^\x00-\x1f\x7f]*\x1b\\|\x1b\[2[23];2t"  # the window's title, of characters that are seen
)
_OBEYED = re.compile(
    rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xed[\xa0-\xbf]"
)


def obeyed(output: bytes) -> list[tuple[int, bytes]]:
    """What is in the output that a terminal would obey, and that Catena does not send of itself; where it begins."""
    rest = _OURS.sub(lambda found: b" " * len(found[0]), output)
    return [(found.start(), rest[found.start() : found.start() + 12]) for found in _OBEYED.finditer(rest)]


AGENT = """
import json
PAYLOAD = json.loads(os.environ["PAYLOAD"])

def session_new(agent, request):
    agent.sessions += 1
    session = f"s{agent.sessions}"
    modes = [{"id": "m", "name": "mode" + PAYLOAD, "description": PAYLOAD}, {"id": "n", "name": "other"}]
    agent.send(
        agent.result(
            request, {"sessionId": session, "modes": {"currentModeId": "m", "availableModes": modes}}
        ),
        agent.update(session, "available_commands_update", availableCommands=[
            {"name": "zap" + PAYLOAD, "description": "does" + PAYLOAD, "input": {"hint": "hint" + PAYLOAD}}
        ]),
        agent.update(session, "session_info_update", title="named" + PAYLOAD),
    )

def session_prompt(agent, request):
    said, session = request["params"]["prompt"][-1]["text"], request["params"]["sessionId"]
    if said.startswith("ask"):
        call = {"toolCallId": "t", "title": "tool" + PAYLOAD, "kind": "execute", "rawInput": {"command": PAYLOAD}}
        agent.send(agent.update(session, "tool_call", status="pending", **call))
        names = {"a": "allow_once", "r": "reject_once"}
        options = [{"optionId": id, "name": kind + PAYLOAD, "kind": kind} for id, kind in names.items()]
        agent.ask("q", "session/request_permission", sessionId=session, toolCall=call, options=options)
        agent.read()
    if said.startswith("hold"):
        agent.send(agent.text(session, "holding"))
        while agent.read().get("method") != "session/cancel":
            pass
        agent.send(agent.result(request, {"stopReason": "cancelled"}))
        return
    if said.startswith("fail"):
        agent.send(agent.error(request, -32603, "failed" + PAYLOAD))
        return
    agent.send(agent.text(session, "answered " + PAYLOAD), agent.result(request, {"stopReason": "end_turn"}))
"""


class Channels:
    """What was sent to the terminal since each of the ways into a field was gone."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._begun: list[tuple[int, str]] = []

    @contextmanager
    def watched(self, name: str) -> Iterator[None]:
        """One way; what comes from here to the next one is its."""
        self._begun.append((len(self.terminal.output), name))
        yield

    def leaks(self) -> dict[str, list[bytes]]:
        """What the terminal would obey, by the way that it came; all of it has come."""
        self.terminal.wait_until_quiet(0.2)
        leaks: dict[str, list[bytes]] = {}
        for at, found in obeyed(self.terminal.output):
            _, name = max(each for each in self._begun if each[0] <= at)
            leaks.setdefault(name, []).append(found)
        return leaks

    def emptied(self) -> None:
        """Take out what is in the composer."""
        self.terminal.write("\x1b[18~\x7f")  # F7: all of it
        self.terminal.wait_for(EMPTY_BOX)


@pytest.fixture
def hostile(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'wb').write({('edited ' + PAYLOAD).encode()!r})\n"
    )
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    agent = json.dumps([sys.executable, str(SCRIPTED_AGENT)])
    (place.config / "config.toml").write_text(f"park = false\n[agents.hostile]\ncommand = {agent}\n")
    place.environment |= {
        "EDITOR": str(editor),
        "SCRIPT": AGENT,
        "HEARD": str(tmp_path / "heard"),
        "PAYLOAD": json.dumps(PAYLOAD),
    }
    return place


def test_no_way_into_a_field_leads_to_the_terminal(hostile: Place) -> None:
    with hostile.catena("--agent", "hostile", columns=140, rows=40) as terminal:
        ways = Channels(terminal)
        with ways.watched("start"):
            terminal.wait_for(EMPTY_BOX)
        with ways.watched("titles, modes and an answer"):
            terminal.say("go on")
            terminal.wait_for("answered clip")
        with ways.watched("quote"):
            terminal.press("f2")
            terminal.wait_for("y copy")
            terminal.press("q")
            terminal.wait_for("│ > answered")
        ways.emptied()
        with ways.watched("commands"):
            terminal.write("/zap")
            terminal.wait_for("from the agent")
        with ways.watched("command taken"):
            terminal.press("tab")
            terminal.wait_for("│ /zapclip")
        ways.emptied()
        with ways.watched("bracketed paste"):
            terminal.write(f"\x1b[200~pasted {PAYLOAD}\x1b[201~")
            terminal.wait_for("│ pasted")
        ways.emptied()
        with ways.watched("burst"):
            terminal.write("burst \u202e\u2066 one\rtwo \u202d\x9b2J\u2028 three")
            terminal.wait_for("three")
        ways.emptied()
        with ways.watched("editor"):
            terminal.press("ctrl+g")
            terminal.wait_for("│ edited clip")
        with ways.watched("sent"):
            terminal.press("enter")
            terminal.wait_for("▌ edited clip[\\s\\S]*answered[\\s\\S]*" + EMPTY_BOX)
        with ways.watched("history"):
            terminal.press("up")
            terminal.wait_for("│ edited clip")
        ways.emptied()
        with ways.watched("inputs"):
            terminal.press("ctrl+r")
            terminal.wait_for("Type to filter")
        with ways.watched("filter"):
            terminal.write(f"\x1b[200~edited {PAYLOAD}\x1b[201~")
            terminal.wait_for(r"╭ Prompt history ─[^\n]*\n\W*edited clip")  # a row of the list has it before
            terminal.press("escape")
            terminal.wait_gone("╭ Prompt history")
            terminal.wait_for(EMPTY_BOX)
        with ways.watched("find"):
            terminal.press("ctrl+f")
            terminal.wait_for("╭ Find")
            terminal.write(f"\x1b[200~sought {PAYLOAD}\x1b[201~")
            terminal.wait_for("sought clip")
            terminal.press("escape")
            terminal.wait_gone("sought")
        with ways.watched("edit"):
            terminal.write("\x1b\x1b")
            terminal.wait_for("choose a prompt")
            terminal.press("enter")
            terminal.wait_for("│ edited clip")
            terminal.press("escape")
            terminal.wait_for(EMPTY_BOX)
        with ways.watched("question"):
            terminal.say("ask me")
            terminal.wait_for("reject_onceclip")
        with ways.watched("reason"):
            terminal.press("tab")
            terminal.wait_gone("tab to answer")
            terminal.pause(0.5)  # a question that was asked just now takes no letter
            terminal.press("r")
            terminal.wait_for(r"Reason \(sent")
            terminal.write(f"\x1b[200~because {PAYLOAD}\x1b[201~")
            terminal.wait_for("because clip")
            terminal.press("enter")
            terminal.wait_for("▌ because clip")
        with ways.watched("prompt returned"):
            terminal.wait_for(EMPTY_BOX)
            terminal.write(f"\x1b[200~fail {PAYLOAD}\x1b[201~")
            terminal.wait_for("│ fail clip")
            terminal.press("enter")
            terminal.wait_for("failedclip[\\s\\S]*│ fail clip")
        ways.emptied()
        with ways.watched("queue"):
            terminal.say("hold it")
            terminal.wait_for("holding")
            terminal.write(f"\x1b[200~queued {PAYLOAD}\x1b[201~")
            terminal.wait_for("│ queued clip")
            terminal.press("enter")
            terminal.wait_for("next  .*queued clip")
        with ways.watched("taken back from the queue"):
            terminal.press("up")
            terminal.wait_for("│ queued clip")
        ways.emptied()
        terminal.press("ctrl+g")
        terminal.wait_for("│ edited clip")
        terminal.wait_until(lambda: hostile.keeps("edited " + PAYLOAD), "the draft to be kept")
        leaks = ways.leaks()
    with hostile.catena("--continue", columns=140, rows=40) as terminal:
        ways = Channels(terminal)
        with ways.watched("draft"):
            terminal.wait_for("│ edited clip")
        leaks |= ways.leaks()
    assert leaks == {}


class Fields(ThemedApp):
    """The two kinds of fields, without the last look that Catena takes at every line."""

    def compose(self) -> ComposeResult:
        yield Composer(id="area")
        yield SafeInput(compact=True, id="line")

    @property
    def area(self) -> Composer:
        return self.query_one("#area", Composer)

    @property
    def line(self) -> SafeInput:
        return self.query_one("#line", SafeInput)


def drawn(field: SafeTextArea | SafeInput) -> list[str]:
    """The rows of a field, each without the empty cells behind it."""
    rows = [field.render_line(y) for y in range(field.content_size.height)]
    assert all(row.cell_length == sum(cell_len(segment.text) for segment in row) for row in rows)
    return [row.text.rstrip() for row in rows]


@pytest.mark.parametrize(
    "text", [*SEQUENCES, PAYLOAD, "half \ud83d of a pair", "soft\xadhyphen", "new\x85line"]
)
async def test_what_is_edited_is_drawn_in_cells_that_say_nothing_to_the_terminal(text: str) -> None:
    app = Fields()
    async with app.run_test(size=(200, 20)) as pilot:
        app.area.put(text)
        app.line.value = text
        await taken_in(pilot)
        for field in (app.area, app.line):
            shown = "".join(drawn(field))
            assert shown == safe_cells(text) and shown.isprintable()
            assert cell_len(shown) == len(text)
        assert app.area.text == text and app.line.value == text


@pytest.mark.parametrize("text", KEPT)
async def test_what_is_made_of_several_characters_is_drawn_as_it_is(text: str) -> None:
    app = Fields()
    async with app.run_test(size=(60, 20)) as pilot:
        app.area.put(f"a {text} z")
        app.line.value = f"a {text} z"
        await taken_in(pilot)
        assert drawn(app.area) == drawn(app.line) == [f"a {text} z"]


async def test_floods_of_what_has_no_cells_end_in_an_edited_text_too() -> None:
    app = Fields()
    async with app.run_test(size=(60, 20)) as pilot:
        app.area.put("e" + "\u0301" * 20 + "👩" + "\u200d👩" * 9)
        await taken_in(pilot)
        (shown,) = drawn(app.area)
        assert shown.count("\u0301") == 8 and "\u200d" not in shown


async def test_the_cursor_clicks_and_selections_are_where_the_characters_are_drawn() -> None:
    text = "ab\x1b[2J\u202egnp漢\x9b5A👍🏽e\u0301\x07z"
    shown = safe_cells(text)
    app = Fields()
    async with app.run_test(size=(60, 20)) as pilot:
        area, line = app.area, app.line
        area.put(text)
        line.value = text
        await taken_in(pilot)
        for at in range(len(text) + 1):
            area.move_cursor((0, at))
            line.cursor_position = at
            behind = cell_len(shown[:at])
            assert area.cursor_screen_offset.x - area.content_region.x == behind
            assert line._position_to_cell(at) == behind
        for at, character in enumerate(shown):
            if cell_len(shown[: at + 1]) - cell_len(shown[:at]) < 1 or not cell_len(character):
                continue  # part of the character before
            cell = cell_len(shown[:at])
            await pilot.click("#area", offset=(cell, 0))
            await pilot.click("#line", offset=(cell, 0))
            assert area.cursor_location == (0, at) and line.cursor_position == at
        area.focus()
        area.selection = Selection((0, 1), (0, 8))
        assert area.selected_text == text[1:8]
        await pilot.press("delete")
        assert area.text == text[0] + text[8:] and drawn(area) == [shown[0] + shown[8:]]
        area.undo()
        assert area.text == text and drawn(area) == [shown]


async def test_text_wraps_where_its_cells_end() -> None:
    text = "\n".join(("\u202e" * 50, "word\x1b[2J " * 9, "漢\x9b" * 20, "\ttab\x07\t" * 4))
    app = Fields()
    async with app.run_test(size=(24, 60)) as pilot:
        app.area.put(text)
        app.area.styles.max_height = 60
        await taken_in(pilot)
        rows = drawn(app.area)
        assert len(rows) == app.area.wrapped_document.height
        assert max(map(cell_len, rows)) < 24
        in_one = "".join(rows).replace(" ", "")
        assert in_one == safe_cells(text).replace("\n", "").replace(" ", "").replace("\t", "")
        seen = {app.area.cursor_location}
        for _ in range(len(rows)):
            await press_up(app, pilot)
            seen.add(app.area.cursor_location)
        assert {row for row, _ in seen} == {0, 1, 2, 3} and app.area.text == text


async def press_up(app: Fields, pilot: Pilot[None]) -> None:
    app.area.action_cursor_up()
    await taken_in(pilot)


def test_an_edited_text_is_given_back_as_it_came_and_follows_every_change() -> None:
    edited = EditedText(PAYLOAD + "\nb\x85c\n")
    assert edited.text == PAYLOAD + "\nb\x85c\n" and edited.line_count == 3
    result = edited.replace_range((1, 1), (0, 9), "x\x1by\r\nz\u2028")  # a carriage return stays, unseen
    assert result.replaced_text == PAYLOAD[9:] + "\nb" and result.end_location == (1, 2)
    assert edited.text == "clipboardx\x1by\r\nz\u2028\x85c\n"
    assert edited.lines == safe_cells(edited.text).replace("␍", " ").split("\n")
    assert edited.get_text_range((0, 9), (1, 2)) == "x\x1by\r\nz\u2028"


async def test_a_placeholder_and_a_suggestion_are_no_markup_and_steer_nothing() -> None:
    app = Fields()
    async with app.run_test(size=(200, 20)) as pilot:
        hints = HintLine()
        hints.address("[bold]hint[/] \x1b[2J[@click=app.quit]")
        app.area.empty_row = hints.inside
        app.area.refresh()
        app.line.placeholder = "[bold]hint[/] \x1b[2J"
        await taken_in(pilot)
        assert drawn(app.area) == ["[bold]hint[/] ␛[2J[@click=app.quit]"]
        assert drawn(app.line) == ["[bold]hint[/] ␛[2J"]
        app.area.suggestion = "more\x1b[2J"
        await taken_in(pilot)
        assert app.area.suggestion == "more␛[2J"


async def test_u02_a_paste_arrives_as_it_was_and_a_carriage_return_alone_is_a_line_end_of_the_terminals() -> (
    None
):
    app = Fields()
    async with app.run_test(size=(60, 20)) as pilot:
        app.area.focus()
        pasted = "a\x1b[2J\x9b5A\x7f\tb\r\nc\u202e" + FAMILY + "\u2028d"
        app.area.post_message(events.Paste(pasted))
        await taken_in(pilot)
        assert app.area.text == pasted
        app.area.load_text("")
        app.area.post_message(events.Paste("one\rtwo"))
        await taken_in(pilot)
        assert app.area.text == "one\ntwo"


async def test_the_last_look_takes_out_what_a_widget_forgot_to_make_safe(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(180, 30)) as person:
        sign = Static(Content(f"begins {PAYLOAD} \ud83d {FAMILY} ends"), markup=False)
        await person.app.chat.mount(sign, before=0)
        await person.sees("begins", "ends")
        for strip in person.app.screen._compositor.render_strips():
            assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", strip.text)
            assert cell_len(strip.text) == strip.cell_length == 180
        assert FAMILY in person.text and "clipboard]52;c;aGk= title]0;stolen" in person.text


def test_no_field_is_one_that_draws_its_text_as_it_is() -> None:
    root = Path(catena.__file__).parent
    raw = []
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ImportFrom(module=str(module), names=names) if module.startswith("textual.widgets"):
                    raw += [(path.name, each.name) for each in names]
                case ast.Attribute(attr="Input" | "TextArea" | "MaskedInput" as name):
                    raw.append((path.name, name))
    fields = {"Input", "TextArea", "MaskedInput"}
    assert {each for each in raw if each[1] in fields} == {
        ("text_fields.py", "Input"),
        ("text_fields.py", "TextArea"),
    }
