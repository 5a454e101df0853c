"""Arguments of the commands on files: changes, files and blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser, Values, count


def _changes_parser() -> Parser:
    parser = Parser(
        prog="catena changes",
        description="Print what agents changed in files, on the newest branch of a conversation: one difference for "
        "each file.",
        examples=(
            ("catena changes ID", "all that agents changed, as text"),
            ("catena changes ID --patch | git apply -R -", "take it back, and no line of yours"),
        ),
        statuses={0: "done", 1: "a file is left out of the patch; other error", 2: "usage, unknown id"},
        values={"id": Values.CONVERSATION},
    )
    parser.add_argument("id", metavar="ID", help="id, start of an id, or title")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--turn", type=count, metavar="N", help="only of the Nth turn of the branch")
    which.add_argument("--branch", action="store_true", help="of the whole branch (default)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--patch", action="store_true", help="print a patch for `git apply`")
    return parser


def _changes(arguments: Sequence[str]) -> int:
    chosen = _changes_parser().parse_args(arguments)

    from catena.cli.files.changes import print_changes

    return print_changes(chosen.id, turn=chosen.turn, json=chosen.json, patch=chosen.patch)


def _files_parser() -> Parser:
    parser = Parser(
        prog="catena files",
        description="Print what each turn did to files, on the newest branch of a conversation. With --at, print what "
        "bringing the files back to a message would change; --restore with --yes does it.",
        details="At a prompt, files are as after all turns above it; at the last message of a turn, as they were "
        "after it. Files that someone else changed since are left unless they are named after --restore.",
        examples=(
            ("catena files ID", "what each turn did to files"),
            ("catena files ID --at MESSAGE --restore", "list what would be brought back"),
            ("catena files ID --at MESSAGE --restore --yes", "bring the files back"),
        ),
        statuses={0: "done", 1: "other error", 2: "usage, unknown id"},
        values={"id": Values.CONVERSATION, "at": Values.MESSAGE, "restore": Values.FILE},
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
    return parser


def _files(arguments: Sequence[str]) -> int:
    parser = _files_parser()
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


def _blame_parser() -> Parser:
    parser = Parser(
        prog="catena blame",
        description="Print which prompt wrote each line of a file as it is now, over all conversations of its "
        "directory. Lines that snapshots cannot attribute are shown as unknown.",
        details="Columns: id of the prompt; ● on its conversation's branch, ○ on a branch that was left, ~ as the "
        "agent reported it; age; agent; line. catena show ID --at PROMPT prints the turn; catena --resume ID opens the "
        "conversation.",
        examples=(("catena blame src/app.py:10-20", "who wrote these lines"),),
        statuses={0: "done", 1: "other error", 2: "usage"},
        values={"file": Values.FILE},
    )
    parser.add_argument("file", metavar="FILE[:LINE[-LINE]]", help="a file, or some lines of one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _blame(arguments: Sequence[str]) -> int:
    chosen = _blame_parser().parse_args(arguments)

    from catena.cli.files.blame import print_blame

    return print_blame(chosen.file, json=chosen.json)


COMMANDS: Mapping[str, Command] = {
    "changes": Command(_changes_parser, _changes),
    "files": Command(_files_parser, _files),
    "blame": Command(_blame_parser, _blame),
}
