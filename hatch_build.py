"""Build hook: the version, the manual page and the completion scripts are made and go into the wheel.

Only the standard library and this repository are imported: a build has nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MadeFiles(BuildHookInterface):
    """Writes the version beside the package, and what belongs below ``share`` into the build's directory."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files; called by hatchling before it writes a wheel."""
        root = Path(self.root)
        (root / "tui/catena/_version.py").write_text(
            f'"""Made when Catena is built or installed."""\n\n__version__ = "{self.metadata.version}"\n',
            encoding="utf-8",
        )
        sys.path[:0] = [str(root / floor) for floor in ("tui", "acp", "store")]
        from catena.cli.shared import shared_files

        for name, text in shared_files().items():
            made = root / "build" / name
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(made)] = name
