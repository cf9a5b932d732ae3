# SPDX-License-Identifier: MIT
"""Members of several versions on one server. $ILK_OLDER and $ILK_RAISED are the trees
of the others, see older.txt and raised.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "cli"))

from shell import Server, wait_until  # noqa: E402


@dataclass(frozen=True)
class Version:
    """Where a version's headers and its build are."""

    source: Path
    build: Path

    def member(self, server):
        return Member(self, server)

    def command(self, server, *words):
        """The output of the version's command about the server."""
        program = self.build / "bin" / "interlock"
        done = subprocess.run(
            [program, *words, "--url", server.url],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert not done.stderr, done.stderr
        return done.stdout


class Member:
    """A process of one version; see member.py."""

    def __init__(self, version: Version, server: Server):
        include = version.source / "libcore" / "include"
        library = version.build / "lib" / "libinterlock.so"
        self.process = subprocess.Popen(
            [
                *(sys.executable, str(Path(__file__).with_name("member.py"))),
                *(str(include), str(library), server.url),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.idle, self.nouns = True, set()

    def start(self, *words):
        """Begin a call, which may wait; finish() returns its answer."""
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        self.idle = False
        self.nouns.add(words[0])

    def finish(self):
        line = self.process.stdout.readline()
        assert line, "the member has ended"
        self.idle = True
        return json.loads(line)

    def do(self, *words):
        self.start(*words)
        return self.finish()

    def ok(self, *words):
        """The output of a call that must succeed."""
        status, out = self.do(*words)
        assert status == "ILK_OK", (words, status, out)
        return out

    def get(self, *words):
        """The result of a getter."""
        return self.do(*words)[0]

    def finish_ok(self):
        status, out = self.finish()
        assert status == "ILK_OK", (status, out)
        return out

    def refused(self):
        """Dropped messages, but for changes, which go to waiters of all versions."""
        if not self.idle or self.nouns & {"event", "latch", "barrier"}:
            return 0
        return self.get("client", "messages_refused", "")

    def stop(self):
        self.idle = False
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def versions():
    found = {"newer": Version(TESTS.parent, Path(os.environ["ILK_BUILD"]))}
    for version in ("older", "raised"):
        tree = Path(os.environ[f"ILK_{version.upper()}"])
        found[version] = Version(tree / "source", tree / "build")
    return found


@pytest.fixture
def crew(versions, server):
    """Makes members of a version by its name."""
    made = []

    def make(version):
        made.append(versions[version].member(server))
        return made[-1]

    yield make
    refused = [each.refused() for each in made]
    for member in made:
        member.stop()
    assert not any(refused), "a message in the form of another version"


@pytest.fixture
def name():
    return f"both-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def waiting(server, name):
    """Waits until so many waiters are in the noun's wait queue for this name."""

    def wait(noun, count, queue="wait"):
        key = f"ilk:{noun}:{queue}:{{{name}}}"
        what = f"{count} waiters for the {noun}"
        wait_until(lambda: server.call("ZCARD", key) == count, what)

    return wait
