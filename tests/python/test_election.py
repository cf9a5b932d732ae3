# SPDX-License-Identifier: MIT
"""Elections: who leads, in which term, and who is notified."""

from __future__ import annotations

import signal
import threading
import time

import interlock
import pytest
from support import patience, raise_after, wait_until


def in_line(client, name):
    return client.election(name).inspect().waiting


def in_thread(work):
    """Run it beside the test; the answer comes with join()."""

    class Work(threading.Thread):
        def run(self):
            try:
                self.answer = work()
            except interlock.Error as error:
                self.answer = error

        def join(self, timeout=20):
            super().join(timeout)
            assert not self.is_alive()
            return self.answer

    thread = Work(daemon=True)
    thread.start()
    return thread


def test_one_leads_and_publishes(client, other, name):
    mine = client.election(name, value=b"me\0\xff")
    theirs = other.election(name, value=b"they")

    assert theirs.leader() is None
    assert mine.campaign() is True
    assert (mine.is_leader, mine.leader()) == (True, b"me\0\xff")
    assert 15 < mine.remaining() <= 20
    assert theirs.campaign(timeout=0) is False
    assert theirs.campaign(timeout=0.02) is False
    assert theirs.leader() == b"me\0\xff"
    assert mine.campaign() is True  # it leads already
    assert mine.resign() is True
    assert (mine.is_leader, mine.leader()) == (False, None)
    with pytest.raises(interlock.NotOwnedError):
        mine.resign()


def test_the_next_leads_in_a_greater_term_when_one_resigns(client, other, name):
    mine, theirs = client.election(name, value=b"a"), other.election(name, value=b"b")
    assert mine.campaign(0)
    campaign = in_thread(theirs.campaign)
    wait_until(lambda: in_line(client, name) == 1)

    assert mine.resign() is True

    assert campaign.join() is True
    assert theirs.term > mine.term > 0
    assert client.election(name).leader() == b"b"


def test_with_campaigns_and_resigns(client, other, name):
    with client.election(name, value=b"in") as one:
        assert one.is_leader
        assert other.election(name).leader() == b"in"
    assert other.election(name).leader() is None


def test_a_leader_that_was_deposed_inside_with_learns_it(client, server, name):
    lost = pytest.raises(interlock.LostError, match="leadership of")
    with lost, client.election(name):
        server.call("DEL", f"ilk:election:{{{name}}}")


def test_proclaim_changes_the_value_in_this_and_later_terms(client, server, name):
    one = client.election(name, value=b"old")
    with pytest.raises(interlock.NotOwnedError):
        one.proclaim(b"x")
    assert one.campaign(0)
    assert one.proclaim(b"new") is True
    assert one.leader() == b"new"
    one.resign()
    assert one.campaign(0) and one.leader() == b"new"
    server.call("DEL", f"ilk:election:{{{name}}}")
    assert one.proclaim(b"late") is False
    assert not one.is_leader


def test_inspect_has_the_leader_and_the_waiters(url, client, name):
    with interlock.connect(url, label="standby-1") as standby:
        with client.election(name, value=b"v") as one:
            campaign = in_thread(standby.election(name).campaign)
            wait_until(lambda: in_line(client, name) == 1)
            found = one.inspect()
        campaign.join()
    assert (found.value, found.term, found.candidates) == (
        b"v",
        one.term,
        ["standby-1"],
    )
    assert found.waiting == 1 and 15 < found.ttl <= 20
    assert abs(found.since - time.time()) < 60


def test_the_same_identity_leads_on_in_the_same_term(client, other, name):
    before = client.election(name, identity="node-7", ttl=2, value=b"1")
    assert before.identity == "node-7"
    assert before.campaign(0)
    after = other.election(name, identity="node-7", ttl=2, value=b"2")

    assert after.campaign(0) is True

    assert after.term == before.term
    assert after.leader() == b"2"
    wait_until(lambda: not before.is_leader)  # with its next renewal
    assert after.is_leader
    assert other.election(name, identity="node-8").campaign(0) is False
    assert other.election(name, identity=b"node").campaign(0) is False


def test_an_overrun_leader_knows_and_must_campaign_again(client, other, name):
    one = client.election(name, ttl=1, renew=False)
    assert one.campaign(0)
    first = one.term
    assert one.renew() is True
    wait_until(lambda: not one.is_leader)
    assert other.election(name).campaign(timeout=5) is True
    assert not one.is_leader
    assert one.resign() is False
    assert one.campaign(timeout=0) is False
    assert other.election(name).inspect().term > first


def test_observers_receive_each_change(client, other, name):
    one, two = client.election(name, value=b"1"), other.election(name, value=b"2")
    seen = []
    heard = in_thread(lambda: [seen.append(each) for each in two.observe()])
    assert one.campaign(0)
    wait_until(lambda: seen == [(b"1", one.term)])
    one.proclaim(b"1b")
    wait_until(lambda: seen[1:] == [(b"1b", one.term)])
    campaign = in_thread(two.campaign)
    wait_until(lambda: in_line(client, name) == 1)
    one.resign()
    assert campaign.join()
    wait_until(lambda: seen[2:] == [(b"2", two.term)])

    other.close()

    heard.join()


def test_an_interrupted_observer_loses_no_leadership(client, name, monkeypatch):
    one = client.election(name, value=b"v")
    observer = client.election(name).observe(vacant=True)
    assert observer.get(0) == (None, 0)
    with one:
        raise_after(monkeypatch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            observer.get(5)
        assert observer.get(0) == (b"v", one.term)
        assert observer.get(0) is None


def test_observers_that_want_them_receive_vacancies(client, name):
    one = client.election(name, value=b"v")
    observer = one.observe(timeout=0, vacant=True)
    assert list(observer) == [(None, 0)]
    with one:
        term = one.term
        assert observer.get(5) == interlock.Leadership(b"v", term)
        assert observer.get(0) is None and observer.get(0.02) is None
    assert list(observer) == [(None, term)]


def test_observing_can_be_cancelled(client, name):
    observer = client.election(name).observe()
    waiting = in_thread(lambda: next(observer))
    time.sleep(0.1)
    observer.cancel()

    assert isinstance(waiting.join(), interlock.CancelledError)


def test_a_campaign_can_be_cancelled(client, other, name):
    with client.election(name):
        candidate = other.election(name)
        campaign = in_thread(candidate.campaign)
        wait_until(lambda: in_line(client, name) == 1)
        candidate.cancel()

        assert isinstance(campaign.join(), interlock.CancelledError)
        wait_until(lambda: in_line(client, name) == 0)


CHILD = """
import os, sys, interlock
client = interlock.connect(os.environ["TEST_URL"])
one = client.election(sys.argv[1], ttl=1.5, value=b"child")
print("open", flush=True)
if sys.argv[2] == "lead":
    print(one.campaign(), one.term, flush=True)
    sys.stdin.readline()
    print(one.is_leader, one.resign(), flush=True)
else:
    for value, term in one.observe():
        print(value, term, flush=True)
"""


def test_a_killed_leader_is_followed(run_child, client, name):
    child = run_child(CHILD, name, "lead")
    assert child.stdout.readline() == "open\n"
    term = int(child.stdout.readline().split()[1])
    child.kill()

    with client.election(name) as one:
        assert one.term > term


def test_an_identity_outlives_its_process(run_child, client, name):
    code = CHILD.replace("ttl=1.5", "ttl=3, identity='node'")
    child = run_child(code, name, "lead")
    assert child.stdout.readline() == "open\n"
    term = int(child.stdout.readline().split()[1])
    child.kill()
    standby = client.election(name)
    campaign = in_thread(standby.campaign)
    wait_until(lambda: in_line(client, name) == 1)

    child = run_child(code, name, "lead")
    child.stdout.readline()
    assert child.stdout.readline() == f"True {term}\n"
    child.stdin.write("\n")
    child.stdin.flush()

    assert child.stdout.readline() == "True True\n"
    assert campaign.join() and standby.term > term


def test_a_frozen_leader_finds_out(run_child, client, name):
    child = run_child(CHILD, name, "lead")
    child.stdout.readline()
    assert child.stdout.readline().startswith("True ")
    child.send_signal(signal.SIGSTOP)

    with client.election(name):
        child.send_signal(signal.SIGCONT)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "False False\n"


def test_ctrl_c_ends_observing_at_once(run_child, client, name):
    with client.election(name, value=b"v") as one:
        child = run_child(CHILD, name, "observe", stderr=-1)
        child.stdout.readline()
        assert child.stdout.readline() == f"b'v' {one.term}\n"
        time.sleep(0.1)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        child.wait(10)
        assert time.monotonic() - began < patience(2)
        assert "KeyboardInterrupt" in child.stderr.read()
        child.stderr.close()


def test_winning_and_losing_are_notifications(client, server, name):
    notifications = client.notifications()
    one = client.election(name, ttl=1.5)
    one.campaign(0)
    won = notifications.get(5)
    assert (won.kind, won.lock, won.error) == ("leadership_won", one, None)
    server.call("DEL", f"ilk:election:{{{name}}}")
    lost = notifications.get(5)
    assert (lost.kind, lost.lock) == ("leadership_lost", one)
    assert isinstance(lost.error, interlock.LostError)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"ttl": 0}, ValueError),
        ({"ttl": -1}, ValueError),
        ({"ttl": float("nan")}, ValueError),
        ({"ttl": "5"}, TypeError),
        ({"value": "text"}, TypeError),
        ({"value": None}, TypeError),
        ({"value": bytes(65537)}, ValueError),
        ({"identity": ""}, ValueError),
        ({"identity": "x" * 65}, ValueError),
        ({"identity": 7}, TypeError),
        ({"max_hold": 0}, ValueError),
        ({"fair": True}, TypeError),
    ],
)
def test_options_that_make_no_sense_are_refused(client, name, options, error):
    with pytest.raises(error):
        client.election(name, **options)


@pytest.mark.parametrize("bad", ["", "x" * 513, "ilk:mine", b""])
def test_names_that_cannot_be_are_refused(client, bad):
    with pytest.raises(interlock.InvalidError):
        client.election(bad)


@pytest.mark.parametrize("good", ["x" * 512, b"\0\xff", "{a}b", "x}y", "{}x", "ü"])
def test_all_other_names_are_elections(client, good):
    with client.election(good, value=b"v", identity=b"\0 :%\n") as one:
        assert one.leader() == b"v"
        assert one.name == good and repr(good) in repr(one)


def test_a_key_of_another_type_is_refused(client, server, name):
    server.call("RPUSH", f"ilk:election:{{{name}}}", "x")
    with pytest.raises(interlock.WrongTypeError):
        client.election(name).campaign(0)
    with pytest.raises(interlock.WrongTypeError):
        client.election(name).leader()


def test_break_election_ends_the_term(client, other, name):
    assert client.break_election(name) is False
    leader, next_one = client.election(name), other.election(name)
    assert leader.campaign(0)

    assert other.break_election(name, token="somebody else") is False
    assert other.break_election(name, token=leader.token) is True
    assert next_one.campaign(0)
    assert next_one.term > leader.term
    assert leader.resign() is False
    next_one.check()
