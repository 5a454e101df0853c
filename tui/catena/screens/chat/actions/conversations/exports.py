"""Exporting the conversation of the active tab into a file."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catena.errors import CommandRefused
from catena.screens.chat.context import ChatContext
from catena.text.formats import from_home
from catena_store.database.database import Reader
from catena_store.ids import utc_now

if TYPE_CHECKING:  # the first frame exports nothing
    from catena.export.forms import ExportForm, ExportRequest
    from catena.text.secrets import Masked, SecretMask
    from catena.workspace.tab import Tab

_WORD = re.compile(r"\s*(\S+)")


@dataclass(frozen=True, slots=True)
class WantedExport:
    """What was typed behind `/export`."""

    form: ExportForm
    tree: bool
    file: str  # "" for one beside the others of the directory


def wanted_export(argument: str) -> WantedExport:
    """Read `[markdown|json|html] [tree] [FILE]`; without a form, the ending of the file tells it."""
    from catena.export.forms import ExportForm

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


class ExportActions:
    """Actions that write the conversation of the active tab into a file."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def export(self, argument: str = "") -> None:
        """Write the tab's branch, or all branches, and say where and what was masked."""
        if (tab := self._context.tab) is None:
            self._context.say("No conversation to export yet.")
            return
        try:
            await self._export(tab, wanted_export(argument))
        except CommandRefused as error:
            self._context.say(str(error), wrong=True)

    async def _export(self, tab: Tab, wanted: WantedExport) -> None:
        from catena.export.forms import ExportRequest, mask_for

        rules = self._context.settings.export.mask
        path = await asyncio.to_thread(_path, wanted, tab, rules)

        async def write(reader: Reader, leaf: str | None) -> SecretMask | None:
            request = ExportRequest(tab.conversation.id, wanted.form, tree=wanted.tree, leaf_id=leaf)
            mask = mask_for(request, rules)
            await _write(reader, request, path, mask, agent_title=_agent_title(tab))
            return mask

        mask = await self._context.tabs.of_branch_at_length(tab, write)
        masked = mask.masked if mask else []
        self._context.say(" · ".join(filter(None, (f"Wrote {from_home(str(path))}", masked_words(masked)))))


def masked_words(masked: list[Masked]) -> str:
    """How many secrets were masked, and of which kinds: never the secrets."""
    if not masked:
        return ""
    kinds = Counter(each.kind for each in masked)
    named = ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in kinds.items())
    return f"{len(masked)} secret{'' if len(masked) == 1 else 's'} masked ({named})"


def _agent_title(tab: Tab) -> str:
    return (tab.session or tab.window.session).agent_title


def _path(wanted: WantedExport, tab: Tab, rules: Sequence[str]) -> Path:
    """Where to write. Blocks; raises CommandRefused where something is there."""
    from catena.export.files import free_path
    from catena.text.secrets import SecretMask

    directory = Path(tab.conversation.record.cwd)
    path = directory / Path(wanted.file).expanduser() if wanted.file else directory
    if path.is_dir():
        return free_path(
            path, SecretMask([re.compile(rule) for rule in rules]).rewrite(tab.name()), wanted.form.ending
        )
    if path.exists():
        raise CommandRefused(f"{wanted.file} exists already. Name another file.")
    return path


async def _write(
    reader: Reader, request: ExportRequest, path: Path, mask: SecretMask | None, *, agent_title: str
) -> None:
    from catena.export.files import writing
    from catena.export.forms import exported

    title_of: Callable[[str, str | None], str] = lambda *_: agent_title  # noqa: E731
    placing = writing(path)
    try:
        file = await asyncio.to_thread(placing.__enter__)
        try:
            async for piece in exported(reader, request, at=utc_now(), titles=title_of, mask=mask):
                file.write(piece)
        except BaseException as error:
            placing.__exit__(type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(placing.__exit__, None, None, None)
    except OSError as error:
        raise CommandRefused(f"{path} cannot be written: {error.strerror or error}") from error
