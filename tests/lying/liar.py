# SPDX-License-Identifier: MIT
"""A proxy that spoils what a server sends: a process between clients and a server.

Each client has a socket of its own, ``<directory>/<label>``, so that a fault is
counted for its client. The proxy takes the server's bytes apart into frames, knows
the command that each reply belongs to, and at random

    add        inserts a frame of another request, or of another connection
    replace    sends such a frame instead
    drop       leaves one out
    swap       exchanges it with the next one
    repeat     sends it twice, at once or after some others
    delay      holds it and all that follow back
    truncate   leaves out its end; the stream goes on behind it, or ends
    corrupt    changes a type, a length, a line's end or the number of the request
    cut        closes the connection instead
    late       holds commands back, closes the client's end, and delivers them later

It does not change what a reply with the right number, or a message, says: TCP and
TLS have checksums for that, and docs/safety.md excludes it.

Commands come as lines of JSON on standard input, answers go to standard output:
{"do": "lie", "most": n}, {"do": "quiet"}, {"do": "stats"}; the end of input ends it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from collections import Counter, deque

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "shared"))

import relay
from resp import frame_end, strings

KINDS = ["add", "replace", "drop", "swap", "repeat", "delay", "truncate", "corrupt"]
KINDS += ["cut", "late"]
LOGIN = {"HELLO", "AUTH", "SELECT", "SETNAME", "ID", "LIST", "KILL"}
FIXED = [b"+OK\r\n", b":1\r\n", b"$-1\r\n", b"*0\r\n", b"-ERR no such thing\r\n"]
FIXED += [b"-NOSCRIPT No matching script. Please use EVAL.\r\n"]
FIXED += [b":301507\r\n", b"*2\r\n:65\r\n:1\r\n", b">2\r\n+invalidate\r\n*0\r\n"]
HEADS = [b"$", b"*", b"%", b"~", b">", b"=", b":", b"+", b"-", b"_"]
HELD_FOR = 0.02  # a swapped frame waits so long for the next one
COLLECTS = 0.02  # seconds in which late commands are held back
LATE = 0.25  # and those until they are delivered
GAP = 0.012  # between two faults, on average


def between_texts(frame):
    """Where bytes may be lost without a change of what a text says.

    The bytes that follow could take the place of those of a text, up to a line's
    end, and nobody could see it.
    """
    places, at = [], 0
    while at < len(frame):
        line = frame.index(b"\r\n", at) + 2
        places += range(at, line)
        size = int(frame[at + 1 : line - 2]) if frame[at] in b"$=" else -1
        at = line + size + 2 if size >= 0 else line
    return places


class Link(relay.Link):
    """One connection of a client, and what is spoilt on it."""

    def __init__(self, label, client, server, rng):
        super().__init__(label, client, server)
        self.rng = rng
        self.requests = bytearray()
        self.replies = bytearray()
        self.names = deque()  # of the commands whose replies are to come
        self.to_server = bytearray()
        self.out = deque()  # (when, bytes) for the client, in order
        self.held = None  # a swapped frame
        self.held_until = 0.0
        self.later = []  # [frames to go, bytes]: repeated ones
        self.ends = False  # close when all is sent
        self.late_at = None  # when the next thing happens to late commands
        self.late = set()  # what they say, without the request's number
        self.since, self.late_since = time.monotonic(), float("inf")
        self.story = []  # of its login, and of its end
        self.is_late = self.is_repeated = self.was_executed = False


class Liar(relay.Relay):
    def __init__(self, directory, labels, server_path, seed, scripts):
        super().__init__(directory, labels, server_path)
        self.seed, self.scripts = seed, scripts
        self.numbers = Counter()  # of connections, by label
        self.texts = {}
        self.pool = deque(maxlen=60)  # frames of all connections
        self.kinds, self.hits = Counter(), Counter()
        self.frames = self.faults = self.most = 0
        self.next_at = 0.0
        self.late_links, self.late_copies, self.executed = [], 0, []
        self.pace = random.Random(seed)

    # ---- commands of the test ------------------------------------------------

    def obey(self, what):
        if what["do"] == "lie":
            self.most = self.faults + what["most"]
        elif what["do"] == "quiet":
            self.most = 0
        found = {"faults": self.faults, "frames": self.frames, "kinds": self.kinds}
        found["late"], found["executed"] = self.late_copies, self.executed
        found["lying"] = self.faults < self.most
        found["hits"] = [[label, name, n] for (label, name), n in self.hits.items()]
        return found

    # ---- connections ---------------------------------------------------------

    def due(self, link):
        times = [link.out[0][0]] if link.out else []
        times += [link.late_at] if link.late_at else []
        return times + ([link.held_until] if link.held is not None else [])

    def new_link(self, label, client, server):
        self.numbers[label] += 1
        rng = random.Random(f"{self.seed} {label} {self.numbers[label]}")
        return Link(label, client, server, rng)

    def close(self, link):
        if link in self.late_links:
            self.late_links.remove(link)
            self.late_copies += 1
            if link.was_executed and link.is_repeated:
                self.executed.append(f"{link.label}: {link.story}")
        super().close(link)

    def receive(self, link, end, data):
        if end is link.client:
            if not data:
                self.close(link)
                return
            link.to_server += data
            link.requests += data
            self.read_requests(link)
        elif data and link.is_late:
            link.was_executed = True
        elif data:
            link.replies += data
            self.read_replies(link)
        elif link.is_late:
            self.close(link)
        else:
            link.ends = True

    def flush(self, link):
        now = time.monotonic()
        if link.late_at is not None:
            self.deliver_late(link, now)
            return
        if link.held is not None and now >= link.held_until:
            held, link.held = link.held, None
            self.emit(link, held, 0)
        try:
            if link.to_server:
                del link.to_server[: link.server.send(link.to_server)]
            while link.out and link.out[0][0] <= now:
                when, data = link.out.popleft()
                sent = link.client.send(data)
                if sent < len(data):
                    link.out.appendleft((when, data[sent:]))
                    break
        except BlockingIOError:
            if link.out and not link.to_server:
                link.out.appendleft((now + 0.002, b""))
        except OSError:
            self.close(link)
            return
        if link.ends and not link.out and link.held is None:
            self.close(link)

    def deliver_late(self, link, now):
        """The next step of a link whose commands come late, when it is time."""
        if now < link.late_at:
            return
        if not link.is_late:
            link.is_late, link.late_at, link.late_since = True, now + LATE, now
            self.late_links.append(link)
            self.forget(link.client)
        elif link.to_server:
            link.late_at = now + LATE
            try:
                link.server.send(link.to_server)
            except OSError:
                self.close(link)
            link.to_server.clear()
        else:
            self.close(link)

    # ---- what a command is called --------------------------------------------

    def read_requests(self, link):
        at = 0
        while (end := frame_end(link.requests, at)) is not None:
            words = strings(link.requests[at:end])
            link.names.append(self.name_of(words))
            self.note_copy(link, words)
            at = end
            if at == len(link.requests):
                break
        del link.requests[:at]

    def note_copy(self, link, words):
        """A command of a late link that is repeated on a newer one: from now on the
        first copy may not be executed. What is given back goes other ways."""
        if words[0] not in (b"EVALSHA", b"EVAL"):
            return
        if "cancel" in link.names[-1] or "release" in link.names[-1]:
            return
        says = b" ".join(words[2:-1])
        if link.late_at is not None:
            link.late.add(says)
        for other in self.late_links:
            newer = other.label == link.label and link.since > other.since
            if newer and link.since > other.late_since and says in other.late:
                other.is_repeated = True
                other.story.append(f"repeated by {link.story}: {says[:100]!r}")

    def name_of(self, words):
        word = words[0].upper().decode()
        if word == "CLIENT":
            return words[1].upper().decode()
        if word not in ("EVALSHA", "EVAL"):
            return word
        sha = words[1].decode()
        if word == "EVAL":
            sha = self.texts.get(words[1]) or hashlib.sha1(words[1]).hexdigest()
            self.texts[words[1]] = sha
        name = self.scripts.get(sha, "unknown_script")
        args = words[3 + int(words[2]) :]
        if name == "queue_reserve" and args[2] == b"0":
            return "queue_pop"
        if name == "job_settle":
            return f"job_settle:{args[3][:1].decode()}"
        return name

    # ---- faults --------------------------------------------------------------

    def read_replies(self, link):
        at = 0
        while at < len(link.replies):
            end = frame_end(link.replies, at)
            if end is None:
                break
            frame = bytes(link.replies[at:end])
            at = end
            self.frames += 1
            self.pass_on(link, frame, self.frame_name(link, frame))
        del link.replies[:at]

    def frame_name(self, link, frame):
        """The command that a reply belongs to; of a message its type."""
        if frame[:1] in b">*":
            words = strings(frame) if frame[4:5] == b"$" else []
            if words and words[0] == b"message":
                kind = words[2].split(b" ", 2)[1:2] if words[2][:2] == b"1 " else []
                return "message:" + (kind[0].decode("latin-1") if kind else "other")
            if words and words[0] == b"pmessage":
                return "message:pattern"
            if frame[:1] == b">" and not (words and words[0].endswith(b"subscribe")):
                return "push"
        return link.names.popleft() if link.names else "nothing"

    def pass_on(self, link, frame, name):
        kind = self.choose(link, name)
        if len(frame) < 4096 and (name not in LOGIN or link.rng.random() < 0.2):
            self.pool.append(frame)
        if name in LOGIN:
            link.story.append(f"{name} {frame[:60]!r} {kind}")
        if kind is None:
            self.emit(link, frame, 0)
            return
        self.faults += 1
        self.kinds[kind] += 1
        self.hits[link.label, name] += 1
        getattr(self, kind)(link, frame)

    def choose(self, link, name):
        """The fault that this frame gets. Those seldom hit are hit more often."""
        now = time.monotonic()
        if self.faults >= self.most or now < self.next_at:
            return None
        often = self.hits[link.label, name]
        chance = max(0.02, 0.7 / (1 + often))
        if name in LOGIN and often > 1:
            chance *= 0.15
        if link.rng.random() >= chance:
            return None
        self.next_at = now + self.pace.expovariate(1 / GAP)
        return link.rng.choice(KINDS)

    def emit(self, link, data, delay):
        """Send the bytes after all before them; then what waits for a later place.
        Nothing follows on a connection that is to end."""
        if link.ends:
            return
        when = time.monotonic() + delay
        if link.out:
            when = max(when, link.out[-1][0])
        link.out.append((when, data))
        if link.held is not None:
            held, link.held = link.held, None
            link.out.append((when, held))
        for entry in link.later:
            entry[0] -= 1
        for _, again in [entry for entry in link.later if entry[0] < 0]:
            link.out.append((when, again))
        link.later = [entry for entry in link.later if entry[0] >= 0]

    def add(self, link, frame):
        other = self.other(link)
        if link.rng.random() < 0.5:
            frame, other = other, frame
        self.emit(link, frame + other, 0)

    def replace(self, link, frame):
        self.emit(link, self.other(link), 0)

    def other(self, link):
        """A frame that does not belong here."""
        usual = link.rng.random() < 0.7 and self.pool
        return link.rng.choice(self.pool if usual else FIXED)

    def drop(self, link, frame):
        pass

    def swap(self, link, frame):
        if link.held is not None:
            self.emit(link, frame, 0)
            return
        link.held, link.held_until = frame, time.monotonic() + HELD_FOR

    def repeat(self, link, frame):
        self.emit(link, frame, 0)
        link.later.append([link.rng.choice([0, 0, 1, 2, 5]), frame])
        if link.later[-1][0] == 0:
            link.later.pop()
            self.emit(link, frame, 0)

    def delay(self, link, frame):
        self.emit(link, frame, link.rng.choice([0.005, 0.02, 0.1, 0.4, 0.8]))

    def truncate(self, link, frame):
        """The connection ends then, or goes on with the bytes behind the frame."""
        ends = link.rng.random() < 0.5
        places = range(len(frame)) if ends else between_texts(frame)
        self.emit(link, frame[: link.rng.choice(places)], 0)
        link.ends = ends

    def cut(self, link, frame):
        link.ends = True

    def late(self, link, frame):
        self.emit(link, frame, 0)
        link.late_at = time.monotonic() + COLLECTS

    def corrupt(self, link, frame):
        rng, broken = link.rng, bytearray(frame)
        ends = [i for i in range(len(frame) - 1) if frame[i : i + 2] == b"\r\n"]
        heads = [0] + [i + 2 for i in ends if frame[i + 2 : i + 3] in HEADS]
        at = rng.choice(heads)
        what = rng.choice(["type", "length", "end", "number"])
        if what == "length" and frame[at] in b"*%~>":
            at = rng.randrange(at + 1, frame.index(b"\r\n", at))
            values = b"0123456789"
        elif what == "length" and frame[at] in b"$=" and frame[at + 1] in b"123456789":
            at, values = at + 1, range(ord("0"), frame[at + 1])
        elif what == "end":
            at, values = rng.choice(ends) + rng.randrange(2), b"x0\n\r"
        elif what == "number" and frame[:1] == b":":
            at, values = 1, b"123456789"
        elif what == "number" and frame[ends[0] + 2 : ends[0] + 3] == b":":
            at, values = ends[0] + 3, b"123456789"
        else:
            values = b"$*:+-_%>!x\x00\xff"
        broken[at] = rng.choice([value for value in values if value != frame[at]])
        self.emit(link, bytes(broken), 0)


def main():
    setting = json.loads(sys.argv[1])
    Liar(**setting).run()


if __name__ == "__main__":
    main()
