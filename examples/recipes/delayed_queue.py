# SPDX-License-Identifier: MIT
"""Tasks that are due later.

    python3 delayed_queue.py push chores 5 water       in 5 seconds
    python3 delayed_queue.py pop chores        in another terminal: a due task

However many pop at once, each task is for one of them. The clock is the
server's.
"""

import sys

import interlock
from interlock.recipes import delayed_queue_pop, delayed_queue_push

verb, queue = sys.argv[1:3]
with interlock.connect() as client:
    if verb == "push":
        delayed_queue_push(client, queue, sys.argv[4], float(sys.argv[3]))
    else:
        for task in delayed_queue_pop(client, queue):
            print(task.decode())
