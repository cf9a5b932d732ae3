# SPDX-License-Identifier: MIT
"""A server, a clock and the scripts: what every test here plays with."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from resp import Connection, Inbox, ReplyError, to_bytes

HERE = Path(__file__).resolve().parent
START_US = 1_700_000_000_000_000
DAY_MS = 86_400_000
READERS = b"ilk:readers"
CODE_LIMIT = 64  # see include/reply.lua


def side_key(kind, name):
    """As libcore/src/redis/keys.h lays them out, for the names of these tests."""
    if b"}" in name:
        return b"ilk:lock:" + kind + b"=" + name
    return b"ilk:lock:" + kind + b":{" + name + b"}"


def keys_of(name):
    kinds = (b"fence", b"wait", b"live", b"readers")
    return [name, *(side_key(kind, name) for kind in kinds)]


def server_program():
    named = os.environ.get("ILK_TEST_SERVER")
    return named or shutil.which("redis-server") or shutil.which("valkey-server")


class Server:
    """A private server on a unix socket, ended by its process."""

    def __init__(self, directory, program):
        self.path = str(Path(directory) / "s.sock")
        self.process = subprocess.Popen(
            [
                program,
                "--port",
                "0",
                "--unixsocket",
                self.path,
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(directory),
            ],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while True:
            try:
                Connection(self.path)("PING")
                return
            except (OSError, ReplyError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)


class World:
    """One test's view: names, clients, calls with sensible arguments."""

    def __init__(self, path, scripts, seen):
        self.path, self.scripts, self.seen = path, scripts, seen
        self.redis = Connection(path)
        self.redis("FLUSHALL")
        self.set_clock(START_US)
        self.name = b"orders"
        self.inboxes = {}
        self.request = 1000

    def close(self):
        for inbox in self.inboxes.values():
            inbox.close()
        self.redis.close()

    # -- clock and clients

    def set_clock(self, us):
        self.now = us
        self.redis("SET", "ilk:test:now", us)

    def advance(self, ms):
        self.set_clock(self.now + ms * 1000)

    @contextlib.contextmanager
    def full(self):
        """The server is out of memory."""
        self.redis("CONFIG", "SET", "maxmemory", "1")
        try:
            yield
        finally:
            self.redis("CONFIG", "SET", "maxmemory", "0")

    def listen(self, *clients):
        for client in clients:
            channel = b"ilk:inbox:" + to_bytes(client)
            self.inboxes[client] = Inbox(self.path, channel)

    def deaf(self, client):
        """The client's inbox is gone; it is when the server has seen that."""
        self.inboxes.pop(client).close()
        channel = b"ilk:inbox:" + to_bytes(client)
        while self.redis("PUBSUB", "NUMSUB", channel)[1]:
            time.sleep(0.001)

    def inbox(self, client):
        return self.inboxes[client].take()

    # -- calls

    def call(self, script, keys, *args, via=None):
        """Run a script and check its reply against what it declares. A code without
        elements is returned with the zeros that it stands for."""
        reply = self.run(script, keys, *args, via=via)
        name, types = self.check_shape(script, reply)
        self.seen.add((script, name, types))
        if types == "":
            shapes = [more for code, more in self.replies(script) if code == name]
            return [name, *[0] * max(map(len, shapes))]
        return [name, *reply[1:]]

    def run(self, script, keys, *args, via=None):
        """The reply, less the number of the request, which must be ours."""
        self.request += 1
        reply = (via or self.redis)(
            "EVAL", self.scripts[script].text, len(keys), *keys, *args, self.request
        )
        first, *rest = [reply] if isinstance(reply, int) else reply
        request, code = divmod(first, CODE_LIMIT)
        assert request == self.request, f"{script} does not answer its request"
        return [code, *rest]

    def check_shape(self, script, reply):
        codes = self.scripts[script].codes
        for name, types in self.replies(script):
            if codes[name] == reply[0] and fits(reply[1:], types):
                return name, types
        raise AssertionError(f"{script} did not declare {reply}")

    def replies(self, script):
        return self.scripts[script].replies

    def keys(self, count=5):
        return keys_of(self.name)[:count]

    def entry(self, token, client=None, kind="x", lease=10000):
        client = client or f"c-{token}"
        return f"1 {kind} {client} w-{token} {token} {lease} 1 host:{token}".encode()

    def acquire(
        self,
        token,
        *,
        script="lock_acquire",
        wait=True,
        client=None,
        kind=None,
        lease=10000,
        floor=0,
        **limits,
    ):
        client = client or f"c-{token}"
        kind = kind or {"rwlock_acquire": "r", "redisson_acquire": "w"}.get(script, "x")
        entry = self.entry(token, client, kind, lease) if wait else b""
        return self.call(
            script,
            self.keys(),
            token,
            lease,
            f"{client} host:{token}",
            floor,
            entry,
            client,
            *optional(**limits),
        )

    def release(self, token, *, via=None, **limits):
        return self.call(
            "lock_release", self.keys(), token, *optional(**limits), via=via
        )

    def cancel(self, token, *, limit=16, barge=0, **entry):
        return self.call(
            "lock_cancel",
            self.keys(),
            self.entry(token, **entry),
            token,
            5000,
            limit,
            barge,
            6000,
        )

    def extend(self, token, lease=10000, renews=0):
        return self.call("lock_extend", self.keys(2), token, lease, renews)

    def refresh(self, client, *entries, script="lock_refresh", limit=16, liveness=6000):
        return self.call(
            script, self.keys(), client, liveness, 5000, limit, len(entries), *entries
        )

    def break_lock(self, token="", limit=16, request=""):
        return self.call("lock_break", self.keys(), token, 5000, limit, 6000, request)

    def inspect(self, count=100):
        return self.call("lock_inspect", self.keys(), count)

    def read(self, token, **options):
        return self.acquire(token, script="rwlock_acquire", **options)

    def read_release(self, token, limit=16):
        return self.call("rwlock_release", self.keys(), token, 5000, limit, 6000)

    def read_cancel(self, token, **entry):
        return self.call(
            "rwlock_cancel",
            self.keys(),
            self.entry(token, kind="r", **entry),
            token,
            5000,
            16,
            6000,
        )

    def read_extend(self, token, lease=10000, renews=0):
        keys = self.keys()
        return self.call(
            "rwlock_extend", [keys[0], keys[1], keys[4]], token, lease, renews
        )

    def queue(self, *tokens, reads=False, **options):
        """Let them wait, each with a client of its own that listens."""
        for token in tokens:
            self.listen(f"c-{token}")
            ask = self.read if reads else self.acquire
            assert ask(token, **options)[0] == "QUEUED"

    # -- looking

    def holder(self):
        return self.redis("GET", self.name)

    def record(self):
        flat = self.redis("HGETALL", self.keys()[1])
        return dict(zip(flat[::2], flat[1::2]))

    def fence(self):
        return int(self.record()[b"fence"])

    def line(self):
        """The tokens that wait, in order."""
        return [
            entry.split(b" ")[4]
            for entry in self.redis("ZRANGE", self.keys()[2], 0, -1)
        ]

    def tickets(self):
        return self.redis("ZRANGE", self.keys()[2], 0, -1, "WITHSCORES")[1::2]

    def readers(self):
        return self.redis("ZRANGE", self.keys()[4], 0, -1)

    def expire(self):
        """The holder's lease runs out: keys live by the real clock."""
        self.redis("DEL", self.name)

    def dump(self):
        """Everything that is stored, to show that nothing was written."""
        found = {}
        for key in self.redis("KEYS", "*"):
            found[key] = self.redis("DUMP", key)
        return found


def alive_until(deadline, ms):
    """The deadline of a client that joins the wait queue: one renewed a moment ago is
    not written again."""
    fresh = 5000 < (deadline or 0) - ms <= 6000
    return deadline if fresh else ms + 6000


def optional(*, barge=0, liveness=6000, grant_ms=5000, limit=64):
    """Arguments that are left out when they are the usual ones, as the library does."""
    limits = [liveness, grant_ms, limit]
    if limits != [6000, 5000, 64]:
        return [barge, *limits]
    return [barge] if barge else []


def fits(values, types):
    for index, letter in enumerate(types):
        if letter == "*":
            return True
        if index >= len(values):
            return False
        if not isinstance(values[index], int if letter == "i" else bytes):
            return False
    return len(values) == len(types)


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest()
