/* SPDX-License-Identifier: MIT */
/*
 * election_observe.c -- wait for the next change of leader or value.
 *
 *     next:    send the state that this observer returned last
 *                -> the server has a newer one: return it
 *                -> it is the same: enter the wait queue
 *     queued:  a message of the changing client wakes us, or a refresh reports
 *              that our entry is gone: send `next` again
 *
 * If a message gets lost, the next refresh notices it, so no change is missed.
 * An observer is an ilk__hold of which only the waiting part is used.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "client/run.h"
#include "election.h"

#include <inttypes.h>
#include <stdio.h>

struct ilk_observer {
    ilk__hold hold;
    int vacant;
    int64_t term; /* the greatest term returned so far */
    char
        known[48]; /* the state returned last, as election_observe expects it */
    ilk_leader *found;
};

/* ---- asking ------------------------------------------------------------- */

static void ask_observe(ilk__op *op)
{
    const ilk__hold *hold = ilk__hold_of(op->subject);
    const ilk_observer *observer = (const ilk_observer *)hold;
    ilk__command *command = &op->command;

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__script_begin(command, op->type->script, hold->keys, hold->key_count);
    ilk__command_add_str(command, observer->known);
    ilk__command_add_int(command, observer->vacant);
    ilk__wait_add_place(op);
}

static ilk__act observed(ilk__op *op, const ilk__reply *reply)
{
    ilk_observer *observer = (ilk_observer *)ilk__hold_of(op->subject);
    ilk_status st;

    switch (ilk__script_code(reply)) {
    case ILK__CODE_STATE:
        st = ilk__leader_read(&observer->found, reply, op->err);
        return st ? ilk__wait_failed(op, st) : ilk__wait_got(op);
    case ILK__CODE_QUEUED:
        return ilk__wait_queued(op, ilk__script_int(reply, 0),
                                ilk__script_int(reply, 1),
                                (int)ilk__script_int(reply, 2));
    default: return ilk__wait_busy(op);
    }
}

static const ilk__op_type election_observe = {
    .name = "election_observe",
    .script = ILK__SCRIPT_ELECTION_OBSERVE,
    .ask = ask_observe,
    .reply = observed,
    .start = ilk__wait_start,
    .wake = ilk__wait_wake,
    .cancelled = ilk__wait_is_cancelled,
    .failed = ilk__wait_failed,
    .sent = ilk__wait_sent};
static const ilk__op_type election_observer_refresh =
                              ILK__HOLD_REFRESH(ELECTION_OBSERVER_REFRESH),
                          election_observer_cancel =
                              ILK__HOLD_CANCEL(ELECTION_OBSERVER_CANCEL);

static const ilk__hold_kind observer_kind = {
    .lease = {.noun = "observer"},
    .key_kinds = ilk__election_key_kinds,
    .key_count = ILK__ELECTION_KEYS,
    .acquire = &election_observe,
    .refresh = &election_observer_refresh,
    .cancel = &election_observer_cancel,
    .waits_as = 'o',
};

/* ---- handles ------------------------------------------------------------ */

ilk_status ilk_election_observe(ilk_observer **out, ilk_election *election,
                                uint32_t flags, ilk_error *err)
{
    const ilk__hold_opts opts = {0};
    const char *name;
    size_t name_len;
    ilk_observer *observer;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (!election)
        return ilk__fail(err, ILK_EINVAL, "election must not be NULL");
    if (flags & ~(uint32_t)ILK_OBSERVE_VACANT)
        return ilk__fail(err, ILK_EINVAL, "unknown observe flags 0x%x",
                         (unsigned)flags);
    st = ilk__client_enter(election->hold.handle.client, err);
    if (st)
        return st;
    observer = ilk__calloc(1, sizeof *observer);
    if (!observer)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    observer->vacant = (flags & ILK_OBSERVE_VACANT) != 0;
    name = ilk_election_name(election, &name_len);
    st = ilk__hold_open(&observer->hold, election->hold.handle.client,
                        &observer_kind, &opts, name, name_len, err);
    if (st) {
        ilk__free(observer);
        return st;
    }
    *out = observer;
    return ILK_OK;
}

void ilk_observer_free(ilk_observer *observer)
{
    if (!observer)
        return;
    ilk__hold_close(&observer->hold);
    ilk__free(observer);
}

static ilk_status no_observer(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "observer must not be NULL");
}

ilk_status ilk_observer_cancel(ilk_observer *observer, ilk_error *err)
{
    return observer ? ilk__hold_cancel(&observer->hold, err) : no_observer(err);
}

/* ---- the next change ---------------------------------------------------- */

static void remember(ilk_observer *observer, const ilk_leader *found)
{
    if (found->term > observer->term)
        observer->term = found->term;
    if (found->leads)
        snprintf(observer->known, sizeof observer->known,
                 "%" PRId64 " %" PRId64, found->term, found->version);
    else
        snprintf(observer->known, sizeof observer->known, "%" PRId64 " -",
                 observer->term);
}

typedef struct observe_request {
    ilk__request request;
    ilk_observer *observer;
    int64_t timeout_ms;
    int started, kept; /* as in ilk__acquire_request */
} observe_request;

static void refreshed(ilk__request *request, ilk_status status)
{
    observe_request *self = (observe_request *)request;
    ilk_observer *observer = self->observer;

    if (status == ILK_OK) {
        remember(observer, observer->found);
        ilk__leader_answer(request, observer->found);
    } else {
        ilk_leader_free(observer->found);
    }
    observer->found = NULL;
    self->kept = self->started && status == ILK_EINTR;
    if (self->kept)
        ilk__request_end(request, status);
    else
        ilk__hold_end(&observer->hold, request, status);
}

/* An observer never holds; its entry has a lease only because entries need one.
 */
static void begin_next(ilk__request *request)
{
    const observe_request *self = (observe_request *)request;
    ilk__hold *hold = &self->observer->hold;
    const ilk_client_opts *opts = &request->client->opts;
    int once = self->timeout_ms == 0;
    int64_t limit = opts->connect_timeout_ms + opts->reply_timeout_ms;
    ilk_status st = ilk__check_timeout(self->timeout_ms, request->err);

    if (st == ILK_OK)
        st = ilk__hold_enter(hold, request->err);
    if (st)
        ilk__request_end(request, st);
    else
        ilk__hold_await(request, hold,
                        ilk__deadline(once ? limit : self->timeout_ms), once,
                        ILK__REFRESH_MS, refreshed);
}

static void give_up(ilk__request *request)
{
    const observe_request *self = (observe_request *)request;
    ilk__hold *hold = &self->observer->hold;

    ilk__waiter_cancel(&hold->waiter);
    if (self->kept)
        ilk__hold_leave(hold);
}

static observe_request observe_request_of(ilk_observer *observer,
                                          int64_t timeout_ms)
{
    return (observe_request){
        .request = {.handle = observer, .give_up = give_up},
        .observer = observer,
        .timeout_ms = timeout_ms};
}

ilk_status ilk_observer_next(ilk_leader **out, ilk_observer *observer,
                             int64_t timeout_ms, ilk_error *err)
{
    observe_request self = observe_request_of(observer, timeout_ms);
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (!observer)
        return no_observer(err);
    st = ilk__request_run(&self.request, observer->hold.handle.client,
                          begin_next, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_observer_next_start(ilk_op **out, ilk_observer *observer,
                                   int64_t timeout_ms, ilk_error *err)
{
    observe_request self = observe_request_of(observer, timeout_ms);

    self.started = 1;
    return observer ? ilk__request_start(out, &self.request, sizeof self,
                                         observer->hold.handle.client,
                                         begin_next, err)
                    : ilk__started_none(out, no_observer(err));
}
