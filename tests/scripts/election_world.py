# SPDX-License-Identifier: MIT
"""Calls of the election's scripts with sensible arguments."""

from world import World

KINDS = (b"", b":fence", b":wait", b":live", b":value", b":seen")


class Election(World):
    """A world with one election in it."""

    def keys(self, count=6):
        return [b"ilk:election" + kind + b":{orders}" for kind in KINDS][:count]

    def entry(self, token, client=None, kind="e", lease=10000):
        return super().entry(token, client, kind, lease)

    def campaign(
        self,
        token,
        *,
        wait=True,
        client=None,
        lease=10000,
        floor=0,
        value=None,
        identity="",
        limit=16,
    ):
        client = client or f"c-{token}"
        return self.call(
            "election_campaign",
            self.keys(),
            token,
            lease,
            f"{client} host:{token}",
            floor,
            self.entry(token, client, lease=lease) if wait else b"",
            client,
            0,
            6000,
            5000,
            limit,
            f"v-{token}" if value is None else value,
            identity,
        )

    def stand(self, *tokens, **options):
        """Let them wait in the queue, each with a client of its own that listens."""
        for token in tokens:
            self.listen(f"c-{token}")
            assert self.campaign(token, **options)[0] == "QUEUED"

    def resign(self, token, limit=16):
        return self.call("election_resign", self.keys(), token, 5000, limit, 6000)

    def break_election(self, token="", request="r", limit=16):
        return self.call(
            "election_break", self.keys(), token, 5000, limit, 6000, request
        )

    def cancel(self, token, **entry):
        return self.call(
            "election_cancel",
            self.keys(),
            self.entry(token, **entry),
            token,
            5000,
            16,
            6000,
        )

    def renew(self, token, lease=10000, renews=0):
        leader, record, _, _, values, _ = self.keys()
        keys = [leader, record, values]
        return self.call("election_renew", keys, token, lease, renews)

    def refresh(self, client, *entries, script="election_refresh", limit=16):
        return super().refresh(client, *entries, script=script, limit=limit)

    def watch(self, client, *entries):
        return self.refresh(client, *entries, script="election_observer_refresh")

    def proclaim(self, token, value):
        return self.call("election_proclaim", self.keys(), token, value, 16)

    def leader(self, count=100):
        return self.call("election_inspect", self.keys(), count)

    def watcher(self, name):
        return self.entry(name, kind="o")

    def observe(self, name, known=b"", *, vacant=0, wait=True, limit=16):
        entry = self.watcher(name) if wait else b""
        return self.call(
            "election_observe",
            self.keys(),
            known,
            vacant,
            entry,
            f"c-{name}",
            6000,
            limit,
        )

    def known(self, state=None):
        """The state that an observer sends which has read this one, or the present one."""
        state = state or self.leader()
        return b"%d %s" % (state[1], b"%d" % state[2] if state[3] else b"-")

    def leave(self, name):
        return self.call(
            "election_observer_cancel", self.keys(), self.watcher(name), name, 1, 1, 1
        )

    # -- looking

    def holder(self):
        return self.redis("GET", self.keys()[0])

    def values(self):
        flat = self.redis("HGETALL", self.keys()[4])
        return dict(zip(flat[::2], flat[1::2]))

    def observers(self):
        return self.redis("ZRANGE", self.keys()[5], 0, -1)

    def enqueue_observer(self, name):
        """In the queue, as one that was notified just now."""
        self.redis("ZADD", self.keys()[5], 1, self.watcher(name))
        self.inbox(f"c-{name}")

    def expire(self):
        self.redis("DEL", self.keys()[0])

    def woken(self, client):
        """Whether its observer received a wake-up; the messages are taken."""
        wake = b"1 wake w-%s " % client[2:].encode() + self.keys()[0]
        messages = self.inbox(client)
        assert set(messages) <= {wake}
        return len(messages)
