# SPDX-License-Identifier: MIT
"""`interlock break` of semaphores and barriers; test_output.py has the lock."""

import json
import os
import selectors
import socket
import subprocess
import sys
import threading

import pytest
from shell import wait_until

IN = ("--", "sh", "-c", "echo in; exec sleep 60")


def hold(shell, name, *options):
    words = ("--limit", "3", "--ttl", "1500ms", *options, *IN)
    holder = shell.start("semaphore", name, *words)
    assert holder.stdout.readline() == b"in\n"
    return holder


def look(shell, name, kind):
    return json.loads(shell.run("inspect", name, "--kind", kind, "--json").stdout)


def test_all_holders_lose_their_permits(shell, name):
    holders = [hold(shell, name, "--permits", "2"), hold(shell, name)]

    done = shell.run("break", name, "--kind", "semaphore", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["broken"] is True
    assert look(shell, name, "semaphore")["used"] == 0
    assert [holder.wait(timeout=20) for holder in holders] == [76, 76]


def test_the_first_who_waits_gets_them(shell, name):
    hold(shell, name, "--permits", "3")
    waiter = shell.start("semaphore", name, "--limit", "3", "echo", "mine")
    wait_until(lambda: look(shell, name, "semaphore")["waiters"] == 1, "a waiter")

    shell.run("break", name, "--kind", "semaphore")

    assert waiter.communicate(timeout=20)[0] == b"mine\n"


def test_one_token_of_a_semaphore(shell, name):
    first, second = hold(shell, name), hold(shell, name)
    (token,) = [
        each["token"]
        for each in look(shell, name, "semaphore")["held_by"]
        if each["label"].endswith(f":{second.pid}")
    ]
    words = ("break", name, "--kind", "semaphore", "--token")

    assert shell.run(*words, token).returncode == 0
    assert shell.run(*words, token).returncode == 1
    assert second.wait(timeout=20) == 76
    assert look(shell, name, "semaphore")["used"] == 1
    assert first.poll() is None


PARTY = """
import sys, interlock
with interlock.connect(sys.argv[1]) as client:
    try:
        client.barrier(sys.argv[2], 2).wait()
    except interlock.BrokenError:
        print("broken")
"""


def test_the_round_of_a_barrier_is_broken(shell, server, name):
    words = [sys.executable, "-c", PARTY, server.url, name]
    party = subprocess.Popen(words, stdout=subprocess.PIPE)
    wait_until(lambda: look(shell, name, "barrier")["waiters"] == 1, "a party")

    assert shell.run("break", name, "--kind", "barrier").returncode == 0

    assert party.communicate(timeout=20)[0] == b"broken\n"


def test_the_next_candidate_leads(shell, name):
    leader = shell.start("elect", name, "--ttl", "1500ms", *IN)
    assert leader.stdout.readline() == b"in\n"
    waiter = shell.start("elect", name, "echo", "mine")
    wait_until(lambda: look(shell, name, "election")["waiters"] == 1, "a candidate")

    assert shell.run("break", name, "--kind", "election").returncode == 0

    assert waiter.stdout.readline() == b"mine\n"
    assert waiter.wait(timeout=20) == 0
    assert leader.stdout.readline() == b"in\n"  # it leads again after the waiter


def test_without_a_kind_it_is_the_one_that_is_held(shell, name):
    holder = hold(shell, name)

    assert shell.run("break", name).returncode == 0

    assert holder.wait(timeout=20) == 76


def test_without_a_kind_several_that_are_held_are_refused(shell, name):
    holder = hold(shell, name)
    shell.hold(name)

    done = shell.run("break", name)

    assert done.returncode == 64
    assert b"--kind" in done.stderr
    assert look(shell, name, "semaphore")["used"] == 1
    assert look(shell, name, "lock")["state"] == "held"
    assert holder.poll() is None


@pytest.mark.parametrize("kind", ["semaphore", "election", "barrier"])
def test_a_free_name_is_1(shell, name, kind):
    done = shell.run("break", name, "--kind", kind, "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["broken"] is False


@pytest.mark.parametrize(
    "args",
    [["x", "--kind", "queue"],
     ["x", "--kind", "barrier", "--token", "t"]],
)  # fmt: skip
def test_bad_words_are_usage(shell, args):
    assert shell.run("break", *args).returncode == 64


@pytest.mark.parametrize(
    "set_it",
    [
        ("SET", "{}", "999"),
        ("SET", "{}", "999", "PX", "60000"),
        ("SET", "{}", "0123456789abcdef0123456789abcdef"),
        ("HSET", "{}", "price", "7"),
    ],
)
def test_data_of_a_program_is_left_alone(shell, server, name, set_it):
    server.call(*(word.format(name) for word in set_it))
    before = server.call("DUMP", name)

    for words in ((), ("--kind", "lock")):
        done = shell.run("break", name, *words)
        assert done.returncode == 65
        assert b"which is no lock of ours or of a library" in done.stderr
        assert server.call("DUMP", name) == before

    assert shell.run("break", name, "--foreign").returncode == 0
    assert server.call("EXISTS", name) == 0


@pytest.mark.parametrize(
    "token",
    [
        "0123456789abcdef0123456789abcdef",
        "MDEyMzQ1Njc4OWFiY2RlZg==",
        "4f5a1c9e-1111-4222-8333-0123456789ab",
        "abcdefghijklmnopqrstuv",
    ],
)
def test_locks_of_libraries_are_broken(shell, server, name, token):
    server.call("SET", name, token, "PX", "60000")

    assert shell.run("break", name).returncode == 0
    assert server.call("EXISTS", name) == 0


class Meddler:
    """Stands between the command and the server, and does something when the server has
    replied with a text, before the command has that reply."""

    def __init__(self, directory, server, text, then):
        self.server, self.text, self.then = server, text, then
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(directory / "m"))
        self.listener.listen()
        self.url = f"unix://{directory / 'm'}"
        self.ends, self.ended = {}, os.pipe()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(self.ended[0], selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def accept(self):
        client = self.listener.accept()[0]
        beyond = socket.socket(socket.AF_UNIX)
        beyond.connect(str(self.server.socket))
        self.ends |= {client: beyond, beyond: client}
        for one in (client, beyond):
            self.selector.register(one, selectors.EVENT_READ)

    def pass_on(self, end):
        data = end.recv(65536)
        if self.then and self.text in data:
            self.then()
            self.then = None
        if data:
            self.ends[end].sendall(data)
            return
        for one in (end, self.ends[end]):
            self.selector.unregister(one)
            one.close()

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fd == self.ended[0]:
                    return
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj.fileno() >= 0:
                    self.pass_on(key.fileobj)

    def stop(self):
        os.close(self.ended[1])
        self.thread.join()
        for one in (*self.ends, self.listener):
            one.close()
        os.close(self.ended[0])


@pytest.mark.parametrize("words", [(), ("--kind", "lock"), ("--foreign",)])
def test_a_holder_that_comes_after_the_look_is_left_alone(
    shell, server, name, tmp_path, words
):
    shell.hold(name)
    token = server.call("GET", name)
    others = Meddler(tmp_path, server, token, lambda: server.call("SET", name, "999"))

    done = shell.run("break", name, *words, "--url", others.url)

    others.stop()
    assert done.returncode == 1
    assert server.call("GET", name) == b"999"
    assert b"has changed" in done.stderr


def test_a_leader_who_comes_after_the_look_is_left_alone(shell, server, name, tmp_path):
    leader = shell.start("elect", name, *IN)
    assert leader.stdout.readline() == b"in\n"
    token, key = look(shell, name, "election")["token"], f"ilk:election:{{{name}}}"
    others = Meddler(
        tmp_path, server, token.encode(), lambda: server.call("SET", key, "another")
    )

    done = shell.run("break", name, "--kind", "election", "--url", others.url)

    others.stop()
    assert done.returncode == 1
    assert server.call("GET", key) == b"another"


def test_all_readers_are_ended(shell, name):
    readers = [shell.hold(name, "--shared", "--ttl", "1500ms") for _ in range(3)]

    assert shell.run("break", name).returncode == 0

    assert look(shell, name, "lock")["state"] == "free"
    assert [reader.wait(timeout=20) for reader in readers] == [76] * 3
