"""What an install would do on this machine, before anything is done; nothing here uses a network."""

from __future__ import annotations

import platform
import shutil
import sys
from dataclasses import dataclass

from catena_acp.agents.registry.entries import Archive, Distribution, NpmPackage, PythonPackage, RegistryEntry

_SYSTEMS = {"linux": "linux", "darwin": "darwin"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_TOOLS = {"npm": "npm comes with Node.js: https://nodejs.org", "uv": "see https://docs.astral.sh/uv"}


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The way to install an agent: from where, by which command, with which tool of this machine."""

    entry: RegistryEntry
    distribution: Distribution

    @property
    def tool(self) -> str | None:
        """The program that installs it; None where Catena does so itself."""
        match self.distribution:
            case NpmPackage():
                return "npm"
            case PythonPackage():
                return "uv"
            case Archive():
                return None

    @property
    def version(self) -> str:
        """The version that is installed: of a package its own, since entries may lag behind."""
        match self.distribution:
            case NpmPackage(version=version) | PythonPackage(version=version):
                return version
            case Archive():
                return self.entry.version

    @property
    def missing_tool(self) -> str | None:
        """Why it cannot be installed yet; None if it can."""
        if self.tool is None or shutil.which(self.tool):
            return None
        return f"{self.tool} is needed and was not found ({_TOOLS[self.tool]})"

    @property
    def source(self) -> str:
        """Where it comes from: an address, or a package with its version."""
        match self.distribution:
            case NpmPackage(name=name, version=version):
                return f"npm package {name} {version}"
            case PythonPackage(name=name, extras=extras, version=version):
                return f"Python package {name}{extras} {version}"
            case Archive(address=address):
                return address

    @property
    def sha256(self) -> str | None:
        """The digest that a download is compared with; None if the entry has none, or a tool looks after it."""
        return self.distribution.sha256 if isinstance(self.distribution, Archive) else None

    def argv(self, directory: str) -> tuple[str, ...]:
        """The command that installs it into a directory; () where Catena does so itself."""
        match self.distribution:
            case NpmPackage(name=name, version=version):
                options = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
                return ("npm", "install", "--prefix", directory, *options, f"{name}@{version}")
            case PythonPackage(name=name, extras=extras, version=version):
                return ("uv", "tool", "install", "--no-config", f"{name}{extras}=={version}")
            case Archive():
                return ()


def plan_install(entry: RegistryEntry, where: str | None = None) -> InstallPlan | None:
    """How to install an agent on a platform, by default this one; None if there is nothing for it."""
    distribution = entry.distribution(where or this_platform())
    return InstallPlan(entry, distribution) if distribution else None


def this_platform() -> str:
    """This machine's platform, as the registry calls it."""
    machine = platform.machine().lower()
    return f"{_SYSTEMS.get(sys.platform, sys.platform)}-{_MACHINES.get(machine, machine)}"
