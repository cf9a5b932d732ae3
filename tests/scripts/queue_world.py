# SPDX-License-Identifier: MIT
"""A queue in a world: its keys, its calls, and a look at what lies where."""

KINDS = ("", "ready", "wait", "live", "delayed", "leases", "flight", "dead", "died")

COUNTS = (
    *("ready", "due", "delayed", "taken", "dead", "waiting", "pushed", "expired"),
    *("returned", "buried", "purged", "oldest", "order"),
)


def queue_keys(name):
    return [
        b"ilk:queue" + (b":" + kind.encode() if kind else b"") + b":{" + name + b"}"
        for kind in KINDS
    ]


class Job:
    """A message as it comes: `1 <id> <attempts> <pushed ms> <data>`."""

    def __init__(self, blob):
        version, self.id, self.attempts, self.pushed, self.data = blob.split(b" ", 4)
        assert version == b"1"
        self.id, self.attempts = int(self.id), int(self.attempts)
        self.pushed = int(self.pushed)


def ending(verb, token, at=1, to=None, count=None, delay=0, reason="", queue=0):
    to = at if to is None else to
    count = to if count is None else count
    return f"{verb} {queue} {token} {at} {to} {count} {delay} {reason}"


class Queue:
    """Calls with sensible arguments, over one queue or several."""

    def __init__(self, world, *names, order="fifo", most=0):
        self.world, self.order, self.most = world, order, most
        self.names = names or (b"mail",)
        self.keys = [key for name in self.names for key in queue_keys(name)]
        self.pushes = 0

    def key(self, kind, of=0):
        return self.keys[9 * of + KINDS.index(kind)]

    def once(self, request):
        return b"ilk:queue:once:{" + self.names[0] + b"} " + str(request).encode()

    def push(self, *data, delay=0, once=None, once_ms=60000, order=None):
        self.pushes += 1
        request = f"p{self.pushes}" if once is None else once
        return self.world.call(
            "queue_push",
            [*self.keys[:5], self.once(request)],
            order or self.order,
            once_ms,
            delay,
            6000,
            len(data),
            *data,
        )

    def entry(self, token, client=None):
        client = client or f"c-{token}"
        return f"1 q {client} q-{token} {token} 30000 1 host:{token}"

    def reserve(
        self, token, *items, count=1, lease=30000, wait=False, queued=0, client=None
    ):
        client = client or f"c-{token}"
        return self.world.call(
            "queue_reserve",
            self.keys,
            token,
            count,
            lease,
            self.order,
            self.most,
            self.entry(token, client) if wait else "",
            client,
            6000,
            64,
            queued,
            *items,
        )

    def take(self, token, **options):
        """The messages' data."""
        reply = self.reserve(token, **options)
        assert reply[0] == "JOBS", reply
        return [Job(blob).data for blob in reply[5:]]

    def wait(self, *tokens):
        """Consumers that find nothing, each with a client that listens."""
        for token in tokens:
            self.world.listen(f"c-{token}")
            assert self.reserve(token, wait=True)[0] == "EMPTY"

    def woken(self, *tokens):
        """Which of them have received a message since the last look."""
        told = []
        for token in tokens:
            for message in self.world.inbox(f"c-{token}"):
                assert message.split(b" ")[:3] == [b"1", b"wake", f"q-{token}".encode()]
                told.append(token)
        return told

    def ack(self, *items):
        keys = [self.key("leases"), self.key("flight")]
        return self.world.call("job_ack", keys, *items)

    def finish(self, *items):
        return self.world.call(
            "job_settle", self.keys, self.order, self.most, 6000, *items
        )

    def extend(self, token, lease=30000, renews=0):
        keys = [self.key("leases")]
        return self.world.call("job_extend", keys, token, lease, renews)

    def cancel(self, token, client=None):
        return self.world.call(
            "queue_cancel", self.keys, self.entry(token, client), token, 5000, 64, 6000
        )

    def refresh(self, client, *tokens):
        entries = [self.entry(token, client) for token in tokens]
        return self.world.call(
            "queue_refresh", self.keys, client, 6000, 5000, 64, len(entries), *entries
        )

    def inspect(self):
        names = COUNTS
        return dict(zip(names, self.world.call("queue_inspect", self.keys, 0)[1:]))

    def peek(self, where=1, start=0, count=10):
        blobs = self.world.call("queue_peek", self.keys, where, start, count)[1:]
        return blobs if where == 4 else [Job(blob).data for blob in blobs]

    def purge(self, where=7):
        return self.world.call("queue_purge", self.keys, where)

    def requeue(self, ident="", count=10, once="r"):
        keys = [*self.keys, self.once(once)]
        return self.world.call("queue_requeue", keys, ident, count, 6000, 60000)

    def places(self):
        """Where every message is: nothing may be in two places, or in none."""
        redis = self.world.redis
        found = [Job(blob).id for blob in redis("LRANGE", self.key("ready"), 0, -1)]
        found += [Job(blob).id for blob in redis("ZRANGE", self.key("delayed"), 0, -1)]
        found += [Job(blob).id for blob in redis("HVALS", self.key("flight"))]
        found += [int(ident) for ident in redis("HKEYS", self.key("dead"))]
        return sorted(found)
