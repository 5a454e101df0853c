"""Dataclasses whose methods need no compiler.

Up to Python 3.12 a frozen dataclass compiles six methods from text, one after the other, whenever its module is
imported: with our 400 and those of what we import, that was a third of the CPU time of a ``catena run``. What five of
them do is the same for all classes but for the names of the fields, so that a closure over these names does it as well.
An ``__init__`` that only keeps what it is given is compiled once for each number of fields, and gets the names of each
class. Python 3.13 compiles all methods of a class at once; there, and wherever else the steps of ``dataclasses`` are
not as they are known here, everything is done as it always is.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import CellType, CodeType, FunctionType
from typing import Any

_Fields = Sequence[Field[Any]]
_MAKING = (
    "fields",
    "std_fields",
    "kw_only_fields",
    "frozen",
    "has_post_init",
    "self_name",
    "globals",
    "slots",
)
_STEPS = {
    "_init_fn": _MAKING,
    "_repr_fn": ("fields", "globals"),
    "_hash_fn": ("fields", "globals"),
    "_cmp_fn": ("name", "op", "self_tuple", "other_tuple", "globals"),
    "_frozen_get_del_attr": ("cls", "fields", "globals"),
}


def without_compiler() -> None:
    """Define every dataclass from now on with methods that are not compiled for it alone."""
    if sys.version_info >= (3, 13) or any(_parameters(step) != names for step, names in _STEPS.items()):
        return
    steps: Any = dataclasses
    steps._init_fn = _making(steps._init_fn, steps._FIELD)
    steps._repr_fn = _repr
    steps._hash_fn = _hash
    steps._cmp_fn = _equality(steps._cmp_fn)
    steps._frozen_get_del_attr = _frozen


def _parameters(step: str) -> tuple[str, ...]:
    code = getattr(getattr(dataclasses, step, None), "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def _values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What reads these attributes of an object."""
    match names:
        case []:
            return lambda of: ()
        case [name]:
            return lambda of: (getattr(of, name),)
        case _:
            return attrgetter(*names)


def _making(compiled: Callable[..., object], kept: object) -> Callable[..., object]:
    """The step for ``__init__``; ``compiled`` is the one for what does more. Fields of the type ``kept`` are kept."""
    keeping = cache(_keeping)

    def making(*arguments: Any) -> object:
        fields, _, by_name, frozen, has_post_init, self_name, globals, _ = arguments
        given = [
            each.init and each.default_factory is MISSING and each._field_type is kept for each in fields
        ]
        defaults = [each.default for each in fields]
        first = next((at for at, each in enumerate(defaults) if each is not MISSING), len(fields))
        if not (frozen and fields and all(given)) or by_name or has_post_init or MISSING in defaults[first:]:
            return compiled(*arguments)
        names = [each.name for each in fields]
        made = FunctionType(
            keeping(len(fields)).replace(co_varnames=(self_name, *names), co_consts=(None, *names)),
            globals,
            "__init__",
            tuple(defaults[first:]),
            (CellType(object.__setattr__),),
        )
        made.__annotations__ = {each.name: each.type for each in fields} | {"return": None}
        return made

    return making


def _keeping(count: int) -> CodeType:
    """The code of an ``__init__`` that keeps so many values; its names are its constants, too."""
    names = [f"_{number}" for number in range(count)]
    lines = "\n".join(f"  keep(self, {name!r}, {name})" for name in names)
    made: dict[str, Any] = {}
    exec(f"def outer(keep):\n def __init__(self, {', '.join(names)}):\n{lines}\n return __init__", made)
    code: CodeType = made["outer"](None).__code__
    return code


def _repr(fields: _Fields, globals: object) -> Callable[[object], str]:
    names = [field.name for field in fields]

    def __repr__(self: object) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return recursive_repr()(__repr__)


def _hash(fields: _Fields, globals: object) -> Callable[[object], int]:
    values = _values([field.name for field in fields])

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


def _equality(compiled: Callable[..., object]) -> Callable[..., object]:
    """The step for ``==``; ``compiled`` is the one for other comparisons."""

    def comparison(name: str, op: str, self_tuple: str, other_tuple: str, globals: object) -> object:
        if op != "==":
            return compiled(name, op, self_tuple, other_tuple, globals)
        values = _values([each.removeprefix("self.") for each in self_tuple.strip("()").split(",") if each])

        def __eq__(self: object, other: object) -> bool:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    return comparison


def _frozen(cls: Any, fields: _Fields, globals: object) -> tuple[Callable[..., None], Callable[..., None]]:
    names = frozenset(field.name for field in fields)

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__
