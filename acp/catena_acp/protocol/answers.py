"""Answers of an agent: capabilities, sessions, modes, options, login methods, tokens; and what it refuses. Pure.

Some agents report tokens in `_meta` and not as `usage`: Gemini's answer has `quota.token_count`; Qwen tells of each
call of its model in an empty chunk (`usage`); fast-agent's answer has a line of words ("1,234 in, 56 out, 2 tools").

No code alone means that an agent does not know a session: it is -32002, -32602 or -32603, depending on agent and
method. What counts as proof is narrow, since a session taken for lost is never used again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catena_acp.errors import AgentRefused, LoginNeeded, NotOffered, ProtocolBroken, SessionGone
from catena_acp.port.abilities import Abilities, AuthMethod, ImageLimits, quirks_of
from catena_acp.port.session_events import (
    CommandsChanged,
    ConfigChoice,
    Event,
    ListedSession,
    ModesChanged,
    Option,
    OptionsChanged,
    PromptEnded,
    SessionOpened,
    SessionPage,
    TitleChanged,
    TypedFailure,
    UsageReported,
)
from catena_acp.protocol.framing import MAX_NAME, Json, name_of, number, object_of, objects_in, text_of

if TYPE_CHECKING:
    from pydantic import ValidationError


LOGIN_NEEDED = -32000
NOT_FOUND = -32002
NO_SUCH_METHOD = -32601
INVALID = -32602
INTERNAL = -32603
CANCELLED = -32800

_MAX_LENGTH = 8_000  # characters of an error that are searched

_GONE = re.compile(
    r"no rollout found|no previous sessions|--resume requires a valid session|invalid session id"
    r"|resource not found|unknown session|no such session"
    # `Session abc not found`, but not a mode or model that was not found in a session.
    r"|\b(?:session|thread|conversation)\b[\s:'\"]*\S{0,80}?\s+"
    r"(?:(?:was |is |could )?not (?:be )?found|does not exist)",
    re.IGNORECASE,
)


def refusal(
    code: int,
    message: str,
    data: Any = None,
    *,
    session_id: str | None = None,
    opening: bool = False,
    anchor: str | None = None,
    agent_name: str = "",
) -> AgentRefused:
    """The error to raise for an agent's error answer.

    ``session_id`` is the session in the request, if any; ``opening`` is True for load, resume and fork, which are about
    nothing but the session; ``anchor`` is the message id of a fork point.
    """
    if code == LOGIN_NEEDED:
        return LoginNeeded(code, message, data)
    if code == NO_SUCH_METHOD:
        return NotOffered(code, message, data)
    if session_id is not None:
        # Cut, and without runs of white space: a hostile text must not make the search slow.
        words = " ".join(f"{message[:_MAX_LENGTH]} {_as_text(data)[:_MAX_LENGTH]}".split())
        anchor_missing = anchor is not None and anchor in words
        if not anchor_missing and _is_session_gone(code, words, data, opening, agent_name):
            return SessionGone(code, message, data)
    return AgentRefused(code, message, data)


def _is_session_gone(code: int, words: str, data: Any, opening: bool, agent_name: str) -> bool:
    if code == NOT_FOUND:
        return opening or not _is_about_file(data)
    if _GONE.search(words):
        return True
    # OpenCode's only words for an unknown session.
    return (
        opening
        and code == INTERNAL
        and agent_name.lower().startswith("opencode")
        and "service failure" in words.lower()
    )


def _is_about_file(data: Any) -> bool:
    """True if the resource that was not found is a file that the prompt links to."""
    uri = data.get("uri") if isinstance(data, dict) else None
    return isinstance(uri, str) and uri.startswith(("file:", "/"))


def _as_text(data: Any) -> str:
    if isinstance(data, str):
        return data
    return "" if data is None else json.dumps(data, ensure_ascii=False, default=str)


def described(error: ValidationError) -> str:
    """The first fault that one of the SDK's models found."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


MAX_SESSIONS = 50_000  # of one page; some agents list all their sessions
LEGACY_MODEL = "model"  # id of the config option made of the `models` state of older agents

Tokens = dict[str, int]

_FIGURES = ("inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens")
_STATUS_LINE = re.compile(r"([\d,]{1,20}) in, ([\d,]{1,20}) out\b")


def session_id_of(answer: Json, asked: str | None) -> str:
    """The session id in an answer, or ``asked`` if it has none. Raises ProtocolBroken for a blank one."""
    named = answer.get("sessionId")
    if named is None:
        named = asked
    if not isinstance(named, str) or not named.strip():
        raise ProtocolBroken("the answer names no session")
    if len(named) > MAX_NAME:
        raise ProtocolBroken(f"the answer names a session with more than {MAX_NAME} characters")
    return named


def prompt_ended_of(answer: Json) -> PromptEnded:
    """The stop reason, usage and failure of a prompt's answer. Raises ProtocolBroken if there is no stop reason."""
    stop_reason, usage = answer.get("stopReason"), answer.get("usage")
    if not isinstance(stop_reason, str) or not stop_reason:
        raise ProtocolBroken("the answer to the prompt does not say why the turn ended")
    used = usage if isinstance(usage, dict) else _tokens_of_answer(answer)
    return PromptEnded(stop_reason, used, _failure_of(answer))


def _failure_of(answer: Json) -> TypedFailure | None:
    """The failure in an answer's `_meta.jetbrains.air.sessionFailure`, as Claude's and Codex's adapters name it."""
    found: Json = answer
    for name in ("_meta", "jetbrains", "air", "sessionFailure"):
        found = _object_or_empty(found, name)
    title = name_of(found, "title")
    if title is None or found.get("severity") == "warning":
        return None
    listed = found.get("actions")
    actions = tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()
    details = text_of(found, "details")
    return TypedFailure(
        name_of(found, "category") or "unknown", title, details[:MAX_NAME] if details else None, actions
    )


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
            for item in objects_in(answer.get("sessions"), MAX_SESSIONS)
            if isinstance(item.get("sessionId"), str)
        ),
        text_of(answer, "nextCursor") or None,
    )


def modes_of(result: Json) -> ModesChanged | None:
    """The modes in the answer to new, load, resume or fork."""
    modes = object_of(result, "modes")
    current = name_of(modes, "currentModeId") if modes is not None else None
    if modes is None or current is None:
        return None
    choices = tuple(
        ConfigChoice(mode["id"], name_of(mode, "name") or mode["id"], name_of(mode, "description"))
        for mode in objects_in(modes.get("availableModes"))
        if isinstance(mode.get("id"), str) and len(mode["id"]) <= MAX_NAME
    )
    return ModesChanged(current, choices)


def options_of(holder: Json) -> tuple[Option, ...] | None:
    """The options under ``configOptions``; None if that is not a list."""
    listed = holder.get("configOptions")
    if not isinstance(listed, list):
        return None
    return tuple(option for option in map(_option, objects_in(listed)) if option is not None)


def legacy_model_of(result: Json) -> Option | None:
    """The ``models`` state of older agents, as a config option."""
    models = object_of(result, "models")
    current = text_of(models, "currentModelId") if models is not None else None
    if models is None or current is None:
        return None
    choices = tuple(
        ConfigChoice(
            model["modelId"], name_of(model, "name") or model["modelId"], name_of(model, "description")
        )
        for model in objects_in(models.get("availableModels"))
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


def _choices(listed: object, group: str | None) -> Iterable[ConfigChoice]:
    for item in objects_in(listed):
        if isinstance(item.get("options"), list):
            yield from _choices(item["options"], name_of(item, "name") or name_of(item, "group"))
        elif isinstance(item.get("value"), str) and len(item["value"]) <= MAX_NAME:
            name = name_of(item, "name") or item["value"]
            yield ConfigChoice(item["value"], name, name_of(item, "description"), group)


PROTOCOL_VERSION = 1


def abilities_of(answer: Json) -> Abilities:
    """The abilities in an ``initialize`` answer, with the agent's quirks; invalid fields count as absent.

    Raises ValueError if there is no protocol version.
    """
    version = answer.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("no protocol version in the answer")
    info = _object_or_empty(answer, "agentInfo")
    name = name_of(info, "name") or ""
    able = _object_or_empty(answer, "agentCapabilities")
    session = _object_or_empty(able, "sessionCapabilities")
    prompt = _object_or_empty(able, "promptCapabilities")
    mcp = _object_or_empty(able, "mcpCapabilities")
    quirks = quirks_of(name)
    return Abilities(
        name=name,
        title=name_of(info, "title") or name,
        version=name_of(info, "version") or "",
        protocol_version=version,
        load=able.get("loadSession") is True,
        resume=_is_offered(session, "resume") or quirks.resume_unadvertised,
        fork=_is_offered(session, "fork"),
        list=_is_offered(session, "list"),
        close=_is_offered(session, "close"),
        delete=_is_offered(session, "delete"),
        logout=_is_offered(_object_or_empty(able, "auth"), "logout"),
        additional_directories=_is_offered(session, "additionalDirectories"),
        image=prompt.get("image") is True,
        image_limits=_image_limits(_object_or_empty(able, "_meta")),
        audio=prompt.get("audio") is True,
        embedded_context=prompt.get("embeddedContext") is True,
        mcp_http=mcp.get("http") is True,
        mcp_sse=mcp.get("sse") is True,
        steering=_object_or_empty(_object_or_empty(answer, "_meta"), "steering").get("supported") is True,
        auth_methods=auth_methods_of(answer.get("authMethods")),
        quirks=quirks,
    )


def _image_limits(meta: Json) -> ImageLimits:
    offered = _object_or_empty(meta, "imageCapability")
    most_bytes, most = (number(offered.get(key)) for key in ("maxBytes", "maxImagesPerTurn"))
    return ImageLimits(
        int(most_bytes) if most_bytes and most_bytes > 0 else None, int(most) if most and most > 0 else None
    )


def auth_methods_of(offered: object) -> tuple[AuthMethod, ...]:
    """The login methods in an ``initialize`` answer or in the data of a -32000 error; those without id are left out."""
    return tuple(_auth_method(method) for method in objects_in(offered) if isinstance(method.get("id"), str))


def _auth_method(method: Json) -> AuthMethod:
    """A login method; terminal methods were an extension under ``_meta`` before they became part of the protocol."""
    meta = _object_or_empty(method, "_meta")
    extension = _object_or_empty(meta, "terminal-auth")
    kind = text_of(method, "type") or ("terminal" if extension else text_of(meta, "type")) or "agent"
    source = extension or (meta if text_of(meta, "type") == "terminal" else method)
    command = text_of(extension, "command")
    listed = source.get("args")
    args = tuple(arg for arg in listed if isinstance(arg, str)) if isinstance(listed, list) else ()
    return AuthMethod(
        id=method["id"],
        name=name_of(method, "name") or method["id"],
        description=name_of(method, "description"),
        kind=kind,
        command=(command, *args) if command else (),
        args=() if command else args,
        env=tuple(
            (name, value) for name, value in _object_or_empty(source, "env").items() if isinstance(value, str)
        ),
        variables=tuple(
            variable["name"]
            for variable in objects_in(method.get("vars"))
            if isinstance(variable.get("name"), str)
        ),
        by_key="api-key" in meta,
    )


def _is_offered(holder: Json, name: str) -> bool:
    """True for a capability given as true or as an object, even an empty one."""
    value = holder.get(name)
    return value is True or isinstance(value, dict)


def _object_or_empty(holder: Json, name: str) -> Json:
    return object_of(holder, name) or {}


class SessionOptions:
    """The open sessions of one agent and their config options.

    The models of older agents become a config option, unless the agent has one of category model.
    """

    def __init__(self) -> None:
        self._options: dict[str, tuple[Option, ...]] = {}
        self._legacy_models: dict[str, Option] = {}

    @property
    def open_sessions(self) -> frozenset[str]:
        return frozenset(self._options)

    def add(self, answer: Json, session_id: str, replay: list[Event]) -> SessionOpened:
        """Add an opened session from its answer and its replay."""
        legacy = legacy_model_of(answer)
        if legacy is not None:
            self._legacy_models[session_id] = legacy
        options = self._with_legacy_model(session_id, options_of(answer) or ())
        self._options[session_id] = options
        return SessionOpened(session_id, modes_of(answer), options, tuple(replay))

    def replayed_state(self, opened: SessionOpened) -> Iterator[Event]:
        """Events of the replay about the session's state that the newer answer does not repeat."""
        for event in opened.replay:
            match event:
                case CommandsChanged() | TitleChanged() | UsageReported():
                    yield event
                case ModesChanged() if opened.modes is None:
                    yield event
                case OptionsChanged() if not opened.options:
                    yield event

    def complete(self, session_id: str, event: Event) -> Event:
        """An event for the listeners, with the legacy model among the options."""
        if isinstance(event, OptionsChanged):
            return OptionsChanged(self.update_options(session_id, event.options))
        return event

    def update_options(self, session_id: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Replace the session's options by those that the agent sent; return all of them."""
        options = self._with_legacy_model(session_id, options)
        if session_id in self._options:
            self._options[session_id] = options
        return options

    def is_legacy_model(self, session_id: str, option_id: str) -> bool:
        """True if the option was made of an older agent's models."""
        legacy = self._legacy_models.get(session_id)
        return legacy is not None and legacy.id == option_id and legacy in self._options.get(session_id, ())

    def set_option(self, session_id: str, option_id: str, value: str | bool) -> tuple[Option, ...]:
        """Set an option of which the agent returned no new list; return all options."""
        if self.is_legacy_model(session_id, option_id):
            self._legacy_models[session_id] = replace(self._legacy_models[session_id], value=value)
        options = tuple(
            replace(option, value=value) if option.id == option_id else option
            for option in self._options.get(session_id, ())
        )
        return self.update_options(session_id, options)

    def forget(self, session_id: str) -> None:
        """Forget a closed session."""
        self._options.pop(session_id, None)
        self._legacy_models.pop(session_id, None)

    def _with_legacy_model(self, session_id: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
        legacy = self._legacy_models.get(session_id)
        if legacy is None or any(option.category == legacy.category for option in options):
            return options
        return (legacy, *options)


def _tokens_of_answer(answer: Json) -> Tokens | None:
    """The tokens in the `_meta` of a prompt's answer."""
    meta = object_of(answer, "_meta")
    if meta is None:
        return None
    counted = _within(meta, "quota", "token_count")
    if counted is not None:
        return _tokens(counted.get("input_tokens"), counted.get("output_tokens"))
    for each in (meta, object_of(meta, "field_meta") or {}):
        line = text_of(object_of(each, "openhands.dev/metrics") or {}, "status_line")
        if line and (match := _STATUS_LINE.match(line)):
            return _tokens(*(int(number.replace(",", "") or 0) for number in match.groups()))
    return None


def tokens_of_call(update: Json) -> Tokens | None:
    """The tokens of one call of the model, in the `_meta` of a chunk."""
    used = _within(update, "_meta", "usage")
    figures = {name: number for name in _FIGURES if (number := _count((used or {}).get(name)))}
    return figures or None


def added(before: Mapping[str, int], more: Mapping[str, int]) -> Tokens:
    """The tokens of both."""
    return {name: before.get(name, 0) + more.get(name, 0) for name in (*before, *more)}


def _within(found: Json | None, *names: str) -> Json | None:
    for name in names:
        found = object_of(found, name) if found is not None else None
    return found


def _tokens(taken: object, given: object) -> Tokens | None:
    read, written = _count(taken), _count(given)
    if not read and not written:
        return None
    return {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}


def _count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return int(value) if whole else 0  # type: ignore[call-overload]
