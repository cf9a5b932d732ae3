# SPDX-License-Identifier: MIT
"""The lines of a wait on a terminal: on a pseudo-terminal."""

import os
import pty
import re
import signal
import time

import pytest
from shell import wait_until

IN = ("--", "sh", "-c", "echo in; exec sleep 60")


class Terminal:
    """The command in a session of its own, and all that it has printed."""

    def __init__(self, shell, *words):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execve(shell.program, [shell.program, *words], shell.env)
        self.seen = b""

    def read(self):
        """0 when the last process on the terminal is gone."""
        try:
            piece = os.read(self.end, 1024)
        except OSError:  # EIO
            return 0
        self.seen += piece
        return len(piece)

    def read_until(self, wanted):
        while not re.search(wanted, self.seen):
            assert self.read(), (wanted, self.seen)
        return self.seen

    def status(self):
        while self.read():
            pass
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_wait_names_the_holder_after_a_second(shell, server, name):
    holder = shell.hold(name)
    shell.wait_in_line(name)

    terminal = Terminal(shell, "lock", name, "echo", "mine")
    seen = terminal.read_until(rb"wait\b.*\n")

    assert re.fullmatch(
        rf"interlock: waiting: lock '{re.escape(name)}' is held by [^ ]+:{holder.pid}"
        r" since [-0-9]+ [0-9:.]+ UTC; 2 wait\r\n",
        seen.decode(),
    )
    assert server.waiters(name) == 2
    holder.terminate()
    assert terminal.status() == 0
    assert terminal.seen == seen + b"mine\r\n"


def test_the_message_costs_no_place(shell, server, name):
    holder = shell.hold(name)
    terminal = Terminal(shell, "lock", name, "sh", "-c", "echo first; sleep 0.2")
    wait_until(lambda: server.waiters(name) == 1, "the first waiter")
    second = shell.wait_in_line(name)
    terminal.read_until(rb"waiting: .*\n")

    holder.terminate()

    terminal.read_until(rb"first")
    assert second.poll() is None
    assert terminal.status() == 0
    assert second.communicate(timeout=20)[0] == b"mine\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lock", "--shared"), r"lock '.*' is held by 1 reader since .* UTC; 1 waits"),
        (
            ("semaphore", "--limit", "1"),
            r"semaphore '.*' has 1 of 1 permits taken, the first by .* since .*; 1 waits",
        ),
        (("elect",), r"election '.*' is led by .* in term \d+ since .* UTC; 1 waits"),
        (("group", "join", "--id", "me"), r"group '.*' has a member with this id"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_each_kind_says_what_is_taken(shell, name, words, said):
    verbs = words[:2] if words[0] == "group" else words[:1]
    options = words[len(verbs) :]
    holder = shell.start(*verbs, name, *options, *IN)
    assert holder.stdout.readline() == b"in\n"
    options = () if words[0] == "lock" else options

    terminal = Terminal(shell, *verbs, name, *options, "echo", "mine")

    terminal.read_until(rf"waiting: {said}\r\n".encode())
    holder.terminate()
    assert terminal.status() == 0


def test_a_wait_for_a_server_says_so_and_keeps_its_limit(shell, name):
    began = time.monotonic()

    url = ("--url", "redis://127.0.0.1:1")
    terminal = Terminal(shell, "lock", name, "--wait", "3s", *url, "true")

    assert terminal.status() == 69
    assert time.monotonic() - began < 10
    assert b"is held" not in terminal.seen
    assert re.search(rb"waiting: .*(Connection refused|cannot connect)", terminal.seen)


@pytest.mark.parametrize("words", [("--quiet",), ("--wait", "500ms"), ("--wait", "0")])
def test_nothing_is_said_of_a_wait_that_is_short_or_quiet(shell, server, name, words):
    holder = shell.hold(name)
    terminal = Terminal(shell, "lock", name, *words, "echo", "mine")
    if words == ("--quiet",):
        wait_until(lambda: server.waiters(name) == 1, "a waiter")
        time.sleep(1.3)  # longer than it takes to be said
        holder.terminate()

    assert terminal.status() == (0 if words == ("--quiet",) else 75)
    assert b"waiting" not in terminal.seen


def test_nothing_is_said_into_a_file(shell, name):
    shell.hold(name)

    done = shell.run("lock", name, "--wait", "1300ms", "true")

    assert done.returncode == 75
    assert done.stderr.startswith(b"interlock: gave up after 1.3 s: lock ")
    assert done.stderr.count(b"\n") == 1


def test_ctrl_c_after_the_message_ends_by_sigint(shell, server, name):
    shell.hold(name)
    terminal = Terminal(shell, "lock", name, "true")
    terminal.read_until(rb"waiting: .*\n")

    os.write(terminal.end, b"\x03")

    assert terminal.status() == -signal.SIGINT
    wait_until(lambda: server.waiters(name) == 0, "an empty line", 1.0)
