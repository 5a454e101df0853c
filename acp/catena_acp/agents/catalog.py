"""Catalogue of public agents, and their installations on this machine.

Installations are those that Catena made, else those found by name on PATH; no process is started and nothing is read
over a network. The public registry (``agents.registry``) has agents that stand in no table here: their name is their
id there.
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
from typing import TYPE_CHECKING

from catena_acp.agents.registry.installs import Install, find_install, installed_agents
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec

if TYPE_CHECKING:  # the first frame needs none of the registry's data
    from catena_acp.agents.registry.entries import RegistryEntry

NO_ACCOUNT = "built-in demo, no account needed"
_COMMAND = "command:"
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_RUNNER = re.compile(r"^(python[0-9.]*|node|npx|uvx|bun|bunx|deno|sh|bash|nice|exec)$")
_NO_SPECS: Mapping[str, AgentSpec] = MappingProxyType({})


_KINDS_OF_AGENT = frozenset({"Code", "CLI"})


def short_title(title: str) -> str:
    """The title of an agent without the words for its kind behind it."""
    words = title.split()
    while len(words) > 1 and words[-1] in _KINDS_OF_AGENT:
        words.pop()
    return " ".join(words)


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
    registry: str = ""  # its id in the public registry, where that is not its name

    @property
    def id(self) -> str:
        """Its id in the public registry, if it is there."""
        return self.registry or self.name

    @property
    def short_title(self) -> str:
        """The title as a person says it, such as `Claude` for `Claude Code`."""
        return short_title(self.title)


@dataclass(frozen=True, slots=True)
class Installation:
    """A catalogue entry with the command that starts it on this machine; ``spec`` is None if it is not installed."""

    entry: CatalogEntry
    spec: AgentSpec | None
    install: Install | None = None  # where Catena installed it

    @property
    def version(self) -> str | None:
        """Its version, where that is known without a start."""
        return self.install.version if self.install else None


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
            registry="claude-acp",
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
            registry="codex-acp",
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
            registry="github-copilot-cli",
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
            registry="qwen-code",
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
            registry="mistral-vibe",
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
            registry="factory-droid",
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
            registry="pi-acp",
        ),
        CatalogEntry(
            "rehearsal",
            "Rehearsal",
            ((sys.executable, "-m", "catena_acp.rehearsal"),),
            NO_ACCOUNT,
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
    """Look up every catalogue agent, and what Catena installed beside them; ``path`` is PATH by default."""
    entries = catalog()
    known = {entry.id for entry in entries}
    others = [_entry_of_install(each) for each in installed_agents() if each.id not in known]
    return tuple(_installation(entry, path) for entry in (*entries[:-1], *others, entries[-1]))


def find_spec(name: str, extra: Mapping[str, AgentSpec] = _NO_SPECS) -> AgentSpec:
    """The spec of an agent by name: one of ``extra``, of the catalogue or the registry, or ``command:`` with an argv.

    Raises AgentMissing if there is none, or if it is not installed.
    """
    if name in extra:
        return extra[name]
    if name.startswith(_COMMAND):
        return command_spec(name.removeprefix(_COMMAND))
    entry = next((entry for entry in catalog() if entry.name == name), None)
    if entry is None:
        if install := find_install(name):
            return _spec_of_install(_entry_of_install(install), install)
        if offered := registry_entry(name):
            raise AgentMissing(offered.name, f"not installed; {install_command(name)}")
        raise AgentMissing(name, "unknown agent; see `catena agents`")
    spec = _installation(entry, None).spec
    if spec is None:
        raise AgentMissing(entry.title, f"not installed; {how_to_install(entry, registry_entry(name))}")
    return spec


def registry_id(name: str) -> str:
    """The id in the public registry of an agent's name, which may be that id."""
    return next((entry.id for entry in catalog() if entry.name == name), name)


def agent_name(id: str) -> str:
    """The name of the registry's agent with this id."""
    return next((entry.name for entry in catalog() if entry.id == id), id)


def registry_entry(name: str) -> RegistryEntry | None:
    """The registry's entry for an agent, by its name or its id there; None if it has none."""
    from catena_acp.agents.registry.data import load_registry

    return load_registry().entry(registry_id(name))


def install_command(name: str) -> str:
    """The command by which Catena installs an agent of the registry."""
    return f"catena agents install {name}"


def how_to_install(entry: CatalogEntry, offered: RegistryEntry | None) -> str:
    """A command that installs an agent, or an address; ``offered`` is what the registry has on it."""
    from catena_acp.agents.registry.plans import plan_install

    return install_command(entry.name) if offered and plan_install(offered) else entry.install


def is_known(name: str) -> bool:
    """True for an agent of the catalogue or the registry, and for one that Catena installed."""
    in_catalogue = any(entry.name == name for entry in catalog())
    return in_catalogue or find_install(name) is not None or registry_entry(name) is not None


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


def is_command(name: str) -> bool:
    """True for the stored name of an agent that is a command of its own."""
    return name.startswith(_COMMAND)


def is_untitled(spec: AgentSpec) -> bool:
    """True for a command that has a title neither in the catalogue nor in the settings."""
    return spec.name.startswith(_COMMAND) and not spec.profile and spec.title == _title_of(spec.command)


def _title_of(argv: tuple[str, ...]) -> str:
    """The title of a command: its program, or the script or module that its interpreter runs."""
    words = [word for word in argv if word != "env" and not _ASSIGNMENT.match(word)]
    if len(words) > 1 and _RUNNER.match(words[0].rpartition("/")[2]):
        words = [word for word in words[1:] if not word.startswith("-")] or words
    return (words or list(argv))[0].rpartition("/")[2]


def _installation(entry: CatalogEntry, path: str | None) -> Installation:
    if install := find_install(entry.id):
        return Installation(entry, _spec_of_install(entry, install), install)
    return Installation(entry, _spec_on_path(entry, path))


def _entry_of_install(install: Install) -> CatalogEntry:
    """The entry of an agent that Catena installed, and the catalogue does not have."""
    offered = registry_entry(install.id)
    title, homepage = (offered.name, offered.homepage) if offered else (install.id, "")
    return CatalogEntry(install.id, title, (), install_command(install.id), None, homepage)


def _spec_of_install(entry: CatalogEntry, install: Install) -> AgentSpec:
    return AgentSpec(entry.name, entry.short_title, install.command, install.env)


def _spec_on_path(entry: CatalogEntry, path: str | None) -> AgentSpec | None:
    for command in entry.commands:
        if shutil.which(command[0], path=path):
            return AgentSpec(entry.name, entry.short_title, command)
    if entry.package and entry.program and shutil.which(entry.program, path=path):
        npx = shutil.which("npx", path=path)
        return AgentSpec(entry.name, entry.short_title, ("npx", "-y", entry.package)) if npx else None
    return None
