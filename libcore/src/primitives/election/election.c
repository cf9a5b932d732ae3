/* SPDX-License-Identifier: MIT */
/* election.c -- the candidate: its scripts, its handle, its requests. */
#include "election.h"

#include "base/alloc.h"
#include "base/opts.h"
#include "client/run.h"
#include "pubsub/message.h"

#include <stdio.h>
#include <string.h>

const char *const ilk__election_key_kinds[ILK__ELECTION_KEYS] = {
    "election",      "election:fence", "election:wait",
    "election:live", "election:value", "election:seen"};

/* ---- the scripts -------------------------------------------------------- */

static void ask_campaign(ilk__op *op)
{
    const ilk_election *election =
        (const ilk_election *)ilk__hold_of(op->subject);

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__wait_ask(op);
    ilk__command_add(&op->command, election->value, election->value_len);
    ilk__command_add_str(&op->command, election->identity);
}

/* Tokens begin with identity and client id; a number follows, which differs
   between the client's handles. */
static ilk_status set_prefix(ilk__hold *hold, ilk_error *err)
{
    ilk_election *election = (ilk_election *)hold;

    (void)err;
    if (!election->identity[0])
        return ILK_OK;
    hold->lease.give_back = NULL; /* it may return and lead on */
    snprintf(election->prefix, sizeof election->prefix, "%s%s",
             election->identity, hold->handle.client->shared->client_id);
    hold->waiter.prefix = election->prefix;
    return ILK_OK;
}

static const ilk__op_type election_campaign = {
    .name = "election_campaign",
    .script = ILK__SCRIPT_ELECTION_CAMPAIGN,
    .ask = ask_campaign,
    .reply = ilk__wait_reply,
    .start = ilk__wait_start,
    .wake = ilk__wait_wake,
    .cancelled = ilk__wait_is_cancelled,
    .failed = ilk__wait_failed,
    .sent = ilk__wait_sent};
static const ilk__op_type election_refresh =
                              ILK__HOLD_REFRESH(ELECTION_REFRESH),
                          election_cancel = ILK__HOLD_CANCEL(ELECTION_CANCEL),
                          election_resign = ILK__HOLD_RELEASE(ELECTION_RESIGN),
                          election_renew = ILK__HOLD_EXTEND(ELECTION_RENEW);

/* An orphaned leadership is given back, which elects the next candidate. */
static void pass_on(ilk__shared *shared, const ilk__message *message)
{
    ilk__bytes keys[ILK__ELECTION_KEYS];
    ilk__wait_queue wait_queue = {.keys = keys,
                                  .key_count = ILK__ELECTION_KEYS,
                                  .cancel = &election_cancel};
    const char *name;
    size_t len;

    if (message->type != ILK__MESSAGE_GRANT
        || !ilk__side_key_name(message->name, message->name_len, "election",
                               &name, &len))
        return;
    if (ilk__keys_make(keys, ilk__election_key_kinds, ILK__ELECTION_KEYS, name,
                       len, NULL)
        == ILK_OK)
        ilk__give_back_token(shared, &wait_queue, message->token);
    ilk__keys_free(keys, ILK__ELECTION_KEYS);
}

static const ilk__hold_kind candidate = {
    .lease = {.noun = "leadership",
              .lost_notification = ILK_NOTIFICATION_LEADERSHIP_LOST,
              .extend = &election_renew},
    .key_kinds = ilk__election_key_kinds,
    .key_count = ILK__ELECTION_KEYS,
    .acquire = &election_campaign,
    .refresh = &election_refresh,
    .cancel = &election_cancel,
    .release = &election_resign,
    .waits_as = 'e',
    .orphaned = pass_on,
    .acquired_notification = ILK_NOTIFICATION_LEADERSHIP_WON,
    .stays = 1,
    .extend_keys = {0, 1, 4},
    .extend_key_count = 3,
    .bind = set_prefix,
};

/* ---- options ------------------------------------------------------------ */

void ilk_election_opts_init(ilk_election_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

ilk_status ilk__election_check_value(const void *value, size_t len,
                                     ilk_error *err)
{
    if (len > ILK_ELECTION_VALUE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "value must have at most %d bytes, got %zu",
                         ILK_ELECTION_VALUE_MAX, len);
    if (len && !value)
        return ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    return ILK_OK;
}

/*
 * Write `identity:`. A byte that a token may not contain, and the colon, become
 * %XX, so that different identities stay different and none is a prefix of
 * another.
 */
static ilk_status write_identity(ilk_election *election, const void *identity,
                                 size_t len, ilk_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._@/";
    const unsigned char *from = identity;
    size_t at = 0;

    if (len && !identity)
        return ilk__fail(err, ILK_EINVAL, "identity must not be NULL");
    for (size_t i = 0; i < len && at <= ILK_ELECTION_IDENTITY_MAX; i++) {
        int is_plain = from[i] && strchr(plain, from[i]);

        at += (size_t)snprintf(election->identity + at,
                               sizeof election->identity - at,
                               is_plain ? "%c" : "%%%02X", from[i]);
    }
    if (at > ILK_ELECTION_IDENTITY_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "identity must have at most %d bytes, those other "
                         "than letters, digits and -._@/ counted three times, "
                         "got %zu",
                         ILK_ELECTION_IDENTITY_MAX, len);
    if (len)
        memcpy(election->identity + at, ":", 2);
    return ILK_OK;
}

static ilk_status copy_opts(ilk_election *election, ilk__hold_opts *hold,
                            const ilk_election_opts *in, ilk_error *err)
{
    ilk_election_opts opts;
    ilk_status st =
        ilk__opts_copy(&opts, sizeof opts, in, "ilk_election_opts", err);

    if (st)
        return st;
    if (opts.flags & ~(uint32_t)ILK_ELECTION_NO_RENEW)
        return ilk__fail(err, ILK_EINVAL, "unknown election flags 0x%x",
                         (unsigned)opts.flags);
    hold->ttl_ms = opts.ttl_ms ? opts.ttl_ms : ILK__ELECTION_DEFAULT_MS;
    hold->max_hold_ms = opts.max_hold_ms;
    hold->no_renew = (opts.flags & ILK_ELECTION_NO_RENEW) != 0;
    hold->user = opts.user;
    st = ilk__hold_check_opts(hold, err);
    if (st == ILK_OK)
        st = ilk__election_check_value(opts.value, opts.value_len, err);
    if (st == ILK_OK)
        st = write_identity(election, opts.identity, opts.identity_len, err);
    if (st)
        return st;
    election->value =
        ilk__memdup(opts.value_len ? opts.value : "", opts.value_len);
    election->value_len = opts.value_len;
    return election->value ? ILK_OK
                           : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

/* ---- handles ------------------------------------------------------------ */

ilk_status ilk_election_open(ilk_election **out, ilk_client *client,
                             const void *name, size_t name_len,
                             const ilk_election_opts *opts, ilk_error *err)
{
    ilk__hold_opts hold = {0};
    ilk_election *election;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_ELECTION, err);
    if (st)
        return st;
    election = ilk__calloc(1, sizeof *election);
    if (!election)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = copy_opts(election, &hold, opts, err);
    if (st == ILK_OK)
        st = ilk__hold_open(&election->hold, client, &candidate, &hold, name,
                            name_len, err);
    if (st) {
        ilk__free(election->value);
        ilk__free(election);
        return st;
    }
    *out = election;
    return ILK_OK;
}

void ilk_election_free(ilk_election *election)
{
    if (!election)
        return;
    ilk__hold_close(&election->hold);
    ilk__free(election->value);
    ilk__free(election);
}

/* ---- campaigning -------------------------------------------------------- */

static ilk_status no_election(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "election must not be NULL");
}

ilk_status ilk_election_campaign(ilk_election *election, int64_t timeout_ms,
                                 ilk_error *err)
{
    return election ? ilk__hold_acquire(&election->hold, timeout_ms, 0, err)
                    : no_election(err);
}

ilk_status ilk_election_cancel(ilk_election *election, ilk_error *err)
{
    return election ? ilk__hold_cancel(&election->hold, err) : no_election(err);
}

ilk_status ilk_election_resign(ilk_election *election, ilk_error *err)
{
    return election ? ilk__hold_release(&election->hold, err)
                    : no_election(err);
}

ilk_status ilk_election_renew(ilk_election *election, int64_t ttl_ms,
                              ilk_error *err)
{
    return election ? ilk__hold_extend(&election->hold, ttl_ms, err)
                    : no_election(err);
}

ilk_status ilk_election_check(ilk_election *election, ilk_error *err)
{
    return election ? ilk__hold_check(&election->hold, err) : no_election(err);
}

ilk_status ilk_election_campaign_start(ilk_op **out, ilk_election *election,
                                       int64_t timeout_ms, ilk_error *err)
{
    return election ? ilk__hold_acquire_start(out, &election->hold, timeout_ms,
                                              0, err)
                    : ilk__started_none(out, no_election(err));
}

ilk_status ilk_election_resign_start(ilk_op **out, ilk_election *election,
                                     ilk_error *err)
{
    return election ? ilk__hold_release_start(out, &election->hold, err)
                    : ilk__started_none(out, no_election(err));
}

ilk_status ilk_election_renew_start(ilk_op **out, ilk_election *election,
                                    int64_t ttl_ms, ilk_error *err)
{
    return election ? ilk__hold_extend_start(out, &election->hold, ttl_ms, err)
                    : ilk__started_none(out, no_election(err));
}

ilk_status ilk_election_check_start(ilk_op **out, ilk_election *election,
                                    ilk_error *err)
{
    return election ? ilk__hold_check_start(out, &election->hold, err)
                    : ilk__started_none(out, no_election(err));
}

/* ---- publishing --------------------------------------------------------- */

typedef struct proclaim_request {
    ilk__request request;
    ilk_election *election;
    const void *from; /* borrowed from the caller until it begins */
    char *value;      /* passes to the handle on success */
    size_t value_len;
} proclaim_request;

static void ask_proclaim(ilk__op *op)
{
    const proclaim_request *self = op->subject;
    const ilk__hold *hold = &self->election->hold;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, hold->keys, hold->key_count);
    ilk__command_add(command, hold->lease.token, hold->lease.token_len);
    ilk__command_add(command, self->value, self->value_len);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

static ilk__act proclaimed(ilk__op *op, const ilk__reply *reply)
{
    if (ilk__script_code(reply) == ILK__CODE_WRITTEN)
        return ilk__op_done(op, ILK_OK);
    return ilk__op_fail(op, ILK_ELOST, "the leadership is no longer ours");
}

static const ilk__op_type election_proclaim = {
    .name = "election_proclaim",
    .script = ILK__SCRIPT_ELECTION_PROCLAIM,
    .ask = ask_proclaim,
    .reply = proclaimed};

static void on_proclaimed(ilk__request *request, ilk_status status)
{
    proclaim_request *self = (proclaim_request *)request;
    ilk_election *election = self->election;
    char *unused = self->value;

    if (status == ILK_OK) {
        unused = election->value;
        election->value = self->value;
        election->value_len = self->value_len;
    } else if (status == ILK_ELOST) {
        ilk__lease_lose(&election->hold.lease, NULL);
        status = ilk__lease_fail_lost(&election->hold.lease, "", request->err);
    }
    ilk__free(unused);
    ilk__hold_end(&election->hold, request, status);
}

static void begin_proclaim(ilk__request *request)
{
    proclaim_request *self = (proclaim_request *)request;
    ilk__hold *hold = &self->election->hold;
    ilk_status st = ilk__hold_enter_request(hold, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = ilk__election_check_value(self->from, self->value_len, request->err);
    if (st == ILK_OK)
        st = ilk__lease_check(&hold->lease, request->err);
    if (st == ILK_OK) {
        self->value =
            ilk__memdup(self->value_len ? self->from : "", self->value_len);
        if (!self->value)
            st = ilk__fail(request->err, ILK_ENOMEM, "out of memory");
    }
    if (st)
        ilk__hold_end(hold, request, st);
    else
        ilk__request_ask(request, &election_proclaim, self,
                         ilk__request_patience(request), on_proclaimed);
}

ilk_status ilk_election_proclaim(ilk_election *election, const void *value,
                                 size_t value_len, ilk_error *err)
{
    proclaim_request self = {.request = {.handle = election},
                             .election = election,
                             .from = value,
                             .value_len = value_len};

    return election ? ilk__request_run(
               &self.request, election->hold.handle.client, begin_proclaim, err)
                    : no_election(err);
}

ilk_status ilk_election_proclaim_start(ilk_op **out, ilk_election *election,
                                       const void *value, size_t value_len,
                                       ilk_error *err)
{
    proclaim_request self = {.request = {.handle = election},
                             .election = election,
                             .from = value,
                             .value_len = value_len};

    return election ? ilk__request_start(out, &self.request, sizeof self,
                                         election->hold.handle.client,
                                         begin_proclaim, err)
                    : ilk__started_none(out, no_election(err));
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_election_remaining_ms(const ilk_election *election)
{
    return election ? ilk__hold_remaining_ms(&election->hold) : 0;
}

int32_t ilk_election_is_leader(const ilk_election *election)
{
    return election ? ilk__hold_held(&election->hold) : 0;
}

int64_t ilk_election_term(const ilk_election *election)
{
    return election ? atomic_load(&election->hold.lease.fence) : 0;
}

const char *ilk_election_token(const ilk_election *election)
{
    return election ? election->hold.lease.token : "";
}

const char *ilk_election_name(const ilk_election *election, size_t *out_len)
{
    return ilk__key_name(election ? &election->hold.keys[0] : NULL,
                         ilk__election_key_kinds[0], out_len);
}

int64_t ilk_election_id(const ilk_election *election)
{
    return election ? election->hold.id : 0;
}
