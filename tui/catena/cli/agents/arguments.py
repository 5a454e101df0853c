"""Arguments of the commands on agents: agents, login and logout."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser


def _agents(arguments: Sequence[str]) -> int:
    act = arguments[0] if arguments else ""
    if act in ("install", "remove", "update"):
        return _change_agents(act, arguments[1:])
    parser = Parser(
        prog="catena agents",
        usage="catena agents [AGENT] [--check] [--json]\n       catena agents install | remove AGENT [--yes]\n"
        "       catena agents update FILE|URL",
        description="List agents: which are installed, what each can do, and how to get the others; one in detail.",
        epilog="catena agents install, remove and update change what is installed and known. Nothing else here uses a "
        "network.",
        allow_abbrev=False,
    )
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="one agent: its name, or its registry id")
    parser.add_argument(
        "--check", action="store_true", help="start the installed agents, and see what they can do now"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array; of one agent, an object")
    chosen = parser.parse_args(arguments)

    from catena.cli.agents.listing import print_agent, print_agents

    if chosen.agent is not None:
        return print_agent(chosen.agent, check=chosen.check, json=chosen.json)
    return print_agents(check=chosen.check, json=chosen.json)


def _change_agents(act: str, arguments: Sequence[str]) -> int:
    prog = f"catena agents {act}"
    match act:
        case "install":
            parser = Parser(
                prog=prog,
                description="Install an agent below Catena's data directory, at the version that the registry names. "
                "Shows command, source and size, and asks.",
                allow_abbrev=False,
            )
            parser.add_argument("agent", metavar="AGENT", help="its name from `catena agents`")
            parser.add_argument("--yes", action="store_true", help="do not ask")
            chosen = parser.parse_args(arguments)

            from catena.cli.agents.installing import install_agent

            return install_agent(chosen.agent, yes=chosen.yes)
        case "remove":
            parser = Parser(
                prog=prog,
                description="Remove an agent that Catena installed. Its conversations, accounts and settings stay.",
                allow_abbrev=False,
            )
            parser.add_argument("agent", metavar="AGENT", help="its name from `catena agents`")
            parser.add_argument("--yes", action="store_true", help="do not ask")
            chosen = parser.parse_args(arguments)

            from catena.cli.agents.installing import remove_agent

            return remove_agent(chosen.agent, yes=chosen.yes)
        case _:
            parser = Parser(
                prog=prog,
                description="Read newer data of the public registry, from a file or an https address, and say what "
                "changed. Installs nothing.",
                allow_abbrev=False,
            )
            parser.add_argument("source", metavar="FILE|URL", help="a registry in JSON")
            chosen = parser.parse_args(arguments)

            from catena.cli.agents.updating import update_registry

            return update_registry(chosen.source)


def _login(arguments: Sequence[str]) -> int:
    parser = _account_parser("login", "Log in to an agent. Conversations keep their sessions.")
    parser.add_argument("--method", metavar="ID", help="login method, where there are several")
    parser.add_argument("--list", action="store_true", help="only list the login methods")
    parser.add_argument("--json", action="store_true", help="with --list: print a JSON array")
    chosen = parser.parse_args(arguments)
    if chosen.json and not chosen.list:
        parser.error("--json needs --list")

    from catena.cli.agents.accounts import Account, log_in, print_methods

    account = Account(chosen.agent, chosen.agent_command)
    return print_methods(account, json=chosen.json) if chosen.list else log_in(account, chosen.method)


def _logout(arguments: Sequence[str]) -> int:
    chosen = _account_parser("logout", "Log out of an agent. Conversations stay as they are.").parse_args(
        arguments
    )

    from catena.cli.agents.accounts import Account, log_out

    return log_out(Account(chosen.agent, chosen.agent_command))


def _account_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"catena {name}",
        description=description,
        epilog="exit status: 0 done, 1 failed, 2 usage, 3 agent missing or crashed, 6 login still needed, "
        "130 stopped",
        allow_abbrev=False,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="name from `catena agents` or the settings (default: last used)",
    )
    which.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )
    return parser


COMMANDS: Mapping[str, Command] = {
    "agents": _agents,
    "login": _login,
    "logout": _logout,
}
