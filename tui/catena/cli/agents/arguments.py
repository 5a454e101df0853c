"""Arguments of the commands on agents: agents, login and logout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser, Values


def _agents_parser() -> Parser:
    parser = Parser(
        prog="catena agents",
        usage="catena agents [AGENT] [--check] [--json]\n       catena agents install | remove AGENT [--yes]\n"
        "       catena agents update FILE|URL",
        description="List agents: which are installed, what each can do, and how to get the others; one in detail.",
        details="catena agents install, remove and update change what is installed and known. Nothing else here uses a "
        "network.",
        examples=(
            ("catena agents", "what is installed, and how to get the others"),
            ("catena agents claude --check", "start one, and see what it can do"),
            ("catena agents install goose", "install one; shows what it does, and asks"),
        ),
        statuses={0: "done", 1: "something failed", 2: "usage"},
        values={"agent": Values.AGENT},
    )
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="one agent: its name, or its registry id")
    parser.add_argument(
        "--check", action="store_true", help="start the installed agents, and see what they can do now"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array; of one agent, an object")
    return parser


def _agents(arguments: Sequence[str]) -> int:
    chosen = _agents_parser().parse_args(arguments)

    from catena.cli.agents.listing import print_agent, print_agents

    if chosen.agent is not None:
        return print_agent(chosen.agent, check=chosen.check, json=chosen.json)
    return print_agents(check=chosen.check, json=chosen.json)


def _install_parser() -> Parser:
    return _change_parser(
        "install",
        "Install an agent below Catena's data directory, at the version that the registry names. Shows command, source "
        "and size, and asks.",
    )


def _install(arguments: Sequence[str]) -> int:
    chosen = _install_parser().parse_args(arguments)

    from catena.cli.agents.installing import install_agent

    return install_agent(chosen.agent, yes=chosen.yes)


def _remove_parser() -> Parser:
    return _change_parser(
        "remove", "Remove an agent that Catena installed. Its conversations, accounts and settings stay."
    )


def _remove(arguments: Sequence[str]) -> int:
    chosen = _remove_parser().parse_args(arguments)

    from catena.cli.agents.installing import remove_agent

    return remove_agent(chosen.agent, yes=chosen.yes)


def _change_parser(act: str, description: str) -> Parser:
    parser = Parser(
        prog=f"catena agents {act}",
        description=description,
        examples=((f"catena agents {act} goose", f"{act} it after a question"),),
        statuses={0: "done", 1: "something failed", 2: "usage", 130: "declined"},
        values={"agent": Values.AGENT},
    )
    parser.add_argument("agent", metavar="AGENT", help="its name from `catena agents`")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _update_parser() -> Parser:
    parser = Parser(
        prog="catena agents update",
        description="Read newer data of the public registry, from a file or an https address, and say what changed. "
        "Installs nothing.",
        statuses={0: "done", 1: "it cannot be read", 2: "usage"},
        values={"source": Values.FILE},
    )
    parser.add_argument("source", metavar="FILE|URL", help="a registry in JSON")
    return parser


def _update(arguments: Sequence[str]) -> int:
    chosen = _update_parser().parse_args(arguments)

    from catena.cli.agents.updating import update_registry

    return update_registry(chosen.source)


def _login_parser() -> Parser:
    parser = _account_parser("login", "Log in to an agent. Conversations keep their sessions.")
    parser.add_argument("--method", metavar="ID", help="login method, if there are several")
    parser.add_argument("--list", action="store_true", help="only list the login methods")
    parser.add_argument("--json", action="store_true", help="with --list: print a JSON array")
    return parser


def _login(arguments: Sequence[str]) -> int:
    parser = _login_parser()
    chosen = parser.parse_args(arguments)
    if chosen.json and not chosen.list:
        parser.error("--json needs --list")

    from catena.cli.agents.accounts import Account, log_in, print_methods

    account = Account(chosen.agent, chosen.agent_command)
    return print_methods(account, json=chosen.json) if chosen.list else log_in(account, chosen.method)


def _logout_parser() -> Parser:
    return _account_parser("logout", "Log out of an agent. Conversations stay as they are.")


def _logout(arguments: Sequence[str]) -> int:
    chosen = _logout_parser().parse_args(arguments)

    from catena.cli.agents.accounts import Account, log_out

    return log_out(Account(chosen.agent, chosen.agent_command))


def _account_parser(name: str, description: str) -> Parser:
    parser = Parser(
        prog=f"catena {name}",
        description=description,
        examples=(
            (
                f"catena {name} claude",
                f"log {name.removeprefix('log')} {'to' if name == 'login' else 'of'} Claude Code",
            ),
        ),
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
    "agents": Command(_agents_parser, _agents),
    "agents install": Command(_install_parser, _install),
    "agents remove": Command(_remove_parser, _remove),
    "agents update": Command(_update_parser, _update),
    "login": Command(_login_parser, _login),
    "logout": Command(_logout_parser, _logout),
}
