# SPDX-License-Identifier: MIT
"""A process that calls the verbs of the package while its servers come and go.

    caller.py blocking|asyncio|trio URL GIVEN-URL AT-ONCE-URL

Commands come as lines on standard input: `cell ...` adds a call (cells.py), `prepare`,
`wait`, `go` and `after` run those of that moment, `serve` ends the waits that still
run, `end` ends the process. Each command but `cell` is answered by a line, and each call
that has ended is reported by one of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

import interlock
import interlock.aio
from both_faces import run_now
from rows import ROWS, Scene, value

CLIENTS = ("plain", "given", "at_once")
MOMENTS = {"wait": "waiting", "go": "during", "after": "after"}
STILL_S = 0.3  # a client that sends nothing for so long has sent all
SETTLED_S = 3.0
SERVE_AGAIN_S = 0.5


class Call:
    """A cell, what it works on, and whether it has ended."""

    def __init__(self, words: list[str]):
        self.number, self.verb, self.when, self.client, limit, self.name = words
        self.limit = None if limit == "-1" else int(limit) / 1000
        self.row = ROWS[self.verb]
        self.blocked: Any = None
        self.ended = False

    async def prepare(self, clients: dict[str, Any]) -> None:
        self.scene = Scene(clients[self.client], clients["other"], self.name)
        try:
            self.handle = await value(self.row.make(self.scene))
            if self.when == "waiting" and self.row.block:
                self.blocked = await value(self.row.block(self.scene))
        except Exception as error:
            raise RuntimeError(f"{self.verb} cannot be prepared: {error!r}") from error

    async def run(self) -> None:
        began = time.monotonic()
        try:
            answer = await value(self.row.call(self.handle, self.limit))
            empty = answer is None or answer is False or answer == []
            status, text = "ILK_OK", ""
            if empty and self.row.serve:
                status = "NO"
        except interlock.TimeoutError as error:
            status, text = "NO", repr(error)
        except interlock.Error as error:
            status, text = error.status, str(error)
        except Exception as error:
            status, text = type(error).__name__, str(error)
        self.ended = True
        report(self.number, began, status, text)

    async def serve(self) -> None:
        if not self.row.serve or self.ended:
            return
        try:
            await value(self.row.serve(self.scene, self.blocked))
        except interlock.Error as error:
            print(f"{self.verb} is not served: {error!r}", file=sys.stderr)


def report(number: str, began: float, status: str, text: str) -> None:
    line = [number, began, time.monotonic(), status, text]
    os.write(1, json.dumps(line).encode() + b"\n")


def say(word: str) -> None:
    os.write(1, json.dumps([word]).encode() + b"\n")


def commands() -> Iterator[list[str]]:
    for line in sys.stdin:
        yield line.split()


class Caller:
    """What the three have in common."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.clients: dict[str, Any] = {}

    def at(self, when: str) -> list[Call]:
        return [call for call in self.calls if call.when == when]

    def sent(self) -> int:
        """How much its clients have sent."""
        return sum(client.stats().bytes_out for client in self.clients.values())

    async def settle(self, pause: Callable[[float], Any]) -> None:
        """Until the waits are in their wait queues: nothing more is sent, but for what
        is sent again and again."""
        before, end = -1, time.monotonic() + SETTLED_S
        while before != (before := self.sent()) and time.monotonic() < end:
            await value(pause(STILL_S))

    async def serve_all(self, pause: Callable[[float], Any]) -> None:
        while waiting := [c for c in self.calls if c.row.serve and not c.ended]:
            for call in waiting:
                await call.serve()
            await value(pause(SERVE_AGAIN_S))

    async def command(
        self, words: list[str], start: Callable[[Call], Any], pause: Any, serve: Any
    ) -> None:
        if words[0] == "cell":
            self.calls.append(Call(words[1:]))
            return
        if words[0] == "prepare":
            for call in self.calls:
                await call.prepare(self.clients)
        elif words[0] == "serve":
            serve()
        else:
            for call in self.at(MOMENTS[words[0]]):
                start(call)
            if words[0] == "wait":
                await self.settle(pause)
        say(words[0])


def block(urls: dict[str, str]) -> None:
    caller = Caller()
    threading.stack_size(256 * 1024)

    def in_thread(coroutine: Any) -> None:
        threading.Thread(target=run_now, args=(coroutine,), daemon=True).start()

    for name, url in urls.items():
        caller.clients[name] = interlock.connect(url, lazy=True)
    for words in commands():
        if words == ["end"]:
            break
        run_now(
            caller.command(
                words,
                lambda call: in_thread(call.run()),
                time.sleep,
                lambda: in_thread(caller.serve_all(time.sleep)),
            )
        )


async def in_asyncio(urls: dict[str, str]) -> None:
    caller, tasks = Caller(), set()
    for name, url in urls.items():
        caller.clients[name] = await interlock.aio.connect(url, lazy=True)

    def start(coroutine: Any) -> None:
        tasks.add(asyncio.ensure_future(coroutine))

    lines = iter(commands())
    while (words := await asyncio.to_thread(next, lines, ["end"])) != ["end"]:
        await caller.command(
            words,
            lambda call: start(call.run()),
            asyncio.sleep,
            lambda: start(caller.serve_all(asyncio.sleep)),
        )


async def in_trio(urls: dict[str, str]) -> None:
    import trio

    caller = Caller()
    for name, url in urls.items():
        caller.clients[name] = await interlock.aio.connect(url, lazy=True)
    lines = iter(commands())
    async with trio.open_nursery() as nursery:
        while (words := await trio.to_thread.run_sync(next, lines, ["end"])) != ["end"]:
            await caller.command(
                words,
                lambda call: nursery.start_soon(call.run),
                trio.sleep,
                lambda: nursery.start_soon(caller.serve_all, trio.sleep),
            )


def main(driver: str, *given: str) -> None:
    if not given:
        print(*ROWS)
        return
    urls = dict(zip(("plain", "given", "at_once", "other"), (*given, given[0])))
    if driver == "blocking":
        block(urls)
    elif driver == "asyncio":
        asyncio.run(in_asyncio(urls))
    else:
        import trio

        trio.run(in_trio, urls)
    say("end")
    sys.stdout.flush()
    os._exit(0)  # threads may be in calls for ever


if __name__ == "__main__":
    main(*sys.argv[1:])
