# SPDX-License-Identifier: MIT
"""`interlock queue`: put in, take out, look, clear."""

import json

import pytest
from shell import wait_until


def words(shell, *args, **more):
    done = shell.run("queue", *args, **more)
    assert done.returncode == 0, done
    return done.stdout


def counts(shell, name):
    return json.loads(words(shell, "show", name, "--json"))


def test_push_and_pop_by_separate_processes(shell, name):
    words(shell, "push", name, "first")
    words(shell, "push", name, "second")

    assert words(shell, "len", name) == b"2\n"
    assert words(shell, "peek", name) == b"1\t0\tfirst\n2\t0\tsecond\n"
    assert words(shell, "pop", name) == b"first"
    assert words(shell, "pop", name) == b"second"
    assert shell.run("queue", "pop", name).returncode == 75


@pytest.mark.parametrize("data", [b"", b"a\0b\xff\r\n", b"x" * 100_000])
def test_data_is_any_bytes_through_pipes(shell, name, data):
    words(shell, "push", name, input=data)

    assert words(shell, "pop", name) == data


def test_data_above_the_limit_is_refused(shell, name):
    done = shell.run("queue", "push", name, input=b"x" * (1024 * 1024 + 1))

    assert done.returncode == 64
    assert words(shell, "len", name) == b"0\n"


def test_a_reserved_message_is_finished_by_its_token(shell, name):
    words(shell, "push", name, "job")
    found = json.loads(words(shell, "reserve", name, "--json"))

    assert (found["data"], found["attempts"]) == ("job", 1)
    assert counts(shell, name)["taken"] == 1
    words(shell, "ack", name, found["token"])
    assert shell.run("queue", "ack", name, found["token"]).returncode == 76
    assert counts(shell, name)["finished"] == 1


def test_a_message_given_back_is_delivered_again(shell, name):
    words(shell, "push", name, "job")
    first = json.loads(words(shell, "reserve", name, "--json"))
    words(shell, "nack", name, first["token"])

    again = json.loads(words(shell, "reserve", name, "--json"))
    assert (again["data"], again["attempts"]) == ("job", 2)
    assert shell.run("queue", "ack", name, first["token"]).returncode == 76


def test_the_dead_are_looked_at_put_back_and_thrown_away(shell, name):
    words(shell, "push", name, "bad")
    token = json.loads(words(shell, "reserve", name, "--json"))["token"]
    words(shell, "bury", name, token, "--reason", "no such job")

    dead = json.loads(words(shell, "dead", name, "--json"))
    assert (dead["data"], dead["reason"]) == ("bad", "no such job")
    assert words(shell, "requeue", name) == b"1\n"
    assert words(shell, "len", name) == b"1\n"
    assert words(shell, "purge", name, "all") == b"1\n"
    assert words(shell, "len", name) == b"0\n"


def test_requeue_says_how_many_stay_dead(shell, name):
    for number in range(3):
        words(shell, "push", name, str(number))
        token = json.loads(words(shell, "reserve", name, "--json"))["token"]
        words(shell, "bury", name, token)

    some = shell.run("queue", "requeue", name, "--count", "2")
    rest = shell.run("queue", "requeue", name)

    assert (some.stdout, rest.stdout) == (b"2\n", b"1\n")
    assert some.stderr.startswith(b"interlock: 1 messages are still dead")
    assert rest.stderr == b""


def test_a_consumer_that_waits_gets_what_comes(shell, server, name):
    consumer = shell.start("queue", "pop", name, "--timeout", "forever")
    wait_until(
        lambda: server.call("ZCARD", f"ilk:queue:wait:{{{name}}}") == 1, "a consumer"
    )
    words(shell, "push", name, "woken")

    assert consumer.communicate(timeout=20)[0] == b"woken"


def test_ctrl_c_leaves_no_consumer(shell, server, name):
    consumer = shell.start("queue", "pop", name, "--timeout", "forever")
    line = f"ilk:queue:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", line) == 1, "a consumer")
    consumer.terminate()

    assert consumer.wait(20) == -15
    wait_until(lambda: server.call("ZCARD", line) == 0, "an empty line")


def test_the_same_id_is_pushed_once(shell, name):
    for _ in range(2):
        words(shell, "push", name, "once", "--id", "request-7")

    assert words(shell, "len", name) == b"1\n"


def test_another_order_is_refused(shell, name):
    words(shell, "push", name, "x")

    assert shell.run("queue", "push", name, "y", "--filo").returncode == 65


@pytest.mark.parametrize(
    "args",
    [[], ["shove", "x"], ["pop"], ["ack", "x"], ["ack", "x", "nonsense"],
     ["purge", "x"], ["pop", "x", "y"]],
)  # fmt: skip
def test_bad_words_are_usage(shell, args):
    assert shell.run("queue", *args).returncode == 64


def test_inspect_and_ls_have_queues(shell, name):
    words(shell, "push", name, "x", "--delay", "1h")

    found = json.loads(shell.run("inspect", name, "--kind", "queue", "--json").stdout)
    assert (found["delayed"], found["order"]) == (1, "fifo")
    listed = [json.loads(shell.run("ls", name, "--json").stdout)]
    assert [one["kind"] for one in listed] == ["queue"]
