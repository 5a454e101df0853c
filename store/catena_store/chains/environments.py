"""Turn environments: the session's options, further directories, state of the repository and filled context of a turn.

Reading or continuing a conversation needs none of it; a row that is missing or cannot be read counts as empty.
"""

from __future__ import annotations

from collections.abc import Mapping

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.records import TurnEnvironment

_COLUMNS = (
    "s.turn_id, s.options, s.directories, s.git_branch, s.git_worktree, s.git_commit, "
    "s.context_used, s.context_size"
)


async def put(tx: Writer, environment: TurnEnvironment) -> None:
    """Store the environment of a turn, replacing an earlier one."""
    await tx.run(
        "INSERT INTO turn_surroundings (turn_id, options, directories, git_branch, git_worktree, git_commit,"
        " context_used, context_size) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (turn_id) DO UPDATE SET options = excluded.options, directories = excluded.directories,"
        " git_branch = excluded.git_branch, git_worktree = excluded.git_worktree,"
        " git_commit = excluded.git_commit, context_used = excluded.context_used,"
        " context_size = excluded.context_size",
        (
            environment.turn_id,
            rows.as_json(environment.options),
            rows.as_list(environment.directories),
            environment.git_branch,
            environment.git_worktree,
            environment.git_commit,
            environment.context_used,
            environment.context_size,
        ),
    )


async def set_at_end(
    tx: Writer,
    turn_id: str,
    options: Mapping[str, str | bool],
    context_used: int | None,
    context_size: int | None,
) -> None:
    """Set the options in force when the turn ended, and how full its session was, in tokens."""
    await tx.run(
        "UPDATE turn_surroundings SET options = ?, context_used = ?, context_size = ? WHERE turn_id = ?",
        (rows.as_json(options), context_used, context_size, turn_id),
    )


async def of_turn(r: Reader, turn_id: str) -> TurnEnvironment | None:
    """The environment of a turn, None where none was stored."""
    row = await r.one(f"SELECT {_COLUMNS} FROM turn_surroundings s WHERE s.turn_id = ?", (turn_id,))
    return None if row is None else _environment(row)


async def of_conversation(r: Reader, id: str) -> dict[str, TurnEnvironment]:
    """The environments of a conversation's turns, by turn id."""
    found = await r.all(
        f"SELECT {_COLUMNS} FROM turn t CROSS JOIN turn_surroundings s ON s.turn_id = t.id"
        " WHERE t.conversation_id = ?",
        (id,),
    )
    return {row[0]: _environment(row) for row in found}


def _environment(row: rows.Row) -> TurnEnvironment:
    turn_id, options, directories, branch, worktree, commit, used, size = row
    kept = rows.from_json(options)
    paths = rows.from_json(directories)
    return TurnEnvironment(
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
