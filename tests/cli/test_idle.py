# SPDX-License-Identifier: MIT
"""Holding without a CMD, for scripts that have it as a coprocess."""

import json
import os
import pty
import signal
import subprocess

import pytest
from shell import wait_until

KINDS = {
    "lock": ("lock", "{name}", "ilk:lock:fence:{{{name}}}"),
    "semaphore": ("semaphore", "{name} --limit 1", "ilk:semaphore:fence:{{{name}}}"),
    "elect": ("election", "{name}", "ilk:election:fence:{{{name}}}"),
}


def idle(shell, kind, name, *options, **more):
    words = KINDS[kind][1].format(name=name).split()
    more.setdefault("stdin", subprocess.PIPE)
    return shell.start(kind, *words, *options, **more)


def is_free(shell, kind, name):
    words = KINDS[kind][1].format(name=name).split()
    return shell.run(kind, *words, "-q", "--wait", "0", "true").returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_held_until_standard_input_ends(shell, kind, name):
    holder = idle(shell, kind, name)

    token, fence = holder.stdout.readline().split()
    assert token
    assert int(fence) > 0
    assert not is_free(shell, kind, name)
    holder.stdin.write(b"what is written does not matter\n")
    holder.stdin.flush()
    assert not is_free(shell, kind, name)
    holder.stdin.close()

    assert holder.wait(timeout=20) == 0
    assert is_free(shell, kind, name)


@pytest.mark.parametrize("which", ["INT", "TERM", "HUP"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_ends_it(shell, kind, name, which):
    holder = idle(shell, kind, name)
    holder.stdout.readline()
    number = getattr(signal, f"SIG{which}")

    holder.send_signal(number)

    assert holder.wait(timeout=20) == (128 + number if which == "HUP" else -number)
    assert is_free(shell, kind, name)


@pytest.mark.parametrize("kind", KINDS)
def test_json(shell, server, kind, name):
    holder = idle(shell, kind, name, "--json")

    found = json.loads(holder.stdout.readline())

    fence = server.call("HGET", KINDS[kind][2].format(name=name), "fence")
    assert found["kind"] == KINDS[kind][0]
    assert (found["name"], found["fence"]) == (name, int(fence))


def test_token_and_fence_are_those_of_the_lock(shell, server, name):
    holder = idle(shell, "lock", name)
    token, fence = holder.stdout.readline().split()

    assert server.call("GET", name) == token
    assert server.call("HGET", f"ilk:lock:fence:{{{name}}}", "fence") == fence


def test_a_loss_is_76(shell, server, name):
    holder = idle(shell, "lock", name, "--ttl", "1500ms")
    holder.stdout.readline()

    server.call("DEL", name)

    assert holder.wait(timeout=20) == 76
    text = "its key was deleted, evicted or overwritten"
    assert (
        holder.stderr.read()
        == f"interlock: the lock '{name}' was lost: {text}\n".encode()
    )


def test_a_candidate_stands_again_after_a_loss(shell, server, name):
    holder = idle(shell, "elect", name, "--ttl", "1500ms")
    first = int(holder.stdout.readline().split()[1])

    server.call("DEL", f"ilk:election:{{{name}}}")

    assert int(holder.stdout.readline().split()[1]) > first


def test_without_standard_input_it_ends_at_once(shell, name):
    for stdin in (subprocess.DEVNULL, None):
        closed = {"preexec_fn": lambda: os.close(0)} if stdin is None else {}
        done = shell.run("lock", name, stdin=stdin, **closed)

        assert done.returncode == 0
        assert len(done.stdout.split()) == 2


def test_nobody_reads_the_token(shell, name):
    with open("/dev/full", "wb") as full:
        done = shell.run("lock", name, capture_output=False, stdout=full, stdin=0)

    assert done.returncode == 74
    assert is_free(shell, "lock", name)


COPROCESS = """
coproc HELD { "$0" lock "$1"; }
read -r token fence <&"${HELD[0]}"
[ "$("$0" inspect "$1" --json | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')" = "$token" ] &&
    echo held
exec {HELD[1]}>&-
wait "$HELD_PID"
"$0" inspect "$1" | grep state
"""


def test_a_script_has_it_as_a_coprocess(shell, name):
    words = ["bash", "-c", COPROCESS, shell.program, name]
    done = subprocess.run(words, env=shell.env, capture_output=True, timeout=60)

    assert done.stdout.decode().split() == ["held", "state", "free"], done


def test_a_job_in_the_background_of_a_terminal_keeps_it(shell, server, name):
    """Reading the terminal there would stop it, and the lease would end."""
    script = '"$0" lock "$1" --ttl 3s & sleep 0.1; echo go; read line; kill $!; wait'
    pid, terminal = pty.fork()
    if pid == 0:
        words = ["bash", "-m", "-c", script, shell.program, name]
        os.execvpe("bash", words, shell.env)
    fence = f"ilk:lock:fence:{{{name}}}"
    wait_until(lambda: server.call("EXISTS", name) == 1, "the lock")
    first = server.call("HGET", fence, "fence")

    for _ in range(4):
        os.write(terminal, b"x")
        assert os.read(terminal, 1024)
        wait_until(lambda: server.call("PTTL", name) < 2250, "a part of the lease")
        wait_until(lambda: server.call("PTTL", name) > 2250, "a renewal")
    assert server.call("HGET", fence, "fence") == first
    os.write(terminal, b"\n")
    wait_until(lambda: server.call("EXISTS", name) == 0, "the release")
    os.close(terminal)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_command_is_still_noticed(shell, kind, name):
    words = KINDS[kind][1].format(name=name).split()

    assert shell.run(kind, *words, "--").returncode == 64
    assert shell.run(kind, *words, "--json", "--", "true").returncode == 64
