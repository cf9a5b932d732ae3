# SPDX-License-Identifier: MIT
"""One server for all tests of the command, and a shell for each."""

import uuid

import pytest
from shell import Server, Shell


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path):
    """A server that the test may freeze or kill."""
    running = Server(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def shell(server):
    opened = Shell(server)
    yield opened
    opened.stop()


@pytest.fixture
def own_shell(own_server):
    opened = Shell(own_server)
    yield opened
    opened.stop()


@pytest.fixture
def name():
    return f"cli.{uuid.uuid4().hex[:12]}"
