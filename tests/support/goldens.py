"""Goldens: what Catena said when it was right, as data, and what of that another run, machine or day has otherwise.

`CATENA_GOLDENS=write pytest tests/surfaces tests/linear/test_listening_script.py -n 0` writes all of them; read the
difference before it is kept.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from catena import __version__

_MASKS = (
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+\d\d:\d\d)", "2026-11-24T14:09:00.000Z"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2026-11-24 14:09 UTC"),
    (r"(?:\b\d{4}-\d\d-\d\d )?\b\d\d:\d\d(?::\d\d)?\b(?! UTC)|\byesterday\b", "14:09"),
    (r"\b\d+ (?:min|h)\b(?=\n)", "now"),
    (r"(about |~)[\d,]+ tokens", r"\g<1>200 tokens"),
    (r'("(?:inputTokens|totalTokens|input_tokens|total_tokens|context_used)": )\d{4,}', r"\g<1>1400"),
    (r"--resume \w{16}", "--resume ID"),
    (r"without a label: /rewind \w+", "without a label: /rewind ID"),
    (r'"ask_id": "[\d.]+"', '"ask_id": "ID"'),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b", "UUID"),
    (re.escape(__version__), "VERSION"),
)


def masked(text: str, home: Path) -> str:
    """A text with the same times, ids, versions, places and sizes of texts that have places in them in every run."""
    text = text.replace(str(home), "~")
    for pattern, shown in _MASKS:
        text = re.sub(pattern, shown, text)
    return text


def is_golden(text: str, golden: Path) -> bool:
    """True where a file has this text, which it gets where goldens are to be written."""
    if os.environ.get("CATENA_GOLDENS") == "write":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    was, now = golden.read_text().splitlines(), text.splitlines()
    changed = "\n".join(difflib.unified_diff(was, now, str(golden), "now", lineterm=""))
    assert not changed, f"\n{changed}"
    return text == golden.read_text()
