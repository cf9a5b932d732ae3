/* SPDX-License-Identifier: MIT */
/*
 * group.c -- a group's handle: who is in, and what changes.
 *
 *     watch:    send the version that this handle knows
 *                 -> something changed: the first page, then read the others
 *                 -> nothing: enter the wait queue
 *     queued:   a change wakes us, or the refresh at the end of a member's lease
 *               removes the member and reports our entry as gone: send it again
 *     at last:  report what differs from the last report; if nothing does, because
 *               a member came and went, wait again
 */
#include "group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "client/loop.h"
#include "client/run.h"

const char *const ilk__group_key_kinds[ILK__GROUP_KEYS] = {
    "group",      "group:data",    "group:wait",
    "group:live", "group:changed", "group:gone"};

/* ---- waiting ------------------------------------------------------------ */

static void add_place(ilk__op *op, const ilk__known *known)
{
    ilk__command_add_int(&op->command, known->cursor);
    ilk__command_add_int(&op->command, known->base);
    ilk__command_add_int(&op->command, ILK__GROUP_PAGE);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

static void ask_watch(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, ilk__waiter_token(waiter));
    add_place(op, &((ilk_group *)ilk__state_of(waiter))->watched);
}

static ilk__act watched(ilk__op *op, const ilk__reply *reply)
{
    ilk_group *group = (ilk_group *)ilk__state_of(op->subject);
    ilk_status st;

    if (ilk__script_code(reply) != ILK__CODE_STATE)
        return ilk__state_waits(op, reply);
    st = ilk__known_apply(&group->watched, reply, op->err);
    (void)ilk__wait_got(op); /* the server has removed the entry */
    return ilk__op_done(op, st);
}

static const ilk__op_type group_watch =
                              ILK__STATE_WAIT(GROUP_WATCH, ask_watch, watched),
                          group_refresh = ILK__STATE_REFRESH(GROUP_REFRESH);

static const ilk__state_kind group_kind = {
    .noun = "group",
    .key_kinds = ilk__group_key_kinds,
    .key_count = ILK__GROUP_KEYS,
    .wait = &group_watch,
    .refresh = &group_refresh,
    .cancel = &ilk__state_cancel_op,
};

/* ---- handles ------------------------------------------------------------ */

ilk_status ilk_group_open(ilk_group **out, ilk_client *client, const void *name,
                          size_t name_len, ilk_error *err)
{
    ilk__state *state;
    ilk_group *group;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_GROUP, err);
    if (st == ILK_OK)
        st = ilk__state_new(&state, sizeof *group, client, &group_kind, name,
                            name_len, err);
    if (st)
        return st;
    group = (ilk_group *)state;
    ilk__known_init(&group->watched);
    *out = group;
    return ILK_OK;
}

void ilk_group_free(ilk_group *group)
{
    if (!group)
        return;
    ilk__state_forget(&group->state);
    ilk__known_free(&group->watched);
    ilk__state_free(&group->state);
}

const char *ilk_group_name(const ilk_group *group, size_t *out_len)
{
    return ilk__key_name(group ? &group->state.keys[0] : NULL,
                         ilk__group_key_kinds[0], out_len);
}

ilk_status ilk_group_cancel(ilk_group *group, ilk_error *err)
{
    if (!group)
        return ilk__fail(err, ILK_EINVAL, "group must not be NULL");
    return ilk__state_cancel(&group->state, err);
}

/* ---- reading ------------------------------------------------------------ */

typedef struct read_request {
    ilk__state_request of; /* first */
    ilk__known listed;     /* of ilk_group_members() */
    ilk__known *known;     /* that, or the watcher's */
    int64_t deadline;
    ilk__request_then *then; /* when all pages were applied */
} read_request;

static void dispose(void *members)
{
    ilk_members_free(members);
}

static void ask_read(ilk__op *op)
{
    const read_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->of.state->keys,
                      ILK__GROUP_KEYS);
    add_place(op, self->known);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    return ilk__op_done(
        op,
        ilk__known_apply(((read_request *)op->subject)->known, reply, op->err));
}

/* `reads`, although it removes members whose lease has ended: a missing reply can be
 * ignored, because anybody may do that. */
static const ilk__op_type group_read = {.name = "group_read",
                                        .script = ILK__SCRIPT_GROUP_READ,
                                        .reply_is_optional = 1,
                                        .ask = ask_read,
                                        .reply = was_read};

static void read_page(ilk__request *request);

static void page_is_read(ilk__request *request, ilk_status status)
{
    read_request *self = (read_request *)request;

    if (status == ILK_OK && self->known->more)
        read_page(request);
    else
        self->then(request, status);
}

static void read_page(ilk__request *request)
{
    ilk__request_ask(request, &group_read, request,
                     ilk__request_patience(request), page_is_read);
}

/* ---- all members -------------------------------------------------------- */

static void listed(ilk__request *request, ilk_status status)
{
    read_request *self = (read_request *)request;
    ilk_members *members = NULL;

    if (status == ILK_OK)
        status = ilk__known_report(&members, self->known, request->err);
    ilk__request_answer(request, members, dispose);
    ilk__known_free(&self->listed);
    ilk__state_end(request, status);
}

static void begin_members(ilk__request *request)
{
    read_request *self = (read_request *)request;

    if (!ilk__state_begin(&self->of))
        return;
    ilk__known_init(&self->listed);
    self->known = &self->listed;
    self->then = listed;
    read_page(request);
}

ilk_status ilk_group_members(ilk_members **out, ilk_group *group,
                             ilk_error *err)
{
    read_request self = {.of.state = (ilk__state *)group};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__state_run(&self.of, "group", begin_members, err);
    *out = self.of.request.result.object;
    return st;
}

ilk_status ilk_group_members_start(ilk_op **out, ilk_group *group,
                                   ilk_error *err)
{
    read_request self = {.of.state = (ilk__state *)group};

    return ilk__state_start(out, &self.of, sizeof self, "group", begin_members,
                            err);
}

const ilk_members *ilk_op_members(ilk_op *op)
{
    return ilk__started_object(op, dispose);
}

/* ---- changes ------------------------------------------------------------ */

/* A member came and went, so that nothing is to be reported. */
static void wait_on(ilk__request *request)
{
    read_request *self = (read_request *)request;
    int64_t left;

    if (self->of.timeout_ms == 0) {
        ilk__state_end(
            request, ilk__fail(request->err, ILK_EBUSY, "nothing has changed"));
        return;
    }
    left = self->deadline - ilk__now_ms();
    if (self->of.timeout_ms > 0)
        self->of.timeout_ms = left > 0 ? left : 1;
    ilk__state_await(&self->of, page_is_read);
}

static void report(ilk__request *request, ilk_status status)
{
    ilk_group *group = (ilk_group *)((read_request *)request)->of.state;
    ilk_members *members = NULL;

    if (status == ILK_OK)
        status = ilk__known_report(&members, &group->watched, request->err);
    if (status == ILK_OK && group->has_reported
        && ilk_members_count(members) == 0) {
        ilk_members_free(members);
        wait_on(request);
        return;
    }
    if (status == ILK_OK)
        group->has_reported = 1;
    ilk__request_answer(request, members, dispose);
    ilk__state_end(request, status);
}

/* An earlier call may have had no memory to report the changes it had read: they
 * are reported first. */
static void begin_watch(ilk__request *request)
{
    read_request *self = (read_request *)request;
    ilk_group *group = (ilk_group *)self->of.state;

    if (!ilk__state_enter(&self->of))
        return;
    self->known = &group->watched;
    self->then = report;
    self->deadline = ilk__deadline(self->of.timeout_ms);
    if (group->watched.first_changed && !group->watched.more
        && group->watched.base >= 0)
        report(request, ILK_OK);
    else
        ilk__state_await(&self->of, page_is_read);
}

ilk_status ilk_group_watch(ilk_members **out, ilk_group *group,
                           int64_t timeout_ms, ilk_error *err)
{
    read_request self = {.of.state = (ilk__state *)group,
                         .of.timeout_ms = timeout_ms};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__state_run(&self.of, "group", begin_watch, err);
    *out = self.of.request.result.object;
    return st;
}

ilk_status ilk_group_watch_start(ilk_op **out, ilk_group *group,
                                 int64_t timeout_ms, ilk_error *err)
{
    read_request self = {.of.state = (ilk__state *)group,
                         .of.timeout_ms = timeout_ms};

    return ilk__state_start(out, &self.of, sizeof self, "group", begin_watch,
                            err);
}
