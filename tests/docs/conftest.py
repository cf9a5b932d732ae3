# SPDX-License-Identifier: MIT
"""A server, and the programs of examples/ to be run against it."""

import programs
import pytest
from support import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return programs.Built(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def stage(server, built):
    server.call("FLUSHALL")
    stage = programs.Stage(server, built)
    yield stage
    stage.close()
