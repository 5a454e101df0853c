"""Installs of agents, by a plan: into a directory of their own, in use only once they are complete."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

from catena_acp.agents.registry import downloads
from catena_acp.agents.registry.downloads import is_archive, place_program, unpack
from catena_acp.agents.registry.entries import Archive, NpmPackage, PythonPackage
from catena_acp.agents.registry.installs import (
    Install,
    locked,
    new_directory,
    remove_tree,
    size_of,
    take_into_use,
)
from catena_acp.agents.registry.plans import InstallPlan
from catena_acp.errors import DownloadFailed, InstallFailed

_SIZE_SECONDS = 20
_ARCHIVE = "download"  # beside the directory that it is unpacked to


def download_size(plan: InstallPlan) -> int | None:
    """The size of what an install fetches, in bytes, as far as its source tells; asks over the network.

    Of a package from npm it is its own unpacked size, without what it depends on. Raises DownloadFailed.
    """
    match plan.distribution:
        case Archive(address=address):
            return downloads.size_of_download(address)
        case NpmPackage(name=name, version=version):
            return _npm_size(f"{name}@{version}")
        case PythonPackage():
            return None


def install(plan: InstallPlan, progress: downloads.Progress) -> Install:
    """Install an agent, in place of an earlier version, which stays in use if anything goes wrong.

    The output of npm and uv goes to standard error. Raises InstallFailed.
    """
    if why := plan.missing_tool:
        raise InstallFailed(why)
    with locked(plan.entry.id) as home:
        try:
            directory = new_directory(home, plan.version)
        except OSError as error:
            raise InstallFailed(f"{home} cannot be written: {error.strerror}") from error
        with ExitStack() as undoing:
            undoing.callback(_remove, directory, home)
            try:
                program = _fill(directory, plan, progress)
                done = _described(plan, directory, program)
                take_into_use(done)
            except OSError as error:
                raise InstallFailed(f"{error.filename or home}: {error.strerror}") from error
            undoing.pop_all()
        return done


def _remove(directory: Path, home: Path) -> None:
    remove_tree(directory)
    with suppress(OSError):  # there is an earlier install
        home.rmdir()


def _fill(directory: Path, plan: InstallPlan, progress: downloads.Progress) -> Path:
    """Install into an empty directory; return the program to start."""
    match plan.distribution:
        case Archive() as archive:
            return _from_archive(directory, archive, progress)
        case NpmPackage() as package:
            _run(plan.argv(str(directory)), directory)
            return _npm_program(directory, package)
        case PythonPackage() as package:
            programs = directory / "bin"
            _run(
                plan.argv(str(directory)),
                directory,
                UV_TOOL_DIR=str(directory / "tools"),
                UV_TOOL_BIN_DIR=str(programs),
                PATH=f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",  # else uv asks for that
            )
            return directory / "bin" / (package.program or package.name)


def _described(plan: InstallPlan, directory: Path, program: Path) -> Install:
    if not (program.is_file() and os.access(program, os.X_OK)):
        shown = program.relative_to(directory)
        raise InstallFailed(f"{plan.source} has no program {shown}")
    invocation = plan.distribution.invocation
    return Install(
        id=plan.entry.id,
        version=plan.version,
        directory=directory.name,
        command=(str(program), *invocation.args),
        env=invocation.env,
        source=plan.source,
        size=size_of(directory),
        verified=plan.sha256 is not None,
    )


def _from_archive(directory: Path, archive: Archive, progress: downloads.Progress) -> Path:
    name = downloads.file_name(archive.address)
    fetched = directory / _ARCHIVE
    try:
        downloads.download(archive.address, fetched, sha256=archive.sha256, progress=progress)
    except DownloadFailed as error:
        raise InstallFailed(str(error)) from error
    files = directory / "files"
    files.mkdir()
    program = files.joinpath(*archive.program.split("/"))
    if is_archive(name):
        unpack(fetched, name, files)
        if program.is_file() and program.resolve().is_relative_to(files.resolve()):
            program.chmod(0o755)  # a zip made on Windows has no modes
    else:
        place_program(fetched, program)
    fetched.unlink()
    return program


def _npm_program(directory: Path, package: NpmPackage) -> Path:
    """The program of a package, as npx chooses it: the named one, the only one, or the one named like the package."""
    manifest = directory.joinpath("node_modules", *package.name.split("/"), "package.json")
    own = package.name.rpartition("/")[2]
    try:
        programs = json.loads(manifest.read_bytes()).get("bin")
    except (OSError, ValueError, AttributeError) as error:
        raise InstallFailed(f"npm left no package {package.name}") from error
    names = [own] if isinstance(programs, str) else list(programs) if isinstance(programs, dict) else []
    wanted = package.program or (names[0] if len(names) == 1 else own)
    if wanted not in names or "/" in wanted or wanted in (".", ".."):
        raise InstallFailed(f"npm package {package.name} has no program {wanted}")
    return directory / "node_modules" / ".bin" / wanted


def _run(argv: tuple[str, ...], directory: Path, **variables: str) -> None:
    """Run npm or uv; its output goes to standard error, so that a person sees what it does."""
    try:
        done = subprocess.run(
            argv, cwd=directory, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=2, check=False
        )
    except OSError as error:
        raise InstallFailed(f"{argv[0]} cannot be started: {error.strerror}") from error
    if done.returncode:
        raise InstallFailed(f"{argv[0]} failed with status {done.returncode}")


def _npm_size(package: str) -> int | None:
    argv = ("npm", "view", "--json", package, "dist.unpackedSize")
    with suppress(OSError, subprocess.TimeoutExpired, ValueError):
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SIZE_SECONDS
        )
        size = json.loads(done.stdout or b"null")
        return size if isinstance(size, int) and not isinstance(size, bool) else None
    return None
