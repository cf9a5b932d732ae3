# SPDX-License-Identifier: MIT
"""One private server for all tests, the scripts on the tests' clock."""

import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import expand_scripts  # noqa: E402
from election_world import Election  # noqa: E402
from resp import ReplyError  # noqa: E402
from world import Server, World, server_program  # noqa: E402

SEEN = set()


def load(*include_dirs):
    scripts, codes = expand_scripts.load(
        expand_scripts.SCRIPTS, [*include_dirs, expand_scripts.SCRIPTS / "include"]
    )
    for script in scripts:
        script.codes = codes
    return {script.name: script for script in scripts}


def pytest_addoption(parser):
    parser.addoption(
        "--store", action="store_true", help="run on tests/sim/store.lua, not a server"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """On the store, which has few commands, tests that need another are skipped."""
    outcome = yield
    if item.config.getoption("store", False) and call.excinfo:
        error = call.excinfo.value
        if isinstance(error, ReplyError) and "unknown command" in str(error):
            report = outcome.get_result()
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, str(error))


def pytest_collection_modifyitems(items):
    """Tests that judge the whole run come last."""
    items.sort(key=lambda item: item.get_closest_marker("after_all") is not None)


def pytest_configure(config):
    config.addinivalue_line("markers", "after_all: looks at what the others did")


@pytest.fixture(scope="session")
def server(request):
    on_store = request.config.getoption("store", False)
    program = str(HERE / "store_server.py") if on_store else server_program()
    # pytest's own directories are too deep for a socket's path
    with tempfile.TemporaryDirectory(prefix="ilk-") as directory:
        running = Server(directory, program)
        yield running
        running.stop()


@pytest.fixture(scope="session")
def scripts():
    """As shipped, but for the clock."""
    return load(HERE / "include")


@pytest.fixture(scope="session")
def shipped():
    """As shipped, on the server's clock."""
    return load()


@pytest.fixture(scope="session")
def seen():
    return SEEN


@pytest.fixture
def world(server, scripts, seen):
    playground = World(server.path, scripts, seen)
    yield playground
    playground.close()


@pytest.fixture
def election(server, scripts, seen):
    playground = Election(server.path, scripts, seen)
    yield playground
    playground.close()


@pytest.fixture
def real_world(server, shipped, seen):
    """The shipped text on the server's own clock."""
    playground = World(server.path, shipped, seen)
    yield playground
    playground.close()
