# SPDX-License-Identifier: MIT
"""The generated module: cffi's ffi and the C functions, checked by the C compiler."""

from typing import Any

ffi: Any
lib: Any

class RingFinder:
    """The base class of rings, with their get()."""

    def get(self, key: Any, /) -> Any: ...
    @property
    def _nodes(self) -> Any: ...
    def _settle(self, ring: int, nodes: tuple[Any, Any], /) -> None: ...
