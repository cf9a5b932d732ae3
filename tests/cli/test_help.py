# SPDX-License-Identifier: MIT
"""Help, manual page and completions say the same as the option tables."""

import re
import shutil
import subprocess

import pytest
from shell import ROOT

CLI = ROOT / "cli"
COMMANDS = [
    "lock", "semaphore", "elect", "wait", "signal", "event", "group", "register", "kv",
    "queue", "inspect", "ls", "break",
    "demo", "server", "quorum", "ring", "version",
]  # fmt: skip


def options_in_source(command):
    """The options of getopt: the table in the command's own file."""
    source = (CLI / f"{command}.c").read_text()
    table = re.search(r"options\[\] = \{\n(.*?)\n\};", source, re.S).group(1)
    if "CLI_HOLD_OPTIONS" in table:
        shared = (CLI / "hold.h").read_text().split("#define CLI_HOLD_OPTIONS")[1]
        table += shared.split("CLI_OPTION_END")[0]
    names = re.findall(r'\{"([a-z-]+)",', table)
    names += [
        n.lower() for n in re.findall(r"CLI_OPTION_([A-Z]+)", table) if n != "END"
    ]
    names += ["url-file"] if "url" in names else []
    return sorted(names)


def options_in_help(shell, command):
    text = shell.run(command, "--help").stdout.decode()
    return sorted(re.findall(r"^(?:  -\w, |      )--([a-z-]+)", text, re.M))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_every_option(shell, command):
    assert options_in_help(shell, command) == options_in_source(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_common_options(command):
    assert {"url", "url-file", "help", "quiet"} <= set(options_in_source(command))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(command):
    assert "json" in options_in_source(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_three_ways(shell, command):
    texts = {
        shell.run(*words).stdout
        for words in ([command, "--help"], [command, "-h"], ["help", command])
    }

    assert len(texts) == 1
    assert texts.pop().startswith(b"usage: interlock " + command.encode())


@pytest.mark.parametrize("words", [["--help"], ["help"], ["-h"]])
def test_overview_names_every_command(shell, words):
    done = shell.run(*words)

    assert done.returncode == 0
    listed = re.findall(r"^  ([a-z]+)  ", done.stdout.decode(), re.M)
    assert listed == [*COMMANDS, "help"]


def test_help_fits_a_terminal(shell):
    texts = [shell.run("help", c).stdout for c in COMMANDS] + [shell.run("help").stdout]

    assert max(len(line) for text in texts for line in text.splitlines()) < 80


def section(text, command):
    """The part of the manual page about one command, and the common one."""
    parts = re.split(r"^\.SH (.+)$", text, flags=re.M)
    pages = dict(zip(parts[1::2], parts[2::2]))
    return pages.get(command.upper(), "") + pages["COMMON OPTIONS"]


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_has_every_option(command):
    page = section((CLI / "interlock.1").read_text(), command).replace("\\-", "-")
    described = set(re.findall(r"^\.[BI]+ .*?--([a-z-]+)", page, re.M))
    described |= set(re.findall(r'" --([a-z-]+)$', page, re.M))

    assert set(options_in_source(command)) <= described


def test_manual_names_no_option_that_is_not_there():
    page = (CLI / "interlock.1").read_text().replace("\\-", "-")
    known = {option for command in COMMANDS for option in options_in_source(command)}

    assert set(re.findall(r"--([a-z][a-z-]+)", page)) <= known | {"version"}


def test_manual_has_this_version(shell):
    version = shell.run("version").stdout.decode().split()[1]

    assert f'"interlock {version}"' in (CLI / "interlock.1").read_text()


@pytest.mark.skipif(
    not shutil.which("groff"), reason="the manual is not rendered: groff is missing"
)
def test_manual_renders_without_a_warning():
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", "-ww", CLI / "interlock.1"],
        capture_output=True,
        check=True,
    )

    assert done.stderr == b""
    assert b"INTERLOCK(1)" in done.stdout


def test_manual_has_every_exit_status():
    page = (CLI / "interlock.1").read_text()
    header = (CLI / "cli.h").read_text()
    statuses = re.search(r"enum cli_exit \{(.*?)\};", header, re.S).group(1)
    numbers = set(re.findall(r"= (\d+)", statuses)) - {"128"}

    assert numbers == set(re.findall(r"^\.B (\d+)$", page, re.M)) - {"10s"}


COMPLETE = """
source "$1"
COMP_WORDS=(interlock "${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_interlock
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words):
    """The completions that bash offers for the last of the words."""
    script = CLI / "completions" / "interlock.bash"
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", script, *words],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_completes_every_option(command):
    offered = sorted(word[2:] for word in complete(command, "--"))

    assert offered == options_in_source(command)


def test_bash_completes_commands():
    assert sorted(complete("")) == sorted([*COMMANDS, "help"])
    assert complete("in") == ["inspect"]
    assert complete("--url", "redis://x", "ls") == ["ls"]
    assert complete("help", "ve") == ["version"]
    assert sorted(complete("server", "")) == ["status", "stop"]
    assert complete("quorum", "") == ["status", "adopt"]
    assert complete("ring", "--layout", "t") == ["tooz"]
    assert complete("lock", "--wait", "f") == ["forever"]
    assert set(complete("lock", "name", "unam")) == {"uname"}
    assert set(complete("elect", "name", "--", "unam")) == {"uname"}
    assert complete("queue", "pu") == ["push", "purge"]
    assert complete("event", "s") == ["set", "show"]
    assert complete("register", "") == ["get", "set", "cas", "delete", "wait"]
    assert complete("kv", "") == ["put", "get", "delete", "move"]
    assert complete("ls", "--kind", "ba") == ["barrier"]


def values_by_option():
    """Which options take a value, from the tables."""
    taking, plain = {"url", "url-file"}, {"json", "hex", "quiet", "help", "version"}
    for file in [*(f"{command}.c" for command in COMMANDS), "hold.h"]:
        source = (CLI / file).read_text()
        for name, value in re.findall(r'\{"([a-z-]+)",\s*("[A-Z]+"|NULL)', source):
            (plain if value == "NULL" else taking).add(name)
    return taking, plain


def test_bash_knows_which_options_take_a_value():
    script = (CLI / "completions" / "interlock.bash").read_text()
    body = re.search(r"takes_value\(\) \{(.*?)\n\}", script, re.S).group(1)

    assert set(re.findall(r"--([a-z-]+)", body)) == values_by_option()[0]


def test_zsh_and_fish_know_every_option():
    zsh = (CLI / "completions" / "_interlock").read_text()
    fish = (CLI / "completions" / "interlock.fish").read_text()
    taking, plain = values_by_option()

    assert set(re.findall(r"--([a-z-]+)(?:\}')?\[[^]]*\]:", zsh)) == taking
    assert set(re.findall(r"-l ([a-z-]+) -x", fish)) == taking
    for option in plain:
        assert re.search(rf"--{option}(\[|\}})", zsh), option
        assert re.search(rf"-l {option} (?!-x)", fish), option


@pytest.mark.parametrize(
    ("program", "file"),
    [("bash", "interlock.bash"), ("zsh", "_interlock"), ("fish", "interlock.fish")],
)
def test_completion_is_valid(program, file):
    if not shutil.which(program):
        pytest.skip(f"{file} is not parsed: {program} is missing")
    path = CLI / "completions" / file

    subprocess.run([program, "-n", path], check=True, timeout=20)
