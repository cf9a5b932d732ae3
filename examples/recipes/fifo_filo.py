# SPDX-License-Identifier: MIT
"""A list as a queue (first in, first out) or a stack (first in, last out).

    python3 fifo_filo.py fifo_push letters a b c
    python3 fifo_filo.py fifo_pop letters      in another terminal: a b c
    python3 fifo_filo.py filo_push plates a b c
    python3 fifo_filo.py filo_pop plates       c b a

Popping goes on until the list is empty.
"""

import sys

import interlock
from interlock import recipes

verb, q, *values = sys.argv[1:]
with interlock.connect() as client:
    r = recipes.bind(client)
    push = {"fifo_push": r.fifo_push, "filo_push": r.filo_push}.get(verb)
    pop = {"fifo_pop": r.fifo_pop, "filo_pop": r.filo_pop}.get(verb)
    if push:
        for value in values:
            push(q, value)
    else:
        while (value := pop(q)) is not None:
            print(value.decode())
