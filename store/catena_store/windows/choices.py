"""Choices: session options that a person set in a window, for each agent."""

from __future__ import annotations

import json

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds
from catena_store.records import ChosenOption


async def put(tx: Writer, window_id: str, agent: str, option: str, value: str | bool) -> None:
    """Store the value that the person chose for an option, replacing an earlier one."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (window_id, agent, option)"
        " DO UPDATE SET value = excluded.value, chosen_at = excluded.chosen_at",
        (window_id, agent, option, json.dumps(value), tx.now()),
    )


async def copy(tx: Writer, window_id: str, to_window_id: str) -> None:
    """Copy the choices of a window to another one that has none of its own for the same options."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at)"
        " SELECT ?2, agent, option, value, chosen_at FROM window_choice WHERE window_id = ?1"
        " ON CONFLICT DO NOTHING",
        (window_id, to_window_id),
    )


async def of_window(r: Reader, window_id: str, agent: str) -> list[ChosenOption]:
    """The options that the person chose in a window for an agent's sessions, oldest first."""
    found = await r.all(
        "SELECT option, value, chosen_at FROM window_choice WHERE window_id = ? AND agent = ?"
        " ORDER BY chosen_at, option",
        (window_id, agent),
    )
    return [
        ChosenOption(option, value, from_milliseconds(at))
        for option, text, at in found
        if isinstance(value := rows.from_json(text), str | bool)
    ]
