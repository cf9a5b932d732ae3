# SPDX-License-Identifier: MIT
"""Holds whose objects were collected: kept, renewed, reported, taken back."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

import interlock
import pytest
from aio_case import on_both_kinds
from interlock import aio
from support import wait_until

KINDS = {
    "lock": lambda client, name: client.lock(name),
    "reader": lambda client, name: client.rwlock(name).read,
    "writer": lambda client, name: client.rwlock(name).write,
    "lock_many": lambda client, name: client.lock_many([name, name + "2"]),
    "semaphore": lambda client, name: client.semaphore(name, 1),
    "election": lambda client, name: client.election(name),
}


def collect(make, client, name):
    """Acquire with an object that is collected at once; returns its token."""
    hold = make(client, name)
    assert hold.acquire(0)
    token = hold.token
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del hold
        gc.collect()
    return token


@pytest.mark.parametrize("kind", KINDS)
def test_a_collected_hold_goes_on_and_can_be_taken_back(client, other, name, kind):
    make = KINDS[kind]
    token = collect(make, client, name)

    rival = other.lock(name) if kind == "reader" else make(other, name)
    assert not rival.acquire(0)
    heir = make(client, name)
    assert not heir.adopt("0" * len(token))
    assert heir.adopt(token)
    assert heir.held and heir.token == token
    assert heir.release()
    assert rival.acquire(5)
    assert rival.release()


@pytest.mark.parametrize("kind", ["lock", "semaphore"])
def test_it_is_taken_back_at_a_store_without_detached_holds(
    client, name, kind, monkeypatch
):
    make = KINDS[kind]
    token = collect(make, client, name)
    heir = make(client, name)

    def refused(*_):
        return interlock.UnsupportedError.default_code

    monkeypatch.setattr(type(heir), "_adopt", staticmethod(refused))
    with pytest.raises(interlock.UnsupportedError):
        heir.adopt("0" * len(token))
    assert heir.adopt(token)
    assert heir.held and heir.token == token
    assert heir.release()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "reader"])
def test_acquiring_it_again_raises_held_error_with_its_token(client, name, kind):
    make = KINDS[kind]
    token = collect(make, client, name)

    heir = make(client, name)
    for timeout in (0, 5, None):
        with pytest.raises(interlock.HeldError, match="was collected") as caught:
            heir.acquire(timeout)
        assert caught.value.token == token
    assert heir.adopt(token) and heir.release()
    assert make(client, name).acquire(0)


def test_it_is_renewed_until_the_client_is_closed(url, other, name):
    client = interlock.connect(url)
    lock = client.lock(name, ttl=0.6)
    assert lock.acquire()
    before = client.stats().renewals
    with pytest.warns(ResourceWarning):
        del lock
        gc.collect()

    wait_until(lambda: client.stats().renewals >= before + 4)
    assert other.inspect(name).state == "held"
    client.close()
    assert other.lock(name).acquire(5)


def test_it_ends_with_a_client_that_is_collected(url, other, name):
    client = interlock.connect(url)
    lock = client.lock(name, ttl=0.6)
    assert lock.acquire()
    with pytest.warns(ResourceWarning):
        del lock, client
        gc.collect()

    assert other.lock(name).acquire(5)


def test_max_hold_ends_it(client, name):
    lock = client.lock(name, ttl=0.3, max_hold=0.6)
    assert lock.acquire()
    with pytest.warns(ResourceWarning):
        del lock
        gc.collect()

    def acquired():
        try:
            return client.lock(name).acquire(0)
        except interlock.HeldError:
            return False

    wait_until(acquired)


def test_without_renewal_a_collected_hold_ends_with_its_lease(client, name):
    lock = client.lock(name, ttl=0.3, renew=False)
    assert lock.acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del lock
        gc.collect()

    assert client.lock(name).acquire(5)


def test_a_released_or_detached_object_is_collected_in_silence(client, name):
    lock = client.lock(name)
    with lock:
        pass
    donor = client.lock(name)
    assert donor.acquire()
    token = donor.detach()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del lock, donor
        gc.collect()

    assert client.lock(name).adopt(token)


def test_warning_log_and_notification_name_it(client, name, caplog):
    notifications = client.notifications()
    lock = client.lock(name)
    assert lock.acquire()
    number, token = lock.id, lock.token
    with pytest.warns(ResourceWarning, match=f"lock '{name}' was collected while"):
        del lock
        gc.collect()

    assert name in caplog.text
    notification = notifications.get(5)
    assert (notification.kind, notification.id) == ("kept", number)
    assert isinstance(notification.error, interlock.HeldError)
    assert notification.error.token == token
    assert name in str(notification.error)
    assert notification.lock is None
    assert token not in caplog.text


def test_its_loss_is_a_notification_and_frees_the_name(client, other, name):
    notifications = client.notifications()
    token = collect(KINDS["lock"], client, name)
    assert notifications.get(5).kind == "kept"

    assert other.break_lock(name, token)
    heir = client.lock(name)
    assert not heir.adopt(token)
    assert heir.acquire(5)


def test_readers_and_free_permits_are_granted_beside_it(client, name):
    collect(KINDS["reader"], client, name)
    assert client.rwlock(name).read.acquire(0)
    with pytest.raises(interlock.HeldError):
        client.rwlock(name).write.acquire(0)

    collect(lambda client, name: client.semaphore(name, 3), client, name + "s")
    assert client.semaphore(name + "s", 3, permits=2).acquire(0)
    with pytest.raises(interlock.HeldError):
        client.semaphore(name + "s", 3, permits=3).acquire(0)


def test_names_in_common_are_enough(client, name):
    collect(KINDS["lock_many"], client, name)
    with pytest.raises(interlock.HeldError):
        client.lock(name + "2").acquire(0)
    assert client.lock(name + "3").acquire(0)


def test_a_handle_that_holds_takes_nothing_back(client, name):
    token = collect(KINDS["election"], client, name)
    leader = client.election(name + "2")
    assert leader.acquire(0)
    with pytest.raises(interlock.HeldError):
        leader.adopt(token)


def test_a_forked_child_has_none(client, name, other):
    collect(KINDS["lock"], client, name)
    program = """
import os, sys
import interlock
client = interlock.connect(sys.argv[1])
client.lock(sys.argv[2]).acquire()
child = os.fork()
if child == 0:
    os._exit(client.lock(sys.argv[2]).acquire(0))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-Wignore", "-c", program, other.url, name + "2"]
    assert subprocess.run(command, timeout=60).returncode == 0


def test_leaving_the_interpreter_while_holding_is_silent(url, name):
    program = """
import sys
import interlock
client = interlock.connect(sys.argv[1])
lock = client.lock(sys.argv[2])
lock.acquire()
"""
    command = [sys.executable, "-Walways", "-c", program, url, name]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "reader"])
@on_both_kinds
async def test_the_same_for_tasks(url, name, kind):
    make = KINDS[kind]
    async with aio.connect(url) as client:
        hold = make(client, name)
        assert await hold.acquire(0)
        token = hold.token
        with pytest.warns(ResourceWarning):
            del hold
            gc.collect()

        notification = await client.notifications().get(5)
        if notification.kind == "leadership_won":
            notification = await client.notifications().get(5)
        assert notification.kind == "kept"
        assert notification.error.token == token
        heir = make(client, name)
        with pytest.raises(interlock.HeldError) as caught:
            await heir.acquire(0)
        assert caught.value.token == token
        assert await heir.adopt(token)
        assert heir.held and await heir.release()
        assert await make(client, name).acquire(0)
