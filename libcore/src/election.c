/* SPDX-License-Identifier: MIT */
/* election.c -- the candidate's verbs. */
#include "election.h"

#include "alloc.h"
#include "run.h"

#include <string.h>

static ilk_status no_election(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "election must not be NULL");
}

/* ---- campaigning -------------------------------------------------------- */

/* Whether it leads, which may be all that there is to find out. */
static ilk_status look(ilk_election *election, int *out_leads, ilk_error *err)
{
    ilk_status st = ilk__hold_enter(&election->hold, err);

    if (st)
        return st;
    *out_leads = ilk__hold_held(&election->hold);
    ilk__hold_leave(&election->hold);
    return ILK_OK;
}

ilk_status ilk_election_campaign(ilk_election *election, int64_t timeout_ms,
                                 ilk_error *err)
{
    int leads = 0;
    ilk_status st;

    if (!election)
        return no_election(err);
    st = look(election, &leads, err);
    if (st || leads)
        return st;
    st = ilk__hold_acquire(&election->hold, timeout_ms, 0, err);
    if (st == ILK_OK)
        ilk__events_push(&election->hold.client->desk->events,
                         ILK_EVENT_LEADERSHIP_WON, election->hold.id, ILK_OK);
    return st;
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

/* ---- publishing --------------------------------------------------------- */

static void ask_proclaim(ilk__op *op)
{
    const ilk_election *election = op->subject;
    const ilk__hold *hold = &election->hold;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, hold->keys, hold->key_count);
    ilk__command_add(command, hold->lease.token, hold->lease.token_len);
    ilk__command_add(command, election->value, election->value_len);
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

/* The new value is the handle's while it is asked for, and if it is heard. */
static ilk_status proclaim(ilk_election *election, char *value, size_t len,
                           ilk_error *err)
{
    ilk__hold *hold = &election->hold;
    char *former = election->value;
    size_t former_len = election->value_len;
    ilk_status st;

    election->value = value;
    election->value_len = len;
    st = ilk__ask(hold->client, &election_proclaim, election,
                  hold->client->opts.reply_timeout_ms, err);
    if (st == ILK_ELOST)
        ilk__lease_lose(&hold->lease);
    if (st) {
        election->value = former;
        election->value_len = former_len;
        former = value;
    }
    ilk__free(former);
    return st;
}

ilk_status ilk_election_proclaim(ilk_election *election, const void *value,
                                 size_t value_len, ilk_error *err)
{
    ilk_status st;
    char *copy;

    if (!election)
        return no_election(err);
    st = ilk__hold_enter_verb(&election->hold, err);
    if (st)
        return st;
    st = ilk__election_check_value(value, value_len, err);
    if (st == ILK_OK)
        st = ilk__lease_check(&election->hold.lease, err);
    if (st == ILK_OK) {
        copy = ilk__memdup(value_len ? value : "", value_len);
        st = copy ? proclaim(election, copy, value_len, err)
                  : ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    ilk__hold_leave(&election->hold);
    return st;
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

int64_t ilk_election_id(const ilk_election *election)
{
    return election ? election->hold.id : 0;
}
