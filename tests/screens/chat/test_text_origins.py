"""Text that the person did not type here is never a command: forms, imports, agents, pastes. Section V01."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot

from catena.widgets.composer import Composer
from catena.workspace.questions.forms import FormDraft
from catena_acp.port.elicitation.requests import Form
from catena_acp.protocol.elicitations import elicitation_of
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, default_path
from catena_store.ids import new_id
from catena_store.records import Kind, NewMessage, PromptOrigin
from support.screen.messages import press, taken_in
from support.screen.pilot import Person, at_the_screen
from support.screen.themed import ThemedApp

_BLOCK = "```console\n$ ls\n[exit code 0]\n```\n"


class Stage(ThemedApp):
    """The composer alone."""

    def __init__(self) -> None:
        super().__init__()
        self.composer = Composer()

    def compose(self) -> ComposeResult:
        yield self.composer


async def paste(pilot: Pilot[None], text: str) -> None:
    """Paste a text into the composer."""
    pilot.app.query_one(Composer).post_message(events.Paste(text))
    await taken_in(pilot)


def ran(directory: Path) -> bool:
    """True if the command of the hostile texts here was run."""
    return (directory / "PWNED").exists()


async def keep_imported(cwd: str, prompt: str, origin: PromptOrigin) -> str:
    """A conversation whose last prompt is this one, and no prompt of it was typed here; its id."""
    async with Database.open(default_path()) as db, db.write() as tx:
        made = await conversations.create(tx, id=new_id(), agent="rehearsal", cwd=cwd, title="imported")
        rows: list[NewMessage] = []
        for text in ("a question", prompt):
            above = rows[-1].id if rows else None
            rows.append(NewMessage(new_id(), made.id, above, Kind.USER, text, data={"origin": origin}))
            rows.append(NewMessage(new_id(), made.id, rows[-1].id, Kind.AGENT, "an answer"))
        await messages.insert_many(tx, rows)
    return made.id


async def sent_as_prompt(person: Person, text: str) -> None:
    """Press Enter and wait until the text stands in the transcript: it was no command."""
    await person.press("enter")
    await person.until(lambda: person.draft == "", "the text to go out")
    await person.idle()
    await person.sees(f"▌  {text}")


@pytest.mark.parametrize("prompt", ["!touch PWNED", "/quit", f"{_BLOCK}!touch PWNED"])
@pytest.mark.parametrize("key", ["e", "f"])
async def test_v01_an_imported_prompt_is_no_command_when_it_is_edited_or_forked(
    tmp_path: Path, prompt: str, key: str
) -> None:
    made = await keep_imported(str(tmp_path), prompt, PromptOrigin.IMPORT)
    async with at_the_screen(str(tmp_path), conversation_id=made) as person:
        await person.sees("imported")
        await person.browse()
        await person.press("K", key)
        if key == "f":
            await person.is_asked()
            await person.press("enter")
        await person.until(lambda: person.draft == f" {prompt}", "the prompt to stand in the composer")
        assert person.area.prompt.shell_command is None
        await person.press("enter")
        await person.until(lambda: person.draft == "", "the text to go out")
        await person.idle()
        assert not ran(tmp_path) and person.tab.leaf_id is not None


async def test_v01_what_was_typed_into_a_form_comes_back_as_text_and_the_enter_for_the_form_does_nothing(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path), size=(100, 50)) as person:
        await person.say("ask name and colour")
        await person.until(lambda: person.area.place == "form", "the keys to go to the form")
        await person.taken_in()
        await person.type("!touch PWNED")
        person.composer._clock = lambda: time.monotonic() + 1_000  # the next keys are all too early
        await person.tab.window.kill_agent()
        await person.until(lambda: person.draft == " !touch PWNED", "the text to be back")
        await person.press("enter")
        assert person.draft == " !touch PWNED", "this Enter was meant for the form"
        await person.sees("This text has just come in.")
        person.composer._clock = lambda: float("-inf")
        person.composer.came_in()
        await sent_as_prompt(person, "!touch PWNED")
        assert not ran(tmp_path)


def test_v01_only_what_the_person_typed_into_a_form_comes_back() -> None:
    properties = {
        "note": {"type": "string", "title": "Note", "default": "!touch PWNED; true "},
        "more": {"type": "string", "title": "More", "default": "left as it was"},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    form = elicitation_of({"mode": "form", "message": "Who?", "requestedSchema": schema})
    assert isinstance(form, Form)
    draft = FormDraft(form)
    assert draft.typed == ""
    draft.inputs["note"] = "!touch PWNED; true word"
    assert draft.typed == "word"
    draft.inputs["note"] = "see !touch PWNED; true "
    assert draft.typed == "see"
    draft.inputs |= {"note": "!touch PWNED; true ", "more": "!ls"}
    assert draft.typed == " !ls", "typed into a form, it is no command"


@pytest.mark.parametrize("text", ["!ls", "/quit", "\n/quit", "\n\n!ls", f"{_BLOCK}!ls"])
async def test_v01_a_pasted_sign_is_no_command(text: str) -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        await paste(pilot, text)
        assert composer.text == f" {text}"
        composer.move_cursor((0, 0))
        await press(pilot, "delete")
        assert composer.text == text, "the person may take the space away"


async def test_v01_a_typed_sign_is_a_command_whatever_is_pasted_behind_it() -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        await press(pilot, "exclamation_mark")
        await paste(pilot, "ls")
        assert composer.text == "!ls"
        composer.clear()
        await paste(pilot, "!touch PWNED")
        assert composer.text == " !touch PWNED"


async def test_v01_a_sign_that_comes_to_the_front_when_something_is_deleted_is_no_command() -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        await paste(pilot, "see\n!touch PWNED")
        composer.delete((0, 0), (1, 0))
        await taken_in(pilot)
        assert composer.text == " !touch PWNED"


async def test_v01_a_quoted_answer_is_no_command() -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        composer.quote("!touch PWNED")
        assert composer.text == " !touch PWNED"


async def test_v01_a_prompt_that_an_agent_sent_as_the_persons_is_marked(tmp_path: Path) -> None:
    made = await keep_imported(str(tmp_path), "!touch PWNED", PromptOrigin.AGENT)
    async with at_the_screen(str(tmp_path), conversation_id=made) as person:
        await person.sees("!touch PWNED", "sent by the agent, not typed here")
