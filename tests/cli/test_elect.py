# SPDX-License-Identifier: MIT
"""`interlock elect`: CMD only while leading."""

import json
import signal
import socket

from shell import wait_until

LEAD = ("--", "sh", "-c", "echo leads $INTERLOCK_FENCE; exec sleep 60")


def term_of(candidate):
    """Wait until it leads; the term."""
    word, term = candidate.stdout.readline().split()
    assert word == b"leads"
    return int(term)


def look(shell, name):
    done = shell.run("inspect", name, "--kind", "election", "--json")
    return json.loads(done.stdout)


def stand_by(shell, name, *options):
    before = look(shell, name)["waiters"]
    candidate = shell.start("elect", name, *options, *LEAD)
    wait_until(lambda: look(shell, name)["waiters"] == before + 1, "a candidate")
    return candidate


def test_the_next_leads_when_the_leader_resigns(shell, name):
    leader = shell.start("elect", name, "--value", "host-a", *LEAD)
    first = term_of(leader)
    next_one = stand_by(shell, name)

    found = look(shell, name)
    assert (found["term"], found["value"]) == (first, "host-a")
    leader.terminate()
    assert term_of(next_one) > first
    assert leader.wait(20) == -signal.SIGTERM


def test_the_next_leads_when_the_leader_is_killed(shell, name):
    leader = shell.start("elect", name, "--ttl", "1500ms", *LEAD)
    first = term_of(leader)
    next_one = stand_by(shell, name, "--ttl", "1500ms")

    leader.kill()
    assert term_of(next_one) > first


def test_a_deposed_leader_starts_the_command_again_at_its_next_election(
    shell, server, name
):
    leader = shell.start("elect", name, "--ttl", "1500ms", *LEAD)
    first = term_of(leader)

    server.call("DEL", f"ilk:election:{{{name}}}")
    assert term_of(leader) > first


def test_a_signal_for_the_command_ends_no_candidacy(shell, server, name):
    trapped = "trap 'echo got it' USR1; echo leads $INTERLOCK_FENCE"
    command = ("--", "sh", "-c", f"{trapped}; while :; do sleep 0.1; done")
    leader = shell.start("elect", name, "--ttl", "1500ms", *command)
    first = term_of(leader)

    leader.send_signal(signal.SIGUSR1)
    assert leader.stdout.readline() == b"got it\n"

    server.call("DEL", f"ilk:election:{{{name}}}")
    assert term_of(leader) > first


def test_once_ends_with_the_leadership(shell, server, name):
    leader = shell.start("elect", name, "--once", "--ttl", "1500ms", *LEAD)
    term_of(leader)

    server.call("DEL", f"ilk:election:{{{name}}}")
    assert leader.wait(20) == 76
    assert f"the leadership of '{name}' was lost".encode() in leader.stderr.read()


def test_a_command_that_ends_resigns(shell, name):
    assert shell.run("elect", name, "--", "sh", "-c", "exit 3").returncode == 3
    assert shell.run("elect", name, "--wait", "0", "true").returncode == 0


def test_not_elected_in_time(shell, name):
    term_of(shell.start("elect", name, *LEAD))

    assert shell.run("elect", name, "--wait", "100ms", "true").returncode == 75
    done = shell.run("elect", name, "--wait", "0", "--conflict-exit-code", "3", "true")
    assert done.returncode == 3


def test_an_identity_leads_on_in_its_term(shell, name):
    words = ("elect", name, "--identity", "me", "--ttl", "20s", *LEAD)
    leader = shell.start(*words)
    first = term_of(leader)
    leader.kill()
    leader.wait(20)

    assert term_of(shell.start(*words)) == first


def test_ls_has_elections(shell, name):
    term = term_of(shell.start("elect", name, *LEAD))

    found = [json.loads(shell.run("ls", name, "--json").stdout)]
    told = [(one["kind"], one["state"], one["fence"]) for one in found]
    assert told == [("election", "led", term)]


def fields(observer):
    return observer.stdout.readline().decode().rstrip("\n").split("\t")


def test_observe_ends_after_its_wait(shell, name):
    leader = shell.start("elect", name, *LEAD)
    term = term_of(leader)

    now = shell.run("elect", name, "--observe", "--wait", "0")
    soon = shell.run("elect", name, "--observe", "--wait", "100ms")

    for done in (now, soon):
        assert done.returncode == 0, done.stderr
        (line,) = done.stdout.decode().splitlines()
        assert line.split("\t")[:2] == [str(term), "led"]


def test_observe_follows_the_leaders(shell, name):
    observer = shell.start("elect", name, "--observe")
    assert fields(observer) == ["0", "vacant"]

    leader = shell.start("elect", name, "--value", "host-a\t", *LEAD)
    first = term_of(leader)
    assert fields(observer) == [str(first), "led", fields_label(leader), "host-a\\x09"]
    leader.terminate()
    assert fields(observer) == [str(first), "vacant"]
    second = shell.start("elect", name, *LEAD)
    term = term_of(second)
    assert fields(observer)[:3] == [str(term), "led", fields_label(second)]

    observer.send_signal(signal.SIGINT)
    assert observer.wait(20) == -signal.SIGINT
    assert observer.stdout.read() == b""


def fields_label(candidate):
    return f"{socket.gethostname()}:{candidate.pid}"


def test_observe_in_json_line_by_line(shell, name):
    leader = shell.start("elect", name, "--value", "v", *LEAD)
    term = term_of(leader)
    observer = shell.start("elect", name, "--observe", "--json")

    found = json.loads(observer.stdout.readline())
    leader.terminate()
    vacant = json.loads(observer.stdout.readline())

    assert (found["kind"], found["name"], found["state"]) == ("election", name, "led")
    assert (found["term"], found["value"]) == (term, "v")
    assert (vacant["term"], vacant["state"]) == (term, "vacant")


def test_observe_ends_when_nobody_reads(shell, name):
    observer = shell.start("elect", name, "--observe")
    observer.stdout.readline()
    observer.stdout.close()

    term_of(shell.start("elect", name, *LEAD))

    assert observer.wait(20) == 74


def test_observe_takes_no_command(shell, name):
    assert shell.run("elect", name, "--observe", "true").returncode == 64
