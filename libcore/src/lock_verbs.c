/* SPDX-License-Identifier: MIT */
/* lock_verbs.c -- what can be done with a lock that is held. */
#include "clock.h"
#include "lock.h"
#include "run.h"
#include "watch.h"

#include <stdio.h>
#include <string.h>

/* Every verb but acquire ends a wait that a signal left parked. */
static ilk_status enter(ilk_lock *lock, ilk_error *err)
{
    ilk_status st = ilk__lock_enter(lock, err);

    if (st == ILK_OK && lock->waiter.watch)
        ilk__waiter_cancel(&lock->waiter);
    return st;
}

/* ---- giving up ---------------------------------------------------------- */

enum { SETTLE_TRIES = 100 };

typedef struct settling {
    const ilk__line *line;
    ilk__desk *desk;
    int more;
} settling;

static void ask_settle(ilk__op *op)
{
    const settling *self = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, self->line->keys,
                      self->line->key_count);
    ilk__command_add_str(command, self->desk->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, 0);
}

static ilk__act settled(ilk__op *op, const ilk__reply *reply)
{
    settling *self = op->subject;

    self->more = ilk__script_code(reply) == ILK__CODE_MORE;
    return ilk__op_done(op, ILK_OK);
}

/* The release left the name free at its limit: claim until it is settled.
 * Bounded: what is left then is found by the waiters' own refresh. */
static void settle(ilk_client *client, const ilk__line *line)
{
    settling self = {.line = line, .desk = client->desk, .more = 1};
    ilk__op_type type = {.name = "claim",
                         .script = line->refresh->script,
                         .reads = 1,
                         .ask = ask_settle,
                         .reply = settled};

    for (int i = 0; self.more && i < SETTLE_TRIES; i++)
        if (ilk__ask(client, &type, &self, client->opts.reply_timeout_ms, NULL))
            return;
}

ilk_status ilk__lock_give(ilk_client *client, const ilk__op_type *type,
                          ilk__giving *giving, ilk_error *err)
{
    ilk_status st;
    ilk_error own = {0};
    ilk__parker parker;
    ilk__op op;

    st = ilk__parker_init(&parker, err);
    if (st)
        return st;
    ilk__op_init(&op, type, giving,
                 ilk__deadline(client->opts.reply_timeout_ms),
                 err ? err : &own);
    op.patient = 1;
    st = ilk__run(client, &op, &parker);
    ilk__op_free(&op);
    ilk__parker_destroy(&parker);
    if (st)
        return st;
    if (giving->more && giving->line->refresh)
        settle(client, giving->line);
    if (!giving->denied)
        return ILK_OK;
    return ilk__fail(err, ILK_EAUTH,
                     "released, but this user may not PUBLISH to "
                     "ilk:inbox:* and the next holder was not told");
}

static ilk_status release(ilk_lock *lock, ilk_error *err)
{
    ilk__giving giving = {
        .line = &lock->line,
        .token = lock->lease.token,
        .token_len = lock->lease.token_len,
        .sure_until = atomic_load(&lock->lease.deadline),
    };
    int lost = atomic_load(&lock->lease.state) == ILK__LEASE_LOST;
    ilk_status st = ilk__lease_check(&lock->lease, err);

    if (st == ILK_OK && lock->depth > 1) {
        lock->depth--;
        return ILK_OK;
    }
    if (st && !lost)
        return st;
    lock->depth = 0;
    ilk__lease_end(&lock->lease);
    /* A lost lease may be there still, when only its renewal failed. */
    st = ilk__lock_give(lock->client, lock->kind->release, &giving, err);
    if (lost && (st == ILK_OK || st == ILK_EUNKNOWN))
        st = ilk__fail(err, ILK_ELOST, "the lock was lost before");
    return st;
}

ilk_status ilk_lock_release(ilk_lock *lock, ilk_error *err)
{
    ilk_status st = enter(lock, err);

    if (st)
        return st;
    st = release(lock, err);
    ilk__lock_leave(lock);
    return st;
}

/* ---- extending ---------------------------------------------------------- */

/* Ask for a lease under the token in the handle, and hold it if granted. */
static ilk_status extend_to(ilk_lock *lock, int64_t ttl_ms, int64_t *fence,
                            ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    ilk__lease_extension(&lock->lease, &extension, ttl_ms);
    st = ilk__ask(lock->client, lock->kind->extend, &extension,
                  lock->client->opts.reply_timeout_ms, err);
    if (st)
        return st;
    *fence = extension.fence;
    ilk__lease_prolong(&lock->lease, asked_at, extension.ttl_ms);
    return ILK_OK;
}

ilk_status ilk_lock_extend(ilk_lock *lock, int64_t ttl_ms, ilk_error *err)
{
    int64_t fence;
    ilk_status st = enter(lock, err);

    if (st)
        return st;
    if (ttl_ms == 0)
        ttl_ms = lock->opts.ttl_ms;
    st = ilk__lock_check_ttl(ttl_ms, err);
    if (st == ILK_OK)
        st = ilk__lease_check(&lock->lease, err);
    if (st == ILK_OK) {
        st = extend_to(lock, ttl_ms, &fence, err);
        if (st == ILK_ELOST)
            ilk__lease_lose(&lock->lease);
    }
    ilk__lock_leave(lock);
    return st;
}

/* ---- checking ----------------------------------------------------------- */

typedef struct checking {
    settling question;
    char entry[ILK__ENTRY_MAX];
    size_t entry_len;
    int64_t lease_ms;
} checking;

/* A refresh that names an entry of our token hears how that stands. */
static void ask_check(ilk__op *op)
{
    checking *self = op->subject;

    ask_settle(op);
    op->command.argc--; /* not none but one entry */
    ilk__command_add_int(&op->command, 1);
    ilk__command_add(&op->command, self->entry, self->entry_len);
}

static ilk__act checked(ilk__op *op, const ilk__reply *reply)
{
    checking *self = op->subject;

    if (reply->count != 7)
        return ilk__op_fail(op, ILK_EREPLY, "check: an answer too short");
    if (ilk__script_int(reply, 3) != ILK__CODE_HELD)
        return ilk__op_fail(op, ILK_ELOST, "the lock is no longer ours");
    self->lease_ms = ilk__script_int(reply, 4);
    return ilk__op_done(op, ILK_OK);
}

ilk_status ilk__lock_ask_hold(const ilk_lock *lock, const char *token,
                              int64_t *out_lease_ms, ilk_error *err)
{
    ilk_client *client = lock->client;
    char as = lock->kind->waits_as;
    checking self = {.question = {.line = &lock->line, .desk = client->desk}};
    ilk__op_type type = {.name = "check",
                         .script = lock->kind->refresh->script,
                         .reads = 1,
                         .ask = ask_check,
                         .reply = checked};
    ilk_status st;

    self.entry_len =
        (size_t)snprintf(self.entry, sizeof self.entry, "1 %c %s %c0 %s 1 1 -",
                         as, client->desk->client_id, as, token);
    st = ilk__ask(client, &type, &self, client->opts.reply_timeout_ms, err);
    *out_lease_ms = self.lease_ms;
    return st;
}

static ilk_status check(ilk_lock *lock, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms(), lease_ms = 0;
    ilk_status st = ilk__lease_check(&lock->lease, err);

    if (st || ilk_lock_held(lock))
        return st;
    st = ilk__lock_ask_hold(lock, lock->lease.token, &lease_ms, err);
    if (st == ILK_OK)
        ilk__lease_prolong(&lock->lease, asked_at, lease_ms);
    else if (st == ILK_ELOST)
        ilk__lease_lose(&lock->lease);
    return st;
}

ilk_status ilk_lock_check(ilk_lock *lock, ilk_error *err)
{
    ilk_status st = enter(lock, err);

    if (st)
        return st;
    st = check(lock, err);
    ilk__lock_leave(lock);
    return st;
}

/* ---- handing over ------------------------------------------------------- */

ilk_status ilk_lock_detach(ilk_lock *lock, ilk_error *err)
{
    ilk_status st = enter(lock, err);

    if (st)
        return st;
    st = ilk__lease_check(&lock->lease, err);
    if (st == ILK_OK) {
        lock->depth = 0;
        ilk__lease_end(&lock->lease);
    }
    ilk__lock_leave(lock);
    return st;
}

static ilk_status check_token(const void *token, size_t len, ilk_error *err)
{
    if (!token || len == 0 || len > ILK__TOKEN_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "token must have 1 to %d bytes, got %zu",
                         ILK__TOKEN_MAX, token ? len : 0);
    if (memchr(token, '\0', len))
        return ilk__fail(err, ILK_EINVAL, "token must not contain NUL");
    return ILK_OK;
}

static ilk_status adopt(ilk_lock *lock, const void *token, size_t token_len,
                        ilk_error *err)
{
    ilk__lease *lease = &lock->lease;
    int64_t ttl_ms = lock->opts.ttl_ms;
    int64_t fence = 0;
    ilk_status st = ILK_OK;

    if (!(lock->opts.flags & ILK_LOCK_NO_RENEW))
        st = ilk__keeper_start(lock->client->keeper, err);
    if (st)
        return st;
    ilk__lease_end(lease);
    memcpy(lease->token, token, token_len);
    lease->token[token_len] = '\0';
    lease->token_len = token_len;
    st = extend_to(lock, ttl_ms, &fence, err);
    if (st)
        return st;
    atomic_store(&lease->fence, fence);
    ilk__lock_keep(lock, ttl_ms);
    return ILK_OK;
}

ilk_status ilk_lock_adopt(ilk_lock *lock, const void *token, size_t token_len,
                          ilk_error *err)
{
    ilk_status st = enter(lock, err);

    if (st)
        return st;
    st = check_token(token, token_len, err);
    if (st == ILK_OK && ilk_lock_held(lock))
        st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    if (st == ILK_OK)
        st = adopt(lock, token, token_len, err);
    ilk__lock_leave(lock);
    return st;
}
