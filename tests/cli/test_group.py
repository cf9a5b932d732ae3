# SPDX-License-Identifier: MIT
"""`interlock group`: be a member, list the members, watch them."""

import json
import re
import signal
import subprocess

import pytest
from shell import wait_until

IN = ("--", "sh", "-c", "echo in $INTERLOCK_ID; exec sleep 60")


def join(shell, name, *options):
    """Start a member, and wait until it is in."""
    member = shell.start("group", "join", name, *options, *IN)
    assert member.stdout.readline().startswith(b"in ")
    return member


def listed(shell, name):
    done = shell.run("group", "ls", name)
    assert done.returncode == 0, done
    return sorted(done.stdout.decode().splitlines())


def test_members_are_listed_while_their_commands_run(shell, name):
    one = join(shell, name, "--id", "one", "--data", "10.0.0.1:80")
    join(shell, name, "--id", "two")
    assert listed(shell, name) == ["one\t10.0.0.1:80", "two\t"]

    one.terminate()

    assert one.wait(20) == -signal.SIGTERM
    assert listed(shell, name) == ["two\t"]


def test_the_id_is_host_and_pid_by_default(shell, name):
    member = join(shell, name)

    assert re.fullmatch(rf"\S+:{member.pid}\t", listed(shell, name)[0])


def test_the_status_is_that_of_the_command(shell, name):
    done = shell.run("group", "join", name, "--", "sh", "-c", "exit 3")

    assert done.returncode == 3
    assert listed(shell, name) == []


def test_an_id_that_is_in_is_waited_for_or_not(shell, name):
    first = join(shell, name, "--id", "a")
    words = ("group", "join", name, "--id", "a")

    at_once = shell.run(*words, "--wait", "0", "true")
    assert at_once.returncode == 75
    assert f"group '{name}' has a member with this id" in at_once.stderr.decode()
    assert shell.run(*words, "--wait", "100ms", "true").returncode == 75
    assert (
        shell.run(*words, "--wait", "0", "--conflict-exit-code", "3", "true").returncode
        == 3
    )

    second = shell.start(*words, *IN)
    wait_until(
        lambda: shell.server.call("ZCARD", f"ilk:group:wait:{{{name}}}") == 1, "a wait"
    )
    first.terminate()
    assert second.stdout.readline() == b"in a\n"


def test_the_id_of_a_killed_member_is_free_after_its_lease(shell, name):
    first = join(shell, name, "--id", "a", "--ttl", "1500ms")
    first.kill()

    assert shell.run("group", "join", name, "--id", "a", "true").returncode == 0


def test_a_lost_member_ends_its_command(shell, server, name):
    member = join(shell, name, "--id", "a", "--ttl", "1500ms")

    server.call("DEL", f"ilk:group:{{{name}}}")

    assert member.wait(20) == 76
    assert f"the membership in '{name}' was lost".encode() in member.stderr.read()


def test_without_a_command_it_is_in_until_standard_input_ends(shell, name):
    member = shell.start(
        "group", "join", name, "--id", "a", "--json", stdin=subprocess.PIPE
    )
    found = json.loads(member.stdout.readline())
    assert (found["kind"], found["name"], len(found["token"])) == ("group", name, 32)
    assert listed(shell, name) == ["a\t"]
    member.stdin.close()
    assert member.wait(20) == 0
    assert listed(shell, name) == []

    plain = shell.run("group", "join", name, input=b"")
    assert re.fullmatch(rb"[0-9a-f]{32}\n", plain.stdout)


def test_each_change_is_a_line(shell, name):
    join(shell, name, "--id", "first", "--data", "1\t2")
    watcher = shell.start("group", "watch", name)
    assert watcher.stdout.readline() == b"joined\tfirst\t1\\x092\n"
    second = join(shell, name, "--id", "second")
    assert watcher.stdout.readline() == b"joined\tsecond\t\n"
    second.terminate()
    assert watcher.stdout.readline() == b"left\tsecond\t\n"
    watcher.terminate()
    assert watcher.wait(20) == -signal.SIGTERM


def test_a_watch_ends_when_nothing_has_changed(shell, name):
    assert shell.run("group", "watch", name, "--timeout", "0").returncode == 0
    done = shell.run("group", "watch", name, "--timeout", "50ms")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_json_has_every_byte(shell, server, name):
    join(shell, name, "--id", "a\xe9", "--data", '"x"')
    for words in (("ls", name), ("watch", name, "--timeout", "0")):
        done = shell.run("group", *words, "--json")
        found = json.loads(done.stdout)
        assert bytes.fromhex(found["id_hex"]) == "a\xe9".encode()
        assert bytes.fromhex(found["data_hex"]) == b'"x"'
        assert found.get("change") in (None, "joined")
    hexed = name.encode().hex()
    assert shell.run("group", "ls", hexed, "--hex").stdout != b""


def test_ls_and_inspect_have_groups(shell, name):
    join(shell, name)

    rows = shell.run("ls", name, "--json").stdout.splitlines()
    assert [json.loads(row)["kind"] for row in rows] == ["group"]
    done = shell.run("inspect", name, "--kind", "group", "--json")
    assert json.loads(done.stdout)["members"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("group",),
        ("group", "leave", "x"),
        ("group", "join"),
        ("group", "--id", "a", "join", "x"),
        ("group", "ls"),
        ("group", "ls", "x", "true"),
        ("group", "watch", "x", "--", "true"),
        ("group", "join", "x", "--"),
        ("group", "join", "x", "--ttl", "0", "true"),
        ("group", "join", "x", "--id", "", "true"),
        ("group", "watch", "x", "--timeout", "no"),
    ],
)
def test_senseless_arguments_are_a_usage_error(shell, words):
    done = shell.run(*words)

    assert done.returncode == 64
    assert done.stderr.startswith(b"interlock: ")
