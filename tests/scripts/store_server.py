#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/sim/store.lua as a server on a unix socket."""

import argparse
import contextlib
import queue
import socketserver
import threading
import time

from resp import command, read_reply
from store import Store


class Session(socketserver.StreamRequestHandler):
    """One connection. A thread writes, for a client may read late."""

    def setup(self):
        super().setup()
        self.channels, self.unsent = [], queue.SimpleQueue()
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        with contextlib.suppress(OSError):  # the client has closed the connection
            while out := self.unsent.get():
                self.connection.sendall(out)

    def handle(self):
        with contextlib.suppress(ConnectionError):
            while True:
                parts = read_reply(self.rfile)
                with self.server.lock:
                    self.unsent.put(self.answer(*parts))

    def finish(self):
        with self.server.lock:
            for channel in self.channels:
                self.server.store.inboxes[channel].remove(self.receive)
        self.unsent.put(b"")
        super().finish()

    def answer(self, name, *arguments):
        if name == b"SUBSCRIBE":
            return self.subscribe(*arguments)
        if name == b"PING":
            return command("pong", "")
        self.server.store.now_us = time.time_ns() // 1000
        return self.server.store.wire(name, *arguments)

    def subscribe(self, channel):
        self.channels.append(channel)
        self.server.store.inboxes.setdefault(channel, []).append(self.receive)
        return command("subscribe", channel, len(self.channels))

    def receive(self, channel, message):
        self.unsent.put(command("message", channel, message))


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unixsocket", required=True)
    options, _ = parser.parse_known_args()
    with Server(options.unixsocket, Session) as server:
        server.store, server.lock = Store(0), threading.Lock()
        server.serve_forever()


if __name__ == "__main__":
    main()
