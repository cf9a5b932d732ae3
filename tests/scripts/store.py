# SPDX-License-Identifier: MIT
"""tests/sim/store.lua in a process of its own."""

import io
import subprocess
from pathlib import Path

from resp import command, read_reply

SIM = Path(__file__).resolve().parents[1] / "sim"


class Store:
    """A server's data and commands, on a clock that the test sets."""

    def __init__(self, now_us):
        self.now_us = now_us
        self.inboxes = {}  # by channel: functions of a channel and a message
        self.process = subprocess.Popen(
            ["lua5.1", str(SIM / "store_main.lua"), str(SIM / "store.lua")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()

    def wire(self, *parts):
        """The reply to a command, as it is sent."""
        self.write(self.now_us, *parts)
        while (answer := read_reply(self.process.stdout))[0] != b"reply":
            self.write(*self.answer(*answer))
        return answer[1]

    def write(self, *parts):
        self.process.stdin.write(command(*parts))
        self.process.stdin.flush()

    def answer(self, what, channel=None, message=None):
        """The answers to the store about those who subscribed."""
        if what == b"channels":
            return [channel for channel, inboxes in self.inboxes.items() if inboxes]
        inboxes = self.inboxes.get(channel, [])
        if what == b"publish":
            for inbox in inboxes:
                inbox(channel, message)
        return [len(inboxes)]

    def __call__(self, *parts):
        """The reply to a command; an error is returned."""
        return read_reply(io.BytesIO(self.wire(*parts)))
