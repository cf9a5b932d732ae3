# SPDX-License-Identifier: MIT
"""The holds whose objects were collected: their client keeps and renews them.

A forgotten object must not end a hold in silence, because the program may still
rely on it. So the C handle outlives its object, until the client is closed or
collected, ``max_hold`` ends it, or ``adopt()`` takes the hold back.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from . import errors


class Claim(NamedTuple):
    """The names of a hold, to find out which other holds it excludes."""

    space: str  # the C type, the same for all locks
    names: frozenset[bytes]
    shared: bool = False  # a reader
    permits: int = 0
    limit: int = 0  # of a semaphore; else 0

    def excludes(self, others: list[Claim]) -> bool:
        """Whether the server cannot grant this one while the others are held."""
        if self.limit:
            return sum(one.permits for one in others) + self.permits > self.limit
        return any(not (self.shared and one.shared) for one in others)


class KeptHold(NamedTuple):
    """One hold without an object."""

    handle: Any  # the C handle, freed when it is collected
    claim: Claim
    what: str  # such as: lock 'orders'
    token: str
    held: Callable[[Any], int]

    def error(self) -> errors.HeldError:
        """The error that names the hold and carries its token."""
        error = errors.HeldError(
            f"{self.what} is held by an object of this client that was collected:"
            " adopt(error.token) takes it back"
        )
        error.token = self.token
        return error


class KeptHolds:
    """The holds of one client whose objects were collected, by handle id.

    A finalizer adds to it, in any thread and between any two instructions. So
    no method takes a lock.
    """

    def __init__(self) -> None:
        self._by_id: dict[int, KeptHold] = {}

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def get(self, number: int) -> KeptHold | None:
        """Return the hold of the handle with this id."""
        return self._by_id.get(number)

    def add(self, number: int, hold: KeptHold) -> None:
        """Keep a hold."""
        self._by_id[number] = hold

    def forget(self, number: int) -> None:
        """Free the handle of a hold that has ended."""
        self._by_id.pop(number, None)

    def clear(self) -> None:
        """Free all handles, because the client is closed."""
        self._by_id = {}

    def refuse(self, claim: Claim) -> None:
        """Raise HeldError if these holds exclude the claim for as long as they last."""
        rivals = [
            one
            for one in self._holding()
            if one.claim.space == claim.space and one.claim.names & claim.names
        ]
        if rivals and claim.excludes([one.claim for one in rivals]):
            raise rivals[0].error()

    def take(self, token: str, claim: Claim | None = None) -> KeptHold | None:
        """Remove and return the hold with this token (and this claim)."""
        for number, one in list(self._by_id.items()):
            if one.token == token and claim in (None, one.claim):
                return self._by_id.pop(number, None)
        return None

    def _holding(self) -> list[KeptHold]:
        return [one for one in list(self._by_id.values()) if one.held(one.handle)]
