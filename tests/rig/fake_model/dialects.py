"""How the APIs that agents speak are read and written: Anthropic messages, OpenAI chat, Gemini; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .reply import Failure, Heard, Reply, Role, Tool, without_noise

Body = Mapping[str, Any]
MODEL = "fake-model"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; ``word`` where it carries a word of the answer."""

    payload: Body | str
    name: str | None = None
    word: bool = False


class Dialect(Protocol):
    """One API."""

    name: str

    def heard(self, body: Body) -> list[Heard]:
        """The messages of a request."""
        ...

    def tools(self, body: Body) -> list[Tool]:
        """The tools of a request."""
        ...

    def stream(self, reply: Reply) -> Iterator[Event]:
        """A streamed answer."""
        ...

    def whole(self, reply: Reply, body: Body) -> Body:
        """An answer in one piece."""
        ...

    def failure(self, failure: Failure) -> Body:
        """The body of an error."""
        ...


def _texts(parts: Sequence[Any]) -> tuple[str, ...]:
    texts = (without_noise(part if isinstance(part, str) else part.get("text") or "") for part in parts)
    return tuple(text for text in texts if text.strip())


def _results(parts: Sequence[Any]) -> tuple[str, ...]:
    """The texts of tool results."""
    contents = [
        p.get("content") or () for p in parts if isinstance(p, dict) and p.get("type") == "tool_result"
    ]
    return tuple(text for each in contents for text in _texts((each,) if isinstance(each, str) else each))


def _heard_openly(messages: Sequence[Body]) -> list[Heard]:
    """Messages whose content is a text or a list of typed parts."""
    heard: list[Heard] = []
    for message in messages:
        content = message.get("content") or ()
        parts = (content,) if isinstance(content, str) else content
        result = any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)
        role = message.get("role")
        if role == "tool":
            heard.append(Heard("tool", (), tool_result=True))
        elif role in ("user", "assistant"):
            said: Role = "user" if role == "user" else "assistant"
            spoken = [p for p in parts if isinstance(p, str) or p.get("type") in ("text", None)]
            heard.append(Heard(said, _texts(spoken), tool_result=result, results=_results(parts)))
    return heard


class Anthropic:
    """The messages API."""

    name = "anthropic"

    def heard(self, body: Body) -> list[Heard]:
        return _heard_openly(body.get("messages", ()))

    def tools(self, body: Body) -> list[Tool]:
        return [Tool(tool["name"], tool.get("input_schema") or {}) for tool in body.get("tools") or ()]

    def _content(self, reply: Reply) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        if reply.thought:
            content.append({"type": "thinking", "thinking": reply.thought, "signature": "fake"})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        if reply.tool:
            call = {
                "id": f"toolu_fake{reply.number:06}",
                "name": reply.tool.name,
                "input": reply.tool.arguments,
            }
            content.append({"type": "tool_use", **call})
        return content

    def _message(self, reply: Reply, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        usage = {
            "input_tokens": 100 + reply.prompts,
            "output_tokens": 5,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        return {
            "id": f"msg_fake{reply.number:06}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }

    def whole(self, reply: Reply, body: Body) -> Body:
        return self._message(reply, self._content(reply), "tool_use" if reply.tool else "end_turn")

    def stream(self, reply: Reply) -> Iterator[Event]:
        def event(kind: str, *, word: bool = False, **fields: Any) -> Event:
            return Event({"type": kind, **fields}, kind, word)

        yield event("message_start", message=self._message(reply, [], None))
        for index, block in enumerate(self._content(reply)):
            yield event("content_block_start", index=index, content_block=_emptied(block))
            for delta, word in _deltas(block, reply):
                yield event("content_block_delta", index=index, delta=delta, word=word)
            yield event("content_block_stop", index=index)
        stop = {"stop_reason": "tool_use" if reply.tool else "end_turn", "stop_sequence": None}
        yield event("message_delta", delta=stop, usage={"output_tokens": 10})
        yield event("message_stop")

    def failure(self, failure: Failure) -> Body:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"}
        kinds |= {429: "rate_limit_error", 529: "overloaded_error"}
        kind = kinds.get(failure.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _emptied(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "tool_use":
            return {**block, "input": {}}
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case _:
            return {**block, "text": ""}


def _deltas(block: dict[str, Any], reply: Reply) -> Iterator[tuple[dict[str, Any], bool]]:
    match block["type"]:
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}, False
        case "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}, False
            yield {"type": "signature_delta", "signature": block["signature"]}, False
        case _:
            for word in reply.words:
                yield {"type": "text_delta", "text": word}, True


class OpenAIChat:
    """The chat completions API."""

    name = "chat"

    def heard(self, body: Body) -> list[Heard]:
        return _heard_openly(body.get("messages", ()))

    def tools(self, body: Body) -> list[Tool]:
        functions = [tool.get("function") or {} for tool in body.get("tools") or ()]
        return [Tool(function["name"], function.get("parameters") or {}) for function in functions]

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        if reply.tool is None:
            return []
        function = {"name": reply.tool.name, "arguments": json.dumps(reply.tool.arguments)}
        return [{"index": 0, "id": f"call_fake{reply.number:06}", "type": "function", "function": function}]

    def _head(self, reply: Reply, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-fake{reply.number:06}", "object": kind, "created": 1, "model": MODEL}

    def _usage(self, reply: Reply) -> dict[str, int]:
        asked = 100 + reply.prompts
        return {"prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5}

    def whole(self, reply: Reply, body: Body) -> Body:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.tool:
            message["tool_calls"] = self._calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.tool else "stop"}
        return {**self._head(reply, "chat.completion"), "choices": [choice], "usage": self._usage(reply)}

    def stream(self, reply: Reply) -> Iterator[Event]:
        head = self._head(reply, "chat.completion.chunk")

        def chunk(delta: Body, finish: str | None = None, *, word: bool = False) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return Event({**head, "choices": [choice]}, word=word)

        yield chunk({"role": "assistant", "content": ""})
        if reply.thought:
            yield chunk({"reasoning_content": reply.thought})
        for word in reply.words:
            yield chunk({"content": word}, word=True)
        if reply.tool:
            yield chunk({"tool_calls": self._calls(reply)})
        yield chunk({}, "tool_calls" if reply.tool else "stop")
        yield Event({**head, "choices": [], "usage": self._usage(reply)})
        yield Event("[DONE]")

    def failure(self, failure: Failure) -> Body:
        codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
        error = {"message": failure.message, "type": "fake", "param": None, "code": codes.get(failure.status)}
        return {"error": error}


class Gemini:
    """The generateContent API."""

    name = "gemini"

    def heard(self, body: Body) -> list[Heard]:
        heard: list[Heard] = []
        for message in body.get("contents", ()):
            parts = message.get("parts", ())
            role: Role = "assistant" if message.get("role") == "model" else "user"
            result = any("functionResponse" in part for part in parts)
            heard.append(Heard(role, _texts([p for p in parts if not p.get("thought")]), tool_result=result))
        return heard

    def tools(self, body: Body) -> list[Tool]:
        return [
            Tool(function["name"], function.get("parameters") or function.get("parametersJsonSchema") or {})
            for tool in body.get("tools") or ()
            for function in tool.get("functionDeclarations") or ()
        ]

    def _answer(self, reply: Reply, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        asked = 100 + reply.prompts
        usage = {"promptTokenCount": asked, "candidatesTokenCount": 5, "totalTokenCount": asked + 5}
        head = {"usageMetadata": usage, "modelVersion": MODEL, "responseId": f"r{reply.number}"}
        return {"candidates": [candidate], **head}

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        if reply.tool is None:
            return []
        call = {"name": reply.tool.name, "args": reply.tool.arguments, "id": f"gc{reply.number}"}
        return [{"functionCall": call}]

    def whole(self, reply: Reply, body: Body) -> Body:
        text = reply.text
        wanted = body.get("generationConfig") or {}
        if "json" in (wanted.get("responseMimeType") or "") or "responseJsonSchema" in wanted:
            # The agent asks itself who speaks next and how hard the task is; it wants these fields.
            judgement = {
                "reasoning": "fake",
                "next_speaker": "user",
                "model_choice": "flash",
                "title": "fake",
            }
            text = json.dumps({**judgement, "complexity_reasoning": "fake", "complexity_score": 10})
        return self._answer(reply, ([{"text": text}] if text else []) + self._calls(reply), "STOP")

    def stream(self, reply: Reply) -> Iterator[Event]:
        if reply.thought:
            yield Event(self._answer(reply, [{"text": reply.thought, "thought": True}]))
        for word in reply.words:
            yield Event(self._answer(reply, [{"text": word}]), word=True)
        if reply.tool:
            yield Event(self._answer(reply, self._calls(reply)))
        yield Event(self._answer(reply, [] if reply.text else [{"text": ""}], "STOP"))

    def failure(self, failure: Failure) -> Body:
        names = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT"}
        status = names.get(failure.status, "INTERNAL")
        return {"error": {"code": failure.status, "message": failure.message, "status": status}}


def dialect_of(path: str) -> Dialect | None:
    """The API that a request path belongs to, None where it is none of the three."""
    if path.endswith("/messages"):
        return Anthropic()
    if path.endswith("/chat/completions"):
        return OpenAIChat()
    if ":generateContent" in path or ":streamGenerateContent" in path:
        return Gemini()
    return None
