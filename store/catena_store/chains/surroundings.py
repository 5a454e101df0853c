"""What surrounded a turn: the agent's options, further directories, the state of the repository.

None of it is needed to read or to go on with a conversation; a row that is missing or cannot be read is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.ids import from_milliseconds
from catena_store.records import ChosenOption, Surroundings

_COLUMNS = (
    "s.turn_id, s.options, s.directories, s.git_branch, s.git_worktree, s.git_commit, "
    "s.context_used, s.context_size"
)


async def keep(tx: Writer, surroundings: Surroundings) -> None:
    """Keep what surrounds a turn, over what was kept of it before."""
    await tx.run(
        "INSERT INTO turn_surroundings (turn_id, options, directories, git_branch, git_worktree, git_commit,"
        " context_used, context_size) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (turn_id) DO UPDATE SET options = excluded.options, directories = excluded.directories,"
        " git_branch = excluded.git_branch, git_worktree = excluded.git_worktree,"
        " git_commit = excluded.git_commit, context_used = excluded.context_used,"
        " context_size = excluded.context_size",
        (
            surroundings.turn_id,
            rows.as_json(surroundings.options),
            rows.as_list(surroundings.directories),
            surroundings.git_branch,
            surroundings.git_worktree,
            surroundings.git_commit,
            surroundings.context_used,
            surroundings.context_size,
        ),
    )


async def set_ending(
    tx: Writer,
    turn_id: str,
    options: Mapping[str, str | bool],
    context_used: int | None,
    context_size: int | None,
) -> None:
    """Say which options were in force when the turn ended, and how full its session was, in tokens."""
    await tx.run(
        "UPDATE turn_surroundings SET options = ?, context_used = ?, context_size = ? WHERE turn_id = ?",
        (rows.as_json(options), context_used, context_size, turn_id),
    )


async def of_turn(r: Reader, turn_id: str) -> Surroundings | None:
    """What surrounded the turn, as far as it was kept."""
    row = await r.one(f"SELECT {_COLUMNS} FROM turn_surroundings s WHERE s.turn_id = ?", (turn_id,))
    return None if row is None else _surroundings(row)


async def of_conversation(r: Reader, id: str) -> dict[str, Surroundings]:
    """What surrounded the conversation's turns, by the turn."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM turn t CROSS JOIN turn_surroundings s ON s.turn_id = t.id"
        " WHERE t.conversation_id = ?",
        (id,),
    )
    return {row[0]: _surroundings(row) for row in found}


async def choose(tx: Writer, window_id: str, agent: str, option: str, value: str | bool) -> None:
    """Keep what the person set in a window for an agent's sessions."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (window_id, agent, option)"
        " DO UPDATE SET value = excluded.value, chosen_at = excluded.chosen_at",
        (window_id, agent, option, json.dumps(value), tx.now()),
    )


async def copy_choices(tx: Writer, window_id: str, to_window_id: str) -> None:
    """What the person set in a window holds in another one, too."""
    await tx.run(
        "INSERT INTO window_choice (window_id, agent, option, value, chosen_at)"
        " SELECT ?2, agent, option, value, chosen_at FROM window_choice WHERE window_id = ?1"
        " ON CONFLICT DO NOTHING",
        (window_id, to_window_id),
    )


async def choices(r: Reader, window_id: str, agent: str) -> list[ChosenOption]:
    """What the person set in a window for an agent's sessions, oldest first."""
    found = await r.all(
        "SELECT option, value, chosen_at FROM window_choice WHERE window_id = ? AND agent = ?"
        " ORDER BY chosen_at, option",
        (window_id, agent),
    )
    return [
        ChosenOption(option, value, from_milliseconds(at))
        for option, text, at in found
        if isinstance(value := _json(text), str | bool)
    ]


def _surroundings(row: rows.Row) -> Surroundings:
    turn_id, options, directories, branch, worktree, commit, used, size = row
    kept = _json(options)
    paths = _json(directories)
    return Surroundings(
        turn_id=turn_id,
        options={
            name: value
            for name, value in (kept.items() if isinstance(kept, dict) else ())
            if isinstance(value, str | bool)
        },
        directories=tuple(
            path for path in (paths if isinstance(paths, list) else ()) if isinstance(path, str)
        ),
        git_branch=branch,
        git_worktree=worktree,
        git_commit=commit,
        context_used=used,
        context_size=size,
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
