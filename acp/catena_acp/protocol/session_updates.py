"""Session updates and permission requests as events. Pure.

This reads the JSON as the agent wrote it, not the SDK's models: those close enumerations that the protocol leaves open,
drop unknown list items, and lack fields that became stable later. Whatever cannot be read becomes an
``UnknownUpdate``, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import get_args

from catena_acp.port.images import received_image
from catena_acp.port.session_events import (
    AgentCommand,
    BackgroundWorkEnded,
    CommandsChanged,
    ContextCompacted,
    Event,
    Location,
    ModelRetried,
    ModesChanged,
    NoticeReported,
    OptionsChanged,
    OtherContent,
    PermissionOption,
    PermissionRequested,
    PlanChanged,
    PlanEntry,
    RetryReason,
    Role,
    TextChunk,
    TitleChanged,
    ToolCallChanged,
    ToolContent,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
    UnknownUpdate,
    UsageReported,
)
from catena_acp.protocol.answers import options_of
from catena_acp.protocol.framing import (
    MAX_LISTED,
    MAX_NAME,
    Json,
    name_of,
    number,
    object_of,
    objects_in,
    text_of,
)
from catena_store.records import Attachment


def events_of(update: Json) -> tuple[Event, ...]:
    """The events of one session update: usually one, none for empty text, an ``UnknownUpdate`` for anything invalid."""
    kind = name_of(update, "sessionUpdate") or update.get("sessionUpdate")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    events = reader(update) if reader is not None else None
    if events is None:
        return (UnknownUpdate(str(kind)[:MAX_NAME], update),)
    return events


def retry_of(told: Json) -> ModelRetried:
    """What `_session/retrying` of Mistral Vibe, 3.0, tells: a category, and the HTTP status in words."""
    category = name_of(told, "category")
    status = re.fullmatch(r"HTTP ([1-5][0-9]{2})", name_of(told, "detail") or "")
    reason: RetryReason = next((each for each in _RETRY_REASONS if each == category), "unknown")
    return ModelRetried(reason, int(status[1]) if status else None)


def permission_of(ask_id: str, asked: Json) -> PermissionRequested:
    """A permission request as an event; options without an id are left out, since they could not be chosen."""
    tool_call = object_of(asked, "toolCall") or {}
    options = tuple(
        PermissionOption(
            option["optionId"],
            (name_of(option, "name") or "").strip() or _words_of_kind(option),
            name_of(option, "kind") or "",
        )
        for option in objects_in(asked.get("options"))
        if isinstance(option.get("optionId"), str)
    )
    return PermissionRequested(ask_id, _tool_call(text_of(tool_call, "toolCallId") or "", tool_call), options)


def _words_of_kind(option: Json) -> str:
    """What an option without a name is called: its kind in words, else its id."""
    kind = name_of(option, "kind") or ""
    return kind.replace("_", " ").capitalize() or str(option["optionId"])[:MAX_NAME]


# The kinds of update; a reader returns None for an invalid one.


def _chunk(role: Role) -> Callable[[Json], tuple[Event, ...] | None]:
    def read(update: Json) -> tuple[Event, ...] | None:
        content = object_of(update, "content")
        kind = text_of(content, "type") if content is not None else None
        started_by = _subagent_of(update)
        said_by: Role = "subagent" if started_by and role == "agent" else role
        if content is None or kind is None:
            return None
        message_id = text_of(update, "messageId")
        if kind == "text":
            text = text_of(content, "text")
            if text is None:
                return None
            return (TextChunk(said_by, text, message_id, started_by),) if text else ()
        described = _describe(kind, content)
        image, address = _image(kind, content), _web_address(kind, content)
        return (OtherContent(said_by, kind, described, message_id, content, started_by, image, address),)

    return read


def _tool(update: Json) -> tuple[Event, ...] | None:
    tool_call_id = text_of(update, "toolCallId")
    return None if tool_call_id is None else (_tool_call(tool_call_id, update),)


def _plan(update: Json) -> tuple[Event, ...] | None:
    entries = _plan_entries(update.get("entries"))
    return None if entries is None else (PlanChanged(entries),)


def _plan_update(update: Json) -> tuple[Event, ...] | None:
    plan = object_of(update, "plan")
    entries = _plan_entries(plan.get("entries")) if plan is not None else None
    if plan is None or entries is None:
        return None
    return (PlanChanged(entries, text_of(plan, "planId")),)


def _plan_removed(update: Json) -> tuple[Event, ...] | None:
    plan_id = text_of(update, "planId")
    return None if plan_id is None else (PlanChanged((), plan_id),)


def _commands(update: Json) -> tuple[Event, ...] | None:
    listed = update.get("availableCommands")
    if not isinstance(listed, list):
        return None
    return (
        CommandsChanged(
            tuple(
                AgentCommand(
                    command["name"],
                    name_of(command, "description") or "",
                    name_of(object_of(command, "input") or {}, "hint"),
                )
                for command in objects_in(listed)
                if 0 < len(name_of(command, "name") or "") < MAX_NAME
            )
        ),
    )


def _mode(update: Json) -> tuple[Event, ...] | None:
    # The protocol's documentation shows `modeId`, its schema `currentModeId`.
    current = name_of(update, "currentModeId") or name_of(update, "modeId")
    return None if current is None else (ModesChanged(current),)


def _options(update: Json) -> tuple[Event, ...] | None:
    options = options_of(update)
    return None if options is None else (OptionsChanged(options),)


def _session_info(update: Json) -> tuple[Event, ...] | None:
    retried = _codex_retry(update)
    events: tuple[Event, ...] = () if retried is None else (retried,)
    if "title" not in update:
        return events
    title = name_of(update, "title")
    if title is None and update["title"] is not None:
        return None
    return (*events, TitleChanged(title or None))


def _usage(update: Json) -> tuple[Event, ...] | None:
    used, size = number(update.get("used")), number(update.get("size"))
    if used is None or size is None:
        return None
    cost = object_of(update, "cost") or {}
    usage = UsageReported(int(used), int(size), number(cost.get("amount")), name_of(cost, "currency"))
    return (usage, BackgroundWorkEnded()) if _answers_background_work(update) else (usage,)


def _notice(update: Json) -> tuple[Event, ...] | None:
    parts = [text for name in ("title", "description", "message") if (text := text_of(update, name))]
    if not parts:
        return None
    return (
        NoticeReported("\n".join(parts), name_of(update, "severity") or name_of(update, "level") or "info"),
    )


def _compaction(update: Json) -> tuple[Event, ...] | None:
    summary = update.get("summary")
    parts = [text for block in objects_in(summary) if (text := text_of(block, "text"))]
    text = "\n".join(parts) or text_of(update, "error")
    return (ContextCompacted(text, text_of(update, "status"), text_of(update, "compactionId")),)


def _compaction_chunk(update: Json) -> tuple[Event, ...] | None:
    text = text_of(object_of(update, "content") or {}, "text")
    return None if text is None else (ContextCompacted(text, None, text_of(update, "compactionId")),)


_READERS: Mapping[str, Callable[[Json], tuple[Event, ...] | None]] = {
    "user_message_chunk": _chunk("user"),
    "agent_message_chunk": _chunk("agent"),
    "agent_thought_chunk": _chunk("thought"),
    "tool_call": _tool,
    "tool_call_update": _tool,
    "plan": _plan,
    "plan_update": _plan_update,
    "plan_removed": _plan_removed,
    "available_commands_update": _commands,
    "current_mode_update": _mode,
    "config_option_update": _options,
    "session_info_update": _session_info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
}


# The parts of updates.


def _tool_call(tool_call_id: str, update: Json) -> ToolCallChanged:
    locations, content = update.get("locations"), update.get("content")
    return ToolCallChanged(
        tool_call_id,
        title=_title(update),
        kind=name_of(update, "kind"),
        status=name_of(update, "status"),
        name=name_of(update, "name"),
        locations=tuple(
            Location(place["path"][:MAX_NAME], _line(place.get("line")))
            for place in objects_in(locations)
            if isinstance(place.get("path"), str)
        )
        if isinstance(locations, list)
        else None,
        content=tuple(map(_tool_content, objects_in(content))) if isinstance(content, list) else None,
        raw_input=update.get("rawInput"),
        raw_output=update.get("rawOutput"),
        subagent_of=_subagent_of(update),
        background=_background(update),
        doubt=_doubt(locations, content),
    )


def _title(update: Json) -> str | None:
    """The title of a call; a long one says that it was cut."""
    title = text_of(update, "title")
    if title is None or len(title) <= MAX_NAME:
        return title
    return f"{title[:MAX_NAME]}… (cut, {len(title):,} characters)"


def _doubt(locations: object, content: object) -> str | None:
    """Why places or content of a call are not all that it is about; None if they are."""
    for listed in (locations, content):
        if listed is not None and (
            not isinstance(listed, list)
            or len(listed) > MAX_LISTED
            or not all(isinstance(each, dict) for each in listed)
        ):
            return "parts cannot be read"
    for place in locations if isinstance(locations, list) else ():
        if not isinstance(path := place.get("path"), str) or len(path) > MAX_NAME:
            return "a place cannot be read"
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "diff" and (text_of(part, "path") is None or text_of(part, "newText") is None):
            return "a change cannot be read"
    return None


# What agents say beside the protocol, in `_meta`. Claude's adapter, 0.100: `claudeCode.parentToolUseId` on all that a
# subagent says, does and asks for; `claudeCode.toolResponse.backgroundTaskId` where a command was left running; and
# `_claude/origin` with the usage of an answer that no prompt asked for.


def _subagent_of(update: Json) -> str | None:
    return name_of(_claude_meta(update), "parentToolUseId") or None


def _background(update: Json) -> str | None:
    response = object_of(_claude_meta(update), "toolResponse") or {}
    return name_of(response, "backgroundTaskId") or None


def _answers_background_work(update: Json) -> bool:
    origin = object_of(object_of(update, "_meta") or {}, "_claude/origin") or {}
    return origin.get("kind") == "task-notification"


# Codex' adapter, 2.6: `codex.error` with the information about a session; the error is a word, or an object whose only
# key is that word and has the HTTP status.


def _codex_retry(update: Json) -> ModelRetried | None:
    error = object_of(object_of(object_of(update, "_meta") or {}, "codex") or {}, "error") or {}
    if error.get("willRetry") is not True:
        return None
    info = error.get("codexErrorInfo")
    kind, details = next(iter(info.items()), ("", None)) if isinstance(info, dict) else (info, None)
    status = details.get("httpStatusCode") if isinstance(details, dict) else None
    if not isinstance(status, int) or not 100 <= status <= 599:
        status = None
    known = _CODEX_REASONS.get(kind, "unknown") if isinstance(kind, str) else "unknown"
    return ModelRetried(_reason_of_status(status) or known, status)


def _reason_of_status(status: int | None) -> RetryReason | None:
    match status:
        case 429:
            return "rate_limited"
        case 408 | 504:
            return "timed_out"
        case int() if status >= 500:
            return "server_error"
        case _:
            return None


_RETRY_REASONS: tuple[RetryReason, ...] = get_args(RetryReason)
_CODEX_REASONS: Mapping[str, RetryReason] = {
    "usageLimitExceeded": "rate_limited",
    "serverOverloaded": "server_error",
    "internalServerError": "server_error",
    "httpConnectionFailed": "connection",
    "responseStreamConnectionFailed": "connection",
    "responseStreamDisconnected": "connection",
}


def _claude_meta(update: Json) -> Json:
    return object_of(object_of(update, "_meta") or {}, "claudeCode") or {}


def _tool_content(content: Json) -> ToolContent:
    kind = text_of(content, "type") or "unknown"
    if kind == "content":
        block = object_of(content, "content") or {}
        block_kind = text_of(block, "type") or "unknown"
        text = text_of(block, "text")
        if block_kind == "text" and text is not None:
            return ToolText(text)
        return ToolOther(block_kind, _describe(block_kind, block), _image(block_kind, block))
    path, new, terminal = (
        text_of(content, "path"),
        text_of(content, "newText"),
        text_of(content, "terminalId"),
    )
    if kind == "diff" and path is not None and new is not None:
        return ToolDiff(path, text_of(content, "oldText"), new)
    if kind == "terminal" and terminal is not None:
        return ToolTerminal(terminal)
    return ToolOther(kind, _describe(kind, content))


def _plan_entries(listed: object) -> tuple[PlanEntry, ...] | None:
    if not isinstance(listed, list):
        return None
    return tuple(
        PlanEntry(
            entry["content"][:MAX_NAME],
            name_of(entry, "status") or "pending",
            name_of(entry, "priority") or "medium",
        )
        for entry in objects_in(listed)
        if isinstance(entry.get("content"), str)
    )


def _image(kind: str, block: Json) -> Attachment | None:
    """The image of a content block, or of a resource in it; None where its bytes are none."""
    held = object_of(block, "resource") or {} if kind == "resource" else block
    data = text_of(held, "blob" if kind == "resource" else "data")
    return received_image(data) if data is not None and kind in ("image", "resource") else None


def _web_address(kind: str, block: Json) -> str:
    address = name_of(block, "uri") if kind == "resource_link" else None
    return address if address is not None and address.startswith(("http://", "https://")) else ""


def _describe(kind: str, block: Json) -> str:
    """One line that describes a content block: kind, name, address, type and size."""
    resource = object_of(block, "resource") or {}
    name = name_of(block, "title") or name_of(block, "name")
    uri = name_of(block, "uri") or name_of(resource, "uri")
    mime = name_of(block, "mimeType") or name_of(resource, "mimeType")
    data = text_of(block, "data") or text_of(resource, "blob")
    text = text_of(resource, "text")
    size = number(block.get("size"))
    if size is None and data is not None:
        size = len(data) * 3 // 4
    elif size is None and text is not None:
        size = len(text)
    parts = [kind[:MAX_NAME].replace("_", " "), name, uri, mime, None if size is None else _bytes(int(size))]
    return " ".join(", ".join(part for part in parts if part).split())


def _bytes(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"


def _line(value: object) -> int | None:
    line = number(value)
    return None if line is None else int(line)
