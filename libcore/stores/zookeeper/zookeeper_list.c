/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_list.c -- the names that have nodes.
 *
 * The nodes below the path of the URL are listed, behind a sync. A node with a lock's name may
 * be any program's, so its children are read, and it is a lock when one of them contends;
 * the other kinds have nodes that are named after them. The list is read again for each
 * page, which begins behind the last node of the page before.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "redis/keys.h"
#include "stores/shared/name_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 500 };

typedef struct listing {
    ilk__bytes after;
    ilk__name_list names;
    size_t asked, answered; /* nodes whose children are read */
    char *last;             /* of the page; NULL: there are no more */
} listing;

static void drop(ilk__zk_job *job)
{
    listing *one = job->context;

    job->context = NULL;
    if (!one)
        return;
    ilk__buf_free(&one->names.keys);
    ilk__free(one->after.data);
    ilk__free(one->last);
    ilk__free(one);
}

static void fail(ilk__zk_job *job, const char *text)
{
    ilk__gateway_reply_error(job->request, text);
    ilk__zk_job_over(job);
}

static void finish(ilk__zk_job *job)
{
    listing *one = job->context;

    ilk__name_list_reply(&one->names, job->request,
                         (ilk__span){one->last ? one->last : "",
                                     one->last ? strlen(one->last) : 0});
    one->names = (ilk__name_list){0};
    ilk__zk_job_over(job);
}

/* The name of a node. 0: no memory. */
static int decode(ilk__bytes *out, const char *node)
{
    out->data = ilk__malloc(strlen(node) + 1);
    if (!out->data)
        return 0;
    out->len = ilk__zk_decode(out->data, (ilk__span){node, strlen(node)});
    return 1;
}

static void add_kinds(ilk__name_list *names, const ilk__bytes *key)
{
    static const struct {
        const char *kind, *listed;
    } kinds[] = {{"semaphore", "semaphore:fence"},
                 {"election", "election:fence"},
                 {"register", "register"},
                 {"group", "group"}};
    ilk__span name;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (ilk__side_key_name(key->data, key->len, kinds[i].kind, &name.at,
                               &name.len))
            ilk__name_list_add(names, kinds[i].listed, name);
}

static void add_lock(ilk__name_list *names, const ilk__zk_op *op)
{
    static const ilk__zk_name of_a_lock = {.kind = ILK__CONTENDED_LOCK};
    ilk__zk_shape shape;
    ilk__bytes name;

    for (size_t i = 0; i < op->child_count; i++) {
        if (!ilk__zk_shape_parse(&shape, &of_a_lock, op->children[i]))
            continue;
        if (!decode(&name, op->child)) {
            names->no_memory = 1;
            return;
        }
        ilk__name_list_add(names, "lock:fence",
                           (ilk__span){name.data, name.len});
        ilk__free(name.data);
        return;
    }
}

/* A node that others may not read is not ours. */
static void has_children(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    listing *one = job->context;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_OK)
        add_lock(&one->names, op);
    if (++one->answered == one->asked)
        finish(job);
}

static int read_children(ilk__zk_job *job, const char *node)
{
    ilk__zk_op *op = ilk__zk_op_new(job->store, has_children, NULL, NULL, job);
    const size_t room = strlen(job->store->path) + strlen(node) + 2;
    char *path = ilk__malloc(room);

    if (!op || !path) {
        ilk__zk_op_free(op);
        ilk__free(path);
        return 0;
    }
    snprintf(path, room, "%s/%s", job->store->path, node);
    op->child = ilk__strdup(node);
    ((listing *)job->context)->asked++;
    ilk__zk_children(op, path, 0);
    ilk__free(path);
    return op->child != NULL;
}

static int take_node(ilk__zk_job *job, const char *node)
{
    listing *one = job->context;
    ilk__bytes name;

    if (!*job->store->path && strcmp(node, "zookeeper") == 0)
        return 1; /* the server's own */
    if (strncmp(node, "ilk:", 4) != 0)
        return read_children(job, node);
    if (!decode(&name, node))
        return 0;
    add_kinds(&one->names, &name);
    ilk__free(name.data);
    return 1;
}

static int in_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The nodes of the page. 0: no memory. */
static int take_page(ilk__zk_job *job, ilk__zk_op *op)
{
    listing *one = job->context;
    size_t count = 0, at = 0;

    if (op->child_count)
        qsort(op->children, op->child_count, sizeof *op->children, in_order);
    while (at < op->child_count
           && strcmp(op->children[at], one->after.data) <= 0)
        at++;
    for (; at < op->child_count && count < PAGE; at++, count++)
        if (!take_node(job, op->children[at]))
            return 0;
    if (at < op->child_count)
        one->last = ilk__strdup(op->children[at - 1]);
    return at == op->child_count || one->last;
}

static void has_nodes(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    const listing *one = job->context;
    char text[200];

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE)
        fail(job, ilk__zk_error(text, op->rc));
    else if (!take_page(job, op))
        fail(job, ilk__zk_no_memory);
    else if (!one->asked)
        finish(job);
}

/* Begin, or begin again over the next connection. */
static void run(ilk__zk_job *job)
{
    ilk__zk_op *op = ilk__zk_op_new(job->store, has_nodes, NULL, NULL, job);
    listing *one = job->context;

    ilk__buf_free(&one->names.keys);
    ilk__free(one->last);
    *one = (listing){.after = one->after};
    if (!op || !ilk__zk_sync(job->store)) {
        ilk__zk_op_free(op);
        fail(job, ilk__zk_no_memory);
        return;
    }
    ilk__zk_children(op, *job->store->path ? job->store->path : "/", 0);
}

void ilk__zk_list_names(void *self, ilk__gateway_request *request)
{
    ilk__zk_job *job = NULL;
    listing *one;
    ilk__span after;

    if (!ilk__name_list_asked(request, &after))
        return;
    one = ilk__calloc(1, sizeof *one);
    if (one)
        one->after = (ilk__bytes){ilk__memdup(after.at, after.len), after.len};
    if (one && one->after.data)
        job = ilk__zk_job_new(self, NULL, request, run, fail);
    if (!job) {
        if (one)
            ilk__free(one->after.data);
        ilk__free(one);
        ilk__gateway_reply_error(request, ilk__zk_no_memory);
        return;
    }
    job->context = one;
    job->drop_context = drop;
    ilk__zk_job_start(job);
}
