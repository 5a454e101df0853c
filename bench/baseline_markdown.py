"""What Textual gives out of the box: one Markdown widget a message, fed with joined chunks 30 times a second.

It is the yardstick in the same run, on the same machine: ``python bench/baseline_markdown.py COMMAND`` speaks
just enough of the protocol with the agent COMMAND for the scenarios.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Markdown, TextArea

FRAME = 1 / 30


class Composer(TextArea):
    """Where the prompt is typed."""

    DEFAULT_CSS = "Composer { height: 5; }"

    class Submitted(Message):
        """Enter was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text  # everything that stood in the composer

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self.text))
            self.text = ""
        else:
            await super()._on_key(event)


class Baseline(App[None]):
    """The chat."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "VerticalScroll { height: 1fr; } Markdown { height: auto; }"

    def __init__(self, command: list[str]) -> None:
        super().__init__()
        self._command = command
        self._session = "replayed"
        self._sent = 0
        self._growing: Markdown | None = None
        self._waiting: list[str] = []

    def compose(self) -> ComposeResult:
        """The conversation above, the composer below."""
        yield VerticalScroll()
        yield Composer(placeholder="Message")

    def on_mount(self) -> None:
        """Start the agent behind the first frame."""
        self.query_one(VerticalScroll).anchor()
        self.query_one(Composer).focus()
        self.run_worker(self._converse())
        self.set_interval(FRAME, self._draw)

    async def on_composer_submitted(self, message: Composer.Submitted) -> None:
        """Send the prompt."""
        await self._show(message.text)
        self._growing = None
        prompt = [{"type": "text", "text": message.text}]
        self._request("session/prompt", {"sessionId": self._session, "prompt": prompt})

    async def _converse(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._agent = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=2**24
        )
        self._request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        assert self._agent.stdout is not None
        async for line in self._agent.stdout:
            await self._receive(json.loads(line))

    async def _receive(self, message: dict[str, Any]) -> None:
        result = message.get("result", {})
        if "agentCapabilities" in result:
            # The agent that replays offers nothing but loading.
            if result["agentCapabilities"]["sessionCapabilities"]:
                self._request("session/new", {"cwd": "/", "mcpServers": []})
            else:
                self._request("session/load", {"sessionId": self._session, "cwd": "/", "mcpServers": []})
        elif "sessionId" in result:
            self._session = result["sessionId"]
        elif message.get("method") == "session/update":
            update = message["params"]["update"]
            text = update["content"]["text"]
            if update["sessionUpdate"] == "user_message_chunk":
                await self._show(text)
                self._growing = None
            else:
                if self._growing is None:
                    self._growing = await self._show("")
                self._waiting.append(text)
                await self._draw_if_replayed()

    async def _draw_if_replayed(self) -> None:
        # A replay changes message too quickly to leave its text for the next frame.
        if self._session == "replayed":
            await self._draw()

    async def _show(self, text: str) -> Markdown:
        widget = Markdown(text)
        await self.query_one(VerticalScroll).mount(widget)
        return widget

    async def _draw(self) -> None:
        if self._waiting and self._growing is not None:
            text = "".join(self._waiting)
            self._waiting.clear()
            await self._growing.append(text)

    def _request(self, method: str, parameters: dict[str, Any]) -> None:
        self._sent += 1
        request = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": parameters}
        assert self._agent.stdin is not None
        self._agent.stdin.write(json.dumps(request).encode() + b"\n")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        Baseline(shlex.split(sys.argv[1])).run()
