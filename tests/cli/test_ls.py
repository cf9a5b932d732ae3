# SPDX-License-Identifier: MIT
"""`interlock ls`: one walk through the key space, printed as it goes."""

import json
import re
import socket
import threading

import interlock
import pytest
from shell import PATIENCE

SIDE_KEYS = {
    "lock": "lock:fence",
    "semaphore": "semaphore:fence",
    "election": "election:fence",
    "signal": "signal:wait",
    "event": "event",
    "barrier": "barrier",
    "latch": "latch",
    "queue": "queue",
    "group": "group",
    "register": "register",
}
FILL = "for i = 1, ARGV[1] do redis.call('SET', 'stranger' .. i, 'x') end"


def side_key(kind, name):
    """As libcore/src/redis/keys.h draws it."""
    key = f"ilk:{SIDE_KEYS[kind]}"
    if "}" not in name:
        return f"{key}:{{{name}}}"
    return f"{key}={name}" if re.match(r"[^}]*\{[^}]+\}", name) else f"{key}~{name}"


def scans(server):
    found = re.search(rb"cmdstat_scan:calls=(\d+)", server.call("INFO", "commandstats"))
    return int(found[1]) if found else 0


def names(done):
    assert done.returncode == 0, done
    return done.stdout.decode().split()


def rows(done):
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def large(own_server):
    """A server on which a walk takes some twenty steps."""
    own_server.call("EVAL", FILL, 0, 20000)
    return own_server


def test_all_kinds_and_forms_are_found_in_one_walk(own_shell, large):
    expected = []
    for kind in SIDE_KEYS:
        for name in (f"{kind}.a", f"{{{kind}}}.b", f"{kind}}}c"):
            large.call("HSET", side_key(kind, name), "fence", 1)
            expected.append(name)

    before = scans(large)
    found = names(own_shell.run("ls", "-q"))
    walked = scans(large) - before

    assert sorted(found) == sorted(expected)
    # A step looks at some 1000 keys: not 30 walks of 20 steps each.
    assert 10 < walked <= 40
    own_shell.run("ls", "-q", "--kind", "lock")
    assert scans(large) - before - walked >= walked / 2


@pytest.mark.parametrize("kind", SIDE_KEYS)
def test_one_kind(own_shell, own_server, kind):
    for each in SIDE_KEYS:
        own_server.call("HSET", side_key(each, each), "fence", 1)

    assert names(own_shell.run("ls", "-q", "--kind", kind)) == [kind]


def test_a_name_of_several_kinds_comes_once_for_each(shell, server, name):
    for kind in ("lock", "event", "queue"):
        server.call("HSET", side_key(kind, name), "fence", 1)

    assert names(shell.run("ls", "-q", name)) == [name] * 3


TEXTS = ["a", "ab", "abc", "b", "a*c", "a?c", "a]c", "a-c", "[a]", "a\\c", "axbxc", "^"]
PATTERNS = [
    *("*", "a*", "*c", "a?c", "?", "a*b*c", "*x*x*", "**", "a**c", ""),
    *("[a-b]", "[b-a]", "[^a]", "[^a-b]c", "a[*]c", "a[?x]c", "a[]c", "a[]]c"),
    *("a[b", "a[", "[", "a[^", "a[-]c", "a[a-]c", "a\\*c", "a\\?c", "\\a", "a\\"),
    *("a\\\\c", "[\\]a]", "[[]a]", "[a\\-c]", "a[\\", "[^]", "ab*c", "*]c", "a-c"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_in_redis(shell, server, pattern):
    """Of keys that are the names, and of names. Other tests have left some, too."""
    for text in TEXTS:
        server.call("SET", text, "x")
        server.call("HSET", side_key("latch", text), "count", 1)
    try:
        keys = server.call("KEYS", pattern)
        found = rows(shell.run("ls", "--json", pattern, "--kind", "latch"))
    finally:
        for text in TEXTS:
            server.call("DEL", text, side_key("latch", text))

    listed = {one["name"] for one in found} & set(TEXTS)
    assert listed == {t for t in TEXTS if t.encode() in keys}


class Between:
    """Sits before the server; what it does with each SCAN is the test's."""

    def __init__(self, server, path, on_scan):
        self.server, self.on_scan, self.scans = server, on_scan, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.url = f"unix://{path}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.server.socket))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(one, other)).start()

    def pump(self, one, other):
        while data := one.recv(1 << 16):
            if data.startswith(b"*6\r\n$4\r\nSCAN"):
                self.scans.append(data)
                data = self.on_scan(self.scans)
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def lines(count):
    return [f"n{i:05}" for i in range(count)]


@pytest.fixture
def many(large):
    for name in lines(5000):
        large.call("HSET", side_key("latch", name), "count", 1)
    return large


@pytest.fixture
def between(many, tmp_path):
    opened = []

    def make(on_scan):
        opened.append(Between(many, tmp_path / "between", on_scan))
        return opened[0]

    yield make
    for one in opened:
        one.listener.close()


def test_names_are_printed_before_the_walk_is_over(own_shell, between):
    go_on = threading.Event()

    def on_scan(scans):
        if len(scans) == 4:
            assert go_on.wait(PATIENCE)
        return scans[-1]

    url = between(on_scan).url
    listing = own_shell.start("ls", "-q", "--url", url)
    try:
        first = listing.stdout.readline()
    finally:
        go_on.set()

    rest = listing.stdout.read()
    assert listing.wait(timeout=60) == 0
    assert sorted((first + rest).decode().split()) == lines(5000)


def test_a_key_that_is_scanned_twice_is_printed_once(own_shell, between):
    """The server may return a key again while its table grows."""

    def on_scan(scans):
        return scans[0] if len(scans) == 3 else scans[-1]

    proxy = between(on_scan)
    found = names(own_shell.run("ls", "-q", "--url", proxy.url))

    assert len(proxy.scans) > 3
    assert sorted(found) == lines(5000)


def test_a_walk_in_steps_is_a_line_of_json_each_and_one_table(own_shell, many):
    found = rows(own_shell.run("ls", "--json"))
    table = own_shell.run("ls").stdout.decode().splitlines()

    assert sorted(one["name"] for one in found) == lines(5000)
    assert table[0].split()[0] == "NAME"
    assert {line.index("latch") for line in table[1:]} == {table[0].index("KIND")}
    assert len(table) == 5001


def test_stores_and_values_are_listed_once_each(shell, server):
    """A value's key has that of the value behind the name, in braces or not."""
    with interlock.connect(server.url) as client:
        for name in ("kv-of-ls", "{kv}-of-ls", "}kv-of-ls"):
            kv = client.kv(name)
            for key in ("a", "b/1", "}/c"):
                kv.put(key, b"x")
        with client.store("store-of-ls").transaction() as transaction:
            transaction["a"] = b"x"

    found = rows(shell.run("ls", "--json", "*-of-ls"))

    assert [(one["name"], one["kind"], one["state"]) for one in found] == [
        ("kv-of-ls", "kv", "in use"),
        ("store-of-ls", "store", "in use"),
        ("{kv}-of-ls", "kv", "in use"),
        ("}kv-of-ls", "kv", "in use"),
    ]


@pytest.mark.parametrize("kind", ["store", "kv"])
def test_they_have_no_state_to_inspect(shell, kind):
    done = shell.run("inspect", "--kind", kind, "orders")

    assert done.returncode == 64
    assert f"a {kind} has no state of its own" in done.stderr.decode()


def test_holders_and_their_number_are_in_one_row(shell, server, name):
    for _ in range(2):
        shell.hold(name, "--shared")
    shell.run("queue", "push", f"{name}.q", "data")
    token = json.loads(shell.run("queue", "reserve", f"{name}.q", "--json").stdout)
    shell.run("event", "set", f"{name}.e")
    words = ("--id", "me", "--", "sh", "-c", "echo in; exec sleep 60")
    member = shell.start("group", "join", f"{name}.g", *words)
    assert member.stdout.readline() == b"in\n"

    done = shell.run("ls", f"{name}*")

    lines = {line.split()[0]: line for line in done.stdout.decode().splitlines()}
    assert re.search(r" readers, 2  +\S+:\d+ ", lines[name])
    assert f"  {token['token'][:16]}  " in lines[f"{name}.q"]
    assert re.search(r" joined  +me  +-  +not known ", lines[f"{name}.g"])
    assert re.search(r" set  +-  +-  +no end ", lines[f"{name}.e"])
