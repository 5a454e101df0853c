"""An agent's answers, as the agent wrote them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from catena_acp.errors import ProtocolBroken
from catena_acp.events import Choice, ListedSession, ModesChanged, Option, PromptEnded, SessionPage
from catena_acp.reading import MAX_NAME, Json, objects, part
from catena_acp.reading import name as name_of
from catena_acp.reading import text as text_of

MAX_SESSIONS = 50_000  # of one page; some agents list all that they have
LEGACY_MODEL = "model"  # the id of the option that stands for the `models` state of older agents


def session_id_of(answer: Json, asked: str | None) -> str:
    """The session that an answer names; ``asked`` where it names none. Raises ProtocolBroken for a blank one."""
    named = answer.get("sessionId")
    if named is None:
        named = asked
    if not isinstance(named, str) or not named.strip():
        raise ProtocolBroken("the answer names no session")
    if len(named) > MAX_NAME:
        raise ProtocolBroken(f"the answer names a session with more than {MAX_NAME} characters")
    return named


def prompt_ended_of(answer: Json) -> PromptEnded:
    """Why a turn ended, whatever the word. Raises ProtocolBroken where the answer has none."""
    stop_reason, usage = answer.get("stopReason"), answer.get("usage")
    if not isinstance(stop_reason, str) or not stop_reason:
        raise ProtocolBroken("the answer to the prompt does not say why the turn ended")
    return PromptEnded(stop_reason, usage if isinstance(usage, dict) else None)


def page_of(answer: Json) -> SessionPage:
    """One page of ``session/list``; sessions without an id are left out."""
    return SessionPage(
        tuple(
            ListedSession(
                session_id=item["sessionId"],
                cwd=text_of(item, "cwd") or "",
                title=name_of(item, "title"),
                updated_at=text_of(item, "updatedAt"),
            )
            for item in objects(answer.get("sessions"), MAX_SESSIONS)
            if isinstance(item.get("sessionId"), str)
        ),
        text_of(answer, "nextCursor") or None,
    )


def modes_of(result: Json) -> ModesChanged | None:
    """The modes in the answer that opened a session."""
    modes = part(result, "modes")
    current = name_of(modes, "currentModeId") if modes is not None else None
    if modes is None or current is None:
        return None
    choices = tuple(
        Choice(mode["id"], name_of(mode, "name") or mode["id"], name_of(mode, "description"))
        for mode in objects(modes.get("availableModes"))
        if isinstance(mode.get("id"), str) and len(mode["id"]) <= MAX_NAME
    )
    return ModesChanged(current, choices)


def options_of(holder: Json) -> tuple[Option, ...] | None:
    """The options under ``configOptions``; None where that is not a list."""
    listed = holder.get("configOptions")
    if not isinstance(listed, list):
        return None
    return tuple(option for option in map(_option, objects(listed)) if option is not None)


def legacy_model_of(result: Json) -> Option | None:
    """The ``models`` state that older agents send, as the option that took its place."""
    models = part(result, "models")
    current = text_of(models, "currentModelId") if models is not None else None
    if models is None or current is None:
        return None
    choices = tuple(
        Choice(model["modelId"], name_of(model, "name") or model["modelId"], name_of(model, "description"))
        for model in objects(models.get("availableModels"))
        if isinstance(model.get("modelId"), str) and len(model["modelId"]) <= MAX_NAME
    )
    return Option(LEGACY_MODEL, "Model", "model", "select", current, choices)


def _option(option: Json) -> Option | None:
    option_id, kind, value = text_of(option, "id"), text_of(option, "type"), option.get("currentValue")
    if option_id is None or kind is None or not isinstance(value, (str, bool)):
        return None
    if max(len(option_id), len(kind), len(str(value))) > MAX_NAME:
        return None
    return Option(
        option_id,
        name_of(option, "name") or option_id,
        name_of(option, "category"),
        kind,
        value,
        tuple(_choices(option.get("options"), None)),
        name_of(option, "description"),
    )


def _choices(listed: object, group: str | None) -> Iterable[Choice]:
    for item in objects(listed):
        if isinstance(item.get("options"), list):
            yield from _choices(item["options"], name_of(item, "name") or name_of(item, "group"))
        elif isinstance(item.get("value"), str) and len(item["value"]) <= MAX_NAME:
            name = name_of(item, "name") or item["value"]
            yield Choice(item["value"], name, name_of(item, "description"), group)
