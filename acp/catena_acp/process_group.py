"""Process groups and sessions: start times, existence, signals, and a guard that ends them when Catena dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from catena_store.records import Owner

_PROC = Path("/proc")
_TERM_SECONDS = 2.0
_KILL_SECONDS = 1.0
_FOREIGN_SILENCE = timedelta(seconds=60)  # after which a client of another machine counts as gone

# Reads a pipe of which only we hold the other end: its lines name groups to watch, and groups to leave alone, as
# `pid:start`; its end means that we died, or that all are left alone. A leader's start time is compared first, so that
# a process id in use by another process is not killed. With the leader's group end those of its session: `timeout`,
# and shells with job control, make groups of their own.
_GUARD = r"""
started() {
  if [ -r /proc/self/stat ]; then
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return
    set -- ${stat##*) }
    echo "${20}"
  else
    set -- $(LC_ALL=C TZ=UTC ps -o lstart= -p "$1" 2>/dev/null)
    (IFS=_; echo "$*")
  fi
}
same() { now=$(started "$1"); [ -z "$now" ] || [ "$now" = "$2" ]; }
signal_all() {
  kill "-$1" "-$2" 2>/dev/null
  for file in /proc/[0-9]*/stat; do
    { read -r stat < "$file"; } 2>/dev/null || continue
    number=$1 leader=$2
    set -- "$1" "$2" ${stat##*) }
    [ "$6" = "$leader" ] && [ "$5" != "$leader" ] && kill "-$number" "-$5" 2>/dev/null
    set -- "$number" "$leader"
  done
}
signal_each() {
  for each in $watched; do
    same "${each%%:*}" "${each#*:}" && signal_all "$1" "${each%%:*}"
  done
}
watched=
while read -r word one; do
  if [ "$word" = watch ]; then
    watched="$watched $one"
  else
    others=
    for each in $watched; do
      [ "$each" = "$one" ] || others="$others $each"
    done
    watched=$others
  fi
done
[ -n "$watched" ] || exit 0
signal_each TERM
sleep 2
signal_each KILL
exit 0
"""


def process_start_time(pid: int) -> str | None:
    """The start time of a process, as text that differs from every other process with the same id; None without one.

    A zombie counts as none. Does not block on Linux; runs ``ps`` elsewhere.
    """
    raw = _raw_start_time(pid)
    if raw is None or not _has_proc():
        return raw
    return f"{raw}@{_boot_id()}"


def is_running(owner: Owner, heartbeat_at: datetime | None, now: datetime) -> bool:
    """True if a client process lives: known for one of this machine, inferred from its heartbeat for another."""
    if owner.host == socket.gethostname():
        return process_start_time(owner.pid) == owner.started
    return heartbeat_at is not None and now - heartbeat_at <= _FOREIGN_SILENCE


async def end_group(pid: int, started: str) -> bool:
    """End a process group that a dead client left behind; True if it is proved gone.

    ``pid`` is its leader, ``started`` the leader's ``process_start_time``. Another start time means that the id is in
    use again and the group gone: nothing is killed. A group without a leader is left alone too, since nothing proves
    whose it is, and so is a number that no group of an agent's can have: to signal 0, 1 or less reaches others.
    """
    if not 1 < pid < 1 << 31:
        return False
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
    """Wait until no process of the group runs; False after ``seconds``."""
    deadline = time.monotonic() + seconds
    while group_exists(group):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; False if that is not permitted."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return True
    except PermissionError:  # macOS raises this for a group of zombies, too
        return not group_exists(group)
    return True


def group_exists(group: int) -> bool:
    """True while a process of the group runs; zombies do not count."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not _has_proc():
        return True
    return any(_group_and_state(entry) == (group, True) for entry in _PROC.iterdir() if entry.name.isdigit())


def session_groups(leader: int) -> frozenset[int]:
    """The process groups of a session in which a process runs; the leader's alone if there is no ``/proc``. Blocks.

    Programs such as ``timeout``, and shells with job control, make groups of their own.
    """
    if not _has_proc():
        return frozenset({leader}) if group_exists(leader) else frozenset()
    groups: set[int] = set()
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            fields = _stat_fields(entry)
            if len(fields) > 3 and int(fields[3]) == leader and fields[0] not in "ZX":
                groups.add(int(fields[2]))
    return frozenset(groups)


async def end_session(leader: int) -> bool:
    """End all process groups of a session, by TERM and after a while by KILL; True if none is left.

    The caller knows that the session is its own: a number that is in use by no session may be another's soon.
    """
    for number, patience in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        deadline, told, pause = time.monotonic() + patience, set[int](), 0.01
        while groups := await asyncio.to_thread(session_groups, leader):
            for group in groups - told:
                signal_group(group, number)
            told |= groups
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)
        else:
            return True
    return False


class Guards:
    """A small process that ends process groups and their sessions as soon as Catena is gone, even by ``kill -9``.

    It waits in its own session, in a shell's ``read``, takes some hundred kilobytes, and is started with the first
    group. Should it be killed, the next group that is watched or released starts another one for all.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._watched: list[str] = []  # as the guard knows them

    @property
    def pid(self) -> int | None:
        """The process that watches; None before the first group."""
        return self._process.pid if self._process else None

    def watch(self, group: int) -> str:
        """Watch a group; returns what ``release`` takes. Raises OSError if there is no shell."""
        started = "_".join((_raw_start_time(group) or "").split())
        one = f"{group}:{started}"
        self._watched.append(one)
        try:
            self._tell(f"watch {one}")
        except OSError:
            self._watched.remove(one)
            raise
        return one

    def release(self, one: str) -> None:
        """Leave a group alone."""
        self._watched.remove(one)
        with contextlib.suppress(OSError):  # nobody is there who could end it
            self._tell(f"release {one}")

    async def aclose(self) -> None:
        """End the guard; groups that are still watched are ended by it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, 1.0 + (2 * _TERM_SECONDS if self._watched else 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.poll() is not None or not self._write(line):
            self._start()

    def _start(self) -> None:
        """Start the guard, in the place of one that hears nothing, with all that is watched."""
        before, self._process = self._process, None
        if before is not None:
            assert before.stdin is not None
            before.kill()  # first: the end of the pipe would have it end what it knows
            before.wait()
            before.stdin.close()
        if not self._watched:
            return
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "catena-guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        for one in self._watched:
            self._write(f"watch {one}")

    def _write(self, line: str) -> bool:
        assert self._process is not None and self._process.stdin is not None
        try:
            return self._process.stdin.write(f"{line}\n".encode()) is not None
        except BrokenPipeError:
            return False


class Guard:
    """The watch over one process group, by the guard of a client or by one of its own."""

    def __init__(self, group: int, guards: Guards | None = None) -> None:
        """Begin to watch. Raises OSError if there is no shell."""
        self._own = guards is None
        self._guards = guards or Guards()
        self._watched: str | None = self._guards.watch(group)

    @property
    def pid(self) -> int | None:
        """The process that watches."""
        return self._guards.pid

    async def release(self) -> None:
        """Leave the group alone; a guard of its own ends."""
        watched, self._watched = self._watched, None
        if watched is None:
            return
        self._guards.release(watched)
        if self._own:
            await self._guards.aclose()


def _has_proc() -> bool:
    return sys.platform == "linux" and (_PROC / "self/stat").exists()


def _boot_id() -> str:
    """The id of this boot, from which start times count."""
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
    """The process group of a ``/proc`` entry, and whether the process runs."""
    fields = _stat_fields(entry)
    return (int(fields[2]), fields[0] not in "ZX") if len(fields) > 2 else None


def _stat_fields(entry: Path) -> list[str]:
    """The fields of ``stat`` after the process's name: state, parent, group, …; the 20th is the start time."""
    try:
        text = (entry / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text[text.rfind(")") + 1 :].split()


def parse_start_time(started: str) -> datetime | None:
    """The date and time of a ``process_start_time``; None if that is not known.

    Linux only, where the start time is in clock ticks since boot.
    """
    ticks = started.partition("@")[0]
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None or not ticks.isdecimal():
        return None
    up_since = time.time() - time.clock_gettime(clock)
    return datetime.fromtimestamp(up_since + int(ticks) / os.sysconf("SC_CLK_TCK"), UTC)
