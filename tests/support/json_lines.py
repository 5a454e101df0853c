"""Files of JSON lines that other processes add to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of its lines so far, none where there is no file; a line is none before its end is written."""
    *lines, _unfinished = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines]
