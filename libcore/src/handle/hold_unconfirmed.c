/* SPDX-License-Identifier: MIT */
/*
 * hold_unconfirmed.c -- a release that returns before the reply arrives.
 *
 *     release: the command is queued on the lane and the handle is free
 *     reply:   the next call over that lane reads it, or a later one over another
 *              lane; a reply that says "lost" sets hold->was_lost
 *     acquire: returns ILK_ELOST once if was_lost is set
 *
 * The command carries the script's source until a reply has shown that the
 * server has the script: nobody would repeat it after NOSCRIPT. If the reply
 * never arrives, or says that more waiters are to be served, the keeper gives
 * the token back over its own connection. The ilk__unconfirmed_release and the
 * handle may each outlive the other; the shared state's mutex guards their
 * pointers to each other.
 */
#include "base/alloc.h"
#include "hold.h"

struct ilk__unconfirmed_release {
    ilk__ensured ensured;
    ilk__ensured *give_back; /* the keeper's repeat; NULL: no memory */
    ilk__shared *shared;
    ilk__hold *hold; /* NULL: the handle was freed or released again */
    int script;
};

/* ---- the reply ---------------------------------------------------------- */

static ilk_status judge(const ilk__ensured *ensured, const ilk__reply *reply)
{
    int script = ((const ilk__unconfirmed_release *)ensured)->script;

    if (reply->type == ILK__REPLY_ERROR)
        return ILK_ESERVER;
    if (ilk__script_check(script, reply, NULL))
        return ILK_EREPLY;
    if (ilk__script_code(reply) != ILK__CODE_RELEASED)
        return ILK_ELOST;
    return ilk__script_int(reply, 0) ? ILK_EAGAIN : ILK_OK;
}

static void ended(ilk__ensured *ensured, ilk_status status)
{
    ilk__unconfirmed_release *self = (ilk__unconfirmed_release *)ensured;
    ilk__ensured *give_back = self->give_back;

    ilk__shared_lock(self->shared);
    self->shared->knows_script[self->script] =
        status == ILK_OK || status == ILK_ELOST || status == ILK_EAGAIN;
    if (self->hold) {
        self->hold->unconfirmed = NULL;
        self->hold->was_lost = status == ILK_ELOST;
    }
    ilk__shared_unlock(self->shared);
    if (give_back)
        give_back->ended(give_back, status == ILK_ELOST ? ILK_OK : status);
    ilk__free(self);
}

/* The mutex is held. */
static void forget(ilk__hold *hold)
{
    if (hold->unconfirmed)
        hold->unconfirmed->hold = NULL;
    hold->unconfirmed = NULL;
}

void ilk__hold_forget_unconfirmed(ilk__hold *hold)
{
    ilk__shared *shared = hold->handle.client->shared;

    ilk__shared_lock(shared);
    forget(hold);
    ilk__shared_unlock(shared);
}

ilk_status ilk__hold_report_lost(ilk__hold *hold, ilk_error *err)
{
    char text[ILK__LEASE_TEXT];

    if (!atomic_exchange(&hold->was_lost, 0))
        return ILK_OK;
    return ilk__fail(err, ILK_ELOST,
                     "the handle's previous hold of the %s was lost before its "
                     "release",
                     ilk__lease_describe(&hold->lease, text));
}

/* ---- releasing ---------------------------------------------------------- */

static ilk__unconfirmed_release *prepare(ilk__hold *hold)
{
    ilk__shared *shared = hold->handle.client->shared;
    ilk__unconfirmed_release *self = ilk__calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->ensured.ended = ended;
    self->ensured.judge = judge;
    self->shared = shared;
    self->hold = hold;
    self->script = hold->kind->release->script;
    self->give_back = ilk__give_back_ensured(
        &(ilk__withdrawal){.shared = shared,
                           .wait_queue = &hold->wait_queue,
                           .entry = "",
                           .token = hold->lease.token},
        NULL);
    ilk__shared_lock(shared);
    forget(hold);
    hold->unconfirmed = self;
    ilk__shared_unlock(shared);
    return self;
}

/* ILK_OK even if the lane could not send: the keeper then releases. The lease ends
 * here before the server can execute the release and let somebody else in. */
ilk_status ilk__hold_post_release(ilk__hold *hold, ilk_error *err)
{
    ilk_client *client = hold->handle.client;
    const ilk__op_type *type = hold->kind->release;
    ilk__release release = {
        .at = {.wait_queue = &hold->wait_queue, .shared = client->shared},
        .kind = hold->kind,
        .hold = hold,
        .token = hold->lease.token,
        .token_len = hold->lease.token_len};
    ilk__unconfirmed_release *self = prepare(hold);
    ilk__op op;

    if (!self)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    hold->depth = 0;
    ilk__lease_end(&hold->lease);
    (void)ilk__keeper_start(client->keeper, NULL);
    ilk__op_init(&op, type, &release, 0, err);
    type->ask(&op);
    if (!client->shared->knows_script[type->script])
        ilk__script_use_source(&op.command, type->script);
    (void)ilk__lanes_send_only(client->lanes, &op.command, &self->ensured);
    ilk__op_free(&op);
    return ILK_OK;
}
