#!/bin/sh
# SPDX-License-Identifier: MIT
# Run the libFuzzer programs: run.sh PROGRAMS LOGS SECONDS|same AT_A_TIME
#
# PROGRAMS has the files fuzzer_<target>. Each runs SECONDS; inputs that reach
# new code stay in PROGRAMS/found_<target>, from where the next run goes on.
# "same": a fixed number of inputs, and the same ones for the same programs, so
# that a fault appears again in the next run. libFuzzer's choices depend on the
# addresses of the code and on when it rereads the directory.
# The log and the input of a fault are LOGS/fuzz-<target>*. The last line counts.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1

# same_inputs TARGET: about a minute of one processor
same_inputs()
{
    case $1 in
    client | etcd_http) echo 6000 ;;
    topology) echo 20000 ;;
    announcements | session) echo 100000 ;;
    *) echo 500000 ;;
    esac
}

# one_target PROGRAM LOGS SECONDS|same: writes LOGS/fuzz-<target>.end
one_target()
{
    target=${1##*/fuzzer_}
    found=${1%/*}/found_$target
    extent=-max_total_time=$3
    out=$2/fuzz-$target
    if [ "$3" = same ]; then
        found=${1%/*}/found_same_$target
        extent="-seed=1 -reload=0 -runs=$(same_inputs "$target")"
        rm -rf "$found"
    fi
    mkdir -p "$found"
    rm -f "$out".* "$out"-crash-* "$out"-leak-* "$out"-timeout-* "$out"-oom-*
    # A run of a target takes milliseconds; -timeout is for one that hangs.
    # shellcheck disable=SC2086
    INTERLOCK_LOG=off $fixed_addresses "$1" $extent -timeout=120 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out-" \
        "$found" "$here/corpus_$target" >"$out.log" 2>&1 </dev/null
    status=$?
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out.log")
    say_end >"$out.end"
    cat "$out.end"
}

say_end()
{
    echo "$target: ${count:-0} executions"
    [ $status -eq 0 ] && return
    echo "$target: FAULT, exit status $status; the end of $out.log:"
    tail -n 60 "$out.log"
    for input in "$out"-*; do
        [ -f "$input" ] || continue
        echo "$target: the input is $input. Copy it to" \
            "tests/fuzz/corpus_$target/, under a name that says what it is," \
            "so that ./dev test runs it from now on."
    done
}

fixed_addresses="setarch -R"
$fixed_addresses true 2>/dev/null || fixed_addresses=

if [ "$1" = one ]; then
    one_target "$4" "$2" "$3"
    exit 0
fi
programs=$1
logs=$2
mkdir -p "$logs"
rm -f "$logs"/fuzz-*.end
printf '%s\n' "$programs"/fuzzer_* |
    xargs -n 1 -P "$4" "$0" one "$logs" "$3"
cat "$logs"/fuzz-*.end | awk '
    / executions$/ { targets++; sum += $2 }
    / FAULT,/ { faults++ }
    END {
        printf "fuzz: %d targets, %d executions, %d faults\n",
            targets, sum, faults
        exit faults > 0 || targets == 0
    }'
