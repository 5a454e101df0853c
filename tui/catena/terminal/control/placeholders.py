"""Cells that a terminal draws a part of an image in: a private character, with accents for row and column."""

from __future__ import annotations

import re

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


def placeholder_row(row: int, columns: int) -> str:
    """The characters of a row of an image, each with both of its numbers, so that any of them may be drawn alone."""
    return "".join(f"{PLACEHOLDER}{_ACCENTS[row]}{_ACCENTS[column]}" for column in range(columns))
