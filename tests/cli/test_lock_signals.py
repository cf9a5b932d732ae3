# SPDX-License-Identifier: MIT
"""`interlock lock`: signals, loss of the lock, and the death of either side."""

import itertools
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from shell import is_alive, state, wait_until

FORWARDED = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH"]
ENDING = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"]
STUBBORN = "trap '' TERM; echo held; while :; do sleep 0.05; done"


def number(name):
    return getattr(signal, f"SIG{name}")


def status_after(name):
    """The status that wait() returns for a command that a signal has ended."""
    dies = name in ("INT", "QUIT", "TERM")
    return -number(name) if dies else 128 + number(name)


@pytest.mark.parametrize("which", FORWARDED)
def test_signal_is_passed_on(shell, name, which):
    script = (
        f"trap 'echo {which}; exit 5' {which}; echo held; while :; do sleep 0.02; done"
    )
    holder = shell.hold(name, script=script)

    holder.send_signal(number(which))

    assert holder.communicate(timeout=20)[0] == f"{which}\n".encode()
    assert holder.returncode == 5


def test_it_dies_by_the_signal_that_ended_the_command(shell, server, name):
    holder = shell.hold(name)

    holder.send_signal(signal.SIGTERM)

    assert holder.wait(timeout=20) == -signal.SIGTERM
    assert server.call("EXISTS", name) == 0


@pytest.mark.parametrize("which", ENDING)
def test_signal_ends_the_wait_and_leaves_no_waiter(shell, server, name, which):
    shell.hold(name)
    waiter = shell.wait_in_line(name)

    waiter.send_signal(number(which))

    assert waiter.wait(timeout=10) == status_after(which)
    assert waiter.stdout.read() == b""
    wait_until(lambda: server.waiters(name) == 0, "an empty line", 1.0)


def test_signal_that_ends_nothing_leaves_the_wait_its_place(shell, server, name):
    holder = shell.hold(name)
    waiter = shell.wait_in_line(name)

    for _ in range(20):
        waiter.send_signal(signal.SIGWINCH)
        time.sleep(0.002)  # each must arrive by itself
    assert server.waiters(name) == 1
    holder.terminate()

    assert waiter.communicate(timeout=20)[0] == b"mine\n"


def test_ignored_signal_stays_ignored(shell, server, name):
    """As under nohup."""
    holder = shell.hold(name)
    waiter = shell.start(
        *("lock", name, "echo", "mine"),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_until(lambda: server.waiters(name) == 1, "a waiter")

    waiter.send_signal(signal.SIGHUP)
    holder.terminate()

    assert waiter.communicate(timeout=20)[0] == b"mine\n"


def test_command_starts_with_no_signal_blocked_or_ignored(shell, name):
    command = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    plain = subprocess.run(command, capture_output=True, check=True)

    assert shell.run("lock", name, "--", *command).stdout == plain.stdout


def test_command_inherits_no_descriptors(shell, name):
    script = "ls /proc/self/fd | wc -l"
    plain = subprocess.run(["sh", "-c", script], capture_output=True, check=True)

    assert shell.run("lock", name, "--", "sh", "-c", script).stdout == plain.stdout


def test_loss_ends_the_command_with_term_and_76(shell, server, name):
    script = "trap 'echo ended; exit 0' TERM; echo held; while :; do sleep 0.02; done"
    holder = shell.hold(name, "--ttl", "1500ms", script=script)

    server.call("DEL", name)

    assert holder.communicate(timeout=20)[0] == b"ended\n"
    assert holder.returncode == 76


def test_loss_ends_a_stubborn_command_with_kill(shell, server, name):
    holder = shell.hold(
        name, "--ttl", "1500ms", "--kill-after", "300ms", script=STUBBORN
    )

    server.call("DEL", name)

    assert holder.wait(timeout=20) == 76
    assert b"lost" in holder.stderr.read()


def test_loss_is_noticed_while_the_server_is_frozen(own_shell, own_server, name):
    holder = own_shell.hold(name, "--ttl", "1500ms")
    own_server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()

    status = holder.wait(timeout=20)

    assert status == 76
    assert 0.2 < time.monotonic() - began < 5
    own_server.process.send_signal(signal.SIGCONT)


def test_command_that_ends_by_itself_after_a_loss_is_76_too(shell, server, name):
    holder = shell.hold(name, script="echo held; read line", stdin=subprocess.PIPE)

    server.call("SET", name, "another holder")
    holder.communicate(b"\n", timeout=20)

    assert holder.returncode == 76
    assert server.call("GET", name) == b"another holder"
    server.call("DEL", name)


def test_break_by_an_operator_is_a_loss(shell, name):
    holder = shell.hold(name, "--ttl", "1500ms")

    assert shell.run("break", name).returncode == 0

    assert holder.wait(timeout=20) == 76


@pytest.mark.parametrize(
    "options", [["--no-renew"], ["--max-hold", "1500ms"]], ids=lambda o: o[0]
)
def test_command_is_ended_when_its_time_is_over(shell, name, options):
    holder = shell.hold(name, "--ttl", "1500ms", *options)
    began = time.monotonic()

    assert holder.wait(timeout=20) == 76
    assert 0.2 < time.monotonic() - began < 5


def pid_of_command(shell, name, script="echo held $$; exec sleep 60", **more):
    holder = shell.start("lock", name, "--", "sh", "-c", script, **more)
    return holder, int(holder.stdout.readline().split()[1])


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux tells a child of its parent's death",
)
def test_command_dies_with_interlock(shell, name):
    holder, pid = pid_of_command(shell, name)
    assert is_alive(pid)

    holder.kill()
    holder.wait()

    wait_until(lambda: not is_alive(pid), "the command's end")


def test_lock_of_a_killed_holder_passes_on_with_its_lease(shell, name):
    holder = shell.hold(name, "--ttl", "1500ms")
    waiter = shell.wait_in_line(name)

    holder.kill()

    assert waiter.communicate(timeout=20)[0] == b"mine\n"


def test_stop_and_continue_reach_the_command(shell, name):
    # A job of ours, as a shell would make it: in a group that nobody looks
    # after, such as that of a run in the background, SIGTSTP is ignored.
    holder, pid = pid_of_command(shell, name, preexec_fn=os.setpgrp)

    holder.send_signal(signal.SIGTSTP)
    wait_until(lambda: state(pid) == "T" and state(holder.pid) == "T", "the stop")
    holder.send_signal(signal.SIGCONT)

    wait_until(lambda: state(pid) == "S" and state(holder.pid) == "S", "going on")
    holder.terminate()
    assert holder.wait(timeout=20) == -signal.SIGTERM


def test_holder_that_was_stopped_beyond_its_lease_has_lost(shell, server, name):
    holder = shell.hold(name, "--ttl", "1500ms")
    holder.send_signal(signal.SIGSTOP)
    wait_until(lambda: server.call("EXISTS", name) == 0, "the lease's end")

    holder.send_signal(signal.SIGCONT)

    assert holder.wait(timeout=20) == 76


def on_terminal(shell, *args):
    """Run in a session of its own on a pseudo-terminal: pid and descriptor."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(shell.program, [shell.program, *args], shell.env)
    return pid, terminal


def read_until(terminal, wanted):
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 1024)
    return seen


def drain(terminal):
    seen = b""
    try:
        while True:
            piece = os.read(terminal, 1024)
            if not piece:
                return seen
            seen += piece
    except OSError:  # EIO: the last one on the terminal is gone
        return seen


COUNT = """
import signal
import socket
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("held", flush=True)
while came := signal.sigtimedwait([signal.SIGINT], 1):
    print("by", came.si_pid, flush=True)
"""


def test_ctrl_c_reaches_the_command_from_the_terminal_only(shell, name):
    words = ("lock", name, "--", sys.executable, "-c", COUNT)
    pid, terminal = on_terminal(shell, *words)
    read_until(terminal, b"held")

    seen = b""
    for _ in range(60):
        os.write(terminal, b"\x03")
        seen += read_until(terminal, b"by")
    seen += drain(terminal)

    assert set(re.findall(rb"by (\d+)", seen)) == {b"0"}
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_the_command_ends_with_its_terminal(shell, name):
    words = ("lock", name, "--", "sh", "-c", "echo held; exec sleep 60")
    pid, terminal = on_terminal(shell, *words)
    read_until(terminal, b"held")

    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status_after("HUP")


def test_ctrl_c_while_waiting_ends_by_sigint(shell, server, name):
    shell.hold(name)
    pid, terminal = on_terminal(shell, "lock", name, "echo", "mine")
    wait_until(lambda: server.waiters(name) == 1, "a waiter")

    os.write(terminal, b"\x03")

    drain(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT
    wait_until(lambda: server.waiters(name) == 0, "an empty line", 1.0)


@pytest.mark.parametrize("which", ["INT", "QUIT", "TERM", "HUP", "USR1", "KILL"])
def test_the_end_of_the_command_shows_in_the_status(shell, name, which, tmp_path):
    done = shell.run("lock", name, "--", "sh", "-c", f"kill -{which} $$", cwd=tmp_path)

    assert done.returncode == status_after(which)
    assert done.stderr == b""


def test_an_exit_status_above_128_is_no_signal(shell, name):
    assert shell.run("lock", name, "sh", "-c", "exit 130").returncode == 130


LOOP = """
for i in 1 2 3; do
    "$0" lock "$1" -- sh -c 'echo "round $0"; exec sleep 60' $i
done
"""


def test_ctrl_c_stops_a_shell_loop(shell, name):
    """As it does when the command is called without the lock."""
    pid, terminal = pty.fork()
    if pid == 0:
        words = ["bash", "-c", LOOP, shell.program, name]
        os.execvpe("bash", words, shell.env)
    read_until(terminal, b"round 1")

    os.write(terminal, b"\x03")

    assert b"round 2" not in drain(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT


def monitored(server, name, during):
    """Each end of the key that scripts of the server execute during the call."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(20)
        raw.connect(str(server.socket))
        raw.sendall(b"MONITOR\r\n")
        with raw.makefile("rb") as stream:
            assert stream.readline() == b"+OK\r\n"
            during()
            server.call("ECHO", "over")
            lines = iter(stream.readline, b"")
            seen = list(itertools.takewhile(lambda line: b'"over"' not in line, lines))
    ends = re.compile(rb'lua\] "(DEL|UNLINK)" "%s"' % name.encode())
    return [line for line in seen if ends.search(line)]


SLOW = """
trap 'trap "" TERM; echo ending; sleep 0.5; echo ended; exit 7' TERM
echo held; while :; do sleep 0.02; done
"""


@pytest.mark.parametrize("times", [1, 3])
def test_term_gives_the_hold_back_once_when_the_command_has_ended(
    shell, server, name, times
):
    holder = shell.hold(name, script=SLOW)
    token = server.call("GET", name)

    def terminate():
        holder.terminate()
        assert holder.stdout.readline() == b"ending\n"
        assert server.call("GET", name) == token  # CMD still works under the lock
        for _ in range(times - 1):
            holder.terminate()
        assert holder.stdout.readline() == b"ended\n"
        assert holder.wait(timeout=20) == 7

    assert len(monitored(server, name, terminate)) == 1
    assert server.call("EXISTS", name) == 0
    assert holder.stderr.read() == b""


def test_term_passes_the_lock_on_before_it_ends_and_not_from_the_next_holder(
    shell, server, name
):
    holder = shell.hold(name, script=SLOW)
    waiter = shell.start("lock", name, "--", "sh", "-c", "echo next; exec sleep 60")
    wait_until(lambda: server.waiters(name) == 1, "a waiter")

    holder.terminate()

    assert waiter.stdout.readline() == b"next\n"
    token = server.call("GET", name)
    assert holder.wait(timeout=20) == 7
    assert server.call("GET", name) == token
    waiter.terminate()
    assert waiter.wait(timeout=20) == -signal.SIGTERM


@pytest.mark.parametrize(
    "words", [("lock",), ("semaphore", "--limit", "1"), ("elect",)], ids=lambda w: w[0]
)
def test_term_without_a_command_gives_the_hold_back(shell, name, words):
    verb, *options = words
    holder = shell.start(verb, name, *options, stdin=subprocess.PIPE)
    assert holder.stdout.readline()

    holder.terminate()

    assert holder.wait(timeout=20) == -signal.SIGTERM
    assert holder.stderr.read() == b""
    assert shell.run(verb, name, *options, "--wait", "0", "true").returncode == 0
