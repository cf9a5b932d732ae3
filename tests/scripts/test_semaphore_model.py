# SPDX-License-Identifier: MIT
"""The semaphore against a naive model: holds with ends, a first-come list,
dead and deaf clients, a limit that moves, fences that only rise. Hypothesis
picks the steps; a failure prints them."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from permits import Semaphore
from world import World, alive_until

CLIENTS = [f"p{i}" for i in range(3)]
LIVENESS, LEASE, GRANT, BASE = 6000, 10000, 5000, 4


class SemaphoreMachine(RuleBasedStateMachine):
    """holds: token -> [permits, end]; line: [token, client, permits]."""

    server_path = scripts = None

    def __init__(self):
        super().__init__()
        self.world = World(self.server_path, self.scripts, set())
        self.world.listen(*CLIENTS)
        self.sem = Semaphore(self.world, BASE)
        self.hearing = set(CLIENTS)
        self.deadline = {}
        self.holds = {}
        self.line = []
        self.limit = BASE
        self.tokens = 0
        self.fence = 0
        self.told = []  # (client, token) of the grants of this step

    def teardown(self):
        self.world.close()

    # -- the model's own moves

    @property
    def ms(self):
        return self.world.now // 1000

    def alive(self, client):
        return self.deadline.get(client, -1) >= self.ms

    def used(self):
        self.holds = {t: h for t, h in self.holds.items() if h[1] > self.ms}
        return sum(permits for permits, _ in self.holds.values())

    def hand_out(self, own=None):
        """In order, until one comes for whom too few are left."""
        kept, deaf, ended = [], set(), False
        for waiter in self.line:
            token, client, permits = waiter
            free = self.limit - self.used()
            mine = token == own
            if not ended and not mine and not self.alive(client):
                continue
            if ended or (client in deaf and not mine):
                kept.append(waiter)
            elif free < permits <= self.limit:
                kept.append(waiter)
                ended = True
            elif client not in self.hearing and not mine:
                kept.append(waiter)
                deaf.add(client)
            elif permits > self.limit:
                self.woken.add(client)
            else:
                self.serve(token, client, permits, mine)
                ended = free == permits
        self.line = kept

    def serve(self, token, client, permits, mine):
        self.holds[token] = [permits, self.ms + (LEASE if mine else GRANT)]
        if not mine:
            self.told.append((client, token))

    def step(self):
        self.told, self.woken = [], set()

    def settle_messages(self):
        found = {client: self.world.inbox(client) for client in self.hearing}
        grants = []
        for client, messages in found.items():
            for message in messages:
                _, verb, _, *rest = message.split(b" ")
                if verb == b"grant":
                    grants.append((int(rest[1]), client, rest[0].decode()))
                else:
                    assert client in self.woken
        grants.sort()
        assert [(client, token) for _, client, token in grants] == self.told
        for fence, _, _ in grants:
            self.rose(fence)

    def rose(self, fence):
        assert fence > self.fence
        self.fence = fence

    # -- steps

    @rule(
        client=st.sampled_from(CLIENTS),
        permits=st.integers(1, BASE),
        wait=st.booleans(),
    )
    def acquire(self, client, permits, wait):
        self.tokens += 1
        self.ask(f"t{self.tokens}", client, permits, wait)

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def ask_again(self, data):
        token, client, permits = data.draw(st.sampled_from(self.line))
        self.ask(token, client, permits, True)

    def ask(self, token, client, permits, wait):
        self.step()
        reply = self.sem.acquire(token, permits, client=client, wait=wait, walk=100)
        if permits > self.limit:
            assert reply[0] == "DIFFERS"
            return
        before = self.fence
        fits = self.used() + permits <= self.limit
        if not self.line and fits:
            self.holds[token] = [permits, self.ms + LEASE]
        else:
            if wait:
                said = self.deadline.get(client)
                self.deadline[client] = alive_until(said, self.ms)
                if token not in [waiter[0] for waiter in self.line]:
                    self.line.append((token, client, permits))
            if self.used() < self.limit:
                self.hand_out(token if wait else None)
            if not wait and not self.line and self.used() + permits <= self.limit:
                self.holds[token] = [permits, self.ms + LEASE]
        if token in self.holds:
            assert reply[:2] == ["HELD", LEASE]
            assert reply[2] > before
        else:
            assert reply[0] == ("QUEUED" if wait else "BUSY")
        self.settle_messages()
        self.fence = max(self.fence, self.sem.inspect(0)[4])

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def release(self, data):
        token = data.draw(st.sampled_from(sorted(self.holds)))
        self.step()
        del self.holds[token]
        self.hand_out()
        assert self.sem.release(token, walk=100) == ["RELEASED", 0, 0]
        self.settle_messages()

    @precondition(lambda self: self.used())
    @rule(data=st.data(), lease=st.sampled_from([1000, 8000, 20000]))
    def extend(self, data, lease):
        token = data.draw(st.sampled_from(sorted(self.holds)))
        self.holds[token][1] = self.ms + lease
        assert self.sem.extend(token, lease)[:2] == ["HELD", lease]

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def cancel(self, data):
        waiter = data.draw(st.sampled_from(self.line))
        self.step()
        self.line.remove(waiter)
        self.hand_out()
        token, client, permits = waiter
        assert self.sem.cancel(token, permits, client=client) == ["GONE"]
        self.settle_messages()

    @rule(client=st.sampled_from(CLIENTS))
    def refresh(self, client):
        self.step()
        mine = [waiter for waiter in self.line if waiter[1] == client]
        self.deadline[client] = self.ms + LIVENESS
        self.hand_out()
        entries = [self.sem.entry(t, p, c) for t, c, p in mine]
        reply = self.sem.refresh(client, *entries, walk=100)
        states = {1: "held", 3: "queued", 7: "gone"}
        if self.tokens:
            for i, (token, _, _) in enumerate(mine):
                expected = "gone"
                if token in self.holds:
                    expected = "held"
                elif token in [waiter[0] for waiter in self.line]:
                    expected = "queued"
                assert states[reply[4 + 3 * i]] == expected
        self.settle_messages()

    @rule(limit=st.integers(1, 6))
    def set_limit(self, limit):
        self.step()
        self.limit = limit
        self.hand_out()
        assert self.sem.set_limit(limit, walk=100)[2:] == [0, 0]
        self.settle_messages()

    @rule(ms=st.sampled_from([1, 900, 2500, 7000]))
    def time_passes(self, ms):
        self.world.advance(ms)

    @rule(client=st.sampled_from(CLIENTS))
    def ears_change(self, client):
        if client in self.hearing:
            self.hearing.remove(client)
            self.world.deaf(client)
        else:
            self.hearing.add(client)
            self.world.listen(client)

    @invariant()
    def the_server_agrees(self):
        self.used()
        assert self.sem.holders() == {t: h[0] for t, h in self.holds.items()}
        assert self.sem.line() == [token for token, _, _ in self.line]
        if self.sem.record():
            assert self.sem.record().get(b"limit") in (None, b"%d" % self.limit)


@pytest.fixture
def machine(server, scripts):
    SemaphoreMachine.server_path, SemaphoreMachine.scripts = server.path, scripts
    return SemaphoreMachine


def test_the_semaphore_behaves_as_the_model(machine):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100,
            stateful_step_count=50,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # to shrink 50 steps takes minutes
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
