# SPDX-License-Identifier: MIT
"""Held objects in a circle: Python finalizes what they refer to in any order."""

from __future__ import annotations

import gc

import interlock
import pytest


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_holds_of_a_collected_circle_are_kept(client, name):
    for number in range(100):
        lock = client.lock(f"{name}.{number}", ttl=30)
        many = client.lock_many([f"{name}.{number}.a", f"{name}.{number}.b"], ttl=30)
        lock.acquire()
        many.acquire()
        lock.other, many.other = [many], [lock]
    del lock, many
    gc.collect()

    for number in range(100):
        again = client.lock(f"{name}.{number}", ttl=30)
        with pytest.raises(interlock.HeldError) as caught:
            again.acquire(timeout=0)
        assert again.adopt(caught.value.token)
        assert again.release()
