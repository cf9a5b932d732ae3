/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_inspect.c -- reads of a name for inspection: the list behind a sync, then
 * the data of as many nodes as are wanted, in one packet.
 *
 * When the node of a holder is gone by then, the list is read again.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

#include <string.h>

typedef struct inspection {
    ilk__contended_state state;
    size_t shown, answered;
    int is_stale;
    char **texts; /* of each entry: token, who, value */
    ilk__contended_entry entries[];
} inspection;

static void free_inspection(ilk__zk_job *job)
{
    inspection *one = job->context;

    job->context = NULL;
    if (!one)
        return;
    for (size_t i = 0; one->texts && i < one->shown; i++)
        ilk__free(one->texts[i]);
    ilk__free(one->texts);
    ilk__free(one);
}

static void finish(ilk__zk_job *job, const char *error)
{
    static const ilk__contended_state nothing;
    const inspection *one = job->context;

    if (job->name->contended)
        ilk__contention_inspected(job->name->contended, job->request,
                                  one ? &one->state : &nothing, error);
    ilk__zk_job_over(job);
}

static void fail(ilk__zk_job *job, const char *text)
{
    finish(job, text);
}

static void run(ilk__zk_job *job);

/* The end of an own hold is known. */
static int64_t own_lease_ms(const ilk__zk_name *name, ilk__span token)
{
    for (const ilk__contender *one = name->contended->first; one;
         one = one->next)
        if (one->state == ILK__CONTENDER_HOLDS && one->token.len == token.len
            && memcmp(one->token.data, token.at, token.len) == 0) {
            const int64_t left = one->ends - ilk__now_ms();

            return left > 0 ? left : 0;
        }
    return -1;
}

static int keep(inspection *one, size_t at, const ilk__zk_op *op,
                const ilk__zk_name *name)
{
    ilk__contended_entry *entry = &one->entries[at];
    ilk__span token, who, value;
    char *to = ilk__malloc(op->text_len + 1);

    one->texts[at] = to;
    if (!to)
        return 0;
    ilk__zk_data_parse((ilk__span){op->text, op->text_len}, &entry->since_ms,
                       &token, &who, &value);
    entry->token = (ilk__span){to, ilk__zk_decode(to, token)};
    to += entry->token.len;
    entry->who = (ilk__span){to, ilk__zk_decode(to, who)};
    to += entry->who.len;
    if (at == 0)
        entry->lease_ms = own_lease_ms(name, entry->token);
    if (at == 0 && name->kind == ILK__CONTENDED_ELECTION) {
        if (value.len)
            memcpy(to, value.at, value.len);
        one->state.value = (ilk__span){to, value.len};
        one->state.version = (int64_t)op->stat.version + 1;
    }
    entry->fence = op->stat.czxid;
    return 1;
}

static void has_data(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    inspection *one = job->context;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_NO_NODE) {
        one->is_stale |= op->index < one->state.holders;
    } else if (op->rc != ILK__ZK_OK) {
        finish(job, ilk__zk_error(text, op->rc));
        return;
    } else if (!keep(one, op->index, op, job->name)) {
        finish(job, ilk__zk_no_memory);
        return;
    }
    if (++one->answered < one->shown)
        return;
    if (one->is_stale && ++job->attempts <= ILK__ZK_ATTEMPTS)
        run(job);
    else
        finish(job,
               one->is_stale
                   ? "ERR ZooKeeper: the holders change all the time; try again"
                   : NULL);
}

/* All are counted. */
static void count_holders(inspection *one, const ilk__zk_listed *list,
                          size_t count, ilk__queue_entry *order)
{
    for (size_t i = 0; i < count; i++) {
        order[i] = (ilk__queue_entry){.number = list[i].shape.number,
                                      .permits = list[i].shape.permits,
                                      .kind = list[i].shape.kind};
        if (one->state.holders == i
            && ilk__name_queue_holds(order, i + 1, i, one->state.limit))
            one->state.holders++;
        else
            one->state.waiters++;
        if (i < one->shown)
            one->entries[i] =
                (ilk__contended_entry){.kind = (char)list[i].shape.kind,
                                       .permits = list[i].shape.permits,
                                       .token = {"", 0},
                                       .who = {"", 0},
                                       .lease_ms = -1};
    }
}

static int read_nodes(ilk__zk_job *job, const ilk__zk_listed *list)
{
    const inspection *one = job->context;

    for (size_t i = 0; i < one->shown; i++) {
        ilk__zk_op *op =
            ilk__zk_op_new(job->store, has_data, job->name, NULL, job);
        char *path = ilk__zk_child_path(job->name, list[i].node);

        if (!op || !path) {
            ilk__zk_op_free(op);
            ilk__free(path);
            return 0;
        }
        op->index = i;
        ilk__zk_get(op, path, 0);
        ilk__free(path);
    }
    return 1;
}

static int begin(ilk__zk_job *job, const ilk__zk_op *op)
{
    size_t count = 0;
    ilk__zk_listed *list = ilk__zk_sorted(job->name, op, &count);
    const size_t shown = count < job->most ? count : job->most;
    ilk__queue_entry *order = ilk__calloc(count + 1, sizeof *order);
    inspection *one =
        ilk__calloc(1, sizeof *one + (shown + 1) * sizeof one->entries[0]);
    int is_good = list && order && one;

    free_inspection(job);
    job->context = one;
    if (is_good) {
        one->texts = ilk__calloc(shown + 1, sizeof *one->texts);
        one->state.entries = one->entries;
        one->shown = one->texts ? shown : 0;
        if (job->name->kind == ILK__CONTENDED_SEMAPHORE)
            one->state.limit = job->name->limit;
        count_holders(one, list, count, order);
        is_good = one->texts && read_nodes(job, list);
    }
    ilk__free(order);
    ilk__free(list);
    return is_good;
}

static void has_list(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    const inspection *one;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        finish(job, ilk__zk_error(text, op->rc));
    } else if (!begin(job, op)) {
        finish(job, ilk__zk_no_memory);
    } else {
        one = job->context;
        if (!one->shown)
            finish(job, NULL);
    }
}

static void run(ilk__zk_job *job)
{
    free_inspection(job);
    if (!ilk__zk_read_list(
            ilk__zk_op_new(job->store, has_list, job->name, NULL, job), 0, 0))
        finish(job, ilk__zk_no_memory);
}

void ilk__zk_inspect(void *self, ilk__contended *contended, int64_t most,
                     ilk__gateway_request *request)
{
    ilk__zk_job *job = ilk__zk_job_new(self, contended, request, run, fail);

    if (!job) {
        ilk__contention_inspected(contended, request, NULL, ilk__zk_no_memory);
        return;
    }
    job->most = most > 0 ? (size_t)most : 1;
    job->drop_context = free_inspection;
    ilk__zk_job_start(job);
}
