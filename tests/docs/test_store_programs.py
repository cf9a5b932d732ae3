# SPDX-License-Identifier: MIT
"""examples/stores at Redis; tests/stores has them at other stores."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import programs

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from moving import count_while_moving


def test_processes_move_to_another_store_and_back(server, tmp_path):
    server.call("FLUSHALL")
    here, there = f"{server.unix_url}?db=0", f"{server.unix_url}?db=1"
    there_and_back = [[here], [here, there], [there], [there, here], [here]]

    turns, counted = count_while_moving(tmp_path, there_and_back)

    assert turns == counted >= 15


def test_one_server_offers_all(stage):
    fence, *offers = stage.run("c", "stores/offers")

    assert re.fullmatch(r"fence \d+", fence)
    assert [line.split(": ")[1] for line in offers] == ["yes"] * 5


def test_both_are_listed():
    readme = (programs.EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in (programs.EXAMPLES / "stores").iterdir():
        assert f"`{path.name}`" in readme, path
