# SPDX-License-Identifier: MIT
"""The worker: callbacks by name, retries, dead letters, a graceful end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import interlock
import pytest
from interlock import Worker, task
from support import patience, raise_after, wait_until


def test_callbacks_are_called_by_name(client, name):
    queue, called = client.queue(name), []
    queue.push(task("add", 1, 2))
    queue.push(b'["say", ["\\u00e4"]]')
    worker = Worker(
        client, name, {"add": lambda a, b: called.append(a + b), "say": called.append}
    )

    assert worker.run(until_empty=True) == 2
    assert called == [3, "ä"]
    assert (worker.done, worker.failed, worker.buried, worker.lost) == (2, 0, 0, 0)
    assert queue.inspect().finished == 2


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\xff\0", "not [name, args] in JSON"),
        (b'["f"]', "not [name, args] in JSON"),
        (b"[1, []]", "not [name, args] in JSON"),
        (b'["f", {}]', "not [name, args] in JSON"),
        pytest.param(b"[" * 200_000, "nested too deeply", id="deep"),
    ],
)
def test_a_message_that_nobody_can_work_on_is_dead_at_once(
    client, name, message, reason
):
    queue = client.queue(name)
    queue.push(message)
    worker = Worker(client, name, {"f": lambda: None})

    assert worker.run(until_empty=True) == 0
    (dead,) = queue.peek("dead")
    assert (dead.data, dead.reason, worker.buried) == (message, reason, 1)


def test_a_name_that_only_newer_workers_know_is_left_to_them(client, name):
    queue, called = client.queue(name), []
    queue.push(task("new", 7))
    old = Worker(client, name, {"old": called.append}, backoff=0.01)
    new = Worker(client, name, {"new": called.append})

    assert old.run(until_empty=True) == 0
    assert (old.failed, old.buried, queue.inspect().dead) == (1, 0, 0)
    wait_until(lambda: new.run(until_empty=True) == 1)
    assert called == [7]


def test_a_name_that_nobody_knows_is_dead_after_its_attempts(client, name):
    queue = client.queue(name)
    queue.push(task("typo"))
    worker = Worker(client, name, {}, max_attempts=1)

    worker.run(until_empty=True)

    assert [job.reason for job in queue.peek("dead")] == ["unknown callback 'typo'"]


async def coroutine():
    raise AssertionError("nobody awaits this")


@pytest.mark.parametrize(
    ("callbacks", "text"),
    [
        ({"f": coroutine}, "callback 'f' is a coroutine function.*interlock.aio"),
        ([print], "callbacks must map names to functions, got list"),
        ({"f": 5}, "callback 'f' must be callable, got 5"),
        ({b"f": print}, "names of callbacks must be str, got b'f'"),
    ],
)
def test_callbacks_that_cannot_be_called_are_refused(client, name, callbacks, text):
    with pytest.raises(TypeError, match=text):
        Worker(client, name, callbacks)


def test_a_callback_that_returns_an_awaitable_has_failed(client, name):
    queue = client.queue(name)
    queue.push(task("f"))
    worker = Worker(client, name, {"f": lambda: coroutine()}, max_attempts=1)

    assert worker.run(until_empty=True) == 0

    (dead,) = queue.peek("dead")
    assert dead.reason.startswith("TypeError: the callback returned an awaitable")


def test_failures_come_again_later_each_time_and_end(client, name):
    queue, times = client.queue(name), []

    def fail():
        times.append(time.monotonic())
        raise RuntimeError("it broke")

    queue.push(task("fail"))
    worker = Worker(
        client, name, {"fail": fail}, max_attempts=3, backoff=0.1, backoff_max=10
    )
    runner = threading.Thread(target=worker.run)
    runner.start()
    wait_until(lambda: queue.inspect().dead == 1)
    worker.stop()
    runner.join(5)

    assert 0.04 < times[1] - times[0] < 1
    assert 0.09 < times[2] - times[1] < 1
    assert [job.reason for job in queue.peek("dead")] == ["RuntimeError: it broke"]
    assert worker.failed == 3


def test_stop_finishes_the_current_and_gives_the_rest_back(client, name):
    queue, began, go = client.queue(name), threading.Event(), threading.Event()

    def work(number):
        began.set()
        go.wait(5)

    queue.push_many([task("work", i) for i in range(5)])
    worker = Worker(client, name, {"work": work}, batch=4)
    runner = threading.Thread(target=worker.run)
    runner.start()
    assert began.wait(5)
    worker.stop()
    go.set()
    runner.join(5)

    assert not runner.is_alive()
    info = queue.inspect()
    assert (info.finished, info.taken, info.ready) == (1, 0, 4)
    assert [job.attempts for job in queue.peek()] == [0, 0, 0, 0]
    assert next(iter(queue.peek())).data == task("work", 1)


def test_stop_ends_a_wait_at_once(client, name):
    worker = Worker(client, name, {}, threads=3)
    runner = threading.Thread(target=worker.run)
    runner.start()
    wait_until(lambda: client.queue(name).inspect().waiting == 3)
    began = time.monotonic()
    worker.stop()
    runner.join(5)
    assert time.monotonic() - began < patience(2)
    wait_until(lambda: client.queue(name).inspect().waiting == 0)


def test_long_work_keeps_its_lease(client, other, name):
    queue = client.queue(name)
    queue.push(task("sleep"))
    worker = Worker(client, name, {"sleep": lambda: time.sleep(2.5)}, lease=1.5)

    runner = threading.Thread(target=worker.run, kwargs={"until_empty": True})
    runner.start()
    time.sleep(2)
    assert other.queue(name).pop() is None
    runner.join(5)
    assert (worker.done, worker.lost) == (1, 0)


def test_threads_share_the_work_by_priority(client, name):
    names = [f"{name}:{level}" for level in ("high", "medium", "low")]
    seen, lock = [], threading.Lock()

    def note(what):
        with lock:
            seen.append(what)

    for level in reversed(names):
        client.queue(level).push_many([task("note", level)] * 5)
    one = Worker(client, names, {"note": note})
    assert one.run(until_empty=True) == 15
    assert seen == [level for level in names for _ in range(5)]

    client.queue(names[0]).push_many([task("note", i) for i in range(100)])
    many = Worker(client, names, {"note": note}, threads=4, batch=8)
    assert many.run(until_empty=True) == 100
    assert sorted(seen[15:]) == list(range(100))


def test_interrupt_ends_the_loop_and_the_message_comes_again(client, name):
    def interrupt():
        raise KeyboardInterrupt

    queue = client.queue(name)
    queue.push(task("interrupt"))
    worker = Worker(client, name, {"interrupt": interrupt}, backoff=0.01)
    with pytest.raises(KeyboardInterrupt):
        worker.run()
    assert queue.inspect().taken == 0
    assert queue.reserve(timeout=5).attempts == 2


def test_a_worker_that_an_exception_has_ended_does_not_run_again(client, name):
    def interrupt():
        raise KeyboardInterrupt

    client.queue(name).push(task("interrupt"))
    for threads, raised in ((1, KeyboardInterrupt), (2, KeyboardInterrupt)):
        worker = Worker(
            client, name, {"interrupt": interrupt}, threads=threads, backoff=0.01
        )
        with pytest.raises(raised):
            worker.run()
        with pytest.raises(interlock.ClosedError, match="ended by KeyboardInterrupt"):
            worker.run()


@pytest.fixture
def outage(own_server, name):
    """A worker whose server ends while a callback works, so that the next request
    begins while connections are refused; and what its run() returned or raised."""
    outcome = []

    def work(number):
        if number == 0:
            own_server.kill()
            began.set()

    def run():
        try:
            outcome.append(worker.run())
        except interlock.Error as error:
            outcome.append(error)

    began = threading.Event()
    with interlock.connect(own_server.unix_url, outage_timeout=0.2) as client:
        client.queue(name).push(task("work", 0))
        worker = Worker(client, name, {"work": work})
        thread = threading.Thread(target=run)
        thread.start()
        assert began.wait(5)
        yield client, worker, thread, outcome
        worker.stop()
        thread.join(10)


def test_a_worker_bears_that_the_server_is_away(own_server, outage, name):
    client, worker, thread, outcome = outage
    time.sleep(0.5)
    own_server.start()
    client.queue(name).push(task("work", 1))

    wait_until(lambda: worker.done == 2)
    worker.stop()
    thread.join(10)
    assert outcome == [2]


def test_stop_ends_the_pause_of_a_worker_whose_server_is_away(
    own_server, name, monkeypatch
):
    monkeypatch.setattr(interlock._outage, "_FIRST_PAUSE", 60)
    with interlock.connect(own_server.unix_url) as client:
        worker, outcome = Worker(client, name, {}), []
        own_server.kill()
        thread = threading.Thread(target=lambda: outcome.append(worker.run()))
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive()
        worker.stop()
        thread.join(patience(2))
        assert outcome == [0]


def test_a_worker_ends_when_the_server_is_away_for_its_minute(outage, monkeypatch):
    _, _, thread, outcome = outage
    time.sleep(0.3)
    assert thread.is_alive()
    monkeypatch.setattr(interlock._outage, "_LIMIT", 0.5)
    thread.join(10)
    (error,) = outcome
    assert isinstance(error, interlock.ConnectionError)


def test_interrupt_between_messages_frees_the_next_and_gives_it_back(
    client, name, monkeypatch
):
    class Counting:
        freed = 0

        def __getattr__(self, verb):
            return getattr(core, verb)

        def ilk_job_free(self, job):
            self.freed += bool(job)
            core.ilk_job_free(job)

    core = interlock.worker.lib
    counting = interlock.worker.lib = Counting()
    try:
        queue = client.queue(name)
        queue.push(task("note"))
        worker = Worker(client, name, {"note": lambda: None}, backoff=0.01)
        raise_after(monkeypatch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            worker.run()
    finally:
        interlock.worker.lib = core

    assert counting.freed == 1
    assert queue.inspect().taken == 0
    assert queue.reserve(timeout=5).data == task("note")


def test_worker_process_ends_by_sigterm(client, server, name):
    program = textwrap.dedent(
        """
        import signal, sys, interlock
        client = interlock.connect(sys.argv[1])
        worker = interlock.Worker(client, sys.argv[2], {"say": lambda x: print(x, flush=True)})
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        print("ready", flush=True)
        worker.run()
        print("bye", flush=True)
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, server.unix_url, name],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        client.queue(name).push(task("say", "hello"))
        assert child.stdout.readline() == "hello\n"
        os.kill(child.pid, signal.SIGTERM)
        assert child.stdout.readline() == "bye\n"
        assert child.wait(5) == 0
    finally:
        child.kill()
        child.wait()


ENDED = r"""
import signal, sys, time, interlock
client = interlock.connect(sys.argv[1])

def say(line):  # one write, as several threads print
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

def work(number):
    say(f"begin {number}")
    end = time.monotonic() + 60
    while not worker._stopped and time.monotonic() < end:
        time.sleep(0.001)
    say(f"end {number}")

worker = interlock.Worker(
    client, sys.argv[2], {"work": work}, batch=2, threads=int(sys.argv[3])
)
print("done", worker.run(), flush=True)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_sigterm_ends_the_loop_after_the_message_under_way(
    client, run_child, name, server, threads
):
    queue = client.queue(name)
    queue.push_many([task("work", number) for number in range(4)])
    child = run_child(ENDED, server.unix_url, name, str(threads))
    for _ in range(threads):
        assert child.stdout.readline().startswith("begin ")
    os.kill(child.pid, signal.SIGTERM)

    rest = child.stdout.read().splitlines()
    assert sorted(line[:3] for line in rest[:threads]) == ["end"] * threads
    assert rest[threads:] == [f"done {threads}", "True"]
    assert child.wait(60) == 0
    info = queue.inspect()
    assert (info.finished, info.ready, info.taken) == (threads, 4 - threads, 0)
    assert {job.attempts for job in queue.peek()} <= {0, 1}


def test_sigterm_ends_a_wait_for_messages(client, run_child, name, server):
    child = run_child(ENDED, server.unix_url, name, "1")
    wait_until(lambda: client.queue(name).inspect().waiting == 1)
    os.kill(child.pid, signal.SIGTERM)

    assert child.stdout.read() == "done 0\nTrue\n"
    assert child.wait(60) == 0


def test_handlers_of_the_program_are_left_alone(client, name):
    def own(number, frame):
        raise KeyError(number)

    client.queue(name).push(task("see"))
    seen = []
    before = signal.signal(signal.SIGTERM, own)
    try:
        see = {"see": lambda: seen.append(signal.getsignal(signal.SIGTERM))}
        Worker(client, name, see).run(until_empty=True)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        client.queue(name).push(task("see"))
        Worker(client, name, see).run(until_empty=True, stop_on=())
    finally:
        signal.signal(signal.SIGTERM, before)

    assert seen == [own, signal.SIG_DFL]


def test_senseless_arguments_are_refused(client, name):
    for wrong in (
        {"threads": 0},
        {"batch": 0 - 1},
        {"lease": 0},
        {"backoff": -1},
        {"order": "x"},
    ):
        with pytest.raises(interlock.InvalidError):
            Worker(client, name, {}, **wrong)
