# SPDX-License-Identifier: MIT
"""The wait queue: who is next, who is passed over, who gets which message."""

from world import DAY_MS, START_US


def grant_text(world, token, fence, lease=5000):
    return (
        b"1 grant w-%s %s %d %d %d " % (token, token, fence, lease, world.now)
    ) + world.name


def test_release_hands_over_to_the_first(world):
    fence = world.acquire("a")[2]
    world.queue("b", "c")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"
    assert world.line() == [b"c"]
    assert world.inbox("c-b") == [grant_text(world, b"b", fence + 1)]
    assert world.inbox("c-c") == []
    assert world.record() == {
        b"fence": b"%d" % (fence + 1),
        b"token": b"b",
        b"since": b"%d" % (START_US // 1000),
        b"who": b"c-b host:b",
        b"given": b"%d" % (fence + 1),
        b"born": b"%d" % START_US,
        b"kept": b"%d" % (START_US // 1000 + 10000 + DAY_MS),
    }


def test_line_is_first_come_first_served(world):
    world.acquire("t0")
    order = [f"t{i}" for i in range(1, 8)]
    world.queue(*order)
    served = []

    for token in ["t0", *order]:
        world.release(token)
        served.append(world.holder())

    assert served == [t.encode() for t in order] + [None]


def test_undelivered_grant_is_short_and_a_shorter_lease_stays(world):
    world.acquire("a")
    world.queue("b")
    world.queue("c", lease=700)

    world.release("a")
    assert 4000 < world.redis("PTTL", world.name) <= 5000
    world.release("b")
    assert world.redis("PTTL", world.name) <= 700
    assert world.inbox("c-c")[0].split(b" ")[5] == b"700"


def test_granted_waiter_confirms_its_full_lease(world):
    world.acquire("a")
    world.queue("b")
    world.release("a")

    assert world.extend("b", 10000)[0] == "HELD"
    assert world.redis("PTTL", world.name) > 9000


def test_retried_enqueue_keeps_its_place(world):
    world.acquire("a")
    world.queue("b", "c")

    world.acquire("b")

    assert world.line() == [b"b", b"c"]


def test_ticket_rises_past_the_last_even_when_the_first_left(world):
    world.acquire("a")
    world.queue("z", "y")
    world.cancel("z")
    world.queue("x")

    assert world.line() == [b"y", b"x"]


def test_retry_after_a_lost_grant_returns_it(world):
    world.acquire("a")
    world.queue("b")
    world.release("a")

    code, left, fence, _ = world.acquire("b")

    assert (code, fence) == ("HELD", world.fence())
    assert left <= 5000
    assert world.line() == []


def test_dead_client_is_skipped_and_removed(world):
    world.acquire("a")
    world.queue("b", "c")
    world.advance(5999)
    world.refresh("c-c")
    world.advance(2)

    world.release("a")

    assert world.holder() == b"c"
    assert world.line() == []
    assert world.inbox("c-b") == []


def test_client_lives_until_its_deadline(world):
    world.acquire("a")
    world.queue("b")
    world.advance(6000)

    world.release("a")

    assert world.holder() == b"b"


def test_waiter_without_receiver_is_passed_over_and_kept(world):
    world.acquire("a")
    world.queue("b", "c")
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
    world.queue("b")

    world.release("a")

    assert world.holder() == b"b"
    assert world.fence() == fence + 2
    assert len(world.line()) == 5


def test_deaf_client_with_more_waiters_than_the_limit_blocks_nobody(world):
    world.acquire("a")
    for i in range(40):
        world.acquire(f"t{i}", client="deaf")
    world.queue("b")

    assert world.release("a", limit=16) == ["RELEASED", 0, 0]
    assert world.holder() == b"b"
    assert len(world.line()) == 40


def test_walk_past_a_deaf_client_has_an_end(world):
    world.acquire("a")
    for i in range(32):
        world.acquire(f"t{i}", client="deaf")
    world.queue("b")

    assert world.release("a", limit=2) == ["RELEASED", 0, 0]
    assert world.holder() is None


def test_deaf_clients_are_tried_up_to_the_limit(world):
    fence = world.acquire("a")[2]
    for i in range(5):
        world.acquire(f"t{i}")

    assert world.release("a", limit=3) == ["RELEASED", 0, 0]
    assert world.fence() == fence + 3


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
    world.queue("b", "c")
    world.deaf("c-b")
    fence = world.fence()

    world.release("a")

    assert world.fence() == fence + 2


def test_free_key_goes_to_the_first_not_to_the_newcomer(world):
    world.acquire("a")
    world.queue("b")
    world.expire()

    code, _, _, ours = world.acquire("n")

    assert (code, ours) == ("QUEUED", 1)
    assert world.holder() == b"b"
    assert world.line() == [b"n"]


def test_try_on_free_key_hands_it_to_the_first_and_is_busy(world):
    world.acquire("a")
    world.queue("b")
    world.expire()

    code, pttl, _, ours = world.acquire("n", wait=False)

    assert (code, ours) == ("BUSY", 1)
    assert 0 < pttl <= 5000
    assert world.holder() == b"b"


def test_try_takes_a_free_key_whose_waiters_are_all_dead(world):
    world.acquire("a")
    world.queue("b")
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
    world.queue("b", kind="w")
    world.expire()

    assert world.acquire("n", wait=False)[:2] == ["BUSY", -2]
    assert len(world.inbox("c-b")) == 1
    assert world.read("r", wait=False)[0] == "HELD"


def test_trying_reader_does_not_take_what_it_woke_another_for(world):
    world.acquire("a")
    world.queue("b", kind="w")
    world.expire()

    assert world.read("n", wait=False)[:2] == ["BUSY", -2]
    assert len(world.inbox("c-b")) == 1


def test_waiter_claims_with_its_full_lease_and_without_a_message(world):
    world.acquire("a")
    world.queue("b")
    world.expire()

    code, lease, fence, _ = world.acquire("b")

    assert (code, lease, fence) == ("HELD", 10000, world.fence())
    assert world.redis("PTTL", world.name) > 9000
    assert world.line() == [] and world.inbox("c-b") == []


def test_newcomer_behind_dead_ones_holds_at_once(world):
    world.acquire("a")
    world.queue("b", "c")
    world.advance(7000)
    world.expire()

    assert world.acquire("n")[0] == "HELD"
    assert world.line() == []


def test_unknown_entry_version_is_kept_and_never_granted(world):
    world.acquire("a")
    world.queue("b")
    world.redis("ZADD", world.keys()[2], "0", "2 x c-new anything at all")
    world.redis("ZADD", world.keys()[3], world.now // 1000 + 5000, "c-new")

    world.release("a")

    assert world.holder() == b"b"
    assert world.redis("ZRANGE", world.keys()[2], 0, -1) == [
        b"2 x c-new anything at all"
    ]
