"""The registry's data: what is read of it, what is refused, and which of two states is used."""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path

import pytest

from catena_acp.agents.catalog import catalog
from catena_acp.agents.registry import downloads
from catena_acp.agents.registry.data import (
    changes,
    keep_registry,
    load_registry,
    parse_registry,
    registry_path,
)
from catena_acp.agents.registry.entries import NpmPackage, PythonPackage, read_entries
from catena_acp.agents.registry.plans import plan_install
from catena_acp.agents.sightings import record_of
from catena_acp.errors import DownloadFailed, RegistryInvalid
from support.agents.registry import archived, entry, registry_file

TODAY = date(2027, 1, 2)


def test_w34_the_bundled_snapshot_is_valid_dated_and_has_the_agents_of_the_catalogue() -> None:
    registry = load_registry()

    assert registry.bundled and not registry.refused
    assert registry.date >= date(2026, 11, 1)
    in_catalogue = {entry.id for entry in catalog()} - {"kiro", "openhands", "rehearsal"}
    assert in_catalogue <= {entry.id for entry in registry.entries}
    assert all(record_of(entry.id) for entry in registry.entries if entry.id != "cortex-code")
    for offered in registry.entries:
        for where in ("linux-x86_64", "darwin-aarch64"):
            plan = plan_install(offered, where)
            assert plan is not None and plan.version[0].isdigit()


@pytest.mark.parametrize(
    ("distribution", "why"),
    [
        ({"npx": {"package": "--registry=http://evil"}}, "package"),
        ({"npx": {"package": "../../evil"}}, "package"),
        ({"npx": {"package": "fine", "cmd": "../evil"}}, "cmd"),
        ({"npx": {"package": "fine", "args": "--acp"}}, "args"),
        ({"npx": {"package": "fine", "env": {"A=B": "1"}}}, "env"),
        ({"uvx": {"package": "fine @ https://evil"}}, "package"),
        ({"binary": {"linux-x86_64": {"archive": "http://plain/a.zip", "cmd": "a"}}}, "archive"),
        ({"binary": {"linux-x86_64": {"archive": "https://h/a.zip", "cmd": "../a"}}}, "cmd"),
        ({"binary": {"linux-x86_64": {"archive": "https://h/a.zip", "cmd": "/a"}}}, "cmd"),
        ({"binary": {"linux-x86_64": {"archive": "https://h/a.zip", "cmd": "a", "sha256": "12"}}}, "sha256"),
    ],
)
def test_w34_an_entry_that_would_lead_out_of_its_directory_is_refused_and_named(
    distribution: dict[str, object], why: str
) -> None:
    good = entry("good", "1.0", npx={"package": "good@1.0"})

    entries, refused = read_entries({"agents": [entry("bad", "1.0", **distribution), good]})

    assert [each.id for each in entries] == ["good"]
    assert len(refused) == 1 and refused[0].startswith("bad: ") and why in refused[0]


@pytest.mark.parametrize(
    ("id", "version"),
    [("../up", "1"), ("a/b", "1"), ("Fine", "1"), ("rehearsal", "1"), ("a", "../1"), ("a", "1/2"), ("a", "")],
)
def test_w34_an_id_or_version_that_is_no_name_of_a_directory_is_refused(id: str, version: str) -> None:
    with pytest.raises(RegistryInvalid):
        read_entries({"agents": [entry(id, version, npx={"package": "p@1"})]})


def test_w34_a_package_is_pinned_to_its_own_version_else_to_that_of_the_entry() -> None:
    (first, second, third), _ = read_entries(
        {
            "agents": [
                entry("a", "1.0", npx={"package": "@s/a@2.0"}),
                entry("b", "1.0", npx={"package": "b@latest"}),
                entry("c", "1.0", uvx={"package": "c[acp]@3.0", "cmd": "c-acp"}),
            ]
        }
    )

    assert isinstance(first.npm, NpmPackage) and (first.npm.name, first.npm.version) == ("@s/a", "2.0")
    assert second.npm and second.npm.version == "1.0"
    assert third.python and isinstance(third.python, PythonPackage)
    plan = plan_install(third, "linux-x86_64")
    assert plan and plan.argv("/d")[-1] == "c[acp]==3.0"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"agents": 1}', b'{"agents": []}', b"[" * 100_000])
def test_w34_what_is_no_registry_is_refused_and_the_data_of_before_is_kept(data: bytes) -> None:
    with pytest.raises(RegistryInvalid):
        keep_registry(data, today=TODAY, source="x")

    assert load_registry().bundled


def test_w34_what_can_be_given_to_no_process_or_file_is_refused_and_named() -> None:
    fine, odd = {"package": "one@1"}, {"package": "two@1", "args": ["\ud800"]}
    listed = [entry("one", "1", npx=fine), entry("two", "1", npx=odd), entry("three", "1", npx=fine)]
    data = json.dumps({"agents": [*listed[:2], listed[2] | {"name": "\udfff"}], "\ud800": "\ud800"})
    kept = keep_registry(data.encode(), today=TODAY, source="x")
    assert [each.id for each in kept.entries] == ["one"] and len(kept.refused) == 2
    assert load_registry().entries == kept.entries


@pytest.mark.parametrize(("told", "length"), [("12", 12), ("9" * 6_000, None), ("-1", None), ("1e3", None)])
def test_w34_a_server_may_say_anything_of_a_length(
    told: str, length: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = io.BytesIO()
    answer.headers = {"Content-Length": told}  # type: ignore[attr-defined]
    monkeypatch.setattr(downloads, "_opened", lambda address, method: answer)
    assert downloads.size_of_download("https://h/a") == length


def test_w34_the_newer_of_the_snapshot_and_the_fetched_data_is_used(tmp_path: Path) -> None:
    path = registry_file(tmp_path / "r.json", entry("one", "1", npx={"package": "one@1"}), extensions=[1])
    keep_registry(path.read_bytes(), today=TODAY, source="there")

    newer = load_registry()
    keep_registry(path.read_bytes(), today=date(2020, 1, 1), source="there")
    older = load_registry()

    assert (newer.source, [each.id for each in newer.entries]) == ("there", ["one"])
    assert older.bundled
    assert json.loads(registry_path().read_text())["extensions"] == [1]  # kept, though nothing here knows it


def test_w34_damaged_data_gives_way_to_the_snapshot_and_says_so() -> None:
    registry_path().parent.mkdir(parents=True)
    registry_path().write_bytes(b"{ torn")

    registry = load_registry()

    assert registry.bundled and "catena agents update" in registry.trouble


def test_w34_changes_are_what_is_new_gone_and_has_another_version(tmp_path: Path) -> None:
    def state(*ids: tuple[str, str]) -> bytes:
        entries = [entry(id, version, npx={"package": id}) for id, version in ids]
        return registry_file(tmp_path / "r.json", *entries, date="2027-01-01").read_bytes()

    before = parse_registry(state(("a", "1"), ("b", "1")))
    after = parse_registry(state(("b", "2"), ("c", "1")))

    found = changes(before, after)

    assert [each.id for each in found.added] == ["c"]
    assert [each.id for each in found.removed] == ["a"]
    assert found.versions == (("b", "1", "2"),)
    assert not changes(after, after)


@pytest.mark.parametrize(
    "address",
    ["http://example.org/r.json", "ftp://h/x", "file://host/x", "file:relative", "https:///x", "data:,x"],
)
def test_w34_only_https_and_files_are_fetched(address: str) -> None:
    with pytest.raises(DownloadFailed, match="only https"):
        downloads.read_address(address, 100)


def test_w34_a_redirection_to_plain_http_is_refused() -> None:
    import urllib.request
    from email.message import Message
    from io import BytesIO

    request = urllib.request.Request("https://person:secret@example.org/a")
    follow = downloads.SecureRedirects().redirect_request

    with pytest.raises(DownloadFailed, match="without https") as refused:
        follow(request, BytesIO(), 302, "Found", Message(), "http://example.org/b")
    assert "secret" not in str(refused.value)
    assert follow(request, BytesIO(), 302, "Found", Message(), "https://example.org/b") is not None


def test_w34_a_download_has_its_digest_or_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * 1000)
    wrong = archived(source, "1", digest="a" * 64)["distribution"]["binary"]

    for each in wrong.values():
        with pytest.raises(DownloadFailed, match="SHA-256"):
            downloads.download(
                source.as_uri(), tmp_path / "copy", sha256=each["sha256"], progress=lambda *_: None
            )
    with pytest.raises(DownloadFailed, match="larger"):
        downloads.download(
            source.as_uri(), tmp_path / "other", sha256=None, progress=lambda *_: None, most_bytes=999
        )
