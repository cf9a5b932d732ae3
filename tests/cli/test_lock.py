# SPDX-License-Identifier: MIT
"""`interlock lock`: exit statuses, environment, waiting, and the lock itself."""

import json
import os
import signal
import subprocess
import time

import pytest
from shell import find_program, wait_until


def test_exit_status_is_that_of_the_command(shell, name):
    assert shell.run("lock", name, "--", "sh", "-c", "exit 7").returncode == 7
    assert shell.run("lock", name, "true").returncode == 0


def test_exit_status_after_a_signal_is_128_plus_its_number(shell, name):
    done = shell.run("lock", name, "--", "sh", "-c", "kill -KILL $$")

    assert done.returncode == 128 + signal.SIGKILL


def test_streams_are_the_command_s(shell, name):
    done = shell.run("lock", name, "--", "sh", "-c", "cat; echo no >&2", input=b"in")

    assert (done.stdout, done.stderr) == (b"in", b"no\n")


def test_command_finds_name_token_and_fence(shell, server, name):
    script = 'echo "$INTERLOCK_NAME $INTERLOCK_TOKEN $INTERLOCK_FENCE"; read line'
    holder = shell.start("lock", name, "--", "sh", "-c", script, stdin=subprocess.PIPE)

    seen, token, fence = holder.stdout.readline().split()

    assert seen == name.encode()
    assert token == server.call("GET", name)
    assert fence == server.call("HGET", f"ilk:lock:fence:{{{name}}}", "fence")
    holder.communicate(b"\n")


def test_lock_is_released_after_the_command(shell, server, name):
    shell.run("lock", name, "true", timeout=10)

    assert server.call("EXISTS", name) == 0


def test_lock_is_released_when_the_command_cannot_run(shell, server, name):
    assert shell.run("lock", name, "/nowhere/program").returncode == 127
    assert server.call("EXISTS", name) == 0


def test_command_not_found_is_127(shell, name):
    done = shell.run("lock", name, "no-such-command-anywhere")

    assert done.returncode == 127
    assert b"no-such-command-anywhere" in done.stderr


def test_command_not_executable_is_126(shell, name, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program\n")

    assert shell.run("lock", name, str(plain)).returncode == 126


def test_held_elsewhere_is_75_at_once(shell, name):
    shell.hold(name)

    done = shell.run("lock", name, "--wait", "0", "echo", "mine")

    assert (done.returncode, done.stdout) == (75, b"")
    assert done.stderr.startswith(b"interlock: ")


def test_held_elsewhere_is_75_after_the_time_given(shell, server, name):
    shell.hold(name)
    began = time.monotonic()

    done = shell.run("lock", name, "--wait", "300ms", "echo", "mine")

    assert (done.returncode, done.stdout) == (75, b"")
    assert 0.25 <= time.monotonic() - began < 5
    assert server.waiters(name) == 0


@pytest.mark.parametrize("code", [0, 3, 255])
def test_conflict_exit_code_replaces_75(shell, name, code):
    shell.hold(name)
    option = f"--conflict-exit-code={code}"

    done = shell.run("lock", name, option, "--wait", "0", "echo", "mine")

    assert (done.returncode, done.stdout) == (code, b"")


def test_conflict_exit_code_leaves_other_ends_alone(shell, name):
    option = "--conflict-exit-code=3"

    assert shell.run("lock", name, option, "sh", "-c", "exit 9").returncode == 9
    assert shell.run("lock", name, option, "no-such-command").returncode == 127


@pytest.mark.parametrize("wait", [["--wait", "forever"], [], ["--wait", "30s"]])
def test_waiter_gets_the_lock_when_it_is_released(shell, name, wait):
    holder = shell.hold(name)
    waiter = shell.wait_in_line(name, *wait)

    holder.terminate()

    assert waiter.communicate(timeout=20)[0] == b"mine\n"
    assert waiter.returncode == 0


def test_two_commands_never_overlap(shell, name, tmp_path):
    script = 'mkdir "$0" && sleep 0.02 && rmdir "$0"'
    where = str(tmp_path / "busy")
    many = [shell.start("lock", name, "sh", "-c", script, where) for _ in range(6)]

    assert [one.wait(timeout=30) for one in many] == [0] * 6


def test_options_may_stand_on_both_sides_of_the_name(shell, name):
    done = shell.run("lock", "--ttl", "5s", name, "--wait=0", "--", "echo", "--ttl")

    assert (done.returncode, done.stdout) == (0, b"--ttl\n")


def test_words_of_the_command_are_no_options(shell, name):
    assert shell.run("lock", name, "echo", "--help", "-x").stdout == b"--help -x\n"


def test_lease_is_that_of_ttl(shell, server, name):
    shell.hold(name, "--ttl", "2m")

    assert 100_000 < server.call("PTTL", name) <= 120_000


def test_lease_is_renewed_while_the_command_runs(shell, server, name):
    holder = shell.hold(name, "--ttl", "1500ms")

    time.sleep(2.5)  # the lease must outlive itself: there is nothing to wait for

    assert holder.poll() is None
    assert server.call("PTTL", name) > 0


def test_shared_locks_go_together_and_exclude_the_other_side(shell, name):
    shell.hold(name, "--shared")
    both = shell.run("lock", name, "--shared", "--wait", "0", "echo", "both")
    alone = shell.run("lock", name, "--wait", "0", "true")

    assert both.stdout == b"both\n"
    assert alone.returncode == 75


def test_barging_passes_those_who_wait(shell, server, name):
    """The first waiter was woken, but does not run: the lock itself is free."""
    holder = shell.hold(name, "--barge")
    waiter = shell.wait_in_line(name)
    waiter.send_signal(signal.SIGSTOP)
    holder.terminate()
    holder.wait(timeout=20)
    assert server.call("EXISTS", name) == 0

    barging = shell.run("lock", name, "--wait", "0", "--barge", "true")
    polite = shell.run("lock", name, "--wait", "0", "true")

    assert (polite.returncode, barging.returncode) == (75, 0)


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"a b\n*{}", "größe".encode(), b"x}{t"])
def test_names_are_the_bytes_of_argv(shell, server, raw):
    script = 'printf %s "$INTERLOCK_NAME"; exec sleep 60'
    holder = shell.start("lock", raw, "--", "sh", "-c", script)

    assert holder.stdout.read(len(raw)) == raw
    assert server.call("EXISTS", raw) == 1


def test_hexadecimal_name_may_have_a_nul(shell, server):
    raw = b"cli\0nul" + os.urandom(4)
    holder = shell.hold(raw.hex(), "--hex")

    assert server.call("EXISTS", raw) == 1
    holder.terminate()
    wait_until(lambda: server.call("EXISTS", raw) == 0, "the release")


@pytest.mark.parametrize("wrong", ["", "ilk:own", "n" * 513])
def test_name_that_is_refused_is_64(shell, wrong):
    done = shell.run("lock", wrong, "true")

    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"interlock: ")


def test_key_that_is_no_lock_is_65(shell, server, name):
    server.call("RPUSH", name, "x")

    assert shell.run("lock", name, "--wait", "0", "true").returncode == 65


def test_unreachable_server_is_69(shell, name, tmp_path):
    done = shell.run("lock", "--url", f"unix://{tmp_path}/none", name, "true")

    assert (done.returncode, done.stdout) == (69, b"")
    assert done.stderr.count(b"\n") == 1


def test_the_command_is_on_the_same_server(shell, server, name, tmp_path):
    inner = 'interlock inspect "$INTERLOCK_NAME" --json'
    script = f"PATH={os.path.dirname(find_program())}:$PATH; {inner}"
    file = tmp_path / "url"
    file.write_text(server.url)

    for option in (("--url", server.url), ("--url-file", str(file))):
        words = ("lock", name, *option, "--", "sh", "-c", script)
        done = shell.run(*words, env={**shell.env, "INTERLOCK_URL": ""})
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["state"] == "held"


def test_url_option_wins_over_the_environment(shell, name, tmp_path):
    env = {**shell.env, "INTERLOCK_URL": f"unix://{tmp_path}/none"}
    url = shell.server.url

    assert shell.run("lock", name, "true", env=env).returncode == 69
    assert shell.run("lock", "--url", url, name, "true", env=env).returncode == 0
    assert shell.run("--url", url, "lock", name, "true", env=env).returncode == 0


USAGE = [
    [],
    ["lock"],
    ["lock", "n", "--"],
    ["lock", "--ttl"],
    ["lock", "n", "--ttl", "0", "true"],
    ["lock", "n", "--ttl", "-5", "true"],
    ["lock", "n", "--ttl", "2ms", "true"],
    ["elect", "n", "--ttl", "1ms", "true"],
    ["semaphore", "n", "--limit", "1", "--ttl", "1ms", "true"],
    ["queue", "reserve", "n", "--lease", "2ms"],
    ["lock", "n", "--ttl", "5x", "true"],
    ["lock", "n", "--ttl", "", "true"],
    ["lock", "n", "--ttl", "99999999999999999999", "true"],
    ["lock", "n", "--ttl", "400d", "true"],
    ["lock", "n", "--wait", "soon", "true"],
    ["lock", "n", "--conflict-exit-code", "256", "true"],
    ["lock", "n", "--shared", "--barge", "true"],
    ["lock", "--no-renew=yes", "n", "true"],
    ["lock", "--hex", "4", "true"],
    ["lock", "--hex", "zz", "true"],
    ["lock", "--nonsense", "n", "true"],
    ["lock", "-z", "n", "true"],
    ["nonsense"],
    ["--nonsense"],
    ["inspect"],
    ["inspect", "a", "--kind", "nonsense"],
    ["ls", "a", "b"],
    ["server"],
    ["server", "restart"],
    ["demo", "--processes", "0"],
    ["demo", "--items", "many"],
    ["demo", "--lease", "10ms"],
    ["version", "now"],
    ["lock", "--url", "http://example.org/", "n", "true"],
]


@pytest.mark.parametrize("args", USAGE, ids=" ".join)
def test_command_line_that_makes_no_sense_is_64(shell, args):
    done = shell.run(*args)

    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"interlock: ")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["lok"], b"did you mean 'lock'"),
        (["lock", "--tll", "5", "n", "true"], b"did you mean '--ttl'"),
        (["ls", "--jsno"], b"did you mean '--json'"),
        (["ls", "--nothing-like-it"], b"try 'interlock ls --help'"),
        (["lock", "n", "--ttl", "5x", "true"], b"'5x'"),
        (["lock", "n", "--ttl", "1ms", "true"], b"the least is 3ms"),
    ],
)
def test_wrong_word_is_answered_with_a_hint(shell, args, hint):
    assert hint in shell.run(*args).stderr
