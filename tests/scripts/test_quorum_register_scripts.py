# SPDX-License-Identifier: MIT
"""One node of a quorum that keeps registers: promises, acceptances, losses of memory."""

import pytest
from resp import ReplyError

NODE, ACCEPTOR = b"ilk:quorum:node", b"ilk:quorum:acceptor"
REGISTER = b"ilk:quorum:register:{n}"
WAIT, LIVE = b"ilk:register:wait:{n}", b"ilk:register:live:{n}"
NUMBER = "0123456789abcdef"
NUMBERS = f"{NUMBER}-{'b' * 16}-{'c' * 16}"
ID = f"00000001:{NUMBERS}"
NEXT = f"00000002:{NUMBERS}"
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


def test_an_accepted_value_comes_with_the_next_promise(node):
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
def test_a_text_that_is_no_number_is_refused_before_anything_is_written(
    world, node, bad
):
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


# -- editions of the list, and a node that returns


def state(node):
    return node.say()[2].decode()


def lose(node, nonce="n2"):
    node.world.redis("FLUSHALL")
    node.world.redis("HSET", NODE, "nonce", nonce)


def give(node, promised, accepted, version=0, value="", nonce="n2", own_id=NEXT):
    keys = [REGISTER, NODE, ACCEPTOR]
    args = [nonce, own_id, *promised, *accepted, version, 1, value, "changes"]
    return node.world.call("quorum_register_return", keys, *args)


def test_a_ready_node_gets_a_later_edition_and_no_earlier_one(node):
    node.accept((1, 7), 100)

    assert node.say("n1", "ready", NEXT)[2] == f"ready {NEXT}".encode()
    assert node.say("n1", "ready", ID)[2] == f"ready {NEXT}".encode()
    assert node.read() == ["REFUSED"]  # with the former edition
    assert node.read(own_id=NEXT) == ["STATE", 1, 7, 100, 1, b"v"]


def test_editions_are_those_of_one_list(node):
    for other in (
        f"00000002:{'f' * 16}-{'b' * 16}-{'c' * 16}",
        f"00000002:{NUMBERS}-{'d' * 16}",
        "00000002:",
        "",
    ):
        assert node.say("n1", "ready", other)[2] == f"ready {ID}".encode()


def test_a_ready_node_does_not_return(node):
    node.say("n1", "returns", NEXT)
    assert state(node) == f"ready {ID}"


def test_a_lost_node_returns_and_is_ready_with_the_same_edition(node):
    lose(node)
    assert node.say("n1", "returns", NEXT)[2] == b""  # about an earlier loss
    node.say("n2", "returns", NEXT)
    assert state(node) == f"returns {NEXT}"
    assert node.read(own_id=NEXT) == ["REFUSED"]

    node.say("n2", "ready", ID)
    node.say("n2", "begins", NUMBER)
    assert state(node) == f"returns {NEXT}"
    node.say("n2", "ready", NEXT)
    assert state(node) == f"ready {NEXT}"


def test_a_node_that_begins_may_return(world):
    world.redis("HSET", NODE, "nonce", "n2")
    node = Acceptor(world)
    node.say("n2", "begins", "d" * 16)
    node.say("n2", "returns", NEXT)
    assert state(node) == f"returns {NEXT}"


def test_registers_are_listed_by_pages(world, node):
    keys = {b"ilk:quorum:register:{%d}" % number for number in range(50)}
    for key in keys:
        world.redis("HSET", key, "counter", 1)
    for number in range(50):
        world.redis("SET", f"other:{number}", "x")
    found, cursor = set(), b"0"
    while True:
        code, cursor, *some = world.call(
            "quorum_register_list", [ACCEPTOR], ID, cursor, 10
        )
        assert code == "STATE"
        found |= set(some)
        if cursor == b"0":
            break

    assert found == keys
    assert world.call("quorum_register_list", [ACCEPTOR], NEXT, "0", 10) == ["REFUSED"]
    with pytest.raises(ReplyError, match="ILKARG"):
        world.call("quorum_register_list", [ACCEPTOR], ID, "0", 0)


def test_a_copy_is_all_that_a_node_knows(world, node):
    def copy(own_id=ID):
        return world.call("quorum_register_copy", [REGISTER, ACCEPTOR], own_id)

    assert copy() == ["STATE", 0, 0, 0, 0, 0, 0, b"", b""]
    node.accept((3, 7), 100)
    node.prepare(4, 9)
    assert copy() == ["STATE", 4, 9, 3, 7, 100, 1, b"v", b"changes"]
    assert copy(NEXT) == ["REFUSED"]


def test_a_node_that_returns_keeps_the_greatest_of_each(node):
    lose(node)
    node.say("n2", "returns", NEXT)

    assert give(node, (5, 1), (3, 7), 100, "newer") == ["WRITTEN"]
    assert give(node, (4, 9), (2, 8), 90, "older") == ["WRITTEN"]
    assert give(node, (5, 1), (3, 7), 100, "newer") == ["WRITTEN"]  # a retry
    node.say("n2", "ready", NEXT)
    assert node.read(own_id=NEXT) == ["STATE", 3, 7, 100, 1, b"newer"]
    assert node.prepare(5, 1, own_id=NEXT) == ["STALE", 5, 1]
    assert node.world.redis("PTTL", REGISTER) == -1


def test_a_promise_alone_is_given_too(node):
    lose(node)
    node.say("n2", "returns", NEXT)
    assert give(node, (5, 1), (0, 0)) == ["WRITTEN"]
    node.say("n2", "ready", NEXT)
    assert node.prepare(4, 9, own_id=NEXT) == ["STALE", 5, 1]
    assert node.read(own_id=NEXT) == ["STATE", *NOTHING]


def test_only_a_node_that_returns_is_given_registers(node):
    assert give(node, (5, 1), (3, 7), nonce="n1") == ["REFUSED"]
    lose(node)
    assert give(node, (5, 1), (3, 7)) == ["REFUSED"]
    node.say("n2", "returns", NEXT)
    assert give(node, (5, 1), (3, 7), nonce="n1") == ["REFUSED"]
    assert give(node, (5, 1), (3, 7), own_id=ID) == ["REFUSED"]
    node.say("n2", "ready", NEXT)
    assert give(node, (5, 1), (3, 7)) == ["REFUSED"]
    assert node.world.redis("EXISTS", REGISTER) == 0
