"""`.mcp.json` of a project: found, read in the shapes that other tools write, and never trusted to be well-formed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from catena_acp.mcp.servers import (
    McpServer,
    ProjectFile,
    Recipient,
    ServerOrigin,
    Transport,
    VariableMissing,
    choose_servers,
    filled_in,
    read_project_file,
)
from catena_acp.port.abilities import Abilities


def written(folder: Path, servers: object) -> ProjectFile:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    read = read_project_file(str(folder))
    assert read is not None
    return read


def test_w14_servers_are_read_in_each_shape_that_tools_write(tmp_path: Path) -> None:
    read = written(
        tmp_path,
        {
            "local": {"command": "./tool", "args": ["--stdio"], "env": {"KEY": "${KEY}"}},
            "typed": {"type": "stdio", "command": "npx"},
            "far": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}},
            "old": {"type": "sse", "url": "https://h/sse"},
            "cursor": {"url": "https://h/mcp"},
            "off": {"command": "x", "disabled": True},
        },
    )
    assert [(each.name, each.transport, each.enabled) for each in read.servers] == [
        ("local", Transport.STDIO, True),
        ("typed", Transport.STDIO, True),
        ("far", Transport.HTTP, True),
        ("old", Transport.SSE, True),
        ("cursor", Transport.HTTP, True),
        ("off", Transport.STDIO, False),
    ]
    assert read.wrong == ()
    assert read.servers[0].as_sent({"KEY": "k"}) == {
        "name": "local",
        "command": str(tmp_path / "tool"),
        "args": ["--stdio"],
        "env": [{"name": "KEY", "value": "k"}],
    }
    assert read.servers[2].as_sent({}) == {
        "type": "http",
        "name": "far",
        "url": "https://h/mcp",
        "headers": [{"name": "A", "value": "b"}],
    }


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (3, "is not an object"),
        ({}, "has no `command`"),
        ({"type": "http"}, "has no `url`"),
        ({"type": "pigeon", "command": "x"}, "its `type` is not known"),
        ({"type": ["http"], "url": "x"}, "its `type` is not known"),
        ({"command": "x", "args": [1]}, "its `args` are not strings"),
        ({"command": "x", "env": {"A": 1}}, "its `env` is not an object of strings"),
        ({"command": "x", "cwd": "/"}, "wants a directory of its own"),
        ({"command": "a\0b"}, "has characters that cannot be sent"),
        ({"command": "a\ud800"}, "has characters that cannot be sent"),
        ({"command": "x", "env": {"A=B": "1"}}, "its `env` has characters that cannot be sent"),
        (
            {"url": "http://h", "headers": {"A": "1\r\nB: 2"}},
            "its `headers` has characters that cannot be sent",
        ),
    ],
)
def test_w14_a_server_that_cannot_be_used_is_named_and_the_others_are_used(
    tmp_path: Path, entry: object, why: str
) -> None:
    read = written(tmp_path, {"bad": entry, "good": {"command": "x"}})
    assert [each.name for each in read.servers] == ["good"]
    (wrong,) = read.wrong
    assert wrong.startswith("bad: ") and why in wrong


def test_w14_a_name_cannot_look_like_lines_of_others(tmp_path: Path) -> None:
    (wrong,) = written(tmp_path, {"x\n\x1b[2JAllowed": {"command": "x"}}).wrong
    assert wrong.isprintable() and "its name cannot be used" in wrong


def test_w14_a_file_that_is_no_such_file_has_no_servers_and_says_so(tmp_path: Path) -> None:
    for content in (b"{", b"[]", b"\xff\xfe{", b'{"mcpServers": []}', b"[" * 100_000, b" " * 300_000):
        (tmp_path / ".mcp.json").write_bytes(content)
        read = read_project_file(str(tmp_path))
        assert read is not None and not read.servers and len(read.wrong) == 1


def test_w14_a_server_with_the_name_of_our_own_is_refused_with_a_word(tmp_path: Path) -> None:
    read = written(
        tmp_path, {"catena": {"command": "x"}, "catena-memory": {"url": "https://h"}, "a": {"command": "x"}}
    )
    assert [each.name for each in read.servers] == ["a"]
    assert read.wrong == (
        "catena: is the name of Catena's own server; rename it",
        "catena-memory: is the name of Catena's own server; rename it",
    )


def test_w14_the_file_is_looked_for_as_far_up_as_the_git_work_tree_goes(tmp_path: Path) -> None:
    below = tmp_path / "repo" / "src"
    below.mkdir(parents=True)
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"outside": {"command": "x"}}}')
    assert read_project_file(str(below)) is None
    (tmp_path / "repo" / ".git").mkdir()
    assert read_project_file(str(below)) is None
    written(tmp_path / "repo", {"inside": {"command": "x"}})
    read = read_project_file(str(below))
    assert read is not None and read.path == str(tmp_path / "repo" / ".mcp.json")
    os.mkfifo(below / ".mcp.json")  # it would be waited for
    again = read_project_file(str(below))
    assert again is not None and again.path == read.path


def test_w14_variables_are_filled_in_with_their_defaults() -> None:
    assert filled_in("a ${X} $Y ${Z:-z} ${E:-e}", {"X": "x", "E": ""}) == "a x $Y z e"
    with pytest.raises(VariableMissing, match=r"^NO$"):
        filled_in("${NO}", {})


def server(name: str, origin: ServerOrigin = ServerOrigin.SETTINGS, **more: object) -> McpServer:
    return McpServer(name, Transport.STDIO, origin, **{"command": ("x",), **more})  # type: ignore[arg-type]


def test_w14_each_server_is_sent_or_has_a_reason() -> None:
    able = Abilities("a", "A", "1", 1, mcp_http=False)
    here = Recipient("/work/api", "claude", "", "Claude", able)
    servers = [
        server("one"),
        server("off", enabled=False),
        server("other", agents=(("opencode", None),)),
        server("elsewhere", projects=("/work/web",)),
        server("below", projects=("/work",)),
        McpServer("far", Transport.HTTP, ServerOrigin.SETTINGS, url="https://h"),
        server("secret", env=(("K", "${NO_SUCH}"),)),
        server("one", ServerOrigin.PROJECT),
        server("two", ServerOrigin.PROJECT),
    ]

    def why(allowed: bool | None) -> list[str]:
        chosen = choose_servers(
            [{"name": "kept", "command": "k"}], servers, here, project_allowed=allowed, environment={}
        )
        assert all((each.sent is None) is bool(each.why) for each in chosen)
        assert {each.server.name for each in chosen if each.unexpected} == {"far", "secret"}
        return [each.why for each in chosen]

    assert why(True) == [
        "",
        "",
        "disabled",
        "for other agents",
        "for other projects",
        "",
        "Claude does not support MCP over HTTP",
        "$NO_SUCH is not set",
        "another server has this name",
        "",
    ]
    assert why(None)[-2:] == ["waits for you to allow it"] * 2
    assert why(False)[-2:] == ["not allowed by you"] * 2
