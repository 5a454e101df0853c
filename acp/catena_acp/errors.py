"""What can go wrong in this package, as one tree.

AgentError                something went wrong between us and an agent, or an act is not possible now
├── AgentMissing          the command is not there, or cannot be run
├── AgentGone             the process or its connection ended
├── AgentSilent           no answer in the time that opening or closing may take
├── AgentRefused          the agent answered a request with an error
│   ├── LoginNeeded       … because it wants a login (-32000)
│   ├── SessionGone       … because it does not know the session: proof that the link is lost
│   │   └── SessionContradicts  … or what it opened is not what the record says
│   └── NotOffered        … because it has no such method (-32601), or we never asked since it is not advertised
├── ProtocolBroken        an answer that cannot be understood
├── SessionMoved          another client used a session while it was opened here: what it holds proves nothing
├── ForkWrong             a fork that does not hold what was asked for
├── NotKept               the store does not take what the agent says
├── NotOfThisBranch       a message that cannot be gone on from here
├── NotToBePicked         a link that cannot be gone on from
├── NotToBeUndone         an act that cannot be undone or redone now
├── NotAQuestion          an aside was asked a command
├── NoCheckpoint          there is no such checkpoint
├── TabClosed             the window to be moved was closed
├── NoSuchLogin           the agent offers no such login
├── LogoutNotOffered      the agent cannot be logged out of from here
├── StillAtWork           it has to wait for the end of a turn
├── FilesNotKept          files cannot be restored, for want of snapshots
├── FilesHalfMoved        … or were cut off on their way, which comes first
├── NotBlamed             a file whose lines cannot be told of
├── NotAdopted            another tool's session cannot be read
├── NotAsked              one of several agents is not ready for a prompt, so that none got it
└── GivenUp               the person stopped what they had asked for

Beside it stand those that are never an agent's doing:

ReadOnly                  another client holds the conversation
NotSent                   no session accepted the prompt
RefusedAtOnce             the prompt was refused before any update, and may go out once more
FileRefused               a file was not read or not written for an agent
TerminalRefused           a command was not run for an agent, or there is no such terminal
RegistryInvalid           a registry of agents, or one of its agents, that cannot be used
InstallFailed             an agent was not installed or removed
DownloadFailed            a file was not fetched
"""

from __future__ import annotations

from typing import Any

_MAX_LENGTH = 16_000  # characters kept of the details of an agent's error


class AgentError(Exception):
    """Base of errors between the client and an agent; ``str()`` of one can be shown to a person."""


class AgentMissing(AgentError):
    """Command of an agent that does not exist or cannot be run."""

    def __init__(self, command: str, why: str) -> None:
        super().__init__(f"{command}: {why}")
        self.command = command
        self.why = why


class AgentGone(AgentError):
    """End of the agent's process or connection.

    ``returncode`` is None while the process still runs (it closed its output) and negative for a signal;
    ``ended_here`` where Catena ended it.
    """

    def __init__(
        self, returncode: int | None, stderr_tail: tuple[str, ...] = (), *, ended_here: bool = False
    ) -> None:
        super().__init__("was stopped by you" if ended_here else _describe_exit(returncode))
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        self.ended_here = ended_here


class AgentSilent(AgentError):
    """Time-out of a request."""


class QuestionChanged(AgentError):
    """The agent changed what it asks for, so that an answer to what it was answers nothing."""

    def __init__(self) -> None:
        super().__init__("The agent changed what it asks for: that answered nothing.")


class AgentRefused(AgentError):
    """Error answer of the agent, with its code, message and data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(_full_message(message, data))
        self.code = code
        self.message = message
        self.data = data
        self.retried_for = ""  # why the agent's model had failed before, until it gave up: rate_limited, …


class LoginNeeded(AgentRefused):
    """Error answer of an agent that requires a login first (-32000)."""


class SessionGone(AgentRefused):
    """Error answer about a session that the agent does not know."""


class NotOffered(AgentRefused):
    """A method that the agent does not have or does not advertise."""


class ProtocolBroken(AgentError):
    """An answer that cannot be read."""


class SessionContradicts(SessionGone):
    """The session is not what its record says: another id, another history."""

    def __init__(self, why: str) -> None:
        super().__init__(0, why)


class SessionMoved(AgentError):
    """Use of a session by another client while it was opened here, so that what it holds proves nothing."""

    def __init__(self) -> None:
        super().__init__("another client used the session while it was opened")


class ForkWrong(AgentError):
    """The fork does not hold what was asked for; its source may still be right."""


class ForkEmpty(ForkWrong):
    """A fork holds nothing, and so probably its source."""


class NotKept(AgentError):
    """The store does not take what the agent says; it was asked to stop."""


class NotOfThisBranch(AgentError):
    """The message cannot be gone on from here; ``str()`` says why."""

    def __init__(self, why: str = "That message is in another conversation.") -> None:
        super().__init__(why)


class NotToBePicked(AgentError):
    """The conversation cannot go on from this link; ``str()`` says why."""


class NotToBeUndone(AgentError):
    """The act cannot be undone, or redone, now; ``str()`` says why."""


class NotAQuestion(AgentError):
    """An aside was asked a command."""

    def __init__(self) -> None:
        super().__init__("A side question cannot be a command; send commands in the conversation.")


class NoCheckpoint(AgentError):
    """There is no such checkpoint; ``str()`` says what can be done."""


class TabClosed(AgentError):
    """The window that was to be moved was closed meanwhile."""

    def __init__(self) -> None:
        super().__init__("the tab was closed; nothing changed.")


class NoSuchLogin(AgentError):
    """The agent offers no login of this id, or none at all."""


class LogoutNotOffered(AgentError):
    """The agent cannot be logged out of from here; ``str()`` says how else."""


class StillAtWork(AgentError):
    """Refusal of an act that has to wait for the end of a turn."""

    def __init__(self) -> None:
        super().__init__("The agent is still working: stop it first.")


class NotAsked(AgentError):
    """One of several agents is not ready for the prompt that all of them were to get; ``str()`` says why."""


class GivenUp(AgentError):
    """The person stopped what they had asked for."""

    def __init__(self) -> None:
        super().__init__("Cancelled; nothing changed.")


class ReadOnly(Exception):
    """Another client holds the conversation, or is gone; ``str()`` says which one."""


class NotSent(Exception):
    """No session accepted the prompt; its text goes back to the composer."""

    def __init__(self, error: AgentError | None, text: str | None = None) -> None:
        super().__init__(text or (str(error) if error else "No session accepted the prompt."))
        self.error = error


class RefusedAtOnce(Exception):
    """The agent refused the prompt before any update of the turn: it may go out once more."""

    def __init__(self, error: AgentRefused) -> None:
        super().__init__(str(error))
        self.error = error


class NotCopied(Exception):
    """The files of a session were not copied; ``str()`` says why."""


class FileRefused(Exception):
    """A file was not read or not written; ``str()`` says why. ``missing`` if it is not there."""

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


class TerminalRefused(Exception):
    """A command was not run for an agent, or there is no such terminal (``missing``); ``str()`` says why."""

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


class FilesNotKept(AgentError):
    """Files cannot be restored: there are no snapshots of some turn."""


class FilesHalfMoved(AgentError):
    """A change of files in the directory was cut off by a kill; it must be finished or undone before a prompt."""

    def __init__(self, conversation_id: str, steps: int, done: int) -> None:
        count = "1 file" if steps == 1 else f"{steps:,} files"
        super().__init__(
            f"restoring {count} was interrupted after {done:,}: finish or undo it first"
            f" (catena files finish {conversation_id}, or catena files undo {conversation_id})"
        )
        self.conversation_id = conversation_id


class NotBlamed(AgentError):
    """File whose lines cannot be told of; the words say why."""


class NotAdopted(AgentError):
    """Session of another tool that cannot be adopted; the words say why."""


def _describe_exit(returncode: int | None) -> str:
    match returncode:
        case None:
            return "closed its connection"
        case 0:
            return "exited"
        case code if code < 0:
            return f"was killed by signal {-code}"
        case code:
            return f"exited with status {code}"


def _full_message(message: str, data: Any) -> str:
    """The agent's message with the details that several agents put into ``data``."""
    detail = ""
    if isinstance(data, dict):
        for key in ("details", "message", "reason", "error"):
            value = data.get(key)
            if isinstance(value, str) and value.strip() and value[:_MAX_LENGTH] not in message:
                detail = value[:_MAX_LENGTH]
                break
        else:
            # Kimi says why under the name of what it is about: {"session_id": "Session not found"}.
            values = (value[:_MAX_LENGTH] for value in data.values() if isinstance(value, str))
            detail = next((value for value in values if " " in value.strip() and value not in message), "")
    elif isinstance(data, str) and data[:_MAX_LENGTH] not in message:
        detail = data[:_MAX_LENGTH]
    return f"{message}: {detail}" if detail else message


class RegistryInvalid(Exception):
    """Registry of agents, or one of its agents, that cannot be used; ``str()`` of it is a clause."""


class InstallFailed(Exception):
    """Install or removal of an agent that was not done; ``str()`` of it can be shown to a person."""


class DownloadFailed(Exception):
    """File that was not fetched; ``str()`` of it begins with its address."""
