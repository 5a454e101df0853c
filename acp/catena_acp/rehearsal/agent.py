"""The agent: the methods that a client may call, and the open sessions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

from catena_acp.rehearsal import settings
from catena_acp.rehearsal.faults import Fault, Faults
from catena_acp.rehearsal.rpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    MessageLog,
    Refusal,
    RpcChannel,
    exit_process,
)
from catena_acp.rehearsal.runner import start_turn
from catena_acp.rehearsal.scenes.failures import kill_process
from catena_acp.rehearsal.settings import METHOD, Login, Options
from catena_acp.rehearsal.transcripts import (
    Exchange,
    NoSuchSession,
    SessionTranscript,
    TranscriptStore,
    fork_point,
    replay,
)
from catena_acp.rehearsal.turn import ScriptedTurn, Session, offers


def handshake(options: Options, login: Login) -> dict[str, Any]:
    """The ``initialize`` answer; like real agents, it does not advertise fork at a message."""
    can = {"list": options.list, "resume": options.resume, "fork": options.fork}
    can |= {"close": options.close, "delete": options.delete, "additionalDirectories": options.directories}
    return {
        "protocolVersion": 1,
        "agentInfo": {"name": options.name, "title": "Rehearsal", "version": options.version},
        "agentCapabilities": {
            "loadSession": options.load,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": options.mcp_http, "sse": options.mcp_http},
            "sessionCapabilities": {name: {} for name, yes in can.items() if yes},
            **({} if options.auth == "none" else {"auth": {"logout": {}}}),
        },
        "authMethods": login.methods(),
        **({"_meta": {"steering": {"supported": True}}} if options.steering else {}),
    }


_PAGE: Final = 50
_LOGIN_METHODS: Final = frozenset(
    {"session/new", "session/load", "session/resume", "session/fork", "session/prompt"}
)

Params = dict[str, Any]


class RehearsalAgent:
    """Answers requests in the reader's thread; each turn runs in its own thread."""

    def __init__(self, rpc: RpcChannel, options: Options, log: MessageLog, new_id: Callable[[], str]) -> None:
        self._rpc = rpc
        self._options = options
        self._log = log
        self._new_id = new_id
        self._faults = Faults(options.faults)
        self._login = Login(options)
        self._transcripts = TranscriptStore(options.home / "sessions", new_id)
        self._sessions: dict[str, Session] = {}
        self._client: dict[str, Any] = {}

    def serve(self) -> None:
        """Handle messages until the input ends."""
        for message in self._rpc.messages():
            self._log.message(message)
            method = message.get("method")
            if not isinstance(method, str):
                self._rpc.settle(message)
            elif "id" in message:
                self._request(message["id"], method, message.get("params"))
            elif method == "session/cancel":
                self._cancel(message.get("params"))

    def _request(self, request_id: Any, method: str, params: Any) -> None:
        fault = self._faults.take(method)
        if "delay" in fault or "cue" in fault:
            late = (request_id, method, params, fault)
            threading.Thread(target=self._answer_late, args=late, daemon=True).start()
        else:
            self._answer(request_id, method, params, fault)

    def _answer_late(self, request_id: Any, method: str, params: Any, fault: Fault) -> None:
        if "cue" in fault:
            self._options.cues.wait(fault["cue"], threading.Event())
        time.sleep(fault.get("delay", 0))
        self._answer(request_id, method, params, fault)

    def _answer(self, request_id: Any, method: str, params: Any, fault: Fault) -> None:
        try:
            match fault:
                case {"exit": int(status)}:
                    exit_process(status)
                case {"kill": True}:
                    kill_process()
                case {"silent": True}:
                    return
                case {"login": True}:
                    self._login.require()
                    raise self._login.refusal()
                case {"error": [int(code), str(words), *data]}:
                    raise Refusal(code, words, data[0] if data else None)
                case {"result": result}:
                    self._rpc.answer(request_id, result)
                    return
            if not isinstance(params, dict):
                raise Refusal(INVALID_PARAMS, "Invalid params")
            if method in _LOGIN_METHODS and self._login.required:
                raise self._login.refusal()
            self._call(request_id, method, params, fault)
        except Refusal as refusal:
            self._rpc.refuse(request_id, refusal)

    def _call(self, request_id: Any, method: str, params: Params, fault: Fault) -> None:
        offered = self._options
        match method:
            case "initialize":
                self._rpc.answer(request_id, self._initialize(params))
            case "authenticate":
                self._rpc.answer(request_id, self._authenticate(params))
            case "logout" if offered.auth != "none":
                self._login.require()
                self._rpc.answer(request_id, {})
            case "session/new":
                self._answer_opened(request_id, self._new(params, fault), names_it=True)
            case "session/load" if offered.load:
                session = self._reopen(params, fault)
                if offered.replay == "faithful" and "mute" not in fault:
                    self._replay(session)
                self._answer_opened(request_id, session, names_it="other_id" in fault)
            case "session/resume" if offered.resume:
                session = self._reopen(params, fault)
                if offered.resume_replays:
                    self._replay(session)
                self._answer_opened(request_id, session, names_it="other_id" in fault)
            case "session/fork" if offered.fork:
                session = self._fork(params, fault)
                if offered.fork_replays is not None:
                    self._replay(session, last=offered.fork_replays)
                self._answer_opened(request_id, session, names_it=True)
            case "session/list" if offered.list:
                self._rpc.answer(request_id, self._list(params))
            case "session/close" if offered.close:
                self._close(params.get("sessionId"))
                self._rpc.answer(request_id, {})
            case "session/delete" if offered.delete:
                self._close(params.get("sessionId"))
                self._transcripts.delete(str(params.get("sessionId")))
                self._rpc.answer(request_id, {})
            case "session/prompt":
                self._prompt(request_id, params)
            case "_session/steering" if offered.steering:
                self._steer(request_id, params)
            case "session/set_mode" if offered.modes:
                self._set_mode(request_id, params)
            case "session/set_config_option" if offered.options:
                self._set_option(request_id, params)
            case _:
                raise Refusal(METHOD_NOT_FOUND, "Method not found", {"method": method})

    def _initialize(self, params: Params) -> dict[str, Any]:
        client = params.get("clientCapabilities")
        self._client = client if isinstance(client, dict) else {}
        return handshake(self._options, self._login)

    def _authenticate(self, params: Params) -> dict[str, Any]:
        if self._options.auth in ("none", "terminal") or params.get("methodId") != METHOD:
            raise Refusal(INVALID_PARAMS, "no such login method")
        self._login.complete()
        return {}

    def _new(self, params: Params, fault: Fault) -> Session:
        cwd = _cwd(params)
        if "same_id" in fault and self._sessions:
            return list(self._sessions.values())[-1]
        return self._add_session(self._transcripts.create(cwd))

    def _reopen(self, params: Params, fault: Fault) -> Session:
        cwd = _cwd(params)
        known = self._sessions.get(str(params.get("sessionId")))
        transcript = known.transcript if known else self._open_transcript(params)
        if "other_id" in fault:
            return self._add_session(self._transcripts.create(cwd))
        if "empty" in fault or "last" in fault:
            transcript.exchanges[:] = _abridge(transcript.exchanges, fault)
        return known or self._add_session(transcript)

    def _fork(self, params: Params, fault: Fault) -> Session:
        cwd = _cwd(params)
        known = self._sessions.get(str(params.get("sessionId")))
        if known is None and not self._options.cold_fork:
            raise Refusal(INVALID_PARAMS, f"Session not found: {params.get('sessionId')}")
        source = known.transcript if known else self._open_transcript(params)
        exchanges = fork_point(source, params.get("_meta"), self._options.fork_at)
        if "same_id" in fault:
            return known or self._add_session(source)
        return self._add_session(self._transcripts.fork(source, cwd, _abridge(exchanges, fault)))

    def _replay(self, session: Session, *, last: int = 0) -> None:
        replay(session.transcript, self._rpc, message_ids=self._options.message_ids, last=last)

    def _answer_opened(self, request_id: Any, session: Session, *, names_it: bool) -> None:
        """Answer with an opened session's modes and options; its commands follow as an update, as with real agents."""
        result: dict[str, Any] = {"sessionId": session.id} if names_it else {}
        if self._options.modes:
            result["modes"] = session.settings.modes()
        if self._options.options:
            result["configOptions"] = self._offered_options(session)
        self._rpc.answer(request_id, result)
        if self._options.commands:
            self._send_update(
                session,
                {"sessionUpdate": "available_commands_update", "availableCommands": settings.commands()},
            )

    def _list(self, params: Params) -> dict[str, Any]:
        cursor = str(params.get("cursor") or 0)
        if not cursor.isdecimal():
            raise Refusal(INVALID_PARAMS, "no such page")
        cwd = params.get("cwd")
        found = [pair for pair in self._transcripts.all() if cwd is None or pair[0].cwd == cwd]
        start, end = int(cursor), int(cursor) + _PAGE
        page: dict[str, Any] = {
            "sessions": [
                {
                    "sessionId": known.id,
                    "cwd": known.cwd,
                    "title": known.title,
                    "updatedAt": changed.isoformat(),
                }
                for known, changed in found[start:end]
            ]
        }
        if end < len(found):
            page["nextCursor"] = str(end)
        return page

    def _close(self, session_id: Any) -> None:
        session = self._sessions.pop(str(session_id), None)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    def _cancel(self, params: Any) -> None:
        session = self._sessions.get(str(params.get("sessionId"))) if isinstance(params, dict) else None
        if session is not None and session.turn is not None:
            session.turn.cancel()

    def _prompt(self, request_id: Any, params: Params) -> None:
        session = self._session(params)
        prompt = params.get("prompt")
        if not isinstance(prompt, list) or not prompt:
            raise Refusal(INVALID_PARAMS, "A prompt has at least one block")
        if session.turn is not None:
            raise Refusal(INVALID_REQUEST, "A turn is already running in this session")
        exchange = Exchange(id=self._new_id(), prompt_id=self._new_id(), prompt=tuple(prompt))
        turn = ScriptedTurn(
            id=exchange.id,
            request_id=request_id,
            prompt=exchange.prompt,
            session=session,
            rpc=self._rpc,
            options=self._options,
            abilities=self._client,
            new_id=self._new_id,
        )
        session.turn = turn
        session.transcript.add_prompt(exchange)
        if self._options.echo_user:
            for block in prompt:
                echoed = {
                    "sessionUpdate": "user_message_chunk",
                    "content": block,
                    "messageId": exchange.prompt_id,
                }
                turn.update(echoed)
        start_turn(turn, self._log)

    def _steer(self, request_id: Any, params: Params) -> None:
        """Steer the running turn; where none runs, the outcome is `promptRequired`."""
        turn = self._session(params).turn
        prompt = params.get("prompt")
        if not isinstance(prompt, list) or not prompt:
            raise Refusal(INVALID_PARAMS, "A prompt has at least one block")

        def answer(outcome: str) -> None:
            self._rpc.answer(request_id, {"outcome": outcome})

        if turn is None or not turn.steer(tuple(prompt), lambda: answer("injected")):
            answer("promptRequired")

    def _set_mode(self, request_id: Any, params: Params) -> None:
        session = self._session(params)
        session.settings.set_mode(params.get("modeId"))
        self._rpc.answer(request_id, {})
        if self._options.options:
            options = self._offered_options(session)
            self._send_update(session, {"sessionUpdate": "config_option_update", "configOptions": options})

    def _set_option(self, request_id: Any, params: Params) -> None:
        session = self._session(params)
        session.settings.set(params.get("configId"), params.get("value"))
        self._rpc.answer(request_id, {"configOptions": self._offered_options(session)})
        if params.get("configId") == "mode" and self._options.modes:
            self._send_update(
                session, {"sessionUpdate": "current_mode_update", "currentModeId": params.get("value")}
            )

    def _offered_options(self, session: Session) -> list[dict[str, Any]]:
        booleans = offers(self._client, "session", "configOptions", "boolean")
        return session.settings.options(booleans=booleans)

    def _send_update(self, session: Session, update: dict[str, Any]) -> None:
        self._rpc.notify("session/update", {"sessionId": session.id, "update": update})

    def _session(self, params: Params) -> Session:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise _not_found(params)
        return session

    def _open_transcript(self, params: Params) -> SessionTranscript:
        try:
            return self._transcripts.open(str(params.get("sessionId")))
        except NoSuchSession as error:
            raise _not_found(params) from error

    def _add_session(self, transcript: SessionTranscript) -> Session:
        session = Session(transcript, self._options.unasked)
        self._sessions[session.id] = session
        return session


def serve(options: Options, log: MessageLog, new_id: Callable[[], str]) -> None:
    """Serve an agent on standard input and output until the input ends."""
    time.sleep(options.start_delay)
    rpc = RpcChannel(0, 1)
    if options.banner:
        rpc.write(b"Welcome to the rehearsal!\n")
    RehearsalAgent(rpc, options, log, new_id).serve()
    if options.stubborn:
        time.sleep(600)
    exit_process(0)


def _cwd(params: Params) -> str:
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not PurePath(cwd).is_absolute():
        raise Refusal(INVALID_PARAMS, "cwd must be an absolute path")
    if not isinstance(params.get("mcpServers", []), list):
        raise Refusal(INVALID_PARAMS, "mcpServers must be a list")
    return os.path.normpath(cwd)


def _abridge(exchanges: list[Exchange], fault: Fault) -> list[Exchange]:
    if "empty" in fault:
        return []
    return exchanges[-fault["last"] :] if fault.get("last") else exchanges


def _not_found(params: Params) -> Refusal:
    return Refusal(NOT_FOUND, "Resource not found", {"sessionId": params.get("sessionId")})
