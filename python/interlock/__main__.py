# SPDX-License-Identifier: MIT
"""``python -m interlock`` runs the command ``interlock``, see ``docs/cli.md``."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import Iterator

COMMAND = "interlock"


def _candidates() -> Iterator[str]:
    """Where an installer may have put the command, the likeliest place first."""
    try:
        files = importlib.metadata.files(COMMAND) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == COMMAND:
            yield os.path.normpath(str(file.locate()))
    yield os.path.join(sysconfig.get_path("scripts"), COMMAND)
    yield shutil.which(COMMAND) or ""


def main() -> None:
    """Replace this process by the command; it gets the arguments.

    Raises: SystemExit when the command is not installed. Blocks: no.
    Thread: the main thread.
    """
    for path in _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            # Python ignores these signals, and the command would inherit that.
            for name in ("SIGPIPE", "SIGXFSZ"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            os.execv(path, [COMMAND, *sys.argv[1:]])
    sys.exit("the command `interlock` was not installed with the package")


if __name__ == "__main__":
    main()
