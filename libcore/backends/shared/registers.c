/* SPDX-License-Identifier: MIT */
/* registers.c -- the requests about registers, their replies, and the waiters. */
#include "registers.h"

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
    UNUSED_MS = 1000,     /* a name is kept, and watched */
    KEY_WAIT = 2          /* among the keys of a request */
};

/* One entry, as the core has written it. */
struct ilk__register_waiter {
    ilk__register_waiter *next, *previous;
    ilk__node by_entry;
    ilk__timer timer; /* its client is alive until then */
    ilk__register_name *name;
    ilk__bytes entry, client, wait_key;
    char text[];
};

struct ilk__registers {
    ilk__gateway *gateway;
    const ilk__register_store *store;
    void *self;
    ilk__table names, waiters;
    ilk__timers timers;
    size_t waiter_count;
};

/* ---- names --------------------------------------------------------------- */

static ilk__register_name *name_of(ilk__node *node)
{
    return (ilk__register_name *)((char *)node
                                  - offsetof(ilk__register_name, by_key));
}

static void free_name(ilk__register_name *name)
{
    ilk__registers *of = name->of;

    of->store->forget_name(of->self, name);
    ilk__table_remove(&of->names, &name->by_key);
    ilk__timer_clear(&of->timers, &name->timer);
    ilk__timers_unreserve(&of->timers);
    ilk__free(name);
}

static int is_unused(const ilk__register_name *name)
{
    return !name->requests && !name->waiters;
}

static void settle(ilk__register_name *name)
{
    if (is_unused(name))
        ilk__timer_set(&name->of->timers, &name->timer,
                       ilk__now_ms() + UNUSED_MS);
}

static void fire_name(ilk__timer *timer, void *context)
{
    ilk__register_name *name =
        (ilk__register_name *)((char *)timer
                               - offsetof(ilk__register_name, timer));
    const ilk__registers *of = context;

    if (!is_unused(name))
        return;
    if (name->is_watched)
        (void)of->store->watch(of->self, name, 0);
    free_name(name);
}

/* NULL: no memory. */
static ilk__register_name *find_name(ilk__registers *of, const ilk__reply *key)
{
    ilk__node *node = ilk__table_find(&of->names, key->str, key->len);
    ilk__register_name *name;

    if (node)
        return name_of(node);
    name = ilk__calloc(1, sizeof *name + key->len + 1);
    if (!name)
        return NULL;
    memcpy(name->text, key->str, key->len);
    name->key = (ilk__bytes){name->text, key->len};
    name->of = of;
    name->timer.fire = fire_name;
    if (ilk__timers_reserve(&of->timers, NULL)) {
        ilk__free(name);
        return NULL;
    }
    if (ilk__table_add(&of->names, &name->by_key, name->text, key->len)) {
        ilk__timers_unreserve(&of->timers);
        ilk__free(name);
        return NULL;
    }
    return name;
}

/* ---- waiters ------------------------------------------------------------- */

static ilk__register_waiter *find_waiter(const ilk__registers *of,
                                         ilk__bytes entry)
{
    ilk__node *node = ilk__table_find(&of->waiters, entry.data, entry.len);

    return node ? (ilk__register_waiter *)((char *)node
                                           - offsetof(ilk__register_waiter,
                                                      by_entry))
                : NULL;
}

static void remove_waiter(ilk__register_waiter *waiter)
{
    ilk__register_name *name = waiter->name;
    ilk__registers *of = name->of;

    *(waiter->previous ? &waiter->previous->next : &name->waiters) =
        waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    of->waiter_count--;
    ilk__table_remove(&of->waiters, &waiter->by_entry);
    ilk__timer_clear(&of->timers, &waiter->timer);
    ilk__timers_unreserve(&of->timers);
    ilk__free(waiter);
    settle(name);
}

static void fire_waiter(ilk__timer *timer, void *context)
{
    (void)context;
    remove_waiter(
        (ilk__register_waiter *)((char *)timer
                                 - offsetof(ilk__register_waiter, timer)));
}

static char *copy(ilk__bytes *out, char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
    *out = (ilk__bytes){to, len};
    return to + len;
}

/* NULL: no memory. */
static ilk__register_waiter *new_waiter(ilk__register_name *name,
                                        ilk__bytes entry, ilk__bytes client,
                                        const ilk__reply *wait_key)
{
    ilk__registers *of = name->of;
    ilk__register_waiter *one =
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
    if (ilk__table_add(&of->waiters, &one->by_entry, one->entry.data,
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

/* ---- replies and messages ------------------------------------------------ */

static void add_int(ilk__buf *reply, int64_t number, int *is_cut)
{
    *is_cut |= ilk__resp_add(reply, ":%" PRId64 "\r\n", number) != ILK_OK;
}

/* `1 change <secret> <wait key>` on the inbox of the client, which is `<id>.<secret>`
 * there. Without memory the refresh finds the waiter GONE. */
static void send_change(const ilk__registers *of,
                        const ilk__register_waiter *waiter)
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
void ilk__register_has_changed(ilk__register_name *name)
{
    while (name->waiters) {
        ilk__register_waiter *next = name->waiters->next;

        if (!next || !is_same(next->client, name->waiters->client))
            send_change(name->of, name->waiters);
        remove_waiter(name->waiters);
    }
}

/* ---- requests ------------------------------------------------------------ */

enum {
    WAIT_ENTRY = ILK__REGISTER_WAIT_ENTRY,
    WAIT_CLIENT = ILK__REGISTER_WAIT_CLIENT,
    WAIT_LIVENESS = ILK__REGISTER_WAIT_LIVENESS,
    WAIT_KNOWN = ILK__REGISTER_WAIT_KNOWN
};

static void read(ilk__register_name *name, ilk__gateway_request *request)
{
    name->requests++;
    name->of->store->read(name->of->self, name, request);
}

/* 0 after a reply. */
static int list(ilk__register_name *name, ilk__gateway_request *request)
{
    ilk__registers *of = name->of;
    const ilk__bytes entry = ilk__request_arg(request, WAIT_ENTRY);
    const int64_t liveness_ms = ilk__request_number(request, WAIT_LIVENESS, 1);
    ilk__register_waiter *one = find_waiter(of, entry);

    if (liveness_ms < 0 || (one && one->name != name)) {
        ilk__register_reply_misuse(request);
        return 0;
    }
    if (!one && of->waiter_count >= WAITERS_MOST) {
        ilk__gateway_reply_error(request, "OOM this client has too many "
                                          "waiters for registers");
        return 0;
    }
    if (!one)
        one = new_waiter(name, entry, ilk__request_arg(request, WAIT_CLIENT),
                         request->keys[KEY_WAIT]);
    if (!one) {
        ilk__gateway_break(request);
        return 0;
    }
    ilk__timer_set(&of->timers, &one->timer, ilk__now_ms() + liveness_ms);
    return 1;
}

static void wait_for(ilk__register_name *name, ilk__gateway_request *request)
{
    const ilk__registers *of = name->of;

    if (ilk__request_number(request, WAIT_KNOWN, 0) < 0) {
        ilk__register_reply_misuse(request);
        return;
    }
    if (ilk__request_arg(request, WAIT_ENTRY).len) {
        if (!name->is_watched && of->store->watch(of->self, name, 1)) {
            ilk__gateway_break(request);
            return;
        }
        name->is_watched = 1;
        if (!list(name, request))
            return;
    }
    read(name, request);
}

static void change(ilk__register_name *name, ilk__gateway_request *request)
{
    ilk__register_change wanted;

    if (!ilk__register_read_change(&wanted, request))
        return;
    name->requests++;
    name->of->store->change(name->of->self, name, &wanted, request);
}

static void refresh(ilk__registers *of, ilk__gateway_request *request)
{
    const int64_t liveness_ms = ilk__request_number(request, 1, 1);
    ilk__buf reply = {0};
    int is_cut;

    if (liveness_ms < 0 || request->arg_count < ILK__REFRESH_ENTRIES) {
        ilk__register_reply_misuse(request);
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
        ilk__register_waiter *one =
            find_waiter(of, ilk__request_arg(request, i));

        if (one)
            ilk__timer_set(&of->timers, &one->timer,
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

static void cancel(const ilk__registers *of, ilk__gateway_request *request)
{
    ilk__register_waiter *one = find_waiter(of, ilk__request_arg(request, 0));

    if (one)
        remove_waiter(one);
    ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

static void call_for_name(ilk__registers *of, ilk__gateway_request *request)
{
    ilk__register_name *name = find_name(of, request->keys[0]);

    if (!name) {
        ilk__gateway_break(request);
        return;
    }
    switch (request->script) {
    case ILK__SCRIPT_REGISTER_GET: read(name, request); break;
    case ILK__SCRIPT_REGISTER_SET:
    case ILK__SCRIPT_REGISTER_DELETE: change(name, request); break;
    default: wait_for(name, request); break;
    }
    settle(name);
}

int ilk__registers_call(ilk__registers *registers,
                        ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_REGISTER_GET:
    case ILK__SCRIPT_REGISTER_SET:
    case ILK__SCRIPT_REGISTER_DELETE:
    case ILK__SCRIPT_REGISTER_WAIT: call_for_name(registers, request); return 1;
    case ILK__SCRIPT_STATE_REFRESH: refresh(registers, request); return 1;
    case ILK__SCRIPT_STATE_CANCEL: cancel(registers, request); return 1;
    default: return 0;
    }
}

/* ---- reports ------------------------------------------------------------- */

static void reply_wait(ilk__register_name *name, ilk__gateway_request *request,
                       const ilk__register_state *state)
{
    const ilk__bytes entry = ilk__request_arg(request, WAIT_ENTRY);
    ilk__register_waiter *one = entry.len ? find_waiter(name->of, entry) : NULL;

    if (state->version == ilk__request_number(request, WAIT_KNOWN, 0)) {
        ilk__register_reply_waits(request, entry.len != 0);
        return;
    }
    if (one)
        remove_waiter(one);
    ilk__register_reply_state(request, state);
}

void ilk__register_was_read(ilk__register_name *name,
                            ilk__gateway_request *request,
                            const ilk__register_state *state, const char *error)
{
    name->requests--;
    if (error)
        ilk__gateway_reply_error(request, error);
    else if (request->script == ILK__SCRIPT_REGISTER_WAIT)
        reply_wait(name, request, state);
    else
        ilk__register_reply_state(request, state);
    settle(name);
}

/* has_changed() notifies those who wait, by the store's watch. */
static const ilk__register_notice nobody;

void ilk__register_was_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version,
                               ilk__register_doubt doubt)
{
    name->requests--;
    ilk__register_reply_changed(request, version, doubt, nobody);
    settle(name);
}

void ilk__register_had_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version)
{
    name->requests--;
    ilk__register_reply_had_changed(request, version, nobody);
    settle(name);
}

void ilk__register_was_refused(ilk__register_name *name,
                               ilk__gateway_request *request,
                               const ilk__register_state *state,
                               ilk__register_doubt doubt)
{
    name->requests--;
    ilk__register_reply_refused(request, state, doubt);
    settle(name);
}

void ilk__register_change_failed(ilk__register_name *name,
                                 ilk__gateway_request *request,
                                 const char *error)
{
    name->requests--;
    if (error)
        ilk__gateway_reply_error(request, error);
    else
        ilk__gateway_break(request);
    settle(name);
}

/* ---- the whole ----------------------------------------------------------- */

ilk__registers *ilk__registers_new(ilk__gateway *gateway,
                                   const ilk__register_store *store, void *self)
{
    ilk__registers *registers = ilk__calloc(1, sizeof *registers);

    if (registers) {
        registers->gateway = gateway;
        registers->store = store;
        registers->self = self;
    }
    return registers;
}

void ilk__registers_free(ilk__registers *registers)
{
    ilk__node *node;
    size_t cursor = 0;

    if (!registers)
        return;
    while ((node = ilk__table_bucket(&registers->names, &cursor)))
        for (ilk__node *next; node; node = next) {
            ilk__register_name *name = name_of(node);

            next = node->next;
            while (name->waiters)
                remove_waiter(name->waiters);
            free_name(name);
        }
    ilk__table_free(&registers->names);
    ilk__table_free(&registers->waiters);
    ilk__timers_free(&registers->timers);
    ilk__free(registers);
}

int64_t ilk__registers_due(const ilk__registers *registers)
{
    return ilk__timers_next(&registers->timers);
}

void ilk__registers_fire(ilk__registers *registers, int64_t now)
{
    ilk__timer *timer;

    while ((timer = ilk__timers_pop(&registers->timers, now)))
        timer->fire(timer, registers);
}
