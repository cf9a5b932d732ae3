# SPDX-License-Identifier: MIT
"""One call of one verb during one outage, and what docs/connections.md says of it."""

from __future__ import annotations

import dataclasses
import os

from verbs import VERBS

PATIENCE = float(os.environ.get("ILK_TEST_PATIENCE", "1"))
LIMIT_S = 3.0  # of calls that are to end during the outage
LONG_S = 25.0  # of those that are to see its end
CAP_S = 2.0  # the outage_ms that a program gives
TRY_S = 2.0  # one attempt: to connect and to wait for a reply, of 1 s each
LOOK_S = 1.0  # a wait asks the server for the last time before its end, at most
EARLY_S = 0.3  # clocks are read on both sides of a pipe
SLACK_S = 1.0 * PATIENCE
FOREVER = -1.0

# An answer of the server that is no success: the hold or the object has gone with the
# data of a server that keeps none.
REFUSALS = {
    *("ILK_ELOST", "ILK_ENOTOWNER", "ILK_ESTALE", "ILK_ECONFLICT", "ILK_EDIFFERS"),
    *("ILK_EHELD", "ILK_EBROKEN"),
}


@dataclasses.dataclass
class Cell:
    """`when`: `waiting` begins before the outage, `during` in it, `after` when it is over.
    `client`: `plain`, `given` with an outage_ms, `at_once` with outage=0.
    """

    number: int
    verb: str
    when: str
    client: str
    limit: float | None  # seconds; None for a verb without
    name: str = ""

    def __str__(self) -> str:
        limit = {None: "", FOREVER: " forever"}.get(self.limit, f" {self.limit} s")
        return f"{self.verb} {self.when} {self.client}{limit}"

    def line(self) -> str:
        limit = -1 if self.limit in (None, FOREVER) else int(self.limit * 1000)
        words = (self.number, self.verb, self.when, self.client, limit, self.name)
        return "cell " + " ".join(map(str, words))


@dataclasses.dataclass
class Ended:
    """When a call began and ended, by the monotonic clock, and how."""

    began: float
    ended: float
    status: str  # of the core; NO for False, None and `not in time`
    text: str


# With a limit of 0 these look only at what has arrived.
LOCAL_AT_0 = (
    *("ilk_signal_wait", "ilk_signal_wait_any", "ilk_signal_wait_all"),
    "ilk_listener_wait",
)

# These wait without a place in a wait queue of the server.
WITHOUT_PLACE = ("ilk_listener_wait", "ilk_consumer_pop")

# Verbs whose name somebody else must be able to take afterwards.
TAKING = (
    *("ilk_lock_acquire", "ilk_semaphore_acquire", "ilk_election_campaign"),
    "ilk_lock_many_acquire",
)


def plan_outage(
    verbs: list[str], keeps_places: bool
) -> list[tuple[str, str, str, float | None]]:
    """The calls of an outage that lasts longer than all limits but `forever`."""
    rows: list[tuple[str, str, str, float | None]] = []
    for verb in verbs:
        bound, _ = VERBS[verb]
        if verb == "ilk_client_ping":
            rows += [(verb, "during", "plain", LIMIT_S)]
        elif bound == "limit":
            if keeps_places and verb not in WITHOUT_PLACE:
                rows += [(verb, "waiting", "at_once", FOREVER)]
            rows += [
                (verb, "waiting", "plain", LIMIT_S),
                (verb, "waiting", "plain", FOREVER),
                (verb, "waiting", "given", FOREVER),
                (verb, "during", "plain", LIMIT_S),
                (verb, "during", "plain", 0.0),
                (verb, "during", "plain", FOREVER),
                (verb, "during", "given", LIMIT_S),
                (verb, "during", "given", FOREVER),
                (verb, "during", "at_once", LIMIT_S),
                (verb, "during", "at_once", 0.0),
            ]
        else:
            rows += [
                (verb, "during", client, None)
                for client in ("plain", "given", "at_once")
            ]
    return rows


def plan_return(
    verbs: list[str], keeps_places: bool
) -> list[tuple[str, str, str, float | None]]:
    """The calls of an outage that ends before their limits do."""
    rows: list[tuple[str, str, str, float | None]] = []
    for verb in verbs:
        bound, _ = VERBS[verb]
        if verb == "ilk_client_ping":
            rows += [(verb, "during", "plain", LONG_S)]
        elif bound == "limit":
            if keeps_places and verb not in WITHOUT_PLACE:
                rows += [(verb, "waiting", "at_once", LONG_S)]
            rows += [
                (verb, "waiting", "plain", LONG_S),
                (verb, "during", "plain", LONG_S),
                (verb, "during", "plain", FOREVER),
                (verb, "during", "given", FOREVER),
                (verb, "during", "plain", 0.0),
            ]
        else:
            rows += [(verb, "during", "given", None)]
    return rows


@dataclasses.dataclass
class Outage:
    """When it began and ended, and what it was like."""

    began: float
    ended: float
    is_frozen: bool
    returns: bool  # before the limits end
    fails_over: bool  # another server takes the place of one
    has_gateway: bool  # which has a request when the servers are away
    outage_s: float  # the default of this topology
    errors: frozenset[str]  # what says that the servers are out of reach

    def complaint(self, cell: Cell, got: Ended | None) -> str:
        """What is wrong with the end of a call; "" when it is as the page says."""
        if got is None:
            return "has not ended"
        took = got.ended - got.began
        said = f"{got.status} after {took:.2f} s: {got.text}"
        if cell.when == "after":
            return "" if got.status == "ILK_OK" else said
        if VERBS[cell.verb][0] == "lease":
            at_once = took <= SLACK_S and got.status == "ILK_OK"
            return "" if at_once or self.returns else said
        if cell.verb == "ilk_queue_pop" and got.status == "ILK_EUNKNOWN":
            return ""  # it was sent, and is never sent again
        if cell.limit == 0 and cell.verb in LOCAL_AT_0:
            return "" if got.status in {"NO", *self.errors} else said
        if self.is_answered(cell):
            return self._answer(cell, got, said)
        return self._failure(cell, got, said)

    def is_answered(self, cell: Cell) -> bool:
        """Whether it goes on until the servers are back."""
        if cell.when == "waiting" and cell.client == "at_once":
            return True
        if cell.limit == 0 or cell.client == "at_once":
            return False
        if self.returns:
            return True
        return cell.limit == FOREVER and cell.client == "plain"

    def _answer(self, cell: Cell, got: Ended, said: str) -> str:
        is_answer = (
            got.status == "ILK_OK"
            or (cell.limit is None and got.status in {"NO", *REFUSALS})
            # of a server that has lost its data
            or "released by this call, or was lost before" in got.text
            # after a while the others think that the party has gone
            or (got.status == "ILK_EBROKEN" and cell.verb == "ilk_barrier_wait")
        )
        is_early = got.ended < self.ended - EARLY_S and not self.fails_over
        if is_early:
            return f"ended during the outage: {said}"
        return "" if is_answer else said

    def _failure(self, cell: Cell, got: Ended, said: str) -> str:
        took = got.ended - got.began
        # A server that has gone may have had the request, as far as one can see.
        unknown = cell.limit is None and (
            self.is_frozen or self.has_gateway or cell.client == "at_once"
        )
        if self.fails_over and cell.limit == 0 and got.status in {"ILK_OK", "NO"}:
            return ""  # another server was there by then
        was_asked = cell.when == "waiting" and got.ended - self.began < LOOK_S
        if got.status == "NO" and was_asked:
            return ""  # on a busy machine it began long before the outage
        if got.status not in self.errors and not (
            unknown and got.status == "ILK_EUNKNOWN"
        ):
            return said
        attempt = TRY_S if self.is_frozen or cell.client == "at_once" else 0
        if cell.limit == 0 or cell.client == "at_once":
            return "" if took <= TRY_S + SLACK_S else f"late: {said}"
        if cell.client == "plain" and cell.limit is not None:
            if took < cell.limit - EARLY_S:
                return f"early: {said}"
            return "" if took <= cell.limit + SLACK_S else f"late: {said}"
        least = CAP_S if cell.client == "given" else self.outage_s
        if got.ended < self.began + least - EARLY_S - attempt:
            return f"early: {said}"
        since = max(self.began, got.began)
        late = got.ended > since + least + TRY_S + SLACK_S
        return f"late: {said}" if late else ""
