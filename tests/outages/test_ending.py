# SPDX-License-Identifier: MIT
"""Cancel, interrupt, stop, close and Ctrl-C end a call that has no limit of its own and
that tries again because its server is away."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import interlock
import interlock.aio
import pytest
from both_faces import run_now
from cells import PATIENCE
from cluster import until
from control_store import Control
from interlock._core import ffi, lib
from rows import ROWS, Scene, value
from store_kinds import BUILD
from verbs import VERBS
from walk import environment

SOON_S = 0.5 * PATIENCE
OUTAGE_S = 60  # much longer than any bound here
REPLY_S = 2.0  # an attempt is followed to its end
PAUSING_S = 1.0  # then all have tried more than once
ENDED = (
    *("ILK_EINTR", "ILK_ECANCELLED", "ILK_ECLOSED"),
    "ILK_EUNKNOWN",  # a copy may have run
)
OFFERED = {"", *Control.offers}
LIMITLESS = [
    verb
    for verb, (bound, what) in VERBS.items()
    if bound == "outage" and verb in ROWS and set(what.split()) <= OFFERED
]
COMMAND = BUILD / "bin" / "interlock"


@pytest.fixture
def server() -> Iterator[Control]:
    with Control() as running:
        yield running


class Call:
    """A call of a verb, on what was prepared, and how it ended."""

    def __init__(self, verb: str):
        self.verb, self.ended, self.how = verb, 0.0, "it runs"

    async def prepare(self, client: Any, other: Any) -> None:
        scene = Scene(client, other, f"{self.verb}:{uuid.uuid4().hex[:8]}")
        self.handle = await value(ROWS[self.verb].make(scene))

    async def run(self) -> None:
        try:
            self.how = repr(await value(ROWS[self.verb].call(self.handle, None)))
        except interlock.Error as error:
            self.how = error.status
        except BaseException as error:
            self.how = type(error).__name__
            raise
        finally:
            self.ended = time.monotonic()


def late(calls: Sequence[Call], since: float, meant: Sequence[str] = ENDED) -> str:
    """Those that did not end as they should, or too late."""
    return "\n".join(
        f"{call.verb}: {call.how} after {call.ended - since:.2f} s"
        for call in calls
        if call.how not in meant or not 0 <= call.ended - since <= SOON_S
    )


# ---- blocking ------------------------------------------------------------------------

ENDS: dict[str, Callable[[interlock.Client], None]] = {
    "interrupt": lambda client: lib.ilk_client_interrupt(client._handle),
    "stop": lambda client: client.stop(),
    "close": lambda client: client.close(),
}


@pytest.mark.parametrize("end", ENDS)
def test_blocking_calls_end_at_once(server, end):
    # listen() goes on after an interrupt, which in Python only a signal causes
    calls = [Call(verb) for verb in LIMITLESS if verb != "ilk_signal_listen"]
    client = interlock.connect(server.url(), outage_timeout=OUTAGE_S)
    other = interlock.connect(server.url())
    for call in calls:
        run_now(call.prepare(client, other))
    server.kill()
    threads = [
        threading.Thread(target=run_now, args=(call.run(),), daemon=True)
        for call in calls
    ]
    for thread in threads:
        thread.start()
    time.sleep(PAUSING_S)
    assert not late([c for c in calls if c.ended], 0, ()), "a call ended by itself"

    since = time.monotonic()
    ENDS[end](client)
    for thread in threads:
        thread.join(OUTAGE_S * 2)

    assert not late(calls, since), late(calls, since)
    client.close()
    other.close()


def test_a_request_of_a_stopped_client_tries_again(server):
    with interlock.connect(server.url(), outage_timeout=OUTAGE_S) as client:
        queue = client.queue("q")
        queue.push(b"first")
        client.stop()
        server.kill()
        later = threading.Timer(1, server.start)
        later.start()
        queue.push(b"second")
        later.join()


@pytest.mark.parametrize("end", [lib.ilk_op_cancel, lib.ilk_client_stop])
def test_a_started_call_ends_at_once(server, end):
    """Unless it has ended, of itself: its application runs no turns meanwhile."""
    with interlock.connect(server.url(), outage_timeout=OUTAGE_S) as client:
        handle = ffi.new("ilk_queue **")
        err = ffi.new("ilk_error *")
        name = b"started"
        opened = lib.ilk_queue_open(
            handle, client._handle, name, len(name), ffi.NULL, err
        )
        assert opened == lib.ILK_OK, ffi.string(err.msg)
        server.kill()
        out = ffi.new("ilk_op **")
        one = lib.ilk_queue_push_start(out, handle[0], b"x", 1, ffi.NULL, err)
        assert one == lib.ILK_OK, ffi.string(err.msg)
        note = ffi.new("ilk_notification *")
        note.size = ffi.sizeof("ilk_notification")

        def turn() -> int:
            while lib.ilk_client_next_notification(client._handle, note, err) == 0:
                pass
            return int(lib.ilk_op_status(out[0], ffi.NULL))

        end_of_pause = time.monotonic() + PAUSING_S
        while time.monotonic() < end_of_pause:
            assert turn() == lib.ILK_EAGAIN
            time.sleep(0.01)
        since = time.monotonic()
        if end is lib.ilk_op_cancel:
            end(out[0], ffi.NULL)
        else:
            end(client._handle)
        while turn() == lib.ILK_EAGAIN:
            time.sleep(0.01)

        assert time.monotonic() - since < SOON_S
        assert turn() == lib.ILK_ECANCELLED
        lib.ilk_op_free(out[0])
        lib.ilk_queue_free(handle[0])


# ---- tasks ---------------------------------------------------------------------------


async def prepare_tasks(server: Control) -> tuple[list[Call], list[Any]]:
    calls = [Call(verb) for verb in LIMITLESS]
    client = await interlock.aio.connect(server.url(), outage_timeout=OUTAGE_S)
    other = await interlock.aio.connect(server.url())
    for call in calls:
        await call.prepare(client, other)
    server.kill()
    return calls, [client, other]


def test_tasks_of_asyncio_end_at_once(server):
    calls: list[Call] = []
    times = []

    async def main() -> None:
        made, clients = await prepare_tasks(server)
        calls.extend(made)
        tasks = [asyncio.ensure_future(call.run()) for call in calls]
        await asyncio.sleep(PAUSING_S)
        times.append(time.monotonic())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for client in clients:
            await client.close()

    asyncio.run(main())

    assert not late(calls, times[0], ["CancelledError"]), late(
        calls, times[0], ["CancelledError"]
    )


def test_tasks_of_trio_end_at_once(server):
    trio = pytest.importorskip("trio")
    calls: list[Call] = []
    times = []

    async def main() -> None:
        made, clients = await prepare_tasks(server)
        calls.extend(made)
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(call.run)
            await trio.sleep(PAUSING_S)
            times.append(time.monotonic())
            nursery.cancel_scope.cancel()
        for client in clients:
            with trio.CancelScope(shield=True):
                await client.close()

    trio.run(main)

    # an operation that has ended otherwise is reported, and the next checkpoint raises
    meant = ["Cancelled", "ILK_EUNKNOWN"]
    assert not late(calls, times[0], meant), late(calls, times[0], meant)


# ---- signals -------------------------------------------------------------------------

PRESSED = """
import interlock, signal, sys, threading, time
client = interlock.connect(sys.argv[1], outage_timeout=60, reply_timeout=2)
queue, lock, event = client.queue("q"), client.lock("l"), client.event("e")
lock.acquire()
queue.push(b"x")
job = queue.reserve(timeout=1)
verb = {"push": lambda: queue.push(b"x"), "ack": job.ack, "release": lock.release,
        "set": event.set, "join": lambda: client.group("g").join("me"),
        "acquire": lambda: client.lock("m").acquire(timeout=60),
        "break": lambda: client.break_lock("l")}[sys.argv[2]]
if sys.argv[3] == "raises":
    def handler(*_):
        raise RuntimeError("by the handler")
    signal.signal(signal.SIGINT, handler)
elif sys.argv[3] == "returns":
    signal.signal(signal.SIGINT, lambda *_: print("handled", flush=True))
print("ready", flush=True)
sys.stdin.readline()
try:
    print("calls", flush=True)
    print("done", verb(), flush=True)
except BaseException as error:
    print(type(error).__name__, flush=True)
"""


class Child:
    def __init__(self, command: Sequence[Any]):
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        """It is ready, and its call begins."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.line() == "calls"

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("handler", ["default", "raises"])
def test_ctrl_c_ends_a_call_of_python_at_once(server, handler):
    verbs = ["push", "ack", "release", "set", "join", "break"]
    children = []
    for verb in verbs:  # one after another: they use the same names
        children.append(
            Child([sys.executable, "-c", PRESSED, server.url(), verb, handler])
        )
        assert children[-1].line() == "ready"
        server.server.client().flushall()
    server.kill()
    for child in children:
        child.go()
    time.sleep(PAUSING_S)
    wrong = []
    for verb, child in zip(verbs, children):
        since = time.monotonic()
        child.process.send_signal(signal.SIGINT)
        said = child.line()
        took = time.monotonic() - since
        meant = {"default": "KeyboardInterrupt", "raises": "RuntimeError"}[handler]
        if said != meant or took > SOON_S:
            wrong.append(f"{verb}: {said} after {took:.2f} s")
        child.end()

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("verb", ["push", "acquire"])
def test_ctrl_c_ends_a_call_to_a_frozen_server_after_the_attempt(server, verb):
    child = Child([sys.executable, "-c", PRESSED, server.url(), verb, "default"])
    assert child.line() == "ready"
    server.server.freeze()
    child.go()

    since = time.monotonic()
    child.process.send_signal(signal.SIGINT)
    said = child.line()
    took = time.monotonic() - since

    server.server.thaw()
    child.end()
    assert said == "KeyboardInterrupt"
    assert took < 2 * REPLY_S + SOON_S  # on the old connection, and on a new one


def test_a_handler_that_returns_ends_no_call_of_python(server):
    child = Child([sys.executable, "-c", PRESSED, server.url(), "push", "returns"])
    assert child.line() == "ready"
    server.kill()
    child.go()
    for _ in range(3):
        time.sleep(0.3)
        child.process.send_signal(signal.SIGINT)
        assert child.line() == "handled"
    server.start()

    said = child.line()

    child.end()
    assert said.startswith("done"), said
    assert server.server.client().dbsize() > 0


LUA = """
local interlock = require "interlock"
local client = assert(interlock.connect(arg[1], { outage_ms = 60000 }))
local queue = assert(client:queue("q"))
assert(queue:push("x"))
print("ready") io.stdout:flush()
io.read()
print("calls") io.stdout:flush()
local ran, message = pcall(queue.push, queue, "x")
print(ran, message) io.stdout:flush()
"""


def test_ctrl_c_ends_a_call_of_lua_at_once(server):
    child = Child(["lua5.4", "-e", f"arg = {{ '{server.url()}' }}", "-e", LUA])
    assert child.line() == "ready"
    server.kill()
    child.go()
    time.sleep(PAUSING_S)

    since = time.monotonic()
    child.process.send_signal(signal.SIGINT)
    said = child.line()
    took = time.monotonic() - since

    child.end()
    assert "interrupted!" in said, said
    assert took < SOON_S


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_at_once(server, number):
    url = server.url("outage=60s")
    words = ["queue push g x", "signal d", "event set e", "register get f", "break a"]
    words += ["group ls i", "ls", "queue show g", "kv get h k", "inspect a"]
    server.kill()
    runs = [Child([COMMAND, "--url", url, *line.split()]) for line in words]
    time.sleep(PAUSING_S)
    wrong = []
    for line, run in zip(words, runs):
        since = time.monotonic()
        run.process.send_signal(number)
        run.process.communicate(timeout=OUTAGE_S * 2)
        took = time.monotonic() - since
        if took > SOON_S or run.process.returncode not in (-number, 128 + number):
            wrong.append(f"{line}: {run.process.returncode} after {took:.2f} s")

    assert not wrong, "\n".join(wrong)


def test_a_signal_ends_a_release_of_the_command_at_once(server, tmp_path):
    """CMD has ended, and the lock is released."""
    go = tmp_path / "go"
    os.mkfifo(go)
    run = Child(
        [
            *(COMMAND, "--url", server.url("outage=60s"), "lock", "a", "--"),
            *("sh", "-c", f"echo held; cat {go}"),
        ]
    )
    assert run.line() == "held"
    server.kill()
    go.write_text("")
    time.sleep(PAUSING_S)

    since = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    run.process.communicate(timeout=OUTAGE_S * 2)

    assert time.monotonic() - since < SOON_S


def test_a_release_that_was_ended_is_made_good(server):
    """The keeper releases when the server is there again, long before the lease ends."""
    with interlock.connect(server.url("outage=60s")) as client:
        lock = client.lock("left", ttl=120)
        lock.acquire()
        server.kill()
        ended: list[str] = []

        def release() -> None:
            try:
                lock.release()
            except interlock.Error as error:
                ended.append(error.status)

        thread = threading.Thread(target=release)
        thread.start()
        time.sleep(PAUSING_S)
        lib.ilk_client_interrupt(client._handle)
        thread.join()
        assert ended[0] in ENDED
        server.start()

        until(lambda: client.inspect("left").state == "free", what="the release")
