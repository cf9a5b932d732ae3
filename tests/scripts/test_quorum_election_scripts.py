# SPDX-License-Identifier: MIT
"""One node of a quorum in an election: values come with confirmations, observers wait
for the node's changes."""

import pytest
from resp import ReplyError
from world import START_US

NODE, MAX = b"ilk:quorum:node", b"ilk:quorum:max"
LONGEST = 60_000


class Node:
    """A server as one member of three, and an election on it."""

    def __init__(self, election):
        self.world = election
        self.join("nonce")
        election.advance(LONGEST)
        self.join("other", take_in="nonce")

    def join(self, nonce, take_in=""):
        args = [nonce, 3, LONGEST, take_in, 0, 0, 0]
        self.world.call("quorum_join", [NODE, MAX], *args)

    def vote(self, token, stamp=1):
        """Returns the fence that came with the vote, or None when it waits."""
        self.world.listen(f"c-{token}")
        reply = self.world.call(
            "quorum_acquire",
            [*self.world.keys(5), NODE, MAX],
            *[token, 10000, f"host:{token}", 0, self.world.entry(token)],
            *[f"c-{token}", 6000, stamp, 0, 5000, 16],
        )
        return reply[2] if reply[0] == "HELD" else None

    def confirm(self, token, given, term=None, version=1, value=None, lease=30000):
        return self.world.call(
            "quorum_confirm_leader",
            [*self.world.keys(), NODE, MAX],
            *[token, lease, 1, given, term or given, version],
            f"v-{token}" if value is None else value,
            16,
        )

    def lead(self, token):
        given = self.vote(token)
        assert self.confirm(token, given)[0] == "HELD"
        return given

    def leader(self, count=16, observer=None):
        entry = self.world.watcher(observer) if observer else b""
        return self.world.call(
            "quorum_leader",
            [*self.world.keys(), NODE],
            *[count, entry, f"c-{observer}", 6000],
        )


@pytest.fixture
def node(election):
    return Node(election)


def test_a_vote_is_no_leadership_before_it_is_confirmed(election, node):
    since = START_US // 1000 + LONGEST
    assert node.leader() == ["STATE", 0, 0, 0, -2, 0, b"", b"", b"", 0]

    given = node.vote("a")
    state = node.leader()
    assert 0 < state.pop(4) <= 10000
    assert state == ["STATE", 0, 0, 1, since, b"a", b"host:a", b"", 0]

    node.confirm("a", given, given + 5)
    state = node.leader()
    assert 10000 < state.pop(4) <= 30000
    assert state == ["STATE", given + 5, 1, 2, since, b"a", b"host:a", b"v-a", 0]


def test_a_value_has_any_bytes(node):
    given = node.vote("a")
    node.confirm("a", given, value=b"a b\x00\xff\n7 ")

    assert node.leader()[8] == b"a b\x00\xff\n7 "


def test_a_later_version_replaces_and_an_earlier_one_does_not(node):
    given = node.lead("a")
    node.confirm("a", given, version=3, value="new")
    node.confirm("a", given, version=2, value="late")

    assert node.leader()[2:4] == [3, 2]
    assert node.leader()[8] == b"new"


def test_a_value_that_only_the_last_leader_published_is_kept(election, node):
    node.lead("a")
    election.expire()
    term = node.lead("b")

    assert election.values() == {b"": b"%d" % term, b"b": b"%d 1 v-b" % term}


def test_the_last_term_outlasts_its_leader(election, node):
    term = node.lead("a")
    election.cancel("a")

    assert node.leader() == ["STATE", term, 0, 0, -2, 0, b"", b"", b"", 0]


def test_a_confirmation_that_is_refused_publishes_nothing(election, node):
    given = node.vote("a")
    before = election.dump()

    assert node.confirm("a", given + 1) == ["LOST"]
    assert node.confirm("b", given) == ["LOST"]
    assert election.dump() == before


def test_a_node_that_is_no_member_says_nothing(election, node):
    given = node.lead("a")
    election.redis("DEL", NODE)

    assert node.confirm("a", given) == ["REFUSED", -1]
    assert node.leader() == ["REFUSED", -1]


def test_candidates_are_listed_in_their_order(election, node):
    node.lead("a")
    node.vote("late", stamp=30)
    node.vote("early", stamp=20)

    entries = [election.entry("early"), election.entry("late")]
    assert node.leader()[9:] == [2, entries[0], -1, entries[1], -1]
    assert node.leader(count=1)[9:] == [2, entries[0], -1]


def test_observers_are_woken_by_each_change_and_by_no_renewal(election, node):
    election.listen("c-o")
    given = node.vote("a")
    for change in (
        lambda: node.confirm("a", given),
        lambda: node.confirm("a", given, version=2, value="other"),
        lambda: election.cancel("a"),
    ):
        assert node.leader(observer="o")[0] == "STATE"
        assert election.observers() == [election.watcher("o")]
        change()
        assert election.woken("c-o") == 1
        assert election.observers() == []

    given = node.lead("b")
    node.leader(observer="o")
    node.confirm("b", given)
    assert election.woken("c-o") == 0


def test_a_released_vote_goes_to_the_next_candidate(election, node):
    node.lead("a")
    node.vote("b", stamp=2)

    election.cancel("a")

    assert election.holder() == b"b"
    assert node.leader()[3] == 1


@pytest.mark.parametrize("place", [0, 1, 3, 4, 5, 7])
def test_confirm_leader_refuses_bad_arguments_before_it_writes(election, node, place):
    given = node.vote("a")
    args = ["a", 1000, 0, given, given, 1, "value", 16]
    args[place] = "-1" if place else ""
    before = election.dump()

    keys = [*election.keys(), NODE, MAX]
    with pytest.raises(ReplyError, match=f"ILKARG argument {place + 1} "):
        election.run("quorum_confirm_leader", keys, *args)
    assert election.dump() == before


@pytest.mark.parametrize("place", [4, 5])
def test_a_key_of_another_type_is_refused_before_it_writes(election, node, place):
    given = node.vote("a")
    election.redis("SET", election.keys()[place], "x")
    before = election.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        node.confirm("a", given)
    assert election.dump() == before


def test_leader_refuses_an_entry_of_somebody_else(election, node):
    args = [1, election.watcher("o"), "c-other", 6000]
    with pytest.raises(ReplyError, match="ILKARG no entry of this caller"):
        election.run("quorum_leader", [*election.keys(), NODE], *args)
    with pytest.raises(ReplyError, match="ILKARG argument 1 "):
        election.run("quorum_leader", [*election.keys(), NODE], "x", "", "", 0)
