# SPDX-License-Identifier: MIT
"""Three queues, the most urgent first.

    python3 priorities.py pop 30               until none comes for 30 seconds
    python3 priorities.py push low sweep       in another terminal
    python3 priorities.py push high extinguish

The next task is always from the first queue that has one.
"""

import sys

import interlock
from interlock.recipes import Consumer, fifo_queue_push

QUEUES = ["queue:high", "queue:medium", "queue:low"]

verb, word = sys.argv[1:3]
with interlock.connect() as client:
    if verb == "push":
        fifo_queue_push(client, f"queue:{word}", sys.argv[3])
    else:
        with Consumer(client, QUEUES) as consumer:
            while (packed := consumer.pop(timeout=float(word))) is not None:
                queue, task = packed
                print(queue.decode(), task.decode(), flush=True)
                consumer.done()
