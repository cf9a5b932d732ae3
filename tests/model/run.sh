#!/bin/sh
# SPDX-License-Identifier: MIT
# Check the lock's waiting protocol with Spin: what must hold, and controls
# that must fail. `run.sh --deep` adds the larger runs (minutes, 6 GB).
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

# verify KIND DEFINES: compile and run the model; its words are left in $out.
verify() {
    out=$work/out
    case $1 in
    safety) cflags="-DSAFETY" pan="" ;;
    liveness) cflags="" pan="-a -f" ;;
    esac
    rm -f "$work"/pan*
    # shellcheck disable=SC2086
    (cd "$work" && spin -a $2 "$here/lock.pml" >"$out" 2>&1 &&
        "${CC:-gcc}" -O2 -w $cflags -DCOLLAPSE -DVECTORSZ=1024 \
            -DMEMLIM=$memory -o pan pan.c >>"$out" 2>&1 &&
        ./pan -m100000 -w24 $pan >>"$out" 2>&1)
}

figure() { # figure WORDS: the number before these words in pan's report
    awk -v words="$1" 'index($0, words) { print $1; exit }' "$out"
}

report() { # report VERDICT TITLE
    printf '%-4s  %-46s %9s states, depth %s, %s MB, %s s\n' "$1" "$2" \
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

holds() { # holds TITLE KIND DEFINES: a whole search without an error
    verify "$2" "$3"
    if grep -q 'errors: 0$' "$out" &&
        ! grep -q 'Search not completed\|max search depth' "$out"; then
        report ok "$1"
    else
        report FAIL "$1"
    fi
}

breaks() { # breaks TITLE KIND DEFINES WORDS: an error, and this one
    verify "$2" "$3"
    if grep -qF "$4" "$out"; then
        report ok "$1"
    else
        report FAIL "$1"
    fi
}

holds "3 clients, 1 fault: holders, fences, grants" safety ""
if ! grep -A99 'unreached in proctype client' "$out" | grep -q '(0 of'; then
    report FAIL "every step of a client is reached"
fi
holds "2 clients, 3 faults: holders, fences, grants" safety \
    "-DCLIENTS=2 -DFAULTS=3"
holds "2 clients, 2 faults: nobody is forgotten" liveness \
    "-DLIVENESS -DCLIENTS=2 -DFAULTS=2"
holds "3 clients, 1 fault: nobody is forgotten" liveness \
    "-DLIVENESS -DQUITS=0 -DEXTENDS=0 -DLIMIT=1"

breaks "control: grant without liveness" liveness \
    "-DLIVENESS -DCLIENTS=2 -DFAULTS=2 -DLIMIT=1 -DBROKEN_NO_LIVENESS" \
    "acceptance cycle"
breaks "control: cancel without pass-on" safety \
    "-DFAULTS=0 -DBROKEN_NO_PASS_ON" "excused[lock]"
breaks "control: delete without owner check" safety \
    "-DHOLDERS_ONLY -DBROKEN_NO_OWNER" "sure[i]&&inside[i]"
breaks "control: a token used again after its cancel" safety \
    "-DHOLDERS_ONLY -DCLIENTS=2 -DFAULTS=2 -DBROKEN_SAME_TOKEN" \
    "sure[i]&&inside[i]"
breaks "control: a grant told twice is given back" safety \
    "-DHOLDERS_ONLY -DFAULTS=0 -DBROKEN_TOLD_TWICE" "sure[i]&&inside[i]"

if [ "${1:-}" = --deep ]; then
    memory=6000
    holds "deep: 3 clients, 2 faults" safety "-DFAULTS=2"
    holds "deep: 3 clients, 1 fault, nobody is forgotten" liveness "-DLIVENESS"
fi

echo "model: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
