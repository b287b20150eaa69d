"""What a test costs, told by what it uses: rows of a database, or programs, servers and threads of its own."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

import pytest

STARTING = {
    *("subprocess", "multiprocessing", "threading", "concurrent.futures.thread", "socket", "socketserver"),
    *("http.server", "http.client", "urllib.request", "aiosmtpd.controller", "moto.server", "requests", "tests.parts"),
}
"""Modules by which a test starts or asks something beside itself."""
OF_OS = {"fork", "posix_spawn", "execv", "execve"}


LIBRARIES = ("bench.", "cases.", "demo.", "reports.services.pdf", "hypothesis")
"""Many runs that are judged, documents that are laid out, examples that are drawn: seconds for each test."""


def is_quick(item: pytest.Item) -> bool:
    """Whether the test only computes, and little: no rows, no programs, no real parts, no libraries of runs."""
    kinds = ("django_db", "browser", "hosts", "needs", "programs", "slurm")
    if any(map(item.get_closest_marker, kinds)) or not isinstance(getattr(item, "function", None), types.FunctionType):
        return False
    is_drawn = hasattr(item.function, "hypothesis")
    return not is_drawn and not any(f"{name}.".startswith(LIBRARIES) for name in _used_by(item))


def uses_programs(item: pytest.Item) -> bool:
    """Whether the test, or a fixture that it gets, reaches what starts a program, a server or a thread."""
    return not STARTING.isdisjoint(_used_by(item))


def _used_by(item: pytest.Item) -> set[str]:
    """The modules that a test and its fixtures use."""
    function = getattr(item, "function", None)
    if not isinstance(function, types.FunctionType):
        return set()
    information = item._fixtureinfo
    fixtures = (
        found.func
        for name in information.names_closure
        for found in information.name2fixturedefs.get(name, ())
        if found.func.__module__.startswith("tests")
    )
    return set().union(*map(reached, map(_plain, (function, *fixtures))))


def _plain(function: Any) -> Any:
    return getattr(function, "__func__", inspect.unwrap(function))


@functools.cache
def reached(thing: Any) -> frozenset[str]:
    """The modules that a function or class of the tests uses, itself or through others of the tests."""
    found, open_, seen = set[str](), [thing], set[int]()
    while open_:
        current = open_.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for used in _used(current):
            name = used.__name__ if isinstance(used, types.ModuleType) else getattr(used, "__module__", None) or ""
            found.add(name)
            if name.startswith("tests.") and callable(used):
                open_.append(_plain(used))
    return frozenset(found)


def _used(thing: Any) -> Iterator[Any]:
    """What the code of a function, or of every method of a class, names."""
    if isinstance(thing, type):
        methods = [_plain(value) for value in vars(thing).values() if callable(value) or hasattr(value, "__func__")]
        methods += [value.fget for value in vars(thing).values() if isinstance(value, property)]
        yield from (base for base in thing.__mro__[1:] if base is not object)
    else:
        methods = [thing]
    for method in methods:
        if isinstance(method, types.FunctionType):
            names = _names(method.__code__)
            yield from (method.__globals__[name] for name in names if name in method.__globals__)
            if OF_OS & names:
                yield _OS


_OS = types.ModuleType("subprocess")


@functools.cache
def _names(code: types.CodeType) -> frozenset[str]:
    nested = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*map(_names, nested))
