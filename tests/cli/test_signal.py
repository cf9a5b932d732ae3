# SPDX-License-Identifier: MIT
"""`interlock wait` and `interlock signal`."""

import json

import pytest
from shell import wait_until


def waiter(shell, server, *args):
    """Start a wait; returns when it stands in the line of the last name."""
    line = f"ilk:signal:wait:{{{args[-1]}}}"
    before = server.call("ZCARD", line)
    started = shell.start("wait", *args)
    wait_until(lambda: server.call("ZCARD", line) == before + 1, "a waiter")
    return started


def output(process):
    out = process.communicate(timeout=20)[0]
    assert process.returncode == 0
    return out


def test_all_who_wait_get_it(shell, server, name):
    waiters = [waiter(shell, server, name) for _ in range(3)]
    done = shell.run("signal", name, "now")

    assert (done.returncode, done.stdout) == (0, b"3\n")
    assert [output(one) for one in waiters] == [b"now"] * 3


def test_one_gets_it(shell, server, name):
    first, second = waiter(shell, server, name), waiter(shell, server, name)

    assert shell.run("signal", name, "a", "--one").stdout == b"1\n"
    assert output(first) == b"a"
    found = shell.run("inspect", name, "--kind", "signal", "--json").stdout
    assert json.loads(found)["waiters"] == 1
    assert shell.run("signal", name, "b", "--one").stdout == b"1\n"
    assert output(second) == b"b"


def test_nobody_waits(shell, name):
    done = shell.run("signal", name, "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["reached"] == 0


def test_none_came_in_time(shell, name):
    assert shell.run("wait", name, "--timeout", "50ms").returncode == 75


def test_any_and_all_of_several(shell, server, name):
    one, two = f"{name}.1", f"{name}.2"
    some = waiter(shell, server, "--json", one, two)
    every = waiter(shell, server, "--json", "--all", one, two)
    shell.run("signal", two, "x")
    found = json.loads(output(some))
    assert (found["name"], found["data"]) == (two, "x")

    shell.run("signal", one, "y")
    found = [json.loads(line) for line in output(every).splitlines()]
    assert [(each["name"], each["data"]) for each in found] == [(one, "y"), (two, "x")]


def test_a_pattern_receives_all_that_match(shell, server, name):
    listening = shell.start("wait", "--pattern", f"{name}.*", "--json")
    wait_until(
        lambda: shell.run("signal", f"{name}.here", "p").returncode == 0, "to be heard"
    )

    found = json.loads(output(listening))
    assert (found["name"], found["data"]) == (f"{name}.here", "p")


def test_data_is_any_bytes(shell, server, name):
    waiting = waiter(shell, server, name)
    shell.run("signal", name, "-", input=b"a\0\xff\r\n")

    assert output(waiting) == b"a\0\xff\r\n"


def test_ctrl_c_leaves_no_waiter(shell, server, name):
    waiting = waiter(shell, server, name)
    waiting.terminate()

    assert waiting.wait(20) == -15
    line = f"ilk:signal:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", line) == 0, "an empty line")


@pytest.mark.parametrize("args", [["wait"], ["signal"], ["signal", "a", "b", "c"]])
def test_bad_words_are_usage(shell, args):
    assert shell.run(*args).returncode == 64
