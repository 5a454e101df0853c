"""The system's git on a repository of ours: no setting, hook, filter or variable of anybody else's has a say in it.

A tree may be hostile: its attributes name filters, its repositories name programs that git would run. So nothing is
read for configuration but what stands here, attributes are overruled (``info/attributes`` outranks those in the
tree), and no command is used that looks into a repository below the tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from catena_store.errors import SnapshotFailed

SECONDS = 60.0  # that one command may take
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
_CONFIGURATION = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.safecrlf=false"),
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


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git with a repository of ours on the files below ``root``. All of it blocks."""

    program: str
    repository: Path
    root: Path
    index: Path | None = None  # beside the repository's own

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        allowed: Sequence[int] = (0,),
        seconds: float = SECONDS,
    ) -> bytes:
        """The output of a command. Raises SnapshotFailed with git's first line where it fails or takes too long."""
        command = [self.program, *self._settings(), *arguments]
        try:
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                cwd=self.root if self.root.is_dir() else self.repository,
                env=self._environment(),
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            raise SnapshotFailed(self.root, f"git took longer than {seconds:.0f} s") from None
        except OSError as error:
            raise SnapshotFailed(self.root, f"git could not be run: {error.strerror}") from error
        if done.returncode not in allowed:
            raise SnapshotFailed(self.root, _first_line(done.stderr) or f"git ended with {done.returncode}")
        return done.stdout

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that runs on, with pipes to it and from it. Raises SnapshotFailed."""
        try:
            return subprocess.Popen(
                [self.program, *self._settings(), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self.root,
                env=self._environment(),
            )
        except OSError as error:
            raise SnapshotFailed(self.root, f"git could not be run: {error.strerror}") from error

    def paths(self, *arguments: str | bytes) -> list[bytes]:
        """The paths that a command with ``-z`` prints."""
        return [path for path in self.run(*arguments).split(b"\0") if path]

    def _settings(self) -> Iterable[str]:
        for setting in _CONFIGURATION:
            yield "-c"
            yield setting

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        if self.index:
            kept["GIT_INDEX_FILE"] = str(self.index)
        return kept | {
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
        }


def excludes_of_person(program: str) -> Path | None:
    """The file of ignored names that the person has for all repositories, by the settings of their own git."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        found = subprocess.run(
            [program, "config", "--global", "--path", "--get", "core.excludesFile"],
            capture_output=True,
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
