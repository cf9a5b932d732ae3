# SPDX-License-Identifier: MIT
"""The rights that docs/recipes.md names are enough, and each is needed."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from pathlib import Path

import interlock
import pytest
from interlock import recipes

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support import Server  # noqa: E402

PAGE = ROOT / "docs" / "recipes.md"
BLOCK = re.compile(r"<!-- acl: recipes -->\n```\n(.*?)```", re.DOTALL)


def rights():
    return BLOCK.search(PAGE.read_text(encoding="utf-8"))[1].split()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("rights")) as running:
        yield running


def allow(server, words):
    server.call("FLUSHALL")
    server.call("SCRIPT", "FLUSH")  # EVAL is for servers that know no script yet
    server.call("ACL", "SETUSER", "app", "reset", "on", ">pw", *words)


def use_all(url):
    """Every function, each of its ways."""
    with interlock.connect(url) as client:
        use_lists(client)
        use_times(client)
        use_signals(client)
        use_consumers(client)


def use_lists(client):
    r = recipes.bind(client)
    r.fifo_push("app:q", "a")
    assert r.fifo_pop("app:q") == b"a"
    recipes.fifo_queue_push(client, "app:q", "b")
    assert recipes.fifo_queue_pop(client, "app:q") == b"b"
    r.safe_fifo_push("app:q", "c")
    assert r.safe_fifo_pop("app:q", "app:cache") == b"c"
    r.safe_fifo_push("app:q", "d")
    with pytest.raises(ZeroDivisionError):
        r.safe_fifo_pop("app:q", "app:cache", handle=lambda msg: 1 / 0)
    assert r.safe_fifo_restore("app:q", "app:cache") == 1


def use_times(client):
    recipes.delayed_queue_push(client, "app:z", "task", -1)
    assert recipes.delayed_queue_pop(client, "app:z") == [b"task"]
    permit = recipes.acquire_fair_semaphore(client, "app:s", 1)
    assert recipes.refresh_fair_semaphore(client, "app:s", permit)
    assert recipes.release_fair_semaphore(client, "app:s", permit)
    r = recipes.bind(client)
    assert r.master() and r.master()


def use_signals(client):
    r = recipes.bind(client)
    for wait, send in (
        (lambda: r.wait("app:c", 10), r.signal_broadcast),
        (lambda: r.wait_single("app:c", "1", 10), r.signal_single),
    ):
        heard = []
        thread = threading.Thread(target=hear, args=(wait, heard))
        thread.start()
        end = time.monotonic() + 10
        while thread.is_alive() and not send("app:c", "x"):
            assert time.monotonic() < end
        thread.join()
        assert heard == [b"x"]


def hear(wait, heard):
    with contextlib.suppress(interlock.Error):
        told = wait()
        heard.append(told and told["data"])


def push_a_job(client):
    with contextlib.suppress(interlock.Error):
        recipes.fifo_queue_push(client, "app:jobs", "job")


def use_consumers(client):
    with recipes.Consumer(client, ["app:jobs"]) as consumer:
        threading.Timer(0.2, push_a_job, (client,)).start()
        assert consumer.pop(10) == (b"app:jobs", b"job")
        assert consumer.put_back() and consumer.pop(10) and consumer.bury()


def test_the_rights_are_enough(server):
    allow(server, rights())
    use_all(server.unix_url.replace("unix://", "unix://app:pw@"))


# Only a repeated question runs LRANGE; without UNSUBSCRIBE a waiter leaves by
# closing its connection.
SPARE = {"+lrange", "+unsubscribe"}


@pytest.mark.parametrize(
    "needless", sorted({w for w in rights() if w.startswith("+")} - SPARE)
)
def test_each_right_is_needed(server, needless):
    allow(server, [word for word in rights() if word != needless])
    with pytest.raises((interlock.Error, AssertionError)):
        use_all(server.unix_url.replace("unix://", "unix://app:pw@"))
