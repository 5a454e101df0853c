"""How a request is made: through the SDK or past it, within a time, its errors made ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from acp import RequestError
from pydantic import ValidationError

from catena_acp.errors import AgentGone, AgentRefused, AgentSilent, ProtocolBroken
from catena_acp.reading import Json
from catena_acp.refusals import refusal
from catena_acp.transport import CURRENT_CALL, Call, StdioTransport


class Requests:
    """The one place where requests to an agent are made.

    ``gone`` tells how the agent ended, once its connection fails.
    """

    def __init__(self, transport: StdioTransport, gone: Callable[[], Awaitable[AgentGone]]) -> None:
        self._transport = transport
        self._gone = gone
        self.agent_name = ""

    async def ask(
        self,
        request: Callable[[], Awaitable[object]],
        *,
        limit: float | None = None,
        session_id: str | None = None,
        opening: bool = False,
        anchor: str | None = None,
        additions: dict[str, Any] | None = None,
    ) -> Json:
        """Make a request through the SDK and return the result as the agent wrote it, an empty one for null.

        The answer is awaited in this very task, and nothing stands between its arrival and our return: what was told
        before it is known by then, and what is told after it is not.
        """
        call = Call(additions)
        token = CURRENT_CALL.set(call)
        try:
            async with asyncio.timeout(limit):
                await request()
        except TimeoutError as error:
            raise AgentSilent(f"no answer within {limit:g} seconds") from error
        except RequestError as error:
            raise self._refusal(error.code, str(error), error.data, session_id, opening, anchor) from error
        except ValidationError as error:
            # An answer that the SDK's models do not fit is read all the same; a request that they do not fit is ours.
            if not call.answered:
                raise ProtocolBroken(f"the request cannot be made: {_first_words(error)}") from error
        except OSError as error:
            raise await self._gone() from error
        finally:
            CURRENT_CALL.reset(token)
            self._transport.forget(call)
        return _object(call.result)

    async def raw(
        self, method: str, params: dict[str, Any], *, limit: float, session_id: str | None = None
    ) -> Json:
        """Make a request that the SDK has no method for."""
        try:
            async with asyncio.timeout(limit):
                answer = await self._transport.request(method, params)
        except TimeoutError as error:
            raise AgentSilent(f"no answer within {limit:g} seconds") from error
        except OSError as error:
            raise await self._gone() from error
        refused = answer.get("error")
        if refused is not None:
            raise self._refusal(refused["code"], refused["message"], refused["data"], session_id, False, None)
        return _object(answer["result"])

    async def notify(self, notification: Callable[[], Awaitable[None]]) -> None:
        """Send a notification through the SDK; it does not wait until the agent reads it."""
        try:
            await notification()
        except OSError as error:
            raise await self._gone() from error

    def _refusal(
        self, code: int, message: str, data: Any, session_id: str | None, opening: bool, anchor: str | None
    ) -> AgentRefused:
        return refusal(
            code,
            message,
            data,
            session_id=session_id,
            opening=opening,
            anchor=anchor,
            agent_name=self.agent_name,
        )


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _first_words(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
