"""Dataclasses as the command line defines them: as Python does, without a compiler."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, dataclass, field, replace
from typing import Any

import pytest

from catena.app.dataclass_methods import without_compiler

of_old_pythons = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="this Python compiles the methods of a class at once"
)
_DATACLASSES: Any = dataclasses
_STEPS = ("_init_fn", "_repr_fn", "_hash_fn", "_cmp_fn", "_frozen_get_del_attr")


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is defined in the test is defined as under the command line."""
    for step in _STEPS:
        if hasattr(dataclasses, step):
            monkeypatch.setattr(dataclasses, step, getattr(dataclasses, step))
    without_compiler()


def _defined() -> tuple[Any, ...]:
    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    @dataclass(frozen=True, slots=True)
    class One:
        value: object

    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 0
        note: str = field(default="", compare=False, repr=False)
        inside: object = None

    @dataclass(frozen=True)
    class Named(Point):
        name: str = "here"

    @dataclass(order=True)
    class Weight:
        grams: int

    return Nothing, One, Point, Named, Weight


@pytest.mark.usefixtures("prepared")
def test_values_are_equal_and_have_one_hash_if_their_fields_are() -> None:
    Nothing, One, Point, Named, Weight = _defined()

    assert Nothing() == Nothing() and hash(Nothing()) == hash(())
    assert One(1) == One(1) != One(2)
    assert hash(One(1)) == hash((1,))
    assert Point(1, 2, "a") == Point(1, 2, "b") != Point(2, 1)
    assert hash(Point(1, 2, "a")) == hash((1, 2, None))
    assert Point(1) != Named(1) and Point(1).__eq__(1) is NotImplemented
    assert Weight(1) < Weight(2) and Weight(2) >= Weight(2) == Weight(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Weight(1))


def test_what_is_not_equal_to_itself_is_compared_as_this_python_does(request: pytest.FixtureRequest) -> None:
    nan = float("nan")
    _, LibraryOne, *_ = _defined()
    request.getfixturevalue("prepared")
    _, One, *_ = _defined()

    # Up to Python 3.12 as in a tuple, where one and the same object is equal to itself; later not.
    assert (One(nan) == One(nan)) is (LibraryOne(nan) == LibraryOne(nan))
    assert (One([nan]) == One([nan])) is (LibraryOne([nan]) == LibraryOne([nan]))


@pytest.mark.usefixtures("prepared")
def test_they_show_their_fields_and_themselves_once() -> None:
    Nothing, One, Point, Named, _ = _defined()
    inside: list[object] = []
    inside.append(Point(1, inside=inside))

    assert repr(Nothing()).endswith("<locals>.Nothing()")
    assert repr(One("a")).endswith("<locals>.One(value='a')")
    assert repr(Named(1, note="x")).endswith("Named(x=1, y=0, inside=None, name='here')")
    assert repr(inside[0]).endswith("Point(x=1, y=0, inside=[...])")


@pytest.mark.usefixtures("prepared")
def test_no_field_of_a_frozen_one_is_assigned_or_deleted() -> None:
    _, _, Point, Named, Weight = _defined()

    for frozen in (Point(1), Named(1)):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
            frozen.x = 2
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
            frozen.other = 2
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
            del frozen.x
        assert replace(frozen, x=2).x == 2

    loose = type("Loose", (Point,), {})(1)  # no dataclass itself: only the fields are frozen
    loose.other = 1
    del loose.other
    with pytest.raises(FrozenInstanceError):
        loose.x = 2
    weight = Weight(1)
    weight.grams = 2
    assert weight == Weight(2)


def _made_in_every_way() -> list[type[Any]]:
    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    @dataclass(frozen=True, slots=True)
    class Plain:
        x: int
        y: str = "y"
        z: object = None

    @dataclass(frozen=True)
    class Below(Plain):
        w: list[int] | None = None

    @dataclass(frozen=True)
    class Selfish:
        self: int
        x: int = 0

    @dataclass(frozen=True)
    class Fresh:
        x: int
        y: list[int] = field(default_factory=list)

    @dataclass(frozen=True)
    class Named:
        x: int = field(kw_only=True)
        y: int = 0

    @dataclass(frozen=True)
    class Fixed:
        x: int
        y: int = field(default=3, init=False)

    @dataclass(frozen=True)
    class Counted:
        x: InitVar[int]
        y: int = 0

        def __post_init__(self, x: int) -> None:
            object.__setattr__(self, "y", x + 1)

    @dataclass
    class Loose:
        x: int
        y: int = 0

    return [Empty, Plain, Below, Selfish, Fresh, Named, Fixed, Counted, Loose]


def test_they_are_made_and_refuse_what_they_are_given_as_those_of_the_library_do(
    request: pytest.FixtureRequest,
) -> None:
    def told(kind: type[Any], *given: Any, **named: Any) -> str:
        try:
            return repr(kind(*given, **named))
        except TypeError as error:
            return str(error)

    library = _made_in_every_way()
    request.getfixturevalue("prepared")
    for kind, known in zip(_made_in_every_way(), library, strict=True):
        assert inspect.signature(kind) == inspect.signature(known)
        assert kind.__init__.__annotations__ == known.__init__.__annotations__
        assert kind.__init__.__qualname__ == known.__init__.__qualname__
        for given in ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)):
            for named in ({}, {"x": 1}, {"y": 2}, {"x": 1, "y": 2}, {"nobody": 3}):
                assert told(kind, *given, **named) == told(known, *given, **named)
    with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):

        @dataclass(frozen=True)
        class Wrong:
            x: int = 0
            y: int  # type: ignore[misc]


@of_old_pythons
@pytest.mark.usefixtures("prepared")
def test_only_what_does_more_than_to_keep_values_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    create: Callable[..., object] = _DATACLASSES._create_fn

    def counted(name: str, *rest: object, **more: object) -> object:
        compiled.append(name)
        return create(name, *rest, **more)

    monkeypatch.setattr(dataclasses, "_create_fn", counted)

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int

    assert compiled == []
    assert Point(1) == Point(1)

    @dataclass(frozen=True, slots=True)
    class Points:
        every: list[Point] = field(default_factory=list)

    assert compiled == ["__init__"]
    assert Points() == Points([])


@of_old_pythons
def test_steps_that_are_not_known_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {step: getattr(dataclasses, step) for step in _STEPS}
    for step, known in steps.items():
        monkeypatch.setattr(dataclasses, step, known)
    monkeypatch.setattr(dataclasses, "_hash_fn", lambda fields, globals, more: None)
    unknown = _DATACLASSES._hash_fn

    without_compiler()

    assert {step: getattr(dataclasses, step) for step in _STEPS} == steps | {"_hash_fn": unknown}
