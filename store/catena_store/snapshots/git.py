"""The system's git on a repository of ours: no setting, hook, filter or variable of anybody else's has a say in it.

A tree may be hostile: its attributes name filters, its repositories name programs that git would run. So nothing is
read for configuration but what stands here, attributes are overruled (``info/attributes`` outranks those in the
tree), and no command is used that looks into a repository below the tree.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from catena_store.errors import SnapshotFailed

SECONDS = 60.0  # that one command may take
OLDEST = (2, 20)  # of git
DOUBTFUL = "catena.doubtful"  # a mark in a repository that git failed on: it is mended before its next use
_KEPT_VARIABLES = ("PATH", "TMPDIR")
_CONFIGURATION = (
    # Empty is off for every version: to old ones another value is the name of a program.
    *("core.hooksPath=/dev/null", "core.fsmonitor=", "core.autocrlf=false", "core.safecrlf=false"),
    *("core.attributesFile=/dev/null", "core.fileMode=true", "core.symlinks=true"),
    *(
        "core.precomposeUnicode=false",
        "core.quotePath=false",
        "core.preloadIndex=true",
        "core.untrackedCache=true",
    ),
    *("core.bigFileThreshold=1m", "core.compression=1", "gc.auto=0", "maintenance.auto=false"),
    *("index.threads=true", "advice.addEmbeddedRepo=false", "protocol.allow=never", "user.name=Catena"),
    # Beside somebody's work: few comparisons, on one processor.
    *("pack.window=4", "pack.depth=10", "pack.threads=1"),
    # One wait for the disk for all of a snapshot, and not one a file.
    *(
        "core.fsyncMethod=batch",
        "user.email=catena@localhost",
        "commit.gpgSign=false",
        "feature.manyFiles=false",
        "core.splitIndex=false",
    ),
)
# Every conversion between what is in a file and what git keeps of it.
ATTRIBUTES = "* -text -eol -crlf -ident -filter -working-tree-encoding !diff -merge\n"


def executable() -> str | None:
    """The path of the system's git, or None where it has none."""
    return shutil.which("git")


class GitFailed(SnapshotFailed):
    """A command of git ended in failure; ``output`` is what it said of it."""

    def __init__(self, root: Path, status: int, output: bytes) -> None:
        super().__init__(root, _first_line(output) or f"git ended with {status}")
        self.status = status
        self.output = output


class RunningCommands:
    """The commands that run on a repository, to be ended from another thread."""

    def __init__(self) -> None:
        self.ended = False
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._changing = threading.Lock()

    @contextmanager
    def among(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """A command is among them."""
        with self._changing:
            self._processes.add(process)
            if self.ended:
                _kill(process)
        try:
            yield
        finally:
            with self._changing:
                self._processes.discard(process)

    def end(self) -> None:
        """Kill them, and those that follow."""
        with self._changing:
            self.ended = True
            for process in self._processes:
                _kill(process)


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git with a repository of ours on the files below ``root``. All of it blocks.

    A git outlives us where we are killed: it has the lock's descriptor, so that nobody works beside it until it ends.
    """

    program: str
    repository: Path
    root: Path
    index: Path | None = None  # beside the repository's own
    written: Path | None = None  # where objects are written to, instead of the repository
    case_counts: bool = True  # `a` and `A` are two files there
    literal: bool = True  # paths are no patterns; not every command knows of it
    lock: int | None = None  # the descriptor of the lock under which it runs
    commands: RunningCommands = field(default_factory=lambda: RunningCommands())

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        allowed: Sequence[int] = (0,),
        seconds: float = SECONDS,
    ) -> bytes:
        """The output of a command. Raises GitFailed if it fails, SnapshotFailed if it takes too long."""
        return self.run_aloud(*arguments, stdin=stdin, allowed=allowed, seconds=seconds)[0]

    def run_aloud(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        allowed: Sequence[int] = (0,),
        seconds: float = SECONDS,
    ) -> tuple[bytes, bytes]:
        """The output of a command, and its warnings. Raises as `run` does."""
        process = self._process(*arguments, stderr=subprocess.PIPE)
        try:
            with self.commands.among(process):
                output, said = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise SnapshotFailed(self.root, f"git took longer than {seconds:.0f} s") from None
        finally:
            end_group(process)
        if self.commands.ended:
            raise SnapshotFailed(self.root, "it was given up")
        if process.returncode not in allowed:
            self.doubt()
            raise GitFailed(self.root, process.returncode, said)
        return output, said

    def merge_file(self, one: Path, base: Path, other: Path) -> bytes | None:
        """What a three-way merge of files prints; None where they conflict. Raises SnapshotFailed."""
        # The status is the number of conflicts, or 255 for what is no text: neither is the repository's fault.
        process = self._process(
            "merge-file", "-p", "-q", str(one), str(base), str(other), stderr=subprocess.DEVNULL
        )
        try:
            with self.commands.among(process):
                output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise SnapshotFailed(self.root, f"git took longer than {SECONDS:.0f} s") from None
        finally:
            end_group(process)
        return output if process.returncode == 0 else None

    def doubt(self) -> None:
        """Mark the repository as one that may be damaged."""
        with suppress(OSError):
            (self.repository / DOUBTFUL).touch()

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that runs on, with pipes to it and from it. Raises SnapshotFailed."""
        return self._process(*arguments, stderr=subprocess.DEVNULL)

    def _process(self, *arguments: str | bytes, stderr: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [self.program, *self._settings(), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=self.root if self.root.is_dir() else self.repository,
                env=self._environment(),
                pass_fds=() if self.lock is None else (self.lock,),
                process_group=0,  # what it starts itself ends with it
                umask=0o077,  # of what it keeps; the person's files are not written by git
            )
        except OSError as error:
            raise SnapshotFailed(self.root, f"git could not be run: {error.strerror}") from error

    def paths(self, *arguments: str | bytes) -> list[bytes]:
        """The paths that a command with ``-z`` prints."""
        return [path for path in self.run(*arguments).split(b"\0") if path]

    def _settings(self) -> Iterable[str]:
        for setting in (*_CONFIGURATION, f"core.ignoreCase={'false' if self.case_counts else 'true'}"):
            yield "-c"
            yield setting

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        if self.literal:
            kept["GIT_LITERAL_PATHSPECS"] = "1"
        if self.index:
            kept["GIT_INDEX_FILE"] = str(self.index)
        if self.written:
            kept["GIT_OBJECT_DIRECTORY"] = str(self.written)
        return kept | {
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.root),
            "HOME": os.devnull,  # git before 2.32 does not know the variable for no settings of the person's
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
        }


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a git and what it started, and close its pipes."""
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # else its number may be another's
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def is_too_old(said: bytes) -> bool:
    """Whether what ``git --version`` prints is of one that lacks what we need."""
    found = re.search(rb"(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def readable(pipe: int, seconds: float) -> bool:
    """Wait until something can be read; whether it can."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def excludes_of_person(program: str) -> Path | None:
    """The file of ignored names that the person has for all repositories, by the settings of their own git."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        found = subprocess.run(
            [program, "config", "--global", "--path", "--get", "core.excludesFile"],
            capture_output=True,
            cwd="/",  # no repository's settings
            env=environment,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if named := found.stdout.rstrip(b"\n"):
        return Path(os.fsdecode(named))
    configuration = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(configuration).expanduser() / "git" / "ignore"


def _first_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else ""
