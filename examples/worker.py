# SPDX-License-Identifier: MIT
"""A queue of tasks, and workers: the task of one that died goes to another.

    python3 worker.py              in some terminals; Ctrl-C ends it
    python3 worker.py Anna Ben     in another: two tasks

A task is JSON, `["greet", ["Anna"]]`; one of an unknown name lies among the
dead, to be looked at.
"""

import signal
import sys

import interlock


def greet(who):
    print("hello", who, flush=True)


with interlock.connect() as client:
    if len(sys.argv) > 1:
        queue = client.queue("greetings")
        for who in sys.argv[1:]:
            queue.push(interlock.task("greet", who))
    else:
        worker = interlock.Worker(client, "greetings", {"greet": greet})
        signal.signal(signal.SIGINT, lambda *_: worker.stop())
        worker.run()
