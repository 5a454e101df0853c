"""The documents lead somewhere: every link and every anchor, and the index to every document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.places import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: str(each.relative_to(ROOT)))
def test_d05_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    dead = []
    for found in _LINK.finditer(_CODE.sub("", document.read_text("utf-8"))):
        link = found[1] or found[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_d05_the_index_names_every_document() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    documents = {each.name for each in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert not {each for each in documents if f"({each})" not in index}
