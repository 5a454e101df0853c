"""What Linux tells about a process."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of a process that are resident: now, and at most so far."""

    now: float
    peak: float


def cpu_seconds(pid: int) -> float:
    """CPU time of a process with its threads, without its children, to the nanosecond."""
    # The kernel's encoding of the CPU clock of another process, which Python has no function for.
    return time.clock_gettime(~pid << 3 | 2)


def memory(pid: int) -> Memory:
    """The resident memory of a process."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Memory(*(round(int(facts[name].split()[0]) / 1024, 1) for name in ("VmRSS", "VmHWM")))


def resident_kib(pid: int) -> float:
    """The resident memory of a process, to the page."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def descendants(pid: int) -> list[int]:
    """The process and everything below it, parents first."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += descendants(int(child))
    return found


def kind_of_machine() -> str:
    """Processor, cores, memory and versions: what figures depend on, and nothing that names the machine."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.split(":", 1)[1].strip() for line in facts if line.startswith("model name"))
    cpu = next(models, platform.machine())
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores, {memory_gib:.0f} GiB, {system}, Python {platform.python_version()}"


def versions() -> str:
    """What is measured, and what it stands on, each with its version."""
    named = {"catena-chat": "Catena", "textual": "Textual", "agent-client-protocol": "ACP SDK"}
    words = [f"{words} {metadata.version(distribution)}" for distribution, words in named.items()]
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    return ", ".join((*words, f"SQLite {sqlite3.sqlite_version}", f"git {git}", "agent of the bench 1"))
