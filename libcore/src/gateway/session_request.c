/* SPDX-License-Identifier: MIT */
/*
 * session_request.c -- a script's call, from its arrival to the backend's reply.
 *
 * Requests wait for others in two cases, and are given to the backend in the
 * order of their arrival otherwise:
 *
 *     for the reply to an earlier one with the same token, on any connection: the
 *     core sends a cancel behind an acquire without a reply, over the same or
 *     another connection, and relies on their order
 *     for an earlier one of the same connection with a key in common, until it has
 *     begun, or, if the backend does not keep_order, until it has its reply: the core
 *     sends an acquire behind a release whose reply it does not wait for. Requests
 *     about two members of one group need no such order, with which a thousand
 *     members would be renewed one after another
 *
 * A request that has begun stays in this order also when its connection is closed:
 * then those of all connections with a key in common wait for its reply, unless the
 * backend keeps_order, because one of them may be its copy. One that has not begun is
 * dropped, and so cannot be executed late.
 */
#include "gateway_internal.h"

#include "base/alloc.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "resp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_MAX = 200 };

void ilk__session_request_free(ilk__session_request *request)
{
    ilk__reply_free(request->command);
    ilk__buf_free(&request->reply);
    ilk__free(request);
}

/* ---- whose turn it is --------------------------------------------------- */

static int is_about_member(const ilk__gateway_request *request)
{
    return request->script == ILK__SCRIPT_GROUP_JOIN
           || request->script == ILK__SCRIPT_GROUP_RENEW
           || request->script == ILK__SCRIPT_GROUP_UPDATE
           || request->script == ILK__SCRIPT_GROUP_LEAVE;
}

typedef struct key_range {
    size_t first, count;
} key_range;

/* Those keys that decide on the order. */
static key_range keys_of(const ilk__backend *backend,
                         const ilk__gateway_request *request)
{
    key_range all = {0, request->key_count};

    if (backend->ordered_keys)
        backend->ordered_keys(request, &all.first, &all.count);
    return all;
}

static int have_common_key(const ilk__backend *backend,
                           const ilk__gateway_request *a,
                           const ilk__gateway_request *b)
{
    const key_range of_a = keys_of(backend, a), of_b = keys_of(backend, b);

    if (is_about_member(a) && is_about_member(b))
        return 0; /* the token decides */
    for (size_t i = 0; i < of_a.count; i++)
        for (size_t j = 0; j < of_b.count; j++) {
            const ilk__reply *one = a->keys[of_a.first + i],
                             *other = b->keys[of_b.first + j];

            if (one->len == other->len
                && memcmp(one->str, other->str, one->len) == 0)
                return 1;
        }
    return 0;
}

/* Whether it must wait for an earlier request of its connection, or of a connection
 * that is closed. */
static int is_behind(const ilk__session_request *request)
{
    const ilk__backend *backend = request->gateway->backend;
    int keeps_order = backend->keeps_order;
    ilk__request_state passed =
        keeps_order ? ILK__REQUEST_BEGUN : ILK__REQUEST_REPLIED;
    const ilk__session_request *one = request->gateway->orphans;

    for (; one && !keeps_order; one = one->next)
        if (have_common_key(backend, &one->call, &request->call))
            return 1;
    one = request->session->first;
    if (keeps_order && request->session->waiting_count == 1) /* only itself */
        return 0;
    for (; one != request; one = one->next)
        if (one->state < passed
            && have_common_key(backend, &one->call, &request->call))
            return 1;
    return 0;
}

void ilk__session_request_again(ilk__session_request *request)
{
    ilk__gateway *gateway = request->gateway;

    request->next_ready = NULL;
    if (gateway->last_ready)
        gateway->last_ready->next_ready = request;
    else
        gateway->ready = request;
    gateway->last_ready = request;
}

static void make_ready(ilk__session_request *request)
{
    request->state = ILK__REQUEST_BEGUN;
    request->session->waiting_count--;
    ilk__session_request_again(request);
}

static void try_to_begin(ilk__session_request *request)
{
    if (request->state == ILK__REQUEST_WAITS && !request->session->broken
        && (!request->queue || request->queue->first == request)
        && !is_behind(request))
        make_ready(request);
}

/* One of them has begun or has its reply, so others may begin. */
static void try_others(const ilk__session *session)
{
    for (ilk__session_request *one = session->first;
         one && session->waiting_count; one = one->next)
        try_to_begin(one);
}

static const ilk__reply *token_of(const ilk__gateway_request *request)
{
    int index = request->script == ILK__SCRIPT_NONE
                    ? 0
                    : ilk__scripts[request->script].token;

    if (index == 0 || (size_t)index > request->arg_count
        || request->args[index - 1]->len == 0)
        return NULL;
    return request->args[index - 1];
}

static ilk__request_queue *queue_of(ilk__gateway *gateway,
                                    const ilk__reply *token)
{
    ilk__node *node = ilk__table_find(&gateway->tokens, token->str, token->len);
    ilk__request_queue *queue;

    if (node)
        return (ilk__request_queue *)((char *)node
                                      - offsetof(ilk__request_queue, node));
    queue = ilk__calloc(1, sizeof *queue + token->len);
    if (!queue)
        return NULL;
    memcpy(queue->token, token->str, token->len);
    if (ilk__table_add(&gateway->tokens, &queue->node, queue->token,
                       token->len)) {
        ilk__free(queue);
        return NULL;
    }
    return queue;
}

/* Behind those with the same token. */
static void append(ilk__request_queue *queue, ilk__session_request *request)
{
    request->queue = queue;
    if (queue->last)
        queue->last->behind = request;
    else
        queue->first = request;
    queue->last = request;
}

static void remove_from_queue(ilk__session_request *request)
{
    ilk__request_queue *queue = request->queue;
    ilk__session_request **link = &queue->first, *before = NULL;

    while (*link != request) {
        before = *link;
        link = &before->behind;
    }
    *link = request->behind;
    if (queue->last == request)
        queue->last = before;
    request->queue = NULL;
    if (queue->first) {
        ilk__session *session = queue->first->session;

        try_to_begin(queue->first);
        if (session)
            try_others(session);
        return;
    }
    ilk__table_remove(&request->gateway->tokens, &queue->node);
    ilk__free(queue);
}

void ilk__session_request_begin(ilk__session_request *request)
{
    const ilk__reply *token = token_of(&request->call);
    ilk__request_queue *queue =
        token ? queue_of(request->gateway, token) : NULL;

    if (token && !queue) {
        request->session->broken = 1;
        return;
    }
    if (queue)
        append(queue, request);
    request->state = ILK__REQUEST_WAITS;
    request->session->waiting_count++;
    try_to_begin(request);
}

static int needs_contact(const ilk__session_request *request)
{
    const ilk__backend *backend = request->gateway->backend;

    return !request->has_contact && backend->contact && backend->replies_alone
           && backend->replies_alone(&request->call);
}

static void run(ilk__gateway *gateway, ilk__session_request *request)
{
    const ilk__backend *backend = gateway->backend;

    if (request->call.script == ILK__SCRIPT_NONE)
        backend->command(gateway->store, &request->call);
    else if (needs_contact(request))
        backend->contact(gateway->store, &request->call);
    else
        backend->call(gateway->store, &request->call);
}

void ilk__gateway_run_ready(ilk__gateway *gateway)
{
    ilk__session_request *request;

    while ((request = gateway->ready)) {
        gateway->ready = request->next_ready;
        if (!gateway->ready)
            gateway->last_ready = NULL;
        run(gateway, request);
    }
}

/* ---- the end ------------------------------------------------------------ */

/* An orphan has its reply: whatever waited for it may begin. */
static void bury(ilk__session_request *request)
{
    ilk__gateway *gateway = request->gateway;
    ilk__session_request **link = &gateway->orphans;

    while (*link != request)
        link = &(*link)->next;
    *link = request->next;
    ilk__session_request_free(request);
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i])
            try_others(gateway->sessions[i]);
}

void ilk__session_request_done(ilk__session_request *request)
{
    request->state = ILK__REQUEST_REPLIED;
    if (request->queue)
        remove_from_queue(request);
    if (request->session)
        try_others(request->session);
    else
        bury(request);
}

/* First mark all of them, so that none begins when another one leaves its queue. */
void ilk__session_request_orphan_all(ilk__session_request *first)
{
    for (ilk__session_request *one = first; one; one = one->next) {
        one->session = NULL;
        if (one->state == ILK__REQUEST_WAITS)
            one->state = ILK__REQUEST_DROPPED;
    }
    for (ilk__session_request *next, *one = first; one; one = next) {
        next = one->next;
        if (one->state == ILK__REQUEST_BEGUN) {
            one->next = one->gateway->orphans;
            one->gateway->orphans = one;
            continue; /* ilk__session_request_done() frees it */
        }
        if (one->queue)
            remove_from_queue(one);
        ilk__session_request_free(one);
    }
}

/* ---- replies ------------------------------------------------------------- */

/* Nobody waits for the reply of a closed connection. */
static void check_room(ilk__session_request *request, ilk_status st)
{
    if (st && request->session)
        request->session->broken = 1;
}

void ilk__session_request_put(ilk__session_request *request, const char *format,
                              ...)
{
    va_list args;

    va_start(args, format);
    check_room(request, ilk__resp_add_args(&request->reply, format, args));
    va_end(args);
}

void ilk__session_request_put_bytes(ilk__session_request *request,
                                    ilk__span bytes)
{
    check_room(request, ilk__resp_add_bytes(&request->reply, bytes));
}

/* ---- for backends ------------------------------------------------------- */

static ilk__session_request *whole(ilk__gateway_request *request)
{
    return (ilk__session_request *)request;
}

#ifndef NDEBUG
static int is_declared(int script, int code, const char *types)
{
    const ilk__script *declared;

    if (script == ILK__SCRIPT_NONE)
        return 1;
    declared = &ilk__scripts[script];
    for (size_t i = 0; i < declared->shape_count; i++) {
        const char *shape = declared->shapes[i].types;
        size_t fixed = strcspn(shape, "*");

        if (declared->shapes[i].code == code
            && strncmp(shape, types, fixed) == 0
            && (shape[fixed] == '*' || types[fixed] == '\0'))
            return 1;
    }
    return 0;
}
#endif

void ilk__gateway_reply_args(ilk__gateway_request *request, int code,
                             const char *types, va_list args)
{
    ilk__session_request *own = whole(request);

    assert(is_declared(request->script, code, types));
    ilk__session_request_put(own, "*%zu\r\n:%" PRId64 "\r\n", strlen(types) + 1,
                             ilk__reply_head(request->number, code));
    for (; *types; types++) {
        if (*types == 'i') {
            ilk__session_request_put(own, ":%" PRId64 "\r\n",
                                     va_arg(args, int64_t));
        } else {
            const char *text = va_arg(args, const char *);

            ilk__session_request_put_bytes(own,
                                           (ilk__span){text, strlen(text)});
        }
    }
    ilk__session_request_done(own);
}

void ilk__gateway_reply(ilk__gateway_request *request, int code,
                        const char *types, ...)
{
    va_list args;

    va_start(args, types);
    ilk__gateway_reply_args(request, code, types, args);
    va_end(args);
}

void ilk__gateway_reply_text(ilk__gateway_request *request, const void *text,
                             size_t len)
{
    ilk__session_request *own = whole(request);

    check_room(own, ilk__buf_add(&own->reply, text, len));
    ilk__session_request_done(own);
}

void ilk__gateway_reply_error(ilk__gateway_request *request, const char *text)
{
    ilk__session_request *own = whole(request);

    size_t len = strcspn(text, "\r\n");

    ilk__session_request_put(own, "-%.*s\r\n",
                             len < ERROR_MAX ? (int)len : ERROR_MAX, text);
    ilk__session_request_done(own);
}

void ilk__gateway_break(ilk__gateway_request *request)
{
    ilk__session_request *own = whole(request);

    if (own->session)
        own->session->broken = 1;
    ilk__session_request_done(own);
}
