"""Catalogue of public agents, and their installations on this machine.

Installations are found by name on PATH; no process is started and nothing is read over a network.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec

_COMMAND = "command:"
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_RUNNER = re.compile(r"^(python[0-9.]*|node|npx|uvx|bun|bunx|deno|sh|bash|nice|exec)$")
_NO_SPECS: Mapping[str, AgentSpec] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A public agent that speaks ACP.

    Of its ``commands`` the first whose program is on PATH starts it. Where none is, but the agent's own ``program`` and
    npx are, npx fetches ``package``, the adapter between that program and ACP.
    """

    name: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    install: str  # a command, or an address
    login: str | None  # command to run or variable to set; None if no login is needed
    homepage: str
    program: str | None = None
    package: str | None = None
    logout: str | None = None  # command to run
    accounts: tuple[str, ...] = ()  # files (`~/…`) and variables; where one is there, so is an account


@dataclass(frozen=True, slots=True)
class Installation:
    """A catalogue entry with the command that starts it on this machine; ``spec`` is None if it is not installed."""

    entry: CatalogEntry
    spec: AgentSpec | None
    version: str | None = None  # known after the first start


def catalog() -> tuple[CatalogEntry, ...]:
    """All known agents, the most widely used first and the built-in one last."""
    return (
        CatalogEntry(
            "claude",
            "Claude Code",
            (("claude-agent-acp",), ("claude-code-acp",)),
            "npm install -g @agentclientprotocol/claude-agent-acp",
            "claude /login, or set ANTHROPIC_API_KEY",
            "https://github.com/agentclientprotocol/claude-agent-acp",
            program="claude",
            package="@agentclientprotocol/claude-agent-acp",
            logout="claude /logout",
            accounts=(
                "~/.claude/.credentials.json",
                "~/.claude.json",
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CONFIG_DIR",
            ),
        ),
        CatalogEntry(
            "codex",
            "Codex",
            (("codex-acp",),),
            "npm install -g @agentclientprotocol/codex-acp",
            "codex login, or set OPENAI_API_KEY",
            "https://github.com/agentclientprotocol/codex-acp",
            program="codex",
            package="@agentclientprotocol/codex-acp",
            logout="codex logout",
            accounts=(
                "~/.codex/auth.json",
                "~/.codex/config.toml",
                "OPENAI_API_KEY",
                "CODEX_API_KEY",
                "CODEX_HOME",
            ),
        ),
        CatalogEntry(
            "opencode",
            "OpenCode",
            (("opencode", "acp"),),
            "npm install -g opencode-ai",
            "opencode auth login",
            "https://opencode.ai",
            logout="opencode auth logout",
        ),
        CatalogEntry(
            "gemini",
            "Gemini CLI",
            (("gemini", "--acp"),),  # before 0.30 or so: --experimental-acp
            "npm install -g @google/gemini-cli",
            "gemini, or set GEMINI_API_KEY",
            "https://github.com/google-gemini/gemini-cli",
            accounts=(
                "~/.gemini/oauth_creds.json",
                "~/.gemini/settings.json",
                "~/.gemini/.env",
                "GEMINI_API_KEY",
                "GOOGLE_API_KEY",
                "GOOGLE_CLOUD_PROJECT",
            ),
        ),
        CatalogEntry(
            "copilot",
            "GitHub Copilot CLI",
            (("copilot", "--acp"),),
            "npm install -g @github/copilot",
            "copilot login",
            "https://github.com/github/copilot-cli",
        ),
        CatalogEntry(
            "cursor",
            "Cursor",
            (("cursor-agent", "acp"),),
            "see https://cursor.com/cli",
            "cursor-agent login",
            "https://cursor.com/cli",
            logout="cursor-agent logout",
        ),
        CatalogEntry(
            "qwen",
            "Qwen Code",
            (("qwen", "--acp"),),
            "npm install -g @qwen-code/qwen-code",
            "qwen, or set OPENAI_API_KEY",
            "https://github.com/QwenLM/qwen-code",
        ),
        CatalogEntry(
            "goose",
            "Goose",
            (("goose", "acp"),),
            "see https://block.github.io/goose",
            "goose configure",
            "https://block.github.io/goose",
        ),
        CatalogEntry(
            "vibe",
            "Mistral Vibe",
            (("vibe-acp",),),
            "uv tool install mistral-vibe",
            "vibe --setup, or set MISTRAL_API_KEY",
            "https://github.com/mistralai/mistral-vibe",
        ),
        CatalogEntry(
            "kimi",
            "Kimi Code CLI",
            (("kimi", "acp"),),  # before 1.10 or so: --acp
            "uv tool install kimi-cli",
            "kimi login",
            "https://github.com/MoonshotAI/kimi-cli",
            logout="kimi logout",
        ),
        CatalogEntry(
            "auggie",
            "Auggie CLI",
            (("auggie", "--acp"),),
            "npm install -g @augmentcode/auggie",
            "auggie login",
            "https://www.augmentcode.com",
            logout="auggie logout",
        ),
        CatalogEntry(
            "fast-agent",
            "fast-agent",
            (("fast-agent-acp",),),
            "uv tool install fast-agent-mcp",
            "set the keys of your model's provider",
            "https://fast-agent.ai",
        ),
        CatalogEntry(
            "kiro",
            "Kiro CLI",
            (("kiro-cli", "acp"),),
            "see https://kiro.dev",
            "kiro-cli login",
            "https://kiro.dev",
            logout="kiro-cli logout",
        ),
        CatalogEntry(
            "cline",
            "Cline",
            (("cline", "--acp"),),
            "npm install -g cline",
            "cline auth",
            "https://cline.bot",
        ),
        CatalogEntry(
            "kilo",
            "Kilo Code",
            (("kilo", "acp"),),
            "npm install -g @kilocode/cli",
            "kilo auth login",
            "https://kilo.ai",
            logout="kilo auth logout",
        ),
        CatalogEntry(
            "openhands",
            "OpenHands",
            (("openhands", "acp"),),
            "uv tool install openhands",
            "openhands login",
            "https://www.openhands.dev",
        ),
        CatalogEntry(
            "droid",
            "Factory Droid",
            (("droid", "exec", "--output-format", "acp"),),
            "see https://factory.ai",
            "droid, or set FACTORY_API_KEY",
            "https://factory.ai",
        ),
        CatalogEntry(
            "junie",
            "Junie",
            (("junie", "--acp=true"),),
            "see https://junie.jetbrains.com",
            "junie",
            "https://junie.jetbrains.com",
        ),
        CatalogEntry(
            "pi",
            "Pi",
            (("pi-acp",),),
            "npm install -g pi-acp",
            "pi",
            "https://github.com/svkozak/pi-acp",
            program="pi",
            package="pi-acp",
        ),
        CatalogEntry(
            "rehearsal",
            "Rehearsal",
            ((sys.executable, "-m", "catena_acp.rehearsal"),),
            "built-in demo, no account needed",
            None,
            "",
        ),
    )


def lacks_account(entry: CatalogEntry) -> bool:
    """True where an agent keeps its account in files or variables that are known, and none of them is there."""
    return bool(entry.accounts) and not any(
        Path(each).expanduser().exists() if each.startswith("~") else os.environ.get(each)
        for each in entry.accounts
    )


def login_hint(name: str) -> str | None:
    """How to log in to an agent outside of Catena; None if nothing is known."""
    return next((entry.login for entry in catalog() if entry.name == name), None)


def logout_hint(name: str) -> str:
    """One sentence on how to log out of an agent outside of Catena."""
    entry = next((entry for entry in catalog() if entry.name == name), None)
    if entry and entry.logout:
        return f"Run `{entry.logout}` in a terminal"
    where = f" ({entry.homepage})" if entry and entry.homepage else ""
    return f"Use its own program{where}"


def find_agents(path: str | None = None) -> tuple[Installation, ...]:
    """Look up every catalogue agent on ``path``, by default PATH."""
    return tuple(Installation(entry, _spec_of(entry, path)) for entry in catalog())


def find_spec(name: str, extra: Mapping[str, AgentSpec] = _NO_SPECS) -> AgentSpec:
    """The spec of an agent by name: one of ``extra``, of the catalogue, or ``command:`` with an argv.

    Raises AgentMissing if there is none, or if it is not installed.
    """
    if name in extra:
        return extra[name]
    if name.startswith(_COMMAND):
        return command_spec(name.removeprefix(_COMMAND))
    entry = next((entry for entry in catalog() if entry.name == name), None)
    if entry is None:
        raise AgentMissing(name, "unknown agent; see `catena agents`")
    spec = _spec_of(entry, None)
    if spec is None:
        raise AgentMissing(entry.title, f"not installed; {entry.install}")
    return spec


def command_spec(command: str) -> AgentSpec:
    """The spec of a command line as an agent, with the same name however it is quoted.

    Raises AgentMissing if the command is empty or a quote is not closed.
    """
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise AgentMissing(command, "unclosed quotation mark") from error
    if not argv:
        raise AgentMissing("the agent's command", "it is empty")
    return AgentSpec(name=_COMMAND + shlex.join(argv), title=_title_of(argv), command=argv)


def is_untitled(spec: AgentSpec) -> bool:
    """True for a command that has a title neither in the catalogue nor in the settings."""
    return spec.name.startswith(_COMMAND) and not spec.profile and spec.title == _title_of(spec.command)


def _title_of(argv: tuple[str, ...]) -> str:
    """The title of a command: its program, or the script or module that its interpreter runs."""
    words = [word for word in argv if word != "env" and not _ASSIGNMENT.match(word)]
    if len(words) > 1 and _RUNNER.match(words[0].rpartition("/")[2]):
        words = [word for word in words[1:] if not word.startswith("-")] or words
    return (words or list(argv))[0].rpartition("/")[2]


def _spec_of(entry: CatalogEntry, path: str | None) -> AgentSpec | None:
    for command in entry.commands:
        if shutil.which(command[0], path=path):
            return AgentSpec(entry.name, entry.title, command)
    if entry.package and entry.program and shutil.which(entry.program, path=path):
        npx = shutil.which("npx", path=path)
        return AgentSpec(entry.name, entry.title, ("npx", "-y", entry.package)) if npx else None
    return None
