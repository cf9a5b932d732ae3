/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_registers.c -- registers in ZooKeeper: one node each, which is never deleted.
 *
 *     /path/ilk:register:{limit}     v<id of the change><earlier changes>
 *                                    100
 *
 * The first line begins with `v`, or with `d` when the value was deleted; then come the
 * digits of the last change, and the history of those before it (change_history.h). The
 * value follows.
 *
 * The version is the node's mzxid: the number of its last change, among all changes of
 * the ensemble. So it never comes back, even when an operator has deleted the node.
 *
 *     sync, get   ->  mzxid, dataVersion, the data
 *     the change is found in the data, or refused, or
 *     set         ->  only over this dataVersion: else read again
 *
 * So a change is made once, however late a copy is executed: either the node has another
 * dataVersion by then, and the copy is void; or no other copy has written, and those that
 * read later find this one in the data.
 *
 * The reads of waiters leave a watch. All watches end with the connection, and all
 * waiters read again over the next one.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "gateway/change_history.h"

#include <string.h>

enum { VALUE = 'v', DELETED = 'd', HEAD = 1 + ILK__CHANGE_ID };

/* Replies have numbers below 2^53. */
#define VERSIONS_END (INT64_C(1) << 53)

/* at_store of a name. */
struct ilk__zk_register {
    ilk__zk_register *next, *previous;
    ilk__register_name *of;
    char *path;
    uint64_t number; /* of its watches */
    int is_watched;
};

/* The content of a node. */
typedef struct content {
    ilk__register_state state;
    char last[ILK__CHANGE_ID
              + 1];    /* the change that wrote it; "": there is no node */
    ilk__span history; /* of the changes before it */
    int32_t data_version;
} content;

/* ---- names ----------------------------------------------------------------- */

/* NULL: no memory. */
static ilk__zk_register *find_register(ilk__zk *store, ilk__register_name *name)
{
    ilk__zk_register *at = name->at_store;

    if (at)
        return at;
    at = ilk__calloc(1, sizeof *at);
    if (at)
        at->path =
            ilk__zk_path_of(store->path, (ilk__span){name->state.key.data,
                                                     name->state.key.len});
    if (!at || !at->path) {
        ilk__free(at);
        return NULL;
    }
    at->of = name;
    at->number = ++store->name_number;
    at->next = store->registers_used;
    if (at->next)
        at->next->previous = at;
    store->registers_used = at;
    name->at_store = at;
    return at;
}

void ilk__zk_register_forget(void *self, ilk__register_name *name)
{
    ilk__zk *store = self;
    ilk__zk_register *at = name->at_store;

    if (!at)
        return;
    *(at->previous ? &at->previous->next : &store->registers_used) = at->next;
    if (at->next)
        at->next->previous = at->previous;
    name->at_store = NULL;
    ilk__free(at->path);
    ilk__free(at);
}

/* ---- the data of a node ---------------------------------------------------- */

/* An error, or NULL. */
static const char *parse(content *out, const ilk__zk_op *op)
{
    ilk__span value = {op->text, op->text_len}, head;
    int has_line;

    *out = (content){0};
    if (op->rc == ILK__ZK_NO_NODE)
        return NULL;
    head = ilk__text_cut(&value, '\n', &has_line);
    if (!has_line || head.len < HEAD
        || (head.at[0] != VALUE && head.at[0] != DELETED))
        return "WRONGTYPE the node of the register has data of another kind";
    out->history = (ilk__span){head.at + HEAD, head.len - HEAD};
    if (!ilk__changes_are_valid(out->history, ILK__CHANGES_MOST))
        return "WRONGTYPE the node of the register has data of another kind";
    if (op->stat.mzxid < 1 || op->stat.mzxid >= VERSIONS_END)
        return "ILKFENCE the ensemble counts beyond 2^53";
    memcpy(out->last, head.at + 1, ILK__CHANGE_ID);
    out->data_version = op->stat.version;
    out->state.version = op->stat.mzxid;
    out->state.has_value = head.at[0] == VALUE;
    out->state.value = value;
    return NULL;
}

/* The version that this change has got, or 0. */
static int64_t find_change(const content *at, const char *id)
{
    return memcmp(at->last, id, ILK__CHANGE_ID) == 0
               ? at->state.version
               : ilk__changes_find(at->history, id);
}

/* The data that a change writes: its own digits, the change before it, the earlier ones,
 * and the value. ILK_ENOMEM. */
static ilk_status make_data(ilk__buf *out, const char *id,
                            const content *before,
                            const ilk__register_change *change)
{
    const char kind = (char)(change->deletes ? DELETED : VALUE);
    ilk_status st = ilk__buf_add(out, &kind, 1);

    if (st == ILK_OK)
        st = ilk__buf_add(out, id, ILK__CHANGE_ID);
    if (st == ILK_OK && *before->last)
        st = ilk__changes_add(out, before->last, before->state.version,
                              before->history, ILK__CHANGES_MOST);
    if (st == ILK_OK)
        st = ilk__buf_add(out, "\n", 1);
    if (st == ILK_OK && !change->deletes)
        st = ilk__buf_add(out, change->value.at, change->value.len);
    return st;
}

/* ---- ends ------------------------------------------------------------------ */

static void end_with(ilk__zk_job *job, const char *error)
{
    ilk__register_name *name = job->of_register;

    if (!job->change.token.len)
        ilk__register_was_read(name, job->request, NULL, error);
    else /* the core repeats one that may have been executed, or may yet be */
        ilk__register_change_failed(name, job->request,
                                    job->is_unsure || job->is_writing ? NULL
                                                                      : error);
    ilk__zk_job_over(job);
}

static void end_for(ilk__zk_job *job, int rc)
{
    char text[200];

    end_with(job, ilk__zk_error(text, rc));
}

static void end_read(ilk__zk_job *job, const content *at)
{
    ilk__register_was_read(job->of_register, job->request, &at->state, NULL);
    ilk__zk_job_over(job);
}

/* The history may have forgotten a copy, which this job has sent, or one before it. */
static ilk__register_doubt doubt_of(const ilk__zk_job *job)
{
    if (!job->has_forgotten)
        return ILK__DOUBT_NONE;
    return job->is_unsure ? ILK__DOUBT : ILK__DOUBT_IF_RETRIED;
}

/* ---- changing -------------------------------------------------------------- */

/* The stat is of the node that was written. A version that was compared proves that no
 * earlier copy was executed. */
static void was_written(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    job->is_writing = 0;
    if (ilk__zk_job_repeats(job, op)) {
        job->is_unsure |= ilk__zk_is_unsure(op->rc);
        return;
    }
    if (op->rc == ILK__ZK_BAD_VERSION || op->rc == ILK__ZK_NODE_EXISTS
        || op->rc == ILK__ZK_NO_NODE) {
        job->run(job); /* another one was first */
    } else if (op->rc != ILK__ZK_OK) {
        end_for(job, op->rc);
    } else if (op->stat.mzxid < 1 || op->stat.mzxid >= VERSIONS_END) {
        end_with(job, "ILKFENCE the ensemble counts beyond 2^53");
    } else {
        ilk__register_was_changed(
            job->of_register, job->request, op->stat.mzxid,
            job->change.known < 0 ? doubt_of(job) : ILK__DOUBT_NONE);
        ilk__zk_job_over(job);
    }
}

static void write_node(ilk__zk_job *job, const char *id, const content *before)
{
    ilk__zk *store = job->store;
    const ilk__zk_register *at = job->of_register->at_store;
    ilk__zk_op *op = ilk__zk_op_new(store, was_written, NULL, NULL, job);
    ilk__buf data = {0};

    if (!op || make_data(&data, id, before, &job->change)) {
        ilk__zk_op_free(op);
        end_with(job, ilk__zk_no_memory);
    } else {
        const ilk__span text = {ilk__buf_data(&data), ilk__buf_len(&data)};

        job->is_writing = 1;
        if (*before->last)
            ilk__zk_set(op, at->path, text, before->data_version);
        else
            ilk__zk_create(op, at->path, text, ILK__ZK_PERSISTENT,
                           ilk__zk_acl(store));
    }
    ilk__buf_free(&data);
}

/* An earlier copy may have left the history, unless that still has all changes since
 * this request has first read the node. */
static void note_history(ilk__zk_job *job, const content *at)
{
    job->has_forgotten = ilk__changes_oldest(at->history, ILK__CHANGES_MOST)
                         > job->first_version;
    if (!job->first_version)
        job->first_version = at->state.version;
    if (!job->has_forgotten)
        job->is_unsure = 0; /* the data has each copy that was executed */
}

static void change_over(ilk__zk_job *job, const content *at)
{
    const ilk__register_change *change = &job->change;
    char id[ILK__CHANGE_ID + 1];
    int64_t done;

    note_history(job, at);
    ilk__change_id(id, change->token);
    done = find_change(at, id);
    if (done) {
        ilk__register_had_changed(job->of_register, job->request, done);
        ilk__zk_job_over(job);
    } else if (!ilk__register_fits(change, &at->state)) {
        ilk__register_was_refused(job->of_register, job->request, &at->state,
                                  doubt_of(job));
        ilk__zk_job_over(job);
    } else {
        write_node(job, id, at);
    }
}

/* ---- reading --------------------------------------------------------------- */

/* A missing node has no data to watch. */
static void has_existence(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    const content none = {0};

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_OK)
        job->run(job); /* it was created meanwhile */
    else if (op->rc == ILK__ZK_NO_NODE)
        end_read(job, &none);
    else
        end_for(job, op->rc);
}

static int watches(const ilk__zk_job *job)
{
    const ilk__zk_register *at = job->of_register->at_store;

    return at->is_watched && !job->change.token.len;
}

/* NULL: no memory; the job has ended. */
static ilk__zk_op *op_for(ilk__zk_job *job, ilk__zk_then *then)
{
    const ilk__zk_register *at = job->of_register->at_store;
    ilk__zk_op *op = ilk__zk_op_new(job->store, then, NULL, NULL, job);

    if (op)
        op->watch_for = at->number;
    else
        end_with(job, ilk__zk_no_memory);
    return op;
}

static void watch_missing(ilk__zk_job *job)
{
    const ilk__zk_register *at = job->of_register->at_store;
    ilk__zk_op *op = op_for(job, has_existence);

    if (op)
        ilk__zk_exists(op, at->path, 1);
}

static void was_read(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    const char *error;
    content at;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        end_for(job, op->rc);
        return;
    }
    error = parse(&at, op);
    if (error)
        end_with(job, error);
    else if (job->change.token.len)
        change_over(job, &at);
    else if (op->rc == ILK__ZK_NO_NODE && watches(job))
        watch_missing(job);
    else
        end_read(job, &at);
}

/* Behind a sync, a read shows all that was written before the request came. */
static void run(ilk__zk_job *job)
{
    const ilk__zk_register *at = job->of_register->at_store;
    ilk__zk_op *op;

    if (!ilk__zk_sync(job->store)) {
        end_with(job, ilk__zk_no_memory);
        return;
    }
    op = op_for(job, was_read);
    if (op)
        ilk__zk_get(op, at->path, watches(job));
}

static void start(ilk__zk *store, ilk__register_name *name,
                  const ilk__register_change *change,
                  ilk__gateway_request *request)
{
    ilk__zk_job *job = ilk__zk_job_new(store, NULL, request, run, end_with);

    if (job && find_register(store, name)) {
        job->of_register = name;
        if (change)
            job->change = *change;
        ilk__zk_job_start(job);
        return;
    }
    ilk__zk_job_unref(job);
    if (change)
        ilk__register_change_failed(name, request, ilk__zk_no_memory);
    else
        ilk__register_was_read(name, request, NULL, ilk__zk_no_memory);
}

void ilk__zk_register_read(void *self, ilk__register_name *name,
                           ilk__gateway_request *request)
{
    start(self, name, NULL, request);
}

void ilk__zk_register_change(void *self, ilk__register_name *name,
                             const ilk__register_change *change,
                             ilk__gateway_request *request)
{
    start(self, name, change, request);
}

/* ---- watches --------------------------------------------------------------- */

ilk_status ilk__zk_register_watch(void *self, ilk__register_name *name,
                                  int begins)
{
    ilk__zk_register *at = find_register(self, name);

    if (!at)
        return ILK_ENOMEM;
    at->is_watched = begins;
    return ILK_OK;
}

void ilk__zk_register_watch_fired(ilk__zk *store, uint64_t number)
{
    ilk__zk_register *at = store->registers_used;

    while (at && at->number != number)
        at = at->next;
    if (at)
        ilk__register_has_changed(at->of);
}

void ilk__zk_registers_read_again(ilk__zk *store)
{
    for (ilk__zk_register *at = store->registers_used; at; at = at->next)
        ilk__register_has_changed(at->of);
}
