"""Checkpoints of real conversations, with real agent processes and a real store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import LeafMoved, MessageAdded
from catena_acp.continuity.services import Checkpointing, WhileIdle
from catena_acp.errors import NoCheckpoint, ReadOnly
from catena_store.chains import agents
from catena_store.conversations import messages
from catena_store.conversations.checkpoints import Checkpoint, Frequency
from catena_store.database.database import Database
from catena_store.errors import LabelTaken
from catena_store.records import Attachment, Kind, LinkState, Message, StopReason
from catena_store.windows import journal
from catena_store.windows.journal import Act
from support.clients.command_line import Catena, run
from support.conversations.rehearsed import Desk, World, open_window

EVERY_TURN = Checkpointing(Frequency.TURN)
EVERY_TOOL = Checkpointing(Frequency.TOOL)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def texts(desk: Desk) -> list[str]:
    return [row.text for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def kept(desk: Desk) -> list[Checkpoint]:
    """Oldest first."""
    return list(reversed(await desk.conversation.checkpoints.all()))


async def row(desk: Desk, id: str | None) -> Message | None:
    async with desk.db.read() as reader:
        return await messages.get(reader, id) if id else None


async def test_k01_one_is_made_by_itself_at_the_start_of_every_turn_with_what_is_known_of_it(
    world: World,
) -> None:
    async with world.client(checkpointing=EVERY_TURN) as desk:
        await desk.say("say one")
        await desk.say("say two")

        first, second = await kept(desk)
        prompts = [each for each in await desk.branch() if each.kind is Kind.USER]
        turns = await desk.turns()

        assert (first.message_id, first.automatic, first.label) == (None, True, None)
        assert second.message_id == prompts[1].parent_id
        assert second.created_at >= turns[1].started_at
        assert dict(second.data) == {
            "turn": turns[1].id,
            "agent": "rehearsal",
            "profile": "",
            "model": turns[1].model,
            "messages": 2,
            "note": None,
            "by": None,
        }
        assert turns[1].model


async def test_k01_at_every_tool_call_too_and_each_stands_where_the_call_had_ended(world: World) -> None:
    async with world.client(checkpointing=EVERY_TOOL) as desk:
        await desk.say("tool read a.txt; fail read b.txt; say both read")

        found = [await row(desk, each.message_id) for each in await kept(desk)]

    assert found[0] is None
    assert [(each.kind, each.data["status"]) for each in found[1:] if each] == [
        (Kind.TOOL, "completed"),
        (Kind.TOOL, "failed"),
    ]


async def test_k01_how_often_is_set_for_a_conversation_and_outlives_the_client(world: World) -> None:
    async with world.client(checkpointing=EVERY_TURN) as desk:
        await desk.conversation.checkpoints.set_frequency(Frequency.MANUAL)
        await desk.say("say one")
        made = await desk.conversation.checkpoints.make(desk.window, note="as it was agreed")

        assert await kept(desk) == [made]
        assert (made.automatic, made.data["note"], made.data["messages"]) == (False, "as it was agreed", 2)
        await desk.conversation.checkpoints.set_frequency(Frequency.OFF)

    async with world.client(checkpointing=EVERY_TURN, resume=desk) as again:
        assert await again.conversation.checkpoints.frequency() is Frequency.OFF
        await again.say("say two")
        with pytest.raises(NoCheckpoint, match="off in this conversation"):
            await again.conversation.checkpoints.make(again.window)
        assert await kept(again) == [made]

        other = await again.conversations.create(agent=world.spec(), cwd=str(world.project))
        assert await other.checkpoints.frequency() is Frequency.TURN


async def test_k02_a_label_names_the_newest_and_naming_none_yet_is_a_clear_error(world: World) -> None:
    async with world.client() as desk:
        with pytest.raises(NoCheckpoint, match="No checkpoints yet; /checkpoint saves one"):
            await desk.conversation.checkpoints.name("good")
        await desk.say("say one")
        first = await desk.conversation.checkpoints.make(desk.window, "  before\nthe \x1bchange ")
        second = await desk.conversation.checkpoints.make(desk.window)

        named = await desk.conversation.checkpoints.name("good")

        assert (first.label, named.id, named.label) == ("before the change", second.id, "good")
        assert (await desk.conversation.checkpoints.find("good")).id == second.id
        assert (await desk.conversation.checkpoints.find(first.id[:8])).id == first.id
        with pytest.raises(LabelTaken):
            await desk.conversation.checkpoints.name("good", first.id)
        with pytest.raises(NoCheckpoint, match="“better”"):
            await desk.conversation.checkpoints.find("better")
        with pytest.raises(NoCheckpoint, match="at most"):
            await desk.conversation.checkpoints.name("x" * 100)

        await desk.conversation.checkpoints.name(None, "good")
        await desk.conversation.checkpoints.remove(first.id)
        assert [(each.id, each.label) for each in await kept(desk)] == [(second.id, None)]


async def test_k04_rewinding_goes_back_and_what_came_later_can_still_be_reached(world: World) -> None:
    notes = world.project / "notes.txt"
    async with world.client() as desk:
        await desk.say("say one")
        good = await desk.conversation.checkpoints.make(desk.window, "good")
        await desk.say("say two")
        notes.write_text("written meanwhile")
        later = (await desk.stored_window()).leaf_id
        every_row = await everything(desk)

        went = await desk.conversation.checkpoints.rewind(desk.window, "good")

        assert went == good
        assert await texts(desk) == ["say one", "one"]
        assert await everything(desk) == every_row
        assert notes.read_text() == "written meanwhile"
        async with desk.db.read() as reader:
            entry = await journal.newest(reader, desk.window_id)
        assert entry is not None and (entry.act, entry.before["leaf_id"]) == (Act.REWIND, later)

        await desk.say("echo")
        told = world.prompts()[-1]
        assert "say one" in told[0] and "two" not in told[0] and told[1:] == ["echo"]
        await desk.window.go_to(later)
        assert await texts(desk) == ["say one", "one", "say two", "two"]


async def test_k04_rewinding_during_a_turn_stops_it_first_and_nothing_late_of_it_shows(world: World) -> None:
    async with world.client(checkpointing=EVERY_TURN) as desk:
        await desk.say("say one")
        await desk.window.say("say half; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text.startswith("half"))

        went = await desk.conversation.checkpoints.rewind(desk.window)

        assert went.data["messages"] == 2
        assert await texts(desk) == ["say one", "one"]
        assert not desk.conversation.busy
        assert (await desk.turns())[-1].stop_reason is StopReason.CANCELLED
        at = next(i for i, news in enumerate(desk.told) if isinstance(news, LeafMoved))
        assert not [news for news in desk.told[at:] if isinstance(news, MessageAdded)]
        await desk.say("echo")
        assert "half" not in (await texts(desk))[-1]


async def test_k04_rewinding_to_the_beginning_tells_a_new_session_nothing(world: World) -> None:
    async with world.client(checkpointing=EVERY_TURN) as desk:
        await desk.say("say one")

        await desk.conversation.checkpoints.rewind(desk.window, (await kept(desk))[0].id)
        await desk.say("echo")

        assert await texts(desk) == ["echo", '[heard] users=1 assistants=0 last="echo" all=echo']


async def test_k05_a_fork_from_a_checkpoint_leaves_the_original_unchanged(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        good = await desk.conversation.checkpoints.make(desk.window, "good")
        await desk.say("say two")
        before = (await everything(desk), await desk.stored_window(), await kept(desk))

        made = await desk.conversations.fork(
            desk.conversation, at=good.message_id, window_id=desk.window_id, side_by_side=True
        )
        branch = Desk(desk.db, desk.conversations, made.conversation, made.window.id)
        made.conversation.subscribe(branch.hear)
        await branch.say("echo")

        assert (await texts(branch))[:2] == ["say one", "one"]
        assert "two" not in (await texts(branch))[-1]
        assert (await everything(desk), await desk.stored_window(), await kept(desk)) == before
        assert await kept(branch) == []


async def test_k06_only_so_many_automatic_ones_are_kept_and_labelled_ones_never_go(world: World) -> None:
    async with world.client(checkpointing=Checkpointing(Frequency.TURN, keep=2)) as desk:
        await desk.say("say 0")
        await desk.conversation.checkpoints.all()
        await desk.conversation.checkpoints.name("the beginning")
        for number in range(1, 5):
            await desk.say(f"say {number}")

        found = await kept(desk)

        assert [(each.label, each.data["messages"]) for each in found] == [
            ("the beginning", 0),
            (None, 6),
            (None, 8),
        ]
        await desk.conversation.checkpoints.name(None, "the beginning")
        assert [each.data["messages"] for each in await kept(desk)] == [6, 8]


async def test_k06_a_parked_session_goes_upstream_with_its_checkpoint_and_a_labelled_one_keeps_its_own(
    world: World,
) -> None:
    keep_one = Checkpointing(Frequency.TURN, keep=1)
    always = WhileIdle(park=True, longest=60, share=1e9)
    async with world.client(checkpointing=keep_one, while_idle=always) as desk:
        await learn_nothing_of_fork_at(desk)
        for number in range(4):
            await desk.say(f"say {number}")
            await desk.window.settled()
            if number == 1:
                await desk.conversation.checkpoints.all()
                await desk.conversation.checkpoints.name("good")

        good, newest = await kept(desk)
        async with asyncio.timeout(60):
            while not world.requests("session/delete"):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
        links = {link.id: link for link in await desk.links()}
        assert good.link_id and newest.link_id
        assert links[good.link_id].state is LinkState.PARKED
        assert links[newest.link_id].state is LinkState.PARKED
        gone = [link for link in links.values() if link.cause == "park" and link.state is LinkState.LOST]
        assert len(gone) == 1
        assert [each["params"]["sessionId"] for each in world.requests("session/delete")] == [
            gone[0].session_id
        ]


async def test_k08_every_kind_of_message_survives_rewind_and_fork(world: World) -> None:
    image = Attachment("0" * 64, "image/png", "shot.png", None, b"\x89PNG not really")
    script = "think hard; plan; tool read a.txt; fail read b.txt; image; say done"
    async with world.client("--no-fork") as desk:
        await desk.window.say(script, [image])
        await desk.window.wait_idle()
        good = await desk.conversation.checkpoints.make(desk.window, "good")
        before = await desk.branch()
        kinds = {each.kind for each in before}
        assert kinds >= {Kind.USER, Kind.THOUGHT, Kind.PLAN, Kind.TOOL, Kind.AGENT}
        assert before[0].data["attachments"][0]["name"] == "shot.png"
        await desk.say("say later")

        await desk.conversation.checkpoints.rewind(desk.window, "good")
        assert await desk.branch() == before

        made = await desk.conversations.fork(
            desk.conversation, at=good.message_id, window_id=desk.window_id, side_by_side=True
        )
        branch = Desk(desk.db, desk.conversations, made.conversation, made.window.id)
        assert await branch.branch() == before
        async with desk.db.read() as reader:
            from catena_store.windows import attachments

            files = await attachments.of_message(reader, before[0].id)
        assert [file.content for file in files] == [image.content]


async def test_k01_a_client_that_only_reads_makes_none(world: World) -> None:
    async with world.client(checkpointing=EVERY_TOOL) as desk:
        await desk.say("say one")
        async with world.client(checkpointing=EVERY_TOOL, resume=desk) as reader:
            reader.window_id = await open_window(
                desk.db, desk.conversation.id, (await desk.stored_window()).leaf_id
            )
            reader.conversation.window(reader.window_id)
            # Who makes them waits for those that are still being made.
            made = [each.id for each in await kept(desk)]
            assert [each.id for each in await kept(reader)] == made
            with pytest.raises(ReadOnly):
                await reader.conversation.checkpoints.make(reader.window)
            await desk.say("tool read a.txt; say read")
            await reader.until_told(MessageAdded, lambda news: news.message.kind is Kind.TOOL)
            assert len(await kept(desk)) == len(await kept(reader)) == 3


async def test_k01_a_run_without_a_screen_makes_them_as_the_settings_say(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.config / "config.toml").write_text('[checkpoints]\nfrequency = "tool"\n')
    done = await asyncio.to_thread(run, catena, "tool read a.txt; say done")
    assert done.status == 0

    async with Database.open(catena.store) as db, db.read() as reader:
        found = await reader.all(
            "SELECT m.kind, c.automatic FROM checkpoint c LEFT JOIN message m ON m.id = c.message_id"
            " ORDER BY c.rowid"
        )

    assert found == [(None, 1), ("tool", 1)]


async def everything(desk: Desk) -> list[Message]:
    async with desk.db.read() as reader:
        return await messages.of_conversation(reader, desk.conversation.id)


async def learn_nothing_of_fork_at(desk: Desk) -> None:
    """The agent is known to ignore a fork at a message, so its turns are parked."""
    await desk.window.prepare()
    state = desk.window.session
    async with desk.db.write() as tx:
        await agents.set_ability(tx, "catena-rehearsal", state.agent_version, "fork_at", "ignored")
