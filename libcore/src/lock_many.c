/* SPDX-License-Identifier: MIT */
/* lock_many.c -- one lock over many names: handles and verbs. */
#include "lock_many.h"
#include "alloc.h"
#include "clock.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* ---- handles ------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const ilk__bytes *x = &(*(ilk_lock *const *)a)->keys[0];
    const ilk__bytes *y = &(*(ilk_lock *const *)b)->keys[0];
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
        memcpy(&many->keys[i * ILK__LOCK_KEYS], many->locks[i]->keys,
               sizeof many->locks[i]->keys);
}

static ilk_status bind_to_desk(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st;

    memset(&many->lease, 0, sizeof many->lease);
    many->id = ilk__desk_new_id(many->client->desk);
    many->depth = 0;
    many->parked = 0;
    st = ilk__lease_init(&many->lease, many->client->desk, &ilk__many_extend_op,
                         many->keys, many->count * ILK__LOCK_KEYS, many->id,
                         err);
    many->lease.tells_fence = 1;
    many->era = many->client->era;
    return st;
}

static void dispose(ilk_lock_many *many)
{
    for (size_t i = 0; many->locks && i < many->count; i++)
        ilk_lock_free(many->locks[i]);
    ilk__free(many->locks);
    ilk__free(many->keys);
    ilk__client_unref(many->client);
    ilk__free(many);
}

static ilk_status open_all(ilk_lock_many *many, const void *const *names,
                           const size_t *name_lens, size_t count,
                           const ilk_lock_opts *opts, ilk_error *err)
{
    many->locks = ilk__calloc(count, sizeof *many->locks);
    many->keys = ilk__calloc(count * ILK__LOCK_KEYS, sizeof *many->keys);
    if (!many->locks || !many->keys)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (; many->count < count; many->count++) {
        ilk_status st = ilk__lock_new(&many->locks[many->count], many->client,
                                      &ilk__lock_plain, names[many->count],
                                      name_lens[many->count], opts, err);
        if (st)
            return st;
    }
    many->opts = many->locks[0]->opts;
    if (many->opts.layout != ILK_LAYOUT_PLAIN)
        return ilk__fail(err, ILK_EINVAL,
                         "a lock over many names has the plain layout only");
    sort_and_unite(many);
    many->line = (ilk__line){.keys = many->keys,
                             .key_count = many->count * ILK__LOCK_KEYS};
    return bind_to_desk(many, err);
}

ilk_status ilk_lock_many_open(ilk_lock_many **out, ilk_client *client,
                              const void *const *names, const size_t *name_lens,
                              size_t count, const ilk_lock_opts *opts,
                              ilk_error *err)
{
    ilk_lock_many *many;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    if (!names || !name_lens || count < 1 || count > ILK_MANY_MAX)
        return ilk__fail(err, ILK_EINVAL, "1 to %d names are needed, got %zu",
                         ILK_MANY_MAX, names && name_lens ? count : 0);
    many = ilk__calloc(1, sizeof *many);
    if (!many)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    many->client = ilk__client_ref(client);
    st = open_all(many, names, name_lens, count, opts, err);
    if (st) {
        dispose(many);
        return st;
    }
    *out = many;
    return ILK_OK;
}

void ilk_lock_many_free(ilk_lock_many *many)
{
    if (!many)
        return;
    if (!ilk__client_is_forked(many->client) && many->era == many->client->era)
        ilk__lease_destroy(&many->lease);
    dispose(many);
}

/* The client was reopened after a fork: what was held is the parent's. */
static ilk_status bind_again(ilk_lock_many *many, ilk_error *err)
{
    int was_free = many->lease.state == ILK__LEASE_FREE && !many->parked;
    ilk_status st = ILK_OK;

    for (size_t i = 0; i < many->count && st == ILK_OK; i++)
        st = ilk__lock_bind(many->locks[i], err);
    if (st == ILK_OK)
        st = bind_to_desk(many, err);
    if (st == ILK_OK && !was_free)
        st = ilk__fail(err, ILK_EFORKED, "the lock is the parent process'");
    return st;
}

static ilk_status enter(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st;

    if (!many)
        return ilk__fail(err, ILK_EINVAL, "many must not be NULL");
    st = ilk__client_enter_handle(many->client, &many->busy, many->era, err);
    if (st || many->era == many->client->era)
        return st;
    st = bind_again(many, err);
    if (st)
        atomic_store(&many->busy, 0);
    return st;
}

/* ---- acquiring ---------------------------------------------------------- */

ilk_status ilk_lock_many_acquire(ilk_lock_many *many, int64_t timeout_ms,
                                 ilk_error *err)
{
    ilk_status st = enter(many, err);

    if (st)
        return st;
    if (ilk_lock_many_held(many)) {
        if (many->opts.flags & ILK_LOCK_REENTRANT)
            many->depth++;
        else
            st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    } else {
        ilk__lease_end(&many->lease);
        st = ilk__lock_many_take(many, timeout_ms, err);
    }
    atomic_store(&many->busy, 0);
    return st;
}

/* ---- held --------------------------------------------------------------- */

static ilk_status release(ilk_lock_many *many, ilk_error *err)
{
    ilk__giving giving = {
        .line = &many->line,
        .token = many->lease.token,
        .token_len = many->lease.token_len,
        .sure_until = atomic_load(&many->lease.deadline),
    };
    ilk_status was = ilk__lease_check(&many->lease, err);
    ilk_status st;

    if (was == ILK_ENOTOWNER)
        return was;
    if (was == ILK_OK && many->depth > 1) {
        many->depth--;
        return ILK_OK;
    }
    many->depth = 0;
    ilk__lease_end(&many->lease);
    st = ilk__lock_give(many->client, &ilk__many_release_op, &giving, err);
    if (was && (st == ILK_OK || st == ILK_EUNKNOWN))
        st = ilk__fail(err, was, "the lock was lost before");
    return st;
}

/* Every verb but acquire ends one that a signal left parked. */
static ilk_status enter_verb(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st = enter(many, err);

    if (st == ILK_OK && many->parked)
        ilk__lock_many_give_back(many);
    return st;
}

ilk_status ilk_lock_many_cancel(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st;

    if (!many)
        return ilk__fail(err, ILK_EINVAL, "many must not be NULL");
    st = ilk__client_enter(many->client, err);
    if (st || many->era != many->client->era)
        return st;
    atomic_store(&many->cancelled, 1);
    st = enter_verb(many, NULL);
    if (st == ILK_OK)
        atomic_store(&many->busy, 0);
    else /* a thread is inside: its wait ends */
        for (size_t i = 0; i < many->count; i++)
            ilk__waiter_cancel(&many->locks[i]->waiter);
    return ILK_OK;
}

ilk_status ilk_lock_many_release(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st = enter_verb(many, err);

    if (st)
        return st;
    st = release(many, err);
    atomic_store(&many->busy, 0);
    return st;
}

static ilk_status extend(ilk_lock_many *many, int64_t ttl_ms, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st = ilk__lease_check(&many->lease, err);

    if (st)
        return st;
    ilk__lease_extension(&many->lease, &extension, ttl_ms);
    st = ilk__ask(many->client, &ilk__many_extend_op, &extension,
                  many->client->opts.reply_timeout_ms, err);
    if (st == ILK_OK)
        ilk__lease_prolong(&many->lease, asked_at, extension.ttl_ms);
    else if (st == ILK_ELOST)
        ilk__lease_lose(&many->lease);
    return st;
}

ilk_status ilk_lock_many_extend(ilk_lock_many *many, int64_t ttl_ms,
                                ilk_error *err)
{
    ilk_status st = enter_verb(many, err);

    if (st)
        return st;
    if (ttl_ms == 0)
        ttl_ms = many->opts.ttl_ms;
    st = ilk__lock_check_ttl(ttl_ms, err);
    if (st == ILK_OK)
        st = extend(many, ttl_ms, err);
    atomic_store(&many->busy, 0);
    return st;
}

/* Past the local deadline each name is asked for in turn. */
static ilk_status check(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st = ilk__lease_check(&many->lease, err);
    int64_t left = INT64_MAX, asked_at = ilk__now_ms();

    if (st || ilk_lock_many_held(many))
        return st;
    for (size_t i = 0; i < many->count && st == ILK_OK; i++) {
        int64_t lease_ms = 0;

        st = ilk__lock_ask_hold(many->locks[i], many->lease.token, &lease_ms,
                                err);
        left = ilk__sooner(left, lease_ms);
    }
    if (st == ILK_OK)
        ilk__lease_prolong(&many->lease, asked_at, left);
    else if (st == ILK_ELOST)
        ilk__lease_lose(&many->lease);
    return st;
}

ilk_status ilk_lock_many_check(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st = enter_verb(many, err);

    if (st)
        return st;
    st = check(many, err);
    atomic_store(&many->busy, 0);
    return st;
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_lock_many_remaining_ms(const ilk_lock_many *many)
{
    if (!many || ilk__client_is_forked(many->client)
        || many->era != many->client->era)
        return 0;
    return ilk__lease_remaining(&many->lease);
}

int32_t ilk_lock_many_held(const ilk_lock_many *many)
{
    return ilk_lock_many_remaining_ms(many) > 0;
}

int64_t ilk_lock_many_fence(const ilk_lock_many *many)
{
    return many ? atomic_load(&many->lease.fence) : 0;
}

const char *ilk_lock_many_token(const ilk_lock_many *many)
{
    return many ? many->lease.token : "";
}

int64_t ilk_lock_many_id(const ilk_lock_many *many)
{
    return many ? many->id : 0;
}
