# SPDX-License-Identifier: MIT
"""The driver for tooz: tooz's own tests, and what they leave out."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import interlock
import pytest
import toolchain

PINS = toolchain.ROOT / "tools" / "requirements-tooz.txt"
PATIENCE = 60

MEMBER = """
import sys
from tooz.coordination import get_coordinator

member = get_coordinator(sys.argv[1], b"killed", ttl=2)
member.start()
member.join_group_create(b"team")
assert member.get_lock(b"orders").acquire()
print("in", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def place():
    """A folder with tooz and what its tests need."""
    return toolchain.python_packages(PINS)


@pytest.fixture
def environment(place):
    return {**os.environ, "PYTHONPATH": str(place)}


@pytest.fixture
def coordinator(place, url, name):
    """Make started coordinators, which are stopped at the end."""
    if str(place) not in sys.path:
        sys.path.append(str(place))
    from tooz.coordination import get_coordinator

    made = []

    def make(member=b"me", **options):
        one = get_coordinator(f"interlock+{url}", member, **options)
        one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        if one.is_started:
            one.stop()


def test_toozs_own_tests_pass(place, environment, url):
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "4"]
    run += ["-W", "ignore", "-c", os.devnull, "--rootdir", place / "tooz"]
    done = subprocess.run(
        [*run, place / "tooz" / "tests" / "test_coordination.py"],
        env={**environment, "TOOZ_TEST_URL": f"interlock+{url}"},
        capture_output=True,
        text=True,
        timeout=600,
    )

    closing = done.stdout.splitlines()[-1]
    assert done.returncode == 0, done.stdout[-5000:]
    assert closing.startswith("79 passed, 4 skipped"), closing


def test_a_killed_member_leaves_by_its_lease(environment, url, coordinator):
    child = subprocess.Popen(
        [sys.executable, "-c", MEMBER, f"interlock+{url}"],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    one = coordinator()
    assert child.stdout.readline() == b"in\n"
    left = []
    one.watch_leave_group(b"team", left.append)
    assert one.get_members(b"team").get() == {b"killed"}
    assert one.get_lock(b"orders").acquire(blocking=False) is False

    child.kill()
    child.communicate()
    deadline = time.monotonic() + PATIENCE
    while not left and time.monotonic() < deadline:
        one.run_watchers()
        time.sleep(0.05)
    assert [event.member_id for event in left] == [b"killed"]
    lock = one.get_lock(b"orders")
    assert lock.acquire(blocking=PATIENCE)
    assert lock.is_still_owner()
    assert lock.release()


def test_ids_may_have_any_bytes(coordinator, name):
    group, member = name.encode() + b"\xff\x00\xc3\xa9 {}", b"\xfe\x00"
    one = coordinator(member)
    one.join_group_create(group, {"any": b"\xff"})

    assert group in one.get_groups().get()
    assert one.get_members_with_capabilities(group).get() == {member: {"any": b"\xff"}}
    one.leave_group(group).get()
    one.delete_group(group).get()
    assert group not in one.get_groups().get()


def test_locks_and_leaders_are_those_of_interlock(coordinator, url, name):
    one, raw = coordinator(), name.encode()
    elected = []
    one.watch_elected_as_leader(raw, elected.append)
    one.run_watchers()
    with interlock.connect(url) as client:
        with one.get_lock(raw):
            assert client.lock(name).acquire(timeout=0) is False
        with client.lock(name):
            assert one.get_lock(raw).acquire(blocking=False, shared=True) is False
        assert client.election(name).leader() == b"me"
    assert len(elected) == 1
    assert one.get_leader(raw).get() == b"me"
    assert one.stand_down_group_leader(raw) is True
    assert one.stand_down_group_leader(raw) is False


def test_one_who_was_removed_by_another_may_join_again(coordinator, name):
    group = name.encode()
    one, same = coordinator(), coordinator()
    one.join_group_create(group)
    same.leave_group(group).get()
    assert same.get_members(group).get() == set()

    one.watch_join_group(group, lambda event: None)
    one.run_watchers()  # sees it, and leaves
    same.join_group(group).get()
    assert one.get_members(group).get() == {b"me"}


def test_a_group_with_members_stays_when_it_is_to_be_deleted(coordinator, name):
    from tooz.coordination import GroupNotEmpty

    one, group = coordinator(), name.encode()
    one.join_group_create(group)
    with pytest.raises(GroupNotEmpty):
        one.delete_group(group).get()
    assert one.get_members(group).get() == {b"me"}


def test_bad_use_has_a_clear_error(coordinator, url, name):
    from tooz import ToozError
    from tooz.coordination import ToozConnectionError, get_coordinator

    with pytest.raises(ToozConnectionError, match="127.0.0.1:1"):
        get_coordinator("interlock+redis://127.0.0.1:1", b"me").start()
    with pytest.raises(ToozError, match="not 'soon'"):
        get_coordinator(f"interlock+{url}?ttl=soon", b"me")
    with pytest.raises(ToozError, match="not been started"):
        get_coordinator(f"interlock+{url}", b"me").get_lock(b"n").acquire()
    one = coordinator()
    one.create_group(name.encode()).get()
    with pytest.raises(ToozError, match="4096"):
        one.join_group(name.encode(), {"long": "x" * 5000}).get()
    before = one.get_groups().get()
    for bad in (b"", b"x" * 600):
        with pytest.raises(ToozError, match="bytes"):
            one.create_group(bad).get()
    assert one.get_groups().get() == before


def test_a_stopped_coordinator_gives_all_back_and_starts_again(coordinator, name):
    group = name.encode()
    one, other = coordinator(), coordinator(b"other")
    one.join_group_create(group)
    assert one.get_lock(group).acquire()
    one.watch_elected_as_leader(group, lambda event: None)
    one.run_watchers()

    one.stop()
    assert other.get_members(group).get() == set()
    assert other.get_leader(group).get() is None
    lock = other.get_lock(group)
    assert lock.acquire(blocking=False)
    one.start()
    one.join_group(group).get()
    assert other.get_members(group).get() == {b"me"}
    assert lock.release()


def test_it_stops_when_its_server_is_gone(coordinator, own_server):
    from tooz.coordination import get_coordinator

    server, url = own_server
    one = get_coordinator(f"interlock+{url}", b"me")
    one.start()
    one.join_group_create(b"team")
    assert one.get_lock(b"orders").acquire()
    server.kill()
    server.wait()
    one.stop()
    assert not one.is_started


def test_a_member_cut_off_from_the_server_leaves_later(coordinator, own_server):
    from tooz import ToozError
    from tooz.coordination import MemberNotJoined, get_coordinator

    server, url = own_server
    one = get_coordinator(f"interlock+{url}?reply_timeout_ms=300", b"me")
    one.start()
    one.join_group_create(b"team")
    server.send_signal(signal.SIGSTOP)
    with pytest.raises(ToozError, match="does not reply|unreachable for"):
        one.leave_group(b"team").get()
    server.send_signal(signal.SIGCONT)
    with contextlib.suppress(MemberNotJoined):  # the first request came through
        one.leave_group(b"team").get()
    assert one.get_members(b"team").get() == set()
    one.stop()


def test_a_child_must_start_its_own(coordinator, name):
    from tooz import ToozError

    one = coordinator()
    one.join_group_create(name.encode())
    pid = os.fork()
    if pid == 0:
        refused = 0
        for call in (lambda: one.get_groups().get(5), one.stop):
            try:
                call()
            except ToozError as error:
                refused += "parent process" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert one.get_members(name.encode()).get() == {b"me"}


def test_the_example_of_the_page_runs(environment, url):
    page = (toolchain.ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (example,) = [
        block.partition("```")[0]
        for block in page.split("```python\n")[1:]
        if "get_coordinator" in block.partition("```")[0]
    ]
    example = example.replace("redis://127.0.0.1:6379", url)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", example],
        env=environment,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "{b'host-1'}\n"


def test_without_tooz_the_error_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", "import interlock.compat.tooz"],
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        pytest.skip("tooz is installed here")
    assert "pip install tooz" in done.stderr
