"""The simulated login, with its state in a file that other processes see."""

from __future__ import annotations

import sys
from typing import Any, Final

from catena_acp.rehearsal.rpc import LOGIN_REQUIRED, Refusal
from catena_acp.rehearsal.settings import Options

METHOD: Final = "rehearsal-login"


class Login:
    """State of the login; the file overrides ``--auth``."""

    def __init__(self, options: Options) -> None:
        self._file = options.home / "login"
        self._auth = options.auth

    @property
    def required(self) -> bool:
        """True if requests for sessions are refused."""
        if self._auth == "none":
            return False
        try:
            return self._file.read_text() == "wanted"
        except FileNotFoundError:
            return self._auth in ("required", "terminal")

    def require(self) -> None:
        """Require a login from now on."""
        self._write("wanted")

    def complete(self) -> None:
        """Record a login."""
        self._write("done")

    def refusal(self) -> Refusal:
        """The error for a request that requires a login."""
        return Refusal(LOGIN_REQUIRED, "Authentication required", {"authMethods": self.methods()})

    def methods(self) -> list[dict[str, Any]]:
        """The login methods for ``initialize``."""
        match self._auth:
            case "none":
                return []
            case "terminal":
                about = {"name": "Log in, in the terminal", "description": "Runs this agent with --login"}
                line = {"command": sys.executable, "args": ["-m", "catena_acp.rehearsal", "--login"]}
                meta = {"terminal-auth": {**line, "label": "Rehearsal login"}}
                return [{"id": METHOD, **about, "type": "terminal", "args": ["--login"], "_meta": meta}]
            case _:
                return [{"id": METHOD, "name": "Pretend to log in", "description": "Needs no input"}]

    def _write(self, state: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file.write_text(state)
