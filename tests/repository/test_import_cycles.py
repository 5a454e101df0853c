"""No module imports itself by way of others, not even for a type: each can be read, and tried, without the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from support.places import ROOT

# Cycles that are still there, each by its modules; whoever dissolves one takes it out.
LEFT: frozenset[frozenset[str]] = frozenset()


def test_no_module_of_the_screen_imports_itself_by_way_of_others() -> None:
    assert _cycles(_imports(ROOT / "tui", "catena")) == LEFT


def test_a_cycle_is_found_through_a_type_and_through_an_import_in_a_function(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from p import b\n")
    (package / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.c import C\n"
    )
    (package / "c.py").write_text("def c():\n    import p.a\n")
    (package / "d.py").write_text("from p.a import something\n")
    assert _cycles(_imports(tmp_path, "p")) == {frozenset({"p.a", "p.b", "p.c"})}


def _imports(root: Path, package: str) -> dict[str, set[str]]:
    """The modules of a package, and which of them each imports, anywhere in it and for whatever reason."""
    sources = {_name(path.relative_to(root)): path for path in (root / package).rglob("*.py")}
    return {
        module: {name for name in _named(ast.parse(path.read_text()), sources) if name != module}
        for module, path in sources.items()
    }


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(tree: ast.Module, modules: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                named = f"{node.module}.{alias.name}"
                if named in modules:
                    yield named
                elif node.module in modules:
                    yield node.module


def _cycles(imports: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module, after Tarjan."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in sorted(imports[module]):
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            component = frozenset(stack[stack.index(module) :])
            del stack[stack.index(module) :]
            if len(component) > 1:
                found.add(component)

    for module in sorted(imports):
        if module not in index:
            visit(module)
    return found
