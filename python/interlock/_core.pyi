# SPDX-License-Identifier: MIT
"""The generated module: cffi's ffi and the C functions, checked by the C compiler."""

from typing import Any

ffi: Any
lib: Any
