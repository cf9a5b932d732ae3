#!/bin/sh
# SPDX-License-Identifier: MIT
# Check two protocols with Spin, waiting (lock.pml) and the changes of a hold
# (hold.pml): what must hold, and controls that must fail. `run.sh --deep` adds
# the larger runs (minutes, 6 GB).
# Exit status: 0 all as expected, 1 something is not, 77 Spin is missing.
set -u

here=$(cd "$(dirname "$0")" && pwd)
if ! command -v spin >/dev/null || ! command -v "${CC:-gcc}" >/dev/null; then
    echo "SKIPPED: tests/model needs spin and ${CC:-gcc}" >&2
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0
memory=1900

# verify LEVEL MODEL KIND DEFINES: compile with the optimization level and run;
# its words are left in $out.
verify() {
    out=$work/out
    case $3 in
    safety) cflags="-DSAFETY" pan="" ;;
    liveness) cflags="" pan="-a -f" ;;
    esac
    rm -f "$work"/pan*
    # shellcheck disable=SC2086
    (cd "$work" && spin -a $4 "$here/$2.pml" >"$out" 2>&1 &&
        "${CC:-gcc}" "$1" -w $cflags -DCOLLAPSE -DVECTORSZ=1024 \
            -DMEMLIM=$memory -o pan pan.c >>"$out" 2>&1 &&
        ./pan -m100000 -w24 $pan >>"$out" 2>&1)
}

figure() { # figure WORDS: the number before these words in pan's report
    awk -v words="$1" 'index($0, words) { print $1; exit }' "$out"
}

report() { # report VERDICT TITLE
    printf '%-4s  %-52s %9s states, depth %s, %s MB, %s s\n' "$1" "$2" \
        "$(figure 'states, stored')" \
        "$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$out")" \
        "$(figure 'total actual memory')" \
        "$(sed -n 's/.*elapsed time \([0-9.]*\) .*/\1/p' "$out")"
    if [ "$1" = ok ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        sed 's/^/      /' "$out"
    fi
}

holds() { # holds TITLE MODEL KIND DEFINES: a whole search without an error
    verify -O2 "$2" "$3" "$4"
    if grep -q 'errors: 0$' "$out" &&
        ! grep -q 'Search not completed\|max search depth' "$out"; then
        report ok "$1"
    else
        report FAIL "$1"
    fi
}

reaches() { # reaches TITLE: the run before took every branch marked REACH
    if grep -q '^unreached branch' "$out"; then
        report FAIL "$1"
    fi
}

# breaks TITLE MODEL KIND DEFINES WORDS: an error, and this one. Most of these
# searches end at once, so the compiler is what takes time.
breaks() {
    verify -O1 "$2" "$3" "$4"
    if grep -qF "$5" "$out"; then
        report ok "$1"
    else
        report FAIL "$1"
    fi
}

holds "3 clients, 1 fault: holders, fences, grants" lock safety \
    "-DREACHED -DLIMIT=1"
reaches "every branch of a client is reached"
holds "2 clients, 3 faults: holders, fences, grants" lock safety \
    "-DCLIENTS=2 -DFAULTS=3"
holds "2 clients, 2 faults: nobody is forgotten" lock liveness \
    "-DLIVENESS -DCLIENTS=2 -DFAULTS=2"
holds "3 clients, 1 fault: nobody is forgotten" lock liveness \
    "-DLIVENESS -DQUITS=0 -DEXTENDS=0 -DLIMIT=1"

breaks "control: grant without liveness" lock liveness \
    "-DLIVENESS -DCLIENTS=2 -DFAULTS=2 -DLIMIT=1 -DBROKEN_NO_LIVENESS" \
    "acceptance cycle"
breaks "control: cancel without pass-on" lock safety \
    "-DFAULTS=0 -DBROKEN_NO_PASS_ON" "excused[lock]"
breaks "control: delete without owner check" lock safety \
    "-DHOLDERS_ONLY -DBROKEN_NO_OWNER" "sure[i]&&inside[i]"
breaks "control: a token used again after its cancel" lock safety \
    "-DHOLDERS_ONLY -DCLIENTS=2 -DFAULTS=2 -DBROKEN_SAME_TOKEN" \
    "sure[i]&&inside[i]"
breaks "control: a grant told twice is given back" lock safety \
    "-DHOLDERS_ONLY -DFAULTS=0 -DBROKEN_TOLD_TWICE" "sure[i]&&inside[i]"

holds "1 hold, 2 faults: belief, release" hold safety "-DREACHED"
reaches "every branch of a holder is reached"
holds "1 hold, 3 faults: release without extends" hold safety \
    "-DFAULTS=3 -DNO_EXTENDS"
holds "1 hold, 2 faults: handed over" hold safety "-DADOPTER -DNO_LOSSES"
holds "1 hold, 1 fault: extends on two connections" hold safety \
    "-DFAULTS=1 -DTWO_WAYS"
holds "1 hold, 1 fault: no right to close connections" hold safety \
    "-DFAULTS=1 -DNO_KILL -DKEEP_DOUBT"
steady="-DSTEADY -DSHORT=2 -DTTL=3 -DLONG=4"
holds "1 hold, 2 faults: kept by answered renewals" hold safety "$steady"

breaks "control: a renewal that shortens" hold safety \
    "-DFAULTS=0 -DOLD_RENEWAL" "lease>=belief"
breaks "control: doubt looked up at the answer" hold safety \
    "-DFAULTS=0 -DDOUBT_AT_ANSWER" "lease>=belief"
breaks "control: no doubt after a call was given up" hold safety \
    "-DFAULTS=1 -DNO_DOUBT" "lease>=belief"
breaks "control: one doubt for two connections" hold safety \
    "-DFAULTS=1 -DTWO_WAYS -DONE_DOUBT" "lease>=belief"
breaks "control: an old connection stays open" hold safety \
    "-DFAULTS=1 -DNO_KILL" "lease>=belief"
breaks "control: only the last of two is closed" hold safety \
    "-DKILL_LAST_ONLY" "lease>=belief"
breaks "control: detach while an extend is in doubt" hold safety \
    "-DFAULTS=1 -DADOPTER -DDETACH_AT_ONCE" "lease>=adopter_belief"
breaks "control: an adoption that shortens" hold safety \
    "-DFAULTS=1 -DADOPTER -DEXACT_ADOPTION" "lease>=belief"
breaks "control: the last answer is believed" hold safety \
    "-DFAULTS=0 $steady -DBELIEVE_LAST" "belief>0"
breaks "control: sure at the first copy is released" hold safety \
    "-DFAULTS=1 -DOLD_RELEASE" "fate=="
breaks "control: a record without its birth" hold safety \
    "-DNO_EXTENDS -DRECORD_WITHOUT_BIRTH" "fate=="
breaks "control: a later break hides that of ours" hold safety \
    "-DFAULTS=3 -DNO_EXTENDS -DLAST_BREAK_ONLY" "fate=="
breaks "limit: a record from before our grant comes back" hold safety \
    "-DNO_EXTENDS -DSNAPSHOT" "fate=="

if [ "${1:-}" = --deep ]; then
    memory=6000
    holds "deep: 3 clients, 2 faults" lock safety "-DFAULTS=2"
    holds "deep: 3 clients, 1 fault, nobody is forgotten" lock liveness \
        "-DLIVENESS"
    holds "deep: 1 hold, 3 faults" hold safety "-DFAULTS=3"
    holds "deep: 1 hold, 3 faults, handed over" hold safety \
        "-DFAULTS=3 -DADOPTER -DNO_LOSSES"
    holds "deep: 1 hold, 2 faults, extends on two connections" hold safety \
        "-DTWO_WAYS"
    holds "deep: 1 hold, 2 faults, no right to close connections" hold safety \
        "-DNO_KILL -DKEEP_DOUBT"
fi

echo "model: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
