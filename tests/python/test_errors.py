# SPDX-License-Identifier: MIT
"""Every status of the C core is an exception, mapped and named."""

from __future__ import annotations

import builtins
import re

import interlock
import pytest
from interlock import errors
from interlock._core import ffi, lib

STATUSES = dict(ffi.typeof("ilk_status").relements)
FAILURES = {name: code for name, code in STATUSES.items() if code != lib.ILK_OK}


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_each_status_has_an_exception_of_its_own(name):
    error = errors.from_status(FAILURES[name])

    assert type(error) is not errors.Error
    assert type(error).default_code == FAILURES[name]
    assert (error.code, error.status) == (FAILURES[name], name)
    assert str(error)
    assert type(error).__doc__


def test_no_two_statuses_share_an_exception():
    kinds = [type(errors.from_status(code)) for code in FAILURES.values()]

    assert len(set(kinds)) == len(kinds) == len(errors.BY_CODE)


def test_an_unknown_status_is_an_error():
    error = errors.from_status(-9999, "from a newer library")

    assert type(error) is errors.Error
    assert (error.code, error.status) == (-9999, "ILK_?")


def test_exceptions_are_exported_under_their_names():
    for kind in errors.BY_CODE.values():
        if kind is not errors.NothingError:  # never leaves the package
            assert getattr(interlock, kind.__name__) is kind
            assert kind.__name__ in interlock.__all__


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (interlock.TimeoutError, builtins.TimeoutError),
        (interlock.ConnectionError, builtins.ConnectionError),
        (interlock.InvalidError, ValueError),
        (interlock.OutOfMemoryError, MemoryError),
        (interlock.InterruptedError, builtins.InterruptedError),
    ],
)
def test_exceptions_derive_from_their_builtin_namesakes(ours, builtin):
    assert issubclass(ours, builtin)
    assert issubclass(ours, interlock.Error)


def test_texts_name_the_value_in_lower_case(client):
    with pytest.raises(interlock.InvalidError) as caught:
        client.lock("x" * 600)

    assert re.search(r"600", str(caught.value))
    assert str(caught.value)[0].islower()
