"""Installs of agents from a list of them: `catena agents install` runs in the terminal, where it shows and asks.

Nothing is fetched by the process that draws the screen.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from textual.app import App

from catena.errors import ExitStatus
from catena.settings.agent_choices import AgentChoice
from catena.terminal.programs import TerminalUnavailable, run_in_terminal
from catena.text.safe_text import safe_line


async def install_in_terminal(app: App[Any], choice: AgentChoice) -> tuple[bool, str]:
    """Offer to install an agent, with the screen suspended; whether it is installed now, and that in a sentence."""
    title = safe_line(choice.title)
    # `-P`: nothing of the directory that Catena was started in is imported.
    command = (sys.executable, "-P", "-m", "catena", "agents", "install", choice.name)
    try:
        status = await run_in_terminal(
            app, command, directory=str(Path.home()), wait_message="\nPress Enter to return to Catena."
        )
    except (OSError, TerminalUnavailable):
        return (
            False,
            f"{title} is not installed. This terminal cannot be used; run {choice.how} in another one.",
        )
    if status == ExitStatus.ANSWERED:
        return True, f"{title} is installed."
    if status == ExitStatus.STOPPED:
        return False, f"{title} was not installed."
    return False, f"{title} was not installed; {choice.how} says why."
