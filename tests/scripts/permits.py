# SPDX-License-Identifier: MIT
"""A semaphore of the tests: calls of its scripts with sensible arguments."""

KINDS = (b"", b":fence", b":wait", b":live")


class Semaphore:
    """The semaphore `orders` of a world, and what its zset says by itself."""

    def __init__(self, world, limit=3):
        self.world, self.limit = world, limit
        tag = b":{" + world.name + b"}"
        self.keys = [b"ilk:semaphore" + kind + tag for kind in KINDS]

    @property
    def key(self):
        return self.keys[0]

    @property
    def ms(self):
        return self.world.now // 1000

    # -- calls

    def entry(self, token, permits=1, client=None, kind="p", lease=10000):
        client = client or f"c-{token}"
        return (
            f"1 {kind} {client} w-{token} {token} {lease} {permits} host:{token}"
        ).encode()

    def acquire(
        self,
        token,
        permits=1,
        *,
        wait=True,
        client=None,
        kind="p",
        lease=10000,
        floor=0,
        barge=0,
        limit=None,
        walk=16,
        via=None,
    ):
        client = client or f"c-{token}"
        entry = self.entry(token, permits, client, kind, lease) if wait else b""
        return self.world.call(
            "semaphore_acquire",
            self.keys,
            token,
            lease,
            f"{client} host:{token}",
            floor,
            entry,
            client,
            barge,
            6000,
            5000,
            walk,
            permits,
            limit or self.limit,
            via=via,
        )

    def release(self, token, *, barge=0, walk=16, via=None):
        return self.world.call(
            "semaphore_release", self.keys, token, 5000, walk, 6000, barge, via=via
        )

    def cancel(self, token, permits=1, **entry):
        text = self.entry(token, permits, **entry)
        return self.world.call(
            "semaphore_cancel", self.keys, text, token, 5000, 16, 6000
        )

    def extend(self, token, lease=10000, renews=0):
        return self.world.call("semaphore_extend", self.keys[:2], token, lease, renews)

    def refresh(self, client, *entries, walk=16):
        return self.world.call(
            "semaphore_refresh",
            self.keys,
            client,
            6000,
            5000,
            walk,
            len(entries),
            *entries,
        )

    def set_limit(self, limit, base=None, walk=16):
        return self.world.call(
            "semaphore_limit", self.keys, limit, base or self.limit, 5000, walk, 6000
        )

    def inspect(self, count=100):
        return self.world.call("semaphore_inspect", self.keys, count)

    def queue(self, *wants, **options):
        """Let them wait: a token, or (token, permits), each with an ear."""
        for want in wants:
            token, permits = want if isinstance(want, tuple) else (want, 1)
            self.world.listen(f"c-{token}")
            assert self.acquire(token, permits, **options)[0] == "QUEUED"

    # -- looking

    def used(self):
        """Permits whose lease has not ended, counted without our scripts."""
        return self.world.redis("ZCOUNT", self.key, f"({self.ms}", "+inf")

    def holders(self):
        """Token -> permits, of those whose lease has not ended."""
        found = {}
        members = self.world.redis("ZRANGEBYSCORE", self.key, f"({self.ms}", "+inf")
        for member in members:
            token = member.rsplit(b" ", 1)[0].decode()
            found[token] = found.get(token, 0) + 1
        return found

    def record(self):
        flat = self.world.redis("HGETALL", self.keys[1])
        return dict(zip(flat[::2], flat[1::2]))

    def line(self):
        """The tokens that wait, in order."""
        return [
            entry.split(b" ")[4].decode()
            for entry in self.world.redis("ZRANGE", self.keys[2], 0, -1)
        ]

    def granted(self, client):
        """Token and fence of each grant that the client received."""
        told = []
        for message in self.world.inbox(client):
            version, verb, _, token, fence = message.split(b" ")[:5]
            assert (version, verb) == (b"1", b"grant")
            assert message.endswith(b" " + self.key)
            told.append((token.decode(), int(fence)))
        return told
