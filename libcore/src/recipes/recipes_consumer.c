/* SPDX-License-Identifier: MIT */
/* recipes_consumer.c -- a consumer of messages from raw lists. */
#include "recipes_consumer.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ILK__RECIPE_TYPE(settle, ILK__SCRIPT_RECIPES_SETTLE, ilk__recipe_done);

/* ---- opening ------------------------------------------------------------ */

static ilk_status add_list(ilk_consumer *self, size_t list, const void *name,
                           size_t len, ilk_error *err)
{
    ilk__bytes *keys = &self->keys[list * ILK__CONSUMER_KEYS];
    char kind[ILK__CONSUMER_ID + 32];
    ilk_status st = ilk__name_check(name, len, "list", err);

    if (st)
        return st;
    keys[0].data = ilk__memdup(name, len);
    keys[0].len = len;
    if (!keys[0].data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    snprintf(kind, sizeof kind, "recipes:taken:%s", self->id);
    st = ilk__side_key(&keys[1], kind, name, len, err);
    if (st)
        return st;
    return ilk__side_key(&keys[2], "recipes:consumers", name, len, err);
}

static ilk_status fill(ilk_consumer *self, const void *const *names,
                       const size_t *name_lens, size_t count, ilk_error *err)
{
    ilk__shared *shared = self->handle.client->shared;

    snprintf(self->id, sizeof self->id, "%s.%" PRIx64, shared->client_id,
             (uint64_t)ilk__shared_new_id(shared));
    self->count = count;
    self->keys = ilk__calloc(count * ILK__CONSUMER_KEYS, sizeof self->keys[0]);
    self->connections = ilk__calloc(count, sizeof self->connections[0]);
    self->awaiting = ilk__calloc(count, 1);
    if (!self->keys || !self->connections || !self->awaiting)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        ilk_status st = add_list(self, i, names[i], name_lens[i], err);

        if (st)
            return st;
    }
    return ILK_OK;
}

ilk_status ilk_consumer_open(ilk_consumer **out, ilk_client *client,
                             const void *const *names, const size_t *name_lens,
                             size_t count, ilk_error *err)
{
    ilk_consumer *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_RECIPES, err);
    if (st)
        return st;
    if (!names || !name_lens || count < 1 || count > ILK_RECIPES_QUEUES_MAX)
        return ilk__fail(err, ILK_EINVAL, "a consumer has 1 to %d lists",
                         ILK_RECIPES_QUEUES_MAX);
    self = ilk__calloc(1, sizeof *self);
    if (!self)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__handle_init(&self->handle, client, "consumer", NULL);
    st = fill(self, names, name_lens, count, err);
    if (st)
        ilk_consumer_free(self);
    else
        *out = self;
    return st;
}

void ilk_consumer_free(ilk_consumer *self)
{
    if (!self)
        return;
    for (size_t i = 0; self->connections && i < self->count; i++)
        ilk__dedicated_conn_close(&self->connections[i]);
    for (size_t i = 0; self->keys && i < self->count * ILK__CONSUMER_KEYS; i++)
        ilk__free(self->keys[i].data);
    ilk__free(self->taken.data);
    ilk__free(self->keys);
    ilk__free(self->connections);
    ilk__free(self->awaiting);
    ilk__handle_close(&self->handle);
    ilk__free(self);
}

/* ---- requests ----------------------------------------------------------- */

static ilk_status enter(ilk_consumer *self, ilk_error *err)
{
    ilk__error_clear(err);
    if (!self)
        return ilk__fail(err, ILK_EINVAL, "consumer must not be NULL");
    return ilk__handle_enter(&self->handle, err);
}

/* Other consumers see by the subscription to our inbox that this process is
 * alive. */
static ilk_status open_inbox(ilk_consumer *self, ilk_error *err)
{
    ilk_error why; /* without the inbox consuming still works */

    (void)ilk__shared_want_inbox(self->handle.client->shared, 0, &why);
    return ilk__keeper_start(self->handle.client->keeper, err);
}

/* Without a connection to block on, the next reserve shows whether the server can be
 * reached, after a pause. In any case the sleep checks whether the wait must end. */
static ilk_status block(ilk_consumer *self, int64_t deadline,
                        uint32_t interrupts, ilk_error *err)
{
    ilk_status st = ilk__consumer_block(self, deadline, interrupts, err);
    int64_t until = 0;

    if (st == ILK_ECONN)
        until = ilk__sooner(deadline, ilk__deadline(ILK__LISTENER_PAUSE_MS));
    else if (st)
        return st;
    st = ilk__dedicated_conn_sleep(self->handle.client, NULL, 0, until,
                                   interrupts, 0, err);
    return st == ILK_ETIMEOUT ? ILK_OK : st;
}

static ilk_status pop(ilk_items **out, ilk_consumer *self, int64_t timeout_ms,
                      ilk_error *err)
{
    uint32_t interrupts = atomic_load(&self->handle.client->shared->interrupts);
    int64_t deadline = ilk__deadline(timeout_ms);
    int64_t patience =
        ilk__deadline(self->handle.client->opts.reply_timeout_ms);
    ilk_status st = open_inbox(self, err);

    if (st == ILK_OK && timeout_ms != 0
        && ilk__shared_is_stopped(self->handle.client->shared))
        return ilk__fail(err, ILK_ECANCELLED, "the client is stopped");
    while (!st) {
        if (!ilk__consumer_is_blocking(self))
            st = ilk__consumer_reserve(
                out, self, timeout_ms == 0 ? patience : deadline, err);
        if (st || *out)
            break;
        if (ilk__now_ms() >= deadline)
            return ilk__fail(err, timeout_ms == 0 ? ILK_EBUSY : ILK_ETIMEOUT,
                             "no message in any of the lists");
        st = block(self, deadline, interrupts, err);
    }
    return st;
}

ilk_status ilk_consumer_pop(ilk_items **out, ilk_consumer *self,
                            int64_t timeout_ms, ilk_error *err)
{
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__check_timeout(timeout_ms, err);
    if (st == ILK_OK)
        st = enter(self, err);
    if (st)
        return st;
    if (self->holds)
        st = ilk__fail(err, ILK_EHELD, "the last message is not settled");
    else
        st = pop(out, self, timeout_ms, err);
    if (st != ILK_EINTR) /* after that the next call goes on blocking */
        ilk__consumer_hush(self);
    ilk__handle_leave(&self->handle);
    return st;
}

static ilk_status settle_as(ilk_consumer *self, const char *how, ilk_error *err)
{
    const ilk__bytes *queue =
        &self->keys[self->taken_from * ILK__CONSUMER_KEYS];
    char kind[ILK__CONSUMER_ID + 32];
    ilk__recipe recipe;
    ilk_status st;

    snprintf(kind, sizeof kind, "recipes:taken:%s", self->id);
    ilk__recipe_begin(&recipe, self->handle.client, err);
    ilk__recipe_key(&recipe, queue->data, queue->len, "list");
    ilk__recipe_side(&recipe, kind, queue->data, queue->len);
    ilk__recipe_side(&recipe, "recipes:dead", queue->data, queue->len);
    ilk__recipe_once(&recipe, "once", queue->data, queue->len);
    ilk__recipe_text(&recipe, recipe.token, ILK__TOKEN_LEN);
    ilk__recipe_text(&recipe, how, strlen(how));
    ilk__recipe_text(&recipe, self->taken.data, self->taken.len);
    st = ilk__recipe_run(&recipe, &settle);
    if (st == ILK_OK || st == ILK_ELOST) {
        ilk__free(self->taken.data);
        self->taken = (ilk__bytes){0};
        self->holds = 0;
    }
    return st;
}

ilk_status ilk_consumer_settle(ilk_consumer *self, int how, ilk_error *err)
{
    static const char *const words[] = {"done", "back", "dead"};
    ilk_status st;

    if (how < ILK_RECIPES_DONE || how > ILK_RECIPES_DEAD)
        return ilk__fail(err, ILK_EINVAL, "no way to settle: %d", how);
    st = enter(self, err);
    if (st)
        return st;
    if (self->holds)
        st = settle_as(self, words[how], err);
    else
        st = ilk__fail(err, ILK_ENOTOWNER, "there is no message to settle");
    ilk__handle_leave(&self->handle);
    return st;
}

static ilk_status recover_all(ilk_consumer *self, ilk_error *err)
{
    ilk_status st = ILK_OK;

    for (size_t i = 0; self->known && i < self->count; i++) {
        ilk_status one =
            ilk__consumer_recover(self, i, self->id, st ? NULL : err);

        st = st ? st : one;
    }
    return st;
}

/* Unblocks first: a message that a BLMOVE moved after the recovery would stay in the
 * taken list of a consumer that has left. */
ilk_status ilk_consumer_leave(ilk_consumer *self, ilk_error *err)
{
    ilk_status st = enter(self, err);

    if (st)
        return st;
    st = ilk__consumer_unblock(self, err);
    if (st == ILK_OK)
        st = recover_all(self, err);
    if (st == ILK_OK) {
        ilk__free(self->taken.data);
        self->taken = (ilk__bytes){0};
        self->holds = self->known = 0;
    }
    ilk__handle_leave(&self->handle);
    return st;
}
