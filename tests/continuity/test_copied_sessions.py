"""Sessions that go along to another directory or account by a copy of their transcript, and are compared first.

The rehearsal agent takes the part of Claude Code: its own sessions are found from any directory, and beside them stands
a transcript where Claude would have it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import MessageAdded, TurnEnded
from catena_acp.conversation.adoption.adoption import Adopter, adopt_file
from catena_acp.errors import NotCopied
from catena_acp.port.port import AgentSpec
from catena_acp.transcripts import claude
from catena_acp.transcripts.moving import TranscriptFiles, copy_file
from catena_store import places
from catena_store.chains import agents
from catena_store.ids import new_id
from catena_store.records import Cause, ContextSource, Kind, LinkState
from support.conversations.modelled import another_window
from support.conversations.rehearsed import Desk, World, open_window
from support.transcripts.homes import CLAUDE, Home


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "moved").mkdir()
    return World(tmp_path)


def spec(world: World, profile: str = "", home: str = "own") -> AgentSpec:
    """The agent as an account of Claude Code."""
    made = world.spec(name="claude", CLAUDE_CONFIG_DIR=str(world.place / home))
    return AgentSpec("claude", "Claude", made.command, made.env, profile)


def transcript(world: World, cwd: Path, session_id: str, home: str = "own") -> Path:
    return claude.transcript_path(world.place / home, str(cwd), session_id)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def moved(desk: Desk, world: World) -> TurnEnded:
    """The conversation continues in another directory, and says something there."""
    await desk.conversation.change_directory(str(world.place / "moved"), by=desk.window_id)
    return await desk.say("echo")


async def seams(desk: Desk) -> list[str]:
    return [row.text for row in await desk.branch() if row.kind is Kind.SEAM]


async def test_h13_the_transcript_follows_to_another_directory_and_the_same_id_is_resumed_there(
    world: World,
) -> None:
    async with world.client(specs={"claude": spec(world)}, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "all of it\n")
        await desk.conversation.change_directory(str(world.place / "moved"))
        price = await desk.conversation.chain.price(desk.window)
        assert price.words == "probably same context, the session moves along"

        over = await desk.say("echo")

        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        assert transcript(world, world.place / "moved", link.session_id).read_text() == "all of it\n"
        before, copy = await desk.links()
        assert (before.state, before.ended) == (LinkState.LOST, f"it moved to {world.place / 'moved'}")
        assert (copy.session_id, copy.cause, copy.source_id) == (link.session_id, Cause.COPY, link.id)
        assert (copy.cwd, copy.state) == (str(world.place / "moved"), LinkState.OPEN)
        (loaded,) = world.requests("session/load")
        assert (loaded["params"]["sessionId"], loaded["params"]["cwd"]) == (link.session_id, copy.cwd)
        assert await seams(desk) == [f"moved to {world.place / 'moved'} · session resumed"]


async def test_h13_what_the_copy_holds_is_compared_and_a_stranger_is_told_instead(world: World) -> None:
    async with world.client(specs={"claude": spec(world)}, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "x\n")
        # What the agent loads is another session than the one that was copied.
        (kept,) = (world.place / "claude").rglob(f"*{link.session_id}*")
        kept.write_text(kept.read_text().replace("say one", "say other"))
        over = await moved(desk, world)
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.TOLD, 2)
        states = [(each.cause, each.state) for each in await desk.links()]
        assert states == [
            (Cause.NEW, LinkState.LOST),
            (Cause.COPY, LinkState.LOST),
            (Cause.NEW, LinkState.OPEN),
        ]


async def test_h13_without_a_transcript_the_next_session_is_told(world: World) -> None:
    async with world.client(specs={"claude": spec(world)}, agent="claude") as desk:
        await desk.say("say one")
        over = await moved(desk, world)
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.TOLD, 2)
        assert [each.state for each in await desk.links()] == [LinkState.OPEN, LinkState.OPEN]


async def test_h13_the_way_back_copies_what_went_on_there_and_keeps_nothing_older(world: World) -> None:
    async with world.client(specs={"claude": spec(world)}, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        here = transcript(world, world.project, link.session_id)
        write(here, "one\n")
        await moved(desk, world)
        there = transcript(world, world.place / "moved", link.session_id)
        there.write_text("one\ntwo\n")
        await desk.conversation.change_directory(str(world.project))
        over = await desk.say("echo")
        assert over.turn and over.turn.how is ContextSource.RESUMED
        assert here.read_text() == "one\ntwo\n"


async def test_m15_another_account_goes_on_with_the_same_context_after_it_was_compared(world: World) -> None:
    work = spec(world, "work", "work")
    specs = {"claude": spec(world), "work": work}
    async with world.client(specs=specs, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "all of it\n")
        (price,) = await desk.conversation.chain.prices(desk.window, [work])
        assert price.words == "probably same context, copied to account work"
        assert not transcript(world, world.project, link.session_id, "work").exists(), (
            "only by the person's act"
        )

        await desk.window.set_agent(work)
        over = await desk.say("echo")

        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        assert transcript(world, world.project, link.session_id, "work").read_text() == "all of it\n"
        own, copy = await desk.links()
        assert (own.state, own.profile, copy.profile) == (LinkState.OPEN, "", "work")
        assert await seams(desk) == ["same context, copied to account work · session resumed"]

        # And back: what went on there takes the place of what it went on from.
        write(transcript(world, world.project, link.session_id, "work"), "all of it\nand more\n")
        await desk.window.set_agent(specs["claude"])
        over = await desk.say("echo")
        assert over.turn and over.turn.how is ContextSource.RESUMED
        assert transcript(world, world.project, link.session_id).read_text() == "all of it\nand more\n"
        assert [(each.profile, each.state) for each in await desk.links()] == [
            ("", LinkState.LOST),
            ("work", LinkState.OPEN),
            ("", LinkState.OPEN),
        ]


async def test_m15_a_turn_in_the_copy_is_left_alone_where_another_tab_would_copy_the_same_session(
    world: World,
) -> None:
    work = spec(world, "work", "work")
    async with world.client(specs={"claude": spec(world), "work": work}, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "all of it\n")
        leaf = (await desk.stored_window()).leaf_id
        desk.conversation.leave(desk.window_id)
        beside = await another_window(desk, leaf)
        await beside.window.set_agent(work)
        await beside.window.say("say begun; cue go-on; say ended")
        await beside.until_told(MessageAdded, lambda news: news.message.text == "begun")
        assert [each.cause for each in await desk.links()] == [Cause.NEW, Cause.COPY]
        (price,) = await desk.conversation.chain.prices(desk.window, [work])
        assert "copied" not in price.words

        over = await desk.say("echo")

        assert over.turn is not None and over.turn.how is ContextSource.TOLD
        world.cue("go-on", "claude")
        await beside.window.wait_idle()
        assert (await beside.branch())[-1].text.endswith("ended")


async def test_m15_what_parted_from_the_copy_is_never_overwritten(
    world: World,
) -> None:
    specs = {"claude": spec(world), "work": spec(world, "work", "work")}
    async with world.client(specs=specs, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        own_file = transcript(world, world.project, link.session_id)
        write(own_file, "one\n")
        await desk.window.set_agent(specs["work"])
        await desk.say("echo")
        own_file.write_text("one\nand its own\n")
        await desk.window.set_agent(specs["claude"])
        priced = await desk.conversation.chain.price(desk.window)
        over = await desk.say("echo")
        assert over.turn and over.turn.clean and over.turn.told, "it is told what it missed"
        assert priced.told and not priced.copied, "and its price was no copy"
        assert own_file.read_text() == "one\nand its own\n"


async def test_h13_the_price_in_another_directory_is_true_of_an_agent_of_ones_own_that_has_run_before(
    world: World,
) -> None:
    made = spec(world)
    mine = AgentSpec("mine", "Mine", made.command, made.env)
    async with world.client(specs={"mine": mine}, agent="mine") as desk:
        await desk.say("say one")
        async with desk.db.write() as tx:
            kept = await agents.abilities(tx, "mine", "")
            assert kept["name"] == "catena-rehearsal"
            await agents.set_ability(tx, "mine", "", "name", "@agentclientprotocol/claude-agent-acp")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "one\n")
    async with world.client(specs={"mine": mine}, resume=desk) as later:
        await later.conversation.change_directory(str(world.place / "moved"), by=later.window_id)
        price = await later.conversation.chain.price(later.window)
        assert price.words == "probably same context, the session moves along"


async def test_h13_the_price_in_another_directory_is_true_of_an_agent_of_ones_own_that_never_ran(
    world: World,
) -> None:
    """Its session was imported, with it as the agent that has it."""
    made = spec(world)
    mine = AgentSpec("mine", "Mine", made.command, made.env)
    file = transcript(world, world.project, CLAUDE)
    sent = Home(world.place / "home").with_all().sessions()[CLAUDE].path
    assert sent
    write(file, sent.read_text().replace("/work/project", str(world.project)))
    async with world.client(specs={"mine": mine}, agent="mine") as desk:
        adopted = await adopt_file(desk.db, file, new_id=new_id, adopter=Adopter("mine", ""))
        conversation = await desk.conversations.open(adopted.conversation_id)
        async with desk.db.read() as reader:
            leaf = await places.of(reader, conversation.id)
        window = conversation.window(await open_window(desk.db, conversation.id, leaf))
        await conversation.change_directory(str(world.place / "moved"), by=window.id)
        price = await conversation.chain.price(window)
        assert price.words == "probably same context, the session moves along"


async def test_m15_two_profiles_with_the_same_files_are_one_account_and_nothing_is_copied(
    world: World,
) -> None:
    other = spec(world, "other")
    async with world.client(specs={"claude": spec(world), "other": other}, agent="claude") as desk:
        await desk.say("say one")
        (link,) = await desk.links()
        write(transcript(world, world.project, link.session_id), "x\n")
        await desk.window.set_agent(other)
        over = await desk.say("echo")
        assert over.turn and over.turn.how is ContextSource.TOLD


def test_h13_only_a_file_that_goes_on_from_it_replaces_another_one(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "new" / "a.jsonl"
    source.write_bytes(b"1\n2\n")
    copy_file(source, target)
    assert target.read_bytes() == b"1\n2\n" and target.stat().st_mode & 0o777 == 0o600
    source.write_bytes(b"1\n2\n3\n")
    copy_file(source, target)
    assert target.read_bytes() == b"1\n2\n3\n"
    for other in (b"1\n2\n", b"1\nx\n3\n4\n"):
        source.write_bytes(other)
        with pytest.raises(NotCopied, match="another version"):
            copy_file(source, target)
        assert target.read_bytes() == b"1\n2\n3\n"
    assert [path.name for path in target.parent.iterdir()] == ["a.jsonl"]


def test_m15_what_claude_notes_behind_what_was_said_is_no_other_version(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    said = '{"type":"user","uuid":"a"}\n{"type":"last-prompt"}\n'
    went_on = said + '{"type":"assistant","uuid":"b"}\n'
    for note in (
        '{"type":"cost-state","totalCostUSD":0.1}\n',
        '{"type":"last-prompt"}\n{"type":"atis-latch"}\n',
    ):
        source.write_text(went_on)
        target.write_text(said + note)
        copy_file(source, target)
        assert target.read_text() == went_on
    for other in (
        '{"type":"assistant","uuid":"c"}\n',
        '{"type":"cost-state"}\n{"type":"user","uuid":"c"}\n',
        "x",
    ):
        target.write_text(said + other)
        with pytest.raises(NotCopied, match="another version"):
            copy_file(source, target)
        assert target.read_text() == said + other


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "*", "a/b", "", ".", "x" * 101, "a\0b"])
def test_h13_an_id_that_is_no_name_of_a_file_is_never_looked_for(tmp_path: Path, session_id: str) -> None:
    place = type("Place", (), {"profile": "", "environment": {"HOME": str(tmp_path)}, "cwd": "/x"})()
    assert not TranscriptFiles().can_copy(["claude"], session_id, place, place)


_KILLED = """
import os, signal, sys
from pathlib import Path
from catena_acp.transcripts import moving

left = int(sys.argv[3])
moving._BLOCK = 4
bring = getattr(moving, sys.argv[4])

def step(frame, event, argument):
    global left
    if frame.f_code.co_filename == moving.__file__:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return step

sys.settrace(step)
bring(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.parametrize("bring", ["copy_file", "move_file"])
def test_h13_a_kill_at_any_line_of_it_loses_nothing(tmp_path: Path, bring: str) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "there" / "a.jsonl"
    before, after = b"one\n", b"one\ntwo\nthree\n"
    source.write_bytes(after)
    seen: set[bytes] = set()
    for line in range(1, 400, 3):
        write(target, before.decode())
        source.write_bytes(after)
        command = [sys.executable, "-c", _KILLED, str(source), str(target), str(line), bring]
        died = subprocess.run(command, check=False, env=os.environ).returncode
        assert died in (0, -signal.SIGKILL)
        if source.exists():
            assert source.read_bytes() == after
        else:
            assert bring == "move_file" and target.read_bytes() == after
        seen.add(target.read_bytes())
        if died == 0:
            break
    assert seen == {before, after}
    source.write_bytes(after)
    copy_file(source, target)
    assert [path.name for path in target.parent.iterdir()] == ["a.jsonl"], "what a kill left is swept away"
