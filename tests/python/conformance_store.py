# SPDX-License-Identifier: MIT
"""The conformance table's statements about stores and their transactions.

They are described in tests/core/conformance/conf_state.h.
"""

from __future__ import annotations

import interlock


class TransactionLines:
    """The verbs of stores and transactions; ``handles`` are those of the case."""

    def __init__(self, handles):
        self.handles = handles
        self.seen = {}  # transaction -> the value of its last get

    def run(self, handle, verb, rest, wanted):
        """Answers the status, or None when it has compared by itself."""
        if verb == b"value":
            value = self.seen[handle]
            assert wanted == (b"(nil)" if value is None else value)
            return None
        try:
            return getattr(self, verb.decode())(handle, *rest)
        except interlock.Error as error:
            return error.status

    def get(self, transaction, key):
        self.seen[transaction] = transaction.get(key)
        return "ILK_OK"

    def put(self, transaction, key, value):
        if not isinstance(transaction, interlock.Transaction):
            return "ILK_EINVAL"  # a snapshot has no such method
        transaction[key] = value
        return "ILK_OK"

    def delete(self, transaction, key):
        if not isinstance(transaction, interlock.Transaction):
            return "ILK_EINVAL"
        del transaction[key]
        return "ILK_OK"

    def commit(self, transaction):
        if isinstance(transaction, interlock.Transaction):
            transaction.commit()
        return "ILK_OK"

    def outcome(self, store, word):
        return store.outcome(self.handles[word].txid)
