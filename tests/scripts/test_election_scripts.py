# SPDX-License-Identifier: MIT
"""election_*: who leads, in which term, with which value; who receives it."""

import pytest
from resp import ReplyError
from world import DAY_MS, START_US

# -- who leads


def test_first_candidate_leads_and_publishes(election):
    assert election.campaign("a") == ["HELD", 10000, START_US, START_US]
    assert election.holder() == b"a"
    assert 9000 < election.redis("PTTL", election.keys()[0]) <= 10000
    state = election.leader()
    assert state[:4] == ["STATE", START_US, 0, 1]
    assert 9000 < state[4] <= 10000
    assert state[5:] == [START_US // 1000, b"a", b"c-a host:a", b"v-a", 0]


def test_nobody_leads_an_unknown_election(election):
    before = election.dump()

    assert election.leader() == ["STATE", 0, 0, 0, 0, 0, b"", b"", b"", 0]
    assert election.dump() == before


def test_second_candidate_is_busy_once_and_queued_else(election):
    election.campaign("a")

    code, pttl, now, ours = election.campaign("b", wait=False)
    assert (code, now, ours) == ("BUSY", START_US, 1)
    assert 9000 < pttl <= 10000 and election.line() == []
    assert election.campaign("b")[0] == "QUEUED"
    assert election.line() == [b"b"]


def test_resigning_hands_over_to_the_first_in_the_same_step(election):
    term = election.campaign("a")[2]
    election.stand("b", "c")

    assert election.resign("a") == ["RELEASED", 0, 0]
    assert election.holder() == b"b" and election.line() == [b"c"]
    assert election.values() == {b"b": b"v-b", b"c": b"v-c"}
    assert election.inbox("c-b") == [
        b"1 grant w-b b %d 5000 %d " % (term + 1, START_US) + election.keys()[0]
    ]
    assert election.leader(0)[8:] == [b"v-b", 1]


def test_candidates_are_listed_in_order(election):
    election.campaign("a")
    election.stand("b", "c", "d")

    election.advance(70)
    election.stand("e")

    reply = election.leader(4)

    assert reply[9:] == [
        4,
        *(election.entry("b"), 70, election.entry("c"), 69, election.entry("d"), 69),
        *(election.entry("e"), 0),
    ]
    assert election.leader(2)[9:] == [4, *reply[10:14]]


def test_resigning_to_nobody_leaves_only_the_record(election):
    election.campaign("a")

    assert election.resign("a") == ["RELEASED", 0, 0]
    assert set(election.redis("KEYS", "*")) == {election.keys()[1], b"ilk:test:now"}
    assert election.leader()[:4] == ["STATE", START_US, 0, 0]


def test_strangers_touch_nobody(election):
    election.campaign("a")
    election.stand("b")

    assert election.resign("z")[0] == "LOST"
    assert election.renew("z")[0] == "LOST"
    assert election.proclaim("z", "mine") == ["LOST"]
    assert election.cancel("z") == ["GONE"]
    assert election.holder() == b"a" and election.line() == [b"b"]


def test_terms_rise_even_when_everything_is_lost(election):
    terms = []
    for token in "abc":
        terms.append(election.campaign(token)[2])
        election.resign(token)
    election.redis("FLUSHALL")
    election.advance(1)
    terms.append(election.campaign("d")[2])

    assert terms == sorted(set(terms))


def test_term_is_above_what_the_candidate_has_seen(election):
    election.campaign("a")
    election.stand("b", floor=START_US + 10**9)
    election.resign("a")

    assert election.leader()[1] > START_US + 10**9


def test_dead_leader_is_succeeded_by_the_first_when_anybody_looks(election):
    election.campaign("a")
    election.stand("b", "c")
    election.expire()

    reply = election.refresh("c-c", election.entry("c"))

    assert reply[0] == "BUSY" and reply[4:] == [3, 0, 0]
    assert election.holder() == b"b"
    assert election.refresh("c-b", election.entry("b"))[4] == 1
    assert election.values() == {b"b": b"v-b", b"c": b"v-c"}


def test_newcomer_does_not_overtake_on_a_vacant_election(election):
    election.campaign("a")
    election.stand("b")
    election.expire()

    code, _, _, ours = election.campaign("c", wait=False)

    assert (code, ours, election.holder()) == ("BUSY", 1, b"b")


def test_newcomer_leads_past_those_who_are_dead(election):
    election.campaign("a")
    election.stand("b")
    election.expire()
    election.advance(6001)

    assert election.campaign("c", wait=False)[0] == "HELD"
    assert election.values() == {b"c": b"v-c"}


def test_a_candidate_without_an_inbox_is_passed_over_and_kept(election):
    election.campaign("a")
    election.stand("b", "c")
    election.deaf("c-b")

    election.resign("a")

    assert election.holder() == b"c" and election.line() == [b"b"]
    assert election.values() == {b"b": b"v-b", b"c": b"v-c"}


def test_without_any_inbox_it_stays_vacant(election):
    election.campaign("a")
    election.stand("b")
    election.deaf("c-b")

    assert election.resign("a") == ["RELEASED", 0, 0]
    assert election.holder() is None and election.line() == [b"b"]
    assert election.refresh("c-z")[:2] == ["FREE", -2]


def test_more_when_the_walk_met_too_many_dead(election):
    election.campaign("a")
    election.stand(*[f"d{i}" for i in range(30)])
    election.advance(6001)
    election.campaign("b")
    election.listen("c-b")

    assert election.resign("a", limit=2) == ["RELEASED", 1, 0]
    assert election.refresh("c-z", limit=1)[0] == "MORE"
    election.refresh("c-z", limit=64)
    assert election.holder() == b"b" and election.values() == {b"b": b"v-b"}


def test_break_ends_the_term_and_elects_the_next(election):
    election.campaign("a")
    election.stand("b", "c")

    assert election.break_election("b") == ["LOST"]
    assert election.break_election() == ["RELEASED", 0, 0]
    assert election.holder() == b"b"
    assert election.resign("a")[0] == "LOST"
    assert election.resign("a")[2] == -1  # this very hold was broken
    assert b"a" not in election.values()


def test_a_repeated_break_breaks_nobody_else(election):
    election.campaign("a")
    election.stand("b")
    election.break_election(request="once")

    assert election.break_election(request="once") == ["RELEASED", 0, 0]
    assert election.holder() == b"b"
    assert election.break_election("b", "twice") == ["RELEASED", 0, 0]
    assert election.holder() is None and election.values() == {}


def test_break_of_nobody_is_lost(election):
    assert election.break_election() == ["LOST"]
    election.campaign("a")
    assert election.resign("a")[0] == "RELEASED"
    assert election.break_election("a") == ["LOST"]


def test_cancel_leaves_the_line_and_takes_the_value_along(election):
    election.campaign("a")
    election.stand("b")

    assert election.cancel("b") == ["GONE"]
    assert election.line() == [] and election.values() == {b"a": b"v-a"}


def test_cancel_passes_a_late_election_on(election):
    election.campaign("a")
    election.stand("b", "c")
    election.resign("a")

    assert election.cancel("b") == ["RELEASED", 0, 0]
    assert election.holder() == b"c"
    assert election.cancel("c") == ["RELEASED", 0, 0]
    assert election.cancel("c") == ["GONE"]


def test_refresh_of_a_holder_of_another_library_is_not_ours(election):
    election.redis("SET", election.keys()[0], "stranger", "PX", 5000)

    assert election.refresh("c-b")[3] == 0
    assert election.leader()[5:9] == [0, b"stranger", b"", b""]


def test_refresh_forgets_the_dead_under_a_leader_that_lives(election):
    election.campaign("a")
    election.stand(*[f"d{i}" for i in range(40)])
    election.advance(6001)
    for ms in range(200):
        election.advance(7 + ms % 3)
        election.refresh("c-z")

    assert election.line() == [] and election.values() == {b"a": b"v-a"}


def test_refresh_forgets_the_dead_after_the_clock_was_set_back(election):
    election.campaign("a")
    election.stand("b", "c")
    election.set_clock(election.now - 3_600_000_000)
    for _ in range(4):
        election.refresh("c-c", election.entry("c"))
        assert election.line() == [b"b", b"c"]
        election.advance(2000)
    election.refresh("c-c", election.entry("c"))

    assert election.line() == [b"c"]


# -- retries


def test_retried_campaign_returns_its_leadership(election):
    first = election.campaign("a")
    election.advance(50)

    again = election.campaign("a")

    assert again[0] == "HELD" and again[2] == first[2] and election.line() == []


def test_retried_campaign_without_record_gets_a_new_term(election):
    election.campaign("a")
    election.redis("DEL", election.keys()[1])
    election.advance(5)

    assert election.campaign("a")[2] == START_US + 5000


def test_retried_candidate_keeps_its_place(election):
    election.campaign("a")
    election.stand("b", "c")
    election.campaign("b")

    assert election.line() == [b"b", b"c"]


def test_retried_resign_is_lost(election):
    election.campaign("a")
    election.stand("b")
    election.resign("a")

    assert election.resign("a")[0] == "LOST" and election.holder() == b"b"


def test_renewing_keeps_everything_for_a_day_longer(election):
    term = election.campaign("a", lease=1000)[2]
    for key in (election.keys()[1], election.keys()[4]):
        election.redis("PEXPIRE", key, 10000)

    assert election.renew("a", 60000) == ["HELD", 60000, term, START_US]
    for key in (election.keys()[1], election.keys()[4]):
        assert election.redis("PTTL", key) > 59000 + DAY_MS
    election.redis("DEL", election.keys()[1])
    assert election.renew("a")[2] == 0


def test_value_outlives_the_lease_of_whoever_leads(election):
    election.campaign("a", lease=60000)
    election.stand("b", lease=1000)

    assert election.redis("PTTL", election.keys()[4]) > 59000 + DAY_MS


# -- identities


def test_identity_leads_on_in_the_same_term(election):
    term = election.campaign("n1:c1:1", identity="n1:", value="old")[2]
    election.stand("b")
    election.advance(50)

    assert election.campaign("n1:c2:1", identity="n1:", value="new")[:3] == [
        "HELD", 10000, term,
    ]  # fmt: skip
    assert election.holder() == b"n1:c2:1" and election.line() == [b"b"]
    assert election.leader()[1:3] == [term, 1] and election.leader()[8] == b"new"
    assert election.values() == {b"n1:c2:1": b"new", b"b": b"v-b"}
    assert election.renew("n1:c1:1")[0] == "LOST"


def test_retried_return_of_an_identity_returns_it(election):
    term = election.campaign("n1:c1:1", identity="n1:")[2]
    election.campaign("n1:c2:1", identity="n1:")

    assert election.campaign("n1:c2:1", identity="n1:")[2] == term
    assert election.leader()[2] == 1


@pytest.mark.parametrize("identity", ["", "n1:", "n2:"])
def test_other_identities_wait(election, identity):
    election.campaign("n12:c1:1", identity="n12:")

    assert election.campaign("x", identity=identity, wait=False)[0] == "BUSY"


def test_identity_does_not_lead_on_in_a_term_that_is_not_known(election):
    election.campaign("n1:c1:1", identity="n1:")
    election.redis("DEL", election.keys()[1])

    assert election.campaign("n1:c2:1", identity="n1:", wait=False)[0] == "BUSY"


def test_identity_that_comes_late_is_nobody_special(election):
    term = election.campaign("n1:c1:1", identity="n1:")[2]
    election.stand("b")
    election.expire()

    assert election.campaign("n1:c2:1", identity="n1:")[0] == "QUEUED"
    assert election.holder() == b"b" and election.leader()[1] > term


# -- what is wrong


@pytest.mark.parametrize("key", [0, 1, 4, 5])
@pytest.mark.parametrize(
    "call", ["campaign", "resign", "cancel", "refresh", "proclaim"]
)
def test_wrong_type_is_refused_whole(election, key, call):
    election.campaign("a")
    election.redis("DEL", election.keys()[key])
    election.redis("RPUSH", election.keys()[key], "x")
    before = election.dump()
    calls = {
        "campaign": lambda: election.campaign("b"),
        "resign": lambda: election.resign("a"),
        "cancel": lambda: election.cancel("a"),
        "refresh": lambda: election.refresh("c-b"),
        "proclaim": lambda: election.proclaim("a", "x"),
    }

    if (key, call) in [(1, "resign"), (1, "cancel")]:
        return  # a leader resigns whatever became of the record
    with pytest.raises(ReplyError, match="WRONGTYPE"):
        calls[call]()
    assert election.dump() == before


@pytest.mark.parametrize("entry", [b"junk", b"1 x c-b w b 1 1 h", b"1 e c-z w b 1 1 h"])
def test_entry_of_another_is_misuse(election, entry):
    before = election.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        election.run(
            "election_campaign", election.keys(), "b", 1, "h", 0, entry, "c-b", 0, 1, 1, 1, "", ""
        )  # fmt: skip
    with pytest.raises(ReplyError, match="ILKARG"):
        election.run("election_observe", election.keys(), "", 0, entry, "c-b", 1, 1)
    assert election.dump() == before


def test_without_memory_nobody_is_elected_or_queued_but_resigning_works(election):
    election.campaign("a")
    election.stand("b")
    before = election.dump()
    election.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        for call in (
            lambda: election.campaign("c"),
            lambda: election.proclaim("a", "x"),
            lambda: election.observe("o", election.known()),
        ):
            with pytest.raises(ReplyError, match="OOM"):
                call()
        assert election.dump() == before
        assert election.resign("a")[0] == "RELEASED"
        assert election.holder() == b"b"
    finally:
        election.redis("CONFIG", "SET", "maxmemory", "0")


def test_without_the_right_to_publish_resigning_works_and_says_so(election):
    election.campaign("a")
    election.campaign("b")
    election.redis("ACL", "SETUSER", "mute", "on", ">x", "~*", "+@all", "resetchannels")
    try:
        election.redis("AUTH", "mute", "x")
        assert election.resign("a") == ["RELEASED", 0, 1]
        assert election.holder() is None and election.line() == [b"b"]
    finally:
        election.redis("AUTH", "default", "")
        election.redis("ACL", "DELUSER", "mute")
