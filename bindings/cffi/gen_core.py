# SPDX-License-Identifier: MIT
"""Write the C source of interlock._core, read from the public headers.

    gen_core.py OUTPUT.c

The declarations are the headers themselves after the C preprocessor ($CC, or
cc): nothing is declared a second time, and the C compiler checks every enum
value and struct size once more when it compiles the result.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import cffi

# What the module has beside the public headers.
LOG_QUEUE = """
void log_queue_push(void *user, int32_t level, const char *text);
int32_t log_queue_next(int32_t wait, char *text);
int64_t log_queue_dropped(void);
void log_queue_close(void);
void log_queue_reset(void);
"""

# Implemented in Python, see interlock/_interrupt.py.
CALLBACK = """
extern "Python" int interlock_interrupted(void *user);
"""

OWN_CODE = ("log_queue.c", "ring_finder.c")
INCLUDE = Path(__file__).resolve().parents[2] / "libcore" / "include"


def declarations() -> str:
    """The headers without comments, directives and system includes."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    flags = ["-E", "-P", "-DILK_BINDGEN", f"-I{INCLUDE}"]
    command = [*compiler, *flags, str(INCLUDE / "interlock.h")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(output: str) -> None:
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    ffi.cdef(LOG_QUEUE + CALLBACK)
    own = [
        Path(__file__).with_name(name).read_text(encoding="utf-8") for name in OWN_CODE
    ]
    source = "\n".join(["#include <interlock.h>", *own])
    ffi.set_source("interlock._core", source)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(sys.argv[1])
