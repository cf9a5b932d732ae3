/* SPDX-License-Identifier: MIT */
/* cluster_requests.c -- a request's way to the node that executes it. */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/backoff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

ilk__cluster_list ilk__cluster_take_all(ilk__cluster_list *list)
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
    if (work->part) {
        ilk__cluster_part_refused(work, text);
        return;
    }
    if (work->request)
        ilk__gateway_reply_error(work->request, text);
    ilk__free(work);
}

/* If the slot's own node cannot be reached, its failure is the better reason: a map from
 * another node clears the cluster's. */
static const char *reason(const ilk__cluster *cluster,
                          const ilk__cluster_work *work)
{
    int owner = work->slot < 0 ? -1 : cluster->owner[work->slot];

    if (owner >= 0 && cluster->nodes[owner]->why.code)
        return cluster->nodes[owner]->why.msg;
    return cluster->why.code ? cluster->why.msg : "no node serves the slot";
}

static void give_up(ilk__cluster *cluster, ilk__cluster_work *work)
{
    refuse(work, "ILKDOWN", reason(cluster, work));
}

void ilk__cluster_break_off(ilk__cluster_work *work)
{
    if (work->part) {
        ilk__cluster_part_broken(work);
        return;
    }
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
void ilk__cluster_send_to(ilk__cluster_node *node, ilk__cluster_work *work)
{
    ilk_status st = add(node, work);

    work->asked = work->asks;
    work->sent_at = node->used_at = ilk__now_ms();
    ilk__cluster_append(&node->wire, work);
    if (st)
        node->must_break = 1;
}

/* ---- routing ------------------------------------------------------------- */

void ilk__cluster_pause(ilk__cluster *cluster, ilk__cluster_work *work)
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

void ilk__cluster_hand_to(ilk__cluster_node *node, ilk__cluster_work *work)
{
    if (is_ready(node)) {
        ilk__cluster_send_to(node, work);
        return;
    }
    ilk__cluster_append(&node->waiting, work);
    node->used_at = ilk__now_ms();
    node->requests.wanted = 1;
    ilk__cluster_listen(node);
}

/* A walk visits the nodes in the order of their numbers, and begins at each of them with
 * the cursor 0. */
static void route_walk(ilk__cluster_work *work, ilk__cluster_node *node)
{
    if (node->number != work->scans) {
        work->scans = node->number;
        snprintf(work->cursor, sizeof work->cursor, "0");
    }
    ilk__cluster_hand_to(node, work);
}

void ilk__cluster_route(ilk__cluster *cluster, ilk__cluster_work *work)
{
    ilk__cluster_node *node = node_for(cluster, work);

    if (!node
        || (work->slot >= 0
            && ilk__cluster_is_in_doubt(cluster, node, work->slot)))
        ilk__cluster_pause(cluster, work);
    else if (work->slot < 0)
        route_walk(work, node);
    else
        ilk__cluster_hand_to(node, work);
}

void ilk__cluster_route_waiting(ilk__cluster_node *node)
{
    ilk__cluster_list all;
    ilk__cluster_work *work;

    if (!node->waiting.first)
        return;
    all = ilk__cluster_take_all(&node->waiting);
    while ((work = ilk__cluster_take(&all)))
        if (work->asks && is_ready(node))
            ilk__cluster_send_to(node, work);
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
    ilk__cluster_send_to(node, work);
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

    if (slot < 0 && ilk__cluster_try_split(cluster, request))
        return;
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
    work->scans =
        (int)(cursor >> ILK__CLUSTER_CURSOR_BITS) % ILK__CLUSTER_NODES;
    snprintf(work->cursor, sizeof work->cursor, "%" PRIu64,
             cursor & ((UINT64_C(1) << ILK__CLUSTER_CURSOR_BITS) - 1));
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

/* The reply to CLUSTER SLOTS is the cluster's: while a node is silent, the next one gets
 * that request. */
void ilk__cluster_ping(void *self, ilk__gateway_request *request)
{
    ilk__cluster *cluster = self;
    ilk__cluster_work *work = ilk__cluster_new_work(cluster, request);

    if (!work)
        return;
    work->slot = -1;
    ilk__cluster_append(&cluster->pings, work);
    if (!cluster->map_wanted)
        ilk__cluster_want_map_now(cluster);
}

void ilk__cluster_answer_pings(ilk__cluster *cluster)
{
    ilk__cluster_work *work;

    while ((work = ilk__cluster_take(&cluster->pings))) {
        ilk__gateway_contact_made(work->request);
        ilk__free(work);
    }
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

/* ---- time ---------------------------------------------------------------- */

/* Remove from the list what is due and hand it to `act`. */
static void for_due(ilk__cluster *cluster, ilk__cluster_list *list, int64_t now,
                    int is_pause)
{
    ilk__cluster_list all = ilk__cluster_take_all(list);
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
        ilk__cluster_let_go(cluster->nodes[i], now);
    }
    if (cluster->contacts.first)
        for_due(cluster, &cluster->contacts, now, 0);
    if (cluster->pings.first)
        for_due(cluster, &cluster->pings, now, 0);
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

    until = ilk__sooner(until, earliest(&cluster->pings, 0));
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
    end_list(&cluster->pings);
    end_list(&cluster->patterns);
    end_list(&cluster->paused);
    for (size_t i = 0; i < cluster->node_count; i++) {
        end_list(&cluster->nodes[i]->wire);
        end_list(&cluster->nodes[i]->waiting);
    }
}
