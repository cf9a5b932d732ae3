# SPDX-License-Identifier: MIT
"""Processes that CMD leaves behind: the lock is held for them, and they end with it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from shell import Server, find_program, is_alive, wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux gives orphaned descendants to the command",
)

HOLD = {
    "lock": ("lock", "{name}"),
    "semaphore": ("semaphore", "{name}", "--limit", "1"),
    "elect": ("elect", "{name}", "--once"),
}
KEYS = {
    "lock": "{name}",
    "semaphore": "ilk:semaphore:{{{name}}}",
    "elect": "ilk:election:{{{name}}}",
}

# The command ends at once and leaves a process, or one in a session of its own.
LEAVE = "sleep 60 & echo $!"
LEAVE_SESSION = "setsid sh -c 'echo $$; exec sleep 60' &"


def left_behind(shell, name, *options, kind="lock", script=LEAVE):
    """Start it; returns it and the pid of the process that outlives CMD."""
    words = [word.format(name=name) for word in HOLD[kind]]
    holder = shell.start(*words, *options, "--", "sh", "-c", script)
    pid = int(holder.stdout.readline())
    wait_until(lambda: parent_of(pid) == holder.pid, "the adoption")
    return holder, pid


def name_of(pid):
    return Path("/proc", str(pid), "comm").read_text().strip()


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("kind", HOLD)
@pytest.mark.parametrize("script", [LEAVE, LEAVE_SESSION], ids=["same", "session"])
def test_it_is_held_until_the_last_descendant_ends(shell, server, name, kind, script):
    holder, pid = left_behind(shell, name, kind=kind, script=script)

    assert server.call("EXISTS", KEYS[kind].format(name=name)) == 1
    assert holder.poll() is None
    os.kill(pid, signal.SIGKILL)

    assert holder.wait(timeout=20) == 0
    if kind == "lock":
        assert server.call("EXISTS", name) == 0


def test_the_status_is_that_of_the_command_not_of_what_it_left(shell, name):
    holder, pid = left_behind(shell, name, script=LEAVE + "; exit 7")

    os.kill(pid, signal.SIGKILL)

    assert holder.wait(timeout=20) == 7


@pytest.mark.parametrize("kind", HOLD)
def test_a_loss_ends_the_descendants_too(shell, server, name, kind):
    holder, pid = left_behind(shell, name, "--ttl", "1500ms", kind=kind)

    server.call("DEL", KEYS[kind].format(name=name))

    assert holder.wait(timeout=20) == 76
    assert not is_alive(pid)


def test_a_loss_kills_descendants_that_ignore_term(shell, server, name):
    """Those that a killed one has started meanwhile, too."""
    script = (
        "(trap '' TERM; echo $$; while :; do setsid sleep 0.2 & sleep 0.05; done) &"
    )
    options = ("--ttl", "1500ms", "--kill-after", "300ms")
    words = ["lock", name, *options, "--", "sh", "-c", script]
    holder = shell.start(*words)
    holder.stdout.readline()

    server.call("DEL", name)

    assert holder.wait(timeout=20) == 76
    assert b"the lock" in holder.stderr.read()


def test_a_signal_after_the_end_of_the_command_reaches_what_it_left(shell, name):
    holder, pid = left_behind(shell, name, script=LEAVE_SESSION)

    holder.send_signal(signal.SIGTERM)

    assert holder.wait(timeout=20) == 0
    assert not is_alive(pid)


def test_a_signal_while_the_command_runs_is_for_the_command(shell, server, name):
    """The shell ends by it, and the lock is held for the process it started."""
    holder, pid = pid_below(shell, name)

    holder.send_signal(signal.SIGTERM)
    wait_until(lambda: parent_of(pid) == holder.pid, "the end of the shell")

    assert is_alive(pid)
    assert server.call("EXISTS", name) == 1
    os.kill(pid, signal.SIGKILL)
    holder.wait(timeout=20)


def pid_below(shell, name):
    script = "sleep 60 & echo $!; wait"
    holder = shell.start("lock", name, "--", "sh", "-c", script)
    return holder, int(holder.stdout.readline())


def test_no_descendants_leaves_a_daemon_alone(shell, server, name):
    script = "sleep 60 >/dev/null 2>&1 & echo $!"
    words = ["lock", name, "--no-descendants", "--", "sh", "-c", script]
    done = shell.run(*words)
    pid = int(done.stdout)

    assert done.returncode == 0
    assert is_alive(pid)
    assert server.call("EXISTS", name) == 0
    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def default_server(shell, tmp_path):
    """An environment with an embedded server of its own, and that one's directory."""
    tmp_path.chmod(0o700)
    env = {**shell.env, "XDG_RUNTIME_DIR": str(tmp_path)}
    return {**env, "INTERLOCK_URL": "embedded://"}, tmp_path / "interlock"


def first_user(shell, name):
    """A script for CMD that is the first to need the embedded server."""
    hold = f"lock {name} -- sh -c 'echo up; read line'"
    return f"INTERLOCK_URL= '{shell.program}' {hold}"


def test_an_embedded_server_is_no_descendant(shell, name, default_server):
    """CMD is the first to need it, and another program goes on using it."""
    env, _ = default_server
    outer = shell.start(
        *("lock", name, "--url", shell.server.url),
        *("--", "sh", "-c", first_user(shell, name)),
        env=env,
        stdin=subprocess.PIPE,
    )
    assert outer.stdout.readline() == b"up\n"
    user = shell.hold(f"{name}.2", env=env)

    outer.communicate(b"\n", timeout=20)

    assert outer.returncode == 0
    assert user.poll() is None
    user.terminate()
    user.wait(timeout=20)


def test_an_embedded_server_that_is_not_found_at_first_is_looked_for_again(
    shell, name, default_server
):
    """No signal comes for a look that went wrong in the moment of CMD's end."""
    env, home = default_server
    away = home.with_name("away")
    outer = shell.start(
        *("lock", name, "--url", shell.server.url, "--ttl", "10m"),
        *("--", "sh", "-c", first_user(shell, name) + "; exit 0"),
        env=env,
        stdin=subprocess.PIPE,
    )
    assert outer.stdout.readline() == b"up\n"
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text()
    command = next(pid for pid in children.split() if name_of(pid) == "sh")
    user = shell.hold(f"{name}.2", env=env)
    home.rename(away)
    outer.stdin.write(b"\n")
    outer.stdin.flush()
    wait_until(lambda: not Path("/proc", command).exists(), "the end of CMD")
    away.rename(home)

    assert outer.wait(timeout=20) == 0
    assert user.poll() is None
    user.terminate()
    user.wait(timeout=20)


BECOME_ROOT = '$| = 1; $< = $> = 0; print "$$\\n"; sleep 60'


@pytest.fixture
def for_nobody():
    """A server and copies of programs that the user nobody may use."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    running = Server(directory)
    os.chmod(running.socket, 0o777)
    program = Path(find_program())
    shutil.copy(program, directory / "interlock")
    for library in (program.parent.parent / "lib").glob("libinterlock.so.?"):
        shutil.copy(library, directory)  # that user may not enter the build's directory
    yield running, directory
    running.stop()
    shutil.rmtree(directory)


def start_as_nobody(for_nobody, *words):
    server, directory = for_nobody
    return subprocess.Popen(
        [directory / "interlock", *words],
        env={
            "INTERLOCK_URL": server.url,
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(directory),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=65534,
        group=65534,
        cwd="/",
    )


def becomes_root(directory):
    """A command that nobody may end after its first line."""
    perl = directory / "perl"
    shutil.copy(shutil.which("perl"), perl)
    perl.chmod(0o4755)
    return perl, "-e", BECOME_ROOT


def pid_of(command):
    line = command.stdout.readline()
    assert line, command.stderr.read()
    return int(line)


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("perl"),
    reason="needs root and perl for a process that its starter may not signal",
)
def test_a_process_that_may_not_be_ended_is_named_and_not_waited_for(for_nobody, name):
    server, directory = for_nobody
    words = ("--ttl", "1500ms", "--kill-after", "100ms", "--", *becomes_root(directory))
    holder = start_as_nobody(for_nobody, "lock", name, *words)
    pid = pid_of(holder)

    server.call("DEL", name)
    assert holder.wait(timeout=20) == 76
    os.kill(pid, signal.SIGKILL)

    said = holder.stderr.read()
    assert said.count(f"process {pid} (perl) may not be ended".encode()) == 1


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("perl"),
    reason="needs root and perl for a process that its starter may not signal",
)
def test_a_message_whose_command_may_not_be_ended_is_given_back(for_nobody, name):
    server, directory = for_nobody
    assert start_as_nobody(for_nobody, "queue", "push", name, "x").wait(timeout=20) == 0
    words = ("--kill-after", "100ms", "--backoff", "1h", "--", *becomes_root(directory))
    worker = start_as_nobody(for_nobody, "queue", "work", name, *words)
    pid = pid_of(worker)

    while worker.poll() is None:  # the second one ends the command, too
        worker.terminate()
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)

    assert server.call("ZCARD", f"ilk:queue:delayed:{{{name}}}") == 1
