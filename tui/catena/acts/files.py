"""Acts on the files of a conversation."""

from __future__ import annotations

from functools import partial

from catena.acts.surface import Done, Here, Refused, Report, ReportRow
from catena.text.changes_text import shown_path, touched_words

_AS_REPORTED = "As reported by the agents; not read from disk. /changes shows what changed."
_ALSO_BY_SNAPSHOTS = "Counts as reported by the agents; the others by snapshots. /changes shows what changed."


async def files(on: Here) -> Done:
    """Report the files that were read and changed on this branch, the latest first."""
    conversation = on.tab.conversation
    await conversation.settle()
    touched = await conversation.changes.files(on.tab.leaf_id)
    if not touched:
        raise Refused("No files read or changed on this branch.")
    rows = [
        ReportRow(shown_path(each.path, conversation.record.cwd), partial(touched_words, each))
        for each in touched
    ]
    reported = all(each.unreported is None for each in touched)
    note = _AS_REPORTED if reported else _ALSO_BY_SNAPSHOTS
    return Done(report=Report("Files on this branch", "File", rows, note))
