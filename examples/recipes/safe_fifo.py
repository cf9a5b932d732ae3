# SPDX-License-Identifier: MIT
"""A queue whose messages lie in a second list until they are handled.

    python3 safe_fifo.py push letters a b
    python3 safe_fifo.py pop letters anna      handles one; kill it meanwhile
    python3 safe_fifo.py restore letters anna  puts its messages back: 1
    python3 safe_fifo.py pop letters ben       in another terminal: the same again

Each consumer has a list of its own, here anna and ben.
"""

import sys

import interlock
from interlock import recipes


def handle(msg):
    print(msg.decode(), flush=True)
    input()  # until Enter is pressed


verb, q, *words = sys.argv[1:]
with interlock.connect() as client:
    r = recipes.bind(client)
    if verb == "push":
        for word in words:
            r.safe_fifo_push(q, word)
    elif verb == "pop":
        print("empty" if r.safe_fifo_pop(q, words[0], handle) is None else "handled")
    else:
        print(r.safe_fifo_restore(q, words[0]))
