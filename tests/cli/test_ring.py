# SPDX-License-Identifier: MIT
"""`interlock ring`: the nodes of keys. tests/conformance/ring.txt has the answers."""

import json

import pytest

NODES = ["10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211", "10.0.0.4:11211"]


def printed(done):
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode().splitlines()


def test_it_prints_a_line_for_each_key(shell):
    found = printed(shell.run("ring", *NODES, "--", "foo", "user:3", "foo"))

    assert found == ["10.0.0.3:11211", "10.0.0.1:11211", "10.0.0.3:11211"]


def test_it_needs_no_server(shell, tmp_path):
    url = f"unix://{tmp_path}/none"

    assert printed(shell.run("ring", "--url", url, "a", "--", "key")) == ["a"]


def test_copies_are_different_nodes(shell):
    (line,) = printed(shell.run("ring", *NODES, "--copies", "4", "--", "user:1"))

    assert line == "\t".join(NODES[i] for i in (3, 2, 1, 0))


def test_options_stand_before_among_and_behind_the_nodes(shell):
    first = shell.run("ring", "--layout", "tooz", *NODES, "--", "foo")
    among = shell.run("ring", *NODES[:2], "--layout=tooz", *NODES[2:], "--", "foo")
    last = shell.run("ring", *NODES, "--layout", "tooz", "--", "foo")

    assert printed(first) == printed(among) == printed(last) == ["10.0.0.1:11211"]


def test_behind_the_dashes_all_words_are_keys(shell):
    found = shell.run("ring", "a", "b", "--", "--shares", "--", "-x")

    assert len(printed(found)) == 3


def test_weights_are_those_of_the_nodes_in_turn(shell):
    keys = [f"key:{i}" for i in range(300)]
    found = printed(shell.run("ring", "a=1", "b", "--weights", "3,1", "--", *keys))

    assert set(found) == {"a=1", "b"}
    assert 180 < found.count("a=1") < 270


def test_shares_are_those_of_libketama(shell):
    nodes = [f"10.0.2.{i}:1" for i in range(61)]

    fixed = printed(shell.run("ring", *nodes, "--", "k16"))
    shares = printed(shell.run("ring", *nodes, "--shares", "--", "k16"))

    assert (fixed, shares) == (["10.0.2.38:1"], ["10.0.2.37:1"])


def test_json(shell):
    done = shell.run("ring", b"\xff", "--json", "--copies=1", "--", "k\t", "")

    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    assert first == {
        "schema": 1, "kind": "ring", "key": "k\t", "key_hex": "6b09",
        "nodes": [{"node": "\xff", "node_hex": "ff"}],
    }  # fmt: skip
    assert (second["key"], second["key_hex"]) == ("", "")


def test_names_are_printed_for_a_terminal(shell):
    assert printed(shell.run("ring", b"a\tb\x1b", "--", "k")) == [r"a\x09b\x1b"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "NODE is missing"),
        (["--", "key"], "NODE is missing"),
        (["a", "b"], "KEY is missing"),
        (["a", "--"], "KEY is missing"),
        (["a", "a", "--", "k"], "the ring has the node 'a' already"),
        (["", "--", "k"], "1 to 512 bytes"),
        (["n" * 513, "--", "k"], "1 to 512 bytes, got 513"),
        (["a", "--layout", "jump", "--", "k"], "ketama or tooz, got 'jump'"),
        (
            ["a", "--layout", "tooz", "--shares", "--", "k"],
            "--shares needs --layout ketama",
        ),
        (["a", "--copies", "2", "--", "k"], "n must be 1 to 1"),
        (["a", "--copies", "0", "--", "k"], "--copies must be a number from 1"),
        (["a", "b", "--weights", "1", "--", "k"], "must be 2 numbers"),
        (["a", "--weights", "1,2", "--", "k"], "must be 1 numbers"),
        (["a", "--weights", "1,", "--", "k"], "must be 1 numbers"),
        (["a", "--weights", "", "--", "k"], "must be 1 numbers"),
        (["a", "--weights", "0", "--", "k"], "from 1 to 1000000"),
        (["a", "--weights", "1000001", "--", "k"], "from 1 to 1000000"),
        (["a", "--weights", "99999999999999999999", "--", "k"], "from 1 to"),
        (["a", "--weights", "+1", "--", "k"], "from 1 to 1000000"),
        (["a", "--weights", "1x", "--", "k"], "from 1 to 1000000"),
        (["a", "--weights", "26215", "--", "k"], "4194400 points"),
        (["a", "--copes", "1", "--", "k"], "did you mean '--copies'?"),
    ],
)
def test_a_command_line_without_sense_is_64(shell, words, says):
    done = shell.run("ring", *words)

    assert (done.returncode, done.stdout) == (64, b""), done
    assert says.encode() in done.stderr


def test_full_output_is_74(shell):
    with open("/dev/full", "wb") as full:
        done = shell.run("ring", "a", "--", "k", capture_output=False, stdout=full)

    assert done.returncode == 74
