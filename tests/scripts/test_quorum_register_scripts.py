# SPDX-License-Identifier: MIT
"""One node of a quorum that keeps registers: promises, acceptances, losses of memory."""

import pytest
from resp import ReplyError

NODE, ACCEPTOR = b"ilk:quorum:node", b"ilk:quorum:acceptor"
REGISTER = b"ilk:quorum:register:{n}"
WAIT, LIVE = b"ilk:register:wait:{n}", b"ilk:register:live:{n}"
NUMBER = "0123456789abcdef"
ID = f"{NUMBER}-{'b' * 16}-{'c' * 16}"
NOTHING = [0, 0, 0, 0, b""]


class Acceptor:
    """A server as one node of a quorum, and proposers that know only this one."""

    def __init__(self, world):
        self.world = world

    def say(self, nonce="", word="", own_id=ID):
        return self.world.call("quorum_acceptor", [NODE, ACCEPTOR], nonce, word, own_id)

    def begin(self):
        self.world.redis("HSET", NODE, "nonce", "n1")
        assert self.say("n1", "begins", NUMBER)[2] == f"begins {NUMBER}".encode()
        assert self.say("n1", "ready")[2] == f"ready {ID}".encode()
        return self

    def read(self, entry=b"", client="", known=0, own_id=ID):
        keys = [REGISTER, WAIT, LIVE, ACCEPTOR]
        args = [own_id, entry, client, 6000, known]
        return self.world.call("quorum_register_read", keys, *args)

    def prepare(self, counter, proposer, own_id=ID):
        args = [own_id, counter, proposer]
        return self.world.call("quorum_register_prepare", [REGISTER, ACCEPTOR], *args)

    def accept(self, ballot, version, value="v", has=1, own_id=ID, notifies=0):
        keys = [REGISTER, WAIT, LIVE, ACCEPTOR]
        args = [own_id, *ballot, version, has, value, "changes", 16, notifies]
        return self.world.call("quorum_register_accept", keys, *args)

    def wait(self, token, known):
        client = f"c-{token}"
        self.world.listen(client)
        entry = self.world.entry(token, kind="o")
        return self.read(entry, client, known)

    def listed(self):
        return self.world.redis("ZCARD", WAIT)


@pytest.fixture
def node(world):
    return Acceptor(world).begin()


# -- promises


def test_a_register_that_nobody_wrote_has_accepted_nothing(node):
    assert node.read() == ["STATE", *NOTHING]
    assert node.prepare(1, 7)[:7] == ["STATE", *NOTHING, b""]


def test_a_promise_keeps_lesser_ballots_out(node):
    node.prepare(5, 7)

    assert node.prepare(4, 9) == ["STALE", 5, 7]
    assert node.prepare(5, 6) == ["STALE", 5, 7]
    assert node.prepare(5, 7) == ["STALE", 5, 7]  # each is prepared once
    assert node.accept((4, 9), 1) == ["STALE", 5, 7]
    assert node.accept((5, 6), 1) == ["STALE", 5, 7]
    assert node.read() == ["STATE", *NOTHING]
    assert node.prepare(5, 8)[0] == "STATE"


def test_ballots_are_compared_as_numbers(node):
    node.prepare(9, 2)
    assert node.prepare(10, 1)[0] == "STATE"
    assert node.prepare(10, 2**47)[0] == "STATE"
    assert node.prepare(10, 2**47 - 1)[0] == "STALE"


def test_what_is_accepted_comes_with_the_next_promise(node):
    node.prepare(1, 7)
    assert node.accept((1, 7), 100, "first") == ["WRITTEN", 0, 0]

    assert node.read() == ["STATE", 1, 7, 100, 1, b"first"]
    assert node.prepare(2, 8)[:7] == ["STATE", 1, 7, 100, 1, b"first", b"changes"]
    assert node.accept((1, 7), 101) == ["STALE", 2, 8]
    assert node.accept((2, 8), 102, "", has=0) == ["WRITTEN", 0, 0]
    assert node.read() == ["STATE", 2, 8, 102, 0, b""]


def test_a_greater_ballot_is_accepted_without_a_promise(node):
    assert node.accept((3, 7), 100) == ["WRITTEN", 0, 0]
    assert node.prepare(2, 9) == ["STALE", 3, 7]


def test_a_retry_accepts_the_same_again(node):
    node.accept((3, 7), 100)
    assert node.accept((3, 7), 100) == ["WRITTEN", 0, 0]
    assert node.read() == ["STATE", 3, 7, 100, 1, b"v"]


def test_a_counter_rises_in_bounded_steps(node):
    node.prepare(2**32, 1)
    with pytest.raises(ReplyError, match="may not rise"):
        node.prepare(2**33 + 1, 1)
    assert node.prepare(2**33, 1)[0] == "STATE"


def test_an_acceptance_never_expires(world, node):
    node.accept((1, 7), 100, "", has=0)
    assert world.redis("PTTL", REGISTER) == -1


@pytest.mark.parametrize("bad", ["", "x", "-1", "1.5", str(2**53)])
def test_what_is_no_number_is_refused_before_anything_is_written(world, node, bad):
    with pytest.raises(ReplyError, match="ILKARG"):
        node.prepare(bad, 1)
    with pytest.raises(ReplyError, match="ILKARG"):
        node.accept((1, bad), 1)
    with pytest.raises(ReplyError, match="ILKARG"):
        node.accept((1, 1), bad)
    assert world.redis("EXISTS", REGISTER) == 0


def test_another_type_at_the_key_is_an_error(world, node):
    world.redis("SET", REGISTER, "x")
    for call in (node.read, lambda: node.prepare(1, 1), lambda: node.accept((1, 1), 1)):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            call()


# -- waiters


def test_a_waiter_is_woken_by_another_version_only(node):
    node.accept((1, 7), 100)
    node.wait("a", known=100)
    node.accept((2, 7), 100)  # the same state under another ballot
    assert node.listed() == 1

    assert node.accept((3, 7), 101) == ["WRITTEN", 0, 0]
    assert node.listed() == 0
    assert node.world.redis("ZCARD", LIVE) == 0


def test_a_waiter_behind_the_node_is_not_listed(node):
    node.accept((1, 7), 100)
    assert node.wait("a", known=99)[3] == 100
    assert node.listed() == 0
    node.wait("b", known=101)  # the node is behind the waiter
    assert node.listed() == 1


def test_a_repeated_change_notifies_those_who_were_left_out(node):
    node.accept((1, 7), 100)
    node.wait("a", known=100)
    node.accept((2, 7), 100, notifies=1)
    assert node.world.redis("ZCARD", LIVE) == 0


def test_an_entry_of_another_client_is_refused(node):
    entry = node.world.entry("a", kind="o")
    with pytest.raises(ReplyError, match="no entry of this caller"):
        node.read(entry, "someone")


# -- beginning, and losses of memory


def test_a_node_begins_once(node):
    other = "f" * 16
    assert node.say("n1", "begins", other)[2] == f"ready {ID}".encode()
    assert node.say("n1", "ready", other)[2] == f"ready {ID}".encode()


def test_a_node_is_not_ready_before_it_has_begun(world):
    world.redis("HSET", NODE, "nonce", "n1")
    assert Acceptor(world).say("n1", "ready") == ["STATE", b"n1", b""]


def test_a_node_becomes_ready_for_a_list_that_has_its_number(world):
    node = Acceptor(world)
    world.redis("HSET", NODE, "nonce", "n1")
    node.say("n1", "begins", "d" * 16)
    assert node.say("n1", "ready")[2] == b"begins " + b"d" * 16
    assert node.say("n1", "ready", f"{ID}-{'d' * 16}")[2].startswith(b"ready ")


def test_a_late_copy_finds_another_nonce(world):
    world.redis("HSET", NODE, "nonce", "n2")
    assert Acceptor(world).say("n1", "begins", NUMBER) == ["STATE", b"n2", b""]
    world.redis("DEL", NODE)
    assert Acceptor(world).say("", "begins", NUMBER) == ["STATE", b"", b""]


def test_only_the_quorum_of_the_node_is_served(world, node):
    other = "f" * 16
    for call in (
        lambda own: node.read(own_id=own),
        lambda own: node.prepare(1, 1, own_id=own),
        lambda own: node.accept((1, 1), 1, own_id=own),
    ):
        assert call(other) == ["REFUSED"]
    assert world.redis("EXISTS", REGISTER) == 0


def test_a_node_that_was_wiped_serves_nobody(world, node):
    node.accept((1, 7), 100)
    world.redis("FLUSHALL")
    world.redis("HSET", NODE, "nonce", "n2")
    assert node.read() == ["REFUSED"]
    assert node.prepare(2, 7) == ["REFUSED"]
    assert node.accept((2, 7), 1) == ["REFUSED"]
