/* SPDX-License-Identifier: MIT */
/* lock_many.c -- one lock over many names: handles and requests. */
#include "lock_many.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "wait/give_back.h"

#include <stdlib.h>
#include <string.h>

/* ---- what differs from one lock ----------------------------------------- */

static ilk_status bind(ilk__hold *hold, ilk_error *err)
{
    ilk_lock_many *many = (ilk_lock_many *)hold;
    ilk_status st = ILK_OK;

    for (size_t i = 0; i < many->count && st == ILK_OK; i++) {
        st = ilk__hold_bind(&many->locks[i]->hold, err);
        many->locks[i]->hold.waiter.fixed_token = many->token;
    }
    hold->lease.name = hold->keys[0].data;
    hold->lease.name_len = hold->keys[0].len;
    hold->lease.others = many->count - 1;
    return st;
}

/* The token must hold every name. The shortest of the leases is the result. */
static void probe_next(ilk__request *request, ilk_status status)
{
    ilk__probe *probe = request->op->subject;
    const ilk_lock_many *many = (const ilk_lock_many *)probe->hold;

    probe->shortest_ms = ilk__sooner(probe->shortest_ms, probe->lease_ms);
    probe->index++;
    if (status == ILK_OK && probe->index < many->count) {
        ilk__hold_probe(request, probe, &many->locks[probe->index]->hold,
                        probe_next);
    } else {
        probe->lease_ms = probe->shortest_ms;
        probe->then(request, status);
    }
}

static void inspect(ilk__request *request, ilk__probe *probe,
                    ilk__request_then *then)
{
    const ilk_lock_many *many = (const ilk_lock_many *)probe->hold;

    probe->index = 0;
    probe->shortest_ms = INT64_MAX;
    probe->then = then;
    ilk__hold_probe(request, probe, &many->locks[0]->hold, probe_next);
}

static void end_waits(ilk__hold *hold)
{
    ilk_lock_many *many = (ilk_lock_many *)hold;

    atomic_store(&many->cancelled, 1);
    ilk__hold_cancel_confirmation(hold);
    for (size_t i = 0; i < many->count; i++)
        ilk__waiter_cancel(&many->locks[i]->hold.waiter);
}

/* Each name has a wait queue of its own, and no other command cancels. */
static void give_back(ilk__hold *hold)
{
    const ilk_lock_many *many = (const ilk_lock_many *)hold;

    for (size_t i = 0; i < many->count; i++)
        ilk__give_back_token(hold->handle.client->shared,
                             &many->locks[i]->hold.wait_queue,
                             hold->lease.token);
}

static const ilk__op_type many_release = ILK__HOLD_RELEASE(MANY_RELEASE),
                          many_extend = ILK__HOLD_EXTEND(MANY_EXTEND);

static const ilk__hold_kind lock_many = {
    .lease = {.noun = "lock",
              .lost_notification = ILK_NOTIFICATION_LOCK_LOST,
              .extend = &many_extend,
              .sends_fence = 1},
    .release = &many_release,
    .bind = bind,
    .run_acquire = ilk__lock_many_acquire,
    .drop_kept = ilk__lock_many_give_back,
    .give_back = give_back,
    .cancel_acquire = end_waits,
    .unconfirmed = ilk__lock_many_unconfirmed,
    .probe = inspect,
};

/* ---- handles ------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const ilk__bytes *x = &(*(ilk_lock *const *)a)->hold.keys[0];
    const ilk__bytes *y = &(*(ilk_lock *const *)b)->hold.keys[0];
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void sort_and_unite(ilk_lock_many *many)
{
    size_t kept = 0;

    qsort(many->locks, many->count, sizeof *many->locks, by_name);
    for (size_t i = 0; i < many->count; i++)
        if (kept && by_name(&many->locks[kept - 1], &many->locks[i]) == 0)
            ilk_lock_free(many->locks[i]);
        else
            many->locks[kept++] = many->locks[i];
    many->count = kept;
    for (size_t i = 0; i < kept; i++)
        memcpy(&many->hold.keys[i * ILK__LOCK_KEYS], many->locks[i]->hold.keys,
               ILK__LOCK_KEYS * sizeof *many->hold.keys);
    many->hold.key_count = kept * ILK__LOCK_KEYS;
}

static void dispose(ilk_lock_many *many, ilk__bytes *keys)
{
    for (size_t i = 0; many->locks && i < many->count; i++)
        ilk_lock_free(many->locks[i]);
    ilk__free(many->locks);
    ilk__free(keys);
    ilk__free(many);
}

static ilk_status open_all(ilk_lock_many *many, ilk_client *client,
                           const void *const *names, const size_t *name_lens,
                           size_t count, const ilk_lock_opts *opts,
                           ilk_error *err)
{
    ilk__hold_opts hold_opts;

    many->locks = ilk__calloc(count, sizeof *many->locks);
    if (!many->locks)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (; many->count < count; many->count++) {
        ilk_status st = ilk__lock_new(&many->locks[many->count], client,
                                      &ilk__lock_of_many, names[many->count],
                                      name_lens[many->count], opts, err);
        if (st)
            return st;
    }
    if (many->locks[0]->opts.layout != ILK_LAYOUT_PLAIN)
        return ilk__fail(err, ILK_EINVAL,
                         "a lock over many names has the plain layout only");
    sort_and_unite(many);
    hold_opts = ilk__lock_hold_opts(&many->locks[0]->opts);
    return ilk__hold_open(&many->hold, client, &lock_many, &hold_opts, NULL, 0,
                          err);
}

ilk_status ilk_lock_many_open(ilk_lock_many **out, ilk_client *client,
                              const void *const *names, const size_t *name_lens,
                              size_t count, const ilk_lock_opts *opts,
                              ilk_error *err)
{
    ilk_lock_many *many;
    ilk__bytes *keys;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_MANY, err);
    if (st)
        return st;
    if (!names || !name_lens || count < 1 || count > ILK_MANY_MAX)
        return ilk__fail(err, ILK_EINVAL, "1 to %d names are needed, got %zu",
                         ILK_MANY_MAX, names && name_lens ? count : 0);
    many = ilk__calloc(1, sizeof *many);
    keys = ilk__calloc(count * ILK__LOCK_KEYS, sizeof *keys);
    if (!many || !keys) {
        ilk__free(many);
        ilk__free(keys);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    many->hold.keys = keys;
    st = open_all(many, client, names, name_lens, count, opts, err);
    if (st)
        dispose(many, keys);
    else
        *out = many;
    return st;
}

void ilk_lock_many_free(ilk_lock_many *many)
{
    ilk__bytes *keys;

    if (!many)
        return;
    keys = many->hold.keys;
    ilk__hold_close(&many->hold);
    dispose(many, keys);
}

/* ---- requests ----------------------------------------------------------- */

static ilk_status no_many(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "many must not be NULL");
}

ilk_status ilk_lock_many_acquire(ilk_lock_many *many, int64_t timeout_ms,
                                 ilk_error *err)
{
    return many ? ilk__hold_acquire(&many->hold, timeout_ms, 0, err)
                : no_many(err);
}

ilk_status ilk_lock_many_cancel(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st;
    int is_mine;

    if (!many)
        return no_many(err);
    st = ilk__handle_check(&many->hold.handle, &is_mine, err);
    if (!is_mine)
        return st;
    atomic_store(&many->cancelled, 1);
    st = ilk__hold_enter_request(&many->hold, NULL);
    if (st == ILK_OK)
        ilk__hold_leave(&many->hold);
    else
        end_waits(&many->hold);
    return ILK_OK;
}

ilk_status ilk_lock_many_release(ilk_lock_many *many, ilk_error *err)
{
    return many ? ilk__hold_release(&many->hold, err) : no_many(err);
}

ilk_status ilk_lock_many_extend(ilk_lock_many *many, int64_t ttl_ms,
                                ilk_error *err)
{
    return many ? ilk__hold_extend(&many->hold, ttl_ms, err) : no_many(err);
}

ilk_status ilk_lock_many_check(ilk_lock_many *many, ilk_error *err)
{
    return many ? ilk__hold_check(&many->hold, err) : no_many(err);
}

/* ---- started ------------------------------------------------------------ */

ilk_status ilk_lock_many_acquire_start(ilk_op **out, ilk_lock_many *many,
                                       int64_t timeout_ms, ilk_error *err)
{
    return many ? ilk__hold_acquire_start(out, &many->hold, timeout_ms, 0, err)
                : ilk__started_none(out, no_many(err));
}

ilk_status ilk_lock_many_release_start(ilk_op **out, ilk_lock_many *many,
                                       ilk_error *err)
{
    return many ? ilk__hold_release_start(out, &many->hold, err)
                : ilk__started_none(out, no_many(err));
}

ilk_status ilk_lock_many_extend_start(ilk_op **out, ilk_lock_many *many,
                                      int64_t ttl_ms, ilk_error *err)
{
    return many ? ilk__hold_extend_start(out, &many->hold, ttl_ms, err)
                : ilk__started_none(out, no_many(err));
}

ilk_status ilk_lock_many_check_start(ilk_op **out, ilk_lock_many *many,
                                     ilk_error *err)
{
    return many ? ilk__hold_check_start(out, &many->hold, err)
                : ilk__started_none(out, no_many(err));
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_lock_many_remaining_ms(const ilk_lock_many *many)
{
    return many ? ilk__hold_remaining_ms(&many->hold) : 0;
}

int32_t ilk_lock_many_held(const ilk_lock_many *many)
{
    return many ? ilk__hold_held(&many->hold) : 0;
}

int64_t ilk_lock_many_fence(const ilk_lock_many *many)
{
    return many ? atomic_load(&many->hold.lease.fence) : 0;
}

const char *ilk_lock_many_token(const ilk_lock_many *many)
{
    return many ? many->hold.lease.token : "";
}

int64_t ilk_lock_many_id(const ilk_lock_many *many)
{
    return many ? many->hold.id : 0;
}
