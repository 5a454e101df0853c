"""Files below ``share`` that are installed with the program: its manual page, and completion for shells."""

from __future__ import annotations

from collections.abc import Mapping


def shared_files() -> Mapping[str, str]:
    """The text of each file, by its path in the directory that the program is installed in."""
    from catena import __version__
    from catena.cli.arguments import FILES, VARIABLES, command_table
    from catena.cli.completion.scripts import script
    from catena.cli.manual import manual_page

    return {
        "share/man/man1/catena.1": manual_page(
            command_table(), __version__, files=FILES, variables=VARIABLES
        ),
        "share/bash-completion/completions/catena": script("bash"),
        "share/zsh/site-functions/_catena": script("zsh"),
        "share/fish/vendor_completions.d/catena.fish": script("fish"),
    }
