/* SPDX-License-Identifier: MIT */
/*
 * copies.pml -- one command that changes something, the copies of it that its client
 * sends, and the server's memory of what it has executed: libcore/src/op/op.c,
 * docs/connections.md.
 *
 *     send -> reply
 *          -> the connection breaks, or is given up as silent: may have run
 *          -> a refusal (busy, loading, no majority): has not run by this copy
 *     then, after a pause: a copy, or the end
 *
 * A connection that takes the place of another one first has the server close that one,
 * with what lies in its buffers. What lies in the last one is executed within SLACK, or
 * never; the run without this bound shows what it is for. Time counts in ticks of 5 s.
 *
 * The properties: the command has one effect at most, and the answer to the caller is
 * true: after `ok` it has one, after `econn` (or a refusal) it has none, and never will.
 */
#ifndef MEMORY
#define MEMORY 12               /* the server remembers an execution */
#endif
#ifndef WITHIN
#define WITHIN 9                /* no copy is sent later after one that may have run */
#endif
#ifndef SLACK
#define SLACK 3
#endif
#ifndef LIMIT
#define LIMIT 20                /* of the call, which may end before */
#endif
#ifndef FAULTS
#define FAULTS 4
#endif
#define CONNECTIONS 6
#define NONE 255

mtype = { running, ok, econn, eunknown };
mtype = { nothing, executed, refused };

/* Since when a copy lies in the buffers of each connection; NONE: there is none. */
byte lies[CONNECTIONS] = NONE;
byte now_on = 0;
bit up = 1;                     /* the client reads replies from it */
mtype reply = nothing;          /* on its way over it */

byte effects = 0;
byte memory = 0;                /* the ticks that are left of it */

mtype answer = running;
bit may_have_run = 0;
byte age = 0;                   /* since the first copy was sent */
byte faults = FAULTS;

hidden byte c;

#ifdef BROKEN_UNBOUNDED
#define MAY_COPY (age < LIMIT)
#else
#define MAY_COPY (age < LIMIT && !(may_have_run && age >= WITHIN))
#endif

inline answers(how) {
    answer = how;
    assert(how != ok || effects == 1);
    assert(how != econn || effects == 0)
}

inline connect() {
#ifndef BROKEN_LEFT_OPEN
    lies[now_on] = NONE;
#endif
    now_on++;
    reply = nothing;
    up = 1
}

active proctype caller() {
    bit was_refused;

    lies[now_on] = 0;
awaits:
    if
    :: d_step { up && reply == executed -> answers(ok) }
    :: d_step { up && reply == refused ->
        reply = nothing;
        was_refused = 1
       } -> goto pauses
    :: d_step { !up || faults > 0 ->        /* silent for too long, or broken */
        faults = (up -> faults - 1 : faults);
        up = 0;
        reply = nothing;
        may_have_run = 1;
        was_refused = 0
       } -> goto pauses
    fi;
    goto ends;
pauses:
    if
    :: d_step { MAY_COPY && (up || now_on < CONNECTIONS - 1) ->
        if
        :: up
        :: else -> connect()
        fi;
        lies[now_on] = 0
       } -> goto awaits
    :: d_step {
#ifdef BROKEN_ECONN
        answers(econn)
#else
#ifdef BROKEN_REFUSAL
        if
        :: may_have_run && !was_refused -> answers(eunknown)
        :: else -> answers(econn)
        fi
#else
        if
        :: may_have_run -> answers(eunknown)
        :: else -> answers(econn)
        fi
#endif
#endif
       }
    fi;
ends:
    skip
}

/* Of two copies it executes the first one and recognises the other, while it remembers. */
inline execute(i) {
    lies[i] = NONE;
    if
    :: memory == 0 -> effects++; memory = MEMORY
    :: else
    fi;
    assert(effects <= 1);
    assert(answer != econn);
    reply = (i == now_on && up -> executed : reply)
}

active proctype server() {
    byte i = 0;

end:
    do
    :: i = (i + 1) % CONNECTIONS
    :: d_step { lies[i] != NONE -> execute(i) }
    :: d_step { lies[i] != NONE && faults > 0 ->
        faults--;
        lies[i] = NONE;
        reply = (i == now_on && up -> refused : reply)
       }
    :: d_step { lies[i] != NONE && faults > 0 && !up ->    /* lost on the way */
        faults--;
        lies[i] = NONE
       }
    od
}

/* Time passes while a copy lies there. In a connection that has been replaced and was not
 * closed it may lie for ever. */
active proctype clock() {
end:
    do
    :: d_step {
        age < LIMIT + MEMORY && (lies[now_on] == NONE || lies[now_on] < SLACK) ->
            age++;
            memory = (memory > 0 -> memory - 1 : 0);
            lies[now_on] = (lies[now_on] == NONE -> NONE : lies[now_on] + 1)
       }
    od
}
