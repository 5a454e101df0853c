"""The version, from git's tags: the only place that it comes from. Imports the standard library alone.

On a tag ``v0.2.0`` it is 0.2.0. Five commits behind one it is ``0.2.1.dev5+g1a2b3c4``, before the first tag
``0.1.0.dev5+g1a2b3c4``. A shallow clone does not know, and says so. An unpacked source distribution has its own.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

FIRST = "0.1.0"  # the release before which there is no tag
UNKNOWN = f"{FIRST}.dev0+unknown"


def version(root: Path = Path(__file__).parent) -> str:
    """Return the version of the source below ``root``."""
    if (packed := root / "PKG-INFO").is_file():
        return next(re.finditer(r"^Version: (.+)$", packed.read_text("utf-8"), re.MULTILINE))[1]
    if not (root / ".git").exists():
        return UNKNOWN
    if found := re.fullmatch(r"v(.+)-(\d+)-(g\w+)", _git(root, "describe", "--tags", "--long", "--match=v*")):
        tag, commits, commit = found.groups()
        return tag if commits == "0" else f"{_next(tag)}.dev{commits}+{commit}"
    if _git(root, "rev-parse", "--is-shallow-repository") != "false":
        return UNKNOWN
    commits = _git(root, "rev-list", "--count", "HEAD")
    return f"{FIRST}.dev{commits}+g{_git(root, 'rev-parse', '--short', 'HEAD')}" if commits else UNKNOWN


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints, empty if it fails or is not there."""
    try:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        return ""


def _next(tag: str) -> str:
    *leading, last = tag.split(".")
    return ".".join([*leading, str(int(last) + 1)])
