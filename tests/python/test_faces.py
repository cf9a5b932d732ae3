# SPDX-License-Identifier: MIT
"""interlock and interlock.aio have the same names, parameters and defaults."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Sequence

import interlock
import pytest
from interlock import aio
from interlock.ring import RingBase

# Names that one face lacks, and why.
NOT_AWAITED = {
    "recipes": "the documents' functions, which block as theirs do",
    "server": "a server for programs and tests, started before any loop runs",
}
WITHOUT = {
    "Notifications.fileno": "the event loop watches the descriptor",
}


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def pairs():
    """The classes that are not the same object on both faces."""
    for name in interlock.__all__:
        ours = getattr(interlock, name)
        theirs = getattr(aio, name, None)
        if inspect.isclass(ours) and theirs not in (None, ours):
            yield pytest.param(ours, theirs, id=name)


def parameters(function):
    """Name, kind and default of each; annotations differ by what is awaited."""
    return [
        (one.name, one.kind, one.default)
        for one in inspect.signature(function).parameters.values()
    ]


def test_no_public_name_is_on_one_face_only():
    assert set(interlock.__all__) - set(aio.__all__) == set(NOT_AWAITED)
    assert set(aio.__all__) - set(interlock.__all__) == set()
    assert len(aio.__all__) == len(set(aio.__all__))
    for name in aio.__all__:
        assert getattr(aio, name) is not None


def test_names_that_need_no_server_are_the_same_on_both():
    for name in aio.__all__:
        ours = getattr(interlock, name)
        plain = inspect.isclass(ours) and (
            issubclass(ours, (Exception, enum.Enum))
            or hasattr(ours, "__dataclass_fields__")
        )
        if plain:
            assert getattr(aio, name) is ours, name


@pytest.mark.parametrize(("ours", "theirs"), list(pairs()))
def test_a_class_has_the_same_public_names(ours, theirs):
    left_out = {
        name.partition(".")[2]
        for name in WITHOUT
        if name.startswith(f"{ours.__name__}.")
    }
    assert public(ours) - left_out == public(theirs)


@pytest.mark.parametrize(("ours", "theirs"), list(pairs()))
def test_its_functions_have_the_same_parameters(ours, theirs):
    for name in public(ours) & public(theirs):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(mine, property) or not callable(mine):
            assert isinstance(other, type(mine)), name
        else:
            assert parameters(mine) == parameters(other), name


@pytest.mark.parametrize(("ours", "theirs"), list(pairs()))
def test_it_works_in_the_same_blocks(ours, theirs):
    for here in (Sequence, RingBase):  # its items are here: nothing to wait for
        if issubclass(ours, here):
            assert issubclass(theirs, here) and not hasattr(theirs, "__aiter__")
            return
    for plain, awaited in (
        ("__enter__", "__aenter__"),
        ("__exit__", "__aexit__"),
        ("__iter__", "__aiter__"),
        ("__next__", "__anext__"),
    ):
        assert hasattr(ours, plain) == hasattr(theirs, awaited), plain


def test_functions_have_the_same_parameters():
    for name in aio.__all__:
        ours, theirs = getattr(interlock, name), getattr(aio, name)
        if inspect.isfunction(ours) and ours is not theirs:
            assert parameters(ours) == parameters(theirs), name
