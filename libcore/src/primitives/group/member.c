/* SPDX-License-Identifier: MIT */
/*
 * member.c -- a member of a group: it joins, changes its data, leaves.
 *
 * A membership is a lease (lease.h) whose token is chosen by the join. Each request
 * is a change of the group's state (state.h), so it also wakes those who watch.
 */
#include "group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/opts.h"
#include "base/token.h"
#include "wait/give_back.h"

#include <stddef.h>
#include <string.h>

/* ---- the lease ---------------------------------------------------------- */

/* Behind the group's keys is the id, see ilk_member.lease_keys. */
static void ask_renewal(ilk__op *op)
{
    const ilk__extension *extension = op->subject;
    const ilk__bytes *id = &extension->keys[ILK__GROUP_KEYS];

    ilk__script_begin(&op->command, op->type->script, extension->keys,
                      ILK__GROUP_KEYS);
    ilk__command_add(&op->command, id->data, id->len);
    ilk__command_add(&op->command, extension->token, extension->token_len);
    ilk__command_add_int(&op->command, extension->ttl_ms);
    ilk__command_add_int(&op->command, extension->renews);
}

static const ilk__op_type group_renew = {.name = "group_renew",
                                         .script = ILK__SCRIPT_GROUP_RENEW,
                                         .ask = ask_renewal,
                                         .reply = ilk__lease_extended};
static const ilk__lease_kind lease_kind = {
    .noun = "member",
    .lost_notification = ILK_NOTIFICATION_MEMBER_LOST,
    .extend = &group_renew,
};

/* ---- when the client is closed ------------------------------------------- */

static void leave_args(ilk__command *command, const ilk__withdrawal *withdrawal)
{
    ilk__command_add(command, withdrawal->entry, withdrawal->entry_len);
    ilk__command_add_str(command, withdrawal->token);
    ilk__command_add_int(command, ILK__STATE_NOTIFY);
}

static const ilk__op_type last_leave = {.name = "group_leave",
                                        .script = ILK__SCRIPT_GROUP_LEAVE,
                                        .ask = ilk__give_back_ask,
                                        .reply = ilk__give_back_done,
                                        .wake = ilk__give_back_wake};

/* The keeper leaves in the member's place. Watchers whom the limit excludes find the
 * change at their next refresh. */
static void give_back(ilk__lease *lease)
{
    const ilk_member *member =
        (ilk_member *)((char *)lease - offsetof(ilk_member, lease));
    const ilk__wait_queue group = {.keys = member->state.keys,
                                   .key_count = ILK__GROUP_KEYS,
                                   .cancel = &last_leave,
                                   .withdraw_args = leave_args};
    const ilk__withdrawal withdrawal = {.shared = lease->shared,
                                        .wait_queue = &group,
                                        .entry = member->id.data,
                                        .entry_len = member->id.len,
                                        .token = lease->token};

    ilk__give_back(&withdrawal);
}

static ilk_status bind(ilk__state *state, int *out_in_use, ilk_error *err)
{
    ilk_member *member = (ilk_member *)state;
    ilk__shared *shared = state->handle.client->shared;
    ilk_status st;

    /* No mutex: in a new child no other thread uses the handle. */
    *out_in_use |= member->lease.state != ILK__LEASE_FREE || member->may_be_in;
    memset(&member->lease, 0, sizeof member->lease);
    member->may_be_in = 0;
    st =
        ilk__lease_init(&member->lease, shared, &lease_kind, member->lease_keys,
                        ILK__GROUP_KEYS + 1, ilk__shared_new_id(shared), err);
    member->lease.user = member->user;
    member->lease.give_back = give_back;
    member->lease.name = member->id.data;
    member->lease.name_len = member->id.len;
    return st;
}

/* ---- handles ------------------------------------------------------------ */

static const ilk__state_kind member_kind = {
    .noun = "member",
    .key_kinds = ilk__group_key_kinds,
    .key_count = ILK__GROUP_KEYS,
    .bind = bind,
};

void ilk_member_opts_init(ilk_member_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_member_opts *out, const void *id,
                             size_t id_len, const ilk_member_opts *in,
                             ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_member_opts", err);

    if (st)
        return st;
    if (!id && id_len)
        return ilk__fail(err, ILK_EINVAL, "id must not be NULL");
    if (id_len < 1 || id_len > ILK_MEMBER_ID_MAX)
        return ilk__fail(err, ILK_EINVAL, "id must have 1 to %d bytes, got %zu",
                         ILK_MEMBER_ID_MAX, id_len);
    if (out->ttl_ms == 0)
        out->ttl_ms = ILK__MEMBER_DEFAULT_MS;
    return ilk__lease_check_ms("ttl_ms", out->ttl_ms, err);
}

ilk_status ilk_member_open(ilk_member **out, ilk_group *group, const void *id,
                           size_t id_len, const ilk_member_opts *opts,
                           ilk_error *err)
{
    ilk_member_opts checked;
    ilk__state *state;
    ilk_member *member;
    const char *name;
    size_t name_len;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (!group)
        return ilk__fail(err, ILK_EINVAL, "group must not be NULL");
    st = ilk__client_enter(group->state.handle.client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, id, id_len, opts, err);
    if (st)
        return st;
    name = ilk_group_name(group, &name_len);
    st = ilk__state_new(&state, sizeof *member, group->state.handle.client,
                        &member_kind, name, name_len, err);
    if (st)
        return st;
    member = (ilk_member *)state;
    member->id.data = ilk__memdup(id, id_len);
    if (!member->id.data) {
        ilk_member_free(member);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    member->id.len = id_len;
    memcpy(member->lease_keys, member->state.keys,
           ILK__GROUP_KEYS * sizeof *member->lease_keys);
    member->lease_keys[ILK__GROUP_KEYS] = member->id;
    member->ttl_ms = checked.ttl_ms;
    member->user = member->lease.user = checked.user;
    member->lease.name = member->id.data;
    member->lease.name_len = member->id.len;
    *out = member;
    return ILK_OK;
}

void ilk_member_free(ilk_member *member)
{
    if (!member)
        return;
    ilk__state_forget(&member->state);
    if (ilk__handle_is_mine(&member->state.handle))
        ilk__lease_destroy(&member->lease);
    ilk__free(member->id.data);
    ilk__state_free(&member->state);
}

/* ---- requests ----------------------------------------------------------- */

typedef struct member_request {
    ilk__change change; /* first */
    const void *data;   /* the caller's: valid until it has begun */
    size_t data_len;
    char *copy;
    int64_t sent_at, lease_ms; /* of a join */
    int64_t sure_until;        /* of a leave */
    int was_lost;
} member_request;

static ilk_member *member_of(const member_request *self)
{
    return (ilk_member *)self->change.of.state;
}

static member_request request_of(ilk_member *member, const void *data,
                                 size_t data_len)
{
    return (member_request){.change.of.state = (ilk__state *)member,
                            .data = data,
                            .data_len = data_len};
}

/* Begins a command about the member. */
static const member_request *begin_command(ilk__op *op)
{
    const member_request *self = op->subject;
    const ilk_member *member = member_of(self);

    ilk__script_begin(&op->command, op->type->script, member->state.keys,
                      ILK__GROUP_KEYS);
    ilk__command_add(&op->command, member->id.data, member->id.len);
    ilk__command_add(&op->command, member->lease.token,
                     member->lease.token_len);
    return self;
}

static ilk_status copy_data(member_request *self, ilk_error *err)
{
    if (!self->data && self->data_len)
        return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
    if (self->data_len > ILK_MEMBER_DATA_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "data must have at most %d bytes, got %zu",
                         ILK_MEMBER_DATA_MAX, self->data_len);
    self->copy = ilk__memdup(self->data_len ? self->data : "", self->data_len);
    return self->copy ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static void end(member_request *self, ilk_status status)
{
    ilk__free(self->copy);
    self->copy = NULL;
    ilk__state_end(&self->change.of.request, status);
}

static ilk_status run(member_request *self, ilk__request_begin *begin,
                      ilk_error *err)
{
    return ilk__state_run(&self->change.of, "member", begin, err);
}

static ilk_status start(ilk_op **out, member_request *self,
                        ilk__request_begin *begin, ilk_error *err)
{
    return ilk__state_start(out, &self->change.of, sizeof *self, "member",
                            begin, err);
}

/* ---- join --------------------------------------------------------------- */

static void ask_join(ilk__op *op)
{
    const member_request *self = begin_command(op);

    ilk__command_add(&op->command, self->copy, self->data_len);
    ilk__command_add_int(&op->command, member_of(self)->ttl_ms);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

/* left_ms: of its lease; -1: the store does not say. */
static ilk__act has_other(ilk__op *op, int64_t left_ms)
{
    if (left_ms < 0)
        return ilk__op_fail(op, ILK_EHELD,
                            "a member with this id is in the group");
    return ilk__op_fail(op, ILK_EHELD,
                        "a member with this id is in the group, for %lld ms "
                        "more unless its lease is renewed",
                        (long long)left_ms);
}

static ilk__act joined(ilk__op *op, const ilk__reply *reply)
{
    member_request *self = op->subject;

    switch (ilk__script_code(reply)) {
    case ILK__CODE_BUSY: return has_other(op, ilk__script_int(reply, 0));
    case ILK__CODE_REFUSED:
        return ilk__op_fail(op, ILK_EAUTH,
                            "this user may not PUBLISH to ilk:inbox:*: nobody "
                            "joined, because watchers would not be notified");
    default:
        self->sent_at = op->sent_at;
        self->lease_ms = ilk__script_int(reply, 0);
        ilk__state_changed(&self->change, reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
}

static const ilk__op_type group_join = {.name = "group_join",
                                        .script = ILK__SCRIPT_GROUP_JOIN,
                                        .ask = ask_join,
                                        .reply = joined};

static void was_joined(ilk__request *request, ilk_status status)
{
    member_request *self = (member_request *)request;
    ilk_member *member = member_of(self);
    int64_t deadline = ilk__lease_deadline(self->sent_at, self->lease_ms);

    member->may_be_in = status && ilk__op_may_have_run(request->op);
    if (status == ILK_OK && ilk__now_ms() >= deadline) {
        member->may_be_in = 1;
        status = ilk__fail(request->err, ILK_ELOST,
                           "the member's lease ended before the reply came");
    } else if (status == ILK_OK) {
        ilk__lease_begin(&member->lease, 0, deadline, self->lease_ms);
        ilk__lease_watch(&member->lease, member->ttl_ms, 1, ILK__FOREVER);
    }
    end(self, status);
}

/* Whether the handle is joined already. A lost one may join again. */
static ilk_status refuse_second(const ilk_member *member, ilk_error *err)
{
    if (atomic_load(&member->lease.state) == ILK__LEASE_HELD)
        return ilk__fail(err, ILK_EHELD, "the handle is in the group already");
    return ILK_OK;
}

static ilk_status choose_token(ilk_member *member, ilk_error *err)
{
    ilk__lease *lease = &member->lease;
    ilk_status st;

    if (member->may_be_in)
        return ILK_OK;
    ilk__lease_end(lease);
    st = ilk__token(lease->token, ILK__TOKEN_LEN, err);
    lease->token_len = strlen(lease->token);
    return st;
}

static void begin_join(ilk__request *request)
{
    member_request *self = (member_request *)request;
    ilk_member *member = member_of(self);
    ilk_status st;

    if (!ilk__state_begin(&self->change.of))
        return;
    st = refuse_second(member, request->err);
    if (st == ILK_OK)
        st = copy_data(self, request->err);
    if (st == ILK_OK)
        st = ilk__keeper_start(request->client->keeper, request->err);
    if (st == ILK_OK)
        st = choose_token(member, request->err);
    if (st)
        end(self, st);
    else
        ilk__state_change(&self->change, &group_join, was_joined);
}

ilk_status ilk_member_join(ilk_member *member, const void *data,
                           size_t data_len, ilk_error *err)
{
    member_request self = request_of(member, data, data_len);

    return run(&self, begin_join, err);
}

ilk_status ilk_member_join_start(ilk_op **out, ilk_member *member,
                                 const void *data, size_t data_len,
                                 ilk_error *err)
{
    member_request self = request_of(member, data, data_len);

    return start(out, &self, begin_join, err);
}

/* ---- update ------------------------------------------------------------- */

static void ask_update(ilk__op *op)
{
    const member_request *self = begin_command(op);

    ilk__command_add(&op->command, self->copy, self->data_len);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

static ilk__act updated(ilk__op *op, const ilk__reply *reply)
{
    member_request *self = op->subject;

    if (ilk__script_code(reply) != ILK__CODE_WRITTEN)
        return ilk__op_fail(op, ILK_ELOST,
                            "the member is no longer in the group");
    ilk__state_changed(&self->change, reply, 0);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type group_update = {.name = "group_update",
                                          .script = ILK__SCRIPT_GROUP_UPDATE,
                                          .ask = ask_update,
                                          .reply = updated};

static void was_updated(ilk__request *request, ilk_status status)
{
    member_request *self = (member_request *)request;

    if (status == ILK_ELOST) {
        ilk__lease_lose(&member_of(self)->lease, NULL);
        status =
            ilk__lease_fail_lost(&member_of(self)->lease, "", request->err);
    }
    end(self, status);
}

static void begin_update(ilk__request *request)
{
    member_request *self = (member_request *)request;
    ilk_status st;

    if (!ilk__state_begin(&self->change.of))
        return;
    st = ilk__lease_check(&member_of(self)->lease, request->err);
    if (st == ILK_OK)
        st = copy_data(self, request->err);
    if (st)
        end(self, st);
    else
        ilk__state_change(&self->change, &group_update, was_updated);
}

ilk_status ilk_member_update(ilk_member *member, const void *data,
                             size_t data_len, ilk_error *err)
{
    member_request self = request_of(member, data, data_len);

    return run(&self, begin_update, err);
}

ilk_status ilk_member_update_start(ilk_op **out, ilk_member *member,
                                   const void *data, size_t data_len,
                                   ilk_error *err)
{
    member_request self = request_of(member, data, data_len);

    return start(out, &self, begin_update, err);
}

/* ---- leave -------------------------------------------------------------- */

static void ask_leave(ilk__op *op)
{
    (void)begin_command(op);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

/* If a repeated leave does not find the member although the lease has not
 * ended, an earlier copy has removed it: until then nobody else does. */
static ilk__act left(ilk__op *op, const ilk__reply *reply)
{
    member_request *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_RELEASED)
        ilk__state_changed(&self->change, reply, 0);
    else if (!op->retried || op->now >= self->sure_until)
        return ilk__op_fail(op, ILK_ELOST,
                            "the member was no longer in the group");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type group_leave = {.name = "group_leave",
                                         .script = ILK__SCRIPT_GROUP_LEAVE,
                                         .ask = ask_leave,
                                         .reply = left};

static void was_left(ilk__request *request, ilk_status status)
{
    member_request *self = (member_request *)request;

    if (status == ILK_ELOST && !self->was_lost)
        ilk__lease_was_lost(&member_of(self)->lease, NULL, self->sure_until);
    if (status == ILK_ELOST
        || (self->was_lost && (status == ILK_OK || status == ILK_EUNKNOWN)))
        status = ilk__lease_fail_lost(&member_of(self)->lease, " before",
                                      request->err);
    end(self, status);
}

/* A LOST member leaves, too: when only the renewal failed, the server still has
 * it. So does one whose join had no reply. */
static void begin_leave(ilk__request *request)
{
    member_request *self = (member_request *)request;
    ilk_member *member = member_of(self);
    ilk__lease *lease = &member->lease;
    ilk_status st;

    if (!ilk__state_begin(&self->change.of))
        return;
    self->was_lost = atomic_load(&lease->state) == ILK__LEASE_LOST;
    self->sure_until = atomic_load(&lease->deadline);
    st = ilk__lease_check(lease, request->err);
    if (st && !self->was_lost && !member->may_be_in) {
        end(self, st);
        return;
    }
    member->may_be_in = 0;
    ilk__lease_end(lease);
    ilk__state_change(&self->change, &group_leave, was_left);
}

ilk_status ilk_member_leave(ilk_member *member, ilk_error *err)
{
    member_request self = request_of(member, NULL, 0);

    return run(&self, begin_leave, err);
}

ilk_status ilk_member_leave_start(ilk_op **out, ilk_member *member,
                                  ilk_error *err)
{
    member_request self = request_of(member, NULL, 0);

    return start(out, &self, begin_leave, err);
}

/* ---- getters ------------------------------------------------------------ */

ilk_status ilk_member_check(const ilk_member *member, ilk_error *err)
{
    int is_mine;
    ilk_status st;

    if (!member)
        return ilk__fail(err, ILK_EINVAL, "member must not be NULL");
    st = ilk__handle_check(&member->state.handle, &is_mine, err);
    if (st)
        return st;
    if (!is_mine)
        return ilk__fail(err, ILK_EFORKED,
                         "the member belongs to the parent process");
    return ilk__lease_check(&member->lease, err);
}

int64_t ilk_member_remaining_ms(const ilk_member *member)
{
    return member && ilk__handle_is_mine(&member->state.handle)
               ? ilk__lease_remaining(&member->lease)
               : 0;
}

int32_t ilk_member_held(const ilk_member *member)
{
    return ilk_member_remaining_ms(member) > 0;
}

const char *ilk_member_id(const ilk_member *member, size_t *out_len)
{
    if (out_len)
        *out_len = member ? member->id.len : 0;
    return member ? member->id.data : NULL;
}

const char *ilk_member_token(const ilk_member *member)
{
    return member ? member->lease.token : "";
}

int64_t ilk_member_number(const ilk_member *member)
{
    return member ? member->lease.id : 0;
}
