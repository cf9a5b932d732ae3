# SPDX-License-Identifier: MIT
"""The recipes' scripts, called with sensible arguments."""

T1, T2, T3 = (f"{n:032x}" for n in (1, 2, 3))
ONCE = b"ilk:recipes:once:c.1:{q}"
DUE = b"ilk:recipes:due:c.1:{z}"
MIB = 1024 * 1024
MASTER = [b"m", b"ilk:recipes:master:{m}"]
A, B = b"a" * 16 + b".1", b"b" * 16 + b".1"


def push(world, value, end="L", token=T1, key=b"q"):
    return world.call("recipes_push", [key, ONCE], token, end, value)


def pop(world, end="R", token=T2, most=MIB, key=b"q"):
    return world.call("recipes_pop", [key, ONCE], token, end, most)


def contents(world, key):
    return world.redis("LRANGE", key, 0, -1)


def park(world, token=T1):
    return world.call("recipes_park", [b"q", b"cache", b"parked"], token, MIB)


def unpark(world, mine, token=T3):
    return world.call("recipes_unpark", [b"cache", b"parked", ONCE], token, mine)


def restore(world, limit=10):
    return world.call("recipes_restore", [b"q", b"cache", b"parked"], limit)


def due(world, token=T1, limit=10, most=MIB):
    return world.call("recipes_due", [b"z", DUE], token, limit, most)


def permit(world, identifier, limit=2, timeout=10000):
    keys = [b"s", b"s:owner", b"s:counter"]
    return world.call("recipes_permit", keys, identifier, limit, timeout)


def give_back(world, identifier, token=T1):
    keys = [b"s", b"s:owner", ONCE]
    return world.call("recipes_permit_back", keys, token, identifier)


def renew(world, identifier):
    return world.call("recipes_permit_renew", [b"s", b"s:owner"], identifier)


def lead(world, who, selector, token):
    return world.call("recipes_master", MASTER, who, token, selector, 20000)


def single(world, token, prefix=b"j*", random=0):
    keys = [ONCE, b"ilk:recipes:signalled:{j*}"]
    return world.call("recipes_single", keys, token, prefix, random, 128, "x")


def keys_for(who, *queues):
    return [
        key
        for queue in queues
        for key in (queue, b"taken:" + who + queue, b"consumers:" + queue)
    ]


def take(world, who=A, queues=(b"q",), most=MIB):
    return world.call("recipes_reserve", keys_for(who, *queues), who, 15000, most)


def settle(world, how, value, who=A, token=T1):
    keys = [b"q", b"taken:" + who + b"q", b"dead", ONCE]
    return world.call("recipes_settle", keys, token, how, value)


def recover(world, who=A, limit=10, leaves=0):
    return world.call("recipes_recover", keys_for(who, b"q"), who, limit, leaves)
