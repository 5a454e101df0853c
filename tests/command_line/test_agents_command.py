"""`catena agents`: the list, one agent, installs and newer data of the registry, without a network."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.agents.registry import PROGRAM, agent_archive, archived, entry, registry_file
from support.clients.command_line import Catena
from support.clients.on_terminal import on_terminal


def program(catena: Catena, name: str, script: str) -> Path:
    """Put a program on a PATH of its own."""
    directory = catena.home / "bin"
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    catena.environment["PATH"] = str(directory)  # and none of this machine's agents
    return path


def test_c04_agents_tells_what_is_here_and_how_to_get_the_rest_with_rehearsal_last(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "opencode", "echo opencode version 1.18.33")

    listed = catena("agents", "--json")

    assert (listed.status, listed.err) == (0, "")
    agents = {agent["name"]: agent for agent in listed.json}
    assert {"name", "title", "found", "command", "version", "install", "login"} < set(listed.json[0])
    assert agents["opencode"]["found"] is True
    assert agents["opencode"]["version"] == "1.18.33"
    assert agents["opencode"]["command"] == ["opencode", "acp"]
    assert agents["goose"]["found"] is False
    assert agents["goose"]["command"] is None
    assert agents["goose"]["install"]
    assert listed.json[0]["name"] == "opencode"
    assert listed.json[-1]["name"] == "rehearsal"
    assert listed.json[-1]["found"] is True
    lines = catena("agents").out.splitlines()
    assert lines[0].startswith("✓ opencode")
    assert "1.18.33" in lines[0]


def test_an_agent_that_does_not_tell_its_version_soon_holds_nothing_up(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "opencode", "exec /bin/sleep 1000")
    program(catena, "goose", "echo 1.2.3; exit 1")

    agents = {agent["name"]: agent for agent in catena("agents", "--json").json}

    assert (agents["opencode"]["found"], agents["opencode"]["version"]) == (True, None)
    assert agents["goose"]["version"] == "1.2.3"


def test_an_address_in_the_usage_of_a_program_is_not_its_version(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "goose", "echo 'usage: goose COMMAND'; echo; echo 'serve on 127.0.0.1:8399'")
    agents = {agent["name"]: agent for agent in catena("agents", "--json").json}
    assert (agents["goose"]["found"], agents["goose"]["version"]) == (True, None)


def test_agents_of_the_settings_are_listed_by_their_names(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "my-agent", "echo 0.1")
    catena.settings(
        """
        [agents.mine]
        command = "my-agent --acp"
        title = "My agent"
        [agents.lost]
        command = "no-such-program"
        """
    )

    agents = {agent["name"]: agent for agent in catena("agents", "--json").json}

    assert agents["mine"] == {
        "name": "mine",
        "title": "My agent",
        "found": True,
        "ready": True,
        "command": ["my-agent", "--acp"],
        "path": str(catena.home / "bin/my-agent"),
        "origin": "settings",
        "version": "0.1",
        "install": None,
        "login": None,
        "abilities": None,
        "registry": None,
    }
    assert agents["lost"]["found"] is False


def offering(catena: Catena, *entries: dict[str, object]) -> None:
    """Let it know these agents, and no others but the catalogue's."""
    updated = catena("agents", "update", str(registry_file(catena.home / "registry.json", *entries)))
    assert updated.status == 0, updated.err


def test_w34_an_agent_is_installed_used_and_removed_without_path_or_network(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    offering(catena, archived(agent_archive(tmp_path, "1.0"), "1.0"))

    done = catena("agents", "install", "fake", "--yes")
    answered = catena("run", "--agent", "fake", "say hello")
    listed = {each["name"]: each for each in catena("agents", "--json").json}

    assert done.status == 0
    for shown in ("1.0", "source   file:///", "sha256", "size", "command", "catena --agent fake"):
        assert shown in done.err
    fake = listed["fake"]
    assert (fake["found"], fake["origin"], fake["version"]) == (True, "catena", "1.0")
    assert (answered.status, answered.out) == (0, "hello\n")
    abilities = fake["abilities"]
    assert (abilities["seen"], abilities["version"], abilities["fork"], abilities["modes"]) == (
        "here",
        "1.0.0",
        True,
        True,
    )
    assert catena("agents", "remove", "fake", "--yes").status == 0
    gone = catena("agents", "fake", "--json").json
    assert (gone["found"], gone["install"]) == (False, "catena agents install fake")


def test_w34_what_is_done_is_asked_first_and_without_a_terminal_not_done(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    offering(catena, archived(agent_archive(tmp_path, "1.0"), "1.0"))

    refused = catena("agents", "install", "fake")

    assert refused.status == 2
    assert "no terminal to ask on; catena agents install fake --yes" in refused.err
    with on_terminal(catena, "agents", "install", "fake") as terminal:
        terminal.wait_for("Install? [y/N] ")
        terminal.type("n\r")
        terminal.wait_for("Nothing was installed.")
        assert terminal.status() == 130
    assert not (catena.data / "agents/fake").exists()
    with on_terminal(catena, "agents", "install", "fake") as terminal:
        terminal.wait_for("Install? [y/N] ")
        terminal.type("y\r")
        terminal.wait_for("Installed Fake 1.0")
        assert terminal.status() == 0


def test_w34_a_failed_install_says_why_and_what_is_still_there(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    offering(catena, archived(agent_archive(tmp_path, "1.0"), "1.0"))
    catena("agents", "install", "fake", "--yes")
    offering(catena, archived(agent_archive(tmp_path, "2.0"), "2.0", digest="e" * 64))

    failed = catena("agents", "install", "fake", "--yes")

    assert failed.status == 1
    assert "SHA-256" in failed.err and "1.0 is still installed." in failed.err
    assert "1.0 · ready · 2.0 is in the registry" in catena("agents", "fake").out


def test_w34_update_says_what_changed_and_keeps_the_old_data_where_it_fails(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    one = entry("one", "1", npx={"package": "one"})
    offering(catena, one, entry("two", "1", npx={"package": "two"}))
    path = catena.home / "next.json"
    registry_file(
        path, {**one, "version": "2"}, entry("three\x1b", "1"), entry("three", "1", npx={"package": "x"})
    )

    changed = catena("agents", "update", str(path))
    path.write_text("<html>")
    wrong = catena("agents", "update", str(path))
    plain = catena("agents", "update", "http://127.0.0.1:9/registry.json")

    assert changed.status == 0
    lines = changed.out.splitlines()
    assert lines[:3] == ["new      three 1 · Three", "gone     two 1", "version  one 1 → 2"]
    assert lines[3].startswith("invalid  three") and "\x1b" not in changed.out
    assert lines[4].startswith("Registry: 2 agents, ") and str(path) in lines[4]
    assert (wrong.status, plain.status) == (1, 1)
    assert "not JSON" in wrong.err and "The earlier data is kept" in wrong.err
    assert "only https" in plain.err
    names = [each["name"] for each in catena("agents", "--json").json]
    assert {"one", "three"} < set(names) and "two" not in names


def test_c04_check_starts_an_agent_and_keeps_what_it_tells(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    program(catena, "mine", f"exec {sys.executable} -m catena_acp.rehearsal")
    program(catena, "broken", "echo no >&2; exit 3")
    catena.settings('[agents.mine]\ncommand = "mine"\n[agents.broken]\ncommand = "broken"')

    checked = catena("agents", "check", "--json")

    agents = {agent["name"]: agent for agent in checked.json}
    assert checked.status == 0
    assert agents["mine"]["abilities"]["seen"] == "here"
    assert agents["mine"]["abilities"]["fork"] is True
    assert agents["mine"]["abilities"]["modes"] is None  # told with a session, and none was opened
    assert agents["broken"]["abilities"] is None
    assert "broken" in checked.err and "status 3" in checked.err


def test_w17_settings_change_an_installed_agent_and_have_its_own_environment(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    script = PROGRAM.replace("exec ", 'echo "$GIVEN $OWN" > "$HOME/told"; exec ')
    fields = archived(agent_archive(tmp_path, "1.0", script), "1.0")
    for target in fields["distribution"]["binary"].values():
        target["env"] = {"GIVEN": "by the registry", "OWN": "of the registry"}
    offering(catena, fields)
    catena("agents", "install", "fake", "--yes")
    catena.settings('agent = "fake"\n[agents.fake]\ntitle = "Mine"\nenv = { OWN = "of mine" }')

    answered = catena("run", "say x")

    assert (answered.status, answered.out) == (0, "x\n")
    assert (catena.home / "told").read_text() == "by the registry of mine\n"
    assert catena("config", "check").status == 0


@contextmanager
def npm_registry(name: str, version: str, program: str) -> Iterator[str]:
    """Serve a registry with one package on this machine; its address."""
    packed = io.BytesIO()
    manifest = json.dumps({"name": name, "version": version, "bin": {"fake-acp": "run"}})
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, text, mode in (("package/package.json", manifest, 0o644), ("package/run", program, 0o755)):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text), mode
            tar.addfile(info, io.BytesIO(text.encode()))
    data = packed.getvalue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tarball = f"http://{self.headers['Host']}/{version}.tgz"
            integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
            dist = {"tarball": tarball, "integrity": integrity, "unpackedSize": 123_456}
            versions = {version: json.loads(manifest) | {"dist": dist}}
            document = {"name": name, "dist-tags": {"latest": version}, "versions": versions}
            body = data if self.path.endswith(".tgz") else json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_w34_an_npm_package_is_installed_at_its_version_below_our_directory(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    offering(catena, entry("fake", "9.9", npx={"package": "fake-agent@1.2.3", "args": ["acp"]}))

    with npm_registry("fake-agent", "1.2.3", PROGRAM) as address:
        done = catena(
            "agents",
            "install",
            "fake",
            "--yes",
            npm_config_registry=address,
            npm_config_update_notifier="false",
        )

    assert done.status == 0, done.err
    assert "npm install --prefix" in done.err and "fake-agent@1.2.3" in done.err
    assert "KB, and what it depends on" in done.err
    agent = catena("agents", "fake", "--json").json
    home = catena.data / "agents/fake/1.2.3"
    assert agent["command"] == [str(home / "node_modules/.bin/fake-acp"), "acp"]
    assert agent["version"] == "1.2.3"
    answered = catena("run", "--agent", "fake", "say hello")
    assert (answered.status, answered.out) == (0, "hello\n")


def test_w34_a_python_package_is_installed_by_uv_into_directories_of_ours(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    offering(catena, entry("fake", "1.0", uvx={"package": "fake-agent==1.0", "cmd": "fake-acp"}))
    program(catena, "python", PROGRAM.removeprefix("#!/bin/sh\n"))
    # uv as far as it is used: it installs programs where these variables say.
    program(
        catena,
        "uv",
        'echo "$@" > "$HOME/asked"\n'
        '/bin/mkdir -p "$UV_TOOL_DIR" "$UV_TOOL_BIN_DIR"\n'
        f'/bin/cp {catena.home}/bin/python "$UV_TOOL_BIN_DIR/fake-acp"',
    )

    done = catena("agents", "install", "fake", "--yes")

    assert done.status == 0, done.err
    assert (catena.home / "asked").read_text() == "tool install --no-config fake-agent==1.0\n"
    command = catena("agents", "fake", "--json").json["command"]
    assert command == [str(catena.data / "agents/fake/1.0/bin/fake-acp")]
    assert os.access(command[0], os.X_OK)
