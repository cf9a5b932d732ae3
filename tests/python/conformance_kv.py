# SPDX-License-Identifier: MIT
"""The conformance table's statements about replicated values.

They are described in tests/core/conformance/conf_state.h.
"""

from __future__ import annotations

import interlock


class KVLines:
    """The verbs of replicated values; ``handles`` are those of the case."""

    def __init__(self, handles):
        self.handles = handles
        self.values, self.versions = {}, {}  # by handle

    def run(self, handle, verb, rest, wanted):
        """Answers the status, or None when it has compared by itself."""
        if verb == b"value":
            value = self.values[handle]
            assert wanted == (b"(nil)" if value is None else value)
            return None
        if verb == b"version":
            known = self.versions[self.handles[rest[1]]]
            found = self.versions[handle]
            assert found > known if rest[0] == b">" else found == known
            return None
        try:
            getattr(self, verb.decode())(handle, *rest)
        except interlock.Error as error:
            return error.status
        return "ILK_OK"

    def get(self, kv, key):
        entry = kv.get(key)
        self.values[kv] = entry and entry.value
        if entry:
            self.versions[kv] = entry.version

    def put(self, kv, key, value):
        self.versions[kv] = kv.put(key, value)

    def fast(self, kv, key, value):
        self.versions[kv] = kv.put(key, value, fast=True)

    def delete(self, kv, key):
        self.versions[kv] = kv.delete(key)
