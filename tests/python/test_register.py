# SPDX-License-Identifier: MIT
"""Registers, values with a version, as Python sees them."""

from __future__ import annotations

import datetime
import os
import signal
import threading
import time

import interlock
import pytest
from support import patience, wait_until

LISTENER = """
import interlock, os, sys
client = interlock.connect(os.environ["TEST_URL"])
register = client.register(sys.argv[1])
print("ready", flush=True)
try:
    print(register.wait(int(sys.argv[2]), timeout=30), flush=True)
except KeyboardInterrupt:
    print("interrupted", register.get(), flush=True)
"""

COUNTER = """
import interlock, os, sys
with interlock.connect(os.environ["TEST_URL"]) as client:
    register = client.register(sys.argv[1])
    for _ in range(50):
        register.change(lambda old: b"%d" % (int(old or b"0") + 1))
"""


@pytest.fixture
def in_line(server, name):
    """Wait until so many stand in the line of the register."""

    def wait(count):
        key = f"ilk:register:wait:{{{name}}}"
        wait_until(lambda: server.call("ZCARD", key) == count, 10)

    return wait


def in_thread(call):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    return thread, answers


def test_a_value_set_by_one_is_read_by_another(client, other, name):
    register, same = client.register(name), other.register(name)
    assert register.get() == (None, 0)

    version = register.set(b"a\0\xff")

    assert same.get() == interlock.RegisterState(value=b"a\0\xff", version=version)
    assert register.set("") > version
    assert same.get().value == b""
    assert (register.name, register.client) == (name, client)
    assert repr(register) == f"<interlock.Register {name!r}>"


def test_cas_writes_over_the_known_version_only(client, other, name):
    register = client.register(name)
    first = register.cas(0, b"one")
    second = other.register(name).cas(first, b"two")

    assert register.cas(first, b"three") is None
    assert register.cas(0, b"three") is None

    assert register.get() == (b"two", second)
    assert second > first > 0


def test_delete_leaves_a_version(client, name):
    register = client.register(name)
    assert register.delete() is False
    version = register.set(b"x")
    assert register.delete(version - 1) is False
    assert register.delete(version) is True

    value, deleted = register.get()

    assert value is None
    assert deleted > version
    assert register.delete(deleted) is False
    assert register.cas(deleted, b"y") > deleted
    assert register.delete() is True


def test_version_is_never_used_again_after_data_loss(own_server, name):
    with interlock.connect(own_server.unix_url) as client:
        register = client.register(name)
        version = register.set(b"x")
        own_server.call("FLUSHALL")

        assert register.get() == (None, 0)
        assert register.cas(version, b"y") is None
        assert register.set(b"y") > version


# ---- change -----------------------------------------------------------------


def test_change_begins_again_when_another_was_first(client, other, name):
    register, theirs = client.register(name), other.register(name)
    seen = []

    def append(old):
        seen.append(old)
        if len(seen) == 1:
            theirs.set(b"theirs")
        return (old or b"") + b"+"

    state = register.change(append)

    assert seen == [None, b"theirs"]
    assert state == theirs.get() == (b"theirs+", state.version)


def test_change_after_a_delete_gets_no_value(client, name):
    register = client.register(name)
    register.set(b"x")
    register.delete()

    assert register.change(lambda old: repr(old)).value == b"None"


@pytest.mark.parametrize("timeout", [0, 0.05, datetime.timedelta(milliseconds=50)])
def test_change_that_others_overtake_ends_in_time(client, other, name, timeout):
    register, theirs = client.register(name), other.register(name)

    def overtaken(_):
        theirs.set(b"theirs")
        return b"mine"

    with pytest.raises(interlock.TimeoutError, match="before each attempt"):
        register.change(overtaken, timeout=timeout)

    assert theirs.get().value == b"theirs"


def test_change_writes_nothing_when_its_function_fails(client, name):
    register = client.register(name)

    with pytest.raises(ZeroDivisionError):
        register.change(lambda _: 1 // 0)
    with pytest.raises(TypeError, match="fn's result must be str or bytes, got None"):
        register.change(lambda _: None)
    with pytest.raises(interlock.InvalidError, match="at most 65536 bytes"):
        register.change(lambda _: b"x" * 65537)

    assert register.get() == (None, 0)


def test_processes_that_count_lose_nothing(client, run_child, name):
    children = [run_child(COUNTER, name) for _ in range(4)]

    for child in children:
        assert child.wait(60) == 0

    assert client.register(name).get().value == b"200"


# ---- wait -------------------------------------------------------------------


def test_change_wakes_a_process_that_waits(client, run_child, name, in_line):
    known = client.register(name).set(b"old")
    child = run_child(LISTENER, name, str(known))
    assert child.stdout.readline() == "ready\n"
    in_line(1)

    version = client.register(name).set("now")

    line = child.stdout.readline()
    assert line == f"RegisterState(value=b'now', version={version})\n"


def test_wait_returns_at_once_past_another_version(client, name):
    register = client.register(name)
    version = register.set(b"x")

    for known in (0, version - 1, version + 1):
        assert register.wait(known) == (b"x", version)
    register.delete()
    assert register.wait(version).value is None


def test_time_runs_out_on_time(client, name):
    register = client.register(name)
    began = time.monotonic()

    assert register.wait(0, timeout=0.2) is None
    assert 0.2 <= time.monotonic() - began < 0.2 + patience(0.3)
    assert register.wait(0, timeout=0) is None


def test_one_object_serves_many_threads(client, name, in_line):
    register = client.register(name)
    threads = [in_thread(lambda: register.wait(0, timeout=20)) for _ in range(30)]
    in_line(30)

    version = register.set(b"go")

    for thread, answers in threads:
        thread.join(10)
        assert answers == [(b"go", version)]
    in_line(0)


def test_ctrl_c_ends_a_wait_at_once_and_leaves_the_line(run_child, name, in_line):
    child = run_child(LISTENER, name, "0")
    assert child.stdout.readline() == "ready\n"
    in_line(1)

    sent = time.monotonic()
    child.send_signal(signal.SIGINT)

    line = child.stdout.readline()
    assert line == "interrupted RegisterState(value=None, version=0)\n"
    assert time.monotonic() - sent < patience(0.5)
    in_line(0)


def test_close_ends_waits(url, name, in_line):
    client = interlock.connect(url)
    register = client.register(name)
    failures = []

    def wait():
        try:
            register.wait(0)
        except interlock.ClosedError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    in_line(1)
    client.close()
    thread.join(10)

    assert len(failures) == 1


# ---- fork -------------------------------------------------------------------


def test_fork_between_get_and_cas_loses_no_change(client, name):
    register = client.register(name)
    register.set(b"0")
    _, version = register.get()

    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = register.cas(version, b"child") is None
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert register.cas(version, b"parent") is None
    assert register.get().value == b"child"


# ---- refusals ---------------------------------------------------------------


@pytest.mark.parametrize("version", [-1, 2**53])
def test_a_number_that_is_no_version_is_refused(client, name, version):
    register = client.register(name)

    for call in (
        lambda: register.cas(version, b"x"),
        lambda: register.delete(version),
        lambda: register.wait(version),
    ):
        with pytest.raises(interlock.InvalidError, match="from 0 to 2"):
            call()


@pytest.mark.parametrize("version", ["1", 1.0, True, None])
def test_a_value_that_is_no_whole_number_is_refused(client, name, version):
    register = client.register(name)

    with pytest.raises(TypeError, match="version must be int"):
        register.cas(version, b"x")
    with pytest.raises(TypeError, match="version must be int"):
        register.wait(version)
    if version is not None:
        with pytest.raises(TypeError, match="version must be int"):
            register.delete(version)


def test_values_and_names_are_checked(client, name):
    register = client.register(name)

    for call in (lambda: register.set(7), lambda: register.cas(0, None)):
        with pytest.raises(TypeError, match="value must be str or bytes"):
            call()
    with pytest.raises(interlock.InvalidError, match="at most 65536 bytes, got 65537"):
        register.set(b"x" * 65537)
    register.set(b"x" * 65536)
    for bad in ("", "ilk:x", "n" * 513):
        with pytest.raises(interlock.InvalidError):
            client.register(bad)
    with pytest.raises(TypeError):
        client.register(7)


def test_a_key_of_another_type_is_an_error(client, server, name):
    server.call("SET", f"ilk:register:{{{name}}}", "x")
    register = client.register(name)

    for call in (
        register.get,
        register.delete,
        lambda: register.set(b""),
        lambda: register.wait(0),
    ):
        with pytest.raises(interlock.WrongTypeError):
            call()


def test_no_version_above_the_last_is_an_error(client, server, name):
    server.call("HSET", f"ilk:register:{{{name}}}", "version", str(2**53 - 1))

    with pytest.raises(interlock.ServerError, match="ILKFENCE no version can rise"):
        client.register(name).set(b"x")


def test_one_server_offers_registers(client):
    assert client.offers("register") is True
