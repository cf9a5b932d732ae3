# SPDX-License-Identifier: MIT
"""A server of the test session's own, peers that end with their test, lines
to be printed at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import redis

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))
sys.path.append(str(Path(__file__).parents[1] / "topologies"))

from ports import free_port

_told: list[str] = []


def pytest_collection_modifyitems(items):
    """The first use of a peer may have to fetch what it stands on."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))


def pytest_terminal_summary(terminalreporter):
    for line in _told:
        terminalreporter.write_line(line)


def _start_server(folder: Path) -> tuple[subprocess.Popen, str]:
    binary = (
        os.environ.get("ILK_TEST_SERVER")
        or shutil.which("redis-server")
        or shutil.which("valkey-server")
    )
    assert binary, "neither redis-server nor valkey-server is installed"
    for _ in range(5):  # the port may be taken between here and there
        port = free_port()
        server = subprocess.Popen(
            [binary, "--bind", "127.0.0.1", "--port", str(port), "--save", "",
             "--appendonly", "no", "--dir", str(folder)],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        url = f"redis://127.0.0.1:{port}/0"
        deadline = time.monotonic() + 10
        while server.poll() is None and time.monotonic() < deadline:
            try:
                redis.Redis.from_url(url).ping()
                return server, url
            except redis.ConnectionError:
                time.sleep(0.01)
        server.kill()
        server.wait()
    pytest.fail("the server did not start")


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """The URL of a private server."""
    server, url = _start_server(tmp_path_factory.mktemp("server"))
    yield url
    server.terminate()
    server.wait(10)


@pytest.fixture
def own_server(tmp_path):
    """The process and the URL of a server that the test may kill."""
    server, url = _start_server(tmp_path)
    yield server, url
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def peer_of(url):
    """A locker of this class, kept for the session: some start slowly."""
    kept = {}

    def get(kind, number=0):
        if (kind, number) not in kept:
            kept[kind, number] = kind(url)
        return kept[kind, number]

    yield get
    for peer in kept.values():
        peer.close()


@pytest.fixture
def server(url):
    """A plain connection, to look at keys from outside."""
    with redis.Redis.from_url(url) as connection:
        yield connection


@pytest.fixture
def name():
    return f"orders-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def tell():
    """Print a line at the end of the session."""
    return _told.append
