/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_ops.c -- requests to the server. The library's callbacks copy the answer
 * and append it to a list, in the order in which it comes; ilk__zk_act() does the rest.
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
    for (size_t i = 0; i < op->child_count; i++)
        ilk__free(op->children[i]);
    ilk__free(op->children);
    for (int32_t i = 0; i < op->acl.count; i++) {
        ilk__free(op->acl.data[i].id.scheme);
        ilk__free(op->acl.data[i].id.id);
    }
    ilk__free(op->acl.data);
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

/* The server has answered, or the library says that it will not. */
static void answered(ilk__zk_op *op, int rc)
{
    collect(op, rc);
    op->store->answered_at = op->answered_at;
}

void ilk__zk_ops_end(ilk__zk *store)
{
    while (store->first)
        collect(store->first, ZCLOSING);
}

/* A create whose answer cannot be kept is one without an answer. */
static int keep_text(ilk__zk_op *op, const char *text, size_t len)
{
    op->text = ilk__memdup(text ? text : "", len);
    op->text_len = len;
    return op->text ? ZOK : ZSYSTEMERROR;
}

static void has_path(int rc, const char *path, const struct Stat *stat,
                     const void *context)
{
    ilk__zk_op *op = (ilk__zk_op *)context;

    if (rc == ZOK && (!path || !stat))
        rc = ZSYSTEMERROR;
    if (rc == ZOK) {
        op->stat = *stat;
        rc = keep_text(op, path, strlen(path));
    }
    answered(op, rc);
}

static void has_end(int rc, const void *context)
{
    answered((ilk__zk_op *)context, rc);
}

static void has_stat(int rc, const struct Stat *stat, const void *context)
{
    ilk__zk_op *op = (ilk__zk_op *)context;

    if (rc == ZOK && stat)
        op->stat = *stat;
    answered(op, rc);
}

static void has_data(int rc, const char *value, int len,
                     const struct Stat *stat, const void *context)
{
    ilk__zk_op *op = (ilk__zk_op *)context;

    if (rc == ZOK) {
        if (stat)
            op->stat = *stat;
        rc = keep_text(op, value, value && len > 0 ? (size_t)len : 0);
    }
    answered(op, rc);
}

static void has_string(int rc, const char *value, const void *context)
{
    (void)value;
    answered((ilk__zk_op *)context, rc);
}

static void has_children(int rc, const struct String_vector *strings,
                         const void *context)
{
    ilk__zk_op *op = (ilk__zk_op *)context;
    const int32_t count = rc == ZOK && strings ? strings->count : 0;

    if (count > 0) {
        op->children = ilk__calloc((size_t)count, sizeof *op->children);
        if (!op->children)
            rc = ZSYSTEMERROR;
    }
    for (int32_t i = 0; op->children && i < count; i++) {
        op->children[i] = ilk__strdup(strings->data[i]);
        if (!op->children[i]) {
            rc = ZSYSTEMERROR;
            break;
        }
        op->child_count++;
    }
    answered(op, rc);
}

static void has_acl(int rc, struct ACL_vector *acl, struct Stat *stat,
                    const void *context)
{
    ilk__zk_op *op = (ilk__zk_op *)context;
    const int32_t count = rc == ZOK && acl ? acl->count : 0;

    (void)stat;
    if (rc == ZOK)
        op->acl.data = ilk__calloc((size_t)count + 1, sizeof *op->acl.data);
    if (rc == ZOK && !op->acl.data)
        rc = ZSYSTEMERROR;
    for (int32_t i = 0; op->acl.data && i < count; i++) {
        struct ACL *to = &op->acl.data[op->acl.count++];

        to->perms = acl->data[i].perms;
        to->id.scheme = ilk__strdup(acl->data[i].id.scheme);
        to->id.id = ilk__strdup(acl->data[i].id.id);
        if (!to->id.scheme || !to->id.id)
            rc = ZSYSTEMERROR;
    }
    answered(op, rc);
}

/* ---- watches and the session --------------------------------------------- */

/* The context is the number of a name, a register or a group, which may be forgotten by
 * now. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path,
                     void *context)
{
    ilk__zk *store = (ilk__zk *)zoo_get_context(handle);
    ilk__zk_op *op;

    (void)state;
    if (type == ZOO_SESSION_EVENT || !store)
        return;
    op = ilk__zk_op_new(store, NULL, NULL, NULL, NULL);
    if (!op) { /* all is read again later */
        store->heartbeat_at = 0;
        store->has_missed = 1;
        return;
    }
    op->kind = ILK__ZK_WATCH;
    op->watch_for = (uint64_t)(uintptr_t)context;
    if (keep_text(op, path, path ? strlen(path) : 0) != ZOK)
        op->text_len = 0;
    append(&store->first_answered, &store->last_answered, op);
}

void ilk__zk_on_session(zhandle_t *handle, int type, int state,
                        const char *path, void *context)
{
    ilk__zk *store = context;
    ilk__zk_op *op;

    (void)handle;
    (void)path;
    if (type != ZOO_SESSION_EVENT || !store || store->is_closing)
        return;
    op = ilk__zk_op_new(store, NULL, NULL, NULL, NULL);
    if (!op) { /* without the event nothing is sure: begin anew */
        store->is_refused = 1;
        return;
    }
    op->kind = ILK__ZK_SESSION;
    op->state = state;
    append(&store->first_answered, &store->last_answered, op);
}

void ilk__zk_act(ilk__zk *store)
{
    ilk__zk_op *op;

    while ((op = store->first_answered)) {
        unlink_op(&store->first_answered, &store->last_answered, op);
        if (op->kind == ILK__ZK_SESSION) {
            ilk__zk_session_changed(store, op->state);
        } else if (op->kind == ILK__ZK_WATCH) {
            ilk__zk_watch_fired(store, op);
        } else {
            ilk__zk_note_answer(store, op);
            if (op->then)
                op->then(op);
        }
        ilk__zk_op_free(op);
    }
}

/* ---- sending ------------------------------------------------------------- */

static void begin(ilk__zk_op *op, ilk__zk_op_kind kind)
{
    ilk__zk *store = op->store;

    op->kind = kind;
    op->number = ++store->op_number;
    op->sent_at = ilk__now_ms();
    append(&store->first, &store->last, op);
}

/* A request that the library has refused has an answer, too. */
static void sent(ilk__zk_op *op, int rc)
{
    if (rc != ZOK)
        collect(op, rc);
    else if (op->name
             && (op->kind == ILK__ZK_CREATE || op->kind == ILK__ZK_DELETE))
        op->name->has_written = 1;
}

static void *watch_context(const ilk__zk_op *op)
{
    return (void *)(uintptr_t)op->watch_for;
}

static int can_send(ilk__zk_op *op)
{
    if (op->store->handle && op->store->state >= ILK__ZK_PREPARES)
        return 1;
    collect(op, ZINVALIDSTATE);
    return 0;
}

void ilk__zk_create(ilk__zk_op *op, const char *path, ilk__span data, int mode,
                    const struct ACL_vector *acl)
{
    begin(op, ILK__ZK_CREATE);
    if (!path)
        collect(op, ZSYSTEMERROR);
    else if (can_send(op))
        sent(op, zoo_acreate2(op->store->handle, path, data.at, (int)data.len,
                              acl, mode, has_path, op));
}

void ilk__zk_delete(ilk__zk_op *op, const char *path)
{
    begin(op, ILK__ZK_DELETE);
    if (!path)
        collect(op, ZSYSTEMERROR);
    else if (can_send(op))
        sent(op, zoo_adelete(op->store->handle, path, -1, has_end, op));
}

void ilk__zk_exists(ilk__zk_op *op, const char *path, int watches)
{
    begin(op, ILK__ZK_EXISTS);
    if (!path)
        collect(op, ZSYSTEMERROR);
    else if (can_send(op))
        sent(op, watches
                     ? zoo_awexists(op->store->handle, path, on_watch,
                                    watch_context(op), has_stat, op)
                     : zoo_aexists(op->store->handle, path, 0, has_stat, op));
}

void ilk__zk_get(ilk__zk_op *op, const char *path, int watches)
{
    begin(op, ILK__ZK_GET);
    op->watches = watches;
    if (!path)
        collect(op, ZSYSTEMERROR);
    else if (can_send(op))
        sent(op, watches ? zoo_awget(op->store->handle, path, on_watch,
                                     watch_context(op), has_data, op)
                         : zoo_aget(op->store->handle, path, 0, has_data, op));
}

void ilk__zk_set(ilk__zk_op *op, const char *path, ilk__span data, int version)
{
    begin(op, ILK__ZK_SET);
    if (!path)
        collect(op, ZSYSTEMERROR);
    else if (can_send(op))
        sent(op, zoo_aset(op->store->handle, path, data.at, (int)data.len,
                          version, has_stat, op));
}

void ilk__zk_children(ilk__zk_op *op, const char *path, int watches)
{
    begin(op, ILK__ZK_CHILDREN);
    op->watches = watches;
    if (!can_send(op))
        return;
    sent(op, watches ? zoo_awget_children(op->store->handle, path, on_watch,
                                          watch_context(op), has_children, op)
                     : zoo_aget_children(op->store->handle, path, 0,
                                         has_children, op));
}

void ilk__zk_sync_for(ilk__zk_op *op)
{
    begin(op, ILK__ZK_SYNC);
    if (can_send(op))
        sent(op, zoo_async(op->store->handle, "/", has_string, op));
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
    begin(op, ILK__ZK_ACL);
    if (can_send(op))
        sent(op, zoo_aget_acl(op->store->handle, path, has_acl, op));
}

/* ---- errors -------------------------------------------------------------- */

int ilk__zk_is_unsure(int rc)
{
    return rc != ZOK && rc > ZAPIERROR
               ? 1
               : rc == ZSESSIONEXPIRED || rc == ZCLOSING || rc == ZSESSIONMOVED
                     || rc == ZAUTHFAILED || rc == ZTHROTTLEDOP;
}

const char *ilk__zk_error(char text[200], int rc)
{
    if (rc == ZNOAUTH)
        snprintf(text, 200,
                 "NOPERM ZooKeeper permits this user no such access to the "
                 "path of the URL, or to a node below it");
    else if (rc == ZSYSTEMERROR)
        snprintf(text, 200, "%s", ilk__zk_no_memory);
    else if (ilk__zk_is_unsure(rc))
        snprintf(text, 200, "ILKDOWN the connection to ZooKeeper broke: %s",
                 zerror(rc));
    else
        snprintf(text, 200, "ERR ZooKeeper: %s", zerror(rc));
    return text;
}
