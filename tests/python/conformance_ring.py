# SPDX-License-Identifier: MIT
"""The conformance table's rings; tests/core/conformance/conf_ring.h has the words."""

from __future__ import annotations

import interlock

KINDS = {
    b"ketama": {},
    b"tooz": {"layout": "tooz"},
    b"shares": {"weights": "ketama"},
}


def open_ring(kind):
    return interlock.Ring([], **KINDS[kind])


def answer(ring, verb, words):
    """The ring's result for a line, as words of the table."""
    try:
        found = VERBS[verb](ring, *words)
    except interlock.Error as error:
        return [error.status.encode()]
    if found is None:
        return [b"ILK_OK"]
    return found if isinstance(found, list) else [found]


def bounded(ring, factor, key, *loads):
    named = dict(zip(ring, map(int, loads)))
    assert len(named) == len(loads)
    return ring.get_bounded(key, named, float(factor))


VERBS = {
    b"add": lambda ring, node, weight=1: ring.add(node, int(weight)),
    b"remove": lambda ring, node: ring.remove(node),
    b"weight": lambda ring, node, weight: ring.set_weight(node, int(weight)),
    b"get": lambda ring, key: ring.get(key),
    b"get_n": lambda ring, n, key: ring.get_n(key, int(n)),
    b"bounded": bounded,
}
