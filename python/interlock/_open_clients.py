# SPDX-License-Identifier: MIT
"""The clients of this process that are open: its orderly end closes them.

Closing releases what a client holds under renewal, so that nobody waits for the leases
of a program that has ended; the last client also stops an embedded server. A program
that is killed, or that ends by ``os._exit()`` as children of ``multiprocessing`` do,
runs none of this, and its leases expire.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from typing import TYPE_CHECKING

from . import _core_log, _ffi, _fork, errors
from ._core import lib

if TYPE_CHECKING:
    from ._client_base import ClientBase

_clients: weakref.WeakSet[ClientBase] = weakref.WeakSet()


def add(client: ClientBase) -> None:
    """Close this client when the interpreter ends."""
    _clients.add(client)


def discard(client: ClientBase) -> None:
    """Forget a client that was closed."""
    _clients.discard(client)


@atexit.register
def _close_all() -> None:
    _ffi.exiting = True
    for client in list(_clients):
        if client._generation != _fork.generation:
            continue  # the parent process uses it
        client._closed = True
        with contextlib.suppress(errors.Error):  # at exit nobody handles an error
            _ffi.call(lib.ilk_client_close, client._handle)
    _core_log.stop()
