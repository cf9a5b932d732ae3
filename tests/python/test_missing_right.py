# SPDX-License-Identifier: MIT
"""A missing right is named as ACL SETUSER takes it, by the servers at hand."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
import pytest
from support import Server, wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "server.md"
USER = re.search(r"<!-- acl: locks -->\n```\n(.*?)```", PAGE.read_text(), re.S)[1]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("guarded")) as running:
        yield running


@pytest.fixture
def without(guarded):
    """A client of a user for locks on ``orders*`` that lacks some rights."""
    clients = []

    def connect(*missing, more=()):
        rules = [rule for rule in USER.split() if rule not in missing]
        guarded.call("FLUSHALL")
        guarded.call("ACL", "SETUSER", "u", "reset", "on", ">pw", *rules, *more)
        url = guarded.tcp_url.replace("//", "//u:pw@")
        clients.append(interlock.connect(url, lazy=True))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


def refused(function):
    with pytest.raises(interlock.AuthError) as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize("command", ["set", "time", "hset"])
def test_a_command_of_a_script(without, command):
    lock = without(f"+{command}").lock("orders")
    text = refused(lambda: lock.acquire(0))
    rights = re.match(
        r"the user lacks ([^,;]+), for lock_acquire; the server says", text
    )
    assert rights, text
    assert f"+{command}" in rights[1].split()  # Redis 7.0: all of the script's line


def test_earlier_writes_of_a_script_stay_as_the_page_says(without, guarded):
    lock = without("+hset").lock("orders", ttl=0.9)
    assert "lacks" in refused(lambda: lock.acquire(0)) and not lock.held
    with interlock.connect(guarded.tcp_url) as other:
        assert other.inspect("orders").state == "foreign"  # it has no record
        assert other.lock("orders").acquire(60)


def test_the_command_that_runs_scripts(without):
    lock = without("+evalsha", "+eval").lock("orders")
    assert "lacks +evalsha, for lock_acquire;" in refused(lambda: lock.acquire(0))


def test_a_command_of_its_own(without):
    assert "lacks +scan;" in refused(without().ls)
    assert "lacks +ping;" in refused(without().ping)


@pytest.mark.parametrize("missing", ["~orders*", "~ilk:*"])
def test_a_key_pattern(without, missing):
    lock = without(missing).lock("orders")
    text = refused(lambda: lock.acquire(0))
    assert text.startswith("the user lacks ~orders or ~ilk:*, for lock_acquire; ")


def test_a_key_pattern_of_what_has_no_key_of_the_name(without):
    semaphore = without("~ilk:*").semaphore("orders", 1)
    text = refused(lambda: semaphore.acquire(0))
    assert text.startswith("the user lacks ~ilk:*, for semaphore_acquire; "), text


def test_the_channel_of_an_inbox(without, guarded):
    lock = without("&ilk:inbox:*").lock("orders")
    with interlock.connect(guarded.tcp_url) as other, other.lock("orders"):
        text = refused(lambda: lock.acquire(5))
    assert "cannot SUBSCRIBE to ilk:inbox:*: the user lacks &ilk:inbox:*; " in text


def test_the_channel_of_redisson_is_not_needed_by_a_wait(without, guarded):
    """It only spares waits the next look, so that all of them go on without."""
    client = without(more=("+hexists",))
    with ThreadPoolExecutor() as pool, interlock.connect(guarded.tcp_url) as other:
        held = [other.lock("orders", layout="redisson"), other.lock("orders2")]
        waits = [client.lock("orders", layout="redisson"), client.lock("orders2")]
        assert all(lock.acquire(0) for lock in held)
        taken = [pool.submit(lock.acquire, 30) for lock in waits]
        for name in ("orders", "orders2"):
            wait_until(lambda name=name: other.inspect(name).waiters)
        for lock in held:
            lock.release()
        assert all(each.result() for each in taken)


def test_the_channel_of_a_pattern(without):
    client = without(more=("+psubscribe", "+punsubscribe"))
    text = refused(lambda: client.signal(pattern="orders.*").wait(5))
    assert "the user lacks &ilk:signal:orders.*; " in text


def test_granting_what_the_text_says_is_enough(without, guarded):
    """Begin with nothing and follow the texts: the lock works in the end."""
    guarded.call("ACL", "SETUSER", "u", "reset", "on", ">pw")
    url = guarded.tcp_url.replace("//", "//u:pw@")
    granted = set()
    with interlock.connect(url, lazy=True) as client:
        lock = client.lock("orders")
        for _ in range(40):
            guarded.call("FLUSHALL")  # a script that was refused half-way left traces
            try:
                assert lock.acquire(0)
                lock.release()
                break
            except interlock.AuthError as error:
                found = re.search(r"lacks ([^;,]+)", str(error))
                assert found, error
                rights = set(found[1].split(" or "))
                rights = {right for one in rights for right in one.split()}
                assert not rights <= granted, error
                granted |= rights
                guarded.call("ACL", "SETUSER", "u", *rights)
        else:
            raise AssertionError(granted)
    assert {"+evalsha", "~orders", "~ilk:*"} <= granted
