# SPDX-License-Identifier: MIT
"""One command to one server, its words as they are."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from support import read_reply


def call_at(port: int, words: tuple[bytes, ...]) -> Any:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
        one.sendall(
            b"*%d\r\n" % len(words)
            + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        )
        with one.makefile("rb") as stream:
            return read_reply(stream)
