"""Commands and options of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from catena.errors import CommandRefused, ExitStatus
from catena.settings.tables.permissions import Permissions
from catena.workspace.directories import absolute_directory, existing_directory

if TYPE_CHECKING:
    from catena.cli.run.branch import BranchRequest


_USAGE = "catena [DIR] [--agent NAME | --agent-command CMD] [--continue | --resume [ID]] [--add-dir DIR]"
_COMMANDS = """\
commands:
  run "PROMPT"         send one prompt, print the answer
  list                 list conversations, newest first
  search WORDS         find conversations by what was said in them
  show ID              print a conversation
  changes ID           print what agents changed in files
  files ID             print what each turn did to files, or bring them back
  prune                remove old conversations for good; lists them first
  export ID            write a conversation as Markdown, JSON or HTML
  import FILE          read conversations from files
  agents [AGENT]       list agents; install, remove, update
  config [KEY]         print the settings and where they come from; edit, check
  keys                 list every action of a key, with your keys
  login [AGENT]        log in to an agent
  logout [AGENT]       log out of an agent
  permissions          list, test, add or remove permission rules
  doctor               print diagnostics; repair a terminal or database
  mcp                  tools for agents over MCP (started by agents)

Run catena COMMAND --help for more. For a directory named like a command, write ./run.
"""


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; returns the exit status."""
    match arguments[0]:
        case "run":
            return _run(arguments[1:])
        case "list":
            return _list(arguments[1:])
        case "search":
            return _search(arguments[1:])
        case "show":
            return _show(arguments[1:])
        case "changes":
            return _changes(arguments[1:])
        case "files":
            return _files(arguments[1:])
        case "prune":
            return _prune(arguments[1:])
        case "export":
            return _export(arguments[1:])
        case "import":
            return _import(arguments[1:])
        case "agents":
            return _agents(arguments[1:])
        case "config":
            return _config(arguments[1:])
        case "keys":
            return _keys(arguments[1:])
        case "login":
            return _login(arguments[1:])
        case "logout":
            return _logout(arguments[1:])
        case "permissions":
            return _permission_rules(arguments[1:])
        case "doctor":
            return _doctor(arguments[1:])
        case "mcp":
            return _mcp(arguments[1:])
        case _:
            return _screen(arguments)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises its errors as CommandRefused, one line each."""

    def error(self, message: str) -> NoReturn:
        raise CommandRefused(f"{message}. See {self.prog} --help")


def _screen(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena",
        usage=f"{_USAGE}\n       catena COMMAND ...",
        description="Terminal chat for ACP agents. Your conversations survive crashes, limits and restarts.",
        epilog=_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "directory", nargs="?", metavar="DIR", help="working directory (default: the current one)"
    )
    _add_agent(parser)
    _add_directories(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="continue the newest conversation in this directory",
    )
    which.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="open a conversation by id, start of an id, or title; without ID, choose one",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    chosen = parser.parse_args(arguments)
    if chosen.version:
        from catena import __version__

        print(f"catena {__version__}")
        return ExitStatus.ANSWERED
    if chosen.directory and not Path(chosen.directory).expanduser().exists():
        raise CommandRefused(f"{chosen.directory}: not a directory or command. See catena --help")
    from catena.app.startup import open_screen

    return open_screen(
        chosen.directory,
        agent=chosen.agent,
        agent_command=chosen.agent_command,
        go_on=chosen.go_on,
        resume=chosen.resume,
        add_dirs=chosen.add_dirs,
    )


def _run(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena run",
        description="Send one prompt and print only the answer to standard output.",
        epilog="exit status: 0 answered, 1 other error, 2 usage, 3 agent missing or crashed, 4 permission denied, "
        "5 conversation open in another client, 6 login needed, 130 stopped",
        allow_abbrev=False,
    )
    parser.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="the prompt; read from standard input if omitted or -"
    )
    parser.add_argument("--json", action="store_true", help="print events as JSON, one object per line")
    parser.add_argument(
        "--permissions",
        choices=[each.value for each in Permissions],
        help="how to answer permission requests (default: from the settings, else ask; without a terminal, ask "
        "means deny)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        action="store_true",
        dest="go_on",
        help="continue the newest conversation in the directory",
    )
    which.add_argument("--resume", metavar="ID", help="continue a conversation: id, start of an id, or title")
    parser.add_argument(
        "--fork",
        action="store_true",
        help="send it in a fork: a new conversation with the same history",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--at", metavar="MESSAGE", help="continue after this message: its id or the start of it"
    )
    where.add_argument(
        "--edit", metavar="MESSAGE", help="replace this prompt (creates a new branch; the old one stays)"
    )
    _add_agent(parser)
    _add_directories(parser)
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        help="working directory (default: the current one); of a continued conversation only if its own is gone",
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="PATH",
        help="attach a file or image (repeatable)",
    )
    chosen = parser.parse_args(arguments)

    branch = _branch(parser, chosen)
    prompt, directory = _prompt(chosen.prompt), existing_directory(chosen.cwd)

    from catena.cli.run.run import Request, run

    return run(
        Request(
            prompt=prompt,
            directory=directory,
            moves=chosen.cwd is not None,
            go_on=chosen.go_on,
            resume=chosen.resume,
            agent=chosen.agent,
            agent_command=chosen.agent_command,
            further_directories=tuple(existing_directory(named) for named in chosen.add_dirs),
            attach=tuple(chosen.attach),
            branch=branch,
            permissions=Permissions(chosen.permissions) if chosen.permissions else None,
            json=chosen.json,
        )
    )


def _branch(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> BranchRequest:
    """The branch of the prompt, from `--fork`, `--at` and `--edit`. Raises CommandRefused."""
    from catena.cli.run.branch import BranchRequest

    branch = BranchRequest(fork=chosen.fork, at=chosen.at, edit=chosen.edit)
    if branch.requested and not chosen.go_on and chosen.resume is None:
        parser.error("--fork, --at and --edit need --resume or --continue")
    if branch.fork and branch.edit is not None:
        parser.error("--edit and --fork cannot be combined")
    return branch


def _list(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="catena list", description="List conversations, newest first.", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.add_argument(
        "--cwd",
        nargs="?",
        const=".",
        metavar="DIR",
        help="only those of DIR (default: the current directory)",
    )
    parser.add_argument(
        "--limit", type=_count, default=50, metavar="N", help="show at most N (default: 50; 0 for all)"
    )
    parser.add_argument(
        "--all-sources",
        action="store_true",
        help="also list the sessions of Claude Code, Codex, Gemini CLI, Qwen Code and OpenCode",
    )
    chosen = parser.parse_args(arguments)

    from catena.cli.conversations.list import print_list

    return print_list(
        cwd=None if chosen.cwd is None else existing_directory(chosen.cwd),
        limit=chosen.limit or None,
        json=chosen.json,
        all_sources=chosen.all_sources,
    )


def _search(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena search",
        description="Find conversations: by title, directory and last prompt, and by every message of every branch.",
        epilog="Filters among the words: agent:NAME dir:PATH file:PATH branch:NAME before:DATE after:DATE is:STATE "
        "cost>N todo pinned archived. exit status: 0 found, 1 nothing found or other error, 2 usage",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="+", metavar="WORDS", help="each begins a word of what is found")
    parser.add_argument("--json", action="store_true", help="print a JSON array, best first")
    parser.add_argument("-1", action="store_true", dest="best", help="only the best")
    parser.add_argument(
        "--cwd",
        nargs="?",
        const=".",
        metavar="DIR",
        help="only those of DIR (default: the current directory)",
    )
    parser.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="show at most N (default: 20; 0 for all)"
    )
    chosen = parser.parse_args(arguments)

    from catena.cli.conversations.search import print_found

    return print_found(
        " ".join(chosen.words),
        cwd=None if chosen.cwd is None else existing_directory(chosen.cwd),
        limit=1 if chosen.best else chosen.limit or None,
        json=chosen.json,
    )


def _show(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena show",
        description="Print a conversation: its newest branch, or everything with --json.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print everything as one JSON object: messages, turns, links, windows",
    )
    form.add_argument("--chain", action="store_true", help="print its sessions instead")
    parser.add_argument(
        "--tree",
        action="store_true",
        help="print all its branches instead, one line per prompt; also with --json",
    )
    chosen = parser.parse_args(arguments)
    if chosen.tree and chosen.chain:
        parser.error("--tree and --chain cannot be combined")

    if chosen.tree:
        from catena.cli.conversations.show import print_tree

        return print_tree(chosen.id, json=chosen.json)
    if chosen.chain:
        from catena.cli.conversations.show import print_chain

        return print_chain(chosen.id)
    from catena.cli.conversations.show import print_conversation

    return print_conversation(chosen.id, json=chosen.json)


def _changes(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena changes",
        description="Print what agents changed in files, on the newest branch of a conversation: one difference for "
        "each file.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--turn", type=_count, metavar="N", help="only of the Nth turn of the branch")
    which.add_argument("--branch", action="store_true", help="of the whole branch (default)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--patch", action="store_true", help="print a patch for `git apply`")
    chosen = parser.parse_args(arguments)

    from catena.cli.files.changes import print_changes

    return print_changes(chosen.id, turn=chosen.turn, json=chosen.json, patch=chosen.patch)


def _files(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena files",
        description="Print what each turn did to files, on the newest branch of a conversation. With --at, print what "
        "bringing the files back to a message would change; --restore with --yes does it.",
        epilog="At a prompt, files are as they were before its turn; at the last message of a turn, as they were after "
        "it. Files that somebody else changed since are left unless they are named after --restore.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    parser.add_argument("--at", metavar="MESSAGE", help="id of a message, or the start of one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--diff", action="store_true", help="with --at: print the change as a patch for `git apply`"
    )
    what.add_argument(
        "--restore", nargs="*", metavar="PATH", help="with --at: bring files back, or only these"
    )
    what.add_argument("--finish", action="store_true", help="finish a restore that was broken off")
    what.add_argument("--undo", action="store_true", help="take back a restore that was broken off")
    parser.add_argument("--yes", action="store_true", help="with --restore: do it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args(arguments)
    if chosen.at is None and (chosen.diff or chosen.restore is not None):
        parser.error("--diff and --restore need --at")
    if chosen.yes and chosen.restore is None:
        parser.error("--yes needs --restore")

    from catena.cli.files import files

    if chosen.finish or chosen.undo:
        return files.end_restore(
            chosen.id, files.RestoreEnding.FINISH if chosen.finish else files.RestoreEnding.UNDO
        )
    if chosen.at is None:
        return files.print_turns(chosen.id, json=chosen.json)
    paths = chosen.restore or ()
    return files.print_restore(
        chosen.id, chosen.at, paths=paths, yes=chosen.yes, diff=chosen.diff, json=chosen.json
    )


def _prune(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena prune",
        description="List old conversations and what they take; with --yes, remove them for good. Conversations "
        "that are pinned, open in a tab or in a running Catena, or that have a labelled checkpoint, an unsent draft or "
        "a queued prompt stay, and so do messages that forks need.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--older-than",
        type=_age,
        metavar="AGE",
        help="those unused for AGE, or deleted that long ago: 30d, 12w, 6m (months) or 1y",
    )
    parser.add_argument("--keep", type=_count, metavar="N", help="keep the newest N of those meant")
    parser.add_argument(
        "--agent", metavar="NAME", help="only those of an agent: a name from `catena agents` or the settings"
    )
    parser.add_argument(
        "--cwd",
        nargs="?",
        const=".",
        metavar="DIR",
        help="only those of DIR (default: the current directory)",
    )
    parser.add_argument("--yes", action="store_true", help="remove them; cannot be undone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args(arguments)
    if chosen.older_than is None and chosen.keep is None:
        parser.error("--older-than or --keep is needed")

    from catena.cli.conversations.prune import prune
    from catena.settings.agents import stored_names
    from catena.settings.settings import load_settings
    from catena_store.ids import utc_now
    from catena_store.keeping.selection import PruneRule

    agent, profile = stored_names(chosen.agent, load_settings()) if chosen.agent else (None, None)
    rule = PruneRule(
        unused_since=None if chosen.older_than is None else utc_now() - chosen.older_than,
        keep=chosen.keep or 0,
        agent=agent,
        profile=profile,
        cwd=None if chosen.cwd is None else absolute_directory(chosen.cwd),
    )
    return prune(rule, yes=chosen.yes, json=chosen.json)


def _permission_rules(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena permissions",
        description="Your own permission rules in a directory: list them, test which would answer a request, "
        "add or remove one. A rule that rejects beats one that allows; what is not certain asks.",
        allow_abbrev=False,
    )
    common = _Parser(add_help=False)
    common.add_argument("--cwd", default=".", metavar="DIR", help="the project (default: current directory)")
    common.add_argument(
        "--conversation", metavar="ID", help="with the rules of a conversation: id, start of an id, or title"
    )
    common.add_argument("--json", action="store_true", help="print one JSON object")
    acts = parser.add_subparsers(dest="act", metavar="list | test | add | remove")
    acts.add_parser("list", parents=[common], help="list the rules, narrowest first (default)")
    for name, text in (("test", "say which rule would answer"), ("add", "add a rule")):
        act = acts.add_parser(name, parents=[common], help=text)
        act.add_argument("kind", metavar="KIND", help="read, edit, delete, move, search, execute, fetch, any")
        act.add_argument("text", metavar="INPUT" if name == "test" else "PATTERN")
        if name == "add":
            act.add_argument("--reject", action="store_true", help="reject instead of allowing")
    removal = acts.add_parser("remove", parents=[common], help="remove a rule")
    removal.add_argument("id", metavar="ID", help="the rule's id, from the list")
    chosen = parser.parse_args(arguments or ["list"])
    if chosen.act is None:
        parser.error("list, test, add or remove is needed")

    from catena.cli.settings.permissions import RuleRequest, answer_rules

    request = RuleRequest(
        absolute_directory(chosen.cwd), chosen.conversation, getattr(chosen, "kind", ""), json=chosen.json
    )
    match chosen.act:
        case "test":
            return answer_rules(request, test=chosen.text)
        case "add":
            return answer_rules(request, add=chosen.text, allow=not chosen.reject)
        case "remove":
            return answer_rules(request, remove=chosen.id)
        case _:
            return answer_rules(request)


def _export(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena export",
        description="Write a conversation as Markdown, JSON or HTML: its newest branch, another one, or all of them. "
        "What looks like a secret is masked, and listed on standard error.",
        allow_abbrev=False,
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    parser.add_argument(
        "--format",
        choices=["markdown", "json", "html"],
        default="markdown",
        help="markdown (default); json, for `catena import`; html, one file that opens offline",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tree", action="store_true", help="all branches, with source and forks")
    which.add_argument("--at", metavar="MESSAGE", help="the branch that ends with this message")
    parser.add_argument("-o", "--output", metavar="FILE", help="write this file, readable only by you")
    parser.add_argument("--force", action="store_true", help="with -o: write over an existing file")
    parser.add_argument("--no-mask", action="store_true", help="leave what looks like a secret as it is")
    chosen = parser.parse_args(arguments)
    if chosen.force and chosen.output is None:
        parser.error("--force needs -o")

    from catena.cli.conversations.export import export
    from catena.export.forms import ExportForm

    return export(
        chosen.id,
        form=ExportForm(chosen.format),
        tree=chosen.tree,
        at=chosen.at,
        path=chosen.output,
        force=chosen.force,
        masked=not chosen.no_mask,
    )


def _import(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena import",
        description="Read conversations from files: what `catena export --format json` wrote, and transcripts of "
        "Claude Code, Codex, Gemini CLI and Qwen Code. Importing a file twice adds nothing.",
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file to read")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)

    from catena.cli.conversations.imports import import_files

    return import_files(chosen.files, json=chosen.json)


def _agents(arguments: Sequence[str]) -> int:
    act = arguments[0] if arguments else ""
    if act in ("install", "remove", "update"):
        return _change_agents(act, arguments[1:])
    parser = _Parser(
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
            parser = _Parser(
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
            parser = _Parser(
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
            parser = _Parser(
                prog=prog,
                description="Read newer data of the public registry, from a file or an https address, and say what "
                "changed. Installs nothing.",
                allow_abbrev=False,
            )
            parser.add_argument("source", metavar="FILE|URL", help="a registry in JSON")
            chosen = parser.parse_args(arguments)

            from catena.cli.agents.updating import update_registry

            return update_registry(chosen.source)


def _config(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena config",
        description="Print the settings in effect, each with where it comes from: the default, the settings file and "
        "its line, or the environment.",
        epilog="catena config set KEY VALUE writes a setting, catena config unset KEY removes it: the default holds; "
        "catena config edit opens the file in $EDITOR and checks it; catena config check only checks it",
        allow_abbrev=False,
    )
    parser.add_argument(
        "words", nargs="*", metavar="KEY", help="one setting, or those of a table; or set, unset, edit, check"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)
    if chosen.json and chosen.words[:1] in (["edit"], ["check"], ["set"], ["unset"]):
        parser.error(f"--json and {chosen.words[0]} cannot be combined")

    from catena.cli.settings import config

    match chosen.words:
        case [] | [_] as words if words not in (["edit"], ["check"], ["set"], ["unset"]):
            return config.print_config(words[0] if words else None, json=chosen.json)
        case ["edit"]:
            return config.edit_config()
        case ["check"]:
            return config.check_config()
        case ["set", key, value]:
            return config.set_config(key, value)
        case ["unset", key]:
            return config.unset_config(key)
        case words:
            why = _CONFIG_WORDS.get(words[0], "one setting at a time")
            raise CommandRefused(f"{why}. See catena config --help")


_CONFIG_WORDS = {
    "set": "needs a setting and its value: catena config set width 120",
    "unset": "needs a setting: catena config unset width",
    "edit": "edit opens the whole file",
    "check": "check reads the whole file",
}


def _keys(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena keys",
        description="Print every action that a key does, by place, with the keys in effect. The table [keys] of the "
        "settings changes them.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)

    from catena.cli.settings.keys import print_keys

    return print_keys(json=chosen.json)


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
    parser = _Parser(
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


def _doctor(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena doctor",
        description="Print diagnostics you can paste in a bug report.",
        allow_abbrev=False,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--reset", action="store_true", help="reset a terminal left in a bad state by a killed program"
    )
    what.add_argument(
        "--salvage",
        action="store_true",
        help="recover what can be read from a damaged database; the original is kept",
    )
    what.add_argument(
        "--backup", metavar="FILE", help="write a copy of the database to FILE; safe while Catena runs"
    )
    what.add_argument("--json", action="store_true", help="print the diagnostics as one JSON object")
    chosen = parser.parse_args(arguments)
    if chosen.reset:
        from catena.cli.doctor.reset import reset_terminal

        return reset_terminal()
    if chosen.salvage:
        from catena.cli.doctor.store import salvage_store

        return salvage_store()
    if chosen.backup is not None:
        from catena.cli.doctor.store import back_up_store

        return back_up_store(chosen.backup)
    from catena.cli.doctor.findings import print_findings

    return print_findings(json=chosen.json)


def _mcp(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="catena mcp",
        description="Tools for an agent, over MCP on standard input and output: checkpoints, earlier conversations. "
        "Agents start it themselves if `tools = true` is set under [checkpoints] or [memory] in the settings.",
        allow_abbrev=False,
    )
    parser.add_argument("--conversation", required=True, metavar="ID", help="full id of the conversation")
    parser.add_argument("--window", required=True, metavar="ID", help="id of the window the agent works for")
    chosen = parser.parse_args(arguments)

    from catena.app.mcp_server import serve_tools

    return serve_tools(chosen.conversation, chosen.window)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to use: a name from `catena agents` or the settings"
    )
    agent.add_argument(
        "--agent-command", metavar="CMD", help="any command that speaks ACP over standard input and output"
    )


def _add_directories(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        dest="add_dirs",
        metavar="DIR",
        help="another directory the agent may work in (repeatable; remembered)",
    )


def _prompt(argument: str | None) -> str:
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if argument is None and not piped:
        raise CommandRefused("no prompt: pass one, or pipe it to standard input. See catena run --help")
    if argument is None or argument == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise CommandRefused("the prompt is empty")
    return text


_MOST_DAYS = 50_000  # before any conversation
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def _age(text: str) -> timedelta:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdecimal() and unit in _DAYS):
        raise argparse.ArgumentTypeError(f"{text} is no age; write 30d, 12w, 6m or 1y")
    return timedelta(days=min(int(number[:6]) * _DAYS[unit], _MOST_DAYS))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number")
    return int(text)
