# SPDX-License-Identifier: MIT
"""`interlock register`: one value with a version."""

import json

import pytest
from shell import wait_until


def test_value_is_written_compared_and_deleted(shell, name):
    first = shell.run("register", "set", name, "one")
    assert first.returncode == 0
    version = first.stdout.decode().strip()
    second = shell.run("register", "cas", name, version, "two")
    assert (second.returncode, int(second.stdout) > int(version)) == (0, True)
    assert shell.run("register", "get", name).stdout == b"two"

    late = shell.run("register", "cas", name, version, "three")

    assert (late.returncode, late.stdout) == (1, b"")
    assert f"is on record, not {version}".encode() in late.stderr
    assert shell.run("register", "delete", name, version).returncode == 1
    assert shell.run("register", "get", name).stdout == b"two"
    gone = shell.run("register", "delete", name)
    assert (gone.returncode, gone.stdout) == (0, b"")
    none = shell.run("register", "get", name)
    assert (none.returncode, none.stdout) == (1, b"")
    assert b"there is no value" in none.stderr
    assert shell.run("register", "delete", name).returncode == 1


@pytest.mark.parametrize("word", [[], ["-"]])
def test_value_comes_from_standard_input(shell, name, word):
    done = shell.run("register", "cas", name, "0", *word, input=b"a\0\xff\n")

    assert done.returncode == 0
    assert shell.run("register", "get", name).stdout == b"a\0\xff\n"
    done = shell.run("register", "set", name, *word, input=b"")
    assert done.returncode == 0
    empty = shell.run("register", "get", name)
    assert (empty.returncode, empty.stdout) == (0, b"")


def test_too_long_a_value_is_refused(shell, name):
    done = shell.run("register", "set", name, input=b"x" * 65537)

    assert done.returncode == 64
    assert b"at most 65536 bytes, got 65537" in done.stderr
    assert shell.run("register", "set", name, input=b"x" * 65536).returncode == 0


def test_change_wakes_who_waits(shell, server, name):
    version = shell.run("register", "set", name, "one").stdout.decode().strip()
    waiter = shell.start("register", "wait", name, version)
    line = f"ilk:register:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", line) == 1, "a waiter")
    shell.run("register", "set", name, "two")

    assert waiter.communicate(timeout=20)[0] == b"two"
    assert waiter.returncode == 0


def test_wait_ends_in_time(shell, name):
    done = shell.run("register", "wait", name, "0", "--timeout", "50ms")

    assert (done.returncode, done.stdout) == (75, b"")


def test_json_shows_value_and_version_of_a_refusal_too(shell, name):
    written = json.loads(shell.run("register", "set", name, "one", "--json").stdout)
    late = shell.run("register", "cas", name, "7", "two", "--json")

    assert late.returncode == 1
    assert json.loads(late.stdout) == written
    assert (written["kind"], written["value"]) == ("register", "one")
    shell.run("register", "delete", name)
    none = shell.run("register", "get", name, "--json")
    assert none.returncode == 1
    found = json.loads(none.stdout)
    assert (found["value"], found["value_hex"]) == (None, None)
    assert found["version"] > written["version"]


def test_a_key_of_another_type_is_data(shell, server, name):
    server.call("SET", f"ilk:register:{{{name}}}", "x")

    assert shell.run("register", "get", name).returncode == 65


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["ring", "x"],
        ["get"],
        ["get", "x", "y"],
        ["set", "x", "y", "z"],
        ["cas", "x"],
        ["cas", "x", "one"],
        ["cas", "x", "-1", "y"],
        ["cas", "x", "99999999999999999999", "y"],
        ["cas", "x", "9007199254740992", "y"],
        ["delete", "x", "1y"],
        ["wait", "x"],
        ["get", "ilk:x"],
    ],
)
def test_bad_words_are_usage(shell, args):
    assert shell.run("register", *args).returncode == 64
