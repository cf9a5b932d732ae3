# SPDX-License-Identifier: MIT
"""The semaphore's manners in Python."""

from __future__ import annotations

import signal
import threading
import time

import interlock
import pytest
from support import patience, wait_until


@pytest.fixture
def in_line(other):
    """Wait until so many stand in line for a semaphore."""

    def until(name, count):
        wait_until(lambda: other.inspect_semaphore(name).waiting == count, 5.0)

    return until


def in_thread(call):
    """Run it in a thread; join() answers what it answered or raises."""

    class Call(threading.Thread):
        def run(self):
            self.error = self.answer = None
            try:
                self.answer = call()
            except BaseException as error:
                self.error = error

        def result(self, timeout=10.0):
            self.join(timeout)
            assert not self.is_alive()
            if self.error:
                raise self.error
            return self.answer

    thread = Call(daemon=True)
    thread.start()
    return thread


# -- taking


def test_as_many_hold_as_the_limit_says(client, other, name):
    held = [client.semaphore(name, 2), other.semaphore(name, 2)]
    assert [one.acquire(timeout=0) for one in held] == [True, True]
    assert held[1].fence > held[0].fence

    late = other.semaphore(name, 2)

    assert late.acquire(timeout=0) is False
    assert held[0].release() is True
    assert late.acquire(timeout=0) is True
    assert 29 < late.remaining() <= 30


def test_with_takes_and_gives_back(client, name):
    with client.semaphore(name, 3, permits=2) as permit:
        assert permit.held
        assert client.inspect_semaphore(name).used == 2
    assert not permit.held
    assert client.inspect_semaphore(name).used == 0


def test_with_says_when_it_was_not_in_time(client, name):
    taken = client.semaphore(name, 1)
    taken.acquire()

    with (
        pytest.raises(interlock.TimeoutError, match="semaphore .* within 0.1 s"),
        client.semaphore(name, 1, wait=0.1),
    ):
        pytest.fail("not reached")


def test_a_loss_inside_is_raised_at_the_end(client, server, name):
    with (
        pytest.raises(interlock.LostError, match=f"semaphore {name!r} was lost"),
        client.semaphore(name, 2),
    ):
        server.call("DEL", f"ilk:semaphore:{{{name}}}")


def test_repr_has_class_name_and_state(client, name):
    permit = client.semaphore(name, 2)
    assert repr(permit) == f"<interlock.Semaphore {name!r} not held by this handle>"
    with permit:
        assert f"{name!r} token={permit.token[:8]} remaining=" in repr(permit)
    assert (permit.name, permit.limit, permit.permits) == (name, 2, 1)


def test_a_lease_for_one_acquire_only(client, name):
    permit = client.semaphore(name, 2, renew=False)

    assert permit.acquire(ttl=5)
    assert permit.remaining() <= 5
    assert permit.extend(20)
    assert permit.remaining() > 15


def test_a_hold_is_handed_over_by_its_token(client, other, name):
    donor, heir = client.semaphore(name, 4, permits=3), other.semaphore(name, 4)
    donor.acquire()
    fence = donor.fence

    assert heir.adopt(donor.detach()) is True

    assert (donor.held, heir.held, heir.fence) == (False, True, fence)
    assert client.inspect_semaphore(name).holders[0].permits == 3
    assert heir.release() is True
    assert donor.adopt(heir.token) is False


# -- waiting


def test_release_lets_in_as_many_as_fit_in_order(client, other, name, in_line):
    whole = client.semaphore(name, 3, permits=3)
    whole.acquire()
    order, threads = [], []
    for permits in (2, 1, 3):

        def take(permits=permits):
            one = other.semaphore(name, 3, permits=permits)
            assert one.acquire(timeout=10)
            order.append(permits)
            if permits == 3:
                one.release()
            return one

        threads.append(in_thread(take))
        in_line(name, len(threads))

    whole.release()

    two, one = threads[0].result(), threads[1].result()
    assert sorted(order) == [1, 2]
    assert one.fence > two.fence
    two.release()
    time.sleep(0.05)
    assert len(order) == 2
    one.release()
    assert threads[2].result().fence > one.fence


def test_a_time_out_is_kept(client, other, name, took):
    client.semaphore(name, 1).acquire()

    with took(0.2, 0.5):
        assert other.semaphore(name, 1).acquire(timeout=0.2) is False


def test_cancel_ends_a_wait(client, other, name, in_line):
    client.semaphore(name, 1).acquire()
    waiter = other.semaphore(name, 1)
    thread = in_thread(waiter.acquire)
    in_line(name, 1)

    waiter.cancel()

    with pytest.raises(interlock.CancelledError):
        thread.result()
    in_line(name, 0)


def test_a_signal_handler_that_raises_ends_a_wait(client, name, took):
    holder, waiter = client.semaphore(name, 1), client.semaphore(name, 1)
    assert holder.acquire()

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with took(0.1, 1.0), pytest.raises(KeyboardInterrupt):
            waiter.acquire()
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until(lambda: client.inspect_semaphore(name).waiting == 0, 5.0)


def test_barging_passes_those_who_wait(client, other, name, in_line):
    first = client.semaphore(name, 2)
    first.acquire()
    big = other.semaphore(name, 2, permits=2)
    thread = in_thread(big.acquire)
    in_line(name, 1)

    assert client.semaphore(name, 2).acquire(timeout=0) is False
    rude = client.semaphore(name, 2, fair=False)
    assert rude.acquire(timeout=0) is True

    rude.release()
    first.release()
    assert thread.result() is True


def test_a_killed_holders_permits_come_back(client, name, run_child):
    child = run_child(
        "import interlock, os, sys, time\n"
        "client = interlock.connect(os.environ['TEST_URL'])\n"
        "assert client.semaphore(sys.argv[1], 3, permits=3, ttl=0.6).acquire()\n"
        "print('held'); time.sleep(60)\n",
        name,
    )
    assert child.stdout.readline() == "held\n"
    began = time.monotonic()
    child.kill()

    assert client.semaphore(name, 3, permits=2).acquire(timeout=5)
    assert time.monotonic() - began < patience(1.0)


# -- the limit


def test_another_limit_is_an_error_that_names_both(client, other, name):
    client.semaphore(name, 3).acquire()

    for timeout in (0, 1, None):
        with pytest.raises(interlock.DiffersError, match="limit 3, this handle has 4"):
            other.semaphore(name, 4).acquire(timeout)


def test_a_raised_limit_lets_those_who_wait_in(client, other, name, in_line):
    first = client.semaphore(name, 1)
    first.acquire()
    thread = in_thread(other.semaphore(name, 1).acquire)
    in_line(name, 1)

    first.set_limit(2)

    assert thread.result() is True
    info = client.inspect_semaphore(name)
    assert (info.limit, info.used) == (2, 2)
    assert other.semaphore(name, 2).acquire(timeout=0) is False


# -- looking


def test_inspection_lists_holders_and_waiters(client, other, name, in_line):
    two, one = client.semaphore(name, 4, permits=2), other.semaphore(name, 4, ttl=9)
    two.acquire()
    one.acquire()
    waiter = other.semaphore(name, 4, permits=3)
    thread = in_thread(waiter.acquire)
    in_line(name, 1)

    info = client.inspect_semaphore(name)

    assert (info.name, info.limit, info.used, info.fence) == (name, 4, 3, one.fence)
    assert [holder.token for holder in info.holders] == [two.token, one.token]
    assert [holder.permits for holder in info.holders] == [2, 1]
    assert [holder.fence for holder in info.holders] == [two.fence, one.fence]
    assert 25 < info.holders[0].ttl <= 30 and 5 < info.holders[1].ttl <= 9
    assert abs(info.holders[0].since - time.time()) < 60
    assert [waiting.permits for waiting in info.waiters] == [3]
    assert (info.holding, info.waiting) == (2, 1)
    waiter.cancel()
    with pytest.raises(interlock.CancelledError):
        thread.result()


def test_an_unused_name_is_empty(client, name):
    info = client.inspect_semaphore(name)
    assert (info.limit, info.used, info.holders, info.waiters) == (0, 0, [], [])


# -- losing


def test_a_lost_hold_is_reported_by_a_notification(client, server, name):
    notifications = client.notifications()
    permit = client.semaphore(name, 2, ttl=1.5)
    permit.acquire()
    server.call("DEL", f"ilk:semaphore:{{{name}}}")

    notification = notifications.get(timeout=3)

    assert (notification.kind, notification.id) == ("semaphore_lost", permit.id)
    assert notification.lock is permit
    assert isinstance(notification.error, interlock.LostError)
    assert not permit.held
    with pytest.raises(interlock.LostError):
        permit.check()
    assert permit.release() is False


# -- bad input


@pytest.mark.parametrize("limit", [0, -1, 1025, 1 << 40])
def test_limits_are_checked(client, name, limit):
    with pytest.raises(interlock.InvalidError, match="limit must be 1 "):
        client.semaphore(name, limit)


@pytest.mark.parametrize("permits", [0, -2, 4])
def test_permits_are_checked(client, name, permits):
    with pytest.raises(interlock.InvalidError, match="permits must be 1 "):
        client.semaphore(name, 3, permits=permits)


@pytest.mark.parametrize("wrong", [1.0, True, "3", None])
def test_numbers_must_be_whole(client, name, wrong):
    with pytest.raises(TypeError, match="limit must be a whole number"):
        client.semaphore(name, wrong)
    with pytest.raises(TypeError, match="permits must be a whole number"):
        client.semaphore(name, 3, permits=wrong)
    with pytest.raises(TypeError, match="limit must be a whole number"):
        client.semaphore(name, 3).set_limit(wrong)


def test_other_arguments_are_checked_as_the_locks(client, name):
    for options in ({"ttl": 0}, {"ttl": -1}, {"wait": -1}, {"max_hold": 0}):
        with pytest.raises(interlock.InvalidError):
            client.semaphore(name, 2, **options)
    for bad in ("", "ilk:x", b"n" * 513):
        with pytest.raises(interlock.InvalidError):
            client.semaphore(bad, 2)
    with pytest.raises(TypeError):
        client.semaphore(7, 2)
    with pytest.raises(interlock.InvalidError, match="limit must be 2 "):
        client.semaphore(name, 3, permits=2).set_limit(1)


def test_a_key_of_another_type_is_refused(client, server, name):
    server.call("SET", f"ilk:semaphore:{{{name}}}", "x")

    with pytest.raises(interlock.WrongTypeError):
        client.semaphore(name, 2).acquire()
    with pytest.raises(interlock.WrongTypeError):
        client.inspect_semaphore(name)


def test_a_handle_does_not_survive_a_fork(client, name, run_child):
    child = run_child(
        "import interlock, os, sys\n"
        "client = interlock.connect(os.environ['TEST_URL'])\n"
        "permit = client.semaphore(sys.argv[1], 2)\n"
        "assert permit.acquire()\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        permit.release()\n"
        "    except interlock.ForkedError:\n"
        "        ok = client.semaphore(sys.argv[1], 2).acquire(timeout=0)\n"
        "        os._exit(0 if ok else 2)\n"
        "    os._exit(1)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]), permit.held)\n",
        name,
    )
    assert child.stdout.readline() == "0 True\n"
