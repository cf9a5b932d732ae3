# SPDX-License-Identifier: MIT
"""Many processes: fork, SIGKILL, SIGSTOP."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import interlock
import pytest
from support import in_child, patience, wait_until

HOLDER = """
import interlock, os, sys, time
client = interlock.connect(os.environ["TEST_URL"])
lock = client.lock(sys.argv[1], ttl=float(sys.argv[2]))
assert lock.acquire()
print(lock.fence, flush=True)
while True:
    line = sys.stdin.readline()
    if line == "held\\n":
        print(lock.held, flush=True)
    elif line == "release\\n":
        print(lock.release(), flush=True)
    else:
        sys.exit()
"""


def ask(child, word):
    child.stdin.write(word + "\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def test_a_forked_child_gets_a_client_of_its_own(client):
    parent = client.id

    text = in_child(lambda: (client.ping(), client.id))

    assert text.startswith("(True, ")
    assert parent not in text
    assert client.id == parent
    assert client.ping()


def test_a_held_lock_is_not_the_childs(client, name):
    with client.lock(name) as lock:
        assert in_child(lambda: lock.held) == "False"
        assert in_child(lock.release) == "ForkedError"
        assert in_child(lock.check) == "ForkedError"
        assert in_child(lambda: lock.extend(1)) == "ForkedError"
        assert in_child(lambda: client.lock(name).acquire(0)) == "False"
        lock.check()
        assert lock.held


def test_a_hold_of_the_parent_does_not_count_in_the_child(client, name):
    lock = client.lock(name, reentrant=True)
    second = client.lock(name + "2", reentrant=True)

    def again():
        with contextlib.suppress(interlock.ForkedError):
            second.acquire(0)
        return second._depth

    with lock, second:
        assert in_child(lambda: lock.acquire(0)) == "ForkedError"
        assert in_child(again) == "0"


def test_an_idle_lock_works_in_the_child(client, name):
    lock = client.lock(name)

    assert in_child(lambda: (lock.acquire(5), lock.release())) == "(True, True)"
    assert lock.acquire(5)
    assert lock.release()


def test_leaving_the_block_in_the_child_raises_forked(client, name):
    with client.lock(name) as lock:
        assert in_child(lambda: lock.__exit__(None, None, None)) == "ForkedError"
        assert client.inspect(name).holder == lock.token


def test_fork_while_another_thread_waits(client, other, name, waiting):
    lock = other.lock(name)
    outcome = []
    holder = client.lock(name)
    assert holder.acquire(0)
    thread = threading.Thread(target=lambda: outcome.append(lock.acquire(30)))
    thread.start()
    waiting(name, 1)

    assert in_child(lambda: lock.acquire(0)) == "ForkedError"
    assert in_child(lambda: other.lock(name).acquire(0)) == "False"
    assert in_child(lambda: other.close()) == "None"
    assert in_child(lambda: other.lock(name + "x").acquire(5)) == "True"

    assert client.inspect(name).waiting == 1
    holder.release()
    thread.join(10)
    assert outcome == [True]
    assert lock.held


def test_fork_while_another_thread_is_in_the_package(client, url, name):
    inside, leave = threading.Event(), threading.Event()

    def work():
        with interlock._fork.guard, interlock._client_lookup._guard:
            inside.set()
            leave.wait(10)

    def child():
        signal.alarm(10)
        return client.ping(), interlock.recipes.acquire_lock(url, name, 5) != ""

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert inside.wait(10)
        assert in_child(child) == "(True, True)"
    finally:
        leave.set()
        thread.join()


def test_a_child_that_exits_harms_nobody(client, name):
    with client.lock(name, ttl=2) as lock:
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                del lock
                os._exit(0)
            os.waitpid(pid, 0)
        lock.check()
        assert client.ping()


def test_waits_work_in_the_child(client, name):
    lock = client.lock(name)
    assert lock.acquire(0)
    timer = threading.Timer(0.3, lock.release)
    timer.start()

    assert in_child(lambda: client.lock(name).acquire(10)) == "True"
    timer.join()


def test_multiprocessing_workers_lock(client, url, name, tmp_path):
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(4) as pool:
        jobs = [
            pool.apply_async(_count, (url, name, tmp_path / "count")) for _ in range(8)
        ]
        counts = [job.get(60) for job in jobs]

    assert sorted([one for count in counts for one in count]) == list(range(200))


def _count(url, name, path):
    seen = []
    with interlock.connect(url) as client:
        for _ in range(25):
            with client.lock(name):
                seen.append(int(path.read_text()) if path.exists() else 0)
                path.write_text(str(seen[-1] + 1))
    return seen


def test_sigkill_of_the_holder_lets_the_waiter_in(client, run_child, name):
    child = run_child(HOLDER, name, "1")
    fence = int(child.stdout.readline())
    lock = client.lock(name)
    began = time.monotonic()

    child.kill()
    assert lock.acquire(10)

    assert time.monotonic() - began < 1 + patience(0.5)
    assert lock.fence > fence


def test_sigkill_of_waiters_keeps_the_line_moving(client, run_child, name, waiting):
    code = "import interlock, os, sys; interlock.connect(os.environ['TEST_URL'])"
    holder, last = client.lock(name), client.lock(name)
    assert holder.acquire(0)
    children = []
    for number in range(3):
        children.append(run_child(f"{code}.lock(sys.argv[1]).acquire()", name))
        waiting(name, number + 1)
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(last.acquire(60)))
    thread.start()
    waiting(name, 4)

    for child in children:
        child.kill()
        child.wait()
    time.sleep(0.1)
    holder.release()
    thread.join(20)

    assert outcome == [True]
    assert last.held


def test_a_frozen_holder_loses_and_learns_it(client, run_child, name):
    child = run_child(HOLDER, name, "0.5")
    fence = int(child.stdout.readline())
    assert ask(child, "held") == "True"

    child.send_signal(signal.SIGSTOP)
    lock = client.lock(name)
    assert lock.acquire(10)
    child.send_signal(signal.SIGCONT)

    assert lock.fence > fence
    assert ask(child, "held") == "False"
    assert ask(child, "release") == "False"
    assert lock.held


def test_a_token_passes_to_another_process(client, run_child, name):
    code = (
        "import interlock, os, sys;"
        "lock = interlock.connect(os.environ['TEST_URL']).lock(sys.argv[1]);"
        "print(lock.adopt(sys.argv[2]), lock.fence, lock.release())"
    )
    lock = client.lock(name)
    assert lock.acquire(0)

    child = run_child(code, name, lock.detach())

    assert child.stdout.readline().split() == ["True", str(lock.fence), "True"]
    assert client.inspect(name).state == "free"


@pytest.mark.parametrize("method", ["exit", "unclosed", "exception"])
def test_a_process_ends_cleanly(run_child, name, method):
    code = (
        "import interlock, os, sys\n"
        "client = interlock.connect(os.environ['TEST_URL'])\n"
        "lock = client.lock(sys.argv[1])\n"
        "lock.acquire()\n"
        f"if {method!r} == 'exit': client.close()\n"
        f"if {method!r} == 'exception': raise SystemExit(3)\n"
    )
    child = run_child(code, name)
    wait_until(lambda: child.poll() is not None, 10)

    assert child.returncode == (3 if method == "exception" else 0)
