"""Abilities of an agent: its capabilities from ``initialize``, and quirks that differ from what it advertises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """A login method of the agent."""

    id: str
    name: str
    description: str | None
    kind: str  # agent, terminal, env_var
    command: tuple[str, ...] = ()  # terminal: the command, where the agent names one
    args: tuple[str, ...] = ()  # terminal: arguments for the agent's own command
    env: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()  # env_var: variables that must be set


@dataclass(frozen=True, slots=True)
class Quirks:
    """Behaviour of an agent that its ``initialize`` answer does not say, or says wrongly."""

    resume_unadvertised: bool = False
    resume_replays: bool = False  # resume replays the history, as load does
    load_destroys: bool = False  # loading may lose the transcript: never load just to probe
    replay_faithful: bool | None = None  # None: to be found out
    load_twice_breaks: bool = False  # loading a loaded session fails, or doubles later chunks
    fork_at_key: str | None = None  # None | "air" | "message_id"
    fork_cold: bool = True  # forks a session that it has not loaded
    command_keeps_with_prior_context: bool = (
        False  # a slash command behind another text block stays a command
    )
    missing_files_must_be_empty: bool = False  # writing a new file fails if reading it first is refused


@dataclass(frozen=True, slots=True)
class Abilities:
    """Capabilities of one agent process, with its name, version and quirks."""

    name: str  # agentInfo; "" where missing
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
        """True if a session outlives its process."""
        return self.load or self.resume


_QUIRKS: tuple[tuple[str, Quirks], ...] = (
    # By prefix of the agentInfo name, lower case; observed with real agents in November 2026.
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
    """The quirks of the agent with this agentInfo name."""
    lowered = name.lower()
    return next((quirks for known, quirks in _QUIRKS if lowered.startswith(known)), Quirks())
