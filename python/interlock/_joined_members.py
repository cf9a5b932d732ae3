# SPDX-License-Identifier: MIT
"""The members with which a client is in groups: the client keeps their objects.

A program that joins a group to be found there need not keep the object. A member
that was lost is dropped when there are twice as many as were in at the last look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .group import MemberBase


class JoinedMembers:
    """A set of members that is bounded by the number of those who are in."""

    def __init__(self) -> None:
        self._members: set[MemberBase] = set()
        self._limit = 16

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: MemberBase) -> None:
        """Keep a member that has joined."""
        if len(self._members) >= self._limit:
            # In place, as another thread may add one meanwhile.
            for one in list(self._members):
                if not one.held:
                    self._members.discard(one)
            self._limit = max(16, 2 * len(self._members))
        self._members.add(member)

    def discard(self, member: MemberBase) -> None:
        """Drop a member that has left or was lost."""
        self._members.discard(member)

    def clear(self) -> None:
        """Drop all members, because the client is closed."""
        self._members.clear()
