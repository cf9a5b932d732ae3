/* SPDX-License-Identifier: MIT */
/*
 * gateway_store.pml -- the store, where each request is one atomic step, and the
 * peer, which uses it without a gateway.
 */

#define ABSENT(t) (contenders[0] != t && contenders[1] != t \
    && contenders[2] != t && contenders[3] != t)

/* Where contender t stands, into `at`; `contending` when nowhere. */
inline find(t) {
    at = 0;
    do
    :: at < contending && contenders[at] != t -> at++
    :: else -> break
    od;
    skip
}

inline append(t) {
    contenders[contending] = t;
    contending++
}

inline remove_at(k) {
    from = k;
    do
    :: from + 1 < contending ->
        contenders[from] = contenders[from + 1];
        from++
    :: else -> break
    od;
    contending--;
    contenders[contending] = 0
}

/* Rule 3: a repeated acquire finds the contender that its token has, and a
 * repeated release removes no other token's. */
inline execute(what, t) {
    find(t);
    if
    :: what == ACQUIRE ->
        if
        :: at == contending -> append(t)
#ifdef BROKEN_SECOND_CONTENDER
        :: at < contending && contending < CONTENDERS -> append(SECOND)
#endif
        :: else
        fi;
        answer = (contenders[0] == t -> HELD : QUEUED)
    :: what == EXTEND -> answer = (contenders[0] == t -> HELD : LOST)
    :: what == RELEASE || what == CANCEL ->
        if
        :: at < contending -> remove_at(at); answer = RELEASED
#ifdef BROKEN_RELEASE_BY_NAME
        :: at == contending && contending > 0 && what == RELEASE ->
            remove_at(0); answer = RELEASED
#endif
        :: else -> answer = (what == RELEASE -> LOST : GONE)
        fi
    fi
}

proctype peer() {
end:
    do
    :: d_step { rounds > 0 && ABSENT(PEER) && !inside -> append(PEER) }
    :: d_step { contenders[0] == PEER && !inside ->
        inside = 1; assert(!(sure && inside)) }
    :: d_step { inside -> inside = 0; rounds--;
        find(PEER);
        if
        :: at < contending -> remove_at(at)
        :: else
        fi }
    od
}
