# SPDX-License-Identifier: MIT
"""`interlock queue work`, a CMD for each message, and `queue push --lines`."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from shell import is_alive, wait_until


def push(shell, name, *messages):
    for message in messages:
        assert shell.run("queue", "push", name, message).returncode == 0


def counts(shell, name):
    return json.loads(shell.run("queue", "show", name, "--json").stdout)


def drain(shell, name, *options, script, **more):
    """Work until nothing is left."""
    words = ("--timeout", "0", *options, "--", "sh", "-c", script)
    return shell.run("queue", "work", name, *words, **more)


def test_a_command_for_each_message(shell, name):
    push(shell, name, "one", "two", "three")
    script = 'cat; echo " $INTERLOCK_NAME $INTERLOCK_ATTEMPT $INTERLOCK_ID"'

    done = drain(shell, name, script=script)

    assert done.returncode == 0, done
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    assert [row[:3] for row in rows] == [
        [m, name, "1"] for m in ("one", "two", "three")
    ]
    ids = [int(row[3]) for row in rows]
    assert ids == sorted(set(ids))
    assert (counts(shell, name)["finished"], counts(shell, name)["ready"]) == (3, 0)


@pytest.mark.parametrize("data", [b"", b"a\0b\xff\r\n", b"x" * 1_000_000])
def test_the_message_is_any_bytes(shell, name, data):
    assert shell.run("queue", "push", name, input=data).returncode == 0

    assert drain(shell, name, script="cat").stdout == data


def test_a_command_need_not_read_its_message(shell, name):
    assert shell.run("queue", "push", name, input=b"x" * 1_000_000).returncode == 0

    assert drain(shell, name, script="true").returncode == 0
    assert counts(shell, name)["finished"] == 1


def test_the_token_is_that_of_the_delivery(shell, name):
    push(shell, name, "one")
    script = '"$0" queue ack "$INTERLOCK_NAME" "$INTERLOCK_TOKEN"; exit 0'
    words = ("--timeout", "0", "--", "sh", "-c", script, shell.program)

    done = shell.run("queue", "work", name, *words)

    assert done.returncode == 0
    assert counts(shell, name)["finished"] == 1


@pytest.mark.parametrize(
    ("script", "reason"),
    [("exit 3", "exit status 3"), ("kill -9 $$", "exit status 137")],
)
def test_a_failure_is_delivered_again_and_dead_after_n(shell, name, script, reason):
    push(shell, name, "bad")
    words = ("--attempts", "3", "--backoff", "1ms", "--", "sh", "-c")
    worker = shell.start("queue", "work", name, *words, f"echo ran; {script}")

    for _ in range(3):
        assert worker.stdout.readline() == b"ran\n"
    wait_until(lambda: counts(shell, name)["dead"] == 1, "the dead message")
    worker.terminate()

    assert worker.wait(20) == 0
    said = worker.stderr.read().decode()
    assert f"failed in attempt 1: {reason}" in said
    assert f"is dead after attempt 3: {reason}" in said
    dead = json.loads(shell.run("queue", "dead", name, "--json").stdout)
    assert (dead["data"], dead["reason"]) == ("bad", reason)


def test_the_pause_grows(shell, server, name):
    push(shell, name, "bad")
    words = ("--backoff", "1h", "--timeout", "0", "--", "false")

    done = shell.run("queue", "work", name, *words)

    pause = int(re.search(rb"again in (\d+) ms", done.stderr)[1])
    assert 300_000 <= pause <= 600_000  # of ten minutes at most, up to half is taken
    assert counts(shell, name)["delayed"] == 1


# The message names the file that CMD waits for.
GATE = "m=$(cat); echo in; until [ -e {}/$m ]; do sleep 0.02; done; echo out"


def test_so_many_run_at_a_time(shell, name, tmp_path):
    push(shell, name, *"abcdef")
    words = ("-j", "3", "--timeout", "0", "--", "sh", "-c", GATE.format(tmp_path))
    worker = shell.start("queue", "work", name, *words)

    for _ in range(3):
        assert worker.stdout.readline() == b"in\n"
    assert counts(shell, name)["taken"] == 3
    for message in "abc":
        (tmp_path / message).touch()
        assert worker.stdout.readline() == b"out\n"
        assert worker.stdout.readline() == b"in\n"
        assert counts(shell, name)["taken"] == 3
    for message in "def":
        (tmp_path / message).touch()

    assert worker.wait(timeout=20) == 0
    assert worker.stdout.read() == b"out\n" * 3
    assert counts(shell, name)["finished"] == 6


def waiting(shell, name, script, *options):
    words = (*options, "--", "sh", "-c", script)
    worker = shell.start("queue", "work", name, *words)
    return worker, worker.stdout.readline()


def test_term_lets_the_running_ones_finish(shell, name, tmp_path):
    push(shell, name, "one", "two")
    worker, line = waiting(shell, name, GATE.format(tmp_path))
    assert line == b"in\n"

    worker.terminate()
    wait_until(lambda: signals_left(worker) == 0, "the signal")
    (tmp_path / "one").touch()

    assert worker.wait(timeout=20) == 0
    assert worker.stdout.read() == b"out\n"
    found = counts(shell, name)
    assert (found["finished"], found["ready"]) == (1, 1)


def test_a_second_term_ends_them_and_their_descendants(shell, name):
    push(shell, name, "one")
    worker, line = waiting(shell, name, "sleep 60 & echo $!; wait", "--backoff", "1h")
    pid = int(line)

    worker.terminate()
    wait_until(lambda: signals_left(worker) == 0, "the first signal")
    worker.terminate()

    assert worker.wait(timeout=20) == 0
    assert not is_alive(pid)
    assert counts(shell, name)["delayed"] == 1


def signals_left(process):
    with open(f"/proc/{process.pid}/status") as file:
        text = file.read()
    return sum(
        int(line.split()[1], 16)
        for line in text.splitlines()
        if line.startswith(("SigPnd", "ShdPnd"))
    )


def test_term_while_nothing_is_there_leaves_no_consumer(shell, server, name):
    line = f"ilk:queue:wait:{{{name}}}"
    worker = shell.start("queue", "work", name, "--", "true")
    wait_until(lambda: server.call("ZCARD", line) == 1, "a consumer")

    worker.terminate()

    assert worker.wait(timeout=20) == 0
    wait_until(lambda: server.call("ZCARD", line) == 0, "an empty wait queue")


def test_interrupt_dies_by_sigint(shell, name):
    worker = shell.start("queue", "work", name, "--", "true")
    wait_until(lambda: worker.poll() is None and signals_caught(worker), "the handlers")

    worker.send_signal(signal.SIGINT)

    assert worker.wait(timeout=20) == -signal.SIGINT


def signals_caught(process):
    with open(f"/proc/{process.pid}/status") as file:
        (line,) = [line for line in file if line.startswith("SigCgt")]
    return int(line.split()[1], 16) & 1 << signal.SIGINT - 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descendants")
def test_a_message_counts_as_done_when_all_descendants_have_ended(shell, name):
    push(shell, name, "one")
    worker, line = waiting(shell, name, "sleep 60 & echo $!", "--timeout", "0")
    pid = int(line)

    assert counts(shell, name)["taken"] == 1
    os.kill(pid, signal.SIGKILL)

    assert worker.wait(timeout=20) == 0
    assert counts(shell, name)["finished"] == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descendants")
def test_a_killed_worker_takes_all_descendants_with_it(shell, name):
    push(shell, name, "one")
    worker, line = waiting(shell, name, "setsid sleep 60 & echo $!; wait")

    worker.kill()
    worker.wait()

    wait_until(lambda: not is_alive(int(line)), "the end of the descendant")


def test_a_lost_lease_ends_the_command(shell, server, name):
    push(shell, name, "one")
    worker, line = waiting(shell, name, "echo $$; exec sleep 60", "--lease", "600ms")
    pid = int(line)
    words = ("queue", "ack", name)

    # empty for a moment while the shell becomes `sleep`
    token = wait_until(
        lambda: environment(pid).get("INTERLOCK_TOKEN"), "its environment"
    )
    assert shell.run(*words, token).returncode == 0

    wait_until(lambda: not is_alive(pid), "the end of CMD")
    worker.terminate()
    assert worker.wait(timeout=20) == 0
    assert b"was lost; ending 'sh'" in worker.stderr.read()


def environment(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = [each.partition(b"=") for each in file.read().split(b"\0")]
    return {key.decode(): value.decode() for key, _, value in pairs}


def test_the_lease_is_renewed_while_the_command_runs(shell, name):
    push(shell, name, "one")

    done = drain(shell, name, "--lease", "400ms", script="sleep 1.5")

    assert (done.returncode, done.stderr) == (0, b"")
    assert counts(shell, name)["expired"] == 0


def test_a_command_that_is_not_there_is_a_failure(shell, name):
    push(shell, name, "one")

    done = shell.run(
        "queue", "work", name, "--timeout", "0", "--attempts", "1", "--", "no-such-cmd"
    )

    assert b"exit status 127" in done.stderr
    assert counts(shell, name)["dead"] == 1


def test_quiet(shell, name):
    push(shell, name, "one")

    done = drain(shell, name, "-q", "--attempts", "1", script="exit 1")

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "args",
    [["work", "x"], ["work", "x", "--"], ["work", "x", "-j", "0", "--", "true"],
     ["work", "x", "--attempts", "0", "--", "true"], ["push", "x", "y", "--lines"],
     ["work", "x", "--lease", "1ms", "--", "true"]],
)  # fmt: skip
def test_bad_words_are_usage(shell, args):
    assert shell.run("queue", *args).returncode == 64


# ---- push --lines


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (b"a\nb\nc\n", [b"a", b"b", b"c"]),
        (b"no newline at the end", [b"no newline at the end"]),
        (b"a\n\n b\r\n", [b"a", b"", b" b\r"]),
        (b"", []),
        (b"x" * 200_000 + b"\n" + b"y\0z", [b"x" * 200_000, b"y\0z"]),
    ],
)
def test_each_line_is_a_message(shell, name, data, messages):
    assert shell.run("queue", "push", name, "--lines", input=data).returncode == 0

    assert [shell.run("queue", "pop", name).stdout for _ in messages] == messages
    assert shell.run("queue", "pop", name).returncode == 75


def test_a_line_is_pushed_as_soon_as_it_is_read(shell, name):
    pushing = shell.start("queue", "push", name, "--lines", stdin=subprocess.PIPE)
    pushing.stdin.write(b"first\nhalf")
    pushing.stdin.flush()

    popped = shell.run("queue", "pop", name, "--timeout", "20s")
    pushing.send_signal(signal.SIGWINCH)
    pushing.stdin.close()

    assert popped.stdout == b"first"
    assert pushing.wait(timeout=20) == 0
    assert shell.run("queue", "pop", name).stdout == b"half"


def test_ids_in_json(shell, name):
    done = shell.run("queue", "push", name, "--lines", "--json", input=b"a\nb\n")

    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[1]["id"] == found[0]["id"] + 1


def test_a_line_that_is_too_long_is_refused_after_those_before(shell, name):
    data = b"a\n" + b"x" * (1024 * 1024 + 1) + b"\nb\n"

    done = shell.run("queue", "push", name, "--lines", input=data)

    assert done.returncode == 64
    assert counts(shell, name)["ready"] == 1


def test_a_signal_ends_the_reading(shell, name):
    pushing = shell.start("queue", "push", name, "--lines", stdin=subprocess.PIPE)
    wait_until(lambda: signals_caught(pushing), "the handlers")

    pushing.terminate()

    assert pushing.wait(timeout=20) == -signal.SIGTERM


def test_a_signal_ends_the_reading_of_one_message(shell, name):
    pushing = shell.start("queue", "push", name, stdin=subprocess.PIPE)
    wait_until(lambda: signals_caught(pushing), "the handlers")
    pushing.stdin.write(b"half")
    pushing.stdin.flush()

    pushing.terminate()

    assert pushing.wait(timeout=20) == -signal.SIGTERM
    assert shell.run("queue", "len", name).stdout == b"0\n"


def test_pauses_of_messages_that_failed_together_differ(shell, name):
    for _ in range(6):
        shell.run("queue", "push", name, "x")
    options = ("--backoff", "8m", "--timeout", "0", "--", "false")

    done = shell.run("queue", "work", name, *options)

    words = done.stderr.decode().split("again in ")[1:]
    pauses = [int(word.split()[0]) for word in words]
    assert len(pauses) == 6 and len(set(pauses)) > 1
    assert all(240_000 <= pause <= 480_000 for pause in pauses), pauses
