/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_jobs.c -- requests of the core that belong to no contender: how they wait
 * for a connection, are begun again when it breaks, and end in time.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "gateway/backend.h"

#include <string.h>

void ilk__zk_job_unref(ilk__zk_job *job)
{
    if (!job || --job->refs)
        return;
    if (job->drop_context)
        job->drop_context(job);
    for (size_t i = 0; i < job->target_count; i++)
        ilk__free(job->targets[i]);
    ilk__free(job->targets);
    ilk__free(job->token.data);
    ilk__free(job->path);
    ilk__zk_name_unref(job->name);
    ilk__free(job);
}

ilk__zk_job *ilk__zk_job_new(ilk__zk *store, ilk__contended *contended,
                             ilk__gateway_request *request, ilk__zk_run *run,
                             void (*fail)(ilk__zk_job *, const char *))
{
    ilk__zk_job *job = ilk__calloc(1, sizeof *job);

    if (!job)
        return NULL;
    job->store = store;
    job->request = request;
    job->run = run;
    job->fail = fail;
    job->refs = 1;
    if (contended) {
        if (ilk__zk_name_find(&job->name, store, contended)) {
            job->name = NULL;
            ilk__zk_job_unref(job);
            return NULL;
        }
        job->name->refs++;
    }
    return job;
}

static void run(ilk__zk_job *job)
{
    if (job->is_running || job->is_over || job->store->is_closing
        || job->store->state != ILK__ZK_READY)
        return;
    job->is_running = 1;
    job->run(job);
}

void ilk__zk_job_start(ilk__zk_job *job)
{
    ilk__zk *store = job->store;
    const int64_t reply_ms =
        job->name || job->of_register || job->is_of_group || job->context
            ? store->reply_ms /* else the core connects */
            : ilk__sooner(store->reply_ms, store->connect_ms);

    job->by = ilk__now_ms() + reply_ms * 3 / 4;
    job->next = store->jobs;
    store->jobs = job;
    ilk__zk_timer(store, job->by);
    job->refs++;
    run(job);
    ilk__zk_job_unref(job);
}

void ilk__zk_job_over(ilk__zk_job *job)
{
    if (job->is_over)
        return;
    job->is_over = 1;
    for (ilk__zk_job **link = &job->store->jobs; *link; link = &(*link)->next)
        if (*link == job) {
            *link = job->next;
            break;
        }
    ilk__zk_job_unref(job);
}

int ilk__zk_job_repeats(ilk__zk_job *job, const ilk__zk_op *op)
{
    if (job->is_over || job->store->is_closing
        || (job->name && !job->name->contended))
        return 1;
    if (!ilk__zk_is_unsure(op->rc))
        return 0;
    job->is_running = 0;
    return 1;
}

/* The list changes while it is walked. */
void ilk__zk_jobs_resume(ilk__zk *store)
{
    ilk__zk_job *one = store->jobs;

    while (one) {
        if (one->is_running || store->state != ILK__ZK_READY) {
            one = one->next;
            continue;
        }
        run(one);
        one = store->jobs;
    }
}

void ilk__zk_jobs_fire(ilk__zk *store, int64_t now)
{
    ilk__zk_job *one = store->jobs;
    char text[300];

    while (one)
        if (one->by <= now) {
            one->fail(one, ilk__zk_why_down(store, text));
            one = store->jobs;
        } else {
            ilk__zk_timer(store, one->by);
            one = one->next;
        }
}

void ilk__zk_jobs_break(ilk__zk *store)
{
    while (store->jobs) {
        ilk__zk_job *job = store->jobs;

        if (job->of_register)
            ilk__register_change_failed(job->of_register, job->request, NULL);
        else if (job->is_of_group)
            ilk__zk_group_break(job);
        else if (!job->name) /* contention breaks the others */
            ilk__gateway_break(job->request);
        ilk__zk_job_over(job);
    }
}

/* ---- contact ------------------------------------------------------------- */

static void has_contact(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_OK)
        ilk__gateway_contact_made(job->request);
    else
        ilk__gateway_reply_error(job->request, ilk__zk_error(text, op->rc));
    ilk__zk_job_over(job);
}

static void fail_contact(ilk__zk_job *job, const char *text)
{
    ilk__gateway_reply_error(job->request, text);
    ilk__zk_job_over(job);
}

static void run_contact(ilk__zk_job *job)
{
    ilk__zk_op *op = ilk__zk_op_new(job->store, has_contact, NULL, NULL, job);

    if (op)
        ilk__zk_sync_for(op);
    else
        fail_contact(job, ilk__zk_no_memory);
}

void ilk__zk_contact(void *self, ilk__gateway_request *request)
{
    ilk__zk_job *job =
        ilk__zk_job_new(self, NULL, request, run_contact, fail_contact);

    if (job)
        ilk__zk_job_start(job);
    else
        ilk__gateway_reply_error(request, ilk__zk_no_memory);
}

/* ---- breaking ------------------------------------------------------------ */

static void fail_break(ilk__zk_job *job, const char *text)
{
    if (job->name->contended && job->attempts > 0)
        ilk__contention_break_unsure(job->name->contended, job->request);
    else if (job->name->contended)
        ilk__contention_broken(job->name->contended, job->request, 0, text);
    ilk__zk_job_over(job);
}

/* A copy of the delete whose answer is missing may have been executed: none of the
 * targets ever comes back. */
static void has_broken(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        fail_break(job, ilk__zk_error(text, op->rc));
        return;
    }
    job->was_held |= op->rc == ILK__ZK_OK || job->attempts > 1;
    if (++job->answered < job->target_count)
        return;
    ilk__contention_broken(job->name->contended, job->request, job->was_held,
                           NULL);
    ilk__zk_name_must_read(job->name);
    ilk__zk_job_over(job);
}

static void delete_targets(ilk__zk_job *job)
{
    job->attempts++;
    job->answered = 0;
    for (size_t i = 0; i < job->target_count; i++) {
        ilk__zk_op *op =
            ilk__zk_op_new(job->store, has_broken, job->name, NULL, job);

        if (!op) {
            fail_break(job, ilk__zk_no_memory);
            return;
        }
        ilk__zk_delete(op, job->targets[i]);
    }
}

/* Whether the node's data has the token of the request; -1 without memory. */
static int has_token(const ilk__zk_job *job, const ilk__zk_op *op)
{
    ilk__span token, who, value;
    char *text = ilk__malloc(op->text_len + 1);
    int64_t since;
    size_t len;
    int is_it;

    if (!text)
        return -1;
    ilk__zk_data_parse((ilk__span){op->text, op->text_len}, &since, &token,
                       &who, &value);
    len = ilk__zk_decode(text, token);
    is_it = len == job->token.len
            && (!len || memcmp(text, job->token.data, len) == 0);
    ilk__free(text);
    return is_it;
}

/* The data of all targets has been read: delete those that are meant. */
static void choose_targets(ilk__zk_job *job)
{
    job->answered = 0;
    for (size_t i = 0; i < job->target_count; i++)
        if (job->targets[i])
            job->targets[job->answered++] = job->targets[i];
    job->target_count = job->answered;
    job->most = 1; /* they are chosen */
    if (job->target_count) {
        delete_targets(job);
        return;
    }
    ilk__contention_broken(job->name->contended, job->request, 0, NULL);
    ilk__zk_job_over(job);
}

static void has_target_data(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    char error[200];
    int is_meant;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        fail_break(job, ilk__zk_error(error, op->rc));
        return;
    }
    is_meant = op->rc == ILK__ZK_OK ? has_token(job, op) : 0;
    if (is_meant < 0) {
        fail_break(job, ilk__zk_no_memory);
        return;
    }
    if (!is_meant) {
        ilk__free(job->targets[op->index]);
        job->targets[op->index] = NULL;
    }
    if (++job->answered == job->target_count)
        choose_targets(job);
}

static int is_holder(const ilk__zk_listed *list, size_t at)
{
    return at == 0
           || (list[0].shape.kind == ILK__CONTENDER_READER
               && list[at].shape.kind == ILK__CONTENDER_READER);
}

static void drop_targets(ilk__zk_job *job)
{
    for (size_t i = 0; i < job->target_count; i++)
        ilk__free(job->targets[i]);
    ilk__free(job->targets);
    job->targets = NULL;
    job->target_count = job->answered = 0;
}

/* Their data has their tokens. */
static void read_targets(ilk__zk_job *job)
{
    for (size_t i = 0; i < job->target_count; i++) {
        ilk__zk_op *op =
            ilk__zk_op_new(job->store, has_target_data, job->name, NULL, job);

        if (!op) {
            fail_break(job, ilk__zk_no_memory);
            return;
        }
        op->index = i;
        ilk__zk_get(op, job->targets[i], 0);
    }
}

static void has_holders(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    ilk__zk_listed *list;
    size_t count = 0;
    char text[200];
    int is_whole;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        fail_break(job, ilk__zk_error(text, op->rc));
        return;
    }
    list = ilk__zk_sorted(job->name, op, &count);
    drop_targets(job);
    job->targets = ilk__calloc(count + 1, sizeof *job->targets);
    is_whole = list && job->targets;
    for (size_t i = 0; is_whole && i < count && is_holder(list, i); i++) {
        job->targets[i] = ilk__zk_child_path(job->name, list[i].node);
        is_whole = job->targets[i] != NULL;
        job->target_count += is_whole ? 1 : 0;
    }
    ilk__free(list);
    if (!is_whole) {
        fail_break(job, ilk__zk_no_memory);
    } else if (!job->target_count) {
        ilk__contention_broken(job->name->contended, job->request, 0, NULL);
        ilk__zk_job_over(job);
    } else if (!job->token.len) {
        job->most = 1;
        delete_targets(job);
    } else {
        read_targets(job);
    }
}

static void run_break(ilk__zk_job *job)
{
    ilk__zk_op *op;

    if (job->most) {
        delete_targets(job);
        return;
    }
    op = ilk__zk_op_new(job->store, has_holders, job->name, NULL, job);
    if (!op || !ilk__zk_sync(job->store)) {
        ilk__zk_op_free(op);
        fail_break(job, ilk__zk_no_memory);
        return;
    }
    ilk__zk_children(op, job->name->path, 0);
}

void ilk__zk_break(void *self, ilk__contended *contended, ilk__span token,
                   ilk__gateway_request *request)
{
    ilk__zk_job *job =
        ilk__zk_job_new(self, contended, request, run_break, fail_break);

    if (job) {
        job->token.data = ilk__memdup(token.at ? token.at : "", token.len);
        job->token.len = token.len;
    }
    if (!job || !job->token.data) {
        ilk__zk_job_unref(job);
        ilk__contention_broken(contended, request, 0, ilk__zk_no_memory);
        return;
    }
    ilk__zk_job_start(job);
}
