# SPDX-License-Identifier: MIT
"""examples/stores at a store and at Redis."""

from __future__ import annotations

from pathlib import Path

import pytest
from control_store import Control
from moving import count_while_moving
from store import Store


def test_processes_move_to_redis_and_back(store: Store, tmp_path: Path) -> None:
    lacks = Control.missing()
    if lacks:
        pytest.skip(f"SKIPPED STORE: the way back needs {lacks}")
    with Control() as redis:
        here, there = store.url(), redis.url()
        there_and_back = [[here], [here, there], [there], [there, here], [here]]

        turns, counted = count_while_moving(tmp_path, there_and_back)

    assert turns == counted >= 15
