/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_ops.c -- requests to the server. The server answers them in their order.
 * An answer is copied, and appended to a list; ilk__zk_act() does the rest.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

const char ilk__zk_no_memory[] =
    "ERR out of memory in the backend of ZooKeeper";

/* ---- their lives --------------------------------------------------------- */

static void append(ilk__zk_op **first, ilk__zk_op **last, ilk__zk_op *op)
{
    op->next = NULL;
    op->previous = *last;
    *(*last ? &(*last)->next : first) = op;
    *last = op;
}

static void unlink_op(ilk__zk_op **first, ilk__zk_op **last, ilk__zk_op *op)
{
    *(op->previous ? &op->previous->next : first) = op->next;
    *(op->next ? &op->next->previous : last) = op->previous;
    op->next = op->previous = NULL;
}

ilk__zk_op *ilk__zk_op_new(ilk__zk *store, ilk__zk_then *then,
                           ilk__zk_name *name, ilk__zk_entry *entry,
                           ilk__zk_job *job)
{
    ilk__zk_op *op = ilk__calloc(1, sizeof *op);

    if (!op)
        return NULL;
    op->store = store;
    op->then = then;
    op->name = name;
    op->entry = entry;
    op->job = job;
    if (name) {
        name->refs++;
        op->watch_for = name->number;
    }
    if (entry)
        entry->refs++;
    if (job)
        job->refs++;
    return op;
}

void ilk__zk_op_free(ilk__zk_op *op)
{
    if (!op)
        return;
    ilk__zk_job_unref(op->job);
    ilk__zk_entry_unref(op->entry);
    ilk__zk_name_unref(op->name);
    ilk__zk_watch_free(op->watch);
    ilk__free(op->children);
    ilk__free(op->asked);
    ilk__free(op->child);
    ilk__free(op->text);
    ilk__free(op);
}

/* ---- answers ------------------------------------------------------------- */

static void collect(ilk__zk_op *op, int rc)
{
    ilk__zk *store = op->store;

    op->rc = rc;
    op->answered_at = ilk__now_ms();
    unlink_op(&store->first, &store->last, op);
    append(&store->first_answered, &store->last_answered, op);
}

void ilk__zk_ops_end(ilk__zk *store, int code)
{
    while (store->first)
        collect(store->first, code);
}

/* A create whose answer cannot be kept is one without an answer. */
static int keep_text(ilk__zk_op *op, ilk__span text)
{
    op->text = ilk__memdup(text.at, text.len);
    op->text_len = text.len;
    return op->text ? ILK__ZK_OK : ILK__ZK_NO_MEMORY;
}

/* Ten digits, or eleven characters with the sign. */
static int is_number(const char *at, size_t len)
{
    if (len == 11 && *at == '-') {
        at++;
        len--;
    }
    for (size_t i = 0; i < len; i++)
        if (at[i] < '0' || at[i] > '9')
            return 0;
    return len == 10;
}

static int read_created(ilk__zk_op *op, ilk__zk_reader *from)
{
    const ilk__span path = ilk__zk_take_path(from);
    const size_t len = strlen(op->asked);

    op->stat = ilk__zk_take_stat(from);
    if (path.len < len || memcmp(path.at, op->asked, len) != 0
        || (op->is_sequential ? !is_number(path.at + len, path.len - len)
                              : path.len != len)
        || op->stat.czxid < 1)
        from->is_bad = 1;
    return from->is_bad ? ILK__ZK_OK : keep_text(op, path);
}

static int read_data(ilk__zk_op *op, ilk__zk_reader *from)
{
    const ilk__span data = ilk__zk_take_bytes(from);

    op->stat = ilk__zk_take_stat(from);
    return from->is_bad ? ILK__ZK_OK : keep_text(op, data);
}

/* All names in one block, of which each takes one byte for the four of its length. */
static int read_children(ilk__zk_op *op, ilk__zk_reader *from)
{
    const int32_t count = ilk__zk_take_node_count(from);
    char *to;

    if (!count)
        return ILK__ZK_OK;
    op->children = ilk__calloc((size_t)count, sizeof *op->children);
    op->text = to = ilk__malloc(from->left);
    if (!op->children || !op->text)
        return ILK__ZK_NO_MEMORY;
    for (int32_t i = 0; i < count && !from->is_bad; i++) {
        const ilk__span node = ilk__zk_take_node(from);

        memcpy(to, node.at, node.len);
        to[node.len] = '\0';
        op->children[op->child_count++] = to;
        to += node.len + 1;
    }
    return ILK__ZK_OK;
}

static int read_acl(ilk__zk_op *op, ilk__zk_reader *from)
{
    const ilk__span acl = ilk__zk_take_acl(from);

    op->stat = ilk__zk_take_stat(from);
    return from->is_bad ? ILK__ZK_OK : keep_text(op, acl);
}

/* The record of an answer with the code 0. Returns that code, or for want of memory
 * another one. */
static int read_record(ilk__zk_op *op, ilk__zk_reader *from)
{
    switch (op->kind) {
    case ILK__ZK_CREATE: return read_created(op, from);
    case ILK__ZK_GET: return read_data(op, from);
    case ILK__ZK_CHILDREN: return read_children(op, from);
    case ILK__ZK_ACL: return read_acl(op, from);
    case ILK__ZK_EXISTS:
    case ILK__ZK_SET: op->stat = ilk__zk_take_stat(from); break;
    case ILK__ZK_SYNC: (void)ilk__zk_take_bytes(from); break;
    case ILK__ZK_DELETE: break;
    }
    return ILK__ZK_OK;
}

static void keep_watch(ilk__zk_op *op, int code)
{
    ilk__zk *store = op->store;
    ilk__zk_watch *watch = op->watch;

    op->watch = NULL;
    if (watch && !ilk__zk_watch_set(store, watch, op->kind, code)) {
        store->has_missed = 1; /* all is read again later */
        store->heartbeat_at = 0;
    }
}

static int32_t xid_of(const ilk__zk_op *op)
{
    return (int32_t)(op->number & INT32_MAX);
}

ilk_status ilk__zk_take_answer(ilk__zk *store, int32_t xid, int32_t code,
                               ilk__zk_reader *from, ilk_error *err)
{
    ilk__zk_op *op = store->first;
    int rc = code;

    if (!op || xid_of(op) != xid)
        return ilk__fail(err, ILK_EREPLY,
                         "an answer to request %ld, which is not due",
                         (long)xid);
    if (code > ILK__ZK_OK || code < ILK__ZK_CODE_LEAST)
        return ilk__fail(err, ILK_EREPLY, "an answer with the code %ld",
                         (long)code);
    if (code == ILK__ZK_OK)
        rc = read_record(op, from);
    if (from->is_bad)
        return ilk__fail(err, ILK_EREPLY,
                         "an answer to request %ld that makes no sense",
                         (long)xid);
    keep_watch(op, code);
    collect(op, rc);
    store->answered_at = op->answered_at;
    return ILK_OK;
}

void ilk__zk_act(ilk__zk *store)
{
    ilk__zk_op *op;

    while ((op = store->first_answered)) {
        unlink_op(&store->first_answered, &store->last_answered, op);
        ilk__zk_note_answer(store, op);
        if (op->then)
            op->then(op);
        ilk__zk_op_free(op);
    }
}

/* ---- sending ------------------------------------------------------------- */

static void enlist(ilk__zk_op *op, ilk__zk_op_kind kind)
{
    ilk__zk *store = op->store;

    op->kind = kind;
    op->number = ++store->op_number;
    op->sent_at = ilk__now_ms();
    append(&store->first, &store->last, op);
}

/* A request that has not been sent, for want of memory. */
static void give_up(ilk__zk_op *op, ilk__zk_op_kind kind)
{
    enlist(op, kind);
    collect(op, ILK__ZK_NO_MEMORY);
}

/* Where the record of the request begins, or NULL: it has its end already. */
static char *begin(ilk__zk_op *op, ilk__zk_op_kind kind, int32_t type,
                   size_t room)
{
    ilk__zk *store = op->store;
    char *to;

    enlist(op, kind);
    if (!store->conn || store->state < ILK__ZK_PREPARES) {
        collect(op, ILK__ZK_NOT_CONNECTED);
        return NULL;
    }
    to = ilk__zk_begin_frame(&store->conn->out, room + 2 * sizeof(int32_t));
    if (!to) {
        collect(op, ILK__ZK_NO_MEMORY);
        return NULL;
    }
    return ilk__zk_put_int(ilk__zk_put_int(to, xid_of(op)), type);
}

static void end(ilk__zk_op *op, const char *to)
{
    ilk__zk_end_frame(&op->store->conn->out, to);
    if (op->name && (op->kind == ILK__ZK_CREATE || op->kind == ILK__ZK_DELETE))
        op->name->has_written = 1;
}

enum { NUMBERS = 16 }; /* bytes beside paths and data: at most four numbers */

void ilk__zk_create(ilk__zk_op *op, const char *path, ilk__span data, int mode,
                    ilk__span acl)
{
    char *to;

    op->asked = path ? ilk__strdup(path) : NULL;
    op->is_sequential = mode == ILK__ZK_EPHEMERAL_SEQUENTIAL;
    if (!op->asked) {
        give_up(op, ILK__ZK_CREATE);
        return;
    }
    to = begin(op, ILK__ZK_CREATE,
               mode == ILK__ZK_CONTAINER ? ILK__ZK_TYPE_CREATE_CONTAINER
                                         : ILK__ZK_TYPE_CREATE,
               NUMBERS + strlen(path) + data.len + acl.len);
    if (!to)
        return;
    to = ilk__zk_put_text(to, path);
    to = ilk__zk_put_bytes(to, data);
    memcpy(to, acl.at, acl.len);
    end(op, ilk__zk_put_int(to + acl.len, mode));
}

void ilk__zk_delete(ilk__zk_op *op, const char *path)
{
    char *to;

    if (!path) {
        give_up(op, ILK__ZK_DELETE);
        return;
    }
    to = begin(op, ILK__ZK_DELETE, ILK__ZK_TYPE_DELETE, NUMBERS + strlen(path));
    if (to)
        end(op, ilk__zk_put_int(ilk__zk_put_text(to, path), -1));
}

/* A request that has a path, and whether to watch it. */
static void read_node(ilk__zk_op *op, ilk__zk_op_kind kind, int32_t type,
                      const char *path, int watches)
{
    char *to;

    op->watches = watches;
    if (watches && path)
        op->watch = ilk__zk_watch_new(path, op->watch_for);
    if (!path || (watches && !op->watch)) {
        give_up(op, kind);
        return;
    }
    to = begin(op, kind, type, NUMBERS + strlen(path));
    if (!to)
        return;
    to = ilk__zk_put_text(to, path);
    *to = watches ? 1 : 0;
    end(op, to + 1);
}

void ilk__zk_exists(ilk__zk_op *op, const char *path, int watches)
{
    read_node(op, ILK__ZK_EXISTS, ILK__ZK_TYPE_EXISTS, path, watches);
}

void ilk__zk_get(ilk__zk_op *op, const char *path, int watches)
{
    read_node(op, ILK__ZK_GET, ILK__ZK_TYPE_GET, path, watches);
}

void ilk__zk_children(ilk__zk_op *op, const char *path, int watches)
{
    read_node(op, ILK__ZK_CHILDREN, ILK__ZK_TYPE_CHILDREN, path, watches);
}

void ilk__zk_set(ilk__zk_op *op, const char *path, ilk__span data, int version)
{
    char *to;

    if (!path) {
        give_up(op, ILK__ZK_SET);
        return;
    }
    to = begin(op, ILK__ZK_SET, ILK__ZK_TYPE_SET,
               NUMBERS + strlen(path) + data.len);
    if (!to)
        return;
    to = ilk__zk_put_bytes(ilk__zk_put_text(to, path), data);
    end(op, ilk__zk_put_int(to, version));
}

static void send_path(ilk__zk_op *op, ilk__zk_op_kind kind, int32_t type,
                      const char *path)
{
    char *to = begin(op, kind, type, NUMBERS + strlen(path));

    if (to)
        end(op, ilk__zk_put_text(to, path));
}

void ilk__zk_sync_for(ilk__zk_op *op)
{
    send_path(op, ILK__ZK_SYNC, ILK__ZK_TYPE_SYNC, "/");
}

int ilk__zk_sync(ilk__zk *store)
{
    ilk__zk_op *op = ilk__zk_op_new(store, NULL, NULL, NULL, NULL);

    if (!op)
        return 0;
    ilk__zk_sync_for(op);
    return 1;
}

void ilk__zk_read_acl(ilk__zk_op *op, const char *path)
{
    send_path(op, ILK__ZK_ACL, ILK__ZK_TYPE_ACL, path);
}

/* ---- errors -------------------------------------------------------------- */

int ilk__zk_is_unsure(int rc)
{
    return rc > ILK__ZK_OK || (rc < ILK__ZK_OK && rc > ILK__ZK_REFUSAL)
           || rc == ILK__ZK_SESSION_EXPIRED || rc == ILK__ZK_SESSION_MOVED
           || rc == ILK__ZK_AUTH_FAILED || rc == ILK__ZK_THROTTLED;
}

const char *ilk__zk_error(char text[200], int rc)
{
    if (rc == ILK__ZK_NO_AUTH)
        snprintf(text, 200,
                 "NOPERM ZooKeeper permits this user no such access to the "
                 "path of the URL, or to a node below it");
    else if (rc == ILK__ZK_NO_MEMORY)
        snprintf(text, 200, "%s", ilk__zk_no_memory);
    else if (ilk__zk_is_unsure(rc))
        snprintf(text, 200, "ILKDOWN the connection to ZooKeeper broke: %s",
                 ilk__zk_code_text(rc));
    else
        snprintf(text, 200, "ERR ZooKeeper: %s (%d)", ilk__zk_code_text(rc),
                 rc);
    return text;
}
