# SPDX-License-Identifier: MIT
"""Every answer that a script declares was given to some test of this run."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.after_all
def test_every_declared_reply_was_seen(request, scripts, seen):
    chosen = {Path(item.fspath).name for item in request.session.items}
    everything = {path.name for path in HERE.glob("test_*.py")}
    option = request.config.getoption
    if chosen < everything or option("keyword") or option("store", False):
        pytest.skip("not every reply can be seen: only a part of the tests runs")

    declared = {
        (script.name, code, types)
        for script in scripts.values()
        for code, types in script.replies
    }

    assert declared - seen == set()
