# SPDX-License-Identifier: MIT
"""The Python package runs the table that every language runs.

``"..."`` is one word, with the escapes of a Python string; ``$x`` in a word
is a name that no other case and no other run has, and after ``x = name "..."``
that name with these bytes behind it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from pathlib import Path

import interlock
import pytest
from awaited import Face, OneTask
from conformance_kv import KVLines
from conformance_queue import QueueLines, open_queue
from conformance_register import RegisterLines
from conformance_ring import answer as ring_answer
from conformance_ring import open_ring
from conformance_store import TransactionLines
from interlock._ffi import name_bytes
from support import Memory, ReplyError

TABLE = Path(__file__).resolve().parent.parent / "conformance"
WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"|(\S+)')
ESCAPE = re.compile(rb'\\(?:x([0-9a-fA-F]{2})|([nrt\\"]))')
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\", b'"': b'"'}
NAME = re.compile(rb"\$([A-Za-z0-9]+)")


def read_table(directory):
    cases = []
    for path in sorted(directory.glob("*.txt")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            text = line.strip()
            if not text or text.startswith(b"#"):
                continue
            if text.startswith(b"case "):
                title = f"{path.stem}: {text[5:].decode()}"
                cases.append(pytest.param([], id=title))
            else:
                cases[-1].values[0].append((f"{path.name}:{number}", text))
    return cases


def unescape(raw):
    def one(match):
        return bytes.fromhex(match[1].decode()) if match[1] else LETTERS[match[2]]

    return ESCAPE.sub(one, raw)


class Case:
    """The handles and names of one case, and a method for each statement."""

    def __init__(self, face, client, server):
        self.face, self.client, self.server = face, client, server
        self.unique = f"p{os.getpid()}.{uuid.uuid4().hex[:8]}.".encode()
        self.names, self.handles, self.observers = {}, {}, {}
        self.registers = RegisterLines(self.handles)
        self.transactions = TransactionLines(self.handles)
        self.kvs = KVLines(self.handles)

    def run(self, text):
        words = self.split(text)
        words, answer = split_at(words, b"->")
        wanted = answer[0] if answer else b"ILK_OK"
        if words[1:3] == [b"=", b"name"]:
            self.names[words[0]] = self.unique + words[3]
        elif words[1:3] == [b"=", b"ring"]:
            self.handles[words[0]] = open_ring(words[3])
        elif words[1:2] == [b"="]:
            self.expect(wanted, lambda: self.open(words[0], words[2], words[3:]))
        elif isinstance(self.handles.get(words[0]), interlock.Ring):
            found = ring_answer(self.handles[words[0]], words[1], words[2:])
            assert found == (answer or [b"ILK_OK"])
        elif words[0] == b"inspect":
            self.inspect(words[1:], answer)
        elif words[0] == b"break":
            self.break_it(words[1:], wanted)
        elif words[0] == b"redis":
            self.redis(words[1:], answer)
        elif words[0] in (b"any", b"both"):
            self.await_several(words[0], int(words[1]), words[2:], wanted)
        elif words[0] == b"sleep":
            time.sleep(int(words[1]) / 1000)
        else:
            self.verb(self.handles[words[0]], words[1], words[2:], wanted)

    def split(self, text):
        def named(match):
            return self.names.get(match[1], self.unique + match[1])

        words = []
        for quoted, bare in WORD.findall(text):
            if bare.startswith(b"#"):
                break
            words.append(NAME.sub(named, bare) if bare else unescape(quoted))
        return words

    def open(self, word, kind, rest):
        if kind in (b"queue", b"queues"):
            self.handles[word] = open_queue(self.client, kind, rest)
            return
        if kind in (b"begin", b"snapshot"):
            store = self.handles[rest[0]]
            self.handles[word] = (
                store.transaction() if kind == b"begin" else store.snapshot()
            )
            return
        if kind in STATES:
            self.handles[word] = STATES[kind](self.client, *rest)
            return
        options = {"ttl": 20.0 if kind == b"election" else 30.0}
        names = []
        for one in rest:
            key, equals, value = one.partition(b"=")
            if equals and key.decode("latin-1") in OPTIONS:
                options.update(OPTIONS[key.decode()](value.decode()))
            else:
                names.append(one)
        if kind == b"many":
            self.handles[word] = self.client.lock_many(names, **options)
        elif kind == b"lock":
            self.handles[word] = self.client.lock(names[0], **options)
        elif kind == b"election":
            self.handles[word] = self.client.election(names[0], **options)
        elif kind == b"semaphore":
            limit = options.pop("limit")
            self.handles[word] = self.client.semaphore(names[0], limit, **options)
        else:
            table = self.client.rwlock(names[0], **options)
            self.handles[word] = table.read if kind == b"read" else table.write

    def verb(self, handle, verb, rest, wanted):
        if isinstance(handle, (interlock.Group, interlock.Member)):
            self.group_verb(handle, verb, rest, wanted)
            return
        if isinstance(handle, (interlock.Queue, interlock.Job)):
            done = QueueLines(self.handles).run(handle, verb, rest, [wanted])
            assert done is None or done == wanted.decode()
        elif isinstance(handle, interlock.Signal):
            self.signal_verb(handle, verb, rest, wanted)
        elif isinstance(handle, interlock.Register):
            done = self.registers.run(handle, verb, rest, wanted)
            assert done is None or done == wanted.decode()
        elif isinstance(handle, (interlock.Store, interlock.Snapshot)):
            done = self.transactions.run(handle, verb, rest, wanted)
            assert done is None or done == wanted.decode()
        elif isinstance(handle, interlock.KV):
            done = self.kvs.run(handle, verb, rest, wanted)
            assert done is None or done == wanted.decode()
        elif isinstance(handle, (interlock.Event, interlock.Barrier, interlock.Latch)):
            self.state_verb(handle, verb, rest, wanted)
        elif verb == b"acquire":
            seconds = int(rest[0]) / 1000
            false = "ILK_ETIMEOUT" if seconds else "ILK_EBUSY"
            self.expect(wanted, lambda: handle.acquire(seconds), false)
        elif verb == b"extend":
            seconds = int(rest[0]) / 1000 or None
            self.expect(wanted, lambda: handle.extend(seconds), "ILK_ELOST")
        elif verb == b"adopt":
            token = rest[0]
            if token.startswith(b"@"):
                token = self.handles[token[1:]].token
            self.expect(wanted, lambda: handle.adopt(token), "ILK_ELOST")
        elif verb == b"limit":
            self.expect(wanted, lambda: handle.set_limit(int(rest[0])))
        elif verb == b"proclaim":
            self.expect(wanted, lambda: handle.proclaim(rest[0]), "ILK_ELOST")
        elif verb == b"leader":
            value = handle.leader()
            assert rest == [b"is", b"nobody" if value is None else value]
        elif verb == b"next":
            self.next(handle, int(rest[0]) / 1000, rest[1:], wanted)
        elif verb == b"term":
            assert rest[0] == b"=" and handle.term == self.handles[rest[1]].term
        elif verb == b"release":
            self.expect(wanted, handle.release, "ILK_ELOST")
        elif verb in (b"check", b"detach"):
            self.expect(wanted, getattr(handle, verb.decode()))
        elif verb == b"held":
            assert handle.held is bool(int(wanted))
        elif verb == b"fence":
            assert rest[0] == b">"
            assert handle.fence > self.handles[rest[1]].fence
        else:
            assert (verb, rest[0]) == (b"remaining", b"between")
            assert int(rest[1]) <= handle.remaining() * 1000 <= int(rest[2])

    def signal_verb(self, signal, verb, rest, wanted):
        calls = {
            b"one": lambda: signal.notify_one(rest[0]),
            b"all": lambda: signal.notify_all(rest[0]),
            b"wait": lambda: signal.wait(int(rest[0]) / 1000),
            b"listen": signal.listen,
            b"cancel": signal.cancel,
        }
        if wanted.startswith(b"ILK_"):
            false = "ILK_ETIMEOUT" if verb == b"wait" else "ILK_?"
            self.expect(
                wanted, lambda: calls[verb]() is not None or verb != b"wait", false
            )
        else:
            assert plain(calls[verb]()) == wanted

    def group_verb(self, handle, verb, rest, wanted):
        calls = {
            b"members": lambda: entries(b"", handle.members().items()),
            b"watch": lambda: self.watch(handle, int(rest[0])),
            b"update": lambda: handle.update(rest[0]),
            b"leave": lambda: handle.leave(),
            b"held": lambda: b"%d" % handle.held,
        }
        try:
            found = calls[verb]()
        except interlock.Error as error:
            found = error.status.encode()
        statuses = {None: b"ILK_OK", True: b"ILK_OK", False: b"ILK_ELOST"}
        assert statuses.get(found, found) == wanted

    def watch(self, group, ms):
        if group not in self.observers:
            self.observers[group] = group.watch()
        change = self.observers[group].get(None if ms < 0 else ms / 1000)
        if change is None:
            return b"ILK_ETIMEOUT" if ms else b"ILK_EBUSY"
        parts = (
            entries(b"!", ((one, change.members[one]) for one in change.updated)),
            entries(b"+", ((one, change.members[one]) for one in change.joined)),
            b" ".join(sorted(b"-" + name_bytes(one) for one in change.left)),
        )
        return b" ".join(part for part in parts if part)

    def await_several(self, word, ms, words, wanted):
        wait = {b"any": self.face.wait_any, b"both": self.face.wait_all}[word]
        signals = [self.handles[one] for one in words]
        came = lambda: wait(signals, ms / 1000) is not None  # noqa: E731
        self.expect(wanted, came, "ILK_ETIMEOUT")

    def state_verb(self, thing, verb, rest, wanted):
        if verb in (b"wait", b"change"):
            self.state_wait(thing, verb, int(rest[0]), wanted)
        elif verb in (b"waiting", b"count") and not wanted.startswith(b"ILK_"):
            assert getattr(thing, verb.decode())() == int(wanted)
        elif verb == b"is_set":
            assert thing._last_state().is_set is bool(int(wanted))
        elif verb == b"data":
            assert thing.data == wanted
        elif verb == b"generation":
            assert rest[0] == b">"
            assert thing.generation > self.handles[rest[1]].generation
        else:
            more = [int(rest[0])] if verb == b"count_down" else rest
            self.expect(wanted, lambda: getattr(thing, verb.decode())(*more))

    def state_wait(self, thing, verb, ms, wanted):
        seconds = None if ms < 0 else ms / 1000
        false = "ILK_EBUSY" if ms == 0 else "ILK_ETIMEOUT"

        def wait():
            if verb == b"wait":
                return thing.wait(seconds)
            return thing.wait_change(thing.generation, seconds) is not None

        self.expect(wanted, wait, false)

    def next(self, handle, seconds, rest, wanted):
        if handle not in self.observers:
            self.observers[handle] = handle.observe()
        found = self.observers[handle].get(seconds)
        if rest:
            assert rest == [b"is", found.value]
        else:
            assert found is None
            assert wanted == (b"ILK_ETIMEOUT" if seconds else b"ILK_EBUSY")

    def inspect(self, what, answer):
        if what[:-1] == [b"semaphore"]:
            info = self.client.inspect_semaphore(what[-1])
            state = "held" if info.used else "free"
            found = {b"used": info.used, b"limit": info.limit, b"holders": info.holding}
        else:
            info = self.client.inspect(what[-1])
            state, found = info.state, {}
        assert state == answer[0].decode()
        found[b"waiters"] = info.waiting
        for extra in answer[1:]:
            key, value = extra.split(b"=")
            assert found[key] == int(value)

    def break_it(self, what, wanted):
        of_election = what[:-1] == [b"election"]
        verb = self.client.break_election if of_election else self.client.break_lock
        self.expect(wanted, lambda: verb(what[-1]), false="ILK_ENOTOWNER")

    def redis(self, words, wanted):
        try:
            answer = self.server.call(*words)
        except ReplyError as error:
            answer = f"(error) {error}"
        if wanted:
            assert [plain(answer)] == wanted
        else:
            assert not str(answer).startswith("(error)"), answer

    def expect(self, wanted, call, false="ILK_?"):
        assert self.status(call, false) == wanted.decode()

    @staticmethod
    def status(call, false="ILK_?"):
        try:
            return false if call() is False else "ILK_OK"
        except interlock.Error as error:
            return error.status


def split_at(words, mark):
    at = words.index(mark) if mark in words else len(words)
    return words[:at], words[at + 1 :]


def plain(answer):
    if answer is None:
        return b"(nil)"
    if isinstance(answer, list):
        return b"\n".join(plain(one) for one in answer)
    return answer if isinstance(answer, bytes) else str(answer).encode()


OPTIONS = {
    "ttl_ms": lambda v: {"ttl": int(v) / 1000},
    "max_hold_ms": lambda v: {"max_hold": int(v) / 1000},
    "renew": lambda v: {"renew": v != "0"},
    "barge": lambda v: {"fair": v == "0"},
    "reentrant": lambda v: {"reentrant": v != "0"},
    "layout": lambda v: {"layout": v},
    "limit": lambda v: {"limit": int(v)},
    "value": lambda v: {"value": v.encode()},
    "identity": lambda v: {"identity": v},
    "permits": lambda v: {"permits": int(v)},
}


def entries(sign, pairs):
    """Members and their data, as the table has them."""
    return b" ".join(
        sorted(sign + name_bytes(key) + b"=" + data for key, data in pairs)
    )


def join(client, name, key, data, *options):
    ttl = [int(one.partition(b"=")[2]) / 1000 for one in options]
    return client.group(name).join(key, data, *ttl)


def event(client, name, *options):
    ttl = [int(one.partition(b"=")[2]) / 1000 for one in options]
    return client.event(name, ttl=ttl[0] if ttl else None)


STATES = {
    b"group": lambda client, name: client.group(name),
    b"join": join,
    b"event": event,
    b"signal": lambda client, name: client.signal(name),
    b"pattern": lambda client, name: client.signal(pattern=name),
    b"barrier": lambda client, name, number: client.barrier(name, int(number)),
    b"latch": lambda client, name, number: client.latch(name, int(number)),
    b"register": lambda client, name: client.register(name),
    b"store": lambda client, name: client.store(name),
    b"kv": lambda client, name: client.kv(name),
}


@pytest.fixture(params=["blocking", "awaited"])
def face(request):
    """The package's two faces run the same table."""
    if request.param == "blocking":
        yield Face()
        return
    with contextlib.closing(OneTask()) as task:
        yield Face(task)


@pytest.fixture(scope="session")
def store(request):
    """A server; with $ILK_MEMORY the store in memory, and the faults that it says."""
    faults = os.environ.get("ILK_MEMORY")
    if faults is None:
        yield request.getfixturevalue("server")
        return
    with Memory(faults) as memory:
        yield memory


@pytest.mark.parametrize("lines", read_table(TABLE))
def test_conformance(face, store, lines):
    with contextlib.closing(face.connect(store.unix_url)) as client:
        case = Case(face, client, store)
        assert lines

        for where, text in lines:
            print(where, text.decode("utf-8", "backslashreplace"))
            case.run(text)
