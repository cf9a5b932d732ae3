# SPDX-License-Identifier: MIT
"""tests/sim/store.lua, which stands for a server, replies as the server does."""

import random

import pytest
from resp import Connection, ReplyError
from store import Store
from world import START_US

# Few keys and members, so that commands meet each other's types and values.
KINDS = {"H": "hash", "L": "list", "R": "list", "Z": "zset"}
KEYS = [kind + number for kind in ("hash", "list", "string", "zset") for number in "12"]
MEMBERS = ["", "x", "y", "z", "Z", "\0", "é", "10", "9", "-1"]
INDEXES = ["0", "1", "2", "-1", "-2", "-3", "5", "-9"]
SCORES = ["0", "1", "2", "2.5", "-3", "1e3", "9e15", "inf", "-inf", ".5"]
LIMITS = [*SCORES, "(1", "(2.5", "(inf", "+inf", "-infinity", ""]
COUNTS = ["0", "1", "2", "-1", "-2", "3"]
MS = ["1000000", "500000", "0", "-1", "9000000000000000000"]
WRONG = ["x", "1.0", "1 ", "((1", "+-1", "nan"]


def arguments_by_name(dice, kind):
    """A function for each command that returns its arguments."""
    member = dice.of(MEMBERS)
    index, score, limit = dice.mostly(INDEXES), dice.mostly(SCORES), dice.mostly(LIMITS)
    count, ms = dice.mostly(COUNTS), dice.mostly(MS)

    def key():
        return dice.of(KEYS)() if dice.below(8) == 0 else kind + dice.of("12")()

    def some(*kinds, most=4):
        return [kind() for _ in range(dice.below(most) + 1) for kind in kinds]

    def maybe(*parts, one_in=2):
        return list(parts) if dice.below(one_in) == 0 else []

    return {
        "DEL": lambda: some(key, most=2),
        "UNLINK": lambda: some(key, most=2),
        "EXISTS": lambda: some(key),
        "KEYS": lambda: [dice.of(["*1", "l?st2", "\\zset?"])()],
        "TYPE": lambda: [key()],
        "PTTL": lambda: [key()],
        "PERSIST": lambda: [key()],
        "PEXPIRE": lambda: [key(), ms()],
        "GET": lambda: [key()],
        "STRLEN": lambda: [key()],
        "GETRANGE": lambda: [key(), index(), index()],
        "MGET": lambda: some(key),
        "INCR": lambda: [key()],
        "INCRBY": lambda: [key(), count()],
        "SET": lambda: [
            key(),
            member(),
            *maybe(dice.mostly(["NX", "XX", "nx"])()),
            *maybe(dice.of(["GET", "KEEPTTL"])(), one_in=3),
            *maybe(dice.of(["PX", "EX", "PXAT", "px"])(), ms()),
        ],
        "HGET": lambda: [key(), member()],
        "HMGET": lambda: [key(), *some(member)],
        "HSET": lambda: [key(), *some(member, member), *maybe("odd", one_in=9)],
        "HDEL": lambda: [key(), *some(member)],
        "HEXISTS": lambda: [key(), member()],
        "HINCRBY": lambda: [key(), member(), count()],
        "HLEN": lambda: [key()],
        "HKEYS": lambda: [key()],
        "HVALS": lambda: [key()],
        "HGETALL": lambda: [key()],
        "LPUSH": lambda: [key(), *some(member)],
        "RPUSH": lambda: [key(), *some(member)],
        "LPOP": lambda: [key(), *maybe(count())],
        "RPOP": lambda: [key(), *maybe(count())],
        "LMOVE": lambda: [
            *some(key, key, most=1),
            *some(dice.mostly(["LEFT", "RIGHT", "left"]), most=1) * 2,
        ],
        "RPOPLPUSH": lambda: [key(), key()],
        "LLEN": lambda: [key()],
        "LINDEX": lambda: [key(), index()],
        "LRANGE": lambda: [key(), index(), index()],
        "LTRIM": lambda: [key(), index(), index()],
        "LREM": lambda: [key(), count(), member()],
        "ZADD": lambda: [
            key(),
            *maybe(dice.of(["NX", "XX", "GT", "LT", "CH", "gt"])()),
            *maybe(dice.of(["XX", "CH"])(), one_in=5),
            *some(score, member),
        ],
        "ZREM": lambda: [key(), *some(member)],
        "ZCARD": lambda: [key()],
        "ZSCORE": lambda: [key(), member()],
        "ZCOUNT": lambda: [key(), limit(), limit()],
        "ZRANGE": lambda: [key(), index(), index(), *maybe("WITHSCORES")],
        "ZREVRANGE": lambda: [key(), index(), index(), *maybe("withscores")],
        "ZRANGEBYSCORE": lambda: [
            key(),
            limit(),
            limit(),
            *maybe("WITHSCORES"),
            *maybe("LIMIT", count(), count()),
        ],
        "ZREMRANGEBYRANK": lambda: [key(), index(), index()],
        "ZREMRANGEBYSCORE": lambda: [key(), limit(), limit()],
        "ZINTERSTORE": lambda: [
            key(),
            dice.mostly(["2"])(),
            key(),
            key(),
            *maybe("WEIGHTS", score(), score(), one_in=3),
            *maybe("AGGREGATE", dice.of(["SUM", "MIN", "MAX"])()),
        ],
        "PUBLISH": lambda: [key(), member()],
        "PUBSUB": lambda: dice.of([["NUMSUB", "a", "b"], ["CHANNELS", "*b*"], ["?"]])(),
        "NONSENSE": lambda: [key()],
    }


class Dice:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = list(arguments_by_name(self, ""))

    def below(self, limit):
        return self.random.randrange(limit)

    def of(self, choices):
        return lambda: self.random.choice(choices)

    def mostly(self, choices):
        return lambda: self.random.choice(choices if self.below(20) else WRONG)

    def command(self):
        name = self.of(self.names)()
        kind = KINDS.get(name[0], "string")
        arguments = arguments_by_name(self, kind)[name]()
        if self.below(50) == 0:
            arguments = arguments[:-1]
        return [name.lower() if self.below(9) == 0 else name, *arguments]


def plain(reply, name):
    """A reply as far as it must be the same: of an error its first word, of a
    remaining time whether there is one, keys in any order."""
    if isinstance(reply, ReplyError):
        return str(reply).split()[0]
    if name.upper() == "PTTL":
        return min(reply, 0)
    if name.upper() == "KEYS":
        return sorted(reply)
    return reply


@pytest.fixture
def store():
    running = Store(START_US)
    yield running
    running.stop()


@pytest.fixture
def connection(server):
    opened = Connection(server.path)
    opened("FLUSHALL")
    yield opened
    opened.close()


INNER = "return redis.pcall(unpack(ARGV))"


@pytest.mark.parametrize("seed", range(10))
def test_random_commands_get_the_same_replies(connection, store, seed):
    dice, log = Dice(seed), []
    for _ in range(1000):
        parts = dice.command()
        sent = parts if dice.below(4) else ["EVAL", INNER, 0, *parts]
        connection.send(*sent)
        real, ours = plain(connection.read(), parts[0]), plain(store(*sent), parts[0])
        log.append((sent, real))
        assert ours == real, "\n".join(map(str, log[-20:]))


@pytest.mark.parametrize(
    "script",
    [
        "return {1, 1.9, -1.9, true, false, 'x', {}, {{2}}, 'not', nil, 'seen'}",
        "return {ok = 'FINE'}",
        "return redis.status_reply('FINE')",
        "return redis.error_reply('MINE is this')",
        "return {err = 'MINE is that'}",
        "redis.call('SET', 'a', 2 ^ 53) return redis.call('GET', 'a')",
        "redis.call('SET', 'a', -1.5) return redis.call('GET', 'a')",
        "return redis.call('SET', 'a', '1', 'NX') and redis.call('SET', 'a', '2', 'NX')",
        "return redis.call('TYPE', 'a').ok",
        "return redis.call('GET', 'a') == false",
        "return redis.pcall('SET', 'a', true)",
        "return redis.pcall('SET', 'a', nil)",
        "redis.call('SET', 'a', 1) return redis.call('LLEN', 'a')",
        "redis.call('SET', 'a', 1) return redis.pcall('LLEN', 'a').err",
        "return {pcall(error, 'not of a command')}",
        "return {pcall(unpack, {1, 2, 3})}",
        "redis.call('SET', 'a', 1) return {pcall(redis.call, 'LLEN', 'a')}",
        "error('what')",
        "return {KEYS[1], ARGV[1], KEYS[2], ARGV[2]}",
    ],
)
def test_scripts_get_the_same_replies(connection, store, script):
    sent = ["EVAL", script, 1, "k", "v", ""]
    connection.send(*sent)

    assert plain(store(*sent), "EVAL") == plain(connection.read(), "EVAL")


def test_keys_expire_by_the_clock(store):
    for key in "abcd":
        store("SET", key, "x", "PX", 100)
    store("PERSIST", "a")
    store("SET", "b", "y", "KEEPTTL")
    store("SET", "c", "y")
    store("PEXPIRE", "d", 101)
    store.now_us += 99_999

    assert [store("PTTL", key) for key in "abcd"] == [-1, 1, -1, 2]
    store.now_us += 1
    assert [store("GET", key) for key in "abcd"] == [b"x", None, b"y", b"x"]
    store.now_us += 1000
    assert store("EXISTS", *"abcd") == 2
    assert store("TIME") == [b"1700000000", b"101000"]


def test_subscribers_are_counted_and_receive(store):
    got = []
    store.inboxes = {b"a": [lambda *m: got.append(m)] * 2, b"b": [got], b"[?*": [got]}
    store.inboxes[b"d"] = []

    assert store("PUBLISH", "a", "\0x") == 2
    assert store("PUBLISH", "c", "y") == 0
    assert got == [(b"a", b"\0x")] * 2
    assert store("PUBSUB", "NUMSUB", "a", "c", "b") == [b"a", 2, b"c", 0, b"b", 1]
    assert store("PUBSUB", "CHANNELS", "\\[*") == [b"[?*"]
    assert store("PUBSUB", "CHANNELS", "?") == [b"a", b"b"]


def test_a_set_of_thousands_keeps_its_order(store):
    scores = list(range(3000))
    random.Random(1).shuffle(scores)
    for first in range(0, 3000, 100):
        pairs = [(score, f"m{score:04}") for score in scores[first : first + 100]]
        store("ZADD", "z", *(part for pair in pairs for part in pair))

    members = [b"m%04d" % score for score in range(3000)]
    assert store("ZRANGE", "z", 0, -1) == members
    assert store("ZRANGEBYSCORE", "z", "(1998", 2000) == members[1999:2001]
    assert store("ZREMRANGEBYSCORE", "z", 10, 2989) == 2980
    assert store("ZRANGE", "z", 0, -1) == members[:10] + members[-10:]
