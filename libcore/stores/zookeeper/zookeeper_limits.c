/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_limits.c -- a semaphore's limit, which is the data of the parent: `3 3`, the
 * limit in force and the one that the semaphore was made with.
 */
#include "zookeeper_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ilk__zk_limit_parse(ilk__zk_name *name, const ilk__zk_op *op)
{
    ilk__span rest, limit;

    name->limit = name->base = 0;
    name->limit_version = -1;
    if (op->rc != ILK__ZK_OK)
        return;
    name->limit_version = op->stat.version;
    rest = (ilk__span){op->text, op->text_len};
    limit = ilk__text_cut(&rest, ' ', NULL);
    name->limit = ilk__text_number(limit, INT64_MAX);
    name->base = rest.len ? ilk__text_number(rest, INT64_MAX) : name->limit;
    if (name->limit < 1 || name->base < 1)
        name->limit = name->base = 0;
}

/* ---- contenders with another limit --------------------------------------- */

static void has_set_limit(ilk__zk_op *op)
{
    op->entry->sets_limit = 0;
    if (op->name->contended)
        ilk__zk_name_must_read(op->name);
}

static void replace_limit(ilk__zk_name *name, ilk__zk_entry *entry)
{
    const int64_t limit = entry->contender->limit;
    ilk__zk_op *op =
        ilk__zk_op_new(name->store, has_set_limit, name, entry, NULL);
    char text[48];
    const int len =
        snprintf(text, sizeof text, "%" PRId64 " %" PRId64, limit, limit);

    if (!op) {
        ilk__zk_name_read_later(name);
        return;
    }
    entry->sets_limit = 1;
    ilk__zk_set(op, name->path, (ilk__span){text, (size_t)len},
                name->limit_version);
}

int ilk__zk_limits_judge(ilk__zk_name *name, const ilk__zk_listed *list,
                         size_t count)
{
    ilk__contender *next;
    int is_replaced = 0;

    for (ilk__contender *one = name->contended->first; one; one = next) {
        ilk__zk_entry *entry = one->at_store;
        const int is_other =
            one->limit != name->limit && one->limit != name->base;

        next = one->next;
        if (!entry || one->state != ILK__CONTENDER_JOINS || !one->request
            || !entry->node || entry->leaves)
            continue;
        if (entry->sets_limit || is_replaced) {
            is_replaced = 1;
        } else if (!name->limit
                   || (is_other && count == 1
                       && strcmp(list[0].node, entry->node) == 0)) {
            replace_limit(name, entry);
            is_replaced = 1;
        } else if (is_other || one->permits > name->limit) {
            entry->by = ILK__FOREVER;
            ilk__contender_differs(one, name->limit, name->base);
        }
    }
    return is_replaced;
}

/* ---- a change of the limit ----------------------------------------------- */

static void run_limit(ilk__zk_job *job);

static void fail_limit(ilk__zk_job *job, const char *text)
{
    if (job->name->contended)
        ilk__contention_limit_set(job->name->contended, job->request, 0, text);
    ilk__zk_job_over(job);
}

static void has_set(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NODE_EXISTS) {
        if (op->rc == ILK__ZK_NODE_EXISTS) {
            run_limit(job);
            return;
        }
        ilk__contention_limit_set(job->name->contended, job->request,
                                  job->limit_before, NULL);
        ilk__zk_name_must_read(job->name);
        ilk__zk_job_over(job);
    } else if ((op->rc == ILK__ZK_BAD_VERSION || op->rc == ILK__ZK_NO_NODE)
               && ++job->attempts <= ILK__ZK_ATTEMPTS) {
        run_limit(job);
    } else {
        fail_limit(job, ilk__zk_error(text, op->rc));
    }
}

static void write_limit(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    ilk__zk *store = op->store;
    ilk__zk_op *next;
    char text[200], data[48];
    int len;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        fail_limit(job, ilk__zk_error(text, op->rc));
        return;
    }
    ilk__zk_limit_parse(job->name, op);
    if (!job->attempts || job->name->limit != job->limit)
        job->limit_before = job->name->limit;
    next = ilk__zk_op_new(store, has_set, job->name, NULL, job);
    if (!next) {
        fail_limit(job, ilk__zk_no_memory);
        return;
    }
    len = snprintf(data, sizeof data, "%lld %lld", (long long)job->limit,
                   (long long)(job->name->base ? job->name->base : job->base));
    if (op->rc == ILK__ZK_OK)
        ilk__zk_set(next, job->name->path, (ilk__span){data, (size_t)len},
                    job->name->limit_version);
    else
        ilk__zk_create(next, job->name->path, (ilk__span){data, (size_t)len},
                       store->has_no_containers ? ILK__ZK_PERSISTENT
                                                : ILK__ZK_CONTAINER,
                       ilk__zk_acl(store));
}

static void run_limit(ilk__zk_job *job)
{
    ilk__zk_op *op =
        ilk__zk_op_new(job->store, write_limit, job->name, NULL, job);

    if (!op || !ilk__zk_sync(job->store)) {
        ilk__zk_op_free(op);
        fail_limit(job, ilk__zk_no_memory);
        return;
    }
    ilk__zk_get(op, job->name->path, 0);
}

void ilk__zk_set_limit(void *self, ilk__contended *contended, int64_t limit,
                       int64_t base, ilk__gateway_request *request)
{
    ilk__zk_job *job =
        ilk__zk_job_new(self, contended, request, run_limit, fail_limit);

    if (!job) {
        ilk__contention_limit_set(contended, request, 0, ilk__zk_no_memory);
        return;
    }
    job->limit = limit;
    job->base = base;
    ilk__zk_job_start(job);
}
