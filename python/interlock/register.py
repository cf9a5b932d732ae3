# SPDX-License-Identifier: MIT
"""The register: one value with a version, for compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _ffi, errors
from ._attempts import Attempts
from ._core import ffi, lib
from ._ffi import OK, Name, Seconds
from ._handle_pool import PooledHandle
from ._state import State

if TYPE_CHECKING:
    from ._client_base import ClientBase


class RegisterState(NamedTuple):
    """The value and the version of a register at one moment."""

    value: bytes | None  #: None when there is none
    version: int  #: rises with each change; 0 when none is on record


class RegisterBase(PooledHandle):
    """The part of a register that the blocking and the asyncio package share."""

    _type = "ilk_register"
    _free = lib.ilk_register_free
    _cancel = lib.ilk_register_cancel

    def __init__(self, client: ClientBase, name: Name) -> None:
        super().__init__(client, name, lib.ilk_register_open)

    def _read_state(self, handle: Any) -> RegisterState:
        length = ffi.new("size_t *")
        value = lib.ilk_register_value(handle, length)
        return RegisterState(
            value=None if value == ffi.NULL else bytes(ffi.buffer(value, length[0])),
            version=int(lib.ilk_register_version(handle)),
        )

    def _cas_arguments(self, version: int, value: str | bytes) -> tuple[Any, ...]:
        """The arguments of ilk_register_cas() after the handle."""
        raw = _ffi.name_bytes(value, "value")
        return self._checked_version(version), raw, len(raw)

    def _delete_argument(self, version: int | None) -> int:
        """The version of ilk_register_delete()."""
        if version is None:
            return int(lib.ILK_REGISTER_ANY)
        return self._checked_version(version)

    def _refused(self, attempts: Attempts) -> None:
        """Raise if no time is left for another attempt."""
        if attempts.are_over():
            raise errors.TimeoutError(
                f"others changed the register {self._name!r} before each attempt"
            )

    def _checked_version(self, version: int) -> int:
        if isinstance(version, bool) or not isinstance(version, int):
            raise TypeError(f"version must be int, got {type(version).__name__}")
        if not 0 <= version < 2**53:
            raise errors.InvalidError(
                f"version must be from 0 to 2**53 - 1, got {version}"
            )
        return version


class Register(RegisterBase, State):
    """One value with a version, for all processes; made by ``client.register()``.

    Each change gives the register a greater version, and no version is ever used
    twice. So a change that is made with ``cas()`` or ``change()`` never overwrites
    one that its caller has not seen.

    >>> stock = client.register("stock")
    >>> stock.get()
    RegisterState(value=None, version=0)
    >>> version = stock.set(b"18")
    >>> newer = stock.cas(version, b"17")
    >>> stock.cas(version, b"16") is None  # it was not `version` any more
    True
    >>> stock.change(lambda old: b"%d" % (int(old) - 1)).value
    b'16'
    >>> stock.delete()
    True
    >>> stock.get().value is None and stock.get().version > newer
    True

    Thread: any thread.
    """

    def get(self) -> RegisterState:
        """Read the value and its version.

        ``(None, 0)``: nothing is on record. ``(None, version)``: it was deleted; that
        version is kept for a day.

        Raises: ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_register_get, handle)
            return self._read_state(handle)

    def set(self, value: str | bytes) -> int:
        """Write a value of up to 64 KiB, whatever is there, and wake all waiters.

        Returns the new version.

        Raises: InvalidError, AuthError (written, but this user may not PUBLISH to
        the waiters), UnknownOutcomeError. Blocks: one round trip.
        Thread: any thread.
        """
        raw = _ffi.name_bytes(value, "value")
        with self._handle() as handle:
            _ffi.call(lib.ilk_register_set, handle, raw, len(raw))
            return self._read_state(handle).version

    def cas(self, version: int, value: str | bytes) -> int | None:
        """Write a value if the register still has this version.

        Returns the new version, or None when it was not ``version`` any more; then
        nothing is changed. Version 0 writes if nothing is on record.

        Raises: as ``set()``. Blocks: one round trip. Thread: any thread.
        """
        arguments = self._cas_arguments(version, value)
        with self._handle() as handle:
            try:
                _ffi.call(lib.ilk_register_cas, handle, *arguments)
            except errors.StaleError:
                return None
            return self._read_state(handle).version

    def change(
        self,
        fn: Callable[[bytes | None], str | bytes],
        timeout: Seconds | None = None,
    ) -> RegisterState:
        """Compute a value from the one that is there, and write it.

        Calls ``fn`` with the value (None: there is none) and writes its result
        with ``cas()``. If another change came in between, it begins again with
        the new value: ``fn`` may run more than once. Returns the value that was
        written, and its version.

        Raises: TimeoutError when the last attempt in ``timeout`` seconds was
        refused; what ``fn`` raises; and as ``set()``. Blocks: two round trips, and
        one more for each further attempt. Thread: any thread.
        """
        attempts = Attempts(timeout)
        state = self.get()
        while True:
            value = _ffi.name_bytes(fn(state.value), "fn's result")
            arguments = self._cas_arguments(state.version, value)
            with self._handle() as handle:
                try:
                    _ffi.call(lib.ilk_register_cas, handle, *arguments)
                except errors.StaleError:
                    state = self._read_state(handle)
                else:
                    return self._read_state(handle)
            self._refused(attempts)

    def wait(
        self, version: int, timeout: Seconds | None = None
    ) -> RegisterState | None:
        """Wait until the register has another version than ``version``.

        Returns value and version by then, at once when it has another already; of
        several quick changes only the last is seen. ``timeout`` is in seconds; None
        waits for ever, 0 checks once. Returns None when the time ran out.

        >>> color = client.register("color")
        >>> red = color.set(b"red")
        >>> green = color.set(b"green")
        >>> color.wait(red)
        RegisterState(value=b'green', version=...)
        >>> color.wait(green, timeout=0.01) is None
        True

        Raises: InvalidError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's errors. Blocks: yes; ended by a signal
        handler that raises, by ``client.stop()`` and ``client.close()``.
        Thread: any thread.
        """
        known = self._checked_version(version)
        with self._handle() as handle:
            status = self._wait(handle, lib.ilk_register_wait, timeout, before=(known,))
            return self._read_state(handle) if status == OK else None

    def delete(self, version: int | None = None) -> bool:
        """Delete the value, whatever it is or only if it has this version.

        Returns False when there is no value or it has another version; then
        nothing is changed. The register keeps a version, which is new.

        Raises: as ``set()``; works on a server that is out of memory.
        Blocks: one round trip. Thread: any thread.
        """
        known = self._delete_argument(version)
        with self._handle() as handle:
            try:
                _ffi.call(lib.ilk_register_delete, handle, known)
            except errors.StaleError:
                return False
            return True
