# SPDX-License-Identifier: MIT
"""Signals on one world's server: the calls, with sensible arguments."""

KEEP_MS = 60_000


KINDS = (b"wait", b"live", b"crowd", b"given")


def keys_of(name):
    if b"}" in name:
        return [b"ilk:signal:" + kind + b"=" + name for kind in KINDS]
    return [b"ilk:signal:" + kind + b":{" + name + b"}" for kind in KINDS]


def entry(client, number):
    return f"2 s {client} s{number}.5ec - 1000 1 host".encode()


def secret(client, name=b"go"):
    """The secret that a signal to all waiters of the client in that list must repeat."""
    return f"{client}-".encode() + name.hex().encode()


class Signals:
    """The calls, on one world's server, with sensible arguments."""

    def __init__(self, world):
        self.world, self.redis = world, world.redis

    def wait(self, client, number, *names, liveness=6000):
        keys = [key for name in names or (b"go",) for key in keys_of(name)]
        who = entry(client, number)
        secrets = [secret(client, name) for name in names or (b"go",)]
        return self.world.call("signal_wait", keys, who, client, liveness, 64, *secrets)

    def crowd(self, client, *numbers, listens=True):
        """They wait for `go`; answers the last ticket."""
        if listens and client not in self.world.inboxes:
            self.world.listen(client)
        return [self.wait(client, number)[2] for number in numbers][-1]

    def cancel(self, client, number, *names, what="ask", limit=64):
        keys = [key for name in names or (b"go",) for key in keys_of(name)]
        who = entry(client, number)
        return self.world.call("signal_cancel", keys, who, what, limit)

    def refresh(
        self, client, *numbers, names=(b"go",), liveness=6000, again=0, limit=64
    ):
        keys = [key for name in names for key in keys_of(name)]
        entries = [entry(client, number) for number in numbers]
        return self.world.call(
            "signal_refresh",
            keys,
            client,
            liveness,
            again,
            limit,
            *names,
            len(entries),
            *entries,
        )

    def one(
        self,
        request="n.1",
        data=b"d",
        name=b"go",
        limit=64,
        sent="n",
        via=None,
        source="",
    ):
        keys = [*keys_of(name), b"ilk:signal:sent:{" + name + b"}:" + sent.encode()]
        args = (request, name, data, limit, KEEP_MS, source)
        return self.world.call("signal_notify_one", keys, *args, via=via)

    def all(self, request="n.1", data=b"d", name=b"go", sent="n", via=None):
        keys = [*keys_of(name), b"ilk:signal:sent:{" + name + b"}:" + sent.encode()]
        args = (request, name, data, b"ilk:signal:" + name, KEEP_MS)
        return self.world.call("signal_notify_all", keys, *args, via=via)

    def counts(self, name=b"go"):
        flat = self.redis("HGETALL", keys_of(name)[2])
        fields = dict(zip(flat[::2], flat[1::2]))
        fields.pop(b"ticket", None)
        counts = {}
        for field, value in fields.items():
            client = field.removeprefix(b"2 ").decode()
            count, of_list = value.split()
            assert (field[:2], of_list) == (b"2 ", secret(client, name))
            counts[client] = int(count)
        return counts

    def given(self, name=b"go"):
        """The waiters, as client and number, to which a signal was given."""
        return sorted(key.decode() for key in self.redis("HKEYS", keys_of(name)[3]))

    def waiting(self, name=b"go"):
        return self.redis("ZRANGE", keys_of(name)[0], 0, -1)
