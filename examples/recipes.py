# SPDX-License-Identifier: MIT
"""The well-known functions in a program: each verb is one side of an example.

    recipes.py wait CHANNEL              recipes.py signal CHANNEL DATA
    recipes.py wait-single CHANNEL ID    recipes.py signal-single CHANNEL DATA
    recipes.py push KIND QUEUE DATA      recipes.py pop KIND QUEUE
    recipes.py master TIMES              recipes.py semaphore NAME LIMIT SECONDS
    recipes.py sell SELLER ITEM PRICE BUYER
    recipes.py mail COUNT
    recipes.py job QUEUE NAME ARGUMENT   recipes.py work QUEUE COUNT
    recipes.py urgent COUNT

KIND is fifo, filo, safe, task or delayed.
"""

import json
import sys
import time

import interlock
from interlock import recipes

client = interlock.connect()
r = recipes.bind(client)


def push(kind, queue, data):
    if kind == "task":
        recipes.fifo_queue_push(client, queue, data)
    elif kind == "delayed":
        recipes.delayed_queue_push(client, queue, data, 0.2)
    else:
        {"fifo": r.fifo_push, "filo": r.filo_push, "safe": r.safe_fifo_push}[kind](
            queue, data
        )


def pop(kind, queue):
    if kind == "safe":
        r.safe_fifo_pop(queue, queue + ":cache", handle=show)
    elif kind == "delayed":
        for task in recipes.delayed_queue_pop(client, queue):
            show(task)
    elif kind == "task":
        show(recipes.fifo_queue_pop(client, queue))
    else:
        show({"fifo": r.fifo_pop, "filo": r.filo_pop}[kind](queue))


def show(data):
    print("nothing" if data is None else data.decode())


def master(times):
    for _ in range(int(times)):
        print("leads" if r.master() else "follows", flush=True)
        time.sleep(0.2)


def semaphore(name, limit, seconds):
    permit = recipes.acquire_semaphore_with_lock(client, name, int(limit), timeout=10)
    print("holds" if permit else "full", flush=True)
    if permit:
        time.sleep(float(seconds))
        recipes.refresh_fair_semaphore(client, name, permit)
        print("released", recipes.release_fair_semaphore(client, name, permit))


def sell(seller, item, price, buyer):
    data = {
        "seller_id": seller,
        "item_id": item,
        "price": price,
        "buyer_id": buyer,
        "time": time.time(),
    }
    recipes.fifo_queue_push(client, "queue:email", json.dumps(data))


def mail(count):
    with recipes.Consumer(client, ["queue:email"]) as consumer:
        for _ in range(int(count)):
            _queue, packed = consumer.pop()
            sold = json.loads(packed)
            print(
                f"to {sold['seller_id']}: {sold['buyer_id']} bought {sold['item_id']}"
            )
            consumer.done()  # only now is it gone from the server


def job(queue, name, argument):
    recipes.fifo_queue_push(client, queue, json.dumps([name, [argument]]))


def work(queue, count):
    done = []

    def greet(who):
        print("hello", who, flush=True)
        done.append(who)

    recipes.worker_watch_queue(
        client, queue, {"greet": greet}, quit=lambda: len(done) == int(count)
    )


def urgent(count):
    queues = ["queue:high", "queue:medium", "queue:low"]
    with recipes.Consumer(client, queues) as consumer:
        for _ in range(int(count)):
            queue, message = consumer.pop()
            print(queue.decode(), message.decode())
            consumer.done()


VERBS = {
    "wait": lambda channel: show(r.wait(channel)["data"]),
    "signal": lambda channel, data: print(r.signal_broadcast(channel, data)),
    "wait-single": lambda channel, me: show(r.wait_single(channel, me)["data"]),
    "signal-single": lambda channel, data: print(r.signal_single(channel, data)),
    "push": push,
    "pop": pop,
    "master": master,
    "semaphore": semaphore,
    "sell": sell,
    "mail": mail,
    "job": job,
    "work": work,
    "urgent": urgent,
}

if len(sys.argv) < 2 or sys.argv[1] not in VERBS:
    sys.exit(__doc__)
VERBS[sys.argv[1]](*sys.argv[2:])
client.close()
