/* SPDX-License-Identifier: MIT */
/*
 * lock_many.c -- one lock over many names, all or none.
 *
 * When all are free and unawaited one script takes them. Otherwise they are
 * taken one by one in byte order, each through its own line and all under
 * one token; then one script sets the common lease and raises every record
 * to the greatest of the fences.
 */
#include "alloc.h"
#include "clock.h"
#include "lock.h"
#include "run.h"

#include <interlock/lock_many.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ilk_lock_many {
    ilk_client *client;
    uint32_t era;
    _Atomic int32_t busy;
    _Atomic int32_t cancelled;
    int64_t id;
    int depth;
    ilk_lock_opts opts;
    size_t count;
    ilk_lock **locks; /* in byte order of their names */
    ilk__bytes *keys; /* all of theirs, borrowed */
    ilk__line line;   /* what a release needs */
    ilk__lease lease;
    char token[ILK__TOKEN_LEN + 1];
};

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
    st = ilk__lease_init(&many->lease, many->client->desk,
                         &ilk__many_extend_op, many->keys,
                         many->count * ILK__LOCK_KEYS, many->id, err);
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
        ilk_status st =
            ilk__lock_new(&many->locks[many->count], many->client,
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
    many->line = (ilk__line){
        .keys = many->keys, .key_count = many->count * ILK__LOCK_KEYS};
    return bind_to_desk(many, err);
}

ilk_status ilk_lock_many_open(ilk_lock_many **out, ilk_client *client,
                              const void *const *names,
                              const size_t *name_lens, size_t count,
                              const ilk_lock_opts *opts, ilk_error *err)
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
    if (!ilk__client_is_forked(many->client) &&
        many->era == many->client->era)
        ilk__lease_destroy(&many->lease);
    dispose(many);
}

static ilk_status enter(ilk_lock_many *many, ilk_error *err)
{
    int32_t idle = 0;
    ilk_status st;

    if (!many)
        return ilk__fail(err, ILK_EINVAL, "many must not be NULL");
    st = ilk__client_enter(many->client, err);
    if (st)
        return st;
    if (!atomic_compare_exchange_strong(&many->busy, &idle, 1))
        return ilk__fail(err, ILK_EHELD,
                         "the handle is in use by another thread");
    if (many->era == many->client->era)
        return ILK_OK;
    if (many->lease.state != ILK__LEASE_FREE)
        st = ilk__fail(err, ILK_EFORKED, "the lock is the parent process'");
    if (bind_to_desk(many, st ? NULL : err) || st)
        atomic_store(&many->busy, 0);
    return st;
}

/* ---- acquiring ---------------------------------------------------------- */

typedef struct taking {
    ilk_lock_many *many;
    int64_t ttl_ms;
    int64_t lease_ms, fence; /* when all were free */
    size_t busy;             /* which was not */
} taking;

static void ask_all(ilk__op *op)
{
    const taking *self = op->subject;
    const ilk_lock_many *many = self->many;

    ilk__script_begin(&op->command, op->type->script, many->line.key_count);
    for (size_t i = 0; i < many->line.key_count; i++)
        ilk__command_add(&op->command, many->keys[i].data, many->keys[i].len);
    ilk__command_add_str(&op->command, many->token);
    ilk__command_add_int(&op->command, self->ttl_ms);
    ilk__command_add_str(&op->command, many->client->desk->label);
    ilk__command_add_int(&op->command, many->lease.fence);
}

static ilk__act took_all(ilk__op *op, const ilk__reply *reply)
{
    taking *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_HELD) {
        self->lease_ms = ilk__script_int(reply, 0);
        self->fence = ilk__script_int(reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    self->busy = (size_t)ilk__script_int(reply, 0);
    if (self->busy >= self->many->count)
        return ilk__op_fail(op, ILK_EREPLY, "many_acquire: no such name");
    return ilk__op_fail(op, ILK_EBUSY, "held elsewhere: \"%.*s\"", 64,
                        self->many->locks[self->busy]->keys[0].data);
}

static const ilk__op_type many_acquire = {
    .name = "many_acquire",
    .script = ILK__SCRIPT_MANY_ACQUIRE,
    .ask = ask_all,
    .reply = took_all,
};

static void hold(ilk_lock_many *many, int64_t asked_at, int64_t lease_ms,
                 int64_t fence)
{
    snprintf(many->lease.token, sizeof many->lease.token, "%s", many->token);
    many->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_begin(&many->lease, fence,
                     ilk__lease_deadline(asked_at, lease_ms), lease_ms);
}

/* Give back what is held under our token, whatever it is. */
static void give_all_back(ilk_lock_many *many)
{
    ilk__giving giving = {.line = &many->line,
                          .token = many->token,
                          .token_len = ILK__TOKEN_LEN};

    for (size_t i = 0; i < many->count; i++) {
        ilk__waiter_cancel(&many->locks[i]->waiter);
        ilk__lease_end(&many->locks[i]->lease);
    }
    (void)ilk__lock_give(many->client, &ilk__many_release_op, &giving, NULL);
}

static ilk_status take_one(ilk_lock_many *many, size_t index, int64_t deadline,
                           int64_t ttl_ms, ilk_error *err)
{
    ilk_lock *lock = many->locks[index];
    ilk_status st;

    if (atomic_load(&many->cancelled))
        return ilk__fail(err, ILK_ECANCELLED, "the wait was cancelled");
    lock->waiter.fixed_token = many->token;
    st = ilk__lock_take(lock, deadline, 0, ttl_ms, err);
    if (st == ILK_OK) /* kept alive while the others are waited for */
        ilk__lease_watch(&lock->lease, ttl_ms, 1, ILK__FOREVER);
    return st;
}

/* All are held, under leases of their own: now under one. */
static ilk_status unite(ilk_lock_many *many, int64_t ttl_ms, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    memcpy(many->lease.token, many->token, sizeof many->token);
    many->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_extension(&many->lease, &extension, ttl_ms);
    for (size_t i = 0; i < many->count; i++)
        if (many->locks[i]->lease.fence > extension.fence)
            extension.fence = many->locks[i]->lease.fence;
    st = ilk__ask(many->client, &ilk__many_extend_op, &extension,
                  many->client->opts.reply_timeout_ms, err);
    if (st)
        return st;
    for (size_t i = 0; i < many->count; i++)
        ilk__lease_end(&many->locks[i]->lease);
    hold(many, asked_at, extension.ttl_ms, extension.fence);
    return ILK_OK;
}

static ilk_status take_each(ilk_lock_many *many, int64_t deadline,
                            int64_t ttl_ms, ilk_error *err)
{
    ilk_status st = ilk__keeper_start(many->client->keeper, err);

    for (size_t i = 0; i < many->count && st == ILK_OK; i++)
        st = take_one(many, i, deadline, ttl_ms, err);
    if (st == ILK_OK)
        st = unite(many, ttl_ms, err);
    if (st)
        give_all_back(many);
    return st;
}

static ilk_status acquire(ilk_lock_many *many, int64_t timeout_ms,
                          ilk_error *err)
{
    const ilk_client_opts *opts = &many->client->opts;
    int renews = !(many->opts.flags & ILK_LOCK_NO_RENEW);
    int64_t deadline = ilk__deadline(timeout_ms);
    int64_t asked_at = ilk__now_ms();
    taking all = {.many = many, .ttl_ms = many->opts.ttl_ms};
    ilk_status st = ilk__token(many->token, ILK__TOKEN_LEN, err);

    if (st == ILK_OK && renews)
        st = ilk__keeper_start(many->client->keeper, err);
    if (st)
        return st;
    atomic_store(&many->cancelled, 0);
    st = ilk__ask(many->client, &many_acquire, &all,
                  timeout_ms > 0 && timeout_ms < opts->reply_timeout_ms
                      ? timeout_ms
                      : opts->reply_timeout_ms,
                  err);
    if (st == ILK_OK)
        hold(many, asked_at, all.lease_ms, all.fence);
    else if (st == ILK_EBUSY && timeout_ms != 0)
        st = take_each(many, deadline, all.ttl_ms, err);
    else if (st == ILK_EUNKNOWN || st == ILK_ETIMEOUT)
        give_all_back(many);
    if (st)
        return st == ILK_EUNKNOWN ? ILK_ECONN : st;
    many->depth = 1;
    if (renews || many->client->desk->events_wanted)
        ilk__lease_watch(&many->lease, all.ttl_ms, renews,
                         many->opts.max_hold_ms
                             ? ilk__deadline(many->opts.max_hold_ms)
                             : ILK__FOREVER);
    return ILK_OK;
}

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
        st = acquire(many, timeout_ms, err);
    }
    atomic_store(&many->busy, 0);
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
    for (size_t i = 0; i < many->count; i++)
        ilk__waiter_cancel(&many->locks[i]->waiter);
    return ILK_OK;
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
    return st == ILK_OK && was ? ilk__fail(err, was, "the lock was lost before")
                               : st;
}

ilk_status ilk_lock_many_release(ilk_lock_many *many, ilk_error *err)
{
    ilk_status st = enter(many, err);

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
    ilk_status st = enter(many, err);

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
    ilk_status st = enter(many, err);

    if (st)
        return st;
    st = check(many, err);
    atomic_store(&many->busy, 0);
    return st;
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_lock_many_remaining_ms(const ilk_lock_many *many)
{
    if (!many || ilk__client_is_forked(many->client) ||
        many->era != many->client->era)
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
