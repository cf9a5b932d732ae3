# SPDX-License-Identifier: MIT
"""tools/check_layers.py: each rule is broken once, in a tree made for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = """
# lowest first
low      polls
net      sockets hiredis
nouns/*
stores/shared
stores/*
stores/far  sockets circle=2
top
"""
TIDY = {
    "low/clock.h": "int clock_now(void);\n",
    "low/clock.c": '#include "clock.h"\nint clock_now(void) { return 1; }\n',
    "low/clock_internal.h": "\n",
    "net/dial.h": "int dial(void);\n",
    "net/dial.c": '#include "dial.h"\n\n#include "low/clock.h"\n'
    "#include <sys/socket.h>\n"
    "int dial(void) { return socket(1, 1, 0) + clock_now(); }\n",
    "nouns/lock/lock.h": "int lock(void);\n",
    "nouns/lock/lock.c": '#include "lock.h"\n\n#include "net/dial.h"\n'
    "int lock(void) { return dial(); }\n",
    "nouns/queue/queue.h": "int queue(void);\n",
    "../stores/shared/words.h": "int words(void);\n",
    "../stores/shared/words.c": "int words(void);\nint words(void) { return 1; }\n",
    "../stores/far/far.h": "int far_open(void);\n",
    "../stores/far/far.c": '#include "far.h"\n\n#include "low/clock.h"\n'
    '#include "stores/shared/words.h"\n#include <sys/socket.h>\n'
    "int far_open(void) { return socket(1, 1, 0) + clock_now() + words(); }\n",
    "../stores/near/near.c": '#include "stores/shared/words.h"\n',
    "top/top.c": '#include "nouns/lock/lock.h"\n'
    "int top(void);\nint top(void) { return lock(); }\n",
}


class Tree:
    def __init__(self, root):
        self.src = root / "src"
        self.objects = root / "objects"
        self.put("LAYERS", LAYERS)
        for path, text in TIDY.items():
            self.put(path, text)

    def put(self, path, text):
        file = self.src / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def build(self):
        top = self.src.parent
        folders = ["-I", self.src, "-I", top]
        for source in sorted(top.rglob("*.c")):
            out = self.objects / f"{source.relative_to(top)}.o"
            out.parent.mkdir(parents=True, exist_ok=True)
            command = ["cc", "-w", *folders, "-c", source, "-o", out]
            subprocess.run(command, check=True)

    def judge(self, *objects):
        command = [sys.executable, ROOT / "tools" / "check_layers.py"]
        done = subprocess.run(
            [*command, "--src", self.src, *objects], capture_output=True, text=True
        )
        assert done.returncode == (1 if done.stderr else 0), done.stderr
        return done.stderr

    def judge_objects(self):
        self.build()
        return self.judge(self.objects)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_a_tidy_tree_has_no_faults(tree):
    assert tree.judge_objects() == ""


@pytest.mark.parametrize(
    ("path", "line", "complaint"),
    [
        ("low/x.c", '#include "net/dial.h"', "low does not come after net"),
        (
            "nouns/lock/x.c",
            '#include "nouns/queue/queue.h"',
            "nouns/lock does not come after nouns/queue",
        ),
        ("net/x.h", '#include "top/x.h"', "there is no top/x.h"),
        ("net/x.c", '#include "low/clock_internal.h"', "private to low"),
        ("low/x.c", "#include <hiredis/read.h>", "low may not use hiredis"),
        ("top/x.c", "#  include <openssl/ssl.h>", "top may not use openssl"),
        ("low/x.c", '#include "low/clock.h"', "its bare name will do"),
        ("net/x.c", '#include "clock.h"', "clock.h is not in net"),
        ("attic/x.c", "", "LAYERS has no line for attic"),
        ("x.c", "", "LAYERS has no line for ."),
        (
            "../stores/near/x.c",
            '#include "stores/far/far.h"',
            "stores/near does not come after stores/far",
        ),
        (
            "../stores/shared/x.c",
            '#include "stores/far/far.h"',
            "stores/shared does not come after stores/far",
        ),
        ("nouns/lock/x.c", '#include "stores/far/far.h"', "nouns/lock does not come"),
        ("../stores/far/x.c", '#include "../shared/words.h"', "no ../shared/words.h"),
        ("../stores/x.c", "", "LAYERS has no line for stores"),
    ],
)
def test_an_include_against_the_order_is_a_fault(tree, path, line, complaint):
    tree.put(path, f"{line}\n")

    assert complaint in tree.judge()


def test_a_folder_includes_its_own_private_header(tree):
    tree.put("low/x.c", '#include "clock_internal.h"\n')

    assert tree.judge() == ""


@pytest.mark.parametrize(
    ("path", "call", "complaint"),
    [
        ("low/x.c", "dial", "uses dial, low does not come after net"),
        ("net/x.c", "lock", "uses lock, net does not come after nouns/lock"),
        ("top/x.c", "socket", "uses socket, top may not use sockets"),
        ("nouns/lock/x.c", "getaddrinfo", "nouns/lock may not use sockets"),
        ("net/x.c", "poll", "uses poll, net may not use polls"),
        ("low/x.c", "redisReaderFeed", "low may not use hiredis"),
        ("low/x.c", "SSL_read", "low may not use openssl"),
        ("../stores/near/x.c", "far_open", "uses far_open, stores/near does not come"),
        ("../stores/near/x.c", "socket", "stores/near may not use sockets"),
        ("../stores/far/x.c", "poll", "stores/far may not use polls"),
    ],
)
def test_a_call_without_an_include_is_a_fault(tree, path, call, complaint):
    tree.put(path, f"int {call}();\nint x(void) {{ return {call}(); }}\n")

    assert tree.judge() == ""
    assert complaint in tree.judge_objects()


def test_an_object_whose_source_has_gone_is_not_judged(tree):
    tree.put("low/x.c", "int dial();\nint x(void) { return dial(); }\n")
    tree.build()
    (tree.src / "low/x.c").unlink()

    assert tree.judge(tree.objects) == ""


def link(tree, folder, *names):
    """Files of which each calls the next one, and the last one the first."""
    for name, other in zip(names, names[1:] + names[:1], strict=True):
        text = f"int {other}(void);\nint {name}(void) {{ return {other}(); }}\n"
        tree.put(f"{folder}/{name}.c", text)


def test_a_circle_of_calls_is_a_fault(tree):
    link(tree, "nouns/lock", "ask", "wait")

    assert "nouns/lock: 2 files call each other, LAYERS allows 1: ask wait" in (
        tree.judge_objects()
    )


def test_a_circle_may_be_as_large_as_layers_says(tree):
    link(tree, "../stores/far", "ask", "wait")
    assert tree.judge_objects() == ""

    link(tree, "../stores/far", "ask", "wait", "end")
    assert "stores/far: 3 files call each other, LAYERS allows 2: ask end wait" in (
        tree.judge_objects()
    )


def test_a_stores_names_are_of_no_other_folder(tree):
    tree.put("../stores/far/x.c", "int ilk__far_ask(void) { return 1; }\n")
    assert tree.judge_objects() == ""

    tree.put("low/x.c", "int ilk__far_end(void) { return 1; }\n")
    assert "stores/far: names begin with ilk__far_, as those of low" in (
        tree.judge_objects()
    )


def test_calls_that_lead_back_to_no_file_are_no_circle(tree):
    tree.put("low/x.c", "int y(void);\nint x(void) { return y(); }\n")
    tree.put("low/y.c", "int clock_now(void);\nint y(void) { return clock_now(); }\n")

    assert tree.judge_objects() == ""


def test_a_function_of_two_folders_may_be_the_nearer_ones(tree):
    """A shared object of a store has functions of its own in place of the core's."""
    tree.put("top/memory.c", "int get(void) { return 1; }\n")
    tree.put("low/memory.c", "int get(void) { return 1; }\n")
    tree.put("net/x.c", "int get(void);\nint x(void) { return get(); }\n")

    assert tree.judge_objects() == ""


def test_a_directory_without_objects_is_refused(tree):
    assert "no objects" in tree.judge(tree.objects)
