# SPDX-License-Identifier: MIT
"""A proxy that takes a command, cuts the client off, and delivers it later."""

from __future__ import annotations

import os
import select
import socket
import tempfile
import threading

CHUNK = 65536


class LateProxy:
    """Stands on a unix socket before a server; one command at a time is kept."""

    def __init__(self, server_path):
        self.server_path = server_path
        self.dir = tempfile.mkdtemp(prefix="ilk-")
        self.path = os.path.join(self.dir, "p")
        self.url = f"unix://{self.path}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.peers = {}  # each end to the other
        self.servers = set()
        self.word = None
        self.losing = None
        self.lost = set()  # connections to the server whose next reply is lost
        self.kept = None  # (the connection to the server, the command)
        self.was_kept = threading.Event()
        self.accepts = True  # else new connections wait
        self.stopped = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def keep_next(self, word=b"EVAL"):
        """Keep the next command that holds the word, and close its client."""
        self.was_kept.clear()
        self.word = word

    def lose_next_reply(self, word=b"EVAL"):
        """Let the next such command through, and lose its reply and its client."""
        self.was_kept.clear()
        self.losing = word

    def deliver(self):
        """Give the kept command to the server, on the connection that it came by.

        True when the server answers it, False when it has closed that connection.
        """
        server, command = self.kept
        with server:
            server.settimeout(10)
            try:
                server.sendall(command)
                return server.recv(CHUNK) != b""
            except (BrokenPipeError, ConnectionResetError):
                return False

    def close(self):
        self.stopped = True
        self.thread.join()
        for end in [self.listener, *self.peers]:
            end.close()
        os.unlink(self.path)
        os.rmdir(self.dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        while not self.stopped:
            ends = [self.listener, *self.peers] if self.accepts else [*self.peers]
            ready, _, _ = select.select(ends, [], [], 0.01)
            for end in ready:
                if end is self.listener:
                    self._accept()
                elif end in self.peers:
                    self._pass(end)

    def _accept(self):
        client, _ = self.listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.server_path)
        except OSError:
            client.close()
            return
        self.peers[client], self.peers[server] = server, client
        self.servers.add(server)

    def _forget(self, end):
        peer = self.peers.pop(end)
        del self.peers[peer]
        self.servers -= {end, peer}
        return peer

    def _pass(self, end):
        try:
            data = end.recv(CHUNK)
        except OSError:
            data = b""
        if end not in self.servers and self.word and self.word in data:
            self.word = None
            self.kept = (self._forget(end), data)
            end.close()
            self.was_kept.set()
        elif end in self.lost:
            self.lost.discard(end)
            self._forget(end).close()
            end.close()
            self.was_kept.set()
        elif data:
            if end not in self.servers and self.losing and self.losing in data:
                self.losing = None
                self.lost.add(self.peers[end])
            try:
                self.peers[end].sendall(data)
            except OSError:
                self._forget(end).close()
                end.close()
        else:
            self._forget(end).close()
            end.close()
