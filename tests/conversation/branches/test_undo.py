"""Undo: every act that moves a pointer can be taken back and done again, and nothing is lost by either."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from catena.workspace.keeping import act_words, undone
from catena.workspace.tab import Tab
from catena_acp.errors import NotToBeUndone, StillAtWork
from catena_store.conversations import conversations, messages
from catena_store.conversations.branches import siblings
from catena_store.windows import journal, windows
from catena_store.windows.journal import Act
from support.conversations.rehearsed import World
from support.conversations.room import Room, room
from support.storage.rows import new_conversation, store


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_k11_a_title_an_agent_and_a_move_are_taken_back_one_after_the_other_and_done_again(
    world: World,
) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        first = await here.view()
        undoing, conversation = here.tabs.undoing, tab.conversation
        await conversation.rename("The play", by=tab.window_id)
        await conversation.window(tab.window_id).set_agent(world.spec(name="other"))
        leaf = tab.leaf_id
        await here.move(tab, None, Act.GO_TO)
        last = await here.view()

        taken = await undoing.undo(tab)
        assert taken and undone(taken) == (
            "Undone: the jump to another branch. /undo again for: the change to other. /undo redo to redo."
        )
        assert tab.leaf_id == leaf
        await undoing.undo(tab)
        assert tab.agent == "rehearsal"
        taken = await undoing.undo(tab)
        assert taken and "the title “The play”. Nothing more to undo." in undone(taken)
        assert conversation.record.title == "say one"
        assert await here.view() == first
        assert await undoing.undo(tab) is None

        for _ in range(3):
            assert await undoing.redo(tab)
        assert await here.view() == last
        assert (tab.leaf_id, tab.agent, conversation.record.title) == (None, "other", "The play")
        assert await undoing.redo(tab) is None


async def test_k11_a_cleared_context_is_undone_before_any_older_act_and_sent_on_again(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        undoing, window = here.tabs.undoing, tab.conversation.window(tab.window_id)
        await tab.conversation.rename("The play", by=tab.window_id)
        before = tab.leaf_id
        await window.clear()
        await here.tabs.reload(tab)
        barrier = tab.leaf_id
        taken = await undoing.undo(tab)
        assert taken and undone(taken) == (
            "Undone: clearing the context. /undo again for: the title “The play”. /undo redo to redo."
        )
        assert (tab.leaf_id, tab.conversation.record.title) == (before, "The play")
        await undoing.redo(tab)
        assert tab.leaf_id == barrier
        await here.say(tab, "say two")  # the agent hears nothing of what is above
        await undoing.undo(tab)
        assert tab.leaf_id == before, "what was said below it stays on its own branch"
        await here.say(tab, "say three")
        assert await here.texts(tab) == ["say one", "say three"]
        assert not any("say one" in block for block in world.prompts()[1]), "it was cleared"
        assert not any("say two" in block for block in world.prompts()[2]), "it is on another branch"


async def test_k11_an_edit_that_was_sent_and_undone_leaves_both_branches(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one", "say two")
        before = tab.leaf_id
        prompt = (await here.prompts(tab))[1]
        await here.edit(tab, prompt, "say other")
        edited = tab.leaf_id
        assert await here.texts(tab) == ["say one", "say other"]
        await here.tabs.undoing.undo(tab)
        assert (tab.leaf_id, await here.texts(tab)) == (before, ["say one", "say two"])
        async with here.db.read() as reader:
            beside = await siblings(reader, prompt)
        assert (beside[0], len(beside)) == (prompt, 2), "the new sibling can still be reached"
        await here.tabs.undoing.redo(tab)
        assert tab.leaf_id == edited, "doing it again goes to the end of what was said there"


async def test_k11_undoing_a_fork_shows_the_source_and_keeps_the_fork_in_which_something_was_said(
    world: World,
) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        source = tab.conversation.id
        await here.served.fork(tab.conversation, window_id=tab.window_id, side_by_side=False)
        await here.tabs.reload(tab)
        fork = tab.conversation.id
        assert fork != source
        await here.say(tab, "say in the fork")
        await here.tabs.undoing.undo(tab)
        assert (tab.conversation.id, await here.texts(tab)) == (source, ["say one"])
        assert fork in await here.lists()
        await here.tabs.undoing.redo(tab)
        assert (tab.conversation.id, await here.texts(tab)) == (fork, ["say one", "say in the fork"])
        await here.say(tab, "say more")  # its session goes on
        assert (await here.texts(tab))[-1] == "say more"


async def test_k11_a_fork_in_which_nothing_was_said_goes_without_a_trace(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        source = tab.conversation.id
        await here.fork(tab)
        middle = tab.conversation.id
        await here.fork(tab)
        await here.tabs.undoing.undo(tab)
        assert tab.conversation.id == middle, "undoing leads back to it, so it was kept"
        await here.tabs.undoing.undo(tab)
        assert tab.conversation.id == source
        with pytest.raises(NotToBeUndone, match="it was empty, or was pruned"):
            await here.tabs.undoing.redo(tab)
        beside = await here.fork(tab, side_by_side=True)
        assert len(here.tabs.tabs) == 2
        taken = await here.tabs.undoing.undo(beside)
        assert taken and here.tabs.tabs == [tab]
        assert await here.lists() == {source}


async def test_k11_a_closed_tab_comes_back_at_its_place_with_its_draft(world: World) -> None:
    async with room(world) as here:
        left, middle, right = [await here.tab(f"say {name}") for name in ("left", "middle", "right")]
        middle.draft = "half a thought"
        await here.tabs.keep(middle)
        await here.tabs.close(middle)
        assert here.tabs.tabs == [left, right]
        taken = await here.tabs.undoing.undo(right)
        assert taken and act_words(taken.acts[0]) == "closing the tab “say middle”"
        assert [tab.window_id for tab in here.tabs.tabs] == [
            left.window_id,
            middle.window_id,
            right.window_id,
        ]
        assert taken.look_at and taken.look_at.draft == "half a thought"
        await here.say(taken.look_at, "say again")
        assert await here.texts(taken.look_at) == ["say middle", "say again"]


async def test_h08_deleting_and_archiving_hide_a_conversation_and_remove_nothing(world: World) -> None:
    async with room(world) as here:
        tab, other = await here.tab("say gone"), await here.tab("say stays")
        undoing, gone = here.tabs.undoing, tab.conversation.id
        await here.tabs.keeping.delete([gone], by=tab)
        assert here.tabs.tabs == [other]
        assert await here.lists() == {other.conversation.id}
        async with here.db.read() as reader:
            assert await messages.first_prompt(reader, gone) == "say gone"
            assert (await conversations.marks(reader, gone)).deleted
        taken = await undoing.undo(other)
        assert taken and act_words(taken.acts[0]) == "deleting “say gone”"
        assert gone in await here.lists()
        back = here.tabs.tabs[0]
        assert back.conversation.id == gone
        assert await here.texts(back) == ["say gone"]

        await here.tabs.close(back)
        await here.tabs.keeping.archive([gone])
        assert await here.lists() == {other.conversation.id}
        assert await here.lists(archived=True) == {gone}
        await here.tabs.keeping.archive([gone], archived=False)
        assert gone in await here.lists()
        await undoing.undo(None)
        assert gone not in await here.lists()
        await undoing.undo(other)
        assert gone in await here.lists()


async def test_k11_while_a_turn_runs_only_a_title_is_undone(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        conversation, undoing = tab.conversation, here.tabs.undoing
        await here.move(tab, None, Act.GO_TO)
        await conversation.rename("Mine", by=tab.window_id)
        await conversation.window(tab.window_id).say("wait 60")
        taken = await undoing.undo(tab)
        assert taken and conversation.record.title == "say one"
        with pytest.raises(NotToBeUndone, match="stop it, then undo"):
            await undoing.undo(tab)
        with pytest.raises(StillAtWork):
            await here.tabs.keeping.delete([conversation.id], by=tab)
        assert conversation.busy
        await conversation.window(tab.window_id).stop()
        await conversation.window(tab.window_id).wait_idle()
        assert await undoing.undo(tab)


async def test_k11_the_list_of_acts_goes_back_to_any_and_forward_again(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        undoing, conversation = here.tabs.undoing, tab.conversation
        for title in "abcd":
            await conversation.rename(title, by=tab.window_id)
        listed = await undoing.acts(tab)
        assert [act_words(done) for done in listed] == [f"the title “{title}”" for title in "dcba"]
        second = listed[2].entry
        taken = await undoing.go_back_to(tab, second.id)
        assert taken and len(taken.acts) == 3
        assert "the title “b” and 2 more after it" in undone(taken)
        assert conversation.record.title == "a"
        assert [done.entry.undone for done in await undoing.acts(tab)] == [True, True, True, False]
        assert await undoing.go_back_to(tab, listed[1].entry.id)
        assert conversation.record.title == "c"
        await conversation.rename("new", by=tab.window_id)
        assert await undoing.redo(tab) is None, "what came after is no longer ahead of it"
        assert await undoing.go_back_to(tab, listed[0].entry.id) is None


async def test_k11_what_was_done_can_be_undone_after_a_restart(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        window_id, leaf = tab.window_id, tab.leaf_id
        await here.move(tab, None, Act.REWIND)
    async with room(world) as here:
        (tab,) = here.tabs.tabs
        assert (tab.window_id, tab.leaf_id) == (window_id, None)
        await here.tabs.undoing.undo(tab)
        assert tab.leaf_id == leaf


async def test_k11_an_older_link_that_was_gone_on_from_is_left_again(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        conversation = tab.conversation
        (first,) = (await conversation.chain.read(conversation.window(tab.window_id))).entries
        await conversation.window(tab.window_id).set_agent(world.spec(name="other"))
        await here.say(tab, "say two")
        leaf = tab.leaf_id
        await conversation.chain.pick(conversation.window(tab.window_id), first.link.id)
        await here.tabs.reload(tab)
        assert (tab.agent, await here.texts(tab)) == ("rehearsal", ["say one"])
        await here.tabs.undoing.undo(tab)
        assert (tab.agent, tab.leaf_id) == ("other", leaf)


@pytest.mark.parametrize("seed", range(3))
async def test_k11_a_hundred_random_acts_and_a_hundred_undos_give_the_first_view_back(
    world: World, seed: int
) -> None:
    chance = random.Random(seed)
    async with room(world) as here:
        await here.tab("say one", "say two")
        await here.tab("say beside")
        first = await here.view()
        acted: list[str] = []
        while len(acted) < 100:
            tab = chance.choice(here.tabs.tabs)
            if (done_in := await _random_act(here, tab, chance, len(acted))) is not None:
                acted.append(done_in)
        assert await here.view() != first
        for window_id in reversed(acted):
            tabs = {tab.window_id: tab for tab in here.tabs.tabs}
            assert await here.tabs.undoing.undo(tabs.get(window_id, here.tabs.tabs[0]))
            _agree(await here.view(), here.told())
        assert await here.view() == first


async def _random_act(here: Room, tab: Tab, chance: random.Random, number: int) -> str | None:
    """Do something in a tab; gives the window that it can be undone in, None where nothing was done."""
    before = await here.written()
    done_in = tab.window_id
    prompts = await here.prompts(tab)
    conversation = tab.conversation
    match chance.choice(("rename", "agent", "go_to", "edit", "fork", "beside", "close", "delete", "archive")):
        case "rename":
            await conversation.rename(chance.choice((None, f"title {number}")), by=tab.window_id)
        case "agent":
            other = "other" if tab.agent == "rehearsal" else "rehearsal"
            await conversation.window(tab.window_id).set_agent(here.other if other == "other" else here.agent)
        case "go_to":
            async with here.db.read() as reader:
                path = await messages.page(reader, tab.leaf_id, 1_000)
            await here.move(
                tab, chance.choice([None, *(row.id for row in path)]), chance.choice((Act.GO_TO, Act.REWIND))
            )
        case "edit" if prompts:
            await here.edit(tab, chance.choice(prompts), f"say edited {number}")
        case "fork":
            await here.fork(tab)
        case "beside" if len(here.tabs.tabs) < 4:
            done_in = (await here.fork(tab, side_by_side=True)).window_id
        case "close" if len(here.tabs.tabs) > 1 and not await here.tabs.undoing.nothing_said(tab):
            await here.tabs.close(tab)
        case "delete" if len(here.tabs.tabs) > 1 and not await here.tabs.undoing.nothing_said(tab):
            await here.tabs.keeping.delete([conversation.id], by=tab)
        case "archive" if len(here.tabs.tabs) > 1 and not await here.tabs.undoing.nothing_said(tab):
            await here.tabs.keeping.archive([conversation.id], by=tab)
        case _:
            pass
    return done_in if await here.written() > before else None


def _agree(kept: dict[str, Any], told: dict[str, Any]) -> None:
    """The tabs show what the store has."""
    assert kept.keys() == told.keys()
    for key, value in told.items():
        assert kept[key][: len(value)] == value, key


async def test_k11_a_tab_of_no_workspace_that_was_closed_is_brought_back_from_nowhere_else(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await windows.open(tx, id="theirs", conversation_id="c1", leaf_id=None)
            await windows.close(tx, "theirs")
            await journal.record(
                tx,
                workspace_id=None,
                window_id="theirs",
                conversation_id="c1",
                act=Act.CLOSE,
                before={"open": True},
                after={"open": False},
            )
        async with db.read() as reader:
            assert await journal.newest(reader, "ours", None) is None
            assert await journal.entries(reader, "ours", None) == []
            assert await journal.newest(reader, "theirs", None) is not None
