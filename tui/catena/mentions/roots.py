"""The directories of a conversation with links resolved, and what is below them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def resolved_roots(roots: Sequence[str]) -> tuple[Path, ...]:
    """The directories with links resolved; one that leads in a circle is left out."""
    return tuple(path for path in map(_resolved, roots) if path is not None)


def leads_inside(path: str | Path, roots: Sequence[Path]) -> bool:
    """True where a path exists and is below one of ``roots``, after links are resolved."""
    target = _resolved(path, strict=True)
    return target is not None and any(target.is_relative_to(root) for root in roots)


def _resolved(path: str | Path, *, strict: bool = False) -> Path | None:
    try:
        return Path(path).resolve(strict=strict)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None
