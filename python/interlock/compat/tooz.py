# SPDX-License-Identifier: MIT
"""A driver for tooz, the coordination library of OpenStack.

``tooz.coordination.get_coordinator("interlock+redis://host:6379", b"me")`` finds it,
once both packages are installed. Groups, locks and leaders of tooz are those of
Interlock with the same names: ``client.group()``, ``client.rwlock()`` and
``client.election()`` see them, from any language.

Importing this module without tooz is an ImportError that says what to install.
"""

from __future__ import annotations

from ._tooz_driver import Driver as _Driver  # noqa: F401
