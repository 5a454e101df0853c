"""The option that answers a permission request by its kind. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from catena_acp.port.session_events import PermissionOption


def option_of(
    options: Sequence[PermissionOption], *, allow: bool, lasting: bool = False
) -> PermissionOption | None:
    """The only option that allows, or rejects, for once; None if the choice is the person's.

    Several options that allow once are a question with choices: none of them is a plain "yes". ``lasting`` takes the
    only option that the agent keeps as a rule of its own, if it offers none for once.
    """
    wanted = "allow" if allow else "reject"
    for kind in (f"{wanted}_once", f"{wanted}_always") if lasting else (f"{wanted}_once",):
        if found := [option for option in options if option.kind == kind]:
            return found[0] if len(found) == 1 else None
    return None
