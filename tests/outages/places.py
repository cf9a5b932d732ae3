# SPDX-License-Identifier: MIT
"""Each topology and store: how all its servers go away and come back, and how one
server takes the place of another.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import cluster
import quorum_nodes
import ring_servers
from cluster import until
from control_store import Control
from etcd_store import Etcd
from mysql_store import MySql
from sentinel_service import Service
from store import Store
from zookeeper_store import ZooKeeper

# Soon noticed: a connection that is not made, and a reply that does not come.
TIMES = "connect_timeout_ms=1000&reply_timeout_ms=1000"
NO_MAJORITY = frozenset({"ILK_ECONN", "ILK_ENOQUORUM"})


class Place:
    """A topology or a store that runs."""

    name: ClassVar[str]
    outage_s: ClassVar[float] = 1.0  # the default: connect_timeout_ms
    errors: ClassVar[frozenset[str]] = frozenset({"ILK_ECONN"})
    fails_over: ClassVar[bool] = False
    lacks: ClassVar[frozenset[str]] = frozenset()  # verbs that it refuses
    # Copies of a request go to a server in the process, which has it when it ends.
    has_gateway: ClassVar[bool] = True
    lease_s: ClassVar[float] = 60.0  # of holds, most of which outlast an outage
    keeps_places: ClassVar[bool] = False  # of waits, with outage=0 as well
    tag = ""  # in all names, for those of a cluster

    def open_url(self, query: str) -> str:
        raise NotImplementedError

    def url(self, query: str = "") -> str:
        return self.open_url(TIMES + (f"&{query}" if query else ""))

    def kill(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def freeze(self) -> None:
        raise NotImplementedError

    def thaw(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def fail_over(self) -> Callable[[], None]:
        """Kill the server in charge; returns what waits for the next one."""
        raise NotImplementedError


class StorePlace(Place):
    """A store with a server or several of its own make."""

    kind: ClassVar[type[Store]]

    def __init__(self) -> None:
        self.store = self.kind(max(self.kind.counts))

    def open_url(self, query: str) -> str:
        return self.store.url(query)

    def kill(self) -> None:
        self.store.kill()

    def start(self) -> None:
        self.store.start()

    def freeze(self) -> None:
        self.store.freeze()

    def thaw(self) -> None:
        self.store.thaw()

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            self.store.thaw()
        self.store.stop()


class OneServer(StorePlace):
    name = "one server"
    keeps_places = True
    has_gateway = False
    kind = Control


class EtcdPlace(StorePlace):
    name = "etcd"
    fails_over = True
    kind = Etcd
    errors = NO_MAJORITY

    def fail_over(self) -> Callable[[], None]:
        store: Any = self.store
        leader = store.leader()
        leader.kill()
        others = [one for one in store.nodes if one is not leader]
        return lambda: each_is_ready(others)


class ZooKeeperPlace(StorePlace):
    name = "ZooKeeper"
    fails_over = True
    kind = ZooKeeper
    errors = NO_MAJORITY

    def open_url(self, query: str) -> str:
        """Leases of a minute, and three servers that start on a busy machine, need a
        longer session than the default."""
        return super().open_url(f"{query}&{ZooKeeper.table_query}")

    def fail_over(self) -> Callable[[], None]:
        store: Any = self.store
        leader = store.leader()
        leader.kill()
        others = [one for one in store.nodes if one is not leader]
        return lambda: each_is_ready(others)


class MySqlPlace(StorePlace):
    name = "MySQL"
    kind = MySql


def each_is_ready(servers: list[Any]) -> None:
    for server in servers:
        until(server.is_ready, what="a server that serves without the leader")


class SentinelPlace(Place):
    name = "Sentinel"
    has_gateway = False
    fails_over = True
    outage_s = 15.0

    def __init__(self) -> None:
        self.service = Service()

    def open_url(self, query: str) -> str:
        return self.service.url(query=f"?{query}")

    def kill(self) -> None:
        for server in self.service.servers:
            server.kill()

    def start(self) -> None:
        """The one that the sentinels know as the primary must be one again."""
        for server in self.service.servers:
            if not server.is_running():
                server.start()
        self.settle()

    def settle(self) -> None:
        """A primary that becomes a replica once more loses what it was sent."""
        until(self.has_primary, 60, "a primary")
        until(self.service.is_watched, 60, "a service that is whole")

    def has_primary(self) -> bool:
        return bool(self.service.primary().call("ROLE")[0] == b"master")

    def freeze(self) -> None:
        for server in self.service.servers:
            server.freeze()

    def thaw(self) -> None:
        for server in self.service.servers:
            server.thaw()
        self.settle()

    def stop(self) -> None:
        self.service.close()

    def fail_over(self) -> Callable[[], None]:
        self.settle()
        primary = self.service.primary()
        primary.kill()
        return lambda: self.await_switch(primary)

    def await_switch(self, old: Any) -> None:
        self.service.await_switch(old)


class ClusterPlace(Place):
    name = "cluster"
    fails_over = True
    outage_s = 15.0
    tag = "{outage}"
    lacks = frozenset({"ilk_consumer_pop", "ilk_consumer_settle", "ilk_consumer_leave"})

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="ilk-cluster-"))
        self.cluster = cluster.Cluster(self.home)

    def open_url(self, query: str) -> str:
        return self.cluster.url(query=f"?{query}")

    def kill(self) -> None:
        for node in self.cluster.nodes:
            node.kill()

    def start(self) -> None:
        for node in self.cluster.nodes:
            if node.process is None or node.process.poll() is not None:
                node.start()
        self.cluster.settle()

    def freeze(self) -> None:
        for node in self.cluster.nodes:
            node.send_signal(19)

    def thaw(self) -> None:
        for node in self.cluster.nodes:
            node.send_signal(18)
        self.cluster.settle()

    def stop(self) -> None:
        self.cluster.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def fail_over(self) -> Callable[[], None]:
        self.cluster.settle()
        slot = self.cluster.slot(self.tag)
        primary = self.cluster.owner(slot)
        self.cluster.replicate(primary, self.tag.strip("{}"))
        primary.kill()
        return lambda: self.await_owner(slot, primary)

    def await_owner(self, slot: int, old: Any) -> None:
        until(lambda: self.cluster.owner(slot) is not old, 60, "another primary")


class NodesPlace(Place):
    """Independent servers."""

    nodes: list[quorum_nodes.Node]
    errors = NO_MAJORITY

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="ilk-nodes-"))

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    def start(self) -> None:
        for node in self.nodes:
            if node.process is None or node.process.poll() is not None:
                node.start()

    def freeze(self) -> None:
        for node in self.nodes:
            node.freeze()

    def thaw(self) -> None:
        for node in self.nodes:
            node.thaw()

    def stop(self) -> None:
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.thaw()
                node.kill()
        shutil.rmtree(self.home, ignore_errors=True)


class QuorumPlace(NodesPlace):
    """Two of three nodes are away, and one is left."""

    name = "quorum"
    lease_s = 4.0  # restarted nodes vote after the longest lease
    fails_over = True

    def __init__(self) -> None:
        super().__init__()
        self.quorum = quorum_nodes.Quorum(
            self.home, int(self.lease_s * 1000), quorum_nodes.durable()
        )
        self.quorum.declare_members()
        self.nodes = self.quorum.nodes[:2]

    def open_url(self, query: str) -> str:
        return self.quorum.url(f"&{query}")

    def stop(self) -> None:
        super().stop()
        self.quorum.stop()

    def fail_over(self) -> Callable[[], None]:
        """One of three: the others go on."""
        self.nodes[0].kill()
        return lambda: None


class RingPlace(NodesPlace):
    name = "ring"

    def __init__(self) -> None:
        super().__init__()
        self.servers = ring_servers.Servers(self.home, ring_servers.on_disk(3))
        self.nodes = self.servers.servers

    def open_url(self, query: str) -> str:
        return self.servers.url(f"&{query}")


PLACES: tuple[type[Place], ...] = (
    *(OneServer, SentinelPlace, ClusterPlace, QuorumPlace, RingPlace),
    *(EtcdPlace, ZooKeeperPlace, MySqlPlace),
)
