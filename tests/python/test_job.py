# SPDX-License-Identifier: MIT
"""Jobs from Python: what lasts, and who may finish them."""

from __future__ import annotations

import gc
import time

import interlock
import pytest


def test_job_outlives_queue_and_batch(client, name):
    queue = client.queue(name)
    queue.push_many([b"a", b"b"])
    batch = queue.reserve_many(2)
    job = batch[1]
    del batch, queue
    gc.collect()

    assert (job.data, job.queue) == (b"b", name)
    assert job.ack()


def test_a_block_acknowledges_or_gives_back(client, name):
    queue = client.queue(name)
    queue.push(b"a")
    with pytest.raises(KeyError), queue.job() as job:
        raise KeyError(job.data)
    with queue.job(timeout=5, lease=10) as job:
        assert (job.data, job.attempts) == (b"a", 2)
        assert 5 < job.remaining() <= 10
    assert queue.inspect().finished == 1


def test_a_block_may_finish_its_job_itself(client, name):
    queue = client.queue(name)
    queue.push_many([b"a", b"b", b"c"])
    with queue.job() as job:
        assert job.ack()
    with pytest.raises(KeyError), queue.job() as job:
        assert job.bury("no use")
        raise KeyError(job.data)
    info = queue.inspect()
    assert (info.finished, info.dead, info.taken) == (1, 1, 0)

    (seen,) = queue.peek()
    with pytest.raises(interlock.NotOwnedError), seen:
        pass


def test_a_failed_nack_does_not_hide_the_bodys_exception(url, name, caplog):
    with interlock.connect(url) as client:
        queue = client.queue(name)
        queue.push(b"a")
        with pytest.raises(KeyError), queue.job() as job:
            client.close()
            raise KeyError(job.data)
    assert f"message 1 of {name} was not given back after KeyError" in caplog.text


def test_a_block_without_a_message_raises_timeout_error(client, name, took):
    with pytest.raises(TimeoutError) as caught, client.queue(name).job():
        pytest.fail("there was none")
    assert isinstance(caught.value, interlock.TimeoutError)
    assert str(caught.value) == f"no message in queue '{name}' within 0 s"
    both = client.queues([name, name + "2"])
    with took(0.09, 1), pytest.raises(interlock.TimeoutError, match="2' within 0.1 s"):
        both.job(timeout=0.1).__enter__()


def test_a_lost_lease_is_raised_at_the_end_of_the_block(client, other, name):
    queue = client.queue(name)
    queue.push(b"a")
    with pytest.raises(interlock.LostError), queue.job(lease=0.5):
        assert other.queue(name).reserve(timeout=60).ack()


def test_renewed_lease_lasts_until_the_handle_is_gone(client, other, name):
    queue = client.queue(name, renew=True)
    queue.push(b"a")
    job = queue.reserve(lease=1.5)
    time.sleep(2.5)
    assert job.remaining() > 0
    assert other.queue(name).pop() is None
    del job
    gc.collect()
    assert other.queue(name).pop(timeout=5) == b"a"


def test_extend(client, name):
    queue = client.queue(name)
    queue.push(b"a")
    job = queue.reserve(lease=1)
    assert job.extend(20) is True
    assert 15 < job.remaining() <= 20
    assert job.extend() is True
    assert job.remaining() <= 1
    time.sleep(1.05)
    assert queue.pop() == b"a"
    assert job.extend() is False
    with pytest.raises(interlock.InvalidError):
        job.nack(delay=-1)


def test_looked_at_is_not_ours(client, name):
    queue = client.queue(name)
    queue.push(b"a")
    (seen,) = queue.peek()
    assert (seen.data, seen.attempts, seen.remaining()) == (b"a", 0, 0.0)
    for verb in (seen.ack, seen.nack, seen.bury, seen.extend):
        with pytest.raises(interlock.NotOwnedError):
            verb()
    assert queue.size() == 1
