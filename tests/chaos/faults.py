# SPDX-License-Identifier: MIT
"""The schedule of faults: which, on whom, for how long, drawn from a seed.

Three lanes run side by side, so that faults of processes, of the network and of the
server meet in every combination. Within a lane one fault follows another. A seed
repeats the schedule; what the processes do at the time is not repeated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from rules import EXCLUSION, FENCES

QUORUM = "a node of a quorum"
SENTINEL = "a service that sentinels watch"
CLUSTER = "the nodes of a cluster"

LANES = ["process", "network", "server"]


@dataclass(frozen=True)
class Fault:
    """After `pause` seconds `kind` happens to a target, for `seconds`."""

    pause: float
    kind: str
    target: int  # which process or label: this number modulo how many there are
    seconds: float
    value: float  # what the kind makes of it, from 0 to 1

    def __str__(self) -> str:
        return f"{self.kind} {self.target} {self.seconds:.3f} {self.value:.3f}"


# Each kind, the class that it belongs to by docs/safety.md, how often it is drawn,
# and the least and the most seconds that it lasts. Where a kind is of the class
# EXCLUSION it is used in both classes. Those of QUORUM and CLUSTER need other nodes,
# those of SENTINEL replicas and sentinels.
KINDS: dict[str, list[tuple[str, str, int, float, float]]] = {
    "process": [
        ("kill", EXCLUSION, 5, 0.0, 0.3),  # until it is started again
        ("freeze", EXCLUSION, 5, 0.05, 2.0),  # leases are 0.2 to 1.5 s
        ("clients_clock_steps", EXCLUSION, 1, 0.0, 0.0),
    ],
    "network": [
        ("delay", EXCLUSION, 3, 0.1, 1.0),
        ("cut", EXCLUSION, 4, 0.0, 0.0),
        ("late", EXCLUSION, 3, 0.02, 0.6),
        ("dead", EXCLUSION, 4, 0.1, 1.8),  # one direction, or both
        ("refuse", EXCLUSION, 2, 0.1, 0.8),
        ("partition", EXCLUSION, 1, 0.1, 1.2),  # all labels are dead
    ],
    "server": [
        ("kill_clients", EXCLUSION, 4, 0.05, 0.3),
        ("flush_scripts", EXCLUSION, 4, 0.05, 0.3),
        ("out_of_memory", EXCLUSION, 3, 0.1, 0.5),
        ("freeze_server", EXCLUSION, 3, 0.1, 1.2),
        ("restart", EXCLUSION, 3, 0.0, 0.3),  # with its data, see Plan
        ("forget", FENCES, 4, 0.0, 0.2),  # restarted without its data
        ("flush_all", FENCES, 3, 0.0, 0.0),
        ("clock_forward", FENCES, 4, 0.0, 0.0),
        ("clock_back", FENCES, 4, 0.0, 0.0),
        ("forget_with_other_clock", QUORUM, 3, 0.0, 0.2),  # hours off, ahead or behind
        ("cut_off", QUORUM, 2, 0.1, 1.2),  # one node from all clients
        ("kill_primary", SENTINEL, 4, 0.0, 1.0),  # from the switch to its restart
        ("freeze_primary", SENTINEL, 4, 1.0, 3.0),  # beside the new one, when thawed
        ("kill_replica", SENTINEL, 1, 0.0, 2.0),
        ("freeze_replica", SENTINEL, 1, 0.1, 2.0),
        ("freeze_replicas", SENTINEL, 1, 0.3, 2.0),  # all of them
        ("kill_sentinel", SENTINEL, 1, 0.0, 2.0),
        ("move_slot", CLUSTER, 4, 0.0, 1.0),  # to another node, key by key
    ],
}
PAUSES = {"process": 0.35, "network": 0.3, "server": 0.5}  # on average


@dataclass(frozen=True)
class Plan:
    """The class of one server, and the kinds that its class adds.

    A record that is lost while the clock is set back is outside the promise of
    fences (docs/safety.md). So no server has both. One that forgets keeps no data,
    and `restart`, which needs them, is left out.

    The order of waiters is promised while their clients can be reached.

    With several nodes the server of the faults is one of them, and the next one only
    when all vote again: so what a server forgets does not end exclusion. A clock that
    steps forward does: the vote of one node is half of the majority of a hold that the
    third node has not confirmed (docs/quorum.md).
    """

    name: str
    kind: str
    adds: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()
    steady: int = 0  # processes without faults, the last ones
    nodes: int = 1

    @property
    def keeps_data(self) -> bool:
        return "forget" not in self.adds

    @property
    def steps_clock(self) -> bool:
        return bool({"clock_forward", "forget_with_other_clock"} & set(self.adds))

    def may(self, fault: str, kind: str) -> bool:
        if fault in self.leaves_out or (fault == "restart" and not self.keeps_data):
            return False
        return kind == EXCLUSION or fault in self.adds


EXCLUDING = Plan("exclusion", EXCLUSION)
# The server has no faults that end connections: some waiters can always be reached.
ENDS_CONNECTIONS = ("kill_clients", "freeze_server", "restart")
ORDERLY = Plan("order", EXCLUSION, leaves_out=ENDS_CONNECTIONS, steady=2)
FORGETTING = Plan("memory", FENCES, ("forget", "flush_all", "clock_forward"))
JUMPING = Plan("clock", FENCES, ("clock_forward", "clock_back"))

LOSSES = ("forget", "forget_with_other_clock", "flush_all", "cut_off", "clock_back")
MAJORITY = Plan("quorum", EXCLUSION, LOSSES, nodes=3)
JUMPING_NODES = Plan("quorum-clock", FENCES, (*LOSSES, "clock_forward"), nodes=3)

SWITCHES = tuple(one[0] for one in KINDS["server"] if one[1] == SENTINEL)
# A primary that is frozen for a moment would have faults of its own: too short for
# sentinels, or so long that they promote another, which goes on beside it.
OF_ONE_SERVER = ("flush_scripts", "out_of_memory", "freeze_server", "restart")
WATCHED = Plan("sentinel", EXCLUSION, SWITCHES, OF_ONE_SERVER)
NOTHING_ELSE = (*OF_ONE_SERVER, "kill_clients")
TWO_PRIMARIES = Plan("sentinel", EXCLUSION, ("freeze_primary",), NOTHING_ELSE)

# All slots are served again before the next fault of a node, and none is failed over.
SHARDED = Plan("cluster", EXCLUSION, ("move_slot", "cut_off"), nodes=3)
SHARDED_IN_ORDER = Plan(
    "cluster-order", EXCLUSION, ("move_slot",), ENDS_CONNECTIONS, steady=2, nodes=3
)


def schedule(seed: str, plan: Plan, lane: str, pace: float = 1.0) -> Iterator[Fault]:
    """The faults of one lane, without an end."""
    rng = random.Random(f"{seed} {plan.name} {lane}")
    kinds = [one for one in KINDS[lane] if plan.may(one[0], one[1])]
    # Kinds that the class adds are chosen often: few operations run there.
    weights = [one[2] * (3 if one[0] in plan.adds else 1) for one in kinds]
    while True:
        name, _, _, least, most = rng.choices(kinds, weights)[0]
        # Short ones are the more frequent; half of the pauses overlap nothing.
        seconds = least + (most - least) * rng.random() ** 2
        pause = rng.expovariate(1 / (PAUSES[lane] * pace))
        yield Fault(pause, name, rng.randrange(1 << 16), seconds, rng.random())
