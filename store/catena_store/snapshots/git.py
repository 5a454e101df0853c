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
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from catena_store.errors import SnapshotFailed

SECONDS = 60.0  # that one command may take
OLDEST = (2, 20)  # of git
DOUBTFUL = "catena.doubtful"  # a mark in a repository that git failed on: it is mended before its next use
_LOOK_SECONDS = 0.2  # after which a command that runs on is looked at again
_KEPT_VARIABLES = ("PATH", "TMPDIR")
_CONFIGURATION = (
    # Empty is off for every version: to old ones another value is the name of a program.
    *("core.hooksPath=/dev/null", "core.fsmonitor=", "core.autocrlf=false", "core.safecrlf=false"),
    *("core.attributesFile=/dev/null", "core.fileMode=true", "core.symlinks=true", "core.ignoreCase=false"),
    *(
        "core.precomposeUnicode=false",
        "core.quotePath=false",
        "core.preloadIndex=true",
        "core.untrackedCache=true",
    ),
    *("core.bigFileThreshold=1m", "core.compression=1", "gc.auto=0", "maintenance.auto=false"),
    *("index.threads=true", "advice.addEmbeddedRepo=false", "protocol.allow=never", "user.name=Catena"),
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


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git with a repository of ours on the files below ``root``. All of it blocks.

    A git outlives us where we are killed: it has the lock's descriptor, so that nobody works beside it until it ends.
    """

    program: str
    repository: Path
    root: Path
    index: Path | None = None  # beside the repository's own
    literal: bool = True  # paths are no patterns; not every command knows of it
    lock: int | None = None  # the descriptor of the lock under which it runs
    given_up: Callable[[], bool] = bool  # asked while a command runs; true ends it

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        allowed: Sequence[int] = (0,),
        seconds: float = SECONDS,
    ) -> bytes:
        """The output of a command. Raises GitFailed where it fails, SnapshotFailed where it takes too long."""
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
        output, said = self._communicated(process, stdin, seconds)
        if process.returncode not in allowed:
            self.doubt()
            raise GitFailed(self.root, process.returncode, said)
        return output, said

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
            )
        except OSError as error:
            raise SnapshotFailed(self.root, f"git could not be run: {error.strerror}") from error

    def _communicated(
        self, process: subprocess.Popen[bytes], stdin: bytes, seconds: float
    ) -> tuple[bytes, bytes]:
        ends, given = time.monotonic() + seconds, stdin or None
        try:
            while True:
                try:
                    return process.communicate(given, timeout=_LOOK_SECONDS)
                except subprocess.TimeoutExpired:
                    given = None  # it has it
                    if time.monotonic() > ends:
                        raise SnapshotFailed(self.root, f"git took longer than {seconds:.0f} s") from None
                    if self.given_up():
                        raise SnapshotFailed(self.root, "it was given up") from None
        except BaseException:
            end_group(process)
            raise

    def paths(self, *arguments: str | bytes) -> list[bytes]:
        """The paths that a command with ``-z`` prints."""
        return [path for path in self.run(*arguments).split(b"\0") if path]

    def _settings(self) -> Iterable[str]:
        for setting in _CONFIGURATION:
            yield "-c"
            yield setting

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        if self.literal:
            kept["GIT_LITERAL_PATHSPECS"] = "1"
        if self.index:
            kept["GIT_INDEX_FILE"] = str(self.index)
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
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


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
