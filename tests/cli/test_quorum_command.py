# SPDX-License-Identifier: MIT
"""`interlock quorum` without the servers of one; tests/topologies has them."""

import pytest
from shell import check_json


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "status or adopt?"),
        (["state"], "status or adopt, not 'state'"),
        (["status", "more"], "one word too many: 'more'"),
        (["adopt"], "which node? give HOST:PORT as in its URL"),
        (["adopt", "a:1", "b:1"], "one word too many: 'b:1'"),
        (["adopt", "a:1"], "is no quorum"),
        (["adopt", "--timeout", "x", "a:1"], "timeout"),
        (["adopt", "a:2", "--url", "redis://a:1,b,c?quorum"], "has no node 'a:2'"),
        (["status"], "is no quorum"),
        (["status", "--url", "redis://a,b?quorum"], "3 to 9 hosts"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_64(shell, words, text):
    done = shell.run("quorum", *words)

    assert (done.returncode, done.stdout) == (64, b"")
    assert text in done.stderr.decode()


def test_without_a_url_it_starts_no_embedded_server(shell):
    env = {key: value for key, value in shell.env.items() if key != "INTERLOCK_URL"}

    done = shell.run("quorum", "status", env=env)

    assert done.returncode == 64
    assert "which quorum?" in done.stderr.decode()


def test_a_quorum_that_cannot_be_reached_has_a_status(shell):
    url = "redis://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?quorum"

    done = shell.run("quorum", "status", "--url", url)

    assert done.returncode == 69
    assert done.stderr == b"interlock: 0 of 3 nodes vote, and 2 must\n"
    lines = done.stdout.decode().splitlines()[1:]
    assert [line.split()[1:4] for line in lines] == [["failed", "-", "-"]] * 3


def test_json_is_as_the_schema_says(shell):
    url = "redis://127.0.0.1:1,[::1]:2,127.0.0.1:3?quorum"

    done = shell.run("quorum", "status", "--json", "--url", url)

    check_json(done.stdout)
    assert b'"address":"[::1]:2"' in done.stdout
