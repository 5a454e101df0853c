"""Sentences that a stranger has to read twice: traps of style, in documents, on screens and in docstrings.

Each pattern is a construction of a sentence that somebody misread. They are few and precise: a pattern that finds a
good sentence is wrong. When another such sentence is found, its construction is added here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.places import ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [ROOT / "tui" / "catena", ROOT / "acp" / "catena_acp", ROOT / "store" / "catena_store"]

TRAPS = {
    "shortly means soon: in few words, abbreviated": r"\b(?:said|shown|named|written) shortly\b",
    "of what: name the thing": r"(?:(?<=[.;:] )|^)Of what\b",
    "of which that: two sentences": r"\bof (?:which|whom) (?:that|it)\b",
    "where for if": (
        r"\b[Ww]here (?:there (?:is|are|was|were)\b|(?:these|those) are\b|it (?:fails|is not|cannot|can)\b"
        r"|they (?:are not|cannot|would)\b|both have\b|you are elsewhere\b)"
    ),
    "what for a noun, at the beginning": (
        r"(?:(?<=[.;:] )|^)What (?:is|was|has|had|cannot|would|will|comes?|came|the|nobody|anybody|others?|no|not)\b"
        r"[^?]*[.;]"
    ),
    "what for a noun, as an object": r"\bleaves? what\b|\bnor is anything\b|\bneither is anything\b",
    "whoever, whatever as an afterthought": r", (?:who|what|which)ever it (?:is|was)\b",
    "nobody needs it: leave it out, or say optional": r"\bnobody needs (?:it|them)\b",
    "goes on about things of before": r"\b(?:the|a) \w+ of before\b",
    "mend, in modern English: fix, repair": r"\b[Mm]end(?:s|ed|ing)?\b(?! \w+ fences)",
    "one that is there": r"\b[Oo]ne that is there\b",
    "both are said, this is said: who says it": r"\b(?:both|each|that|this|it) (?:is|are) said(?: so)?[.,;]",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: str(each.relative_to(ROOT)))
def test_u12_a_document_has_no_sentence_that_has_to_be_read_twice(document: Path) -> None:
    assert list(_found(document, document.read_text("utf-8").splitlines())) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.name)
def test_u12_the_program_says_nothing_that_has_to_be_read_twice(source: Path) -> None:
    found = [
        each
        for path in sorted(source.rglob("*.py"))
        if "rehearsal" not in path.parts
        for each in _found(path, _said(path))
    ]
    assert found == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.name)
def test_u12_public_docstrings_say_nothing_that_has_to_be_read_twice(source: Path) -> None:
    assert [each for path in sorted(source.rglob("*.py")) for each in _found(path, _documented(path))] == []


def _documented(path: Path) -> Iterator[str]:
    """The paragraphs of the public docstrings of a module, each on one line."""
    places: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    for place in places:
        if isinstance(place, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(place, clean=False) or ""):
                yield " ".join(paragraph.split())
        if isinstance(place, ast.Module | ast.ClassDef):
            places += [each for each in place.body if not getattr(each, "name", "_").startswith("_")]


def _said(path: Path) -> Iterator[str]:
    """The texts of a module that are sentences: strings with a space, without docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings:
                yield text


def _found(path: Path, texts: Iterator[str] | list[str]) -> Iterator[str]:
    for text in texts:
        for trap, pattern in TRAPS.items():
            if hit := re.search(pattern, text):
                yield f"{path.relative_to(ROOT)}: {trap}: …{text[max(0, hit.start() - 40) : hit.end() + 40]}…"
