"""The contracts between the parts, kept by a machine."""

from __future__ import annotations

import re
import subprocess
import sys

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
