"""What the agent says of itself: the answer to ``initialize``."""

from __future__ import annotations

from typing import Any

from catena_acp.rehearsal.login import Login
from catena_acp.rehearsal.options import Options


def handshake(options: Options, login: Login) -> dict[str, Any]:
    """The abilities that are switched on. Fork at a message is not among them, as with the agents that have it."""
    can = {"list": options.list, "resume": options.resume, "fork": options.fork}
    can |= {"close": options.close, "delete": options.delete, "additionalDirectories": options.directories}
    return {
        "protocolVersion": 1,
        "agentInfo": {"name": options.name, "title": "Rehearsal", "version": options.version},
        "agentCapabilities": {
            "loadSession": options.load,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {name: {} for name, yes in can.items() if yes},
            **({} if options.auth == "none" else {"auth": {"logout": {}}}),
        },
        "authMethods": login.methods(),
        **({"_meta": {"steering": {"supported": True}}} if options.steering else {}),
    }
