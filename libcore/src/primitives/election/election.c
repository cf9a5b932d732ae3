/* SPDX-License-Identifier: MIT */
/* election.c -- the candidate's verbs. */
#include "election.h"

#include "base/alloc.h"
#include "client/run.h"

static ilk_status no_election(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "election must not be NULL");
}

/* ---- campaigning -------------------------------------------------------- */

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
                    : ilk__op_none(out, no_election(err));
}

ilk_status ilk_election_resign_start(ilk_op **out, ilk_election *election,
                                     ilk_error *err)
{
    return election ? ilk__hold_release_start(out, &election->hold, err)
                    : ilk__op_none(out, no_election(err));
}

ilk_status ilk_election_renew_start(ilk_op **out, ilk_election *election,
                                    int64_t ttl_ms, ilk_error *err)
{
    return election ? ilk__hold_extend_start(out, &election->hold, ttl_ms, err)
                    : ilk__op_none(out, no_election(err));
}

ilk_status ilk_election_check_start(ilk_op **out, ilk_election *election,
                                    ilk_error *err)
{
    return election ? ilk__hold_check_start(out, &election->hold, err)
                    : ilk__op_none(out, no_election(err));
}

/* ---- publishing --------------------------------------------------------- */

typedef struct proclaiming {
    ilk__verb verb;
    ilk_election *election;
    const void *from; /* the caller's, until it has begun */
    char *value;      /* the handle's when it is heard */
    size_t value_len;
} proclaiming;

static void ask_proclaim(ilk__op *op)
{
    const proclaiming *self = op->subject;
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

static void heard(ilk__verb *verb, ilk_status status)
{
    proclaiming *self = (proclaiming *)verb;
    ilk_election *election = self->election;
    char *unused = self->value;

    if (status == ILK_OK) {
        unused = election->value;
        election->value = self->value;
        election->value_len = self->value_len;
    } else if (status == ILK_ELOST) {
        ilk__lease_lose(&election->hold.lease);
    }
    ilk__free(unused);
    ilk__hold_end(&election->hold, verb, status);
}

static void begin_proclaim(ilk__verb *verb)
{
    proclaiming *self = (proclaiming *)verb;
    ilk__hold *hold = &self->election->hold;
    ilk_status st = ilk__hold_enter_verb(hold, verb->err);

    if (st) {
        ilk__verb_end(verb, st);
        return;
    }
    st = ilk__election_check_value(self->from, self->value_len, verb->err);
    if (st == ILK_OK)
        st = ilk__lease_check(&hold->lease, verb->err);
    if (st == ILK_OK) {
        self->value =
            ilk__memdup(self->value_len ? self->from : "", self->value_len);
        if (!self->value)
            st = ilk__fail(verb->err, ILK_ENOMEM, "out of memory");
    }
    if (st)
        ilk__hold_end(hold, verb, st);
    else
        ilk__verb_ask(verb, &election_proclaim, self, ilk__verb_patience(verb),
                      heard);
}

ilk_status ilk_election_proclaim(ilk_election *election, const void *value,
                                 size_t value_len, ilk_error *err)
{
    proclaiming self = {.verb = {.handle = election},
                        .election = election,
                        .from = value,
                        .value_len = value_len};

    return election ? ilk__verb_run(&self.verb, election->hold.client,
                                    begin_proclaim, err)
                    : no_election(err);
}

ilk_status ilk_election_proclaim_start(ilk_op **out, ilk_election *election,
                                       const void *value, size_t value_len,
                                       ilk_error *err)
{
    proclaiming self = {.verb = {.handle = election},
                        .election = election,
                        .from = value,
                        .value_len = value_len};

    return election
               ? ilk__verb_start(out, &self.verb, sizeof self,
                                 election->hold.client, begin_proclaim, err)
               : ilk__op_none(out, no_election(err));
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
