# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Running tiers: which ones, side by side, with what is left to wait for, and
# a table at the end. tools/tiers.txt says what there is. Sourced by dev.
#
# Each tier is a process of its own, ./dev tier NAME, which writes to build/logs:
#     tier-NAME.began    the second it began
#     tier-NAME.log      its output
#     tier-NAME.result   its closing lines
#     tier-NAME.end      ok, skipped or failed; absent while it runs
#     tier-NAME.took     seconds, kept for the next run's estimate
#     tier-NAME.cpu      seconds of user and system time

# More tiers than processors, for most of them sleep most of the time.
slots=$((jobs + 1))

# rows WORD...: the table's rows that are named, by tier or by run.
rows()
{
    awk -v words="$*" '
        BEGIN { n = split(words, word, " ") }
        /^#/ || NF == 0 { next }
        {
            hit = 0
            for (i = 1; i <= n; i++)
                if (word[i] == $1 || word[i] == $2)
                    hit = found[i] = 1
            if (hit)
                print
        }
        END {
            for (i = 1; i <= n; i++)
                if (!found[i]) {
                    print "dev: no tier " word[i] >"/dev/stderr"
                    exit 1
                }
        }' tools/tiers.txt
}

tier_names()
{
    named=$(rows "$@") || return 1
    say "$named" | awk '{ printf "%s%s", sep, $1; sep = " " }'
}

# faults NAME COUNT: the first lines of a tier's output that say what was wrong.
faults()
{
    grep -nE 'error:|FAILED|\(Failed\)|\(Timeout\)|(^|[ =])ERROR[ :]|\*\*\*|undefined reference|^E  ' \
        "$logs/tier-$1.log" | head -n "$2"
}

# one_tier NAME: run it and write down how it went. The table at the end shows the first
# faults of a tier that failed, because some readers have only the end of the output.
one_tier()
{
    tier_log=$logs/tier-$1.log
    tier_result=$logs/tier-$1.result
    : >"$tier_result"
    rm -f "$tier_result.skip"
    began=$(date +%s)
    say "$began" >"$logs/tier-$1.began"
    ("tier_$1") >"$tier_log" 2>&1 </dev/null
    status=$?
    say $(($(date +%s) - began)) >"$logs/tier-$1.took"
    times >"$logs/tier-$1.cpu"
    cpu=$(sed -n '2s/[ms]/ /gp' "$logs/tier-$1.cpu" |
        awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }')
    say "$cpu" >"$logs/tier-$1.cpu"
    end=ok
    [ -e "$tier_result.skip" ] && end=skipped
    if [ $status -ne 0 ]; then
        end=failed
        faults "$1" 8 >>"$tier_result"
    fi
    say "$end" >"$logs/tier-$1.end"
}

# time_left NAME...: seconds until these have ended, by what each took the last
# time, or else by the table: each goes to the slot that is free first.
time_left()
{
    now=$(date +%s)
    rows "$@" | while read -r name _ table _; do
        [ -e "$logs/tier-$name.end" ] && continue
        took=$(cat "$logs/tier-$name.took" 2>/dev/null)
        began=$(cat "$logs/tier-$name.began" 2>/dev/null)
        echo "${took:-$table} $((now - ${began:-$now}))"
    done | awk -v slots="$slots" '
        {
            left = $1 > $2 ? $1 - $2 : 5
            first = 1
            for (i = 2; i <= slots; i++)
                if (busy[i] < busy[first])
                    first = i
            busy[first] += left
            if (busy[first] > last)
                last = busy[first]
        }
        END { printf "%d\n", last }'
}

# about SECONDS: in words, for nobody knows it to the second.
about()
{
    if [ "$1" -ge 90 ]; then
        say "about $((($1 + 30) / 60)) min"
    else
        say "about $((($1 + 9) / 10 * 10)) s"
    fi
}

# tell_end NAME ALL...: one line for a tier that ended; of one that failed
# more, at once.
tell_end()
{
    name=$1
    shift
    end=$(cat "$logs/tier-$name.end" 2>/dev/null || echo "did not end")
    count=0
    for each in "$@"; do
        [ -e "$logs/tier-$each.end" ] && count=$((count + 1))
    done
    left=
    [ $count -lt $# ] && left=", $(about "$(time_left "$@")") left"
    printf -- '-- %-8s %4s s  %-8s %s of %s%s\n' "$name" \
        "$(cat "$logs/tier-$name.took")" "$end" "$count" "$#" "$left"
    case $end in
    ok | skipped) return ;;
    esac
    faults "$name" 20
    say "the end of $logs/tier-$name.log:"
    tail -n 30 "$logs/tier-$name.log"
}

# The table at the end; a closing line for each runner that a tier calls.
report_all()
{
    printf '\n%-9s %-8s %7s  %s\n' tier result seconds "closing line"
    for name in "$@"; do
        end=$(cat "$logs/tier-$name.end" 2>/dev/null || echo "no end")
        awk -v name="$name" -v end="$end" -v took="$(cat "$logs/tier-$name.took")" '
            { printf "%-9s %-8s %7s  %s\n", name, end, took, $0 }
            { name = end = took = "" }
            END { if (NR == 0) printf "%-9s %-8s %7s\n", name, end, took }' \
            "$logs/tier-$name.result"
    done
}

# run_beside NAME...: the tiers side by side, each told of when it ends.
run_beside()
{
    # shellcheck disable=SC2016  # xargs would stop when one is killed
    printf '%s\n' "$@" |
        xargs -n 1 -P "$slots" sh -c '"$0" tier "$1"; echo "$1"' "$root/dev" |
        while read -r ended; do
            tell_end "$ended" "$@"
        done
}

# run_tiers WORD...: the tiers of these names and runs.
run_tiers()
{
    mkdir -p "$logs"
    names=$(tier_names "$@") || die "there are: $(tier_names short long)"
    # All stand on the release tree, some on the package.
    build_release all -DILK_TESTS=ON -DILK_LUA=ON
    if rows "$@" | awk '$5 == "yes" { n++ } END { exit !n }'; then
        python_package || return 1
    fi
    test_environment
    # shellcheck disable=SC2086  # names without spaces
    set -- $names
    for name in "$@"; do
        rm -f "$logs/tier-$name.began" "$logs/tier-$name.end"
    done
    started=$(date +%s)
    say "== $# tiers, $slots at a time, $(about "$(time_left "$@")")"
    run_beside "$@"
    report_all "$@"
    failures=
    skips=
    passed=0
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

# --- Over and over.

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

# soak_busy ROUNDS WORD...: the tiers, while as many processes as there are
# processors do nothing but keep them busy. All rounds run, whatever one finds;
# the logs of a round that failed stay in build/logs/round-N.
soak_busy()
{
    rounds=$1
    shift
    busy=
    for _ in $(seq "$jobs"); do
        (while kill -0 $$ 2>/dev/null; do :; done) &
        busy="$busy $!"
    done
    # shellcheck disable=SC2064  # those of now
    trap "kill $busy" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    round=0
    bad=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        say "round $round of $rounds, on busy processors"
        if ! (trap - EXIT && run_tiers "$@"); then
            bad=$((bad + 1))
            mkdir -p "$logs/round-$round"
            cp "$logs"/tier-*.log "$logs/round-$round"
        fi
    done
    say "== $((rounds - bad)) of $rounds rounds passed"
    [ $bad -eq 0 ]
}

# soak_fuzz SECONDS: the tier fuzz alone, with each target so long.
soak_fuzz()
{
    ILK_FUZZ_SECONDS=$1
    export ILK_FUZZ_SECONDS
    newer_cmake
    mkdir -p "$logs"
    one_tier fuzz
    report_all fuzz
    [ "$(cat "$logs/tier-fuzz.end")" != failed ]
}
