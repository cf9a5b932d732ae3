/* SPDX-License-Identifier: MIT */
/* state_names.c -- the table of names, the list of waiters, and their messages. */
#include "state_names.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "contention_internal.h"
#include "gateway/resp.h"
#include "redis/expected_reply.h"
#include "redis/script.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum {
    WAITERS_MOST = 16384, /* of one client */
    UNUSED_MS = 1000,     /* a name is kept */
    KEY_WAIT = 2,         /* among the keys of a request */
    ARG_ENTRY = 0,        /* among the arguments of one that waits */
    ARG_CLIENT = 1,
    ARG_LIVENESS = 2
};

/* One entry, as the core has written it. */
struct ilk__state_waiter {
    ilk__state_waiter *next, *previous;
    ilk__node by_entry;
    ilk__timer timer; /* its client is alive until then */
    ilk__state_name *name;
    ilk__bytes entry, client, wait_key;
    char text[];
};

/* ---- names --------------------------------------------------------------- */

static ilk__state_name *name_of(ilk__node *node)
{
    return (ilk__state_name *)((char *)node
                               - offsetof(ilk__state_name, by_key));
}

static void free_name(ilk__state_name *name)
{
    ilk__state_names *of = name->of;

    of->forget(name);
    ilk__table_remove(&of->by_key, &name->by_key);
    ilk__timer_clear(&of->timers, &name->timer);
    ilk__timers_unreserve(&of->timers);
    ilk__free(name->key.data);
    ilk__free(name);
}

static int is_unused(const ilk__state_name *name)
{
    return !name->requests && !name->waiters;
}

void ilk__state_name_settle(ilk__state_name *name)
{
    if (is_unused(name))
        ilk__timer_set(&name->of->timers, &name->timer,
                       ilk__now_ms() + UNUSED_MS);
}

static void fire_name(ilk__timer *timer, void *context)
{
    ilk__state_name *name =
        (ilk__state_name *)((char *)timer - offsetof(ilk__state_name, timer));
    const ilk__state_names *of = context;

    if (!is_unused(name))
        return;
    if (of->unused)
        of->unused(name);
    free_name(name);
}

/* NULL: no memory. */
static ilk__state_name *new_name(ilk__state_names *of, const ilk__reply *key)
{
    ilk__state_name *name = ilk__calloc(1, of->name_size);

    if (!name)
        return NULL;
    name->key = (ilk__bytes){ilk__memdup(key->str, key->len), key->len};
    name->of = of;
    name->timer.fire = fire_name;
    if (!name->key.data || ilk__timers_reserve(&of->timers, NULL)) {
        ilk__free(name->key.data);
        ilk__free(name);
        return NULL;
    }
    if (ilk__table_add(&of->by_key, &name->by_key, name->key.data,
                       name->key.len)) {
        ilk__timers_unreserve(&of->timers);
        ilk__free(name->key.data);
        ilk__free(name);
        return NULL;
    }
    return name;
}

ilk__state_name *ilk__state_name_find(ilk__state_names *names,
                                      ilk__gateway_request *request)
{
    const ilk__reply *key = request->keys[0];
    ilk__node *node = ilk__table_find(&names->by_key, key->str, key->len);
    ilk__state_name *name = node ? name_of(node) : new_name(names, key);

    if (!name)
        ilk__gateway_break(request);
    return name;
}

/* ---- waiters ------------------------------------------------------------- */

static ilk__state_waiter *find_waiter(const ilk__state_names *of,
                                      ilk__bytes entry)
{
    ilk__node *node = ilk__table_find(&of->by_entry, entry.data, entry.len);

    return node ? (ilk__state_waiter *)((char *)node
                                        - offsetof(ilk__state_waiter, by_entry))
                : NULL;
}

static void remove_waiter(ilk__state_waiter *waiter)
{
    ilk__state_name *name = waiter->name;
    ilk__state_names *of = name->of;

    *(waiter->previous ? &waiter->previous->next : &name->waiters) =
        waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    of->waiter_count--;
    ilk__table_remove(&of->by_entry, &waiter->by_entry);
    ilk__timer_clear(&of->timers, &waiter->timer);
    ilk__timers_unreserve(&of->timers);
    ilk__free(waiter);
    ilk__state_name_settle(name);
}

static void fire_waiter(ilk__timer *timer, void *context)
{
    (void)context;
    remove_waiter((ilk__state_waiter *)((char *)timer
                                        - offsetof(ilk__state_waiter, timer)));
}

static char *copy(ilk__bytes *out, char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
    *out = (ilk__bytes){to, len};
    return to + len;
}

/* NULL: no memory. */
static ilk__state_waiter *new_waiter(ilk__state_name *name, ilk__bytes entry,
                                     ilk__bytes client,
                                     const ilk__reply *wait_key)
{
    ilk__state_names *of = name->of;
    ilk__state_waiter *one =
        ilk__calloc(1, sizeof *one + entry.len + client.len + wait_key->len);
    char *to;

    if (!one)
        return NULL;
    one->name = name;
    one->timer.fire = fire_waiter;
    to = copy(&one->entry, one->text, entry.data, entry.len);
    to = copy(&one->client, to, client.data, client.len);
    (void)copy(&one->wait_key, to, wait_key->str, wait_key->len);
    if (ilk__timers_reserve(&of->timers, NULL)) {
        ilk__free(one);
        return NULL;
    }
    if (ilk__table_add(&of->by_entry, &one->by_entry, one->entry.data,
                       one->entry.len)) {
        ilk__timers_unreserve(&of->timers);
        ilk__free(one);
        return NULL;
    }
    one->next = name->waiters;
    if (one->next)
        one->next->previous = one;
    name->waiters = one;
    of->waiter_count++;
    return one;
}

int ilk__state_waiter_is_named(const ilk__gateway_request *request)
{
    return ilk__gateway_arg(request, ARG_ENTRY).len != 0;
}

int ilk__state_waiter_add(ilk__state_name *name, ilk__gateway_request *request)
{
    ilk__state_names *of = name->of;
    const ilk__bytes entry = ilk__gateway_arg(request, ARG_ENTRY);
    const int64_t liveness_ms = ilk__request_number(request, ARG_LIVENESS, 1);
    ilk__state_waiter *one = find_waiter(of, entry);

    if (liveness_ms < 0 || (one && one->name != name)) {
        ilk__state_misuse(request);
        return 0;
    }
    if (!one && of->waiter_count >= WAITERS_MOST) {
        ilk__gateway_reply_error(request,
                                 "OOM this client has too many waiters");
        return 0;
    }
    if (!one)
        one = new_waiter(name, entry, ilk__gateway_arg(request, ARG_CLIENT),
                         request->keys[KEY_WAIT]);
    if (!one) {
        ilk__gateway_break(request);
        return 0;
    }
    ilk__timer_set(&of->timers, &one->timer, ilk__now_ms() + liveness_ms);
    return 1;
}

void ilk__state_waiter_remove(ilk__state_name *name,
                              const ilk__gateway_request *request)
{
    ilk__state_waiter *one =
        ilk__state_waiter_is_named(request)
            ? find_waiter(name->of, ilk__gateway_arg(request, ARG_ENTRY))
            : NULL;

    if (one)
        remove_waiter(one);
}

/* ---- messages ------------------------------------------------------------ */

/* `1 change <secret> <wait key>` on the inbox of the client, whose argument is
 * `<id>.<secret>`. Without memory no message is sent, and the refresh replies GONE. */
static void send_change(const ilk__state_names *of,
                        const ilk__state_waiter *waiter)
{
    const ilk__span client = {waiter->client.data, waiter->client.len};
    ilk__span secret = client, id = ilk__text_cut(&secret, '.', NULL);
    ilk__buf channel = {0}, message = {0};

    if (!ilk__buf_add(&channel, "ilk:inbox:", 10)
        && !ilk__buf_add(&channel, id.at, id.len)
        && !ilk__buf_add(&message, "1 change ", 9)
        && !ilk__buf_add(&message, secret.at, secret.len)
        && !ilk__buf_add(&message, " ", 1)
        && !ilk__buf_add(&message, waiter->wait_key.data, waiter->wait_key.len))
        (void)ilk__gateway_publish(
            of->gateway, (ilk__span){NULL, 0},
            (ilk__span){ilk__buf_data(&channel), ilk__buf_len(&channel)},
            (ilk__span){ilk__buf_data(&message), ilk__buf_len(&message)});
    ilk__buf_free(&channel);
    ilk__buf_free(&message);
}

static int is_same(ilk__bytes a, ilk__bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* One message wakes all waiters of a client for this name. */
void ilk__state_name_wake(ilk__state_name *name)
{
    while (name->waiters) {
        ilk__state_waiter *next = name->waiters->next;

        if (!next || !is_same(next->client, name->waiters->client))
            send_change(name->of, name->waiters);
        remove_waiter(name->waiters);
    }
}

/* ---- refresh and cancel -------------------------------------------------- */

static void add_int(ilk__buf *reply, int64_t number, int *is_cut)
{
    *is_cut |= ilk__resp_add(reply, ":%" PRId64 "\r\n", number) != ILK_OK;
}

void ilk__state_names_refresh(ilk__state_names *names,
                              ilk__gateway_request *request)
{
    const int64_t liveness_ms = ilk__request_number(request, 1, 1);
    ilk__buf reply = {0};
    int is_cut;

    if (liveness_ms < 0 || request->arg_count < ILK__REFRESH_ENTRIES) {
        ilk__state_misuse(request);
        return;
    }
    is_cut = ilk__resp_add(&reply, "*%zu\r\n",
                           4 + 3 * (request->arg_count - ILK__REFRESH_ENTRIES))
             != ILK_OK;
    add_int(&reply, ilk__reply_head(request->number, ILK__CODE_BUSY), &is_cut);
    add_int(&reply, -1, &is_cut);
    add_int(&reply, ilk__contention_now_us(), &is_cut);
    add_int(&reply, 1, &is_cut);
    for (size_t i = ILK__REFRESH_ENTRIES; i < request->arg_count; i++) {
        ilk__state_waiter *one =
            find_waiter(names, ilk__gateway_arg(request, i));

        if (one)
            ilk__timer_set(&names->timers, &one->timer,
                           ilk__now_ms() + liveness_ms);
        add_int(&reply, one ? ILK__CODE_QUEUED : ILK__CODE_GONE, &is_cut);
        add_int(&reply, 0, &is_cut);
        add_int(&reply, 0, &is_cut);
    }
    if (is_cut)
        ilk__gateway_break(request);
    else
        ilk__gateway_reply_text(request, ilk__buf_data(&reply),
                                ilk__buf_len(&reply));
    ilk__buf_free(&reply);
}

int ilk__state_names_cancel(ilk__state_names *names,
                            ilk__gateway_request *request)
{
    ilk__state_waiter *one =
        find_waiter(names, ilk__gateway_arg(request, ARG_ENTRY));

    if (!one)
        return 0;
    remove_waiter(one);
    ilk__gateway_reply(request, ILK__CODE_GONE, "");
    return 1;
}

void ilk__state_misuse(ilk__gateway_request *request)
{
    ilk__gateway_reply_error(request, "ERR an argument is not a whole number "
                                      "in its range");
}

/* ---- the whole ----------------------------------------------------------- */

void ilk__state_names_free(ilk__state_names *names)
{
    ilk__node *node;
    size_t cursor = 0;

    while ((node = ilk__table_bucket(&names->by_key, &cursor)))
        for (ilk__node *next; node; node = next) {
            ilk__state_name *name = name_of(node);

            next = node->next;
            while (name->waiters)
                remove_waiter(name->waiters);
            free_name(name);
        }
    ilk__table_free(&names->by_key);
    ilk__table_free(&names->by_entry);
    ilk__timers_free(&names->timers);
}

void ilk__state_names_fire(ilk__state_names *names, int64_t now)
{
    ilk__timer *timer;

    while ((timer = ilk__timers_pop(&names->timers, now)))
        timer->fire(timer, names);
}
