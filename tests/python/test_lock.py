# SPDX-License-Identifier: MIT
"""One lock, as its users meet it."""

from __future__ import annotations

import datetime
import signal
import threading
import time

import interlock
import pytest
from support import wait_until


def test_with_holds_and_releases(each_url, name):
    client = interlock.connect(each_url)
    with client.lock(name, ttl=10) as lock:
        assert lock.held
        assert 8 < lock.remaining() <= 10
        assert lock.fence > 0

    assert not lock.held
    assert client.inspect(name).state == "free"


def test_with_raises_timeout_error_after_wait(client, other, name, took):
    lock = other.lock(name, wait=0.1)
    held, raised = client.lock(name), pytest.raises(interlock.TimeoutError)
    with held, took(0.09, 1), raised as caught, lock:
        pytest.fail("two holders")

    assert isinstance(caught.value, TimeoutError)
    assert str(caught.value) == f"lock '{name}' was not acquired within 0.1 s"


def test_bare_acquire_waits_as_long_as_wait_says(client, other, name, took):
    with client.lock(name):
        with took(0.09, 1):
            assert other.lock(name, wait=0.1).acquire() is False
        with took(0, 0.08):
            assert other.lock(name, wait=60).acquire(0) is False


def test_wait_none_waits_for_ever(client, other, name):
    lock = client.lock(name)
    assert lock.acquire()
    timer = threading.Timer(0.3, lock.release)
    timer.start()

    assert other.lock(name).acquire(None)
    timer.join()


def test_with_raises_lost_error_when_it_was_lost_inside(client, server, name):
    lock = client.lock(name, renew=False)
    with pytest.raises(interlock.LostError, match="lost"), lock:
        server.call("DEL", name)


def test_loss_does_not_hide_the_bodys_exception(client, server, name, caplog):
    def body():
        with client.lock(name, renew=False):
            server.call("DEL", name)
            raise KeyError(name)

    with pytest.raises(KeyError):
        body()
    assert "lost" in caplog.text


def test_release_inside_the_block_is_fine(client, name):
    with client.lock(name) as lock:
        assert lock.release()

    assert client.inspect(name).state == "free"


def test_handing_over_inside_the_block_is_fine(client, other, name):
    with client.lock(name) as lock:
        token = lock.detach()

    assert other.lock(name).adopt(token)


def test_ctrl_c_between_the_grant_and_the_block_releases(client, name):
    lock = client.lock(name)

    def acquire_and_be_interrupted():
        assert type(lock).acquire(lock)
        raise KeyboardInterrupt

    lock.acquire = acquire_and_be_interrupted
    with pytest.raises(KeyboardInterrupt), lock:
        pytest.fail("it was interrupted")

    assert not lock.held
    assert client.inspect(name).state == "free"


def test_double_release_raises_not_owned(client, name):
    lock = client.lock(name)
    assert lock.acquire(0)
    assert lock.release()

    with pytest.raises(interlock.NotOwnedError) as caught:
        lock.release()
    assert caught.value.status == "ILK_ENOTOWNER"


def test_release_of_a_lost_lock_is_false(client, server, name):
    lock = client.lock(name)
    assert lock.acquire(0)
    server.call("SET", name, "thief")

    assert lock.release() is False
    assert server.call("GET", name) == b"thief"


def test_ttl_for_one_acquire_only(client, server, name):
    lock = client.lock(name, ttl=30, renew=False)

    assert lock.acquire(ttl=5)
    assert 4 < lock.remaining() <= 5
    lock.release()
    assert lock.acquire()
    assert 28 < lock.remaining() <= 30


def test_ttl_sets_the_expiry_on_the_server(client, server, name):
    for ttl in (0.28, 1, 2.5):
        lock = client.lock(name, ttl=ttl, renew=False)
        assert lock.acquire(0)
        assert ttl * 1000 - 200 < server.call("PTTL", name) <= ttl * 1000
        lock.release()


def test_extend_sets_what_is_left(client, name):
    with client.lock(name, ttl=5, renew=False) as lock:
        assert lock.extend(60) is True
        assert 55 < lock.remaining() <= 60
        assert lock.extend() is True
        assert 4 < lock.remaining() <= 5


def test_extend_of_a_lost_lock_is_false(client, server, name):
    lock = client.lock(name, renew=False)
    assert lock.acquire(0)
    server.call("DEL", name)

    assert lock.extend(10) is False


def test_check_raises_lost_error(client, other, name):
    lock = client.lock(name, ttl=1, renew=False)
    assert lock.acquire(0)
    lock.check()
    assert other.lock(name).acquire(5)

    with pytest.raises(interlock.LostError):
        lock.check()


def test_token_moves_a_hold_to_another_client(client, other, name):
    donor, heir = client.lock(name), other.lock(name)
    assert donor.acquire(0)
    fence = donor.fence

    token = donor.detach()

    assert not donor.held
    assert heir.adopt(token)
    assert (heir.held, heir.fence, heir.token) == (True, fence, token)
    assert heir.release()


def test_detach_ends_renewal(client, server, name):
    lock = client.lock(name, ttl=0.3)
    assert lock.acquire(0)
    lock.detach()

    wait_until(lambda: server.call("EXISTS", name) == 0)


def test_adopting_a_stranger_is_false(client, name):
    assert client.lock(name).adopt("0" * 32) is False


def test_token_is_the_value_at_the_key(client, server, name):
    with client.lock(name) as lock:
        assert server.call("GET", name).decode() == lock.token
        assert client.inspect(name).holder == lock.token


def test_acquire_on_a_holding_handle_raises_held(client, name):
    with client.lock(name) as lock:
        with pytest.raises(interlock.HeldError):
            lock.acquire(0)
        assert lock.held


def test_cancel_ends_a_wait_of_another_thread(client, other, name, waiting):
    lock, outcome = other.lock(name), []

    def work():
        try:
            outcome.append(lock.acquire())
        except interlock.Error as error:
            outcome.append(error)

    with client.lock(name):
        thread = threading.Thread(target=work)
        thread.start()
        waiting(name, 1)
        lock.cancel()
        thread.join(5)
        assert isinstance(outcome[0], interlock.CancelledError)
        wait_until(lambda: client.inspect(name).waiting == 0)

    assert lock.acquire(5)


def test_waiters_are_served_in_their_order(client, other, name, waiting):
    order, threads = [], []

    def work(number):
        with other.lock(name):
            order.append(number)

    with client.lock(name):
        for number in range(8):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            waiting(name, number + 1)
    for thread in threads:
        thread.join(10)

    assert order == list(range(8))


def test_max_hold_ends_renewal(client, other, name, took):
    lock = client.lock(name, ttl=1, max_hold=2)
    assert lock.acquire(0)

    with took(1, 4):
        assert other.lock(name).acquire(5)
    assert not lock.held


def test_renewal_keeps_a_lock_beyond_its_lease(client, name):
    with client.lock(name, ttl=1.5) as lock:
        time.sleep(2.2)
        assert lock.held
        assert 0 < lock.remaining() <= 1.5
    assert client.stats().renewals >= 2


def test_barging_passes_those_who_wait(client, name, run_child, waiting):
    holder, barger = client.lock(name, fair=False), client.lock(name, fair=False)
    assert holder.acquire(0)
    child = run_child(
        "import interlock, os, sys;"
        "interlock.connect(os.environ['TEST_URL']).lock(sys.argv[1]).acquire()",
        name,
    )
    waiting(name, 1)
    child.send_signal(signal.SIGSTOP)  # woken, it cannot come

    assert holder.release()
    assert barger.acquire(0)

    child.kill()
    assert barger.release()


def test_repr_shows_name_token_and_time(client, name):
    lock = client.lock(name, ttl=10)
    assert repr(lock) == f"<interlock.Lock '{name}' not held by this handle>"

    with lock:
        assert f"'{name}' token={lock.token[:8]} remaining=" in repr(lock)
        assert lock.token not in repr(lock)


def test_break_lock_takes_it_away(client, other, name):
    assert client.break_lock(name) is False
    lock = client.lock(name)
    assert lock.acquire(0)

    assert other.break_lock(name, token="somebody else") is False
    assert other.break_lock(name, token=lock.token) is True
    assert other.inspect(name).state == "free"
    assert lock.release() is False


def test_reentrant_counts_in_one_thread(client, other, name):
    lock = client.lock(name, reentrant=True)
    with lock, lock:
        assert lock.acquire()
        lock.release()
        assert other.lock(name).acquire(0) is False
    assert not lock.held
    assert other.lock(name).acquire(0)


def test_reentrant_does_not_nest_in_a_hold_that_was_lost(client, other, name):
    lock = client.lock(name, reentrant=True, renew=False)
    with pytest.raises(interlock.LostError, match="inside its block"), lock:
        fence = lock.fence
        assert lock.acquire(0)
        assert other.break_lock(name)
        assert lock.extend() is False
        with pytest.raises(interlock.LostError, match="release it"):
            lock.acquire(0)
        with pytest.raises(interlock.LostError, match="release it"), lock:
            pytest.fail("it was lost")
        assert lock.release() is False
        with pytest.raises(interlock.LostError, match="release it"):
            lock.acquire(0)
        assert lock.fence == fence
    assert client.inspect(name).state == "free"

    with lock:
        assert lock.fence > fence


def test_reentrant_asks_the_server_whether_a_hold_in_doubt_goes_on(
    client, name, monkeypatch
):
    lock = client.lock(name, reentrant=True)
    with lock:
        fence, held = lock.fence, [False]
        functions = lock._functions
        in_doubt = functions._replace(
            held=lambda handle: held.pop() if held else functions.held(handle)
        )
        monkeypatch.setattr(type(lock), "_functions", in_doubt)
        with lock:
            assert lock.fence == fence
    assert not lock.held


def test_reentrant_refuses_a_second_thread(client, name):
    lock, seen = client.lock(name, reentrant=True), []

    def work(verb):
        try:
            verb()
        except interlock.Error as error:
            seen.append(type(error))

    with lock:
        for verb in (lock.acquire, lock.release):
            thread = threading.Thread(target=work, args=(verb,))
            thread.start()
            thread.join(5)
        assert lock.held

    assert seen == [interlock.HeldError, interlock.NotOwnedError]
    thread = threading.Thread(target=lambda: seen.append(lock.acquire(0)))
    thread.start()
    thread.join(5)
    assert seen[-1] is True


def test_reentrant_refuses_a_second_task(client, name):
    import asyncio

    lock = client.lock(name, reentrant=True)

    async def second():
        with pytest.raises(interlock.HeldError, match="another thread or task"):
            lock.acquire(0)

    async def main():
        with lock:
            assert lock.acquire(0)
            lock.release()
            await asyncio.create_task(second())

    asyncio.run(main())
    assert not lock.held


def test_redisson_layout_is_a_hash(client, server, name):
    with client.lock(name, layout="redisson"):
        assert server.call("TYPE", name) == "hash"
        assert client.inspect(name).state == "redisson"
        with pytest.raises(interlock.WrongTypeError):
            client.lock(name).acquire(0)


def test_a_release_need_not_be_confirmed(client, other, name):
    lock = client.lock(name, renew=False)
    for _ in range(50):
        assert lock.acquire(timeout=0)
        assert lock.release(confirm=False)
        assert not lock.held
    assert other.lock(name).acquire(timeout=5)


def test_the_next_acquire_raises_a_loss_that_was_not_confirmed(client, name):
    lock = client.lock(name, renew=False)
    assert lock.acquire()
    assert client.break_lock(name)
    assert lock.release(confirm=False)
    with pytest.raises(interlock.LostError, match="before its release"):
        lock.acquire(timeout=1)
    assert lock.acquire(timeout=5)
    assert lock.release()


def test_a_release_without_a_hold_raises(client, name):
    with pytest.raises(interlock.NotOwnedError):
        client.lock(name).release(confirm=False)


def test_permits_may_be_given_up_without_waiting(client, name):
    permit = client.semaphore(name, 1)
    for _ in range(10):
        assert permit.acquire(timeout=0)
        assert permit.release(confirm=False)


def test_locked_asks_the_server(client, other, name):
    lock = client.lock(name)
    assert lock.locked() is False
    with other.lock(name):
        assert lock.locked() is True and not lock.held
    assert lock.locked() is False
    with other.rwlock(name).read:
        assert lock.locked() and client.rwlock(name).write.locked()
        assert client.rwlock(name).read.locked()


def test_blocking_false_is_a_timeout_of_zero(client, other, name, took):
    with client.lock(name), took(0, 0.08):
        assert other.lock(name).acquire(blocking=False) is False
        assert other.lock(name, wait=60).acquire(blocking=False, ttl=5) is False
        assert other.lock_many([name]).acquire(blocking=False) is False
    assert other.lock(name).acquire(0, blocking=False)
    for timeout in (5, None):
        with pytest.raises(ValueError, match="blocking=False allows no timeout"):
            other.lock(name).acquire(timeout, blocking=False)
    assert client.lock(name + "2").acquire(5, blocking=True)


def test_timedelta_is_taken_wherever_seconds_are(client, other, name, took):
    def span(seconds):
        return datetime.timedelta(seconds=seconds)

    lock = client.lock(name, ttl=span(10), wait=span(0.1), max_hold=span(60))
    assert lock.acquire(span(1), ttl=span(7))
    assert 6 < lock.remaining() <= 7
    assert lock.extend(span(9)) and 8 < lock.remaining() <= 9
    late = other.lock(name, wait=span(0.1))
    with took(0.09, 1), pytest.raises(interlock.TimeoutError, match=r"0\.1 s"), late:
        pytest.fail("two holders")
    queue = client.queue(name, once=span(60))
    queue.push(b"a", delay=span(0))
    assert queue.reserve(span(1), lease=span(5)).nack(delay=span(0))
    assert queue.pop(timeout=span(5)) == b"a"
    with pytest.raises(interlock.TimeoutError, match=r"within 0\.01 s"):
        queue.job(timeout=span(0.01)).__enter__()
    assert client.notifications().get(span(0.01)) is None
    assert client.event(name, ttl=span(5)).wait(span(0.01)) is False
    assert client.ping(span(5))
    with pytest.raises(interlock.TimeoutError, match=r"within 0\.01 s"):
        client.barrier(name, 2, keep=span(60)).wait(span(0.01))
    with pytest.raises(interlock.InvalidError, match="from 0 to"):
        client.lock(name, ttl=span(-1))


def test_misuse_is_a_runtime_error_as_with_threading(client, name):
    lock = client.lock(name)
    with pytest.raises(RuntimeError) as caught:
        lock.release()
    assert isinstance(caught.value, interlock.NotOwnedError)
    assert lock.acquire()
    with pytest.raises(RuntimeError) as caught:
        lock.acquire()
    assert isinstance(caught.value, interlock.HeldError)
    for kind in (interlock.ClosedError, interlock.ForkedError):
        assert issubclass(kind, RuntimeError) and issubclass(kind, interlock.Error)
