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
