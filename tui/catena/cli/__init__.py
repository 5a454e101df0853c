"""The command line: arguments, and a room of commands for each subject."""

import sys
from types import TracebackType


def _say_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say nothing of Ctrl+C during the first imports: nothing was begun."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say_error
