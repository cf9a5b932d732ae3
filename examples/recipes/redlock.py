# SPDX-License-Identifier: MIT
"""A lock on one node: a token to unlock with, and how long it is valid.

    python3 redlock.py lock orders 30000       prints the token and the ms left
    python3 redlock.py lock orders 30000       in another terminal: taken
    python3 redlock.py unlock orders TOKEN     from anywhere

The key is the resource and its value the token, as SET NX PX leaves them, so
other programs that lock in this way see it.
"""

import sys

import interlock


class Redlock:
    def __init__(self, client):
        self.client = client

    def lock(self, resource, ttl, timeout=0):
        """(token, validity), both times in seconds; None when it is taken."""
        lock = self.client.lock(resource, ttl=ttl, renew=False)
        if not lock.acquire(timeout):
            return None
        validity = lock.remaining()
        return lock.detach(), validity

    def unlock(self, resource, token):
        """False when it is no longer locked under this token."""
        lock = self.client.lock(resource)
        return lock.adopt(token) and lock.release()


verb, resource, word = sys.argv[1:4]
with interlock.connect() as client:
    redlock = Redlock(client)
    if verb == "unlock":
        print("unlocked" if redlock.unlock(resource, word) else "lost")
    elif locked := redlock.lock(resource, int(word) / 1000):
        print(locked[0], int(locked[1] * 1000))
    else:
        print("taken")
