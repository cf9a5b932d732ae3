/* SPDX-License-Identifier: MIT */
/*
 * conf_state.h -- the statements of the conformance table about events,
 * barriers, latches, registers, stores and replicated values.
 *
 *     e = event <name> [ttl_ms=n] | barrier <name> <parties> | latch <name> <n>
 *     e set <data> | clear | wait <ms> | change <ms>   -> STATUS
 *     e is_set -> 0|1   e data -> <data>   e generation > <other event>
 *     b wait <ms> | reset   -> STATUS      b waiting -> <n>
 *     l count_down <n> | wait <ms> | reset -> STATUS   l count -> <n>
 *
 *     r = register <name>
 *     r get | set <value> | cas <value> | delete | delete seen | wait <ms>
 *         -> STATUS
 *     r value -> <value>|(nil)   r version > <other>   r version = <other>
 *
 *     s = store <name>   t = begin <store>   t = snapshot <store>
 *     t get <key> | put <key> <value> | delete <key> | commit   -> STATUS
 *     t value -> <value>|(nil)   s outcome <transaction> -> committed|aborted
 *
 *     k = kv <name>
 *     k put <key> <value> | fast <key> <value> | get <key> | delete <key>
 *         -> STATUS
 *     k value -> <value>|(nil)   k version > <other>   k version = <other>
 *
 * "change" waits past the generation that this handle has last seen; "cas",
 * "delete seen" and the register's "wait" pass the version that it has last
 * seen. A refused "cas" and each "delete" are followed by a "get" before that
 * counts again, because not every language shows what they saw. A kv's value is what
 * its last "get" has found, its version that of its last line that has one; "fast" is
 * a put with ILK_KV_FAST.
 */
#ifndef ILK__CONF_STATE_H
#define ILK__CONF_STATE_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_STATE_HANDLES = 8 };

typedef struct conf_state_handle {
    char word[64];
    ilk_event *event;
    ilk_barrier *barrier;
    ilk_latch *latch;
    ilk_register *reg;
    ilk_store *store;
    ilk_txn *txn;
    ilk_kv *kv;
    ilk_kv_entry *entry; /* that it has read last */
    int64_t version;     /* of a kv */
} conf_state_handle;

typedef struct conf_state {
    conf_state_handle handles[CONF_STATE_HANDLES];
    size_t count;
} conf_state;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_state_line(conf_state *self, ilk_client *client,
                    const conf_word *words, int count);
void conf_state_free(conf_state *self);

#endif
