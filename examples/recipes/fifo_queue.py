# SPDX-License-Identifier: MIT
"""Tasks in the order in which they were pushed.

    python3 fifo_queue.py push chores sweep dust
    python3 fifo_queue.py pop chores           in another terminal: sweep

A process that dies with its task takes it along: see watch_queue.py.
"""

import sys

import interlock
from interlock.recipes import fifo_queue_pop, fifo_queue_push

verb, queue, *tasks = sys.argv[1:]
with interlock.connect() as client:
    if verb == "push":
        for task in tasks:
            fifo_queue_push(client, queue, task)
    else:
        task = fifo_queue_pop(client, queue)
        print("empty" if task is None else task.decode())
