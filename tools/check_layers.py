# SPDX-License-Identifier: MIT
"""Hold the order of the core's folders, as libcore/src/LAYERS gives it.

    check_layers.py [--src DIR] [OBJECTS]

Checks the #include lines of all files below DIR and of the stores beside it. With
OBJECTS, a directory of the object files that were compiled from them, also checks the
symbols that each folder uses, where a call without an include is seen, and that no other
folder has names like a store's. It prints the circles of calls between files of one
folder, of which LAYERS has the greatest.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "libcore" / "src"
# The folder beside DIR that is judged with it.
STORES = "stores"
INCLUDE = re.compile(r'^#\s*include\s+(["<])([^">]+)[">]', re.M)
PRIVATE = re.compile(r"_(inside|internal)\.h$")
GENERATED = re.compile(r"\.(gen|pb)\.h$")
# Symbols and system headers for which a folder needs a word in LAYERS.
CALLS = {
    "sockets": "socket|connect|bind|listen|accept4?|getaddrinfo|send(to|msg)?"
    "|recv(from|msg)?|shutdown|[gs]etsockopt",
    "polls": "p?poll|p?select|epoll_p?wait|(nano|u)?sleep",
    "hiredis": r"redis[A-Z]\w*|sds\w+",
    "openssl": "(SSL|BIO|X509|ERR|OPENSSL)_.*",
}
HEADERS = {"hiredis": "hiredis/", "openssl": "openssl/"}
Symbol = tuple[Path, str, str]
WORD = re.compile(r"ilk__[a-z0-9]+_")


class Layers:
    """The lines of LAYERS: how high a folder is, what it may use besides."""

    def __init__(self, src: Path):
        text = re.sub(r"#.*", "", (src / "LAYERS").read_text(encoding="utf-8"))
        lines = [line.split() for line in text.splitlines() if line.strip()]
        self.names = [line[0] for line in lines]
        self.words = {line[0]: set(line[1:]) for line in lines}

    def line(self, folder: str) -> str | None:
        either = (folder, folder.rpartition("/")[0] + "/*")
        return next((name for name in self.names if name in either), None)

    def may_use(self, folder: str, other: str) -> bool:
        places = [self.names.index(self.line(name) or "") for name in (folder, other)]
        return folder == other or places[0] > places[1]

    def words_of(self, folder: str) -> set[str]:
        named = folder if folder in self.words else self.line(folder)
        return self.words[named or ""]

    def allows(self, folder: str, word: str) -> bool:
        return word in self.words_of(folder)

    def circle(self, folder: str) -> int:
        """How many files of it may call each other in a circle."""
        found = [w for w in self.words_of(folder) if w.startswith("circle=")]
        return int(found[0].partition("=")[2]) if found else 1


def find(src: Path, name: str) -> Path:
    """The file of this name, as an #include of another folder gives it."""
    return (src.parent if name.startswith(STORES + "/") else src) / name


def sources(src: Path) -> Iterator[tuple[Path, Path]]:
    """Each file, and its name."""
    for path in sorted(src.rglob("*.[ch]")):
        yield path, path.relative_to(src)
    for path in sorted((src.parent / STORES).rglob("*.[ch]")):
        yield path, path.relative_to(src.parent)


def include_faults(src: Path, layers: Layers) -> Iterator[str]:
    for path, place in sources(src):
        folder = place.parent.as_posix()
        if not layers.line(folder):
            yield f"{place}: LAYERS has no line for {folder}"
            continue
        for mark, name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            other = Path(name).parent.as_posix()
            if mark == "<":
                for word, prefix in HEADERS.items():
                    if name.startswith(prefix) and not layers.allows(folder, word):
                        yield f"{place}: includes <{name}>, {folder} may not use {word}"
            elif other == ".":
                if not (path.parent / name).is_file() and not GENERATED.search(name):
                    yield f"{place}: {name} is not in {folder}"
            elif not find(src, name).is_file():
                yield f"{place}: there is no {name}"
            elif other == folder:
                yield f"{place}: {name} is in the same folder, its bare name will do"
            elif not layers.line(other) or not layers.may_use(folder, other):
                yield f"{place}: includes {name}, {folder} does not come after {other} in LAYERS"
            elif PRIVATE.search(name):
                yield f"{place}: includes {name}, which is private to {other}"


def symbols(src: Path, objects: Path) -> Iterator[Symbol]:
    """(source, type, name) of every global symbol that an object mentions."""
    found = {}
    for path in sorted(objects.rglob("*.o")):
        text = path.as_posix()[:-2]
        names = [text.rpartition(f"/{src.name}/")[2]]
        names += [f"{STORES}/{text.rpartition(f'/{STORES}/')[2]}"]
        # A build directory keeps the objects of files that have gone.
        for name in filter(lambda name: find(src, name).is_file(), names):
            found[path] = Path(name)
    if not found:
        raise SystemExit(f"check_layers: no objects in {objects}")
    command = ["nm", "-A", "-g", *map(str, found)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        where, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        yield found[Path(where)], kind, name.split("@")[0]


def symbol_faults(layers: Layers, every: list[Symbol]) -> Iterator[str]:
    homes: dict[str, set[str]] = defaultdict(set)
    for path, kind, name in every:
        if kind in "BCDRT":
            homes[name].add(path.parent.as_posix())
    for path, kind, name in every:
        folder = path.parent.as_posix()
        if kind != "U" or not layers.line(folder):
            continue
        if name in homes and not any(
            layers.may_use(folder, home) for home in homes[name]
        ):
            home = " or ".join(sorted(homes[name]))
            yield f"{path}: uses {name}, {folder} does not come after {home} in LAYERS"
        for word, calls in CALLS.items():
            called = re.fullmatch(f"_*({calls})(_chk)?", name)
            if called and not layers.allows(folder, word):
                yield f"{path}: uses {name}, {folder} may not use {word}"


def name_faults(layers: Layers, every: list[Symbol]) -> Iterator[str]:
    """The first word of a store's names, ilk__word_, is of no other folder."""
    words: dict[str, set[str]] = defaultdict(set)
    for path, kind, name in every:
        word = WORD.match(name)
        if word and kind in "BCDRT":
            words[word[0]].add(path.parent.as_posix())
    for word, folders in sorted(words.items()):
        stores = sorted(f for f in folders if layers.line(f) == STORES + "/*")
        if stores and len(folders) > 1:
            others = " and ".join(sorted(folders - {stores[0]}))
            yield f"{stores[0]}: names begin with {word}, as those of {others}"


def reached(first: Path, called: dict[Path, set[Path]]) -> set[Path]:
    """The files that a file's calls lead to, in any number of steps."""
    found: set[Path] = set()
    left = [first]
    while left:
        new = called[left.pop()] - found
        found |= new
        left += new
    return found


def circles(every: list[Symbol]) -> Iterator[list[Path]]:
    """The files of each circle of calls, or references, inside a folder."""
    homes = {(path.parent, name): path for path, kind, name in every if kind in "BCDRT"}
    called: dict[Path, set[Path]] = {path: set() for path, _, _ in every}
    for path, kind, name in every:
        home = homes.get((path.parent, name))
        if kind == "U" and home:
            called[path].add(home)
    ends = {path: reached(path, called) for path in called}
    for path in sorted(called):
        circle = sorted(other for other in ends[path] if path in ends[other])
        if circle and circle[0] == path:
            yield circle


def circle_faults(layers: Layers, every: list[Symbol]) -> Iterator[str]:
    for circle in circles(every):
        folder = circle[0].parent.as_posix()
        names = " ".join(path.stem for path in circle)
        print(f"check_layers: {folder}: circle of {len(circle)} files: {names}")
        most = layers.circle(folder) if layers.line(folder) else len(circle)
        if len(circle) > most:
            yield f"{folder}: {len(circle)} files call each other, LAYERS allows {most}: {names}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--src", type=Path, default=SRC, help="the folders")
    parser.add_argument("objects", nargs="?", type=Path, help="their object files")
    args = parser.parse_args()
    layers = Layers(args.src)
    found = list(include_faults(args.src, layers))
    if args.objects:
        # A file may have been compiled for several programs.
        every = sorted(set(symbols(args.src, args.objects)))
        found += symbol_faults(layers, every)
        found += name_faults(layers, every)
        found += circle_faults(layers, every)
    for fault in found:
        print(f"check_layers: {fault}", file=sys.stderr)
    print(f"check_layers: {len(layers.names)} layers, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
