"""The person's choice for what agents let Catena do unasked."""

from __future__ import annotations

from enum import StrEnum


class OwnRequests(StrEnum):
    """The treatment of a request to write or to run something that no permission request covered."""

    RECORD = "record"  # do it, and say in the transcript that nobody was asked
    ASK = "ask"  # ask the person first
    REFUSE = "refuse"
