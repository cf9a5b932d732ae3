# SPDX-License-Identifier: MIT
"""tools/check_words.py: each rule is broken once, in a tree made for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
C = "libcore/src/lock.c"
LUA = "libcore/scripts/lock.lua"
PAGE = "docs/lock.md"
PYTHON = "tools/lock.py"
TESTED = "tests/core/ut_lock.c"


class Tree:
    def __init__(self, root):
        self.root = root

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def judge(self):
        command = [sys.executable, ROOT / "tools" / "check_words.py"]
        done = subprocess.run(
            [*command, "--root", self.root], capture_output=True, text=True
        )
        assert done.returncode == (1 if done.stderr else 0), done.stderr
        return done.stderr


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def comment(path, sentence):
    """A file with that sentence in a comment, or in its prose."""
    c = f"/* SPDX-License-Identifier: MIT */\n/*\n * {sentence}\n */\nint x;\n"
    return {
        C: c,
        TESTED: c,
        LUA: f"-- SPDX-License-Identifier: MIT\n-- {sentence}\nlocal x = 1\n",
        PAGE: f"# Locks\n\n{sentence}\n",
        PYTHON: f'"""A lock."""\n\n# {sentence}\nx = 1\n',
    }[path]


@pytest.mark.parametrize("path", [C, LUA, PAGE, PYTHON, TESTED])
@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        (
            "Who holds the lock renews it.",
            "The holder renews the lock.",
            'begins with "Who"',
        ),
        (
            "What is held is renewed.",
            "The keeper renews each hold.",
            'begins with "What"',
        ),
        (
            "It waits. Whoever comes first holds.",
            "It waits. The first waiter holds.",
            'begins with "Whoever"',
        ),
        (
            "The reply tells the fence.",
            "The reply contains the fence.",
            '"tells"',
        ),
        (
            "The waiter is told of a change.",
            "The waiter gets a message.",
            '"told"',
        ),
        (
            "The client hears a signal.",
            "The client receives a signal.",
            '"hears"',
        ),
        (
            "The server is asked again.",
            "The request is repeated.",
            '"asked"',
        ),
    ],
)
def test_a_sentence_against_a_rule_is_a_fault(tree, path, wrong, right, complaint):
    tree.put(path, comment(path, right))
    assert tree.judge() == ""

    tree.put(path, comment(path, wrong))
    assert complaint in tree.judge()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (C, "/* What is held here? */\n"),
        (C, "/* Calls ilk__wait_told() and waiter->told; see `told`. */\n"),
        (C, 'const char *told = "/* Who waits is told. */";\n'),
        (LUA, 'local told = "-- What was told."\n-- KEYS told\n-- ARGV asked\n'),
        (PAGE, "## What is promised\n\n```c\n/* Who waits is told. */\n```\n"),
        (PAGE, "Text.\n\n    interlock tells\n\n<!-- Who waits -->\n"),
        (PAGE, "See [Waiting](waiting.md#who-is-told) and `lock.told`.\n"),
        (PYTHON, 'told = "Who waits is told."\n'),
        ("build.txt", "Who waits is told.\n"),
    ],
)
def test_questions_names_and_code_are_exempt(tree, path, text):
    tree.put(path, text)

    assert tree.judge() == ""


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (C, "int x; /* kept */\nint y; /* What is held. */\n", 2),
        (C, "int x; // kept\n/* It waits. Then\n * the reply\n * tells it. */\n", 2),
        (LUA, "-- A script.\n-- It waits.\n-- What is held is kept.\n", 3),
        (PAGE, "| a | b |\n|---|---|\n| held | What is held. |\n", 3),
        (PAGE, "- One.\n- What is held is kept.\n", 2),
        (PYTHON, 'def f():\n    """Return x.\n\n    What is held.\n    """\n', 4),
    ],
)
def test_the_line_of_the_sentence_is_named(tree, path, text, line):
    tree.put(path, text)

    assert tree.judge().startswith(f"check_words: {path}:{line}: ")


def test_an_exception_excuses_its_phrase_in_its_file(tree):
    tree.put(PAGE, "What is held is kept.\n")
    tree.put("tools/check_words.txt", f'{PAGE}: "What is held" -- a quotation\n')
    assert tree.judge() == ""

    tree.put(C, "/* What is held is kept. */\n")
    assert f"{C}:1" in tree.judge()


def test_an_exception_that_excuses_nothing_is_a_fault(tree):
    tree.put(PAGE, "The keeper renews the lock.\n")
    tree.put("tools/check_words.txt", f'{PAGE}: "What is held" -- a quotation\n')

    assert "excuses nothing" in tree.judge()


def test_an_exception_without_a_reason_is_refused(tree):
    tree.put("tools/check_words.txt", f'{PAGE}: "What is held"\n')

    assert "not an exception" in tree.judge()


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        (
            TESTED,
            "TEST(who_waits_is_served)\n{\n}\n",
            "TEST(a_waiter_is_served)\n{\n}\n",
        ),
        (
            TESTED,
            "TEST_WITH(setup, NULL,\n          a_loss_is_told)\n{\n}\n",
            "TEST_WITH(setup, NULL,\n          a_loss_is_reported)\n{\n}\n",
        ),
        (
            "tests/python/test_lock.py",
            "def test_a_pattern_hears_all():\n    pass\n",
            "def test_a_pattern_receives_all():\n    pass\n",
        ),
    ],
)
def test_the_name_of_a_test_is_a_sentence(tree, path, wrong, right):
    tree.put(path, right)
    assert tree.judge() == ""

    tree.put(path, wrong)
    assert f"{path}:1: " in tree.judge()
