# SPDX-License-Identifier: MIT
"""The lock against a naive model: one owner, a first-come list, dead and
deaf clients, and fences that only rise. Hypothesis picks the steps; a
failure prints them."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from world import World, alive_until

CLIENTS = [f"p{i}" for i in range(4)]
LIVENESS = 6000


class LockMachine(RuleBasedStateMachine):
    """Each waiter is [token, client]; a client has a deadline and an ear."""

    server_path = scripts = None

    def __init__(self):
        super().__init__()
        self.world = World(self.server_path, self.scripts, set())
        self.world.listen(*CLIENTS)
        self.hearing = set(CLIENTS)
        self.deadline = {}
        self.owner = None
        self.line = []
        self.tokens = 0
        self.fences = [0]

    def teardown(self):
        self.world.close()

    # -- the model's own moves

    def alive(self, client):
        return self.deadline.get(client, -1) >= self.world.now // 1000

    def say_alive(self, client):
        before, ms = self.deadline.get(client), self.world.now // 1000
        self.deadline[client] = alive_until(before, ms)

    def hand_on(self):
        """Give the free lock to the first waiter that is alive and listens."""
        kept = []
        for place, (token, client) in enumerate(self.line):
            if not self.alive(client):
                continue
            if client in self.hearing:
                self.owner = token
                self.line = kept + self.line[place + 1 :]
                return client
            kept.append((token, client))
        self.line = kept
        return None

    def expect_message(self, client, token):
        (message,) = self.world.inbox(client)
        _, kind, waiter, told, fence = message.split(b" ")[:5]
        assert (kind, waiter, told) == (
            b"grant",
            b"w-" + token.encode(),
            token.encode(),
        )
        self.rose(int(fence))

    def rose(self, fence):
        assert fence > self.fences[-1]
        self.fences.append(fence)

    def expect_silence(self):
        for client in self.hearing:
            assert self.world.inbox(client) == []

    # -- steps

    @initialize(clients=st.lists(st.sampled_from(CLIENTS), min_size=2, max_size=6))
    def begin_with_a_line(self, clients):
        for client in clients:
            self.acquire(client, True)

    @rule(client=st.sampled_from(CLIENTS), wait=st.booleans())
    def acquire(self, client, wait):
        self.tokens += 1
        token = f"t{self.tokens}"
        reply = self.world.acquire(token, client=client, wait=wait, limit=100)
        if wait and (self.owner or self.line):
            self.say_alive(client)
            self.line.append((token, client))
        self.judge(reply, token, wait)

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def ask_again(self, data):
        token, client = data.draw(st.sampled_from(self.line))
        self.say_alive(client)
        self.judge(self.world.acquire(token, client=client, limit=100), token, True)

    def judge(self, reply, token, wait):
        """The reply that acquire must have sent, given the wait queue."""
        told = None
        if not self.owner:
            told = self.first_in_reach(token)
            if not self.owner and not self.line:
                self.owner = token
        if self.owner == token:
            assert reply[0] == "HELD" and reply[1] == 10000
            self.rose(reply[2])
        else:
            assert reply[0] == ("QUEUED" if wait else "BUSY")
        if told and self.owner != token:
            self.expect_message(told, self.owner)

    def first_in_reach(self, own):
        """hand_on, but the caller itself needs no ear."""
        callers = [client for token, client in self.line if token == own]
        if not callers or callers[0] in self.hearing:
            return self.hand_on()
        before = self.line.index((own, callers[0]))
        for _, client in self.line[:before]:
            if self.alive(client) and client in self.hearing:
                return self.hand_on()
        self.line = [w for w in self.line[:before] if self.alive(w[1])] + self.line[
            before + 1 :
        ]
        self.owner = own
        return None

    @precondition(lambda self: self.owner)
    @rule()
    def release(self):
        token, self.owner = self.owner, None
        told = self.hand_on()
        assert self.world.release(token, limit=100) == ["RELEASED", 0, 0]
        if told:
            self.expect_message(told, self.owner)

    @precondition(lambda self: self.owner)
    @rule()
    def lease_runs_out(self):
        self.world.expire()
        self.owner = None

    @rule()
    def stranger_releases(self):
        assert self.world.release("nobody")[0] == "LOST"

    @precondition(lambda self: self.owner)
    @rule()
    def extend(self):
        assert self.world.extend(self.owner)[:3] == ["HELD", 10000, self.world.fence()]

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def cancel_in_line(self, data):
        token, client = data.draw(st.sampled_from(self.line))
        self.line.remove((token, client))
        told = None if self.owner else self.hand_on()
        assert self.world.cancel(token, client=client, limit=100) == ["GONE"]
        if told:
            self.expect_message(told, self.owner)

    @precondition(lambda self: self.owner)
    @rule(client=st.sampled_from(CLIENTS))
    def cancel_what_was_granted(self, client):
        token, self.owner = self.owner, None
        told = self.hand_on()
        assert self.world.cancel(token, client=client, limit=100)[0] == "RELEASED"
        if told:
            self.expect_message(told, self.owner)

    @rule(client=st.sampled_from(CLIENTS))
    def refresh(self, client):
        own = [token for token, of in self.line if of == client]
        self.deadline[client] = self.world.now // 1000 + LIVENESS
        told = None if self.owner else self.hand_on()
        reply = self.world.refresh(
            client, *(self.world.entry(token, client) for token in own), limit=100
        )
        assert reply[0] == ("BUSY" if self.owner else "FREE")
        waiting = {token for token, _ in self.line}
        for place, token in enumerate(own):
            state = 1 if token == self.owner else 3 if token in waiting else 7
            assert reply[4 + 3 * place] == state
        if told:
            self.expect_message(told, self.owner)

    @rule(ms=st.sampled_from([1, 500, 1500, 3000, 6000]))
    def time_passes(self, ms):
        self.world.advance(ms)

    @rule(client=st.sampled_from(CLIENTS))
    def loses_its_ear(self, client):
        if client in self.hearing:
            self.hearing.remove(client)
            self.world.deaf(client)

    @rule(client=st.sampled_from(CLIENTS))
    def hears_again(self, client):
        if client not in self.hearing:
            self.hearing.add(client)
            self.world.listen(client)

    # -- what always holds

    @invariant()
    def same_owner_and_line(self):
        self.world.redis("PERSIST", self.world.name)  # the model ends leases
        holder = self.world.holder()
        assert holder == (self.owner.encode() if self.owner else None)
        assert self.world.line() == [token.encode() for token, _ in self.line]
        if self.owner:
            assert self.world.record()[b"token"] == holder
            assert self.world.fence() == self.fences[-1]
        self.expect_silence()


@pytest.fixture
def machine(server, scripts):
    LockMachine.server_path, LockMachine.scripts = server.path, scripts
    return LockMachine


def test_lock_behaves_as_the_model(machine):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100,
            stateful_step_count=60,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # to shrink 60 steps takes minutes
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
