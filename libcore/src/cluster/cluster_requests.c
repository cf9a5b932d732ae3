/* SPDX-License-Identifier: MIT */
/* cluster_requests.c -- a request's way to the node that executes it, and the
 * node's reply. */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/log.h"
#include "gateway/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CODES = 64, /* see scripts/include/reply.lua */
    CURSOR_BITS =
        48 /* of a walk's cursor at a node; above: the node's number */
};

/* ---- lists --------------------------------------------------------------- */

void ilk__cluster_append(ilk__cluster_list *list, ilk__cluster_work *work)
{
    work->next = NULL;
    if (list->last)
        list->last->next = work;
    else
        list->first = work;
    list->last = work;
}

ilk__cluster_work *ilk__cluster_take(ilk__cluster_list *list)
{
    ilk__cluster_work *first = list->first;

    if (!first)
        return NULL;
    list->first = first->next;
    if (!list->first)
        list->last = NULL;
    return first;
}

static ilk__cluster_list take_all(ilk__cluster_list *list)
{
    ilk__cluster_list all = *list;

    *list = (ilk__cluster_list){NULL, NULL};
    return all;
}

/* ---- the end of a request ------------------------------------------------ */

/* No node has executed it. */
static void refuse(ilk__cluster_work *work, const char *word, const char *why)
{
    char text[ILK_ERROR_MAX];

    snprintf(text, sizeof text, "%s %.200s", word, why);
    if (work->request)
        ilk__gateway_reply_error(work->request, text);
    ilk__free(work);
}

static void give_up(ilk__cluster *cluster, ilk__cluster_work *work)
{
    refuse(work, "ILKDOWN",
           cluster->why.code ? cluster->why.msg : "no node serves the slot");
}

void ilk__cluster_break_off(ilk__cluster_work *work)
{
    if (work->request)
        ilk__gateway_break(work->request);
    ilk__free(work);
}

/* ---- sending ------------------------------------------------------------- */

static int is_ready(const ilk__cluster_node *node)
{
    return node->requests.up && !node->is_retired
           && ilk__node_messages_are_subscribed(&node->messages);
}

static void compose_script(ilk__command *command, const ilk__cluster_work *work)
{
    const ilk__gateway_request *request = work->request;

    command->replies = ILK__REPLIES_NUMBERED;
    ilk__command_add_str(command, "EVALSHA");
    ilk__command_add_str(command, ilk__scripts[request->script].cluster_sha1);
    ilk__command_add_int(command, (int64_t)request->key_count);
    for (size_t i = 0; i < request->key_count; i++)
        ilk__command_add(command, request->keys[i]->str, request->keys[i]->len);
    for (size_t i = 0; i < request->arg_count; i++)
        ilk__command_add(command, request->args[i]->str, request->args[i]->len);
}

/* In a walk the cursor is the one at this node. */
static void compose_command(ilk__command *command,
                            const ilk__cluster_work *work)
{
    const ilk__gateway_request *request = work->request;

    for (size_t i = 0; i < request->arg_count; i++)
        if (work->slot < 0 && i == 1)
            ilk__command_add_str(command, work->cursor);
        else
            ilk__command_add(command, request->args[i]->str,
                             request->args[i]->len);
}

/* EVAL with the script's form for clusters (scripts/include/reached.lua). Its text
 * is allocated, and freed after the command is formatted. */
static char *add_source(ilk__command *command, const ilk__cluster_work *work)
{
    const ilk__script *script;
    char *text;

    if (!work->with_source)
        return NULL;
    script = &ilk__scripts[work->request->script];
    text = ilk__memdup(script->text, script->text_len);
    if (!text || !ilk__script_use_source(command, work->request->script)) {
        command->failed = 1;
        return text;
    }
    if (script->cluster_at)
        text[script->cluster_at] = '1';
    command->argv[1] = text;
    return text;
}

static void compose(ilk__command *command, const ilk__cluster_work *work)
{
    if (!work->request) {
        ilk__command_add_str(command, "CLUSTER");
        ilk__command_add_str(command, "SLOTS");
    } else if (work->request->script == ILK__SCRIPT_NONE) {
        compose_command(command, work);
    } else {
        compose_script(command, work);
    }
}

static ilk_status add(ilk__cluster_node *node, const ilk__cluster_work *work)
{
    ilk__command command;
    ilk_status st = ILK_OK;
    char *source;

    ilk__command_init(&command);
    if (work->asks) {
        ilk__command_add_str(&command, "ASKING");
        st = ilk__command_format(&command, 0, &node->requests.out, NULL);
        ilk__command_free(&command);
    }
    compose(&command, work);
    source = add_source(&command, work);
    if (st == ILK_OK)
        st = ilk__command_format(&command,
                                 work->request ? work->request->number : 0,
                                 &node->requests.out, NULL);
    ilk__command_free(&command);
    ilk__free(source);
    return st;
}

/* An ASKING without its request would let the next one pass, so a connection that
 * got half of a pair is broken. */
static void send_to(ilk__cluster_node *node, ilk__cluster_work *work)
{
    ilk_status st = add(node, work);

    work->asked = work->asks;
    work->sent_at = ilk__now_ms();
    ilk__cluster_append(&node->wire, work);
    if (st)
        node->must_break = 1;
}

/* ---- routing ------------------------------------------------------------- */

static void pause_for(ilk__cluster *cluster, ilk__cluster_work *work)
{
    work->asks = 0;
    work->refusals = 0;
    work->due = ilk__now_ms() + ilk__request_pause_ms(&work->pause_ms);
    ilk__cluster_append(&cluster->paused, work);
    ilk__cluster_want_map(cluster);
}

static ilk__cluster_node *node_for(const ilk__cluster *cluster,
                                   const ilk__cluster_work *work)
{
    if (work->slot < 0)
        return ilk__cluster_primary_from(cluster, work->scans);
    return cluster->owner[work->slot] < 0
               ? NULL
               : cluster->nodes[cluster->owner[work->slot]];
}

static void hand_to(ilk__cluster_node *node, ilk__cluster_work *work)
{
    if (is_ready(node)) {
        send_to(node, work);
        return;
    }
    ilk__cluster_append(&node->waiting, work);
    node->requests.wanted = 1;
    ilk__cluster_listen(node);
}

/* The numbers of the nodes grow along a walk. One that is over begins anew at the
 * next. */
static void route_walk(ilk__cluster_work *work, ilk__cluster_node *node)
{
    if (node->number != work->scans) {
        work->scans = node->number;
        snprintf(work->cursor, sizeof work->cursor, "0");
    }
    hand_to(node, work);
}

void ilk__cluster_route(ilk__cluster *cluster, ilk__cluster_work *work)
{
    ilk__cluster_node *node = node_for(cluster, work);

    if (!node
        || (work->slot >= 0
            && ilk__cluster_is_in_doubt(cluster, node, work->slot)))
        pause_for(cluster, work);
    else if (work->slot < 0)
        route_walk(work, node);
    else
        hand_to(node, work);
}

void ilk__cluster_route_waiting(ilk__cluster_node *node)
{
    ilk__cluster_list all;
    ilk__cluster_work *work;

    if (!node->waiting.first)
        return;
    all = take_all(&node->waiting);
    while ((work = ilk__cluster_take(&all)))
        if (work->asks && is_ready(node))
            send_to(node, work);
        else if (work->asks && !node->is_retired)
            ilk__cluster_append(&node->waiting, work);
        else
            ilk__cluster_route(node->cluster, work);
}

void ilk__cluster_send_map_request(ilk__cluster_node *node)
{
    ilk__cluster_work *work = ilk__calloc(1, sizeof *work);

    if (!work)
        return;
    work->slot = -1;
    work->deadline = ILK__FOREVER;
    send_to(node, work);
}

/* ---- from the gateway ---------------------------------------------------- */

ilk__cluster_work *ilk__cluster_new_work(ilk__cluster *cluster,
                                         ilk__gateway_request *request)
{
    ilk__cluster_work *work = ilk__calloc(1, sizeof *work);

    if (!work) {
        ilk__gateway_break(request);
        return NULL;
    }
    work->request = request;
    work->deadline = ilk__now_ms() + cluster->patience_ms;
    return work;
}

static ilk__span span_of(const ilk__reply *word)
{
    return (ilk__span){word->str, word->len};
}

/* The slot of all keys; -1: they have several. */
static int slot_of_keys(const ilk__gateway_request *request)
{
    const ilk__span first = ilk__slot_tag(span_of(request->keys[0]));
    int slot = ilk__slot_of(span_of(request->keys[0]));

    for (size_t i = 1; i < request->key_count; i++) {
        const ilk__span tag = ilk__slot_tag(span_of(request->keys[i]));

        if ((tag.len != first.len || memcmp(tag.at, first.at, tag.len) != 0)
            && ilk__slot_of(span_of(request->keys[i])) != slot)
            return -1;
    }
    return slot;
}

void ilk__cluster_call(void *self, ilk__gateway_request *request)
{
    ilk__cluster *cluster = self;
    int slot = slot_of_keys(request);
    char text[ILK_ERROR_MAX];
    ilk__cluster_work *work;

    if (slot < 0) {
        snprintf(text, sizeof text,
                 "ILKNONE %s: the keys are in several slots of the cluster; "
                 "give the names one hash tag, as in {orders}:1",
                 ilk__scripts[request->script].name);
        ilk__gateway_reply_error(request, text);
        return;
    }
    work = ilk__cluster_new_work(cluster, request);
    if (!work)
        return;
    work->slot = slot;
    ilk__cluster_route(cluster, work);
}

/* SCAN cursor ...: the cursor has the node's number in its upper bits. */
static void begin_walk(ilk__cluster *cluster, ilk__gateway_request *request)
{
    const uint64_t cursor = strtoull(request->args[1]->str, NULL, 10);
    ilk__cluster_work *work = ilk__cluster_new_work(cluster, request);

    if (!work)
        return;
    work->slot = -1;
    work->scans = (int)(cursor >> CURSOR_BITS) % ILK__CLUSTER_NODES;
    snprintf(work->cursor, sizeof work->cursor, "%" PRIu64,
             cursor & ((UINT64_C(1) << CURSOR_BITS) - 1));
    ilk__cluster_route(cluster, work);
}

void ilk__cluster_command(void *self, ilk__gateway_request *request)
{
    ilk__cluster *cluster = self;
    const char *word = request->args[0]->str;
    ilk__cluster_work *work;

    if (strcasecmp(word, "SCAN") == 0 && request->arg_count > 1) {
        begin_walk(cluster, request);
    } else if (strcasecmp(word, "ZCARD") == 0 && request->arg_count == 2) {
        work = ilk__cluster_new_work(cluster, request);
        if (!work)
            return;
        work->slot = ilk__slot_of(span_of(request->args[1]));
        ilk__cluster_route(cluster, work);
    } else {
        ilk__gateway_reply_error(
            request, "ILKNONE a cluster executes scripts, and no command that "
                     "waits at a node");
    }
}

/* ---- logins of the core -------------------------------------------------- */

void ilk__cluster_contact(void *self, ilk__gateway_request *request)
{
    ilk__cluster *cluster = self;
    ilk__cluster_work *work;

    if (cluster->has_map) {
        ilk__gateway_contact_made(request);
        return;
    }
    work = ilk__cluster_new_work(cluster, request);
    if (!work)
        return;
    work->deadline = ilk__now_ms() + cluster->connect_ms * 3 / 4;
    if (!cluster->contacts.first)
        for (size_t i = 0; i < cluster->node_count; i++)
            cluster->nodes[i]->has_failed = 0;
    ilk__cluster_append(&cluster->contacts, work);
    ilk__cluster_want_map(cluster);
}

static int have_all_failed(const ilk__cluster *cluster)
{
    for (size_t i = 0; i < cluster->node_count; i++)
        if (!cluster->nodes[i]->has_failed)
            return 0;
    return 1;
}

void ilk__cluster_answer_contacts(ilk__cluster *cluster)
{
    ilk__cluster_work *work;
    const char *word = "ILKDOWN";

    if (!cluster->has_map && !have_all_failed(cluster))
        return;
    if (cluster->why.code == ILK_EAUTH)
        word = "NOAUTH";
    while ((work = ilk__cluster_take(&cluster->contacts))) {
        if (!cluster->has_map) {
            refuse(work, word, cluster->why.msg);
            continue;
        }
        ilk__gateway_contact_made(work->request);
        ilk__free(work);
    }
}

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
        cursor |= (uint64_t)work->scans << CURSOR_BITS;
    } else {
        next = ilk__cluster_primary_from(cluster, work->scans + 1);
        cursor = next ? (uint64_t)next->number << CURSOR_BITS : 0;
    }
    snprintf(text, sizeof text, "%" PRIu64, cursor);
    st = ilk__resp_add(out, "*2\r\n");
    if (st == ILK_OK)
        st = ilk__resp_add_bytes(out, (ilk__span){text, strlen(text)});
    return st == ILK_OK ? ilk__resp_add_reply(out, reply->items[1]) : st;
}

static void pass_on(ilk__cluster *cluster, ilk__cluster_work *work,
                    const ilk__reply *reply)
{
    int is_walk = work->slot < 0 && reply->type == ILK__REPLY_ARRAY
                  && reply->count == 2
                  && reply->items[0]->type == ILK__REPLY_STR;
    ilk__buf text = {0};
    ilk_status st = is_walk ? write_walk(&text, cluster, work, reply)
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
    return ilk__cluster_node_at(
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
    if (!node || ++work->refusals > ILK__CLUSTER_REFUSALS) {
        pause_for(cluster, work);
    } else if (to->kind == ILK__REDIRECT_MOVED) {
        work->asks = 0;
        ilk__cluster_route(cluster, work);
    } else {
        work->asks = 1;
        hand_to(node, work);
    }
}

static void handle_reply(ilk__cluster_node *node, ilk__cluster_work *work,
                         const ilk__reply *reply)
{
    ilk__cluster *cluster = node->cluster;
    const ilk__redirect to = ilk__redirect_read(reply);

    if (!work->request) {
        ilk__free(work);
        if (reply->type == ILK__REPLY_ERROR)
            node->has_failed = 1;
        ilk__cluster_read_map(cluster, node, reply);
        ilk__cluster_answer_contacts(cluster);
    } else if (work->slot < 0 || to.kind == ILK__REDIRECT_NONE) {
        if (ilk__reply_is_error(reply, "NOSCRIPT") && !work->with_source
            && work->request->script != ILK__SCRIPT_NONE) {
            work->with_source = 1;
            send_to(node, work);
            return;
        }
        pass_on(cluster, work, reply);
    } else if (to.kind == ILK__REDIRECT_LATER || (to.slot != work->slot)) {
        (void)ilk__reply_error(reply, &cluster->why);
        pause_for(cluster, work);
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
    return reply->type == ILK__REPLY_ARRAY && reply->count > 0
           && reply->items[0]->type == ILK__REPLY_INT
           && reply->items[0]->num / CODES == work->request->number;
}

/* All that are held, against what is on the wire. */
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

/* Nothing is on the wire when an earlier reply made us break the connection. */
static void deliver(ilk__cluster_node *node, const ilk__reply *reply)
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
 * An error carries no number, so it may be another's: it is looked at together with
 * the replies behind it, and none of them counts if one is out of its place. A
 * redirection that is another's would send a request twice.
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
    ilk__cluster_list lost = take_all(&node->wire);
    ilk__cluster_work *work;

    drop_held(node);
    node->must_break = 0;
    node->has_failed = 1;
    cluster->why = node->requests.error;
    ilk__log(ILK__LOG_INFO, "cluster: %s:%d: %s", node->url.host,
             node->url.port, cluster->why.msg);
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

/* The login has closed the connection before it, so nothing is in doubt. */
static void came_up(ilk__cluster_node *node)
{
    node->has_failed = 0;
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
    } while (result != ILK__ASYNC_CONN_NOTHING);
}

/* ---- time ---------------------------------------------------------------- */

/* Remove from the list what is due and hand it to `act`. */
static void for_due(ilk__cluster *cluster, ilk__cluster_list *list, int64_t now,
                    int is_pause)
{
    ilk__cluster_list all = take_all(list);
    ilk__cluster_work *work;

    while ((work = ilk__cluster_take(&all)))
        if (work->deadline <= now)
            give_up(cluster, work);
        else if (is_pause && work->due <= now)
            ilk__cluster_route(cluster, work);
        else
            ilk__cluster_append(list, work);
}

/* A node that is silent may be dead: another one says who serves its slots. */
static void check_silence(ilk__cluster_node *node, int64_t now)
{
    const ilk__cluster_work *first = node->wire.first;

    if (node->must_break || (first && node->is_retired))
        ilk__cluster_break(node, "the node serves no slot any more");
    else if (first && first->sent_at + node->cluster->patience_ms <= now)
        ilk__cluster_break(node, "the node does not answer");
    else if (first && first->sent_at + ILK__CLUSTER_SILENCE_MS <= now)
        ilk__cluster_want_map(node->cluster);
}

void ilk__cluster_fire(ilk__cluster *cluster, int64_t now)
{
    for (size_t i = 0; i < cluster->node_count; i++) {
        check_silence(cluster->nodes[i], now);
        ilk__cluster_check_messages(cluster->nodes[i], now);
        if (cluster->nodes[i]->waiting.first)
            for_due(cluster, &cluster->nodes[i]->waiting, now, 0);
    }
    if (cluster->contacts.first)
        for_due(cluster, &cluster->contacts, now, 0);
    ilk__cluster_confirm_patterns(cluster);
    if (cluster->paused.first)
        for_due(cluster, &cluster->paused, now, 1);
    ilk__cluster_ask_for_map(cluster);
}

static int64_t earliest(const ilk__cluster_list *list, int is_pause)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__cluster_work *work = list->first; work; work = work->next) {
        until = ilk__sooner(until, work->deadline);
        if (is_pause)
            until = ilk__sooner(until, work->due);
    }
    return until;
}

static int64_t silence_due(const ilk__cluster_node *node)
{
    const ilk__cluster_work *first = node->wire.first;
    int64_t now;

    if (!first)
        return ILK__FOREVER;
    if (node->is_retired || node->must_break)
        return 0;
    now = ilk__now_ms();
    if (!node->cluster->map_wanted
        && first->sent_at + ILK__CLUSTER_SILENCE_MS > now)
        return first->sent_at + ILK__CLUSTER_SILENCE_MS;
    return first->sent_at + node->cluster->patience_ms;
}

int64_t ilk__cluster_next_due(const ilk__cluster *cluster)
{
    int64_t until = ilk__sooner(earliest(&cluster->paused, 1),
                                earliest(&cluster->contacts, 0));

    for (size_t i = 0; i < cluster->node_count; i++) {
        const ilk__cluster_node *node = cluster->nodes[i];

        until = ilk__sooner(until, earliest(&node->waiting, 0));
        until = ilk__sooner(until, silence_due(node));
        until = ilk__sooner(until, ilk__node_messages_due(
                                       &node->messages, cluster->patience_ms));
    }
    until = ilk__sooner(until, ilk__cluster_patterns_due(cluster));
    return cluster->map_wanted ? ilk__sooner(until, cluster->map_due) : until;
}

/* ---- closing ------------------------------------------------------------- */

static void end_list(ilk__cluster_list *list)
{
    ilk__cluster_work *work;

    while ((work = ilk__cluster_take(list)))
        ilk__cluster_break_off(work);
}

void ilk__cluster_end_all(ilk__cluster *cluster)
{
    end_list(&cluster->contacts);
    end_list(&cluster->patterns);
    end_list(&cluster->paused);
    for (size_t i = 0; i < cluster->node_count; i++) {
        end_list(&cluster->nodes[i]->wire);
        end_list(&cluster->nodes[i]->waiting);
    }
}
