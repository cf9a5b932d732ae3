/* SPDX-License-Identifier: MIT */
/*
 * signal_notify.c -- sending a signal, and passing on one whose waiter is gone.
 *
 * Each signal has an id. The server keeps the last id of each sender and its
 * result in the key `sent`, so a retry under the same id sends nothing and
 * returns the first result. One sender has one signal under way at a time.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "signal_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SENT = ILK__SIGNAL_LISTS, KEYS = SENT + 1, ID_MAX = 64 };

typedef struct notice {
    ilk__bytes keys[KEYS]; /* wait, live, crowd, given, sent */
    char id[ID_MAX];
    char from[ID_MAX]; /* the field of `given` that it moves from, or "" */
    const char *name;
    size_t name_len;
    ilk__bytes channel; /* of broadcasts; borrowed */
    const char *data;
    size_t data_len;
    int64_t
        patience_ms; /* to all waiters: time for one more call after progress */
    int64_t reached;
    int denied;
    int is_under_way; /* some have it, and others wait for a further call */
} notice;

/* A signal that the keeper sends on; `bytes` has its name and data. */
typedef struct forward {
    ilk__inflight inflight;
    notice notice;
    char bytes[];
} forward;

/* ---- asking ------------------------------------------------------------- */

static void ask_one(ilk__op *op)
{
    const notice *self = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, self->keys, KEYS);
    ilk__command_add_str(command, self->id);
    ilk__command_add(command, self->name, self->name_len);
    ilk__command_add(command, self->data, self->data_len);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, ILK__SIGNAL_KEEP_MS);
    ilk__command_add_str(command, self->from);
}

/* If nobody was reached and `more` is set, the script removed entries of dead
 * clients up to its limit: ask again, a live waiter may be behind them. */
static ilk__act was_one(ilk__op *op, const ilk__reply *reply)
{
    notice *self = op->subject;

    self->reached = ilk__script_int(reply, 0);
    self->denied = (int)ilk__script_int(reply, 2);
    if (!self->reached && !self->denied && ilk__script_int(reply, 1))
        return ilk__op_ask(op);
    return ilk__op_done(op, ILK_OK);
}

static void ask_all(ilk__op *op)
{
    const notice *self = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, self->keys, KEYS);
    ilk__command_add_str(command, self->id);
    ilk__command_add(command, self->name, self->name_len);
    ilk__command_add(command, self->data, self->data_len);
    ilk__command_add(command, self->channel.data, self->channel.len);
    ilk__command_add_int(command, ILK__SIGNAL_KEEP_MS);
}

/* If `more` is set, a further call must signal to the rest: one call signals to
 * a hundred waiters or so, and the server serves others in between. */
static ilk__act was_all(ilk__op *op, const ilk__reply *reply)
{
    notice *self = op->subject;
    const int64_t before = self->reached;

    self->reached = ilk__script_int(reply, 0);
    self->denied = (int)ilk__script_int(reply, 2);
    self->is_under_way = ilk__script_int(reply, 1) != 0;
    if (!self->is_under_way)
        return ilk__op_done(op, ILK_OK);
    if (self->reached > before)
        op->deadline = ilk__deadline(self->patience_ms);
    return ilk__op_ask(op);
}

static const ilk__op_type notify_one = {.name = "signal_notify_one",
                                        .script = ILK__SCRIPT_SIGNAL_NOTIFY_ONE,
                                        .ask = ask_one,
                                        .reply = was_one};
static const ilk__op_type notify_all = {.name = "signal_notify_all",
                                        .script = ILK__SCRIPT_SIGNAL_NOTIFY_ALL,
                                        .ask = ask_all,
                                        .reply = was_all};

/* ---- keys --------------------------------------------------------------- */

/* "ilk:signal:sent:{name}:<client>.<giver>", then `room` free bytes. */
static ilk_status sent_key(notice *self, const char *client_id, int64_t giver,
                           size_t room, ilk_error *err)
{
    ilk__bytes *key = &self->keys[SENT], stem = {0};
    char tail[ID_MAX];
    int tail_len =
        snprintf(tail, sizeof tail, ":%s.%" PRId64, client_id, giver);
    ilk_status st =
        ilk__side_key(&stem, "signal:sent", self->name, self->name_len, err);

    if (st)
        return st;
    key->len = stem.len + (size_t)tail_len;
    key->data = ilk__realloc(stem.data, key->len + 1 + room);
    if (!key->data) {
        ilk__free(stem.data);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    memcpy(key->data + stem.len, tail, (size_t)tail_len + 1);
    return ILK_OK;
}

/* ---- sending ------------------------------------------------------------ */

static ilk_status check_data(const ilk_signal *signal, const void *data,
                             size_t data_len, ilk_error *err)
{
    if (signal->flags & ILK_SIGNAL_PATTERN)
        return ilk__fail(err, ILK_EINVAL,
                         "a pattern can be listened to, not signalled");
    if (!data && data_len)
        return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
    if (data_len > ILK_SIGNAL_DATA_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "data must have at most %d bytes, got %zu",
                         ILK_SIGNAL_DATA_MAX, data_len);
    return ILK_OK;
}

typedef struct notify_request {
    ilk__request request;
    ilk_signal *signal;
    const ilk__op_type *type;
    const void *data; /* the caller's: valid until begin() returns */
    size_t data_len;
    notice notice;
} notify_request;

/* Copies the data behind the key, because a retry sends them again. */
static ilk_status compose(notify_request *self)
{
    ilk_signal *signal = self->signal;
    notice *given = &self->notice;
    const char *client_id = signal->handle.client->shared->client_id;
    char *copy;
    ilk_status st;

    memcpy(given->keys, signal->keys, sizeof signal->keys);
    given->name = signal->name.data;
    given->name_len = signal->name.len;
    given->channel = signal->channel;
    given->patience_ms = self->request.reply_timeout_ms;
    snprintf(given->id, sizeof given->id, "%s.%" PRId64 ".%" PRId64, client_id,
             signal->id, ++signal->requests);
    st = sent_key(given, client_id, signal->id, self->data_len,
                  self->request.err);
    if (st)
        return st;
    copy = given->keys[SENT].data + given->keys[SENT].len + 1;
    if (self->data_len)
        memcpy(copy, self->data, self->data_len);
    given->data = copy;
    given->data_len = self->data_len;
    return ILK_OK;
}

/* Some waiters have the signal, so no other status would be true. */
static ilk_status fail_half_way(ilk__request *request, int64_t reached)
{
    char why[ILK_ERROR_MAX] = "";

    if (request->err)
        memcpy(why, request->err->msg, sizeof why);
    return ilk__fail(request->err, ILK_EUNKNOWN,
                     "%lld were reached, and others were not: %.180s",
                     (long long)reached, why);
}

static void was_given(ilk__request *request, ilk_status status)
{
    notify_request *self = (notify_request *)request;
    const notice *given = &self->notice;

    ilk__free(given->keys[SENT].data);
    request->result.number = given->reached;
    if (status && status != ILK_ECLOSED && given->is_under_way)
        status = fail_half_way(request, given->reached);
    if (status == ILK_OK && given->denied)
        status = ilk__fail(request->err, ILK_EAUTH,
                           "%lld reached, others not: no right to PUBLISH to "
                           "ilk:inbox:* or ilk:signal:*",
                           (long long)given->reached);
    ilk__signal_end(request, self->signal, status);
}

static void begin(ilk__request *request)
{
    notify_request *self = (notify_request *)request;
    ilk_status st = ilk__signal_enter(self->signal, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = check_data(self->signal, self->data, self->data_len, request->err);
    if (st == ILK_OK)
        st = compose(self);
    if (st)
        ilk__signal_end(request, self->signal, st);
    else
        ilk__request_ask(request, self->type, &self->notice,
                         ilk__request_patience(request), was_given);
}

static ilk_status run(int64_t *out_reached, notify_request *self,
                      ilk_error *err)
{
    ilk_status st = ilk__signal_run(&self->request, self->signal, begin, err);

    if (out_reached)
        *out_reached = self->request.result.number;
    return st;
}

static ilk_status start(ilk_op **out, notify_request *self, ilk_error *err)
{
    return ilk__signal_start(out, &self->request, sizeof *self, self->signal,
                             begin, err);
}

static notify_request notify(ilk_signal *signal, const ilk__op_type *type,
                             const void *data, size_t data_len)
{
    return (notify_request){
        .signal = signal, .type = type, .data = data, .data_len = data_len};
}

ilk_status ilk_signal_notify_one(int64_t *out_reached, ilk_signal *signal,
                                 const void *data, size_t data_len,
                                 ilk_error *err)
{
    notify_request self = notify(signal, &notify_one, data, data_len);

    return run(out_reached, &self, err);
}

ilk_status ilk_signal_notify_one_start(ilk_op **out, ilk_signal *signal,
                                       const void *data, size_t data_len,
                                       ilk_error *err)
{
    notify_request self = notify(signal, &notify_one, data, data_len);

    return start(out, &self, err);
}

ilk_status ilk_signal_notify_all(int64_t *out_reached, ilk_signal *signal,
                                 const void *data, size_t data_len,
                                 ilk_error *err)
{
    notify_request self = notify(signal, &notify_all, data, data_len);

    return run(out_reached, &self, err);
}

ilk_status ilk_signal_notify_all_start(ilk_op **out, ilk_signal *signal,
                                       const void *data, size_t data_len,
                                       ilk_error *err)
{
    notify_request self = notify(signal, &notify_all, data, data_len);

    return start(out, &self, err);
}

/* ---- passing on --------------------------------------------------------- */

static void forward_free(forward *self)
{
    ilk__signal_keys_free(self->notice.keys);
    ilk__free(self->notice.keys[SENT].data);
    ilk__free(self);
}

static void finished(ilk__inflight *inflight)
{
    ilk__timers_unreserve(&inflight->shared->timers);
    ilk__op_free(&inflight->op);
    forward_free((forward *)inflight);
}

static forward *forward_new(ilk__shared *shared, const ilk__message *message)
{
    forward *self =
        ilk__calloc(1, sizeof *self + message->name_len + message->data_len);
    int64_t giver = ++shared->last_id;
    notice *given;

    if (!self)
        return NULL;
    given = &self->notice;
    memcpy(self->bytes, message->name, message->name_len);
    memcpy(self->bytes + message->name_len, message->data, message->data_len);
    given->name = self->bytes;
    given->name_len = message->name_len;
    given->data = self->bytes + message->name_len;
    given->data_len = message->data_len;
    snprintf(given->id, sizeof given->id, "%s.%" PRId64, shared->client_id,
             giver);
    if (ilk__signal_keys(given->keys, given->name, given->name_len, NULL)
        || sent_key(given, shared->client_id, giver, 0, NULL)
        || ilk__timers_reserve(&shared->timers, NULL)) {
        forward_free(self);
        return NULL;
    }
    return self;
}

static void post(ilk__shared *shared, forward *self)
{
    ilk__inflight_init(&self->inflight, shared, &notify_one, &self->notice);
    self->inflight.op.deadline = ilk__deadline(ILK__LIVENESS_MS);
    self->inflight.finished = finished;
    shared->stats.passed_on++;
    ilk__shared_post(shared, &self->inflight);
}

/* Without memory the signal stays with its waiter on the server, until this
 * client is dead or a minute has passed. */
void ilk__signal_orphaned(ilk__shared *shared, const ilk__message *message)
{
    forward *self = message->type == ILK__MESSAGE_SIGNAL
                        ? forward_new(shared, message)
                        : NULL;

    if (!self)
        return;
    snprintf(self->notice.from, sizeof self->notice.from, "%s s%" PRId64,
             shared->client_id, message->waiter);
    post(shared, self);
}

/* Without memory the signal is lost, as if its waiter's process had died. */
void ilk__signal_pass_on(ilk__shared *shared, const ilk__message *message)
{
    forward *self = forward_new(shared, message);

    if (self)
        post(shared, self);
}
