# SPDX-License-Identifier: MIT
"""A Python process of the harness: some threads, or the tasks of one event loop."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

import interlock
import interlock.aio
from both_faces import run_now
from history import Writer
from scenarios import Actor, Failed, offered

REST = 0.05  # after an error


@dataclass
class Setting:
    """One process: where it writes, whom it calls, and when it stops."""

    name: str
    url: str
    directory: Path
    seed: str
    actors: int  # threads or tasks
    rest: float = 0.0  # seconds between two scenarios
    aio: bool = False
    env: dict[str, str] = field(default_factory=dict)

    @property
    def history(self) -> Path:
        return self.directory / f"{self.name}.history"

    @property
    def stop(self) -> Path:
        return self.directory / "stop"


OPTIONS: dict[str, Any] = {"reply_timeout": 1.0, "connect_timeout": 1.0, "lazy": True}


async def at_work(actor: Actor, setting: Setting) -> None:
    scenarios = offered(actor.client)
    while not os.path.exists(setting.stop):
        try:
            await actor.rng.choice(scenarios)(actor)
            if setting.rest:
                await actor.sleep(setting.rest)
        except Failed:
            await actor.sleep(REST)


def actors(setting: Setting, writer: Writer, client: Any) -> list[Actor]:
    return [
        Actor(
            f"{setting.name}.{number}",
            writer,
            client,
            random.Random(f"{setting.seed} {setting.name} {number}"),
        )
        for number in range(setting.actors)
    ]


def threads(setting: Setting, writer: Writer) -> None:
    failed = []

    def work(actor: Actor) -> None:
        try:
            run_now(at_work(actor, setting))
        except BaseException:
            failed.append(traceback.format_exc())

    with interlock.connect(setting.url, **OPTIONS) as client:
        running = [
            threading.Thread(target=work, args=[actor])
            for actor in actors(setting, writer, client)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    if failed:
        raise RuntimeError("\n".join(failed))


async def tasks(setting: Setting, writer: Writer) -> None:
    async with interlock.aio.connect(setting.url, **OPTIONS) as client:
        all_actors = actors(setting, writer, client)
        await asyncio.gather(*(at_work(one, setting) for one in all_actors))


def main(setting: Setting) -> None:
    """The process: it ends when the file `stop` is there and its calls have ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the harness ends it
    os.environ.update(setting.env)
    writer = Writer(setting.history)
    try:
        if setting.aio:
            asyncio.run(tasks(setting, writer))
        else:
            threads(setting, writer)
    except BaseException:
        report = setting.directory / f"{setting.name}.error"
        report.write_text(traceback.format_exc())
        raise
