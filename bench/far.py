# SPDX-License-Identifier: MIT
"""Servers that are some milliseconds away: far.py PORT:MS...

For each port of this machine it prints another one, all as one line of JSON. Bytes
that go through that one arrive half of the milliseconds later, in both directions.
It ends with its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import selectors
import socket
import sys


async def forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            loop.call_later(delay, writer.write, data)
    loop.call_later(delay, writer.close)


def no_delay(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )


async def listen(port: int, delay: float) -> asyncio.Server:
    async def connected(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        no_delay(writer)
        no_delay(back)
        await asyncio.gather(
            forward(reader, back, delay), forward(there, writer, delay)
        )

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def serve(words: list[str]) -> None:
    servers = []
    for word in words:
        port, _, ms = word.partition(":")
        servers.append(await listen(int(port), float(ms) / 2000))
    print(json.dumps([one.sockets[0].getsockname()[1] for one in servers]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    # epoll's timeouts are whole milliseconds, those of select are not.
    LOOP = asyncio.SelectorEventLoop(selectors.SelectSelector())
    LOOP.run_until_complete(serve(sys.argv[1:]))
