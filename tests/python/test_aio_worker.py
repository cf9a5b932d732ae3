# SPDX-License-Identifier: MIT
"""The worker for tasks: side by side, retries, dead letters, a graceful end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from support import Server, patience, wait_until
from test_aio_queue import until_info


@on_both_kinds
async def test_callbacks_are_called_by_name(url, name):
    called = []

    async def add(a, b):
        await anyio.sleep(0)
        called.append(a + b)

    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(aio.task("add", 1, 2))
        await queue.push(b'["say", ["\\u00e4"]]')
        worker = aio.Worker(client, name, {"add": add, "say": called.append})
        assert await worker.run(until_empty=True) == 2
        assert called == [3, "ä"]
        counts = (worker.done, worker.failed, worker.buried, worker.lost)
        assert counts == (2, 0, 0, 0)
        assert (await queue.inspect()).finished == 2


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\xff\0", "not [name, args] in JSON"),
        (b'["f", {}]', "not [name, args] in JSON"),
        pytest.param(b"[" * 200_000, "nested too deeply", id="deep"),
    ],
)
@on_both_kinds
async def test_a_message_that_nobody_can_work_on_is_dead_at_once(
    url, name, message, reason
):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(message)
        worker = aio.Worker(client, name, {"f": lambda: None})
        assert await worker.run(until_empty=True) == 0
        (dead,) = await queue.peek("dead")
        assert (dead.data, dead.reason, worker.buried) == (message, reason, 1)


@on_both_kinds
async def test_a_name_that_only_newer_workers_know_is_left_to_them(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(aio.task("new"))
        old = aio.Worker(client, name, {"old": print}, backoff=60)
        assert await old.run(until_empty=True) == 0
        info = await queue.inspect()
        assert (old.failed, old.buried, info.dead, info.delayed) == (1, 0, 0, 1)


@on_both_kinds
async def test_failures_come_again_later_each_time_and_end(url, name):
    times = []

    async def fail():
        times.append(time.monotonic())
        raise RuntimeError("it broke")

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        queue = client.queue(name)
        await queue.push(aio.task("fail"))
        worker = aio.Worker(
            client, name, {"fail": fail}, max_attempts=3, backoff=0.1, backoff_max=10
        )
        group.start_soon(worker.run)
        await until_info(queue, dead=1)
        worker.stop()
        (dead,) = await queue.peek("dead")
    assert 0.04 < times[1] - times[0] < 1
    assert 0.09 < times[2] - times[1] < 1
    assert len(times) == 3
    assert dead.reason == "RuntimeError: it broke"
    assert worker.failed == 3


def test_the_pause_doubles_up_to_the_longest(url, name):
    async def main():
        async with aio.connect(url) as client:
            worker = aio.Worker(client, name, {}, backoff=1, backoff_max=10)

            for attempts, most in ((1, 1), (2, 2), (4, 8), (5, 10), (99, 10)):
                pauses = [worker._pause(attempts) for _ in range(50)]
                assert most / 2 <= min(pauses) < max(pauses) <= most

    asyncio.run(main())


@on_both_kinds
async def test_many_are_worked_on_side_by_side(url, name):
    inside, most, seen = 0, 0, []

    async def work(number):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await anyio.sleep(0.05)
        inside -= 1
        seen.append(number)

    async with aio.connect(url) as client:
        await client.queue(name).push_many([aio.task("work", i) for i in range(60)])
        worker = aio.Worker(client, name, {"work": work}, concurrency=20)
        began = time.monotonic()
        assert await worker.run(until_empty=True) == 60
        assert time.monotonic() - began < patience(1.5)  # one after the other: 3 s
        assert most == 20
        assert sorted(seen) == list(range(60))
        assert client.stats().connections <= 3


@on_both_kinds
async def test_urgent_queues_come_first(url, name):
    names, seen = [f"{name}:{level}" for level in ("high", "low")], []
    async with aio.connect(url) as client:
        for level in reversed(names):
            await client.queue(level).push_many([aio.task("note", level)] * 5)
        worker = aio.Worker(client, names, {"note": seen.append})
        assert await worker.run(until_empty=True) == 10
    assert seen == [level for level in names for _ in range(5)]


@on_both_kinds
async def test_stop_finishes_what_is_in_work_and_takes_no_more(url, name):
    began, go = anyio.Event(), anyio.Event()

    async def work(number):
        began.set()
        await go.wait()

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        queue = client.queue(name)
        await queue.push_many([aio.task("work", i) for i in range(5)])
        worker = aio.Worker(client, name, {"work": work}, concurrency=2)
        group.start_soon(worker.run)
        await until_info(queue, taken=2)
        await began.wait()
        worker.stop()
        go.set()
        await until_info(queue, finished=2, taken=0, ready=3, waiting=0)
    assert worker.done == 2


@on_both_kinds
async def test_stop_ends_the_waits_at_once(url, name):
    async with aio.connect(url) as client, anyio.create_task_group() as group:
        worker = aio.Worker(client, name, {}, concurrency=3)
        group.start_soon(worker.run)
        await until_info(client.queue(name), waiting=3)
        with anyio.fail_after(2):
            worker.stop()
            await until_info(client.queue(name), waiting=0)
            assert await worker.run() == 0


@on_both_kinds
async def test_stop_at_any_moment_loses_nothing(url, name):
    async with aio.connect(url) as client:
        queue, done = client.queue(name, max_attempts=1), 0
        for step in range(30):
            async with anyio.create_task_group() as group:
                worker = aio.Worker(
                    client, name, {"f": lambda: None}, concurrency=2, max_attempts=1
                )
                group.start_soon(worker.run)
                await queue.push_many([aio.task("f")] * 3)
                await anyio.sleep(step * 0.00005)
                worker.stop()
            done += worker.done
            await until_info(queue, waiting=0, taken=0, dead=0, finished=done)
            assert (await queue.inspect()).ready == 3 * (step + 1) - done


@on_both_kinds
async def test_a_worker_that_a_failure_has_ended_does_not_run_again(url, name):
    async with aio.connect(url) as client:
        worker = aio.Worker(client, name, {})
        with anyio.move_on_after(0.1):
            await worker.run()
        with pytest.raises(interlock.ClosedError, match="has ended by"):
            await worker.run()


@on_both_kinds
async def test_a_worker_bears_that_the_server_is_away(own_server, name, monkeypatch):
    def work(number):
        if number == 0:
            own_server.kill()

    async def start_again():
        await anyio.sleep(0.5)
        await anyio.to_thread.run_sync(own_server.start)
        await queue.push(aio.task("work", 1))

    async with aio.connect(own_server.unix_url, outage_timeout=0.2) as client:
        queue = client.queue(name)
        await queue.push(aio.task("work", 0))
        worker = aio.Worker(client, name, {"work": work}, lease=0.3)
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            await start_again()
            await until_info(queue, finished=1)
            worker.stop()
        assert (worker.done, worker.lost) == (2, 0)

        await queue.push(aio.task("work", 0))
        monkeypatch.setattr(interlock._outage, "_LIMIT", 0.3)
        worker = aio.Worker(client, name, {"work": work}, lease=0.3)
        with pytest.raises(interlock.ConnectionError):
            await worker.run()
        own_server.start()


@on_both_kinds
async def test_stop_ends_the_pause_of_a_worker_whose_server_is_away(
    own_server, name, monkeypatch
):
    monkeypatch.setattr(interlock._outage, "_FIRST_PAUSE", 60)
    async with aio.connect(own_server.unix_url) as client:
        worker = aio.Worker(client, name, {})
        own_server.kill()
        with anyio.fail_after(patience(2)):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                await anyio.sleep(0.3)
                worker.stop()


@on_both_kinds
async def test_cancelled_work_comes_again(url, name):
    async def work():
        await anyio.sleep(20)

    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push_many([aio.task("work")] * 2)
        worker = aio.Worker(client, name, {"work": work}, concurrency=3, backoff=0.01)
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            await until_info(queue, taken=2, waiting=1)
            group.cancel_scope.cancel()
        info = await queue.inspect()
        assert (info.taken, info.waiting) == (0, 0)
        assert (await queue.reserve(timeout=5)).attempts == 2
        assert (worker.done, worker.failed) == (0, 0)


@on_both_kinds
async def test_a_base_exception_ends_the_loop_and_the_message_comes_again(url, name):
    class Enough(BaseException):
        pass

    async def work():
        raise Enough

    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(aio.task("work"))
        worker = aio.Worker(client, name, {"work": work}, concurrency=2, backoff=0.01)
        with pytest.raises(Enough):
            await worker.run()
        assert (await queue.inspect()).waiting == 0
        assert (await queue.reserve(timeout=5)).attempts >= 2


@on_both_kinds
async def test_long_work_keeps_its_lease(url, name):
    async def work():
        await anyio.sleep(2.5)

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        queue = client.queue(name)
        await queue.push(aio.task("sleep"))
        worker = aio.Worker(client, name, {"sleep": work}, lease=1.5)
        group.start_soon(worker.run, True)
        await anyio.sleep(2)
        assert await queue.pop() is None
        await until_info(queue, finished=1)
    assert (worker.done, worker.lost) == (1, 0)


@on_both_kinds
async def test_answers_that_went_to_somebody_else_are_counted(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)

        async def work():
            (job,) = [job for job in jobs if job.attempts == 1]
            assert await queue.adopt(job.token).ack()

        jobs = []
        reserve = aio.Queue.reserve

        async def noted(self, *args):
            job = await reserve(self, *args)
            jobs.extend([job] if job else [])
            return job

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(aio.Queue, "reserve", noted)
            await queue.push(aio.task("work"))
            worker = aio.Worker(client, name, {"work": work})
            await worker.run(until_empty=True)
        assert (worker.done, worker.lost) == (1, 1)


@on_both_kinds
async def test_the_worker_outlives_a_restart_of_the_server(own_server, name):
    seen = []

    async def work(what):
        if what == "kill":
            own_server.kill()
            own_server.start()
        seen.append(what)

    async with aio.connect(own_server.unix_url) as client:
        async with anyio.create_task_group() as group:
            await client.queue(name).push(aio.task("work", "kill"))
            worker = aio.Worker(client, name, {"work": work}, concurrency=2)
            group.start_soon(worker.run)

            async def waits():
                return own_server.call("ZCARD", f"ilk:queue:wait:{{{name}}}") == 2

            with anyio.fail_after(20):
                while "kill" not in seen:
                    await anyio.sleep(0.01)
                await until(waits, 15)
            async with aio.connect(own_server.unix_url) as other:
                await other.queue(name).push(aio.task("work", "after"))
            with anyio.fail_after(10):
                while "after" not in seen:
                    await anyio.sleep(0.01)
            worker.stop()
        assert seen == ["kill", "after"]


@on_both_kinds
async def test_an_answer_is_said_again_until_the_server_is_back(tmp_path, name):
    with Server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        back = threading.Event()

        def start_again():
            server.start()
            back.set()

        async def work():
            server.kill()
            threading.Timer(1.2, start_again).start()

        async with (
            aio.connect(server.unix_url, reply_timeout=0.3) as client,
            aio.connect(server.unix_url) as other,
        ):
            queue = other.queue(name)
            await queue.push(aio.task("work"))
            worker = aio.Worker(client, name, {"work": work})
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                while not back.is_set():
                    await anyio.sleep(0.01)
                with anyio.fail_after(patience(10)):
                    await until_info(queue, finished=1, taken=0, waiting=1)
                worker.stop()
            assert (worker.done, worker.lost) == (1, 0)


def test_a_process_ends_by_sigterm(client, server, name):
    program = textwrap.dedent(
        """
        import asyncio, signal, sys
        from interlock import aio

        async def main():
            async with aio.connect(sys.argv[1]) as client:
                say = lambda what: print(what, flush=True)
                worker = aio.Worker(client, sys.argv[2], {"say": say}, concurrency=3)
                loop = asyncio.get_running_loop()
                loop.add_signal_handler(signal.SIGTERM, worker.stop)
                print("ready", flush=True)
                await worker.run()
                print("bye", flush=True)

        asyncio.run(main())
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, server.unix_url, name],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        client.queue(name).push(interlock.task("say", "hello"))
        assert child.stdout.readline() == "hello\n"
        os.kill(child.pid, signal.SIGTERM)
        assert child.stdout.readline() == "bye\n"
        assert child.wait(5) == 0
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "working"])
def test_sigterm_ends_the_loop_by_itself(
    client, run_child, server, name, backend, waits
):
    program = """
import signal, sys
import anyio
from interlock import aio

async def work(number):
    print("begin", number, flush=True)
    with anyio.move_on_after(60):
        while not worker._stopped:
            await anyio.sleep(0.001)
    print("end", number, flush=True)

async def main():
    global worker
    async with aio.connect(sys.argv[1]) as client:
        worker = aio.Worker(client, sys.argv[2], {"work": work})
        print("done", await worker.run(), flush=True)
    print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)

if sys.argv[3] == "uvloop":
    anyio.run(main, backend_options={"use_uvloop": True})
else:
    anyio.run(main, backend=sys.argv[3])
"""
    queue = client.queue(name)
    if not waits:
        queue.push_many([interlock.task("work", number) for number in range(2)])
    child = run_child(program, server.unix_url, name, backend)
    if waits:
        wait_until(lambda: queue.inspect().waiting == 1)
    else:
        assert child.stdout.readline() == "begin 0\n"
    os.kill(child.pid, signal.SIGTERM)

    ended = "done 0\n" if waits else "end 0\ndone 1\n"
    assert child.stdout.read() == ended + "True\n"
    assert child.wait(60) == 0
    assert queue.size() == (0 if waits else 1)


@on_both_kinds
async def test_senseless_arguments_are_refused(url, name):
    async with aio.connect(url) as client:
        for wrong in (
            {"concurrency": 0},
            {"lease": 0},
            {"backoff": -1},
            {"backoff_max": 0},
            {"order": "x"},
            {"max_attempts": 0},
        ):
            with pytest.raises(interlock.InvalidError):
                aio.Worker(client, name, {}, **wrong)
