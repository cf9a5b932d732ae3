# SPDX-License-Identifier: MIT
"""The line about a lock that was not acquired, and --quiet, which writes none."""

import re
from pathlib import Path

import pytest
from shell import ROOT

HOLD = {
    "lock": (),
    "semaphore": ("--limit", "1"),
    "elect": (),
}
SLEEP = ("--", "sh", "-c", "echo held; exec sleep 60")
SAYS = {
    "lock": r"lock '{name}' is held by \S+:{pid} since \d+-\d\d-\d\d .* UTC",
    "semaphore": r"semaphore '{name}' has 1 of 1 permits taken, the first by \S+:{pid}"
    r" since .* UTC",
    "elect": r"election '{name}' is led by \S+:{pid} in term \d+ since .* UTC",
}


def hold(shell, kind, name):
    holder = shell.start(kind, name, *HOLD[kind], *SLEEP)
    assert holder.stdout.readline() == b"held\n"
    return holder


@pytest.mark.parametrize("kind", HOLD)
def test_the_holder_is_named(shell, name, kind):
    holder = hold(shell, kind, name)
    says = SAYS[kind].format(name=re.escape(name), pid=holder.pid)

    at_once = shell.run(kind, name, *HOLD[kind], "--wait", "0", "true")
    in_time = shell.run(kind, name, *HOLD[kind], "--wait", "50ms", "true")

    assert re.fullmatch(f"interlock: {says}\n", at_once.stderr.decode())
    assert re.fullmatch(
        f"interlock: gave up after 50 ms: {says}\n", in_time.stderr.decode()
    )


def test_readers_and_other_libraries_are_named(shell, server, name):
    shell.hold(name, "--shared")
    server.call("SET", f"{name}.2", "somebody")

    readers = shell.run("lock", name, "--wait", "0", "true").stderr
    foreign = shell.run("lock", f"{name}.2", "--wait", "0", "true").stderr

    assert f"lock '{name}' is held by 1 reader ".encode() in readers
    assert f"lock '{name}.2' is held by another library".encode() in foreign


@pytest.mark.parametrize("kind", HOLD)
@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_leaves_the_status_only(shell, name, kind, option):
    hold(shell, kind, name)

    done = shell.run(kind, name, *HOLD[kind], option, "--wait", "0", "true")

    assert (done.returncode, done.stdout, done.stderr) == (75, b"", b"")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["wait", "{}", "--timeout", "300ms"], 75),
        (["event", "wait", "{}", "--timeout", "300ms"], 75),
        (["register", "wait", "{}", "0", "--timeout", "300ms"], 75),
        (["register", "get", "{}"], 1),
        (["register", "cas", "{}", "7", "x"], 1),
        (["queue", "pop", "{}"], 75),
        (["queue", "pop", "{}", "--timeout", "300ms"], 75),
        (["break", "{}"], 1),
    ],
)
def test_quiet_where_the_answer_is_no(shell, name, words, status):
    words = [word.format(name) for word in words]

    loud, quiet = shell.run(*words), shell.run(*words, "--quiet")

    assert (loud.returncode, quiet.returncode) == (status, status)
    assert loud.stderr.startswith(b"interlock: ")
    assert (quiet.stdout, quiet.stderr) == (b"", b"")


def test_quiet_still_says_what_is_wrong(shell, name, tmp_path):
    url = f"unix://{tmp_path}/none"

    assert shell.run("lock", name, "-q", "--url", url, "true").stderr != b""
    assert shell.run("lock", name, "-q", "no-such-program").stderr != b""


def test_quiet_loss(shell, server, name):
    holder = shell.hold(name, "--quiet", "--ttl", "1500ms")

    server.call("DEL", name)

    assert holder.wait(timeout=20) == 76
    assert holder.stderr.read() == b""


def test_the_crontab_line_of_the_page_makes_no_mail(shell, tmp_path):
    """Cron mails whatever is written, to either stream."""
    page = Path(ROOT / "docs" / "cli.md").read_text()
    (line,) = re.findall(r"^    \*/5 \* \* \* \* +(interlock .*)$", page, re.M)
    tidy = tmp_path / "tidy"
    tidy.write_text("#!/bin/sh\necho > done\n")
    tidy.chmod(0o755)
    words = line.split()[1:]

    holder = shell.hold("tidy")
    held = shell.run(*words, cwd=tmp_path)
    ran_while_held = (tmp_path / "done").exists()
    holder.terminate()
    holder.wait(timeout=20)
    free = shell.run(*words, cwd=tmp_path)

    for done in (held, free):
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not ran_while_held
    assert (tmp_path / "done").exists()
