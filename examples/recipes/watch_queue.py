# SPDX-License-Identifier: MIT
"""A worker for tasks of several names.

    python3 watch_queue.py chores              works until a task says quit

and in another terminal

    python3 fifo_queue.py push chores '["greet", ["Anna"]]'
    python3 fifo_queue.py push chores '["add", ["19", "23"]]' '["quit", []]'

A task of an unknown name, or that is no JSON, goes to
`ilk:recipes:dead:{chores}`. When a worker is killed, another does its task.
"""

import sys

import interlock
from interlock import recipes


def greet(who):
    print(f"hello {who}", flush=True)


def add(*numbers):
    print(sum(int(number) for number in numbers), flush=True)


def quit():
    recipes.QUIT = True


callbacks = {"greet": greet, "add": add, "quit": quit}
with interlock.connect() as client:
    recipes.worker_watch_queue(client, sys.argv[1], callbacks)
