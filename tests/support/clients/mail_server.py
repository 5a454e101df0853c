"""An MCP server that "sends" mails, as a program of the standard library: `python mail_server.py OUTBOX`.

Each mail is a line of the file OUTBOX: who was written to, so that a mail which was sent twice is seen there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS = (
    {
        "name": "mail_send",
        "description": "Send a mail.",
        "inputSchema": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "subject": {"type": "string"}},
            "required": ["to", "subject"],
        },
    },
    {
        "name": "mail_sent",
        "description": "List to whom mails were sent.",
        "inputSchema": {"type": "object", "properties": {}},
    },
)


def answer(method: str, params: dict[str, Any], outbox: Path) -> dict[str, Any]:
    """The result of a request."""
    sent = outbox.read_text().splitlines() if outbox.exists() else []
    match method, params:
        case "initialize", _:
            info = {"name": "mail", "version": "1"}
            version = params.get("protocolVersion", "2025-06-18")
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list", _:
            return {"tools": TOOLS}
        case "tools/call", {"name": "mail_send", "arguments": {"to": str(to)}}:
            outbox.write_text("".join(f"{line}\n" for line in (*sent, to)))
            return text(f"Sent to {to} as message {len(sent) + 1}.\nDelivered.")
        case "tools/call", _:
            return text("\n".join(sent))
        case _:
            return {}


def text(words: str) -> dict[str, Any]:
    """What a tool brought."""
    return {"content": [{"type": "text", "text": words}], "isError": False}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {}, Path(sys.argv[1]))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
