# SPDX-License-Identifier: MIT
"""The embedded server."""

from __future__ import annotations

import os
import shutil
import tempfile

import interlock
import pytest
from interlock import server


@pytest.fixture
def home():
    path = tempfile.mkdtemp(prefix="ilk-")
    yield f"embedded://{path}"
    server.stop(f"embedded://{path}")
    shutil.rmtree(path, ignore_errors=True)


def test_it_starts_with_the_first_client_and_ends_with_the_last(home, name):
    assert server.status(home).running is False

    with interlock.connect(home) as client, client.lock(name):
        info = server.status(home)
        assert info.running
        os.kill(info.pid, 0)
        assert os.path.exists(info.socket)
        with interlock.connect(home) as other:
            assert other.lock(name).acquire(0) is False
        assert client.ping()

    assert server.status(home).running is False
    assert server.status(home).pid is None


def test_stop_ends_it(home):
    client = interlock.connect(home)
    server.stop(home)
    assert server.status(home).running is False
    server.stop(home)
    client.close()


def test_it_can_be_forbidden(monkeypatch):
    monkeypatch.delenv("INTERLOCK_URL", raising=False)
    with pytest.raises(interlock.Error):
        interlock.connect(embedded=False)
    monkeypatch.setenv("INTERLOCK_EMBEDDED", "0")
    with pytest.raises(interlock.Error):
        interlock.connect()


def test_other_urls_are_refused():
    with pytest.raises(interlock.InvalidError):
        server.status("redis://localhost")
    with pytest.raises(interlock.InvalidError):
        server.stop("embedded://relative/path", timeout=-1)
