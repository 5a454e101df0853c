"""Kitty's graphics protocol with Unicode placeholders: what is asked, sent and drawn in cells. Pure.

https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders: an image is transmitted once, and stands where
a private character does whose accents tell row and column of the image, and whose colour is the image's number.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from enum import StrEnum

QUERY_ID = 31

# The size of a cell in pixels, and whether the terminal takes images: it answers in that order.
QUERIES = f"\x1b[16t\x1b_Gi={QUERY_ID},s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
ABANDON = "\x1b_Gm=0,q=2;\x1b\\"  # ends an image that was not sent to its end
CELL = (8, 16)  # pixels, where the terminal does not tell
MOST_ROWS = 20
_PIECE = 4096  # characters of base64 in one command
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_KITTY_SINCE = (0, 28)

PLACEHOLDER = "\U0010eeee"

# The first of kitty's rowcolumn-diacritics.txt, in its order: the n-th one is row or column n.
_ACCENTS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357\u035b\u0363"
    "\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484\u0485\u0486\u0487\u0592"
    "\u0593\u0594\u0595\u0597\u0598\u0599\u059c\u059d\u059e\u059f\u05a0\u05a1\u05a8\u05a9\u05ab\u05ac\u05af\u05c4"
    "\u0610\u0611\u0612\u0613\u0614\u0615\u0616\u0617\u0657\u0658\u0659\u065a\u065b\u065d\u065e\u06d6\u06d7\u06d8"
    "\u06d9\u06da\u06db\u06dc\u06df\u06e0\u06e1\u06e2\u06e4\u06e7\u06e8\u06eb\u06ec\u0730\u0732\u0733\u0735\u0736"
)
MOST_CELLS = len(_ACCENTS)  # of a row, and of a column
is_placeholder = re.compile(f"{PLACEHOLDER}[{_ACCENTS}]{{2}}").fullmatch


class ImageDrawing(StrEnum):
    """Whether images are drawn; the names are the setting's values."""

    AUTO = "auto"  # where the terminal can
    OFF = "off"


def draws_placeholders(name: str) -> bool:
    """True for a terminal, by the name that it replies (XTVERSION), that draws images in place of characters.

    No query tells: others have the protocol, but not its placeholders.
    """
    if found := _KITTY.match(name):
        return (int(found[1]), int(found[2])) >= _KITTY_SINCE
    return name.lower().startswith("ghostty")


def fitting(pixels: tuple[int, int], cell: tuple[int, int], room: int) -> tuple[int, int]:
    """Columns and rows of an image that keeps its ratio: at most ``room`` columns and 20 rows, and never enlarged."""
    width, height = pixels[0] / cell[0], pixels[1] / cell[1]
    scale = min(1.0, min(room, MOST_CELLS) / width, MOST_ROWS / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def transmission(number: int, png: bytes, columns: int, rows: int) -> Iterator[str]:
    """The commands that send a PNG and let it be placed by characters; no other image may be sent between them."""
    data = base64.b64encode(png).decode("ascii")
    for at in range(0, len(data), _PIECE):
        more = int(at + _PIECE < len(data))
        keys = f"a=t,t=d,f=100,i={number},q=2,m={more}" if at == 0 else f"m={more},q=2"
        yield f"\x1b_G{keys};{data[at : at + _PIECE]}\x1b\\"
    yield f"\x1b_Ga=p,U=1,i={number},c={columns},r={rows},q=2\x1b\\"


def deletion(number: int) -> str:
    """The command that frees an image and all of its places."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def placeholder_row(row: int, columns: int) -> str:
    """The characters of a row of an image, each with both of its numbers, so that any of them may be drawn alone."""
    return "".join(f"{PLACEHOLDER}{_ACCENTS[row]}{_ACCENTS[column]}" for column in range(columns))
