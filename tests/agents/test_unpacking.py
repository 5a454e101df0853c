"""Archives that nobody vouches for."""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from catena_acp.agents.registry.downloads import UnpackLimits, unpack
from catena_acp.errors import InstallFailed
from support.agents.registry import member, tar_of

LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


def out_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Unpack an archive of these members into an empty directory beside a file that is nobody's business."""
    (path / "outside").write_text("untouched")
    into = path / "into"
    into.mkdir()
    archive = tar_of(path / "a.tar.gz", *members)
    try:
        unpack(archive, archive.name, into)
    finally:
        assert (path / "outside").read_text() == "untouched"
        assert sorted(each.name for each in path.iterdir()) == ["a.tar.gz", "into", "outside"]
    return into


def test_w34_files_directories_and_inner_links_come_out_with_plain_modes(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        into = out_of(
            tmp_path,
            (member("./a/", kind=tarfile.DIRTYPE, mode=0o7777), b""),
            (member("a/run", mode=0o6777), b"program"),
            (member("a/text", mode=0o666), b"text"),
            (member("a/b/link", kind=LINK, link="../run"), b""),
            (member("a/hard", kind=HARD, link="a/run"), b""),
        )
    finally:
        os.umask(before)

    assert (into / "a/b/link").read_bytes() == (into / "a/hard").read_bytes() == b"program"
    modes = {name: stat.S_IMODE((into / "a" / name).stat().st_mode) for name in ("run", "text", "hard", ".")}
    assert modes == {"run": 0o755, "text": 0o644, "hard": 0o755, ".": 0o755}


@pytest.mark.parametrize(
    "members",
    [
        [(member("../outside"), b"x")],
        [(member("a/../../outside"), b"x")],
        [(member("/tmp/outside"), b"x")],
        [(member("a", kind=LINK, link="../outside"), b"")],
        [(member("a", kind=LINK, link="/etc/passwd"), b"")],
        [(member("a", kind=LINK, link="b/../../outside"), b"")],
        [(member("a", kind=LINK, link="."), b""), (member("a/x"), b"x")],
        [(member("d", kind=LINK, link="."), b""), (member("e", kind=LINK, link="d/../outside"), b"")],
        [(member("s/t/l", kind=LINK, link="../../b/.."), b""), (member("b", kind=LINK, link="."), b"")],
        [(member("a", kind=LINK, link="b"), b""), (member("b", kind=LINK, link="a"), b"")],
        [(member("a", kind=LINK, link="b"), b""), (member("a"), b"x")],
        [(member("a"), b"x"), (member("a"), b"y")],
        [(member("a"), b"x"), (member("a/b"), b"y")],
        [(member("a", kind=HARD, link="../outside"), b"")],
        [(member("a", kind=HARD, link="nothing"), b"")],
        [(member("a", kind=tarfile.FIFOTYPE), b"")],
        [(member("a", kind=tarfile.CHRTYPE), b"")],
        [(member("a\\..\\outside"), b"x")],
    ],
)
def test_w34_an_archive_that_breaks_a_rule_is_refused_and_nothing_outside_is_touched(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    with pytest.raises(InstallFailed, match="the archive"):
        out_of(tmp_path, *members)


def test_w34_a_zip_is_held_to_the_same_rules(tmp_path: Path) -> None:
    def zipped(name: str, mode: int, content: str) -> Path:
        path = tmp_path / "a.zip"
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(info, content)
        return path

    fine, bad = tmp_path / "fine", tmp_path / "bad"
    fine.mkdir()
    bad.mkdir()
    unpack(zipped("d/run", stat.S_IFREG | 0o4755, "program"), "a.zip", fine)

    assert stat.S_IMODE((fine / "d/run").stat().st_mode) & 0o7000 == 0
    assert os.access(fine / "d/run", os.X_OK)
    for archive in (
        zipped("../up", stat.S_IFREG | 0o644, "x"),
        zipped("link", stat.S_IFLNK | 0o777, "../up"),
        zipped("pipe", stat.S_IFIFO | 0o644, ""),
    ):
        with pytest.raises(InstallFailed):
            unpack(archive, "a.zip", bad)
    assert not any(bad.iterdir())


def test_w34_an_archive_without_end_or_measure_is_refused(tmp_path: Path) -> None:
    torn = tar_of(tmp_path / "torn.tar.gz", (member("a"), os.urandom(100_000)))
    torn.write_bytes(torn.read_bytes()[:50_000])
    large = tar_of(tmp_path / "large.tar.gz", (member("a"), bytes(100_000)))
    many = tar_of(tmp_path / "many.tar.gz", *((member(f"f{n}"), b"") for n in range(12)))

    for number, (archive, limits, why) in enumerate(
        (
            (torn, UnpackLimits(), "damaged"),
            (large, UnpackLimits(size=99_999), "unpacks to more"),
            (many, UnpackLimits(members=11), "more than 11 files"),
        )
    ):
        into = tmp_path / str(number)
        into.mkdir()
        with pytest.raises(InstallFailed, match=why):
            unpack(archive, archive.name, into, limits)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
@pytest.mark.parametrize("there", [1 << 10, 32 << 20])
def test_w34_a_name_of_gigabytes_is_not_read(tmp_path: Path, kind: bytes, there: int) -> None:
    header = tarfile.TarInfo("name")
    header.type, header.size = kind, 1 << 30
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(gzip.compress(header.tobuf() + b"n" * there, 1))
    into = tmp_path / "into"
    into.mkdir()
    # Newer Pythons read it in pieces: they see that an archive is torn before its name is too long.
    why = "a name that is too long" if there >= 32 << 20 else "the archive"
    tracemalloc.start()
    try:
        with pytest.raises(InstallFailed, match=why):
            unpack(archive, archive.name, into)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
