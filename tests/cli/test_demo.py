# SPDX-License-Identifier: MIT
"""`interlock demo`: what it proves, what it shows, and that it leaves nothing."""

import json
import os
import pty
import re
import signal

import pytest
from shell import Shell, is_alive, state, wait_until


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def demo(shell, *options):
    done = shell.run("demo", "--json", *options)
    assert done.stdout.count(b"\n") == 1, done
    return done, json.loads(done.stdout)


@pytest.fixture(scope="module")
def locked(server):
    """One run with the lock, looked at from several sides."""
    return demo(Shell(server), "--items", "100", "--lease", "500ms")


def test_lock_holds(locked):
    done, found = locked

    assert [c for c in found["checks"] if not c["ok"]] == []
    assert (done.returncode, found["ok"]) == (0, True)
    assert (found["sold"], found["left"], found["sold_twice"]) == (100, 0, 0)
    assert sum(found["sales_of"]) == 100


def test_two_are_killed_and_the_lock_goes_on_after_the_lease(locked):
    killed = [f for f in locked[1]["faults"] if f["signal"] == "SIGKILL"]

    assert [f["moment"] for f in killed] == ["before its write", "after its write"]
    for fault in killed:
        assert 200 <= fault["next_holder_after_ms"] < 5000
        assert not is_alive(fault["pid"])


def test_unreported_sale_is_found_in_the_stock(locked):
    assert locked[1]["found_in_store"] == 1


def test_a_frozen_holder_learns_its_loss_and_is_refused(locked):
    (frozen,) = [f for f in locked[1]["faults"] if f["signal"] == "SIGSTOP"]

    assert frozen["frozen_ms"] >= 500
    assert frozen["notified"] is True
    assert frozen["check"] == "ILK_ELOST"
    assert frozen["late_write"] == "ILK_ESTALE"


def test_sellers_whose_fence_is_too_old_to_read_sell_nothing(own_shell, own_server):
    running = own_shell.start("demo", "--json", "--items", "300", "--processes", "3")
    (key,) = wait_until(lambda: own_server.call("KEYS", "ilk:guard:*"))
    seconds, micros = map(int, own_server.call("TIME"))

    # Fences follow the server's clock: for half a second all are too small.
    own_server.call("SET", key, str(seconds * 1_000_000 + micros + 500_000))

    found = json.loads(running.stdout.read())
    assert (running.wait(timeout=20), found["ok"], found["sold"]) == (0, True, 300)
    assert found["missed"] > 1


def test_without_the_lock_it_oversells(shell):
    done, found = demo(shell, "--no-lock", "--items", "100", "--lease", "300ms")

    assert (done.returncode, found["ok"], found["lock"]) == (0, True, False)
    assert found["sold"] > 100
    assert found["sold_twice"] > 0
    assert [f["late_write"] for f in found["faults"] if "late_write" in f] == ["ILK_OK"]


def test_one_seller_without_the_lock_cannot_oversell_and_that_is_1(shell):
    done, found = demo(shell, "--no-lock", "--items", "20", "--processes", "1")

    assert (done.returncode, found["ok"], found["sold"]) == (1, False, 20)


@pytest.mark.parametrize("processes", ["1", "3"])
def test_few_sellers_meet_no_faults(shell, processes):
    done, found = demo(shell, "--items", "30", "--processes", processes)

    assert (done.returncode, found["faults"], found["sold"]) == (0, [], 30)


def test_words_for_people(shell):
    done = shell.run("demo", "--items", "60", "--lease", "300ms")
    text = done.stdout.decode()

    assert done.returncode == 0
    assert "60 of 60 items sold, 0 left" in text
    assert "nothing sold twice" in text
    assert "fences strictly rising" in text
    assert "notified that it lost the lock" in text
    assert "refused (ILK_ESTALE)" in text
    assert text.endswith("The lock held.\n")
    assert "\x1b" not in text


def test_terminal_is_redrawn(shell):
    pid, terminal = pty.fork()
    if pid == 0:
        words = ["interlock", "demo", "--items", "60", "--lease", "300ms"]
        os.execve(shell.program, words, {**shell.env, "TERM": "xterm"})
    seen = b""
    try:
        while True:
            seen += os.read(terminal, 4096)
    except OSError:  # EIO: the program has ended
        pass

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert re.search(rb"holder   seller \d+ +fence \d+   waiting \d+", seen)
    assert b"\x1b[3A\x1b[J" in seen


def test_it_leaves_no_stock_and_no_held_lock(own_shell, own_server):
    demo(own_shell, "--items", "30", "--processes", "4", "--lease", "300ms")

    keys = own_server.call("KEYS", "*")
    assert [key for key in keys if not key.startswith(b"ilk:lock:")] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_end_by_signal_ends_the_sellers(shell, how):
    running = shell.start("demo", "--items", "100000")
    running.stdout.readline()
    pids = wait_until(lambda: len(children(running.pid)) == 8 and children(running.pid))

    running.send_signal(how)

    assert running.wait(timeout=20) == -how
    assert [pid for pid in pids if is_alive(pid)] == []


def test_killed_demo_takes_its_sellers_with_it(shell):
    running = shell.start("demo", "--items", "100000")
    running.stdout.readline()
    pids = wait_until(lambda: len(children(running.pid)) == 8 and children(running.pid))

    running.kill()
    running.wait()

    wait_until(lambda: not any(map(is_alive, pids)), "the sellers' end")


def test_killed_demo_takes_a_frozen_seller_with_it(shell):
    running = shell.start("demo", "--items", "40", "--lease", "1s")
    frozen = wait_until(lambda: [p for p in children(running.pid) if state(p) == "T"])

    running.kill()
    running.wait()

    wait_until(lambda: not is_alive(frozen[0]), "the seller's end", 5.0)


def test_a_server_that_goes_away_is_reported(own_shell, own_server):
    running = own_shell.start("demo", "--items", "100000")
    running.stdout.readline()
    wait_until(lambda: len(children(running.pid)) == 8)

    own_server.process.kill()

    assert running.wait(timeout=60) not in (0, None)
    assert b"interlock: " in running.stderr.read()


def test_password_is_in_no_argv(own_shell, own_server):
    own_server.call("CONFIG", "SET", "requirepass", "hush-hush")
    env = {**own_shell.env, "INTERLOCK_URL": f"unix://:hush-hush@{own_server.socket}"}
    running = own_shell.start("demo", "--items", "100000", env=env)
    running.stdout.readline()
    pids = wait_until(lambda: len(children(running.pid)) == 8 and children(running.pid))

    for pid in pids:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            assert b"hush-hush" not in file.read()
    assert b"hush-hush" not in running.stdout.read1()
