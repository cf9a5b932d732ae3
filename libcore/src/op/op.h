/* SPDX-License-Identifier: MIT */
/*
 * op.h -- an operation: a small state machine that does no I/O.
 *
 * A driver passes inputs to ilk__op_step() and performs the acts it returns:
 *
 *     driver                                     operation
 *       |-- START ------------------------------> type->start, or type->ask
 *       |<-------- SEND, SEND_ONLY, SLEEP, DONE --|
 *       |-- REPLY ------------------------------> type->reply
 *       |-- NO_REPLY (lost, timeout) -----------> send a copy, or type->failed
 *       |-- SENT (after SEND_ONLY) -------------> type->sent
 *       |-- WAKE (after SLEEP) -----------------> type->wake
 *
 * There are three drivers: the caller's thread (run.c), the keeper and the
 * application's event loop (both by inflight.c).
 *
 * This file does what all operations share: it falls back from EVALSHA to EVAL,
 * retransmits when a reply was lost (every script is idempotent under its
 * token), and backs off from a server that is busy or loading. The operation's
 * type has the rest: how to compose the command, what a reply means, and what
 * to do after a sleep. Most operations are one command and one reply.
 */
#ifndef ILK__OP_H
#define ILK__OP_H

#include "outage.h"
#include "redis/ensured.h"
#include "redis/script.h"

enum {
    /* A command that may have been executed is not sent again later than this after
     * its first copy: servers remember for 60 s what they have executed, and a copy
     * may be on its way for some of them. */
    ILK__COPIES_WITHIN_MS = 45 * 1000
};

typedef enum ilk__act {
    ILK__ACT_SEND,      /* send op->command, then REPLY or NO_REPLY */
    ILK__ACT_SEND_ONLY, /* send op->command, do not wait for its reply, then SENT;
                           op->ensured may judge the reply */
    ILK__ACT_SLEEP,     /* until op->wake_at or news, then WAKE */
    ILK__ACT_DONE       /* op->status is the outcome */
} ilk__act;

typedef enum ilk__cause {
    ILK__CAUSE_TIME,      /* wake_at has come */
    ILK__CAUSE_NEWS,      /* what the operation waits for has changed */
    ILK__CAUSE_INTERRUPT, /* an OS signal, or ilk_client_interrupt() */
    ILK__CAUSE_STOPPED,   /* ilk_client_stop() */
    ILK__CAUSE_CLOSED     /* the client was closed */
} ilk__cause;

typedef enum ilk__input_kind {
    ILK__INPUT_START,
    ILK__INPUT_REPLY,
    ILK__INPUT_NO_REPLY,
    ILK__INPUT_SENT,
    ILK__INPUT_WAKE
} ilk__input_kind;

typedef struct ilk__input {
    ilk__input_kind kind;
    int64_t now;             /* local time */
    const ilk__reply *reply; /* REPLY */
    ilk_status status;       /* NO_REPLY: why; SENT: ILK_OK if it was sent */
    int may_have_run;        /* NO_REPLY: the server may have run it */
    ilk__cause cause;        /* WAKE */
} ilk__input;

typedef struct ilk__op ilk__op;

typedef struct ilk__op_type {
    const char *name; /* for error texts */
    int script;       /* that defines the reply's shape, or ILK__SCRIPT_NONE */
    int reply_is_optional; /* it changes nothing: a missing reply can be ignored */
    int only_once;         /* not idempotent: never retransmitted */
    int arrives;           /* a wait that the server counts as an arrival */
    void (*ask)(ilk__op *op); /* compose op->command, which is empty */
    ilk__act (*reply)(ilk__op *op, const ilk__reply *reply);
    /* These may be NULL: start asks, a failure ends the operation. */
    ilk__act (*start)(ilk__op *op);
    ilk__act (*wake)(ilk__op *op, ilk__cause cause);
    ilk__act (*failed)(ilk__op *op, ilk_status status);
    ilk__act (*sent)(ilk__op *op, ilk_status status); /* SENT after SEND_ONLY */
    int (*cancelled)(
        const ilk__op *op); /* its pauses between copies must end */
} ilk__op_type;

struct ilk__op {
    const ilk__op_type *type;
    void *subject;         /* what the type's functions work on */
    int script;            /* of this command: the type's, or set by ask */
    ilk__command command;  /* SEND, SEND_ONLY */
    int64_t deadline;      /* of the whole operation; no retries after it */
    int64_t retries_until; /* if not 0: nor after this, which is sooner */
    int64_t wake_at;       /* SLEEP */
    int64_t now;           /* time of the last input */
    int64_t sent_at;       /* just before the last copy was sent */
    int64_t first_sent_at; /* the same for the first copy */
    int retried;           /* the server may have run an earlier copy */
    ilk__outage *outage;   /* what the client knows of one; or NULL */
    int64_t persist_ms;    /* how long it is sent again, after pauses, while the
                              server is away or busy, from the beginning of that:
                              0: not at all, ILK__FOREVER: until the deadline */
    int64_t away_since;    /* the server's absence began; 0: it is not away */
    int64_t pauses_until;  /* SEND: it waits so long for the end of a pause
                              between attempts to connect; 0: it makes one attempt
                              at once */
    int64_t contact_at;    /* time of the last reply or wake-up */
    int resend;            /* asleep between two copies of a command */
    int ended_early; /* a cancel, an interrupt or a stop ended a pause of this
                              request, which does not wait */
    ilk_status refused;    /* by the reply after which it is sent again */
    int bad_reply;         /* out: the reply made no sense; the driver must end
                              the connection before it does anything else */
    int backoff_ms;        /* of ilk__request_pause_ms() */
    ilk__ensured *ensured; /* SEND_ONLY: goes with the command; or NULL */
    ilk_status status;     /* DONE */
    ilk_error *err;        /* filled on failure; may be NULL */
};

void ilk__op_init(ilk__op *op, const ilk__op_type *type, void *subject,
                  int64_t deadline, ilk_error *err);
void ilk__op_free(ilk__op *op); /* frees its command, not the struct */

ilk__act ilk__op_step(ilk__op *op, const ilk__input *input);

/*
 * For an operation that is done: whether the server may have executed the
 * command, or may yet, although no valid reply came. 0 when nothing was sent
 * or the server refused.
 */
int ilk__op_may_have_run(const ilk__op *op);

/* For the types' functions: the act to return. */
ilk__act ilk__op_ask(ilk__op *op); /* send a new command, by type->ask */
/*
 * Send it without reading the reply. A driver that keeps the ensured command
 * until the reply clears op->ensured; else the input SENT ends it.
 */
ilk__act ilk__op_send_only(ilk__op *op, ilk__ensured *ensured);
ilk__act ilk__op_sleep(ilk__op *op, int64_t until);
ilk__act ilk__op_done(ilk__op *op, ilk_status status);
/* The same, with an error text: the status's, then the lower layer's if it
 * failed with another status. */
ilk__act ilk__op_end(ilk__op *op, ilk_status status);
ilk__act ilk__op_fail(ilk__op *op, ilk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
