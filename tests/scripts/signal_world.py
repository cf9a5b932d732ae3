# SPDX-License-Identifier: MIT
"""Signals on one world's server: the calls, with sensible arguments."""

KEEP_MS = 60_000


KINDS = (b"wait", b"live", b"crowd")


def keys_of(name):
    if b"}" in name:
        return [b"ilk:signal:" + kind + b"=" + name for kind in KINDS]
    return [b"ilk:signal:" + kind + b":{" + name + b"}" for kind in KINDS]


def entry(client, number):
    return f"1 s {client} s{number} - 1000 1 host".encode()


class Signals:
    """The calls, on one world's server, with sensible arguments."""

    def __init__(self, world):
        self.world, self.redis = world, world.redis

    def wait(self, client, number, *names, liveness=6000):
        keys = [key for name in names or (b"go",) for key in keys_of(name)]
        who = entry(client, number)
        return self.world.call("signal_wait", keys, who, client, liveness, 64)

    def crowd(self, client, *numbers, listens=True):
        """They wait for `go`; answers the last ticket."""
        if listens and client not in self.world.inboxes:
            self.world.listen(client)
        return [self.wait(client, number)[2] for number in numbers][-1]

    def cancel(self, client, number, *names):
        keys = [key for name in names or (b"go",) for key in keys_of(name)]
        return self.world.call("signal_cancel", keys, entry(client, number))

    def refresh(self, client, *numbers, names=(b"go",), liveness=6000):
        keys = [key for name in names for key in keys_of(name)]
        entries = [entry(client, number) for number in numbers]
        return self.world.call(
            "signal_refresh", keys, client, liveness, *names, len(entries), *entries
        )

    def one(self, request="n.1", data=b"d", name=b"go", limit=64, sent="n", via=None):
        keys = [*keys_of(name), b"ilk:signal:sent:{" + name + b"}:" + sent.encode()]
        args = (request, name, data, limit, KEEP_MS)
        return self.world.call("signal_notify_one", keys, *args, via=via)

    def all(self, request="n.1", data=b"d", name=b"go", sent="n", via=None):
        keys = [*keys_of(name), b"ilk:signal:sent:{" + name + b"}:" + sent.encode()]
        args = (request, name, data, b"ilk:signal:" + name, KEEP_MS)
        return self.world.call("signal_notify_all", keys, *args, via=via)

    def counts(self, name=b"go"):
        flat = self.redis("HGETALL", keys_of(name)[2])
        counts = {key.decode(): int(n) for key, n in zip(flat[::2], flat[1::2])}
        counts.pop("ticket", None)
        return counts

    def waiting(self, name=b"go"):
        return self.redis("ZRANGE", keys_of(name)[0], 0, -1)
