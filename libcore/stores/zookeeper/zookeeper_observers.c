/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_observers.c -- observers of an election: watches on the parent and on the
 * first node, which is the leader.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

static void observe_later(ilk__zk_name *name)
{
    name->observer_is_set = 0;
    name->observe_at = ilk__now_ms() + ILK__ZK_AGAIN_MS;
    ilk__zk_timer(name->store, name->observe_at);
}

static int observes(const ilk__zk_op *op)
{
    return op->name->contended && op->name->observes && !op->store->is_closing;
}

static void report_change(ilk__zk_op *op)
{
    if (!observes(op))
        return;
    if (op->rc != ILK__ZK_OK)
        observe_later(op->name);
    ilk__contention_election_changed(op->name->contended);
}

/* The first node's data is the value. It contains all changes until now. */
static void observe_first(ilk__zk_op *op)
{
    ilk__zk_name *name = op->name;
    size_t count = 0;
    ilk__zk_listed *list = ilk__zk_sorted(name, op, &count);
    ilk__zk_op *next = NULL;
    char *path = NULL;

    if (list && count) {
        next = ilk__zk_op_new(name->store, report_change, name, NULL, NULL);
        path = ilk__zk_child_path(name, list[0].node);
    }
    if (next && path) {
        ilk__zk_get(next, path, 1);
    } else {
        ilk__zk_op_free(next);
        if (!list || count)
            observe_later(name);
        ilk__contention_election_changed(name->contended);
    }
    ilk__free(path);
    ilk__free(list);
}

/* There are no candidates, and the creation of their parent is the next change, unless
 * it has come by now. */
static void watches_creation(ilk__zk_op *op)
{
    ilk__zk_name *name = op->name;

    if (!observes(op))
        return;
    if (op->rc == ILK__ZK_OK) {
        ilk__zk_observe_begin(name);
        return;
    }
    if (op->rc != ILK__ZK_NO_NODE)
        observe_later(name);
    ilk__contention_election_changed(name->contended);
}

static void has_candidates(ilk__zk_op *op)
{
    ilk__zk_op *parent;

    if (!observes(op))
        return;
    if (op->rc == ILK__ZK_OK) {
        observe_first(op);
    } else if (op->rc == ILK__ZK_NO_NODE) {
        parent =
            ilk__zk_op_new(op->store, watches_creation, op->name, NULL, NULL);
        if (parent) {
            ilk__zk_exists(parent, op->name->path, 1);
        } else {
            observe_later(op->name);
        }
    } else {
        observe_later(op->name);
    }
}

void ilk__zk_observe_begin(ilk__zk_name *name)
{
    ilk__zk_op *op;

    if (name->store->state != ILK__ZK_READY) /* resume() does it */
        return;
    op = ilk__zk_op_new(name->store, has_candidates, name, NULL, NULL);
    if (!op) {
        observe_later(name);
        return;
    }
    name->observer_is_set = 1;
    ilk__zk_children(op, name->path, 1);
}

void ilk__zk_observe(void *self, ilk__contended *contended, int begins)
{
    ilk__zk_name *name;

    if (ilk__zk_name_find(&name, self, contended))
        return; /* observers come back */
    name->observes = begins;
    if (begins && !name->observer_is_set)
        ilk__zk_observe_begin(name);
}

void ilk__zk_observe_fired(ilk__zk_name *name)
{
    name->observer_is_set = 0;
    if (name->observes)
        ilk__zk_observe_begin(name);
}

void ilk__zk_observe_fire(ilk__zk_name *name, int64_t now)
{
    if (!name->observes || name->observer_is_set)
        return;
    if (name->observe_at > now)
        ilk__zk_timer(name->store, name->observe_at);
    else
        ilk__zk_observe_begin(name);
}
