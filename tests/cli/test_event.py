# SPDX-License-Identifier: MIT
"""`interlock event`, and what inspect shows of what stays."""

import json

import interlock
import pytest
from shell import wait_until


def test_a_late_waiter_goes_on_at_once(shell, name):
    assert shell.run("event", "show", name).returncode == 1
    assert shell.run("event", "set", name, "data").returncode == 0
    done = shell.run("event", "wait", name, "--timeout", "0")

    assert (done.returncode, done.stdout) == (0, b"data")
    assert shell.run("event", "clear", name).returncode == 0
    assert shell.run("event", "wait", name, "--timeout", "50ms").returncode == 75


def test_a_set_wakes_who_waits(shell, server, name):
    waiter = shell.start("event", "wait", name)
    line = f"ilk:event:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", line) == 1, "a waiter")
    shell.run("event", "set", name, "-", input=b"a\0b")

    assert waiter.communicate(timeout=20)[0] == b"a\0b"
    assert waiter.returncode == 0


def test_json_has_the_state(shell, name):
    done = shell.run("event", "set", name, "x", "--json")
    found = json.loads(done.stdout)
    shown = json.loads(shell.run("inspect", name, "--kind", "event", "--json").stdout)

    assert (found["state"], found["data"]) == ("set", "x")
    assert (shown["state"], shown["generation"]) == ("set", found["generation"])


def test_latch_and_barrier_are_looked_at(shell, server, name):
    with interlock.connect(server.url) as client:
        client.latch(name, 5).count_down(2)
        found = shell.run("inspect", name, "--kind", "latch", "--json").stdout
        assert json.loads(found)["left"] == 3
        assert json.loads(found)["count"] == 5
    found = shell.run("inspect", name, "--kind", "barrier", "--json").stdout
    assert json.loads(found)["waiters"] == 0
    listed = [json.loads(shell.run("ls", name, "--json").stdout)]
    assert [one["kind"] for one in listed] == ["latch"]


@pytest.mark.parametrize("args", [[], ["ring", "x"], ["set"], ["show", "x", "y"]])
def test_bad_words_are_usage(shell, args):
    assert shell.run("event", *args).returncode == 64
