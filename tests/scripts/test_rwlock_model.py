# SPDX-License-Identifier: MIT
"""Readers and writers against a naive model: a set of readers or one writer,
one line, nobody overtaken. Hypothesis picks the steps."""

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
from world import READERS, World, alive_until

CLIENTS = [f"p{i}" for i in range(3)]
ASKS = st.tuples(st.sampled_from(CLIENTS), st.booleans())
LIVENESS = 6000
LEASE = 10_000
GRANT = 5_000


class ReadWriteMachine(RuleBasedStateMachine):
    """The writer holds until it says so; a reader's lease is the fake clock's."""

    server_path = scripts = None

    def __init__(self):
        super().__init__()
        self.world = World(self.server_path, self.scripts, set())
        self.world.listen(*CLIENTS)
        self.deadline = {}
        self.writer = None
        self.readers = {}  # token -> when its lease ends
        self.line = []  # (token, client, reads)
        self.tokens = 0
        self.fence = 0

    def teardown(self):
        self.world.close()

    def ms(self):
        return self.world.now // 1000

    def alive(self, client):
        return self.deadline.get(client, -1) >= self.ms()

    def live_readers(self):
        return {t for t, end in self.readers.items() if end > self.ms()}

    # -- the model's own move: let in whoever may come in

    def hand_on(self, own=None):
        """Returns those let in, in order, as (token, client)."""
        told = []
        while self.line and not self.writer:
            token, client, reads = self.line[0]
            if self.alive(client):
                if not reads and self.readers:
                    break
                self.enter(token, reads, LEASE if token == own else GRANT)
                told.append((token, client))
            self.line.pop(0)
        return [pair for pair in told if pair[0] != own]

    def enter(self, token, reads, lease):
        if reads:
            self.readers[token] = self.ms() + lease
        else:
            self.writer = token

    def forget(self):
        """The first step of every script: readers whose lease has ended are removed."""
        self.readers = {t: end for t, end in self.readers.items() if end > self.ms()}

    def expect(self, told):
        for client in CLIENTS:
            messages = [m.split(b" ")[3:5] for m in self.world.inbox(client)]
            tokens = [token.encode() for token, of in told if of == client]
            assert [token for token, _ in messages] == tokens
        if told:
            assert self.world.fence() >= self.fence + len(told)
        self.fence = self.world.fence() if self.world.record() else 0

    # -- steps

    @initialize(asks=st.lists(ASKS, min_size=2, max_size=6))
    def begin_with_a_line(self, asks):
        for client, reads in asks:
            self.acquire(client, reads, True)

    @rule(client=st.sampled_from(CLIENTS), reads=st.booleans(), wait=st.booleans())
    def acquire(self, client, reads, wait):
        self.tokens += 1
        token = f"t{self.tokens}"
        if reads:
            self.forget()
        free = not self.writer and (not self.readers or reads)
        at_once = free and not self.line
        ask = self.world.read if reads else self.world.acquire
        reply = ask(token, client=client, wait=wait, limit=100)
        told = []
        if at_once:
            self.enter(token, reads, LEASE)
        else:
            if wait:
                before = self.deadline.get(client)
                self.deadline[client] = alive_until(before, self.ms())
                self.line.append((token, client, reads))
            if free:
                told = self.hand_on(own=token)
            still = not self.writer and (not self.readers or reads)
            if free and not wait and not self.line and still:
                self.enter(token, reads, LEASE)
        if token == self.writer or token in self.readers:
            assert reply[0] == "HELD" and reply[1] == LEASE and reply[2] > self.fence
        else:
            assert reply[0] == ("QUEUED" if wait else "BUSY")
        self.expect(told)

    @precondition(lambda self: self.writer)
    @rule()
    def writer_leaves(self):
        token, self.writer = self.writer, None
        told = self.hand_on()
        assert self.world.release(token, limit=100) == ["RELEASED", 0, 0]
        self.expect(told)

    @precondition(lambda self: self.readers)
    @rule(data=st.data())
    def reader_leaves(self, data):
        token = data.draw(st.sampled_from(sorted(self.readers)))
        held = self.readers.pop(token) > self.ms()
        self.forget()
        told = [] if self.readers else self.hand_on()
        reply = self.world.read_release(token, limit=100)
        assert reply[0] == ("RELEASED" if held else "LOST")
        self.expect(told)

    @precondition(lambda self: self.readers)
    @rule(data=st.data(), lease=st.sampled_from([2000, 20_000]))
    def reader_extends(self, data, lease):
        token = data.draw(st.sampled_from(sorted(self.readers)))
        held = self.readers[token] > self.ms()
        assert self.world.read_extend(token, lease)[0] == ("HELD" if held else "LOST")
        if held:
            self.forget()
            self.readers[token] = self.ms() + lease

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def waiter_leaves(self, data):
        token, client, reads = data.draw(st.sampled_from(self.line))
        self.line.remove((token, client, reads))
        told = [] if self.writer else self.hand_on()
        cancel = self.world.read_cancel if reads else self.world.cancel
        assert cancel(token, client=client) == ["GONE"]
        self.expect(told)

    @rule(client=st.sampled_from(CLIENTS))
    def refresh(self, client):
        own = [(t, reads) for t, of, reads in self.line if of == client]
        self.deadline[client] = self.ms() + LIVENESS
        self.forget()
        told = [] if self.writer else self.hand_on()
        entries = [
            self.world.entry(t, client, "r" if reads else "x") for t, reads in own
        ]
        reply = self.world.refresh(client, *entries, limit=100)
        waiting = {t for t, _, _ in self.line}
        for place, (token, _) in enumerate(own):
            held = token == self.writer or token in self.readers
            expected = 1 if held else 3 if token in waiting else 7
            assert reply[4 + 3 * place] == expected
        self.expect(told)

    @rule(ms=st.sampled_from([500, 1500, 3000, 6000]))
    def time_passes(self, ms):
        """The model ends leases: the server's clock is not the tests'."""
        self.world.advance(ms)
        if self.readers and not self.live_readers():
            self.readers = {}
            self.world.redis("DEL", self.world.name, self.world.keys()[4])

    # -- what always holds

    @invariant()
    def same_holders_and_line(self):
        for key in (self.world.name, self.world.keys()[4]):
            self.world.redis("PERSIST", key)
        holder = self.world.holder()
        if self.writer:
            assert holder == self.writer.encode() and not self.readers
        else:
            assert holder == (READERS if self.readers else None)
        stored = {
            t
            for t in self.world.readers()
            if float(self.world.redis("ZSCORE", self.world.keys()[4], t)) > self.ms()
        }
        if self.readers:
            assert stored == {t.encode() for t in self.live_readers()}
        assert self.world.line() == [t.encode() for t, _, _ in self.line]


@pytest.fixture
def machine(server, scripts):
    ReadWriteMachine.server_path, ReadWriteMachine.scripts = server.path, scripts
    return ReadWriteMachine


def test_read_write_lock_behaves_as_the_model(machine):
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
