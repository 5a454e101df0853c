"""Leaving in the very moment of Enter: a text is always in a draft, in the queue or in a message, or it is told."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events

from catena.app.app import CatenaApp
from catena.workspace import outgoing
from catena_acp.continuity.conversation_events import PromptReturned
from catena_store.database.database import Database, Writer
from catena_store.errors import StoreFull
from support.screen.pilot import Person, at_the_screen

TYPED = "say well after all"


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def kept(place: Path) -> dict[str, list[str]]:
    """Every text of the store, by where it is."""
    found: dict[str, list[str]] = {"draft": [], "queue": [], "message": []}
    async with Database.open(place / "data" / "catena.db") as db, db.read() as reader:
        for (text,) in await reader.all("SELECT draft FROM window_leaf WHERE trim(draft) <> ''"):
            found["draft"].append(text)
        for (text,) in await reader.all("SELECT text FROM queue_item"):
            found["queue"].append(text)
        for (text,) in await reader.all(
            "SELECT text FROM message WHERE kind = 'user' AND state <> 'refused'"
        ):
            found["message"].append(text)
    return found


async def nothing(person: Person) -> None:
    """A new conversation."""


async def press_enter(person: Person) -> None:
    await person.say(TYPED)


async def a_turn_that_hangs(person: Person) -> None:
    await person.say("say before; hang")
    await person.sees("  before")


async def a_question(person: Person) -> None:
    await person.say("ask May I?")
    await person.until(lambda: person.area.place == "question", "the question to have the keys")


async def give_a_reason(person: Person) -> None:
    await person.press("r")
    await person.until(lambda: person.area.place == "reason", "the reason to be asked for")
    await person.type(TYPED)
    await person.press("enter")


async def an_edit_above_a_draft(person: Person) -> None:
    await person.say("say before")
    await person.sees("  before")
    await person.idle()
    await person.type("a draft")
    await person.escape_twice()
    await person.press("enter")
    await person.until(lambda: person.tab.editing, "the prompt to be edited")


async def one_that_waits(person: Person) -> None:
    await a_turn_that_hangs(person)
    await person.say(TYPED)
    await person.until(lambda: person.tab.queue, "the prompt to wait")


async def take_it_back(person: Person) -> None:
    await person.press("up")


Step = Callable[[Person], Awaitable[None]]
MOMENTS: dict[str, tuple[Step, Step]] = {
    "the first prompt": (nothing, press_enter),
    "a prompt that is to wait": (a_turn_that_hangs, press_enter),
    "a reason": (a_question, give_a_reason),
    "an edit": (an_edit_above_a_draft, press_enter),
    "one that waited, taken back": (one_that_waits, take_it_back),
}


async def leave_meanwhile(
    place: Path, before: Step, act: Step, *, patched: pytest.MonkeyPatch, refuses: bool
) -> CatenaApp:
    """Do something while the store is slow, and leave; then the store goes on, or has no room."""
    go_on = asyncio.Event()

    async with at_the_screen(str(place)) as person:
        await before(person)
        tabs = person.chat.context.tabs
        db = tabs._db
        write, leave = db.write, tabs.leave

        @asynccontextmanager
        async def slow() -> AsyncIterator[Writer]:
            await go_on.wait()
            if refuses:
                raise StoreFull(db.path)
            async with write() as tx:
                yield tx

        async def left(*, quits: bool = False) -> str | None:
            go_on.set()
            return await leave(quits=quits)

        patched.setattr(db, "write", slow)
        patched.setattr(tabs, "leave", left)
        await act(person)
        await person.until(lambda: tabs.outgoing._steps, "something to be on its way")
    return person.app


@pytest.mark.parametrize("moment", MOMENTS)
async def test_r12_who_leaves_while_the_store_is_slow_finds_the_text_in_one_place(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = await leave_meanwhile(tmp_path, *MOMENTS[moment], patched=monkeypatch, refuses=False)
    found = [text for texts in (await kept(tmp_path)).values() for text in texts]
    assert sum(text.count(TYPED) for text in found) == 1
    assert TYPED not in "\n".join(app.unsent_lines)
    if moment == "an edit":
        assert sum(text.count("a draft") for text in found) == 1


@pytest.mark.parametrize("moment", MOMENTS)
async def test_r12_who_leaves_while_the_disk_is_full_is_told_what_could_not_be_kept(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = await leave_meanwhile(tmp_path, *MOMENTS[moment], patched=monkeypatch, refuses=True)
    kept_of_it = [text for texts in (await kept(tmp_path)).values() for text in texts if TYPED in text]
    told = "\n".join(app.unsent_lines)
    if moment == "one that waited, taken back":
        assert kept_of_it == [TYPED]  # it still waits
    else:
        assert TYPED in told and "could not be saved" in told and not kept_of_it
        assert "a draft" in told or moment != "an edit"


async def test_r12_enter_and_the_end_in_one_moment_leave_the_text_in_one_place(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say before")
        await person.sees("  before")
        await person.idle()
        person.composer.put(TYPED)
        person.composer.submit()
        person.app.exit()  # before anybody has heard of Enter
    found = [text for texts in (await kept(tmp_path)).values() for text in texts]
    assert sum(text.count(TYPED) for text in found) == 1


async def test_r12_a_text_that_comes_back_in_the_moment_of_the_end_is_the_draft(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say before")
        await person.sees("  before")
        await person.idle()
        await person.type("behind")
        tab = person.tab
        person.app.exit()
        tab.conversation.publish(PromptReturned(tab.window_id, TYPED))  # nobody is there to draw it
    assert (await kept(tmp_path))["draft"] == [f"{TYPED}\nbehind"]


async def test_r12_what_was_sent_before_an_agent_was_chosen_is_told_at_the_end(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), choose=True) as person:
        await person.sees("Start with")
        await person.select("fold")
        await person.say(TYPED)
        app = person.app
    assert app.unsent_lines == ["Unsaved text:", TYPED]


async def test_r12_a_question_beside_is_the_draft_where_we_end_before_it_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_START_DELAY", "600")
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("/btw what is it")
        await person.until(lambda: person.app.screen is not person.app.chat, "the aside")
        await person.press("a")
        await person.type("and then")
    (draft,) = (await kept(tmp_path))["draft"]
    assert draft.splitlines()[-1] == "/btw and then"


async def test_r12_a_reason_whose_question_is_gone_is_in_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await a_question(person)
        await person.press("r")
        await person.until(lambda: person.area.place == "reason", "the reason to be asked for")
        await person.type("not today")
        group = person.agent
        assert group is not None
        os.killpg(group, signal.SIGKILL)
        await person.until(lambda: person.draft == "not today", "the reason to be in the composer")


async def test_r12_a_reason_that_is_being_typed_at_the_end_is_the_draft(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await a_question(person)
        await person.press("r")
        await person.until(lambda: person.area.place == "reason", "the reason to be asked for")
        await person.type("not today")
    assert (await kept(tmp_path))["draft"] == ["not today"]


async def test_r12_a_dropped_path_that_cannot_be_attached_stands_in_the_composer_again(
    tmp_path: Path,
) -> None:
    large = tmp_path / "film.mp4"
    with large.open("wb") as film:
        film.truncate(11_000_000)
    (project := tmp_path / "project").mkdir()
    async with at_the_screen(str(project)) as person:
        await person.type("see ")
        person.composer.post_message(events.Paste(str(large)))
        await person.sees("Tab attaches the file instead of the path.")
        await person.taken_in()
        await person.press("tab")
        await person.until(lambda: person.draft == f"{large}\nsee ", "the path to be there again")
        assert not person.tab.attachments


async def walk_from_a_draft(person: Person) -> None:
    await person.say("say before")
    await person.sees("  before")
    await person.idle()
    await person.type("a draft")
    await person.press("up")
    await person.until(lambda: person.draft == "say before", "the earlier input")


async def test_h14_who_leaves_while_an_earlier_input_is_shown_finds_the_draft_again(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await walk_from_a_draft(person)
    assert (await kept(tmp_path))["draft"] == ["a draft"]


async def test_h14_a_walk_that_is_left_for_another_tab_loses_neither_draft(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await walk_from_a_draft(person)
        first = person.tab
        await person.new_tab()
        await person.type("another")
        await person.press("up")
        await person.until(lambda: person.draft == "say before", "the earlier input")
        assert first.draft == "a draft"
        await person.press("down")
        await person.until(lambda: person.draft == "another", "the draft again")


async def test_a_step_that_takes_too_long_when_we_leave_is_ended_and_its_text_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outgoing, "_PATIENCE", 0.0)
    texts, draft = outgoing.OutgoingTexts(), outgoing.UnplacedDraft()
    late, sent = texts.add("late", draft), texts.add("sent", draft)
    await texts.store(sent, asyncio.sleep(0))
    waiting = asyncio.ensure_future(texts.store(late, asyncio.Event().wait()))
    await asyncio.sleep(0)
    await texts.restore_all()
    assert texts.unplaced == ["late"]
    assert not texts.remove(late)
    with pytest.raises(asyncio.CancelledError):
        await waiting
