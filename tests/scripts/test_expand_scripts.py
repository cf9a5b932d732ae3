# SPDX-License-Identifier: MIT
"""tools/expand_scripts.py: what it accepts, refuses and writes."""

import shutil
import subprocess

import expand_scripts
import pytest
from world import HERE, sha1

CODES = "local HELD = 1\nlocal LOST = 6\n"


@pytest.fixture
def folder(tmp_path):
    scripts = tmp_path / "scripts"
    (scripts / "include").mkdir(parents=True)
    (scripts / "include" / "reply.lua").write_text(CODES)
    return scripts


def put(folder, text, name="demo", noun="noun"):
    (folder / noun).mkdir(exist_ok=True)
    (folder / noun / f"{name}.lua").write_text(text)


def include(folder, name, text):
    (folder / "include" / f"{name}.lua").write_text(text)


def load(folder):
    scripts, _ = expand_scripts.load(folder, [folder / "include"])
    return scripts[0]


def test_first_lines_are_read(folder):
    put(
        folder,
        "--@script demo keys=5* args=2+\n--@reply HELD i s *\n--@reply LOST\nreturn 1\n",
    )

    script = load(folder)

    assert (script.keys, script.keys_multiple) == (5, True)
    assert (script.args, script.args_most) == (2, expand_scripts.MANY)
    assert script.replies == [("HELD", "is*"), ("LOST", "")]
    assert script.text == CODES + "return 1\n"
    assert script.sha1 == sha1(CODES + "return 1\n")


def test_prose_leaves_the_sha1_alone(folder):
    put(folder, "--@script demo keys=1 args=0\n--@reply LOST\nreturn 1\n")
    before = load(folder).sha1
    put(
        folder,
        "--@script demo keys=1 args=0\n--@reply LOST\n\n  -- prose\n-- more\nreturn 1  \n",
    )

    assert load(folder).sha1 == before


def test_a_script_that_counts_receivers_has_a_form_for_clusters(folder):
    include(folder, "reached", "local REACHED_LEAST = 0\n")
    head = "--@script demo keys=1 args=0\n--@reply LOST\n"
    put(folder, head + "return 1\n")
    assert load(folder).cluster_at == 0
    assert load(folder).cluster_sha1 == load(folder).sha1
    put(folder, head + "--@include reached\nreturn REACHED_LEAST\n")
    script = load(folder)

    assert script.text[script.cluster_at] == "0"
    form = CODES + "local REACHED_LEAST = 1\nreturn REACHED_LEAST\n"
    assert script.cluster_sha1 == sha1(form)
    include(folder, "reached", "local REACHED_LEAST = 3\n")
    with pytest.raises(expand_scripts.ScriptError, match="REACHED_LEAST"):
        load(folder)


def test_include_is_expanded_once_wherever_it_stands(folder):
    include(folder, "a", "--@include b\nlocal a = b\n")
    include(folder, "b", "-- prose\nlocal b = 1\n")
    put(
        folder,
        "--@script demo keys=0 args=0\n--@reply LOST\n--@include a\n--@include b\nreturn a\n",
    )

    assert load(folder).text == CODES + "local b = 1\nlocal a = b\nreturn a\n"


def test_an_indented_include_is_there_until_its_block_ends(folder):
    include(folder, "a", "local a = 1\n")
    include(folder, "b", "--@include a\nlocal b = a\n")
    put(
        folder,
        "--@script demo keys=0 args=0\n--@reply LOST\n"
        "if x then\n  --@include a\n\n  --@include b\nend\n"
        "if y then\n  --@include b\nend\n--@include a\n--@include b\n",
    )

    assert load(folder).text == CODES + (
        "if x then\nlocal a = 1\nlocal b = a\nend\n"
        "if y then\nlocal a = 1\nlocal b = a\nend\nlocal a = 1\nlocal b = a\n"
    )


def test_override_directory_comes_first(folder, tmp_path):
    include(folder, "now", "local now = 1\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "now.lua").write_text("local now = 2\n")
    put(folder, "--@script demo keys=0 args=0\n--@reply LOST\n--@include now\n")

    expand_scripts.main(
        [
            "--scripts",
            str(folder),
            "--lua-dir",
            str(tmp_path / "lua"),
            "--include-dir",
            str(tmp_path / "other"),
        ]
    )

    written = (tmp_path / "lua" / "demo.lua").read_text()
    assert written == CODES + "local now = 2\n"


HEAD = "--@script demo keys=1 args=1\n--@reply LOST\n"


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("return 1\n", "line 1 is not"),
        ("--@script demo keys=x args=1\n", "line 1 is not"),
        ("--@script other keys=1 args=1\n--@reply LOST\n", "names the script other"),
        ("--@script demo keys=1 args=1\nreturn 1\n", "declares no --@reply"),
        ("--@script demo keys=1 args=1\n--@reply NONSENSE\n", "no code NONSENSE"),
        ("--@script demo keys=1 args=1\n--@reply LOST x\n", "not a reply"),
        ("--@script demo keys=1 args=1\n--@reply LOST * i\n", "not a reply"),
        (HEAD + "--@include missing\n", "there is no include 'missing'"),
        (HEAD + "--@include a b\n", "not an include"),
        (HEAD + "--@include round\n", "circle: round -> about -> round"),
        (HEAD + "--[[ block\n]]\n", "block comments"),
        (HEAD + "return ARGV[2]\n", r"uses ARGV\[2\]"),
        (HEAD + "return KEYS[2]\n", r"uses KEYS\[2\]"),
        (HEAD + "return { LOST }\n", r"begins with LOST, not REQUEST"),
        (HEAD + "return LOST\n", r"begins with LOST, not REQUEST"),
        (HEAD.replace("args=1", "args=0..1") + "return ARGV[2]\n", r"uses ARGV\[2\]"),
    ],
)
def test_each_fault_is_named(folder, text, complaint):
    include(folder, "round", "--@include about\n")
    include(folder, "about", "--@include round\n")
    put(folder, text)

    with pytest.raises(expand_scripts.ScriptError, match=complaint):
        load(folder)


def test_error_ends_the_command_with_status_one(folder, capsys):
    put(folder, HEAD + "--@include missing\n")

    status = expand_scripts.main(
        ["--scripts", str(folder), "--out", str(folder / "out")]
    )

    assert status == 1
    assert "missing" in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "codes, complaint",
    [
        ("local HELD = 1\nlocal HELD = 2\n", "HELD is there twice"),
        ("local HELD = 1\nlocal LOST = 1\n", "share a number"),
    ],
)
def test_codes_must_differ(folder, codes, complaint):
    include(folder, "reply", codes)
    put(folder, HEAD)

    with pytest.raises(expand_scripts.ScriptError, match=complaint):
        load(folder)


def test_two_scripts_of_one_name_are_refused(folder):
    put(folder, HEAD, noun="one")
    put(folder, HEAD, noun="two")

    with pytest.raises(expand_scripts.ScriptError, match="has the same name"):
        load(folder)


def test_nothing_is_written_when_nothing_changed(folder):
    put(folder, HEAD + "return 1\n")
    arguments = ["--scripts", str(folder), "--out", str(folder / "out")]
    expand_scripts.main(arguments)
    before = (folder / "out" / "scripts.gen.c").stat().st_mtime_ns

    expand_scripts.main(arguments)

    assert (folder / "out" / "scripts.gen.c").stat().st_mtime_ns == before


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_generated_c_is_the_scripts(tmp_path, compiler, shipped):
    if not shutil.which(compiler):
        pytest.skip(f"the generated C was not compiled: {compiler} is missing")
    expand_scripts.main(["--out", str(tmp_path)])
    (tmp_path / "main.c").write_text(
        '#include "scripts.gen.h"\n#include <stdio.h>\nint main(void)\n{\n'
        "    for (int i = 0; i < ILK__SCRIPT_COUNT; i++) {\n"
        "        const ilk__script *s = &ilk__scripts[i];\n"
        '        printf("%s %s %zu\\n", s->name, s->sha1, s->text_len);\n'
        "        fwrite(s->text, 1, s->text_len, stdout);\n    }\n    return 0;\n}\n"
    )
    subprocess.run(
        [
            compiler,
            "-std=c11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            tmp_path / "show",
            tmp_path / "main.c",
            tmp_path / "scripts.gen.c",
        ],
        check=True,
    )

    shown = subprocess.run([tmp_path / "show"], check=True, capture_output=True).stdout

    assert shown.decode() == "".join(
        f"{s.name} {s.sha1} {len(s.text)}\n{s.text}" for s in shipped.values()
    )


def test_server_computes_the_same_sha1(world, shipped):
    for script in shipped.values():
        assert world.redis("SCRIPT", "LOAD", script.text).decode() == script.sha1


def test_scripts_are_small(shipped):
    for path in expand_scripts.SCRIPTS.rglob("*.lua"):
        assert len(path.read_text().splitlines()) <= 120, path


def test_luacheck_finds_nothing(tmp_path):
    if not shutil.which("luacheck"):
        pytest.skip("the scripts were not judged: luacheck is missing")
    expand_scripts.main(["--lua-dir", str(tmp_path)])

    done = subprocess.run(
        [
            "luacheck",
            "-q",
            "--no-color",
            "--config",
            expand_scripts.SCRIPTS / ".luacheckrc",
            *sorted(tmp_path.glob("*.lua")),
        ],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout


def test_clock_of_the_tests_is_the_only_difference(scripts, shipped):
    tests_clock = "".join(
        line + "\n"
        for line in (HERE / "include" / "now.lua").read_text().splitlines()
        if line and not line.startswith("--")
    )
    for name, script in shipped.items():
        assert ("now_us" in script.text) == (tests_clock in scripts[name].text)
        assert ('"TIME"' in script.text) == ("now_us" in script.text)
