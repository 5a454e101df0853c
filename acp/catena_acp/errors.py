"""What can go wrong between us and an agent.

AgentError
├── AgentMissing      the command is not there, or cannot be run
├── AgentGone         the process or its connection ended
├── AgentSilent       no answer in the time that opening or closing may take
├── AgentRefused      the agent answered a request with an error
│   ├── LoginNeeded   … because it wants a login (-32000)
│   ├── SessionGone   … because it does not know the session: proof that the link is lost
│   └── NotOffered    … because it has no such method (-32601), or we never asked since it is not advertised
└── ProtocolBroken    an answer that cannot be understood
"""

from __future__ import annotations

from typing import Any

_LONGEST = 16_000  # characters of detail that are kept of an agent's error


class AgentError(Exception):
    """Something went wrong between us and an agent; ``str()`` of it can be shown to a person."""


class AgentMissing(AgentError):
    """The agent's command is not there, or cannot be run."""

    def __init__(self, command: str, why: str) -> None:
        super().__init__(f"{command}: {why}")
        self.command = command
        self.why = why


class AgentGone(AgentError):
    """The agent's process ended, or its connection did.

    ``returncode`` is None where the process still runs (it closed its output) and negative for a signal.
    """

    def __init__(self, returncode: int | None, stderr_tail: tuple[str, ...] = ()) -> None:
        super().__init__(_ending(returncode))
        self.returncode = returncode
        self.stderr_tail = stderr_tail


class AgentSilent(AgentError):
    """The agent did not answer within the time that this request may take."""


class AgentRefused(AgentError):
    """The agent answered a request with an error; code, message and data are its own."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(_words(message, data))
        self.code = code
        self.message = message
        self.data = data


class LoginNeeded(AgentRefused):
    """The agent wants a login first (-32000)."""


class SessionGone(AgentRefused):
    """The agent does not know the session that we named."""


class NotOffered(AgentRefused):
    """The agent has no such method, or does not advertise it."""


class ProtocolBroken(AgentError):
    """The agent's answer cannot be understood."""


def _ending(returncode: int | None) -> str:
    match returncode:
        case None:
            return "closed its connection"
        case 0:
            return "ended by itself"
        case code if code < 0:
            return f"was killed by signal {-code}"
        case code:
            return f"ended with exit status {code}"


def _words(message: str, data: Any) -> str:
    """The agent's message, with the detail that several agents hide in ``data``."""
    detail = ""
    if isinstance(data, dict):
        for key in ("details", "message", "reason", "error"):
            value = data.get(key)
            if isinstance(value, str) and value.strip() and value[:_LONGEST] not in message:
                detail = value[:_LONGEST]
                break
    elif isinstance(data, str) and data[:_LONGEST] not in message:
        detail = data[:_LONGEST]
    return f"{message}: {detail}" if detail else message
