"""What the ways to log in to an agent need on this machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catena_acp.abilities import AuthMethod
from catena_acp.agents.process import agent_environment
from catena_acp.errors import LoginNeeded
from catena_acp.port import AgentSpec
from catena_acp.protocol.answers import auth_methods_of

TERMINAL = "terminal"  # a command that a person runs in a terminal
ENVIRONMENT = (
    "env_var"  # variables that must be set before the agent starts; every other kind is the agent's own
)


@dataclass(frozen=True, slots=True)
class TerminalLogin:
    """A login to be run in a terminal, in the directory ``cwd``, with exactly ``env``."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a login is made of; its value is never looked at."""

    name: str
    is_set: bool


def offered_methods(error: LoginNeeded) -> tuple[AuthMethod, ...]:
    """The methods that a refusal names; an agent that wants a login before it shakes hands has no other place for them.

    Those that would have to be asked of the agent itself are left out: it does not run.
    """
    offered = auth_methods_of(error.data.get("authMethods")) if isinstance(error.data, dict) else ()
    return tuple(method for method in offered if method.kind in (TERMINAL, ENVIRONMENT))


def terminal_login(
    spec: AgentSpec, method: AuthMethod, cwd: str, environment: Mapping[str, str]
) -> TerminalLogin:
    """The command of a terminal method: what the agent names, or its own command with further arguments."""
    return TerminalLogin(
        argv=method.command or (*spec.command, *method.args),
        env=agent_environment(environment, (*spec.env, *method.env)),
        cwd=cwd,
    )


def variables_of(spec: AgentSpec, method: AuthMethod, environment: Mapping[str, str]) -> tuple[Variable, ...]:
    """What an environment method wants to be set, and which of it the agent gets now."""
    environment_of_agent = agent_environment(environment, spec.env)
    return tuple(Variable(name, bool(environment_of_agent.get(name))) for name in method.variables)
