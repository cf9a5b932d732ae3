#!/bin/sh
# SPDX-License-Identifier: MIT
# Check twenty-one protocols with Spin, waiting (lock.pml), the changes of a hold
# (hold.pml), a counted signal (signal.pml), a signal to all (signal_all.pml), a gateway to another store
# (gateway.pml), a lock in a store that numbers entries (contenders.pml), a lock in a
# row of a database (sql_lock.pml), a lock in a cluster (cluster.pml), a lock over several slots of one
# (cluster_split.pml), a lock behind Sentinel (replicas.pml), a lock over several servers
# (quorum_*.pml), a register over them (quorum_register.pml), and which
# of them keep registers (quorum_acceptors.pml, quorum_adoption.pml), transactions on a store
# (store.pml) and over several servers (two_phase.pml), a value on several servers
# (replicated_value.pml), a lock that other libraries poll for (pollers.pml), the
# order of commands over several connections (lanes.pml), and the copies of one command
# (copies.pml): what must hold, and controls that must fail. `run.sh --deep` adds the larger runs (minutes, 6 GB).
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
    liveness) cflags="-DNFAIR=3" pan="-a -f" ;;
    endless) cflags="-DNP" pan="-l" ;; # runs without an end
    fair-endless) cflags="-DNP -DNFAIR=5" pan="-l -f" ;;
    esac
    rm -f "$work"/pan*
    # shellcheck disable=SC2086
    (cd "$work" && spin -a $4 "$here/$2.pml" >"$out" 2>&1 &&
        "${CC:-gcc}" "$1" -w $cflags -DCOLLAPSE -DVECTORSZ=1024 \
            -DMEMLIM=$memory -o pan pan.c >>"$out" 2>&1 &&
        ./pan -m400000 -w24 $pan >>"$out" 2>&1)
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
breaks "control: a grant that arrives twice is given back" lock safety \
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

holds "1 signal, 3 faults: received, and once" signal safety "-DFAULTS=3"

breaks "control: a signal is sent and not kept" signal safety \
    "-DBROKEN_NOT_GIVEN" "received>0"
breaks "control: not sent again to a new inbox" signal safety \
    "-DFAULTS=1 -DBROKEN_NO_RESEND" "received>0"
breaks "control: a wait that ends hands nothing on" signal safety \
    "-DFAULTS=1 -DBROKEN_NO_HAND_ON" "received>0"
breaks "control: dropped when nobody can be reached" signal safety \
    "-DBROKEN_DROPPED_EARLY" "received>0"
breaks "control: handed on while its client is alive" signal safety \
    "-DFAULTS=1 -DBROKEN_REAPS_ALIVE" "received<=1"
breaks "control: a second copy of an old signal counts" signal safety \
    "-DBROKEN_TWICE" "received<=1"

holds "a signal to 4 waits, 2 faults: to each once" signal_all safety ""

breaks "control: no last ticket is noted" signal_all safety \
    "-DBROKEN_NO_LAST" "was_there[w]"
breaks "control: an emptied list forgets its last ticket" signal_all safety \
    "-DBROKEN_NO_TICKET_KEPT" "was_there[w]"
breaks "control: the sender adds up the replies" signal_all safety \
    "-DBROKEN_COUNTED_BY_REPLIES" "told==woken"
breaks "control: a message is for the whole list" signal_all safety \
    "-DBROKEN_WHOLE_TICKET" "ticket[w]==0"
breaks "control: a message is for the entries before" signal_all safety \
    "-DBROKEN_TICKET_BELOW" "was_there[c]"

holds "1 gateway, 2 faults: believers, replies, a free lock" gateway safety \
    "-DREACHED -DFAULTS=2"
reaches "every branch of a gateway and its client is reached"
holds "1 gateway, 3 faults: the same, 1 attempt" gateway safety \
    "-DFAULTS=3 -DATTEMPTS=1"
holds "1 gateway, 2 faults: replies without contact" gateway safety \
    "-DFAULTS=2 -DATTEMPTS=1 -DNO_CONTACT"

breaks "control: replies leave as they come" gateway safety \
    "-DFAULTS=0 -DBROKEN_REPLY_ORDER" "its_op==requests[1].op"
breaks "control: a token's requests run in parallel" gateway safety \
    "-DFAULTS=0 -DBROKEN_PARALLEL_TOKEN" "contending==0"
breaks "control: order of one connection alone" gateway safety \
    "-DBROKEN_ORDER_OF_CONNECTION" "contending==0"
breaks "control: a retry makes a second contender" gateway safety \
    "-DBROKEN_SECOND_CONTENDER" "contending==0"
breaks "control: a repeated release takes the holder" gateway safety \
    "-DBROKEN_RELEASE_BY_NAME" "sure&&inside"
breaks "control: a token is forgotten with its cancel" gateway safety \
    "-DBROKEN_FORGETS_AT_ONCE" "contending==0"
breaks "control: a kill leaves what is unread" gateway safety \
    "-DBROKEN_KILL_KEEPS_UNREAD" "contending==0"
breaks "control: a kill ends the order of what is begun" gateway safety \
    "-DBROKEN_KILL_FORGETS_BEGUN" "contending==0"
breaks "control: no reply without contact" gateway safety \
    "-DNO_CONTACT -DBROKEN_SILENT" "expected[0]"
breaks "control: held is said without contact" gateway safety \
    "-DFAULTS=2 -DATTEMPTS=1 -DBROKEN_HELD_FROM_MEMORY" "sure&&inside"
breaks "control: lost is said without contact" gateway safety \
    "-DATTEMPTS=1 -DBROKEN_LOST_WITHOUT_CONTACT" "contenders[0]!=its_token"
breaks "control: an old link to the store stays open" gateway safety \
    "-DBROKEN_OPEN_LINK" "contending==0"

breaks "control: an error ends the order of its token" gateway safety \
    "-DBROKEN_ORDER_UNTIL_ERROR" "contending==0"

entries="-DENTRIES=1"
holds "2 contenders, 2 faults: holders, fences, nobody waits for ever" \
    contenders safety "-DREACHED -DFAULTS=2 $entries"
reaches "every branch of a contender is reached"
holds "2 contenders, 1 fault, 2 entries each: the same" contenders safety ""
holds "3 contenders, 1 fault: the same" contenders safety "-DCLIENTS=3 $entries"
holds "2 contenders, 2 faults, late copies: the same" contenders safety \
    "-DREACHED -DCOPIES -DFAULTS=2 $entries"
reaches "every branch is reached with late copies"
holds "2 contenders, 1 fault, late copies, 2 entries each: the same" \
    contenders safety "-DCOPIES"
holds "2 contenders, 2 faults, late copies, a key used again: the same" \
    contenders safety "-DCOPIES -DSAME_KEY -DFAULTS=2"
holds "2 contenders and their clocks: one is sure" contenders safety \
    "-DCLOCKS -DFAULTS=0 -DQUITS=0 $entries"

breaks "control: the event of a watch is a grant" contenders safety \
    "-DFAULTS=0 -DBROKEN_EVENT_GRANTS -DCLIENTS=3 $entries" "holders<=1"
breaks "control: a watch without another read" contenders safety \
    "-DFAULTS=0 -DBROKEN_NO_SECOND_READ" "state[0]=="
breaks "control: a predecessor is known by its name" contenders safety \
    "-DFAULTS=2 -DBROKEN_BY_NAME" "state[0]=="
breaks "control: a retried create makes a second entry" contenders safety \
    "-DBROKEN_SECOND_ENTRY" "state[0]=="
breaks "control: the fence of an entry before" contenders safety \
    "-DFAULTS=0 -DBROKEN_OLD_FENCE" "fence[c]>last"
breaks "control: a list without the own entry is a grant" contenders safety \
    "-DBROKEN_MISSING_IS_FIRST" "fence[c]>last"
breaks "control: a wait goes on without its entry" contenders safety \
    "-DBROKEN_MISSING_WAITS" "state[0]=="
breaks "control: a hold goes on under the next session" contenders safety \
    "-DBROKEN_NEXT_SESSION" "holders<=1"
breaks "control: a delete without the guard" contenders safety \
    "-DBROKEN_DELETE_BY_SESSION" "holders<=1"
breaks "control: a delete while the create is under way" contenders safety \
    "-DFAULTS=0 -DBROKEN_CANCEL_AT_ONCE" "state[0]=="
breaks "control: the creates of an old link stay valid" contenders safety \
    "-DBROKEN_OPEN_LINK" "state[0]=="
breaks "control: a delete leaves no mark for late copies" contenders safety \
    "-DCOPIES -DBROKEN_NO_MARK" "state[0]=="
breaks "control: a lost entry leaves no mark, either" contenders safety \
    "-DCOPIES -DFAULTS=2 -DBROKEN_LOST_NOT_VOID" "state[0]=="
breaks "control: a key used again while a copy may still come" contenders \
    safety "-DCOPIES -DSAME_KEY -DBROKEN_SAME_KEY_IN_DOUBT" "!(gave_up[c])"
breaks "control: lost, although an earlier copy released" contenders safety \
    "-DBROKEN_LOST_AFTER_A_COPY" "gave_up[c]"
breaks "control: released, although the session may have ended" contenders \
    safety "-DFAULTS=2 -DBROKEN_RELEASED_WHEN_UNSURE $entries" \
    "gave_up[c]||struck[c]"
breaks "control: sure from the receipt of an answer" contenders safety \
    "-DCLOCKS -DFAULTS=0 -DBROKEN_FROM_RECEIPT $entries" "holders<=1"
breaks "control: sure without a margin for drift" contenders safety \
    "-DCLOCKS -DFAULTS=0 -DBROKEN_NO_MARGIN $entries" "holders<=1"

once="-DATTEMPTS=1"
holds "1 row, 2 clients, 1 fault: holders, fences, the row is free" sql_lock \
    safety "-DREACHED"
reaches "every branch of a client of the row is reached"
holds "1 row, 2 clients, 2 faults, 1 attempt each: the same" sql_lock safety \
    "-DFAULTS=2 $once"
holds "1 row, 2 clients, 1 fault, shared connections: the same" sql_lock \
    safety "-DNO_SESSIONS"
holds "1 row, 3 clients: the queue alone wakes" sql_lock safety \
    "-DNO_LOOKS -DFAULTS=0 -DCLIENTS=3 $once"
holds "1 row, 2 clients, 2 attempts each: the queue alone wakes" sql_lock \
    safety "-DNO_LOOKS -DFAULTS=0"
holds "1 row, 2 clients and their clocks, 1 fault: one is sure" sql_lock \
    safety "-DCLOCKS -DQUITS=0 $once"

breaks "control: to read and to write are two statements" sql_lock safety \
    "-DFAULTS=0 -DBROKEN_TWO_STATEMENTS" "holders<=1"
breaks "control: whoever has the queue's lock holds" sql_lock safety \
    "-DBROKEN_QUEUE_DECIDES" "holders<=1"
breaks "control: a release without its token" sql_lock safety \
    "-DBROKEN_RELEASE_BY_NAME" "holders<=1"
breaks "control: an old session goes on" sql_lock safety \
    "-DBROKEN_NO_KILL" "state[0]=="
breaks "control: the same, where connections are shared" sql_lock safety \
    "-DNO_SESSIONS -DBROKEN_NO_KILL" "state[0]=="
breaks "control: a release overtakes the acquire" sql_lock safety \
    "-DFAULTS=0 -DBROKEN_RELEASE_AT_ONCE" "state[0]=="
breaks "control: nobody looks at the row after a kill" sql_lock safety \
    "-DNO_LOOKS" "state[0]=="
breaks "control: a statement that began before the release overtakes" \
    sql_lock safety "-DNO_LOOKS -DFAULTS=0 -DBROKEN_OVERTAKES" "state[1]=="
breaks "control: a release keeps the queue's lock" sql_lock safety \
    "-DNO_LOOKS -DFAULTS=0 -DBROKEN_RELEASE_KEEPS_LOCK" "state[0]=="
breaks "control: a wait that ends keeps the queue's lock" sql_lock safety \
    "-DNO_LOOKS -DFAULTS=0 -DBROKEN_LOCK_KEPT" "state[0]=="
breaks "control: lost, if another was released since" sql_lock safety \
    "-DBROKEN_LAST_RELEASED_ONLY" "gave_up[c]"
breaks "control: sure from the receipt of a result" sql_lock safety \
    "-DCLOCKS -DFAULTS=0 $once -DBROKEN_FROM_RECEIPT" "holders<=1"
breaks "control: sure without a margin" sql_lock safety \
    "-DCLOCKS -DFAULTS=0 $once -DBROKEN_NO_MARGIN" "holders<=1"

holds "1 lock in a cluster, 2 faults, 2 moves: believers, at rest free" \
    cluster safety ""
holds "1 lock in a cluster, 4 faults, 4 moves: the same" cluster safety \
    "-DFAULTS=4 -DMOVES=4"

breaks "control: a request without its ASKING in front" cluster safety \
    "-DBROKEN_ASKING_ALONE" "redirections<6"
breaks "control: repeated while the old link is open" cluster safety \
    "-DBROKEN_NO_KILL" "holder==0"
breaks "control: repeated at another node at once" cluster safety \
    "-DBROKEN_NO_DOUBT" "holder==0"
breaks "control: enqueued before the channel is subscribed" cluster safety \
    "-DBROKEN_LATE_SUBSCRIPTION" "state=="
breaks "control: receivers are counted at one node" cluster safety \
    "-DBROKEN_COUNTS" "inside"

holds "2 names in 2 slots, 2 faults: holders, at rest free" cluster_split safety \
    "-DREACHED"
reaches "every branch of a request over several slots is reached"
holds "2 names in 2 slots, 1 fault: every run has an end" cluster_split endless \
    "-DFAULTS=1 -DFIRST_NAME=1"

breaks "control: parts are not undone" cluster_split safety \
    "-DFAULTS=0 -DBROKEN_NOT_UNDONE" "holder[0]==0"
breaks "control: undone before the last reply" cluster_split safety \
    "-DFAULTS=1 -DBROKEN_UNDONE_EARLY" "holder[0]==0"
breaks "control: waits in different orders" cluster_split safety \
    "-DFAULTS=0 -DBROKEN_ORDER_OF_WAITS" "state[0]=="
breaks "control: tries in different orders" cluster_split safety \
    "-DFAULTS=0 -DBROKEN_ORDER_OF_TRIES" "refused[0]"
breaks "control: all parts are tried at the same time" cluster_split safety \
    "-DFAULTS=0 -DBROKEN_PARALLEL" "refused[0]"
breaks "control: a part is repeated over an open link" cluster_split safety \
    "-DBROKEN_NO_KILL" "holder[0]==0"
breaks "control: a repeat that is busy gives nothing back" cluster_split safety \
    "-DBROKEN_BUSY_AFTER_A_COPY" "holder[0]==0"
breaks "control: an error, although one part was executed" cluster_split safety \
    "-DFAULTS=1 -DBROKEN_REFUSED_IN_PART" "releases[c]"

holds "2 of 2 replicas, 1 fault, 1 failover: holders, fences" replicas safety \
    "-DSTRICT -DFORMER_GRANTS_NOTHING"
holds "the same with a renewal: only that may be lost" replicas safety \
    "-DREACHED -DRENEWALS=1"
reaches "every branch of a hold behind Sentinel is reached"

breaks "control: believed without WAIT" replicas safety \
    "-DSTRICT -DBROKEN_NO_WAIT" "mine[c]>before[c]"
breaks "control: WAIT without a write of its own" replicas safety \
    "-DSTRICT -DBROKEN_NO_WRITE" "mine[c]>before[c]"
breaks "control: WAIT for a write on the connection before" replicas safety \
    "-DSTRICT -DBROKEN_OTHER_CONNECTION" "mine[c]>before[c]"
breaks "control: too few have it, and it is counted later" replicas safety \
    "-DSTRICT -DBROKEN_KEPT" "mine[c]>before[c]"
breaks "limit: 1 of 2 replicas, and the other is promoted" replicas safety \
    "-DSTRICT -DNUMBER=1" "mine[c]>before[c]"
breaks "limit: 1 of 2 replicas follows the former primary" replicas safety \
    "-DNUMBER=1 -DFORMER_GRANTS_NOTHING" "misled[c]"
breaks "limit: a renewal that the new primary lacks" replicas safety \
    "-DSTRICT -DRENEWALS=1" "sure["

holds "3 nodes, 2 clients, 1 wiped: one holder" quorum_exclusion safety ""
holds "4 nodes, 2 clients, none reserved: one holder" quorum_exclusion safety \
    "-DNODES=4 -DWIPES=0 -DCONFIRMS_ALL=1"
holds "3 nodes, 3 clients: everybody is served" quorum_progress safety ""
holds "3 nodes, 3 clients: every run has an end" quorum_progress endless ""
holds "3 nodes, 3 clients, 1 node ends: served" quorum_progress safety \
    "-DDOWN=1"
holds "4 nodes, 2 clients: everybody is served" quorum_progress safety \
    "-DNODES=4 -DCLIENTS=2"
holds "4 nodes, 2 clients: every run has an end" quorum_progress endless \
    "-DNODES=4 -DCLIENTS=2"
holds "3 nodes: fences rise, whenever votes end" quorum_fences safety \
    "-DWIPES=0 -DLIMIT=3 -DRAISES=1"
holds "3 nodes, 1 wiped: fences rise" quorum_fences safety ""

holds "3 nodes, emptied one after another: one holder" quorum_emptied safety \
    "-DREACHED"
reaches "every branch of an emptied quorum is reached"

breaks "control: an emptied node is like one at a first start" quorum_emptied \
    safety "-DBROKEN_NEVER_LATE" "counted[0]"
breaks "control: a record made by a new client stays as it is" quorum_emptied \
    safety "-DBROKEN_STAYS_EARLY" "counted[0]"
breaks "control: beside late nodes others do not wait" quorum_emptied safety \
    "-DBROKEN_BESIDE" "counted[0]"
breaks "control: one look at each node is enough" quorum_emptied safety \
    "-DBROKEN_ONE_READ" "counted[0]"
breaks "limit: all are emptied before anybody has noticed" quorum_emptied \
    safety "-DBROKEN_NO_TURNS" "counted[0]"

breaks "control: yields without a mark" quorum_exclusion safety \
    "-DBROKEN_NO_MARK" "counted[0]"
breaks "control: a node taken again without the mark" quorum_exclusion safety \
    "-DBROKEN_RETAKE" "counted[0]"
breaks "control: a holder takes a confirmed vote" quorum_exclusion safety \
    "-DBROKEN_TAKES_ALL" "counted[0]"
breaks "control: a fresh token in place of the mark" quorum_exclusion safety \
    "-DBROKEN_FRESH_TOKEN" "counted[0]"
breaks "control: a vote confirmed that is another's" quorum_exclusion safety \
    "-DBROKEN_NO_OWNER" "counted[0]"
breaks "control: a wiped node votes at once" quorum_exclusion safety \
    "-DBROKEN_VOTES_AT_ONCE" "counted[0]"
breaks "control: a first grant without a mark" quorum_exclusion safety \
    "-DBROKEN_NO_RESERVATION" "counted[0]"
breaks "control: grants counted by a client that yields" quorum_exclusion \
    safety "-DBROKEN_COUNTS_AFTER_YIELD" "counted[0]"
breaks "control: a late ask makes a confirmed vote a reserved one" \
    quorum_exclusion safety "-DBROKEN_DOWNGRADE" "counted[0]"
breaks "control: nobody yields" quorum_progress safety \
    "-DBROKEN_NO_YIELD" "state["
breaks "control: yields to whoever has more" quorum_progress fair-endless \
    "-DBROKEN_BY_COUNTS" "non-progress cycle"
breaks "control: fences are not written to a majority" quorum_fences safety \
    "-DWIPES=0 -DBROKEN_NO_CONFIRM" "mine[c]>before[c]"
breaks "control: confirmed whatever fence was given" quorum_fences safety \
    "-DWIPES=0 -DLIMIT=3 -DBROKEN_NO_GIVEN" "mine[c]>before[c]"
breaks "control: held at once with different fences" quorum_fences safety \
    "-DWIPES=0 -DBROKEN_DISAGREES" "mine[c]>before[c]"
breaks "control: a floor below what was held at once" quorum_fences safety \
    "-DBROKEN_NOT_THE_MOST" "mine[c]>before[c]"
breaks "control: a wiped node asks one other for its floor" quorum_fences \
    safety "-DBROKEN_ONE_FLOOR" "mine[c]>before[c]"
breaks "control: a wiped node does not wait" quorum_fences safety \
    "-DBROKEN_NO_DELAY" "mine[c]>before[c]"
breaks "control: a wiped node asks before it has waited" quorum_fences safety \
    "-DBROKEN_EARLY_FLOOR" "mine[c]>before[c]"
breaks "control: a grant from before the floor is confirmed" quorum_fences \
    safety "-DBROKEN_NO_BASE" "mine[c]>before[c]"

alone="-DREADS=0"
holds "1 register, 2 proposers, 2 ballots, 1 late: one chain" quorum_register \
    safety "-DREACHED $alone -DROUNDS=2"
reaches "every branch of a proposer is reached"
holds "1 register, 2 proposers, 2 changes each: the same" quorum_register safety \
    "$alone -DCHANGES=2 -DOTHER_CHANGES=2 -DLATE=0 -DLOST=0"
holds "1 register, 2 proposers, 2 reads of one round: the same" quorum_register \
    safety "-DREADS=2 -DREPAIRS=0 -DLATE=0"
holds "1 register, 2 proposers, a read, 1 late: the same" quorum_register safety \
    "-DREADS=1 -DREPAIRS=0 -DLOST=0"
holds "1 register, 1 proposer, 2 reads that repair: the same" quorum_register \
    safety "-DOTHER_CHANGES=0 -DLATE=0 -DLOST=0"

breaks "control: an accept below what was promised" quorum_register safety \
    "$alone -DBROKEN_NO_PROMISE" "known&"
breaks "control: a ballot for two changes" quorum_register safety \
    "$alone -DCHANGES=2 -DBROKEN_CACHED_BALLOT" "known&"
breaks "control: a retry is applied again" quorum_register safety \
    "$alone -DROUNDS=2 -DBROKEN_RETRY_APPLIES" ".version=="
breaks "control: a read believes the greatest ballot" quorum_register safety \
    "-DREPAIRS=0 -DBROKEN_GREATEST" "known&"
breaks "control: a node that forgot votes" quorum_register safety \
    "$alone -DBROKEN_FORGETS" "must[c]&"

holds "3 nodes begin, 1 wiped, 1 request late: none forgets" quorum_acceptors \
    safety "-DREACHED -DWIPES=1 -DLATE=1"
reaches "every branch of a beginning is reached"
holds "3 nodes begin, 2 wiped: the same" quorum_acceptors safety \
    "-DWIPES=2 -DLATE=0"
breaks "control: a list that says nothing of the node" quorum_acceptors safety \
    "-DWIPES=1 -DLATE=0 -DBROKEN_LEAST" "lost["
breaks "control: a late request for an earlier memory" quorum_acceptors safety \
    "-DWIPES=1 -DLATE=1 -DBROKEN_NO_NONCE" "lost["

holds "a wiped node is taken in, 2 proposers: no change is lost" \
    quorum_adoption safety ""
holds "a wiped node is taken in by 2 adopters: the same" quorum_adoption safety \
    "-DREACHED -DADOPTERS=2 -DOTHER_CHANGES=0"
reaches "every branch of an adoption is reached"
breaks "control: a floor of promises instead of an edition" \
    quorum_adoption safety "-DBROKEN_FLOOR" "chosen"
breaks "control: one of the other nodes is enough" quorum_adoption safety \
    "-DBROKEN_ONE" "chosen"
breaks "control: ready before all was copied" quorum_adoption safety \
    "-DBROKEN_EARLY" "chosen"
breaks "control: promises of one edition, acceptances of the next" \
    quorum_adoption safety "-DBROKEN_MIXES" "chosen"

holds "2 transactions on 2 keys, 2 copies, 1 question: in order" store safety \
    "-DREACHED -DACTIVE=2 -DCOPIES=2"
reaches "every branch of a store is reached"
holds "3 transactions on 2 keys: in order" store safety "-DCOPIES=0 -DASKS=0"
breaks "control: reads leave no trace" store safety "-DBROKEN_NO_TRACE" \
    "wanted"
breaks "control: snapshots leave no trace" store safety \
    "-DBROKEN_SNAPSHOT" "wanted"
breaks "control: commits are not checked" store safety "-DBROKEN_NO_CHECK" \
    "wanted"
breaks "control: a copy of a commit is executed again" store safety \
    "-DBROKEN_TWICE" "times<=1"
breaks "control: an outcome that is not written down" store safety \
    "-DBROKEN_ASKS" "told["

holds "1 transaction on 2 servers, a death, 2 recoverers: all or nothing" \
    two_phase safety "-DREACHED"
reaches "every branch of a commit is reached"
holds "1 transaction on 3 servers: the same" two_phase safety "-DSERVERS=3"
holds "1 transaction on 1 server, which goes and comes back: the truth" \
    two_phase safety "-DSERVERS=1 -DREACHED"
reaches "every branch of a commit on one server is reached"
breaks "control: intents that end by time" two_phase safety \
    "-DBROKEN_BY_TIME" "was_dropped"
breaks "control: a decision written over another one" two_phase safety \
    "-DBROKEN_OVERWRITES" "was_dropped"
breaks "control: recovery that writes no decision" two_phase safety \
    "-DBROKEN_UNWRITTEN" "was_dropped"
breaks "control: a decision removed before all have ended" two_phase safety \
    "-DBROKEN_REMOVES" "was_dropped"
breaks "control: a repeated commit that is refused drops its intents" \
    two_phase safety "-DBROKEN_DROPS" "was_dropped"
breaks "control: a repeated commit says that nothing was written" \
    two_phase safety "-DBROKEN_GIVES_UP" "was_dropped"
breaks "control: a server that does not remember the end" two_phase safety \
    "-DBROKEN_FORGETS" "was_dropped"
breaks "control: a decision that somebody else removes after one server" \
    two_phase safety "-DBROKEN_FORGOTTEN_EARLY" "was_dropped"
breaks "control: nobody looks for decisions that are left" two_phase safety \
    "-DBROKEN_NOT_LOOKED_FOR" "decided"
breaks "control: a copy that cannot be sent says that nothing was written" \
    two_phase safety "-DSERVERS=1 -DBROKEN_SAYS_NOTHING_WRITTEN" "was_committed"

holds "2 puts, 2 gets on 3 servers: nothing goes back" replicated_value safety \
    "-DWIPES=0"
breaks "control: a put that reads no version first" replicated_value safety \
    "-DBROKEN_NO_READ" "version[me]>before"
breaks "control: a get that repairs nothing" replicated_value safety \
    "-DBROKEN_NO_REPAIR" "assertion violated"
breaks "control: a deleted version that ends too early" replicated_value safety \
    "-DWIPES=0 -DBROKEN_ENDS_EARLY" "newest>=before"
breaks "control: a server that was wiped counts" replicated_value safety \
    "-DBROKEN_COUNTS_WIPED" "assertion violated"

once="-DFAULTS=0"
endless="-DFAULTS=0 -DQUITS=0 -DENDLESS"
holds "2 clients and a poller, 1 fault: nobody is forgotten" pollers liveness ""
holds "3 clients and a poller: nobody is forgotten" pollers liveness \
    "$once -DCLIENTS=3 -DENTRIES=1"
holds "2 clients and a poller without an end: each comes in" pollers liveness \
    "$endless"
breaks "control: nobody is woken when a name is left free" pollers liveness \
    "$once -DBROKEN_NOBODY_WOKEN" "acceptance cycle"
breaks "control: a waiter that was woken leaves, and wakes nobody" pollers \
    liveness "$once -DCLIENTS=3 -DENTRIES=1 -DBROKEN_CANCEL" "acceptance cycle"
breaks "control: a name is never left free" pollers liveness \
    "$endless -DBROKEN_NEVER" "acceptance cycle"
breaks "control: a try takes a name that is kept free" pollers liveness \
    "$endless -DBROKEN_TRY" "acceptance cycle"
breaks "control: a claim takes a name that is kept free" pollers liveness \
    "$endless -DBROKEN_CLAIM" "acceptance cycle"

holds "2 callers, 2 calls, 2 breaks: the order of calls" lanes safety ""
holds "3 callers, 1 call, 3 breaks: the order of calls" lanes safety \
    "-DCALLERS=3 -DCALLS=1 -DBREAKS=3"
breaks "control: commands of a name take any lane" lanes safety \
    "-DBROKEN_GROUP" "superseded"
breaks "control: a lane carries commands before the broken one is up" lanes \
    safety "-DBROKEN_SETTLE" "superseded"
breaks "control: a broken lane is marked after its commands have ended" lanes \
    safety "-DBROKEN_MARK" "superseded"
breaks "control: broken lanes are looked for before the name's lane is" lanes \
    safety "-DBROKEN_LOOK" "superseded"

holds "1 command, 6 connections, 4 faults: once, and no lie" copies safety ""
breaks "control: copies without a bound" copies safety \
    "-DBROKEN_UNBOUNDED" "effects<=1"
breaks "control: an old connection stays open" copies safety \
    "-DBROKEN_LEFT_OPEN" "effects<=1"
breaks "control: no connection, after a copy that may have run" copies safety \
    "-DBROKEN_ECONN" "answer!="
breaks "control: a refusal of the last copy is believed" copies safety \
    "-DBROKEN_REFUSAL" "effects==0"
breaks "limit: a copy lies too long in the last connection" copies safety \
    "-DSLACK=40" "effects<=1"

if [ "${1:-}" = --deep ]; then
    memory=6000
    holds "deep: 2 puts, 2 gets, a server that was wiped" replicated_value safety \
        "-DREACHED"
    reaches "every branch of a replicated value is reached"
    holds "deep: 3 clients, 2 faults" lock safety "-DFAULTS=2"
    holds "deep: 3 clients, 1 fault, nobody is forgotten" lock liveness \
        "-DLIVENESS"
    holds "deep: 1 signal, 5 faults" signal safety "-DFAULTS=5"
    holds "deep: 1 gateway, 2 faults, the peer twice" gateway safety \
        "-DFAULTS=2 -DROUNDS=2"
    holds "deep: 2 contenders, 2 faults, 2 entries each" contenders safety \
        "-DFAULTS=2"
    holds "deep: 2 contenders, 2 faults, 2 entries each, late copies" \
        contenders safety "-DFAULTS=2 -DCOPIES"
    holds "deep: 3 contenders, 2 faults" contenders safety \
        "-DFAULTS=2 -DCLIENTS=3 $entries"
    holds "deep: 2 contenders and their clocks, 1 fault" contenders safety \
        "-DCLOCKS $entries"
    holds "deep: 1 row, 2 clients, 2 faults, nobody gives up" sql_lock safety \
        "-DFAULTS=2 -DQUITS=0"
    holds "deep: 1 row, 3 clients, 1 fault, 1 attempt each" sql_lock safety \
        "-DCLIENTS=3 $once"
    holds "deep: 1 row, 2 clients and their clocks, 1 fault" sql_lock safety \
        "-DCLOCKS $once"
    holds "deep: 1 hold, 3 faults" hold safety "-DFAULTS=3"
    holds "deep: 1 hold, 3 faults, handed over" hold safety \
        "-DFAULTS=3 -DADOPTER -DNO_LOSSES"
    holds "deep: 1 hold, 2 faults, extends on two connections" hold safety \
        "-DTWO_WAYS"
    holds "deep: 1 hold, 2 faults, no right to close connections" hold safety \
        "-DNO_KILL -DKEEP_DOUBT"
    holds "deep: 2 names in 2 slots, bytes against slots" cluster_split safety \
        "-DFIRST_NAME=1"
    holds "deep: 1 of 2 replicas: lost as documented" replicas safety \
        "-DNUMBER=1"
    holds "deep: 1 of 2 replicas, which leaves the former primary" replicas \
        safety "-DNUMBER=1 -DLEFT_BEHIND_NOBODY -DFORMER_GRANTS_NOTHING"
    holds "deep: 3 nodes, 3 clients: one holder" quorum_exclusion safety \
        "-DCLIENTS=3 -DWIPES=0"
    holds "deep: 4 nodes, 2 clients: one holder" quorum_exclusion safety \
        "-DNODES=4 -DWIPES=0"
    holds "deep: 4 nodes, 1 wiped, none reserved: one holder" \
        quorum_exclusion safety "-DNODES=4 -DCONFIRMS_ALL=1"
    holds "deep: 3 nodes, 1 wiped, a floor of a waiter: fences rise" \
        quorum_fences safety "-DRAISES=1"
    holds "deep: 3 nodes, 1 wiped, 1 client dies: served" quorum_progress \
        safety "-DWIPES=1 -DCRASHES=1"
    holds "deep: 3 nodes, each client loses one: served" quorum_progress \
        safety "-DCUTS"
    holds "deep: 4 nodes, 3 clients: served" quorum_progress safety \
        "-DNODES=4"
    holds "deep: 1 register, 2 proposers, a read that repairs" quorum_register \
        safety "-DREADS=1 -DLATE=0 -DLOST=0"
    holds "deep: 1 register, 1 proposer, 2 ballots, a read that repairs" \
        quorum_register safety "-DOTHER_CHANGES=0 -DREADS=1 -DROUNDS=2 -DLATE=0"
    holds "deep: a wiped node is taken in, 2 changes each" quorum_adoption \
        safety "-DCHANGES=2 -DOTHER_CHANGES=2"
    holds "deep: 2 nodes are wiped in turn, and taken in" quorum_adoption \
        safety "-DWIPES=2 -DTRIES=2"
    holds "deep: 3 transactions on 2 keys, 1 copy, 1 question: in order" store \
        safety ""
    holds "deep: 4 nodes, 3 clients: every run has an end" quorum_progress \
        endless "-DNODES=4"
fi

echo "model: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
