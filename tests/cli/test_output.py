# SPDX-License-Identifier: MIT
"""inspect, ls, break, server and version: what they print, and their JSON."""

import json
import os
import re
import time

import pytest
from shell import wait_until


def load_all(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def load(done):
    """One line of JSON."""
    assert done.stdout.count(b"\n") == 1, done
    return json.loads(done.stdout.decode("utf-8"))


def test_inspect_of_a_free_name(shell, name):
    found = load(shell.run("inspect", name, "--json"))

    assert (found["name"], found["state"]) == (name, "free")
    assert (found["token"], found["waiters"], found["holders"]) == ("", 0, 0)
    assert (found["lease_ms"], found["since_ms"]) == (None, None)
    assert found["schema"] == 1


def test_inspect_prints_holder_and_wait_queue(shell, server, name):
    holder = shell.hold(name)
    first = shell.wait_in_line(name)
    second = shell.wait_in_line(name)

    found = load(shell.run("inspect", "--json", name))

    assert found["state"] == "held"
    assert found["token"].encode() == server.call("GET", name)
    assert found["holder"].endswith(f":{holder.pid}")
    assert found["waiters"] == 2
    labels = [waiter["label"] for waiter in found["wait_queue"]]
    assert [int(label.rpartition(":")[2]) for label in labels] == [
        first.pid,
        second.pid,
    ]
    waited = [waiter["waited_ms"] for waiter in found["wait_queue"]]
    assert waited == sorted(waited, reverse=True)
    assert 0 <= waited[0] == found["longest_wait_ms"] < 60_000
    clients = [found["client"], *(w["client"] for w in found["wait_queue"])]
    assert len(set(clients)) == 3 and all(clients)
    assert 0 < found["lease_ms"] <= 30_000
    assert abs(found["since_ms"] / 1000 - time.time()) < 60
    assert found["fence"] > 0


def test_inspect_for_people(shell, name):
    holder = shell.hold(name)
    waiter = shell.wait_in_line(name)

    lines = shell.run("inspect", name).stdout.decode().splitlines()
    heads = {line.split()[0]: line.split()[1] for line in lines if line[0] != " "}

    assert (heads["name"], heads["state"]) == (name, "held")
    assert heads["holder"].endswith(f":{holder.pid}")
    assert heads["waiters"] == "1"
    assert f":{waiter.pid}" in lines[-1]
    assert " waited " in lines[-1]


def test_inspect_of_a_foreign_holder(shell, server, name):
    server.call("SET", name, b"redis-py \xff", "PX", 60000)

    found = load(shell.run("inspect", name, "--json"))

    assert found["state"] == "foreign"
    assert bytes.fromhex(found["token_hex"]) == b"redis-py \xff"
    assert found["token"] == "redis-py \u00ff"


def test_inspect_of_readers(shell, name):
    first = shell.hold(name, "--shared")
    second = shell.hold(name, "--shared")

    found = load(shell.run("inspect", name, "--json"))

    assert (found["state"], found["holders"]) == ("readers", 2)
    labels = {int(one["label"].rpartition(":")[2]) for one in found["held_by"]}
    assert labels == {first.pid, second.pid}
    assert all(one["since_ms"] and one["fence"] for one in found["held_by"])


def test_inspect_looks_at_all_kinds(shell, name):
    holder = shell.start(
        "semaphore", name, "--limit", "2", "sh", "-c", "echo in; exec sleep 60"
    )
    assert holder.stdout.readline() == b"in\n"
    leader = shell.start("elect", name, "sh", "-c", "echo in; exec sleep 60")
    assert leader.stdout.readline() == b"in\n"

    found = load_all(shell.run("inspect", name, "--json"))

    assert [(one["kind"], one["state"]) for one in found] == [
        ("semaphore", "held"),
        ("election", "led"),
    ]
    for one, process in zip(found, (holder, leader)):
        assert one["holder"].endswith(f":{process.pid}")
        assert abs(one["since_ms"] / 1000 - time.time()) < 60
        assert one["held_by"][0]["client"] == one["client"] != ""


def test_inspect_of_several_names(shell, name):
    shell.hold(f"{name}.a")

    found = load_all(shell.run("inspect", f"{name}.a", f"{name}.b", "--json"))

    assert [(one["name"], one["state"]) for one in found] == [
        (f"{name}.a", "held"),
        (f"{name}.b", "free"),
    ]


def test_every_kind_has_the_same_members(shell, name):
    shell.run("queue", "push", name, "x")
    shell.run("register", "set", name, "x")
    shell.run("event", "set", name, "x")
    shell.hold(name)
    kinds = ["lock", "event", "queue", "register"]

    found = load_all(shell.run("inspect", name, "--json"))
    listed = load_all(shell.run("ls", name, "--json"))

    assert [one["kind"] for one in found] == kinds
    common = list(found[0])
    assert all(list(one)[: len(common)] == common for one in found)
    for one in found:
        (same,) = [other for other in listed if other["kind"] == one["kind"]]
        assert list(same) == list(one)


def test_the_consumer_of_a_reserved_message_is_shown(shell, name):
    shell.run("queue", "push", name, "x")
    done = json.loads(shell.run("queue", "reserve", name, "--json").stdout)

    found = load(shell.run("inspect", name, "--kind", "queue", "--json"))

    (consumer,) = found["held_by"]
    assert done["token"].startswith(consumer["token"])
    assert consumer["token"].startswith(consumer["client"]) and consumer["client"]
    assert (consumer["permits"], found["taken"], found["holders"]) == (1, 1, 1)
    assert 0 < consumer["lease_ms"] <= 30_000


def test_inspect_of_a_key_that_is_no_lock_is_65(shell, server, name):
    server.call("SADD", name, "x")

    assert shell.run("inspect", name).returncode == 65


ODD = [
    b"plain",
    b'"quoted" and \\back\\',
    b"tab\tnewline\nreturn\r",
    b"\x01\x02\x1f\x7f",
    "größe \u2028 \U0001f512".encode(),
    b"\xff\xfe not utf-8",
    b"\xc0\xaf overlong",
    b"\xed\xa0\x80 surrogate",
    b"\xf4\x90\x80\x80 beyond",
    b"cut \xe2\x82",
    "\u009b2J \u202eright to left \u2066 \U000e0041 \u200b".encode(),
]
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e0fff]"
)


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_name_steers_a_terminal(shell, name, odd):
    raw = name.encode() + odd
    assert shell.run("lock", raw, "true").returncode == 0

    for words in (["ls", f"{name}*"], ["inspect", raw]):
        for json_too in ([], ["--json"]):
            done = shell.run(*words, *json_too)
            assert not HIDDEN.search(done.stdout.decode("utf-8"))  # and it is UTF-8


@pytest.mark.parametrize("odd", [one for one in ODD if b"\n" not in one])
def test_no_message_steers_a_terminal(shell, odd):
    done = shell.run("lock", b"--" + odd, "x", "true")

    assert done.returncode == 64
    assert not HIDDEN.search(done.stderr.decode("utf-8"))


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_json_is_valid_whatever_the_name(shell, odd):
    raw = b"cli." + os.urandom(3).hex().encode() + odd

    found = load(shell.run("inspect", raw, "--json"))

    assert bytes.fromhex(found["name_hex"]) == raw
    try:
        assert found["name"] == raw.decode("utf-8")
    except UnicodeDecodeError:
        assert found["name"] == raw.decode("latin-1")


def test_ls_lists_what_is_held_and_what_was(shell, name):
    shell.hold(f"{name}.held")
    shell.run("lock", f"{name}.was", "true")

    found = load_all(shell.run("ls", f"{name}.*", "--json"))

    assert {one["name"]: one["state"] for one in found} == {
        f"{name}.held": "held",
        f"{name}.was": "free",
    }


def test_ls_takes_a_pattern(shell, name):
    for end in ("a", "b"):
        shell.run("lock", f"{name}.{end}", "true")

    assert [
        one["name"] for one in load_all(shell.run("ls", "--json", f"{name}.b"))
    ] == [f"{name}.b"]
    assert load_all(shell.run("ls", "--json", f"{name}.nothing")) == []


def test_ls_json_is_valid_whatever_the_names(shell, name):
    raw = [name.encode() + b"." + odd for odd in ODD]
    for one in raw:
        assert shell.run("lock", one, "true").returncode == 0

    found = load_all(shell.run("ls", "--json", f"{name}.*"))

    assert {bytes.fromhex(one["name_hex"]) for one in found} == set(raw)


def test_ls_for_people_has_columns(shell, name):
    holder = shell.hold(f"{name}.gr\u00f6\u00dfe")
    shell.run("lock", f"{name}.b\x1b", "true")

    table = shell.run("ls", f"{name}.*").stdout.decode().splitlines()
    table[1:] = sorted(table[1:])

    heads = ["NAME", "KIND", "STATE", "HOLDER", "SINCE", "LEASE", "WAITERS", "FENCE"]
    assert table[0].split() == heads
    assert table[1].startswith(f"{name}.b\\x1b ")
    assert (
        len({line.index(word) for line, word in zip(table, ["STATE", "free", "held"])})
        == 1
    )
    assert f":{holder.pid} " in table[2]


def test_ls_held_leaves_out_what_nobody_holds(shell, name):
    shell.hold(f"{name}.held")
    shell.run("lock", f"{name}.was", "true")
    shell.run("queue", "push", f"{name}.queue", "x")
    words = ("ls", f"{name}.*", "--held")

    found = load_all(shell.run(*words, "--json"))

    assert [one["name"] for one in found] == [f"{name}.held"]
    assert shell.run(*words, "-q").stdout.decode() == f"{name}.held\n"


def test_ls_counts_the_messages_of_queues(shell, name):
    shell.run("queue", "push", name, "x")
    shell.run("queue", "push", name, "y", "--delay", "1h")

    table = shell.run("ls", name).stdout.decode()

    assert "1 ready, 1 delayed, 0 taken, 0 dead" in table


def test_ls_quiet_prints_names_only(shell, name):
    shell.run("lock", f"{name}.a\\", "true")

    assert shell.run("ls", "-q", f"{name}.*").stdout.decode() == f"{name}.a\\\\\n"


def test_ls_goes_on_past_a_key_that_is_no_lock(shell, server, name):
    shell.run("lock", name, "true")
    server.call("RPUSH", name, "x")

    found = load_all(shell.run("ls", "--json", name))

    assert [one["state"] for one in found] == ["other"]


def test_break_takes_the_lock_away(shell, server, name):
    server.call("SET", name, "0123456789abcdef" * 2, "PX", "60000")

    done = shell.run("break", name)

    assert (done.returncode, done.stdout) == (0, b"")
    assert server.call("EXISTS", name) == 0


def test_break_of_what_nobody_holds_is_1(shell, name):
    done = shell.run("break", name, "--json")

    assert done.returncode == 1
    assert load(done) == {
        "schema": 1,
        "kind": "lock",
        "name": name,
        "name_hex": name.encode().hex(),
        "broken": False,
    }


def test_break_respects_the_token(shell, server, name):
    server.call("SET", name, "right")

    assert shell.run("break", name, "--token", "wrong").returncode == 1
    assert server.call("GET", name) == b"right"
    assert load(shell.run("break", name, "--token", "right", "--json"))["broken"]
    assert server.call("EXISTS", name) == 0


def test_break_lets_the_first_who_waits_in(shell, name):
    shell.hold(name)
    waiter = shell.wait_in_line(name)

    shell.run("break", name)

    assert waiter.communicate(timeout=20)[0] == b"mine\n"


def test_version(shell):
    text = shell.run("version").stdout.decode().split()
    found = load(shell.run("version", "--json"))

    assert text[0] == "interlock"
    assert text[1] == found["program"] == found["library"]
    assert shell.run("--version").stdout == shell.run("version").stdout


def test_full_output_is_74(shell):
    with open("/dev/full", "wb") as full:
        assert shell.run("version", capture_output=False, stdout=full).returncode == 74


@pytest.fixture
def embedded(shell, tmp_path):
    """The URL of an embedded server that belongs to this test."""
    url = f"embedded://{tmp_path}/home"
    yield url
    shell.run("server", "stop", "--url", url)


def test_server_status_prints_whether_it_runs(shell, embedded, name):
    before = shell.run("server", "status", "--url", embedded, "--json")
    holder = shell.hold(name, "--url", embedded)
    during = shell.run("server", "status", "--url", embedded, "--json")
    holder.terminate()
    holder.wait(timeout=20)

    assert (before.returncode, load(before)["running"]) == (1, False)
    assert (during.returncode, load(during)["running"]) == (0, True)
    assert load(during)["pid"] > 0
    assert os.path.basename(load(during)["program"]) != ""


def test_server_stop_ends_it(shell, embedded, name):
    shell.hold(name, "--url", embedded)
    pid = load(shell.run("server", "status", "--url", embedded, "--json"))["pid"]

    done = shell.run("server", "stop", "--url", embedded, "--json")

    assert (done.returncode, load(done)) == (
        0,
        {"schema": 1, "kind": "server", "running": False},
    )
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the server's end")
