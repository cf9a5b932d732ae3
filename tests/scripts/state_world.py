# SPDX-License-Identifier: MIT
"""Calls of the scripts of events, latches, barriers and registers."""

LIVENESS = 6000


class Thing:
    """One name of a kind, in the world of world.py."""

    def __init__(self, world, kind, parts):
        self.world = world
        name = b":{" + world.name + b"}"
        self.keys = [b"ilk:" + kind + name]
        self.keys += [b"ilk:" + kind + b":" + part + name for part in parts]
        self.wait_key = self.keys[2]

    def listen(self, *clients):
        self.world.listen(*clients)

    def call(self, script, *args, keys=None):
        return self.world.call(script, self.keys[:keys], *args)

    def entry(self, token, client=None):
        client = client or f"c-{token}"
        return f"1 o {client} o1 {token} 60000 1 host:{token}".encode()

    def line(self):
        """The tokens that wait, in order."""
        entries = self.world.redis("ZRANGE", self.wait_key, 0, -1)
        return [entry.split(b" ")[4].decode() for entry in entries]

    def live(self):
        clients = self.world.redis("ZRANGE", self.keys[3], 0, -1)
        return [client.decode() for client in clients]

    def change(self, secret=b""):
        """The message to a client, whose secret it repeats."""
        return b"1 change " + secret + b" " + self.wait_key

    def refresh(self, script, client, *tokens, limit=64):
        entries = [self.entry(token, client) for token in tokens]
        return self.call(script, client, LIVENESS, 5000, limit, len(entries), *entries)


class Event(Thing):
    def __init__(self, world):
        super().__init__(world, b"event", (b"once", b"wait", b"live"))

    def set(self, token, data=b"", ttl=0, limit=256):
        return self.call("event_set", token, data, ttl, limit)

    def clear(self, token, limit=256):
        return self.call("event_clear", token, limit)

    def read(self):
        return self.call("event_read", keys=1)

    def wait(self, token, known="", client=None, look=False, since=""):
        entry = b"" if look else self.entry(token, client)
        client = client or f"c-{token}"
        place = (entry, client, LIVENESS, 64, token)
        return self.call("event_wait", *place, known, since)

    def cancel(self, token):
        return self.call("state_cancel", self.entry(token), token, 5000, 64, LIVENESS)


class Latch(Thing):
    def __init__(self, world, count=3, keep=60000):
        super().__init__(world, b"latch", (b"once", b"wait", b"live"))
        self.count, self.keep = count, keep

    def count_down(self, token, by=1, limit=256):
        return self.call("latch_count_down", token, by, self.count, self.keep, limit)

    def read(self):
        return self.call("latch_read", self.count, keys=1)[:2]

    def reset(self, token, limit=256):
        return self.call("latch_reset", token, self.count, self.keep, limit)

    def wait(self, token, client=None, look=False):
        entry = b"" if look else self.entry(token, client)
        client = client or f"c-{token}"
        return self.call(
            "latch_wait", entry, client, LIVENESS, 64, token, self.count, self.keep
        )


class Barrier(Thing):
    def __init__(self, world, parties=3, keep=60000):
        super().__init__(world, b"barrier", (b"arrived", b"wait", b"live", b"rounds"))
        self.parties, self.keep = parties, keep

    def ask(self, mode, token, client=None, known=0):
        entry = self.entry(token, client) if mode == "wait" else b""
        return self.call(
            "barrier_wait",
            entry,
            client or f"c-{token}",
            LIVENESS,
            64,
            mode,
            token,
            self.parties,
            self.keep,
            known,
            f"host:{token}",
        )

    def wait(self, token, **options):
        return self.ask("wait", token, **options)

    def cancel(self, token):
        return self.call("barrier_cancel", self.entry(token), token, 5000, 64, LIVENESS)

    def reset(self, token):
        return self.call("barrier_reset", token, self.parties, self.keep, "op:1", 1024)

    def read(self):
        return self.call("barrier_read", self.parties, keys=1)[:2]


class Group(Thing):
    def __init__(self, world):
        super().__init__(
            world, b"group", (b"data", b"wait", b"live", b"changed", b"gone")
        )

    def join(self, token, member_id=None, data=b"", lease=10000, limit=256, via=None):
        """Joins under the token's name, unless another id is given."""
        args = (member_id or token, token, data, lease, limit)
        return self.world.call("group_join", self.keys, *args, via=via)

    def update(self, token, data, member_id=None, limit=256, via=None):
        args = (member_id or token, token, data, limit)
        return self.world.call("group_update", self.keys, *args, via=via)

    def leave(self, token, member_id=None, limit=256, via=None):
        args = (member_id or token, token, limit)
        return self.world.call("group_leave", self.keys, *args, via=via)

    def renew(self, token, lease=10000, renews=1, member_id=None):
        return self.call("group_renew", member_id or token, token, lease, renews)

    def read(self, cursor=0, base=-1, count=1000, limit=256):
        return Page(self.call("group_read", cursor, base, count, limit))

    def watch(self, token, known=0, base=None, client=None, look=False, count=1000):
        """The reply to a wait for changes after a version."""
        entry = b"" if look else self.entry(token, client)
        client = client or f"c-{token}"
        place = (entry, client, LIVENESS, 64, token)
        base = known if base is None else base
        return self.call("group_watch", *place, known, base, count, 256)

    def members(self):
        """All members, and their data, page by page."""
        page = self.read()
        assert page.full
        members = dict(page.members)
        while page.more:
            page = self.read(page.reached, page.base)
            for left in page.left:
                members.pop(left, None)
            members.update(page.members)
        return members

    @property
    def version(self):
        return self.read().reached


class Page:
    """A reply of group_read, or STATE of group_watch."""

    def __init__(self, reply):
        assert reply[0] == "STATE"
        self.full, self.base, self.reached, self.more, count = reply[1:6]
        ids, values = reply[6 : 6 + count], reply[6 + count : 6 + 2 * count]
        self.values, self.left = dict(zip(ids, values)), reply[6 + 2 * count :]

    @property
    def members(self):
        """The data of each member that changed, without version and token."""
        return {name: value.split(b" ", 2)[2] for name, value in self.values.items()}


class Register(Thing):
    def __init__(self, world):
        super().__init__(world, b"register", (b"once", b"wait", b"live"))

    def get(self):
        return self.call("register_get", keys=1)

    def set(self, token, value=b"", over="", limit=256):
        return self.call("register_set", token, over, value, limit)

    def delete(self, token, version="", limit=256):
        return self.call("register_delete", token, version, limit)

    def wait(self, token, known=0, client=None, look=False):
        entry = b"" if look else self.entry(token, client)
        client = client or f"c-{token}"
        return self.call("register_wait", entry, client, LIVENESS, 64, token, known)

    def cancel(self, token):
        return self.call("state_cancel", self.entry(token), token, 5000, 64, LIVENESS)
