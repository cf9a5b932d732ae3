#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn libcore/scripts/*/*.lua into one C table: expanded, stripped, hashed.

A script says on line 1 what it is called and takes, and in --@reply lines
what it answers:

    --@script lock_extend keys=2 args=2      keys=5*: a multiple of 5
    --@reply HELD i i i                      args=5+: five or more; args=1..5
    --@token 1                               a gateway orders requests by argument 1,
                                             not by that of token_at()
    --@include fence                         include/fence.lua, once; indented, it
                                             is there until its block ends

Each script begins with include/reply.lua, and a table that begins with a code
begins with `REQUEST +`, as that file explains.

A script that includes reached.lua has a second form for clusters, in which one
digit differs. The table has its SHA1 and the place of the digit.

Lines that are only a comment, and blank ones, are left out, so prose does
not change a script's SHA1. Needs the standard library of Python 3.9.
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "libcore" / "scripts"
HEAD = re.compile(
    r"--@script ([a-z][a-z0-9_]*) keys=(\d+)(\*?) args=(\d+)(?:(\+)|\.\.(\d+))?"
)
REPLY = re.compile(r"--@reply ([A-Z]+)((?: [is])*(?: \*)?)")
INCLUDE = re.compile(r"--@include ([a-z][a-z0-9_]*)")
CODE = re.compile(r"local ([A-Z]+) = (\d+)")
FIRST = re.compile(r"\{\s*\(*([A-Z]+)\b")
ALONE = re.compile(r"\breturn (?:.*\b(?:and|or) )?([A-Z]+)$", re.M)
MANY = 2**31 - 1  # arguments, where no number of them is too great
CODE_LIMIT = 64  # a reply's first element is 64 * number of the request + code
TOKEN = re.compile(r"\btoken_at\((\d+)\)")
TOKEN_LINE = re.compile(r"--@token (\d+)")
REACHED = re.compile(r"^local REACHED_LEAST = (0)$", re.M)
USE = re.compile(r"\b(KEYS|ARGV)\[(\d+)\]")


class ScriptError(Exception):
    """A script that cannot be used; the text says which and why."""


class Script:
    """One script: what its first lines declare, and the text to be sent."""

    def __init__(self, path, include_dirs, codes):
        lines = read_lines(path)
        head = HEAD.fullmatch(lines[0]) if lines else None
        if not head:
            raise ScriptError(f"{path}: line 1 is not '--@script NAME keys=N args=M'")
        self.name = head[1]
        if self.name != path.stem:
            raise ScriptError(f"{path}: line 1 names the script {self.name}")
        self.keys, self.keys_multiple = int(head[2]), bool(head[3])
        self.args = int(head[4])
        self.args_most = MANY if head[5] else int(head[6] or head[4])
        self.replies = read_replies(path, lines[1:], codes)
        self.text = expand_script(path, include_dirs)
        self.token = read_token(lines[1:], self.text)
        self.sha1 = hashlib.sha1(self.text.encode()).hexdigest()
        self.cluster_at, self.cluster_sha1 = cluster_form(path, self.text, self.sha1)
        self.check_uses(path)
        self.check_codes(path, codes)

    def check_codes(self, path, codes):
        """Refuse a reply that does not carry the number of its request."""
        for first in FIRST.findall(self.text) + ALONE.findall(self.text):
            if first in codes:
                raise ScriptError(
                    f"{path}: a reply begins with {first}, not REQUEST + {first}"
                )

    def check_uses(self, path):
        """Refuse a KEYS[n] or ARGV[n] beyond what line 1 declares."""
        most = self.args if self.args_most == MANY else self.args_most
        limits = {"KEYS": self.keys, "ARGV": most}
        for what, index in USE.findall(self.text):
            if int(index) > limits[what]:
                raise ScriptError(
                    f"{path}: uses {what}[{index}], line 1 declares {limits[what]}"
                )


def cluster_form(path, text, sha1):
    """Where the form for clusters has a 1, and its SHA1; 0: it has no other form."""
    found = list(REACHED.finditer(text))
    if not found:
        if "REACHED_LEAST" in text:
            raise ScriptError(f"{path}: REACHED_LEAST is not set as expected")
        return 0, sha1
    at = len(text[: found[0].start(1)].encode())
    form = text[: found[0].start(1)] + "1" + text[found[0].end(1) :]
    return at, hashlib.sha1(form.encode()).hexdigest()


def read_lines(path):
    """The lines of a file without their ends."""
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror}") from error


def read_token(lines, text):
    """The argument by which requests keep their order: declared, or the first one
    that is checked to be a token; 0: none."""
    declared = [int(m[1]) for m in map(TOKEN_LINE.fullmatch, lines) if m]
    checked = TOKEN.search(text)
    return declared[0] if declared else int(checked[1]) if checked else 0


def read_replies(path, lines, codes):
    """The declared shapes: a list of (code name, types)."""
    replies = []
    for line in lines:
        if not line.startswith("--@reply"):
            continue
        match = REPLY.fullmatch(line)
        if not match:
            raise ScriptError(f"{path}: not a reply: {line}")
        if match[1] not in codes:
            raise ScriptError(f"{path}: include/reply.lua has no code {match[1]}")
        replies.append((match[1], match[2].replace(" ", "")))
    if not replies:
        raise ScriptError(f"{path}: declares no --@reply")
    return replies


def read_codes(include_dirs):
    """Name and number of every code in include/reply.lua."""
    codes = {}
    for line in read_lines(find_include("reply", include_dirs, SCRIPTS)):
        match = CODE.fullmatch(line)
        if match and match[1] in codes:
            raise ScriptError(f"include/reply.lua: {match[1]} is there twice")
        if match:
            codes[match[1]] = int(match[2])
        if match and int(match[2]) >= CODE_LIMIT:
            raise ScriptError(
                f"include/reply.lua: {match[1]} is not below {CODE_LIMIT}"
            )
    if len(set(codes.values())) != len(codes):
        raise ScriptError("include/reply.lua: two codes share a number")
    return codes


def find_include(name, include_dirs, wanted_by):
    """The first file of this name; an override directory comes first."""
    for folder in include_dirs:
        path = folder / f"{name}.lua"
        if path.is_file():
            return path
    raise ScriptError(f"{wanted_by}: there is no include '{name}'")


def expand(path, include_dirs, stack=(), seen=None):
    """The text of a file with its includes, without whole-line comments."""
    seen = set() if seen is None else seen
    kept, outside = [], {}
    for line in read_lines(path):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        for deeper in [i for i in outside if bare and i > indent]:
            seen.intersection_update(outside.pop(deeper))
        match = INCLUDE.fullmatch(bare)
        if match:
            outside.setdefault(indent, set(seen))
            kept.append(expand_include(match[1], path, include_dirs, stack, seen))
        elif bare.startswith("--@include"):
            raise ScriptError(f"{path}: not an include: {line}")
        elif bare.startswith("--[["):
            raise ScriptError(f"{path}: block comments are not stripped: {line}")
        elif bare and not bare.startswith("--"):
            kept.append(line.rstrip() + "\n")
    return "".join(kept)


def expand_include(name, wanted_by, include_dirs, stack, seen):
    """The text of an include, or nothing when it is there already."""
    if name in stack:
        chain = " -> ".join((*stack, name))
        raise ScriptError(f"{wanted_by}: includes run in a circle: {chain}")
    if name in seen:
        return ""
    seen.add(name)
    path = find_include(name, include_dirs, wanted_by)
    return expand(path, include_dirs, (*stack, name), seen)


def expand_script(path, include_dirs):
    """The text of a script, which begins with include/reply.lua."""
    seen = set()
    head = expand_include("reply", path, include_dirs, (), seen)
    return head + expand(path, include_dirs, (), seen)


def load(scripts_dir, include_dirs):
    """All scripts by name, and the codes."""
    codes = read_codes(include_dirs)
    paths = {}
    for path in sorted(scripts_dir.glob("*/*.lua")):
        if path.parent.name == "include":
            continue
        if path.stem in paths:
            raise ScriptError(f"{path}: {paths[path.stem]} has the same name")
        paths[path.stem] = path
    if not paths:
        raise ScriptError(f"{scripts_dir}: holds no scripts")
    return [Script(paths[name], include_dirs, codes) for name in sorted(paths)], codes


HEADER = """\
/* SPDX-License-Identifier: MIT */
/* scripts.gen.h -- the server-side scripts; made by expand_scripts.py. */
#ifndef ILK__SCRIPTS_GEN_H
#define ILK__SCRIPTS_GEN_H

#include <stddef.h>

/* A reply that a script may give: its code, then one letter per element:
   i integer, s string, * the rest of any shape. */
typedef struct ilk__shape {{
    int code;
    const char *types;
}} ilk__shape;

typedef struct ilk__script {{
    const char *name;
    const char *sha1;
    const char *cluster_sha1; /* of the form with 1 at cluster_at */
    size_t cluster_at;        /* 0: it has no form of its own */
    const char *text;
    size_t text_len;
    int keys;
    int keys_multiple; /* 1: any multiple of keys, at least one */
    int args, args_most;
    int token; /* the argument, from 1, with the token it is about; 0: none */
    const ilk__shape *shapes;
    size_t shape_count;
}} ilk__script;

enum {{
{scripts}
    ILK__SCRIPT_COUNT
}};

enum {{
{codes}
}};

extern const ilk__script ilk__scripts[ILK__SCRIPT_COUNT];

#endif
"""


def c_header(scripts, codes):
    """The text of scripts.gen.h."""
    return HEADER.format(
        scripts="\n".join(f"    ILK__SCRIPT_{s.name.upper()}," for s in scripts),
        codes=",\n".join(
            f"    ILK__CODE_{name} = {number}" for name, number in codes.items()
        ),
    )


def c_bytes(text):
    """An initialiser, one C line per line of the text.

    Not a string literal: compilers need only take 4095 bytes in one.
    """
    rows = []
    for line in text.encode().splitlines(keepends=True):
        rows.append("    " + "".join(f"{byte}," for byte in line))
    return "\n".join(rows)


def c_source(scripts):
    """The text of scripts.gen.c."""
    out = [
        "/* SPDX-License-Identifier: MIT */\n"
        "/* scripts.gen.c -- the server-side scripts; made by "
        "expand_scripts.py. */\n"
        '#include "scripts.gen.h"\n'
    ]
    for script in scripts:
        shapes = "\n".join(
            f'    {{ILK__CODE_{code}, "{types}"}},' for code, types in script.replies
        )
        out.append(
            f"\nstatic const char text_{script.name}[] = {{\n"
            f"{c_bytes(script.text)}\n    0\n}};\n"
            f"static const ilk__shape shapes_{script.name}[] = {{\n"
            f"{shapes}\n}};\n"
        )
    out.append("\nconst ilk__script ilk__scripts[ILK__SCRIPT_COUNT] = {\n")
    for script in scripts:
        out.append(
            f'    {{"{script.name}", "{script.sha1}",\n'
            f'     "{script.cluster_sha1}", {script.cluster_at},\n'
            f"     text_{script.name}, sizeof text_{script.name} - 1,\n"
            f"     {script.keys}, {int(script.keys_multiple)}, "
            f"{script.args}, {script.args_most}, {script.token},\n"
            f"     shapes_{script.name}, {len(script.replies)}}},\n"
        )
    out.append("};\n")
    return "".join(out)


def write(path, text):
    """Write unless it is there already, so that nothing is rebuilt for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write scripts.gen.c and scripts.gen.h there",
    )
    parser.add_argument(
        "--scripts",
        type=Path,
        default=SCRIPTS,
        metavar="DIR",
        help="the folders of scripts, beside include/",
    )
    parser.add_argument(
        "--include-dir", type=Path, metavar="DIR", help="look here for an include first"
    )
    parser.add_argument(
        "--lua-dir",
        type=Path,
        metavar="DIR",
        help="also write each expanded script there",
    )
    options = parser.parse_args(argv)
    include_dirs = [options.scripts / "include"]
    if options.include_dir:
        include_dirs.insert(0, options.include_dir)
    if not options.out and not options.lua_dir:
        parser.error("nothing to write: give --out or --lua-dir")
    try:
        scripts, codes = load(options.scripts, include_dirs)
    except ScriptError as error:
        print(f"expand_scripts: {error}", file=sys.stderr)
        return 1
    if options.out:
        write(options.out / "scripts.gen.h", c_header(scripts, codes))
        write(options.out / "scripts.gen.c", c_source(scripts))
    for script in scripts if options.lua_dir else ():
        write(options.lua_dir / f"{script.name}.lua", script.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
