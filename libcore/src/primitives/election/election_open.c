/* SPDX-License-Identifier: MIT */
/* election_open.c -- a candidate's handle: its scripts, options, identity. */
#include "election.h"

#include "base/alloc.h"
#include "base/opts.h"
#include "pubsub/letter.h"

#include <stdio.h>
#include <string.h>

const char *const ilk__election_key_kinds[ILK__ELECTION_KEYS] = {
    "election",      "election:fence", "election:wait",
    "election:live", "election:value", "election:seen"};

/* ---- which scripts ------------------------------------------------------ */

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

/* Its tokens tell whose they are. A client's handles differ by a number. */
static ilk_status set_prefix(ilk__hold *hold, ilk_error *err)
{
    ilk_election *election = (ilk_election *)hold;

    (void)err;
    if (!election->identity[0])
        return ILK_OK;
    snprintf(election->prefix, sizeof election->prefix, "%s%s",
             election->identity, hold->client->desk->client_id);
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
    .failed = ilk__wait_failed,
    .told = ilk__wait_told};
static const ilk__op_type election_refresh =
                              ILK__HOLD_REFRESH(ELECTION_REFRESH),
                          election_cancel = ILK__HOLD_CANCEL(ELECTION_CANCEL),
                          election_resign = ILK__HOLD_RELEASE(ELECTION_RESIGN),
                          election_renew = ILK__HOLD_EXTEND(ELECTION_RENEW);

/* A leadership that nobody waits for goes to the next. */
static void pass_on(ilk__desk *desk, const ilk__letter *letter)
{
    ilk__bytes keys[ILK__ELECTION_KEYS];
    ilk__line line = {.keys = keys,
                      .key_count = ILK__ELECTION_KEYS,
                      .cancel = &election_cancel};
    const char *name;
    size_t len;

    if (letter->verb != ILK__LETTER_GRANT
        || !ilk__side_key_name(letter->name, letter->name_len, "election",
                               &name, &len))
        return;
    if (ilk__keys_make(keys, ilk__election_key_kinds, ILK__ELECTION_KEYS, name,
                       len, NULL)
        == ILK_OK)
        ilk__give_back(desk, &line, "", 0, letter->token);
    ilk__keys_free(keys, ILK__ELECTION_KEYS);
}

static const ilk__hold_kind candidate = {
    .lease = {.noun = "leadership",
              .lost_event = ILK_EVENT_LEADERSHIP_LOST,
              .extend = &election_renew},
    .key_kinds = ilk__election_key_kinds,
    .key_count = ILK__ELECTION_KEYS,
    .acquire = &election_campaign,
    .refresh = &election_refresh,
    .cancel = &election_cancel,
    .release = &election_resign,
    .waits_as = 'e',
    .unclaimed = pass_on,
    .taken_event = ILK_EVENT_LEADERSHIP_WON,
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
 * `identity:` in letters that a token may have. What else there is becomes
 * %XX, so that no two identities look alike and none begins another.
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

static ilk_status take_opts(ilk_election *election, ilk__hold_opts *hold,
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
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    election = ilk__calloc(1, sizeof *election);
    if (!election)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = take_opts(election, &hold, opts, err);
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

void ilk__election_name(const ilk_election *election, const char **out,
                        size_t *out_len)
{
    const ilk__bytes *key = &election->hold.keys[0];

    ilk__side_key_name(key->data, key->len, ilk__election_key_kinds[0], out,
                       out_len);
}
