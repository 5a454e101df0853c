"""How much of a conversation is replayed to an agent, and what is masked in it, by the settings."""

from __future__ import annotations

import re

from catena.settings.settings import Settings
from catena_acp.continuity.routing.prior_context import LONGEST, Budget
from catena_acp.continuity.tool_calls import Mask


def replay_budget(settings: Settings) -> Budget:
    """The budget of a replay, whose tool calls are masked as exports are."""

    def new_mask() -> Mask:
        from catena.text.secrets import SecretMask  # its rules take a while to compile

        return SecretMask([re.compile(rule) for rule in settings.export.mask])

    return Budget(settings.replay, min(LONGEST, settings.replay), new_mask)
