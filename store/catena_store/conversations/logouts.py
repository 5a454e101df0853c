"""Logouts: when somebody last logged out of an account, and the barriers of it in conversations.

An account is an agent with a profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena_store import ancestry
from catena_store.database.database import Reader, Writer

Account = tuple[str, str]  # an agent and a profile

_KEY = "logged_out"
# Of a logout `a`: the rows that there were. By their order, too, since the clock may have been set back before it.
_BY_THEN = "(a.learnt_at > m.created_at OR m.id <= (SELECT id FROM message WHERE uid = a.value))"


def logout_data(agent: str, profile: str) -> Mapping[str, Any]:
    """The data of a logout's barrier: the account that was logged out of."""
    return {_KEY: {"agent": agent, "profile": profile}}


async def note_logout(tx: Writer, *, agent: str, profile: str) -> None:
    """Store that somebody has just logged out of the account, and what the newest row was then."""
    await tx.run(
        "INSERT INTO ability (agent_name, agent_version, name, value, learnt_at)"
        " VALUES (?, '', ?, coalesce((SELECT uid FROM message ORDER BY id DESC LIMIT 1), ''), ?)"
        " ON CONFLICT (agent_name, agent_version, name)"
        " DO UPDATE SET value = excluded.value, learnt_at = excluded.learnt_at",
        (agent, _name(profile), tx.now()),
    )


async def last_logouts(r: Reader) -> dict[Account, int]:
    """The time of the last logout from each account that somebody logged out of, in milliseconds."""
    rows = await r.all(
        "SELECT agent_name, name, learnt_at FROM ability WHERE agent_version = '' AND name GLOB ?",
        (_name("*"),),
    )
    return {(agent, name.removeprefix(_name(""))): at for agent, name, at in rows}


async def untouched_since_logout(r: Reader, conversation_id: str, *, agent: str, profile: str) -> bool:
    """True where nothing was said or cleared in the conversation after the last logout from the account."""
    # Each is read from the newest row on; of both in one condition every row of the conversation would be.
    newest = (
        "coalesce((SELECT id FROM message INDEXED BY {index} WHERE conversation_id = c.id AND {which}"
        " AND state <> 'refused' ORDER BY id DESC LIMIT 1), 0)"
    )
    row = await r.one(
        f"""
        SELECT iif(m.id IS NULL, a.learnt_at > c.created_at, {_BY_THEN})
          FROM ability a CROSS JOIN conversation c ON c.id = ?1
          LEFT JOIN message m
            ON m.id = max({newest.format(index="message_conversation", which="kind = 'user'")},
                          {newest.format(index="message_barrier", which="barrier")})
         WHERE a.agent_name = ?2 AND a.agent_version = '' AND a.name = ?3
        """,
        (conversation_id, agent, _name(profile)),
    )
    return row is not None and bool(row[0])


async def logged_out_since(r: Reader, family: str, row_id: str, *, agent: str, profile: str) -> bool:
    """True where a logout from the account is newer than the row: the last one, or that of a barrier in the family."""
    row = await r.one(
        f"""
        SELECT EXISTS (
            SELECT 1 FROM ability a CROSS JOIN message m ON m.uid = ?2
             WHERE a.agent_name = ?3 AND a.agent_version = '' AND a.name = ?5 AND {_BY_THEN}
        ) OR EXISTS (
            SELECT 1 FROM conversation c
              CROSS JOIN message m INDEXED BY message_barrier ON m.conversation_id = c.id AND m.barrier
             WHERE c.family = ?1 AND m.id > (SELECT id FROM message WHERE uid = ?2)
               AND json_valid(m.data)
               AND json_extract(m.data, '$.{_KEY}.agent') = ?3
               AND json_extract(m.data, '$.{_KEY}.profile') = ?4
        )
        """,
        (family, row_id, agent, profile, _name(profile)),
    )
    return row is not None and bool(row[0])


async def said_before_logout(
    r: Reader, leaf_id: str | None, family: str, *, agent: str, profile: str
) -> bool:
    """True if anything on the path to a leaf, from after its last barrier, is older than a logout of this account."""
    oldest = await ancestry.oldest_content(r, leaf_id)
    return oldest is not None and await logged_out_since(r, family, oldest, agent=agent, profile=profile)


def _name(profile: str) -> str:
    """The ability, of no version, that the time of the last logout is kept with."""
    return f"{_KEY}:{profile}"
