/* SPDX-License-Identifier: MIT */
/*
 * contention_internal.h -- what the parts of a contention share.
 *
 *     contention.c            names, contenders, their timers and ends
 *     contention_requests.c   the requests about one token
 *     contention_names.c      the requests about a name: refresh, inspect, break
 *     contention_observers.c  observers of an election
 *     contention_reports.c    the store's reports about a contender
 *     contention_replies.c    replies and messages
 */
#ifndef ILK__CONTENTION_INTERNAL_H
#define ILK__CONTENTION_INTERNAL_H

#include "contention.h"

#include "base/recent.h"
#include "base/timer.h"
#include "gateway/request_words.h"

enum {
    ILK__ENDED_MS = 60 * 1000, /* how long an ended contender is remembered */
    ILK__ENDED_MOST = 8192,    /* of them, when many end */
    ILK__LEAVE_MS = 5000,      /* that a request waits for left() */
    ILK__OBSERVERS_MOST = 16384,
    ILK__OBSERVE_ON_MS = 1000, /* observers come back after each change */
    ILK__INSPECT_MOST = 1024   /* entries of a semaphore, to add up permits */
};

typedef struct ilk__name_record ilk__name_record;
typedef struct ilk__contender_record ilk__contender_record;

struct ilk__contender_record {
    ilk__contender seen; /* what the store sees: the first member */
    ilk__timer timer;
    ilk__contender_record *next, *previous; /* all that have not ENDED */
    char *text;                             /* token, who, client, waiter */
    int adopts;     /* JOINS: its token was another client's */
    int is_over;    /* its release or cancel has come */
    int has_lapsed; /* LEAVES: its lease or its liveness is over */
    int is_written; /* the store has this value */
    int is_busy;    /* LEAVES: a try, whose request is to get BUSY */
    int64_t holder_ms;
    int is_holder_ours;
};

/* A request about a name that the store works on, or a refresh that waits for the
 * next check. */
typedef struct ilk__name_request {
    struct ilk__name_request *next;
    ilk__gateway_request *request;
    int is_refresh;
    int is_in_check; /* a refresh that the check under way is for */
} ilk__name_request;

typedef struct ilk__observer {
    struct ilk__observer *next, *previous; /* of its name */
    ilk__node by_waiter;
    ilk__timer timer; /* its client is alive until then */
    ilk__name_record *of;
    ilk__bytes waiter, client;
    char text[];
} ilk__observer;

struct ilk__name_record {
    ilk__contended seen; /* what the store sees: the first member */
    ilk__timer timer;    /* to forget it */
    ilk__name_request *requests;
    ilk__gateway_request *check; /* the one that the store has, or NULL */
    ilk__observer *first_observer, *last_observer;
    int is_observed; /* observe() was called */
    int64_t term;    /* the greatest of an election that was seen */
    char text[];
};

struct ilk__contention {
    ilk__gateway *gateway;
    const ilk__contention_store *store;
    void *self;
    ilk__table names, tokens, observers;
    ilk__timers timers;
    ilk__recent over;          /* tokens that were released or cancelled */
    ilk__recent breaks;        /* requests that have broken a hold */
    ilk__recent unsure_breaks; /* those that may have done so */
    ilk__contender_record *first, *last;
    ilk__contender_record *cursor; /* of ilk__contention_next() */
    ilk__contender *first_ended, *last_ended;
    size_t ended_count, observer_count;
};

/* ---- contention.c -------------------------------------------------------- */

static inline ilk__contender_record *ilk__record_of(ilk__contender *contender)
{
    return (ilk__contender_record *)contender;
}

/* The words of a new contender. */
typedef struct ilk__contender_words {
    ilk__bytes token, who, client, waiter, value;
} ilk__contender_words;

/* NULL: no memory. */
ilk__name_record *ilk__name_of(ilk__contention *contention, ilk__bytes key,
                               ilk__contended_kind kind);
/* Something of the name has ended: it may be forgotten. */
void ilk__name_settle(ilk__name_record *name);

/* NULL: no memory. It JOINS, without a call of the store. */
ilk__contender *ilk__contender_new(ilk__name_record *name,
                                   ilk__contender_kind kind,
                                   const ilk__contender_words *words);
/* A repeated request has other words, with the same token; 0: no memory. */
int ilk__contender_rewrite(ilk__contender *contender,
                           const ilk__contender_words *words);
/* 0: no memory. */
int ilk__contender_set_value(ilk__contender *contender, ilk__bytes value);
ilk__contender *ilk__contender_find(const ilk__contention *contention,
                                    ilk__bytes token);
/* Set its timer, after each change. */
void ilk__contender_plan(ilk__contender *contender);
/* Let the store remove it; the contender may be freed afterwards. */
void ilk__contender_leave(ilk__contender *contender);
/* The store has nothing of it: remember it, or free it. */
void ilk__contender_end(ilk__contender *contender, ilk__left left);
void ilk__contender_free(ilk__contender *contender);

void ilk__token_note_over(ilk__contention *contention, ilk__bytes token);
int ilk__token_is_over(const ilk__contention *contention, ilk__bytes token);

/* ---- contention_requests.c ----------------------------------------------- */

/* -1: no number, or below `least`. */
int64_t ilk__request_number(const ilk__gateway_request *request, size_t index,
                            int64_t least);
/* A word of an entry, see wait/entry.h. */
enum { ILK__ENTRY_WAITER = 3, ILK__ENTRY_TOKEN = 4 };
ilk__bytes ilk__request_entry_word(ilk__bytes entry, int index);
int ilk__request_is_acquire(const ilk__gateway_request *request);
int ilk__request_is_cancel(const ilk__gateway_request *request);

/* ---- contention_names.c -------------------------------------------------- */

/* args: client, liveness, grant ms, limit, count, entries */
enum { ILK__REFRESH_ENTRIES = 5 };
void ilk__name_refresh(ilk__name_record *name, ilk__gateway_request *request);
void ilk__name_inspect(ilk__name_record *name, ilk__gateway_request *request);
void ilk__name_break(ilk__name_record *name, ilk__gateway_request *request);
void ilk__name_set_limit(ilk__name_record *name, ilk__gateway_request *request);
/* Remember it until its report; 0: no memory, it has been replied to. */
ilk__name_request *ilk__name_keep_request(ilk__name_record *name,
                                          ilk__gateway_request *request);
void ilk__name_break_requests(ilk__name_record *name);

/* ---- contention_observers.c ---------------------------------------------- */

void ilk__name_observe(ilk__name_record *name, ilk__gateway_request *request);
void ilk__name_observed(ilk__name_record *name, ilk__gateway_request *request,
                        const ilk__contended_state *state, const char *error);
/* The term to reply with: the leader's, or the greatest that was seen. */
int64_t ilk__name_note_term(ilk__name_record *name,
                            const ilk__contended_state *state);
void ilk__observers_refresh(ilk__name_record *name,
                            ilk__gateway_request *request);
void ilk__observer_cancel(ilk__name_record *name,
                          ilk__gateway_request *request);
void ilk__name_free_observers(ilk__name_record *name);

/* ---- contention_replies.c ------------------------------------------------ */

/* Each ends the contender's request, if there is one. */
void ilk__reply_held(ilk__contender *contender);
void ilk__reply_waiting(ilk__contender *contender, int code, int64_t holder_ms,
                        int ours);
void ilk__reply_busy(ilk__contender *contender); /* of a try that is_busy */
void ilk__reply_failure(ilk__contender *contender, const char *text);
/* To a release, or to a cancel, which says no more than that it is gone. */
void ilk__reply_left(ilk__gateway_request *request, ilk__left left);
/* An error whose text has the name of the store for its %s. */
void ilk__reply_refusal(const ilk__contention *contention,
                        ilk__gateway_request *request, const char *format);
void ilk__reply_refreshed(const ilk__contention *contention,
                          ilk__gateway_request *request);
void ilk__reply_observers_refreshed(const ilk__contention *contention,
                                    ilk__gateway_request *request);
/* `most`: as many entries as inspect() was called for. */
void ilk__reply_lock_state(ilk__gateway_request *request,
                           const ilk__contended_state *state, size_t most);
void ilk__reply_semaphore_state(ilk__gateway_request *request,
                                const ilk__contended_state *state, size_t read,
                                size_t most);
void ilk__reply_election_state(ilk__gateway_request *request, int64_t term,
                               const ilk__contended_state *state, size_t most,
                               int has_candidates);
int64_t ilk__contention_now_us(void);

void ilk__send_grant(const ilk__contender *contender);
void ilk__send_wake(const ilk__contention *contention, ilk__bytes client,
                    ilk__bytes waiter, ilk__bytes key);

#endif
