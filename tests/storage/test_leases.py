"""Leases: who may prompt in a conversation, and how it changes hands."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.clients import leases
from catena_store.clients.leases import ForeignLease, OwnLease
from catena_store.errors import Fenced
from catena_store.records import AgentGroup, Lease
from catena_store.windows import windows
from support.storage.leases import seize_lease
from support.storage.rows import Clock, Explained, an_owner, new_conversation, store


def alive(_: Lease) -> bool:
    return False


def dead(_: Lease) -> bool:
    return True


async def test_r16_a_free_lease_is_taken_and_another_client_is_told_who_has_it(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db, db.write() as tx:
        await new_conversation(tx)
        assert await leases.get(tx, "c1") is None
        ours = await leases.acquire(tx, "c1", an_owner(), is_dead=alive)
        assert ours == OwnLease(Lease("c1", an_owner(), 1, clock(), ()), taken_from=None)
        assert await leases.acquire(tx, "c1", an_owner("theirs"), is_dead=alive) == ForeignLease(ours.lease)
        assert await leases.get(tx, "c1") == ours.lease


async def test_taking_our_own_lease_again_keeps_its_epoch_and_is_a_sign_of_life(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await leases.acquire(tx, "c1", an_owner(), is_dead=alive)
            await leases.set_agents(tx, "c1", "ours", [AgentGroup(7, "12:01")])
        clock.forward(5)
        async with db.write() as tx:
            again = await leases.acquire(tx, "c1", an_owner(), is_dead=dead)
            assert again == OwnLease(
                Lease("c1", an_owner(), 1, clock(), (AgentGroup(7, "12:01"),)), taken_from=None
            )


@pytest.mark.parametrize("by_force", [False, True])
async def test_r16_a_lease_that_changes_hands_keeps_the_agents_of_the_old_owner_until_they_are_ended(
    tmp_path: Path, by_force: bool
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db, db.write() as tx:
        await new_conversation(tx)
        await leases.acquire(tx, "c1", an_owner("theirs"), is_dead=alive)
        agents = (AgentGroup(7, "12:01"), AgentGroup(8, "12:02"))
        await leases.set_agents(tx, "c1", "theirs", agents)
        if by_force:
            taken: OwnLease | ForeignLease = await seize_lease(tx, "c1", an_owner())
        else:
            taken = await leases.acquire(tx, "c1", an_owner(), is_dead=dead)
        before = Lease("c1", an_owner("theirs"), 1, clock(), agents)
        assert taken == OwnLease(Lease("c1", an_owner(), 2, clock(), agents), taken_from=before)


async def test_an_owner_that_was_asleep_is_fenced_off_when_it_wakes(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await leases.acquire(tx, "c1", an_owner(), is_dead=alive)
            await leases.guard(tx, "c1", "ours", 1)
            await seize_lease(tx, "c1", an_owner("theirs"))
        with pytest.raises(Fenced, match="is open in another client"):
            async with db.write() as tx:
                await new_conversation(tx, "c2")
                await leases.guard(tx, "c1", "ours", 1)
        async with db.write() as tx:
            assert await leases.get(tx, "c2") is None
            assert await tx.one("SELECT count(*) FROM conversation") == (1,)
            with pytest.raises(Fenced):
                await leases.set_agents(tx, "c1", "ours", [])
            await leases.release(tx, "c1", "ours")  # it is not ours to give back
            await leases.guard(tx, "c1", "theirs", 2)
            with pytest.raises(Fenced):
                await leases.guard(tx, "never leased", "ours", 1)


async def test_an_epoch_never_comes_twice_not_even_after_the_lease_was_free(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx)
        epochs = []
        for owner in ("ours", "theirs", "ours"):
            taken = await leases.acquire(tx, "c1", an_owner(owner), is_dead=alive)
            assert isinstance(taken, OwnLease)
            assert taken.taken_from is None
            epochs.append(taken.lease.epoch)
            await leases.release(tx, "c1", owner)
            assert await leases.get(tx, "c1") is None
        assert epochs == [1, 2, 3]
        with pytest.raises(Fenced):
            await leases.guard(tx, "c1", "ours", 3)


async def test_a_sign_of_life_covers_all_that_the_owner_holds_and_nothing_else(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            for id, owner in (("c1", "ours"), ("c2", "ours"), ("c3", "theirs")):
                await new_conversation(tx, id)
                await leases.acquire(tx, id, an_owner(owner), is_dead=alive)
            workspace = await windows.ensure_workspace(tx, "/shop", new_id=lambda: "s1")
            await windows.take_workspace(tx, workspace.id, an_owner(), is_dead=lambda held: False)
        started = clock()
        clock.forward(10)
        async with db.write() as tx:
            beat = Explained(tx)
            await leases.heartbeat(beat, "ours")
            assert beat.scans("lease") == []
        async with db.write() as tx:
            found = [await leases.get(tx, id) for id in ("c1", "c2", "c3")]
            assert [lease.heartbeat_at for lease in found if lease] == [clock(), clock(), started]
            held = await windows.ensure_workspace(tx, "/shop", new_id=lambda: "unused")
            assert held.heartbeat_at == clock()
