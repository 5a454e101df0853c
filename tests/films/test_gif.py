"""A GIF of the film says which cast it was made from, and is made from a cast that every player reads."""

from __future__ import annotations

import json
import shutil

import pytest
from screenshots import gif

# One dot, as short as a GIF can be.
DOT = bytes.fromhex("47494638396101000100800000ffffff0000002c00000000010001000002024401003b")
CAST = gif.CAST.read_text()


def test_d02_a_gif_carries_the_hash_of_its_cast_and_stays_one() -> None:
    marked = gif.marked(DOT, gif.hash_of(CAST))

    assert gif.made_from(marked) == gif.hash_of(CAST) != gif.hash_of(f"{CAST} ")
    assert gif.made_from(DOT) == ""
    comment = marked[len(DOT) - 1 : -1]
    assert marked.startswith(DOT[:-1]) and marked.endswith(b";")
    assert comment[:2] == b"!\xfe" and comment[2] == len(comment) - 4 and comment[-1] == 0


def test_d02_a_cast_of_version_2_has_the_same_film_with_times_from_its_beginning() -> None:
    _, *events = map(json.loads, CAST.splitlines())
    header, *told = map(json.loads, gif.of_version_2(CAST).splitlines())

    assert (header["version"], header["width"], header["height"]) == (2, 100, 30)
    assert [text for _, _, text in told] == [text for _, code, text in events if code == "o"]
    assert [at for at, _, _ in told] == sorted(at for at, _, _ in told)
    assert told[-1][0] == pytest.approx(sum(interval for interval, _, _ in events))


def test_d02_a_gif_that_was_made_is_of_the_film_as_it_is_now() -> None:
    if not gif.GIF.exists():
        pytest.skip("no GIF was made here: `make gif` makes one")
    assert gif.made_from(gif.GIF.read_bytes()) == gif.hash_of(CAST), "demo.gif is stale: run `make gif`"


def test_d02_agg_draws_a_gif_of_it() -> None:
    if (agg := shutil.which("agg")) is None:
        pytest.skip("agg is not installed")
    beginning = "".join(CAST.splitlines(keepends=True)[:6])
    assert gif.drawn_by(agg, beginning).startswith(b"GIF89a")
