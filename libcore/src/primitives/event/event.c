/* SPDX-License-Identifier: MIT */
/*
 * event.c -- an event: a flag that stays set until it is cleared, with data.
 *
 * Each change has a generation, greater than the last, so that a waiter can
 * wait for the next change without missing one. The handle keeps the state of
 * its last reply; the functions of handle/state.h wait and wake waiters.
 */
#include "event.h"

#include "base/alloc.h"
#include "base/opts.h"
#include "wait/lease.h"

#include <string.h>

enum { WAITS_FOR_SET = -1, NOT_QUEUED = -1 };

/* ---- handles ------------------------------------------------------------ */

void ilk_event_opts_init(ilk_event_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_event_opts *out, const ilk_event_opts *in,
                             ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_event_opts", err);

    if (st == ILK_OK && (out->ttl_ms < 0 || out->ttl_ms > ILK__LEASE_MAX_MS))
        st = ilk__fail(err, ILK_EINVAL,
                       "ttl_ms must be 1 to %lld (0: no end), got %lld",
                       (long long)ILK__LEASE_MAX_MS, (long long)out->ttl_ms);
    return st;
}

ilk_status ilk_event_open(ilk_event **out, ilk_client *client, const void *name,
                          size_t name_len, const ilk_event_opts *opts,
                          ilk_error *err)
{
    ilk_event_opts checked;
    ilk__state *state;
    ilk_event *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_EVENT, err);
    if (st == ILK_OK)
        st = check_opts(&checked, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__event_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_event *)state;
    self->opts = checked;
    self->since = NOT_QUEUED;
    *out = self;
    return ILK_OK;
}

int32_t ilk_event_is_set(const ilk_event *event)
{
    return event ? event->is_set : 0;
}

int64_t ilk_event_generation(const ilk_event *event)
{
    return event ? event->generation : 0;
}

const char *ilk_event_data(const ilk_event *event, size_t *out_len)
{
    int has = event && event->data;

    if (out_len)
        *out_len = has ? event->data_len : 0;
    return has ? event->data : "";
}

void ilk_event_free(ilk_event *event)
{
    if (!event)
        return;
    ilk__state_forget(&event->state);
    ilk__free(event->data);
    ilk__state_free(&event->state);
}

/* ---- the state of the last reply ---------------------------------------- */

/* The handle owns `data` from then on; NULL: none. */
static void see(ilk_event *self, int64_t generation, int is_set, char *data,
                size_t len)
{
    ilk__free(self->data);
    self->data = data;
    self->data_len = len;
    self->generation = generation;
    self->is_set = is_set;
}

/* STATE generation set ttl data */
static int see_reply(ilk_event *self, const ilk__reply *reply)
{
    const ilk__reply *data = ilk__script_item(reply, 3);
    char *copy = data->len ? ilk__memdup(data->str, data->len) : NULL;

    if (data->len && !copy)
        return 0;
    see(self, ilk__script_int(reply, 0), ilk__script_int(reply, 1) == 1, copy,
        data->len);
    return 1;
}

/* ---- waiting ------------------------------------------------------------ */

static void add_generation(ilk__op *op, int64_t generation)
{
    if (generation < 0)
        ilk__command_add_str(&op->command, "");
    else
        ilk__command_add_int(&op->command, generation);
}

static void ask_wait(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_event *self = (const ilk_event *)ilk__state_of(waiter);

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, ilk__waiter_token(waiter));
    add_generation(op, self->known);
    add_generation(op, self->since);
}

static ilk__act waited(ilk__op *op, const ilk__reply *reply)
{
    ilk_event *self = (ilk_event *)ilk__state_of(op->subject);

    if (ilk__script_code(reply) != ILK__CODE_STATE) {
        if (self->since == NOT_QUEUED)
            self->since = ilk__script_int(reply, 3);
        return ilk__state_waits(op, reply);
    }
    if (!see_reply(self, reply))
        return ilk__state_refused(op, ILK_ENOMEM, "out of memory");
    return ilk__wait_got(op);
}

static const ilk__op_type event_wait =
    ILK__STATE_WAIT(EVENT_WAIT, ask_wait, waited);

static const char *const key_kinds[] = {"event", "event:once", "event:wait",
                                        "event:live"};

const ilk__state_kind ilk__event_kind = {
    .noun = "event",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &event_wait,
    .refresh = &ilk__state_refresh_op,
    .cancel = &ilk__state_cancel_op,
};

typedef struct wait_request {
    ilk__state_request of;
    int64_t known;
} wait_request;

static ilk_status check_generation(int64_t generation, ilk_error *err)
{
    if (generation >= 0 && generation < ILK__SCRIPT_INT_MAX)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "generation must be 0 to 2^53 - 1, got %lld",
                     (long long)generation);
}

/* A suspended wait goes on if it waits for the same change. Any other one ends with
 * the first set that comes once it is in the queue. */
static void begin_wait(ilk__request *request)
{
    wait_request *self = (wait_request *)request;
    ilk_event *event = (ilk_event *)self->of.state;

    if (!(self->known == event->known ? ilk__state_enter(&self->of)
                                      : ilk__state_begin(&self->of)))
        return;
    if (self->known != event->known || !event->state.waiter.suspended_since)
        event->since = NOT_QUEUED;
    event->known = self->known;
    ilk__state_await(&self->of, ilk__state_end);
}

static wait_request wait_for(ilk_event *event, int64_t known,
                             int64_t timeout_ms)
{
    return (wait_request){
        .of = {.state = (ilk__state *)event, .timeout_ms = timeout_ms},
        .known = known};
}

ilk_status ilk_event_wait(ilk_event *event, int64_t timeout_ms, ilk_error *err)
{
    wait_request self = wait_for(event, WAITS_FOR_SET, timeout_ms);

    return ilk__state_run(&self.of, "event", begin_wait, err);
}

ilk_status ilk_event_wait_start(ilk_op **out, ilk_event *event,
                                int64_t timeout_ms, ilk_error *err)
{
    wait_request self = wait_for(event, WAITS_FOR_SET, timeout_ms);

    return ilk__state_start(out, &self.of, sizeof self, "event", begin_wait,
                            err);
}

ilk_status ilk_event_wait_change(ilk_event *event, int64_t generation,
                                 int64_t timeout_ms, ilk_error *err)
{
    wait_request self = wait_for(event, generation, timeout_ms);
    ilk_status st = check_generation(generation, err);

    if (st)
        return st;
    return ilk__state_run(&self.of, "event", begin_wait, err);
}

ilk_status ilk_event_wait_change_start(ilk_op **out, ilk_event *event,
                                       int64_t generation, int64_t timeout_ms,
                                       ilk_error *err)
{
    wait_request self = wait_for(event, generation, timeout_ms);
    ilk_status st = check_generation(generation, err);

    if (st)
        return ilk__started_none(out, st);
    return ilk__state_start(out, &self.of, sizeof self, "event", begin_wait,
                            err);
}

const char *ilk_event_name(const ilk_event *event, size_t *out_len)
{
    return ilk__key_name(event ? &event->state.keys[0] : NULL, key_kinds[0],
                         out_len);
}

ilk_status ilk_event_cancel(ilk_event *event, ilk_error *err)
{
    if (!event)
        return ilk__fail(err, ILK_EINVAL, "event must not be NULL");
    return ilk__state_cancel(&event->state, err);
}

/* ---- changing ----------------------------------------------------------- */

typedef struct change_request {
    ilk__change change;
    const ilk__op_type *type;
    const void *given; /* the caller's: valid until begin_change() returns */
    char *data;        /* a copy, because a retry sends it again */
    size_t data_len;
    int64_t generation;
} change_request;

static void ask_change(ilk__op *op)
{
    const change_request *self = op->subject;
    const ilk_event *event = (const ilk_event *)self->change.of.state;

    ilk__state_ask_change(op);
    if (op->type->script == ILK__SCRIPT_EVENT_SET) {
        ilk__command_add(&op->command, self->data ? self->data : "",
                         self->data_len);
        ilk__command_add_int(&op->command, event->opts.ttl_ms);
    }
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

static ilk__act changed(ilk__op *op, const ilk__reply *reply)
{
    change_request *self = op->subject;

    self->generation = ilk__script_int(reply, 0);
    ilk__state_changed(&self->change, reply, 1);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type event_set = {.name = "event_set",
                                       .script = ILK__SCRIPT_EVENT_SET,
                                       .ask = ask_change,
                                       .reply = changed};
static const ilk__op_type event_clear = {.name = "event_clear",
                                         .script = ILK__SCRIPT_EVENT_CLEAR,
                                         .ask = ask_change,
                                         .reply = changed};

static ilk_status check_data(const change_request *self, ilk_error *err)
{
    if (!self->given && self->data_len)
        return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
    if (self->data_len > ILK_EVENT_DATA_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "data must have at most %d bytes, got %zu",
                         ILK_EVENT_DATA_MAX, self->data_len);
    return ILK_OK;
}

/* The handle's state becomes the one that was written, also when waiters could
 * not be woken (denied). */
static void was_changed(ilk__request *request, ilk_status status)
{
    change_request *self = (change_request *)request;

    if (status == ILK_OK || self->change.denied)
        see((ilk_event *)self->change.of.state, self->generation,
            self->type == &event_set, self->data, self->data_len);
    else
        ilk__free(self->data);
    ilk__state_end(request, status);
}

static void begin_change(ilk__request *request)
{
    change_request *self = (change_request *)request;
    ilk_status st = check_data(self, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    if (!ilk__state_begin(&self->change.of))
        return;
    if (self->data_len)
        self->data = ilk__memdup(self->given, self->data_len);
    if (self->data_len && !self->data)
        ilk__state_end(request,
                       ilk__fail(request->err, ILK_ENOMEM, "out of memory"));
    else
        ilk__state_change(&self->change, self->type, was_changed);
}

static change_request change(ilk_event *event, const ilk__op_type *type,
                             const void *data, size_t data_len)
{
    return (change_request){.change.of.state = (ilk__state *)event,
                            .type = type,
                            .given = data,
                            .data_len = data_len};
}

ilk_status ilk_event_set(ilk_event *event, const void *data, size_t data_len,
                         ilk_error *err)
{
    change_request self = change(event, &event_set, data, data_len);

    return ilk__state_run(&self.change.of, "event", begin_change, err);
}

ilk_status ilk_event_set_start(ilk_op **out, ilk_event *event, const void *data,
                               size_t data_len, ilk_error *err)
{
    change_request self = change(event, &event_set, data, data_len);

    return ilk__state_start(out, &self.change.of, sizeof self, "event",
                            begin_change, err);
}

ilk_status ilk_event_clear(ilk_event *event, ilk_error *err)
{
    change_request self = change(event, &event_clear, NULL, 0);

    return ilk__state_run(&self.change.of, "event", begin_change, err);
}

ilk_status ilk_event_clear_start(ilk_op **out, ilk_event *event, ilk_error *err)
{
    change_request self = change(event, &event_clear, NULL, 0);

    return ilk__state_start(out, &self.change.of, sizeof self, "event",
                            begin_change, err);
}

/* ---- reading ------------------------------------------------------------ */

static void ask_read(ilk__op *op)
{
    const ilk_event *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->state.keys, 1);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    if (!see_reply(op->subject, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type event_read = {.name = "event_read",
                                        .script = ILK__SCRIPT_EVENT_READ,
                                        .reply_is_optional = 1,
                                        .ask = ask_read,
                                        .reply = was_read};

static void begin_read(ilk__request *request)
{
    ilk__state_request *self = (ilk__state_request *)request;

    if (ilk__state_begin(self))
        ilk__request_ask(request, &event_read, self->state,
                         ilk__request_patience(request), ilk__state_end);
}

ilk_status ilk_event_read(ilk_event *event, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)event};

    return ilk__state_run(&self, "event", begin_read, err);
}

ilk_status ilk_event_read_start(ilk_op **out, ilk_event *event, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)event};

    return ilk__state_start(out, &self, sizeof self, "event", begin_read, err);
}
