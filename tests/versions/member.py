# SPDX-License-Identifier: MIT
"""One process with one client of one version of the library.

member.py INCLUDE LIBRARY URL

A line of standard input is a JSON list: noun, verb, name, arguments. The answer is a
line as well: the name of the status, or the number that a getter returns, and the
function's output. The declarations are those of the version's own headers.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import Any

from cffi import FFI

TYPES = {"reader": "rwlock_read", "writer": "rwlock_write"}
SETTINGS = {"semaphore": [1], "latch": [2], "barrier": [2]}  # limit, count, parties
SETTINGS["observer"] = [0]  # flags

Arguments = tuple[Any, ...]


class Member:
    def __init__(self, include: str, library: str, url: str):
        compiler = shlex.split(os.environ.get("CC") or "cc")
        words = [*compiler, "-E", "-P", "-DILK_BINDGEN", f"-I{include}"]
        headers = subprocess.check_output([*words, f"{include}/interlock.h"], text=True)
        self.ffi = FFI()
        self.ffi.cdef(headers)
        self.lib = self.ffi.dlopen(library)
        self.err = self.ffi.new("ilk_error *")
        self.handles: dict[tuple[str, str], Any] = {}
        client = self.ffi.new("ilk_client **")
        status = self.lib.ilk_client_open(client, url.encode(), self.ffi.NULL, self.err)
        assert status == 0, self.text()
        self.client = client[0]

    def text(self) -> str:
        return bytes(self.ffi.string(self.err.msg)).decode()

    def handle(self, noun: str, name: str) -> Any:
        """The noun's handle for this name; of a job the one that came last."""
        if (noun, name) not in self.handles:
            function, parent, given = f"ilk_{TYPES.get(noun, noun)}_open", None, (name,)
            if noun == "observer":
                function, given = "ilk_election_observe", ()
                parent = self.handle("election", name)
            given += (*SETTINGS.get(noun, []),)
            status, out = self.call(function, parent, given)
            assert status == 0, self.text()
            self.handles[noun, name] = out
        return self.handles[noun, name]

    def call(self, function: str, handle: Any, given: Arguments) -> tuple[Any, Any]:
        """Call with an argument for each parameter, as its type says."""
        called = getattr(self.lib, function)
        kind = self.ffi.typeof(called)
        rest, out, args = list(given), None, []
        for parameter in kind.args:
            target = parameter.cname
            if target == "ilk_error *":
                args.append(self.err)
            elif target == "ilk_client *":
                args.append(self.client)
            elif target.endswith("* *") or target == "int64_t *":
                out = self.ffi.new(target)
                args.append(out)
            elif target == "void *":
                data = rest.pop(0).encode() if rest else None
                args.append(
                    self.ffi.NULL if data is None else self.ffi.from_buffer(data)
                )
                args.append(len(data or b""))
            elif target == "size_t":
                pass  # it went with the bytes
            elif target.endswith("_opts *"):
                args.append(self.ffi.NULL)
            elif target.endswith("*"):
                args.append(handle)
            else:
                args.append(rest.pop(0))
        result = called(*args)
        return result, None if out is None else out[0]

    def data(self, noun: str, found: Any) -> str:
        place = [0] if noun == "arrival" else []
        data = getattr(self.lib, f"ilk_{noun}_data")(found, *place, self.ffi.NULL)
        return bytes(self.ffi.string(data)).decode()

    def messages_refused(self) -> int:
        """0 for a version that does not count them."""
        stats = self.ffi.new("ilk_client_stats *")
        stats.size = self.ffi.sizeof("ilk_client_stats")
        status = self.lib.ilk_client_get_stats(self.client, stats, self.err)
        assert status == 0, self.text()
        return int(getattr(stats, "messages_refused", 0))

    def run(self, noun: str, verb: str, name: str, *given: Any) -> list[Any]:
        if noun == "client":
            return [self.messages_refused()]
        function = f"ilk_{'lock' if noun in TYPES else noun}_{verb}"
        if verb == "break":
            result, out = self.call(function, None, (name, *given))
        else:
            result, out = self.call(function, self.handle(noun, name), given)
        if self.ffi.typeof(getattr(self.lib, function)).result.cname != "ilk_status":
            return [result, out]
        if result != 0:
            code = self.ffi.string(self.lib.ilk_status_name(result)).decode()
            return [code.partition(":")[0], self.text()]
        if noun == "queue" and verb == "reserve":
            self.handles["job", name] = out
            out = self.data("job", out)
        elif noun == "signal" and verb == "wait":
            out = self.data("arrival", out)
        elif noun == "observer":
            out = self.lib.ilk_leader_term(out)
        return ["ILK_OK", out]


def main(include: str, library: str, url: str) -> None:
    member = Member(include, library, url)
    for line in sys.stdin:
        print(json.dumps(member.run(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
