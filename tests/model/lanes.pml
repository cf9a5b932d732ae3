/* SPDX-License-Identifier: MIT */
/*
 * lanes.pml -- the commands of one name over the lanes of a client:
 * libcore/src/redis/lanes.h.
 *
 *     join the group -> settle the other lanes -> append -> reply, failure or giving up
 *
 * A connection that breaks leaves its commands on the way: the server may execute them
 * as long as the lane's next connection has not closed the old one. The property is the
 * order of calls: once a command was executed, none is whose call had returned before the
 * other's began.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef CALLS
#define CALLS 2                 /* of each caller */
#endif
#ifndef BREAKS
#define BREAKS 2
#endif
#define LANES 2
#define COMMANDS (CALLERS * CALLS)
#define BIT(n) (1 << (n))

/* The lanes. */
bit up[LANES] = 1, broken[LANES], unsettled[LANES];
bit left[LANES];                /* the commands of a broken one have left their group */
byte waiting[LANES];            /* the commands that have no reply, a bit for each */
byte group_count = 0, group_lane = 0;

/* The way to the server and back. */
chan live[LANES] = [COMMANDS] of { byte };
chan late[LANES] = [COMMANDS] of { byte };      /* of the connection that broke */
chan reply[LANES] = [COMMANDS] of { byte };

/* The commands, a bit for each. */
byte returned = 0;              /* their calls have returned */
byte finished = 0;              /* their slots have */
byte superseded = 0;            /* they must not be executed any more */
byte before[COMMANDS];          /* the calls that had returned when this one began */
byte next = 0, breaks = BREAKS;

hidden byte n, k;

inline execute(command) {
    assert(!(superseded & BIT(command)));
    superseded = superseded | before[command]
}

/* The next connection of a lane; its login closes the last one on the server. */
inline come_up(l) {
    atomic {
        !broken[l];
        do
        :: len(late[l]) > 0 -> late[l] ? n
        :: else -> break
        od;
        up[l] = 1;
        unsettled[l] = 0
    }
}

inline settle(l) {
#ifndef BROKEN_SETTLE
    if
    :: unsettled[l] -> come_up(l)
    :: else
    fi
#else
    skip
#endif
}

inline join_group() {
    atomic {
#ifndef BROKEN_GROUP
        if
        :: group_count == 0 -> group_lane = at
        :: else -> at = group_lane
        fi;
#endif
        group_count++
    }
}

proctype caller() {
    byte more = CALLS, me, at;

    do
    :: more == 0 -> break
    :: more > 0 ->
        atomic {
            more--;
            me = next;
            next++;
            before[me] = returned
        }
#ifdef BROKEN_LOOK
        settle(0);
        settle(1);
#endif
        if      /* a lane that no call is on, or the first one */
        :: at = 0
        :: at = 1
        fi;
        join_group();
#ifndef BROKEN_LOOK
        settle(1 - at);
#endif
        do
        :: atomic { up[at] -> live[at] ! me; waiting[at] = waiting[at] | BIT(me) } -> break
        :: !up[at] -> come_up(at)
        od;
        if      /* the slot outlives a call that gives up */
        :: finished & BIT(me)
        :: skip
        fi;
        returned = returned | BIT(me)
    od
}

/* Replies come, and connections break. */
inline leave_group(commands) {
    k = 0;
    do
    :: k < COMMANDS && (commands & BIT(k)) -> group_count--; k++
    :: k < COMMANDS && !(commands & BIT(k)) -> k++
    :: else -> break
    od;
    k = 0
}

proctype wire(byte l) {
end:
    do
    :: d_step {
        len(reply[l]) > 0 && up[l] ->
            reply[l] ? n;
            waiting[l] = waiting[l] & (255 - BIT(n));
            finished = finished | BIT(n);
            group_count--
    }
    :: d_step {
        up[l] && breaks > 0 ->
            breaks--;
            up[l] = 0;
            broken[l] = 1;
            do
            :: len(live[l]) > 0 -> live[l] ? n; late[l] ! n
            :: else -> break
            od;
            do
            :: len(reply[l]) > 0 -> reply[l] ? n
            :: else -> break
            od;
            left[l] = 0;
#ifndef BROKEN_MARK
            unsettled[l] = (waiting[l] != 0)
#endif
    }
    :: d_step {
        broken[l] && !left[l] ->
            leave_group(waiting[l]);
            finished = finished | waiting[l];
            left[l] = 1
    }
    :: d_step {
        broken[l] && left[l] ->
#ifdef BROKEN_MARK
            unsettled[l] = (waiting[l] != 0);
#endif
            waiting[l] = 0;
            broken[l] = 0
    }
    od
}

active proctype server() {
end:
    do
    :: d_step { len(live[0]) > 0 -> live[0] ? n; execute(n); reply[0] ! n }
    :: d_step { len(live[1]) > 0 -> live[1] ? n; execute(n); reply[1] ! n }
    :: d_step { len(late[0]) > 0 -> late[0] ? n; execute(n) }
    :: d_step { len(late[1]) > 0 -> late[1] ? n; execute(n) }
    od
}

init {
    byte i = 0;

    atomic {
        run wire(0);
        run wire(1);
        do
        :: i < CALLERS -> run caller(); i++
        :: else -> break
        od
    }
}
