# SPDX-License-Identifier: MIT
"""``client.stop()``: waits end, what does not wait still works."""

from __future__ import annotations

import functools
import os
import random
import signal
import threading

import anyio
import interlock
import interlock.aio
import pytest
from aio_case import on_every_loop, until_waiting
from interlock import recipes
from support import patience, wait_until

# A wait of each kind on a name that another client holds, by what it is of.
WAITS = {
    "lock": lambda client, name: client.lock(name).acquire(),
    "with": lambda client, name: client.lock(name).__enter__(),
    "many": lambda client, name: client.lock_many([name, name + "2"]).acquire(),
    "write": lambda client, name: client.rwlock(name).write.acquire(),
    "semaphore": lambda client, name: client.semaphore(name, 1).acquire(),
    "election": lambda client, name: client.election(name).campaign(),
    "observer": lambda client, name: next(client.election(name + "o").observe()),
    "event": lambda client, name: client.event(name).wait(),
    "latch": lambda client, name: client.latch(name, 1).wait(),
    "barrier": lambda client, name: client.barrier(name, 2).wait(),
    "group": lambda client, name: list(client.group(name).watch()),
    "register": lambda client, name: client.register(name).wait(0),
    "signal": lambda client, name: client.signal(name).wait(),
    "pattern": lambda client, name: client.signal(pattern=name + "*").wait(),
    "any": lambda client, name: interlock.wait_any([client.signal(name)], None),
    "reserve": lambda client, name: client.queue(name).reserve(timeout=None),
    "pop": lambda client, name: client.queue(name).pop(timeout=None),
    "recipe": lambda client, name: recipes.bind(client).wait(name + "r"),
    "notifications": lambda client, name: client.notifications().get(),
}

HANDLER = """
import interlock, os, random, signal, sys
client = interlock.connect(os.environ["TEST_URL"])
lock = client.lock(sys.argv[1])
signal.signal(signal.SIGUSR1, lambda *_: client.stop())
for line in sys.stdin:                     # one round for each line
    client.resume()
    print("go", flush=True)
    for _ in range(random.randrange(20000)):
        pass                               # the signal may come before the wait
    try:
        print(lock.acquire(timeout=60), flush=True)
    except interlock.CancelledError as error:
        print(error, flush=True)
"""


@pytest.fixture
def held(other, name):
    """The name is held as a lock, a semaphore and an election by another client."""
    lock = other.lock(name)
    assert lock.acquire(0)
    permit = other.semaphore(name, 1)
    assert permit.acquire(0)
    leader = other.election(name)
    assert leader.campaign(0)
    yield name
    leader.resign()
    permit.release()
    lock.release()


class Waiting(threading.Thread):
    """A wait in a thread of its own, and how it ended."""

    def __init__(self, wait):
        super().__init__(daemon=True)
        self.wait = wait
        self.outcome = None
        self.start()

    def run(self):
        try:
            self.outcome = self.wait()
        except BaseException as error:
            self.outcome = error

    def ended(self):
        self.join(patience(10))
        assert not self.is_alive()
        return self.outcome


@pytest.mark.parametrize("kind", WAITS)
def test_a_stop_ends_a_wait_and_each_that_begins_later(client, held, kind):
    early = Waiting(functools.partial(WAITS[kind], client, held))
    wait_until(early.is_alive, 5)

    client.stop()

    for waiting in (early, Waiting(functools.partial(WAITS[kind], client, held))):
        error = waiting.ended()
        assert isinstance(error, interlock.CancelledError), error
        assert str(error) == "the client is stopped"


def test_waiters_leave_their_queues(client, other, held, waiting):
    thread = Waiting(client.lock(held).acquire)
    waiting(held, 1)

    client.stop()

    assert isinstance(thread.ended(), interlock.CancelledError)
    waiting(held, 0)


def test_a_stopped_client_ends_in_good_order(client, name):
    lock = client.lock(name)
    queue = client.queue(name)
    queue.push(b"message")
    assert lock.acquire()
    job = queue.reserve()
    client.stop()

    assert client.stopped
    assert client.ping()
    lock.check()
    assert lock.extend(20)
    assert lock.release()
    assert lock.acquire(timeout=0)
    assert lock.release()
    assert job.ack()
    assert client.inspect(name).state == "free"
    assert client.notifications().get(0) is None

    client.resume()
    assert not client.stopped
    assert lock.acquire()
    lock.release()


def test_iterators_end(client, name):
    client.stop()

    assert list(client.notifications()) == []
    with pytest.raises(interlock.CancelledError):
        next(iter(client.election(name).observe()))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_worker_returns_when_its_client_is_stopped(client, other, name, threads):
    began, go_on = threading.Event(), threading.Event()

    def work():
        began.set()
        go_on.wait(patience(10))

    for _ in range(5):
        other.queue(name).push(interlock.task("work"))
    worker = interlock.Worker(client, name, {"work": work}, threads=threads)
    thread = Waiting(worker.run)
    assert began.wait(patience(5))

    client.stop()
    go_on.set()

    done = thread.ended()
    assert 1 <= done <= threads
    assert other.queue(name).size() == 5 - done


def test_a_handler_may_stop_the_client_at_any_moment(run_child, client, held):
    """Each round sends its signal at a random moment, before the wait or in it."""
    child = run_child(HANDLER, held)
    for _ in range(60):
        child.stdin.write("round\n")
        child.stdin.flush()
        assert child.stdout.readline() == "go\n"
        for _ in range(random.randrange(20000)):
            pass
        child.send_signal(signal.SIGUSR1)
        assert child.stdout.readline() == "the client is stopped\n"
    wait_until(lambda: client.inspect(held).waiting == 0, 5)


def test_a_child_starts_without_the_stop_of_its_parent(client, held):
    client.stop()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert not client.stopped
            assert client.lock(held).acquire(0.05) is False
            client.stop()
            client.lock(held).acquire()
        except interlock.CancelledError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert client.stopped


# --- tasks --------------------------------------------------------------------


@on_every_loop
async def test_a_stop_ends_the_waits_of_tasks(url, held):
    outcomes = []

    async def wait(function):
        try:
            outcomes.append(await function())
        except interlock.CancelledError as error:
            outcomes.append(str(error))

    async with interlock.aio.connect(url) as client:
        waits = [
            client.lock(held).acquire,
            client.election(held).campaign,
            client.event(held).wait,
            client.signal(held).wait,
            functools.partial(client.queue(held).reserve, timeout=None),
            client.notifications().get,
        ]
        async with anyio.create_task_group() as group:
            for function in waits:
                group.start_soon(wait, function)
            await until_waiting(client, held, 1)
            client.stop()
        assert outcomes == ["the client is stopped"] * len(waits)
        await until_waiting(client, held, 0)

        for function in waits:
            await wait(function)
        assert outcomes == ["the client is stopped"] * 2 * len(waits)
        assert [one async for one in client.notifications()] == []
        client.resume()
        assert await client.lock(held).acquire(0.05) is False


@on_every_loop
async def test_a_signal_handler_may_stop_the_client_of_tasks(url, held):
    async with interlock.aio.connect(url) as client:
        before = signal.signal(signal.SIGUSR1, lambda *_: client.stop())
        try:
            for _ in range(20):
                client.resume()
                threading.Timer(
                    random.random() / 100, os.kill, (os.getpid(), signal.SIGUSR1)
                ).start()
                with pytest.raises(interlock.CancelledError):
                    await client.lock(held).acquire()
            await until_waiting(client, held, 0)
        finally:
            signal.signal(signal.SIGUSR1, before)


@on_every_loop
async def test_a_worker_of_tasks_returns_when_its_client_is_stopped(url, name):
    async with interlock.aio.connect(url) as client:
        worker = interlock.aio.Worker(client, name, {"stop": client.stop})
        await client.queue(name).push(interlock.task("stop"))
        with anyio.fail_after(patience(10)):
            assert await worker.run() == 1
