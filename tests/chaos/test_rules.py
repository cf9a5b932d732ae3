# SPDX-License-Identifier: MIT
"""The checks find what they are for, and nothing in a history that is right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from history import read
from rules import EXCLUSION, FENCES, check

LOCK = "acquire lock a units=1 capacity=1"


class Story:
    """A history in the making; times are in seconds."""

    def __init__(self, path: Path):
        self.path = path / "made-up.history"
        self.path.touch()

    def line(self, at: float, text: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{int(at * 1e9)} {text}\n")

    def hold(
        self,
        op: str,
        begins: float,
        ends: float,
        fence: int,
        what: str = LOCK,
        until: float | None = None,
        release: str | None = "ok",
    ) -> None:
        """Acquired at once, sure until `until`, released at `ends`."""
        self.line(begins, f"b {op} {what}")
        self.line(begins, f"e {op} ok fence={fence}")
        self.line(begins, f"s {op} until={int((until or ends) * 1e9)}")
        if release:
            self.line(ends, f"b {op}.r release {' '.join(what.split()[1:3])} hold={op}")
            self.line(ends, f"e {op}.r {release}")

    def message(self, data: str, pushed: float) -> None:
        self.line(pushed, f"b {data} push queue q data={data}")
        self.line(pushed, f"e {data} ok")

    def delivery(
        self,
        op: str,
        data: str,
        begins: float,
        ends: float,
        attempts: int = 1,
        result: str = "ok",
    ) -> None:
        self.line(begins, f"b {op} reserve queue q wait=0")
        self.line(begins, f"e {op} ok data={data} attempts={attempts}")
        self.line(ends, f"b {op}.a ack queue q hold={op}")
        self.line(ends, f"e {op}.a {result}")

    def rules(self, kind: str = EXCLUSION, in_cluster: bool = False) -> list[str]:
        found, _ = check(read([self.path]), kind, in_cluster)
        return [one.rule for one in found]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_one_holder_after_the_other_is_right(story: Story) -> None:
    story.hold("a", 1, 2, 7)
    story.hold("b", 2.1, 3, 8)

    assert story.rules() == []


def test_two_sure_holders_are_found_where_exclusion_holds(story: Story) -> None:
    story.hold("a", 1, 2, 7, until=4, release=None)
    story.hold("b", 3, 5, 8)

    assert story.rules() == ["exclusion"]
    assert story.rules(FENCES) == []


def test_two_holders_that_both_released_are_found_in_each_class(story: Story) -> None:
    story.hold("a", 1, 4, 7)
    story.hold("b", 3, 5, 8)

    assert "exclusion" in story.rules()
    assert "exclusion" in story.rules(FENCES)


def test_a_claim_ends_with_the_next_call_about_the_hold(story: Story) -> None:
    story.hold("a", 1, 2, 7, until=9, release="ILK_EUNKNOWN")
    story.hold("b", 3, 5, 8)

    assert story.rules() == []


def test_a_killed_holder_is_sure_until_its_lease_ends(story: Story) -> None:
    story.hold("a", 1, 2, 7, until=4, release=None)
    story.hold("b", 4.1, 5, 8)

    assert story.rules() == []


def test_more_permits_than_there_are_are_found(story: Story) -> None:
    three = "acquire semaphore a units=2 capacity=3"
    story.hold("a", 1, 4, 7, what=three)
    story.hold("b", 5, 6, 8, what=three)
    assert story.rules() == []

    story.hold("c", 5.5, 7, 9, what=three)
    assert story.rules() == ["exclusion"]


def test_readers_share_and_a_writer_does_not(story: Story) -> None:
    story.hold("a", 1, 4, 7, what="acquire rw a units=1 capacity=9")
    story.hold("b", 2, 5, 7, what="acquire rw a units=1 capacity=9")
    assert story.rules() == []

    story.hold("c", 3, 6, 8, what="acquire rw a units=9 capacity=9")
    assert set(story.rules()) == {"exclusion"}


@pytest.mark.parametrize("fence", [6, 7, 0])
def test_a_fence_that_does_not_rise_is_found_in_each_class(
    story: Story, fence: int
) -> None:
    story.hold("a", 1, 2, 7)
    story.hold("b", 3, 4, fence)

    assert "fence" in story.rules()
    assert "fence" in story.rules(FENCES)


def test_a_release_that_succeeds_after_the_next_grant_is_found(story: Story) -> None:
    story.hold("a", 1, 4, 7, until=1.5)
    story.hold("b", 2, 3, 8, until=2.1, release=None)

    assert "release" in story.rules(FENCES)


def change(
    story: Story, op: str, at: float, known: int, version: int, took: float = 0.1
) -> None:
    story.line(at, f"b {op} cas register r known={known} value={op}")
    story.line(at + took, f"e {op} ok version={version}")


def reading(story: Story, op: str, at: float, version: int, value: str) -> None:
    story.line(at, f"b {op} get register r")
    story.line(at + 0.1, f"e {op} ok version={version} value={value}")


def test_changes_on_top_of_each_other_break_no_rule(story: Story) -> None:
    change(story, "a.1", 1, 0, 10, took=5)
    reading(story, "b.1", 2, 10, "a.1")
    change(story, "b.2", 3, 10, 20)
    story.line(3.5, "b a.2 cas register r known=10 value=a.2")
    story.line(3.6, "e a.2 no")
    reading(story, "b.3", 7, 20, "b.2")

    assert story.rules() == []


@pytest.mark.parametrize(("known", "newer"), [(10, 30), (20, 20), (20, 15)])
def test_a_change_on_a_version_that_was_changed_is_found(
    story: Story, known: int, newer: int
) -> None:
    change(story, "a.1", 1, 0, 10)
    change(story, "b.1", 2, 10, 20)
    change(story, "c.1", 2, known, newer)

    assert "register" in story.rules()
    assert "register" not in story.rules(FENCES)


def test_a_register_that_goes_back_is_found(story: Story) -> None:
    change(story, "a.1", 1, 0, 10)
    change(story, "b.1", 2, 10, 20)
    reading(story, "c.1", 2.05, 10, "a.1")
    assert story.rules() == []
    reading(story, "c.2", 3, 10, "a.1")

    assert story.rules() == ["register"]


def test_a_value_that_another_wrote_is_found(story: Story) -> None:
    change(story, "a.1", 1, 0, 10)
    reading(story, "b.1", 2, 10, "a.9")

    assert story.rules() == ["register"]


def test_a_wait_for_an_event_that_nobody_set_is_found(story: Story) -> None:
    story.line(1, "b a wait event x")
    story.line(2, "e a ok")
    story.line(3, "b b set event x")
    story.line(3, "e b ok")

    assert story.rules(FENCES) == ["event"]


def test_messages_that_are_done_in_order_are_right(story: Story) -> None:
    story.message("m1", 1)
    story.message("m2", 2)
    story.delivery("a", "m1", 3, 5)
    story.delivery("b", "m2", 4, 6)

    assert story.rules() == []


def test_a_message_that_vanished_is_found(story: Story) -> None:
    story.message("m1", 1)

    assert story.rules() == ["message"]
    assert story.rules(FENCES) == []


def test_a_message_in_doubt_may_be_done(story: Story) -> None:
    story.message("m1", 1)
    story.delivery("a", "m1", 2, 3, result="ILK_EUNKNOWN")

    assert story.rules() == []


def test_a_message_that_is_done_twice_is_found(story: Story) -> None:
    story.message("m1", 1)
    story.delivery("a", "m1", 2, 3)
    story.delivery("b", "m1", 4, 5, attempts=2)

    assert set(story.rules()) == {"message"}


def test_a_message_that_two_work_on_before_the_lease_ends_is_found(
    story: Story,
) -> None:
    story.message("m1", 1)
    story.delivery("a", "m1", 2, 5, result="no")
    story.line(2, f"s a until={int(4 * 1e9)}")
    story.delivery("b", "m1", 3, 6, attempts=2)

    assert story.rules() == ["exclusion"]


def test_an_invented_message_is_found(story: Story) -> None:
    story.delivery("a", "m1", 2, 3)

    assert "message" in story.rules()


def test_a_younger_message_first_is_found(story: Story) -> None:
    story.message("m1", 1)
    story.message("m2", 2)
    story.delivery("b", "m2", 3, 4)
    story.delivery("a", "m1", 5, 6)

    assert story.rules() == ["order"]


@pytest.mark.parametrize(
    "wait, ended, rules",
    [("0", 2.55, ["order"]), ("0", 2.9, []), ("0.1", 2.6, [])],
)
def test_a_reserve_without_success_may_have_held_a_message(
    story: Story, wait: str, ended: float, rules: list[str]
) -> None:
    story.message("m1", 1)
    story.message("m2", 2)
    story.line(2.5, f"b c reserve queue q wait={wait}")
    story.delivery("b", "m2", 3, 4)
    story.line(ended, "e c no")
    story.delivery("a", "m1", 5, 6)

    assert story.rules() == rules


def test_a_repeated_reserve_is_late_with_half_of_its_lease(story: Story) -> None:
    story.message("m1", 1)
    story.message("m2", 2)
    story.line(2.5, "b c reserve queue q wait=0")
    story.delivery("b", "m2", 2.51, 2.52)
    story.line(2.63, "e c no")
    story.delivery("a", "m1", 2.64, 2.65)

    assert story.rules() == []


@pytest.mark.parametrize(
    "wait, took, rules",
    [("0.5", 0.3, []), ("0.5", 0.05, ["order"]), ("0", 0.3, ["order"])],
)
def test_a_reserve_may_give_a_message_back_and_succeed(
    story: Story, wait: str, took: float, rules: list[str]
) -> None:
    """Its first reply came late, and it waited on."""
    story.message("m1", 1)
    story.message("m2", 2)
    story.message("m3", 2.1)
    story.line(2.5, f"b c reserve queue q wait={wait}")
    story.delivery("b", "m2", 2.51, 2.52)
    story.delivery("a", "m1", 2.53, 2.54)
    story.line(2.5 + took, "e c ok data=m3 attempts=1")
    story.line(2.9, "b c.a ack queue q hold=c")
    story.line(2.9, "e c.a ok")

    assert story.rules() == rules


def test_a_reserve_holds_one_message_at_a_time(story: Story) -> None:
    for number in range(4):
        story.message(f"m{number}", number)
    story.line(4.5, "b c reserve queue q wait=0")
    story.delivery("d", "m3", 5, 5.1)
    story.line(5.2, "e c no")
    for number in range(3):
        story.delivery(f"d{number}", f"m{number}", 6 + number, 6.1 + number)

    assert story.rules() == ["order", "order"]


def test_a_killed_reserve_holds_its_message_for_a_while(story: Story) -> None:
    story.message("m1", 1)
    story.line(2, "b c reserve queue q wait=0")
    story.message("m2", 20)
    story.delivery("b", "m2", 21, 22)
    story.delivery("a", "m1", 23, 24)

    assert story.rules() == ["order"]


def test_a_message_that_came_back_may_be_late(story: Story) -> None:
    story.message("m1", 1)
    story.message("m2", 2)
    story.line(2.5, "b c reserve queue q wait=0")
    story.delivery("b", "m2", 3, 4)
    story.delivery("a", "m1", 5, 6)

    assert story.rules() == []


# ---- signals ------------------------------------------------------------------------


def signal(story: Story, op: str, at: float, reached: int = 1) -> None:
    story.line(at, f"b {op} notify signal s")
    story.line(at, f"e {op} ok reached={reached}")


def wait(
    story: Story, op: str, begins: float, ends: float, result: str, late: float = 0
) -> None:
    """It listens, and waits for its time."""
    story.line(begins, f"b {op} listen signal s")
    story.line(begins, f"e {op} ok")
    ms = int((ends - begins - late) * 1000)
    story.line(begins, f"b {op}.w wait signal s hold={op} ms={ms}")
    if result != "open":
        story.line(ends, f"e {op}.w {result}")


def test_a_signal_that_one_receives_is_right(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "ok data=n")
    wait(story, "p.1.1", 1, 3, "no")
    signal(story, "n", 2)

    assert story.rules() == []


def test_a_counted_signal_that_nobody_receives_is_found(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "no")
    signal(story, "n", 2)

    assert story.rules() == ["signal"]
    assert story.rules(FENCES) == []


@pytest.mark.parametrize("result", ["open", "ILK_ECONN"])
def test_a_signal_may_end_with_the_wait_that_had_it(story: Story, result: str) -> None:
    wait(story, "p.0.1", 1, 3, result)
    signal(story, "n", 2)

    assert story.rules() == []


def test_no_signal_ends_with_a_wait_while_others_wait(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "open")
    wait(story, "p.1.1", 1, 8, "no")
    wait(story, "p.2.1", 7, 15, "no")
    signal(story, "n", 2)

    assert story.rules() == ["signal"]


def test_a_signal_of_a_cluster_may_pass_from_one_of_the_dead_to_another(
    story: Story,
) -> None:
    wait(story, "dead.0.1", 1, 3, "open")
    wait(story, "gone.0.1", 9, 10, "open")  # is given it at 13, and loses it at 20
    wait(story, "p.0.1", 1, 14, "no")
    signal(story, "n", 2)

    assert story.rules() == ["signal"]
    assert story.rules(in_cluster=True) == []


def test_no_signal_of_a_cluster_ends_while_others_wait(story: Story) -> None:
    wait(story, "dead.0.1", 1, 3, "open")
    wait(story, "gone.0.1", 9, 10, "open")
    wait(story, "p.0.1", 1, 24, "no")
    signal(story, "n", 2)

    assert story.rules(in_cluster=True) == ["signal"]


def test_a_signal_may_end_with_a_wait_that_was_late(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "no", late=1)
    signal(story, "n", 2)

    assert story.rules() == []


def test_a_wait_that_was_killed_long_before_took_no_signal(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "open")
    signal(story, "n", 30)

    assert story.rules() == ["signal"]


def test_a_signal_that_two_receive_is_found(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "ok data=n")
    wait(story, "p.1.1", 1, 4, "ok data=n")
    signal(story, "n", 2)

    assert story.rules() == ["signal"]


def test_a_silent_receiver_may_be_the_first_of_two(story: Story) -> None:
    wait(story, "p.0.1", 1, 9, "ok data=n")
    wait(story, "p.1.1", 7, 8, "ok data=n")
    signal(story, "n", 2)

    assert story.rules() == []


def test_a_signal_counted_for_nobody_is_not_received(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "ok data=n")
    signal(story, "n", 2, reached=0)

    assert story.rules() == ["signal"]


def test_an_invented_signal_is_found(story: Story) -> None:
    wait(story, "p.0.1", 1, 3, "ok data=n")

    assert story.rules() == ["signal"]


# ---- barriers -----------------------------------------------------------------------


def party(story: Story, op: str, begins: float, ends: float, result: str) -> None:
    story.line(begins, f"b {op} wait barrier b parties=2")
    if result != "open":
        story.line(ends, f"e {op} {result}")


def test_rounds_that_are_full_are_right(story: Story) -> None:
    for number in range(3):
        at = float(number)
        party(story, f"p.0.{number}", at, at + 0.9, "ok index=0")
        party(story, f"p.1.{number}", at + 0.5, at + 1.4, "ok index=1")

    assert story.rules() == []


def test_a_party_that_passes_alone_is_found(story: Story) -> None:
    party(story, "p.0.1", 1, 3, "ok index=0")
    party(story, "p.1.1", 4, 5, "ok index=1")

    assert story.rules() == ["barrier", "barrier"]
    assert story.rules(FENCES) == []


def test_two_rounds_that_share_a_party_are_found(story: Story) -> None:
    party(story, "p.0.1", 1, 3, "ok index=0")
    party(story, "p.1.1", 1, 3, "ok index=0")
    party(story, "p.2.1", 2, 3, "ok index=1")

    assert story.rules() == ["barrier"]


def test_each_round_has_the_parties_that_leave_enough_for_the_others(
    story: Story,
) -> None:
    party(story, "p.0.1", 1, 9, "ok index=0")
    party(story, "p.1.1", 1, 3, "ok index=0")
    party(story, "p.2.1", 2, 9, "ok index=1")
    party(story, "p.3.1", 8, 9, "ok index=1")

    assert story.rules() == []


@pytest.mark.parametrize("result", ["open", "ILK_ETIMEOUT", "ILK_ECONN"])
def test_a_party_in_doubt_may_have_passed(story: Story, result: str) -> None:
    party(story, "p.0.1", 1, 3, "ok index=0")
    party(story, "p.1.1", 1, 3, result)

    assert story.rules() == []


def test_a_round_that_is_full_for_one_and_broken_for_another_is_found(
    story: Story,
) -> None:
    party(story, "p.0.1", 1, 3, "ok index=0")
    party(story, "p.1.1", 1, 4, "ILK_EBROKEN")
    party(story, "p.2.1", 3.5, 4, "ILK_ETIMEOUT")

    assert story.rules() == ["barrier"]


def test_a_round_that_breaks_without_a_cause_is_found(story: Story) -> None:
    party(story, "p.0.1", 1, 3, "ILK_EBROKEN")
    assert story.rules() == ["barrier"]

    party(story, "p.1.1", 1, 3, "ILK_ETIMEOUT")
    assert story.rules() == []


# ---- the order of a wait queue ------------------------------------------------------


def queued(story: Story, waiter: str = "steady-c1-1") -> None:
    """The waiter is seen in the wait queue, and has the lock at last."""
    story.line(1, f"b {waiter}.0.1 {LOCK}")
    story.line(1.1, "b o inspect lock a")
    story.line(1.1, "e o ok waiting=first,second")
    story.line(1.4, f"e {waiter}.0.1 ok fence=9 token=first")


def test_a_waiter_that_is_served_before_a_later_one_is_right(story: Story) -> None:
    queued(story)
    story.line(1.2, f"b x {LOCK}")
    story.line(1.5, "e x ok fence=10 token=third")

    assert story.rules() == []


@pytest.mark.parametrize("began, token", [(1.2, "third"), (1.0, "second")])
def test_a_waiter_that_a_later_one_overtakes_is_found(
    story: Story, began: float, token: str
) -> None:
    queued(story)
    story.line(began, f"b x {LOCK}")
    story.line(1.25, f"e x ok fence=8 token={token}")

    assert story.rules() == ["order"]


def test_a_waiter_may_be_overtaken_when_its_lease_may_have_passed(story: Story) -> None:
    queued(story)
    story.line(1.2, f"b x {LOCK}")
    story.line(1.35, "e x ok fence=8 token=third")

    assert story.rules() == []


def test_a_waiter_whose_process_has_faults_may_be_overtaken(story: Story) -> None:
    queued(story, "c1-1")
    story.line(1.2, f"b x {LOCK}")
    story.line(1.25, "e x ok fence=8 token=third")

    assert story.rules() == []
