"""Forks that an agent names in its answer, and does not have open: they are opened before they are prompted."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity.sending.context import FORK_AT, HONOURED
from catena_store.chains import agents
from catena_store.records import ContextSource, LinkState
from support.agents.model import Profile, Upstream
from support.conversations.modelled import another_window, answering, client, how
from support.conversations.quirks import Quirky
from support.conversations.rehearsed import Desk


async def beside(desk: Desk) -> Desk:
    """Another window where this one stands: its next prompt goes to a fork."""
    return await another_window(desk, (await desk.stored_window()).leaf_id)


@pytest.mark.parametrize(
    ("habits", "opened"),
    [
        ((), ["new", "fork", "resume"]),
        (("forks-asleep",), ["new", "fork", "resume"]),
        (("forks-asleep", "no-resume"), ["new", "fork", "load"]),
        # What this one replays is known to be its history: by that the fork is compared, and then it is open.
        (("forks-asleep", "NAME=opencode"), ["new", "fork", "load"]),
        # Of this one it is known that its replay says nothing: nothing is ever compared.
        (("forks-asleep", "NAME=kimi code cli"), ["new", "fork", "resume"]),
        (("forks-asleep", "NAME=kimi code cli", "no-resume"), ["new", "fork", "load"]),
        # One that cannot open sessions again has them open when it names them.
        (("no-resume", "no-load"), ["new", "fork"]),
    ],
)
async def test_b03_a_fork_is_opened_before_it_is_prompted_also_where_nothing_is_compared(
    tmp_path: Path, habits: tuple[str, ...], opened: list[str]
) -> None:
    quirky = Quirky(tmp_path, *habits)
    async with quirky.client() as desk:
        await desk.say("one")
        second = await beside(desk)
        assert how(await second.say("two")) is ContextSource.FORKED
        assert (await second.branch())[-1].text == "[heard] one|two"
    assert quirky.opened() == opened


async def test_b03_a_fork_of_an_agent_that_breaks_when_loaded_twice_is_opened_once_it_was_not_found(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "NAME=@mistralai/mistral-vibe", "forks-asleep")
    async with quirky.client() as desk:
        await desk.say("one")
        second = await beside(desk)
        assert how(await second.say("two")) is ContextSource.FORKED
        assert (await second.branch())[-1].text == "[heard] one|two"
        assert [link.state for link in await desk.links()] == [LinkState.OPEN] * 2
    assert quirky.opened() == ["new", "fork", "resume"]
    assert len(quirky.requests("session/prompt")) == 3


async def test_b03_a_fork_is_never_loaded_where_that_breaks_what_is_open(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "NAME=copilot", "forks-asleep", "no-resume")
    async with quirky.client() as desk:
        await desk.say("one")
        second = await beside(desk)
        assert how(await second.say("two")) is ContextSource.TOLD
        assert (await second.branch())[-1].text == "[heard] two"
    assert quirky.opened() == ["new", "fork", "new"]


async def test_b03_a_fork_that_is_not_found_when_it_is_resumed_is_asked_for_no_more(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "NAME=@mistralai/mistral-vibe", "forgets-forks")
    async with quirky.client() as desk:
        await desk.say("one")
        second = await beside(desk)
        assert how(await second.say("two")) is ContextSource.TOLD
        assert how(await second.say("three")) is ContextSource.CONTINUED
    assert quirky.opened() == ["new", "fork", "resume", "new"]


async def test_r07_a_session_that_a_load_has_shown_to_hold_nothing_is_not_forked(tmp_path: Path) -> None:
    model = Upstream(profile=Profile(resume=False, fork_at=True), scene=answering)
    async with client(tmp_path, model) as desk:
        await desk.say("one")
        await desk.say("two")
    async with client(tmp_path, model, resume=desk) as later:
        model.lies["open"] = "empty"
        assert how(await later.say("three")) is ContextSource.TOLD
        assert model.count("fork") == 0
        assert how(await (await beside(later)).say("four")) is ContextSource.FORKED
        empty, told, forked = await later.links()
    assert (empty.state, forked.source_id) == (LinkState.LOST, told.id)


async def test_b03_a_fork_that_is_never_found_is_lost_and_the_next_session_is_told(tmp_path: Path) -> None:
    quirky = Quirky(tmp_path, "forgets-forks")
    async with quirky.client() as desk:
        await desk.say("one")
        second = await beside(desk)
        assert how(await second.say("two")) is ContextSource.TOLD
        assert (await second.branch())[-1].text == "[heard] two"
        assert [link.state for link in await desk.links()] == [
            LinkState.OPEN,
            LinkState.LOST,
            LinkState.OPEN,
        ]
    assert quirky.opened() == ["new", "fork", "resume", "load", "new"]


async def test_r07_a_session_whose_fork_holds_nothing_is_forked_once_and_not_at_each_of_its_turns(
    tmp_path: Path,
) -> None:
    model = Upstream(profile=Profile(fork_at=True), scene=answering)
    async with client(tmp_path, model) as desk:
        for text in ("one", "two", "three"):
            await desk.say(text)
        async with desk.db.write() as tx:
            await agents.set_ability(tx, model.name, "1", FORK_AT, HONOURED)
        second = await beside(desk)
        forks = model.count("fork")
        model.lies["fork"] = "always empty"
        assert how(await second.say("four")) is ContextSource.TOLD
    assert model.count("fork") == forks + 1
