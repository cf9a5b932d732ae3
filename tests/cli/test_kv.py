# SPDX-License-Identifier: MIT
"""`interlock kv`: values of which the newest wins, and `kv move`."""

import contextlib
import json
import os
import pty
import select
import signal
import socket
import threading
import time

import pytest
from shell import wait_until


def test_a_value_is_put_read_and_deleted(shell, name):
    first = shell.run("kv", "put", name, "color", "red")
    assert first.returncode == 0
    second = shell.run("kv", "put", name, "color", "blue", "--fast")
    assert int(second.stdout) > int(first.stdout)
    found = shell.run("kv", "get", name, "color")
    assert (found.returncode, found.stdout) == (0, b"blue")

    gone = shell.run("kv", "delete", name, "color")

    assert int(gone.stdout) > int(second.stdout)
    none = shell.run("kv", "get", name, "color")
    assert (none.returncode, none.stdout) == (1, b"")
    assert b"there is no value" in none.stderr
    assert shell.run("kv", "get", name, "color", "-q").stderr == b""
    assert shell.run("kv", "delete", name, "never").returncode == 0


@pytest.mark.parametrize("word", [[], ["-"]])
def test_a_value_comes_from_standard_input(shell, name, word):
    done = shell.run("kv", "put", name, "k", *word, input=b"a\0\xff\n")

    assert done.returncode == 0
    assert shell.run("kv", "get", name, "k").stdout == b"a\0\xff\n"
    assert shell.run("kv", "put", name, "k", *word, input=b"").returncode == 0
    empty = shell.run("kv", "get", name, "k")
    assert (empty.returncode, empty.stdout) == (0, b"")


def test_too_long_a_value_is_refused(shell, name):
    done = shell.run("kv", "put", name, "k", input=b"x" * 65537)

    assert done.returncode == 64
    assert b"at most 65536 bytes, got 65537" in done.stderr
    assert shell.run("kv", "put", name, "k", input=b"x" * 65536).returncode == 0


def test_name_and_key_may_be_hexadecimal(shell, server, name):
    done = shell.run("kv", "put", "--hex", name.encode().hex(), "00ff", "x")

    assert done.returncode == 0
    key = b"ilk:kv:{%s}/\0\xff" % name.encode()
    assert server.call("HGET", key, "value") == b"x"
    bad = shell.run("kv", "get", "--hex", "61", "xy")
    assert (bad.returncode, b"KEY is not hexadecimal" in bad.stderr) == (64, True)


def test_json_shows_key_version_and_value(shell, name):
    put = json.loads(shell.run("kv", "put", name, "k", "one", "--json").stdout)
    found = json.loads(shell.run("kv", "get", name, "k", "--json").stdout)

    assert found == {**put, "value": "one", "value_hex": b"one".hex()}
    assert (put["kind"], put["name"], put["key"]) == ("kv", name, "k")
    gone = json.loads(shell.run("kv", "delete", name, "k", "--json").stdout)
    assert gone["version"] > put["version"]
    none = shell.run("kv", "get", name, "k", "--json")
    assert none.returncode == 1
    assert json.loads(none.stdout) == {
        **put,
        "version": 0,
        "value": None,
        "value_hex": None,
    }


def test_a_key_of_another_type_is_data(shell, server, name):
    server.call("SET", f"ilk:kv:{{{name}}}/k", "x")

    for words in (["get", name, "k"], ["put", name, "k", "v"], ["delete", name, "k"]):
        assert shell.run("kv", *words).returncode == 65


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "put, get, delete or move?"),
        (["set", "n", "k"], "put, get, delete or move?"),
        (["get"], "NAME is missing"),
        (["get", "n"], "KEY is missing"),
        (["put", "n"], "KEY is missing"),
        (["get", "n", "k", "v"], "one word too many: 'v'"),
        (["put", "n", "k", "v", "w"], "one word too many: 'w'"),
        (["move", "n"], "one word too many: 'n'"),
        (["get", "n", ""], "1 to 512 bytes"),
        (["get", "ilk:n", "k"], "ilk:"),
        (["move", "--rate", "0"], "rate"),
        (["move", "--rate", "1000001"], "rate"),
        (["move", "--resume", ""], "a word of 'kv move'"),
        (["move", "--resume", "0,0,0,0,"], "a word of 'kv move'"),
        (["move", "--resume", "0,0,0,0,,,"], "a word of 'kv move'"),
        (["move", "--resume", "-1,0,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", "x,0,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", ",0,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", "2147483648,0,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", "0,9999999999999999999,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", "0,99999999999999999999,0,0,,"], "a word of 'kv move'"),
        (["move", "--resume", f"0,0,0,0,{'1' * 24},"], "a word of 'kv move'"),
        (["move", "--resume", f"0,0,0,0,,{'1' * 24}"], "a word of 'kv move'"),
    ],
)
def test_bad_words_are_usage(shell, words, text):
    done = shell.run("kv", *words)

    assert (done.returncode, done.stdout) == (64, b"")
    assert text in done.stderr.decode()


# -- move


def test_on_a_single_server_there_is_nothing_to_do(shell):
    done = shell.run("kv", "move")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"0 records found, 0 copied, 0 removed\n"
    resumed = shell.run("kv", "move", "--resume", "0,7,2,1,17,p", "--json")
    assert json.loads(resumed.stdout) == {
        "schema": 1,
        "kind": "kv",
        "servers": 1,
        "looked": 7,
        "copied": 2,
        "removed": 1,
        "resume": None,
    }


def test_a_move_that_fails_says_where_to_go_on(shell):
    word = "5,70,2,1,17,p"

    done = shell.run("kv", "move", "--resume", word)

    assert (done.returncode, done.stdout) == (70, b"")
    assert b"kv_move: no progress" in done.stderr
    assert f"go on there with --resume {word}\n".encode() in done.stderr
    done = shell.run("kv", "move", "--resume", word, "--quiet")
    assert word.encode() in done.stderr
    done = shell.run("kv", "move", "--resume", word, "--json")
    assert json.loads(done.stdout)["resume"] == word


class Mover:
    """Before the server: replies to kv_move as a ring of three servers does."""

    SERVERS, STEPS, RECORDS = 3, 4, 100

    def __init__(self, server, directory):
        self.server = str(server.socket)
        self.path = str(directory / "m")
        self.url = f"unix://{self.path}"
        self.asked = []  # (server, cursor, pass)
        self.fails = False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.ends.set()
        self.thread.join(20)
        self.listener.close()

    def run(self):
        peers = {}
        while not self.ends.is_set():
            for one in select.select([self.listener, *peers], [], [], 0.01)[0]:
                if one is self.listener:
                    client = one.accept()[0]
                    behind = socket.socket(socket.AF_UNIX)
                    behind.connect(self.server)
                    peers.update({client: behind, behind: client})
                    continue
                with contextlib.suppress(OSError):
                    data = one.recv(65536)
                    if b"ilk:kv:node" in data:
                        one.sendall(self.reply(data))
                        continue
                    if data:
                        peers[one].sendall(data)
                        continue
                other = peers.pop(one)
                del peers[other]
                one.close()
                other.close()
        for one in peers:
            one.close()

    def reply(self, data):
        """One step of the pass ``p``: the cursors of a server are 1, 2, 3."""
        words = data.split(b"\r\n")[2::2]
        server, cursor, pass_id, _, number = words[words.index(b"ilk:kv:node") + 1 :]
        self.asked.append((int(server), cursor.decode(), pass_id.decode()))
        if self.fails:
            return b"-ERR the third server is away\r\n"
        step = int(cursor or 0) + 1
        server = int(server) + step // self.STEPS
        return b"*8\r\n:%d\r\n:%d\r\n:%d\r\n%s%s:%d\r\n:2\r\n:1\r\n" % (
            int(number) * 64 + 15,
            self.SERVERS,
            server,
            bulk(b"%d" % step if step < self.STEPS else b""),
            bulk(b"p"),
            self.RECORDS,
        )


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


@pytest.fixture
def mover(server, tmp_path):
    one = Mover(server, tmp_path)
    yield one
    one.stop()


ALL = [(s, str(c or ""), "p") for s in range(3) for c in range(4)]
ALL[0] = (0, "", "")


def test_a_move_goes_through_all_servers(shell, mover):
    done = shell.run("kv", "move", "--rate", "1000000", "--url", mover.url)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"1200 records found, 24 copied, 12 removed\n"
    assert mover.asked == ALL


def test_a_move_keeps_its_rate(shell, mover):
    began = time.monotonic()
    done = shell.run("kv", "move", "--rate", "1000", "--url", mover.url)

    assert (done.returncode, done.stderr) == (0, b"")  # this is no terminal
    assert 1.05 < time.monotonic() - began < 20  # 11 pauses of 100 ms


def test_an_interrupted_move_goes_on_where_it_was(shell, mover):
    running = shell.start("kv", "move", "--rate", "1", "--url", mover.url)
    wait_until(lambda: len(mover.asked) == 1, "the first step")
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)

    assert (running.returncode, out) == (-signal.SIGINT, b"")
    assert err == b"interlock: go on there with --resume 0,100,2,1,1,p\n"
    words = ["--resume", "0,100,2,1,1,p", "--rate", "1000000", "--url", mover.url]
    done = shell.run("kv", "move", *words)
    assert done.stdout == b"1200 records found, 24 copied, 12 removed\n"
    assert mover.asked == ALL


def test_a_server_that_is_away_stops_a_move(shell, mover):
    mover.fails = True
    words = ["--resume", "2,900,18,9,1,p", "--url", mover.url]

    done = shell.run("kv", "move", "--json", *words)

    assert done.returncode == 69
    assert b"the third server is away" in done.stderr
    assert json.loads(done.stdout)["resume"] == "2,900,18,9,1,p"


def test_a_terminal_shows_how_far_it_is(shell, mover):
    ours, theirs = pty.openpty()
    running = shell.start(
        "kv", "move", "--rate", "150", "--url", mover.url, stderr=theirs
    )
    os.close(theirs)
    with open(ours, "rb", buffering=0) as terminal:
        line = terminal.read(1000)
        running.terminate()
        running.communicate(timeout=20)

    assert line.startswith(
        b"interlock: server 1 of 3: 200 records found so far, 4 copied"
    )


def test_a_quiet_move_shows_nothing(shell, mover):
    ours, theirs = pty.openpty()
    words = ["--quiet", "--rate", "150", "--url", mover.url]
    running = shell.start("kv", "move", *words, stderr=theirs)
    wait_until(lambda: len(mover.asked) == 4, "the fourth step")
    assert select.select([ours], [], [], 0)[0] == []
    running.kill()
    running.communicate(timeout=20)
    os.close(theirs)
    os.close(ours)
