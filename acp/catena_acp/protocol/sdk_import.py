"""The import of the SDK without the work that nobody has a use for.

All 272 models of ``acp.schema`` set ``use_attribute_docstrings``. For each of them pydantic looks for the class in the
lines of the whole module, tokenizes and parses it again, only to find descriptions for a JSON schema: more than half
of the time that the import takes. Nobody here asks the SDK for a JSON schema. Pydantic's step that does it is left
out while the SDK is imported; where another pydantic has no such step, or another one under its name, everything is
done as it always is. And a model's validator is made when it is first used, as pydantic lets every model choose: most
of them never are.

Pydantic's secret strings bring in ``hashlib``, and that OpenSSL's functions: 4 MiB, where nothing else in the process
has a use for OpenSSL. Python's own do the same; on some systems it is built without the others.

Pydantic looks through all that is installed for plugins of its own, with ``importlib.metadata``: another MiB. A plugin
that something else brought along is nobody's here.

The SDK traces each message where a library for that is installed, for whatever reason: that is nobody's here.

For the SDK's authors: "`import acp` takes 0.85 s of CPU here, 0.5 s of it in pydantic's `extract_docstrings_from_cls`,
which is called once for each model since `acp.schema` sets `use_attribute_docstrings=True`: `inspect` searches the
module's 6,000 lines each time. The generator of `schema.py` could write `Field(description=...)`, or leave the
option to whoever builds a JSON schema."
"""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

_CONNECTION = "catena_acp.protocol.connection"
_STEP = "_update_fields_from_docstrings"
_PARAMETERS = ["cls", "fields", "use_inspect"]


def import_sdk() -> None:
    """Import everything that a connection needs, which takes a while; in a thread, so that the loop goes on."""
    if _CONNECTION in sys.modules:
        importlib.import_module(_CONNECTION)  # another thread may not have finished
        return
    with (
        _without_collections(),
        _without_modules("_hashlib", "logfire", "opentelemetry"),
        _without_plugins(),
        _without_descriptions(),
        _without_validators(),
    ):
        importlib.import_module(_CONNECTION)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep the garbage collector from what is imported, which stays: while it works, no other thread can.

    Once only: whatever else is there at that moment stays, too, if it is part of a circle.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


@contextmanager
def _without_modules(*names: str) -> Iterator[None]:
    """Let imports find no module of these names, but for those that are there already."""
    missing: dict[str, None] = {name: None for name in names if name not in sys.modules}
    if "hashlib" in sys.modules:
        missing.pop("_hashlib", None)
    sys.modules.update(missing)  # type: ignore[arg-type]  # how Python notes that there is no such module
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


class _Metadata(ModuleType):
    """``importlib.metadata`` that finds no entry points, and is the real one for whoever asks for more."""

    @staticmethod
    def entry_points(**_: str) -> tuple[()]:
        """No entry points."""
        return ()

    @staticmethod
    def version(distribution: str) -> str:
        """The version of a distribution, looked up when it is asked for."""
        version: str = importlib.import_module("importlib.metadata").version(distribution)
        return version

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import itself
            raise AttributeError(name)
        sys.modules.pop(self.__name__, None)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def _without_plugins() -> Iterator[None]:
    name = "importlib.metadata"
    if name in sys.modules:
        yield
        return
    empty = sys.modules[name] = _Metadata(name)
    try:
        yield
    finally:
        if sys.modules.get(name) is empty:
            del sys.modules[name]


@contextmanager
def _without_descriptions() -> Iterator[None]:
    fields = _module_with_step()
    if fields is None:
        yield
        return
    step = getattr(fields, _STEP)
    setattr(fields, _STEP, _find_no_descriptions)
    try:
        yield
    finally:
        setattr(fields, _STEP, step)


@contextmanager
def _without_validators() -> Iterator[None]:
    from pydantic import BaseModel

    # Models inherit it from the one above them when they are defined.
    name: Literal["defer_build"] = "defer_build"
    deferred = BaseModel.model_config.get(name)
    BaseModel.model_config[name] = True
    try:
        yield
    finally:
        if deferred is None:
            del BaseModel.model_config[name]
        else:
            BaseModel.model_config[name] = deferred


def _module_with_step() -> Any:
    """Pydantic's module with the step as it is known here, else None."""
    try:
        fields = importlib.import_module("pydantic._internal._fields")
    except ImportError:
        return None
    step: Callable[..., None] | None = getattr(fields, _STEP, None)
    return fields if step and list(inspect.signature(step).parameters) == _PARAMETERS else None


def _find_no_descriptions(cls: Any, fields: Any, use_inspect: bool = False) -> None:
    pass
