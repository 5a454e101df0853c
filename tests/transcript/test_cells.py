"""Text is measured, cut and wrapped by what a terminal draws as one character."""

from __future__ import annotations

from pathlib import Path

import pytest
import rich.cells
from rich.segment import Segment
from textual.document._wrapped_document import WrappedDocument

from catena.cells import cell_len, cluster_end, cluster_start, clusters, measure_by_clusters
from catena.widgets.fields.text_fields import EditedText
from support.screen.pilot import at_the_screen

SINHALA = "\u0d9a\u0dca\u200d\u0dbb\u0dd2\u0dba\u0dcf\u0dc0"  # with a joiner between letters, as it is spelt
HINDI = "\u0915\u094d\u200d\u0937\u092e\u093e"
FAMILY, CODER, RAINBOW = "👩‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈"


@pytest.fixture(autouse=True)
def _by_clusters() -> None:
    measure_by_clusters()


def _parts(text: str) -> list[tuple[str, int]]:
    return [(text[begin:end], cells) for begin, end, cells in clusters(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x\u200dyz", [("x\u200d", 1), ("y", 1), ("z", 1)]),
        (HINDI, [("\u0915\u094d\u200d", 1), ("\u0937", 1), ("\u092e\u093e", 1)]),
        (SINHALA, [("\u0d9a\u0dca\u200d", 1), ("\u0dbb\u0dd2", 1), ("\u0dba\u0dcf", 1), ("\u0dc0", 1)]),
        (f"{FAMILY}{CODER}{RAINBOW}", [(FAMILY, 2), (CODER, 2), (RAINBOW, 2)]),
        ("👩\u200dx", [("👩\u200d", 2), ("x", 1)]),
        ("x\u200d👩", [("x\u200d", 1), ("👩", 2)]),
        ("🙂\u200d↔️", [("🙂\u200d↔️", 2)]),
        ("🐈\u200d⬛", [("🐈\u200d⬛", 2)]),
        ("🇩🇪🇫🇷🇩", [("🇩🇪", 2), ("🇫🇷", 2), ("🇩", 1)]),
        ("น้ำ e\u0301", [("น้", 1), ("ำ", 1), (" ", 1), ("e\u0301", 1)]),
        ("1️⃣☎️☎︎", [("1️⃣", 2), ("☎️", 2), ("☎︎", 1)]),
        ("\u200d💻x", [("\u200d💻", 0), ("x", 1)]),  # the rest of one whose beginning is in another text
        ("", []),
    ],
)
def test_a_joiner_joins_emoji_and_swallows_no_letter(text: str, parts: list[tuple[str, int]]) -> None:
    assert _parts(text) == parts
    width = sum(cells for _, cells in parts)
    assert (cell_len(text), rich.cells.cell_len(text), Segment(text).cell_length) == (width, width, width)
    assert all(cluster_start(text, at) <= at < cluster_end(text, at) for at in range(len(text)))


@pytest.mark.parametrize("text", [f"a{FAMILY}b", "a🇩🇪b", f"a{RAINBOW}b"])
def test_what_is_cut_within_a_character_leaves_blanks_of_its_width(text: str) -> None:
    before, after = Segment(text).split_cells(2)
    assert (before.text, after.text) == ("a ", " b")
    assert [each.text for each in Segment(text).split_cells(3)] == [text[:-1], "b"]


@pytest.mark.parametrize("width", range(5, 12))
def test_a_row_of_a_field_never_begins_within_a_character(width: int) -> None:
    text = f"word {FAMILY}{CODER}🇩🇪{SINHALA}{RAINBOW}🇫🇷🇩🇪{HINDI * 3} x"
    rows = WrappedDocument(EditedText(text), width).get_sections(0)
    assert "".join(rows) == text and len(rows) > 1
    assert all(cell_len(row.rstrip()) <= width for row in rows)
    assert [part for row in rows for part in _parts(row)] == _parts(text)


async def test_letters_behind_a_joiner_are_in_the_answer_and_in_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say(f"say {SINHALA} x\u200dyz")
        await person.sees(f"  {SINHALA} x\u200dyz")
        person.composer.insert("a\u200d")
        await person.type("bc")
        await person.sees("a\u200dbc")


@pytest.mark.parametrize("character", [FAMILY, CODER, RAINBOW, "🇩🇪", "น้", "e\u0301", "1️⃣", "ක්\u200d"])
async def test_w33_backspace_delete_and_arrows_move_by_what_is_drawn(tmp_path: Path, character: str) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        composer = person.composer
        composer.insert(f"a{character}b")
        await person.press("left")
        await person.press("left")
        assert composer.cursor_location == (0, 1)
        await person.press("right")
        assert composer.cursor_location == (0, 1 + len(character))
        await person.press("backspace")
        assert person.draft == "ab"
        composer.insert(character)
        await person.press("left", "delete")
        assert person.draft == "ab"
