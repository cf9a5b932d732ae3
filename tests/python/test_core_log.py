# SPDX-License-Identifier: MIT
"""The core's log on logging, and the warning about a URL that was forgotten."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest
from support import wait_until

LOSE = """
import logging, sys
logging.basicConfig(format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
import interlock
client = interlock.connect(sys.argv[1])
lock = client.lock(sys.argv[2])
def lose():
    lock.acquire()
    client.break_lock(sys.argv[2])
    assert not lock.extend()
"""


def run(program, *args, env=None, options=()):
    """Run a program to its end; returns its output and its errors."""
    done = subprocess.run(
        [sys.executable, *options, "-c", program, *args],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def without_url(tmp_path):
    """An environment in which connect() starts an embedded server."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    env.pop("INTERLOCK_URL", None)
    env.pop("INTERLOCK_EMBEDDED", None)
    if os.environ.get("ILK_TEST_SERVER"):
        env["INTERLOCK_SERVER"] = os.environ["ILK_TEST_SERVER"]
    return env


def test_a_loss_in_the_core_is_a_warning_of_the_logger(client, name, caplog):
    lock = client.lock(name)
    assert lock.acquire()
    assert client.break_lock(name)
    assert not lock.extend()

    def logged():
        return [
            one
            for one in caplog.records
            if f'lock "{name}" is lost: broken by ' in one.msg % one.args
        ]

    wait_until(logged)
    assert logged()[0].name == "interlock"
    assert logged()[0].levelno == logging.WARNING


def test_lines_that_are_left_at_the_end_are_logged(url, name):
    out, err = run(LOSE + "lose()", url, name)

    assert out.startswith("interlock WARNING lock ") and " is lost: " in out
    assert err == ""


def test_a_forked_child_logs_its_own_lines(url, name):
    program = (
        LOSE
        + """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
child = os.fork()
if child == 0:
    lock = client.lock(sys.argv[2])
    lose()
    client.close()
    interlock._open_clients._close_all()
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    )
    out, err = run(program, url, name)

    assert out.count(" is lost: ") == 1
    assert err == ""


def test_a_handler_may_use_the_package(url, name):
    program = (
        LOSE
        + """
seen = []
class Handler(logging.Handler):
    def emit(self, record):
        with client.lock(sys.argv[2] + "2", wait=60):
            seen.append(record.getMessage())
logging.getLogger("interlock").addHandler(Handler())
import time
lose()
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    time.sleep(0.01)
print(len(seen))
"""
    )
    out, _ = run(program, url, name)

    assert "1" in out.splitlines()  # the other handler's line may come later


@pytest.mark.parametrize("module", ["gevent", "eventlet"])
def test_under_greenlets_the_lines_come_when_the_client_is_closed(url, name, module):
    patch = {
        "gevent": "from gevent import monkey; monkey.patch_all()\n",
        "eventlet": "import eventlet; eventlet.monkey_patch()\n",
    }[module]
    out, _ = run(patch + LOSE + "lose()\nclient.close()\nprint('end')", url, name)

    first, last = out.splitlines()
    assert " is lost: " in first and last == "end"


def test_without_a_url_a_warning_says_that_other_hosts_are_not_covered(without_url):
    program = """
import logging, sys
logging.basicConfig(stream=sys.stdout)
import interlock
for _ in range(2):
    interlock.connect().close()
"""
    out, err = run(program, env=without_url)

    assert err.count("no URL was given and INTERLOCK_URL is not set") == 1
    assert "UserWarning" in err and "<string>:6" in err
    assert out.count("WARNING:interlock:no URL was given") == 1


@pytest.mark.parametrize("url", ["embedded://", None])
def test_a_url_that_is_given_is_silent(without_url, url, server):
    env = dict(without_url)
    if url is None:
        env["INTERLOCK_URL"] = server.unix_url
    program = f"import interlock; interlock.connect({url!r}).close()"

    assert run(program, env=env, options=["-Werror"]) == ("", "")


def test_tasks_are_warned_as_well(without_url):
    program = """
import asyncio
from interlock import aio
async def main():
    client = await aio.connect()
    await client.close()
asyncio.run(main())
"""
    _, err = run(program, env=without_url)

    assert err.count("no URL was given") == 1
    assert "<string>:5" in err
