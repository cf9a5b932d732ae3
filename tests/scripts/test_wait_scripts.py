# SPDX-License-Identifier: MIT
"""The line: who is next, who is passed over, who is told what."""
import pytest
from world import READERS, START_US


def grant_text(world, token, fence, lease=5000):
    return (b"1 grant w-%s %s %d %d %d " % (token, token, fence, lease, world.now)) + world.name


def queue(world, *tokens, **options):
    for token in tokens:
        world.listen(f"c-{token}")
        assert world.acquire(token, **options)[0] == "QUEUED"


def test_release_hands_over_to_the_first(world):
    fence = world.acquire("a")[2]
    queue(world, "b", "c")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"
    assert world.line() == [b"c"]
    assert world.inbox("c-b") == [grant_text(world, b"b", fence + 1)]
    assert world.inbox("c-c") == []
    assert world.record() == {b"fence": b"%d" % (fence + 1), b"token": b"b",
                              b"since": b"%d" % (START_US // 1000), b"who": b"host:b"}


def test_line_is_first_come_first_served(world):
    world.acquire("t0")
    order = [f"t{i}" for i in range(1, 8)]
    queue(world, *order)
    served = []

    for token in ["t0", *order]:
        world.release(token)
        served.append(world.holder())

    assert served == [t.encode() for t in order] + [None]


def test_undelivered_grant_is_short_and_a_shorter_lease_stays(world):
    world.acquire("a")
    queue(world, "b")
    queue(world, "c", lease=700)

    world.release("a")
    assert 4000 < world.redis("PTTL", world.name) <= 5000
    world.release("b")
    assert world.redis("PTTL", world.name) <= 700
    assert world.inbox("c-c")[0].split(b" ")[5] == b"700"


def test_granted_waiter_confirms_its_full_lease(world):
    world.acquire("a")
    queue(world, "b")
    world.release("a")

    assert world.extend("b", 10000)[0] == "HELD"
    assert world.redis("PTTL", world.name) > 9000


def test_retried_enqueue_keeps_its_place(world):
    world.acquire("a")
    queue(world, "b", "c")

    world.acquire("b")

    assert world.line() == [b"b", b"c"]


def test_ticket_rises_past_the_last_even_when_the_first_left(world):
    world.acquire("a")
    queue(world, "z", "y")
    world.cancel("z")
    queue(world, "x")

    assert world.line() == [b"y", b"x"]


def test_retry_after_a_lost_grant_is_told_of_it(world):
    world.acquire("a")
    queue(world, "b")
    world.release("a")

    code, left, fence, _ = world.acquire("b")

    assert (code, fence) == ("HELD", world.fence())
    assert left <= 5000
    assert world.line() == []


def test_dead_client_is_skipped_and_removed(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.advance(5999)
    world.refresh("c-c")
    world.advance(2)

    world.release("a")

    assert world.holder() == b"c"
    assert world.line() == []
    assert world.inbox("c-b") == []


def test_client_lives_until_its_deadline(world):
    world.acquire("a")
    queue(world, "b")
    world.advance(6000)

    world.release("a")

    assert world.holder() == b"b"


def test_waiter_without_receiver_is_passed_over_and_kept(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.deaf("c-b")

    world.release("a")

    assert world.holder() == b"c"
    assert world.line() == [b"b"]
    world.listen("c-b")
    world.release("c")
    assert world.holder() == b"b"


def test_deaf_client_with_many_waiters_is_tried_once(world):
    fence = world.acquire("a")[2]
    for i in range(5):
        world.acquire(f"t{i}", client="deaf")
    queue(world, "b")

    world.release("a")

    assert world.holder() == b"b"
    assert world.fence() == fence + 2
    assert len(world.line()) == 5


def test_deaf_client_that_asks_is_granted_in_turn(world):
    world.acquire("a")
    world.acquire("b", client="deaf")
    world.acquire("c", client="deaf")
    world.expire()

    assert world.acquire("c", client="deaf")[0] == "HELD"
    assert world.line() == [b"b"]


def test_nobody_reachable_leaves_the_key_free_and_the_record_silent(world):
    fence = world.acquire("a")[2]
    world.acquire("b")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() is None
    assert world.line() == [b"b"]
    assert world.record()[b"token"] == b""
    assert world.fence() > fence


def test_fence_given_to_nobody_is_not_given_again(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.deaf("c-b")
    fence = world.fence()

    world.release("a")

    assert world.fence() == fence + 2


def test_free_key_goes_to_the_first_not_to_the_newcomer(world):
    world.acquire("a")
    queue(world, "b")
    world.expire()

    code, _, _, ours = world.acquire("n")

    assert (code, ours) == ("QUEUED", 1)
    assert world.holder() == b"b"
    assert world.line() == [b"n"]


def test_try_on_free_key_hands_it_to_the_first_and_is_busy(world):
    world.acquire("a")
    queue(world, "b")
    world.expire()

    code, pttl, _, ours = world.acquire("n", wait=False)

    assert (code, ours) == ("BUSY", 1)
    assert 0 < pttl <= 5000
    assert world.holder() == b"b"


def test_try_takes_a_free_key_whose_waiters_are_all_dead(world):
    world.acquire("a")
    queue(world, "b")
    world.advance(7000)
    world.expire()

    code, lease, fence, _ = world.acquire("n", wait=False)

    assert (code, lease) == ("HELD", 10000)
    assert world.holder() == b"n" and fence == world.fence()
    assert world.redis("PTTL", world.name) > 9000


def test_try_does_not_pass_waiters_that_cannot_be_reached_now(world):
    world.acquire("a")
    world.acquire("b")
    world.expire()

    assert world.acquire("n", wait=False)[:2] == ["BUSY", -2]
    assert world.acquire("n", wait=False)[3] == 0
    assert world.holder() is None


def test_try_does_not_take_what_it_woke_another_for(world):
    world.acquire("a")
    queue(world, "b", kind="w")
    world.expire()

    assert world.acquire("n", wait=False)[:2] == ["BUSY", -2]
    assert len(world.inbox("c-b")) == 1
    assert world.read("r", wait=False)[0] == "HELD"


def test_trying_reader_does_not_take_what_it_woke_another_for(world):
    world.acquire("a")
    queue(world, "b", kind="w")
    world.expire()

    assert world.read("n", wait=False)[:2] == ["BUSY", -2]
    assert len(world.inbox("c-b")) == 1


def test_waiter_claims_with_its_full_lease_and_without_a_message(world):
    world.acquire("a")
    queue(world, "b")
    world.expire()

    code, lease, fence, _ = world.acquire("b")

    assert (code, lease, fence) == ("HELD", 10000, world.fence())
    assert world.redis("PTTL", world.name) > 9000
    assert world.line() == [] and world.inbox("c-b") == []


def test_newcomer_behind_dead_ones_holds_at_once(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.advance(7000)
    world.expire()

    assert world.acquire("n")[0] == "HELD"
    assert world.line() == []


def test_unknown_entry_version_is_kept_and_never_granted(world):
    world.acquire("a")
    queue(world, "b")
    world.redis("ZADD", world.keys()[2], "0", "2 anything at all")

    world.release("a")

    assert world.holder() == b"b"
    assert world.redis("ZRANGE", world.keys()[2], 0, -1) == [b"2 anything at all"]


def test_more_at_the_limit_then_settled_by_refresh(world):
    world.acquire("a")
    queue(world, *(f"d{i}" for i in range(5)))
    world.advance(7000)
    queue(world, "b")

    assert world.release("a", limit=3) == ["RELEASED", 1, 0]
    assert world.holder() is None
    reply = world.refresh("c-b", world.entry("b"), limit=2)
    assert reply[:2] == ["MORE", -2]
    reply = world.refresh("c-b", world.entry("b"), limit=2)
    assert reply[0] == "BUSY"
    assert world.holder() == b"b"


def test_no_more_when_the_limit_was_just_enough(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.advance(7000)

    assert world.release("a", limit=2) == ["RELEASED", 0, 0]


def test_no_more_when_asking_again_would_change_nothing(world):
    world.acquire("a")
    for token in "bcd":
        world.acquire(token)

    assert world.release("a", limit=2) == ["RELEASED", 0, 0]
    assert world.refresh("c-b", world.entry("b"), limit=2)[0] == "FREE"


def test_limit_bounds_the_walk(world):
    world.acquire("a")
    queue(world, *(f"d{i}" for i in range(9)))
    world.advance(7000)

    world.release("a", limit=4)

    assert len(world.line()) == 5


def test_refresh_tells_each_waiter_how_it_stands(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.release("a")

    reply = world.refresh("c-b", world.entry("b"), world.entry("c"), world.entry("z"))

    assert reply[0] == "BUSY" and 0 < reply[1] <= 5000
    assert reply[2:4] == [START_US, 1]
    states = [tuple(reply[i:i + 3]) for i in range(4, len(reply), 3)]
    assert states[0][0] == 1 and 0 < states[0][1] <= 5000 and states[0][2] == world.fence()
    assert states[1:] == [(3, 0, 0), (7, 0, 0)]


def test_refresh_keeps_its_client_alive(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.advance(4000)
    world.refresh("c-b", world.entry("b"))
    world.advance(4000)

    world.release("a")

    assert world.holder() == b"b"


def test_refresh_hands_a_free_key_to_the_first_not_to_the_caller(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.expire()

    reply = world.refresh("c-c", world.entry("c"))

    assert reply[0] == "BUSY" and reply[4] == 3
    assert world.holder() == b"b"
    assert len(world.inbox("c-b")) == 1


def test_retried_refresh_changes_nothing_more(world):
    world.acquire("a")
    queue(world, "b")
    world.expire()

    first = world.refresh("c-b", world.entry("b"))
    again = world.refresh("c-b", world.entry("b"))

    assert first[4] == again[4] == 1
    assert first[6] == again[6] == world.fence()
    assert len(world.inbox("c-b")) == 1


def test_refresh_of_a_free_empty_line_is_free(world):
    assert world.refresh("c", world.entry("b"))[:2] == ["FREE", -2]
    assert world.refresh("c", world.entry("b"))[4:] == [7, 0, 0]


def test_refresh_of_a_foreign_holder_is_not_ours(world):
    world.redis("SET", world.name, "stranger", "PX", 3000)
    queue(world, "b")

    assert world.refresh("c-b", world.entry("b"))[3] == 0


def test_cancel_leaves_the_line(world):
    world.acquire("a")
    queue(world, "b", "c")

    assert world.cancel("b") == ["GONE"]
    assert world.line() == [b"c"]
    assert world.holder() == b"a"


def test_cancel_passes_a_late_grant_on(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.release("a")

    assert world.cancel("b") == ["RELEASED", 0, 0]
    assert world.holder() == b"c"
    assert len(world.inbox("c-c")) == 1


def test_retried_cancel_is_gone(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.release("a")
    world.cancel("b")

    assert world.cancel("b") == ["GONE"]
    assert world.holder() == b"c"


def test_cancel_on_a_free_key_hands_it_to_the_next(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.expire()

    assert world.cancel("b") == ["GONE"]
    assert world.holder() == b"c"


def test_cancel_reports_more(world):
    world.acquire("a")
    queue(world, "d0", "d1", "d2")
    world.advance(7000)
    queue(world, "b")
    world.redis("SET", world.name, "b")

    assert world.cancel("b", limit=2) == ["RELEASED", 1, 0]


def test_break_hands_over(world):
    world.acquire("a")
    queue(world, "b")

    assert world.break_lock("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"


def test_break_of_readers_hands_over(world):
    world.read("r")
    queue(world, "b")

    assert world.break_lock() == ["RELEASED", 0, 0]
    assert world.holder() == b"b"


# -- barging


def test_barging_acquire_takes_a_free_lock_past_the_line(world):
    world.acquire("a")
    queue(world, "b")
    world.expire()

    assert world.acquire("n", barge=1)[0] == "HELD"
    assert world.holder() == b"n"
    assert world.line() == [b"b"]


def test_barging_waiter_that_takes_the_lock_leaves_the_line(world):
    world.acquire("a")
    queue(world, "b", barge=1)
    world.expire()

    assert world.acquire("b", barge=1)[0] == "HELD"
    assert world.line() == []


def test_barging_release_wakes_the_first_and_keeps_it_in_line(world):
    world.acquire("a")
    queue(world, "b", "c")

    assert world.release("a", barge=1) == ["RELEASED", 0, 0]
    assert world.holder() is None
    assert world.line() == [b"b", b"c"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]
    assert world.inbox("c-c") == []


def test_barging_release_passes_over_the_deaf_and_removes_the_dead(world):
    world.acquire("a")
    queue(world, "dead")
    world.advance(5000)
    queue(world, "deaf", "b")
    world.deaf("c-deaf")
    world.advance(2000)

    world.release("a", barge=1)

    assert world.line() == [b"deaf", b"b"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]


def test_barging_release_wakes_a_reader_too(world):
    world.acquire("a")
    world.listen("c-r")
    world.read("r")

    world.release("a", barge=1)

    assert world.holder() is None
    assert world.line() == [b"r"]
    assert world.inbox("c-r") == [b"1 wake w-r " + world.name]


def test_barging_cancel_wakes_instead_of_granting(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.release("a")

    assert world.cancel("b", barge=1)[0] == "RELEASED"
    assert world.holder() is None
    assert world.inbox("c-c") == [b"1 wake w-c " + world.name]


def test_wake_entry_is_woken_removed_and_the_key_stays_free(world):
    world.acquire("a")
    queue(world, "b", kind="w")
    queue(world, "c")

    world.release("a")

    assert world.holder() is None
    assert world.line() == [b"c"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]


def test_wake_entry_without_receiver_is_passed_over(world):
    world.acquire("a")
    world.acquire("b", kind="w")
    queue(world, "c")

    world.release("a")

    assert world.holder() == b"c"
    assert world.line() == [b"b"]


def test_own_wake_entry_is_granted_when_its_owner_asks(world):
    world.acquire("a")
    queue(world, "b", kind="w")
    world.expire()

    assert world.acquire("b", kind="w")[0] == "HELD"
    assert world.line() == []


def test_barging_retry_is_told_of_its_hold(world):
    fence = world.acquire("a", barge=1)[2]

    assert world.acquire("a", barge=1)[2] == fence


# -- upkeep


def test_line_and_clients_expire_on_their_own(world):
    world.acquire("a")
    queue(world, "b", liveness=3000)
    _, _, wait, live, _ = world.keys()

    for key in (wait, live):
        assert 29000 < world.redis("PTTL", key) <= 30000
    world.redis("PEXPIRE", wait, 5)
    world.redis("PEXPIRE", live, 5)
    world.refresh("c-b", world.entry("b"), liveness=3000)
    for key in (wait, live):
        assert 29000 < world.redis("PTTL", key) <= 30000


def test_clients_long_dead_are_forgotten_at_the_next_enqueue(world):
    world.acquire("a")
    queue(world, "b")
    world.advance(7000)
    queue(world, "c")

    assert world.redis("ZRANGE", world.keys()[3], 0, -1) == [b"c-c"]


def test_deadline_from_a_clock_set_back_is_passed_over_until_refreshed(world):
    world.acquire("a")
    queue(world, "b", "c")
    world.set_clock(START_US - 3_600_000_000)
    world.refresh("c-c", world.entry("c"))

    world.release("a")
    assert world.holder() == b"c"
    assert world.line() == [b"b"]
    world.refresh("c-b", world.entry("b"))
    world.release("c")
    assert world.holder() == b"b"


@pytest.mark.parametrize("value", ["a", READERS])
def test_cancel_of_a_stranger_changes_nothing_but_its_entry(world, value):
    if value == "a":
        world.acquire("a")
    else:
        world.read("r")
    queue(world, "b")

    world.cancel("z")

    assert world.line() == [b"b"]
    assert world.holder() == (b"a" if value == "a" else READERS)
