"""Process groups: who is in one, since when, how to end one, and a guard that ends one when we are gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

_PROC = Path("/proc")
_TERM_SECONDS = 2.0
_KILL_SECONDS = 1.0

# Reads a pipe whose other end only we hold. A line means that all is well; its end means that we died without a word.
# The group's leader is compared with the start time it had: a number that is used again by another must not be killed.
_GUARD = r"""
started() {
  if [ -r /proc/self/stat ]; then
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return
    set -- ${stat##*) }
    echo "${20}"
  else
    LC_ALL=C TZ=UTC ps -o lstart= -p "$1" 2>/dev/null
  fi
}
same() { now=$(started "$1"); [ -z "$now" ] || [ "$now" = "$2" ]; }
read -r line && exit 0
same "$1" "$2" && kill -TERM "-$1" 2>/dev/null || exit 0
sleep 2
same "$1" "$2" && kill -KILL "-$1" 2>/dev/null
exit 0
"""


def process_start_time(pid: int) -> str | None:
    """When a process started, as text that no other process with the same number has; None where there is none.

    A zombie is none. Does not block on Linux; elsewhere it asks ``ps``.
    """
    raw = _raw_start_time(pid)
    if raw is None or not _has_proc():
        return raw
    return f"{raw}@{_boot_id()}"


async def end_group(pid: int, started: str) -> bool:
    """End a process group that somebody else left behind; True where it is proved gone.

    ``pid`` is its leader, ``started`` what ``process_start_time`` said of it. A leader with another start time means
    that the number is used again, hence that the group is gone: nothing is killed. A group without its leader is left
    alone too, since nothing proves whose it is.
    """
    now = process_start_time(pid)
    if now is None:
        return not group_exists(pid)
    if now != started:
        return True
    for number, seconds in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        if not signal_group(pid, number):
            return False
        if await wait_until_gone(pid, seconds):
            return True
    return False


async def wait_until_gone(group: int, seconds: float) -> bool:
    """Wait until nothing runs in the group any more; False where something still does after ``seconds``."""
    deadline = time.monotonic() + seconds
    while group_exists(group):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to every process of the group; False where that is not allowed."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return True
    except PermissionError:  # also what macOS says of a group that consists of zombies
        return not group_exists(group)
    return True


def group_exists(group: int) -> bool:
    """True while a process of the group runs; zombies do not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not _has_proc():
        return True
    return any(_group_and_state(entry) == (group, True) for entry in _PROC.iterdir() if entry.name.isdigit())


class Guard:
    """A tiny process that ends a process group as soon as we are gone, ``kill -9`` included.

    It waits in a session of its own, in a shell's ``read``, and costs some hundred kilobytes.
    """

    def __init__(self, group: int) -> None:
        """Raises OSError where there is no shell."""
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "catena-guard", str(group), _raw_start_time(group) or ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    async def release(self) -> None:
        """Let it go without ending anything."""
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b"done\n")
            pipe.flush()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
        try:
            await asyncio.to_thread(self._process.wait, 1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def _has_proc() -> bool:
    return sys.platform == "linux" and (_PROC / "self/stat").exists()


def _boot_id() -> str:
    """Start times count from the machine's own start, so they say nothing across two of them."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        return ""


def _raw_start_time(pid: int) -> str | None:
    if _has_proc():
        fields = _stat_fields(_PROC / str(pid))
        return fields[19] if len(fields) > 19 and fields[0] != "Z" else None
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    asked = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], env=environment, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or None


def _group_and_state(entry: Path) -> tuple[int, bool] | None:
    """The group of a process, and whether it runs."""
    fields = _stat_fields(entry)
    return (int(fields[2]), fields[0] not in "ZX") if len(fields) > 2 else None


def _stat_fields(entry: Path) -> list[str]:
    """What follows the process's name in ``stat``: state, parent, group, …, and the start time in the 20th place."""
    try:
        text = (entry / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text[text.rfind(")") + 1 :].split()


def parse_start_time(started: str) -> datetime | None:
    """When the process began of which ``process_start_time`` said this; None where that cannot be told.

    Linux only: there the start is kept in clock ticks since the machine was started.
    """
    ticks = started.partition("@")[0]
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None or not ticks.isdecimal():
        return None
    up_since = time.time() - time.clock_gettime(clock)
    return datetime.fromtimestamp(up_since + int(ticks) / os.sysconf("SC_CLK_TCK"), UTC)
