"""`/export`: the branch of a tab, or all of them, as a file beside the others of its directory."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from catena.errors import CommandRefused
from catena.export.files import free_path, writing
from catena.export.forms import ExportForm, ExportRequest, exported, mask_for
from catena.text.formats import from_home
from catena.text.secrets import Masked, SecretMask
from catena_store.database.database import Reader
from catena_store.ids import utc_now

_WORD = re.compile(r"\s*(\S+)")


@dataclass(frozen=True, slots=True)
class WantedExport:
    """The export requested by the argument of `/export`."""

    form: ExportForm
    tree: bool
    file: str  # "" for one beside the others of the directory


def wanted_export(argument: str) -> WantedExport:
    """Read `[markdown|json|html] [tree] [FILE]`; without a form, the ending of the file tells it."""
    forms = {"md": ExportForm.MARKDOWN, "htm": ExportForm.HTML} | {form.value: form for form in ExportForm}
    form: ExportForm | None = None
    tree = False
    rest = argument
    while (word := _WORD.match(rest)) and (word[1].lower() in forms or word[1].lower() == "tree"):
        form = forms.get(word[1].lower(), form)
        tree = tree or word[1].lower() == "tree"
        rest = rest[word.end() :]
    file = rest.strip()
    return WantedExport(form or forms.get(Path(file).suffix[1:].lower(), ExportForm.MARKDOWN), tree, file)


async def export_branch(
    reader: Reader,
    wanted: WantedExport,
    *,
    conversation_id: str,
    leaf_id: str | None,
    directory: str,
    name: str,
    agent_title: str,
    rules: Sequence[str],
) -> str:
    """Write a branch, or all of them; return a line on the file's path and on the secrets that the rules masked.

    Without a file name, the file is named after the conversation. Raises CommandRefused if it cannot be written.
    """
    path = await asyncio.to_thread(_path, wanted, Path(directory), name, rules)
    request = ExportRequest(conversation_id, wanted.form, tree=wanted.tree, leaf_id=leaf_id)
    mask = mask_for(request, rules)
    await _write(reader, request, path, mask, agent_title=agent_title)
    return " · ".join(
        filter(None, (f"Wrote {from_home(str(path))}", masked_words(mask.masked if mask else [])))
    )


def masked_words(masked: list[Masked]) -> str:
    """How many secrets were masked, and of which kinds: never the secrets."""
    if not masked:
        return ""
    kinds = Counter(each.kind for each in masked)
    named = ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in kinds.items())
    return f"{len(masked)} secret{'' if len(masked) == 1 else 's'} masked ({named})"


def _path(wanted: WantedExport, directory: Path, name: str, rules: Sequence[str]) -> Path:
    """Where to write. Blocks; raises CommandRefused where something is there."""
    path = directory / Path(wanted.file).expanduser() if wanted.file else directory
    if path.is_dir():
        named = SecretMask([re.compile(rule) for rule in rules]).rewrite(name)
        return free_path(path, named, wanted.form.ending)
    if path.exists():
        raise CommandRefused(f"{wanted.file} exists already. Name another file.")
    return path


async def _write(
    reader: Reader, request: ExportRequest, path: Path, mask: SecretMask | None, *, agent_title: str
) -> None:
    title_of: Callable[[str, str | None], str] = lambda *_: agent_title  # noqa: E731
    placing = writing(path)
    try:
        file = await asyncio.to_thread(placing.__enter__)
        try:
            async for piece in exported(reader, request, at=utc_now(), titles=title_of, mask=mask):
                file.write(piece)
        except BaseException as error:  # cancelled, too: nothing half written is left
            placing.__exit__(type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(placing.__exit__, None, None, None)
    except OSError as error:
        raise CommandRefused(f"{path} cannot be written: {error.strerror or error}") from error
