"""What an agent can do, and its known quirks.

What is advertised comes from its answer to ``initialize``; what is not advertised and yet so, or advertised and not so,
stands in the quirks below, each with the version it was seen on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """A way to log in that the agent offers."""

    id: str
    name: str
    description: str | None
    kind: str  # agent, terminal, env_var
    command: tuple[str, ...] = ()  # terminal: what to run, where the agent names it
    args: tuple[str, ...] = ()  # terminal: what to start the agent's own command with
    env: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()  # env_var: what must be set


@dataclass(frozen=True, slots=True)
class Quirks:
    """What is so of an agent although its handshake does not say it."""

    resume_unadvertised: bool = False
    resume_replays: bool = False  # resume tells the history, as load does
    load_destroys: bool = False  # loading may lose the transcript: never load to look
    replay_faithful: bool | None = None  # None: learn it
    load_twice_breaks: bool = False  # loading a loaded session refuses, or doubles later chunks
    fork_at_key: str | None = None  # None | "air" | "message_id"
    fork_cold: bool = True  # forks a session that it has not loaded
    command_keeps_with_prior_context: bool = (
        False  # a slash command behind another text block stays a command
    )
    missing_files_must_be_empty: bool = False  # writing a new file fails if reading it first is refused


@dataclass(frozen=True, slots=True)
class Abilities:
    """What one agent process can do."""

    name: str  # agentInfo, "" where it does not say
    title: str
    version: str
    protocol_version: int
    load: bool = False
    resume: bool = False
    fork: bool = False
    list: bool = False
    close: bool = False
    delete: bool = False
    logout: bool = False
    additional_directories: bool = False
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    mcp_http: bool = False
    mcp_sse: bool = False
    steering: bool = False
    auth_methods: tuple[AuthMethod, ...] = ()
    quirks: Quirks = Quirks()

    @property
    def reopens(self) -> bool:
        """True where a session can be used again after its process ended."""
        return self.load or self.resume


_QUIRKS: tuple[tuple[str, Quirks], ...] = (
    # agentInfo name (lower case, by prefix), as driven in November 2026.
    (
        "@agentclientprotocol/claude-agent-acp",
        Quirks(replay_faithful=True, fork_at_key="air", command_keeps_with_prior_context=True),
    ),
    ("@agentclientprotocol/codex-acp", Quirks(replay_faithful=True, fork_at_key="air")),
    ("codex-acp", Quirks(replay_faithful=True)),
    ("opencode", Quirks(replay_faithful=True)),
    ("gemini-cli", Quirks(replay_faithful=False, load_destroys=True, missing_files_must_be_empty=True)),
    ("kimi code cli", Quirks(replay_faithful=False)),
    ("copilot", Quirks(load_twice_breaks=True)),
    (
        "@mistralai/mistral-vibe",
        Quirks(resume_unadvertised=True, load_twice_breaks=True, fork_at_key="message_id", fork_cold=False),
    ),
    ("fast-agent-acp", Quirks(resume_replays=True)),
)


def quirks_of(name: str) -> Quirks:
    """The quirks known of the agent that calls itself ``name``."""
    lowered = name.lower()
    return next((quirks for known, quirks in _QUIRKS if lowered.startswith(known)), Quirks())
