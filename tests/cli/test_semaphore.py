# SPDX-License-Identifier: MIT
"""`interlock semaphore`: CMD under a permit."""

import json
import signal

import pytest
from shell import is_alive, wait_until

IN = ("--", "sh", "-c", "echo in; exec sleep 60")


def start(shell, name, *options):
    """Start a command under a permit; returns when it runs."""
    holder = shell.start("semaphore", name, "--limit", "2", *options, *IN)
    line = holder.stdout.readline()
    assert line == b"in\n", (line, holder.stderr.read())
    return holder


def look(shell, name):
    done = shell.run("inspect", name, "--kind", "semaphore", "--json")
    return json.loads(done.stdout)


def test_as_many_run_as_there_are_permits(shell, name):
    first, second = start(shell, name), start(shell, name)
    third = shell.start("semaphore", name, "--limit", "2", "echo", "third")
    wait_until(lambda: look(shell, name)["waiters"] == 1, "a waiter")

    found = look(shell, name)
    assert (found["limit"], found["used"]) == (2, 2)
    pids = {int(one["label"].rpartition(":")[2]) for one in found["held_by"]}
    assert pids == {first.pid, second.pid}

    first.terminate()
    assert third.communicate(timeout=20)[0] == b"third\n"
    assert third.returncode == 0
    assert first.wait(20) == -signal.SIGTERM


def test_a_command_may_need_several(shell, name):
    start(shell, name)

    done = shell.run("semaphore", name, "--limit", "2", "--permits", "2",
                     "--wait", "0", "true")  # fmt: skip
    assert done.returncode == 75
    done = shell.run("semaphore", name, "--limit", "2", "--wait", "0", "true")
    assert done.returncode == 0


def test_another_limit_is_refused(shell, name):
    start(shell, name)

    done = shell.run("semaphore", name, "--limit", "3", "true")
    assert done.returncode == 65
    assert b"2" in done.stderr and b"3" in done.stderr


def test_a_lost_permit_ends_the_command(shell, server, name):
    holder = start(shell, name, "--ttl", "1500ms")
    server.call("DEL", f"ilk:semaphore:{{{name}}}")

    assert holder.wait(20) == 76
    assert f"the permit of '{name}' was lost".encode() in holder.stderr.read()


@pytest.mark.parametrize(
    "words",
    [["true"], ["--limit", "0", "true"], ["--limit", "1025", "true"],
     ["--limit", "2", "--permits", "0", "true"], ["--limit", "2", "--"],
     ["--limit", "2", "--permits", "3", "true"]],
)  # fmt: skip
def test_bad_words_are_usage(shell, name, words):
    assert shell.run("semaphore", name, *words).returncode == 64


def test_environment_and_status_are_those_of_the_command(shell, name):
    done = shell.run("semaphore", name, "--limit", "1", "--", "sh", "-c",
                     "echo $INTERLOCK_NAME $INTERLOCK_FENCE; exit 7")  # fmt: skip

    assert done.returncode == 7
    told, fence = done.stdout.decode().split()
    assert (told, int(fence) > 0) == (name, True)


def test_ls_has_semaphores(shell, name):
    holder = start(shell, name)

    found = [json.loads(shell.run("ls", name, "--json").stdout)]
    assert [(one["kind"], one["state"]) for one in found] == [("semaphore", "held")]
    assert (found[0]["used"], found[0]["limit"]) == (1, 2)
    assert found[0]["holder"].endswith(f":{holder.pid}")
    assert b" 1 of 2 " in shell.run("ls", name).stdout
    assert shell.run("ls", name, "--kind", "lock", "-q").stdout == b""
    assert is_alive(holder.pid)
