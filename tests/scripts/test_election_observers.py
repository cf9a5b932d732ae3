# SPDX-License-Identifier: MIT
"""election_*: observers receive each change, and none twice."""

import pytest
from world import START_US


def test_an_observer_gets_at_once_a_state_that_is_new_to_it(election):
    election.campaign("a")

    state = election.observe("o")

    assert state[:4] + state[5:] == ["STATE", START_US, 0, 1, *election.leader()[5:9]]
    assert election.observers() == []


def test_observer_waits_while_nobody_leads_unless_it_asks_for_that(election):
    assert election.observe("o", wait=False) == ["BUSY", -2, START_US, 1]
    assert election.observe("o") == ["QUEUED", -2, START_US, 1]
    assert election.observers() == [election.watcher("o")]
    assert election.observe("p", vacant=1)[:4] == ["STATE", 0, 0, 0]
    assert election.observe("p", b"0 -", vacant=1)[0] == "QUEUED"


def changes(e):
    """Each change of leader or value, as it is made by whom."""
    yield "nobody led", lambda: e.campaign("a")
    yield "another value", lambda: e.proclaim("a", "second")
    yield "no value", lambda: e.proclaim("a", "")
    e.stand("b", "c")
    yield "handed over", lambda: e.resign("a")
    yield "passed on", lambda: e.cancel("b")
    e.stand("d", "f", "n1:c1:1")
    e.expire()
    yield "the next, by a newcomer", lambda: e.campaign("z", wait=False)
    e.expire()
    yield "the next, by one who waits", lambda: e.refresh("c-f")
    e.expire()
    yield "the next, by one who observes", lambda: e.watch("c-o")
    yield "led on", lambda: e.campaign("n1:c2:1", identity="n1:")
    yield "resigned", lambda: e.resign("n1:c2:1")
    yield "again", lambda: e.campaign("g")
    e.expire()
    yield "died", lambda: e.watch("c-o")
    yield "and again", lambda: e.campaign("h")
    e.expire()
    yield "died, as a candidate sees", lambda: e.refresh("c-z")


def test_every_change_wakes_those_who_observe(election):
    e = election
    e.listen("c-o")
    state = e.observe("o", vacant=1)
    for what, change in changes(e):
        e.redis("DEL", e.keys()[5])
        e.enqueue_observer("o")
        change()
        assert e.woken("c-o") == 1, what
        assert e.observers() == [], what
        again = e.observe("o", e.known(state), vacant=1)
        assert again[0] == "STATE", what
        state = again


def test_smaller_term_is_no_news(election):
    term = election.campaign("a")[2]

    assert election.observe("o", b"%d 7" % (term + 1))[0] == "QUEUED"
    assert election.observe("p", b"%d -" % (term + 1), vacant=1)[0] == "QUEUED"
    assert election.observe("q", b"%d 7" % term)[0] == "STATE"
    assert election.observe("q", b"%d 7" % (term - 1))[0] == "STATE"


def test_vacancy_is_sent_once(election):
    election.campaign("a")
    election.listen("c-o")
    election.observe("o", election.known(), vacant=1)
    election.expire()
    election.watch("c-o")
    election.inbox("c-o")

    assert election.observe("o", election.known(), vacant=1)[0] == "QUEUED"
    assert election.watch("c-o", election.watcher("o"))[:4] == ["FREE", -2, START_US, 1]
    assert election.woken("c-o") == 0


def test_candidates_that_cannot_be_reached_make_a_vacancy(election):
    election.campaign("a")
    election.stand("b")
    election.listen("c-o")
    election.observe("o", election.known(), vacant=1)
    election.deaf("c-b")
    election.expire()

    assert election.campaign("c", wait=False)[0] == "BUSY"
    assert election.woken("c-o") == 1


def test_vacancy_is_sent_after_a_candidate_has_left(election):
    """Its leaving finds nobody who can be reached, and leaves the rest to a refresh."""
    election.campaign("a")
    election.stand("b", "d")
    election.deaf("c-b")
    election.listen("c-o")
    election.observe("o", election.known(), vacant=1)
    election.expire()

    assert election.cancel("d") == ["GONE"]
    assert election.watch("c-o", election.watcher("o"))[0] == "FREE"

    assert election.woken("c-o") == 1
    assert election.record()[b"token"] == b""
    assert b"a" not in election.values()


@pytest.mark.parametrize("script", ["election_refresh", "election_observer_refresh"])
def test_vacancy_is_sent_after_several_steps(election, script):
    election.campaign("a")
    election.stand("b", *[f"d{i}" for i in range(20)])
    election.advance(6001)
    election.listen("c-o")
    election.refresh("c-b", election.entry("b"))  # alive, and not seen
    election.deaf("c-b")
    election.observe("o", election.known(), vacant=1)
    election.expire()

    steps = 0
    while election.refresh("c-x", script=script, limit=2)[0] == "MORE":
        steps += 1

    assert steps > 0
    assert election.woken("c-o") == 1


def test_same_value_again_wakes_nobody(election):
    election.campaign("a")
    election.listen("c-o")
    election.observe("o", election.known())

    assert election.proclaim("a", "v-a") == ["WRITTEN"]
    assert election.woken("c-o") == 0 and len(election.observers()) == 1


def test_refresh_wakes_the_observers_that_were_to_be_woken(election):
    election.campaign("a")
    state = election.known()
    election.observe("o", state)
    election.observe("p", state)
    assert election.watch("c-o", election.watcher("o"))[4:] == [3, 0, 0]

    election.proclaim("a", "second")

    reply = election.watch("c-o", election.watcher("o"), election.watcher("p"))
    assert reply[0] == "BUSY" and reply[4:] == [7, 0, 0, 7, 0, 0]


def test_observers_beyond_the_bound_learn_by_their_refresh(election):
    election.campaign("a")
    state = election.known()
    for i in range(20):
        election.listen(f"c-o{i}")
        election.observe(f"o{i}", state)

    election.call("election_proclaim", election.keys(), "a", "second", 1)

    assert [election.woken(f"c-o{i}") for i in range(20)] == [1] * 16 + [0] * 4
    assert election.watch("c-o19", election.watcher("o19"))[4] == 7


def test_more_for_one_who_observes(election):
    election.campaign("a")
    election.stand(*[f"d{i}" for i in range(20)])
    election.advance(6001)
    election.listen("c-d")
    election.campaign("d")
    election.expire()

    assert (
        election.refresh("c-o", script="election_observer_refresh", limit=1)[0]
        == "MORE"
    )


def test_leaving_is_silent(election):
    election.observe("o")

    assert election.leave("o") == ["GONE"] and election.leave("o") == ["GONE"]
    assert election.observers() == []


def test_lines_and_clients_expire_on_their_own(election):
    election.campaign("a")
    election.campaign("b")
    election.observe("o", election.known())

    for key in (2, 3, 5):
        assert 0 < election.redis("PTTL", election.keys()[key]) <= 60000
