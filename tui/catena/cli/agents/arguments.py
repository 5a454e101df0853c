"""Arguments of the commands on agents: agents, login and logout."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial

from catena.cli.parser import Command, Example, Parser, Values


def _agents_parser() -> Parser:
    return _listing_parser(
        "catena agents",
        "List agents: which are installed, what each can do, and how to get the others; one in detail.",
        (
            ("catena agents", "what is installed, and how to get the others"),
            ("catena agents claude", "one in detail"),
        ),
        details="Only install, update and agents that check starts use a network.",
    )


def _listing_parser(prog: str, description: str, examples: Sequence[Example], *, details: str = "") -> Parser:
    parser = Parser(
        prog=prog,
        description=description,
        details=details,
        examples=examples,
        statuses={0: "done", 1: "something failed", 2: "usage"},
        values={"agent": Values.AGENT},
    )
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="one agent: its name, or its registry id")
    parser.add_argument("--json", action="store_true", help="print a JSON array; of one agent, an object")
    return parser


def _check_parser() -> Parser:
    return _listing_parser(
        "catena agents check",
        "Start the installed agents, or one, and then list what they can do now.",
        (("catena agents check rehearsal", "start one, and see what it can do"),),
    )


def _print_agents(chosen: Namespace, *, check: bool = False) -> int:
    from catena.cli.agents.listing import print_agent, print_agents

    if chosen.agent is not None:
        return print_agent(chosen.agent, check=check, json=chosen.json)
    return print_agents(check=check, json=chosen.json)


def _install_parser() -> Parser:
    return _change_parser(
        "install",
        "Install an agent below Catena's data directory, at the version that the registry names. Shows command, source "
        "and size, and asks.",
    )


def _install(chosen: Namespace) -> int:
    from catena.cli.agents.installing import install_agent

    return install_agent(chosen.agent, yes=chosen.yes)


def _remove_parser() -> Parser:
    return _change_parser(
        "remove", "Remove an agent that Catena installed. Its conversations, accounts and settings stay."
    )


def _remove(chosen: Namespace) -> int:
    from catena.cli.agents.installing import remove_agent

    return remove_agent(chosen.agent, yes=chosen.yes)


def _change_parser(act: str, description: str) -> Parser:
    parser = Parser(
        prog=f"catena agents {act}",
        description=description,
        examples=((f"catena agents {act} goose", f"ask, then {act} it"),),
        statuses={0: "done", 1: "something failed", 2: "usage", 130: "declined"},
        values={"agent": Values.AGENT},
    )
    parser.add_argument("agent", metavar="AGENT", help="its name from `catena agents`")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _update_parser() -> Parser:
    parser = Parser(
        prog="catena agents update",
        description="Read a newer copy of the public registry, from a file or an https address, and say what changed. "
        "Installs nothing.",
        examples=(("catena agents update registry.json", "a downloaded file"),),
        statuses={0: "done", 1: "it cannot be read", 2: "usage"},
        values={"source": Values.FILE},
    )
    parser.add_argument("source", metavar="FILE|URL", help="a registry in JSON")
    return parser


def _update(chosen: Namespace) -> int:
    from catena.cli.agents.installing import update_registry

    return update_registry(chosen.source)


def _login_parser() -> Parser:
    parser = _account_parser(
        "login", "Log in to an agent. Conversations keep their sessions.", "log in to Claude Code"
    )
    parser.add_argument("--method", metavar="ID", help="login method, if there are several")
    return parser


def _login(chosen: Namespace) -> int:
    from catena.cli.agents.accounts import Account, log_in

    return log_in(Account(chosen.agent, chosen.agent_command), chosen.method)


def _login_list_parser() -> Parser:
    parser = _account_parser("login list", "List the login methods of an agent.", "those of Claude Code")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _login_list(chosen: Namespace) -> int:
    from catena.cli.agents.accounts import Account, print_methods

    return print_methods(Account(chosen.agent, chosen.agent_command), json=chosen.json)


def _logout_parser() -> Parser:
    return _account_parser(
        "logout",
        "Log out of an agent. Conversations stay, but the next login is not sent them.",
        "log out of Claude Code",
    )


def _logout(chosen: Namespace) -> int:
    from catena.cli.agents.accounts import Account, log_out

    return log_out(Account(chosen.agent, chosen.agent_command))


def _account_parser(name: str, description: str, example: str) -> Parser:
    parser = Parser(
        prog=f"catena {name}",
        description=description,
        examples=((f"catena {name} claude", example),),
        statuses={
            0: "done",
            1: "failed",
            2: "usage",
            3: "agent missing or crashed",
            **({6: "login still needed"} if name == "login" else {}),
            130: "stopped",
        },
        values={"agent": Values.AGENT},
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
    "agents": Command(_agents_parser, _print_agents),
    "agents check": Command(_check_parser, partial(_print_agents, check=True)),
    "agents install": Command(_install_parser, _install),
    "agents remove": Command(_remove_parser, _remove),
    "agents update": Command(_update_parser, _update),
    "login": Command(_login_parser, _login),
    "login list": Command(_login_list_parser, _login_list),
    "logout": Command(_logout_parser, _logout),
}
