# SPDX-License-Identifier: MIT
"""Mixed fleets: the well-known functions and ours, processes on the same keys."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from interlock import recipes

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import documents
from documents import run, step

MEMBER = Path(__file__).with_name("fleet_member.py")
KINDS = ("ours", "theirs")


class Fleet:
    """Processes, and what they say: (kind, line) in the order of its coming."""

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.members, self.said = [], queue.Queue()

    def start(self, kind, role, *more):
        member = subprocess.Popen(
            [sys.executable, MEMBER, kind, role, self.url, self.name, *map(str, more)],
            stdout=subprocess.PIPE,
            text=True,
        )
        ear = threading.Thread(target=self._hear, args=(kind, member), daemon=True)
        ear.start()
        self.members.append((member, ear))
        return member

    def _hear(self, kind, member):
        for line in member.stdout:
            self.said.put((kind, line.split()))

    def listen(self, seconds, until=lambda heard: False):
        """The lines that are printed within the time, or until they are enough."""
        heard, end = [], time.monotonic() + seconds
        while not until(heard) and (left := end - time.monotonic()) > 0:
            try:
                heard.append(self.said.get(timeout=min(left, 0.1)))
            except queue.Empty:
                continue
        return heard

    def end(self):
        for member, _ in self.members:
            member.kill()
        for member, ear in self.members:
            member.wait()
            ear.join()
            member.stdout.close()


@pytest.fixture
def fleet(url, name):
    made = Fleet(url, name)
    yield made
    made.end()


# -- one leader


def test_one_leads_at_a_time(fleet, tell):
    for kind in KINDS * 3:
        fleet.start(kind, "lead")

    def both_have_led(heard):
        return {kind for kind, _ in heard} == set(KINDS) and len(heard) > 30

    heard = fleet.listen(60, both_have_led)
    turns = Counter(kind for kind, _ in heard)
    tell(f"leading in a mixed fleet: {dict(turns)}")
    assert both_have_led(heard)
    assert {count for _, (count,) in heard} == {"1"}


# -- no message lost


def test_no_message_is_lost_and_none_comes_twice(fleet, server, name):
    each, producers = 150, 4
    for kind in KINDS * 2:
        fleet.start(kind, "pop")
        fleet.start(kind, "work")
        fleet.start(kind, "push", each)
    places = ("fifo", "safe", "jobs", "later")
    total = each * producers * len(places)

    heard = fleet.listen(60, lambda heard: len(heard) >= total)
    heard += fleet.listen(0.3)  # one too many would come now
    taken = Counter(tuple(words) for _, words in heard)
    assert Counter(words[0] for words in taken) == dict.fromkeys(
        places, each * producers
    )
    assert set(taken.values()) == {1}
    for place in ("fifo", "safe", "jobs"):
        kinds = {kind for kind, words in heard if words[0] == place}
        assert kinds == set(KINDS)
    assert not any(server.keys(f"{name}:cache:*"))


def test_jobs_of_a_killed_worker_are_done(fleet, server, name):
    each = 300
    first = fleet.start("ours", "work")
    fleet.start("theirs", "push", each)
    heard = fleet.listen(30, lambda heard: len(heard) >= each // 3)
    first.kill()
    first.wait()
    late = server.zrange(f"ilk:recipes:consumers:{{{name}:jobs}}", 0, -1)
    server.zadd(f"ilk:recipes:consumers:{{{name}:jobs}}", dict.fromkeys(late, 0))
    fleet.start("ours", "work")

    def all_are_done(heard):
        return len({tuple(words) for _, words in heard}) == each

    heard += fleet.listen(30, lambda more: all_are_done(heard + more))
    assert all_are_done(heard)
    # The one that it had in hand may have been done, and not yet said so.
    assert len(heard) - each <= 1


# -- signals to one


def test_a_signal_to_one_reaches_exactly_one_of_both_kinds(fleet, url, server, name):
    for kind in KINDS * 3:
        fleet.start(kind, "wait")
    r = recipes.bind(url)
    until(lambda: len(server.pubsub_channels(name + "*")) == 6)
    receivers = Counter()
    for number in range(120):
        send = r.signal_single if number % 2 else theirs_to(server)
        assert until(send, name, number) == 1
        # The next one is not sent before this one's waiter has left: until
        # then the other kind would choose it again.
        heard = fleet.listen(20, lambda heard: len(heard) == 1)
        assert [words for _, words in heard] == [[str(number)]]
        receivers[heard[0][0]] += 1
    assert fleet.listen(0.2) == []
    assert set(receivers) == set(KINDS)


def until(ask, *args):
    """The first answer that is not nothing."""
    end = time.monotonic() + 20
    while not (answer := ask(*args)):
        assert time.monotonic() < end
    return answer


def theirs_to(server):
    return lambda channel, data: documents.signal_single(server, channel, data)


# -- the semaphore


def peaks(heard, kind):
    return max((int(words[0]) for one, words in heard if one == kind), default=0)


def enough(heard, each):
    counts = Counter(kind for kind, _ in heard)
    return all(counts[kind] >= each for kind in KINDS)


@pytest.mark.parametrize("guarded", [False, True], ids=["plain", "under the lock"])
def test_the_semaphore_holds_its_limit(fleet, guarded, tell):
    for kind in KINDS * 3:
        fleet.start(kind, "hold", int(guarded))
    heard = fleet.listen(30, lambda heard: enough(heard, 300))
    over = sum(int(words[1]) > 3 for _, words in heard)
    shares = dict(Counter(kind for kind, _ in heard))
    tell(
        f"permits in a mixed fleet, {'under the lock' if guarded else 'plain'}:"
        f" {shares}, {over} times one too many"
    )
    assert enough(heard, 1)
    assert peaks(heard, "ours") <= 3
    if guarded:
        assert over == 0


def test_among_ours_the_limit_is_never_passed(fleet):
    for _ in range(6):
        fleet.start("ours", "hold")
    heard = fleet.listen(30, lambda heard: len(heard) > 500)
    assert len(heard) > 500
    assert max(int(words[1]) for _, words in heard) == 3


def test_the_one_too_many_is_the_other_kinds_own_race(url, server, name):
    late = documents.acquire_fair_semaphore(server, name, 1)
    step(late)  # it has its turn, and nobody can see that
    ours = recipes.acquire_fair_semaphore(url, name, 1)
    assert ours
    assert run(late)  # its turn is before ours: two hold, and one of them is theirs
    assert recipes.acquire_fair_semaphore(url, name, 1) is None
    assert recipes.acquire_fair_semaphore(url, name, 2) is None
    assert run(documents.acquire_fair_semaphore(server, name, 1)) is None
