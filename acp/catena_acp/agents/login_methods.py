"""Login methods of an agent: the command of a terminal login, and the variables of an environment login. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catena_acp.agents.process import agent_environment
from catena_acp.errors import LoginNeeded
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec
from catena_acp.protocol.answers import auth_methods_of

# Kinds of method; every other kind is carried out by the agent itself.
TERMINAL = "terminal"  # a command that a person runs in a terminal
ENVIRONMENT = "env_var"  # variables that must be set before the agent starts


@dataclass(frozen=True, slots=True)
class TerminalLogin:
    """Command of a terminal login, to be run in ``cwd`` with exactly ``env``."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of a login; its value is never read."""

    name: str
    is_set: bool


def offered_methods(error: LoginNeeded) -> tuple[AuthMethod, ...]:
    """The login methods in a -32000 error, the only place for them when ``initialize`` itself is refused.

    Methods that the agent carries out are left out, since it does not run.
    """
    offered = auth_methods_of(error.data.get("authMethods")) if isinstance(error.data, dict) else ()
    return tuple(method for method in offered if method.kind in (TERMINAL, ENVIRONMENT))


def terminal_login(
    spec: AgentSpec, method: AuthMethod, cwd: str, environment: Mapping[str, str]
) -> TerminalLogin:
    """The command of a terminal method: the one that the agent names, or the agent's own with further arguments."""
    return TerminalLogin(
        argv=method.command or (*spec.command, *method.args),
        env=agent_environment(environment, (*spec.env, *method.env)),
        cwd=cwd,
    )


def variables_of(spec: AgentSpec, method: AuthMethod, environment: Mapping[str, str]) -> tuple[Variable, ...]:
    """The variables of an environment method, and whether each is set for the agent now."""
    environment_of_agent = agent_environment(environment, spec.env)
    return tuple(Variable(name, bool(environment_of_agent.get(name))) for name in method.variables)
