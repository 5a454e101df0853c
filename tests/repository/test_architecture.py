"""The contracts between the parts, kept by a machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import TypeGuard

from support.places import ROOT

STORE = sorted(
    ".".join(path.relative_to(ROOT / "store").with_suffix("").parts)
    for path in (ROOT / "store" / "catena_store").rglob("[a-z]*.py")
)


def test_no_part_imports_what_its_contracts_forbid() -> None:
    checked = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_focus_moves_with_the_key_that_moves_it() -> None:
    """`Widget.focus` waits for its turn, and the keys behind it do not: `Screen.set_focus` is what moves it."""
    late = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tui").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"\.focus\(|(?<!palette)(?<!grounds)\.focus\b(?=\)|,)", line)
    ]
    assert late == []


def test_q03_the_store_is_imported_without_anything_dear() -> None:
    program = f"import {', '.join(STORE)}, sys; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(told.stdout.split())
    assert "catena_store.finding.search" in loaded
    assert loaded & {"textual", "rich", "acp", "pydantic", "platformdirs", "catena", "catena_acp"} == set()


def test_each_class_has_a_name_of_its_own() -> None:
    """One word, one thing: private classes and those within another class, such as Textual's messages, apart."""
    places: dict[str, list[str]] = {}
    for floor in ("store", "acp", "tui"):
        for path in sorted((ROOT / floor).rglob("*.py")):
            for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_nothing_but_the_transaction_itself_is_awaited_while_one_writes() -> None:
    """Whoever waits for anything else there holds up every other writer, in other processes, too."""
    waiting = [
        f"{path.relative_to(ROOT)}:{line}"
        for floor in ("store", "acp", "tui")
        for path in sorted((ROOT / floor).rglob("*.py"))
        for line in _other_waits(ast.parse(path.read_text()))
    ]
    # A document is imported whole or not at all: its pages are read while it is written.
    assert [place.partition(":")[0] for place in waiting] == ["store/catena_store/exchange/importing.py"]


def _other_waits(module: ast.Module) -> list[int]:
    """The lines that wait for something else where a transaction that writes is open: in its block, or given it."""
    lines = []
    for node in ast.walk(module):
        match node:
            case ast.AsyncWith(items=items):
                names = {
                    item.optional_vars.id
                    for item in items
                    if isinstance(item.context_expr, ast.Call)
                    and ast.unparse(item.context_expr.func).rpartition(".")[2] in ("write", "write_much")
                    and isinstance(item.optional_vars, ast.Name)
                }
            case ast.AsyncFunctionDef(args=arguments):
                every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                names = {
                    each.arg for each in every if each.annotation and ast.unparse(each.annotation) == "Writer"
                }
            case _:
                continue
        if names:
            lines += [wait.lineno for wait in ast.walk(node) if wait is not node and _waits(wait, names)]
    return lines


def _waits(node: ast.AST, transactions: set[str]) -> TypeGuard[ast.expr | ast.stmt]:
    match node:
        case ast.Await(value=ast.Call(func=function, args=given, keywords=named)):
            everything = (*given, *(each.value for each in named))
            owner = ast.unparse(function).partition(".")[0]
            return owner not in transactions and not any(
                ast.unparse(each) in transactions for each in everything
            )
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return True
        case _:
            return False
