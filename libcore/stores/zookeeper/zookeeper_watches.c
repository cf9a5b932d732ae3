/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_watches.c -- the watches of this connection, by their paths. The server
 * forgets them with the connection, and so does the client: all that is watched is read
 * again over the next one. An event for a path that nothing watches has no effect.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

#include <stddef.h>
#include <string.h>

/* The events that end a watch, by what it is for. */
enum { OF_NODE = 1, OF_ABSENCE = 2, OF_CHILDREN = 4 };

struct ilk__zk_watch {
    ilk__node by_path; /* in the table, if it is the first of its path */
    ilk__zk_watch *next;
    uint64_t number; /* of a name, a register or a group */
    int of;
    size_t len;
    char path[];
};

ilk__zk_watch *ilk__zk_watch_new(const char *path, uint64_t number)
{
    const size_t len = strlen(path);
    ilk__zk_watch *watch = ilk__calloc(1, sizeof *watch + len + 1);

    if (!watch)
        return NULL;
    watch->number = number;
    watch->len = len;
    memcpy(watch->path, path, len);
    return watch;
}

void ilk__zk_watch_free(ilk__zk_watch *watch)
{
    ilk__free(watch);
}

static ilk__zk_watch *first_of(const ilk__zk *store, const char *path,
                               size_t len)
{
    ilk__node *node = ilk__table_find(&store->watches, path, len);

    return node ? (ilk__zk_watch *)((char *)node
                                    - offsetof(ilk__zk_watch, by_path))
                : NULL;
}

static int kind_of(ilk__zk_op_kind kind, int code)
{
    if (kind == ILK__ZK_CHILDREN)
        return code == ILK__ZK_OK ? OF_CHILDREN : 0;
    if (kind == ILK__ZK_EXISTS && code == ILK__ZK_NO_NODE)
        return OF_ABSENCE;
    return code == ILK__ZK_OK ? OF_NODE : 0;
}

int ilk__zk_watch_set(ilk__zk *store, ilk__zk_watch *watch,
                      ilk__zk_op_kind kind, int code)
{
    ilk__zk_watch *first = first_of(store, watch->path, watch->len);

    watch->of = kind_of(kind, code);
    for (ilk__zk_watch *one = first; one; one = one->next)
        if (one->number == watch->number) {
            one->of |= watch->of;
            watch->of = 0;
        }
    if (!watch->of) {
        ilk__free(watch);
        return 1;
    }
    if (first) {
        watch->next = first->next;
        first->next = watch;
    } else if (ilk__table_add(&store->watches, &watch->by_path, watch->path,
                              watch->len)) {
        ilk__free(watch);
        return 0;
    }
    return 1;
}

/* The next of its path takes the place in the table, which does not need memory. */
static void take_out(ilk__zk *store, ilk__zk_watch *first, ilk__zk_watch *watch)
{
    if (watch != first) {
        while (first->next != watch)
            first = first->next;
        first->next = watch->next;
        return;
    }
    ilk__table_remove(&store->watches, &watch->by_path);
    if (watch->next)
        (void)ilk__table_add(&store->watches, &watch->next->by_path,
                             watch->next->path, watch->next->len);
}

void ilk__zk_watches_fire(ilk__zk *store, ilk__zk_event event, ilk__span path)
{
    const int ends = event == ILK__ZK_CHILDREN_CHANGED ? OF_CHILDREN
                     : event == ILK__ZK_NODE_DELETED
                         ? OF_NODE | OF_ABSENCE | OF_CHILDREN
                         : OF_NODE | OF_ABSENCE;
    ilk__zk_watch *watch;

    do {
        ilk__zk_watch *first = first_of(store, path.at, path.len);

        watch = first;
        while (watch && !(watch->of & ends))
            watch = watch->next;
        if (!watch)
            return;
        watch->of &= ~ends;
        if (!watch->of)
            take_out(store, first, watch);
        ilk__zk_watch_fired(store, watch->number, watch->path);
        if (!watch->of)
            ilk__free(watch);
    } while (watch);
}

void ilk__zk_watches_forget(ilk__zk *store)
{
    for (size_t cursor = 0;;) {
        ilk__node *node = ilk__table_bucket(&store->watches, &cursor), *next;

        if (!node)
            break;
        for (; node; node = next) {
            ilk__zk_watch *watch =
                (ilk__zk_watch *)((char *)node
                                  - offsetof(ilk__zk_watch, by_path));

            next = node->next;
            while (watch) {
                ilk__zk_watch *behind = watch->next;

                ilk__free(watch);
                watch = behind;
            }
        }
    }
    ilk__table_free(&store->watches);
}
