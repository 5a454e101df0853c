"""A command that runs for the agent, as the person sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.screen.pilot import at_the_screen


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


async def test_w11_output_stands_in_the_tool_call_as_it_comes_and_stays(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(
        "echo one\necho two\nprintf '\\033[33m50 %%\\033[0m'\n"
        "while [ ! -e go ]; do sleep 0.02; done\n"
        "printf '\\r\\033[K'\necho three\necho four\nexit 3\n"
    )
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("terminal sh job.sh")
        await person.sees("Run", "sh job.sh", "  one", "  50 %", "esc stop")
        (tmp_path / "go").touch()
        seen = await person.sees("exit 3", "… 1 line ▸", "  four", "The terminal said")
        assert "50 %" not in seen
        await person.idle()
        await person.browse()
        await person.press("k", "enter")
        await person.sees("  one\n", "  four")
