/* SPDX-License-Identifier: MIT */
/*
 * op.h -- an operation: a small machine that does no I/O.
 *
 * A driver feeds it with what happened and does what it answers:
 *
 *     START, REPLY, NO_REPLY, SENT, WAKE  ->  SEND, SLEEP, DONE
 *
 * What all operations share is here: falling back from EVALSHA to EVAL,
 * asking again when a reply was lost (every script is idempotent under its
 * token), backing off from a server that is busy or loading. What differs is
 * in the operation's type: how to ask, what a reply means, what to do after
 * a sleep. Most operations are one question and one answer.
 */
#ifndef ILK__OP_H
#define ILK__OP_H

#include "redis/ensured.h"
#include "redis/script.h"

/* A wait without a deadline ends when the server is away for so long. */
enum { ILK__CONTACT_LOST_MS = 60 * 1000 };

typedef enum ilk__act {
    ILK__ACT_SEND,  /* send op->command, then REPLY or NO_REPLY */
    ILK__ACT_TELL,  /* send op->command, nobody reads the reply: SENT */
    ILK__ACT_SLEEP, /* until op->wake_at or news, then WAKE */
    ILK__ACT_DONE   /* op->status is the outcome */
} ilk__act;

typedef enum ilk__cause {
    ILK__CAUSE_TIME,      /* wake_at has come */
    ILK__CAUSE_NEWS,      /* somebody changed what the operation waits for */
    ILK__CAUSE_INTERRUPT, /* a signal, or ilk_client_interrupt() */
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
    ilk_status status;       /* NO_REPLY: why; SENT: was it */
    int may_have_run;        /* NO_REPLY: the server may have run it */
    ilk__cause cause;        /* WAKE */
} ilk__input;

typedef struct ilk__op ilk__op;

typedef struct ilk__op_type {
    const char *name; /* for error texts */
    int script;       /* whose shape replies have, or ILK__SCRIPT_NONE */
    int reads;        /* changes nothing, so no answer leaves no doubt */
    int only_once;    /* a second copy would do it again: none is sent */
    void (*ask)(ilk__op *op); /* add to the empty op->command */
    ilk__act (*reply)(ilk__op *op, const ilk__reply *reply);
    /* The rest may be NULL: begin by asking, end when something fails. */
    ilk__act (*start)(ilk__op *op);
    ilk__act (*wake)(ilk__op *op, ilk__cause cause);
    ilk__act (*failed)(ilk__op *op, ilk_status status);
    ilk__act (*told)(ilk__op *op, ilk_status status); /* after TELL */
} ilk__op_type;

struct ilk__op {
    const ilk__op_type *type;
    void *subject;         /* what the type's functions work on */
    int script;            /* of this question: the type's, or set by ask */
    ilk__command command;  /* SEND, TELL */
    int64_t deadline;      /* the whole operation's; failing ends there */
    int64_t wake_at;       /* SLEEP */
    int64_t now;           /* time of the last input */
    int64_t sent_at;       /* before the last question was sent */
    int64_t first_sent_at; /* before the first copy of that question */
    int retried;           /* a copy of this question may have run before */
    int patient;           /* wait for a server that is away or busy */
    int hasty;             /* do not, even when a copy may have run */
    int64_t contact_at;    /* when the server was last heard of */
    int resend;            /* asleep between two copies of a question */
    int backoff_ms;
    ilk__ensured *ensured; /* TELL: who sees to it; or NULL */
    ilk_status status;     /* DONE */
    ilk_error *err;        /* where failures are told; may be NULL */
};

void ilk__op_init(ilk__op *op, const ilk__op_type *type, void *subject,
                  int64_t deadline, ilk_error *err);
void ilk__op_free(ilk__op *op); /* what it holds, not itself */

ilk__act ilk__op_step(ilk__op *op, const ilk__input *input);

/*
 * For one that is done: whether the server may have executed it, or may yet,
 * without our having understood an answer. It has not where nothing was sent
 * and where the server refused.
 */
int ilk__op_may_have_run(const ilk__op *op);

/* For the types' functions: what to answer. */
ilk__act ilk__op_ask(ilk__op *op); /* a new question, by type->ask */
/*
 * The same, nobody reads the reply. A driver may take the ensured command along
 * with the command and clear it; else SENT ends it.
 */
ilk__act ilk__op_tell(ilk__op *op, ilk__ensured *ensured);
ilk__act ilk__op_sleep(ilk__op *op, int64_t until);
ilk__act ilk__op_done(ilk__op *op, ilk_status status);
/* The same; the lower layer's text stays behind that of the status. */
ilk__act ilk__op_end(ilk__op *op, ilk_status status);
ilk__act ilk__op_fail(ilk__op *op, ilk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
