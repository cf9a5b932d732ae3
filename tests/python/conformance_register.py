# SPDX-License-Identifier: MIT
"""The conformance table's statements about registers.

They are described in tests/core/conformance/conf_state.h.
"""

from __future__ import annotations

import interlock


class RegisterLines:
    """The verbs of registers; ``handles`` are those of the case."""

    def __init__(self, handles):
        self.handles = handles
        self.seen = {}  # register -> the value and the version that it saw last

    def run(self, register, verb, rest, wanted):
        """Answers the status, or None when it has compared by itself."""
        value, version = self.seen.get(register, (None, 0))
        if verb == b"value":
            assert wanted == (b"(nil)" if value is None else value)
            return None
        if verb == b"version":
            _, other = self.seen.get(self.handles[rest[1]], (None, 0))
            assert version > other if rest[0] == b">" else version == other
            return None
        try:
            return getattr(self, verb.decode())(register, version, rest)
        except interlock.Error as error:
            return error.status

    def get(self, register, _version, _rest):
        self.seen[register] = register.get()
        return "ILK_OK"

    def set(self, register, _version, rest):
        self.seen[register] = (rest[0], register.set(rest[0]))
        return "ILK_OK"

    def cas(self, register, version, rest):
        written = register.cas(version, rest[0])
        if written is None:
            return "ILK_ESTALE"
        self.seen[register] = (rest[0], written)
        return "ILK_OK"

    def delete(self, register, version, rest):
        deleted = register.delete(version if rest == [b"seen"] else None)
        return "ILK_OK" if deleted else "ILK_ESTALE"

    def wait(self, register, version, rest):
        ms = int(rest[0])
        state = register.wait(version, None if ms < 0 else ms / 1000)
        if state is None:
            return "ILK_ETIMEOUT" if ms else "ILK_EBUSY"
        self.seen[register] = state
        return "ILK_OK"
