"""Parked forks: what they are made of, when, for how long they are kept, and what they are good for."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity import parking
from catena_acp.continuity.conversation_events import Remarked, TurnEnded
from catena_acp.continuity.services import WhileIdle
from catena_store.chains import links
from catena_store.records import Cause, ContextSource, Kind, Link, LinkState
from catena_store.windows import windows
from support.clients.command_line import EXECUTABLE, Catena, Finished
from support.conversations.rehearsed import Desk, World

# An agent that was looked at, of a version that forks only at its head: it need not be probed to be parked.
HEAD_ONLY = ("--name", "opencode", "--version", "1.18.33")
ALWAYS = WhileIdle(probe=True, park=True, longest=math.inf, share=math.inf)


async def said(desk: Desk, *texts: str) -> None:
    """Whole turns, and all that is done after them."""
    for text in texts:
        over = await desk.say(text)
        assert over.turn is not None
        await desk.window.settled()


async def edited(desk: Desk, text: str, better: str) -> None:
    """The newest prompt of this text is edited, and all that is done after its turn is over."""
    prompt = next(row for row in reversed(await desk.branch()) if row.kind is Kind.USER and row.text == text)
    at = len(desk.told)
    await desk.window.edit(prompt.id, better)
    await desk.until(lambda: next((True for news in desk.told[at:] if isinstance(news, TurnEnded)), None))
    await desk.window.settled()


async def parked(desk: Desk, state: LinkState = LinkState.PARKED) -> list[Link]:
    return [link for link in await desk.links() if link.cause is Cause.PARK and link.state is state]


async def took(desk: Desk, seconds: float) -> None:
    """So long, as far as is kept of it, the agent needed for its last fork."""
    *_, newest = await parked(desk)
    async with desk.db.write() as tx:
        await links.record_parking_time(tx, newest.id, seconds)


async def back_to(desk: Desk, turn: int) -> None:
    """The window stands at the end of this turn, counted from 1."""
    leaf = (await desk.turns())[turn - 1].last_id
    async with desk.db.write() as tx:
        await windows.set_leaf(tx, desk.window_id, leaf)


async def test_f10_a_turn_that_ended_clean_is_parked_as_a_closed_fork_with_the_pointers_of_its_source(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=ALWAYS) as desk:
        await said(desk, "say one")
        (fork,) = await parked(desk)
        source = next(link for link in await desk.links() if link.cause is Cause.NEW)
        (turn,) = await desk.turns()
        assert (fork.knows, fork.reach, fork.unabridged_from, fork.owner) == (
            turn.last_id,
            turn.last_id,
            None,
            None,
        )
        assert (fork.source_id, fork.base) == (source.id, source.knows)
        assert source.version == (await desk.links())[0].version
        assert fork.session_id in [entry["session"] for entry in world.requests("session/close")]
        # It is no part of what a person sees of the chain.
        chain = await desk.conversation.chain.read(desk.window)
        assert ([entry.link.id for entry in chain.entries], chain.folded) == ([source.id], 1)


@pytest.mark.parametrize("prompt", ["say half; error -32603 broken", "refuse", "empty", "/clear"])
async def test_f10_nothing_is_parked_after_a_turn_that_did_not_end_clean(tmp_path: Path, prompt: str) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=ALWAYS) as desk:
        await desk.say(prompt)
        await desk.window.settled()
        assert world.requests("session/fork") == []


@pytest.mark.parametrize(
    ("flags", "how"),
    [
        ((), ContextSource.FORKED),
        (("--no-cold-fork",), ContextSource.FORKED),
        (("--fork-at",), ContextSource.FORKED_AT),
        (("--fork-at", "--no-cold-fork"), ContextSource.FORKED_AT),
        (("--fork-at", "--no-message-ids"), ContextSource.FORKED),
        (("--fork-replays",), ContextSource.FORKED),
        (("--fork-replays=1",), ContextSource.FORKED),
        (("--no-fork",), ContextSource.TOLD),
    ],
)
async def test_f10_after_a_restart_the_second_prompt_of_six_is_said_anew_to_exactly_the_first_turn(
    tmp_path: Path, flags: tuple[str, ...], how: ContextSource
) -> None:
    world = World(tmp_path)
    async with world.client(*flags, while_idle=ALWAYS) as desk:
        await said(desk, "say one; tool read README.md; say done", *(f"say {n}" for n in range(2, 7)))
        assert len(await parked(desk)) == (6 if how is ContextSource.FORKED else 0)
    async with world.client(*flags, resume=desk, while_idle=ALWAYS) as desk:
        await back_to(desk, 1)
        over = await desk.say("echo")
        assert over.turn is not None
        assert over.turn.how is how
        heard = (await desk.branch())[-1].text
        if how is ContextSource.TOLD:
            assert over.turn.told == over.turn.told_total > 0
            return
        assert (over.turn.told, over.turn.tools_listed) == (0, 0)
        context = "users=2 assistants=1" if "--no-message-ids" in flags else "users=2"
        assert context in heard
        assert heard.endswith("all=say one; tool read README.md; say done|echo")
        assert [row.data["how"] for row in await desk.branch() if row.kind is Kind.SEAM] == [how.value]
        # The parked fork itself was never prompted, and can be forked again; what was said anew is parked, too.
        await desk.window.settled()
        assert len(await parked(desk)) == (7 if how is ContextSource.FORKED else 0)


async def test_f10_without_a_parked_fork_another_session_that_ends_there_is_used(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client("--no-fork", while_idle=ALWAYS) as desk:
        await said(desk, "say one")
    async with world.client("--no-fork", resume=desk, while_idle=ALWAYS) as desk:
        overloaded = {"error": [-32603, "it broke"], "times": 1}
        world.fail({"load": overloaded, "resume": overloaded})
        await said(desk, "say two")
        await back_to(desk, 1)
        await said(desk, "echo")
        assert [turn.how for turn in await desk.turns()] == [
            ContextSource.FRESH,
            ContextSource.TOLD,
            ContextSource.RESUMED,
        ]
        assert (await desk.branch())[-1].text.endswith("all=say one|echo")


async def test_f10_a_fork_of_which_the_agent_tells_only_the_end_is_not_taken_for_another(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--fork-replays=1", while_idle=ALWAYS) as desk:
        await said(desk, "say one", "say two", "say three", "say four")
        await back_to(desk, 3)
        over = await desk.say("echo")
        assert over.turn is not None
        assert (over.turn.how, over.turn.told) == (ContextSource.FORKED, 0)
        assert (await desk.branch())[-1].text.endswith("all=say one|say two|say three|echo")


@pytest.mark.parametrize(
    ("flags", "how"), [((), ContextSource.FORKED), (("--fork-at",), ContextSource.FORKED_AT)]
)
async def test_f10_the_price_of_going_on_from_a_past_message_names_the_native_way_before_the_agent_runs(
    tmp_path: Path, flags: tuple[str, ...], how: ContextSource
) -> None:
    world = World(tmp_path)
    async with world.client(*flags, while_idle=ALWAYS) as desk:
        await said(desk, "say one", "say two", "say three")
        past = (await desk.turns())[0].last_id
    async with world.client(*flags, resume=desk, while_idle=ALWAYS) as desk:
        price = await desk.conversation.chain.price(desk.window, leaf_id=past)
        assert (price.how, price.words) == (how, "probably same context, nothing replayed")


async def test_k10_a_prompt_does_not_wait_for_a_parked_fork_and_what_it_raced_with_is_thrown_away(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(
        *HEAD_ONLY, while_idle=WhileIdle(park=True, longest=math.inf, share=math.inf)
    ) as desk:
        world.fail({"fork": {"cue": "go-on", "times": 1}})
        await desk.say("say one")
        await world.heard("session/fork")
        await desk.say("say two")
        assert world.requests("session/delete") == [], "the agent has not even made the fork yet"
        world.cue("go-on")
        await desk.window.settled()
        assert len(world.requests("session/delete")) == 1
        # What was made meanwhile holds the second prompt, and is nobody's.
        first, second = await desk.turns()
        assert [link.knows for link in await parked(desk)] == [second.last_id]
        assert [turn.how for turn in (first, second)] == [ContextSource.FRESH, ContextSource.CONTINUED]


async def test_k10_a_fork_whose_source_moved_meanwhile_is_thrown_away(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(*HEAD_ONLY, while_idle=WhileIdle(park=True)) as desk:
        world.fail({"fork": {"cue": "go-on", "times": 1}})
        await desk.say("say one")
        await world.heard("session/fork")
        (source,) = await desk.links()
        async with desk.db.write() as tx:
            await links.move(tx, source.id, event="moved by another")
        world.cue("go-on")
        await desk.window.settled()
        assert await parked(desk) == []
        assert len(world.requests("session/delete")) == 1


async def test_k10_a_fork_that_came_just_before_a_prompt_is_thrown_away_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    async with world.client(
        *HEAD_ONLY, while_idle=WhileIdle(park=True, longest=math.inf, share=math.inf)
    ) as desk:
        came, look = asyncio.Event(), parking._holder

        async def holder(*arguments: Any) -> Link | None:
            if not came.is_set():
                came.set()
                await asyncio.Event().wait()
            return await look(*arguments)

        monkeypatch.setattr(parking, "_holder", holder)
        await desk.say("say one")
        async with asyncio.timeout(60):
            await came.wait()
        await desk.say("say two")
        await desk.window.settled()
        made = {entry["session"] for entry in world.requests("session/close")}
        (kept,) = await parked(desk)
        assert len(made) == len(world.requests("session/fork")) == 2
        assert {entry["session"] for entry in world.requests("session/delete")} == made - {kept.session_id}


async def test_k10_a_parked_fork_that_is_being_kept_when_a_prompt_comes_is_waited_for_at_the_end(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(
        *HEAD_ONLY, while_idle=WhileIdle(park=True, longest=math.inf, share=math.inf)
    ) as desk:
        world.fail({"close": {"cue": "go-on", "times": 1}})
        await desk.say("say one")
        await world.heard("session/close")
        await desk.window.say("hang")
        work = desk.window.idle_work
        assert work.under_way
        world.cue("go-on")
        await work.settled()
        assert len(await parked(desk)) == 1
        await desk.window.stop()


async def test_k10_an_agent_that_dies_while_it_forks_leaves_nothing_and_the_next_prompt_goes_on(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(*HEAD_ONLY, while_idle=WhileIdle(park=True)) as desk:
        world.fail({"fork": {"kill": True, "times": 1}})
        await said(desk, "say one")
        assert await parked(desk) == []
        await said(desk, "say two")
        assert [turn.how for turn in await desk.turns()] == [ContextSource.FRESH, ContextSource.RESUMED]
        assert len(await parked(desk)) == 1


async def test_k10_no_further_fork_is_parked_once_one_took_too_long(tmp_path: Path) -> None:
    world = World(tmp_path)
    limits = WhileIdle(park=True, longest=0.1, share=math.inf)
    async with world.client(*HEAD_ONLY, while_idle=limits) as desk:
        world.fail({"fork": {"delay": 0.15, "times": 1}})
        await said(desk, "say one", "say two")
        assert len(world.requests("session/fork")) == 1
    # It is known in the next process, too.
    async with world.client(*HEAD_ONLY, resume=desk, while_idle=limits) as desk:
        await said(desk, "say three")
        assert len(world.requests("session/fork")) == 1
        assert len(await parked(desk)) == 1


async def test_k10_a_fork_may_take_a_small_share_of_its_turn(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(*HEAD_ONLY, while_idle=WhileIdle(park=True, longest=math.inf, share=0.5)) as desk:
        await said(desk, "say one")
        await took(desk, 60)
        await said(desk, "say two")
        assert len(await parked(desk)) == 1, "the second turn was too short for another"
        await took(desk, 0.01)
        await said(desk, "wait 0.1; say three")
        assert len(await parked(desk)) == 2


async def test_k10_parked_forks_are_told_of_at_the_first_edit_with_an_agent_and_never_again(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=ALWAYS) as desk:
        await said(desk, "say one", "say two")
        assert len(await parked(desk)) == 2
        assert not any(isinstance(news, Remarked) for news in desk.told)
        await edited(desk, "say two", "say three")
        (told,) = (news.text for news in desk.told if isinstance(news, Remarked))
        assert "'s session list" in told
        assert 'park = "off"' in told
    async with world.client(while_idle=ALWAYS) as other:
        await said(other, "say one")
        await edited(other, "say one", "say two")
        assert len(await parked(other)) == 2
        assert not any(isinstance(news, Remarked) for news in other.told)


async def test_k10_an_edit_where_nothing_is_parked_tells_of_no_forks(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=WhileIdle()) as desk:
        await said(desk, "say one")
        await edited(desk, "say one", "say two")
        assert not any(isinstance(news, Remarked) for news in desk.told)


@pytest.mark.parametrize("flags", [("--no-fork",), ("--no-close",)])
async def test_k10_nothing_is_parked_that_cannot_be_forked_or_closed(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    world = World(tmp_path)
    async with world.client(*HEAD_ONLY, *flags, while_idle=WhileIdle(park=True)) as desk:
        await said(desk, "say one")
        assert world.requests("session/fork") == []


async def test_k10_nothing_is_parked_where_that_is_switched_off(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client(while_idle=WhileIdle(probe=True, park=False)) as desk:
        await said(desk, "say one")
        assert await parked(desk) == []
        assert len(world.requests("session/fork")) == 1, "only the probe"


async def test_k06_the_oldest_automatic_ones_are_pruned_upstream_too_and_a_labelled_checkpoint_keeps_its_own(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    limits = WhileIdle(park=True, kept=2, longest=math.inf, share=math.inf)
    async with world.client(*HEAD_ONLY, while_idle=limits) as desk:
        await said(desk, "say one")
        (labelled,) = await parked(desk)
        async with desk.db.write() as tx:
            await tx.run(
                "INSERT INTO checkpoint (id, conversation_id, link_id, label, automatic, created_at)"
                " VALUES ('c', ?, ?, 'the best', 0, 1)",
                (desk.conversation.id, labelled.id),
            )
        await said(desk, "say two", "say three", "say four")
        turns = await desk.turns()
        assert [link.knows for link in await parked(desk)] == [turns[n].last_id for n in (0, 2, 3)]
        (pruned,) = await parked(desk, LinkState.LOST)
        assert (pruned.knows, pruned.ended) == (turns[1].last_id, "pruned")
        assert [entry["session"] for entry in world.requests("session/delete")] == [pruned.session_id]


async def test_k06_an_agent_that_cannot_delete_is_not_asked_to(tmp_path: Path) -> None:
    world = World(tmp_path)
    limits = WhileIdle(park=True, kept=1, longest=math.inf, share=math.inf)
    async with world.client(*HEAD_ONLY, "--no-delete", while_idle=limits) as desk:
        await said(desk, "say one", "say two")
        assert (len(await parked(desk)), len(await parked(desk, LinkState.LOST))) == (1, 1)
        assert world.requests("session/delete") == []


def test_k10_a_run_from_the_command_line_parks_before_it_ends_and_says_so_at_an_edit_to_a_person_only(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    command = f"{sys.executable} -m catena_acp.rehearsal {' '.join(HEAD_ONLY)}"
    assert catena("run", "--agent-command", command, "say one") == Finished(0, "one\n", "")
    # Another conversation: how long the fork took that was parked last says nothing of its first one.
    at_a_terminal = on_a_terminal(catena, "run", "--agent-command", command, "say two")
    assert "two" in at_a_terminal
    assert "session list" not in at_a_terminal
    first = catena("list", "--json").json[0]["id"]
    prompt = catena("show", first, "--json").json["messages"][0]["id"]
    assert "'s session list" in on_a_terminal(catena, "run", "--resume", first, "--edit", prompt, "say new")
    built_in = on_a_terminal(catena, "run", "--agent", "rehearsal", "say scripted")
    assert "scripted" in built_in and "session list" not in built_in
    (catena.config / "config.toml").write_text('park = "off"\n')
    assert catena("run", "--agent", "rehearsal", "say other").status == 0
    turns_and_parked = sorted(
        (len(shown["turns"]), [link["role"] for link in shown["parked"] if link["state"] == "parked"])
        for conversation in catena("list", "--json").json
        for shown in [catena("show", conversation["id"], "--json").json]
    )
    # Of the built-in agent nobody knows whether it forks at a message, and a run does not try that out.
    assert turns_and_parked == [(1, []), (1, []), (1, ["parked"]), (2, ["parked", "parked"])]


def on_a_terminal(catena: Catena, *arguments: str) -> str:
    """What a person reads who starts it in a terminal."""
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, *arguments],
        cwd=catena.project,
        env=catena.environment | {"TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    written = b""
    with process, contextlib.suppress(OSError):  # a terminal that nobody holds any more ends with an error
        while some := os.read(person, 4096):
            written += some
    os.close(person)
    return written.decode()
