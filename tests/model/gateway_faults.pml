/* SPDX-License-Identifier: MIT */
/*
 * gateway_faults.pml -- the world: each fault costs one of FAULTS; time that
 * passes is free.
 */

/* A reply under way says held: the client may yet believe it. */
#define PROMISES(k, t) (requests[k].reply == HELD && requests[k].token == t \
    && IN_USE(requests[k].connection))
#define PROMISED(t) (PROMISES(0, t) || PROMISES(1, t) || PROMISES(2, t) \
    || PROMISES(3, t) || PROMISES(4, t) || PROMISES(5, t) || PROMISES(6, t))

/* The client's deadline passes, and then the lease ends at the store. */
inline expire(t) {
    REACH(17);
    if
    :: token == t -> sure = 0
    :: else
    fi;
    find(t);
    remove_at(at)
}

#define MISHAPS_OF(kind) \
    :: d_step { faults > 0 && phase[kind] == OPEN && len(expected[kind]) > 0 -> \
        faults--; break_connection(kind) }
/* The store is silent for too long, over a link that stays: the reply is an error,
 * and the store may yet execute what was begun. */
#define SILENCE_OF(k) \
    :: d_step { (faults > 0 && link && requests[k].work == BEGUN \
            && requests[k].reply == 0 && IN_USE(requests[k].connection)) -> \
        REACH(18); faults--; requests[k].reply = ERROR }
#define LEASE_OF(t) \
    :: d_step { faults > 0 && !ABSENT(t) && !PROMISED(t) -> \
        faults--; expire(t) }

proctype world() {
end:
    do
    :: d_step { faults > 0 && link -> faults--; link = 0 }
    MISHAPS_OF(LANE)
    MISHAPS_OF(KEEPER)
    SILENCE_OF(0)
    SILENCE_OF(1)
    SILENCE_OF(2)
    LEASE_OF(1)
    LEASE_OF(2)
#if defined(BROKEN_KILL_FORGETS_BEGUN) || defined(BROKEN_OPEN_LINK)
    :: d_step { late_op != 0 -> execute(late_op, late_token);
        answer = 0; late_op = 0; late_token = 0 }
#endif
    od
}
