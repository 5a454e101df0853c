"""Text piped into ``catena run`` in addition to a prompt."""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import TextIO

from catena.errors import CommandRefused
from catena_acp.continuity.wording.counts import counted
from catena_store.windows.attachments import MOST_BYTES

_PIPES = (stat.S_ISFIFO, stat.S_ISSOCK, stat.S_ISREG)  # no terminal, and no /dev/null
_SILENCE = 3.0  # seconds after which it is said what is waited for


def piped_text(source: TextIO, *, tell: bool) -> str:
    """Read a pipe or a file to its end, below a line that marks it as piped; "" if there is nothing.

    With ``tell``, standard error says that it is waited for. Raises CommandRefused for what is too large or no text.
    """
    if not any(is_pipe(os.fstat(source.fileno()).st_mode) for is_pipe in _PIPES):
        return ""
    if tell and not select.select([source], [], [], _SILENCE)[0]:
        print("catena: waiting for standard input; </dev/null sends the prompt alone", file=sys.stderr)
    content = source.buffer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        limit = f"{MOST_BYTES // 1_048_576} MB"
        raise CommandRefused(f"the piped text is over {limit}. Write it to a file and its path in the prompt")
    if b"\0" in content:
        raise CommandRefused("the piped input is not text. --attach PATH sends a file")
    text = content.decode("utf-8", "replace").rstrip("\n")
    return f"[piped {counted(text.count(chr(10)) + 1, 'line')}]\n{text}" if text.strip() else ""
