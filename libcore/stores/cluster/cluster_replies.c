/* SPDX-License-Identifier: MIT */
/* cluster_replies.c -- the replies of a node, and the connection on which they
 * come. */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "gateway/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- replies ------------------------------------------------------------- */

/* A walk's reply: [cursor, keys]. */
static ilk_status write_walk(ilk__buf *out, const ilk__cluster *cluster,
                             const ilk__cluster_work *work,
                             const ilk__reply *reply)
{
    uint64_t cursor = strtoull(reply->items[0]->str, NULL, 10);
    const ilk__cluster_node *next;
    char text[24];
    ilk_status st;

    if (cursor) {
        cursor |= (uint64_t)work->scans << ILK__CLUSTER_CURSOR_BITS;
    } else {
        next = ilk__cluster_primary_from(cluster, work->scans + 1);
        cursor = next ? (uint64_t)next->number << ILK__CLUSTER_CURSOR_BITS : 0;
    }
    snprintf(text, sizeof text, "%" PRIu64, cursor);
    st = ilk__resp_add(out, "*2\r\n");
    if (st == ILK_OK)
        st = ilk__resp_add_bytes(out, (ilk__span){text, strlen(text)});
    return st == ILK_OK ? ilk__resp_add_reply(out, reply->items[1]) : st;
}

static void pass_on(ilk__cluster *cluster, ilk__cluster_work *work,
                    ilk__reply *reply)
{
    int is_walk = work->slot < 0 && reply->type == ILK__REPLY_ARRAY
                  && reply->count == 2
                  && reply->items[0]->type == ILK__REPLY_STR;
    ilk__buf text = {0};
    ilk_status st;

    if (work->part) {
        ilk__cluster_part_replied(work, reply);
        return;
    }
    st = is_walk ? write_walk(&text, cluster, work, reply)
                 : ilk__resp_add_reply(&text, reply);

    if (st) {
        ilk__cluster_break_off(work);
    } else {
        ilk__gateway_reply_text(work->request, ilk__buf_data(&text),
                                ilk__buf_len(&text));
        ilk__free(work);
    }
    ilk__buf_free(&text);
}

static ilk__cluster_node *target_of(ilk__cluster_node *from,
                                    const ilk__redirect *to)
{
    return ilk__cluster_announced_at(
        from->cluster, *to->host ? to->host : from->url.host, to->port);
}

/* Another node serves the slot, or has the keys of this request. */
static void follow(ilk__cluster_node *from, ilk__cluster_work *work,
                   const ilk__redirect *to)
{
    ilk__cluster *cluster = from->cluster;
    ilk__cluster_node *node = target_of(from, to);

    if (node && to->kind == ILK__REDIRECT_MOVED)
        ilk__cluster_moved(cluster, work->slot, node);
    else if (node)
        node->is_retired = 0; /* it is given slots again */
    if (!node || ++work->refusals > ILK__CLUSTER_REFUSALS) {
        ilk__cluster_pause(cluster, work);
    } else if (to->kind == ILK__REDIRECT_MOVED) {
        work->asks = 0;
        ilk__cluster_route(cluster, work);
    } else {
        work->asks = 1;
        ilk__cluster_hand_to(node, work);
    }
}

static void handle_reply(ilk__cluster_node *node, ilk__cluster_work *work,
                         ilk__reply *reply)
{
    ilk__cluster *cluster = node->cluster;
    const ilk__redirect to = ilk__redirect_read(reply);

    if (!work->request) {
        ilk__free(work);
        if (reply->type == ILK__REPLY_ERROR)
            node->has_failed = 1;
        else
            ilk__cluster_answer_pings(cluster);
        ilk__cluster_read_map(cluster, node, reply);
        ilk__cluster_answer_contacts(cluster);
    } else if (work->slot < 0 || to.kind == ILK__REDIRECT_NONE) {
        if (ilk__reply_is_error(reply, "NOSCRIPT") && !work->with_source
            && work->request->script != ILK__SCRIPT_NONE) {
            work->with_source = 1;
            ilk__cluster_hand_to(node, work); /* waits if the node was lost */
            return;
        }
        pass_on(cluster, work, reply);
    } else if (to.kind == ILK__REDIRECT_LATER || (to.slot != work->slot)) {
        (void)ilk__reply_error(reply, &cluster->why);
        ilk__cluster_pause(cluster, work);
    } else {
        follow(node, work, &to);
    }
}

/* Whether the reply can be that of this work, or with `asked` of the ASKING in front;
 * the core checks the rest. */
static int belongs_to(const ilk__cluster_work *work, int asked,
                      const ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ERROR)
        return 1;
    if (asked)
        return ilk__reply_is_text(reply, "OK");
    if (!work->request)
        return reply->type == ILK__REPLY_ARRAY;
    if (work->request->script == ILK__SCRIPT_NONE)
        return 1;
    reply = ilk__reply_first(reply);
    return reply->type == ILK__REPLY_INT
           && reply->num / ILK__CODE_LIMIT == work->request->number;
}

/* Whether all replies that are held fit the commands on the wire, one by one. */
static int are_in_place(const ilk__cluster_node *node)
{
    ilk__cluster_work *work = node->wire.first;
    int asked = work ? work->asked : 0;

    for (size_t i = 0; i < node->held_count; i++) {
        if (!work || !belongs_to(work, asked, node->held[i]))
            return 0;
        if (asked) {
            asked = 0;
            continue;
        }
        work = work->next;
        asked = work ? work->asked : 0;
    }
    return 1;
}

/* Nothing is on the wire when an earlier reply has broken the connection. */
static void deliver(ilk__cluster_node *node, ilk__reply *reply)
{
    ilk__cluster_work *work = node->wire.first;

    if (!work)
        return;
    if (work->asked)
        work->asked = 0;
    else
        handle_reply(node, ilk__cluster_take(&node->wire), reply);
}

/*
 * An error carries no number, so it may belong to another request: it is checked
 * together with the replies behind it, and none of them counts if one is out of its
 * place. A redirection that belongs to another request would send this one twice.
 */
static void deliver_held(ilk__cluster_node *node)
{
    size_t count = node->held_count;
    ilk__reply *held[ILK__CLUSTER_HELD];

    if (!count)
        return;
    if (!are_in_place(node)) {
        ilk__cluster_break(node, "a reply belongs to no request");
        return;
    }
    memcpy(held, node->held, count * sizeof *held);
    node->held_count = 0;
    for (size_t i = 0; i < count; i++) {
        deliver(node, held[i]);
        ilk__reply_free(held[i]);
    }
}

static void take_reply(ilk__cluster_node *node, ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_PUSH) {
        ilk__reply_free(reply);
        return;
    }
    if (reply->type != ILK__REPLY_ERROR && !node->held_count && node->wire.first
        && belongs_to(node->wire.first, node->wire.first->asked, reply)) {
        deliver(node, reply);
        ilk__reply_free(reply);
        return;
    }
    node->held[node->held_count++] = reply;
    if (node->held_count == ILK__CLUSTER_HELD || !are_in_place(node))
        deliver_held(node);
}

/* ---- the connection ------------------------------------------------------ */

static void drop_held(ilk__cluster_node *node)
{
    for (size_t i = 0; i < node->held_count; i++)
        ilk__reply_free(node->held[i]);
    node->held_count = 0;
}

/* A request without a reply may have been executed, or be so later, unless another
 * node serves the slots now. */
static void lose(ilk__cluster_node *node)
{
    ilk__cluster *cluster = node->cluster;
    ilk__cluster_list lost = ilk__cluster_take_all(&node->wire);
    ilk__cluster_work *work;

    drop_held(node);
    node->must_break = 0;
    node->has_failed = 1;
    node->why = node->requests.error;
    cluster->why = node->why;
    ilk__log(ILK__LOG_INFO, "cluster: %s:%d: %s", node->url.host,
             node->url.port, node->why.msg);
    while ((work = ilk__cluster_take(&lost))) {
        if (work->request && work->slot >= 0 && node->is_primary) {
            node->has_doubt = 1;
            node->doubt[work->slot / 8] |= (uint8_t)(1 << work->slot % 8);
        }
        ilk__cluster_break_off(work);
    }
    if (node->has_doubt)
        node->requests.wanted = 1;
    ilk__cluster_want_map(cluster);
    if (!cluster->has_map)
        ilk__cluster_answer_contacts(cluster);
}

void ilk__cluster_break(ilk__cluster_node *node, const char *why)
{
    ilk__async_conn_break(&node->requests, why);
    lose(node);
}

/* The login has closed the connection before it, so nothing is in doubt. Where the user
 * may not do that, the gateway closes all connections of the core. */
static void came_up(ilk__cluster_node *node)
{
    if (node->requests.left_open)
        ilk__gateway_left_open(node->cluster->gateway);
    node->has_failed = 0;
    ilk__error_clear(&node->why);
    node->has_doubt = 0;
    memset(node->doubt, 0, sizeof node->doubt);
    if (!node->cluster->has_map)
        ilk__cluster_send_map_request(node);
    ilk__cluster_route_waiting(node);
}

void ilk__cluster_read_replies(ilk__cluster_node *node)
{
    ilk__async_conn_result result;
    ilk__reply *reply;
    int count = 0;

    do {
        result = ilk__async_conn_next(&node->requests, &reply);
        switch (result) {
        case ILK__ASYNC_CONN_REPLY: take_reply(node, reply); break;
        case ILK__ASYNC_CONN_CAME_UP: came_up(node); break;
        case ILK__ASYNC_CONN_NOTHING: deliver_held(node); break;
        case ILK__ASYNC_CONN_LOST:
            deliver_held(node);
            lose(node);
            break;
        }
    } while (result != ILK__ASYNC_CONN_NOTHING && ++count < ILK__NODE_TURN);
}
