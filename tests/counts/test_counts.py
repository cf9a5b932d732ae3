# SPDX-License-Identifier: MIT
"""The hot paths' cost in instructions: times are noise where others run as well.

The server's are compared with those of SET NX PX and compare-and-delete, which is what a
pair costs redis-py. A count may exceed what recorded.json has by 3 %, the client's
by 10 %, because how often it waits depends on the server's pace; one that became lower
should be recorded. ILK_COUNTS=record writes the file anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from counted import COMPARE_AND_DELETE, CountedServer, count_program, token

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import expand_scripts  # noqa: E402

RECORDED = Path(__file__).with_name("recorded.json")
TIMES = 400
PAIRS = 400
SLACK = {"server": 1.03, "client": 1.10}
CLIENT = "c" * 16
LABEL = "host:1234:worker"
WHO = f"{CLIENT} {LABEL}"


def key(kind, name):
    return f"ilk:{kind}:{{{name}}}"


def keys_of_lock(name):
    kinds = ("fence", "wait", "live", "readers")
    return [name, *(key(f"lock:{kind}", name) for kind in kinds)]


@pytest.fixture(scope="module")
def scripts():
    found, _ = expand_scripts.load(
        expand_scripts.SCRIPTS, [expand_scripts.SCRIPTS / "include"]
    )
    return {script.name: script for script in found}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if not program or not shutil.which("callgrind_control"):
        pytest.skip("SKIPPED COUNTS: it takes redis-server and valgrind")
    counted = CountedServer(tmp_path_factory.mktemp("counted"), program)
    yield counted
    counted.close()


@pytest.fixture(scope="module")
def call(server, scripts):
    def send(pipeline, name, keys, *args):
        send.request += 1
        pipeline.execute_command(
            "EVALSHA", scripts[name].sha1, len(keys), *keys, *args, send.request
        )

    send.request = 0
    for script in scripts.values():
        server.redis.script_load(script.text)
    return send


def works(call, server):
    """The paths that are counted, by their names."""
    lock, waited = keys_of_lock("orders"), keys_of_lock("waited")
    inbox = server.redis.pubsub()
    inbox.subscribe(f"ilk:inbox:{CLIENT}")
    inbox.get_message(timeout=10)
    call.inbox = inbox  # which receives for as long as `call` is used
    lines = iter(range(1, 10**6))

    def acquire(pipeline, keys, number, waits=False):
        entry = f"1 x {CLIENT} x{number}.secretsecret {token(number)} 30000 1 {LABEL}"
        call(pipeline, "lock_acquire", keys, token(number), 30000, WHO, 0,
             entry if waits else "", CLIENT)  # fmt: skip

    def release(pipeline, keys, number):
        call(pipeline, "lock_release", keys, token(number))

    def pair(pipeline, number):
        acquire(pipeline, lock, number)
        release(pipeline, lock, number)

    def hand_over(pipeline, _):
        number = next(lines)
        if number == 1:
            acquire(pipeline, waited, 0)
        acquire(pipeline, waited, number, waits=True)
        release(pipeline, waited, number - 1)

    def permit(pipeline, number):
        keys = [key(kind, "p") for kind in ("semaphore", "semaphore:fence",
                                            "semaphore:wait", "semaphore:live")]  # fmt: skip
        call(pipeline, "semaphore_acquire", keys, token(number), 30000, WHO, 0,
             "", CLIENT, 0, 6000, 5000, 64, 1, 4)  # fmt: skip
        call(pipeline, "semaphore_release", keys, token(number), 5000, 64, 6000, 0)

    def change(pipeline, number):
        keys = [key(kind, "r") for kind in ("register", "register:once",
                                            "register:wait", "register:live")]  # fmt: skip
        call(pipeline, "register_set", keys, token(number), "", "v" * 16, 64)

    def commit(pipeline, number):
        keys = [key("store", "s"), key("store:done", "s"),
                *(f"{key('store:key', 's')}/{letter}" for letter in "abc")]  # fmt: skip
        call(pipeline, "store_commit", keys, token(number), 0, "", 0, *["vvalue"] * 3)

    def put(pipeline, number):
        call(pipeline, "kv_put", [f"{key('kv', 'k')}/a", key("kv:once", "k")],
             token(number), "vvalue", 0)  # fmt: skip

    def message(pipeline, number):
        keys = [key(f"queue{kind}", "q") for kind in (
            "", ":ready", ":wait", ":live", ":delayed", ":leases", ":flight", ":dead",
            ":died")]  # fmt: skip
        call(pipeline, "queue_push", [*keys[:5], f"{key('queue:once', 'q')} {number % 2}"],
             "fifo", 60000, 0, 15000, 1, "v" * 200)  # fmt: skip
        pipeline.delete(f"{key('queue:once', 'q')} {number % 2}")
        call(pipeline, "queue_reserve", keys, token(number), 1, 30000, "fifo", 0, "",
             CLIENT, 15000, 64, 0)  # fmt: skip
        call(pipeline, "job_ack", keys[5:7], f"a 0 {token(number)} 1 1 1 0 ")

    return {
        "a pair": pair,
        "a hand-over, with its entry": hand_over,
        "a permit, taken and returned": permit,
        "a register's change": change,
        "a commit of three keys": commit,
        "a put of a value": put,
        "a message, pushed, reserved and acknowledged": message,
    }


def test_the_cost_of_scripts_on_a_server(server, call, tell):
    compare = server.redis.script_load(COMPARE_AND_DELETE)

    def plain_pair(pipeline, number):
        pipeline.set("plain", token(number), nx=True, px=30000)
        pipeline.evalsha(compare, 1, "plain", token(number))

    records = os.environ.get("ILK_COUNTS") == "record"
    recorded = {} if records else json.loads(RECORDED.read_text())["server"]
    plain = server.least(plain_pair, TIMES, enough=0)
    found = {}
    for name, work in works(call, server).items():
        enough = recorded.get(name, 0) * SLACK["server"] * plain
        found[name] = round(server.least(work, TIMES, enough) / plain, 2)
    check("server", version_of(server), found, tell)


def version_of(server):
    return re.match(r"\d+\.\d+", server.redis.info("server")["redis_version"])[0]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = tmp_path_factory.mktemp("program") / "pairs"
    library = ROOT / "build" / "release" / "lib"
    subprocess.run(
        [os.environ.get("CC", "cc"), "-O2", f"-I{ROOT / 'libcore' / 'include'}",
         str(Path(__file__).with_name("pairs.c")), "-o", str(built), f"-L{library}",
         "-linterlock", f"-Wl,-rpath,{library}"],
        check=True,
    )  # fmt: skip
    return str(built)


def test_the_cost_of_a_pair_in_a_client(server, program, tmp_path, tell):
    url = f"unix://{server.path}"
    some, more = (
        count_program(tmp_path, [program, url, str(pairs)])
        for pairs in (PAIRS, 3 * PAIRS)
    )
    pair = round((more - some) / (2 * PAIRS))
    check("client", version_of(server), {"a pair": pair}, tell)


def check(side, version, found, tell):
    """Compare, or record."""
    recorded = json.loads(RECORDED.read_text())
    if os.environ.get("ILK_COUNTS") == "record":
        recorded.update({"redis-server": version, side: found})
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
    unit = "of a plain pair" if side == "server" else "instructions"
    for name, count in found.items():
        tell(f"{side}: {name}: {count:,} {unit}, recorded {recorded[side].get(name)}")
    if recorded["redis-server"] != version:
        pytest.skip(
            f"SKIPPED COUNTS: recorded with {recorded['redis-server']}, here is {version}"
        )
    worse = {
        name: (count, recorded[side].get(name))
        for name, count in found.items()
        if count > recorded[side].get(name, 0) * SLACK[side]
    }
    assert not worse
