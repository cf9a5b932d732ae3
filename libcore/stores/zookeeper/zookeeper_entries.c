/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_entries.c -- a contender's node: how it is made, kept and deleted.
 *
 *     join      create; the list of the name follows in the same packet
 *     renew     sync, and whether the own node is there with the same czxid
 *     leave     delete; the list follows, when others of this client wait
 *
 * A create and a delete are never under way together. A create without an answer is
 * looked for in the list behind a sync, a delete without an answer is repeated.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void set_deadline(ilk__zk_entry *entry)
{
    ilk__zk *store = entry->name->store;

    entry->by = ilk__now_ms() + store->reply_ms * 3 / 4;
    ilk__zk_timer(store, entry->by);
}

void ilk__zk_entry_unref(ilk__zk_entry *entry)
{
    if (!entry || --entry->refs)
        return;
    ilk__zk_name_unref(entry->name);
    ilk__free(entry->node);
    ilk__free(entry);
}

void ilk__zk_entry_failed(ilk__zk_entry *entry, const char *text)
{
    entry->by = ILK__FOREVER;
    entry->renews = entry->proclaims = 0;
    if (entry->contender)
        ilk__contender_failed(entry->contender, text);
}

static void forget_node(ilk__zk_entry *entry)
{
    ilk__free(entry->node);
    entry->node = NULL;
    entry->czxid = 0;
    entry->is_unsure = entry->is_finding = 0;
}

static int is_stale(const ilk__zk_op *op)
{
    return op->store->is_closing || !op->entry->contender;
}

static int is_ready(const ilk__zk_entry *entry)
{
    return entry->name->store->state == ILK__ZK_READY;
}

/* ---- joining ------------------------------------------------------------- */

static int keep_node(ilk__zk_entry *entry, const char *path)
{
    const char *slash = strrchr(path, '/');

    ilk__free(entry->node);
    entry->node = ilk__strdup(slash ? slash + 1 : path);
    return entry->node != NULL;
}

static void created(ilk__zk_op *op)
{
    ilk__zk_entry *entry = op->entry;
    char text[200];

    entry->creates = 0;
    if (is_stale(op))
        return;
    if (op->rc == ILK__ZK_OK && keep_node(entry, op->text)) {
        entry->czxid = op->stat.czxid;
        entry->created_op = op->number;
        entry->attempts = 0;
    } else if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_MEMORY
               || ilk__zk_is_unsure(op->rc)) {
        entry->is_unsure = 1;
    } else if (op->rc == ILK__ZK_NO_NODE && !entry->leaves
               && ++entry->attempts <= ILK__ZK_ATTEMPTS) {
        ilk__zk_name_make(entry->name, entry->contender->limit);
        return;
    } else if (entry->contender->state == ILK__CONTENDER_JOINS) {
        ilk__zk_entry_failed(entry, ilk__zk_error(text, op->rc));
        return;
    }
    if (entry->leaves || entry->is_unsure)
        ilk__zk_entry_advance(entry);
}

static void create(ilk__zk_entry *entry)
{
    ilk__zk *store = entry->name->store;
    ilk__zk_op *op = ilk__zk_op_new(store, created, entry->name, entry, NULL);
    ilk__bytes data = {NULL, 0};
    char *path = NULL;

    entry->since_ms = (int64_t)time(NULL) * 1000;
    if (op && ilk__zk_uuid(entry->uuid)
        && ilk__zk_data_make(&data, entry->contender, entry->since_ms)
               == ILK_OK)
        path = ilk__zk_entry_path(entry);
    if (path) {
        entry->creates = 1;
        ilk__zk_create(op, path, (ilk__span){data.data, data.len},
                       ILK__ZK_EPHEMERAL_SEQUENTIAL, ilk__zk_acl(store));
        ilk__zk_name_must_read(entry->name);
    } else {
        ilk__zk_op_free(op);
        ilk__zk_entry_failed(entry, ilk__zk_no_memory);
    }
    ilk__free(data.data);
    ilk__free(path);
}

/* Its create had no answer; the list has it. */
static void has_czxid(ilk__zk_op *op)
{
    ilk__zk_entry *entry = op->entry;

    entry->is_finding = 0;
    if (is_stale(op) || !entry->node)
        return;
    if (op->rc == ILK__ZK_OK) {
        entry->czxid = op->stat.czxid;
        entry->created_op = op->number;
    } else if (op->rc == ILK__ZK_NO_NODE) {
        forget_node(entry);
    } else {
        entry->is_unsure = 1; /* the next list has it again */
    }
    ilk__zk_entry_advance(entry);
}

void ilk__zk_entry_found(ilk__zk_entry *entry, const char *node)
{
    ilk__zk_op *op;
    char *path;

    entry->is_unsure = 0;
    if (!keep_node(entry, node)) {
        entry->is_unsure = 1;
        return;
    }
    if (entry->leaves) {
        ilk__zk_entry_advance(entry);
        return;
    }
    op =
        ilk__zk_op_new(entry->name->store, has_czxid, entry->name, entry, NULL);
    path = ilk__zk_child_path(entry->name, node);
    if (op && path) {
        entry->is_finding = 1;
        ilk__zk_exists(op, path, 0);
    } else {
        ilk__zk_op_free(op);
        entry->is_unsure = 1;
    }
    ilk__free(path);
}

void ilk__zk_entry_missing(ilk__zk_entry *entry)
{
    forget_node(entry);
    ilk__zk_entry_advance(entry);
}

/* ---- leaving ------------------------------------------------------------- */

static void end_leave(ilk__zk_entry *entry, ilk__left how)
{
    entry->by = ILK__FOREVER;
    forget_node(entry);
    ilk__contender_left(entry->contender, how);
}

/* Its node is gone. While the session lives, an earlier copy of the delete without an
 * answer was the reason. */
static ilk__left how_it_left(const ilk__zk_entry *entry, int is_deleted)
{
    return entry->holds && (is_deleted || entry->is_left) ? ILK__LEFT_ITS_HOLD
                                                          : ILK__LEFT_NO_HOLD;
}

static void deleted(ilk__zk_op *op)
{
    ilk__zk_entry *entry = op->entry;
    char text[200];

    entry->deletes = 0;
    if (is_stale(op) || !entry->leaves)
        return;
    if (op->rc == ILK__ZK_OK) {
        end_leave(entry, how_it_left(entry, 1));
    } else if (op->rc
               == ILK__ZK_NO_NODE) { /* a copy without an answer, or another */
        end_leave(entry, how_it_left(entry, 0));
    } else {
        entry->is_left |= ilk__zk_is_unsure(op->rc);
        if (!ilk__zk_is_unsure(op->rc))
            ilk__contender_failed(entry->contender,
                                  ilk__zk_error(text, op->rc));
        entry->by = ilk__now_ms() + ILK__ZK_AGAIN_MS;
        ilk__zk_timer(op->store, entry->by);
    }
}

static void delete (ilk__zk_entry *entry)
{
    ilk__zk_op *op =
        ilk__zk_op_new(entry->name->store, deleted, entry->name, entry, NULL);
    char *path = ilk__zk_child_path(entry->name, entry->node);

    if (op && path) {
        entry->deletes = 1;
        ilk__zk_delete(op, path);
        if (entry->name->contended
            && entry->name->contended->first != entry->name->contended->last)
            ilk__zk_name_deletes(entry->name, entry->node);
    } else {
        ilk__zk_op_free(op);
        entry->by = ilk__now_ms() + ILK__ZK_AGAIN_MS;
        ilk__zk_timer(entry->name->store, entry->by);
    }
    ilk__free(path);
}

/* ---- renewing ------------------------------------------------------------ */

static void has_renewed(ilk__zk_op *op)
{
    ilk__zk_entry *entry = op->entry;
    ilk__contender *contender = entry->contender;
    int64_t ends;

    entry->renew_is_sent = 0;
    if (is_stale(op) || !entry->renews || entry->leaves)
        return;
    if (op->rc == ILK__ZK_NO_NODE
        || (op->rc == ILK__ZK_OK && op->stat.czxid != entry->czxid)) {
        ilk__contender_lost(contender);
        return;
    }
    if (op->rc != ILK__ZK_OK) { /* again, over the next connection */
        if (!ilk__zk_is_unsure(op->rc)) {
            char text[200];

            ilk__zk_entry_failed(entry, ilk__zk_error(text, op->rc));
        }
        return;
    }
    ends = op->sent_at + contender->lease_ms;
    if (contender->renews && contender->ends > ends)
        ends = contender->ends;
    ends = ilk__sooner(ends, ilk__zk_session_end(op->store));
    if (ends <= ilk__now_ms()) {
        ilk__zk_entry_failed(entry, "ILKDOWN ZooKeeper answers later than the "
                                    "session may last");
        return;
    }
    entry->renews = 0;
    entry->by = ILK__FOREVER;
    ilk__contender_granted(contender, entry->czxid, ends);
}

static void send_renewal(ilk__zk_entry *entry)
{
    ilk__zk_op *op = ilk__zk_op_new(entry->name->store, has_renewed,
                                    entry->name, entry, NULL);
    char *path = ilk__zk_child_path(entry->name, entry->node);

    if (op && path && ilk__zk_sync(entry->name->store)) {
        entry->renew_is_sent = 1;
        ilk__zk_exists(op, path, 0);
    } else {
        ilk__zk_op_free(op);
        ilk__zk_entry_failed(entry, ilk__zk_no_memory);
    }
    ilk__free(path);
}

static void has_proclaimed(ilk__zk_op *op)
{
    ilk__zk_entry *entry = op->entry;
    char text[200];

    entry->proclaim_is_sent = 0;
    if (is_stale(op) || !entry->proclaims || entry->leaves)
        return;
    if (op->rc == ILK__ZK_NO_NODE) {
        ilk__contender_lost(entry->contender);
    } else if (op->rc == ILK__ZK_OK) {
        entry->proclaims = 0;
        entry->by = ILK__FOREVER;
        ilk__contender_granted(entry->contender, entry->czxid,
                               entry->contender->ends);
    } else if (!ilk__zk_is_unsure(op->rc)) {
        ilk__zk_entry_failed(entry, ilk__zk_error(text, op->rc));
    }
}

/* Nobody else writes the node, so its version needs no check. A copy without an
 * answer is void or executed before this one. */
static void send_value(ilk__zk_entry *entry)
{
    ilk__zk_op *op = ilk__zk_op_new(entry->name->store, has_proclaimed,
                                    entry->name, entry, NULL);
    char *path = ilk__zk_child_path(entry->name, entry->node);
    ilk__bytes data = {NULL, 0};

    if (op && path
        && ilk__zk_data_make(&data, entry->contender, entry->since_ms)
               == ILK_OK) {
        entry->proclaim_is_sent = 1;
        ilk__zk_set(op, path, (ilk__span){data.data, data.len}, -1);
    } else {
        ilk__zk_op_free(op);
        ilk__zk_entry_failed(entry, ilk__zk_no_memory);
    }
    ilk__free(data.data);
    ilk__free(path);
}

/* ---- what is next -------------------------------------------------------- */

static void advance_leave(ilk__zk_entry *entry)
{
    if (entry->is_unsure) {
        ilk__zk_name_must_read(entry->name);
    } else if (!entry->node) { /* nothing was made, or it was not found */
        end_leave(entry, how_it_left(entry, 0));
    } else if (is_ready(entry)) {
        delete (entry);
    }
}

void ilk__zk_entry_advance(ilk__zk_entry *entry)
{
    const ilk__contender *contender = entry->contender;

    if (!contender || entry->creates || entry->deletes || entry->is_finding
        || entry->name->store->is_closing)
        return;
    if (entry->leaves) {
        advance_leave(entry);
        return;
    }
    if (!is_ready(entry))
        return;
    if (entry->is_unsure) {
        ilk__zk_name_must_read(entry->name);
    } else if (contender->state == ILK__CONTENDER_JOINS && !entry->node) {
        if (contender->request && !entry->name->is_making)
            create(entry);
    } else if (contender->state != ILK__CONTENDER_HOLDS) {
        ilk__zk_name_must_read(entry->name);
    } else if (entry->node) {
        if (entry->renews && !entry->renew_is_sent)
            send_renewal(entry);
        if (entry->proclaims && !entry->proclaim_is_sent && entry->contender)
            send_value(entry);
    }
}

static void advance_safely(ilk__zk_entry *entry)
{
    entry->refs++;
    ilk__zk_entry_advance(entry);
    ilk__zk_entry_unref(entry);
}

/* The session is over. If the delete had no answer, the end of the session may have
 * come first: nobody knows whether the hold was released or lost. */
void ilk__zk_entry_session_lost(ilk__zk_entry *entry)
{
    ilk__contender *contender = entry->contender;

    forget_node(entry);
    entry->creates = entry->deletes = 0;
    entry->renew_is_sent = entry->proclaim_is_sent = 0;
    if (!contender)
        return;
    if (entry->leaves) {
        end_leave(entry, entry->holds && entry->is_left ? ILK__LEFT_EITHER_WAY
                                                        : ILK__LEFT_NO_HOLD);
    } else if (contender->state == ILK__CONTENDER_WAITS
               || contender->state == ILK__CONTENDER_HOLDS) {
        ilk__contender_lost(contender);
    }
}

void ilk__zk_entry_fire(ilk__zk_entry *entry, int64_t now)
{
    ilk__zk *store = entry->name->store;
    char text[300];

    if (entry->by > now) {
        if (entry->by != ILK__FOREVER)
            ilk__zk_timer(store, entry->by);
        return;
    }
    entry->by = ILK__FOREVER;
    if (entry->leaves && is_ready(entry)) {
        if (!entry->deletes && !entry->creates) {
            ilk__zk_entry_advance(entry);
            return;
        }
    }
    if (entry->contender
        && (entry->leaves || entry->renews || entry->proclaims
            || entry->contender->state == ILK__CONTENDER_JOINS))
        ilk__zk_entry_failed(entry, ilk__zk_why_down(store, text));
}

/* ---- the store's functions ----------------------------------------------- */

static ilk__zk_entry *new_entry(ilk__zk *store, ilk__contender *contender)
{
    ilk__zk_entry *entry = ilk__calloc(1, sizeof *entry);

    if (!entry)
        return NULL;
    if (ilk__zk_name_find(&entry->name, store, contender->of)) {
        ilk__free(entry);
        return NULL;
    }
    entry->name->refs++;
    entry->refs = 1;
    entry->contender = contender;
    entry->by = ILK__FOREVER;
    return entry;
}

void ilk__zk_join(void *self, ilk__contender *contender)
{
    ilk__zk_entry *entry;

    if (!contender->at_store)
        contender->at_store = new_entry(self, contender);
    entry = contender->at_store;
    if (!entry) {
        ilk__contender_failed(contender, ilk__zk_no_memory);
        return;
    }
    entry->attempts = 0;
    set_deadline(entry);
    advance_safely(entry);
}

void ilk__zk_renew(void *self, ilk__contender *contender)
{
    ilk__zk_entry *entry = contender->at_store;

    (void)self;
    if (!entry || !entry->node) {
        ilk__contender_lost(contender);
        return;
    }
    entry->renews = 1;
    set_deadline(entry);
    advance_safely(entry);
}

void ilk__zk_proclaim(void *self, ilk__contender *contender)
{
    ilk__zk_entry *entry = contender->at_store;

    (void)self;
    if (!entry || !entry->node) {
        ilk__contender_lost(contender);
        return;
    }
    entry->proclaims = 1;
    set_deadline(entry);
    advance_safely(entry);
}

void ilk__zk_leave(void *self, ilk__contender *contender)
{
    ilk__zk_entry *entry = contender->at_store;

    (void)self;
    if (!entry) {
        ilk__contender_left(contender, ILK__LEFT_NO_HOLD);
        return;
    }
    entry->leaves = 1;
    entry->renews = entry->proclaims = 0;
    set_deadline(entry);
    advance_safely(entry);
}

void ilk__zk_forget(void *self, ilk__contender *contender)
{
    ilk__zk_entry *entry = contender->at_store;

    (void)self;
    if (!entry)
        return;
    contender->at_store = NULL;
    entry->contender = NULL;
    ilk__zk_entry_unref(entry);
}
