# SPDX-License-Identifier: MIT
"""One node of a quorum: votes, marks, yields, confirmations, taking a node in."""

import pytest
from resp import ReplyError
from test_inner_calls import inner_calls
from world import START_US

NODE, MAX = b"ilk:quorum:node", b"ilk:quorum:max"
LONGEST = 60_000


RESERVES = 2


class Node:
    """A server as one node of three, and clients that know only this one."""

    def __init__(self, world):
        self.world = world
        self.number = 0

    def look(self, nodes=3, longest=LONGEST, nonce="", floor=0, first=0, known=0):
        self.number += 1
        fresh = f"nonce{self.number}"
        args = [fresh, nodes, longest, nonce, floor, first, known]
        return self.world.call("quorum_join", [NODE, MAX], *args)

    def take_in(self, floor=0, first=0):
        return self.look(nonce=self.look()[5], floor=floor, first=first)

    def join(self):
        """As the first start does, later than the longest lease."""
        self.look()
        self.world.advance(LONGEST)
        assert self.take_in()[1] == 1
        return self

    def acquire(self, token, stamp=1, wait=True, mark=0, lease=10000, floor=0):
        entry = self.world.entry(token, lease=lease) if wait else b""
        return self.world.call(
            "quorum_acquire",
            [*self.world.keys(), NODE, MAX],
            token,
            lease,
            f"host:{token}",
            floor,
            entry,
            f"c-{token}",
            6000,
            stamp,
            mark,
            5000,
            16,
        )

    def wait(self, token, stamp):
        self.world.listen(f"c-{token}")
        reply = self.acquire(token, stamp)
        assert reply[0] == "QUEUED"
        return reply

    def given(self, token):
        """The fence of the token's vote, as a retry finds it."""
        reply = self.acquire(token, wait=False)
        assert reply[0] == "HELD"
        return reply[2]

    def confirm(self, token, given=None, fence=None, lease=30000, renews=0):
        given = given or self.given(token)
        keys = [*self.world.keys(2), NODE, MAX]
        args = [token, lease, renews, given, fence or given]
        return self.world.call("quorum_confirm", keys, *args)

    def yield_vote(self, token, stamp=1):
        args = [token, self.world.entry(token), f"c-{token}", 6000, stamp, 5000, 16]
        return self.world.call("quorum_yield", self.world.keys(), *args)


@pytest.fixture
def node(world):
    return Node(world).join()


# -- votes


def test_free_node_votes_and_waiters_come_by_stamp_not_by_arrival(world, node):
    assert node.acquire("a", 10)[:2] == ["HELD", 10000]
    node.wait("late", 30)
    node.wait("early", 20)

    world.release("a")

    assert world.holder() == b"early"


def test_equal_stamps_are_ordered_by_entry(world, node):
    node.acquire("a", 1)
    node.wait("y", 7)
    node.wait("x", 7)

    assert world.line() == [b"x", b"y"]


def test_waiter_gets_the_greatest_stamp_before_its_own(node):
    node.acquire("a", 1)
    assert node.wait("b", 50)[4] == 0
    assert node.wait("c", 40)[4] == 50


def test_retry_finds_the_vote_and_what_was_given_with_it(world, node):
    given = node.acquire("a")[2]
    node.world.listen("c-b")
    node.acquire("b", floor=given + 100)

    assert world.fence() == given + 101
    assert node.given("a") == given


def test_try_once_leaves_no_entry_and_serves_who_waits(world, node):
    node.acquire("a")
    assert node.acquire("b", wait=False)[0] == "BUSY"
    node.wait("c", 5)
    world.expire()

    assert node.acquire("b", wait=False)[0] == "BUSY"
    assert (world.holder(), world.line()) == (b"c", [])


def test_try_once_takes_a_free_vote_whose_waiters_are_dead(world, node):
    node.acquire("a")
    node.wait("b", 5)
    world.advance(7000)
    world.expire()

    assert node.acquire("c", wait=False)[0] == "HELD"


def test_waiter_grants_itself_a_vote_that_has_ended(world, node):
    node.acquire("a")
    node.wait("b", 5)
    world.expire()

    reply = node.acquire("b", 5)

    assert (reply[0], reply[2]) == ("HELD", node.given("b"))


def test_first_grant_above_a_floor_is_known_by_its_fence(world, node):
    given = node.acquire("a", floor=START_US * 2)[2]

    assert given == START_US * 2 + 1
    assert node.confirm("a", given)[0] == "HELD"


@pytest.mark.parametrize("other", [b"redlock-py's", b"ilk:readers"])
def test_vote_of_another_library_is_respected(world, node, other):
    world.redis("SET", world.name, other, "NX", "PX", 60000)

    assert node.acquire("a", wait=False)[0] == "BUSY"
    assert node.acquire("a")[0] == "QUEUED"
    assert world.holder() == other


def test_our_vote_is_respected_by_redlock(world, node):
    node.acquire("a")
    assert world.redis("SET", world.name, "x", "NX", "PX", 60000) is None


# -- confirmations


def test_confirmation_marks_extends_and_writes_the_greatest_fence(world, node):
    given = node.acquire("a", lease=5000)[2]

    reply = node.confirm("a", given, given + 77, lease=30000)

    assert reply[:3] == ["HELD", 30000, given + 77]
    assert world.redis("PTTL", world.name) > 29000
    assert int(world.redis("GET", MAX)) == given + 77
    assert node.confirm("a", given, given + 77)[:3] == reply[:3]


def test_confirmation_lowers_neither_fence_nor_max(world, node):
    given = node.acquire("a")[2]
    node.confirm("a", given, given + 77)
    world.redis("SET", MAX, given + 1000)

    assert node.confirm("a", given, given)[2] == given + 77
    assert int(world.redis("GET", MAX)) == given + 1000


def test_renewal_never_shortens_and_an_extend_does(node):
    given = node.acquire("a")[2]
    node.confirm("a", given, lease=30000)

    assert node.confirm("a", given, lease=1000, renews=1)[1] > 29000
    assert node.confirm("a", given, lease=1000)[1] == 1000


def test_vote_of_another_is_not_confirmed(world, node):
    given = node.acquire("a")[2]
    world.release("a")
    assert node.confirm("a", given) == ["LOST"]

    node.acquire("b")
    before = world.record()
    assert node.confirm("a", given) == ["LOST"]
    assert world.record() == before


def test_another_grant_under_the_same_token_is_not_confirmed(world, node):
    first = node.acquire("a")[2]
    world.expire()
    second = node.acquire("a")[2]

    assert node.confirm("a", first, second + 100) == ["LOST"]
    assert int(world.fence()) == second
    assert node.confirm("a", second)[0] == "HELD"


def test_fences_are_above_what_was_confirmed_for_any_name(world, node):
    given = node.acquire("a")[2]
    node.confirm("a", given, given + 10**9)
    world.name = b"others"

    assert node.acquire("b")[2] == given + 10**9 + 1


def test_waiter_granted_later_is_above_what_was_confirmed(world, node):
    node.acquire("a")
    world.redis("SET", MAX, world.now + 10**9)
    node.wait("b", 5)

    world.release("a")

    assert node.given("b") > world.now + 10**9


# -- yields


def test_yield_hands_to_an_earlier_waiter_and_puts_the_caller_back(world, node):
    node.acquire("b", 20)
    node.wait("a", 10)
    node.wait("c", 30)

    assert node.yield_vote("b", 20)[0] == "QUEUED"
    assert (world.holder(), world.line()) == (b"a", [b"b", b"c"])
    assert world.inbox("c-a")


def test_yield_keeps_the_vote_when_only_later_ones_wait(world, node):
    given = node.acquire("a", 10)[2]
    node.wait("b", 20)

    reply = node.yield_vote("a", 10)

    assert (reply[0], reply[2]) == ("HELD", given)
    assert (world.holder(), world.line()) == (b"a", [b"b"])


def test_late_yield_does_nothing_to_a_confirmed_vote(world, node):
    node.acquire("b", 20)
    node.wait("a", 10)
    given = node.given("b")
    node.confirm("b")

    reply = node.yield_vote("b", 20)

    assert (reply[0], reply[2]) == ("HELD", given)
    assert (world.holder(), world.line()) == (b"b", [b"a"])


def test_late_yield_does_nothing_to_a_vote_taken_again(world, node):
    node.acquire("b", 20)
    node.wait("a", 10)
    world.redis("DEL", world.keys()[2])
    world.expire()
    node.acquire("b", wait=False, mark=1)
    node.acquire("a", 10)

    assert node.yield_vote("b", 20)[0] == "HELD"
    assert world.holder() == b"b"


def test_vote_that_is_there_is_marked_by_a_holder_that_takes_it_again(world, node):
    node.acquire("b", 20)
    node.wait("a", 10)
    assert node.acquire("b", wait=False, mark=1)[0] == "HELD"

    assert node.yield_vote("b", 20)[0] == "HELD"
    assert world.holder() == b"b"


def test_every_grant_clears_the_mark(world, node):
    node.acquire("b", 20)
    node.confirm("b")
    world.expire()
    node.acquire("b", 20)
    node.wait("a", 10)

    assert node.yield_vote("b", 20)[0] == "QUEUED"
    assert world.holder() == b"a"


def test_yield_to_the_dead_gives_the_vote_back_under_a_new_grant(world, node):
    given = node.acquire("b", 20)[2]
    node.wait("a", 10)
    world.advance(7000)

    reply = node.yield_vote("b", 20)

    assert (reply[0], world.holder(), world.line()) == ("HELD", b"b", [])
    assert reply[2] > given
    assert node.confirm("b", given) == ["LOST"]


def test_yield_of_a_vote_that_is_not_ours(world, node):
    node.acquire("a")
    assert node.yield_vote("b") == ["LOST"]


def test_yielded_twice_is_yielded_once(world, node):
    node.acquire("b", 20)
    node.wait("a", 10)
    node.yield_vote("b", 20)

    assert node.yield_vote("b", 20) == ["LOST"]
    assert (world.holder(), world.line()) == (b"a", [b"b"])


# -- taking a node in


def test_unknown_node_refuses_and_writes_nothing(world):
    node = Node(world)
    before = world.dump()

    assert node.acquire("a") == ["REFUSED", -1]
    assert node.confirm("a", 1) == ["REFUSED", -1]
    assert world.dump() == before


def test_node_waits_for_the_longest_lease_and_then_for_a_floor(world):
    node = Node(world)
    state = node.look()
    assert (state[:3], state[6]) == (["STATE", 0, LONGEST], world.now)
    assert node.acquire("a") == ["REFUSED", LONGEST]
    assert node.take_in(floor=5)[1] == 0
    world.advance(LONGEST - 1)
    assert node.take_in(floor=5)[1] == 0

    world.advance(1)

    assert node.acquire("a") == ["REFUSED", 0]
    floor = world.now + 10**9
    assert node.take_in(floor=floor)[1] == 1
    assert node.look()[4] == floor
    assert node.acquire("a")[2] == floor + 1


def test_first_nodes_wait_since_their_servers_were_started(world):
    node = Node(world)
    uptime = int(
        world.redis("INFO", "server").split(b"uptime_in_seconds:")[1].split()[0]
    )
    early = node.look()[3]
    assert LONGEST - (uptime + 2) * 1000 <= early <= max(0, LONGEST - uptime * 1000)
    world.advance(early - 1)
    assert early == 0 or node.take_in(first=1)[1] == 0

    world.advance(1)

    assert node.take_in(first=1)[1] == 1


def test_a_node_that_was_a_member_waits_as_one_of_the_first_too(world, node):
    world.redis("FLUSHALL")
    world.set_clock(START_US)
    assert node.look()[1] == 0  # a client that has never seen it asks first

    assert node.look(known=1)[1:4] == [-1, LONGEST, LONGEST]

    assert node.look()[1:4] == [-1, LONGEST, LONGEST]
    world.advance(LONGEST - 1)
    assert node.take_in(first=1)[1] == -1
    world.advance(1)
    assert node.take_in(first=1)[1] == 1
    assert node.look(known=1)[1] == 1


def test_another_loss_has_another_nonce(world, node):
    world.redis("FLUSHALL")
    world.set_clock(START_US)
    nonce = node.look()[5]
    world.redis("DEL", NODE)
    assert node.look()[5] != nonce
    world.advance(LONGEST)

    assert node.look(nonce=nonce, floor=1)[1] == 0


def test_restarted_server_is_no_member(world, node):
    world.redis("HSET", NODE, "run", "another")

    assert node.look()[:3] == ["STATE", 0, LONGEST]
    assert node.acquire("a") == ["REFUSED", LONGEST]


def test_late_copy_finds_a_member(world, node):
    nonce = node.look()[5]
    before = world.redis("HGETALL", NODE)

    assert node.look(nonce=nonce, floor=START_US * 3)[1] == 1
    assert (world.redis("HGETALL", NODE), world.redis("GET", MAX)) == (before, None)


def test_flush_below_a_hold_shows_in_its_confirmation(world, node):
    given = node.acquire("a")[2]
    world.redis("FLUSHALL")
    world.set_clock(START_US)

    assert node.confirm("a", given) == ["REFUSED", -1]


def test_grant_from_before_the_node_was_taken_in_is_not_confirmed(world, node):
    given = node.acquire("a")[2]
    world.redis("HSET", NODE, "run", "another")
    node.look()
    world.advance(LONGEST)
    node.take_in(floor=given)

    assert world.holder() == b"a"
    assert node.confirm("a", given, given + 5) == ["LOST"]


@pytest.mark.parametrize("differs", [{"nodes": 5}, {"longest": 1000}])
def test_clients_must_agree_on_nodes_and_leases(node, differs):
    assert node.look(**differs) == ["DIFFERS", 3, LONGEST]


# -- reserved votes


def test_nodes_with_the_same_past_give_the_same_fence(world, node):
    stamp = START_US * 2
    assert node.acquire("a", stamp, mark=RESERVES)[2] == stamp
    world.expire()
    assert node.acquire("b", stamp - 5, mark=RESERVES)[2] == stamp + 1
    world.expire()
    assert node.acquire("c", stamp, mark=RESERVES, floor=stamp + 8)[2] == stamp + 9


def test_a_stamp_above_all_fences_is_refused(node):
    with pytest.raises(ReplyError, match="ILKFENCE"):
        node.acquire("a", 2**53 - 1, mark=RESERVES)


def test_a_reserved_vote_raises_the_greatest_fence_of_the_node(world, node):
    given = node.acquire("a", mark=RESERVES)[2]
    assert world.redis("GET", MAX) == b"%d" % given
    world.expire()
    node.acquire("b", floor=given + 10)
    assert world.redis("GET", MAX) == b"%d" % given  # an open vote leaves it


def test_a_reserved_vote_is_not_taken_by_a_holder(world, node):
    node.acquire("a", mark=RESERVES)

    assert node.acquire("holder", wait=False, mark=1)[0] == "BUSY"
    assert world.holder() == b"a"


def test_a_reserved_vote_is_yielded_to_an_earlier_waiter(world, node):
    node.acquire("b", 20, mark=RESERVES)
    node.wait("a", 10)

    assert node.yield_vote("b", 20)[0] == "QUEUED"
    assert world.holder() == b"a"
    assert node.acquire("holder", wait=False, mark=1)[0] == "HELD"  # a's is open


def test_a_reserved_vote_that_is_kept_is_open(world, node):
    given = node.acquire("a", 10, mark=RESERVES)[2]

    reply = node.yield_vote("a", 10)

    assert (reply[0], reply[2]) == ("HELD", given)
    assert node.acquire("holder", wait=False, mark=1)[0] == "HELD"


def test_a_late_ask_leaves_a_confirmed_vote_as_it_is(world, node):
    node.acquire("b", 20, mark=RESERVES)
    node.wait("a", 10)
    node.confirm("b")
    assert node.acquire("b", 20, mark=RESERVES)[0] == "HELD"

    assert node.yield_vote("b", 20)[0] == "HELD"
    assert world.holder() == b"b"


def test_a_retried_ask_finds_the_reserved_vote(world, node):
    reply = node.acquire("a", mark=RESERVES)
    before = world.dump()

    assert node.acquire("a", mark=RESERVES)[2] == reply[2]
    assert world.dump() == before


def test_a_late_ask_reserves_an_open_vote(world, node):
    node.acquire("a")
    node.acquire("a", mark=RESERVES)

    assert node.acquire("holder", wait=False, mark=1)[0] == "BUSY"


def test_a_vote_that_was_passed_on_to_its_asker_is_reserved(world, node):
    node.acquire("first")
    node.wait("a", 10)
    world.redis("DEL", world.keys()[0])
    world.listen("c-a")

    assert node.acquire("a", 10, mark=RESERVES)[0] == "HELD"
    assert node.acquire("holder", wait=False, mark=1)[0] == "BUSY"


def test_a_vote_from_before_the_node_was_taken_in_is_granted_anew(world, node):
    given = node.acquire("a", lease=LONGEST * 3)[2]
    world.redis("HSET", NODE, "run", "another")
    node.look()
    world.advance(LONGEST)
    node.take_in(floor=given + 7)

    reply = node.acquire("a", mark=RESERVES)

    assert (reply[0], reply[2]) == ("HELD", given + 8)


# -- a holder that takes a node again


def test_a_holder_takes_a_vote_that_is_not_confirmed(world, node):
    given = node.acquire("waiter")[2]
    reply = node.acquire("holder", wait=False, mark=1)

    assert reply[0] == "HELD"
    assert reply[2] > given
    assert node.confirm("waiter", given) == ["LOST"]
    assert node.yield_vote("holder", stamp=99)[0] == "HELD"  # it has the mark


def test_a_holder_comes_before_those_who_wait_for_a_free_vote(world, node):
    node.acquire("first")
    node.wait("waiter", 5)
    world.redis("DEL", world.keys()[0])

    assert node.acquire("holder", wait=False, mark=1)[0] == "HELD"
    assert world.line() == [b"waiter"]


def test_a_holder_takes_no_confirmed_vote_and_none_of_others(world, node):
    node.confirm("other", node.acquire("other")[2])
    assert node.acquire("holder", wait=False, mark=1)[0] == "BUSY"

    world.redis("SET", world.keys()[0], "foreign", "PX", 1000)
    assert node.acquire("holder", wait=False, mark=1)[0] == "BUSY"


# -- refusals


@pytest.mark.parametrize("place", [0, 1, 3, 6, 7, 9, 10])
def test_acquire_refuses_bad_arguments_before_it_writes(world, node, place):
    args = ["a", 9, "who", 0, "", "c", 6000, 1, 0, 5000, 16]
    args[place] = ""
    before = world.dump()

    with pytest.raises(ReplyError, match=f"ILKARG argument {place + 1} "):
        world.run("quorum_acquire", [*world.keys(), NODE, MAX], *args)
    assert world.dump() == before


@pytest.mark.parametrize("place", [0, 1, 3, 4])
def test_confirm_refuses_bad_arguments(world, node, place):
    args = ["a", 1000, 0, 7, 7]
    args[place] = "-1" if place else ""
    with pytest.raises(ReplyError, match=f"ILKARG argument {place + 1} "):
        world.run("quorum_confirm", [*world.keys(2), NODE, MAX], *args)


@pytest.mark.parametrize("place", [0, 3, 4, 5, 6])
def test_yield_refuses_bad_arguments(world, node, place):
    args = ["a", world.entry("a"), "c-a", 6000, 1, 5000, 16]
    args[place] = ""
    with pytest.raises(ReplyError, match=f"ILKARG argument {place + 1} "):
        world.run("quorum_yield", world.keys(), *args)


@pytest.mark.parametrize("script", ["quorum_acquire", "quorum_yield"])
def test_entry_must_be_the_callers_own(world, node, script):
    node.acquire("x")
    with pytest.raises(ReplyError, match="ILKARG no entry of this caller"):
        if script == "quorum_yield":
            args = ["x", world.entry("y"), "c-x", 6000, 1, 5000, 16]
            world.run(script, world.keys(), *args)
        else:
            args = ["a", 9, "w", 0, world.entry("y"), "c-a", 6000, 1, 0, 5000, 16]
            world.run(script, [*world.keys(), NODE, MAX], *args)


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_join_refuses_bad_arguments(world, place):
    args = ["n", 3, 1000, "", 0, 0, 0]
    args[place] = "" if place == 0 else "-1"
    with pytest.raises(ReplyError, match="ILKARG"):
        world.run("quorum_join", [NODE, MAX], *args)
    assert not world.redis("EXISTS", NODE)


@pytest.mark.parametrize("bad", ["no number", "9007199254740992"])
def test_fence_that_cannot_rise_is_an_error(world, node, bad):
    node.acquire("a")
    world.redis("HSET", world.keys()[1], "fence", bad)
    with pytest.raises(ReplyError, match="ILKFENCE"):
        node.confirm("a", 5)
    with pytest.raises(ReplyError, match="ILKFENCE"):
        node.yield_vote("a")
    with pytest.raises(ReplyError, match="ILKFENCE"):
        node.acquire("b")


def test_wrong_types_are_refused_before_anything_is_written(world, node):
    world.redis("LPUSH", world.keys()[1], "x")
    before = world.dump()
    with pytest.raises(ReplyError, match="WRONGTYPE"):
        node.acquire("a")
    assert world.dump() == before


# -- cost


def test_votes_and_a_confirmation_make_nine_calls_each(real_world):
    real_world.redis("HSET", NODE, "member", "1", "base", "0", "run", "r", "nonce", "n")
    node = Node(real_world)

    first = inner_calls(real_world, lambda: node.acquire("b", mark=RESERVES))
    real_world.redis("DEL", *real_world.keys())
    votes = inner_calls(real_world, lambda: node.acquire("a"))
    given = node.given("a")
    confirms = inner_calls(real_world, lambda: node.confirm("a", given))

    assert sum(first.values()) == 10  # and no confirmation
    assert sum(votes.values()) == 9
    assert sum(confirms.values()) == 9
