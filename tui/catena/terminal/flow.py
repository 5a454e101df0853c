"""Flow control by the terminal's own answers: buffers of a slow line hold seconds of frames that nobody has seen."""

from __future__ import annotations

from collections import deque
from math import inf

QUESTION = b"\x1b[5n"  # how the terminal is, which it says when it has drawn all before that (DSR)
ANSWER = "\x1b[0n"

_ASKED_EVERY = 1 << 10  # bytes
_LEAST, _FIRST, _MOST = 1 << 11, 1 << 12, 1 << 16  # bytes of a window
_MOST_OVERTAKEN = 1 << 10  # bytes beyond a window
_QUEUE = 0.1  # seconds that an answer may take longer than the quickest one
_PATIENCE = 5.0  # seconds for an answer; then the line may have another end


class FlowWindow:
    """How much may be under way to the terminal.

    It grows while answers come as soon as the quickest one did, and shrinks when they come later: then what is sent
    waits somewhere on its way. Before the first answer there is no limit.
    """

    def __init__(self) -> None:
        self._asks = False
        self._answers = False  # the terminal does
        self._size = _FIRST
        self._sent = 0  # bytes, of all
        self._drawn = 0  # of them, as far as answers tell
        self._overtaken = 0  # of those that are under way, sent beyond the limit
        self._asked: deque[tuple[float, int]] = deque()  # when, and behind how many bytes
        self._asked_behind = 0  # bytes, of the newest
        self._quickest = inf  # seconds

    def begin(self, now: float) -> bytes:
        """Begin to ask; the question whose answer says that the terminal answers."""
        self._asks = True
        return self._question(now)

    def send(self, size: int, now: float) -> bytes:
        """Note bytes that are sent; the question to put behind them, if it is time for one."""
        if not self.open:
            self._overtaken += size
        self._sent += size
        due = self._sent - self._asked_behind >= _ASKED_EVERY
        return self._question(now) if self._asks and self._answers and due else b""

    def answer(self, now: float) -> None:
        """Note an answer to the oldest question."""
        if not self._asked:
            return
        at, sent = self._asked.popleft()
        seconds = now - at
        self._quickest = min(seconds, self._quickest)
        if not self._answers:  # what was sent before is not counted
            self._answers = True
            self._drawn = self._asked_behind = self._sent
        elif seconds <= self._quickest + _QUEUE:
            self._size = min(_MOST, self._size + sent - self._drawn)
        else:
            self._size = max(_LEAST, self._size // 2)
        self._drawn = max(self._drawn, sent)
        if self.open:
            self._overtaken = 0

    def end(self) -> None:
        """Ask nothing more; there is no limit any more."""
        self._asks = False

    def give_up(self) -> None:
        """Take all for drawn, since no answer comes, and begin anew with little."""
        self._asked.clear()
        self._drawn = self._asked_behind = self._sent
        self._size = _LEAST
        self._quickest = inf
        self._overtaken = 0

    @property
    def open(self) -> bool:
        """True while more may be sent."""
        return not (self._asks and self._answers) or self._sent - self._drawn < self._size

    @property
    def open_for_little(self) -> bool:
        """True while what is little may be sent, though not more."""
        return self.open or self._overtaken < _MOST_OVERTAKEN

    @property
    def awaits(self) -> bool:
        """True while an answer is to come."""
        return self._answers and bool(self._asked)

    def left(self, now: float) -> float:
        """Seconds for which the oldest question may still be answered."""
        return max(0.0, self._asked[0][0] + _PATIENCE - now) if self._asked else 0.0

    def _question(self, now: float) -> bytes:
        self._asked.append((now, self._sent))
        self._asked_behind = self._sent
        return QUESTION
