# SPDX-License-Identifier: MIT
"""A server of the tests' own, clients on it, and names that nobody else has."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid

import interlock
import pytest
from support import Server, patience, wait_until


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for the tests that leave it in peace."""
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def own_server(tmp_path):
    """A server that the test may freeze, kill and restart."""
    with Server(tmp_path) as running:
        yield running


@pytest.fixture(params=["unix", "tcp"])
def each_url(server, request):
    return server.unix_url if request.param == "unix" else server.tcp_url


@pytest.fixture
def url(server):
    return server.unix_url


@pytest.fixture
def client(url):
    with interlock.connect(url) as opened:
        yield opened


@pytest.fixture
def other(url):
    """A second client, as in another process."""
    with interlock.connect(url) as opened:
        yield opened


@pytest.fixture
def name():
    return f"test:{uuid.uuid4().hex[:12]}"


@pytest.fixture
def run_child(server):
    """Start a Python child with its URL in the environment; ended at the end."""
    children = []

    def start(code, *args, **more):
        env = {**os.environ, "TEST_URL": server.unix_url, "PYTHONUNBUFFERED": "1"}
        child = subprocess.Popen(
            [sys.executable, "-c", code, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            text=True,
            **more,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


@pytest.fixture
def waiting(other):
    """Wait until so many stand in line for a name."""

    def until(name, count, seconds=5.0):
        wait_until(lambda: other.inspect(name).waiting == count, seconds)

    return until


@pytest.fixture
def took():
    """A context manager that bounds the time of its block from both sides.

    Lateness, which is what is above the lower bound, is stretched by patience.
    """

    class Took:
        def __init__(self, least, most):
            self.least, self.most = least, least + patience(most - least)

        def __enter__(self):
            self.began = time.monotonic()

        def __exit__(self, kind, error, trace):
            if kind is None:
                elapsed = time.monotonic() - self.began
                assert self.least <= elapsed <= self.most, elapsed

    return Took
