/* SPDX-License-Identifier: MIT */
/*
 * cluster_split_internal.h -- requests whose names are in several slots; for
 * cluster_split*.c only.
 *
 * A part is the names of one slot. Each part has commands of its own, and the
 * replies of the parts make the reply to the request. The requests are done in
 * steps; a step sends commands to some of the parts, and is over when each has its
 * reply:
 *
 *     signal_wait  a b c            a and c are in one slot
 *       step 1     signal_wait a c --> node 1      signal_wait b --> node 2
 *       reply      {QUEUED, now, ticket in a, in b, in c}
 *
 * There is no moment at which all parts change. It is right all the same:
 *
 *     each script is idempotent under its token, at each node by itself
 *     when the reply of one part gets lost, the request gets no reply: the core
 *     repeats all of it under the same token, or withdraws all of it
 *     when one part fails, the core withdraws all of it, as after any failure
 */
#ifndef ILK__CLUSTER_SPLIT_INTERNAL_H
#define ILK__CLUSTER_SPLIT_INTERNAL_H

#include "cluster_internal.h"

#include "base/buf.h"
#include "wait/loss.h"

typedef struct ilk__cluster_split ilk__cluster_split;
typedef struct ilk__cluster_part ilk__cluster_part;

/* How a script is split: one for each script that can be. */
typedef struct ilk__cluster_split_kind {
    int script;
    size_t keys;  /* of one name */
    int in_order; /* the first names come first, so that a part has only
                     neighbours */
    void (*begin)(ilk__cluster_split *split);
} ilk__cluster_split_kind;

/* The command for a part, until it has its reply. */
struct ilk__cluster_part {
    ilk__gateway_request request; /* its words are copies */
    ilk__cluster_split *split;    /* NULL: nobody waits for the reply */
    size_t number;                /* of the part */
    size_t word_count, word_room;
    ilk__reply **pointers;
    ilk__reply *words;
    char *free_bytes;
};

typedef void ilk__cluster_part_add(ilk__cluster_part *part);
/* The reply has the declared shape, and the code instead of the number. */
typedef void ilk__cluster_part_reply(ilk__cluster_part *part,
                                     const ilk__reply *reply);
/* All commands of the step have their replies. It begins the next step, or ends. */
typedef void ilk__cluster_split_then(ilk__cluster_split *split);

struct ilk__cluster_split {
    ilk__cluster *cluster;
    ilk__gateway_request *request;
    size_t name_count, part_count;
    size_t *part_of; /* each name */
    int *slots;      /* of each part */
    int64_t deadline;

    /* the step */
    ilk__cluster_part_reply *replied;
    ilk__cluster_split_then *then;
    ilk__cluster_split_then *failed; /* NULL: reply with the error, and end */
    size_t open;                     /* commands without a reply */
    int is_broken;                   /* a reply got lost */
    char error[ILK_ERROR_MAX];       /* the first one; else empty */

    /* what the replies said so far; the rest is of each script */
    int64_t *values; /* one for each name, each part and each argument */
    int is_refused;
    int is_changed; /* a copy of the request would not find what this one did */
    int64_t now, sum, most, least;

    /* queue_reserve: see cluster_split_queue.c */
    char *done; /* the numbers of the settlements */
    ilk__buf out;
    size_t first, tried; /* parts: where it began; how many were tried before */
    int is_elsewhere;    /* all parts may have the entry */

    /* locks: see cluster_split_lock.c. Of many_acquire, `tried` is the latest part */
    struct {
        int64_t name, pttl, ours;
    } busy; /* the name that was held elsewhere */
    struct ilk__cluster_lost {
        int64_t names, born, broken;
    } lost; /* from many_release */
    /* from many_extend: of the first part that was lost */
    ilk__evidence evidence;
};

/* A step to some of the parts: begin it, add its commands, which are sent at once,
 * and end its sending. The last call may free the split. */
void ilk__cluster_split_begin(ilk__cluster_split *split,
                              ilk__cluster_part_reply *replied,
                              ilk__cluster_split_then *then);
/* A command with the keys of the part. NULL: no memory, the step fails; the functions
 * below accept that. */
ilk__cluster_part *ilk__cluster_part_new(ilk__cluster_split *split,
                                         size_t number, int script);
void ilk__cluster_part_send(ilk__cluster_part *part);
/* Nobody waits for the reply, and the command may get lost. */
void ilk__cluster_part_send_alone(ilk__cluster_part *part);
void ilk__cluster_split_sent(ilk__cluster_split *split);
/* A step to all parts, by the script of the request. */
void ilk__cluster_split_all(ilk__cluster_split *split,
                            ilk__cluster_part_add *add,
                            ilk__cluster_part_reply *replied,
                            ilk__cluster_split_then *then);

/* ---- arguments ----------------------------------------------------------- */

void ilk__cluster_part_word(ilk__cluster_part *part, const void *text,
                            size_t len);
void ilk__cluster_part_int(ilk__cluster_part *part, int64_t number);
/* The arguments from..to - 1 of the request, as far as it has them. */
void ilk__cluster_part_args(ilk__cluster_part *part, size_t from, size_t to);
/* All of them. */
void ilk__cluster_part_same(ilk__cluster_part *part);
/* Of arguments that stand for the names in turn, those of the part. */
void ilk__cluster_part_own_args(ilk__cluster_part *part, size_t from);
/* An argument of the request as a number; 0 without it. */
int64_t ilk__cluster_split_arg(const ilk__cluster_split *split, size_t index);

/* The request's number for a name of the part. SIZE_MAX: it has fewer names. */
size_t ilk__cluster_part_name(const ilk__cluster_split *split, size_t part,
                              size_t index);

/* ---- the end ------------------------------------------------------------- */

/* Reply in full, and free the split. */
void ilk__cluster_split_reply(ilk__cluster_split *split, int code,
                              const char *types, ...);
/* The same for a reply of any length: begin it, append with ilk__resp_add..., and
 * end it. A failure breaks the request's connection. */
ilk_status ilk__cluster_split_head(const ilk__cluster_split *split,
                                   ilk__buf *out, size_t count, int code);
void ilk__cluster_split_end(ilk__cluster_split *split, ilk__buf *out,
                            ilk_status status);
/* Reply with the error, and free it. */
void ilk__cluster_split_fail(ilk__cluster_split *split);
/* The same, but without a reply if it is_changed: an error means that no node has
 * executed the request, so the core would send the next copy as a first one. */
void ilk__cluster_split_fail_in_part(ilk__cluster_split *split);

extern const ilk__cluster_split_kind ilk__cluster_signal_wait,
    ilk__cluster_signal_refresh, ilk__cluster_signal_cancel,
    ilk__cluster_queue_reserve, ilk__cluster_queue_refresh,
    ilk__cluster_queue_cancel, ilk__cluster_job_settle,
    ilk__cluster_many_acquire, ilk__cluster_many_extend,
    ilk__cluster_many_release;

#endif
