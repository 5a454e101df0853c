"""How often something was tried in vain in this process, so that it is not tried for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

_MOST = 3


class Tries:
    """Counts what failed, by what it was tried on; one try of the same at a time."""

    def __init__(self) -> None:
        self._failed: Counter[Hashable] = Counter()
        self._under_way: set[Hashable] = set()

    def may(self, what: Hashable) -> bool:
        """True where it is not being tried now and has not failed three times."""
        return what not in self._under_way and self._failed[what] < _MOST

    @contextmanager
    def trying(self, what: Hashable) -> Iterator[None]:
        """It is being tried in this block."""
        self._under_way.add(what)
        try:
            yield
        finally:
            self._under_way.discard(what)

    def failed(self, what: Hashable) -> None:
        """It was tried in vain; a try that was only broken off is none."""
        self._failed[what] += 1
