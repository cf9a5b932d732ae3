/* SPDX-License-Identifier: MIT */
/* state.c -- handles of a small state: their requests, waits and changes. */
#include "state.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "client/run.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const ilk__op_type ilk__state_refresh_op = ILK__STATE_REFRESH(STATE_REFRESH);
const ilk__op_type ilk__state_cancel_op = ILK__STATE_CANCEL(STATE_CANCEL);

/* ---- handles ------------------------------------------------------------ */

static ilk_status bind(ilk__handle *handle, int *out_in_use, ilk_error *err)
{
    ilk__state *state = (ilk__state *)handle;
    ilk_status st;

    /* No mutex: in a new child no other thread uses the handle. */
    *out_in_use = state->waiter.refresher != NULL;
    memset(&state->waiter, 0, sizeof state->waiter);
    st = ilk__waiter_init(&state->waiter, state->handle.client->shared,
                          &state->wait_queue, err);
    if (st)
        return st;
    state->waiter.lease_ms = ILK__STATE_LEASE;
    if (state->kind->bind)
        st = state->kind->bind(state, out_in_use, err);
    if (st)
        ilk__parker_destroy(&state->waiter.parker);
    return st;
}

static void dispose(ilk__state *state)
{
    ilk__keys_free(state->keys, state->kind->key_count);
    ilk__handle_close(&state->handle);
}

static ilk_status open_state(ilk__state *state, ilk_client *client,
                             const ilk__state_kind *kind, const void *name,
                             size_t name_len, ilk_error *err)
{
    ilk_status st;

    ilk__handle_init(&state->handle, client, kind->noun, bind);
    state->kind = kind;
    state->wait_queue = (ilk__wait_queue){
        .keys = state->keys,
        .key_count = kind->key_count,
        .acquire = kind->wait,
        .refresh = kind->refresh,
        .cancel = kind->cancel,
        .kind = 'o',
        .gets_changes = 1,
        .asks_to_leave = kind->asks_to_leave,
        .busy_text = "the condition does not hold yet",
    };
    st = ilk__keys_make(state->keys, kind->key_kinds, kind->key_count, name,
                        name_len, err);
    if (st == ILK_OK)
        st = ilk__client_accept_name(client, name, name_len, err);
    if (st == ILK_OK)
        st = ilk__handle_bind(&state->handle, NULL, err);
    if (st)
        dispose(state);
    return st;
}

ilk_status ilk__state_new(ilk__state **out, size_t size, ilk_client *client,
                          const ilk__state_kind *kind, const void *name,
                          size_t name_len, ilk_error *err)
{
    ilk__state *state = ilk__calloc(1, size);
    ilk_status st;

    if (!state)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = open_state(state, client, kind, name, name_len, err);
    if (st)
        ilk__free(state);
    else
        *out = state;
    return st;
}

void ilk__state_forget(ilk__state *state)
{
    ilk__handle_forget(&state->handle);
}

void ilk__state_free(ilk__state *state)
{
    ilk__state_forget(state);
    /* Waits of the parent process are left alone. */
    if (ilk__handle_is_mine(&state->handle))
        ilk__waiter_destroy(&state->waiter);
    dispose(state);
    ilk__free(state);
}

ilk__state *ilk__state_of(const ilk__waiter *waiter)
{
    return (ilk__state *)((char *)waiter - offsetof(ilk__state, waiter));
}

/* ---- requests: in and out ----------------------------------------------- */

int ilk__state_enter(ilk__state_request *self)
{
    ilk_status st = ilk__handle_enter(&self->state->handle, self->request.err);

    if (st)
        ilk__request_end(&self->request, st);
    return st == ILK_OK;
}

int ilk__state_begin(ilk__state_request *self)
{
    int entered = ilk__state_enter(self);

    if (entered)
        ilk__waiter_end_suspended(&self->state->waiter);
    return entered;
}

void ilk__state_end(ilk__request *request, ilk_status status)
{
    ilk__handle_leave(&((ilk__state_request *)request)->state->handle);
    ilk__request_end(request, status);
}

static ilk_status no_handle(const char *noun, ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "%s must not be NULL", noun);
}

ilk_status ilk__state_run(ilk__state_request *self, const char *noun,
                          ilk__request_begin *begin, ilk_error *err)
{
    if (!self->state)
        return no_handle(noun, err);
    if (ilk__check_timeout(self->timeout_ms, err))
        return ILK_EINVAL;
    return ilk__request_run(&self->request, self->state->handle.client, begin,
                            err);
}

ilk_status ilk__state_start(ilk_op **out, ilk__state_request *self, size_t size,
                            const char *noun, ilk__request_begin *begin,
                            ilk_error *err)
{
    if (!self->state)
        return ilk__started_none(out, no_handle(noun, err));
    if (ilk__check_timeout(self->timeout_ms, err))
        return ilk__started_none(out, ILK_EINVAL);
    self->request.handle = self->state;
    return ilk__request_start(out, &self->request, size,
                              self->state->handle.client, begin, err);
}

/* ---- waiting ------------------------------------------------------------ */

static void give_up(ilk__request *request)
{
    ilk__waiter_cancel(&((ilk__state_request *)request)->state->waiter);
}

void ilk__state_await(ilk__state_request *self, ilk__request_then *then)
{
    ilk__state *state = self->state;
    const ilk_client_opts *opts = &state->handle.client->opts;
    ilk__waiter *waiter = &state->waiter;
    int64_t patience = opts->connect_timeout_ms + opts->reply_timeout_ms;

    waiter->once = self->timeout_ms == 0;
    self->request.give_up = give_up;
    ilk__request_wait(
        &self->request, state->kind->wait, waiter, &waiter->parker,
        ilk__deadline(waiter->once ? patience : self->timeout_ms), then);
}

ilk_status ilk__state_cancel(ilk__state *state, ilk_error *err)
{
    int is_mine;
    ilk_status st = ilk__handle_check(&state->handle, &is_mine, err);

    if (is_mine)
        ilk__waiter_cancel(&state->waiter);
    return st;
}

void ilk__state_ask(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    ilk__script_begin(&op->command, op->type->script, waiter->wait_queue->keys,
                      waiter->wait_queue->key_count);
    ilk__wait_add_place(op);
}

ilk__act ilk__state_waits(ilk__op *op, const ilk__reply *reply)
{
    if (ilk__script_code(reply) != ILK__CODE_QUEUED)
        return ilk__wait_busy(op);
    return ilk__wait_queued(op, ilk__script_int(reply, 0),
                            ilk__script_int(reply, 1),
                            (int)ilk__script_int(reply, 2));
}

ilk__act ilk__state_refused(ilk__op *op, ilk_status status, const char *format,
                            ...)
{
    char text[ILK_ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)ilk__wait_got(op);
    return ilk__op_fail(op, status, "%s", text);
}

/* ---- changes ------------------------------------------------------------ */

void ilk__state_ask_change(ilk__op *op)
{
    const ilk__change *change = op->subject;
    const ilk__wait_queue *wait_queue = &change->of.state->wait_queue;

    ilk__script_begin(&op->command, op->type->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add_str(&op->command, change->token);
}

void ilk__state_changed(ilk__change *change, const ilk__reply *reply, size_t at)
{
    change->unnotified = ilk__script_int(reply, at);
    change->denied = (int)ilk__script_int(reply, at + 1);
}

static void ask_wake(ilk__op *op)
{
    const ilk__change *change = op->subject;
    const ilk__wait_queue *wait_queue = &change->of.state->wait_queue;

    ilk__script_begin(&op->command, op->type->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

static ilk__act woken(ilk__op *op, const ilk__reply *reply)
{
    ilk__state_changed(op->subject, reply, 0);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type state_wake = {.name = "state_wake",
                                        .script = ILK__SCRIPT_STATE_WAKE,
                                        .ask = ask_wake,
                                        .reply = woken};

static void done(ilk__change *change)
{
    ilk__request *request = &change->of.request;
    ilk_status st = ILK_OK;

    if (change->denied)
        st = ilk__fail(request->err, ILK_EAUTH,
                       "the %s is changed, but this user may not PUBLISH to "
                       "ilk:inbox:* and the waiters were not notified",
                       change->of.state->kind->noun);
    change->then(request, st);
}

/*
 * Call state_wake until the clients that waited at the time of the change have
 * their message. The number of calls is fixed by the first reply, because
 * clients that join later have read the changed state. A client that is not
 * reached notices the change at its next refresh.
 */
static void notify_rest(ilk__request *request, ilk_status status)
{
    ilk__change *change = (ilk__change *)request;

    if (status || change->unnotified <= 0 || change->denied
        || change->calls-- == 0) {
        done(change);
        return;
    }
    ilk__request_ask(request, &state_wake, change,
                     ilk__request_patience(request), notify_rest);
    ilk__request_hush(request);
}

static void answered(ilk__request *request, ilk_status status)
{
    ilk__change *change = (ilk__change *)request;

    change->calls =
        (change->unnotified + ILK__STATE_NOTIFY - 1) / ILK__STATE_NOTIFY;
    if (status)
        change->then(request, status);
    else
        notify_rest(request, ILK_OK);
}

void ilk__state_change(ilk__change *change, const ilk__op_type *type,
                       ilk__request_then *then)
{
    ilk__request *request = &change->of.request;
    ilk_status st = ilk__token(change->token, ILK__TOKEN_LEN, request->err);

    change->then = then;
    if (st) {
        then(request, st);
        return;
    }
    ilk__request_ask(request, type, change, ilk__request_patience(request),
                     answered);
}
