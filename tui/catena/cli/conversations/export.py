"""``catena export``: a conversation as Markdown, JSON or HTML, to standard output or into a file."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from catena.cli.conversations.show import open_reading
from catena.errors import CommandRefused, ExitStatus, refusing_path
from catena.export.files import writing
from catena.export.forms import ExportForm, ExportRequest, exported, mask_for
from catena.settings.agents import titles_in_settings
from catena.settings.settings import load_settings
from catena.text.safe_text import safe_line
from catena.text.secrets import SecretMask, masked_lines
from catena_acp.agents.catalog import catalog
from catena_store.conversations import conversations, messages
from catena_store.database.database import Reader
from catena_store.ids import utc_now

_CHARACTERS = 100_000  # that are written at a time


def export(
    named: str, *, form: ExportForm, tree: bool, at: str | None, path: str | None, force: bool, masked: bool
) -> int:
    """Export a conversation, and list on standard error what was masked.

    Raises NotFound or Ambiguous for the conversation or the message, and CommandRefused for the file.
    """
    rules = load_settings().export.mask if masked else ()
    with open_reading() as reading:

        async def find(reader: Reader) -> ExportRequest:
            found = await conversations.find(reader, named)
            leaf = (await messages.find(reader, found.id, at)).id if at is not None else None
            return ExportRequest(found.id, form, tree=tree, leaf_id=leaf, masked=masked)

        request = reading.read(find)
        mask, own_title = mask_for(request, rules), titles_in_settings()

        def title_of(name: str, profile: str | None) -> str:
            known = (entry.short_title or entry.title for entry in catalog() if entry.name == name)
            return own_title(name, profile) or next(known, name)

        with reading.snapshot() as step:

            def write(put: Callable[[str], object]) -> None:
                pieces = exported(step.reader, request, at=utc_now(), titles=title_of, mask=mask)
                while (piece := step.run(_next(pieces))) is not None:
                    put(piece)

            if path in (None, "-"):
                sys.stdout.flush()
                write(lambda piece: sys.stdout.buffer.write(piece.encode("utf-8", "replace")))
                sys.stdout.buffer.flush()
            else:
                write_export(path, write, force=force)
    tell_masked(mask, sys.stderr)
    return ExitStatus.ANSWERED


async def _next(pieces: AsyncIterator[str]) -> str | None:
    """The next pieces, as one text; None at the end."""
    found: list[str] = []
    characters = 0
    while characters < _CHARACTERS and (piece := await anext(pieces, None)) is not None:
        found.append(piece)
        characters += len(piece)
    return "".join(found) or None


def write_export(named: str, write: Callable[[Callable[[str], object]], None], *, force: bool) -> None:
    """Write a file that only the person can read. Raises CommandRefused."""
    with refusing_path(named):
        path = Path(named).expanduser()
    try:
        with writing(path, force=force) as file:
            write(file.write)
    except FileExistsError as error:
        raise CommandRefused(f"{path} exists already; --force writes over it") from error
    except OSError as error:
        raise CommandRefused(
            f"{path} cannot be written: {error.strerror or error}", ExitStatus.FAILED
        ) from error


def tell_masked(mask: SecretMask | None, stream: Any) -> None:
    """List what was masked."""
    if mask is None or not mask.masked:
        return
    count = len(mask.masked)
    things = "1 thing that looks like a secret" if count == 1 else f"{count} things that look like secrets"
    print(f"catena: masked {things} (--no-mask leaves them):", file=stream)
    for line in masked_lines(mask.masked):
        print(f"  {safe_line(line)}", file=stream)
