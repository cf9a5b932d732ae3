# SPDX-License-Identifier: MIT
"""The ring: consistent hashing, which finds the node of a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, TypeVar, Union

from . import _ffi, _fork, errors
from ._core import RingFinder, ffi, lib
from ._ffi import Name, name_bytes
from ._queue_wait import c_names
from .latch import whole_number

Node = TypeVar("Node", bound=Union[str, bytes])

_LAYOUTS = {"ketama": lib.ILK_RING_KETAMA, "tooz": lib.ILK_RING_TOOZ}
_SHARES = "ketama"  # as `weights`: the formula of libketama
_changing = _fork.Guard()  # of two changes of one ring, the second sees the first


class _Nodes(NamedTuple):
    """A ring as it is at one moment. It is never changed, so threads may read it."""

    handle: Any
    names: tuple[Any, ...]  # by their numbers in C, as they were given


def _new(layout: str, shares: bool) -> Any:
    if layout not in _LAYOUTS:
        known = " or ".join(repr(name) for name in _LAYOUTS)
        raise errors.InvalidError(f"layout must be {known}, got {layout!r}")
    if shares and layout != "ketama":
        raise errors.InvalidError(f"weights={_SHARES!r} needs layout='ketama'")
    opts, out = ffi.new("ilk_ring_opts *"), ffi.new("ilk_ring **")
    lib.ilk_ring_opts_init(opts, ffi.sizeof("ilk_ring_opts"))
    opts.layout = _LAYOUTS[layout]
    opts.flags = lib.ILK_RING_SHARES if shares else 0
    _ffi.call(lib.ilk_ring_new, out, opts)
    return ffi.gc(out[0], lib.ilk_ring_free)


def _numbered(handle: Any, names: Iterable[Any]) -> _Nodes:
    """The names by their numbers, which follow the order of their bytes."""
    ordered = sorted(names, key=lambda name: name_bytes(name, "node"))
    kept = (n if isinstance(n, str) else bytes(n) for n in ordered)
    return _Nodes(handle, tuple(kept))


def _weights_of(names: list[Any], weights: Mapping[Any, int]) -> list[int]:
    """The weight of each node; those that are not in the mapping have 1."""
    given = {name_bytes(name, "node"): weight for name, weight in weights.items()}
    found = [given.pop(name_bytes(name, "node"), 1) for name in names]
    if given:
        raise errors.InvalidError(
            f"weights has {next(iter(given))!r}, which is no node"
        )
    return [_weight(weight) for weight in found]


def _weight(weight: int) -> int:
    return whole_number(weight, "weight", lib.ILK_RING_WEIGHT_MAX)


def _load(load: int) -> int:
    if isinstance(load, bool) or not isinstance(load, int):
        raise TypeError(f"a load must be int, got {type(load).__name__}")
    if not 0 <= load < 1 << 63:
        raise errors.InvalidError(f"a load must be from 0 to 2**63 - 1, got {load}")
    return load


class RingBase(RingFinder, Generic[Node]):
    """The lookups, for rings that differ in how their nodes change."""

    def _fill(
        self, layout: str, shares: bool, names: list[Node], weights: Mapping[Node, int]
    ) -> None:
        """Put all nodes on a new ring, in one step, and let lookups use it."""
        handle = _new(layout, shares)
        pointers, lengths, count, kept = c_names(names, "node")
        by_number = ffi.new("int64_t[]", _weights_of(names, weights) or [0])
        _ffi.call(lib.ilk_ring_add_many, handle, pointers, lengths, count, by_number)
        del kept
        self._put(_numbered(handle, names))

    def _put(self, nodes: _Nodes) -> None:
        """Let all lookups that begin from now on use these; they become `_nodes`."""
        self._settle(int(ffi.cast("uintptr_t", nodes.handle)), nodes)

    # ---- the nodes of a key

    if TYPE_CHECKING:

        def get(self, key: Name, /) -> Node:
            """Return the node of a key.

            It is in C, in bindings/cffi/ring_finder.c, because a function of Python
            would take several times as long; errors and unusual keys are for _find().

            Raises: InvalidError when the ring has no nodes. Blocks: no.
            Thread: any thread.
            """

    def _find(self, key: Name) -> Node:
        handle, names = self._nodes
        raw = name_bytes(key, "key")
        number = lib.ilk_ring_get(handle, raw, len(raw))
        if number < 0:
            raise errors.InvalidError("the ring has no nodes")
        return names[number]  # type: ignore[no-any-return]

    def get_n(self, key: Name, n: int) -> list[Node]:
        """Return ``n`` different nodes: that of ``get()``, and those that come after.

        The second one is the node that the key would have without the first, and so
        on: a value that is put on all of them survives the loss of some.

        Raises: InvalidError when there are not so many. Blocks: no.
        Thread: any thread.
        """
        handle, names = self._nodes
        raw = name_bytes(key, "key")
        count = whole_number(n, "n", lib.ILK_RING_POINTS_MAX)
        out = ffi.new("int32_t[]", min(count, len(names)) or 1)
        _ffi.call(lib.ilk_ring_get_n, out, count, handle, raw, len(raw))
        return [names[number] for number in out[0:count]]

    def get_bounded(
        self, key: Name, loads: Mapping[Node, int], factor: float = 1.25
    ) -> Node:
        """Return the first node, from that of ``get()`` on, that is not overloaded.

        ``loads`` says how much each node has at present; one that is missing has 0,
        and other names are ignored. A node is overloaded when it would have more than
        ``factor`` times its share of all loads, with this key and rounded up.

        Raises: InvalidError when the ring has no nodes, a load is negative or
        ``factor`` below 1. Blocks: no. Thread: any thread.
        """
        handle, names = self._nodes
        raw = name_bytes(key, "key")
        if isinstance(factor, bool) or not isinstance(factor, (int, float)):
            raise TypeError(f"factor must be a number, got {type(factor).__name__}")
        if not isinstance(loads, Mapping):
            raise TypeError(f"loads must be a mapping, got {type(loads).__name__}")
        by_bytes = {name_bytes(name, "node"): load for name, load in loads.items()}
        by_number = [_load(by_bytes.get(name_bytes(name), 0)) for name in names]
        out, c_loads = ffi.new("int32_t *"), ffi.new("int64_t[]", by_number or [0])
        _ffi.call(
            lib.ilk_ring_get_bounded, out, handle, raw, len(raw),
            c_loads, len(names), float(factor),
        )  # fmt: skip
        return names[out[0]]  # type: ignore[no-any-return]

    # ---- the nodes

    @property
    def nodes(self) -> dict[Node, int]:
        """The nodes with their weights, in the order of their names' bytes."""
        handle, names = self._nodes
        return {
            name: lib.ilk_ring_weight(handle, number)
            for number, name in enumerate(names)
        }

    def __len__(self) -> int:
        return int(lib.ilk_ring_count(self._nodes.handle))

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.names)

    def __contains__(self, node: object) -> bool:
        names = self._nodes.names
        return isinstance(node, (str, bytes)) and name_bytes(node) in map(
            name_bytes, names
        )


class Ring(RingBase[Node]):
    """Nodes on a ring: all processes that have the same ones find the same for a key.

    >>> ring = Ring(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    >>> ring.get("user:7"), ring.get_n("user:7", 2)
    ('10.0.0.2', ['10.0.0.2', '10.0.0.1'])
    >>> ring.remove("10.0.0.2")
    >>> ring.get("user:7")
    '10.0.0.1'

    ``nodes`` are names, of weight 1, or a mapping of names to weights; ``weights``
    may give the weights of some as well. A node of weight w has w times as many keys
    as one of weight 1, and a weight that changes moves no key between other nodes.

    - ``layout="ketama"``: libketama's, which many clients have; ``"tooz"``: that of
      ``tooz.hashring``.
    - ``weights="ketama"``: points by the formula of libketama, for programs that
      have to agree with it. Each change then moves keys between the others.

    A ring needs no client and no server. Copies and pickles have the same nodes.
    ``interlock.aio`` has the same class, because no method waits.

    Thread: any thread; a change is made beside the ring that others read.
    """

    def __init__(
        self,
        nodes: Iterable[Node] | Mapping[Node, int] = (),
        layout: str = "ketama",
        weights: Mapping[Node, int] | str | None = None,
    ) -> None:
        if isinstance(nodes, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"nodes must be several names, got {type(nodes).__name__}")
        if isinstance(weights, str) and weights != _SHARES:
            raise errors.InvalidError(
                f"weights must be a mapping, {_SHARES!r} or None, got {weights!r}"
            )
        shares = isinstance(weights, str)
        given: Any = nodes if isinstance(nodes, Mapping) else {}
        if not shares and weights is not None:
            if given or not isinstance(weights, Mapping):
                raise TypeError("weights must be one mapping: of nodes or of weights")
            given = weights
        self._fill(layout, shares, list(nodes), given)
        self._layout, self._shares = layout, shares

    # ---- changes

    def add(self, node: Node, weight: int = 1) -> None:
        """Add a node; only keys that are its own from now on move.

        Raises: InvalidError when it is on the ring. Blocks: no.
        Thread: any thread.
        """
        raw, number = name_bytes(node, "node"), _weight(weight)
        self._change(
            lib.ilk_ring_add, (raw, len(raw), number), lambda names: [*names, node]
        )

    def remove(self, node: Node) -> None:
        """Remove a node; only the keys that it had move.

        Raises: InvalidError when it is not on the ring. Blocks: no.
        Thread: any thread.
        """
        raw = name_bytes(node, "node")
        self._change(
            lib.ilk_ring_remove,
            (raw, len(raw)),
            lambda names: (name for name in names if name_bytes(name) != raw),
        )

    def set_weight(self, node: Node, weight: int) -> None:
        """Change the weight of a node; only its own keys move.

        Raises: InvalidError when it is not on the ring. Blocks: no.
        Thread: any thread.
        """
        raw, number = name_bytes(node, "node"), _weight(weight)
        self._change(
            lib.ilk_ring_set_weight, (raw, len(raw), number), lambda names: names
        )

    def _change(
        self,
        function: Callable[..., int],
        args: tuple[Any, ...],
        renamed: Callable[[tuple[Any, ...]], Iterable[Any]],
    ) -> None:
        out = ffi.new("ilk_ring **")
        with _changing:
            handle, names = self._nodes
            _ffi.call(lib.ilk_ring_copy, out, handle)
            changed = ffi.gc(out[0], lib.ilk_ring_free)
            _ffi.call(function, changed, *args)
            self._put(_numbered(changed, renamed(names)))

    def __reduce__(self) -> tuple[Any, ...]:
        weights = _SHARES if self._shares else None
        return type(self), (self.nodes, self._layout, weights)

    def __repr__(self) -> str:
        return f"<interlock.Ring {self._layout} of {len(self)} nodes>"
