# SPDX-License-Identifier: MIT
"""The conformance table's statements about queues.

They are described in tests/core/conformance/conf_queue.h.
"""

from __future__ import annotations

import interlock


def options(words):
    pairs = [word.partition(b"=") for word in words]
    return {key: value for key, _, value in pairs}


def open_queue(client, kind, rest):
    names = [word for word in rest if b"=" not in word]
    given = options(word for word in rest if b"=" in word)
    known = {}
    if b"order" in given:
        known["order"] = given[b"order"].decode()
    if b"max_attempts" in given:
        known["max_attempts"] = int(given[b"max_attempts"])
    return (
        client.queues(names, **known)
        if kind == b"queues"
        else client.queue(names[0], **known)
    )


class QueueLines:
    """The verbs of queues and jobs; ``handles`` are those of the case."""

    def __init__(self, handles):
        self.handles = handles

    def run(self, handle, verb, rest, answer):
        """Answers the status, or None when it has compared by itself."""
        false = {b"pop": "ILK_ETIMEOUT" if rest[:1] != [b"0"] else "ILK_EBUSY"}
        try:
            done = getattr(self, verb.decode())(handle, rest, answer)
        except interlock.Error as error:
            return error.status
        if done is False:
            return false.get(verb, "ILK_ELOST")
        return done

    def push(self, queue, rest, _):
        given = options(rest[1:])
        delay = int(given.get(b"delay", 0)) / 1000
        queue.push(rest[0], delay=delay, once=given.get(b"once"))
        return "ILK_OK"

    def pop(self, queue, rest, _):
        data = queue.pop(int(rest[0]) / 1000)
        if data is None:
            return False
        assert data == rest[1]
        return "ILK_OK"

    def reserve(self, queue, rest, _):
        job = queue.reserve(int(rest[1]) / 1000, int(rest[2]) / 1000)
        assert job is not None
        self.handles[rest[0]] = job
        return "ILK_OK"

    def size(self, queue, _, answer):
        assert queue.size() == int(answer[0])

    def count(self, queue, rest, answer):
        assert getattr(queue.inspect(), rest[0].decode()) == int(answer[0])

    def requeue(self, queue, _, answer):
        assert queue.requeue() == int(answer[0])

    def purge(self, queue, _, answer):
        assert queue.purge() == int(answer[0])

    def ack(self, job, _, __):
        return job.ack() and "ILK_OK"

    def nack(self, job, rest, _):
        return job.nack(int(rest[0]) / 1000) and "ILK_OK"

    def bury(self, job, rest, _):
        return job.bury(rest[0]) and "ILK_OK"

    def extend(self, job, rest, _):
        return job.extend(int(rest[0]) / 1000) and "ILK_OK"

    def data(self, job, _, answer):
        assert job.data == answer[0]

    def attempts(self, job, _, answer):
        assert job.attempts == int(answer[0])
