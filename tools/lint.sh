# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The tier lint: what is judged without running it. Sourced by dev.

c_files()
{
    python3 tools/list_files.py 'libcore/*.[ch]' 'cli/*.[ch]' 'tests/*.[ch]' \
        'bench/*.[ch]' 'examples/*.[ch]'
}

shell_files()
{
    echo dev .ci/run
    python3 tools/list_files.py 'tools/*' 'tests/*' | while read -r f; do
        if head -n 1 "$f" | grep -q '^#!/bin/\(ba\)*sh'; then
            echo "$f"
        fi
    done
}

# judge NAME COMMAND...: one linter; all run, whatever one says.
judge()
{
    what=$1
    shift
    printf '+ %s: %s\n' "$what" "$*" | cut -c 1-200
    if "$@"; then
        judged="$judged $what"
    else
        objected="$objected $what"
    fi
}

# strict COMPILER: ON, or OFF with a line about it. Warnings are errors where the
# compiler is one of those named here; what others warn of fails no tier.
strict()
{
    version=$("$1" -dumpversion) || return 1
    case ${1##*/}-$version in
    cc-12 | cc-12.* | gcc-12 | gcc-12.* | clang-14.*) echo ON ;;
    *)
        closing "warnings of $1 $version are no errors; those of gcc 12, clang 14 are"
        echo OFF
        ;;
    esac
}

# clang-format is pinned: versions lay lines out differently.
lint_format()
{
    # shellcheck disable=SC2046  # names without spaces
    "$venv/bin/clang-format" --dry-run -Werror --ferror-limit=3 $(c_files)
}

# tidy CHECKS PATTERN...: the files that the tree build/release knows how to compile.
# clang-tidy is pinned, too: each version has other checks. Asserts are in force, for
# they tell the analyser what cannot be.
tidy()
{
    checks=$1
    shift
    python3 tools/list_files.py "$@" | while read -r f; do
        if grep -qF "/$f\"" build/release/compile_commands.json; then
            echo "$f"
        fi
    done | xargs -P "$jobs" -n 4 "$venv/bin/clang-tidy" -p build/release --quiet \
        --checks="$checks" --extra-arg=-UNDEBUG --warnings-as-errors='*' \
        2>"$logs/clang-tidy.log"
}

# The analyser takes twenty times as long as all other checks: tier clang runs it.
lint_tidy()
{
    tidy '-clang-analyzer-*' 'libcore/*.c' 'cli/*.c'
}

lint_shell()
{
    # shellcheck disable=SC2046  # names without spaces
    shellcheck -x $(shell_files)
}

lint_ruff()
{
    "$venv/bin/ruff" check -q . && "$venv/bin/ruff" format -q --check .
}

# The server-side scripts are judged as they travel: expanded. There an
# included function's parameters shadow the script's names for its arguments.
lint_lua()
{
    rm -rf build/expanded
    python3 tools/expand_scripts.py --out build/expanded \
        --lua-dir build/expanded/lua &&
        luacheck -q --no-config --std lua51 --no-unused --ignore 431 \
            --new-read-globals redis KEYS ARGV cjson \
            --no-max-line-length build/expanded/lua &&
        luacheck -q lua tests/lua tests/sim
}

# Growth at the end of an options struct is allowed, nothing else.
lint_abi()
{
    tag=$(git describe --tags --abbrev=0 2>/dev/null)
    if [ -z "$tag" ]; then
        echo "abidiff: there is no tag yet to compare with"
        return 0
    fi
    old=build/abi/$tag
    build_archived "$old" "$tag" || return 1
    abidiff --no-added-syms --suppressions tools/abidiff.suppr \
        "$old/build/lib/libinterlock.so" build/release/lib/libinterlock.so
}

tier_lint()
{
    judged=
    objected=
    judge clang-format lint_format
    judge clang-tidy lint_tidy
    judge shellcheck lint_shell
    judge ruff lint_ruff
    judge mypy "$venv/bin/mypy"
    judge luacheck lint_lua
    judge headers python3 tools/check_headers.py \
        build/release/lib/libinterlock.so
    judge primitives python3 tools/check_primitives.py
    judge layers python3 tools/check_layers.py build/release/CMakeFiles
    judge style python3 tools/check_style.py
    judge words python3 tools/check_words.py
    judge abidiff lint_abi
    closing "content:$judged"
    if [ -n "$objected" ]; then
        closing "not content:$objected"
        return 1
    fi
}
