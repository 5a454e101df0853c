"""Arguments of ``catena doctor``, and of what it does beside printing diagnostics."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from catena.cli.parser import Command, Parser, Values


def _doctor_parser() -> Parser:
    parser = Parser(
        prog="catena doctor",
        description="Print diagnostics you can paste in a bug report.",
        examples=(("catena doctor", "check this machine"),),
        statuses={0: "all is well", 1: "database or settings cannot be used", 2: "usage"},
    )
    parser.add_argument("--json", action="store_true", help="print the diagnostics as one JSON object")
    return parser


def _doctor(chosen: Namespace) -> int:
    from catena.cli.doctor.findings import print_findings

    return print_findings(json=chosen.json)


def _reset_parser() -> Parser:
    return Parser(
        prog="catena doctor reset",
        description="Reset a terminal that a killed program left without echo, on the alternate screen, or reporting "
        "the mouse.",
        examples=(("catena doctor reset", "typed blindly, if the terminal shows nothing"),),
        statuses={0: "done", 2: "usage, no terminal"},
    )


def _reset(chosen: Namespace) -> int:
    from catena.cli.doctor.repairs import reset_terminal

    return reset_terminal()


def _salvage_parser() -> Parser:
    return Parser(
        prog="catena doctor salvage",
        description="Recover what can be read from a damaged database into a new one. The original is kept.",
        examples=(("catena doctor salvage", "changes nothing if the database is sound"),),
        statuses={0: "done", 1: "other error", 2: "usage", 5: "the database is in use"},
    )


def _salvage(chosen: Namespace) -> int:
    from catena.cli.doctor.repairs import salvage_store

    return salvage_store()


def _backup_parser() -> Parser:
    parser = Parser(
        prog="catena doctor backup",
        description="Write a copy of the database to a new file, even while Catena runs.",
        examples=(("catena doctor backup ~/catena-backup.db", "a file that does not exist yet"),),
        statuses={0: "done", 1: "other error", 2: "usage; the file exists"},
        values={"file": Values.FILE},
    )
    parser.add_argument("file", metavar="FILE", help="the copy")
    return parser


def _backup(chosen: Namespace) -> int:
    from catena.cli.doctor.repairs import back_up_store

    return back_up_store(chosen.file)


COMMANDS: Mapping[str, Command] = {
    "doctor": Command(_doctor_parser, _doctor),
    "doctor reset": Command(_reset_parser, _reset),
    "doctor salvage": Command(_salvage_parser, _salvage),
    "doctor backup": Command(_backup_parser, _backup),
}
