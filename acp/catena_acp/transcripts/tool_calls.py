"""Tool calls of other tools as the data of a tool row: the kind of each, its title, and the change it made. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

_KINDS = {
    "read": ("read", "read_file", "view", "view_image", "notebookread", "read_many_files"),
    "edit": ("write", "edit", "multiedit", "notebookedit", "write_file", "replace", "apply_patch", "patch"),
    "execute": (
        "bash",
        "bashoutput",
        "run_shell_command",
        "shell",
        "exec_command",
        "local_shell",
        "write_stdin",
    ),
    "search": ("grep", "glob", "ls", "list", "search_file_content", "list_directory", "grep_search"),
    "fetch": ("webfetch", "websearch", "web_fetch", "web_search", "google_web_search"),
    "think": ("task", "agent"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
_PLACES = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename")
_LONGEST_TITLE = 200
PLANS = frozenset({"todowrite", "update_plan", "write_todos", "todo_write"})

Data = dict[str, Any]


def begun(name: str, arguments: object, at: datetime | None) -> Data:
    """The data of a call whose outcome is not known yet."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
    data: Data = {
        "title": _title(name, given),
        "kind": _KIND_OF.get(name.lower(), "other"),
        "name": name,
        "status": "unknown",
        "raw_input": arguments,
    }
    place = _place(given)
    if place:
        data["locations"] = [{"path": place, "line": None}]
    if changes := _changes(given, place):
        data["content"] = changes
    if at:
        data["started_at"] = at.isoformat(timespec="milliseconds")
    return data


def ended(
    data: Data, output: str, *, failed: bool, at: datetime | None, changes: Sequence[Data] = ()
) -> None:
    """Add the outcome of a call to its data: what it printed, or the changes that it made."""
    data["status"] = "failed" if failed else "completed"
    if changes:
        data["content"] = list(changes)
        data.setdefault("locations", [{"path": each["path"], "line": None} for each in changes])
    elif output and not any(part.get("type") == "diff" for part in data.get("content") or ()):
        data["content"] = [{"type": "text", "text": output}]
    if output:
        data["raw_output"] = output
    if at:
        data["ended_at"] = at.isoformat(timespec="milliseconds")


def change(path: str, old: str | None, new: str) -> Data:
    """A change of one file; ``old`` is None for a new one."""
    return {"type": "diff", "path": path, "old": old, "new": new}


def plan_entries(arguments: object) -> list[Data]:
    """The entries of a plan, from the arguments of the call that set it; empty if there are none."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
    listed: list[object] = next(
        (given[key] for key in ("todos", "newTodos", "plan") if isinstance(given.get(key), list)), []
    )
    entries = []
    for each in listed:
        if not isinstance(each, Mapping):
            continue
        text = each.get("content") or each.get("step") or each.get("description") or each.get("text")
        if isinstance(text, str):
            status = each.get("status")
            priority = each.get("priority")
            entries.append(
                {
                    "text": text,
                    "status": status if isinstance(status, str) else "pending",
                    "priority": priority if isinstance(priority, str) else "medium",
                }
            )
    return entries


def _title(name: str, given: Mapping[str, Any]) -> str:
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    if isinstance(command, str) and command.strip():
        return _cut(command)
    if place := _place(given):
        return _cut(f"{name} {place.rstrip('/').rpartition('/')[2] or place}")
    subject = next(
        (
            given[key]
            for key in ("description", "pattern", "query", "url", "prompt")
            if isinstance(given.get(key), str)
        ),
        "",
    )
    return _cut(f"{name} {subject}")


def _cut(text: str) -> str:
    line = " ".join(text[: _LONGEST_TITLE * 4].split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


def _place(given: Mapping[str, Any]) -> str:
    return next((given[key] for key in _PLACES if isinstance(given.get(key), str)), "")


def _changes(given: Mapping[str, Any], place: str) -> list[Data]:
    """The changes that a call asks for, as far as its arguments tell them."""
    if not place:
        return []
    edits = given.get("edits")
    asked = [each for each in edits if isinstance(each, Mapping)] if isinstance(edits, list) else [given]
    found = []
    for each in asked:
        old = _text(each, "old_string", "oldString")
        new = _text(each, "new_string", "newString")
        if new is not None:
            found.append(change(place, old, new))
    if not found and (content := _text(given, "content")) is not None:
        found.append(change(place, None, content))
    return found


def _text(given: Mapping[str, Any], *keys: str) -> str | None:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), None)


def sides(unified: str) -> tuple[str, str]:
    """What a unified diff shows of a file before and after its change."""
    old: list[str] = []
    new: list[str] = []
    within = False
    for line in unified.splitlines():
        if line.startswith("@@"):
            within = True
        elif within and line[:1] in ("-", "+", " ", ""):
            if line[:1] != "+":
                old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])
    return "\n".join(old), "\n".join(new)
