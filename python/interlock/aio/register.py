# SPDX-License-Identifier: MIT
"""One value with a version, for tasks."""

from __future__ import annotations

from typing import Callable

from .. import _ffi, errors
from .._attempts import Attempts
from .._core import lib
from .._ffi import Seconds
from ..register import RegisterBase, RegisterState
from ._state import State


class Register(RegisterBase, State):
    """As :class:`interlock.Register`, awaited; made by ``client.register()``."""

    async def get(self) -> RegisterState:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_register_get_start, handle)
            return self._read_state(handle)

    async def set(self, value: str | bytes) -> int:
        """As in :mod:`interlock`."""
        raw = _ffi.name_bytes(value, "value")
        with self._handle() as handle:
            await self._driver.call(lib.ilk_register_set_start, handle, raw, len(raw))
            return self._read_state(handle).version

    async def cas(self, version: int, value: str | bytes) -> int | None:
        """As in :mod:`interlock`."""
        arguments = self._cas_arguments(version, value)
        with self._handle() as handle:
            try:
                await self._driver.call(lib.ilk_register_cas_start, handle, *arguments)
            except errors.StaleError:
                return None
            return self._read_state(handle).version

    async def change(
        self,
        fn: Callable[[bytes | None], str | bytes],
        timeout: Seconds | None = None,
    ) -> RegisterState:
        """As in :mod:`interlock`; ``fn`` is a plain function."""
        attempts = Attempts(timeout)
        state = await self.get()
        while True:
            value = _ffi.name_bytes(fn(state.value), "fn's result")
            arguments = self._cas_arguments(state.version, value)
            with self._handle() as handle:
                try:
                    await self._driver.call(
                        lib.ilk_register_cas_start, handle, *arguments
                    )
                except errors.StaleError:
                    state = self._read_state(handle)
                else:
                    return self._read_state(handle)
            self._refused(attempts)

    async def wait(
        self, version: int, timeout: Seconds | None = None
    ) -> RegisterState | None:
        """As in :mod:`interlock`."""
        known, limit = self._checked_version(version), _ffi.timeout_ms(timeout)
        with self._handle() as handle:
            changed = await self._wait(
                lib.ilk_register_wait_start, handle, known, limit
            )
            return self._read_state(handle) if changed else None

    async def delete(self, version: int | None = None) -> bool:
        """As in :mod:`interlock`."""
        known = self._delete_argument(version)
        with self._handle() as handle:
            try:
                await self._driver.call(lib.ilk_register_delete_start, handle, known)
            except errors.StaleError:
                return False
            return True
