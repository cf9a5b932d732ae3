# SPDX-License-Identifier: MIT
"""Opening a client while its server cannot be reached, and the client's log of that."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import interlock.aio
import pytest
from cells import PATIENCE
from cluster import until
from control_store import Control

SLACK_S = 1.0 * PATIENCE
CONNECT_S = 2.0  # of interlock.aio, which tries again for so long
FACES = ["blocking", "asyncio"]


@pytest.fixture
def server() -> Iterator[Control]:
    with Control() as running:
        yield running


def connect(face: str, url: str, **options: Any) -> None:
    """Open a client, use it, and close it."""

    async def in_loop() -> None:
        async with interlock.aio.connect(url, **options) as client:
            assert await client.ping()

    if face == "asyncio":
        asyncio.run(in_loop())
        return
    with interlock.connect(url, **options) as client:
        assert client.ping()


def refused_after(call: Callable[[], Any]) -> float:
    """Seconds until it ends with the outage."""
    began = time.monotonic()
    with pytest.raises(interlock.ConnectionError, match="refused"):
        call()
    return time.monotonic() - began


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("options", [{}, {"outage_timeout": 0}])
def test_connecting_ends_soon(server, face, options):
    server.kill()

    took = refused_after(lambda: connect(face, server.url(), **options))

    assert took < (0 if face == "blocking" else CONNECT_S) + SLACK_S


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("by_url", [False, True])
def test_connecting_tries_again_for_as_long_as_the_program_says(server, face, by_url):
    url = server.url("outage=1500ms") if by_url else server.url()
    options = {} if by_url else {"outage_timeout": 1.5}
    server.kill()

    took = refused_after(lambda: connect(face, url, **options))

    assert 1.4 < took < 1.5 + SLACK_S


@pytest.mark.parametrize("face", FACES)
def test_connecting_succeeds_when_the_server_comes_in_time(server, face):
    server.kill()
    later = threading.Timer(0.5, server.start)
    later.start()

    connect(face, server.url(), outage_timeout=20)

    later.join()


def test_a_client_that_has_never_been_connected_is_used_when_the_server_is_there(
    server,
):
    server.kill()
    with interlock.connect(server.url(), lazy=True, outage_timeout=0) as client:
        refused_after(lambda: client.lock("first").acquire(timeout=30))
        server.start()
        assert client.lock("first").acquire(timeout=20)


# ---- the log -----------------------------------------------------------------------

USES = """
import sys, threading, interlock
client = interlock.connect(sys.argv[1], outage_timeout=20)
held = client.lock("held")
held.acquire()
print("ready", flush=True)
sys.stdin.readline()
calls = [threading.Thread(target=client.queue(f"q{n}").push, args=(b"x",)) for n in range(8)]
for call in calls:
    call.start()
print("called", flush=True)
for call in calls:
    call.join()
held.release()
print("over", flush=True)
sys.stdin.readline()
"""


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(server, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as stderr:
        client = subprocess.Popen(
            [sys.executable, "-c", USES, server.url()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, "INTERLOCK_LOG": "info"},
        )
    assert client.stdin
    assert client.stdout
    try:
        assert client.stdout.readline() == "ready\n"
        server.kill()
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "called\n"
        until(lambda: "cannot be reached" in log.read_text(), what="a line of the log")
        time.sleep(1)  # time for more lines than one
        server.start()
        assert client.stdout.readline() == "over\n"
    finally:
        client.stdin.close()
        client.wait(20)

    lines = log.read_text().splitlines()
    begun = [line for line in lines if "the server cannot be reached" in line]
    ended = [line for line in lines if "the server is reached again" in line]
    assert (len(begun), len(ended)) == (1, 1), lines
    assert "refused" in begun[0] or "closed" in begun[0] or "broke" in begun[0]
